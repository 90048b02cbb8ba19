"""Deciding a bound where floating point cannot: groups within 1e-9 of it are decided exactly.

Counts are whole numbers and thresholds are decimals somebody wrote, so almost every comparison
can be made in integers: 0.2 is one fifth. What cannot be decided even so counts
as unsafe. Groups with equal counts are decided once.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from math import gcd

import numpy as np

from sfumato.criteria.base import Sense
from sfumato.numbers import Bools, Floats, Ints
from sfumato.release.groups import Groups

NEAR = 1e-9


def decide(
    groups: Groups,
    measured: Floats,
    bound: float,
    sense: Sense,
    compare: Callable[[int], int | None],
    against: Ints | None = None,
) -> tuple[Floats, Bools]:
    """Which groups keep the bound, and their values with exact ties set to the bound itself.

    `compare(g)` is the exact sign of (measured - bound) for group g, or None if undecidable.
    `against` numbers what each group is compared with, where that is not the same for all.
    """
    with np.errstate(invalid="ignore"):
        above, below = measured > bound, measured < bound
        near = np.flatnonzero(np.abs(measured - bound) <= NEAR * max(1.0, abs(bound)))
    good = above.copy() if sense in ("at_least", "above") else below.copy()
    values = measured.copy()
    known: dict[tuple[int, int, bytes, bytes], int | None] = {}
    for g in near.tolist():
        low, high = groups.indptr[g], groups.indptr[g + 1]
        key = (
            0 if against is None else int(against[g]),
            int(groups.sizes[g]),
            groups.indices[low:high].tobytes(),
            groups.data[low:high].tobytes(),
        )
        if key not in known:
            known[key] = compare(g)
        sign = known[key]
        good[g] = (
            sign is not None
            and {
                "at_least": sign >= 0,
                "above": sign > 0,
                "at_most": sign <= 0,
                "below": sign < 0,
            }[sense]
        )
        if sign == 0:
            values[g] = bound
    return values, good


def sign(difference: Fraction | int) -> int:
    return (difference > 0) - (difference < 0)


def entropy_sign(counts: list[int], least: Fraction) -> int | None:
    """The sign of exp(H) - l for a group's counts: N^N against l^N * prod n_i^n_i, in integers."""
    shared = gcd(*counts)
    reduced = [n // shared for n in counts]
    total = sum(reduced)
    if total <= 20_000:
        left = total**total * least.denominator**total
        right = least.numerator**total
        for n in reduced:
            right *= n**n
        return sign(left - right)
    with localcontext() as context:
        context.prec = 60
        logs = Decimal(total).ln() * total - sum(Decimal(n).ln() * n for n in reduced)
        bound = (Decimal(least.numerator).ln() - Decimal(least.denominator).ln()) * total
        gap = logs - bound
        return None if abs(gap) < Decimal(10) ** -40 else sign(Fraction(gap))
