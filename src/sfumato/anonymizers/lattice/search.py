"""Walking a lattice: which nodes are judged, and what is known of the others without it.

A failure that is inherited marks all finer nodes, safety that is inherited all coarser ones. A node
that is known to be safe is judged only if the utility's bound leaves it a chance to be the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isnan, prod

import numpy as np

from sfumato.anonymizers.lattice.nodes import Judge, Node
from sfumato.counts.roll_up import Rolled
from sfumato.numbers import Bools
from sfumato.progress import Ticker

Levels = tuple[int, ...]
ROUNDING = 1e-12  # costs are sums of floats; ties must not be lost to it


class Walk:
    """One search: what it has judged so far, and what follows from it."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.heights = judge.heights
        self._doomed = np.zeros(self.heights, dtype=bool)
        self._safe = np.zeros(self.heights, dtype=bool)
        self._known = np.zeros(self.heights, dtype=bool)  # judged
        self.nodes: list[Node] = []
        self.best: Node | None = None
        # Columns of many values first: the tables of all later ones are then small.
        columns = range(len(self.heights))
        self._sequence = sorted(columns, key=lambda c: -len(judge.levels[c].domain))
        # Where failures and safety are both inherited, levels are tried middle first, as in a
        # bisection; else coarse ones first.
        self._order = [
            _middle_first(h) if judge.bisects else list(range(h))[::-1] for h in self.heights
        ]

    @property
    def open(self) -> Bools:
        """The nodes of which nothing is known yet."""
        return ~(self._doomed | self._safe | self._known)

    @property
    def inherited(self) -> tuple[Levels, ...]:
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
            self._doomed[tuple(slice(0, one + 1) for one in node.levels)] = True
        elif node.safe_above and self._judge.bounded:
            self._safe[tuple(slice(one, None) for one in node.levels)] = True

    def over(self, base: Rolled) -> None:
        """Judge what cannot be inferred among the nodes that can be rolled up from this one."""
        lowest = base.levels
        highest = [height - 1 for height in self.heights]
        # The coarsest and the finest node of the part of the lattice that is being visited.
        coarsest, finest = highest.copy(), list(lowest)

        def visit(table: _Lazy, depth: int, below: int) -> None:
            column = self._sequence[depth]
            below //= highest[column] + 1 - lowest[column]
            for level in self._order[column]:
                if level < lowest[column]:
                    continue
                coarsest[column] = finest[column] = level
                if self._doomed[tuple(coarsest)] or self._safe[tuple(finest)]:
                    ticker.add(below)  # the whole part is known
                    continue
                rolled = _Lazy(table, column, level)
                if depth + 1 < len(highest):
                    visit(rolled, depth + 1, below)
                    continue
                if not self._known[tuple(finest)]:
                    self.record(self._judge.judge(rolled.get()))
                ticker.add(1)
            coarsest[column], finest[column] = highest[column], lowest[column]

        nodes = prod(h - low for h, low in zip(self.heights, lowest, strict=True))
        with Ticker("judging nodes", nodes) as ticker:
            visit(_Lazy(None, 0, 0, base), 0, nodes)

    def settle(self, judge: Callable[[Levels], Node], lowest: Levels | None = None) -> None:
        """Judge nodes known to be safe as long as one of them might be the best.

        With `lowest`, only those that are as coarse as that.
        """
        within = tuple(slice(one, None) for one in lowest or (0,) * len(self.heights))
        unjudged = np.argwhere((self._safe & ~self._known)[within]) + np.array(lowest or 0)
        least = {tuple(map(int, one)): 0.0 for one in unjudged}
        for levels in least:
            least[levels] = self._judge.least_cost(levels)
        for levels in sorted(least, key=lambda one: least[one]):
            if self.best is not None and least[levels] > self.best.cost + ROUNDING:
                break
            self.record(judge(levels))


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


def preference(node: Node) -> tuple[float, int, int, Levels]:
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
