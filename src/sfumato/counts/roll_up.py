"""Recode and re-aggregate: the groups of a coarser release from those of a finer one, compiled.

A `Rolled` table holds the groups of one lattice node: a packed key of its QI labels, its people,
and its sensitive counts in sparse form. Rolling up one column maps one label of the key and merges
groups whose keys become equal. The sensitive counts are merged only when somebody asks for them:
a node that fails k-anonymity never needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.counts.counts import Counts
from sfumato.counts.stored import SMALL, Kinds, StoredCounts
from sfumato.engines.base import fresh, named, select
from sfumato.errors import ResourceError
from sfumato.numbers import Codes, Floats, Ints, sums_by, tallied_offsets
from sfumato.schema.hierarchy import Levels, NodeLevels


@dataclass(frozen=True)
class SparseCells:
    """Sensitive counts of groups in sparse form; `width` values.

    Where people have several values, `lists` count them by distinct list.
    """

    indptr: Ints
    indices: Codes
    data: Ints
    width: int
    lists: SparseCells | None = None

    def merged(self, order: Codes, starts: Ints) -> SparseCells:
        """Those of coarser groups: group g is made of the finer ones order[starts[g]:...]."""
        from sfumato.counts.kernel import merge_cells

        summed = merge_cells(order, starts, self.indptr, self.indices, self.data, self.width)
        lists = None if self.lists is None else self.lists.merged(order, starts)
        return SparseCells(*summed, self.width, lists)


class Steps:
    """For every column, which label of a coarser level each label of a finer one becomes."""

    def __init__(self, levels: Sequence[Levels]) -> None:
        self.levels = tuple(levels)
        self.heights = tuple(hierarchy.height for hierarchy in levels)
        self.sizes = tuple(max(len(hierarchy.domain), 1) for hierarchy in levels)
        space = 1
        strides = []
        for size in self.sizes:
            strides.append(space)
            space *= size
        if space >= 1 << 62:
            raise ResourceError(
                "the quasi-identifiers have more than 4e18 combinations of values, too many for a "
                "lattice search; use fewer columns, coarser domains, or Mondrian"
            )
        self.strides = tuple(strides)
        self.stride_of, self.size_of = np.array(strides), np.array(self.sizes)
        self._maps: dict[tuple[int, int, int], Codes] = {}

    def between(self, column: int, finer: int, coarser: int) -> Codes:
        key = (column, finer, coarser)
        if key not in self._maps:
            low, high = self.levels[column][finer], self.levels[column][coarser]
            mapping = np.zeros(len(low.regions), dtype=np.int32)
            mapping[low.codes] = high.codes
            self._maps[key] = mapping
        return self._maps[key]


@dataclass(frozen=True)
class Rolled:
    """The groups of one node. `finer` is what it was rolled up from, `of_finer` the mapping.

    `counts` are the tuples of the table that it all began with; where equal groups are told once,
    `multiplicity` says how many each stands for. Where people have several rows sizes are of rows,
    and `distinct_people` tells of how many.
    """

    steps: Steps
    levels: tuple[int, ...]
    keys: Ints
    sizes: Ints
    finer: Rolled | None = None
    of_finer: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    base: tuple[SparseCells, ...] = ()
    counts: Counts | None = None
    multiplicity: Ints | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def people(self, chosen: npt.NDArray[np.bool_]) -> int:
        """How many people are in the chosen groups."""
        sizes = self.sizes if self.multiplicity is None else self.sizes * self.multiplicity
        return int(sizes[chosen].sum())

    def share(self, people: Floats, chosen: npt.NDArray[np.bool_]) -> float:
        """The sum of some people of each of the chosen groups."""
        if self.multiplicity is not None:
            people = people * self.multiplicity
        return float(people[chosen].sum())

    def number(self, chosen: npt.NDArray[np.bool_]) -> int:
        """How many groups are chosen."""
        return int(
            np.count_nonzero(chosen)
            if self.multiplicity is None
            else self.multiplicity[chosen].sum()
        )

    def up(self, column: int, level: int) -> Rolled:
        """Roll one column up to a coarser level."""
        if level == self.levels[column]:
            return self
        from sfumato.counts.kernel import merge

        mapping = self.steps.between(column, self.levels[column], level)
        stride, size = self.steps.strides[column], self.steps.sizes[column]
        keys, sizes, number = merge(self.keys, self.sizes, stride, size, mapping)
        levels = (*self.levels[:column], level, *self.levels[column + 1 :])
        return Rolled(self.steps, levels, keys, sizes, self, number, counts=self.counts)

    def at(self, levels: tuple[int, ...]) -> Rolled:
        """Roll all columns up at once: the same groups, sooner where many nodes are asked for."""
        from sfumato.counts.kernel import merge

        keys = np.zeros(len(self), dtype=np.int64)
        for column, (finer, coarser) in enumerate(zip(self.levels, levels, strict=True)):
            mapping = self.steps.between(column, finer, coarser)
            keys += mapping[self._labels[column]] * np.int64(self.steps.strides[column])
        merged = merge(keys, self.sizes, 1, 1, np.zeros(1, dtype=np.int32))
        return Rolled(self.steps, levels, *merged[:2], self, merged[2], counts=self.counts)

    @cached_property
    def _labels(self) -> Codes:
        return self.codes()

    def codes(self) -> Codes:
        """The label of each group, column by column."""
        rows = [
            (self.keys // stride) % size
            for stride, size in zip(self.steps.strides, self.steps.sizes, strict=True)
        ]
        return np.array(rows, dtype=np.int32).reshape(len(rows), len(self))

    @cached_property
    def cells(self) -> tuple[SparseCells, ...]:
        """Sensitive counts, one for each attribute."""
        if self.finer is None:
            return self.base
        from sfumato.counts.kernel import gather

        order, starts = gather(self.of_finer, len(self))
        return tuple(cell.merged(order, starts) for cell in self.finer.cells)

    @cached_property
    def distinct_people(self) -> Ints:
        """The people of each group, each once, also where they have several rows."""
        if self.counts is None or self.counts.owner is None:
            return self.sizes
        return self.counts.rows_by_person.count(self.of_tuple, len(self))

    def people_by_value(self, attribute: int) -> tuple[Ints, Codes, Ints]:
        """How many of them have each value, sparse, where they have several rows."""
        assert self.counts is not None
        group, value, people = self.counts.people_by_value(attribute, self.of_tuple)
        return tallied_offsets(group, len(self)), value, people

    @cached_property
    def of_tuple(self) -> Ints:
        """The group of each tuple that it all began with."""
        assert self.counts is not None
        in_base, _ = self.counts.group_of
        groups: Ints = self.of_base()[in_base].astype(np.int64)
        return groups

    def margins(self, kept: npt.NDArray[np.bool_]) -> Ints:
        """How many kept people have each label, column after column."""
        from sfumato.counts.kernel import margins

        steps = self.steps
        labels = (
            len(hierarchy[at].regions)
            for hierarchy, at in zip(steps.levels, self.levels, strict=True)
        )
        starts = np.array([0, *accumulate(labels)])
        return margins(self.keys, self.sizes, kept, steps.stride_of, steps.size_of, starts)

    def of_base(self) -> Codes:
        """Which group each group of the original table has become part of."""
        if self.finer is None:
            return np.arange(len(self), dtype=np.int32)
        return self.of_finer[self.finer.of_base()]


def lowest(
    counts: Counts, steps: Steps, levels: tuple[int, ...], cells: Sequence[SparseCells]
) -> Rolled:
    """The node that a table's own groups are, whose codes are the labels of these levels."""
    group, first = counts.group_of
    keys = np.zeros(len(first), dtype=np.int64)
    for row, stride in zip(counts.codes[:, first], steps.strides, strict=True):
        keys += row.astype(np.int64) * stride
    sizes = sums_by(group, counts.n, len(first))
    return Rolled(steps, levels, keys, sizes, base=tuple(cells), counts=counts)


# Node tables: counts too many for memory, rolled up by the engine to the nodes of a lattice.
#
# A node table is like the stored one, with the labels of one level of each column's hierarchy for
# codes. It is rolled up from the smallest finer one that is kept, never from the rows; small tables
# say which label each becomes. `passes` tells how often tables of tuples were read.

_ANY = "CAST(0 AS SMALLINT)"  # the label of `*`


@dataclass
class Passes:
    """How often the compact table of the finest tuples was read, and tables rolled up from it."""

    finest: int = 0
    rolled: int = 0


@dataclass(frozen=True)
class NodeTable:
    """The tuples of one node, kept by the engine."""

    levels: NodeLevels
    counts: StoredCounts

    def __len__(self) -> int:
        return len(self.counts)

    def is_finer(self, levels: NodeLevels) -> bool:
        """Whether the node at these levels can be rolled up from this one."""
        return all(own <= wanted for own, wanted in zip(self.levels, levels, strict=True))


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

    def at(self, levels: NodeLevels) -> NodeTable:
        """The table of one node; it is kept until another one is asked for."""
        if levels in self._kept:
            return self._kept[levels]
        if self._last is None or self._last.levels != levels:
            rolled = self._roll(levels)
            self._forget_last()
            self._last = rolled
        return self._last

    def keep(self, levels: NodeLevels) -> NodeTable:
        """The table of one node, from which others can be rolled up; see `forget`."""
        table = self._kept[levels] = self.at(levels)
        self._last = None if self._last is table else self._last
        return table

    def forget(self, useless: Callable[[NodeLevels], bool]) -> None:
        """Give up the tables of some nodes; never the finest."""
        for levels in [kept for kept in self._kept if kept != self.finest.levels and useless(kept)]:
            self._engine.drop(self._kept.pop(levels).counts.name)

    def _forget_last(self) -> None:
        if self._last is not None:
            self._engine.drop(self._last.counts.name)
            self._last = None

    def close(self) -> None:
        """Give up all but the finest."""
        self._forget_last()
        self.forget(lambda _: True)

    def smallest_below(self, levels: NodeLevels) -> NodeTable:
        """The smallest table that is kept and finer."""
        tables = [*self._kept.values(), *([self._last] if self._last else [])]
        return min((table for table in tables if table.is_finer(levels)), key=len)

    # -- what the engine is asked -----------------------------------------------------------------

    def _roll(self, levels: NodeLevels) -> NodeTable:
        source = self.smallest_below(levels)
        stored = source.counts
        with _Labels(self._steps, source, [levels]) as labels:
            columns = labels.of(levels)
            listed = [named(label, f"q{column}") for column, label in enumerate(columns)]
            listed += [named(f"{stored.name}.{name}", name) for name in stored.other_columns]
            group = [label for label in columns if label != _ANY]
            group += [f"{stored.name}.{column}" for column in stored.other_columns]
            name = fresh("node")
            text = select([*listed, *stored.sums], labels.joins, group=group)
            self._engine.materialize(name, text, large=True)
        self.read(source)
        return NodeTable(levels, replace(stored, name=name))

    def estimates(self, nodes: Sequence[NodeLevels]) -> list[int]:
        """About how many tuples each of these nodes has, in one pass."""
        meet = tuple(min(levels) for levels in zip(*nodes, strict=True))
        source = self.smallest_below(meet)
        stored = source.counts
        columns = [f"{stored.name}.{column}" for column in stored.other_columns]
        with _Labels(self._steps, source, nodes) as labels:
            keys = [", ".join([*labels.of(levels), *columns]) for levels in nodes]
            counted = [f"approx_count_distinct(hash({key})) AS e{i}" for i, key in enumerate(keys)]
            estimated = self._engine.fetch(select(counted, labels.joins))
        self.read(source)
        return [int(estimated.column(place)[0].as_py()) for place in range(len(nodes))]

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

    def place(self, levels: NodeLevels, groups: str, name: str) -> None:
        """Keep a table of every tuple's group; in `groups` are the labels of each group."""
        stored = self.finest.counts
        with _Labels(self._steps, self.finest, [levels]) as labels:
            on_labels = " AND ".join(
                f"{label} = {groups}.q{column}" for column, label in enumerate(labels.of(levels))
            )
            # What people want protected does not tell tuples apart here.
            columns = {
                column: f"{stored.name}.{column}" for column in stored.columns if column != "p"
            }
            columns["g"] = f"{groups}.g"
            listed = [named(where, column) for column, where in columns.items()]
            joins = f"{labels.joins} JOIN {groups} ON {on_labels}"
            text = select(listed, joins, group=list(columns.values()))
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

    def __init__(self, steps: Steps, source: NodeTable, nodes: Sequence[NodeLevels]) -> None:
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
            maps = {f"l{level}": self._steps.between(column, own, level) for level in moved}
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

    def of(self, levels: NodeLevels) -> list[str]:
        """SQL of a node's label in each column; a column that is all `*` has the one label 0."""
        expressions = []
        for column, level in enumerate(levels):
            if level == self._source.levels[column]:
                expressions.append(f"{self._source.counts.name}.q{column}")
            elif level == self._steps.heights[column] - 1:
                expressions.append(_ANY)
            else:
                expressions.append(f"{self._names[column]}.l{level}")
        return expressions
