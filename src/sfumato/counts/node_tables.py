"""Node tables: counts too many for memory, rolled up by the engine to the nodes of a lattice.

A node table is like the stored one, with the labels of one level of each column's hierarchy for
codes. It is rolled up from the smallest finer one that is kept, never from the rows; small tables
say which label each becomes. `passes` tells how often tables of tuples were read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sfumato.counts.counts import Counts
from sfumato.counts.roll_up import Steps
from sfumato.counts.stored import SMALL, Kinds, StoredCounts
from sfumato.engines.base import fresh, named, select

Levels = tuple[int, ...]
_ANY = "CAST(0 AS SMALLINT)"  # the label of `*`


@dataclass
class Passes:
    """How often the compact table of the finest tuples was read, and tables rolled up from it."""

    finest: int = 0
    rolled: int = 0


@dataclass(frozen=True)
class NodeTable:
    """The tuples of one node, kept by the engine."""

    levels: Levels
    counts: StoredCounts

    def __len__(self) -> int:
        return len(self.counts)

    def is_finer(self, levels: Levels) -> bool:
        """Whether the node at these levels can be rolled up from this one."""
        return all(own <= other for own, other in zip(self.levels, levels, strict=True))


class NodeTables:
    """The node tables of one stored table. It is kept itself, some others, and the last one made.

    `most` is the number of tuples that fit in memory.
    """

    def __init__(self, stored: StoredCounts, steps: Steps) -> None:
        self._engine, self._steps = stored.engine, steps
        self.finest = NodeTable((0,) * len(steps.levels), stored)
        self._kept = {self.finest.levels: self.finest}
        self._last: NodeTable | None = None
        self.most = stored.most
        self.passes = Passes()

    # -- which are kept ---------------------------------------------------------------------------

    def at(self, levels: Levels) -> NodeTable:
        """The table of one node; it is kept until another one is asked for."""
        if levels in self._kept:
            return self._kept[levels]
        if self._last is None or self._last.levels != levels:
            rolled = self._roll(levels)
            self._forget_last()
            self._last = rolled
        return self._last

    def keep(self, levels: Levels) -> NodeTable:
        """The table of one node, from which others can be rolled up; see `forget`."""
        table = self._kept[levels] = self.at(levels)
        self._last = None if self._last is table else self._last
        return table

    def forget(self, useless: Callable[[Levels], bool]) -> None:
        """Give up the tables of some nodes; never the finest."""
        for levels in [one for one in self._kept if one != self.finest.levels and useless(one)]:
            self._engine.drop(self._kept.pop(levels).counts.name)

    def _forget_last(self) -> None:
        if self._last is not None:
            self._engine.drop(self._last.counts.name)
            self._last = None

    def close(self) -> None:
        """Give up all but the finest."""
        self._forget_last()
        self.forget(lambda _: True)

    def smallest_below(self, levels: Levels) -> NodeTable:
        """The smallest table that is kept and finer."""
        tables = [*self._kept.values(), *([self._last] if self._last else [])]
        return min((table for table in tables if table.is_finer(levels)), key=len)

    # -- what the engine is asked -----------------------------------------------------------------

    def _roll(self, levels: Levels) -> NodeTable:
        source = self.smallest_below(levels)
        stored = source.counts
        with _Labels(self._steps, source, [levels]) as labels:
            told = labels.of(levels)
            listed = [named(label, f"q{column}") for column, label in enumerate(told)]
            listed += [named(f"{stored.name}.{one}", one) for one in stored.other_columns]
            group = [label for label in told if label != _ANY]
            group += [f"{stored.name}.{one}" for one in stored.other_columns]
            name = fresh("node")
            text = select([*listed, *stored.sums], labels.joins, group=group)
            self._engine.materialize(name, text, large=True)
        self.read(source)
        return NodeTable(levels, replace(stored, name=name))

    def estimates(self, nodes: Sequence[Levels]) -> list[int]:
        """About how many tuples each of these nodes has, in one pass."""
        meet = tuple(min(levels) for levels in zip(*nodes, strict=True))
        source = self.smallest_below(meet)
        stored = source.counts
        shown = [f"{stored.name}.{one}" for one in stored.other_columns]
        with _Labels(self._steps, source, nodes) as labels:
            keys = [", ".join([*labels.of(levels), *shown]) for levels in nodes]
            counted = [f"approx_count_distinct(hash({key})) AS e{i}" for i, key in enumerate(keys)]
            found = self._engine.fetch(select(counted, labels.joins))
        self.read(source)
        return [int(found.column(place)[0].as_py()) for place in range(len(nodes))]

    def parts(self, table: NodeTable) -> Iterator[Counts]:
        """All tuples of a node, as many at a time as fit, each group's together."""
        if not table.counts.fits:  # then tuples are counted before the first part is brought
            self.read(table)
        for part in table.counts.parts():
            self.read(table)
            yield part

    def kinds(self, table: NodeTable) -> Kinds:
        """The groups of a node, equal ones told once."""
        self.read(table)
        self.read(table)
        return table.counts.kinds()

    def place(self, levels: Levels, groups: str, name: str) -> None:
        """Keep a table of every tuple's group; in `groups` are the labels of each group."""
        stored = self.finest.counts
        with _Labels(self._steps, self.finest, [levels]) as labels:
            same = " AND ".join(
                f"{label} = {groups}.q{column}" for column, label in enumerate(labels.of(levels))
            )
            # What people want protected does not tell tuples apart here.
            told = {one: f"{stored.name}.{one}" for one in stored.columns if one != "p"}
            told["g"] = f"{groups}.g"
            listed = [named(where, one) for one, where in told.items()]
            joins = f"{labels.joins} JOIN {groups} ON {same}"
            text = select(listed, joins, group=list(told.values()))
            self._engine.materialize(name, text, large=True)
        self.read(self.finest)

    def read(self, table: NodeTable) -> None:
        """Count a pass."""
        if table is self.finest:
            self.passes.finest += 1
        else:
            self.passes.rolled += 1


class _Labels:
    """SQL: a node table's tuples joined to the labels that some coarser nodes give them."""

    def __init__(self, steps: Steps, source: NodeTable, nodes: Sequence[Levels]) -> None:
        self._steps, self._source = steps, source
        self._wanted = [sorted(set(levels)) for levels in zip(*nodes, strict=True)]
        self._names = [fresh("labels") for _ in self._wanted]
        self._put: list[str] = []

    def __enter__(self) -> _Labels:
        engine, stored = self._source.counts.engine, self._source.counts
        self.joins = stored.name
        for column, (levels, name) in enumerate(zip(self._wanted, self._names, strict=True)):
            own, top = self._source.levels[column], self._steps.heights[column] - 1
            moved = [level for level in levels if own < level < top]
            if not moved:
                continue
            maps = {f"l{one}": self._steps.between(column, own, one) for one in moved}
            size = len(next(iter(maps.values())))
            codes = np.arange(size, dtype=np.int32)
            kind = pa.int16() if size <= SMALL else pa.int32()
            columns = {"code": codes, **maps}
            engine.put(name, pa.table({k: pa.array(v, kind) for k, v in columns.items()}))
            self._put.append(name)
            self.joins += f" JOIN {name} ON {stored.name}.q{column} = {name}.code"
        return self

    def __exit__(self, *_: object) -> None:
        for name in self._put:
            self._source.counts.engine.drop(name)

    def of(self, levels: Levels) -> list[str]:
        """SQL of a node's label in each column; a column that is all `*` has the one label 0."""
        told = []
        for column, level in enumerate(levels):
            if level == self._source.levels[column]:
                told.append(f"{self._source.counts.name}.q{column}")
            elif level == self._steps.heights[column] - 1:
                told.append(_ANY)
            else:
                told.append(f"{self._names[column]}.l{level}")
        return told
