"""One column of a release one step coarser: groups that then look alike become one.

No rows are needed: groups know their counts, and a hierarchy says what a published label becomes.
Where a column's labels do not follow its hierarchy, the only step left is not to publish it.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.counts.counts import Ints
from sfumato.errors import SchemaError
from sfumato.release.origin import Origin
from sfumato.release.regions import Regions, Singletons
from sfumato.release.release import Release
from sfumato.schema.domain import Codes, Domain, Kind
from sfumato.schema.hierarchy import Levels
from sfumato.schema.region import Anything, Mask, Region, Span, Value, ValueSet, text_of


@dataclass(frozen=True)
class Step:
    """What each label of a column becomes: `regions[codes[label]]`, and the name of one of them."""

    codes: Codes
    regions: Sequence[Region]
    label: str

    @property
    def withheld(self) -> bool:
        return len(self.regions) == 1 and isinstance(self.regions[0], Anything)


def next_step(release: Release, column: str) -> Step | None:
    """The next coarser labels of a column; None when all groups show the same label already."""
    regions = release.regions
    assert isinstance(regions, Regions)
    place = regions.columns.index(column)
    parts, codes = regions.parts[place], regions.codes[place]
    shown = np.unique(codes)
    if len(shown) == 1:
        return None
    levels = _levels(release, column, parts, shown)
    commonest = int(np.bincount(codes, weights=release.groups.sizes).argmax())
    for level in range(1, levels.height) if levels is not None else ():
        assert levels is not None
        found = _parents(levels, level, parts, shown)
        if found is not None and len(np.unique(found[shown])) < len(shown):
            coarser = levels[level].regions
            return Step(found, coarser, coarser[found[commonest]].text)
    return Step(np.zeros(len(parts), dtype=np.int32), (Anything(),), "*")


def coarsened(release: Release, column: str, step: Step) -> Release:
    """The release with a column taken one step further."""
    regions = release.regions
    assert isinstance(regions, Regions)
    place = regions.columns.index(column)
    codes = regions.codes.copy()
    codes[place] = step.codes[codes[place]]
    parts = (*regions.parts[:place], step.regions, *regions.parts[place + 1 :])
    wider = Regions(regions.columns, parts, codes)
    number, first = wider.equal_descriptions()
    population = release.population
    if population is not None:
        population = np.bincount(number, weights=population).astype(np.float64)
    return replace(
        release,
        by_attribute={
            name: groups.merge(number, len(first)) for name, groups in release.by_attribute.items()
        },
        regions=wider.take(first),
        population=population,
        origin=_moved(release.origin, number),
        counted=_moved(release.counted, number),
        inside=None if release.inside is None else release.inside.merge(number, len(first)),
    )


def _moved(origin: Origin | None, number: Ints) -> Origin | None:
    if origin is None:
        return None
    groups = np.where(origin.groups >= 0, number[origin.groups], -1)
    return replace(origin, groups=groups, search=None)


def _levels(release: Release, column: str, parts: Sequence[Region], shown: Ints) -> Levels | None:
    """The column's hierarchy over its own domain, or over the values its labels stand for."""
    source = release.origin or release.counted
    known = None if source is None else source.table.levels.get(column)
    if known is not None:
        return known
    values: set[Value] = set()
    for code in shown:
        values |= set(_ends(parts[code]))
    try:
        return release.schema.hierarchy(column).bind(_domain(column, values))
    except SchemaError:
        return None  # labels its hierarchy does not know


def _domain(column: str, values: set[Value]) -> Domain:
    present = [value for value in values if value is not None]
    missing: tuple[Value, ...] = (None,) if None in values else ()
    kind: Kind = "categorical"
    if all(isinstance(value, int | float) for value in present):
        kind = "numeric"
    elif all(isinstance(value, dt.date) for value in present):
        kind = "date"
    else:
        present = sorted({text_of(value) for value in present})
        return Domain(column, kind, (*present, *missing))
    return Domain(column, kind, (*sorted(present), *missing))


def _parents(levels: Levels, level: int, parts: Sequence[Region], shown: Ints) -> Codes | None:
    """The label of a level that each part lies in; None if some part lies in two."""
    coarser = levels[level]
    if isinstance(parts, Singletons) and len(parts) == len(levels.domain):
        return coarser.codes
    for finer in levels.levels[:level]:
        if finer.regions is parts:  # the very labels of a level
            known = np.zeros(len(parts), dtype=np.int32)
            known[finer.codes] = coarser.codes
            return known
    found = np.zeros(len(parts), dtype=np.int32)
    whole = next((at for at, one in enumerate(coarser.regions) if isinstance(one, Anything)), None)
    for code in shown:
        ends = [levels.domain.code(value) for value in _ends(parts[code])]
        inside = {int(coarser.codes[end]) for end in ends if end is not None}
        if not ends and whole is not None:
            inside = {whole}
        if len(inside) != 1 or None in ends:
            return None
        (found[code],) = inside
    return found


def _ends(region: Region) -> list[Value]:
    """Values of a region such that a label which has them all has all of it.

    Labels of a hierarchy are intervals, prefixes or listed values: an interval's two ends will do.
    """
    if isinstance(region, ValueSet):
        return list(region.values)
    if isinstance(region, Mask):
        return [region.pattern.replace("*", sign) for sign in "09"]
    if isinstance(region, Span):
        ends = [
            _within(region.low, region.low_closed, 1),
            _within(region.high, region.high_closed, -1),
        ]
        return [end for end in ends if end is not None]
    return []


def _within(end: int | float | dt.date, closed: bool, inwards: int) -> Value:
    if isinstance(end, dt.date):
        return end if closed else end + dt.timedelta(days=inwards)
    if math.isinf(end):
        return None
    if closed:
        return end
    return end + inwards if isinstance(end, int) else math.nextafter(end, inwards * math.inf)
