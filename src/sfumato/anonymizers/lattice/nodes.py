"""One node of the lattice: is it safe once bad groups are suppressed, and what does it cost?

The groups of a node as criteria see them are made here too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from math import floor, prod
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from sfumato.anonymizers.base import Task
from sfumato.counts.counts import Attribute, Counts
from sfumato.counts.roll_up import Rolled, SparseCells, Steps, lowest
from sfumato.criteria.base import Criterion, GroupCriterion, worst_of
from sfumato.numbers import Bools, Floats, Ints, fraction
from sfumato.release.beside import Beside, Inside
from sfumato.release.build import build_release
from sfumato.release.description import Regions
from sfumato.release.groups import Groups
from sfumato.release.made import Findings, Placement
from sfumato.release.release import Release
from sfumato.release.sparse import Lists, SparseCounts
from sfumato.release.summing import group_counts, protected_by, references
from sfumato.release.unlinked import judged_by_both, people_references
from sfumato.schema.region import Coverage
from sfumato.utility.view import PeopleByGroup, View

if TYPE_CHECKING:
    from sfumato.anonymizers.lattice.search import Walk
    from sfumato.counts.roll_up import Passes

# The groups of a lattice node as criteria see them, and what they would publish.


def sized_groups(node: Rolled) -> Groups:
    """Sizes alone, for criteria that read no values."""
    return Groups.of_sizes(node.distinct_people, Beside(multiplicity=node.multiplicity))


def valued_groups(
    node: Rolled,
    place: int,
    attribute: Attribute,
    reference: Floats,
    by_person: Floats | None = None,
) -> Groups:
    """By the values of the sensitive attribute at this place.

    `by_person`: what people's values refer to, where they have several rows.
    """
    groups = row_groups(node, place, attribute, reference)
    if node.counts is None or node.counts.owner is None:
        return groups
    return judged_by_both(groups, node.people_by_value(place), by_person, node.distinct_people)


def row_groups(node: Rolled, place: int, attribute: Attribute, reference: Floats) -> Groups:
    """The same by rows: by people, unless they have several."""
    cells, lists = node.cells[place], None
    if attribute.lists is not None:
        assert cells.lists is not None
        by_list = cells.lists
        lists = Lists(by_list.indptr, by_list.indices, by_list.data, attribute.lists)
    return Groups.from_sparse(
        cells.indptr,
        cells.indices,
        cells.data,
        cells.width,
        sizes=node.sizes,
        reference=reference,
        domain=attribute.domain,
        case=attribute.case,
        lists=lists,
        beside=Beside(multiplicity=node.multiplicity),
    )


def with_needs(node: Rolled, groups: Groups, needs: frozenset[str]) -> Groups:
    """With what criteria need beyond counts: regions, weights, members, protection."""
    if not needs:
        return groups
    counts = node.counts
    assert counts is not None
    of_tuple = node.of_tuple
    beside = groups.beside
    if "protect" in needs:
        protected = protected_by(counts.protect, of_tuple, len(node))
        beside = replace(beside, protected=protected)
    if "members" in needs:
        order = np.argsort(of_tuple, kind="stable")
        begins = np.searchsorted(of_tuple[order], np.arange(len(node) + 1))
        beside = replace(beside, inside=Inside(counts, begins, order, counts.n[order]))
    if "regions" in needs:
        population = counts.population(of_tuple, len(node))
        regions = node_regions(node, np.ones(len(node), dtype=bool))
        beside = replace(beside, regions=regions, population=population)
    return groups.with_beside(beside)


def node_regions(node: Rolled, kept: Bools) -> Regions:
    """What the kept groups publish."""
    levels = node.steps.levels
    return Regions(
        columns=tuple(column.domain.name for column in levels),
        parts=tuple(
            column_levels[level].regions
            for column_levels, level in zip(levels, node.levels, strict=True)
        ),
        codes=node.codes()[:, kept],
    )


NodeOutcome = Literal["satisfied", "fails below too", "fails"]
PUBLISHES_NOBODY = "because it publishes nobody"


@dataclass(frozen=True)
class Node:
    """What was measured at one node. `why` names the criterion that cost most when it failed."""

    levels: tuple[int, ...]
    outcome: NodeOutcome
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
        self.people = counts.memberships
        self.limit = floor(fraction(task.suppression) * self.people)
        self._references = references(counts)
        self._by_person = people_references(counts)
        self.levels = tuple(task.table.levels[domain.name] for domain in counts.quasi)
        self.steps = Steps(self.levels)
        # What is upward closed first, sizes before values: the cheapest way to a failure that is
        # its own and inherited by every finer node.
        ordered = sorted(task.by_group, key=lambda c: (not task.upward_closed(c), c.reads_values))
        self.checks = [(c, attribute) for c in ordered for attribute in task.about(c)]
        merging = all(task.coarsening_closed(c) for c in task.searched)
        # Without suppression a merge-closed failure is inherited by finer nodes as well.
        self._inherits_all = self.limit == 0 and merging
        # Safety is inherited by coarser nodes when suppressed people can only become fewer, or
        # when there are none and merging safe groups is safe.
        self._safe_above = all(task.upward_closed(c) for c in task.searched)
        self._safe_above_if_whole = merging
        self.needs = frozenset().union(*(criterion.needs for criterion in task.searched))

    @cached_property
    def base(self) -> Rolled:
        """The node that generalizes nothing."""
        counts = self.task.table.counts.in_memory("rolling up all nodes of a lattice at once")
        return self.rolled(counts, (0,) * len(self.levels))

    def rolled(self, counts: Counts, levels: tuple[int, ...]) -> Rolled:
        """The node that counts by the labels of these levels are."""
        group, first = counts.group_of
        rows, cells = replace(counts, owner=None), []
        for place in range(len(counts.sensitive)):
            groups = group_counts(rows, group, len(first), place)
            by_list = None if groups.lists is None else _cells(groups.lists)
            cells.append(replace(_cells(groups), lists=by_list))
        return lowest(counts, self.steps, levels, cells)

    @contextmanager
    def node(self, levels: tuple[int, ...]) -> Iterator[Rolled]:
        """The groups of one node, by its levels."""
        yield roll_to(self.base, levels)

    def close(self) -> None:
        """Give up what was kept only to judge further nodes."""

    def groups(self, node: Rolled, attribute: int | None) -> Groups:
        """The groups of a node as criteria see them."""
        if attribute is None:
            return with_needs(node, sized_groups(node), self.needs)
        described = self.task.table.counts.sensitive[attribute]
        reference = self._references[described.name]
        by_person = self._by_person.get(described.name)
        groups = valued_groups(node, attribute, described, reference, by_person)
        return with_needs(node, groups, self.needs)

    def by_row(self, node: Rolled, attribute: int) -> Groups:
        """The groups of a node by the values of rows alone."""
        described = self.task.table.counts.sensitive[attribute]
        groups = row_groups(node, attribute, described, self._references[described.name])
        return with_needs(node, groups, self.needs)

    def bad_groups(self, node: Rolled) -> Bools:
        """The groups that must go, by any check."""
        return SuppressionTally(self, thoroughly=True).add(node)

    def failure(self, criterion: GroupCriterion) -> NodeOutcome:
        """What it means for finer nodes that this one made too many people go."""
        closed = self.task.upward_closed(criterion) or self._inherits_all
        return "fails below too" if closed else "fails"

    def judge(self, node: Rolled, *, thoroughly: bool = False) -> Node:
        """Safe within the limit? If so, at what cost?"""
        judged, kept = self.outcome(node, thoroughly=thoroughly)
        return self.priced(judged, self.view(node, kept)) if judged.satisfied else judged

    def outcome(self, node: Rolled, *, thoroughly: bool = False) -> tuple[Node, Bools]:
        """Safe within the limit? And which groups would be published?"""
        tally = SuppressionTally(self, thoroughly=thoroughly)
        kept = ~tally.add(node)
        judged = tally.node(node.levels)
        failing = self._unsafe_release(node, kept, judged) if judged.satisfied else None
        if failing is not None:
            # A release-scope failure is never repaired by suppression.
            outcome: NodeOutcome = "fails below too" if self._inherits_all else "fails"
            judged = replace(judged, outcome=outcome, why=failing.name)
        return judged, kept

    def failure_words(self, node: Node) -> str:
        """By what a node fails, and what would help beside coarser levels and a looser bound."""
        people = f"{node.suppressed:,} of {self.people:,} people"
        if node.suppressed > self.limit:
            more = "allow more suppression"
            return f"{node.why} and would suppress {people}, {self.limit:,} allowed; {more}"
        return f"{node.why} with {people} suppressed; suppress fewer people"

    def priced(self, node: Node, view: View) -> Node:
        """A safe node with its cost, and whether coarser ones are safe as well."""
        above = self._safe_above or (self._safe_above_if_whole and node.suppressed == 0)
        cost = self.task.utility.cost(view)
        return Node(node.levels, node.outcome, node.groups, node.suppressed, cost, "", above)

    def _unsafe_release(self, node: Rolled, kept: Bools, judged: Node) -> Criterion | None:
        for alone in self.task.by_group if judged.suppressed else ():
            groups = self.groups(node, None).take(np.flatnonzero(kept))
            if not alone.may_suppress(groups, judged.suppressed):
                return alone
        for criterion in self.task.by_release:
            for attribute in self.task.about(criterion):
                groups = self.groups(node, attribute).take(np.flatnonzero(kept))
                if not criterion.verdict(groups).holds:
                    return criterion
        return None

    # -- what utility measures see ---------------------------------------------------------------

    def view(self, node: Rolled, kept: Bools) -> View:
        counts = self.task.table.counts

        def pieces() -> PeopleByGroup:
            people = counts.in_memory("measuring a utility of everybody's own values").n
            return PeopleByGroup(np.arange(len(people)), self.group_of_tuple(node, kept), people)

        return View(
            counts,
            self.levels,
            lambda: node_regions(node, kept),
            node.sizes[kept],
            pieces,
            lambda column: self.coverage(column, node.levels[column]),
            lambda: node.margins(kept),
            disjoint=True,
        )

    def group_of_tuple(self, node: Rolled, kept: Bools) -> Ints:
        """The published group of each tuple the node was made of, -1 for a suppressed one."""
        number = np.where(kept, np.cumsum(kept) - 1, -1)
        return number[node.of_tuple]

    def coverage(self, column: int, level: int) -> Coverage:
        return self.levels[column].coverage(level)

    def least_costs(self) -> list[Floats] | None:
        """By column and level, what a node of that level or a coarser one costs at the least."""
        if self._by_level is None:
            return None
        return [np.minimum.accumulate(costs[::-1])[::-1] for costs in self._by_level]

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
        down = self._inherits_all or all(self.task.upward_closed(c) for c in self.task.searched)
        return self.bounded and down and (self._safe_above or self._inherits_all)

    def judge_levels(self, levels: tuple[int, ...]) -> Node:
        """Judge one node by its levels."""
        with self.node(levels) as node:
            return self.judge(node)

    # -- what a search asks; for larger tables the order of work is another -----------------------

    @property
    def passes(self) -> Passes | None:
        """How often tuples were read, where the engine keeps them."""
        return None

    def walk(self, walk: Walk) -> None:
        """Judge what cannot be inferred of the whole lattice."""
        several_rows = self.base.counts is not None and self.base.counts.owner is not None
        # Criteria that judge finished releases choose among all that is safe, not the best.
        if several_rows and self.bounded and not self.task.at_end:
            walk.cheapest_first(self.one_by_one())
            return
        walk.over(self.base)
        walk.settle(self.judge_levels)

    def one_by_one(self) -> SingleNodes:
        """How nodes are judged that a search asks for one after another."""
        return NearTables(self)

    def release(self, levels: tuple[int, ...], findings: Findings) -> Release:
        """The good groups of a node, the rest suppressed; nobody has judged it yet."""
        node = roll_to(self.base, levels)
        kept = ~self.bad_groups(node)
        task = self.task
        placement = Placement.whole_tuples(task.table, self.group_of_tuple(node, kept))
        described = node_regions(node, kept)
        return build_release(placement, described, findings, seed=task.seed, disjoint=True)

    def measured(self, levels: tuple[int, ...]) -> dict[str, float | None]:
        """What each criterion measures on the release of a node; the worst attribute counts."""
        figures: dict[str, float | None] = {}
        with self.node(levels) as node:
            kept = np.flatnonzero(~self.bad_groups(node))
            for criterion in self.task.require:
                verdicts = []
                for attribute in self.task.about(criterion):
                    key = attribute if criterion.reads_values else None
                    verdicts.append(criterion.verdict(self.groups(node, key).take(kept)))
                figures[str(criterion)] = worst_of(verdicts).measured
        return figures

    @cached_property
    def heights(self) -> tuple[int, ...]:
        return tuple(hierarchy.height for hierarchy in self.levels)

    @cached_property
    def finest(self) -> tuple[int, ...]:
        """The finest node that the schema's limits allow."""
        return tuple(hierarchy.finest for hierarchy in self.levels)

    @cached_property
    def coarsest(self) -> tuple[int, ...]:
        """The coarsest node that they allow."""
        return tuple(hierarchy.coarsest for hierarchy in self.levels)

    @property
    def size(self) -> int:
        """How many nodes there are within the limits."""
        ends = zip(self.finest, self.coarsest, strict=True)
        return prod(coarsest + 1 - finest for finest, coarsest in ends)


class SingleNodes(Protocol):
    """Judges nodes in any order."""

    def judge(self, levels: tuple[int, ...]) -> Node:
        """One node."""

    def near(self, levels: tuple[int, ...]) -> None:
        """The next nodes are as coarse as this one, or coarser: they may be rolled up from it."""


class NearTables:
    """Nodes rolled up from few tables, each the smallest at hand that is as fine."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._tables = [judge.base]

    def judge(self, levels: tuple[int, ...]) -> Node:
        return self._judge.judge(self._rolled(levels))

    def near(self, levels: tuple[int, ...]) -> None:
        self._tables = [self._judge.base, *self._tables[1:][-1:], self._rolled(levels)]

    def _rolled(self, levels: tuple[int, ...]) -> Rolled:
        fine = [table for table in self._tables if is_finer(table.levels, levels)]
        return min(fine, key=len).at(levels)


class SuppressionTally:
    """Who goes by each check and those before it, summed over the parts of a node.

    In memory a node is one part. Checks stop at the first that makes too many people go, unless
    `thoroughly`; what a part was not asked is not asked of the later ones either.
    """

    def __init__(self, judge: Judge, *, thoroughly: bool = False) -> None:
        self._judge, self._thoroughly = judge, thoroughly
        self._checks = judge.checks
        self._people = np.zeros(len(self._checks) + 1, dtype=np.int64)  # the last: by no check
        self._groups = np.zeros(len(self._checks) + 1, dtype=np.int64)
        self._all_groups = 0
        self._broken: GroupCriterion | None = None
        self._lost = 0.0  # people who go at every finer node as well, at least

    def add(self, part: Rolled) -> Bools:
        """The groups of a part that must go."""
        bad, gone = np.zeros((2, len(part)), dtype=bool)  # gone: from every finer node as well
        people = groups = 0
        self._all_groups += part.number(~bad)
        for place, (criterion, attribute) in enumerate(self._checks):
            failing = part.sizes < criterion.fewest_people
            by_rows = part.counts is not None and part.counts.owner is not None
            # Too few rows are too few people, and rows are sooner judged than whose they are.
            if by_rows and criterion.reads_values and attribute is not None:
                failing |= ~criterion.holds(self._judge.by_row(part, attribute))
            measure = None
            if criterion.by_size_alone and not by_rows:
                pass  # nothing else is looked at
            elif not by_rows or self._thoroughly or part.people(bad | failing) <= self._judge.limit:
                seen = self._judge.groups(part, attribute if criterion.reads_values else None)
                holds, measure = criterion.holds_and_measure(seen)
                failing = ~holds
            if self._judge.task.upward_closed(criterion):
                gone |= failing
            if failing.any():
                bad |= failing
                people, groups = part.people(bad), part.number(bad)
            self._people[place] += people
            self._groups[place] += groups
            if self._people[place] > self._judge.limit:
                if measure is not None and not (by_rows or self._thoroughly):
                    lost = criterion.lost_below(seen, np.asarray(measure.per_group))
                    self._lost += part.people(gone) + part.share(lost, failing & ~gone)
                if not self._thoroughly:
                    self._checks, self._broken = self._checks[: place + 1], criterion
                    break
                self._broken = self._broken or criterion
        return bad

    def node(self, levels: tuple[int, ...]) -> Node:
        """The node, as far as checks of single groups go."""
        last = len(self._checks) - 1
        number = self._all_groups - int(self._groups[last])
        gone = int(self._people[last])
        if self._broken is not None:
            always = self._lost * (1 - 1e-9) > self._judge.limit  # sums of floats
            outcome = "fails below too" if always else self._judge.failure(self._broken)
            return Node(levels, outcome, number, gone, why=self._broken.name)
        if number == 0:
            return Node(levels, "fails", number, gone, why=PUBLISHES_NOBODY)
        return Node(levels, "satisfied", number, gone)


def _cells(counted: SparseCounts) -> SparseCells:
    return SparseCells(counted.indptr, counted.indices, counted.data, counted.width)


def is_finer(levels: tuple[int, ...], coarser: tuple[int, ...]) -> bool:
    """Whether a node is as fine as another in every column."""
    return all(a <= b for a, b in zip(levels, coarser, strict=True))


def roll_to(base: Rolled, levels: tuple[int, ...]) -> Rolled:
    """The node at these levels, rolled up column by column."""
    node = base
    for column, level in enumerate(levels):
        node = node.up(column, level)
    return node
