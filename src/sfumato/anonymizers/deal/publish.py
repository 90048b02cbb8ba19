"""People in groups become a release, and groups that a criterion fails are merged with near ones.

What is searched is a group number for everybody. What is published are the regions of these
groups, judged by the criteria themselves: what the search's rules could not see is mended here.

Stands apart: `deal` decides what to search for and how long, this what becomes of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymizers.base import Task
from sfumato.criteria.base import groups_about, judge
from sfumato.numbers import Bools, Codes, Ints, distinct, offsets_of, run_places
from sfumato.release.build import build_release
from sfumato.release.made import Findings, MadeHere, Placement
from sfumato.release.release import Release

if TYPE_CHECKING:
    from sfumato.anonymizers.deal.ground import SearchGround
    from sfumato.anonymizers.deal.people import Dealt

_ROUNDS = 50  # of merging groups that fail
_NEAR = 3  # a group may be merged with those of people who are so near on an order
_WORST = 0.05  # a share of groups, the worst, that are merged where all together fail


def groups_of(release: Release, dealt: Dealt) -> Codes:
    """Everybody's group in a release of the same table in which tuples are whole."""
    placed = _placement(release)
    group = np.zeros(len(dealt.counts), dtype=np.int32)
    group[placed.tuples] = placed.groups
    return group[dealt.tuples]


def _placement(release: Release) -> Placement:
    assert release.placement is not None
    return release.placement.in_memory("dealing")


def published(dealt: Dealt, group: Codes, task: Task, findings: Findings) -> Release:
    """The release of these groups, numbered by their first tuple; -1: suppressed."""
    total, inside = int(group.max()) + 1, np.flatnonzero(group >= 0)
    first = np.full(total, len(dealt.counts), dtype=np.int64)
    np.minimum.at(first, group[inside], dealt.tuples[inside])
    number = np.full(total + 1, -1, dtype=np.int64)
    numbers = np.arange(total)
    if dealt.bucketized:  # the number of a bucket must not tell who is near whom
        numbers = np.random.default_rng([task.seed, 3]).permutation(total)
    number[np.argsort(first, kind="stable")] = numbers
    numbered = number[group]
    order = inside[np.argsort(numbered[inside], kind="stable")]
    begins = np.searchsorted(numbered[order], np.arange(total + 1))
    regions = dealt.describe(order, begins)
    pieces, n = np.unique(dealt.tuples * (total + 1) + numbered + 1, return_counts=True)
    tuples, groups = np.divmod(pieces, total + 1)
    placement = Placement(task.table, tuples, groups - 1, n)
    # Whose quasi-identifiers are those of somebody in another group fits both: most often that
    # tells that groups overlap, before regions are compared.
    combination = dealt.counts.group_of[0][tuples[groups > 0]]
    fits = distinct(combination * total + groups[groups > 0] - 1)
    apart = None if len(fits) == len(distinct(combination)) else False
    return build_release(placement, regions, findings, seed=task.seed, disjoint=apart)


def mended(
    task: Task,
    ground: SearchGround,
    release: Release,
    in_time: Callable[[], bool],
    *,
    together: bool,
) -> Release:
    """Merge groups that a criterion fails with near ones, until none fails, nothing helps, or time
    is over.

    `together`: also the worst groups where only all of them together fail, more of them each time.
    """
    assert isinstance(release.made, MadeHere)
    share, findings = _WORST, release.made.findings
    for _ in range(_ROUNDS):
        failing = violators(task, release)
        if together and not failing.any():
            failing = _worst_groups(task, release, share)
            share = min(2 * share, 1.0)
        if not failing.any() or len(failing) < 2 or not in_time():
            break
        group = _people_in(release)
        release = published(ground.dealt, _merged(ground, group, failing), task, findings)
    return release


def _worst_groups(task: Task, release: Release, share: float) -> Bools:
    """This share of the groups, the worst by a criterion that fails; none if all hold."""
    chosen = np.zeros(len(release.groups), dtype=bool)
    for criterion in task.require:
        verdict = judge(criterion, release)
        measured = verdict.per_group
        if verdict.holds or measured is None or len(measured) != len(chosen):
            continue
        badness = measured if verdict.sense in ("at_most", "below") else -measured
        chosen[np.argsort(-badness, kind="stable")[: int(np.ceil(share * len(chosen)))]] = True
        break
    return chosen


def violators(task: Task, release: Release) -> Bools:
    """The groups that some criterion of scope "group" fails."""
    bad = np.zeros(len(release.groups), dtype=bool)
    for criterion in task.by_group:
        if release.regions.exact and criterion.about_identity:
            continue  # that is the same in whatever buckets
        for groups in groups_about(criterion, release):
            bad |= ~criterion.holds(groups)
    return bad


def _people_in(release: Release) -> Ints:
    """Everybody's group: of people with the same tuple it does not matter who is where."""
    placed = _placement(release)
    by_tuple = np.argsort(placed.tuples, kind="stable")
    return np.repeat(placed.groups[by_tuple], placed.n[by_tuple])


def _merged(ground: SearchGround, group: Ints, failing: Bools) -> Codes:
    """Every failing group joins another one of which somebody is near, the cheapest pairs first."""
    pairs = _near_groups(ground.orders, group, failing)
    by_group = np.argsort(group, kind="stable").astype(np.int32)
    begins = np.searchsorted(group[by_group], np.arange(len(failing) + 1))
    alone = ground.costs(by_group, begins)
    many = np.diff(begins)
    members = by_group[run_places(begins[pairs.ravel()], many[pairs.ravel()])]
    costs = ground.costs(members, offsets_of(many[pairs].sum(axis=1))) - alone[pairs].sum(axis=1)
    becomes = np.arange(len(failing))
    free = np.ones(len(failing), dtype=bool)
    for failing_group, near_group in pairs[np.argsort(costs, kind="stable")].tolist():
        if free[failing_group] and free[near_group]:
            becomes[failing_group] = near_group
            free[failing_group] = free[near_group] = False
    merged = np.where(group < 0, -1, becomes[group]).astype(np.int32)
    merged[group >= 0] = np.unique(merged[group >= 0], return_inverse=True)[1].reshape(-1)
    return merged


def _near_groups(orders: Codes, group: Ints, failing: Bools) -> Ints:
    """Pairs of a failing group and another, of which somebody is near on an order."""
    sides = []
    for line in group[orders]:
        for away in range(1, _NEAR + 1):
            here, there = line[:-away], line[away:]
            sides += [(here, there), (there, here)]
    failing_side, near_side = (np.concatenate(side) for side in zip(*sides, strict=True))
    kept = (
        (failing_side >= 0) & (near_side >= 0) & failing[failing_side] & (failing_side != near_side)
    )
    return np.unique(np.stack([failing_side[kept], near_side[kept]], axis=1), axis=0)
