"""The rows of a release as its engine makes them: one SELECT, and no row in Python.

For tables larger than memory, and for an engine that is not in this process. Each group's people
are counted by their sensitive values (cells); the engine shows them in the group's description, as
many rows as there are people. Rows are sorted by what is published of them and by nothing else:
not by the numbers of groups, which may come from the order of the original rows. Only kept columns,
which are each person's own, make the engine read the original rows again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.engines.base import Engine
from sfumato.engines.sql import named, select
from sfumato.errors import InputError, ResourceError
from sfumato.release.origin import HeldOrigin
from sfumato.release.release import Release
from sfumato.release.write.cells import shown_regions, shown_values
from sfumato.release.write.kept_columns import check_keep
from sfumato.release.write.scratch import (
    Scratch,
    cells_of,
    group_blocks,
    people_with_kept,
    placed_of,
)
from sfumato.table.load import Table

_EACH, _CELL = 64, 24  # bytes that a row made in memory takes: to order it, and for each cell
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
    origin = release.origin
    if origin is None or release.regions.each_region is None:
        return False
    engine = origin.table.engine
    if isinstance(origin, HeldOrigin) or not engine.embedded:
        return True
    columns = len(release.schema.judged) + len(release.schema.keep)
    return release.people * (_EACH + _CELL * columns) > engine.memory


@contextlib.contextmanager
def engine_rows(release: Release, lists: Mapping[str, str] | None = None) -> Iterator[EngineRows]:
    """The rows of a release with regions; what they are made of stays there within.

    `lists`: the columns whose several values are to be written as one text, and how.
    """
    origin = release.origin
    if origin is None or origin.search is None:
        raise InputError("only a release that anonymize made can be written; this one was read")
    regions = release.regions.require_regions()
    table = origin.table
    check_keep(table)
    with Scratch(table.engine) as scratch:
        groups = scratch.append("groups", group_blocks(regions))
        declared = table.schema.domains
        labels = [
            shown_regions(parts, codes, declared.get(name))
            for name, parts, codes in zip(
                regions.columns, regions.parts, regions.codes, strict=True
            )
        ]
        labels += [
            shown_values(
                one,
                release.groups_for(one.name).indices,
                (lists or {}).get(one.name),
                declared.get(one.name),
            )
            for one in table.counts.sensitive
        ]
        kept = _kept_types(table)
        if kept:
            people = people_with_kept(table, placed_of(origin, scratch), scratch)
        else:
            people = cells_of(origin, scratch)
        text = _select(scratch, people, groups, labels, table, release.regions.columns)
        names = [*regions.columns, *table.schema.sensitive]
        fields = [pa.field(name, one.type) for name, one in zip(names, labels, strict=True)]
        width = sum(one.nbytes // max(len(one), 1) + 1 for one in labels) + _KEPT * len(kept)
        yield EngineRows(
            engine=table.engine,
            select=text,
            schema=pa.schema([*fields, *kept]),
            people=release.people,
            width=width,
        )


def _engine_names(names: list[str]) -> list[str]:
    """What an engine may call the columns: engines hold names for equal that differ in case."""
    if len({name.upper().casefold() for name in names}) == len(names):
        return names
    return [f"c{place}" for place in range(len(names))]


def _kept_types(table: Table) -> list[pa.Field]:
    if not table.schema.keep:
        return []
    source, names = table.source, table.schema.keep
    listed = select([source.column(name) for name in names], source.name)
    found = table.engine.fetch(f"{listed} LIMIT 0").schema
    return [pa.field(name, kind) for name, kind in zip(names, found.types, strict=True)]


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
    who = "people" if schema.keep else people
    sensitive = [f"{who}.s{place}" for place in range(len(schema.sensitive))]
    kept = [f"{who}.k{place}" for place in range(len(schema.keep))]
    joins = f"{people} JOIN {groups} ON {who}.g = {groups}.g"
    inside, outside = [], []
    for place, (code, label) in enumerate(
        zip([*(f"{groups}.c{c}" for c in range(len(columns))), *sensitive], labels, strict=True)
    ):
        if pa.types.is_null(label.type):  # no engine writes a column without a type
            label = label.cast(pa.int32())
        numbers = pa.array(np.arange(len(label), dtype=np.int32))
        shown = scratch.put("labels", pa.table({"code": numbers, "label": label}))
        # Sorting codes takes far less than sorting what they stand for.
        later = engine.label_of(shown, f"x{place}")
        if later is None:
            joins += f" JOIN {shown} ON {code} = {shown}.code"
        inside.append(code if later is not None else f"{shown}.label")
        outside.append(later or f"x{place}")
    outside += [f"x{place}" for place in range(len(inside), len(inside) + len(kept))]
    inside = [named(one, f"x{place}") for place, one in enumerate([*inside, *kept])]
    inside += [] if schema.keep else [f"{people}.n AS n"]
    order = ", ".join([f"{groups}.place", *sensitive, *kept])
    ordered = f"({select(inside, joins)} ORDER BY {order}) AS ordered"
    names = _engine_names([*columns, *schema.sensitive, *schema.keep])
    listed = [named(one, name) for one, name in zip(outside, names, strict=True)]
    return select(listed, ordered if schema.keep else engine.repeated(ordered, "n"))
