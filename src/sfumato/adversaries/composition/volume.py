"""How much room a group's description leaves: the number of value combinations it covers.

Where regions overlap, a narrow one that contains a person is more likely hers than a wide one; an
adversary may weigh groups by 1 / volume. Only what is published counts, so anybody gets the same
figure: a set has as many values as it lists, a range of whole numbers or days those between its
ends, another range its length (at least the smallest step between ends the column shows), a mask
ten for each hidden character. An open end lies where the column's furthest end does. `*` covers
whatever the column shows elsewhere.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from sfumato.release.groups import Floats
from sfumato.release.members import Members
from sfumato.release.regions import Regions
from sfumato.release.release import Release
from sfumato.schema.region import Anything, Mask, Region, Span, ValueSet, place_of

_SIGNS = 10  # what a hidden character may be


def volumes(release: Release) -> Floats:
    """The volume of each group; 1 where groups list exact values or publish a point."""
    regions = release.regions
    if isinstance(regions, Members) or release.scheme == "microaggregated":
        return np.ones(len(regions))
    return _volumes(regions)


def _volumes(regions: Regions) -> Floats:
    volume = np.ones(len(regions))
    for parts, codes in zip(regions.parts, regions.codes, strict=True):
        used, number = np.unique(codes, return_inverse=True)
        volume *= _extents([parts[int(part)] for part in used])[number]
    return volume


def _extents(parts: Sequence[Region]) -> Floats:
    ends = _Ends(parts)
    extents = np.array([ends.extent(part) for part in parts])
    wild = np.array([isinstance(part, Anything) for part in parts])
    if wild.any():
        words = {text for part in parts if isinstance(part, ValueSet) for text in part.texts}
        extents[wild] = max(ends.whole(), float(len(words)), *extents[~wild], 1.0)
    return extents


class _Ends:
    """The finite ends of a column's ranges and the numbers it shows."""

    def __init__(self, parts: Sequence[Region]) -> None:
        spans = [part for part in parts if isinstance(part, Span)]
        shown = [place_of(end) for span in spans for end in (span.low, span.high)]
        for part in parts:
            if isinstance(part, ValueSet):
                shown += [
                    place_of(value)
                    for value in part.values
                    if isinstance(value, int | float | dt.date) and not isinstance(value, bool)
                ]
        finite = sorted({place for place in shown if math.isfinite(place)})
        self.least, self.most = (finite[0], finite[-1]) if finite else (0.0, 0.0)
        self.stepwise = all(place == int(place) for place in finite)
        steps = [after - before for before, after in pairwise(finite)]
        self.step = 1.0 if self.stepwise or not steps else min(steps)

    def whole(self) -> float:
        return self.most - self.least + (1 if self.stepwise else 0)

    def extent(self, part: Region) -> float:
        if isinstance(part, ValueSet):
            return float(max(len(part.values), 1)) * (1.0 if self.stepwise else self.step)
        if isinstance(part, Mask):
            return float(_SIGNS ** part.pattern.count("*"))
        if not isinstance(part, Span):
            return 1.0
        low, high = place_of(part.low), place_of(part.high)
        first = low if math.isfinite(low) else self.least
        last = high if math.isfinite(high) else self.most
        room = last - first
        if self.stepwise:
            room += 1 - (math.isfinite(low) and not part.low_closed)
            room -= math.isfinite(high) and not part.high_closed
        return max(room, self.step)
