"""Nodes of a table larger than memory: judged from tables that the engine rolls up.

A node whose tuples fit is brought to memory and judged there. One that is too fine is judged part
by part: criteria of scope "group" look at each group alone, and sums over parts are all that the
simple utility measures need. Where criteria judge all groups together, or the engine is elsewhere
and counts should not travel, equal groups are told once (`StoredCounts.kinds`) and judged first.

And in which order a search looks at nodes whose tables are costly.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, reduce
from math import prod
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.anonymizers.base import Harvest, Task
from sfumato.anonymizers.lattice.nodes import (
    Judge,
    Node,
    SingleNodes,
    SuppressionTally,
    is_finer,
    node_regions,
    roll_to,
)
from sfumato.anonymizers.lattice.search import Walk
from sfumato.counts.roll_up import NodeTable, NodeTables, Passes, Rolled
from sfumato.counts.stored import StoredCounts, TooManyKinds
from sfumato.engines.base import fresh
from sfumato.errors import ResourceError
from sfumato.numbers import Bools, Codes, Floats, Ints
from sfumato.progress import Ticker
from sfumato.release.made import Findings
from sfumato.release.release import Release
from sfumato.schema.hierarchy import NodeLevels
from sfumato.utility.view import PublishedSums, View, dot


class StoredJudge(Judge):
    """Judges nodes of one task's lattice; `tables` are what the engine keeps of them."""

    def __init__(self, task: Task, stored: StoredCounts) -> None:
        for criterion in task.require:
            if "members" in criterion.needs:
                raise ResourceError(
                    f"{criterion.name} needs everybody's own values in memory, and the table is "
                    "larger than memory; raise the memory limit, or use a part of the rows"
                )
        if task.utility.reads_tuples:
            raise ResourceError(
                f"utility {task.utility.name!r} compares releases with everybody's own values, "
                "and the table is larger than memory; raise the memory limit, or name another "
                "utility, such as 'loss'"
            )
        super().__init__(task)
        self.engine = stored.engine
        self.tables = NodeTables(stored, self.steps)

    @contextmanager
    def node(self, levels: NodeLevels) -> Iterator[Rolled]:
        """The groups of one node; equal ones are told once where there are too many."""
        table = self.tables.at(levels)
        if table.counts.fits:
            with self.brought(table) as rolled:
                yield rolled
            return
        kinds = self._kinds(table)
        with self.engine.yield_memory():
            yield kinds

    def close(self) -> None:
        self.tables.close()

    @contextmanager
    def brought(self, table: NodeTable) -> Iterator[Rolled]:
        """All groups of a node that fits, in memory; others can be rolled up from it."""
        with self.engine.yield_memory():
            (counts,) = self.tables.parts(table)
            yield self.rolled(counts, table.levels)

    def parts(self, table: NodeTable) -> Iterator[Rolled]:
        """The groups of a node, part by part; the engine should stand aside meanwhile."""
        for counts in self.tables.parts(table):
            yield self.rolled(counts, table.levels)

    def _kinds(self, table: NodeTable) -> Rolled:
        if "regions" in self.needs:
            raise ResourceError(
                f"node {table.levels} has {len(table):,} distinct tuples, too many for memory, and "
                "some criterion needs every group's own description; raise the memory limit, or "
                "give coarser hierarchies"
            )
        kinds = self.tables.kinds(table)
        counts = replace(kinds.counts, codes=kinds.codes[:, kinds.of])
        rolled = self.rolled(counts, table.levels)
        _, first = counts.group_of
        return replace(rolled, multiplicity=kinds.multiplicity[kinds.of[first]])

    def judge_levels(self, levels: NodeLevels) -> Node:
        table = self.tables.at(levels)
        if table.counts.fits:
            with self.brought(table) as rolled:
                return self.judge(rolled)
        if self.task.by_release or not self.engine.embedded:
            node = self._by_kinds(table)
            if node is not None and not node.satisfied:
                return node
        return self._by_parts(table)

    def _by_kinds(self, table: NodeTable) -> Node | None:
        """Whether a node is safe; None if even one group of each kind is too many to tell."""
        try:
            kinds = self._kinds(table)
        except TooManyKinds:
            if self.task.by_release:
                raise
            return None
        with self.engine.yield_memory():
            return self.outcome(kinds)[0]

    def _by_parts(self, table: NodeTable) -> Node:
        """What `judge` finds, without ever having all groups in memory."""
        tally, kept = SuppressionTally(self), _Kept()
        with self.engine.yield_memory():
            for part in self.parts(table):
                kept.add(part, ~tally.add(part))
        node = tally.node(table.levels)
        return self.priced(node, self._summed(table.levels, kept)) if node.satisfied else node

    @property
    def passes(self) -> Passes:
        return replace(self.tables.passes)

    def walk(self, walk: Walk) -> None:
        StoredSearch(walk, self).run()

    def one_by_one(self) -> SingleNodes:
        return Descent(self)

    def release(self, levels: NodeLevels, findings: Findings) -> Release:
        """The good groups of a node, part by part: groups here, people with the engine."""
        tables = self.tables
        table, harvest = tables.at(levels), Harvest(self.task, tables.finest.counts)
        labels, groups, cells, suppressed = fresh("groups"), 0, 0, 0
        with self.engine.yield_memory():
            for node in self.parts(table):
                bad = self.bad_groups(node)
                suppressed += node.people(bad)
                if bad.all():
                    continue
                assert node.counts is not None
                group = self.group_of_tuple(node, ~bad)
                kept = np.flatnonzero(group >= 0)
                described = node_regions(node, ~bad)
                _check_room(self, table, groups + len(described), cells + len(kept))
                harvest.add(node.counts.take(kept), group[kept], described)
                if harvest.places:
                    columns = {
                        f"q{place}": pa.array(row) for place, row in enumerate(described.codes)
                    }
                    columns["g"] = pa.array(np.arange(groups, groups + len(described)))
                    self.engine.append(labels, pa.table(columns))
                groups, cells = groups + len(described), cells + len(kept)
        if harvest.placed is not None:
            tables.place(levels, labels, harvest.placed)
            self.engine.drop(labels)
        return harvest.release(findings, suppressed)

    def _summed(self, levels: NodeLevels, kept: _Kept) -> View:
        def refuse() -> NoReturn:
            raise ResourceError(
                f"node {levels} has {kept.number:,} groups, too many for memory; raise the memory "
                "limit, name another utility, such as 'loss', or give coarser hierarchies"
            )

        return View(
            self.task.table.counts,
            self.levels,
            refuse,
            PublishedSums(
                kept.number,
                kept.people,
                kept.squares,
                kept.margins,
                [
                    column_levels[level].regions
                    for column_levels, level in zip(self.levels, levels, strict=True)
                ],
            ),
            refuse,
            lambda column: self.coverage(column, levels[column]),
            disjoint=True,
        )


class _Kept:
    """PublishedSums over the published groups of a node, part by part."""

    def __init__(self) -> None:
        self.number = self.people = 0
        self.squares = 0.0
        self.margins: Ints = np.zeros(1, dtype=np.int64)

    def add(self, part: Rolled, kept: Bools) -> None:
        sizes = part.sizes[kept]
        self.number += len(sizes)
        self.people += int(sizes.sum())
        self.squares += dot(sizes.astype(np.float64), sizes.astype(np.float64))
        self.margins = self.margins + part.margins(kept)


def judge_of(task: Task) -> Judge:
    """The judge for a table in memory, or for one that is larger."""
    return task.table.counts.either(
        in_memory=lambda _: Judge(task), stored=partial(StoredJudge, task)
    )


_COPIES = 3  # groups are kept, joined, and judged


def _check_room(judge: StoredJudge, table: NodeTable, groups: int, cells: int) -> None:
    """Refuse a node whose groups are too many even without the people in them."""
    stored = table.counts
    needed = cells * 12 * max(len(stored.sensitive), 1) + groups * (4 * len(stored.quasi) + 32)
    if needed * _COPIES > judge.engine.memory:
        names = zip(stored.quasi, table.levels, strict=True)
        levels = ", ".join(f"{domain.name} {level}" for domain, level in names)
        raise ResourceError(
            f"the release of node ({levels}) has {groups:,} groups or more, too many for the "
            "memory limit; raise it, or give coarser hierarchies"
        )


# The lattice search on a table larger than memory: in which order nodes are looked at.
#
# Reading the tuples is what takes time, so nodes are not looked at one by one. A node that fits in
# memory is brought there, and all coarser ones are rolled up from it; one that does not fit may by
# its own failure or safety tell of many others. The node that tells most is looked at next. How
# many tuples nodes have is bounded by the numbers of labels, then estimated, dozens of nodes in
# one pass. Where many nodes are left that a smaller table would do for, the engine makes that
# table first.

_AT_ONCE = 64  # nodes estimated in one pass
_SHRUNK = 0.6  # a table that the engine makes for several nodes is smaller by so much at least
_VISITED = 0.5  # of the nodes that nothing is known of, about so many are looked at in the end


class NodeSizes:
    """How many tuples nodes have, as far as is known: a coarser node never has more."""

    def __init__(self, judge: StoredJudge) -> None:
        tables = judge.tables
        self._fit, stored = float(tables.most), tables.finest.counts
        labels = [
            np.array([len(level.regions) for level in column_levels.levels], dtype=np.float64)
            for column_levels in judge.levels
        ]
        other_codes = prod(float(stored.codes_in(column)) for column in stored.other_columns)
        self.most: Floats = np.minimum(reduce(np.multiply.outer, labels) * other_codes, len(stored))
        self._least: Floats = np.ones(judge.heights)
        self.learn(tables.finest.levels, len(stored))

    def learn(self, levels: NodeLevels, tuples: int) -> None:
        """A node has so many, or about so many."""
        coarser = tuple(slice(level, None) for level in levels)
        finer = tuple(slice(0, level + 1) for level in levels)
        self.most[coarser] = np.minimum(self.most[coarser], tuples)
        self._least[finer] = np.maximum(self._least[finer], tuples)

    @property
    def fitting(self) -> Bools:
        """The nodes known to fit in memory, or thought to."""
        fits: Bools = (self.most <= self._fit) & (self._least <= self._fit)
        return fits

    @property
    def unknown(self) -> Bools:
        """The nodes that may fit or not."""
        open_: Bools = (self.most > self._fit) & (self._least <= self._fit)
        return open_


class StoredSearch:
    """One search: what is known of nodes, and of how many tuples they have."""

    def __init__(self, walk: Walk, judge: StoredJudge) -> None:
        self._walk, self._judge, self._tables = walk, judge, judge.tables
        self._sizes = NodeSizes(judge)

    def run(self) -> None:
        """Judge what cannot be inferred of the whole lattice."""
        walk, left = self._walk, int(np.count_nonzero(self._walk.open))
        with Ticker("judging nodes", left) as ticker:
            # By the numbers of labels alone; what follows from these nodes need not be estimated.
            likely = self._sizes.fitting
            if likely.any():
                self._look_at(self._telling(only=likely))
            while walk.open.any():
                self._estimate()
                self._look_at(self._telling())
                before, left = left, int(np.count_nonzero(walk.open))
                ticker.add(before - left)
        walk.settle(self._judge.judge_levels)

    def _telling(self, only: Bools | None = None) -> NodeLevels:
        """The node that is sure to tell of most others; of equals the coarsest."""
        known, fitting = self._walk.open, self._sizes.fitting
        above, below = _in_all(known, coarser=True), _in_all(known, coarser=False)
        alone = np.minimum(above, below) if self._judge.bisects else np.full_like(above, 0.5)
        telling = np.where(fitting, above, np.where(known, alone, 0.0))
        if only is not None:
            telling[~only] = 0
        ties = [tuple(map(int, levels)) for levels in np.argwhere(telling == telling.max())]
        return max(ties, key=lambda levels: (sum(levels), levels))

    def _look_at(self, levels: NodeLevels) -> None:
        walk, judge = self._walk, self._judge
        self._smaller_tables(levels)
        table = self._tables.at(levels)
        self._sizes.learn(levels, len(table))
        if table.counts.fits:
            with judge.brought(table) as base:
                walk.over(base)
                walk.settle(lambda node_levels: judge.judge(roll_to(base, node_levels)), levels)
        elif walk.open[levels]:  # else it was thought to fit, and serve others
            walk.record(judge.judge_levels(levels))

    def _estimate(self) -> None:
        """Learn about open nodes: some of them, spread over all."""
        open_, sizes = self._walk.open, self._sizes
        nodes = [tuple(map(int, levels)) for levels in np.argwhere(open_ & sizes.unknown)]
        if not nodes:
            return
        nodes.sort(key=lambda levels: (-sum(levels), levels))
        spread = np.unique(np.linspace(0, len(nodes) - 1, _AT_ONCE).astype(int))
        asked = [nodes[place] for place in spread]
        for levels, tuples in zip(asked, self._tables.estimates(asked), strict=True):
            sizes.learn(levels, tuples)

    def _smaller_tables(self, goal: NodeLevels) -> None:
        """Have the engine make tables on the way to a node, if they save reading for others."""
        above = _in_all(self._walk.open, coarser=True)
        self._tables.forget(lambda levels: above[levels] == 0)
        while True:
            source = self._tables.smallest_below(goal)
            between = tuple(
                slice(low, high + 1) for low, high in zip(source.levels, goal, strict=True)
            )
            tuples = self._sizes.most[between]
            saved = above[between] * _VISITED * (len(source) - tuples)
            saved -= len(source) + tuples  # what it takes to make the table
            saved[tuples > _SHRUNK * len(source)] = 0
            if saved.max() <= 0:
                return
            place = np.unravel_index(int(np.argmax(saved)), saved.shape)
            halfway = tuple(int(p) + low for p, low in zip(place, source.levels, strict=True))
            self._sizes.learn(halfway, len(self._tables.keep(halfway)))


def _in_all(known: Bools, *, coarser: bool) -> Floats:
    """For each node, how many of these are as coarse, or as fine."""
    counted: npt.NDArray[np.float64] = known.astype(np.float64)
    for axis in range(counted.ndim):
        ordered = np.flip(counted, axis) if coarser else counted
        counted = np.cumsum(ordered, axis=axis)
        counted = np.flip(counted, axis) if coarser else counted
    return counted


_BESIDE = 0.3  # of what fits may stay in memory while the parts of another node are judged


class Descent:
    """Nodes one by one, as a search from both ends asks for them; what was read stays at hand.

    A node is rolled up in memory from one that was brought there, if some is finer. Else it is
    brought together with as many finer ones as fit, along one way down; a node too fine for memory
    is judged by a table that the engine rolls up from the smallest finer one it keeps. How many
    tuples nodes have is asked for once: a coarser node never has more.
    """

    def __init__(self, judge: StoredJudge) -> None:
        self._judge, self._tables = judge, judge.tables
        self._base: Rolled | None = None
        self._known: dict[NodeLevels, int] = {}
        self._learn({self._tables.finest.levels: len(self._tables.finest)})

    def judge(self, levels: NodeLevels) -> Node:
        judge, base = self._judge, self._base
        if base is None or not is_finer(base.levels, levels):
            if self._least(levels) > self._most:
                if base is not None and len(base) > _BESIDE * self._most:
                    self._base = base = None  # parts of this node take its place
                return judge.judge_levels(levels)
            self._base = base = None  # before the engine takes memory
            table = self._tables.at(self._lowest(levels))
            self._learn({table.levels: len(table)})
            if not table.counts.fits:
                return judge.judge_levels(levels)
            with judge.brought(table) as base:
                self._base = base
        with judge.engine.yield_memory():
            return judge.judge(base.at(levels))

    def near(self, levels: NodeLevels) -> None:
        """Keep the table of this node, if that saves reading for the next ones."""
        base, tables = self._base, self._tables
        if base is not None and is_finer(base.levels, levels):
            return
        source = tables.smallest_below(levels)
        if source.levels != levels:
            if levels not in self._known:
                self._learn({levels: tables.estimates([levels])[0]})
            if self._known[levels] > _SHRUNK * len(source):
                return
        tables.keep(levels)
        tables.forget(lambda kept: kept not in (levels, source.levels))

    def _learn(self, tuples: dict[NodeLevels, int]) -> None:
        """Nodes have so many, or about so many."""
        self._known |= tuples
        self._levels: Codes = np.array(list(self._known), dtype=np.int32)
        self._tuples: Ints = np.array(list(self._known.values()), dtype=np.int64)

    def _least(self, levels: NodeLevels) -> int:
        """As many tuples as a node has at the least, by the coarser ones that are known."""
        coarser = (self._levels >= np.array(levels)).all(axis=1)
        return int(self._tuples[coarser].max(initial=1))

    def _lowest(self, levels: NodeLevels) -> NodeLevels:
        """The finest node on a way down from this one that fits in memory."""
        way, column = [levels], 0
        while any(way[-1]) and len(way) < _AT_ONCE:
            at = way[-1]
            if at[column]:
                way.append((*at[:column], at[column] - 1, *at[column + 1 :]))
            column = (column + 1) % len(levels)
        while len(way) > 1 and self._least(way[-1]) > self._most:
            way.pop()
        asked = [node for node in way if node not in self._known]
        if asked:
            self._learn(dict(zip(asked, self._tables.estimates(asked), strict=True)))
        fitting = [node for node in way if self._known[node] <= self._most]
        return fitting[-1] if fitting else levels

    @property
    def _most(self) -> int:
        return self._tables.most
