"""One node of the lattice: is it safe once bad groups are suppressed, and what does it cost?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import floor
from typing import Literal

import numpy as np

from sfumato.anonymizers.base import Task
from sfumato.counts.contingency import Ints
from sfumato.counts.rollup import Cells, Rolled, finest
from sfumato.criteria.base import Bools, Criterion, GroupCriterion
from sfumato.criteria.exact import fraction
from sfumato.criteria.judge import worst_of
from sfumato.release.build import references
from sfumato.release.coverage import Coverage, cover
from sfumato.release.groups import Floats, Groups
from sfumato.release.inside import Inside
from sfumato.release.regions import Regions
from sfumato.release.summing import group_counts, protected_by
from sfumato.utility.view import Pieces, View

Outcome = Literal["satisfied", "fails below too", "fails"]


@dataclass(frozen=True)
class Node:
    """What was measured at one node. `why` names the criterion that cost most when it failed."""

    levels: tuple[int, ...]
    outcome: Outcome
    groups: int
    suppressed: int
    cost: float = float("nan")
    why: str = ""
    safe_above: bool = False  # every coarser node is safe as well

    @property
    def satisfied(self) -> bool:
        return self.outcome == "satisfied"


class Judge:
    """Judges nodes of one task's lattice."""

    def __init__(self, task: Task) -> None:
        self.task = task
        counts = task.table.counts
        self.people = int(counts.n.sum())
        self.limit = floor(fraction(task.suppression) * self.people)
        self._references = references(counts)
        self.levels = tuple(task.table.levels[domain.name] for domain in counts.quasi)
        group, first = counts.group_of
        cells = []
        for place in range(len(counts.sensitive)):
            groups = group_counts(counts, group, len(first), place)
            cells.append(Cells(groups.indptr, groups.indices, groups.data, groups.width))
        self.base = finest(counts, self.levels, cells)
        # What is upward closed first, sizes before values: the cheapest way to a failure that is
        # its own and inherited by every finer node.
        self._ordered = sorted(task.by_group, key=lambda c: (not c.upward_closed, c.reads_values))
        merging = all(c.merge_closed for c in task.searched)
        # Without suppression a merge-closed failure is inherited by finer nodes as well.
        self._inherits_all = self.limit == 0 and merging
        # Safety is inherited by coarser nodes when suppressed people can only become fewer, or
        # when there are none and merging safe groups is safe.
        self._safe_above = all(c.upward_closed for c in task.searched)
        self._safe_above_if_whole = merging
        self._needs = frozenset().union(*(criterion.needs for criterion in task.searched))
        self._covers: dict[tuple[int, int], Coverage] = {}

    def groups(self, node: Rolled, attribute: int | None) -> Groups:
        """The groups of a node as criteria see them."""
        if attribute is None:
            empty = np.zeros(len(node) + 1, dtype=np.int64)
            nothing = np.zeros(0, dtype=np.int32)
            return self._described(
                node, Groups.from_sparse(empty, nothing, empty[:0], 0, sizes=node.sizes)
            )
        described = self.task.table.counts.sensitive[attribute]
        cells = node.cells[attribute]
        groups = Groups.from_sparse(
            cells.indptr,
            cells.indices,
            cells.data,
            cells.width,
            sizes=node.sizes,
            reference=self._references[described.name],
            domain=described.domain,
            case=described.case,
        )
        groups.linked = described.sets is not None
        return self._described(node, groups)

    def _described(self, node: Rolled, groups: Groups) -> Groups:
        """With what the criteria need beyond counts: regions, weights, members, protection."""
        counts = self.task.table.counts
        if not self._needs:
            return groups
        in_base, _ = counts.group_of
        of_tuple = node.of_base()[in_base].astype(np.int64)
        if "protect" in self._needs:
            groups.protected = protected_by(counts.protect, of_tuple, len(node))
        if "members" in self._needs:
            order = np.argsort(of_tuple, kind="stable")
            begins = np.searchsorted(of_tuple[order], np.arange(len(node) + 1))
            groups.inside = Inside(counts, begins, order, counts.n[order])
        if "regions" not in self._needs:
            return groups
        population = None
        if counts.weights is not None:
            summed = np.bincount(of_tuple, counts.weights, minlength=len(node))
            population = summed.astype(np.float64)
        return groups.described(self.regions(node, np.ones(len(node), dtype=bool)), population)

    def bad_groups(self, node: Rolled, *, thoroughly: bool = False) -> tuple[Bools, Outcome, str]:
        """The groups that must go, and whether there are too many of them.

        Stops at the first criterion that suppresses too many people, unless `thoroughly`.
        """
        bad = np.zeros(len(node), dtype=bool)
        outcome: Outcome = "satisfied"
        why = ""
        for criterion in self._ordered:
            for attribute in self.task.about(criterion):
                found = ~self._holds(criterion, node, attribute)
                if not found.any():
                    continue
                bad |= found
                if outcome == "satisfied" and int(node.sizes[bad].sum()) > self.limit:
                    closed = criterion.upward_closed or self._inherits_all
                    outcome, why = "fails below too" if closed else "fails", criterion.name
                    if not thoroughly:
                        return bad, outcome, why
        return bad, outcome, why

    def _holds(self, criterion: GroupCriterion, node: Rolled, attribute: int | None) -> Bools:
        if criterion.reads_values:
            return criterion.holds(self.groups(node, attribute))
        return criterion.holds(self.groups(node, None))

    def judge(self, node: Rolled, *, thoroughly: bool = False) -> Node:
        """Safe within the limit? If so, at what cost?"""
        bad, outcome, why = self.bad_groups(node, thoroughly=thoroughly)
        suppressed = int(node.sizes[bad].sum())
        if outcome == "satisfied" and bad.all():
            outcome, why = "fails", "because it publishes nobody"
        if outcome == "satisfied":
            failing = self._unsafe_release(node, ~bad)
            if failing is not None:
                # A release-scope failure is never repaired by suppression.
                outcome = "fails below too" if self._inherits_all else "fails"
                why = failing.name
        kept = len(node) - int(bad.sum())
        if outcome != "satisfied":
            return Node(node.levels, outcome, kept, suppressed, why=why)
        cost = self.task.utility.cost(self.view(node, ~bad))
        above = self._safe_above or (self._safe_above_if_whole and suppressed == 0)
        return Node(node.levels, outcome, kept, suppressed, cost, safe_above=above)

    def _unsafe_release(self, node: Rolled, kept: Bools) -> Criterion | None:
        for criterion in self.task.by_release:
            for attribute in self.task.about(criterion):
                groups = self.groups(node, attribute).take(np.flatnonzero(kept))
                if not criterion.verdict(groups).holds:
                    return criterion
        return None

    # -- what utility measures see ---------------------------------------------------------------

    def regions(self, node: Rolled, kept: Bools) -> Regions:
        return Regions(
            columns=tuple(one.domain.name for one in self.levels),
            parts=tuple(
                one[level].regions for one, level in zip(self.levels, node.levels, strict=True)
            ),
            codes=node.codes()[:, kept],
        )

    def view(self, node: Rolled, kept: Bools) -> View:
        counts = self.task.table.counts

        def pieces() -> Pieces:
            groups = self.group_of_tuple(node, kept)
            return Pieces(np.arange(len(counts)), groups, counts.n)

        return View(
            counts,
            self.levels,
            lambda: self.regions(node, kept),
            node.sizes[kept],
            pieces,
            lambda column: self.coverage(column, node.levels[column]),
            lambda figures: node.total(figures, kept),
            disjoint=True,
        )

    def group_of_tuple(self, node: Rolled, kept: Bools) -> Ints:
        """The published group of each tuple of the table, -1 for a suppressed one."""
        number = np.where(kept, np.cumsum(kept) - 1, -1)
        in_base, _ = self.task.table.counts.group_of
        found: Ints = number[node.of_base()[in_base]].astype(np.int64)
        return found

    def coverage(self, column: int, level: int) -> Coverage:
        key = (column, level)
        if key not in self._covers:
            one = self.levels[column]
            self._covers[key] = cover(one.domain, one[level].regions)
        return self._covers[key]

    def least_cost(self, levels: tuple[int, ...]) -> float:
        """No release of this node costs less than this; -inf when nothing is known."""
        if self._by_level is None:
            return -np.inf
        return float(sum(costs[level] for costs, level in zip(self._by_level, levels, strict=True)))

    @cached_property
    def _by_level(self) -> list[Floats] | None:
        covers = [
            [self.coverage(column, level) for level in range(height)]
            for column, height in enumerate(self.heights)
        ]
        return self.task.utility.by_level(self.task.table.counts, covers)

    @property
    def bounded(self) -> bool:
        """Whether costs have a bound that tells which safe nodes cannot be the best."""
        return self._by_level is not None

    @property
    def bisects(self) -> bool:
        """Whether failures and safety are both inherited, so that a search may bisect."""
        down = self._inherits_all or all(c.upward_closed for c in self.task.searched)
        return self.bounded and down and (self._safe_above or self._inherits_all)

    def judge_levels(self, levels: tuple[int, ...]) -> Node:
        """Judge one node by its levels."""
        return self.judge(roll_to(self.base, levels))

    def measured(self, levels: tuple[int, ...]) -> dict[str, float | None]:
        """What each criterion measures on the release of a node; the worst attribute counts."""
        node = roll_to(self.base, levels)
        bad, _, _ = self.bad_groups(node, thoroughly=True)
        kept = np.flatnonzero(~bad)
        found: dict[str, float | None] = {}
        for criterion in self.task.require:
            verdicts = []
            for attribute in self.task.about(criterion):
                key = attribute if criterion.reads_values else None
                verdicts.append(criterion.verdict(self.groups(node, key).take(kept)))
            found[str(criterion)] = worst_of(verdicts).measured
        return found

    @cached_property
    def heights(self) -> tuple[int, ...]:
        return tuple(one.height for one in self.levels)


def roll_to(base: Rolled, levels: tuple[int, ...]) -> Rolled:
    """The node at these levels, rolled up column by column."""
    node = base
    for column, level in enumerate(levels):
        node = node.up(column, level)
    return node
