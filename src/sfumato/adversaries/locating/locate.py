"""Where is she? The groups of a release that a person with known quasi-identifiers may be in.

A generalized release: every group whose regions contain her values, of which there may be several
or none. A bucketized one: every group that lists them. A microaggregated one: the group of the
nearest centroid, on standardised columns, and of all that are equally near; this may be the wrong
group, and `true_groups.py` tells how often.

Whose values are not all known may be in every group that is compatible with those that are: in the
union, over whatever the unknown ones may be, of the groups found so. Of a generalized or bucketized
release these are the groups that fit in the known columns (a bucket if it lists such a tuple). Of a
microaggregated one her unknown values may be those of any centroid, all unknown columns together,
and each time she is near the nearest. Knowing nothing, she may be in any group.

No group is looked at for every person. Regions become boxes in a k-d tree, lists are joined, and
centroids have a k-d tree of their own. People are looked up by the columns that are known of them.

Here too: the axes on which centroids lie.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.adversaries.locating.boxes import BoxIndex
from sfumato.adversaries.locating.targets import Targets
from sfumato.counts.counts import rank_rows
from sfumato.errors import InputError, did_you_mean
from sfumato.numbers import (
    Bools,
    Codes,
    Floats,
    Ints,
    distinct,
    rows_of,
    taken_rows,
    tallied_offsets,
)
from sfumato.release.description import Buckets, Description, Regions
from sfumato.release.made import DistanceUnits, MadeHere
from sfumato.release.read.cells import point_of
from sfumato.release.release import Release
from sfumato.schema.domain import Domain
from sfumato.schema.region import Value, place_of, text_of

_AT_ONCE = 1 << 20  # places that are looked up at once

# The axes on which a microaggregated release is read: where values and centroids lie.
#
# Numbers and dates lie where they are; words at their position in the column's order: the declared
# one, else that of the table's domain if the release still knows its table, else the alphabet of
# all words that targets and centroids show. NULL lies one unit beyond the largest value.
#
# The unit of a column is its standard deviation: the one distances were measured on, if the
# release still knows it or somebody tells it, else that of the published centroids, each counted
# with its people, which is what anybody can compute.


@dataclass(frozen=True)
class CentroidAxis:
    """Where a column's published parts (`centroids`) and the targets' values (`points`) lie."""

    name: str
    scale: float
    centroids: Floats
    points: Floats

    def points_of(self, codes: Codes) -> Floats:
        """Where coded values lie; in a column of which nobody knows anything, anywhere."""
        return self.points[codes] if len(self.points) else np.zeros(len(codes))


def axis_of(
    release: Release,
    regions: Regions,
    column: int,
    domain: Domain,
    given: Mapping[str, float] | None,
) -> CentroidAxis | None:
    """The axis of a column; None for one that distances do not count."""
    name = regions.columns[column]
    units = DistanceUnits(given) if given is not None else _units(release)
    if units is not None and name not in units.scale:
        return None
    parts = [point_of(name, part) for part in regions.parts[column]]
    words = any(isinstance(value, str | bool) for value in parts)
    order = _order(release, name, domain, parts) if words else None
    centroids = np.array([_place(value, order) for value in parts])
    points = np.array([_place(value, order) for value in domain.values])
    people = np.bincount(regions.codes[column], weights=release.groups.sizes, minlength=len(parts))
    scale = float(units.scale[name]) if units is not None else _deviation(centroids, people)
    if not np.isfinite(scale) or scale <= 0:
        raise InputError(f"scale of column {name!r} is {scale!r}; it must be a number above 0")
    missing = units.missing.get(name) if units is not None else None
    if missing is None:
        seen = centroids[~np.isnan(centroids)]
        missing = (float(seen.max()) if len(seen) else 0.0) + scale
    centroids[np.isnan(centroids)] = points[np.isnan(points)] = missing
    return CentroidAxis(name, scale, centroids, points)


def _units(release: Release) -> DistanceUnits | None:
    """What distances were measured in when the release was made, where that is known."""
    return release.made.findings.distances if isinstance(release.made, MadeHere) else None


def _order(release: Release, name: str, domain: Domain, parts: list[Value]) -> dict[str, int]:
    """The position of each word, by its text."""
    declared = release.schema.domains.get(name)
    texts: list[str]
    if declared is not None and not isinstance(declared, str):
        texts = [text_of(value) for value in declared]
    elif release.placement is not None:
        known = {domain.name: domain for domain in release.placement.table.counts.quasi}[name]
        texts = [text_of(value) for value in known.values if value is not None]
    else:
        texts = []
    listed = set(texts)
    more = {text_of(value) for value in (*domain.values, *parts) if value is not None} - listed
    # A word nobody has ever published lies beyond all that are known.
    return {text: place for place, text in enumerate([*texts, *sorted(more)])}


def _place(value: Value, order: dict[str, int] | None) -> float:
    if value is None:
        return float("nan")
    if order is not None:
        return float(order[text_of(value)])
    if isinstance(value, str):
        raise InputError(
            "targets have words in a column whose centroids are numbers or dates; give their "
            "values as the release writes them"
        )
    return place_of(value)


def _deviation(centroids: Floats, people: Floats | Ints) -> float:
    """The standard deviation of the centroids over people; 1 where they do not differ."""
    here, n = centroids[~np.isnan(centroids)], people[~np.isnan(centroids)]
    if n.sum() == 0 or here[n > 0].min() == here[n > 0].max():
        return 1.0
    centre = np.average(here, weights=n)
    return float(np.sqrt(np.average((here - centre) ** 2, weights=n)))


ColumnScales = Mapping[str, float]


IndexesOfReleases = dict[tuple[int, ...], "tuple[tuple[object, ...], BoxIndex]"]


@dataclass(frozen=True)
class Located:
    """Case i may be in the groups `groups[indptr[i]:indptr[i + 1]]`, ascending."""

    indptr: Ints
    groups: Ints

    def take(self, cases: Ints) -> Located:
        """The same for some cases, in any order, repeated or not."""
        indptr, places = taken_rows(self.indptr, cases)
        return Located(indptr, self.groups[places])


def locate(
    release: Release,
    targets: Targets,
    scale: ColumnScales | None = None,
    indexes: IndexesOfReleases | None = None,
) -> Located:
    """The groups each case may be in; `scale` is that of a microaggregated release's columns.

    `indexes` are kept for the next of several parts of the same people.
    """
    located_targets, case = targets.of(release.regions.columns)
    if located_targets.known is None:
        kept = {} if indexes is None else indexes
        located = _by_all_columns(release, release.regions, located_targets, scale, kept)
    else:
        located = _by_known_columns(release, located_targets, located_targets.known, scale)
    whole = len(case) == located_targets.cases and bool((case == np.arange(len(case))).all())
    return located if whole else located.take(case)


def _by_all_columns(
    release: Release,
    described: Description,
    targets: Targets,
    scale: ColumnScales | None,
    indexes: IndexesOfReleases,
) -> Located:
    """By what the groups show in all columns of the targets, which are those described."""
    if described.buckets is not None:
        return _listed(described.buckets, targets)
    if described.centroids:
        return _nearest(release, described.require_regions(), targets, scale)
    about = (described, *targets.domains)  # kept, too, so that no other object takes its place
    key = tuple(map(id, about))
    if key not in indexes:
        indexes[key] = about, BoxIndex.of(described.require_regions(), targets.domains)
    return Located(*indexes[key][1].locate(targets.codes))


def _by_known_columns(
    release: Release, targets: Targets, known: Bools, scale: ColumnScales | None
) -> Located:
    """Cases of whom the same columns are known are located together, by these columns."""
    pattern, first = rank_rows(known.astype(np.int32), [2] * len(known))
    owners, groups = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for number, example in enumerate(first.tolist()):
        cases = np.flatnonzero(pattern == number)
        columns = np.flatnonzero(known[:, example])
        none = np.zeros(0, dtype=np.int64)
        case_targets = Targets(
            targets.domains, np.ascontiguousarray(targets.codes[:, cases]), none, none
        )
        if release.regions.centroids:
            located = _near_some(release, case_targets, columns, scale)
        else:
            located = _compatible(release, case_targets, columns)
        owners.append(np.repeat(cases, np.diff(located.indptr)))
        groups.append(located.groups)
    owner, group = np.concatenate(owners), np.concatenate(groups)
    order = np.argsort(owner, kind="stable")
    return Located(tallied_offsets(owner, targets.cases), group[order])


def _compatible(release: Release, targets: Targets, columns: Ints) -> Located:
    """The groups that fit in some of the columns; those that show the same there are one."""
    described = release.regions
    total = len(described)
    if not len(columns):
        all_groups = np.tile(np.arange(total), targets.cases)
        return Located(np.arange(targets.cases + 1) * total, all_groups)
    known_targets, case = targets.of([targets.columns[place] for place in columns])
    if described.buckets is not None:
        buckets = described.buckets
        domains = tuple(buckets.domains[place] for place in columns)
        listed = _listed(
            Buckets(domains, buckets.indptr, buckets.codes[columns], buckets.n), known_targets
        )
        return _once_each(listed, total).take(case)
    regions = described.require_regions()
    part = Regions(
        known_targets.columns,
        tuple(regions.parts[place] for place in columns),
        regions.codes[columns],
    )
    number, first = part.equal_descriptions()
    fitting = _inside(part.take(first), known_targets)
    by_number = np.argsort(number, kind="stable")
    of_description = Located(tallied_offsets(number, len(first)), by_number).take(fitting.groups)
    ends = of_description.indptr[fitting.indptr]
    return _once_each(Located(ends, of_description.groups), total).take(case)


def _near_some(
    release: Release, targets: Targets, columns: Ints, scale: ColumnScales | None
) -> Located:
    """The groups of the nearest centroid, whatever centroid the unknown values are those of."""
    regions = release.regions.require_regions()
    if not len(regions):
        return Located(np.zeros(targets.cases + 1, np.int64), np.zeros(0, np.int64))
    unknown = np.setdiff1d(np.arange(len(targets.domains)), columns)
    space = _Space.of(release, regions, targets, scale)
    open_axes = np.flatnonzero(np.isin(space.columns, unknown))
    if not len(open_axes):  # distances do not count what is unknown
        return space.nearest(space.points)
    completions = np.unique(space.centroids[open_axes], axis=1)
    many = completions.shape[1]
    step = max(1, _AT_ONCE // many)
    pieces, ends = [np.zeros(0, np.int64)], [np.zeros(1, np.int64)]
    for start in range(0, targets.cases, step):
        points = np.repeat(space.points[:, start : start + step], many, axis=1)
        points[open_axes] = np.tile(completions, points.shape[1] // many)
        near = space.nearest(points)
        union = _once_each(Located(near.indptr[::many], near.groups), len(regions))
        pieces.append(union.groups)
        ends.append(union.indptr[1:] + ends[-1][-1])
    return Located(np.concatenate(ends), np.concatenate(pieces))


def _once_each(located: Located, total: int) -> Located:
    """The same with every group of a case once, ascending."""
    keys = distinct(rows_of(located.indptr) * total + located.groups)
    case, group = np.divmod(keys, max(total, 1))
    return Located(tallied_offsets(case, len(located.indptr) - 1), group)


def _inside(regions: Regions, targets: Targets) -> Located:
    return Located(*BoxIndex.of(regions, targets.domains).locate(targets.codes))


def _listed(members: Buckets, targets: Targets) -> Located:
    """Buckets that list a tuple; equal values meet by their canonical text."""
    rows = []
    for domain, bucket_domain, row in zip(
        targets.domains, members.domains, targets.codes, strict=True
    ):
        codes = [bucket_domain.code(value) for value in domain.values]
        known = np.array([len(bucket_domain) if code is None else code for code in codes], np.int32)
        rows.append(known[row])
    stacked = np.hstack([members.codes, np.vstack(rows)])
    number, first = rank_rows(stacked, [len(domain) + 1 for domain in members.domains])
    listed, asked = number[: members.codes.shape[1]], number[members.codes.shape[1] :]
    group = rows_of(members.indptr)
    order = np.lexsort((group, listed))
    begins = np.searchsorted(listed[order], np.arange(len(first) + 1)).astype(np.int64)
    return Located(begins, group[order]).take(asked)


@dataclass(frozen=True)
class _Space:
    """Where centroids and targets lie, a row for each axis; `columns` tells which column it is."""

    columns: Ints
    centroids: Floats
    points: Floats
    scale: Floats

    @classmethod
    def of(
        cls, release: Release, regions: Regions, targets: Targets, given: ColumnScales | None
    ) -> _Space:
        for name in given or ():
            if name not in regions.columns:
                raise InputError(
                    f"scale: {name!r} is not a quasi-identifier of {release.label}; "
                    f"{did_you_mean(name, regions.columns)}"
                )
        axes = [
            axis
            for place, domain in enumerate(targets.domains)
            if (axis := axis_of(release, regions, place, domain, given)) is not None
        ]
        columns = [regions.columns.index(axis.name) for axis in axes]
        centroids = [
            axis.centroids[regions.codes[c]] for axis, c in zip(axes, columns, strict=True)
        ]
        points = [axis.points_of(targets.codes[c]) for axis, c in zip(axes, columns, strict=True)]
        return cls(
            np.array(columns, dtype=np.int64),
            np.array(centroids).reshape(len(axes), len(regions)),
            np.array(points).reshape(len(axes), targets.cases),
            np.array([axis.scale for axis in axes]),
        )

    def nearest(self, points: Floats) -> Located:
        from sfumato.adversaries.locating.kernel import nearest  # its compiler loads slowly

        return Located(*nearest(self.centroids, points, self.scale))


def _nearest(
    release: Release, regions: Regions, targets: Targets, given: ColumnScales | None
) -> Located:
    space = _Space.of(release, regions, targets, given)
    return space.nearest(space.points)
