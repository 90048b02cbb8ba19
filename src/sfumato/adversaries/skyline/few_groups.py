"""The closed forms of `kernel.py` for few groups of people with one value each, in NumPy.

Compiling takes seconds, once an installation; what is asked of a small release takes milliseconds.
So these serve until they have taken as long as compiling would. Digit by digit they find the same:
the same operations, in the same order.
"""

from __future__ import annotations

import time

import numpy as np

from sfumato.adversaries.skyline.breach import AIDED, BARE, KIN, KIN_AIDED, OWN
from sfumato.numbers import Floats, Ints
from sfumato.release.groups import Groups

_PATIENCE = 1.0  # seconds, of a process: then compiled code pays
_MOST_CELLS = 1 << 18  # counts to look at for one question
_MOST_KIN = 64  # factors of a product
_spent = 0.0


def fits(groups: Groups, known: Ints) -> bool:
    """Whether these should be asked: a little work of a process that has done little of it."""
    small = len(groups.data) <= _MOST_CELLS and int(known[:, 2].max(initial=0)) <= _MOST_KIN
    return small and _spent < _PATIENCE


def give_way() -> None:
    """Compiled code from now on, for whoever times it."""
    global _spent
    _spent = _PATIENCE


def fill(
    groups: Groups, start: int, stop: int, targets: Ints, points: Ints, out: Floats, reduce: bool
) -> None:
    """The factors of groups start..stop, as `kernel.fill` writes them."""
    global _spent
    began = time.perf_counter()
    low, high = groups.indptr[start], groups.indptr[stop]
    codes = groups.indices[low:high]
    for p, (target, (facts, k, m)) in enumerate(
        zip(targets.tolist(), points.tolist(), strict=True)
    ):
        cell = low + np.flatnonzero(codes == target)
        if not len(cell):
            continue
        group, a = groups.row[cell], groups.data[cell]
        n = groups.sizes[group]
        others = _beside(groups, group, a, facts)
        with_k = _kin(n, a, m, k)
        aided = _doubt(n, a, k, others)
        factors = np.empty((len(cell), 5))
        factors[:, OWN] = np.where(aided > 0.0, aided * _kin_of_one_more(with_k, n, a, m, k), 0.0)
        factors[:, BARE] = _doubt(n, a, 0, others)
        factors[:, KIN_AIDED] = with_k
        factors[:, AIDED] = aided
        factors[:, KIN] = _kin(n, a, m, 0)
        if reduce:
            out[0, p] = np.minimum(out[0, p], factors.min(axis=0))
        else:
            out[group - start, p] = np.minimum(out[group - start, p], factors)
    _spent += time.perf_counter() - began


def shapes_of(groups: Groups, group_numbers: Ints, target: int, most: int) -> Ints:
    """All that the closed forms read of some groups: n, a, `most` other counts."""
    if len(groups.data) <= _MOST_CELLS and _spent < _PATIENCE:
        return shapes(groups, group_numbers, target, most)
    from sfumato.adversaries.skyline import kernel

    stored = (groups.indptr, groups.indices, groups.data, groups.sizes)
    return kernel.shapes(*stored, group_numbers, target, most)


def shapes(groups: Groups, group_numbers: Ints, target: int, most: int) -> Ints:
    """The same in NumPy."""
    global _spent
    began = time.perf_counter()
    out = np.zeros((len(group_numbers), 2 + most), dtype=np.int64)
    having = np.zeros(len(groups), dtype=np.int64)
    cell = np.flatnonzero(groups.indices == target)
    having[groups.row[cell]] = groups.data[cell]
    out[:, 0], out[:, 1] = groups.sizes[group_numbers], having[group_numbers]
    if most == 0 or not len(group_numbers) or not len(groups.data):
        return out
    place = np.arange(most + 1)
    there = place < groups.distinct[group_numbers][:, None]
    where = np.minimum(groups.indptr[group_numbers][:, None] + place, len(groups.data) - 1)
    largest = np.where(there, groups.descending[where], 0)
    own = (largest == out[:, 1, None]) & there  # the target itself, or one as frequent
    first = np.where(own.any(axis=1), own.argmax(axis=1), most + 1)
    kept = place[:-1] + (place[:-1] >= first[:, None])
    out[:, 2:] = np.take_along_axis(largest, kept, axis=1)
    _spent += time.perf_counter() - began
    return out


def _beside(groups: Groups, group: Ints, a: Ints, facts: int) -> Ints:
    """The sum of the l largest counts of each group beside the target's own."""
    if facts == 0:
        return np.zeros(len(group), dtype=np.int64)
    begin, distinct, descending = groups.indptr[group], groups.distinct[group], groups.descending
    before = np.append(0, np.cumsum(descending))
    next_one = descending[np.minimum(begin + facts, len(descending) - 1)]
    rarer = (facts < distinct) & (a < next_one)  # than the l largest
    largest = (
        before[begin + np.minimum(np.where(rarer, facts, facts + 1), distinct)] - before[begin]
    )
    summed: Ints = np.where(rarer, largest, largest - a)
    return summed


def _doubt(n: Ints, a: Ints, k: int, others: Ints) -> Floats:
    """T(l, k)."""
    left = n - a - others - k
    return np.where(left > 0, left / a, 0.0)


def _kin(n: Ints, a: Ints, m: int, k: int) -> Floats:
    """V(m, k)."""
    product = np.ones(len(n))
    if m == 0:
        return product
    people = n - k
    left = people - a
    start, terms = np.where(a < m, people - m, left), np.minimum(a, m)
    with np.errstate(divide="ignore", invalid="ignore"):
        for i in range(m):
            product = np.where(i < terms, product * ((start - i) / (people - i)), product)
    return np.where(left < m, 0.0, product)


def _kin_of_one_more(before: Floats, n: Ints, a: Ints, m: int, k: int) -> Floats:
    """V(m, k + 1), from V(m, k)."""
    if m == 0:
        return np.ones(len(n))
    people = n - k
    left = people - a
    with np.errstate(divide="ignore", invalid="ignore"):
        one_more = before * ((left - m) / left) * (people / (people - m))
    return np.where(left <= m, 0.0, one_more)
