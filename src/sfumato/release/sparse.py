"""Counts of B groups over m values in sparse form, and what is reduced over each group's values.

Also whole lists: which of a group's values are one person's, where a release publishes that. A file
of rows shows each person's list whole. How often each value occurs in a group does not tell whose
values stand together, so groups of such a release also count their people by distinct list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.counts.counts import Sets
from sfumato.counts.value_sets import code_sets
from sfumato.numbers import (
    Codes,
    Ints,
    offsets_of,
    rows_of,
    run_places,
    taken_rows,
    tallied_offsets,
)

_BLOCK_CELLS = 1 << 22
_GROUPS_AT_ONCE = 1 << 16


class SparseCounts:
    """Row g holds `data[indptr[g]:indptr[g + 1]]` at the columns `indices`, of `width`.

    Frozen: all that is known is given when it is made; what follows from it is worked out when it
    is asked for, and kept.
    """

    indptr: Ints
    indices: Codes
    data: Ints
    width: int

    def __init__(
        self, indptr: Ints, indices: Codes, data: Ints, width: int, **known: object
    ) -> None:
        given = {name: value for name, value in known.items() if value is not None}
        vars(self).update(indptr=indptr, indices=indices, data=data, width=width, **given)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name}: {type(self).__name__} is frozen; make another one")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name}: {type(self).__name__} is frozen; make another one")

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @cached_property
    def row(self) -> Ints:
        """The group of each stored count."""
        return rows_of(self.indptr)

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

    @cached_property
    def kinds_of_counts(self) -> tuple[Ints, Ints]:
        """The kind of each group, those of equal counts being one, and the first group of each."""
        total = len(self)
        signs = np.random.default_rng(0).integers(1 << 63, size=max(self.width, 1), dtype=np.uint64)
        marks = np.empty(total, dtype=np.uint64)
        for start, some in self._some_at_a_time():
            cells = signs.take(some.indices) * (
                2 * some.data.astype(np.uint64) + np.uint64(1)
            )  # it wraps
            marks[start : start + len(some)] = some.sum_of(cells ^ (cells >> np.uint64(29)))
        kind = pa.array(marks).dictionary_encode().indices.to_numpy().astype(np.int64)
        del marks
        first = np.empty(int(kind.max(initial=-1)) + 1, dtype=np.int64)
        first[kind[::-1]] = np.arange(total - 1, -1, -1)  # the last one written is the first
        # Equal marks may be chance: if one is not like the first of its kind, each is a kind.
        for start, some in self._some_at_a_time():
            if not some.equals(self, first.take(kind[start : start + len(some)])):
                return np.arange(total), np.arange(total)
        return kind, first

    def equals(self, other: SparseCounts, like: Ints) -> bool:
        """Whether each of these groups counts what group `like[g]` of the others does."""
        if (self.distinct != other.indptr.take(like + 1) - other.indptr.take(like)).any():
            return False
        place = run_places(other.indptr.take(like), self.distinct)
        return bool(
            (self.indices == other.indices.take(place)).all()
            and (self.data == other.data.take(place)).all()
        )

    def _some_at_a_time(self) -> Iterator[tuple[int, SparseCounts]]:
        """The first of some groups, and these: what is worked out of them takes little memory."""
        for start in range(0, len(self), _GROUPS_AT_ONCE):
            indptr = self.indptr[start : start + _GROUPS_AT_ONCE + 1]
            stored = slice(indptr[0], indptr[-1])
            some = SparseCounts(
                indptr - indptr[0], self.indices[stored], self.data[stored], self.width
            )
            yield start, some

    def rows(self, kept: Ints) -> tuple[Ints, Codes, Ints]:
        """The stored counts of some groups: where each begins, the columns, the counts."""
        indptr, stored = taken_rows(self.indptr, kept)
        return indptr, self.indices[stored], self.data[stored]

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
) -> tuple[Ints, Codes, Ints]:
    """(row, column, number) triples as sparse counts of `total` rows, columns ascending in each."""
    width = max(width, 1)
    key = row.astype(np.int64) * width + column
    if (key[1:] > key[:-1]).all() and len(key) and n.all():  # nothing to sum
        return tallied_offsets(row, total), column.astype(np.int32), n.astype(np.int64)
    if total * width <= max(1 << 22, 8 * len(key)):
        dense = np.bincount(key, weights=n, minlength=total * width)
        key = np.flatnonzero(dense)
        data = dense[key].astype(np.int64)
    else:
        key, inverse = np.unique(key, return_inverse=True)
        data = np.bincount(inverse, weights=n).astype(np.int64)
    rows, columns = np.divmod(key, width)
    return tallied_offsets(rows, total), columns.astype(np.int32), data


class Lists(SparseCounts):
    """People of each group by distinct list: `sets` are the lists, of codes of the values."""

    sets: Sets

    def __init__(self, indptr: Ints, indices: Codes, data: Ints, sets: Sets) -> None:
        super().__init__(indptr, indices, data, len(sets), sets=sets)

    @classmethod
    def of_people(cls, group: Ints, total: int, codes: Codes, n: Ints, sets: Sets) -> Lists:
        """Of (group, list, people) triples."""
        return cls(*summed(group, codes, n, total, len(sets)), sets)

    @classmethod
    def joined(cls, parts: Sequence[Lists]) -> Lists:
        """Groups one after another, of the same lists."""
        lengths = np.concatenate([part.distinct for part in parts])
        return cls(
            offsets_of(lengths),
            np.concatenate([part.indices for part in parts]),
            np.concatenate([part.data for part in parts]),
            parts[0].sets,
        )

    def by_value(self, width: int, *, once: bool = False) -> tuple[Ints, Codes, Ints]:
        """How often each of `width` values occurs in each group, sparse; `once`: with how many."""
        offsets = self.sets.offsets
        lengths = np.diff(offsets)[self.indices]
        place = run_places(offsets[self.indices], lengths)
        members, people = self.sets.members[place], np.repeat(self.data, lengths)
        if once:  # equal members of a list stand side by side
            begins = np.isin(place, offsets)
            people = np.where(~begins & (members == self.sets.members[place - 1]), 0, people)
        return summed(np.repeat(self.row, lengths), members, people, len(self), width)

    def weighted(self, multiplicity: Ints) -> Lists:
        """Groups of so many times as many people."""
        return Lists(self.indptr, self.indices, self.data * multiplicity[self.row], self.sets)

    def take(self, kept: Ints) -> Lists:
        """Those of some groups, by their positions."""
        return Lists(*self.rows(kept), self.sets)

    def merge(self, number: Ints, total: int) -> Lists:
        """Groups put together: group g becomes part of group `number[g]` of `total`."""
        return Lists.of_people(number[self.row], total, self.indices, self.data, self.sets)

    def relabel(self, codes: Ints) -> Lists:
        """The same lists of other codes; those that nobody here has are not among them."""
        used = np.unique(self.indices)
        ends, stored = taken_rows(self.sets.offsets, used)
        # Lists keep their repetitions; two of them never become one, for codes are not merged.
        number, sets = code_sets(
            ends, codes[self.sets.members[stored]].astype(np.int32), repeated=True
        )
        return Lists(
            self.indptr,
            number[np.searchsorted(used, self.indices)].astype(np.int32),
            self.data,
            sets,
        )
