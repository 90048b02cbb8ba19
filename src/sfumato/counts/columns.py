"""The columns of a table as a grouping needs them: keys become codes, rows become people.

Distinct values become domains, values and lists codes. How many people a row stands for (one, a
stated count, or one however many rows she has) is checked before anything is counted: a negative or
fractional count, a weight that is no number or a row without a person would all end as a k that is
not true.

Texts that a reader takes for one value are told of.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.counts.counts import Sets
from sfumato.counts.value_sets import code_sets, is_list_type, joined, members_of, split_texts
from sfumato.engines.base import Engine, Source, literal, named, select
from sfumato.errors import InputError, SchemaError
from sfumato.numbers import Codes
from sfumato.schema.domain import Domain, DomainKind, build_domain
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.notation import looks_like_json
from sfumato.schema.region import MISSING
from sfumato.schema.roles import Schema

# Texts that a reader takes for one value: `flu`, `flu ` and `flu` with an invisible sign in it.
#
# Among quasi-identifiers they stay apart, which is careful: whoever reads the file can tell people
# apart by them. Among sensitive values the careful side is the other one: a group in which
# everybody has the flu, written in two ways, is not diverse. What they are cannot be guessed, so
# they are refused until somebody writes them one way or lists them as values.

# Spaces of other widths, and signs without any width, as people's tables have them around ids.
WIDE_SPACES = "\t\n\r\v\f\u00a0\u2002\u2003\u2009\u202f\u3000"
INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"


def appearance(text: str | None) -> str:
    """What a reader sees: no spaces at the ends, invisible signs or forms of one letter."""
    if text is None or text == MISSING:
        return ""
    if text.isascii():
        return text if text.isalnum() else " ".join(text.split())
    plain = unicodedata.normalize("NFKC", text)
    kept = "".join(sign for sign in plain if unicodedata.category(sign) != "Cf")
    return " ".join(unicodedata.normalize("NFC", kept).split())


def count_look_alikes(texts: Iterable[str | None]) -> int:
    """How many of some distinct texts look like another one before them."""
    given = list(texts)
    return len(given) - len({appearance(text) for text in given})


@dataclass(frozen=True)
class KeyColumn:
    """One key column of the grouping: its domain, the code per tuple, its sets if it has any."""

    domain: Domain
    codes: Codes
    sets: Sets | None = None

    @property
    def size(self) -> int:
        """How many codes there may be."""
        return len(self.domain) if self.sets is None else len(self.sets)


def keys(schema: Schema) -> tuple[str, ...]:
    """The columns the grouping is over."""
    return (*schema.judged, *((schema.protect,) if schema.protect else ()))


def is_list(source: Source, column: str) -> bool:
    return is_list_type(source.types[column])


def has_lists(source: Source, schema: Schema, column: str) -> bool:
    """Whether a column's cells hold several values, as lists or as texts that list them."""
    return is_list(source, column) or column in schema.lists


def refuse_kept_lists(source: Source, kept: Iterable[str]) -> None:
    """Refuse kept columns of which somebody may have several values in a cell."""
    for name in kept:
        if is_list(source, name):
            raise SchemaError(
                f"keep: column {name!r} holds lists; only sensitive columns may hold several "
                "values, drop it from keep"
            )


def check_lists(source: Source, schema: Schema) -> None:
    """Refuse lists where one value is meant, and cells that hold more than values."""
    for role, name in schema.roles():
        kind = source.types.get(name)
        if kind is not None and pa.types.is_nested(kind) and not is_list_type(kind):
            raise InputError(
                f"column {name!r} ({role}) has the type {kind.__class__.__name__}, with several "
                "fields a cell; make each field a column of its own"
            )
    for name in keys(schema):
        if is_list(source, name) and name not in schema.sensitive:
            role = "protect" if name == schema.protect else "quasi"
            raise InputError(
                f"column {name!r} ({role}) holds lists; only sensitive columns may hold several "
                "values, give it one value a row"
            )


def key_of(engine: Engine, source: Source, schema: Schema, name: str, table: str = "") -> str:
    """SQL expression: what rows are grouped by; lists in an order of their own."""
    column = f"{table}.{source.column(name)}" if table else source.column(name)
    if is_list(source, name):
        return engine.set_of_list(column, repeated=schema.several == "multiset")
    return column


def values_in(engine: Engine, source: Source, schema: Schema, name: str) -> pa.Array:
    """The distinct values of a column as they stand; of lists, those of their members."""
    key = key_of(engine, source, schema, name)
    distinct = engine.fetch(select([named(key, "v")], source.name, group=[key])).column(0)
    array = distinct.combine_chunks()
    if not has_lists(source, schema, name):
        return array
    return members_of(name, _lists(name, array, source, schema))[1].unique()


def measures(source: Source, schema: Schema) -> list[str]:
    listed = [named(people_of(source, schema), "n")]
    if schema.weight is not None:
        listed.append(named(weight_of(source, schema.weight), "w"))
    return listed


def domain_of(name: str, raw: pa.Array, source: Source, schema: Schema) -> tuple[Domain, Codes]:
    _refuse_other_bytes(name, raw, source)
    recipe, declared = schema.hierarchies.get(name), schema.domains.get(name)
    if declared is None and recipe is None and name in schema.sensitive:
        _refuse_undeclared(name, raw, schema)
    leaves = recipe.leaves() if recipe is not None else ()
    if name in schema.sensitive and not leaves and (declared is None or isinstance(declared, str)):
        _refuse_look_alikes(name, raw, recipe)
    domain, codes = build_domain(
        name,
        raw,
        # What a text lists has no stated type either, wherever the text comes from.
        untyped=source.is_untyped(name) or (name in schema.lists and not is_list(source, name)),
        declared=declared,
        extra=leaves,
        specials=source.codes.get(name, ()),
    )
    if domain.has_null and schema.nulls == "error":
        raise InputError(
            f"column {name!r} has missing values, which nulls='error' forbids; fill them in, or "
            "allow them as a value of their own with nulls='value'"
        )
    level = schema.levels.get(name)
    if level is None or recipe is None:
        return domain, codes
    levels = recipe.bind(domain)
    if level >= levels.height:
        raise InputError(
            f"levels: column {name!r} has level {level}, its hierarchy only 0 to "
            f"{levels.height - 1}"
        )
    coarse = levels[level]
    kind: DomainKind = "ordered" if domain.is_ordered else "categorical"
    labels = list(coarse.labels)
    if domain.has_null and level < levels.height - 1:
        return Domain(name, kind, (*labels[:-1], None)), coarse.codes[codes]
    return Domain(name, kind, tuple(labels)), coarse.codes[codes]


# How the distinct cells of a column become codes. A reader of published files has its own way.
Coding = Callable[[str, pa.Array, Source, Schema], tuple[Domain, Codes]]


class CodedValues:
    """`domain_of`, and which quasi-identifiers write a value in two ways (5 and 5.0)."""

    def __init__(self) -> None:
        self.two_ways: list[str] = []

    def __call__(
        self, name: str, raw: pa.Array, source: Source, schema: Schema
    ) -> tuple[Domain, Codes]:
        domain, codes = domain_of(name, raw, source, schema)
        if name in schema.quasi and len(np.unique(codes)) < len(codes):
            self.two_ways.append(name)
        return domain, codes


def _refuse_other_bytes(name: str, raw: pa.Array, source: Source) -> None:
    """Files and frames may call bytes a text that are none, and not every engine looks at them."""
    if str(raw.type) not in ("string", "large_string", "string_view"):
        return
    try:
        raw.validate(full=True)
    except pa.ArrowInvalid:
        raise InputError(
            f"column {name!r} of {source.label} holds text that is not UTF-8; convert it to UTF-8 "
            "first"
        ) from None


def _refuse_undeclared(name: str, raw: pa.Array, schema: Schema) -> None:
    """JSON lists taken for words would make a category of everybody's set."""
    if name in schema.lists or not pa.types.is_string(raw.type):
        return
    texts = raw.slice(0, 101).drop_null()
    if len(texts) and texts[0].as_py().startswith("[") and looks_like_json(texts.to_pylist()):
        raise InputError(
            f"column {name!r} holds JSON lists; declare lists = {{{name!r}: 'json'}} in the "
            "schema, or domains 'categorical' if each text is one value"
        )


def _refuse_look_alikes(name: str, raw: pa.Array, recipe: Hierarchy | None) -> None:
    """One value written in two ways would make a group of it look diverse."""
    if str(raw.type) not in ("string", "large_string", "string_view"):
        return
    texts = raw.to_pylist()
    look_alikes = count_look_alikes(texts)
    if recipe is not None and not look_alikes:
        codes = [None if text is None else recipe.spelling(text) for text in texts]
        if equal_codes := count_look_alikes(codes):
            raise InputError(
                f"sensitive column {name!r}: {equal_codes:,} of its {len(raw):,} distinct codes "
                f"are another one by {recipe.kind} (e11.9, E119 and E11.9 are one); write each "
                "code one way, or list the values in domains if they are different"
            )
    if look_alikes:
        raise InputError(
            f"sensitive column {name!r}: {look_alikes:,} of its {len(raw):,} distinct values look "
            "like another one (they differ only in spaces, invisible signs, the form of a letter, "
            "or in how a missing value is written); write each value one way, or list the values "
            "in domains if they are different"
        )


def encode(
    name: str, array: pa.Array, source: Source, schema: Schema, coding: Coding = domain_of
) -> KeyColumn:
    """A column's cells as codes: of values or, where cells hold several, of distinct sets."""
    if is_list_type(array.type):
        return _encode_lists(name, array, source, schema, coding)
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode(null_encoding="encode")
    if name in schema.lists:
        lists = _lists(name, array.dictionary, source, schema)
        column = _encode_lists(name, lists, source, schema, coding)
        return KeyColumn(column.domain, column.codes[array.indices.to_numpy()], column.sets)
    domain, code_of = coding(name, array.dictionary, source, schema)
    return KeyColumn(domain, code_of[array.indices.to_numpy()])


def encode_distinct(
    name: str, raw: pa.Array, source: Source, schema: Schema, coding: Coding = domain_of
) -> KeyColumn:
    """The same for cells of which none is there twice."""
    if has_lists(source, schema, name):
        return encode(name, raw, source, schema, coding)
    return KeyColumn(*coding(name, raw, source, schema))


def _lists(name: str, array: pa.Array, source: Source, schema: Schema) -> pa.Array:
    if is_list_type(array.type):
        return array
    if str(array.type) not in ("string", "large_string", "string_view", "null"):
        raise InputError(
            f"lists: column {name!r} has the type {array.type}; it must hold text, or be a list "
            "column, which needs no declaration"
        )
    return split_texts(name, array, schema.lists[name], blank_is_empty=source.is_untyped(name))


def _encode_lists(
    name: str, lists: pa.Array, source: Source, schema: Schema, coding: Coding
) -> KeyColumn:
    offsets, flat = members_of(name, lists)
    distinct = flat.dictionary_encode(null_encoding="encode")
    domain, code_of = coding(name, distinct.dictionary, source, schema)
    members = code_of[distinct.indices.to_numpy()]
    repeated = schema.several == "multiset"
    return KeyColumn(domain, *code_sets(offsets, members, repeated=repeated))


def gather(column: KeyColumn, lists: pa.Array, *, repeated: bool) -> KeyColumn:
    """Each person's rows: lists of a column's codes become one value, or one set, a person."""
    offsets, codes = members_of(column.domain.name, lists)
    coded: Codes = codes.to_numpy().astype(np.int32, copy=False)
    if column.sets is not None:
        return KeyColumn(
            column.domain, *code_sets(*joined(offsets, coded, column.sets), repeated=repeated)
        )
    if (np.diff(offsets) == 1).all():  # people who all have one row need no sets
        return KeyColumn(column.domain, coded)
    return KeyColumn(column.domain, *code_sets(offsets, coded, repeated=repeated))


# -- people ---------------------------------------------------------------------------------------


def people_of(source: Source, schema: Schema) -> str:
    """SQL aggregate: the people behind a group of rows."""
    if schema.count is None:
        return "CAST(COUNT(*) AS BIGINT)"
    return f"CAST(SUM({number_in(source, schema.count)}) AS BIGINT)"


def weight_of(source: Source, column: str, aggregate: str = "SUM") -> str:
    """SQL aggregate: the people of the population behind a group of rows.

    MAX over one person's rows: her weight stands once for her, however many rows she has. "" is no
    aggregate: what stands in each row.
    """
    return f"{aggregate}({number_in(source, column)})"


def check_people(engine: Engine, source: Source, schema: Schema) -> None:
    """Refuse counts, weights and persons that cannot mean what their role says."""
    if schema.person is not None:
        person = source.column(schema.person)
        missing = _first(engine, source, f"COUNT(*) - COUNT({person})")
        if missing:
            raise InputError(
                f"person column {schema.person!r} is missing in {missing} row(s); give every row "
                "its person, or drop the role"
            )
        refuse_look_alikes(engine, source, schema.person, "person")
    if schema.count is not None:
        _check_number(engine, source, schema.count, "count", "whole numbers of people, 0 or more")
        number = number_in(source, schema.count)
        broken = _first(
            engine, source, f"SUM(CASE WHEN {number} <> FLOOR({number}) THEN 1 ELSE 0 END)"
        )
        if broken:
            raise InputError(
                f"count column {schema.count!r} holds a fraction in {broken} row(s); counts are "
                "whole numbers of people (survey weights have the role weight)"
            )
    if schema.weight is not None:
        _check_number(engine, source, schema.weight, "weight", "numbers, 0 or more")


def refuse_changed(source: Source, rows: int) -> None:
    """Refuse a source of which other rows came than it had at first: it is read several times.

    Whoever has a value that was not there when values were listed has no code, and was left out.
    Of a text file the number of rows is an estimate.
    """
    if rows != source.rows and not source.untyped:
        raise InputError(
            f"{source.label} had {source.rows:,} rows at first, and {rows:,} were found as they "
            "were counted: it changes while it is read; give a copy that nobody writes to"
        )


def refuse_look_alikes(engine: Engine, source: Source, column: str, role: str) -> None:
    """One person, or household, written in two ways would be counted as two."""
    kind, name = source.types[column], source.column(column)
    if pa.types.is_dictionary(kind):
        kind, name = kind.value_type, f"CAST({name} AS VARCHAR)"
    if str(kind) not in ("string", "large_string", "string_view"):
        return
    spaces = " " * len(WIDE_SPACES)  # signs for which none is given are left out
    plain = f"TRIM(TRANSLATE({name}, {literal(WIDE_SPACES + INVISIBLE)}, '{spaces}'))"
    if not _first(engine, source, f"SUM(CASE WHEN {plain} <> {name} THEN 1 ELSE 0 END)"):
        return
    look_alikes = _first(engine, source, f"COUNT(DISTINCT {name}) - COUNT(DISTINCT {plain})")
    if look_alikes:
        raise InputError(
            f"{role} column {column!r}: {look_alikes:,} of its values differ from others only in "
            f"spaces or invisible signs, so that one {role} may be counted as two; write each "
            f"{role} one way"
        )


def _check_number(engine: Engine, source: Source, column: str, role: str, allowed: str) -> None:
    if not is_numeric(source.types[column]) and not source.is_untyped(column):
        raise InputError(
            f"{role} column {column!r} has the type {source.types[column]}; it must hold {allowed}"
        )
    number = number_in(source, column)
    for problem, condition in (
        ("no number", f"{number} IS NULL OR isnan({number})"),
        ("a negative number", f"{number} < 0"),
        ("a number above 1e15", f"{number} > 1e15"),
    ):
        rows = _first(engine, source, f"SUM(CASE WHEN {condition} THEN 1 ELSE 0 END)")
        if rows:
            raise InputError(
                f"{role} column {column!r} holds {problem} in {rows} row(s); it must hold {allowed}"
            )


def is_numeric(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def number_in(source: Source, column: str) -> str:
    """SQL of a cell as a number."""
    if source.is_untyped(column):
        # TRIM also keeps DuckDB from moving the cast into its CSV reader, where it would fail hard.
        text = f"TRIM({source.column(column)})"
        # One engine reads 5d and 0x5p0 as numbers, another 5_0: nobody writes people so.
        odd = (
            f"LOWER(RIGHT({text}, 1)) IN ('d', 'f') "
            f"OR LENGTH(TRANSLATE(LOWER({text}), 'x_', '')) < LENGTH({text})"
        )
        return f"CASE WHEN {odd} THEN NULL ELSE TRY_CAST({text} AS DOUBLE) END"
    return f"CAST({source.column(column)} AS DOUBLE)"


def _first(engine: Engine, source: Source, aggregate: str) -> int:
    return int(engine.fetch(select([named(aggregate, "x")], source.name)).column(0)[0].as_py() or 0)
