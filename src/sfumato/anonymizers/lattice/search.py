"""Walking a lattice: which nodes are judged, and what is known of the others without it.

A failure that is inherited marks all finer nodes, safety that is inherited all coarser ones. A node
that is known to be safe is judged only if the utility's bound leaves it a chance to be the best.

`Walk` goes through the whole lattice. `BothEnds` searches one that is too large for that, and knows
how far from the best its best can be.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import reduce
from itertools import product
from math import isnan, prod

import numpy as np

from sfumato.anonymizers.lattice.nodes import Judge, Node, SingleNodes
from sfumato.counts.roll_up import Rolled
from sfumato.numbers import Bools, Codes
from sfumato.progress import Ticker
from sfumato.schema.hierarchy import NodeLevels

ROUNDING = 1e-12  # costs are sums of floats; ties must not be lost to it
_HEAD_START = 8  # nodes for each column that are judged from above before the bound is looked for


class Walk:
    """One search: what it has judged so far, and what follows from it.

    `for_best`: nodes that cost more than the best so far are left alone, by the utility's bound.
    """

    def __init__(self, judge: Judge, *, for_best: bool = False) -> None:
        self._judge = judge
        least = judge.least_costs() if for_best else None
        self._least = None if least is None else reduce(np.add.outer, least)
        self.heights = judge.heights
        # Nothing outside the schema's limits is looked at.
        self._finest, self._coarsest = judge.finest, judge.coarsest
        ends = zip(self._finest, self._coarsest, strict=True)
        self._doomed = np.ones(self.heights, dtype=bool)
        self._doomed[tuple(slice(finest, coarsest + 1) for finest, coarsest in ends)] = False
        self._safe = np.zeros(self.heights, dtype=bool)
        self._known = np.zeros(self.heights, dtype=bool)  # judged
        self.nodes: list[Node] = []
        self.best: Node | None = None
        # Columns of many values first: the tables of all later ones are then small.
        columns = range(len(self.heights))
        self._sequence = sorted(columns, key=lambda c: -len(judge.levels[c].domain))
        # Where failures and safety are both inherited, levels are tried middle first, as in a
        # bisection; else coarse ones first.
        bisects = judge.bisects and self._least is None
        self._order = [_middle_first(h) if bisects else list(range(h))[::-1] for h in self.heights]

    @property
    def open(self) -> Bools:
        """The nodes of which nothing is known yet."""
        return ~(self._doomed | self._safe | self._known)

    @property
    def inherited(self) -> tuple[NodeLevels, ...]:
        """The nodes known to be safe that were not judged: they cannot be the best."""
        unjudged = np.argwhere(self._safe & ~self._known)
        return tuple(tuple(map(int, levels)) for levels in unjudged)

    def record(self, node: Node) -> None:
        """Take note of a node that was judged, and of all that follows."""
        self.nodes.append(node)
        if node.satisfied:
            self.best = best_of([node] if self.best is None else [node, self.best])
        self._known[node.levels] = True
        if node.outcome == "fails below too":
            self._doomed[tuple(slice(0, level + 1) for level in node.levels)] = True
        elif node.safe_above and self._judge.bounded:
            ends = zip(node.levels, self._coarsest, strict=True)
            self._safe[tuple(slice(finest, coarsest + 1) for finest, coarsest in ends)] = True

    def over(self, base: Rolled) -> None:
        """Judge what cannot be inferred among the nodes that can be rolled up from this one."""
        lowest, highest = tuple(map(max, base.levels, self._finest)), self._coarsest
        if any(low > high for low, high in zip(lowest, highest, strict=True)):
            return
        # Nodes by one number: thousands are looked at for each that is judged.
        doomed, safe, known = (
            known_of.reshape(-1) for known_of in (self._doomed, self._safe, self._known)
        )
        least = None if self._least is None else self._least.reshape(-1)
        steps = [prod(self.heights[column + 1 :]) for column in range(len(self.heights))]
        passed = 0  # nodes that a bar has not been told of

        def visit(table: _Lazy, depth: int, below: int, coarsest: int, finest: int) -> None:
            """`coarsest`, `finest`: the ends of the part of the lattice that is being visited."""
            nonlocal passed
            column = self._sequence[depth]
            low, high, step = lowest[column], highest[column], steps[column]
            below //= high + 1 - low
            for level in self._order[column]:
                if not low <= level <= high:
                    continue
                top, bottom = coarsest - (high - level) * step, finest + (level - low) * step
                costly = (
                    least is not None
                    and self.best is not None
                    and least[bottom] > self.best.cost + ROUNDING
                )
                if costly or doomed[top] or safe[bottom]:
                    passed += below  # the whole part is known, or need not be
                    continue
                rolled = _Lazy(table, column, level)
                if depth + 1 < len(lowest):
                    visit(rolled, depth + 1, below, top, bottom)
                    continue
                if not known[bottom]:
                    self.record(self._judge.judge(rolled.get()))
                    ticker.add(passed)
                    passed = 0
                passed += 1

        nodes = prod(high + 1 - low for high, low in zip(highest, lowest, strict=True))
        ends = (
            sum(level * step for level, step in zip(levels, steps, strict=True))
            for levels in (highest, lowest)
        )
        with Ticker("judging nodes", nodes) as ticker:
            visit(_Lazy(None, 0, 0, base), 0, nodes, *ends)
            ticker.add(passed)

    def cheapest_first(self, nodes: SingleNodes) -> None:
        """Judge nodes by the least they may cost, until none that is left can be the best.

        Where people have several rows, safety is seldom inherited, and asking whose they are takes
        long: fine nodes fail by their rows alone, and the first that is safe is nearly the best.
        """
        order = sorted(np.ndindex(*self.heights), key=self._judge.least_cost)
        with Ticker("judging nodes", len(order)) as ticker:
            for levels in order:
                least = self._judge.least_cost(levels)
                if self.best is not None and least > self.best.cost + ROUNDING:
                    break
                if not (self._doomed[levels] or self._known[levels]):
                    self.record(nodes.judge(levels))
                ticker.add(1)

    def settle(self, judge: Callable[[NodeLevels], Node], lowest: NodeLevels | None = None) -> None:
        """Judge nodes known to be safe as long as one of them might be the best.

        With `lowest`, only those that are as coarse as that.
        """
        within = tuple(slice(level, None) for level in lowest or (0,) * len(self.heights))
        waiting = self._safe & ~self._known
        if self._least is not None and self.best is not None:
            waiting &= self._least <= self.best.cost + ROUNDING
        unjudged = np.argwhere(waiting[within]) + np.array(lowest or 0)
        least = {tuple(map(int, node_levels)): 0.0 for node_levels in unjudged}
        for levels in least:
            least[levels] = self._judge.least_cost(levels)
        for levels in sorted(least, key=lambda node_levels: least[node_levels]):
            if self.best is not None and least[levels] > self.best.cost + ROUNDING:
                break
            self.record(judge(levels))


class BothEnds:
    """A search from both ends at once: from the coarsest for the best, from the finest for a bound.

    From above: of the safe nodes known the cheapest is refined next, in every column; where that
    does not help, columns trade steps. From below, by implicit hitting sets: take the node of least
    cost, by the utility's bound, that inherits no known failure, and judge it. If it fails, and
    finer nodes inherit that, raise it column by column as long as it still fails: whatever does not
    fail is coarser than that in some column, so the node is replaced by those that are just so in
    one. Else it is replaced by the nodes one step coarser. So every node that may be safe and is
    not judged lies above some node that waits, and costs no less than the cheapest of those: when
    that costs more than the best, the best is what going through the whole lattice would find.

    `nodes` are those judged, at most `budget`; it also ends after `patience` without a better one.
    """

    def __init__(self, judge: Judge, budget: int, patience: int) -> None:
        self._judge, self._one_by_one = judge, judge.one_by_one()
        self._budget, self._patience = budget, patience
        self._top, self._bottom = judge.coarsest, judge.finest
        self._costs = judge.least_costs()
        self._failing: Codes = np.zeros((0, len(self._top)), dtype=np.int32)  # maximal, inherited
        self._judged: dict[NodeLevels, Node] = {}
        self._safe: list[tuple[float, NodeLevels]] = []  # to be refined
        self._refined: set[NodeLevels] = set()
        self._surrounded: set[NodeLevels] = set()
        self._waiting: list[tuple[float, NodeLevels]] = []
        self._seen: set[NodeLevels] = set()
        self._improved = 0  # nodes judged when the best was found
        self.nodes: list[Node] = []
        self.best: Node | None = None
        self._begun = False  # from below

    @property
    def bound(self) -> float:
        """No release of the lattice costs less; -inf where nothing is known."""
        if self._costs is None or not self._begun:
            return -np.inf
        waiting = self._waiting[0][0] if self._waiting else np.inf
        return min(waiting, np.inf if self.best is None else self.best.cost)

    @property
    def proved(self) -> bool:
        """Whether nothing can be better than the best, or nothing is safe."""
        if self._costs is None or not self._begun:
            return False
        return not self._waiting or self._may_not_be_best(self._waiting[0][0])

    def _may_not_be_best(self, least: float) -> bool:
        return self.best is not None and least > self.best.cost + ROUNDING

    def run(self) -> None:
        with Ticker("judging nodes", self._budget) as self._ticker, suppress(_Spent):
            self._search()

    def _search(self) -> None:
        self._ask(self._top)
        if self._costs is not None:
            self._wait(self._bottom)
            self._begun = True
        above, ahead = True, -_HEAD_START * len(self._top)  # nodes judged from above, less below
        while not self.proved and (above or self._costs is not None):
            begun = len(self.nodes)
            if above and (ahead <= 0 or self._costs is None):
                above = self._refine()
                ahead += len(self.nodes) - begun
            else:
                self._raise_bound()
                ahead -= len(self.nodes) - begun

    # -- from above ------------------------------------------------------------------------------

    def _refine(self) -> bool:
        """Judge the nodes one step finer than the cheapest safe one; False if none is left.

        When that is done for the best there is, those that are finer in one column and coarser in
        another come first.
        """
        if self.best is not None and self.best.levels in self._refined - self._surrounded:
            self._surrounded.add(self.best.levels)
            self._look_around(self.best.levels)
            return True
        while self._safe:
            _, levels = heapq.heappop(self._safe)
            if levels in self._refined:
                continue
            self._refined.add(levels)
            self._one_by_one.near(tuple(max(level - 1, 0) for level in levels))
            for column, level in enumerate(levels):
                if level == self._bottom[column]:
                    continue
                if not len(self._inherited(finer := _at(levels, column, level - 1))):
                    self._ask(finer)
            return True
        return False

    def _look_around(self, levels: NodeLevels) -> None:
        """Judge the nodes that trade a step of one column for steps of another, cheapest first."""
        if self._costs is None:
            return
        steps = range(len(levels))
        around = {
            _at(_at(levels, finer, levels[finer] - 1), coarser, level)
            for finer, coarser in product(steps, steps)
            if finer != coarser and levels[finer] > self._bottom[finer]
            for level in range(levels[coarser] + 1, self._top[coarser] + 1)
        }
        self._one_by_one.near(tuple(max(level - 1, 0) for level in levels))
        for least, swapped in sorted((self._least(swapped), swapped) for swapped in around):
            if self._may_not_be_best(least):
                break
            if not len(self._inherited(swapped)):
                self._ask(swapped)

    # -- from below ------------------------------------------------------------------------------

    def _raise_bound(self) -> None:
        """Replace the cheapest node that waits by coarser ones; judge it if nothing is known."""
        _, levels = self._waiting[0]
        inherited = self._inherited(levels)
        if not len(inherited):
            if self._ask(levels).outcome != "fails below too":
                inherited = np.array([levels])  # this very node is done
            else:
                self._coarsest_failure(levels)
                inherited = self._inherited(levels)
        # The failure that leaves fewest ways out.
        ways = (inherited < np.array(self._top)).sum(axis=1)
        for column, level in enumerate(inherited[np.argmin(ways)].tolist()):
            if level < self._top[column]:
                self._wait(_at(levels, column, level + 1))
        heapq.heappop(self._waiting)  # last: whenever the search is stopped, the bound holds

    def _coarsest_failure(self, levels: NodeLevels) -> None:
        """Raise a failing node as long as it fails, first what would be the cheapest way out."""
        assert self._costs is not None
        self._one_by_one.near(levels)
        for column in sorted(range(len(levels)), key=lambda c: self._rise(c, levels[c])):
            low, high = levels[column], self._top[column]
            while low < high:
                middle = (low + high + 1) // 2
                coarser = _at(levels, column, middle)
                fails = len(self._inherited(coarser)) > 0
                if fails or self._ask(coarser).outcome == "fails below too":
                    low = middle
                else:
                    high = middle - 1
            levels = _at(levels, column, low)

    def _rise(self, column: int, level: int) -> float:
        assert self._costs is not None
        return float(self._costs[column][-1] - self._costs[column][level])

    def _wait(self, levels: NodeLevels) -> None:
        if levels in self._seen:
            return
        self._seen.add(levels)
        least = self._least(levels)
        if not self._may_not_be_best(least):
            heapq.heappush(self._waiting, (least, levels))

    def _least(self, levels: NodeLevels) -> float:
        assert self._costs is not None
        return sum(float(costs[at]) for costs, at in zip(self._costs, levels, strict=True))

    # -- both ------------------------------------------------------------------------------------

    def _inherited(self, levels: NodeLevels) -> Codes:
        """The known failures that a node inherits."""
        inherited: Codes = self._failing[(self._failing >= np.array(levels)).all(axis=1)]
        return inherited

    def _ask(self, levels: NodeLevels) -> Node:
        """What judging a node says; it is judged once."""
        if levels in self._judged:
            return self._judged[levels]
        if len(self.nodes) >= min(self._budget, self._improved + self._patience):
            raise _Spent
        node = self._judged[levels] = self._one_by_one.judge(levels)
        self.nodes.append(node)
        self._ticker.add(1)
        if node.outcome == "fails below too":
            finer = (self._failing <= np.array(levels)).all(axis=1)
            self._failing = np.vstack([self._failing[~finer], np.array([levels], dtype=np.int32)])
            return node
        cost = node.cost if node.satisfied and not isnan(node.cost) else np.inf
        heapq.heappush(self._safe, (cost, levels))
        if node.satisfied:
            best = best_of([node] if self.best is None else [node, self.best])
            if best is not self.best:
                self.best, self._improved = best, len(self.nodes)
        return node


class _Spent(Exception):
    """As many nodes were judged as may be."""


def _at(levels: NodeLevels, column: int, level: int) -> NodeLevels:
    """The node with another level in one column."""
    return (*levels[:column], level, *levels[column + 1 :])


class _Lazy:
    """A table rolled up one column further, when somebody asks for it."""

    __slots__ = ("_column", "_finer", "_level", "_rolled")

    def __init__(
        self, finer: _Lazy | None, column: int, level: int, rolled: Rolled | None = None
    ) -> None:
        self._finer, self._column, self._level, self._rolled = finer, column, level, rolled

    def get(self) -> Rolled:
        if self._rolled is None:
            assert self._finer is not None
            self._rolled = self._finer.get().up(self._column, self._level)
        return self._rolled


def best_of(nodes: Iterable[Node]) -> Node | None:
    """The cheapest safe one; of equals that with fewer people suppressed, then the finer one."""
    safe = [node for node in nodes if node.satisfied and not isnan(node.cost)]
    return min(safe, key=preference, default=None)


def preference(node: Node) -> tuple[float, int, int, NodeLevels]:
    """Which of two safe nodes comes first."""
    return node.cost, node.suppressed, sum(node.levels), node.levels


def _middle_first(height: int) -> list[int]:
    """Levels in the order of a bisection: 5 levels as 2, 3, 4, 0, 1."""
    ranges, order = [(0, height)], []
    while ranges:
        low, high = ranges.pop(0)
        if low < high:
            middle = (low + high) // 2
            order.append(middle)
            ranges += [(middle + 1, high), (low, middle)]
    return order
