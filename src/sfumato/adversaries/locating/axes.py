"""The axes on which a microaggregated release is read: where values and centroids lie.

Numbers and dates lie where they are; words at their position in the column's order: the declared
one, else that of the table's domain if the release still knows its table, else the alphabet of all
words that targets and centroids show. NULL lies one unit beyond the largest value.

The unit of a column is its standard deviation: the one distances were measured on, if the release
still knows it or somebody tells it, else that of the published centroids, each counted with its
people, which is what anybody can compute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.counts.counts import Ints
from sfumato.errors import InputError
from sfumato.release.groups import Floats
from sfumato.release.read.centroids import point_of
from sfumato.release.regions import Regions
from sfumato.release.release import Release
from sfumato.schema.domain import Domain
from sfumato.schema.region import Value, place_of, text_of


@dataclass(frozen=True)
class Axis:
    """Where a column's published parts (`centroids`) and the targets' values (`points`) lie."""

    name: str
    scale: float
    centroids: Floats
    points: Floats


def axis_of(
    release: Release,
    regions: Regions,
    column: int,
    domain: Domain,
    given: Mapping[str, float] | None,
) -> Axis | None:
    """The axis of a column; None for one that distances do not count."""
    name = regions.columns[column]
    told = _told(release, given)
    if told and name not in told["scale"]:
        return None
    parts = [point_of(name, part) for part in regions.parts[column]]
    words = any(isinstance(value, str | bool) for value in parts)
    order = _order(release, name, domain, parts) if words else None
    shown = np.array([_place(value, order) for value in parts])
    points = np.array([_place(value, order) for value in domain.values])
    people = np.bincount(regions.codes[column], weights=release.groups.sizes, minlength=len(parts))
    scale = float(told["scale"][name]) if told else _deviation(shown, people)
    if not np.isfinite(scale) or scale <= 0:
        raise InputError(f"scale of column {name!r} is {scale!r}; it must be a number above 0")
    missing = (told.get("missing") or {}).get(name)
    if missing is None:
        seen = shown[~np.isnan(shown)]
        missing = (float(seen.max()) if len(seen) else 0.0) + scale
    shown[np.isnan(shown)] = points[np.isnan(points)] = missing
    return Axis(name, scale, shown, points)


def _told(release: Release, given: Mapping[str, float] | None) -> Mapping[str, Any]:
    """The units somebody tells, or those the release was made with."""
    if given is not None:
        return {"scale": given}
    search = release.origin.search if release.origin is not None else None
    return search if search is not None and "scale" in search else {}


def _order(release: Release, name: str, domain: Domain, parts: list[Value]) -> dict[str, int]:
    """The position of each word, by its text."""
    declared = release.schema.domains.get(name)
    texts: list[str]
    if declared is not None and not isinstance(declared, str):
        texts = [text_of(value) for value in declared]
    elif release.origin is not None:
        known = {one.name: one for one in release.origin.counts.quasi}[name]
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


def _deviation(shown: Floats, people: Floats | Ints) -> float:
    """The standard deviation of the centroids over people; 1 where they do not differ."""
    here, n = shown[~np.isnan(shown)], people[~np.isnan(shown)]
    if n.sum() == 0 or here[n > 0].min() == here[n > 0].max():
        return 1.0
    centre = np.average(here, weights=n)
    return float(np.sqrt(np.average((here - centre) ** 2, weights=n)))
