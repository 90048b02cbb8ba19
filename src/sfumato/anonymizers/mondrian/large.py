"""Mondrian on a table larger than memory.

Nodes too large for memory are split by histograms that the engine counts in one pass a level
(`histograms.py`); as soon as they fit, their tuples are fetched in batches and finished in memory,
by the same code as a table that fits (`partition.py`). For criteria of scope "group" the groups
are the same as in memory, since each node's splits depend on the node alone. For criteria of scope
"release" splits are accepted in this order: large nodes level by level, then batch by batch; the
result is safe, and where refused splits stay refused no allowed split remains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sfumato.anonymizers.base import Task
from sfumato.anonymizers.gather import Harvest
from sfumato.anonymizers.mondrian import splits
from sfumato.anonymizers.mondrian.cell_bounds import everybody, narrowed, outermost
from sfumato.anonymizers.mondrian.check_split import Describe, Safety
from sfumato.anonymizers.mondrian.choose_split import Choice, Priority
from sfumato.anonymizers.mondrian.histograms import HistogramChoice, batch_of
from sfumato.anonymizers.mondrian.nodes import Nodes, Rows, target_of
from sfumato.anonymizers.mondrian.partition import Partition
from sfumato.anonymizers.mondrian.published_regions import Columns
from sfumato.anonymizers.mondrian.sql_tree import Node
from sfumato.counts.counts import Counts
from sfumato.counts.stored import StoredCounts, bytes_for
from sfumato.numbers import Codes, Ints
from sfumato.progress import Ticker
from sfumato.release.regions import Regions

# What finished groups publish, from (codes, order, begins, low, high).
Finished = Callable[[Codes, Ints, Ints, Codes, Codes], Regions]

_SORTED = 32  # batches from which on it pays to sort the tuples rather than to look for each
_SHARE = 0.5  # of our memory, for one batch; the rest is for the groups that are finished


class Beyond:
    """A search on a stored table; `describe` tells what candidate parts would publish."""

    def __init__(
        self,
        task: Task,
        stored: StoredCounts,
        columns: Columns,
        describe: Describe,
        order: str | Priority,
        target: str | None,
    ) -> None:
        self._stored, self._columns = stored, columns
        self._order, self._target = order, target
        low, high = outermost(columns)
        self.root = Node(low[0], high[0], len(stored))
        self._most = max(1, int(stored.engine.memory * _SHARE) // bytes_for(1, len(stored.columns)))
        # Everybody, as any one column shows them.
        counts, batch, _ = self._histograms([self.root])
        rows = batch.rows.take(np.arange(batch.stops[0]))
        self.everybody = everybody(columns, rows)
        self.safety = Safety(task, counts, batch.rows, describe)

    def _histograms(self, nodes: list[Node]) -> tuple[Counts, Nodes, Ints]:
        kind, place, width = target_of(self._stored, self._target)
        found = self._stored.histograms(
            self.root.expression(_numbers(nodes)), f"{kind}{place}" if kind else None
        )
        return batch_of(self._stored, found, self._columns, *_cells(nodes), width)

    def split_large(self) -> None:
        """Split nodes that do not fit in memory, level by level."""
        level = [self.root] if self.root.tuples > self._most else []
        while level:
            counts, batch, tuples = self._histograms(level)
            safety = self.safety.over(counts, batch.rows)
            choice = HistogramChoice(safety, self._columns, self._order, strict=True)
            column, cut, part, parts = choice.choose(batch)
            runs = choice.runs(np.arange(len(level)), column)
            starts, stops = batch.starts[runs], batch.stops[runs]
            order, begins, _ = splits.gather(part, parts, starts, stops, batch.rows.n)
            low, high = narrowed(
                self._columns, batch, runs, column, cut, parts, order, begins, strict=True
            )
            inside_of = np.add.reduceat(tuples[order], begins[:-1])
            last = 0
            for place, node in enumerate(level):
                first, last = last, last + int(parts[place])
                if parts[place] == 1:
                    node.done = True
                    continue
                made = [Node(low[p], high[p], int(inside_of[p])) for p in range(first, last)]
                inside = slice(starts[place], stops[place])
                which = int(column[place])
                if self._columns.nested[which]:
                    codes = batch.rows.codes[inside, which]
                    node.fall_apart(which, part[inside], codes, made)
                    continue
                bound, end = int(cut[place]), int(self._columns.last[which])
                null = len(self._stored.quasi[which]) - 1
                node.cut(
                    which,
                    self._columns.last_value(which, splits.up_to(bound, end)),
                    null if splits.takes_null(bound, end) else None,
                    (made[0], made[1]),
                )
            level = [one for node in level for one in node.branches if one.tuples > self._most]

    def finish(self, harvest: Harvest, describe: Finished) -> None:
        """Finish every leaf in memory, as many at a time as fit."""
        engine, batches = self._stored.engine, list(self._batches())
        ordered = None
        if len(batches) > _SORTED:
            batch_of_node = {id(node): at for at, nodes in enumerate(batches) for node in nodes}
            ordered = self._stored.in_order(self.root.expression(batch_of_node))
        with Ticker("splitting groups", len(self._stored)) as ticker, engine.yield_memory():
            for at, nodes in enumerate(batches):
                if nodes[0].done:
                    self._take_whole(nodes[0], harvest, describe)
                else:
                    number = self.root.expression(_numbers(nodes))
                    if ordered is None:
                        where = " OR ".join(f"({node.where})" for node in nodes)
                        fetched = self._stored.numbered(number, where)
                    else:
                        fetched = ordered.numbered(number, f"b = {at}")
                    self._split(nodes, fetched, harvest, describe)
                ticker.add(sum(node.tuples for node in nodes))
        if ordered is not None:
            engine.drop(ordered.name)

    def _batches(self) -> Iterator[list[Node]]:
        waiting: list[Node] = []
        for leaf in self.root.leaves():
            room = self._most - sum(node.tuples for node in waiting)
            if waiting and (leaf.done or leaf.tuples > room):
                yield waiting
                waiting = []
            if leaf.done:
                yield [leaf]
            else:
                waiting.append(leaf)
        if waiting:
            yield waiting

    def _split(
        self,
        nodes: list[Node],
        fetched: tuple[Counts, Ints],
        harvest: Harvest,
        describe: Finished,
    ) -> None:
        """Finish some leaves whose tuples are here, sorted by leaf."""
        counts, number = fetched
        rows = Rows.of(counts, self._columns, self._target, whole=True)
        edges = np.searchsorted(number, np.arange(len(nodes) + 1))
        batch = Nodes(rows, np.arange(len(rows.n)), edges[:-1], edges[1:], *_cells(nodes))
        safety = self.safety.over(counts, rows)
        choice = Choice(safety, self._columns, self._order, strict=True)
        partition = Partition(choice, batch, strict=True)
        partition.split_all()
        order, begins, low, high = partition.finished()
        group = np.empty(len(order), dtype=np.int64)
        group[order] = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
        harvest.add(counts, group, describe(rows.codes, order, begins, low, high))
        harvest.place(counts, group)

    def _take_whole(self, node: Node, harvest: Harvest, describe: Finished) -> None:
        """A node that does not fit in memory and may not be split is a group."""
        counts = self._stored.totals(node.where)
        # Which values there are of each column is all that descriptions ask for.
        _, batch, _ = self._histograms([node])
        codes = batch.rows.codes.copy()
        for column in range(len(self._columns)):
            outside = np.ones(len(codes), dtype=bool)
            outside[batch.starts[column] : batch.stops[column]] = False
            codes[outside, column] = codes[batch.starts[column], column]
        everything = np.arange(len(codes)), np.array([0, len(codes)])
        described = describe(codes, *everything, *_cells([node]))
        harvest.add(counts, np.zeros(len(counts), dtype=np.int64), described)
        if harvest.places:
            size = len(self._stored.quasi[0])
            for code in range(size):  # a part of its tuples at a time
                some = self._stored.within(f"({node.where}) AND q0 = {code}")
                harvest.place(some, np.zeros(len(some), dtype=np.int64))


def _numbers(nodes: list[Node]) -> dict[int, int]:
    return {id(node): place for place, node in enumerate(nodes)}


def _cells(nodes: list[Node]) -> tuple[Codes, Codes]:
    low = np.array([node.low for node in nodes], dtype=np.int32)
    return low, np.array([node.high for node in nodes], dtype=np.int32)
