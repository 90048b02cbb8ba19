"""Regions: what fits a published cell, and which cells can share a value."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.schema.domain import Domain
from sfumato.schema.region import (
    Anything,
    Mask,
    Region,
    Span,
    ValueSet,
    codes_inside,
    contains_region,
    cover,
    meaning,
    overlaps,
)


def test_each_kind_contains_what_it_says() -> None:
    assert Span(20, 30).contains(20)
    assert not Span(20, 30).contains(30)
    assert not Span(20, 30).contains("25")
    assert Mask("130**").contains("13053")
    assert Mask("3*").contains(35)
    assert not Mask("130**").contains("130531")
    assert ValueSet(frozenset({"a", None})).contains(None)
    assert Span(20, 30, beside=frozenset({None})).contains(None)
    assert not Span(20, 30).contains(None)
    assert Anything().contains(None)


@pytest.mark.parametrize(
    ("region", "text"),
    [
        (Span(20, 30), "[20, 30)"),
        (Span(high=18), "<18"),
        (Span(20, 30, beside=frozenset({None})), "[20, 30) or (missing)"),
        (Span(20, 30, label="twenties", beside=frozenset({None})), "twenties or (missing)"),
        (Span(beside=frozenset({None})), "*"),
        (Span(low=90), ">=90"),
        (Span(-math.inf, 5, high_closed=True), "<=5"),
        (Span(1.5, 2.5, low_closed=False, high_closed=True), "(1.5, 2.5]"),
        (ValueSet(frozenset({"b", "a"})), "{a, b}"),
        (ValueSet(frozenset({7.0})), "7"),
        (ValueSet(frozenset({"x"}), "label"), "label"),
        (Mask("13***"), "13***"),
        (Anything(), "*"),
    ],
)
def test_text(region, text: str) -> None:
    assert region.text == text


def test_spans_that_touch_overlap_only_in_a_point_both_have() -> None:
    assert not overlaps(Span(0, 10), Span(10, 20))
    assert overlaps(Span(0, 10, high_closed=True), Span(10, 20))


def test_masks_overlap_where_they_agree() -> None:
    assert overlaps(Mask("13***"), Mask("130**"))
    assert not overlaps(Mask("13***"), Mask("14***"))
    assert not overlaps(Mask("13***"), Mask("13**"))


def test_what_cannot_be_compared_is_taken_to_overlap() -> None:
    assert overlaps(Span(0, 10), Mask("2*"))


spans = st.builds(
    lambda low, width, a, b, beside: Span(low, low + width, a, b, beside=beside),
    st.integers(0, 8),
    st.integers(0, 5),
    st.booleans(),
    st.booleans(),
    st.frozensets(st.sampled_from(["N", None])),
)


@given(spans, spans)
def test_two_spans_overlap_iff_some_point_lies_in_both(one: Span, other: Span) -> None:
    # Quarters hit ends and insides alike.
    points = [None, "N", *(place / 4 for place in range(-4, 60))]
    shared = any(one.contains(point) and other.contains(point) for point in points)
    assert overlaps(one, other) == shared == overlaps(other, one)


@given(one=st.integers(0, 10**6), other=st.integers(0, 10**6))
def test_a_region_contains_another_only_if_all_of_its_values_fit(one: int, other: int) -> None:
    outer, inner = some_region(one), some_region(other)
    fits = [value for value in (*range(100), "A1", None) if inner.contains(value)]
    if contains_region(outer, inner):
        assert all(outer.contains(value) for value in fits)
    elif isinstance(inner, ValueSet) or (isinstance(inner, Span) and isinstance(outer, Span)):
        # Ranges are of numbers, of which there are more than whole ones.
        halves = [None, *(value / 2 for value in range(200))]
        between = halves if isinstance(inner, Span) else fits
        assert any(inner.contains(value) and not outer.contains(value) for value in between)


def some_region(number: int) -> Region:
    """A region of any kind over 0 to 99, by a number."""
    rng = np.random.default_rng(number)
    kind = rng.integers(4)
    if kind == 0:
        return Anything()
    if kind == 1:
        return ValueSet(frozenset(rng.integers(0, 99, rng.integers(1, 5)).tolist()))
    if kind == 2:
        return Mask("".join(rng.choice(["*", "1", "2"], 2)))
    low, high = sorted(rng.choice(12, 2, replace=False).tolist())
    ends = bool(rng.integers(2)), bool(rng.integers(2))
    return Span(low, high, *ends, beside=frozenset([None] * int(rng.integers(2))))


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_regions_of_one_meaning_contain_the_same(one: int, other: int) -> None:
    first, second = some_region(one), some_region(other)
    values = (*(value / 2 for value in range(30)), None)
    if meaning(first) == meaning(second):
        assert [first.contains(value) for value in values] == [*map(second.contains, values)]


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=20), st.booleans(), st.data())
def test_the_codes_a_region_covers_are_those_of_its_values(
    numbers: list[int], null: bool, data: st.DataObject
) -> None:
    """For measures of utility and for people looked for in a population alike."""
    values = sorted(data.draw(st.sets(st.integers(0, 14), min_size=1)))
    domain = Domain("x", "numeric", (*values, None) if null else tuple(values))
    parts = [some_region(number) for number in numbers]
    inside = dict(codes_inside(parts, np.arange(len(parts)), domain))
    covered = cover(domain, parts)
    for place, part in enumerate(parts):
        fitting = [code for code, value in enumerate(domain.values) if part.contains(value)]
        assert list(inside[place]) == fitting
        told = covered.codes(place).tolist()
        assert told == (fitting or list(range(len(domain))))
        assert covered.count[place] == len(told)


@pytest.mark.parametrize("many", [1, 20])
def test_codes_are_exact_where_floats_are_not_and_dates_are_no_numbers(many: int) -> None:
    """However many regions are asked about at once."""
    large = Domain("x", "numeric", (2**60, 2**60 + 1, 2**60 + 2))
    days = Domain("d", "date", (dt.date(2020, 1, 1), dt.date(2021, 1, 1)))
    for domain, part, right in (
        (large, Span(2**60 + 1, 10**30), [1, 2]),
        (large, Span(-math.inf, 2**60 + 1), [0]),
        (days, Span(0, 10**6), []),
        (days, Span(dt.date(2020, 6, 1), dt.date(2022, 1, 1)), [1]),
        (days, Span(), [0, 1]),
        (Domain("n", "numeric", (1, 2)), Span(dt.date(1, 1, 1), dt.date(9, 1, 1)), []),
    ):
        found = codes_inside([part] * many, np.arange(many), domain)
        assert [list(codes) for _, codes in found] == [right] * many
