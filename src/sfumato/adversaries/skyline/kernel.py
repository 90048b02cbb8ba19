"""The closed forms of one group, and one pass over all groups for many questions; compiled.

Of a group's n people, a have the target value. `doubt` is the paper's T(l, k): the odds against
the target having it, when l facts about the target and k about others of the group are known.
`kin` is V(m, k): the share of worlds in which none of m family members has it, k others being
known. A `column` is one question: a target value and a point (l, k, m). Its five factors in one
group are

    OWN        doubt(l, k) * kin(m, k + 1): everything known is about the target's own group
    BARE       doubt(l, 0)                  } the people known are in the family's group,
    KIN_AIDED  kin(m, k)                    } not in the target's
    AIDED      doubt(l, k)                  } the people known are in the target's group,
    KIN        kin(m, 0)                    } the family elsewhere

A group without the target value has infinite doubt and kin 1. Any numerator that is not positive
makes the whole factor zero: negative over negative would look positive.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.adversaries.skyline.breach import (
    AIDED,
    BARE,
    KIN,
    KIN_AIDED,
    MULTISET,
    OWN,
    SET,
    SINGLE,
)
from sfumato.compiled import Int, inner, kernel
from sfumato.numbers import Codes, Floats, Ints


@inner
def doubt(n: int, a: int, k: Int, summed: int, spared: float, case: int) -> float:
    """T(l, k). Of the l most frequent other values o: `summed` is sum(o), `spared` the product of
    (n - o) / n."""
    if a == 0:
        return math.inf
    if case == SINGLE:
        left = n - a - summed - k
        return left / a if left > 0 else 0.0
    if case == SET:
        left = n - a - k
        return left / a * spared if left > 0 else 0.0
    if k >= n - 1:
        return 0.0
    # r / (1 - r) with r = (1 - 1 / (n - k)) ** a, without losing 1 - r where r is near 1.
    return math.exp(summed * math.log1p(-1.0 / n)) / math.expm1(-a * math.log1p(-1.0 / (n - k)))


@inner
def kin(n: int, a: int, m: int, k: Int, case: Int) -> float:
    """V(m, k)."""
    if a == 0 or m == 0:
        return 1.0
    people = n - k
    if case == MULTISET:
        return math.exp(a * math.log1p(-m / people)) if people > m else 0.0
    left = people - a
    if left < m:
        return 0.0
    # C(left, m) / C(people, m) = C(people - m, a) / C(people, a): the shorter product.
    start, terms = (people - m, a) if a < m else (left, m)
    product = 1.0
    for i in range(terms):
        product *= (start - i) / (people - i)
    return product


@inner
def kin_of_one_more(before: float, n: int, a: int, m: int, k: int, case: int) -> float:
    """V(m, k + 1), from V(m, k) where that is shorter."""
    people = n - k
    if case == MULTISET or a == 0 or m == 0:
        return kin(n, a, m, k + 1, case)
    left = people - a
    if left <= m:
        return 0.0
    return before * ((left - m) / left) * (people / (people - m))


L, K, M = range(3)
NOBODY = np.int64(0)  # are known; a number written down is compiled as a type of its own
TALLIED = 128  # counts below it
SEEN = 64


@inner
def leading(data: Ints, low: int, high: int, top: Ints, tally: Ints) -> int:
    """The largest of `data[low:high]`, descending, into `top`; returns how many.

    Most groups hold small counts, which are tallied in `tally` (all zero, and left so): several
    times faster than sorting them.
    """
    filled, room, most = 0, len(top), 0
    for place in range(low, high):
        count = data[place]
        if count < len(tally):
            tally[np.uint64(count)] += 1  # unsigned: Numba need not look for negative places
            most = max(most, count)
        elif filled < room or count > top[filled - 1]:
            at = filled if filled < room else room - 1
            while at > 0 and top[at - 1] < count:
                top[at] = top[at - 1]
                at -= 1
            top[at] = count
            filled = min(filled + 1, room)
    while most > 0:
        for _ in range(min(tally[np.uint64(most)], room - filled)):
            top[filled] = most
            filled += 1
        tally[np.uint64(most)] = 0
        most -= 1
    return filled


@inner
def by_target(targets: Ints, width: int) -> tuple[Ints, Ints]:
    """The columns about each value: value v has `columns[first[v]:first[v + 1]]`."""
    first = np.zeros(width + 1, np.int64)
    for target in targets:
        first[target + 1] += 1
    for value in range(width):
        first[value + 1] += first[value]
    to, columns = first.copy(), np.empty(len(targets), np.int64)
    for p in range(len(targets)):
        columns[to[targets[p]]] = p
        to[targets[p]] += 1
    return first, columns


@inner
def add_up(top: Ints, filled: int, n: int, case: int, summed: Ints, spared: Floats) -> None:
    """Of the i largest counts: their sum, and the product of (n - count) / n, for every i."""
    for place in range(filled):
        summed[place + 1] = summed[place] + top[place]
        if case == SET:
            spared[place + 1] = spared[place] * ((n - top[place]) / n)


@inner
def beside(
    a: int, facts: int, n: int, top: Ints, filled: int, case: int, summed: Ints, spared: Floats
) -> tuple[int, float]:
    """The same of the l largest counts beside the target's own, a."""
    if facts == 0:
        return 0, 1.0
    if facts < filled and a < top[facts]:
        return summed[facts], spared[facts]
    most = min(facts + 1, filled)  # the target is among the l + 1 largest: leave it out
    return summed[most] - a, spared[most] / ((n - a) / n) if case == SET and a < n else 1.0


@inner
def remember(n: int, a: int, k: int, m: int, case: int, seen: Ints, kins: Floats) -> bool:
    """V(m, 0), V(m, k) and V(m, k + 1) of (n, a), at place a % SEEN; False if still there.

    Groups of one size are frequent, and V is the long part.
    """
    place = a % SEEN
    if seen[place, 0] == n and seen[place, 1] == a:
        return False
    seen[place, 0], seen[place, 1] = n, a
    with_k = kin(n, a, m, k, case)
    kins[place, 0] = with_k if k == 0 else kin(n, a, m, NOBODY, case)
    kins[place, 1] = with_k
    kins[place, 2] = kin_of_one_more(with_k, n, a, m, k, case)
    return True


@kernel
def fill(
    indptr: Ints,
    indices: Codes,
    data: Ints,
    sizes: Ints,
    start: int,
    stop: int,
    width: int,
    targets: Ints,
    points: Ints,
    case: int,
    out: Floats,
    reduce: bool,
) -> None:
    """The factors of groups start..stop into `out[group - start, column]`.

    With `reduce` every group goes to `out[0]`: five running minima per column, whatever the number
    of groups. `out` comes filled with what a group without the target value has.
    """
    first, columns = by_target(targets, width)
    longest = points[:, L].max()
    room = min(longest + 1, width)
    top, tally = np.empty(room, np.int64), np.zeros(TALLIED, np.int64)
    summed, spared = np.zeros(room + 1, np.int64), np.ones(room + 1, np.float64)
    seen, kins = np.zeros((len(targets), SEEN, 2), np.int64), np.empty((len(targets), SEEN, 3))
    for g in range(start, stop):
        low, high, n = indptr[g], indptr[g + 1], sizes[g]
        row = 0 if reduce else g - start
        filled = leading(data, low, high, top, tally) if longest > 0 else 0
        add_up(top, filled, n, case, summed, spared)
        for at in range(low, high):
            target, a = indices[at], data[at]
            for column in range(first[target], first[target + 1]):
                p = columns[column]
                facts, k, m = points[p, L], points[p, K], points[p, M]
                others, share = beside(a, facts, n, top, filled, case, summed, spared)
                remember(n, a, k, m, case, seen[p], kins[p])
                place = a % SEEN
                alone, with_k, one_more = kins[p, place, 0], kins[p, place, 1], kins[p, place, 2]
                bare = doubt(n, a, NOBODY, others, share, case)
                aided = bare if k == 0 else doubt(n, a, k, others, share, case)
                own = aided * one_more if aided > 0.0 else 0.0
                out[row, p, OWN] = min(out[row, p, OWN], own)
                out[row, p, BARE] = min(out[row, p, BARE], bare)
                out[row, p, KIN_AIDED] = min(out[row, p, KIN_AIDED], with_k)
                out[row, p, AIDED] = min(out[row, p, AIDED], aided)
                out[row, p, KIN] = min(out[row, p, KIN], alone)


@inner
def place_of(target: int, indices: Codes, low: int, high: int) -> int:
    """Where a group's count of a value is stored, -1 if nowhere."""
    guess = low + target  # its place in a group that shows every value
    if guess < high and indices[guess] == target:
        return guess
    for at in range(low, high):
        if indices[at] == target:
            return at
    return -1


@kernel
def scan(
    indptr: Ints,
    indices: Codes,
    data: Ints,
    sizes: Ints,
    start: int,
    stop: int,
    width: int,
    target: int,
    point: Ints,
    case: int,
    out: Floats,
) -> None:
    """The running minima of one column into `out`: what `fill` finds, faster for few columns.

    The l largest counts are the costly part. For any level t their sum is at most l * t and what
    counts exceed t by, which is quick to add up; where even that leaves every minimum as it is,
    they are not sought. The level is the l-th largest count of the last group where they were.
    """
    facts, k, m = point[L], point[K], point[M]
    room = min(facts + 1, width)
    top, tally = np.empty(room, np.int64), np.zeros(TALLIED, np.int64)
    summed, spared = np.zeros(room + 1, np.int64), np.ones(room + 1, np.float64)
    seen, kins = np.zeros((SEEN, 2), np.int64), np.empty((SEEN, 3))
    own, bare, with_k, aided, alone = out[OWN], out[BARE], out[KIN_AIDED], out[AIDED], out[KIN]
    filled = level = 0
    for g in range(start, stop):
        low, high, n = indptr[g], indptr[g + 1], sizes[g]
        at = place_of(target, indices, low, high)
        if at < 0:
            continue
        a = data[at]
        place = a % SEEN
        if remember(n, a, k, m, case, seen, kins):
            alone, with_k = min(alone, kins[place, 0]), min(with_k, kins[place, 1])
        one_more = kins[place, 2]
        if facts > 0:
            most = facts * level - max(a - level, 0)
            for other in range(low, high):
                most += data[other] - level if data[other] > level else 0
            share = max(1.0 - most / n, 0.0)  # at most what a product of shares comes to
            doubt_k = doubt(n, a, k, most, share, case)
            if (
                doubt_k >= aided
                and doubt_k * one_more >= own
                and doubt(n, a, NOBODY, most, share, case) >= bare
            ):
                continue
            filled = leading(data, low, high, top, tally)
            level = top[min(facts, filled) - 1]
            add_up(top, filled, n, case, summed, spared)
        others, share = beside(a, facts, n, top, filled, case, summed, spared)
        doubt_k = doubt(n, a, k, others, share, case)
        bare = min(bare, doubt(n, a, NOBODY, others, share, case))
        aided, own = min(aided, doubt_k), min(own, doubt_k * one_more if doubt_k > 0.0 else 0.0)
    out[OWN], out[BARE], out[KIN_AIDED], out[AIDED], out[KIN] = own, bare, with_k, aided, alone


@kernel
def shapes(
    indptr: Ints,
    indices: Codes,
    data: Ints,
    sizes: Ints,
    group_numbers: Ints,
    target: int,
    most: int,
) -> Ints:
    """All that the closed forms read of some groups: n, a, `most` other counts."""
    out = np.zeros((len(group_numbers), 2 + most), np.int64)
    top, tally = np.empty(most + 1, np.int64), np.zeros(TALLIED, np.int64)
    for row in range(len(group_numbers)):
        low, high = indptr[group_numbers[row]], indptr[group_numbers[row] + 1]
        out[row, 0] = sizes[group_numbers[row]]
        for at in range(low, high):
            if indices[at] == target:
                out[row, 1] = data[at]
        a, filled, to = out[row, 1], leading(data, low, high, top, tally), 2
        for place in range(filled):
            if top[place] == a:  # the target itself, or one as frequent
                a = 0
            elif to < 2 + most:
                out[row, to] = top[place]
                to += 1
    return out
