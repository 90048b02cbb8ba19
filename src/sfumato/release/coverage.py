"""Coverage: which values of a column's domain each published region stands for.

Utility measures ask how far a value was widened and how much room a region leaves; both are
questions about domain values, answered once per distinct region, never per group or row. Most
regions cover a contiguous run of codes; those that do not list theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.numbers import Floats, Ints
from sfumato.schema.domain import Domain
from sfumato.schema.region import Region, codes_inside


@dataclass(frozen=True)
class Coverage:
    """For each region: its first and last covered code, how many, and the codes if with gaps."""

    domain: Domain
    first: Ints
    last: Ints
    count: Ints
    gaps: Mapping[int, Ints]

    def codes(self, part: int) -> Ints:
        if part in self.gaps:
            return self.gaps[part]
        return np.arange(self.first[part], self.last[part] + 1)

    def totals(self, weights: Floats) -> Floats:
        """The summed weight of the codes each region covers."""
        running = np.concatenate([[0.0], np.cumsum(weights)])
        sums: Floats = running[self.last + 1] - running[self.first]
        for part, codes in self.gaps.items():
            sums[part] = weights[codes].sum()
        return sums

    def widening(self) -> Floats:
        """How far each region is from a single value: 0 one value, 1 the whole domain.

        Numbers and dates by the extent of the covered values over the domain's; others by their
        number. NULL beside numbers is one value more: of `size` values in all, a region of extent e
        and NULL is widened by (e * (size - 2) + 1) / (size - 1), between 2 values of many and all.
        """
        return self._widening

    @cached_property
    def _widening(self) -> Floats:
        # Kept: a lattice search asks thousands of times for the same few regions.
        size = len(self.domain)
        if size <= 1:
            return np.zeros(len(self.count))
        by_number = (self.count - 1) / (size - 1)
        if self.domain.kind not in ("numeric", "date"):
            return by_number
        numbers = self.domain.numbers()
        present = numbers[~np.isnan(numbers)]
        if len(present) < 2:
            return by_number
        whole = float(present[-1]) - float(present[0])
        if not 0 < whole < np.inf:  # moments too close to be told apart on the axis, or infinity
            return by_number
        with_null = np.isnan(numbers[self.last])
        greatest = self.last.copy()
        for part in np.flatnonzero(with_null & (self.count > 1)).tolist():
            greatest[part] = self.codes(part)[-2]
        extent = (numbers[greatest] - numbers[self.first]) / whole
        beside = np.where(self.count > 1, (extent * (size - 2) + 1) / (size - 1), 0.0)
        extent = np.where(with_null, beside, extent)
        return np.where(self.count == size, 1.0, extent)


def cover(domain: Domain, parts: Sequence[Region]) -> Coverage:
    """Which codes each region covers; a region that covers none counts as covering all."""
    size = len(domain)
    first, last = np.zeros(len(parts), np.int64), np.full(len(parts), size - 1, np.int64)
    count = np.full(len(parts), size, np.int64)
    gaps: dict[int, Ints] = {}
    for place, codes in codes_inside(parts, np.arange(len(parts)), domain):
        if len(codes) == 0:
            continue
        first[place], last[place], count[place] = codes[0], codes[-1], len(codes)
        if codes[-1] - codes[0] + 1 != len(codes):
            gaps[place] = np.asarray(codes, dtype=np.int64)
    return Coverage(domain, first, last, count, gaps)
