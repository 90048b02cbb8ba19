"""What columns can show, by the schema alone."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.release.noisy import quasi_axis, sensitive_axis
from sfumato.schema.domain import Domain


def shown(level, nulls="error", domain=None, **hierarchy) -> list[str]:
    schema = sf.Schema(
        "c", hierarchies=hierarchy, domains={} if domain is None else {"c": domain}, nulls=nulls
    )
    return [part.text for part in quasi_axis(schema, "c", level).parts]


def test_a_list_is_shown_value_by_value_and_level_by_level() -> None:
    zips = ["130", "131", "250"]
    assert shown(0, domain=zips) == zips
    assert shown(0, "value", zips) == [*zips, "(missing)"]
    assert shown(1, "value", zips, c=sf.mask()) == ["13*", "25*", "(missing)"]
    assert shown(3, "value", zips, c=sf.mask()) == ["*"]
    assert shown(1, domain=zips) == ["*"]
    assert shown(0, domain=[3, 1, 2]) == ["1", "2", "3"]


def test_a_taxonomy_declares_its_leaves() -> None:
    tree = sf.taxonomy({"a": "x", "b": "x", "c": "y"})
    assert shown(0, c=tree) == ["a", "b", "c"]
    assert shown(1, "value", c=tree) == ["x", "y", "(missing)"]
    assert shown("*", c=tree) == ["*"]


def test_bounded_ranges_declare_themselves_from_level_1_on() -> None:
    ages = sf.intervals([10, 20], bottom=18, top=50)
    assert shown(1, c=ages) == ["<18", "[18, 20)", "[20, 30)", "[30, 40)", "[40, 50)", ">=50"]
    assert shown(2, "value", c=ages)[-2:] == [">=50", "(missing)"]
    assert shown(1, c=sf.intervals(cuts=[10, 20])) == ["<10", "[10, 20)", ">=20"]
    quarters = sf.dates("quarter", bottom=2020, top=2021)
    assert len(shown(1, c=quarters)) == 4 + 2


@pytest.mark.parametrize(
    ("level", "options", "said"),
    [
        (0, {}, "column 'c': its values are not declared"),
        (0, {"domain": "numeric"}, "list them in domains"),
        (1, {"c": sf.mask()}, "its values are not declared"),
        (1, {"c": sf.intervals([10])}, "widths with bottom and top"),
        (1, {"c": sf.intervals([10], top=5)}, "its values are not declared"),
        (1, {"c": sf.dates(bottom=1990)}, "dates with bottom and top"),
        (0, {"c": sf.intervals([10], bottom=0, top=90)}, "single values are not declared, only"),
        (3, {"c": sf.intervals([10], bottom=0, top=90)}, "has levels 0 to 2, not 3"),
        (1, {"c": sf.intervals([1e-5], bottom=0, top=90)}, "more than 1,000,000 ranges"),
    ],
)
def test_what_is_not_declared_is_refused_with_the_way_out(level, options, said: str) -> None:
    with pytest.raises(sf.SchemaError) as told:
        shown(level, **options)
    assert said in str(told.value)
    assert "\n" not in str(told.value)


@given(
    width=st.integers(1, 7),
    factor=st.integers(2, 4),
    origin=st.integers(-20, 20),
    bottom=st.integers(-30, 30),
    reach=st.integers(1, 60),
    numbers=st.lists(st.integers(-99, 99), min_size=1, max_size=20, unique=True),
)
def test_landmarks_leave_no_range_out(width, factor, origin, bottom, reach, numbers) -> None:
    """Whatever numbers there are, each has its range among the declared ones, at every level."""
    recipe = sf.intervals([width, width * factor], origin=origin, bottom=bottom, top=bottom + reach)
    schema = sf.Schema("c", hierarchies={"c": recipe})
    bound = recipe.bind(Domain("c", "numeric", tuple(sorted(numbers))))
    for level in (1, 2):
        axis = quasi_axis(schema, "c", level)
        places = axis.places(bound[level].regions)
        assert [axis.parts[place].text for place in places] == list(bound[level].labels)
        assert len({part.text for part in axis.parts}) == len(axis.parts)


@given(days=st.lists(st.dates(dt.date(1985, 1, 1), dt.date(2015, 12, 31)), min_size=1, unique=True))
def test_landmarks_leave_no_period_out(days) -> None:
    recipe = sf.dates(bottom=1990, top=2007)
    schema = sf.Schema("c", hierarchies={"c": recipe})
    bound = recipe.bind(Domain("c", "date", tuple(sorted(days))))
    for level in range(1, bound.height):
        axis = quasi_axis(schema, "c", level)
        assert -1 not in axis.places(bound[level].regions)


def test_a_sensitive_column_stands_at_its_level() -> None:
    schema = sf.Schema(
        "q",
        "s",
        hierarchies={"s": sf.intervals(cuts=[10, 50])},
        levels={"s": 1},
        domains={"q": ["x"]},
    )
    axis = sensitive_axis(schema, "s")
    assert axis.domain is not None
    assert axis.domain.labels == ("<10", "[10, 50)", ">=50", "(missing)")
    assert axis.domain.has_null
    assert axis.domain.is_ordered


def test_a_value_nobody_declared_is_not_counted_anywhere() -> None:
    axis = quasi_axis(sf.Schema("c", domains={"c": ["a", "b"]}, nulls="error"), "c", 0)
    foreign = quasi_axis(sf.Schema("c", domains={"c": ["a", "z"]}, nulls="error"), "c", 0)
    with pytest.raises(sf.SchemaError, match="holds values that the schema does not declare"):
        axis.places(foreign.parts)
