"""Mondrian on a table larger than memory.

Nodes too large for memory are split by histograms that the engine counts in one pass a level; as
soon as they fit, their tuples are fetched in batches and finished in memory, by the same code as a
table that fits (`partition.py`). A tuple's leaf follows from its codes alone, so no row is ever
moved or marked: the upper part of the partition is a tree that becomes an SQL expression, and a
leaf of it a condition.

To choose a split it is enough to know, column by column, how many people of a node have each value
of the column together with each sensitive value: extents, medians, what both sides of a cut hold.
So every node stands here with one run of rows for each column, in which the other columns are
silent, and the very code that chooses splits of rows chooses these.

For criteria of scope "group" the groups are the same as in memory, since each node's splits depend
on the node alone. For criteria of scope "release" splits are accepted in this order: large nodes
level by level, then batch by batch; the result is safe, and where refused splits stay refused no
allowed split remains.

What only tables larger than memory need; Mondrian itself is read without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from math import prod

import numpy as np
import pyarrow as pa

from sfumato.anonymizers.base import Harvest, Task
from sfumato.anonymizers.mondrian import steps
from sfumato.anonymizers.mondrian.cells import Columns, narrowed
from sfumato.anonymizers.mondrian.check_split import Describe, Safety
from sfumato.anonymizers.mondrian.choose_split import Choice, SplitPriority, Spread
from sfumato.anonymizers.mondrian.frames import frame_cells
from sfumato.anonymizers.mondrian.partition import Nodes, Partition, TupleRows, target_of
from sfumato.counts.counts import Counts
from sfumato.counts.stored import StoredCounts, bytes_for
from sfumato.errors import ResourceError
from sfumato.numbers import Codes, Ints, offsets_of, run_places
from sfumato.progress import Ticker
from sfumato.release.description import Regions

# What finished groups publish, of (codes, order, begins, low, high).
DescribeGroups = Callable[[Codes, Ints, Ints, Codes, Codes], Regions]

_SORTED = 32  # batches from which on it pays to sort the tuples rather than to look for each
_MOST_FRAMES = 10_000  # parts of the table that limits keep apart
SHARE = 0.5  # of our memory, for one batch; the rest is for the groups that are finished


class LargeSearch:
    """A search on a stored table; `describe` tells what candidate parts would publish.

    `most`: tuples of a batch, by default as many as fit in memory.
    """

    def __init__(
        self,
        task: Task,
        stored: StoredCounts,
        columns: Columns,
        describe: Describe,
        order: str | SplitPriority,
        target: str | None,
        most: int | None = None,
    ) -> None:
        self._stored, self._columns = stored, columns
        self._order, self._target = order, target
        low, high = frame_cells(columns, np.zeros((1, len(columns)), dtype=np.int32), halves=False)
        self.root = TreeNode(low[0], high[0], len(stored))
        room = int(stored.engine.memory * SHARE) // bytes_for(1, len(stored.columns))
        self._most = max(1, room if most is None else most)
        self._keep_apart()
        # Everybody, as the first column shows them.
        first = self.root.branches or [self.root]
        counts, batch, _ = self._histograms(first)
        runs = np.arange(len(first)) * len(columns)
        places = run_places(batch.starts[runs], batch.stops[runs] - batch.starts[runs])
        begins = offsets_of(batch.stops[runs] - batch.starts[runs])
        self.everybody = Nodes(
            batch.rows.take(places),
            np.arange(len(places)),
            begins[:-1],
            begins[1:],
            batch.low[runs],
            batch.high[runs],
        )
        self.safety = Safety(task, counts, batch.rows, describe)

    def _keep_apart(self) -> None:
        """Branches of the root for what the schema's limits keep apart, if they do."""
        columns, by_column = self._columns, list[list[tuple[int, str]]]()
        for column, frames in enumerate(columns.frames):
            code = np.arange(len(columns.levels[column].domain), dtype=np.int32)
            searched = columns.searched(column, code)
            if frames is None:
                by_column.append([(0, "")])
                continue
            of_code = frames[searched]
            code_lists = [np.flatnonzero(of_code == frame) for frame in np.unique(of_code)]
            by_column.append(
                [
                    (int(searched[codes[0]]), _among(f"q{column}", codes.tolist()))
                    for codes in code_lists
                ]
            )
        if all(frames is None for frames in columns.frames):
            return
        if prod(map(len, by_column)) > _MOST_FRAMES:
            raise ResourceError(
                f"the limits keep more than {_MOST_FRAMES:,} sorts of people apart, which takes a "
                "table that fits in memory; raise the memory limit, or allow coarser levels"
            )
        combined = list(product(*by_column))
        codes = np.array(
            [[code for code, _ in combination] for combination in combined], dtype=np.int32
        )
        cells = zip(*frame_cells(columns, codes, halves=True), strict=True)
        made = [TreeNode(low, high, 0) for low, high in cells]
        self.root.grow(
            [" AND ".join(t for _, t in combination if t) for combination in combined], made
        )
        histograms = self._stored.histograms(self.root.expression(_numbers(made)), None)
        one_column = (
            histograms.column("q0").combine_chunks().is_valid().to_numpy(zero_copy_only=False)
        )
        node, tuples = (histograms.column(name).to_numpy()[one_column] for name in ("node", "t"))
        inside = np.bincount(node, weights=tuples, minlength=len(made)).astype(np.int64)
        for branch, many in zip(made, inside.tolist(), strict=True):
            branch.tuples = many
        self.root.branches = [branch for branch in made if branch.tuples]

    def _histograms(self, nodes: list[TreeNode]) -> tuple[Counts, Nodes, Ints]:
        kind, place, width = target_of(self._stored, self._target)
        histograms = self._stored.histograms(
            self.root.expression(_numbers(nodes)), f"{kind}{place}" if kind else None
        )
        return batch_of(self._stored, histograms, self._columns, *_cells(nodes), width)

    def split_large(self) -> None:
        """Split nodes that do not fit in memory, level by level."""
        level = [node for node in self.root.branches or [self.root] if node.tuples > self._most]
        while level:
            counts, batch, tuples = self._histograms(level)
            safety = self.safety.over(counts, batch.rows)
            choice = HistogramChoice(safety, self._columns, self._order, strict=True)
            column, cut, part, parts = choice.choose(batch)
            runs = choice.runs(np.arange(len(level)), column)
            starts, stops = batch.starts[runs], batch.stops[runs]
            order, begins, _ = steps.gather(part, parts, starts, stops, batch.rows.n)
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
                made = [TreeNode(low[p], high[p], int(inside_of[p])) for p in range(first, last)]
                inside = slice(starts[place], stops[place])
                axis = int(column[place])
                if self._columns.nested[axis]:
                    codes = batch.rows.codes[inside, axis]
                    node.fall_apart(axis, part[inside], codes, made)
                    continue
                bound = int(cut[place])
                specials = self._stored.quasi[axis].placed
                node.cut(
                    axis,
                    self._columns.last_value(axis, steps.up_to(bound)),
                    specials if steps.takes_specials(bound) else None,
                    (made[0], made[1]),
                )
            level = [
                branch for node in level for branch in node.branches if branch.tuples > self._most
            ]

    def finish(self, harvest: Harvest, describe: DescribeGroups) -> None:
        """Finish every leaf in memory, as many at a time as fit."""
        engine, batches = self._stored.engine, list(self._batches())
        ordered = None
        if len(batches) > _SORTED:
            batch_of_node = {id(node): at for at, nodes in enumerate(batches) for node in nodes}
            ordered = self._stored.in_order(self.root.expression(batch_of_node))
        with Ticker("splitting groups", len(self._stored)) as ticker, engine.yield_memory():
            for at, nodes in enumerate(batches):
                if nodes[0].done:
                    self.take_whole(nodes[0], harvest, describe)
                else:
                    number = self.root.expression(_numbers(nodes))
                    if ordered is None:
                        where = " OR ".join(f"({node.where})" for node in nodes)
                        fetched = self._stored.numbered(number, where)
                    else:
                        fetched = ordered.numbered(number, f"b = {at}")
                    self.finish_batch(nodes, fetched, harvest, describe)
                ticker.add(sum(node.tuples for node in nodes))
        if ordered is not None:
            engine.drop(ordered.name)

    def _batches(self) -> Iterator[list[TreeNode]]:
        waiting: list[TreeNode] = []
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

    def finish_batch(
        self,
        nodes: list[TreeNode],
        fetched: tuple[Counts, Ints],
        harvest: Harvest,
        describe: DescribeGroups,
    ) -> None:
        """Finish some leaves whose tuples are here, sorted by leaf."""
        counts, number = fetched
        rows = TupleRows.of(counts, self._columns, self._target, whole=True)
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

    def take_whole(self, node: TreeNode, harvest: Harvest, describe: DescribeGroups) -> None:
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
                part = self._stored.within(f"({node.where}) AND q0 = {code}")
                harvest.place(part, np.zeros(len(part), dtype=np.int64))


def _numbers(nodes: list[TreeNode]) -> dict[int, int]:
    return {id(node): place for place, node in enumerate(nodes)}


def _cells(nodes: list[TreeNode]) -> tuple[Codes, Codes]:
    low = np.array([node.low for node in nodes], dtype=np.int32)
    return low, np.array([node.high for node in nodes], dtype=np.int32)


# -- the upper part of the partition, as a tree that SQL can walk ----------------------------------


@dataclass
class TreeNode:
    """A node: its cell, how many tuples it has and, once split, the codes of each branch.

    `done`: no split of it is allowed; it is a group of the release.
    """

    low: Codes
    high: Codes
    tuples: int
    condition: tuple[str, ...] = ()
    branches: list[TreeNode] = field(default_factory=list)
    done: bool = False

    def cut(
        self, column: int, bound: int, specials: int | None, made: tuple[TreeNode, TreeNode]
    ) -> None:
        """Split between two codes; `specials`: the first of those that go left all the same."""
        below, above = f"q{column} <= {bound}", f"q{column} > {bound}"
        if specials is not None:
            below = f"({below} OR q{column} >= {specials})"
            above = f"({above} AND q{column} < {specials})"
        self.grow([below, above], list(made))

    def fall_apart(self, column: int, part: Codes, code: Codes, made: list[TreeNode]) -> None:
        """Split: rows with these codes of a column fell into those parts."""
        codes = [np.unique(code[part == number]).tolist() for number in range(len(made))]
        self.grow([_among(f"q{column}", listed) for listed in codes], made)

    def grow(self, texts: list[str], made: list[TreeNode]) -> None:
        """Fall apart into branches, each of those of whom a condition in SQL is true."""
        self.branches = made
        for text, branch in zip(texts, made, strict=True):
            branch.condition = (*self.condition, text)

    def leaves(self) -> Iterator[TreeNode]:
        """The leaves in the order of the tree, which is the order of acceptance."""
        if not self.branches:
            yield self
        for branch in self.branches:
            yield from branch.leaves()

    @property
    def where(self) -> str:
        """SQL: whether a tuple is in this node."""
        return " AND ".join(self.condition) or "1 = 1"

    def expression(self, number: dict[int, int]) -> str:
        """SQL: the number of a tuple's leaf, by `id` of the leaf; NULL of those not numbered."""
        if not self.branches:
            return str(number.get(id(self), "NULL"))
        texts = [branch.expression(number) for branch in self.branches]
        if set(texts) == {"NULL"}:
            return "NULL"
        cases = [
            f"WHEN {branch.condition[-1]} THEN {text}"
            for branch, text in zip(self.branches, texts, strict=True)
            if text != "NULL"
        ]
        return f"CASE {' '.join(cases)} END"


def _among(column: str, codes: list[int]) -> str:
    """SQL: whether a code is one of these, runs of codes told as ranges."""
    runs: list[list[int]] = []
    for code in codes:
        if runs and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "(" + " OR ".join(f"{column} BETWEEN {low} AND {high}" for low, high in runs) + ")"


# -- nodes of which only histograms are known -----------------------------------------------------


class HistogramChoice(Choice):
    """Chooses among nodes that have a run of rows for each column, in the order of columns."""

    def runs(self, nodes: Ints, column: Codes) -> Ints:
        return nodes * len(self.columns) + column

    def every_run(self, nodes: Ints) -> Ints:
        width = len(self.columns)
        return np.repeat(nodes * width, width) + np.tile(np.arange(width), len(nodes))

    def owner(self, runs: Ints) -> Ints:
        return runs // len(self.columns)

    def spread(self, batch: Nodes) -> Spread:
        widths = super().spread(batch)
        width = len(self.columns)
        shape = (len(batch) // width, width, width)
        own = np.arange(width)
        return Spread(
            widths.low.reshape(shape)[:, own, own],
            widths.high.reshape(shape)[:, own, own],
            widths.tops.reshape(shape)[:, own, own],
            widths.missing.reshape(shape)[:, own, own],
        )


def batch_of(
    stored: StoredCounts,
    histograms: pa.Table,
    columns: Columns,
    low: Codes,
    high: Codes,
    target_width: int,
) -> tuple[Counts, Nodes, Ints]:
    """Nodes 0, 1, ... with the cells `low`, `high` from their histograms; and tuples per row."""
    width = len(columns)
    codes = np.zeros((histograms.num_rows, width), dtype=np.int32)
    column_of = np.zeros(histograms.num_rows, dtype=np.int64)
    for column in range(width):
        column_codes = histograms.column(f"q{column}").combine_chunks()
        here = np.flatnonzero(column_codes.is_valid().to_numpy(zero_copy_only=False))
        codes[here, column] = columns.searched(column, column_codes.drop_null().to_numpy())
        column_of[here] = column
    counts = stored.made_of(histograms.drop_columns([f"q{column}" for column in range(width)]))
    run = histograms.column("node").to_numpy().astype(np.int64) * width + column_of
    # In the order of codes and values, whatever order the engine found them in.
    keys = [counts.n, *counts.values[::-1], codes[np.arange(len(run)), column_of], run]
    order = np.lexsort(keys)
    counts = counts.take(order)
    total = len(low) * width
    begins = np.searchsorted(run[order], np.arange(total + 1))
    target = np.zeros(0, dtype=np.int32)
    if "target" in histograms.schema.names:
        target = histograms.column("target").to_numpy().astype(np.int32)[order]
    rows = TupleRows(
        np.arange(len(order)),
        np.ascontiguousarray(codes[order]),
        counts.n,
        np.ascontiguousarray(counts.values),
        target,
        target_width,
    )
    nodes = Nodes(
        rows,
        np.arange(len(order)),
        begins[:-1],
        begins[1:],
        np.repeat(low, width, axis=0),
        np.repeat(high, width, axis=0),
    )
    return counts, nodes, histograms.column("t").to_numpy().astype(np.int64)[order]
