"""Count rules: what a criterion of scope "group" asks of one group's counts, in a form that
compiled searches test millions of times a second.

A search that moves one person at a time cannot afford `holds`, which is made for many groups at
once and decides ties in fractions. Most criteria come down to few kinds of inequalities between
sums of counts and the size of the group; `GroupCriterion.count_rules` tells them, and a search
packs those of all criteria into one table for its kernel. Rules are compared in floating point: a
group on the bound passes, so whoever searches by them judges what it found by the criteria
themselves.

`y` below stands for the sums of a rule, one for each entry of `sums` (the codes of values whose
counts are added up), `N` for the people of the group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from sfumato.numbers import Bools, Floats


class RuleKind(IntEnum):
    """What is asked; `numbers` are what the inequality needs, sum after sum where it says so."""

    FEWEST = 0  # N >= numbers[0]
    UPPER = 1  # of each sum above 0, six numbers a b c d e f: y (d N + e) <= a N^2 + b N + c
    LOWER = 2  # of each sum, six numbers: y (d N + e) >= a N^2 + b N + c
    DISTANCE = 3  # t, then q of each sum: the sum of |y - q N| <= t N
    SQUARES = 4  # t, then q of each sum: the sum of (y - q N)^2 <= t N^2
    ENTROPY = 5  # low, high: the entropy of y in nats lies between
    DISTINCT = 6  # at least numbers[0] sums are above 0
    TAIL = 7  # c, l: the largest y < c times what all but the l - 1 largest add up to


@dataclass(frozen=True)
class CountRule:
    """One rule. `running`: each sum takes in all sums before it. `strict`: the bound itself fails.

    The sixth number of an UPPER or LOWER sum, f, is 1 where y is N less the counts summed: the
    people who have none of these values.
    """

    kind: RuleKind
    sums: tuple[tuple[int, ...], ...] = ()
    numbers: tuple[float, ...] = ()
    running: bool = False
    strict: bool = False


def fewest(people: int) -> CountRule:
    """At least so many people."""
    return CountRule(RuleKind.FEWEST, numbers=(float(people),))


def each_value(width: int) -> tuple[tuple[int, ...], ...]:
    """Every value's count by itself."""
    return tuple((code,) for code in range(width))


def largest_shares(shares: npt.ArrayLike, *, strict: bool = False) -> CountRule:
    """No value's count is above this share of the group."""
    listed = np.asarray(shares, dtype=np.float64)
    numbers = [(0.0, share, 0.0, 0.0, 1.0, 0.0) for share in listed.tolist()]
    return CountRule(RuleKind.UPPER, each_value(len(listed)), _flat(numbers), strict=strict)


def least_shares(shares: npt.ArrayLike, *, strict: bool = False) -> CountRule:
    """No value's count is below this share of the group; a share of 0 asks nothing."""
    listed = np.asarray(shares, dtype=np.float64)
    asked = np.flatnonzero(listed > 0).tolist()
    numbers = [(0.0, listed[code], 0.0, 0.0, 1.0, 0.0) for code in asked]
    return CountRule(
        RuleKind.LOWER, tuple((code,) for code in asked), _flat(numbers), strict=strict
    )


def present(codes: Sequence[int]) -> CountRule:
    """Somebody has each of these values."""
    sums = tuple((code,) for code in codes)
    return CountRule(RuleKind.LOWER, sums, _flat([(0.0, 0.0, 1.0, 0.0, 1.0, 0.0)] * len(sums)))


def absent(codes: Sequence[int]) -> CountRule:
    """Nobody has any of these values."""
    sums = tuple((code,) for code in codes)
    return CountRule(RuleKind.UPPER, sums, _flat([(0.0, 0.0, 0.0, 0.0, 1.0, 0.0)] * len(sums)))


def near(
    kind: RuleKind,
    sums: Iterable[Sequence[int]],
    expected: Floats,
    most: float,
    *,
    running: bool = False,
) -> CountRule:
    """DISTANCE or SQUARES between the shares of sums and the expected ones."""
    listed = tuple(tuple(int(code) for code in codes) for codes in sums)
    return CountRule(kind, listed, (float(most), *map(float, expected)), running)


def flows(placed: Bools, expected: Floats, most: float) -> list[CountRule]:
    """The earth mover's distance along the order of the placed values; nobody has another one."""
    places = np.flatnonzero(placed)
    # What flows past each place: the people up to it less those expected there.
    sums, shares = places[:-1, None].tolist(), np.cumsum(expected[places])[:-1]
    work = near(RuleKind.DISTANCE, sums, shares, most * max(len(places) - 1, 1), running=True)
    return [work, absent(np.flatnonzero(~placed).tolist())]


def _flat(numbers: Sequence[Sequence[float]]) -> tuple[float, ...]:
    return tuple(float(number) for row in numbers for number in row)
