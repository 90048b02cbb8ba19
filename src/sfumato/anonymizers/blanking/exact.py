"""The least that must be blanked in a small table: every way of putting its people together.

Whoever shows one description agrees in the columns that are not blank, so what is published is a
partition of people, and a group costs its people times the weights of the columns in which they
differ. People of one tuple with the same sensitive values are of one *kind*, and only how many of
each kind a group has matters. Every such group is judged by the criteria themselves; then the
cheapest partition of the first so many of each kind follows from those of fewer: of the people who
are left, somebody of the first kind is in some group, and each of these is tried (dynamic
programming; for people who are all different, over all subsets).

Stands apart: importing the compiler is slow.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.compiled import kernel
from sfumato.numbers import Bools, Codes, Floats, Ints

MOST_PAIRS = 30_000_000  # of a set of people and a group inside it
MOST_SETS = 1 << 17


def is_small(n: Ints) -> bool:
    """Whether kinds of so many people each can be gone through."""
    many = n.astype(np.float64)
    pairs, sets = np.log((many + 1) * (many + 2) / 2).sum(), np.log(many + 1).sum()
    return bool(pairs <= np.log(MOST_PAIRS) and sets <= np.log(MOST_SETS))


def sets_of(n: Ints) -> Ints:
    """How many of each kind (a row) every set of people (a column) has; the empty set first."""
    total = int(np.prod(n + 1))
    numbers, rows = np.arange(total), []
    for many in n[::-1]:  # the first kind counts most, so that a set comes after all its parts
        numbers, digit = np.divmod(numbers, many + 1)
        rows.append(digit)
    return np.array(rows[::-1], dtype=np.int64)


def differing(sets: Ints, codes: Codes) -> Bools:
    """In which columns (rows) the people of each set differ; kind i has `codes[:, i]`."""
    there = sets > 0
    rows = []
    for labels in codes:
        high = np.where(there, labels[:, None], -1).max(axis=0)
        low = np.where(there, labels[:, None], np.iinfo(np.int32).max).min(axis=0)
        rows.append(low < high)
    return np.array(rows)


def cheapest_partition(
    n: Ints, codes: Codes, weights: Floats, may_be: Callable[[Ints, Bools], Bools]
) -> Ints | None:
    """The groups (columns) of least cost: how many of each kind (rows); None where none will do.

    `may_be` tells of sets of people, with the columns they differ in, which may be a group.
    """
    sets = sets_of(n)
    blank = differing(sets, codes)
    cost = (weights @ blank) * sets.sum(axis=0)
    fine = np.zeros(sets.shape[1], dtype=bool)
    fine[1:] = may_be(sets[:, 1:], blank[:, 1:])
    strides = np.append(np.cumprod((n + 1)[::-1])[::-1][1:], 1).astype(np.int64)
    chosen = _partition(sets, strides, np.where(fine, cost, np.inf))
    last = sets.shape[1] - 1
    if chosen[last] < 0:
        return None
    groups = []
    while last > 0:
        groups.append(sets[:, chosen[last]])
        last -= int(chosen[last])  # the number of what is left: digits never borrow
    return np.array(groups).T


@kernel
def _partition(sets: Ints, strides: Ints, cost: Floats) -> Ints:
    """Of each set the group to be taken first in its cheapest partition, -1 where there is none."""
    kinds, total = sets.shape
    best = np.full(total, np.inf)
    chosen = np.full(total, -1, np.int64)
    best[0] = 0.0
    inside = np.zeros(kinds, np.int64)
    for whole in range(1, total):
        first = 0
        while sets[first, whole] == 0:
            first += 1
        inside[:] = 0
        inside[first] = 1
        group = strides[first]
        while True:
            spent = cost[group] + best[whole - group]
            if spent < best[whole] - 1e-12:
                best[whole] = spent
                chosen[whole] = group
            place = kinds - 1
            while place >= first and inside[place] == sets[place, whole]:
                fewest = 1 if place == first else 0
                group -= (inside[place] - fewest) * strides[place]
                inside[place] = fewest
                place -= 1
            if place < first:
                break
            inside[place] += 1
            group += strides[place]
    return chosen
