"""A column's domain: its possible values, their order, and the integer code of each.

Everything after reading works on codes. A domain is built once from the *distinct* values of a
column (never from rows), in one of four kinds: `categorical` (text, sorted as people read it, 2
before 10), `ordered` (a declared list, in the declared order), `numeric` and `date` (in their own
order). After them come values without a place in that order: the special codes that stand among
numbers or dates (`N`, `refused`), which are texts, and NULL, where the schema allows it. Each is a
value like any other.

Text files carry no types, so a CSV column is numeric when every distinct value is a plain number
without leading zeros (`01301` is a zip code, not 1,301), a date when every one is an ISO date
(with or without a time of day), otherwise text. A column most of whose distinct values are numbers
while some are not is refused until the schema says what it is: guessing there is how an age of "4O"
becomes a category.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import InputError, SchemaError, forms_of, name_some
from sfumato.numbers import Bools, Codes, as_quantity, exact, number_array
from sfumato.schema.region import COMPARED, DECIMAL, PADDED, Value, place_of, text_of

DomainKind = Literal["categorical", "ordered", "numeric", "date"]
KINDS: tuple[str, ...] = get_args(DomainKind)
Declared = str | Sequence[Any]

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_LEADING_ZERO = r"^[+-]?0\d"
_DATE = r"^\d{4}-\d{2}-\d{2}$"
_MOMENT = r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?Z?)?$"
MOST_CATEGORIES = 100_000
_EPOCH = dt.date(1970, 1, 1).toordinal()
_FIRST_DAY, _LAST_DAY = dt.date.min.toordinal() - _EPOCH, dt.date.max.toordinal() - _EPOCH


@dataclass(frozen=True)
class Domain:
    """The values a column may take, in canonical order; the code of a value is its position."""

    name: str
    kind: DomainKind
    values: tuple[Value, ...]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def has_null(self) -> bool:
        return bool(self.values) and self.values[-1] is None

    @cached_property
    def placed(self) -> int:
        """How many codes, the first ones, have a place in the domain's order."""
        if self.kind not in ("numeric", "date"):
            return len(self) - self.has_null
        size = len(self)
        while size and (self.values[size - 1] is None or isinstance(self.values[size - 1], str)):
            size -= 1
        return size

    @property
    def specials(self) -> tuple[str | None, ...]:
        """The values after those: codes that stand beside numbers or dates, and NULL."""
        return self.values[self.placed :]  # type: ignore[return-value]

    @property
    def is_ordered(self) -> bool:
        return self.kind != "categorical"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return tuple(text_of(value) for value in self.values)

    @cached_property
    def _codes_by_text(self) -> dict[str, int]:
        present = len(self) - self.has_null  # NULL is not the text it is shown as
        return {label: code for code, label in enumerate(self.labels[:present])}

    def code(self, value: object) -> int | None:
        """The code of a value, matched by canonical text (5, 5.0 and "5" meet); None if absent."""
        if value is None:
            return len(self) - 1 if self.has_null else None
        return self._codes_by_text.get(text_of(value))

    def numbers(self) -> npt.NDArray[np.float64]:
        """Where numbers and dates lie on their axis; NULL, special codes and text as NaN."""
        places = [
            float("nan") if value is None or isinstance(value, str) else place_of(value)
            for value in self.values
        ]
        return np.array(places, dtype=np.float64)


def build_domain(
    name: str,
    raw: pa.Array,
    *,
    untyped: bool,
    declared: Declared | None = None,
    extra: Sequence[str] = (),
    specials: Sequence[str] = (),
) -> tuple[Domain, Codes]:
    """The domain of a column and the code of each distinct raw value.

    `raw` holds the distinct values as the engine returned them; `untyped` says they are text from
    a text file whose type must be inferred; `extra` are further values a taxonomy knows, `specials`
    texts that are no numbers or dates where the others are.
    """
    if specials and _may_be_numbers(declared) and pa.types.is_string(raw.type):
        is_special = pc.fill_null(pc.is_in(raw, value_set=pa.array(specials, pa.string())), False)
        if pc.any(is_special).as_py():
            rest = raw.filter(pc.invert(is_special))
            scale = build_domain(name, rest, untyped=untyped, declared=declared, extra=extra)
            return _beside(raw, is_special.to_numpy(zero_copy_only=False), specials, *scale)
    typed = _plain(name, raw)
    forced = declared if isinstance(declared, str) else None
    if forced is not None and forced not in KINDS:
        raise SchemaError(
            f"domain of column {name!r}: {forced!r} is not a kind of domain; "
            f"allowed: {', '.join(KINDS)}, or a list of values"
        )
    if untyped or forced == "categorical":
        listed = bool(extra) or not (declared is None or isinstance(declared, str))
        typed = _infer(name, typed, forced, guess=declared is None, listed=listed)
    kind = _kind_of(typed)
    if forced in ("numeric", "date") and kind != forced and typed.null_count < len(typed):
        raise SchemaError(f"column {name!r} is declared {forced}, {_why_not(typed, forced)}")
    if declared is not None and not isinstance(declared, str):
        return _declared_domain(name, typed, list(declared))
    if extra:
        return _known_domain(name, kind, typed, list(extra))
    return _seen_domain(name, kind, typed)


def guess_domain(name: str, raw: pa.Array) -> tuple[Domain, Codes]:
    """The same of values of which nobody says what they are, such as somebody's knowledge.

    Texts that are numbers but for a few words are numbers: a range contains no text.
    """
    texts = raw.drop_null().to_pylist() if pa.types.is_string(raw.type) else []
    words = [text for text in texts if exact(text) is None]
    specials = words if len(words) < len(texts) else ()
    try:
        return build_domain(name, raw, untyped=True, specials=specials)
    except InputError:
        return build_domain(name, raw, untyped=False)


def _may_be_numbers(declared: Declared | None) -> bool:
    if declared is None or isinstance(declared, str):
        return declared in (None, "numeric", "date")
    return not any(isinstance(value, str) for value in declared)


def _beside(
    raw: pa.Array, is_special: Bools, specials: Sequence[str], scale: Domain, codes: Codes
) -> tuple[Domain, Codes]:
    """A domain of numbers or dates with the special codes that occur, and NULL, after them."""
    values = scale.values[: scale.placed]
    if scale.kind not in ("numeric", "date") and values:
        raise InputError(
            f"column {scale.name!r} has codes, but holds neither numbers nor dates beside them, so "
            "that they are values like all others; leave it out of codes"
        )
    twice = [text for text in specials if scale.code(text) is not None]
    if twice:
        raise InputError(
            f"column {scale.name!r}: the code {name_some(twice)} also stands there as a number "
            "written in another way; write it one way"
        )
    texts = raw.to_pylist()
    present = {text for text, special in zip(texts, is_special, strict=True) if special}
    listed = [text for text in dict.fromkeys(specials) if text in present]
    null = (None,) if scale.has_null else ()
    kind: DomainKind = scale.kind if values else "numeric"
    domain = Domain(scale.name, kind, (*values, *listed, *null))
    whole = np.empty(len(raw), dtype=np.int32)
    whole[~is_special] = np.where(codes < len(values), codes, len(domain) - 1)
    place = {text: len(values) + nth for nth, text in enumerate(listed)}
    whole[is_special] = [place[texts[at]] for at in np.flatnonzero(is_special)]
    return domain, whole


def _why_not(typed: pa.Array, forced: str) -> str:
    """What keeps values from being of the kind that was declared; how many, never which."""
    present = typed.drop_null()
    if not pa.types.is_string(present.type):
        return f"but holds values of type {present.type}; declare it 'categorical'"
    texts = present.to_pylist()
    if forced == "numeric" and all(exact(text) is not None for text in texts):
        return (
            "but holds numbers with more digits than can be told apart as quantities; round them, "
            "or declare it 'categorical'"
        )
    if forced == "numeric":
        odd = sum(exact(text) is None for text in texts)
        wanted = "numbers such as 12 or 3.5"
    else:
        odd = sum(not _is_moment(text) for text in texts)
        wanted = "dates such as 2024-05-31 or 2024-05-31 14:30"
    return (
        f"but {odd} of its {len(texts)} distinct values cannot be read as such; write {wanted}, or "
        "declare it 'categorical'"
    )


def _plain(name: str, raw: pa.Array) -> pa.Array:
    """Reduce Arrow's many types to text, whole numbers, floats, booleans and dates."""
    kind = raw.type
    if pa.types.is_dictionary(kind):
        raw = raw.dictionary_decode()
        kind = raw.type
    if pa.types.is_string(kind) or pa.types.is_boolean(kind):
        return raw
    if pa.types.is_large_string(kind) or str(kind) == "string_view":
        return raw.cast(pa.string())
    if pa.types.is_integer(kind):
        try:
            return raw.cast(pa.int64())
        except pa.ArrowInvalid:  # numbers beyond 64 signed bits are codes, not quantities
            return raw.cast(pa.string())
    if pa.types.is_decimal(kind):
        return number_array([None if number is None else str(number) for number in raw.to_pylist()])
    if pa.types.is_floating(kind):
        floats = pc.add(raw.cast(pa.float64()), 0.0)  # -0.0 is 0.0
        return pc.if_else(pc.is_nan(floats), None, floats)  # NaN is how frames spell NULL
    if pa.types.is_timestamp(kind):
        try:
            stamps = raw.cast(pa.timestamp("us"))
        except pa.ArrowInvalid:  # finer than a microsecond
            return _as_texts(name, raw)
        days = stamps.cast(pa.date32(), safe=False)
        whole = pc.all(pc.equal(days.cast(pa.timestamp("us")), stamps)).as_py()
        return _in_calendar(name, days if whole in (True, None) else stamps)
    if pa.types.is_date(kind):
        return _in_calendar(name, raw.cast(pa.date32()))
    if pa.types.is_null(kind):
        return raw.cast(pa.string())
    raise InputError(
        f"column {name!r} has the type {kind}, which cannot be a category, number or date; "
        "convert it to text, number, date or (if sensitive) a list of those"
    )


def _in_calendar(name: str, dates: pa.Array) -> pa.Array:
    """Dates, or their texts where some lie outside the years 1 to 9999."""
    days = pc.min_max(dates.cast(pa.date32(), safe=False).cast(pa.int32()))
    low, high = days["min"].as_py(), days["max"].as_py()
    if low is None or (low >= _FIRST_DAY and high <= _LAST_DAY):
        return dates
    return _as_texts(name, dates)


def _as_texts(name: str, times: pa.Array) -> pa.Array:
    """Times that are no dates of ours: each keeps its identity as a text."""
    texts = times.cast(pa.string())
    if pc.any(pc.starts_with(texts, "<")).as_py():
        raise InputError(
            f"column {name!r} holds times that lie beyond any calendar; correct them, or convert "
            "the column to text"
        )
    return texts


def _infer(
    name: str, typed: pa.Array, forced: str | None, *, guess: bool, listed: bool
) -> pa.Array:
    """Give text from a text file the type its distinct values agree on.

    `listed`: the schema lists the values as texts; a time of day is then matched as it is written.
    """
    if forced == "categorical":
        texts = [None if value is None else text_of(value) for value in typed.to_pylist()]
        return pa.array(texts, type=pa.string())
    if not pa.types.is_string(typed.type):
        return typed
    present = typed.drop_null()
    if len(present) == 0:
        return typed
    is_number = pc.match_substring_regex(present, _NUMBER)
    if pc.any(pc.match_substring_regex(present, _LEADING_ZERO)).as_py() and forced is None:
        return typed
    numbers = pc.sum(is_number).as_py() or 0
    if numbers == len(present):
        return number_array(typed.to_pylist())
    if pc.all(pc.match_substring_regex(present, _DATE)).as_py():
        try:
            return typed.cast(pa.date32())
        except pa.ArrowInvalid:
            return typed
    if not listed and pc.all(pc.match_substring_regex(present, _MOMENT)).as_py():
        return _moments(name, typed)
    if guess and numbers >= 3 and 2 * numbers >= len(present):
        odd = present.filter(pc.invert(is_number))
        raise InputError(
            f"column {name!r} mixes numbers and text: {len(odd)} of its {len(present)} distinct "
            f"values are not numbers ({forms_of(odd.to_pylist())}); correct them, or declare the "
            "column in domains as 'categorical' (every value a category)"
        )
    return typed


def _moments(name: str, texts: pa.Array) -> pa.Array:
    """Dates with a time of day, all local or all UTC (`Z`); the texts where they are not that."""
    utc = pc.all(pc.ends_with(texts, "Z")).as_py()
    try:
        stamps = texts.cast(pa.timestamp("us", "UTC" if utc else None))
    except pa.ArrowInvalid:
        return texts
    return _plain(name, stamps)


def _kind_of(typed: pa.Array) -> DomainKind:
    if pa.types.is_integer(typed.type) or pa.types.is_floating(typed.type):
        return "numeric"
    if pa.types.is_date(typed.type) or pa.types.is_timestamp(typed.type):
        return "date"
    return "categorical"


def _seen_domain(name: str, kind: DomainKind, typed: pa.Array) -> tuple[Domain, Codes]:
    distinct = pc.unique(typed)
    if pa.types.is_string(distinct.type):
        order = _reading_order(distinct)
    else:
        order = pc.array_sort_indices(distinct)  # NULL goes last
    ordered = distinct.take(order)
    codes = pc.index_in(typed, value_set=ordered)
    return (
        Domain(name, kind, tuple(ordered.to_pylist())),
        np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int32),
    )


def _reading_order(texts: pa.Array) -> pa.Array:
    """Where texts stand in the order of `reading_key`, NULL last; so many that they are no
    categories in their plain order, which is quick."""
    if len(texts) > MOST_CATEGORIES:
        return pc.array_sort_indices(texts)
    lengths = pc.min_max(pc.utf8_length(texts))
    plain = pc.all(pc.ascii_is_decimal(texts)).as_py() and lengths["min"] == lengths["max"]
    if plain or not pc.any(pc.match_substring_regex(texts, r"\d")).as_py():
        return pc.array_sort_indices(texts)
    is_number = pc.match_substring_regex(texts, DECIMAL)
    numbers = pc.if_else(is_number, texts, None).cast(pa.float64())
    bare = pc.replace_substring_regex(texts, COMPARED, r"\1")
    padded = pc.replace_substring_regex(bare, r"(\d+)", "0" * PADDED + r"\1")
    runs = pc.replace_substring_regex(padded, rf"\d*(\d{{{PADDED}}})", r"\1")
    keys = pa.table({"number": numbers, "runs": runs, "text": texts})
    return pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names])


def _declared_domain(name: str, typed: pa.Array, declared: list[Any]) -> tuple[Domain, Codes]:
    values = [value for value in declared if value is not None]
    labels = [text_of(value) for value in values]
    if len(set(labels)) < len(labels):
        twice = sorted({label for label in labels if labels.count(label) > 1})
        raise SchemaError(f"domain of column {name!r} lists {name_some(twice)} more than once")
    if not values:
        raise SchemaError(f"domain of column {name!r} is empty; list its values")
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        kind: DomainKind = "numeric"
        values.sort()
    elif all(isinstance(value, dt.date) for value in values):
        kind = "date"
        values.sort()
    else:
        kind = "ordered"
    return _encode_in(name, kind, values, typed, "its declared domain", "add them to the domain")


def _known_domain(
    name: str, kind: DomainKind, typed: pa.Array, leaves: list[str]
) -> tuple[Domain, Codes]:
    """The domain a taxonomy's leaves span: wider than the values seen, in the file's order."""
    values: list[Any] = list(leaves)
    if kind == "numeric":
        values = sorted(number for leaf in leaves if (number := _number(leaf)) is not None)
    elif kind == "date":
        values = sorted(dt.date.fromisoformat(leaf) for leaf in leaves if _is_date(leaf))
    return _encode_in(
        name, kind, values, typed, "its hierarchy", "add a line for each, or correct the data"
    )


def _encode_in(
    name: str, kind: DomainKind, values: list[Any], typed: pa.Array, where: str, fix: str
) -> tuple[Domain, Codes]:
    seen = typed.to_pylist()
    if any(value is None for value in seen):
        values = [*values, None]
    domain = Domain(name, kind, tuple(values))
    codes = [domain.code(value) for value in seen]
    missing = [value for value, code in zip(seen, codes, strict=True) if code is None]
    if missing:
        raise SchemaError(
            f"column {name!r}: {len(missing)} value(s) are not covered by {where}: "
            f"{name_some(sorted(text_of(value) for value in missing))}; {fix}"
        )
    return domain, np.array(codes, dtype=np.int32)


def _number(text: str) -> int | float | None:
    number = exact(text)
    return None if number is None else as_quantity(number)


def _is_date(text: str) -> bool:
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_moment(text: str) -> bool:
    try:
        dt.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
