"""What is shown of a group and of a sensitive value: the cells of a published table.

The type of a column follows from what is published in it and from the values that the schema
declares, never from the values of people who were suppressed.

Here too: kept columns, fetched from the rows again; and how many bounds are one person's own value.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
import pyarrow as pa

from sfumato.counts.columns import encode, keys, refuse_kept_lists
from sfumato.counts.counts import Attribute, rank_rows
from sfumato.engines.base import named, select
from sfumato.errors import InputError, SchemaError
from sfumato.numbers import Codes, Ints, tallied_offsets
from sfumato.release.description import Regions
from sfumato.release.read.cells import read_cells
from sfumato.release.release import Release
from sfumato.schema.domain import Declared, Domain
from sfumato.schema.notation import write_list
from sfumato.schema.region import Anything, Region, Span, Value, ValueSet, text_of
from sfumato.schema.roles import Schema
from sfumato.table import Table

# The kept columns of the people of a release: fetched from the rows, matched by their tuples.
#
# Only columns with the role `keep` need the rows again; everything else is in the counts. People
# with equal quasi-identifiers and sensitive values are interchangeable, so their kept values are
# dealt out to them at random.


def check_keep(table: Table) -> None:
    """Refuse kept columns that have no single value for each person."""
    schema = table.schema
    by_person = schema.person is not None and not table.source.one_each
    by_person &= schema.rows == "gathered"
    if schema.kept and (by_person or schema.count is not None):
        raise SchemaError(
            "keep needs one row a person: with person or count there is no single value to "
            "publish; drop keep, or give the column a role (weights: publish_weight = 'group')"
        )
    refuse_kept_lists(table.source, schema.kept)


def rows_and_tuples(
    table: Table, columns: Sequence[str] = (), *, in_order: bool = False
) -> tuple[pa.Table, Ints]:
    """Some columns of a table's rows, x0, x1, ..., and which tuple of its counts each row is of.

    One row is one person, or several with the same values; `in_order`: as they stand in the file.
    """
    schema, source = table.schema, table.source
    listed = [named(source.column(name), f"k{place}") for place, name in enumerate(keys(schema))]
    listed += [named(source.column(name), f"x{place}") for place, name in enumerate(columns)]
    rows = table.engine.fetch(select(listed, source.name), in_order=in_order)
    coded = [
        encode(name, rows.column(f"k{place}").combine_chunks(), source, schema)
        for place, name in enumerate(keys(schema))
    ]
    counts = table.counts.in_memory("telling of each row which tuple it is")
    extra = [] if counts.protect is None else [counts.protect[1][None, :]]
    known = np.vstack([counts.codes, counts.values, *extra])
    keys_of_rows = np.hstack([known, np.vstack([column.codes for column in coded])])
    number, _ = rank_rows(keys_of_rows, [int(row.max(initial=0)) + 1 for row in keys_of_rows])
    tuple_of = np.empty(int(number.max()) + 1, dtype=np.int64)
    tuple_of[number[: len(counts)]] = np.arange(len(counts))
    return rows, tuple_of[number[len(counts) :]]


def rows_of_people(
    table: Table, tuples: Ints, shuffle: np.random.Generator
) -> dict[str, pa.ChunkedArray]:
    """For each kept column, the value of each person (given by the tuple she belongs to)."""
    schema = table.schema
    if not schema.kept:
        return {}
    check_keep(table)
    rows, of_row = rows_and_tuples(table, schema.kept)
    # Deal rows to people: both sorted by tuple, rows in random order within a tuple.
    mixed = shuffle.permutation(len(of_row))
    dealt = mixed[np.argsort(of_row[mixed], kind="stable")]
    first = tallied_offsets(of_row, len(table.counts))
    by_tuple = np.argsort(tuples, kind="stable")
    ordered = tuples[by_tuple]
    nth = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    chosen = np.empty(len(tuples), dtype=np.int64)
    chosen[by_tuple] = dealt[first[ordered] + nth]
    return {
        name: rows.column(f"x{place}").take(pa.array(chosen))
        for place, name in enumerate(schema.kept)
    }


_EXACT = 1 << 53  # whole numbers that a float tells exactly
_WIDE = 1 << 62  # keys that 64 bits hold
_NO_VALUE = ValueSet(frozenset({None}))


def shown_regions(
    parts: Sequence[Region], used: Ints | Codes, declared: Declared | None
) -> pa.Array:
    """Each distinct region as a cell: values in their own type if nothing was generalized.

    Only the parts that are `used` say what the column's type is; the others are left empty.
    """
    cells: list[Value] = [None] * len(parts)
    regions = {place: parts[place] for place in occurring(used, len(parts))}
    single = {place: region.values for place, region in regions.items() if _is_value(region)}
    if len(single) == len(regions):
        for place, values in single.items():
            (value,) = values
            cells[place] = parts[place].text if isinstance(value, str) else value
        return typed(cells, declared)
    for place, region in regions.items():
        cells[place] = None if region == _NO_VALUE else region.text
    return pa.array(cells, pa.string())


def check_readable(
    name: str,
    parts: Sequence[Region],
    used: Ints | Codes,
    specials: Sequence[str],
    *,
    points: bool = False,
) -> None:
    """Refuse texts of which a reader of the file could not tell what they say.

    Ranges and numbers are always read as they were meant; words may look like them. `specials`:
    codes that stand beside numbers or dates; `points`: each cell is one value, as centroids are.
    """
    regions = [parts[place] for place in occurring(used, len(parts))]
    if all(isinstance(region, Anything | Span) or _is_number(region) for region in regions):
        return
    texts = [None if region == _NO_VALUE else region.text for region in regions]
    words = points and all(_is_word(region) for region in regions)
    schema = Schema(quasi=[name], domains={name: "categorical"} if words else {})
    read = read_cells(
        name, list(dict.fromkeys(texts)), schema, None, in_folder=True, specials=specials
    )
    odd = sum(not (isinstance(part, ValueSet) and len(part.values) == 1) for part in read.parts)
    if points and odd:
        raise InputError(
            f"column {name!r}: {odd:,} of its values are read as ranges, masks or sets, and a "
            "microaggregated release publishes one value a cell; write them as words, or use "
            "another anonymizer"
        )


def _is_word(region: Region) -> bool:
    """Whether a cell shows one text, or that there is none: the manifest then says text."""
    return isinstance(region, ValueSet) and all(
        value is None or isinstance(value, str) for value in region.values
    )


def _is_number(region: Region) -> bool:
    return isinstance(region, ValueSet) and not any(
        isinstance(value, str) for value in region.values
    )


def occurring(codes: Ints | Codes, size: int) -> list[int]:
    """The distinct codes among many, in their order."""
    seen = np.zeros(size, dtype=bool)
    seen[codes] = True
    return [int(code) for code in np.flatnonzero(seen)]


def _is_value(region: Region) -> TypeGuard[ValueSet]:
    return isinstance(region, ValueSet) and len(region.values) == 1 and region.label is None


def typed(values: Sequence[Value], declared: Declared | None) -> pa.Array:
    """Values in the plainest type that tells them and those that the schema declares."""
    listed = () if declared is None or isinstance(declared, str) else tuple(declared)
    known: list[object] = [value for value in (*values, *listed) if value is not None]
    plain = list(values)
    words = sum(isinstance(value, str) for value in known)
    if 0 < words < len(known):  # special codes beside numbers or dates
        plain = [None if value is None else text_of(value) for value in values]
    elif any(isinstance(value, float) for value in known) and all(
        _is_whole(value) for value in known
    ):
        plain = [int(value) if isinstance(value, float) else value for value in values]
    elif any(isinstance(value, dt.datetime) for value in known):
        midnights = all(_is_midnight(moment) for moment in known)
        plain = [_day(value) if midnights else _moment(value) for value in values]
    return pa.array(plain)


def _is_midnight(value: object) -> bool:
    return not isinstance(value, dt.datetime) or value.time() == dt.time()


def _day(value: Value) -> Value:
    return value.date() if isinstance(value, dt.datetime) else value


def _moment(value: Value) -> Value:
    bare = isinstance(value, dt.date) and not isinstance(value, dt.datetime)
    return dt.datetime.combine(value, dt.time()) if bare else value  # type: ignore[arg-type]


def _is_whole(value: object) -> bool:
    return isinstance(value, int) or (
        isinstance(value, float) and value.is_integer() and abs(value) < _EXACT
    )


def used_values(domain: Domain, used: Ints | Codes) -> list[Value]:
    """The values of a domain of which only those `used` are published; the others are left out."""
    values: list[Value] = [None] * len(domain)
    for code in occurring(used, len(values)):
        values[code] = domain.values[code]
    return values


def shown_values(
    attribute: Attribute, used: Ints | Codes, form: str | None, declared: Declared | None
) -> pa.Array:
    """What is published of each value, or of each distinct set of values: a list, or a text.

    Members stand in the order of the domain; the order of somebody's own list would tell of her.
    `used`: the values that are published.
    """
    values = typed(used_values(attribute.domain, used), declared)
    if attribute.sets is None:
        return values
    if pa.types.is_null(values.type):  # nobody has any value
        values = values.cast(pa.string())
    offsets = pa.array(attribute.sets.offsets, pa.int32())
    listed = pa.ListArray.from_arrays(offsets, values.take(pa.array(attribute.sets.members)))
    if form is None:
        return listed
    texts = [write_list(members, form) for members in listed.to_pylist()]
    if None in texts:
        raise InputError(
            f"column {attribute.name!r}: some values cannot be told apart when they are written "
            f"with {form!r} between them; use Parquet, or declare its lists as 'json'"
        )
    return pa.array(texts, pa.string())


def described_order(regions: Regions) -> Ints:
    """Each group's place when groups are sorted by their descriptions, the last column first."""
    key = np.zeros(len(regions), dtype=np.int64)
    space = 1
    for parts, codes in zip(regions.parts[::-1], regions.codes[::-1], strict=True):
        texts = [parts[place].text for place in range(len(parts))]
        rank = np.argsort(np.argsort(texts, kind="stable"), kind="stable")
        if space * len(parts) >= _WIDE:  # fold what we have into a dense numbering first
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            space = int(key.max(initial=0)) + 1
        key *= max(len(parts), 1)
        key += rank[codes]
        space *= max(len(parts), 1)
    place = np.empty(len(regions), dtype=np.int64)
    place[np.argsort(key, kind="stable")] = np.arange(len(regions))
    return place


# How many published bounds and centroids are the value of exactly one person.
#
# Anonymizers avoid it (`schema/boundaries.py`, `schema/centres.py`). Where the data leave no
# choice, or a declared hierarchy has its ends there, the manifest says how often.


@dataclass(frozen=True)
class OwnValues:
    """Of one column: published bounds, centroids and values that exactly one person has.

    `declared`: those among them that are ends of the column's hierarchy, whoever is in the table.
    """

    total: int
    declared: int

    def public(self) -> dict[str, int]:
        """As a manifest tells it."""
        numbers = {"ends_of_one_person": self.total}
        return {**numbers, "of_these_declared": self.declared} if self.declared else numbers


def own_values(release: Release) -> dict[str, OwnValues]:
    """By quasi-identifier of numbers or dates; empty where nothing of the making is known."""
    release = release.by_row or release
    placement, regions = release.placement, release.regions.each_region
    if placement is None or regions is None:
        return {}
    table, by_column = placement.table, {}
    for column, domain in enumerate(table.counts.quasi):
        if domain.kind not in ("numeric", "date"):
            continue
        people = table.counts.people_by_code(column)
        ends: set[Value] = set()
        parts = regions.parts[column]
        for place in occurring(regions.codes[column], len(parts)):
            ends |= _ends(parts[place])
        codes = {code for end in ends if (code := domain.code(end)) is not None}
        own = {code for code in codes if code < domain.placed and people[code] == 1}
        levels = table.levels[domain.name].levels[1:]
        declared = {
            text_of(end) for level in levels for part in level.regions for end in _ends(part)
        }
        known = [code for code in own if domain.labels[code] in declared]
        by_column[domain.name] = OwnValues(len(own), len(known))
    return by_column


def own_values_note(release: Release) -> tuple[str, ...]:
    """One line where some bound is one person's value; none where none is."""
    notes = []
    for name, own in own_values(release).items():
        if own.total:
            known = f" ({own.declared} of them by its declared hierarchy)" if own.declared else ""
            notes.append(f"{name} {own.total:,}{known}")
    if not notes:
        return ()
    return (
        "published bounds and centres that are the value of exactly one person: "
        f"{', '.join(notes)}",
    )


def _ends(region: object) -> set[Value]:
    if isinstance(region, Span):
        return {region.low, region.high}
    # What a label stands for is told by nobody's value.
    return set(region.values) if isinstance(region, ValueSet) and region.label is None else set()
