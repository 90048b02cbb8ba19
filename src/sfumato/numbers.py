"""Numbers: arrays by what they hold, rows of different lengths, decimals as fractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]  # counts, positions, offsets
Floats = npt.NDArray[np.float64]  # probabilities, weights, losses
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]  # positions in a column's domain
Words = npt.NDArray[np.uint64]  # sets of up to 64 values a word

Array = TypeVar("Array", bound=npt.NDArray[Any])


# -- decimals as fractions ------------------------------------------------------------------------


def fraction(number: float | str | Fraction) -> Fraction:
    """The decimal somebody wrote, exactly: 0.2 is one fifth, not the float nearest to it."""
    return Fraction(number) if isinstance(number, int | Fraction) else Fraction(str(number))


# -- rows of different lengths --------------------------------------------------------------------


def offsets_of(lengths: npt.ArrayLike) -> Ints:
    """Where rows of these lengths begin, laid one after another, and where the last one ends.

    >>> offsets_of([2, 0, 3])
    array([0, 2, 2, 5])
    """
    counted = np.asarray(lengths).astype(np.int64, copy=False)
    offsets = np.zeros(len(counted) + 1, dtype=np.int64)
    np.cumsum(counted, out=offsets[1:])
    return offsets


def tallied_offsets(row: npt.NDArray[np.integer[Any]], rows: int) -> Ints:
    """Where each of so many rows begins, if entries are sorted by their `row`."""
    return offsets_of(np.bincount(row, minlength=rows))


def rows_of(offsets: Ints) -> Ints:
    """The row of each entry.

    >>> rows_of(offsets_of([2, 0, 3]))
    array([0, 0, 2, 2, 2])
    """
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))


def run_places(begins: Ints, lengths: Ints) -> Ints:
    """The places of several runs, one run after another.

    >>> run_places(np.array([7, 1]), np.array([2, 3]))
    array([7, 8, 1, 2, 3])
    """
    # What must be added to 0, 1, 2, ... is the same throughout a run.
    places: Ints = np.repeat(begins - (np.cumsum(lengths) - lengths), lengths)
    places += np.arange(len(places))
    return places


def taken_rows(offsets: Ints, rows: npt.NDArray[np.integer[Any]]) -> tuple[Ints, Ints]:
    """Some rows, in any order: their offsets, and the places of their entries."""
    begins = offsets[rows]
    lengths = offsets[rows + 1] - begins
    return offsets_of(lengths), run_places(begins, lengths)


def sums_by_row(numbers: Ints | Bools, offsets: Ints) -> Ints:
    """The sum of each row of whole numbers (of booleans: how many are true)."""
    running = offsets_of(numbers)
    return running[offsets[1:]] - running[offsets[:-1]]


@dataclass(frozen=True)
class Ragged(Generic[Array]):
    """Rows of different lengths in one array: row i is `values[offsets[i]:offsets[i + 1]]`.

    >>> Ragged.of([[3, 1], [], [4]]).take(np.array([2, 0])).values
    array([4, 3, 1])
    """

    offsets: Ints
    values: Array

    @staticmethod
    def of(rows: Sequence[npt.ArrayLike]) -> Ragged[Ints]:
        """Whole numbers, row by row."""
        listed = [np.asarray(row, dtype=np.int64) for row in rows]
        lengths = [len(row) for row in listed]
        return Ragged(offsets_of(lengths), np.concatenate([np.zeros(0, np.int64), *listed]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Array:
        return self.values[self.offsets[row] : self.offsets[row + 1]]  # type: ignore[return-value]

    @cached_property
    def lengths(self) -> Ints:
        return np.diff(self.offsets)

    @cached_property
    def rows(self) -> Ints:
        """The row of each entry."""
        return rows_of(self.offsets)

    def take(self, rows: npt.NDArray[np.integer[Any]]) -> Ragged[Array]:
        """Some rows, in any order, repeated or not."""
        offsets, places = taken_rows(self.offsets, rows)
        return Ragged(offsets, self.values[places])  # type: ignore[arg-type]
