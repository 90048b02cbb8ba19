"""A role that is changed by hand: the policy says of the column what a draft would, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.datasets.census import census
from sfumato.engines.reading import Reading
from sfumato.errors import InputError, SfumatoError
from sfumato.policy.draft.change import (
    change_hierarchy,
    change_reading,
    change_roles,
    questions_in,
    strike_question,
    with_questions,
)
from sfumato.policy.draft.draft import Draft, Examined, draft_of, examine
from sfumato.policy.draft.profile import Profile
from sfumato.policy.model import Policy
from sfumato.policy.toml import parse_policy
from sfumato.schema.recipes import Intervals, Masking
from sfumato.schema.roles import Schema


@pytest.fixture(scope="module")
def looked() -> tuple[Draft, dict[str, Profile]]:
    found = examine(census(800), Reading())
    return draft_of(found), {one.name: one for one in found.profiles}


def schema_of(text: str) -> Schema:
    schema = Policy(**parse_policy(text, Path("policy.toml"))).schema
    assert schema is not None
    return schema


def change(looked: tuple[Draft, dict[str, Profile]], **given: str) -> str:
    return change_roles(looked[0].text, looked[1], given, Path())


def test_a_column_that_becomes_known_gets_the_hierarchy_of_a_draft(
    looked: tuple[Draft, dict[str, Profile]],
) -> None:
    text = change(looked, zip="none")
    assert "zip" not in schema_of(text).quasi
    assert "zip" not in schema_of(text).hierarchies
    again = change_roles(text, looked[1], {"zip": "quasi", "income": "quasi"}, Path())
    schema = schema_of(again)
    assert set(schema.quasi) >= {"zip", "income"}
    assert isinstance(schema.hierarchies["zip"], Masking)
    assert isinstance(schema.hierarchies["income"], Intervals)
    assert "income" not in schema.levels


def test_a_column_that_becomes_sensitive_gets_bounds_and_loses_them_again(
    looked: tuple[Draft, dict[str, Profile]],
) -> None:
    before = Policy(**parse_policy(looked[0].text, Path("policy.toml")))
    text = change(looked, education="sensitive")
    policy = Policy(**parse_policy(text, Path("policy.toml")))
    assert policy.schema is not None
    assert "education" in policy.schema.sensitive
    assert [one.sensitive for one in policy.require].count("education") == 2
    assert sum(one.name == "k-anonymity" for one in policy.require) == 1
    text = change_roles(text, looked[1], {"education": "none", "disease": "none"}, Path())
    policy = Policy(**parse_policy(text, Path("policy.toml")))
    assert {"education", "disease"}.isdisjoint({one.sensitive for one in policy.require})
    assert len(policy.require) <= len(before.require)


def test_one_person_column_at_a_time(looked: tuple[Draft, dict[str, Profile]]) -> None:
    text = change(looked, name="person")
    assert schema_of(text).person == "name"
    text = change_roles(text, looked[1], {"zip": "person"}, Path())
    schema = schema_of(text)
    assert schema.person == "zip"
    assert "name" in schema.identifiers  # it named people, and is not published by mistake


def test_nothing_else_is_changed(looked: tuple[Draft, dict[str, Profile]]) -> None:
    draft = looked[0]
    same = dict.fromkeys(schema_of(draft.text).quasi, "quasi")
    assert change_roles(draft.text, looked[1], same, Path()) == draft.text
    text = change(looked, name="keep")
    kept = [line for line in draft.text.splitlines() if "name" not in line and line != "]"]
    assert len([line for line in kept if line not in text]) <= 3  # its list, and the words above


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"age": "everything"}, "role 'everything' is not known"),
        ({"agee": "quasi"}, "not in the file any more"),
        ({"age": "weight", "sex": "weight"}, ""),
    ],
)
def test_wrong_roles_are_a_line(
    looked: tuple[Draft, dict[str, Profile]], given: dict[str, str], told: str
) -> None:
    if not told:
        assert schema_of(change(looked, **given)).weight == "sex"
        return
    with pytest.raises(InputError, match=told):
        change(looked, **given)


def test_the_last_quasi_identifier_cannot_go(looked: tuple[Draft, dict[str, Profile]]) -> None:
    every = dict.fromkeys(schema_of(looked[0].text).quasi, "none")
    with pytest.raises(SfumatoError, match="quasi is empty") as error:
        change(looked, **every)
    assert "\n" not in str(error.value)


def test_hierarchies_are_written_by_rule_and_by_file(
    looked: tuple[Draft, dict[str, Profile]], tmp_path: Path
) -> None:
    text = change_hierarchy(looked[0].text, "age", Intervals((7, 14)), Path())
    assert schema_of(text).hierarchies["age"] == Intervals((7, 14))
    (tmp_path / "tree.csv").write_text("single;alone;*\nmarried;not;*\n", encoding="utf-8")
    text = change_hierarchy(text, "marital", "tree.csv", tmp_path)
    schema = Policy(**parse_policy(text, tmp_path / "policy.toml")).schema
    assert schema is not None
    assert schema.hierarchies["marital"].leaves() == ["single", "married"]
    with pytest.raises(InputError, match="neither a quasi-identifier nor sensitive"):
        change_hierarchy(text, "name", "tree.csv", tmp_path)
    with pytest.raises(SfumatoError, match="does not exist"):
        change_hierarchy(text, "marital", "other.csv", tmp_path)


def test_questions_are_read_struck_out_and_written(
    looked: tuple[Draft, dict[str, Profile]],
) -> None:
    draft = looked[0]
    asked = questions_in(draft.text)
    assert asked == [" ".join(words.split()) for words in draft.questions]
    assert questions_in(strike_question(draft.text, 0)) == asked[1:]
    none = with_questions(draft.text, [])
    assert questions_in(none) == []
    assert "For you to decide" not in none
    assert schema_of(none) == schema_of(draft.text)


def test_dates_that_are_told_get_periods(tmp_path: Path) -> None:
    file = tmp_path / "stays.csv"
    days = [f"0{day % 6 + 1}/0{day % 4 + 1}/20{day % 8 + 10}" for day in range(600)]
    rows = [f"{day},{'FM'[n % 2]},{'flu' if n % 3 else 'cold'}" for n, day in enumerate(days)]
    file.write_text("\n".join(["admitted,sex,disease", *rows]) + "\n", encoding="utf-8")

    def look(reading: Reading) -> Examined:
        return examine(file, reading)

    plain = look(Reading())
    text = draft_of(plain).text
    said = Reading(dates={"admitted": "DMY"})
    told = look(said)
    before, after = ({one.name: one for one in found.profiles} for found in (plain, told))
    changed = change_reading(text, said, before, after, tmp_path)
    policy = Policy(**parse_policy(changed, tmp_path / "policy.toml"))
    assert policy.read.dates == {"admitted": "DMY"}
    assert policy.schema is not None
    assert policy.schema.hierarchies["admitted"].kind == "dates"
