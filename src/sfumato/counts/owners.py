"""Whose rows: distinct people of groups in which somebody has several rows.

Where rows are published one by one, five rows of one person are not five people, in no group and
in no union of groups: whenever groups are put together, people must be counted anew. `Owners` lists
the distinct people of each group (or, by the same means, the distinct pairs of a person and a value
of hers), and this is the one place where they are counted after groups become one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.counts.counts import Counts
from sfumato.numbers import (
    Codes,
    Ints,
    distinct,
    in_order,
    offsets_of,
    rows_of,
    taken_rows,
    tallied_offsets,
)

_ID = np.int32


@dataclass(frozen=True)
class Owners:
    """Group g has the distinct people `people[indptr[g]:indptr[g + 1]]`, numbers below `total`."""

    indptr: Ints
    people: Codes
    total: int

    @classmethod
    def of(cls, group: Ints, groups: int, person: Codes, total: int) -> Owners:
        """Of (group, person) pairs, which may repeat."""
        pairs = distinct(group.astype(np.int64) * total + person)
        of_group, people = np.divmod(pairs, max(total, 1))
        return cls(tallied_offsets(of_group, groups), people.astype(_ID), total)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @cached_property
    def sizes(self) -> Ints:
        """The distinct people of each group."""
        return np.diff(self.indptr)

    @cached_property
    def group(self) -> Ints:
        """The group of each entry."""
        return rows_of(self.indptr)

    def merged(self, order: Codes | Ints, starts: Ints) -> Owners:
        """Of coarser groups: group g is made of the finer ones order[starts[g]:...]."""
        from sfumato.counts.kernel import merge_owners

        return Owners(
            *merge_owners(order, starts, self.indptr, self.people, self.total), self.total
        )

    def sizes_of(self, order: Ints, starts: Ints, rows: Ints) -> Ints:
        """The distinct people of such groups, of so many rows each, alone."""
        from sfumato.counts.kernel import count_owners

        return count_owners(order, starts, rows, self.indptr, self.people, self.total)

    def by_value(
        self, order: Ints, starts: Ints, value: Codes, cells: tuple[Ints, Codes, Ints], width: int
    ) -> tuple[Ints, Codes, Ints]:
        """The distinct people of such groups by value: `value` is that of each finer group, and
        `cells` the rows of each group by value."""
        from sfumato.counts.kernel import count_owners_by_value

        whose = self.indptr, self.people, self.total
        indptr, indices, rows = cells
        return (
            indptr,
            indices,
            count_owners_by_value(order, starts, value, indptr, indices, rows, *whose, width),
        )

    def merge(self, number: Ints, groups: int) -> Owners:
        """Groups put together: group g becomes part of group `number[g]`."""
        return Owners.of(number[self.group], groups, self.people, self.total)

    def take(self, kept: Ints) -> Owners:
        """Of some of the groups, by their positions."""
        indptr, places = taken_rows(self.indptr, kept)
        return Owners(indptr, self.people[places], self.total)


@dataclass(frozen=True)
class ValueOwners:
    """The distinct (person, value) pairs of each group; `value` is that of each pair's number."""

    pairs: Owners
    value: Codes
    width: int

    def cells(self) -> tuple[Ints, Codes, Ints]:
        """How many people of each group have each value, sparse; compiled."""
        from sfumato.counts.kernel import count_values

        return count_values(self.pairs.indptr, self.pairs.people, self.value, self.width)

    def merged(self, order: Codes | Ints, starts: Ints) -> ValueOwners:
        """Of coarser groups, as `Owners.merged`."""
        return ValueOwners(self.pairs.merged(order, starts), self.value, self.width)


def owners_below(counts: Counts) -> int:
    """People of a table are numbered below this."""
    assert counts.owner is not None
    return int(counts.owner.max(initial=-1)) + 1


def pairs_of(counts: Counts, attribute: int) -> tuple[Codes, Codes]:
    """The number of each row's (person, value) pair, and the value of each pair."""
    known = counts.value_pairs
    if attribute not in known:
        assert counts.owner is not None
        width = max(len(counts.sensitive[attribute].domain), 1)
        value = np.repeat(counts.values[attribute], counts.n)
        key = counts.owner.astype(np.int64) * width + value
        order = in_order(key)
        first = np.diff(key[order], prepend=-1) > 0
        pair = np.empty(len(key), dtype=_ID)
        pair[order] = np.cumsum(first) - 1
        known[attribute] = pair, (key[order][first] % width).astype(_ID)
    return known[attribute]


def row_by_row(counts: Counts) -> Counts:
    """Every row a tuple of its own, in the order of their owners, who are told apart no more."""
    at = np.repeat(np.arange(len(counts)), counts.n)
    ones = np.ones(len(at), dtype=np.int64)
    codes, values = counts.codes[:, at], counts.values[:, at]
    return replace(counts, codes=codes, values=values, n=ones, owner=None, extra_memberships=0)


def tuple_owners(counts: Counts) -> Owners:
    """The owners of each tuple's rows; somebody may stand there more than once."""
    assert counts.owner is not None
    return Owners(offsets_of(counts.n), counts.owner, owners_below(counts))


def tuple_values(counts: Counts, attribute: int) -> ValueOwners:
    """The same with each one's value of an attribute."""
    pair, value = pairs_of(counts, attribute)
    pairs = Owners(offsets_of(counts.n), pair, len(value))
    return ValueOwners(pairs, value, len(counts.sensitive[attribute].domain))
