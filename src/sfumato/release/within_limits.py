"""Whether what is published keeps to the limits of the schema (`schema/limits.py`).

It is told of the published description alone, whoever made it and however it was searched for: the
levels of a column are laid over the values that its regions name, and each region is held against
their labels. So a file that somebody else published is judged by the same words.

Centroids are points: they lie inside one label of any level, and keep to a finest level where they
are ends of its labels. Buckets publish values as they are, which no finest level above 0 allows.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.errors import SchemaError
from sfumato.release.description import Description
from sfumato.release.made import ReadFrom
from sfumato.release.read.cells import known_domain
from sfumato.release.release import Release
from sfumato.schema.calendar import Dates
from sfumato.schema.domain import Domain, DomainKind
from sfumato.schema.hierarchy import Levels
from sfumato.schema.icd10 import CodeFamily
from sfumato.schema.limits import Limits
from sfumato.schema.recipes import Intervals
from sfumato.schema.region import (
    Anything,
    Mask,
    Region,
    Span,
    Value,
    ValueSet,
    codes_inside,
    contains_region,
    overlaps,
    place_of,
    reading_key,
    text_of,
)
from sfumato.schema.roles import Schema

_FIRST = np.zeros(1, dtype=np.int64)
BY_VALUE = "values are published as they are"


@dataclass(frozen=True)
class LimitFinding:
    """Whether one column is published within its limits, and what breaks them if not.

    `unclear`: its levels cannot be laid over what is published.
    """

    column: str
    allowed: str
    broken: str = ""
    unclear: bool = False


def limit_findings(release: Release, schema: Schema | None = None) -> list[LimitFinding]:
    """What is published of every column that has limits; by default those of its own schema."""
    schema = release.schema if schema is None else schema
    published = release.regions
    return [
        _finding(release, schema, column, limits)
        for column, limits in schema.limits.items()
        if column in published.columns
    ]


def keeps_limits(release: Release) -> bool:
    """Whether nothing that is published breaks the limits of its schema."""
    return not any(finding.broken for finding in limit_findings(release))


def _finding(release: Release, schema: Schema, column: str, limits: Limits) -> LimitFinding:
    regions = _published_regions(release.regions, column)
    try:
        levels = _levels(release, schema, column, regions)
    except SchemaError as error:
        return LimitFinding(column, _asked(limits), str(error), unclear=True)
    allowed = _words(limits, levels)
    if release.regions.exact:
        return LimitFinding(column, allowed, BY_VALUE if levels.finest else "")
    judged = _CentroidRule(levels) if release.regions.centroids else _RegionRule(levels)
    broken = next((why for region in regions if (why := judged.broken(region))), "")
    return LimitFinding(column, allowed, broken)


def _published_regions(published: Description, column: str) -> Sequence[Region]:
    """The distinct regions of a column that somebody is published with."""
    regions = published.regions_at_hand
    if regions is None:
        return ()
    at = regions.columns.index(column)
    return [regions.parts[at][code] for code in sorted(set(regions.codes[at].tolist()))]


def _asked(limits: Limits) -> str:
    coarsest = "" if limits.coarsest is None else f" to {limits.coarsest}"
    return f"levels from {limits.finest}{coarsest}{'' if limits.star else ', never *'}"


def _words(limits: Limits, levels: Levels) -> str:
    assert levels.allowed is not None
    if levels.allowed.freely:
        return "never *"
    ends = levels.finest, levels.coarsest
    words = f"level {ends[0]}" if ends[0] == ends[1] else f"levels {ends[0]} to {ends[1]}"
    return words if limits.star else f"{words}, never *"


def _levels(release: Release, schema: Schema, column: str, regions: Sequence[Region]) -> Levels:
    """The column's levels over the values that are known of it: of the table, or as published."""
    placed = release.placement
    if placed is not None and column in placed.table.levels:
        return schema.bind(placed.table.levels[column].domain)
    known = known_domain(column, schema.domains.get(column), schema.hierarchies.get(column))
    if known is None and isinstance(release.made, ReadFrom):
        known = release.made.domains.get(column)
    values = {text_of(value): value for value in (() if known is None else known.values)}
    for region in regions:
        values.update({text_of(value): value for value in _named(region)})
    present = [value for value in values.values() if value is not None]
    words: list[Value] = []
    if isinstance(schema.hierarchies.get(column), Intervals | Dates):
        # What is no number or date there is a special code, which has no place among them.
        words = [value for value in present if isinstance(value, str)]
        present = [value for value in present if not isinstance(value, str)]
    kind: DomainKind = "categorical"
    if all(isinstance(value, dt.date) for value in present):
        kind = "date"
    elif all(isinstance(value, int | float) for value in present):
        kind = "numeric"
    if known is not None and known.kind == "ordered" and len(present) == len(known.values):
        kind = "ordered"
    elif kind == "categorical":
        present.sort(key=lambda value: reading_key(text_of(value)))
    else:
        present.sort(key=lambda value: place_of(value))  # type: ignore[arg-type]
    missing = (None,) if any(region.contains(None) for region in regions) else ()
    return schema.bind(Domain(column, kind, (*present, *words, *missing)))


def _named(region: Region) -> Iterator[Value]:
    """Values that a region names, or that lie in it or at its ends."""
    if isinstance(region, ValueSet):
        yield from (value for value in region.values if value is not None)
    elif isinstance(region, Span):
        yield from (end for end in (region.low, region.high) if math.isfinite(place_of(end)))
        yield from (special for special in region.beside if special is not None)
    elif isinstance(region, Mask):
        yield region.pattern.replace("*", "0")
    elif isinstance(region, CodeFamily):
        yield region.first


class _RegionRule:
    """Holds a region against the labels of the coarsest and the finest level."""

    def __init__(self, levels: Levels) -> None:
        assert levels.allowed is not None
        self._levels, self._freely = levels, levels.allowed.freely
        self._coarsest, self._finest = levels[levels.coarsest], levels[levels.finest]
        self._whole = levels.coarsest == levels.height - 1

    def broken(self, region: Region) -> str:
        """What breaks the limits; empty if nothing does."""
        return self._too_coarse(region) or self._too_fine(region)

    def _inside(self, region: Region) -> list[int]:
        used = self._levels.domain
        codes_by_region = codes_inside([region], _FIRST, used)
        return list(codes_by_region[0][1]) if codes_by_region else []

    def _too_coarse(self, region: Region) -> str:
        if self._whole:
            return ""
        codes = self._inside(region)
        if self._freely:
            values = len(self._levels.domain)
            hides = isinstance(region, Anything) or len(codes) == values
            return f"{region.text} tells nothing of it" if hides and values > 1 else ""
        labels = {int(self._coarsest.codes[code]) for code in codes} or {0}
        label = self._coarsest.regions[min(labels)]
        if len(labels) == 1 and contains_region(label, region):
            return ""
        # Of a label that lists values, what else lies between two of them does not matter.
        if len(labels) == 1 and isinstance(label, ValueSet) and not isinstance(region, Anything):
            return ""
        return f"{region.text} is in no label of level {self._levels.coarsest}"

    def _too_fine(self, region: Region) -> str:
        if self._levels.finest == 0 or isinstance(region, Anything):
            return ""
        inside = set(self._inside(region))
        ends = {self._levels.domain.code(value) for value in _named(region)} - {None}
        touched = np.fromiter(inside | ends, np.int64)
        for at in np.unique(self._finest.codes[touched]).tolist():  # 000 has 100,000 ZIP codes
            label = self._finest.regions[at]
            if contains_region(region, label) or not overlaps(region, label):
                continue
            if not isinstance(region, Mask) and isinstance(label, ValueSet):
                members = (self._finest.codes == at).nonzero()[0].tolist()
                if inside.issuperset(members):
                    continue
            return f"{region.text} cuts {label.text} of level {self._levels.finest}"
        return ""


class _CentroidRule:
    """Points of numbers and dates are ends of labels of the finest level; all else is a value."""

    def __init__(self, levels: Levels) -> None:
        self._levels = levels
        spans = [region for region in levels[levels.finest].regions if isinstance(region, Span)]
        self._ends = {place_of(end) for span in spans for end in (span.low, span.high)}

    def broken(self, region: Region) -> str:
        if self._levels.finest == 0 or not isinstance(region, ValueSet):
            return ""
        for value in region.values:
            if isinstance(value, int | float | dt.date) and place_of(value) in self._ends:
                continue
            if value is not None:
                return f"{region.text} is no bound of level {self._levels.finest}"
        return ""
