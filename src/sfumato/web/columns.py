"""Step Data: what the columns of the chosen file hold, as pictures of counts; never a row.

All that is counted, the engine counts; what is drawn here is made of distinct values and how many
rows have each. Of a column in which nearly every row has its own value none is shown.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from sfumato.errors import InputError
from sfumato.web.desk import Desk, identity

if TYPE_CHECKING:
    from sfumato.engines.form import FileForm
    from sfumato.engines.reading import Reading
    from sfumato.policy.draft.draft import Draft, Examined
    from sfumato.policy.draft.profile import Profile

Kept = TypeVar("Kept")
BARS = 18
LARGEST = 12  # categories that are drawn
LISTED = 200  # values in a list
_TELLING = 0.5  # distinct values per row from which a column's values name people
_ENOUGH = 20  # rows from which that share says anything
_TAIL = 0.01  # of the rows at either end that share the first and the last bar


@dataclass(frozen=True)
class Bar:
    """A value or a range, the rows that have it, and how high it is drawn, from 0 to 1."""

    label: str
    rows: int
    height: float


@dataclass(frozen=True)
class ColumnPicture:
    """What a column holds.

    `undrawn`: distinct values beside those that are drawn. `kept_back`: nearly every row has its
    own value, so none is shown. `doubt`: why its cells are taken as texts.
    """

    name: str
    kind: str
    label: str
    present: int
    missing: int
    distinct: int
    bars: tuple[Bar, ...]
    undrawn: int = 0
    ordered: bool = False
    kept_back: bool = False
    doubt: str = ""

    @property
    def missing_share(self) -> float:
        return self.missing / max(self.present + self.missing, 1)


@dataclass(frozen=True)
class TablePicture:
    """The columns of a file, how it is written, and what must be said of how it was read.

    `stated_reading`: what was said of how it is written, by whomever; `form` is what was found.
    """

    label: str
    rows: int
    columns: tuple[ColumnPicture, ...]
    written: str
    form: dict[str, str]
    stated_reading: dict[str, object]
    notes: tuple[str, ...] = ()
    one_in: int = 1


def told_reading(desk: Desk) -> Reading:
    """How the file is to be read: as the page or the start says, else as the policy does."""
    from sfumato.policy.edit_text import said_in
    from sfumato.policy.toml import reading_told

    text = desk.state().policy
    if text is None:
        return desk.reading()
    return desk.reading().over(reading_told(said_in(text, "read")))


@dataclass
class Looks:
    """What was found by looking at a file, by how it was read; the last two ways are kept."""

    tables: dict[Hashable, Examined] = field(default_factory=dict)
    drafts: dict[Hashable, Draft] = field(default_factory=dict)


def looks_at(desk: Desk) -> Looks:
    """What was found by looking at the chosen file; nothing if it is another one now."""
    return desk.once("looked at", identity(desk.data()), Looks)


def examined(desk: Desk, reading: Reading | None = None) -> Examined:
    """The chosen file, looked at; read as told, or in another way that is tried."""
    from sfumato.policy.draft.draft import examine
    from sfumato.table import refuse_part

    wanted_reading = told_reading(desk) if reading is None else reading
    drafted = desk.state().policy is not None
    tables, key = looks_at(desk).tables, (repr(wanted_reading), drafted)
    if key not in tables:
        path = desk.data()
        refuse_part(path)
        forget_older(tables)
        tables[key] = examine(path, wanted_reading, as_told=drafted)
    return tables[key]


def forget_older(kept: dict[Hashable, Kept]) -> None:
    """Leave but the last of what was found: it may be large."""
    last = next(reversed(kept.values()), None)
    for key in [key for key, entry in kept.items() if entry is not last]:
        del kept[key]


def will_be_read_so(desk: Desk, text: str, looked: Examined) -> None:
    """A policy says how a file was read: once it is saved, there is nothing to look at again."""
    from sfumato.policy.edit_text import said_in
    from sfumato.policy.toml import reading_told

    later_reading = desk.reading().over(reading_told(said_in(text, "read")))
    looks_at(desk).tables[repr(later_reading), True] = looked


def profiles_of(desk: Desk) -> dict[str, Profile]:
    """What the columns hold, by name."""
    return {profile.name: profile for profile in examined(desk).profiles}


def describe(desk: Desk) -> TablePicture:
    """Task: the columns of the chosen file."""
    looked = examined(desk)
    source = looked.sample.source
    form = source.form
    return TablePicture(
        source.label,
        looked.sample.rows,
        tuple(
            _picture(
                profile,
                form.labels.get(profile.name, ""),
                source.doubts.get(profile.name, ""),
                meanings_of(form, profile.name),
            )
            for profile in looked.profiles
        ),
        _written(looked),
        {"delimiter": form.delimiter, "decimal": form.decimal, "encoding": form.encoding}
        if form.is_text
        else {},
        looked.reading.about("file").given_fields(),
        source.notes,
        looked.sample.one_in,
    )


def _written(looked: Examined) -> str:
    """How a file is written, in words."""
    form = looked.sample.source.form
    if not form.is_text:
        sheet = f", sheet {form.sheet}" if form.sheet else ""
        return f"{form.format}{sheet}"
    between = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
    parts = [f"text in {form.encoding}", f"{between.get(form.delimiter, form.delimiter)} between"]
    if form.decimal == ",":
        parts.append("decimal comma")
    return ", ".join(parts)


def keeps_back(profile: Profile) -> bool:
    """Whether the values of a column name people: nearly every row has its own."""
    words = profile.kind in ("text", "list")
    whole = profile.integral and profile.share >= 0.95
    return profile.present >= _ENOUGH and profile.share >= _TELLING and (words or whole)


def meanings_of(form: FileForm, column: str) -> dict[str, str]:
    """What the codes of a column stand for, where its file says so."""
    from sfumato.schema.region import text_of

    return {text_of(code): label for code, label in form.value_labels.get(column, {}).items()}


def _picture(
    profile: Profile, label: str, doubt: str, meanings: Mapping[str, str]
) -> ColumnPicture:
    bars: tuple[Bar, ...] = ()
    undrawn = 0
    back = keeps_back(profile)
    if not back and len(profile.counts):
        bars, undrawn = _bars(profile)
        bars = tuple(with_meaning(bar, meanings) for bar in bars)
    return ColumnPicture(
        profile.name,
        _kind(profile),
        label,
        profile.present,
        profile.missing,
        profile.distinct,
        bars,
        undrawn,
        profile.kind in ("numeric", "date"),
        back,
        doubt,
    )


def with_meaning(bar: Bar, meanings: Mapping[str, str]) -> Bar:
    """A bar whose label says what its code stands for."""
    if bar.label not in meanings:
        return bar
    return replace(bar, label=f"{bar.label} {meanings[bar.label]}")


def _kind(profile: Profile) -> str:
    if profile.kind == "numeric":
        return "whole numbers" if profile.integral else "numbers"
    if profile.mixed:
        return "numbers and texts"
    return {
        "date": "dates",
        "text": "categories",
        "boolean": "true or false",
        "list": "lists",
        "unusable": "cannot be read",
    }[profile.kind]


def _bars(profile: Profile) -> tuple[tuple[Bar, ...], int]:
    labels = profile.domain.labels
    counts = [int(rows) for rows in profile.counts]
    if profile.kind in ("numeric", "date") and len(counts) > BARS:
        return _ranges(profile), 0
    order = list(range(len(counts)))
    if profile.kind not in ("numeric", "date"):
        order.sort(key=lambda code: -counts[code])
        order = order[:LARGEST]
    return scaled([(labels[code], counts[code]) for code in order]), len(counts) - len(order)


def scaled(counted: Sequence[tuple[str, int]]) -> tuple[Bar, ...]:
    """Bars of these counts, the highest of height 1."""
    most = max((rows for _, rows in counted), default=0) or 1
    return tuple(Bar(label, rows, rows / most) for label, rows in counted)


def _ranges(profile: Profile) -> tuple[Bar, ...]:
    """Numbers or dates in ranges of one width; those at either end hold all beyond."""
    import numpy as np

    from sfumato.policy.draft.bounds import round_width

    places = profile.numbers
    finite = np.isfinite(places)
    places, rows = places[finite], profile.counts[finite]
    if not len(places):
        return ()
    upto = np.cumsum(rows) / rows.sum()
    low = float(places[min(int(np.searchsorted(upto, _TAIL)), len(places) - 1)])
    high = float(places[min(int(np.searchsorted(upto, 1 - _TAIL)), len(places) - 1)])
    if low == high:
        low, high = float(places[0]), float(places[-1])
    width = round_width((high - low) / (BARS - 4))
    if profile.kind == "date" or profile.integral:
        width = max(width, 1.0)
    first, last = np.floor(low / width), np.floor(high / width)
    place = np.clip(np.floor(places / width), first, last) - first
    totals = np.bincount(place.astype(np.int64), weights=rows)
    ends = [(first + nth) * width for nth in range(len(totals) + 1)]

    def end_text(end: float) -> str:
        if profile.kind == "date":
            return dt.date.fromordinal(min(max(int(end), 1), dt.date.max.toordinal())).isoformat()
        return f"{end:.10g}"

    names = [f"{end_text(ends[nth])} to {end_text(ends[nth + 1])}" for nth in range(len(totals))]
    if places[0] < ends[0]:
        names[0] = f"below {end_text(ends[1])}"
    if places[-1] >= ends[-1]:
        names[-1] = f"{end_text(ends[-2])} and more"
    return scaled([(name, int(total)) for name, total in zip(names, totals, strict=True)])


# -- the values of one column ----------------------------------------------------------------------


@dataclass(frozen=True)
class ValueList:
    """Values of a column that hold a text, the largest first; `matching` is how many there are."""

    column: str
    query: str
    values: tuple[Bar, ...]
    matching: int
    missing: int
    kept_back: bool = False


def list_values(desk: Desk, column: str, query: str = "", most: int = LISTED) -> ValueList:
    """Task: the largest values of a column, or of those in which a text stands."""
    looked = examined(desk)
    profile = next((profile for profile in looked.profiles if profile.name == column), None)
    if profile is None:
        raise InputError(f"column {column!r} is not in {looked.sample.source.label}")
    if keeps_back(profile) and not query:
        return ValueList(column, query, (), profile.distinct, profile.missing, kept_back=True)
    from sfumato.engines.base import literal, named

    cell = f"c{profile.place}"
    text = f"CAST({cell} AS VARCHAR)"
    asked = f"contains(lower({text}), lower({literal(query)}))" if query else f"{cell} IS NOT NULL"
    counted = looked.sample.engine.fetch(
        f"SELECT {named(text, 'v')}, {named('CAST(SUM(n) AS BIGINT)', 'n')}, "
        f"{named('COUNT(*) OVER ()', 'all')} FROM {looked.sample.table} WHERE {asked} "
        f"GROUP BY {text} ORDER BY n DESC, v LIMIT {most}"
    )
    listed = list(
        zip(counted.column("v").to_pylist(), counted.column("n").to_pylist(), strict=True)
    )
    total = counted.column("all")[0].as_py() if counted.num_rows else 0
    meanings = meanings_of(looked.sample.source.form, column)
    labelled = [(text_of_number(text, meanings), rows) for text, rows in listed]
    bars = tuple(with_meaning(bar, meanings) for bar in scaled(labelled))
    return ValueList(column, query, bars, total, profile.missing)


def text_of_number(text: str, meanings: Mapping[str, str]) -> str:
    """A code that the engine spells 1.0 as its label is found by."""
    plain = text.removesuffix(".0")
    return plain if plain in meanings else text
