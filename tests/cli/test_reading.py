"""A way of reading is told in one place: commands, policies and Python take it from there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import typer

import sfumato as sf
from sfumato.cli.main import app
from sfumato.engines.reading import (
    OF_POLICIES,
    OF_RELEASES,
    OF_TABLES,
    FileOptions,
    Reading,
    ReleaseOptions,
    TableOptions,
    options_about,
)
from sfumato.errors import InputError, PolicyError
from sfumato.policy.toml import parse_policy

RULES = '\n[[require]]\nkind = "k-anonymity"\nk = 2\n'
# A value that every option may have besides its default.
OTHER: dict[str, Any] = {
    "delimiter": ";",
    "decimal": ",",
    "memory": "2GB",
    "engine": "spark",
    "scheme": "microaggregated",
    "matching": "wildcard",
    "encoding": "cp1252",
    "dates": "DMY",
    "missing": ["?", "NA"],
    "first_year": 1930,
    "codes": {"income": ["N"]},
}
BY_KIND = {str: "word", bool: True, int: 3, Path: "place"}


def other(option: Any) -> Any:
    return OTHER[option.name] if option.name in OTHER else BY_KIND[option.metadata["kind"]]


def in_toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {in_toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return repr(list(value))
    return str(value).lower() if value is True else repr(value)


def commands(group: Any, path: str = "") -> Iterator[tuple[str, set[str]]]:
    """Every command by its name, with its options."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", {flag for one in command.params for flag in one.opts}


COMMANDS = dict(commands(typer.main.get_command(app)))
READING = {name: flags for name, flags in COMMANDS.items() if "--delimiter" in flags}


def flags_of(*subjects: Any) -> set[str]:
    return {f"--{one.name.replace('_', '-')}" for one in options_about(*subjects)}


@pytest.mark.parametrize("name", sorted(READING))
def test_a_command_that_reads_takes_every_way_of_reading(name: str) -> None:
    flags = READING[name]
    assert flags_of("file") <= flags
    if flags & flags_of(*OF_TABLES) - flags_of("file"):
        assert flags_of(*OF_TABLES) <= flags
    if flags & flags_of("release"):
        assert flags_of(*OF_RELEASES) <= flags


def test_every_command_with_a_policy_reads_by_it() -> None:
    by_policy = {name for name, flags in COMMANDS.items() if "--policy" in flags}
    by_policy -= {"serve"}  # whose page asks how a file is written
    assert READING.keys() == by_policy | {"init", "hierarchy"}  # which write one, or a part


def test_keywords_in_python_are_the_same() -> None:
    every = {one.name for one in options_about(*OF_RELEASES)}
    assert get_type_hints(ReleaseOptions).keys() == every
    assert get_type_hints(TableOptions).keys() == {one.name for one in options_about(*OF_TABLES)}
    assert get_type_hints(FileOptions).keys() == {one.name for one in options_about("file")}
    for given, taken in (
        (sf.read, TableOptions),
        (sf.read_release, ReleaseOptions),
        (sf.draft_policy, FileOptions),
    ):
        assert taken.__name__ in str(given.__annotations__["options"])


@pytest.mark.parametrize("option", options_about(*OF_POLICIES), ids=lambda one: one.name)
def test_a_policy_tells_it_and_keeps_it(option: Any, tmp_path: Path) -> None:
    value = other(option)
    text = f"[read]\n{option.name} = {in_toml(value)}{RULES}"
    policy = sf.Policy(**parse_policy(text, tmp_path / "policy.toml"))
    assert policy.read == Reading(**{option.name: value}) != Reading()
    policy.save(tmp_path / "policy.toml")
    assert sf.Policy.load(tmp_path / "policy.toml") == policy


def test_what_a_policy_cannot_tell_is_refused(tmp_path: Path) -> None:
    for line, why in (
        ('mathing = "exact"', "unknown key 'mathing' in"),
        ("memory = 3", "read.memory = 3 is not allowed; it must be a text"),
        ('partitioned = "yes"', "it must be true or false"),
        ('decimal = ";"', "decimal ';' is not allowed; use '.' or ','"),
        ('delimiter = ";;"', "must be one character"),
    ):
        with pytest.raises(PolicyError, match=why):
            parse_policy(f"[read]\n{line}{RULES}", tmp_path / "policy.toml")
    with pytest.raises(PolicyError, match="facts, matching cannot be told by a policy"):
        sf.Policy([sf.KAnonymity(2)], read=Reading(facts="f.csv", matching="wildcard"))


@pytest.mark.parametrize("option", options_about(*OF_RELEASES), ids=lambda one: one.name)
def test_what_is_said_last_holds(option: Any) -> None:
    """Options win over the policy; what they do not say is the policy's."""
    said = Reading(**{option.name: other(option)})
    assert said.given_fields() == {option.name: getattr(said, option.name)}
    assert in_toml(getattr(said, option.name)) == in_toml(other(option))
    assert said.over(Reading()) == Reading().over(said) == said
    assert said.about(option.metadata["subject"]) == said
    assert Reading(delimiter="|").over(Reading(delimiter=";", spill="x")) == Reading(
        delimiter="|", spill="x"
    )


def test_a_table_is_not_read_as_a_release_is(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("age\n1\n1\n")
    with pytest.raises(InputError, match="matching: that is about a release; read it with"):
        sf.read(file, sf.Schema(["age"]), matching="wildcard")  # type: ignore[call-arg]
