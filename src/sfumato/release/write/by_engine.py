"""The rows of a release as its engine makes them: one SELECT, and no row in Python.

For tables larger than memory, and for kept columns of rows that are not in this process. Each
group's people are counted by their sensitive values (cells); the engine shows them in the group's
description, as many rows as there are people. Rows are sorted by what is published of them and by
nothing else: not by the numbers of groups, which may come from the order of the original rows. Only
kept columns, which are each person's own, make the engine read the original rows again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.counts.scan import join_codes
from sfumato.engines.base import Engine, Scratch, named, row_blocks, select
from sfumato.errors import InputError, ResourceError
from sfumato.numbers import Floats
from sfumato.release.description import GROUP_ID, Regions
from sfumato.release.made import DealtByEngine, MadeHere
from sfumato.release.release import Release
from sfumato.release.write.cells import (
    check_keep,
    described_order,
    shown_regions,
    shown_values,
    typed,
    used_values,
)
from sfumato.release.write.weights import mean_weights
from sfumato.table import Table

# What an engine needs to make the rows of a release: groups and people, as tables for a while.
#
# Groups go there by their places among the descriptions, people by their groups. Where the counts
# are in memory so are the people; those of a table larger than memory are with the engine already.


def group_blocks(regions: Regions, weights: Floats | None = None) -> Iterator[pa.Table]:
    """Each group's place among the descriptions, which region it shows in each column, and the
    weight that its people are published with, if they are."""
    place = described_order(regions)
    numbers = np.arange(len(regions), dtype=_smallest(len(regions)))
    for block in row_blocks(len(regions)):
        regions_shown = {
            f"c{column}": codes[block].astype(_smallest(len(parts)))
            for column, (parts, codes) in enumerate(zip(regions.parts, regions.codes, strict=True))
        }
        here = place[block].astype(numbers.dtype)
        weighed = {} if weights is None else {"w": weights[block]}
        yield pa.table({"g": numbers[block], "place": here, **regions_shown, **weighed})


def _smallest(size: int) -> npt.DTypeLike:
    """The smallest type for numbers below this: the engine copies and sorts what it is given."""
    return next(
        width for width in (np.int8, np.int16, np.int32, np.int64) if size <= np.iinfo(width).max
    )


def people_with_kept(table: Table, placed: str, scratch: Scratch) -> str:
    """SQL: one row a person, with her group, sensitive codes and kept values."""
    schema = table.schema
    _, joins, where = join_codes(
        table.engine, table.source, schema, scratch.names, large=True, kept=True
    )
    keys = [f"q{place}" for place in range(len(schema.quasi))]
    keys += [f"s{place}" for place in range(len(schema.sensitive))]
    listed = [named(where[name], key) for name, key in zip(schema.judged, keys, strict=True)]
    kept = [table.source.column(name) for name in schema.kept]
    listed += [named(column, f"k{place}") for place, column in enumerate(kept)]
    # Tuples may differ in what people want protected, and be the same for us.
    groups = select([*keys, "g"], placed, group=[*keys, "g"])
    on_keys = " AND ".join(f"originals.{key} = told.{key}" for key in keys)
    columns = [f"originals.{key} AS {key}" for key in keys[len(schema.quasi) :]]
    columns += [f"originals.k{place} AS k{place}" for place in range(len(schema.kept))]
    return (
        f"(SELECT {', '.join(['told.g AS g', *columns])} FROM ({select(listed, joins)}) "
        f"AS originals JOIN ({groups}) AS told ON {on_keys}) AS people"
    )


_ROW, _CELL = 64, 24  # bytes that a row made in memory takes: to order it, and for each cell
_KEPT = 16  # bytes of a kept cell, about
_LEAST = 256 << 20  # bytes that an engine should have to write with


@dataclass(frozen=True)
class EngineRows:
    """The published rows: the query that makes them, their columns, how many there must be.

    The query may call columns otherwise, where the engine takes their names for equal; it has them
    in the order of `schema`. `width` is the bytes of a row, about.
    """

    engine: Engine
    select: str
    schema: pa.Schema
    people: int
    width: int

    def beside(self) -> contextlib.AbstractContextManager[None]:
        """Within, the engine leaves room for the release, if enough remains to write with."""
        if self.engine.memory // 3 >= _LEAST:
            return self.engine.yield_memory()
        return contextlib.nullcontext()

    def fetch(self) -> pa.Table:
        """The rows in memory, if they fit."""
        needed = 2 * self.people * self.width
        if needed > self.engine.memory:
            raise ResourceError(
                f"the release has {self.people:,} rows, about {needed / 1e9:,.1f} GB in memory; "
                "save it to a folder, or raise the memory limit"
            )
        return self.typed(self.engine.fetch(self.select))

    def typed(self, rows: pa.Table) -> pa.Table:
        """Rows that the engine made, in the types that rows made in memory have."""
        columns = [
            pa.nulls(rows.num_rows) if pa.types.is_null(field.type) else rows.column(place)
            for place, field in enumerate(self.schema)
        ]
        return pa.table(columns, names=self.schema.names).cast(self.schema)


def is_for_engine(release: Release) -> bool:
    """Whether the rows of a release are for its engine to make, not for us in memory."""
    placement = release.placement
    if isinstance(placement, DealtByEngine):
        return True
    if placement is None or release.regions.each_region is None:
        return False
    if release.schema.rows == "unlinked":  # such a table is in memory, or was refused
        return False
    engine = placement.table.engine
    if not placement.fits_memory:
        return True
    if release.schema.kept and not engine.embedded:  # they stand in the rows, which stay there
        return True
    columns = len(release.schema.judged) + len(release.schema.kept)
    return release.people * (_ROW + _CELL * columns) > engine.memory


def made_to_publish(release: Release) -> MadeHere:
    """How a release was made that is to be handed out: here, and not altered since."""
    match release.made:
        case MadeHere(altered=False) as made:
            return made
        case MadeHere():
            raise InputError(
                "only a release as anonymize made it can be written; of this one groups were put "
                "together or left out"
            )
        case _:
            raise InputError(
                "only a release that anonymize made can be written or shown row by row; this one "
                "was read: its rows are in the file that it was read from"
            )


@contextlib.contextmanager
def engine_tables(
    release: Release, lists: Mapping[str, str] | None = None
) -> Iterator[dict[str, EngineRows]]:
    """The tables that are handed out, by name; what they are made of stays there within."""
    placement = made_to_publish(release).placement
    if isinstance(placement, DealtByEngine):
        with Scratch(placement.table.engine) as scratch:
            yield _bucketized(release, placement, scratch)
        return
    with engine_rows(release, lists) as rows:
        yield {"data": rows}


@contextlib.contextmanager
def engine_rows(release: Release, lists: Mapping[str, str] | None = None) -> Iterator[EngineRows]:
    """The rows of a release with regions; what they are made of stays there within.

    `lists`: the columns whose several values are to be written as one text, and how.
    """
    placement = made_to_publish(release).placement
    regions = release.regions.require_regions()
    table = placement.table
    check_keep(table)
    with Scratch(table.engine) as scratch:
        by_group = table.schema.publish_weight == "group"
        weights = mean_weights(release) if by_group else None
        groups = scratch.append("groups", group_blocks(regions, weights))
        declared = table.schema.domains
        labels = [
            shown_regions(parts, codes, declared.get(name))
            for name, parts, codes in zip(
                regions.columns, regions.parts, regions.codes, strict=True
            )
        ]
        labels += [
            shown_values(
                attribute,
                release.groups_for(attribute.name).indices,
                (lists or {}).get(attribute.name),
                declared.get(attribute.name),
            )
            for attribute in table.counts.sensitive
        ]
        kept = _kept_types(table)
        weighed = [pa.field(str(table.schema.weight), pa.float64())] if by_group else []
        if kept:
            people = people_with_kept(table, placement.groups_of_tuples(scratch), scratch)
        else:
            people = placement.cells(scratch)
        text = _select(scratch, people, groups, labels, table, release.regions.columns)
        names = [*regions.columns, *table.schema.sensitive]
        fields = [pa.field(name, label.type) for name, label in zip(names, labels, strict=True)]
        width = sum(label.nbytes // max(len(label), 1) + 1 for label in labels)
        width += _KEPT * len([*kept, *weighed])
        yield EngineRows(
            engine=table.engine,
            select=text,
            schema=pa.schema([*fields, *kept, *weighed]),
            people=release.people,
            width=width,
        )


def _bucketized(
    release: Release, placement: DealtByEngine, scratch: Scratch
) -> dict[str, EngineRows]:
    """Everybody's exact values with her bucket, and apart from them the buckets' values.

    Both are sorted by the ids of buckets, which say nothing, and by what is listed of each.
    """
    declared = release.schema.domains
    quasi: dict[str, tuple[str, pa.Array]] = {}
    for place, (domain, people) in enumerate(release.regions.listed_people or ()):
        values = typed(used_values(domain, np.flatnonzero(people)), declared.get(domain.name))
        quasi[domain.name] = f"q{place}", values
    (attribute,) = placement.table.counts.sensitive
    used = release.groups_for(attribute.name).indices
    values = typed(used_values(attribute.domain, used), declared.get(attribute.name))
    sensitive = {attribute.name: ("s0", values)}
    count = [("CAST(1 AS BIGINT)", "count")]  # all values of a bucket are distinct
    return {
        "quasi": _listed(release, placement, scratch, quasi, []),
        "sensitive": _listed(release, placement, scratch, sensitive, count),
    }


def _listed(
    release: Release,
    placement: DealtByEngine,
    scratch: Scratch,
    columns: Mapping[str, tuple[str, pa.Array]],
    figures: list[tuple[str, str]],
) -> EngineRows:
    """A row for everybody: her bucket, what columns show of a code of hers, and figures."""
    engine, people = scratch.engine, placement.people
    joins, inside, outside = people, [f"{people}.g"], ["x0"]
    for place, (code, label) in enumerate(columns.values(), start=1):
        sorted_column, later, joined = _label(scratch, f"{people}.{code}", label, place)
        joins += joined
        inside.append(sorted_column)
        outside.append(later)
    order = ", ".join([f"{people}.g", *(f"{people}.{code}" for code, _ in columns.values())])
    inside = [named(column, f"x{place}") for place, column in enumerate(inside)]
    ordered = f"({select(inside, joins)} ORDER BY {order}) AS ordered"
    names = [GROUP_ID, *columns, *(name for _, name in figures)]
    listed = zip([*outside, *(text for text, _ in figures)], _engine_names(names), strict=True)
    types = [
        pa.int64(),
        *(label.type for _, label in columns.values()),
        *(pa.int64() for _ in figures),
    ]
    return EngineRows(
        engine=engine,
        select=select([named(column, name) for column, name in listed], ordered),
        schema=pa.schema(list(zip(names, types, strict=True))),
        people=release.people,
        width=16 + sum(label.nbytes // max(len(label), 1) + 1 for _, label in columns.values()),
    )


def _label(scratch: Scratch, code: str, label: pa.Array, place: int) -> tuple[str, str, str]:
    """SQL of what stands for a code: the column to sort, what it shows after, and what to join."""
    if pa.types.is_null(label.type):  # no engine writes a column without a type
        label = label.cast(pa.int32())
    numbers = pa.array(np.arange(len(label), dtype=np.int32))
    label_table = scratch.put("labels", pa.table({"code": numbers, "label": label}))
    # Sorting codes takes far less than sorting what they stand for.
    later = scratch.engine.label_of(label_table, f"x{place}")
    if later is not None:
        return code, later, ""
    return (
        f"{label_table}.label",
        f"x{place}",
        f" JOIN {label_table} ON {code} = {label_table}.code",
    )


def _engine_names(names: list[str]) -> list[str]:
    """What an engine may call the columns: engines hold names for equal that differ in case."""
    if len({name.upper().casefold() for name in names}) == len(names):
        return names
    return [f"c{place}" for place in range(len(names))]


def _kept_types(table: Table) -> list[pa.Field]:
    if not table.schema.kept:
        return []
    source, names = table.source, table.schema.kept
    listed = select([source.column(name) for name in names], source.name)
    types = table.engine.fetch(f"{listed} LIMIT 0").schema
    return [pa.field(name, kind) for name, kind in zip(names, types.types, strict=True)]


def _select(
    scratch: Scratch,
    people: str,
    groups: str,
    labels: list[pa.Array],
    table: Table,
    columns: tuple[str, ...],
) -> str:
    """The one query: people sorted by what is published of them, a row for each."""
    schema, engine = table.schema, scratch.engine
    people_source = "people" if schema.kept else people
    sensitive = [f"{people_source}.s{place}" for place in range(len(schema.sensitive))]
    kept = [f"{people_source}.k{place}" for place in range(len(schema.kept))]
    joins = f"{people} JOIN {groups} ON {people_source}.g = {groups}.g"
    inside, outside = [], []
    for place, (code, label) in enumerate(
        zip([*(f"{groups}.c{c}" for c in range(len(columns))), *sensitive], labels, strict=True)
    ):
        sorted_column, later, joined = _label(scratch, code, label, place)
        joins += joined
        inside.append(sorted_column)
        outside.append(later)
    weighed = [f"{groups}.w"] if schema.publish_weight == "group" else []
    own = [*kept, *weighed]
    outside += [f"x{place}" for place in range(len(inside), len(inside) + len(own))]
    inside = [named(column, f"x{place}") for place, column in enumerate([*inside, *own])]
    inside += [] if schema.kept else [f"{people}.n AS n"]
    order = ", ".join([f"{groups}.place", *sensitive, *kept])
    ordered = f"({select(inside, joins)} ORDER BY {order}) AS ordered"
    names = [*columns, *schema.sensitive, *schema.kept, *([str(schema.weight)] if weighed else [])]
    names = _engine_names(names)
    listed = [named(column, name) for column, name in zip(outside, names, strict=True)]
    return select(listed, ordered if schema.kept else engine.repeated(ordered, "n"))
