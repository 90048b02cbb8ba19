"""Lists written as texts: what is written is read, and nothing is guessed."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.schema.notation import fault_of, looks_like_json, read_list, write_list
from sfumato.schema.region import MISSING, text_of

VALUES = st.lists(st.none() | st.text() | st.integers() | st.booleans(), max_size=5)


@given(VALUES)
def test_json_gives_back_every_value(values) -> None:
    written = write_list(values, "json")
    assert written is not None
    assert read_list(written, "json") == [None if v is None else text_of(v) for v in values]


@given(VALUES, st.sampled_from([";", ", ", "|", "::"]))
def test_separated_text_gives_back_the_values_or_is_not_written(values, separator: str) -> None:
    written = write_list(values, separator)
    plain = [value for value in values if value is not None]
    odd = any(
        separator in text_of(value) or text_of(value) != text_of(value).strip() or value == ""
        for value in plain
    )
    texts = [MISSING if value is None else text_of(value) for value in values]
    odd |= looks_like_json([separator.join(texts)])
    if written is None:
        # Only what cannot be told apart is refused.
        assert odd or MISSING in plain or len(separator) > 1
    else:
        assert read_list(written, separator) == [
            None if value is None else text_of(value) for value in values
        ]


@pytest.mark.parametrize(
    ("text", "form", "values"),
    [
        ("flu;ulcer", ";", ["flu", "ulcer"]),
        (" flu ; ulcer;", ";", ["flu", "ulcer"]),
        ("flu", ";", ["flu"]),
        ("", ";", []),
        ("  ", ";", []),
        ("(missing);flu", ";", [None, "flu"]),
        ("flu;;ulcer", ";", None),
        (";", ";", None),
        (";flu", ";", None),
        ('["flu", "ulcer"]', ";", None),
        (' ["flu;ulcer"]', ";", None),
        ('["flu", "ulcer"]', ",", None),
        ("[]", ";", None),
        ("[20, 30]", ";", ["[20, 30]"]),  # a range
        ('["flu", "ulcer"]', "json", ["flu", "ulcer"]),
        ("[]", "json", []),
        (" [ null ] ", "json", [None]),
        ("[1, 2.0, 2.5, true]", "json", ["1", "2", "2.5", "true"]),
        ("", "json", None),
        ("flu", "json", None),
        ('{"a": 1}', "json", None),
        ('[["flu"]]', "json", None),
        ('[{"a": 1}]', "json", None),
        ("[NaN]", "json", None),
        ("[1e999]", "json", None),
        pytest.param("[" * 100_000, "json", None, id="deep"),
    ],
)
def test_what_a_text_lists(text: str, form: str, values) -> None:
    assert read_list(text, form) == values


@pytest.mark.parametrize(
    ("text", "form", "fault"),
    [
        ("flu;;ulcer", ";", "nothing before a ';'"),
        ('["flu"]', ";", "a JSON list"),
        ("flu;ulcer", "json", "not JSON"),
        ("[" * 100_000, "json", "not JSON"),
        ('{"flu": 1}', "json", "JSON but no list"),
        ('["x", {"flu": 2}]', "json", "a JSON list of more than texts"),
    ],
    ids=range(6),
)
def test_what_is_wrong_is_told_without_the_cell(text: str, form: str, fault: str) -> None:
    assert read_list(text, form) is None
    assert fault_of(text, form).startswith(fault)
    assert "flu" not in fault_of(text, form)


def test_dates_are_written_as_texts() -> None:
    assert write_list([dt.date(2021, 5, 1)], "json") == '["2021-05-01"]'
    assert write_list([dt.date(2021, 5, 1), None], ";") == "2021-05-01;(missing)"


@pytest.mark.parametrize(
    ("texts", "lists"),
    [
        (['["a"]', "[]"], True),
        (["[1, 2, 3]"], True),
        (["[20, 30]", "[30, 40]"], False),  # as well ranges
        (["[20, 30]", "[]"], True),
        (['["a"]', "flu"], False),
        (["[20, 30)"], False),
        (["flu"], False),
    ],
)
def test_undeclared_lists_are_noticed(texts: list[str], lists: bool) -> None:
    assert looks_like_json(texts) == lists
