"""Domains: kinds inferred from text, declared domains, NULL last, one code per value."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.schema.domain import build_domain
from sfumato.schema.region import reading_key
from sfumato.schema.roles import Schema


def text(*values: str | None) -> pa.Array:
    return pa.array(values, pa.string())


def test_numbers_in_a_text_file_are_numbers_and_spellings_meet() -> None:
    domain, codes = build_domain("age", text("10", "9", "9.0", None), untyped=True)
    assert domain.kind == "numeric"
    assert domain.values == (9, 10, None)
    assert codes.tolist() == [1, 0, 0, 2]


def test_leading_zeros_make_a_code_not_a_number() -> None:
    domain, _ = build_domain("zip", text("01301", "13053"), untyped=True)
    assert domain.kind == "categorical"
    assert domain.values == ("01301", "13053")


def test_iso_dates_are_dates() -> None:
    domain, _ = build_domain("born", text("2001-02-03", "1999-01-01"), untyped=True)
    assert domain.kind == "date"
    assert domain.values[0] == dt.date(1999, 1, 1)


def test_iso_dates_with_a_time_of_day_are_dates_and_spellings_meet() -> None:
    texts = text(
        "2023-04-25 04:49:17", "2023-04-25T04:49:17", "2023-04-25", "2023-04-25 00:00", None
    )
    domain, codes = build_domain("admitted", texts, untyped=True)
    assert domain.kind == "date"
    assert domain.values == (dt.datetime(2023, 4, 25), dt.datetime(2023, 4, 25, 4, 49, 17), None)
    assert codes.tolist() == [1, 1, 0, 0, 2]
    utc, _ = build_domain("admitted", text("2023-04-25T00:00Z", "2023-04-26T00:00Z"), untyped=True)
    assert utc.values == (dt.date(2023, 4, 25), dt.date(2023, 4, 26))


@pytest.mark.parametrize(
    "odd",
    [
        "2023-13-01 10:00",
        "2023-04-25 24:30",
        "2023-04-25 10:00Z",  # beside a local time
        "2023-04-25 10:00+02:00",
        "2023-04-25 10:00:00.1234567",
        "0000-04-25 10:00",
    ],
)
def test_what_is_no_moment_stays_text(odd: str) -> None:
    domain, codes = build_domain("admitted", text("2023-04-25 09:00", odd), untyped=True)
    assert domain.kind == "categorical"
    assert len(set(codes.tolist())) == 2


def test_moments_listed_by_the_schema_are_matched_as_they_are_written() -> None:
    listed = ["2023-04-25 09:00", "2023-04-25 10:00"]
    domain, codes = build_domain("admitted", text(*listed), untyped=True, declared=listed)
    assert (domain.kind, codes.tolist()) == ("ordered", [0, 1])
    domain, codes = build_domain("admitted", text(*listed), untyped=True, extra=listed)
    assert (domain.kind, codes.tolist()) == ("categorical", [0, 1])


def test_text_typed_by_its_source_stays_text() -> None:
    assert build_domain("zip", text("13053", "2"), untyped=False)[0].kind == "categorical"


def test_a_column_of_numbers_with_stray_text_is_refused_with_the_way_out() -> None:
    raw = text("17", "18", "19", "4O")
    with pytest.raises(sf.InputError, match=r"'age' mixes numbers and text: 1 of its 4.*'9a'"):
        build_domain("age", raw, untyped=True)
    domain, _ = build_domain("age", raw, untyped=True, declared="categorical")
    assert domain.values == ("17", "18", "19", "4O")


def test_a_declared_domain_gives_the_order_and_the_unseen_values() -> None:
    domain, codes = build_domain("size", text("L", "S"), untyped=True, declared=["S", "M", "L"])
    assert domain.kind == "ordered"
    assert domain.values == ("S", "M", "L")
    assert codes.tolist() == [2, 0]


def test_declared_numbers_match_text_and_floats() -> None:
    domain, codes = build_domain("age", text("5", "7.0"), untyped=True, declared=range(4, 9))
    assert domain.kind == "numeric"
    assert codes.tolist() == [1, 3]


def test_values_outside_the_declared_domain_are_named() -> None:
    with pytest.raises(sf.SchemaError, match="not covered by its declared domain: 'X'"):
        build_domain("sex", text("F", "X"), untyped=True, declared=["F", "M"])


@pytest.mark.parametrize(
    ("declared", "said"),
    [("numbers", "'numbers' is not a kind"), ([], "is empty"), (["a", "a"], "'a' more than once")],
)
def test_a_domain_that_makes_no_sense(declared, said: str) -> None:
    with pytest.raises(sf.SchemaError, match=said):
        build_domain("c", text("a"), untyped=True, declared=declared)


def test_a_taxonomy_widens_the_domain_beyond_the_values_seen() -> None:
    domain, codes = build_domain("sex", text("M"), untyped=True, extra=["F", "M"])
    assert domain.values == ("F", "M")
    assert codes.tolist() == [1]


def test_not_a_number_is_null() -> None:
    domain, codes = build_domain("x", pa.array([1.5, float("nan"), None]), untyped=False)
    assert domain.values == (1.5, None)
    assert codes.tolist() == [0, 1, 1]


def test_the_text_missing_is_not_null() -> None:
    domain, codes = build_domain("x", text("(missing)", None), untyped=True, declared=["(missing)"])
    assert codes.tolist() == [0, 1]
    assert domain.code(None) == 1
    assert domain.code("(missing)") == 0


def test_a_type_that_is_no_value_is_refused() -> None:
    with pytest.raises(sf.InputError, match="has the type struct"):
        build_domain("x", pa.array([{"a": 1}]), untyped=False)


@given(st.lists(st.text("019 ab.-+<>=≤é٣"), unique=True, max_size=12))
def test_texts_stand_in_the_order_in_which_people_read_them(texts: list[str]) -> None:
    domain, codes = build_domain("code", pa.array([*texts, None]), untyped=False)
    assert list(domain.values) == [*sorted(texts, key=reading_key), None]
    assert [domain.values[code] for code in codes] == [*texts, None]


def test_what_is_below_or_above_a_number_stands_beside_it() -> None:
    for groups in (["<18", "18-24", "25-64", "65+"], ["≤ 5", "6-9", "10-14", ">14"]):
        domain, _ = build_domain("group", pa.array(groups[::-1]), untyped=False)
        assert list(domain.values) == groups


def test_codes_are_cut_and_told_by_size() -> None:
    table = pa.table({"edu": [str(n) for n in range(1, 13)] * 3, "sick": ["yes", "no"] * 18})
    schema = Schema(quasi=["edu"], sensitive="sick", domains={"edu": "categorical"})
    release = sf.anonymize(
        sf.read(table, schema), sf.Policy([sf.KAnonymity(9)], anonymizer=sf.Mondrian()), seed=1
    )
    told = set(release.to_arrow().column("edu").to_pylist())
    assert told == {"{1, 2, 3}", "{4, 5, 6}", "{7, 8, 9}", "{10, 11, 12}"}
