"""Local suppression (Sweeney 1997; Meyerson, Williams 2004): single cells are blanked.

Every quasi-identifier is published as it is, or at a level chosen before, but for the cells of
people who would stand out: those are `*`. What is blanked is as little as the search finds, by the
weights of columns; in small tables as little as there is. Whoever shows the same values and the
same blanks is a group, and every group keeps every criterion: a blank is read as a value of its
own, which is the careful reading. By the other one (sdcMicro's), a blank fits everybody: a group is
then whoever agrees where both show something. Such groups are unions of the others, so whatever
merging does no harm to holds by both readings; the rest is judged by both. Nothing is promised by
the other reading alone: k - 1 people blank altogether would give everybody k by it, and whoever
knows that her target's value is not shown there has found her row all the same.

What an adversary makes of it who knows the algorithm. Somebody whose cells are blank stood out
with them; the pattern of blanks says that her value there is not one which enough people share who
are like her in the rest. It does not say which of the others: at least k people have that
description, and all of them are candidates. Who of several people with equal values is blanked is
chance. Under criteria on sensitive values the search reads those, as all searches do, and somebody
who can run it on her guesses of the table may rule some of them out (minimality, Wong et al. 2007).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from itertools import product
from math import inf
from typing import ClassVar, Literal

import numpy as np

from sfumato.anonymizers.base import (
    EVERYBODY_FAILS,
    Anonymizer,
    Finished,
    Task,
    no_safe_release,
    refused,
)
from sfumato.anonymizers.blanking.search import (
    NAME,
    BlankableTable,
    Blanks,
    fewest_blanks,
    greedily,
)
from sfumato.anonymizers.lattice.nodes import Judge, roll_to
from sfumato.criteria.base import judge
from sfumato.errors import NoSafeRelease, PolicyError, did_you_mean, quoted
from sfumato.progress import Ticker
from sfumato.release.build import build_release, count_release
from sfumato.release.made import Findings, MadeHere, Placement
from sfumato.release.read.wildcard import fitting_everybody
from sfumato.release.release import Release
from sfumato.release.within_limits import keeps_limits
from sfumato.utility.view import view_of

SEARCH = "search"
MOST_NODES = 1_000_000  # of a lattice whose levels are searched
NODES_LOOKED_AT = 2_000
NODES_BLANKED = 12


@dataclass(frozen=True)
class LocalSuppressionFindings(Findings):
    """The level of each column, and how many of its cells were blanked besides.

    `exact`: none of the ways to blank costs less. `smallest`: the fewest people of a group, a blank
    being a value of its own; `fitting`: the same where it fits everybody.
    """

    anonymizer: ClassVar[str] = NAME

    levels: Mapping[str, int]
    blanked: Mapping[str, int]
    exact: bool
    smallest: int = 0
    fitting: int = 0

    @property
    def blank_cells(self) -> Mapping[str, int]:
        return self.blanked

    @property
    def cells(self) -> int:
        """All cells that were blanked."""
        return sum(self.blanked.values())


@dataclass(frozen=True)
class LocalSuppression(Anonymizer):
    """Single cells are blanked, as few as possible, the others published as they are."""

    name: ClassVar[str] = NAME

    levels: Mapping[str, int] | Literal["search"] = field(default_factory=dict, hash=False)
    """The hierarchy levels that columns are recoded to first (where not named the finest that
    limits allow, 0 without any); or "search": those at which recoding and blanks together cost
    least by the policy's utility. Example: `levels = { age = 1 }`.
    """

    def __post_init__(self) -> None:
        if isinstance(self.levels, str) and self.levels == SEARCH:
            return
        if not isinstance(self.levels, Mapping):
            raise PolicyError(
                f"{NAME}: levels = {quoted(self.levels)} is not allowed; give levels by column, "
                f"such as {{ age = 1 }}, or {SEARCH!r}"
            )
        for column, level in self.levels.items():
            if not isinstance(level, int) or isinstance(level, bool) or level < 0:
                raise PolicyError(
                    f"{NAME}: level of {quoted(column)} = {quoted(level)} is not allowed; use a "
                    "whole number, 0 for values as they are"
                )

    def run(self, task: Task) -> Release:
        table = BlankableTable.of(task, self._levels(task))
        _check_everybody(task, table)
        chosen_blanks = fewest_blanks(table)
        if chosen_blanks is None:
            raise self._nothing(task, table)
        finished = Finished(task)
        for release in filter(keeps_limits, _ever_more(table, *chosen_blanks)):
            if finished.holds(release):
                anybody = _fitting_everybody(release)
                if anybody is None or _holds_so_too(task, anybody):
                    return _annotated(release, anybody)
        if not finished.judged:
            raise self._nothing(task, table)
        raise finished.refusal()  # the last had all blank that may be, alike by both readings

    def _levels(self, task: Task) -> Mapping[str, int]:
        if isinstance(self.levels, str):
            return _best_levels(task)
        known = {domain.name: task.table.levels[domain.name] for domain in task.table.counts.quasi}
        for column, level in self.levels.items():
            if column not in known:
                raise PolicyError(
                    f"{NAME}: levels: {quoted(column)} is not a quasi-identifier; "
                    f"{did_you_mean(column, list(known))}"
                )
            if level >= known[column].height:
                raise PolicyError(
                    f"{NAME}: levels: {column!r} has levels 0 to {known[column].height - 1}, "
                    f"not {level}"
                )
            within = range(known[column].finest, known[column].coarsest + 1)
            if level not in within:
                raise PolicyError(
                    f"{NAME}: levels: limits allow {column!r} levels {within[0]} to {within[-1]}, "
                    f"not {level}"
                )
        return {name: self.levels.get(name, levels.finest) for name, levels in known.items()}

    def _nothing(self, task: Task, table: BlankableTable) -> Exception:
        """Why nothing was found: what everybody together comes to by the first that fails."""
        together = _everybody_blank(table)
        for criterion in task.require:
            verdict = judge(criterion, together)
            if not verdict.holds:
                return refused(criterion, verdict)
        if not table.may_be_blank.all():
            recode = "" if self.levels == SEARCH else f"; recode first (levels, or {SEARCH!r})"
            return NoSafeRelease(f"no choice of cells keeps the limits of all columns{recode}")
        return PolicyError(f"{NAME}: no choice of cells was found")


def _best_levels(task: Task) -> Mapping[str, int]:
    """The node of the lattice at which recoding and blanks together are found to cost least.

    Nodes are taken by what they cost at the least: what recoding costs, then besides what a cell
    of everybody costs whose group fails. The likeliest are blanked, quickly, and compared.
    """
    judge = Judge(task)
    names = [domain.name for domain in task.table.counts.quasi]
    size = judge.size
    if not judge.bounded or size > MOST_NODES:
        why = f"there are {size:,} of them (at most {MOST_NODES:,})"
        if not judge.bounded:
            why = f"utility {task.utility.name!r} does not say what a level costs at the least"
        raise PolicyError(f"{NAME}: levels = {SEARCH!r} cannot be searched: {why}; name levels")
    queue = [
        (judge.least_cost(levels), False, levels)
        for levels in product(
            *(range(low, high + 1) for low, high in zip(judge.finest, judge.coarsest, strict=True))
        )
    ]
    heapify(queue)
    best, chosen, blanked, looked_at = inf, judge.coarsest, 0, 0
    with Ticker("recoding", NODES_BLANKED) as ticker:
        while queue and blanked < NODES_BLANKED and looked_at < NODES_LOOKED_AT:
            cost, counted, levels = heappop(queue)
            if cost >= best:
                break
            if not _may_do(task, judge, levels):
                continue
            if not counted:
                looked_at += 1
                heappush(queue, (cost + _least_blanks(task, judge, levels), True, levels))
                continue
            table = BlankableTable.of(task, dict(zip(names, levels, strict=True)))
            blanks = greedily(table, sweeps=1)
            blanked += 1
            ticker.add(1)
            if blanks is None:
                continue
            release = _release(table, blanks, exact=False)
            spent = task.utility.cost(view_of(release))
            if spent < best and keeps_limits(release):
                best, chosen = spent, levels
    return dict(zip(names, chosen, strict=True))


def _may_do(task: Task, judge: Judge, levels: tuple[int, ...]) -> bool:
    """Whether it would do to blank all that limits let be blank; not asked where merging harms."""
    tops = [height - 1 for height in judge.heights]
    if list(judge.coarsest) == tops or not all(map(task.merge_closed, task.by_group)):
        return True
    ends = zip(levels, judge.coarsest, tops, strict=True)
    most = tuple(top if coarsest == top else level for level, coarsest, top in ends)
    return not judge.bad_groups(roll_to(judge.base, most)).any()


def _least_blanks(task: Task, judge: Judge, levels: tuple[int, ...]) -> float:
    """What blanks at a node cost at the least: a cell, the cheapest, of all whose group fails."""
    node = roll_to(judge.base, levels)
    failing = node.people(judge.bad_groups(node))
    cells = [
        weight * (1 - float(judge.coverage(column, level).widening().max()))
        for column, (weight, level) in enumerate(zip(task.column_weights, levels, strict=True))
        if level < judge.heights[column] - 1
    ]
    return failing * min(cells, default=0.0) / len(levels) / judge.people


def _everybody_blank(table: BlankableTable) -> Release:
    whole = table.whole()
    blank = Blanks(whole.tuples, np.ones_like(whole.blank), whole.n)
    return count_release(*table.describe(blank), disjoint=True)


def _check_everybody(task: Task, table: BlankableTable) -> None:
    """A criterion that merging keeps and that fails for all together holds for no groups."""
    together = _everybody_blank(table)
    for criterion in task.by_group:
        if criterion.merge_closed:
            verdict = judge(criterion, together)
            if not verdict.holds:
                raise no_safe_release(criterion, verdict.measured, verdict.note, EVERYBODY_FAILS)


def _fitting_everybody(release: Release) -> Release | None:
    """The release as somebody reads it to whom a blank fits everybody.

    None where no blank joins two groups.
    """
    assert isinstance(release.placement, Placement)
    regions = release.regions.require_regions()
    return fitting_everybody(release.placement, regions, missing=False)


def _holds_so_too(task: Task, anybody: Release) -> bool:
    """Whether what merging may harm holds where groups are put together by blanks."""
    asked = [criterion for criterion in task.by_group if not task.merge_closed(criterion)]
    return all(judge(criterion, anybody).holds for criterion in asked)


def _annotated(release: Release, anybody: Release | None) -> Release:
    """With how much was blanked and how large groups are by either reading."""
    made = release.made
    assert isinstance(made, MadeHere)
    assert isinstance(made.findings, LocalSuppressionFindings)
    smallest = int(release.groups.sizes.min())
    fitting = smallest if anybody is None else int(anybody.groups.sizes.min())
    findings = replace(made.findings, smallest=smallest, fitting=fitting)
    release = replace(release, made=replace(made, findings=findings))
    if not findings.cells:
        return release
    listed = ", ".join(f"{name} {many:,}" for name, many in findings.blanked.items() if many)
    note = (
        f"{findings.cells:,} cells are blank ({listed}); a blank is read as a value of its own, by "
        f"which the smallest group has {smallest:,} people, and {fitting:,} if it fits everybody"
    )
    return replace(release, notes=(*release.notes, note))


def _ever_more(table: BlankableTable, blanks: Blanks, exact: bool) -> Iterator[Release]:
    """The release of these blanks; then with the costliest groups blank altogether, ever more.

    For what is judged of all groups together, or of those that others overlap.
    """
    yield _release(table, blanks, exact)
    placement, regions = table.describe(blanks)
    stars = regions.codes == table.star[:, None]
    costly = np.argsort(-(table.weights @ stars), kind="stable")
    many = 1
    while many < 2 * len(costly):
        gone = np.zeros(len(regions), dtype=bool)
        gone[costly[:many]] = True
        blank = (stars | gone & table.may_be_blank[:, None])[:, placement.groups]
        yield _release(table, Blanks(placement.tuples, blank, placement.n), exact=False)
        many *= 2


def _release(table: BlankableTable, blanks: Blanks, exact: bool) -> Release:
    placement, regions = table.describe(blanks)
    findings = LocalSuppressionFindings(table.levels, table.blanked(blanks), exact)
    # Whose people are in two groups fits both; that is sooner seen than by comparing regions.
    number = table.distinct[0][placement.tuples]
    shared = len(np.unique(number * len(regions) + placement.groups)) > len(np.unique(number))
    return build_release(
        placement,
        regions,
        findings,
        seed=table.task.seed,
        disjoint=False if shared else None,
    )
