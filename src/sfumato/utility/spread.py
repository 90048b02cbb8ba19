"""Spread lost (Domingo-Ferrer, Mateo-Sanz 2002: SSE / SST): what is gone of how people differ.

Centroids are points, and have no width to measure. Of a column of numbers, dates or ordered values
it is the mean squared distance between what people have and what is published of them, over the
column's variance: 0 where everybody is published as she is, 1 where everybody is published with the
column's mean. Ordered values lie at their positions in the domain, as for the distances by which
groups were made. Of categories it is the share of people who are published with another one than
their own, over that share if everybody were published with the commonest.

A person whose value is published as missing, or whose missing value is published as one, has lost
all of it; NULL is a category like any other among categories. Each column counts alike and loses at
most all: rounded centroids may lie farther away than the column's mean does. A column in which
nobody differs has nothing to lose. Not applicable (NaN) to regions and noise.

No search is led by it, and no policy names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.numbers import Floats, Ints
from sfumato.schema.domain import Domain
from sfumato.schema.region import Region, Value, ValueSet, place_of
from sfumato.utility.base import Utility
from sfumato.utility.view import View


@dataclass(frozen=True)
class SpreadLost(Utility):
    """The share of the columns' spread that is gone with centroids."""

    name: ClassVar[str] = "spread-lost"
    share: ClassVar[bool] = True
    about: ClassVar[str] = (
        "mean share of its columns' variance (of categories, of who differs from the commonest) "
        "that is gone with centroids"
    )
    reads_tuples: ClassVar[bool] = True

    def cost(self, view: View) -> float:
        lost = self.by_column(view)
        return float(np.mean(list(lost.values()))) if lost else float("nan")

    def by_column(self, view: View) -> dict[str, float]:
        """What is gone of each quasi-identifier; nothing is told where it does not apply."""
        if view.people == 0 or not view.points:
            return {}
        pieces, lost = view.pieces, {}
        published = pieces.groups >= 0
        tuples, groups = pieces.tuples[published], pieces.groups[published]
        n, counts = pieces.n[published], view.tuples
        for column, domain in enumerate(counts.quasi):
            own = counts.codes[column][tuples].astype(np.int64)
            part = view.regions.codes[column][groups].astype(np.int64)
            measure = _of_categories if domain.kind == "categorical" else _of_places
            gone = measure(domain, view.regions.parts[column], own, part, n)
            lost[domain.name] = min(1.0, (gone * int(n.sum()) + view.suppressed) / view.people)
        return lost


def _of_places(domain: Domain, parts: Sequence[Region], own: Ints, part: Ints, n: Ints) -> float:
    """Squared distances over the variance; who has a value, or is shown one, alone loses all."""
    if domain.kind == "ordered":
        places = np.arange(len(domain), dtype=np.float64)
        places[len(domain) - domain.has_null :] = np.nan
    else:
        places = domain.numbers()
    published = np.array([_place(domain, region) for region in parts])[part]
    have = places[own]
    placed = ~np.isnan(have) & ~np.isnan(published)
    alone = int(n[np.isnan(have) != np.isnan(published)].sum())
    variance = _variance(have, n)
    apart = float(((have - published)[placed] ** 2) @ n[placed]) / variance if variance else 0.0
    return (apart + alone) / int(n.sum())


def _variance(places: Floats, n: Ints) -> float:
    """Over people who have a value."""
    there = ~np.isnan(places)
    if not there.any() or np.ptp(places[there]) == 0:  # else rounding alone would make it
        return 0.0
    mean = np.average(places[there], weights=n[there])
    return float(np.average((places[there] - mean) ** 2, weights=n[there]))


def _of_categories(
    domain: Domain, parts: Sequence[Region], own: Ints, part: Ints, n: Ints
) -> float:
    """Who is shown another category, of those who would be if all were shown the commonest."""
    published = np.array([domain.code(_value(region)) for region in parts])[part]
    uncommon = int(n.sum()) - int(np.bincount(own, weights=n).max())
    return min(1.0, int(n[own != published].sum()) / uncommon) if uncommon else 0.0


def _value(region: Region) -> Value:
    assert isinstance(region, ValueSet)  # a centroid is one point
    (value,) = region.values
    return value


def _place(domain: Domain, region: Region) -> float:
    value = _value(region)
    if value is None:
        return float("nan")
    if domain.kind == "ordered":
        code = domain.code(value)
        return float("nan") if code is None else float(code)
    assert not isinstance(value, str)
    return place_of(value)
