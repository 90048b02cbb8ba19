"""Microaggregation: groups of k near people, published as their centroid (MDAV).

Domingo-Ferrer & Mateo-Sanz 2002; Domingo-Ferrer & Torra 2005. Everybody is put with the k - 1 or
more people most like her, and all of them are published with the same middle values. The adversary
who knows her target's values exactly finds no row that has them; the best she can do is to take the
nearest centroid, which is why its findings keep the scale the distances were measured on.

**Distances** are Euclidean on standardised columns: numbers and dates by their place, ordered and
categorical columns by the position of the value in its domain, less the mean, over the standard
deviation (both over people). NULL lies one standard deviation beyond the largest value: near to
nothing in particular, and nearest to itself.

**Centroids** are the mean of numbers, the (lower) median of dates and ordered columns, the mode of
categorical ones (of several the first in the domain). NULL is a category like any other; a mean or
median is that of the people who have a value. Where half of a group or more have none it is NULL,
whatever the column: of two people the one who has a value would be published as she is.
Means, and medians of dates, are rounded to the column's unit, the ends of its hierarchy's finest
level or a hundredth of its extent, and away from a value that exactly one person has. An exact mean
times the size is an exact sum: whoever knows all but one of a group would read off the last, and
the further digits would only serve to recognise the group elsewhere. Rounding makes that sum
uncertain, not unknown; against insiders require more than k.

**Other criteria** are kept by merging: groups that violate one are merged with the nearest group,
nearest pairs first, until all hold (Soria-Comas et al. 2015, algorithm 1, a round at a time).

Centroids are rounded by the kind of their column.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sfumato.anonymizers.base import (
    EVERYBODY_FAILS,
    FRAMES_FAIL,
    Anonymizer,
    Task,
    check_release,
    no_safe_release,
)
from sfumato.counts.counts import Counts, rank_rows
from sfumato.criteria.base import judge, parameter
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.errors import InputError, PolicyError, ResourceError, did_you_mean
from sfumato.numbers import Bools, Codes, Floats, Ints
from sfumato.progress import Ticker
from sfumato.release.build import build_release, count_release
from sfumato.release.description import Centroids
from sfumato.release.made import DistanceUnits, Findings, Placement
from sfumato.release.release import Release
from sfumato.schema.centres import Centres, centres_of
from sfumato.schema.domain import Domain
from sfumato.schema.region import Region, ValueSet
from sfumato.table import Table

# Centroids: the middle values a microaggregated group publishes, by the kind of column.
#
# Mean of numbers, lower median of dates and ordered values, mode of categories; NULL as told in
# `microaggregation.py`. Means, and medians of dates, are rounded (`schema/centres.py`). Merging
# two groups with equal centroids gives the same centroid again (a mean, median or mode of the
# union lies with those of the parts, and rounding keeps the order), so what is published does not
# depend on the order in which groups were merged.


def centres(table: Table) -> list[Centres | None]:
    """The points that each quasi-identifier's centroids may be published as."""
    counts = table.counts
    return [
        centres_of(table.levels[domain.name], table.schema.units.get(domain.name), people)
        for domain, people in zip(
            counts.quasi, (counts.by_code(c) for c in range(len(counts.quasi))), strict=True
        )
    ]


def centroids(
    counts: Counts, points: Sequence[Centres | None], tuples: Ints, groups: Ints, n: Ints
) -> Centroids:
    """The centroid of each group, where `n[i]` people of tuple `tuples[i]` are in `groups[i]`."""
    total = int(groups.max()) + 1
    parts: list[tuple[Region, ...]] = []
    rows = []
    for domain, allowed, row in zip(counts.quasi, points, counts.codes, strict=True):
        codes = row[tuples].astype(np.int64)
        if domain.kind == "numeric":
            distinct, number = np.unique(
                _means(domain, codes, groups, n, total), return_inverse=True
            )
            values = [None if math.isnan(mean) else mean for mean in distinct.tolist()]
        else:
            middle = _modes if domain.kind == "categorical" else _medians
            picked, number = np.unique(middle(domain, codes, groups, n, total), return_inverse=True)
            values = [domain.values[code] for code in picked]
        index: dict[Region, int] = {}
        regions = [
            ValueSet(
                frozenset({value if allowed is None or value is None else allowed.nearest(value)})
            )
            for value in values
        ]
        place = np.array([index.setdefault(region, len(index)) for region in regions])
        parts.append(tuple(index))
        rows.append(place[number])
    columns = tuple(domain.name for domain in counts.quasi)
    return Centroids(columns, tuple(parts), np.array(rows, dtype=np.int32))


def _sums(groups: Ints, weights: Ints | Floats, total: int) -> Floats:
    return np.bincount(groups, weights=weights, minlength=total).astype(np.float64)


def _mostly_missing(domain: Domain, codes: Ints, groups: Ints, n: Ints, total: int) -> Ints:
    """The groups of which half or more have no value."""
    if not domain.has_null:
        return np.zeros(0, dtype=np.int64)
    missing = np.where(codes == len(domain) - 1, n, 0)
    return np.flatnonzero(2 * _sums(groups, missing, total) >= _sums(groups, n, total))


def _means(domain: Domain, codes: Ints, groups: Ints, n: Ints, total: int) -> Floats:
    """NaN where NULL is published."""
    places = domain.numbers()[codes]
    people = np.where(np.isnan(places), 0, n)
    summed = _sums(groups, np.nan_to_num(places, nan=0.0) * people, total)
    means = summed / np.maximum(_sums(groups, people, total), 1)
    means[_mostly_missing(domain, codes, groups, n, total)] = np.nan
    return means


def _medians(domain: Domain, codes: Ints, groups: Ints, n: Ints, total: int) -> Ints:
    """The code of the lower median: always a value somebody has."""
    null = len(domain) - 1 if domain.has_null else len(domain)
    present = codes != null
    order = np.lexsort((codes, groups))
    order = order[present[order]]
    people = _sums(groups, np.where(present, n, 0), total).astype(np.int64)
    before = np.cumsum(people) - people
    reached = np.cumsum(n[order])
    place = np.searchsorted(reached, before + (people - 1) // 2, side="right")
    median = np.append(codes[order], null)[np.minimum(place, len(order))]
    median[_mostly_missing(domain, codes, groups, n, total)] = null
    return median


def _modes(domain: Domain, codes: Ints, groups: Ints, n: Ints, total: int) -> Ints:
    """The code most people have; of several the first in the domain."""
    size = len(domain)
    keys, cell = np.unique(groups * size + codes, return_inverse=True)
    people = np.bincount(cell, weights=n)
    owner, code = np.divmod(keys, size)
    order = np.lexsort((code, -people, owner))
    first = np.searchsorted(owner[order], np.arange(total))
    modes: Ints = code[order[first]]
    modes[_mostly_missing(domain, codes, groups, n, total)] = size - 1
    return modes


MOST_PEOPLE = 200_000
Points = Sequence[Centres | None]


@dataclass(frozen=True)
class MicroaggregationFindings(Findings):
    """What distances were measured in: whoever looks for the nearest centroid needs it."""

    anonymizer: ClassVar[str] = "microaggregation"

    units: DistanceUnits

    @property
    def distances(self) -> DistanceUnits:
        return self.units


@dataclass(frozen=True)
class Microaggregation(Anonymizer):
    """Groups of k to 2k - 1 near people, more where another criterion needs it.

    Nobody is suppressed.
    """

    name: ClassVar[str] = "microaggregation"

    k: int
    """How many people a group has at least, 1 or more. Example: `k = 5`."""
    columns: Sequence[str] | None = None
    """The quasi-identifiers that decide who is near whom; without it all. Every one is published as
    a centroid in any case. Example: `columns = ["age"]`.
    """

    def __post_init__(self) -> None:
        parameter(self.name, "k", self.k, whole=True, least=1)
        if self.columns is not None:
            given = (self.columns,) if isinstance(self.columns, str) else tuple(self.columns)
            object.__setattr__(self, "columns", given)
            if not given:
                raise PolicyError(f"{self.name}: columns is empty; name some, or leave it out")

    def run(self, task: Task) -> Release:
        people = task.table.counts.memberships
        if people > MOST_PEOPLE:
            raise ResourceError(
                f"{self.name} compares everybody with everybody, which takes too long for "
                f"{people:,} people (at most {MOST_PEOPLE:,}); use mondrian"
            )
        if people < self.k:
            raise no_safe_release(KAnonymity(self.k), people, advice=EVERYBODY_FAILS)
        _check_codes(task.table)
        _check_limits(task.table)
        axes = self._axes(task.table.counts.in_memory(self.name))
        places = np.array([axis.standard[row] for axis, row in axes])
        units = DistanceUnits(
            scale={axis.name: axis.scale for axis, _ in axes},
            centre={axis.name: axis.centre for axis, _ in axes},
            missing={axis.name: axis.missing for axis, _ in axes},
        )
        frame = _frames(task.table)
        placement, described = _merge(
            task, _cluster(task, places, self.k, frame), places, centres(task.table), frame
        )
        release = build_release(
            placement, described, MicroaggregationFindings(units), seed=task.seed, disjoint=True
        )
        return check_release(release, task)

    def _axes(self, counts: Counts) -> list[tuple[StandardizedColumn, Codes]]:
        names = [domain.name for domain in counts.quasi]
        for name in self.columns or ():
            if name not in names:
                raise PolicyError(
                    f"{self.name}: column {name!r} is not a quasi-identifier; "
                    f"{did_you_mean(name, names)}"
                )
        return [
            (axis_of(domain, row, counts.n), row)
            for domain, row in zip(counts.quasi, counts.codes, strict=True)
            if self.columns is None or domain.name in self.columns
        ]


@dataclass(frozen=True)
class StandardizedColumn:
    """Where a column's values lie: `standard[code]` = (place - centre) / scale.

    `missing` is the place given to NULL, in the column's own units.
    """

    name: str
    centre: float
    scale: float
    missing: float
    standard: Floats


def axis_of(domain: Domain, codes: Codes, n: Ints) -> StandardizedColumn:
    """The axis of a column, standardised over the people who have a value."""
    places = np.arange(len(domain), dtype=np.float64)
    if domain.kind in ("numeric", "date"):
        places = domain.numbers()
    elif domain.has_null:
        places[-1] = np.nan
    here = places[codes]
    present = ~np.isnan(here)
    centre, scale, largest = 0.0, 1.0, 0.0
    if present.any():
        here, people = here[present], n[present]
        largest = float(here.max())
        with np.errstate(over="ignore", invalid="ignore"):
            centre = float(np.average(here, weights=people))
            if here.min() < largest:  # otherwise rounding alone would make the scale
                scale = float(np.sqrt(np.average((here - centre) ** 2, weights=people)))
        if not np.isfinite(centre) or not np.isfinite(scale) or scale == 0:
            raise InputError(
                f"column {domain.name!r} holds numbers too large, too close or infinite, between "
                "which no distance can be computed; correct them, or declare it 'categorical'"
            )
    missing = largest + scale
    standard = (np.where(np.isnan(places), missing, places) - centre) / scale
    return StandardizedColumn(domain.name, centre, scale, missing, standard)


def _check_codes(table: Table) -> None:
    """Refuse codes among numbers: whoever has one would be published with the others' mean."""
    for domain in table.counts.quasi:
        if any(special is not None for special in domain.specials):
            raise InputError(
                f"microaggregation: column {domain.name!r} holds a code among its numbers, and "
                "no centre stands for both; use mondrian or lattice, or list the code in missing"
            )


def _check_limits(table: Table) -> None:
    """Refuse a finest level of columns whose centroid is somebody's own value."""
    for column, levels in table.levels.items():
        can_be_coarser = (
            levels.domain.kind in ("numeric", "date") and levels.finest < levels.height - 1
        )
        if levels.finest and not can_be_coarser:
            raise PolicyError(
                f"microaggregation publishes a value of column {column!r}, which limits allow from "
                f"level {levels.finest} on; use mondrian or lattice, or drop that limit"
            )


def _frames(table: Table) -> Ints:
    """The number of what limits keep each tuple in: no centroid stands for people of two labels of
    the coarsest level."""
    counts = table.counts.in_memory("comparing everybody with everybody")
    apart = []
    for domain, codes in zip(counts.quasi, counts.codes, strict=True):
        levels = table.levels[domain.name]
        if levels.allowed is not None and not levels.allowed.freely:
            apart.append(levels[levels.coarsest].codes[codes])
    if not apart:
        return np.zeros(len(counts), dtype=np.int64)
    return rank_rows(np.stack(apart), [int(codes.max(initial=0)) + 1 for codes in apart])[0]


def _cluster(task: Task, places: Floats, k: int, frame: Ints) -> Placement:
    """MDAV over everybody whom limits do not keep apart; people are numbered at random, so ties are
    decided by chance."""
    from sfumato.anonymizers.kernel import mdav  # its compiler loads slowly

    counts = task.table.counts.in_memory("comparing everybody with everybody")
    rng = np.random.default_rng(task.seed)
    person = rng.permutation(np.repeat(np.arange(len(counts)), counts.n))
    cluster, total = np.zeros(len(person), dtype=np.int64), 0
    for of_frame in np.unique(frame).tolist():
        here = np.flatnonzero(frame[person] == of_frame)
        if len(here) < k:
            raise no_safe_release(KAnonymity(k), len(here), advice=FRAMES_FAIL)
        cluster[here] = mdav(places[:, person[here]], k) + total
        total = int(cluster[here].max()) + 1
    pieces, n = np.unique(person * total + cluster, return_counts=True)
    tuples, groups = np.divmod(pieces, total)
    return Placement(task.table, tuples, groups, n.astype(np.int64))


def _described(placement: Placement, points: Points) -> tuple[Placement, Centroids]:
    """What these clusters publish, in its own order; those that publish the same are one group."""
    regions = centroids(placement.counts, points, placement.tuples, placement.groups, placement.n)
    number, first = regions.equal_descriptions()
    return placement.renumbered(number), regions.take(first)


def _published(placement: Placement, described: Centroids) -> Release:
    # Centroids are points: once equal ones are one group, no two groups fit the same values.
    return count_release(placement, described, disjoint=True)


def _merge(
    task: Task, clusters: Placement, places: Floats, points: Points, frame: Ints
) -> tuple[Placement, Centroids]:
    """Merge groups until every criterion that judges groups holds on all, or one group is left of
    those whom limits keep apart."""
    placement, described = _described(clusters, points)
    bad = _violators(task, _published(placement, described))
    if bad.any():
        _check_everybody(task, clusters, points, frame)
    with Ticker("merging groups", len(bad)) as ticker:
        while bad.any() and len(bad) > len(np.unique(frame)):
            merged = _merge_round(placement, places, bad, frame)
            placement, described = _described(merged, points)
            if len(described) == len(bad):
                break  # nobody who fails is near anybody
            ticker.add(len(bad) - len(described))
            bad = _violators(task, _published(placement, described))
    return placement, described


def _check_everybody(task: Task, clusters: Placement, points: Points, frame: Ints) -> None:
    """A criterion that merging keeps and that fails for all together holds for no partition."""
    advice = EVERYBODY_FAILS if int(frame.max(initial=0)) == 0 else FRAMES_FAIL
    one_group = replace(clusters, groups=frame[clusters.tuples])
    together = _published(*_described(one_group, points))
    for criterion in task.by_group:
        if criterion.merge_closed:
            verdict = judge(criterion, together)
            if not verdict.holds:
                raise no_safe_release(criterion, verdict.measured, verdict.note, advice)


def _violators(task: Task, release: Release) -> Bools:
    bad = np.zeros(len(release.groups), dtype=bool)
    for criterion in task.by_group:
        for place in task.about(criterion):
            name = "" if place is None else task.table.counts.sensitive[place].name
            bad |= ~criterion.holds(release.by_attribute[name])
    return bad


def _merge_round(placement: Placement, places: Floats, bad: Bools, frame: Ints) -> Placement:
    """Merge violators with their nearest groups, nearest pairs first, each group once a round."""
    from sfumato.anonymizers.kernel import nearest_others

    total = len(bad)
    sizes = np.bincount(placement.groups, weights=placement.n, minlength=total)
    centres = np.array(
        [
            np.bincount(
                placement.groups, weights=row[placement.tuples] * placement.n, minlength=total
            )
            / sizes
            for row in places
        ]
    )
    of_group = np.zeros(total, dtype=np.int64)
    of_group[placement.groups] = frame[placement.tuples]
    nearest_pairs: list[tuple[Ints, Ints, Floats]] = []
    for frame_number in np.unique(of_group[bad]).tolist():
        here = np.flatnonzero(of_group == frame_number)
        if len(here) > 1:
            asking = np.flatnonzero(bad[here])
            near, away = nearest_others(np.ascontiguousarray(centres[:, here]), asking)
            nearest_pairs.append((here[asking], here[near], away))
    if not nearest_pairs:
        return placement
    wanted, partner, gap = (np.concatenate(side) for side in zip(*nearest_pairs, strict=True))
    becomes = np.arange(total)
    free = np.ones(total, dtype=bool)
    for place in np.argsort(gap, kind="stable"):
        violator, neighbour = wanted[place], partner[place]
        if free[violator] and free[neighbour]:
            becomes[violator] = neighbour
            free[violator] = free[neighbour] = False
    _, number = np.unique(becomes, return_inverse=True)
    return placement.renumbered(number)
