"""Notation: every way of writing a cell, and back again."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.schema.calendar import PERIODS, period
from sfumato.schema.domain import Domain
from sfumato.schema.notation import Notation, NotationKind, day, number
from sfumato.schema.region import Anything, Mask, Region, Span, ValueSet, meaning

NUMERIC, DATE, WORDS = Notation("numeric"), Notation("date"), Notation("categorical")


def values(*found: object) -> ValueSet:
    return ValueSet(frozenset(found))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "region"),
    [
        ("[20, 30)", Span(20, 30)),
        ("[20,30[", Span(20, 30)),
        ("[20; 30[", Span(20, 30)),
        ("(20, 30]", Span(20, 30, False, True)),
        ("]20, 30]", Span(20, 30, False, True)),
        ("]20, 30[", Span(20, 30, False, False)),
        ("[20, 30]", Span(20, 30, True, True)),
        ("[-5, -2.5)", Span(-5, -2.5)),
        ("[20.0, 30.0)", Span(20, 30)),
        ("(-inf, 18.0]", Span(-math.inf, 18, high_closed=True)),
        ("[90, ∞[", Span(low=90)),
        ("(-inf, inf)", Anything()),
        ("20-29", Span(20, 29, True, True)),
        ("20 - 29", Span(20, 29, True, True)),
        ("20–29", Span(20, 29, True, True)),
        ("00-04", Span(0, 4, True, True)),
        ("-5-3", Span(-5, 3, True, True)),
        ("-5 - 3", Span(-5, 3, True, True)),
        ("-5--3", Span(-5, -3, True, True)),
        ("-5 - -3", Span(-5, -3, True, True)),
        ("7-7", values(7)),
        ("<30", Span(high=30)),
        ("< 30", Span(high=30)),
        ("<=30", Span(-math.inf, 30, high_closed=True)),
        ("≤30", Span(-math.inf, 30, high_closed=True)),
        (">=40", Span(low=40)),
        (">40", Span(low=40, low_closed=False)),
        (">-1.5", Span(low=-1.5, low_closed=False)),
        ("90+", Span(low=90)),
        ("30", values(30)),
        ("30.0", values(30)),
        ("-5", values(-5)),
        ("1e-5", values(1e-5)),
        ("3*", Mask("3*")),
        ("{30, 31, 35}", values(30, 31, 35)),
        ("{30}", values(30)),
        ("*", Anything()),
        (" * ", Anything()),
        ("", values(None)),
        ("(missing)", values(None)),
        (None, values(None)),
    ],
)
def test_numbers(text: str | None, region: Region) -> None:
    found = NUMERIC.read(text)
    assert found is not None
    assert meaning(found) == meaning(region)
    if text and region != Anything() and region != values(None) and len(text) > 4:
        assert found.text == text  # what the file shows is what a report shows


@pytest.mark.parametrize(
    "text",
    [
        "20 to 29", "[20, 30", "20, 30)", "[30, 20)", "[20, 20)", "29-20", "unknown", "<", "<=x",
        "{20-29, 40-49}", "{3*, 40}", "{}", "{20", "2021-05", "2021-05-02", "[20, x)", "[20, *)",
        "[2020-01-01, 5)", "[inf, 5)", "1e999", "(inf, inf)",
    ],
)  # fmt: skip
def test_what_is_no_number_notation(text: str) -> None:
    assert NUMERIC.read(text) is None


MAY = dt.date(2021, 5, 1)


@pytest.mark.parametrize(
    ("text", "region"),
    [
        ("2021-05-02", values(dt.date(2021, 5, 2))),
        ("2021-05-02 10:30:00", values(dt.datetime(2021, 5, 2, 10, 30))),
        ("2021-05", Span(MAY, dt.date(2021, 6, 1))),
        ("2021-Q2", Span(dt.date(2021, 4, 1), dt.date(2021, 7, 1))),
        ("2021Q2", Span(dt.date(2021, 4, 1), dt.date(2021, 7, 1))),
        ("2021", Span(dt.date(2021, 1, 1), dt.date(2022, 1, 1))),
        ("2020s", Span(dt.date(2020, 1, 1), dt.date(2030, 1, 1))),
        ("9990s", Span(low=dt.date(9990, 1, 1))),
        (">=2020-01-01", Span(low=dt.date(2020, 1, 1))),
        ("<2000-01-01", Span(high=dt.date(2000, 1, 1))),
        ("[2021-05-01, 2021-06-01)", Span(MAY, dt.date(2021, 6, 1))),
        ("2021-05-01 - 2021-05-31", Span(MAY, dt.date(2021, 5, 31), True, True)),
        ("2021-05-**", Mask("2021-05-**")),
    ],
)
def test_dates(text: str, region: Region) -> None:
    found = DATE.read(text)
    assert found is not None
    assert meaning(found) == meaning(region)
    assert found.text == text


@pytest.mark.parametrize("text", ["2021-13", "2021-02-30", "2021-Q5", "2021s", "20", "[20, 30)"])
def test_what_is_no_date_notation(text: str) -> None:
    assert DATE.read(text) is None


def test_a_range_or_the_missing_value() -> None:
    labels = {"young": Span(0, 30, label="young"), "x or (missing)": values("x")}
    declared = Notation("numeric", labels)
    assert declared.read("young or (missing)") == Span(
        0, 30, label="young", beside=frozenset({None})
    )
    assert declared.read("x or (missing)") == values("x")  # labels first
    assert declared.read("20-29 or (missing)") == Span(
        20, 29, high_closed=True, label="20-29", beside=frozenset({None})
    )
    for odd in ("7 or (missing)", "* or (missing)", " or (missing)", "[2, 3)or (missing)"):
        assert NUMERIC.read(odd) is None
    word = "20-29 or (missing)"
    assert Notation("categorical").read(word) == values(word)


def test_labels_come_before_notations() -> None:
    known = ["<=50K", "1st-4th", "10-12", "*x", "{a}"]
    labels: dict[str, Region] = {text: values(text) for text in known}
    notation = Notation("categorical", labels, closed=True)
    for text in known:
        assert notation.read(text) == values(text)
        assert notation.read(f" {text} ") == values(text)
    assert notation.read(">50K") is None
    assert notation.read("{1st-4th, <=50K}") == values("<=50K", "1st-4th")


def test_categories_have_no_ranges_but_masks_and_sets() -> None:
    assert WORDS.read("20-29") == values("20-29")
    assert WORDS.read("<=50K") == values("<=50K")
    assert WORDS.read("130**") == Mask("130**")
    assert WORDS.read("{b, a}") == ValueSet(frozenset("ab"), "{b, a}")


def test_a_set_by_a_declared_separator_and_of_labels() -> None:
    tree = sf.taxonomy({"cat": ["feline"], "lion": ["feline"], "dog": ["canine"]})
    bound = tree.bind(Domain("pet", "categorical", ("cat", "dog", "lion")))
    labels = {region.text: region for level in bound.levels for region in level.regions}
    notation = Notation("categorical", labels, closed=True, separator="~")
    assert notation.read("feline") == ValueSet(frozenset({"cat", "lion"}), "feline")
    assert notation.read("cat~dog") == ValueSet(frozenset({"cat", "dog"}), "cat~dog")
    assert notation.read("feline ~ dog") is not None
    assert notation.read("{feline, dog}") == ValueSet(
        frozenset({"cat", "dog", "lion"}), "{feline, dog}"
    )
    assert notation.read("cat~cow") is None
    assert Notation("numeric", separator="~").read("3~4") == ValueSet(frozenset({3, 4}), "3~4")
    assert Notation("numeric", separator=",").read("[3, 4]") == Span(3, 4, True, True)


def test_leading_zeros_are_numbers_only_where_that_was_said() -> None:
    assert NUMERIC.read("007") == values(7)
    assert Notation("numeric", zeros=False).read("007") is None
    assert Notation("numeric", zeros=False).read("0.5") == values(0.5)


def test_numbers_and_days() -> None:
    assert (number("20"), number("2.50"), number("x"), number("1_0")) == (20, 2.5, None, None)
    assert (day("2021-05-02"), day("20210502"), day("2021-05-2")) == (
        dt.date(2021, 5, 2),
        None,
        None,
    )


# -- there and back -------------------------------------------------------------------------------

whole = st.integers(-(10**6), 10**6)
decimal = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 3))
dates = st.dates(dt.date(1800, 1, 1), dt.date(2200, 1, 1))
BESIDE = st.frozensets(st.none())
words = st.text("abc XYZ019-,{}\"'~<>[]().+\n", min_size=1, max_size=8)


def spans(end: st.SearchStrategy[int | float | dt.date]) -> st.SearchStrategy[Span]:
    return st.builds(lambda span, beside: replace(span, beside=beside), told(end), BESIDE)


@st.composite
def told(draw: st.DrawFn, end: st.SearchStrategy[int | float | dt.date]) -> Span:
    low, high = sorted([draw(end), draw(end)])  # type: ignore[type-var]
    free = draw(st.sampled_from(["none", "low", "high"]))
    if free == "low":
        return Span(high=high, high_closed=draw(st.booleans()))
    if free == "high":
        return Span(low=low, low_closed=draw(st.booleans()))
    if low == high:
        return Span(low, high, True, True)
    return Span(low, high, draw(st.booleans()), draw(st.booleans()))


def sets(of: st.SearchStrategy[object]) -> st.SearchStrategy[Region]:
    return st.frozensets(st.one_of(of, st.none()), min_size=1, max_size=5).map(ValueSet)


regions: dict[NotationKind, st.SearchStrategy[Region]] = {
    "numeric": st.one_of(
        spans(whole), spans(decimal), sets(whole), st.just(Anything()), st.just(Mask("3*"))
    ),
    "date": st.one_of(
        spans(dates),
        sets(dates),
        st.builds(
            lambda day, unit, beside: replace(period(day, unit), beside=beside),
            dates,
            st.sampled_from(PERIODS),
            BESIDE,
        ),
        st.just(Mask("2021-0*-**")),
    ),
    "categorical": st.one_of(
        sets(words.filter(lambda word: word.strip() and not word.startswith("{"))),
        st.from_regex(r"[0-9]{1,4}\*{1,4}", fullmatch=True).map(Mask),
    ),
}


@pytest.mark.parametrize("axis", list(regions))
@given(data=st.data())
def test_what_is_written_is_read_back(axis: NotationKind, data) -> None:
    region = data.draw(regions[axis])
    assert Notation(axis).read(region.text) == region


@given(told(whole))
def test_two_notations_of_one_range_are_one_region(span: Span) -> None:
    french = span.text.replace("(", "]")
    if not span.high_closed and french.endswith(")"):
        french = french[:-1] + "["
    found = NUMERIC.read(french)
    assert found is not None
    assert meaning(found) == meaning(span)


levels = st.sampled_from(
    [
        (sf.intervals([5, 10, 20], top=90, bottom=18), "numeric", (3, 18, 25, 29, 90, 99, None)),
        (sf.intervals(cuts=[[18, 40, 65], [40]]), "numeric", (3, 18, 25, 40, 70)),
        (sf.mask(), "categorical", ("1", "13053", "13068", None)),
        (sf.mask(), "numeric", (7, 30, 35, 41)),
        (sf.dates(top=2020, bottom=1950), "date", (dt.date(1940, 2, 1), MAY, dt.date(1999, 1, 9))),
        (
            sf.taxonomy(
                {"1st-4th": ["<10", "low"], "Masters": [">=10", "high"], "9th": ["<10", "low"]}
            ),
            "categorical",
            ("1st-4th", "9th", "Masters"),
        ),
    ]
)


@given(levels)
def test_every_label_of_a_hierarchy_is_read_back(case) -> None:
    recipe, kind, known = case
    bound = recipe.bind(Domain("column", kind, known))
    labels = {region.text: region for level in bound.levels for region in level.regions}
    for level in bound.levels:
        for region in level.regions:
            if region.text == "*":
                continue  # the mask of one character is written like the top
            assert Notation(kind, labels, closed=True).read(region.text) == region
            if recipe.kind != "taxonomy" and recipe.kind != "mask":
                assert Notation(kind).read(region.text) == region


def test_long_numbers_are_read_in_one_pass() -> None:
    """Digits had two places where there was no point; all ways to part them took minutes."""
    digits = "7" * 200_000
    for text in (f"{digits}x", f"{digits}-{digits}x", f">={digits}x", f"[{digits}, {digits}x)"):
        assert NUMERIC.read(text) is None
