"""The closed forms of `kernel.py` in fractions, for what floating point cannot decide.

Only groups whose factor lies within 1e-9 of the minimum are looked at, and of equal ones one.
Numbers of more than a hundred thousand bits are not worked out: undecided, which is unsafe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import comb, inf, prod

import numpy as np

from sfumato.adversaries.skyline.breach import AIDED, BARE, KIN, KIN_AIDED, NEAR, OWN, Case, factors
from sfumato.counts.counts import rank_rows
from sfumato.numbers import Floats, Ints
from sfumato.release.groups import Groups

Odds = Fraction | float  # a fraction, or infinity
MOST_BITS = 100_000
MOST_SHAPES = 10_000


def doubt(n: int, a: int, others: Iterable[int], k: int, case: Case) -> Odds:
    """T(l, k), `others` being the counts of the l most frequent other values, or c(l) of lists."""
    if a == 0:
        return inf
    if case == "single":
        return Fraction(max(n - a - sum(others) - k, 0), a)
    if case == "lists":
        (left,) = others
        return Fraction(left * (n - a - k), a * (n - a)) if n - a > k else Fraction(0)
    if case == "set":
        spared = prod((Fraction(n - o, n) for o in others), start=Fraction(1))
        return Fraction(max(n - a - k, 0), a) * spared
    if k >= n - 1:
        return Fraction(0)
    stay, all_ = (n - k - 1) ** a, (n - k) ** a
    return Fraction(stay, all_ - stay) * Fraction(n - 1, n) ** sum(others)


def kin(n: int, a: int, m: int, k: int, case: Case) -> Fraction:
    """V(m, k)."""
    if a == 0 or m == 0:
        return Fraction(1)
    people = n - k
    if case == "multiset":
        return Fraction(max(people - m, 0), people) ** a if people > 0 else Fraction(0)
    return Fraction(comb(people - a, m), comb(people, m)) if people - a >= m else Fraction(0)


def exact_factor(factor: int, shape: Ints, k: int, m: int, case: Case) -> Odds:
    """One of the five factors of a group of a shape: n, a and its largest other counts, or c(l)."""
    n, a, *others = (int(number) for number in shape)
    if factor == OWN:
        left = doubt(n, a, others, k, case)
        return left * kin(n, a, m, k + 1, case) if left > 0 else left
    if factor in (BARE, AIDED):
        return doubt(n, a, others, k if factor == AIDED else 0, case)
    return kin(n, a, m, k if factor == KIN_AIDED else 0, case)


def combine(least: Callable[[int], Odds]) -> Odds:
    """The odds from the minimum of each factor."""
    return min(least(OWN), least(BARE) * least(KIN_AIDED), least(AIDED) * least(KIN))


def compare(
    groups: Groups, target: int, point: Ints, case: Case, least: Floats, bound: Fraction
) -> int | None:
    """The sign of (odds - bound) at one column, or None if it is too large to be worked out."""
    shapes = nearest(groups, target, point, case, least)
    return compare_shapes(shapes, int(point[1]), int(point[2]), case, bound)


def compare_shapes(
    nearest_shapes: Mapping[int, Ints], k: int, m: int, case: Case, bound: Fraction
) -> int | None:
    """The same from the shapes that attain the minimum of each factor."""
    found: dict[int, Odds] = {}
    for factor, shapes in nearest_shapes.items():
        if len(shapes) > MOST_SHAPES or any(_bits(shape, m, case) > MOST_BITS for shape in shapes):
            return None
        found[factor] = min(exact_factor(factor, shape, k, m, case) for shape in shapes)
    gap = combine(found.__getitem__) - bound
    return (gap > 0) - (gap < 0)


def nearest(groups: Groups, target: int, point: Ints, case: Case, least: Floats) -> dict[int, Ints]:
    """The distinct shapes of the groups that attain the minimum of each factor, or nearly so."""
    kept: list[list[Ints]] = [[] for _ in range(5)]
    limits = least * (1 + NEAR)
    for start, stop in groups.blocks():
        block = factors(groups, [target], [point], case, start, stop)[:, 0]
        for factor in range(5):
            some = start + np.flatnonzero(block[:, factor] <= limits[factor])
            kept[factor].append(_distinct(_shapes(groups, some, target, int(point[0]), case)))
    return {factor: _distinct(np.concatenate(kept[factor])) for factor in range(5)}


def _shapes(groups: Groups, some: Ints, target: int, facts: int, case: Case) -> Ints:
    if case == "lists":
        from sfumato.adversaries.skyline.whole_lists import MOST_LOOKS, spared_lists, stored

        return spared_lists(stored(groups), some, target, np.array([facts]), MOST_LOOKS)[0]
    from sfumato.adversaries.skyline.kernel import shapes

    most = min(facts, groups.width)
    return shapes(groups.indptr, groups.indices, groups.data, groups.sizes, some, target, most)


def _distinct(shapes: Ints) -> Ints:
    """Every shape once; millions of groups may attain a minimum."""
    if not len(shapes):
        return shapes
    _, first = rank_rows(shapes.T, [int(column.max()) + 1 for column in shapes.T])
    return shapes[first]


def _bits(shape: Ints, m: int, case: Case) -> float:
    """How large the numbers of a shape's fractions get, roughly."""
    n, a, *others = (int(number) for number in shape)
    powers = a + sum(others) if case == "multiset" else len(others) + min(m, n)
    return powers * float(np.log2(n + 1))
