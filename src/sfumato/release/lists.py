"""Whole lists: which of a group's values are one person's, where a release publishes that.

A file of rows shows each person's list whole. How often each value occurs in a group does not tell
whose values stand together, so groups of such a release also count their people by distinct list.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.counts.counts import Sets
from sfumato.counts.value_sets import code_sets
from sfumato.numbers import Codes, Ints
from sfumato.release.sparse import SparseCounts, summed


class Lists(SparseCounts):
    """People of each group by distinct list: `sets` are the lists, of codes of the values."""

    def __init__(self, indptr: Ints, indices: Codes, data: Ints, sets: Sets) -> None:
        self.indptr, self.indices, self.data = indptr, indices, data
        self.sets, self.width = sets, len(sets)

    @classmethod
    def of_people(cls, group: Ints, total: int, codes: Codes, n: Ints, sets: Sets) -> Lists:
        """Of (group, list, people) triples."""
        return cls(*summed(group, codes, n, total, len(sets)), sets)

    @classmethod
    def joined(cls, parts: Sequence[Lists]) -> Lists:
        """Groups one after another, of the same lists."""
        lengths = np.concatenate([part.distinct for part in parts])
        return cls(
            np.concatenate([[0], np.cumsum(lengths)]),
            np.concatenate([part.indices for part in parts]),
            np.concatenate([part.data for part in parts]),
            parts[0].sets,
        )

    def by_value(self, width: int, *, once: bool = False) -> tuple[Ints, Codes, Ints]:
        """How often each of `width` values occurs in each group, sparse; `once`: with how many."""
        offsets = self.sets.offsets
        lengths = np.diff(offsets)[self.indices]
        begin = np.repeat(offsets[self.indices] - (np.cumsum(lengths) - lengths), lengths)
        place = begin + np.arange(int(lengths.sum()))
        members, people = self.sets.members[place], np.repeat(self.data, lengths)
        if once:  # equal members of a list stand side by side
            begins = np.isin(place, offsets)
            people = np.where(~begins & (members == self.sets.members[place - 1]), 0, people)
        return summed(np.repeat(self.row, lengths), members, people, len(self), width)

    def weighted(self, times: Ints) -> Lists:
        """Groups of so many times as many people."""
        return Lists(self.indptr, self.indices, self.data * times[self.row], self.sets)

    def take(self, kept: Ints) -> Lists:
        """Those of some groups, by their positions."""
        return Lists(*self.rows(kept), self.sets)

    def merge(self, number: Ints, total: int) -> Lists:
        """Groups put together: group g becomes part of group `number[g]` of `total`."""
        return Lists.of_people(number[self.row], total, self.indices, self.data, self.sets)

    def relabel(self, codes: Ints) -> Lists:
        """The same lists of other codes; those that nobody here has are not among them."""
        used = np.unique(self.indices)
        offsets, members = self.sets.offsets, self.sets.members
        lengths = np.diff(offsets)[used]
        ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        stored = np.repeat(offsets[used] - ends[:-1], lengths) + np.arange(int(ends[-1]))
        # Lists keep their repetitions; two of them never become one, for codes are not merged.
        number, sets = code_sets(ends, codes[members[stored]].astype(np.int32), repeated=True)
        return Lists(
            self.indptr,
            number[np.searchsorted(used, self.indices)].astype(np.int32),
            self.data,
            sets,
        )
