"""Counts over a few columns at a time: every combination of columns from one scan, compiled.

A `Marginal` holds the distinct values of some columns and how many people have each. The widest one
is the compact table itself; a narrower one is summed up from any wider one that has its columns.
Cells are kept sparse, and columns may have any number of values: where the product of their sizes
is small, sums go to an array by address, otherwise through a hash table. With one of its columns as
the target it is the people of each class by their value: the sparse counts that groups have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from sfumato.numbers import Codes, Ints

People = npt.NDArray[Any]  # whole people (int64), or expected ones (float64)
_SMALL, _LARGE = 1 << 16, 1 << 24  # spaces always and never summed by address
_FEW = 64  # cells that are sorted by insertion
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
            codes, n = _summed(self.codes, rows, scale, self.n, space)
        else:
            codes, n = _hashed(self.codes, rows, scale, self.n, space < _KEYS)
        return Marginal(tuple(columns), sizes, codes, n)

    def classes(self, columns: Sequence[int]) -> tuple[Codes, Ints]:
        """Each cell's class by some of its columns, and the first cell of each class."""
        rows, sizes = self._rows(columns)
        space = prod(sizes)
        scale = np.array(sizes, dtype=np.int64)
        if self._by_address(space):
            return _numbered(self.codes, rows, scale, space)
        return _hash_numbered(self.codes, rows, scale, space < _KEYS)

    def by_class(self, target: int) -> ClassCounts:
        """The people of every class, which all other columns make, by their value of the target."""
        columns = tuple(column for column in self.columns if column != target)
        number, first = self.classes(columns)
        at = self.columns.index(target)
        counted = _class_by_class(number, self.codes[at], self.n, len(first))
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
        return Marginal(
            self.columns, sizes, _taken(self.cells.codes, rows, self.first), self.people
        )

    def cells_of(self, group: int) -> dict[int, int]:
        """What a class shows, column by column."""
        at = self.first[group]
        codes = dict(zip(self.cells.columns, self.cells.codes[:, at].tolist(), strict=True))
        return {column: codes[column] for column in self.columns}


@nb.njit(cache=True, nogil=True)
def _summed(codes: Codes, rows: Ints, sizes: Ints, n: People, space: int) -> tuple[Codes, People]:
    """Cells in the order of their codes, summed by address."""
    sums = np.zeros(space, n.dtype)
    filled = 0
    for i in range(codes.shape[1]):
        key = 0
        for j in range(len(rows)):
            key = key * sizes[j] + codes[rows[j], i]
        if sums[key] == 0:
            filled += 1
        sums[key] += n[i]
    out = np.empty((len(rows), filled), np.int32)
    people = np.empty(filled, n.dtype)
    place = 0
    for key in range(space):
        if sums[key] == 0:
            continue
        people[place] = sums[key]
        rest = key
        for j in range(len(rows) - 1, -1, -1):
            out[j, place] = rest % sizes[j]
            rest //= sizes[j]
        place += 1
    return out, people


@nb.njit(cache=True, nogil=True)
def _numbered(codes: Codes, rows: Ints, sizes: Ints, space: int) -> tuple[Codes, Ints]:
    """Classes in order of first appearance, found by address."""
    seen = np.full(space, -1, np.int32)
    number = np.empty(codes.shape[1], np.int32)
    first = np.empty(min(space, codes.shape[1]), np.int64)
    found = 0
    for i in range(codes.shape[1]):
        key = 0
        for j in range(len(rows)):
            key = key * sizes[j] + codes[rows[j], i]
        if seen[key] < 0:
            seen[key] = found
            first[found] = i
            found += 1
        number[i] = seen[key]
    return number, first[:found].copy()


@nb.njit(cache=True, nogil=True)
def _slot(key: np.int64, mask: int) -> np.int64:
    # Fibonacci hashing spreads keys that differ only in high digits.
    return ((key * np.int64(-7046029254386353131)) >> 20) & mask


@nb.njit(cache=True, nogil=True)
def _hash_numbered(codes: Codes, rows: Ints, sizes: Ints, exact: bool) -> tuple[Codes, Ints]:
    """Classes in order of first appearance. Unless `exact`, equal keys may be different codes."""
    bits = 12
    mask = (1 << bits) - 1
    slots = np.full(mask + 1, -1, np.int32)
    keys = np.empty(mask + 1, np.int64)
    first = np.empty(mask + 1, np.int64)
    number = np.empty(codes.shape[1], np.int32)
    found = 0
    for i in range(codes.shape[1]):
        if 2 * found > mask:
            bits += 2
            mask = (1 << bits) - 1
            slots = np.full(mask + 1, -1, np.int32)
            more_keys = np.empty(mask + 1, np.int64)
            more_first = np.empty(mask + 1, np.int64)
            more_keys[:found], more_first[:found] = keys[:found], first[:found]
            keys, first = more_keys, more_first
            for g in range(found):
                slot = _slot(keys[g], mask)
                while slots[slot] >= 0:
                    slot = (slot + 1) & mask
                slots[slot] = g
        key = np.int64(0)
        for j in range(len(rows)):
            key = key * sizes[j] + codes[rows[j], i]
        slot = _slot(key, mask)
        while slots[slot] >= 0:
            g = slots[slot]
            if keys[g] == key and (exact or _alike(codes, rows, i, first[g])):
                break
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot] = found
            keys[found], first[found] = key, i
            found += 1
        number[i] = slots[slot]
    return number, first[:found].copy()


@nb.njit(cache=True, nogil=True)
def _alike(codes: Codes, rows: Ints, one: int, other: int) -> bool:
    for row in rows:  # noqa: SIM110, compiled code knows no generators
        if codes[row, one] != codes[row, other]:
            return False
    return True


@nb.njit(cache=True, nogil=True)
def _taken(codes: Codes, rows: Ints, places: Ints) -> Codes:
    """Some rows of some cells."""
    out = np.empty((len(rows), len(places)), np.int32)
    for j in range(len(rows)):
        for g in range(len(places)):
            out[j, g] = codes[rows[j], places[g]]
    return out


@nb.njit(cache=True, nogil=True)
def _hashed(codes: Codes, rows: Ints, sizes: Ints, n: People, exact: bool) -> tuple[Codes, People]:
    """Cells in order of first appearance."""
    number, first = _hash_numbered(codes, rows, sizes, exact)
    people = np.zeros(len(first), n.dtype)
    for i in range(len(number)):
        people[number[i]] += n[i]
    return _taken(codes, rows, first), people


@nb.njit(cache=True, nogil=True)
def _sort_class(values: Codes, n: People) -> None:
    """Put the cells of one class into the order of their values."""
    if len(values) > _FEW:
        order = np.argsort(values)
        values[:], n[:] = values[order], n[order]
        return
    for i in range(1, len(values)):
        value, people = values[i], n[i]
        at = i
        while at > 0 and values[at - 1] > value:
            values[at], n[at] = values[at - 1], n[at - 1]
            at -= 1
        values[at], n[at] = value, people


@nb.njit(cache=True, nogil=True)
def _class_by_class(
    number: Codes, values: Codes, n: People, classes: int
) -> tuple[Ints, Codes, People, People]:
    """Where each class begins, its values ascending with their people, and all its people."""
    cells = len(number)
    indptr = np.zeros(classes + 1, np.int64)
    for i in range(cells):
        indptr[number[i] + 1] += 1
    for g in range(classes):
        indptr[g + 1] += indptr[g]
    free = indptr[:-1].copy()
    shown, counted = np.empty(cells, np.int32), np.empty(cells, n.dtype)
    people = np.zeros(classes, n.dtype)
    # A counting sort by class; cells in the order of their codes need no other.
    for i in range(cells):
        g = number[i]
        at = free[g]
        shown[at], counted[at] = values[i], n[i]
        people[g] += n[i]
        free[g] = at + 1
    for g in range(classes):
        for at in range(indptr[g] + 1, indptr[g + 1]):
            if shown[at - 1] > shown[at]:
                _sort_class(shown[indptr[g] : indptr[g + 1]], counted[indptr[g] : indptr[g + 1]])
                break
    return indptr, shown, counted, people
