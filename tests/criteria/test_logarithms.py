"""The sign of sums of logarithms: exact where floats cannot tell."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from sfumato.criteria.leakage import log_sign

terms = st.lists(
    st.tuples(st.fractions(-3, 3, max_denominator=6), st.integers(1, 40)), min_size=1, max_size=6
)


@given(terms)
def test_as_whole_numbers_say(listed: list[tuple[Fraction, int]]) -> None:
    """sum of (p/q) log n has the sign of the product of n^(p Q/q) against 1."""
    scale = math.lcm(*(factor.denominator for factor, _ in listed))
    left = right = 1
    for factor, number in listed:
        power = int(factor * scale)
        if power >= 0:
            left *= number**power
        else:
            right *= number**-power
    assert log_sign(listed) == (left > right) - (left < right)


def test_zero_is_found_through_common_factors() -> None:
    half = Fraction(1, 2)
    assert log_sign([(Fraction(1), 12), (-half, 144)]) == 0
    assert log_sign([(Fraction(1), 6), (Fraction(-1), 2), (Fraction(-1), 3)]) == 0
    assert log_sign([(Fraction(1), 10**15), (Fraction(-15), 10)]) == 0
    assert log_sign([]) == 0


def test_what_is_almost_zero_is_not() -> None:
    big = 10**40
    assert log_sign([(Fraction(1), big + 1), (Fraction(-1), big)]) == 1
    assert log_sign([(Fraction(1), big), (Fraction(-1), big + 1)]) == -1
