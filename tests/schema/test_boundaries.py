"""Bounds of ordered columns: round, true, on the unit, nobody's own where there is room."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.schema.boundaries import Boundaries, boundaries_of
from sfumato.schema.domain import build_domain
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.recipes import Suppression
from sfumato.schema.region import Anything, Span, place_of
from tests.examples import few


def bounded(
    values: list[Any], unit: Any = None, recipe: Hierarchy | None = None
) -> tuple[Boundaries, Counter[Any]]:
    having = Counter(values)
    domain, _ = build_domain("x", pa.array(list(having)), untyped=False)
    people = np.array([having[value] for value in domain.values])
    found = boundaries_of((recipe or Suppression()).bind(domain), unit, people)
    assert found is not None
    return found, having


def told(values: list[Any], unit: Any = None, recipe: Hierarchy | None = None) -> list[Any]:
    found, _ = bounded(values, unit, recipe)
    return [found.lower[0], *found.cuts, found.upper[-1]]


WHOLE = st.integers(-(10**6), 10**6)
DECIMAL = st.decimals(-1000, 1000, places=2, allow_nan=False).map(float)
ANY_FLOAT = st.floats(allow_nan=False)
DAY = st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31))
STAMP = st.datetimes(dt.datetime(1990, 1, 1), dt.datetime(1990, 3, 1))
SECOND = STAMP.map(lambda stamp: stamp.replace(microsecond=0))
KINDS = st.sampled_from([WHOLE, st.integers(1, 30), DECIMAL, ANY_FLOAT, DAY, STAMP, SECOND])
columns = KINDS.flatmap(lambda one: st.lists(one, min_size=1, max_size=25)).flatmap(
    lambda some: st.lists(st.sampled_from(some), min_size=1, max_size=40)
)


def fraction(value: Any) -> Fraction | float:
    return value if isinstance(value, float) and math.isinf(value) else Fraction(place_of(value))


@settings(max_examples=few(300))
@given(columns, st.booleans())
def test_blocks_are_told_truly_and_bounds_are_nobody_s_where_there_is_room(
    values: list[Any], with_null: bool
) -> None:
    found, having = bounded([*values, None] if with_null else values)
    null = having.pop(None, 0)
    domain = found.domain
    assert len(found.cuts) == len(found.lower) - 1 == len(found.upper) - 1
    for value in having:
        block = found.block_of[domain.code(value)]
        assert place_of(found.lower[block]) <= place_of(value) < place_of(found.upper[block]) or (
            math.isinf(place_of(value))
        )
        assert block == sum(place_of(cut) <= place_of(value) for cut in found.cuts)
    for cut, own in zip(found.cuts, found.own, strict=True):
        assert own == (having[cut] == 1)
        if having[cut]:  # then its lower neighbour is one step below: no room
            below = max(place_of(value) for value in having if place_of(value) < place_of(cut))
            # Whole numbers and days are one apart; decimals and stamps nearer than that.
            assert place_of(cut) - below <= 1
    if null:
        assert found.block_of[-1] == found.values == len(found) - 1


def test_bounds_are_the_roundest_there_are() -> None:
    assert told([17, 23, 31, 90]) == [15, 20, 30, 50, 92]
    assert told([1, 1, 2, 4]) == [1, 2, 3, 5]
    assert told([47221.38, 47458.61, 47458.63]) == [47220, 47400, 47458.62, 47460]
    assert told([-3, 4]) == [-4, 0, 5]
    assert told([dt.date(1984, 7, 23), dt.date(1990, 10, 14), dt.date(1990, 10, 20)]) == [
        dt.date(1984, 7, 1),
        dt.date(1990, 1, 1),
        dt.date(1990, 10, 19),
        dt.date(1991, 1, 1),
    ]
    stamps = [dt.datetime(2023, 6, 28, 1, 47, 39), dt.datetime(2023, 6, 28, 4, 45, 36)]
    assert told(stamps)[1] == dt.datetime(2023, 6, 28, 4)


def test_no_bound_is_finer_than_the_unit() -> None:
    assert told([1, 1, 2, 4, 19], unit=10)[1:-1] == [10]
    assert told([0.5, 0.52, 0.58, 1.1], unit=0.05)[1:-1] == [0.55, 1]
    assert told([1, 2, 4], unit=0.5)[1:-1] == [1.5, 3]
    days = [dt.date(2020, 1, 5), dt.date(2020, 1, 25), dt.date(2020, 2, 25), dt.date(2021, 6, 3)]
    assert told(days, unit="month")[1:-1] == [dt.date(2020, 2, 1), dt.date(2021, 1, 1)]
    assert told(days, unit="year")[1:-1] == [dt.date(2021, 1, 1)]
    assert told(days, unit="decade")[1:-1] == []
    stamps = [dt.datetime(2020, 1, 5, 3, 4, 5), dt.datetime(2020, 1, 5, 9), dt.datetime(2020, 1, 6)]
    assert told(stamps, unit="day")[1:-1] == [dt.date(2020, 1, 6)]


def test_a_hierarchy_tells_its_finest_level() -> None:
    ages = [*range(17, 40), 88]
    assert told(ages, recipe=sf.intervals([5, 10])) == [15, 20, 25, 30, 35, 85, 90]
    assert told(ages, recipe=sf.intervals([5, 10], top=37)) == [15, 20, 25, 30, 35, 37, math.inf]
    assert told(ages, recipe=sf.intervals(cuts=[18, 30]))[1:-1] == [18, 30]
    days = [dt.date(2020, month, 7) for month in (1, 2, 2, 5)]
    assert told(days, recipe=sf.dates()) == [dt.date(2020, m, 1) for m in (1, 2, 5, 6)]
    # A unit that is declared as well has the last word.
    assert told([20, 22, 24], unit=1, recipe=sf.intervals([5]))[1:-1] == [21, 23]


def test_a_bound_that_one_person_has_is_known_and_gives_way() -> None:
    found, _ = bounded([1, 1, 2, 3, 3, 4, 4])
    assert found.own.tolist() == [True, False, False]
    assert found.cell(1, 1) == Span(2, 3)  # one person's value is not told as it is
    assert found.hull(1, 2, (0, 3)) == Span(1, 4)  # the end 2 gave way
    assert found.hull(1, 2, (1, 3)) == Span(2, 4)  # no room


def test_nothing_stands_beside_null() -> None:
    found, _ = bounded([5, 5, 7, 117, None])
    assert found.cell(0, 3) == Anything()
    assert found.hull(2, 3, (0, 3)) == Anything()
    assert found.cell(0, 2) == Span(5, 120)
    assert found.cell(3, 3).contains(None)
    assert not found.cell(3, 3).contains(117)


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        (0, "larger than 0"),
        (-1, "larger than 0"),
        (math.nan, "larger than 0"),
        (math.inf, "larger than 0"),
        (True, "give a number such as 1"),
        (None, "give a number such as 1"),
        ("months", "did you mean 'month'"),
    ],
)
def test_what_can_be_no_unit_is_refused(unit: Any, words: str) -> None:
    with pytest.raises(sf.SchemaError, match=f"units: column 'age' has .*{words}"):
        sf.Schema(quasi=["age"], units={"age": unit})


def test_a_unit_of_another_kind_of_column_is_refused() -> None:
    with pytest.raises(sf.SchemaError, match="'ill' is not a quasi-identifier"):
        sf.Schema(quasi=["age"], sensitive="ill", units={"ill": 1})
    with pytest.raises(sf.SchemaError, match="'x' holds dates, and 1 is no unit of dates"):
        bounded([dt.date(2020, 1, 1)], unit=1)
    with pytest.raises(sf.SchemaError, match="'x' holds numbers, and 'day' is no number"):
        bounded([1, 2], unit="day")
    domain, _ = build_domain("x", pa.array(["a", "b"]), untyped=False)
    with pytest.raises(sf.SchemaError, match="'x' holds neither numbers nor dates"):
        boundaries_of(Suppression().bind(domain), 1, np.array([1, 1]))
