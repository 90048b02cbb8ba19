"""Which split of a node comes first: order of columns, medians, then every other cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property

import numpy as np

from sfumato.anonymizers.mondrian import steps
from sfumato.anonymizers.mondrian.cells import Columns
from sfumato.anonymizers.mondrian.check_split import Safety
from sfumato.anonymizers.mondrian.partition import Nodes, Split, rows_in
from sfumato.errors import PolicyError
from sfumato.numbers import Bools, Codes, Floats, Ints
from sfumato.schema.boundaries import BESIDE

SplitPriority = Callable[[Floats, Ints], Floats]


class NullSide(Enum):
    """Where people without a number or date go, in the order in which it is tried."""

    PARTED = auto()  # from everybody who has one
    ABOVE = auto()  # with those above the cut
    BELOW = auto()  # with those below


@dataclass(frozen=True)
class Spread:
    """By node and column: the codes a node spans (for nested ones the level at which its people
    part and the label they share), the level it is at, and how many people have NULL where others
    have a value."""

    low: Codes
    high: Codes
    tops: Codes
    missing: Ints


class Choice:
    """Finds for every node of a batch the first allowed split, if there is one."""

    def __init__(
        self,
        safety: Safety,
        columns: Columns,
        order: str | Callable[[Floats, Ints], Floats],
        *,
        strict: bool,
    ) -> None:
        self.safety, self.columns = safety, columns
        self._order, self._strict = order, strict

    @cached_property
    def _numbers(self) -> list[Floats]:
        """Where the values of each column lie on their axis."""
        return [hierarchy.domain.numbers() for hierarchy in self.columns.levels]

    def axes(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """What `_widths` makes of ordered columns: where each code begins and ends, columns one
        after another; by column the span of all, the codes where it has none, and its weight."""
        below, above, spans = [], [], []
        reaches = np.maximum(self.columns.sizes - 1, 1).astype(np.float64)
        for column, hierarchy in enumerate(self.columns.levels):
            size = int(self.columns.sizes[column])
            first = last = np.arange(size, dtype=np.float64)
            span, placed, numbers = reaches[column], hierarchy.domain.placed, self._numbers[column]
            reach = numbers[placed - 1] - numbers[0] if placed else 0.0
            if hierarchy.domain.kind in ("numeric", "date") and 0 < reach < np.inf:
                bounded, span = self.columns.boundaries[column], reach
                first = numbers if bounded is None else np.asarray(bounded.first, dtype=np.float64)
                last = numbers if bounded is None else np.asarray(bounded.last, dtype=np.float64)
            below.append(first)
            above.append(last)
            spans.append(span if len(hierarchy.domain) > 1 else np.inf)
        weights = np.asarray(self.safety.task.column_weights, dtype=np.float64)
        return np.concatenate(below), np.concatenate(above), np.array(spans), reaches, weights

    # -- where a node's rows are: each node is one run of a batch's rows -------------------------

    def runs(self, nodes: Ints, column: Codes) -> Ints:
        """The run that shows one column of each node."""
        return nodes

    def every_run(self, nodes: Ints) -> Ints:
        """All runs of some nodes."""
        return nodes

    def owner(self, runs: Ints) -> Ints:
        """The node each run is of."""
        return runs

    def spread(self, batch: Nodes) -> Spread:
        """What the nodes of a batch span."""
        columns, rows = self.columns, batch.rows
        tops = np.where(columns.nested > 0, batch.low, 0).astype(np.int32)
        low, high, missing = steps.extents(
            rows.codes,
            rows.n,
            batch.starts,
            batch.stops,
            columns.nested,
            columns.labels,
            columns.at,
            tops,
            columns.last,
        )
        return Spread(low, high, tops, missing)

    # -- the choice ------------------------------------------------------------------------------

    @property
    def _warranted(self) -> int:
        """People who must have a value on either side where others lack it: a range is told of no
        fewer than it would be if nobody lacked it."""
        return max(2, self.safety.least)

    def choose(self, batch: Nodes) -> tuple[Codes, Codes, Codes, Codes]:
        """For every node the first allowed split in its order of columns, if there is one."""
        columns, rows = self.columns, batch.rows
        spread = self.spread(batch)
        total = len(spread.low)
        ranking = self._ranking(batch, spread)
        column = np.zeros(total, dtype=np.int32)
        cut = np.full(total, steps.NONE, dtype=np.int32)
        part = np.zeros(len(rows.n), dtype=np.int32)
        parts = np.ones(total, dtype=np.int32)
        undecided = np.flatnonzero(self._people(batch, total) >= max(2, 2 * self.safety.least))
        tried = np.full((total, len(columns)), steps.NONE, dtype=np.int32)
        decided = np.zeros(total, dtype=bool)

        def accept(split: Split) -> Bools:
            nonlocal undecided
            allowed = self.safety.allowed(batch, split)
            taken = self.owner(split.nodes[allowed])
            column[taken], cut[taken] = split.column[allowed], split.cut[allowed]
            parts[taken] = split.parts[allowed]
            inside = rows_in(batch, split.nodes[allowed])
            part[inside] = split.part.take(inside)
            decided[taken] = True
            undecided = undecided[~decided[undecided]]
            return allowed

        for attempt in range(len(columns)):
            turn = ranking[:, attempt].astype(np.int32)
            for beside in NullSide:
                nodes = undecided
                if beside is not NullSide.PARTED:
                    nodes = nodes[spread.missing[nodes, turn[nodes]] > 0]
                if not len(nodes):
                    break
                tried_column = turn[nodes]
                where = self._cuts(batch, nodes, tried_column, spread, beside)
                if beside is not NullSide.BELOW:  # the same cut as before
                    tried[nodes, tried_column] = where
                possible = where != steps.NONE
                if possible.any():
                    parted = nodes[possible]
                    accept(self._candidate(batch, parted, tried_column[possible], where[possible]))
        if self._strict and len(undecided):
            self._try_all_cuts(batch, undecided, ranking, tried, accept)
        return column, cut, part, parts

    def _people(self, batch: Nodes, total: int) -> Ints:
        nodes = np.arange(total)
        people: Ints = np.add.reduceat(batch.rows.n, batch.starts)
        return people[self.runs(nodes, np.zeros(total, dtype=np.int32))]

    def _cuts(
        self, batch: Nodes, nodes: Ints, column: Codes, spread: Spread, beside: NullSide
    ) -> Codes:
        """The median cut of ordered columns, the parting level of nested ones; -1: none.

        Where some lack a value that others have, they are parted from those, or the others are cut
        at their median.
        """
        least, most = spread.low[nodes, column], spread.high[nodes, column]
        missing, last = spread.missing[nodes, column], self.columns.last[column]
        where = np.where(missing > 0, last, least).astype(np.int32)
        cut = self.columns.nested[column] == 0
        if beside is NullSide.PARTED:
            cut &= missing == 0
        if cut.any():
            chosen = self.runs(nodes, column)[cut]
            where[cut], smaller = steps.medians(
                batch.rows.codes,
                batch.rows.n,
                batch.starts[chosen],
                batch.stops[chosen],
                column[cut],
                least[cut],
                most[cut],
                self.columns.own,
                self.columns.own_at,
            )
            if not self._strict:
                people = self._people(batch, len(spread.low))[nodes[cut]]
                smaller = (people - missing[cut]) // 2
            few = (missing[cut] > 0) & (smaller < self._warranted)
            where[np.flatnonzero(cut)[few]] = steps.NONE
        if beside is NullSide.BELOW:
            made = (missing > 0) & (where != steps.NONE)
            where[made] = where[made] + BESIDE
        return where

    def _candidate(self, batch: Nodes, nodes: Ints, column: Codes, where: Codes) -> Split:
        columns, rows = self.columns, batch.rows
        nodes = self.runs(nodes, column)
        starts, stops = batch.starts[nodes], batch.stops[nodes]
        part, parts = steps.assign(
            rows.codes,
            starts,
            stops,
            column,
            where,
            columns.nested,
            columns.labels,
            columns.at,
            columns.last,
        )
        if not self._strict:
            halved = (columns.nested[column] == 0) & (where != steps.NONE)
            # Specials are cut off as a whole, and from each other.
            end = columns.last[column]
            halved &= (end < 0) | (where < end) | (where >= BESIDE)
            halves = steps.halves(
                rows.codes,
                starts[halved],
                stops[halved],
                column[halved],
                where[halved],
                columns.last,
            )
            inside = rows_in(batch, nodes[halved])
            part[inside] = halves[inside]
        order, begins, people = steps.gather(part, parts, starts, stops, rows.n)
        return Split(nodes, column, where, part, parts, order, begins, people)

    def _try_all_cuts(
        self,
        batch: Nodes,
        nodes: Ints,
        ranking: Ints,
        tried: Codes,
        accept: Callable[[Split], Bools],
    ) -> None:
        """Every cut that is no median, column by column in order, nearest to half first."""
        runs = self.every_run(nodes)
        run, column, where, away = steps.all_cuts(
            batch.rows.codes,
            batch.rows.n,
            batch.starts[runs],
            batch.stops[runs],
            self.columns.nested,
            self.safety.least,
            self._warranted,
            tried[self.owner(runs)],
            self.columns.last,
            self.columns.own,
            self.columns.own_at,
        )
        hopeful = self.safety.hopeful(batch, runs[run], column, where, self.columns.last)
        run, column, where, away = run[hopeful], column[hopeful], where[hopeful], away[hopeful]
        of = self.owner(runs[run])
        at = np.searchsorted(nodes, of)
        rank = np.argsort(ranking, axis=1)[of, column]
        order = np.lexsort((where, away, rank, at))
        at, column, where = at[order], column[order], where[order]
        begin = np.searchsorted(at, np.arange(len(nodes) + 1))
        waiting = np.flatnonzero(np.diff(begin))
        turn = 0
        while len(waiting):
            pick = begin[waiting] + turn
            allowed = accept(self._candidate(batch, nodes[waiting], column[pick], where[pick]))
            turn += 1
            waiting = waiting[~allowed]
            waiting = waiting[begin[waiting] + turn < begin[waiting + 1]]

    def _ranking(self, batch: Nodes, spread: Spread) -> Ints:
        """Per node, the columns in the order in which they are tried."""
        widths = self._widths(spread)
        if callable(self._order):
            people = self._people(batch, len(spread.low))
            priority = np.asarray(self._order(widths, people), dtype=np.float64)
            if priority.shape != widths.shape:
                raise PolicyError(
                    f"mondrian: the order function returned shape {priority.shape}, not "
                    f"{widths.shape}"
                )
        elif self._order == "gain":
            priority = self._gains(batch, spread)
        else:
            priority = widths * self.safety.task.column_weights
        return np.argsort(-priority, axis=1, kind="stable")

    def _widths(self, spread: Spread) -> Floats:
        """The share of each column's domain a node's people are spread over."""
        low, high = spread.low, spread.high
        widths = np.zeros(low.shape)
        for column, hierarchy in enumerate(self.columns.levels):
            size = len(hierarchy.domain)
            if size < 2:
                continue
            if self.columns.nested[column]:
                for level in range(hierarchy.height - 1):
                    leaves = np.bincount(hierarchy[level + 1].codes)
                    here = low[:, column] == level
                    shared = high[here, column]
                    widths[here, column] = (leaves[shared] - 1) / (size - 1)
                continue
            reach = max(int(self.columns.sizes[column]) - 1, 1)
            widths[:, column] = (high[:, column] - low[:, column]) / reach
            numbers = self._numbers[column]
            placed = hierarchy.domain.placed
            span = numbers[placed - 1] - numbers[0] if placed else 0.0
            if hierarchy.domain.kind in ("numeric", "date") and 0 < span < np.inf:
                bounded = self.columns.boundaries[column]
                below = above = numbers
                if bounded is not None:
                    nowhere = np.full(len(hierarchy.domain.specials), np.nan)
                    below = np.append(bounded.first, nowhere)
                    above = np.append(bounded.last, nowhere)
                extent = (above[high[:, column]] - below[low[:, column]]) / span
                extent = np.where(np.isnan(extent), widths[:, column], extent)  # specials alone
                parted = high[:, column] > low[:, column]
                widths[:, column] = np.where(parted, extent, 0.0)
        # A column that as many lack as a group needs is as wide as can be: they are parted first.
        return np.where(self._partable(spread), 1.0, widths)

    def _partable(self, spread: Spread) -> Bools:
        """Where people without a value are enough for a group of their own."""
        return (spread.missing > 0) & (spread.missing >= self.safety.least)

    def _gains(self, batch: Nodes, spread: Spread) -> Floats:
        from sfumato.anonymizers.mondrian import cuts  # compiled, which few searches need

        gains = np.full(spread.low.shape, -1.0)
        nodes = np.arange(len(gains))
        rows = batch.rows
        for column in range(len(self.columns)):
            same_column = np.full(len(nodes), column, dtype=np.int32)
            where = self._cuts(batch, nodes, same_column, spread, NullSide.PARTED)
            few = (spread.missing[:, column] > 0) & ~self._partable(spread)[:, column]
            if few.any():
                where[few] = self._cuts(batch, nodes[few], same_column[few], spread, NullSide.ABOVE)
            split = self._candidate(batch, nodes, same_column, where)
            gains[:, column] = cuts.entropy_gain(
                split.part,
                split.parts,
                batch.starts[split.nodes],
                batch.stops[split.nodes],
                rows.n,
                rows.target,
                rows.target_width,
            )
        return gains
