"""Counts over a few columns at a time: every combination of columns from one scan.

A `Marginal` holds the distinct values of some columns and how many people have each. The widest one
is the compact table itself; a narrower one is summed up from any wider one that has its columns.
Cells are kept sparse, and columns may have any number of values (`kernel.py` sums them). With one
of its columns as the target it is the people of each class by their value: the sparse counts that
groups have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from sfumato.counts.kernel import (
    People,
    by_value_of_classes,
    cells_by_address,
    cells_by_hash,
    classes_by_address,
    classes_by_hash,
    taken,
)
from sfumato.numbers import Codes, Ints

_SMALL, _LARGE = 1 << 16, 1 << 24  # spaces always and never summed by address
_KEYS = 1 << 62  # beyond, packed keys may meet by chance


@dataclass(frozen=True)
class Marginal:
    """Cell i shows `codes[:, i]` and has `n[i]` people, whole unless they are expected ones.

    `columns` are positions in the table, `sizes` how many values each column has.
    """

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    codes: Codes
    n: People

    def __len__(self) -> int:
        return len(self.n)

    def onto(self, columns: Sequence[int]) -> Marginal:
        """The same people by fewer columns."""
        rows, sizes = self._rows(columns)
        space = prod(sizes)
        scale = np.array(sizes, dtype=np.int64)
        if self._by_address(space):
            codes, n = cells_by_address(self.codes, rows, scale, self.n, space)
        else:
            codes, n = cells_by_hash(self.codes, rows, scale, self.n, space < _KEYS)
        return Marginal(tuple(columns), sizes, codes, n)

    def classes(self, columns: Sequence[int]) -> tuple[Codes, Ints]:
        """Each cell's class by some of its columns, and the first cell of each class."""
        rows, sizes = self._rows(columns)
        space = prod(sizes)
        scale = np.array(sizes, dtype=np.int64)
        if self._by_address(space):
            return classes_by_address(self.codes, rows, scale, space)
        return classes_by_hash(self.codes, rows, scale, space < _KEYS)

    def by_class(self, target: int) -> ClassCounts:
        """The people of every class, which all other columns make, by their value of the target."""
        columns = tuple(column for column in self.columns if column != target)
        number, first = self.classes(columns)
        at = self.columns.index(target)
        counted = by_value_of_classes(number, self.codes[at], self.n, len(first))
        return ClassCounts(*counted, self.sizes[at], self, columns, first)

    def numbers_of(self, other: Marginal) -> Ints:
        """For every cell of another the one here that shows the same in these columns; -1: none."""
        rows, sizes = other._rows(self.columns)
        sizes = tuple(max(pair) for pair in zip(self.sizes, sizes, strict=True))
        codes = np.hstack([self.codes, other.codes[rows]])
        both = Marginal(self.columns, sizes, codes, np.ones(codes.shape[1], dtype=np.int64))
        # Cells here are distinct and come first, so they are numbered as they stand.
        number = both.classes(self.columns)[0][len(self) :].astype(np.int64)
        return np.where(number < len(self), number, -1)

    def _rows(self, columns: Sequence[int]) -> tuple[Ints, tuple[int, ...]]:
        rows = [self.columns.index(column) for column in columns]
        return np.array(rows, dtype=np.int64), tuple(self.sizes[row] for row in rows)

    def _by_address(self, space: int) -> bool:
        return space <= min(_LARGE, max(_SMALL, 16 * len(self)))


@dataclass(frozen=True)
class ClassCounts:
    """The people of some classes by their value of a target: the sparse counts of groups.

    `n[indptr[g]:indptr[g + 1]]` people of class g have those of `width` `values`, ascending;
    `people[g]` are in it, and it shows what cell `first[g]` shows in the `columns`.
    """

    indptr: Ints
    values: Codes
    n: People
    people: People
    width: int
    cells: Marginal
    columns: tuple[int, ...]
    first: Ints

    @cached_property
    def classes(self) -> Marginal:
        """The classes, as the cells that their columns alone make."""
        rows, sizes = self.cells._rows(self.columns)
        return Marginal(self.columns, sizes, taken(self.cells.codes, rows, self.first), self.people)

    def cells_of(self, group: int) -> dict[int, int]:
        """What a class shows, column by column."""
        at = self.first[group]
        codes = dict(zip(self.cells.columns, self.cells.codes[:, at].tolist(), strict=True))
        return {column: codes[column] for column in self.columns}
