"""Shares: how much of what each region of a column covers has some property.

The one assumption every estimate from a generalized release makes: a person behind a region has
each of the covered values with equal chance.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sfumato.counts.counts import Ints
from sfumato.release.coverage import Coverage
from sfumato.release.groups import Floats

Bools = npt.NDArray[np.bool_]
_BLOCK_CELLS = 1 << 24


class Shares:
    """Sums over the values each region covers, vectorised over regions with gaps as well."""

    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage
        self._gapped = np.array(list(coverage.gaps), dtype=np.int64)
        lists = list(coverage.gaps.values())
        self._codes = np.concatenate(lists) if lists else np.zeros(0, dtype=np.int64)
        lengths = np.array([len(codes) for codes in lists], dtype=np.int64)
        self._starts = np.cumsum(lengths) - lengths

    def total(self, weights: npt.NDArray[np.float64] | Bools) -> Floats:
        """The summed weight of the codes each region covers."""
        running = np.concatenate([[0.0], np.cumsum(weights, dtype=np.float64)])
        sums: Floats = running[self._coverage.last + 1] - running[self._coverage.first]
        if len(self._gapped):
            numbers = np.asarray(weights, dtype=np.float64)[self._codes]
            sums[self._gapped] = np.add.reduceat(numbers, self._starts)
        return sums

    def mean(self, weights: npt.NDArray[np.float64] | Bools) -> Floats:
        """The mean weight; of a yes-or-no property, the share of covered values that have it."""
        return self.total(weights) / self._coverage.count


def holders(coverage: Coverage, parts: Ints, codes: Ints) -> Bools:
    """Whether each of these regions (rows) covers each of these codes (columns)."""
    found: Bools = (coverage.first[parts][:, None] <= codes) & (
        codes <= coverage.last[parts][:, None]
    )
    for row, part in enumerate(parts.tolist() if coverage.gaps else ()):
        if part in coverage.gaps:
            found[row] = np.isin(codes, coverage.gaps[part])
    return found


def blocks(length: int, width: int) -> Iterator[slice]:
    """Ranges of rows of which each row takes `width` cells, a comfortable number at a time."""
    step = max(1, _BLOCK_CELLS // max(width, 1))
    for start in range(0, length, step):
        yield slice(start, min(start + step, length))
