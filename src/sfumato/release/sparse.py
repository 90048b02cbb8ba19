"""Counts of B groups over m values in sparse form, and what is reduced over each group's values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.numbers import Ints

_BLOCK_CELLS = 1 << 22


class SparseCounts:
    """Row g holds `data[indptr[g]:indptr[g + 1]]` at the columns `indices`, of `width`."""

    indptr: Ints
    indices: npt.NDArray[np.int32]
    data: Ints
    width: int

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @cached_property
    def row(self) -> Ints:
        """The group of each stored count."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.indptr))

    @cached_property
    def distinct(self) -> Ints:
        return np.diff(self.indptr)

    @cached_property
    def largest(self) -> Ints:
        """The count of each group's most frequent value."""
        return self.max_of(self.data)

    @cached_property
    def descending(self) -> Ints:
        """The stored counts, each group's from its most to its least frequent value."""
        if len(self.data) == 0:
            return self.data
        step = int(self.data.max()) + 1
        if len(self) * step >= 1 << 62:
            return self.data[np.lexsort((-self.data, self.row))]
        # One sort of plain integers (group, shortfall) beats a two-key sort by far.
        return step - 1 - np.sort(self.row * step + (step - 1 - self.data)) % step

    def rows(self, kept: Ints) -> tuple[Ints, npt.NDArray[np.int32], Ints]:
        """The stored counts of some groups: where each begins, the columns, the counts."""
        lengths = self.distinct[kept]
        ends = np.cumsum(lengths)
        stored = np.repeat(self.indptr[kept] - (ends - lengths), lengths)
        stored += np.arange(len(stored))
        return np.concatenate([[0], ends]), self.indices[stored], self.data[stored]

    def sum_of(self, stored: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sum over each group of a number per stored count; 0 for a group without values."""
        return self._reduce(np.add, stored, 0)

    def max_of(self, stored: npt.NDArray[Any], empty: float = 0) -> npt.NDArray[Any]:
        """Maximum over each group of a number per stored count."""
        return self._reduce(np.maximum, stored, empty)

    def _reduce(
        self, operation: np.ufunc, stored: npt.NDArray[Any], empty: float
    ) -> npt.NDArray[Any]:
        if len(stored) == 0:
            return np.full(len(self), empty, dtype=stored.dtype)
        if self.distinct.all():
            return operation.reduceat(stored, self.indptr[:-1])
        filled = np.flatnonzero(self.distinct)
        result = np.full(len(self), empty, dtype=stored.dtype)
        result[filled] = operation.reduceat(stored, self.indptr[filled])
        return result

    # -- dense views ------------------------------------------------------------------------------

    def dense(self, start: int = 0, stop: int | None = None) -> Ints:
        """The counts of groups start..stop as a full matrix."""
        stop = len(self) if stop is None else stop
        block = np.zeros((stop - start, self.width), dtype=np.int64)
        low, high = self.indptr[start], self.indptr[stop]
        rows = np.repeat(np.arange(stop - start), np.diff(self.indptr[start : stop + 1]))
        block[rows, self.indices[low:high]] = self.data[low:high]
        return block

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of groups whose dense counts fit comfortably in memory."""
        step = max(1, _BLOCK_CELLS // max(self.width, 1))
        for start in range(0, len(self), step):
            yield start, min(start + step, len(self))


def summed(
    row: npt.NDArray[np.integer[Any]],
    column: npt.NDArray[np.integer[Any]],
    n: Ints,
    total: int,
    width: int,
) -> tuple[Ints, npt.NDArray[np.int32], Ints]:
    """(row, column, number) triples as sparse counts of `total` rows, columns ascending in each."""
    width = max(width, 1)
    key = row.astype(np.int64) * width + column
    if total * width <= max(1 << 22, 8 * len(key)):
        dense = np.bincount(key, weights=n, minlength=total * width)
        key = np.flatnonzero(dense)
        data = dense[key].astype(np.int64)
    else:
        key, inverse = np.unique(key, return_inverse=True)
        data = np.bincount(inverse, weights=n).astype(np.int64)
    rows, columns = np.divmod(key, width)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=total))])
    return indptr.astype(np.int64), columns.astype(np.int32), data
