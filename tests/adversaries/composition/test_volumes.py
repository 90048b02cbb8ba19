"""The volume of a group, by what it publishes alone."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from sfumato.adversaries.composition.intersection import volumes
from sfumato.schema.region import Anything, Mask, Span, ValueSet
from tests.adversaries.releases import buckets, release

CASES = {
    "whole numbers": ([(20, 29), (25, 44)], [10, 20]),
    "half open": ([Span(20, 30), Span(30, 40)], [10, 10]),
    "open at both": ([Span(20, 30, low_closed=False)], [9]),
    "a number is one": ([5, (1, 3)], [1, 3]),
    "open ends lie where the furthest end does": (
        [Span(high=18), Span(18, 65), Span(low=65)],
        [1, 47, 1],
    ),
    "anything is all that is shown": ([(0, 9), Anything()], [10, 10]),
    "one more for each that may be beside it": (
        [
            Span(0, 5),
            Span(5, 9, beside=frozenset({None})),
            Span(9, 12, beside=frozenset({None, "N"})),
        ],
        [5, 5, 5],
    ),
    "fractions have a length": ([Span(0.5, 2.0), Span(2.0, 2.5)], [1.5, 0.5]),
    "a fraction is the smallest step": ([1.5, Span(1.5, 2.0), Span(2.0, 3.0)], [0.5, 0.5, 1]),
    "days": ([Span(dt.date(2020, 1, 1), dt.date(2020, 1, 31), high_closed=True)], [31]),
    "words": ([ValueSet(frozenset("abc")), "d", Anything()], [3, 1, 4]),
    "a mask": ([Mask("130**"), Mask("1305*")], [100, 10]),
    "anything alone": ([Anything()], [1]),
}


@pytest.mark.parametrize(("shown", "expected"), CASES.values(), ids=list(CASES))
def test_a_column(shown: list[Any], expected: list[float]) -> None:
    made = release(["x"], [((one,), {"a": 1}) for one in shown])
    assert volumes(made).tolist() == pytest.approx(expected)


def test_columns_multiply() -> None:
    made = release(["x", "w"], [(((1, 4), ValueSet(frozenset("ab"))), {"a": 1})])
    assert volumes(made).tolist() == [8]


def test_points_and_lists_have_no_extent() -> None:
    points = release(["x"], [((1.5,), {"a": 1}), ((9.0,), {"a": 1})], scheme="microaggregated")
    assert volumes(points).tolist() == [1, 1]
    assert volumes(buckets(["x"], [([(1,), (2,)], {"a": 2})])).tolist() == [1]
