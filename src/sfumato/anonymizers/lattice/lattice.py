"""Full-domain generalization (Samarati 2001; LeFevre et al. 2005): one level per column for all.

Every quasi-identifier is published at one level of its hierarchy for everybody; groups that still
violate a criterion are suppressed, up to a limit. Among the nodes that are safe within the limit
the search returns the one of least cost, and all minimal ones (no safe node is finer).

What may be skipped follows from what criteria declare. A failure of an *upward closed* criterion
(k, distinct l) is inherited by all finer nodes under any suppression limit: the people suppressed
for it can only grow. Other criteria lend themselves to that only when nothing may be suppressed,
since a good group merged with a bad one can turn bad. Likewise safety is inherited by coarser
nodes; such a node is judged only if the utility's bound leaves it a chance to be the best. Counts
of a node are rolled up from a table that is already coarse in the columns before.

Criteria that no search can carry along (relative threat) then choose: the nodes that keep all the
others are made into releases in the order of their cost, and the first that holds is the most
useful there is. Nothing is inherited for those: neither failure nor safety.

Here are what a search found and the anonymizer; which nodes are judged at all is in `search.py`.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import inf, isnan, prod
from typing import ClassVar

import numpy as np

from sfumato.anonymizers.base import Anonymizer, Finished, Task, check_release, refused
from sfumato.anonymizers.lattice.nodes import Judge, Node
from sfumato.anonymizers.lattice.search import BothEnds, Walk, best_of, preference
from sfumato.counts.roll_up import Passes
from sfumato.errors import NoSafeRelease, PolicyError
from sfumato.numbers import percent
from sfumato.progress import OutOfTime, Ticker
from sfumato.release.made import Findings
from sfumato.release.release import Release
from sfumato.schema.hierarchy import NodeLevels

LARGE = 10_000  # nodes above which both ends are searched before the whole lattice is
FEW = 1_000  # nodes judged so
MANY = 20_000  # nodes judged without a better one, where the whole lattice is too large


@dataclass(frozen=True)
class LatticeOutcome:
    """What a lattice search learnt: nodes it judged, the best, the minimal of those; exact or not.

    Nodes that are not listed were not judged: they inherit a coarser node's failure or a finer
    one's safety, or their cost cannot be the least (`exact`), or the budget did not reach them.
    """

    columns: tuple[str, ...]
    heights: tuple[int, ...]
    nodes: tuple[Node, ...]
    best: Node | None
    minimal: tuple[NodeLevels, ...]
    exact: bool
    judge: Judge = field(repr=False, compare=False)
    passes: Passes | None = None  # over a table larger than memory, while it was searched
    inherited: tuple[NodeLevels, ...] = ()  # safe for a finer node is, and not judged
    finished: int = 0  # releases that criteria were judged on which no search can carry along
    bound: float = -inf  # no release of the lattice costs less
    finest: NodeLevels = ()  # where limits forbid finer nodes
    complete: bool = True  # False: only the best was looked for

    @cached_property
    def whole(self) -> LatticeOutcome:
        """What is to be known of all nodes, worked out when asked; the best is the same."""
        return self if self.complete else search_lattice(self.judge, self.size)

    @property
    def listed(self) -> Iterator[NodeLevels]:
        """Every node within the limits."""
        finest = self.finest or (0,) * len(self.heights)
        return product(*(range(low, high) for low, high in zip(finest, self.heights, strict=True)))

    @property
    def size(self) -> int:
        """How many those are."""
        finest = self.finest or (0,) * len(self.heights)
        return prod(high - low for low, high in zip(finest, self.heights, strict=True))

    @property
    def gap(self) -> float | None:
        """How far above the least there is the best may cost, at most; None: not known."""
        if self.best is None or self.bound == -inf:
            return None
        return max(0.0, self.best.cost - self.bound)

    @property
    def seen(self) -> str:
        """How much of the lattice was judged, and how near to the best that comes, in words."""
        size = self.size
        share = percent(len(self.nodes) / size)
        judged = f"{len(self.nodes):,} of {size:,} choices of levels ({share}) were judged"
        if self.exact or self.gap is None:
            return judged
        return (
            f"{judged}, and the best of them costs at most {self.gap:.2g} more than the best of all"
        )

    def measured(self, levels: NodeLevels) -> dict[str, float | None]:
        """What each criterion measures on one node's release, worked out when asked."""
        return self.judge.measured(levels)


@dataclass(frozen=True)
class LatticeFindings(Findings):
    """The level of each column; `search` found it, None where somebody chose the levels."""

    anonymizer: ClassVar[str] = "lattice"

    levels: Mapping[str, int]
    search: LatticeOutcome | None = None


def search_lattice(judge: Judge, budget: int, *, for_best: bool = False) -> LatticeOutcome:
    """Judge the lattice without making a release.

    When the time is over, the best of what was judged is as good as can be. `for_best`: nodes that
    cannot be the best are not judged, and others than the best are told by `whole` only.
    """
    size = judge.size
    # Each look at a stored table costs, and criteria at the end choose among all that is safe.
    for_best = for_best and judge.passes is None and judge.bounded and not judge.task.at_end
    searched = judge.passes is None and LARGE < size <= budget  # each look at a stored table costs
    ends = BothEnds(judge, min(budget, FEW) if searched else budget, MANY)
    nodes, exact = ends.nodes, False
    inherited: tuple[NodeLevels, ...] = ()
    try:
        if searched or size > budget:
            ends.run()
            # Criteria that judge finished releases choose among all that is safe, not the best.
            exact = ends.proved and not judge.task.at_end
        if size <= budget and not exact:
            walk = Walk(judge, for_best=for_best)
            for node in ends.nodes:
                walk.record(node)
            nodes = walk.nodes
            judge.walk(walk)
            inherited, exact = walk.inherited, True
    except OutOfTime:
        if best_of(nodes) is None:
            raise
    best = best_of(nodes)
    columns = tuple(hierarchy.domain.name for hierarchy in judge.levels)
    safe = [node.levels for node in nodes if node.satisfied]
    heights = tuple(level + 1 for level in judge.coarsest)
    minimal = _minimal(safe, heights)
    return LatticeOutcome(
        columns,
        heights,
        tuple(nodes),
        best,
        minimal,
        exact,
        judge,
        judge.passes,
        inherited,
        bound=best.cost if exact and best is not None else ends.bound,
        finest=judge.finest,
        complete=not (for_best and exact),
    )


def _minimal(safe: list[NodeLevels], heights: tuple[int, ...]) -> tuple[NodeLevels, ...]:
    """The safe nodes below which no other safe node lies."""
    if prod(heights) > 50_000_000:
        return ()
    grid = np.zeros(heights, dtype=bool)
    for levels in safe:
        grid[levels] = True
    below = grid.copy()  # whether a safe node lies at or below
    for axis in range(len(heights)):
        below = np.logical_or.accumulate(below, axis=axis)
    strictly = np.zeros_like(grid)
    for axis in range(len(heights)):
        upper = [slice(None)] * len(heights)
        lower = [slice(None)] * len(heights)
        upper[axis], lower[axis] = slice(1, None), slice(None, -1)
        strictly[tuple(upper)] |= below[tuple(lower)]
    return tuple(levels for levels in sorted(safe) if not strictly[levels])


def release_of(
    task: Task, judge: Judge, levels: NodeLevels, outcome: LatticeOutcome | None = None
) -> Release:
    """The release of one node: its good groups, the rest suppressed."""
    return check_release(_made(judge, levels, outcome), task)


def _made(judge: Judge, levels: NodeLevels, outcome: LatticeOutcome | None) -> Release:
    names = (hierarchy.domain.name for hierarchy in judge.levels)
    return judge.release(levels, LatticeFindings(dict(zip(names, levels, strict=True)), outcome))


def most_useful_release(task: Task, judge: Judge, searched: LatticeOutcome) -> Release:
    """The release of least cost that also holds by what only finished releases can be judged by.

    The search is told as far as it is known: nodes that are costlier than the chosen one may hold
    or not, so they count as not judged.
    """
    finished, failed = Finished(task), list[Node]()
    with Ticker("judging releases", len(searched.nodes) + len(searched.inherited)) as ticker:
        for node in _by_cost(judge, searched):
            if finished.holds(_made(judge, node.levels, None)):
                break
            why = " or ".join(criterion.name for criterion in task.at_end)
            failed.append(replace(node, outcome="fails", why=why, safe_above=False))
            ticker.add(1)
        else:
            raise finished.refusal()
    chosen = replace(node, safe_above=False)
    known = [node for node in searched.nodes if not node.satisfied]
    exact = searched.exact or chosen.cost <= searched.bound
    outcome = replace(
        searched,
        exact=exact,
        nodes=(*known, *failed, chosen),
        best=chosen,
        minimal=(),
        inherited=(),
        finished=finished.judged,
        bound=chosen.cost if exact else searched.bound,
    )
    return _made(judge, chosen.levels, outcome)


def _by_cost(judge: Judge, outcome: LatticeOutcome) -> Iterator[Node]:
    """The nodes that are safe so far, the cheapest first; what was inherited is judged in turn."""
    judged = {node.levels: node for node in outcome.nodes if node.satisfied}
    queue = [preference(node) for node in judged.values() if not isnan(node.cost)]
    queue += [(judge.least_cost(levels), -1, 0, levels) for levels in outcome.inherited]
    heapq.heapify(queue)
    while queue:
        *_, levels = heapq.heappop(queue)
        if levels in judged:
            yield judged[levels]
            continue
        node = judged[levels] = judge.judge_levels(levels)
        if node.satisfied and not isnan(node.cost):
            heapq.heappush(queue, preference(node))


def nothing_safe(task: Task, judge: Judge, outcome: LatticeOutcome) -> NoSafeRelease:
    """Name the criterion that stands in the way at the coarsest node, and how near one came."""
    with judge.node(judge.coarsest) as top:
        for criterion in task.searched:
            for attribute in task.about(criterion):
                groups = judge.groups(top, attribute if criterion.reads_values else None)
                verdict = criterion.verdict(groups)
                if not verdict.holds:
                    advice = "loosen that bound, or allow more suppression"
                    return refused(criterion, verdict, advice)
    if any(node.satisfied for node in outcome.whole.nodes):
        return NoSafeRelease(
            f"there are safe releases, but utility {task.utility.name!r} gives none of them a "
            "number; name another utility"
        )
    nearest = min(outcome.whole.nodes, key=lambda node: node.suppressed)
    return NoSafeRelease(
        "no node of the lattice satisfies the policy: the nearest fails "
        f"{judge.failure_words(nearest)}, loosen the criterion, or give coarser hierarchies"
    )


@dataclass(frozen=True)
class Lattice(Anonymizer):
    """Optimal full-domain generalization; above `budget` nodes as near as the search comes."""

    name: ClassVar[str] = "lattice"
    suppresses: ClassVar[bool] = True

    budget: int = 1_000_000
    """How many nodes are judged at most; above, the best that was found. Example: `budget = 10000`.
    """

    def __post_init__(self) -> None:
        if not isinstance(self.budget, int) or self.budget < 1:
            raise PolicyError(f"lattice: budget = {self.budget!r} must be a whole number above 0")

    def refuses_rows(self) -> str:
        return ""

    def run(self, task: Task) -> Release:
        from sfumato.anonymizers.lattice.large import judge_of

        with closing(judge_of(task)) as judge:
            outcome = search_lattice(judge, self.budget, for_best=True)
            if outcome.best is None:
                raise nothing_safe(task, judge, outcome)
            if task.at_end:
                return most_useful_release(task, judge, outcome)
            return release_of(task, judge, outcome.best.levels, outcome)
