"""Centroids: the middle values a microaggregated group publishes, by the kind of column.

Mean of numbers, lower median of dates and ordered values, mode of categories; NULL as told in
`microaggregation.py`. Means, and medians of dates, are rounded (`schema/centres.py`). Merging two
groups with equal centroids gives the same centroid again (a mean, median or mode of the union lies
with those of the parts, and rounding keeps the order), so what is published does not depend on the
order in which groups were merged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sfumato.counts.counts import Counts, Ints
from sfumato.release.groups import Floats
from sfumato.release.regions import Regions
from sfumato.schema.centres import Centres, centres_of
from sfumato.schema.domain import Domain
from sfumato.schema.region import Region, ValueSet
from sfumato.table.load import Table


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
) -> Regions:
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
        told = [
            ValueSet(
                frozenset({value if allowed is None or value is None else allowed.nearest(value)})
            )
            for value in values
        ]
        place = np.array([index.setdefault(region, len(index)) for region in told])
        parts.append(tuple(index))
        rows.append(place[number])
    columns = tuple(domain.name for domain in counts.quasi)
    return Regions(columns, tuple(parts), np.array(rows, dtype=np.int32))


def _sums(groups: Ints, weights: Ints | Floats, total: int) -> Floats:
    return np.bincount(groups, weights=weights, minlength=total).astype(np.float64)


def _mostly_missing(domain: Domain, codes: Ints, groups: Ints, n: Ints, total: int) -> Ints:
    """The groups of which more than half have no value."""
    if not domain.has_null:
        return np.zeros(0, dtype=np.int64)
    missing = np.where(codes == len(domain) - 1, n, 0)
    return np.flatnonzero(2 * _sums(groups, missing, total) > _sums(groups, n, total))


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
    return modes
