"""Counts over a few columns at a time: every combination of columns from one scan, compiled.

A `Marginal` holds the distinct values of some columns and how many people have each. The widest one
is the compact table itself; a narrower one is summed up from any wider one that has its columns.
Cells are kept sparse, and columns may have any number of values: where the product of their sizes
is small, sums go to an array by address, otherwise through a hash table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numba as nb
import numpy as np

from sfumato.numbers import Codes, Floats, Ints

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
    n: Floats

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

    def _rows(self, columns: Sequence[int]) -> tuple[Ints, tuple[int, ...]]:
        rows = [self.columns.index(column) for column in columns]
        return np.array(rows, dtype=np.int64), tuple(self.sizes[row] for row in rows)

    def _by_address(self, space: int) -> bool:
        return space <= min(_LARGE, max(_SMALL, 4 * len(self)))


@nb.njit(cache=True, nogil=True)
def _summed(codes: Codes, rows: Ints, sizes: Ints, n: Floats, space: int) -> tuple[Codes, Floats]:
    """Cells in the order of their codes, summed by address."""
    sums = np.zeros(space, np.float64)
    filled = 0
    for i in range(codes.shape[1]):
        key = 0
        for j in range(len(rows)):
            key = key * sizes[j] + codes[rows[j], i]
        if sums[key] == 0:
            filled += 1
        sums[key] += n[i]
    out = np.empty((len(rows), filled), np.int32)
    people = np.empty(filled, np.float64)
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
def _hashed(codes: Codes, rows: Ints, sizes: Ints, n: Floats, exact: bool) -> tuple[Codes, Floats]:
    """Cells in order of first appearance."""
    number, first = _hash_numbered(codes, rows, sizes, exact)
    people = np.zeros(len(first), np.float64)
    for i in range(len(number)):
        people[number[i]] += n[i]
    out = np.empty((len(rows), len(first)), np.int32)
    for j in range(len(rows)):
        for g in range(len(first)):
            out[j, g] = codes[rows[j], first[g]]
    return out, people
