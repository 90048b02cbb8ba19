"""docs/adding-an-engine.md, followed: registered once, an engine is chosen everywhere.

The engine and its entry are the page's own.
"""

from __future__ import annotations

import subprocess
import sys
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.engines.base import Engine
from sfumato.engines.choose import ENGINES, EngineEntry, open_engine
from sfumato.engines.reading import Reading
from sfumato.errors import InputError
from tests.contracts.pages import blocks
from tests.program import sfumato

MODULE, ENTRY = blocks("adding-an-engine.md")
NAME = "watched"
SCHEMA = sf.Schema(quasi=["age"], sensitive="disease")
ROWS = "age,disease\n30,flu\n30,cold\n40,flu\n40,gout\n"
POLICY = """{}
[schema]
quasi = ["age"]
sensitive = "disease"

[anonymizer]
kind = "mondrian"

[[require]]
kind = "k-anonymity"
k = 2
"""


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every engine of the page that is opened, once it is registered."""
    page: dict[str, Any] = {"EngineEntry": EngineEntry}
    exec(MODULE, page)
    entry, made = eval(ENTRY, page), []

    class Noted(page["Watched"]):  # type: ignore[misc]
        def __init__(self, reading: Reading) -> None:
            super().__init__(reading)
            made.append(self)

    page["Watched"] = Noted
    monkeypatch.setitem(ENGINES, entry.name, entry)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(ROWS)
    (tmp_path / "policy.toml").write_text(POLICY.format(""))
    (tmp_path / "watched.toml").write_text(POLICY.format(f'[read]\nengine = "{NAME}"\n'))
    return tmp_path


def test_the_page_has_every_verb_of_an_engine() -> None:
    page: dict[str, Any] = {}
    exec(MODULE, page)
    verbs = {name for name in vars(Engine) if name[0] != "_"} - {"memory", "embedded"}
    for name in verbs:
        assert list(signature(getattr(page["Watched"], name)).parameters) == list(
            signature(getattr(Engine, name)).parameters
        )
    assert page["Watched"].embedded


def test_python_chooses_it(opened: list[Any], folder: Path) -> None:
    table = sf.read(folder / "people.csv", SCHEMA, engine=NAME)
    assert table.people == sf.read(folder / "people.csv", SCHEMA).people == 4
    (engine,) = opened
    assert any("GROUP BY" in query for query in engine.asked)
    release = sf.read_release(folder / "people.csv", SCHEMA, engine=NAME)
    assert (release.people, len(opened)) == (4, 2)
    with pytest.raises(InputError, match="engine 'wached' is not known; did you mean 'watched'"):
        Reading(engine="wached")


def test_a_setting_that_it_does_not_heed_is_refused_by_name(opened: list[Any]) -> None:
    with pytest.raises(InputError, match="threads 2 is DuckDB's; choose the engine duckdb with it"):
        open_engine(None, Reading(engine=NAME, threads=2))
    assert not opened


@pytest.mark.parametrize("by", ["option", "policy"])
@pytest.mark.parametrize("command", ["audit", "anonymize", "characterize"])
def test_commands_choose_it(opened: list[Any], folder: Path, by: str, command: str) -> None:
    policy = folder / ("policy.toml" if by == "option" else "watched.toml")
    words = [command, folder / "people.csv", "--policy", policy]
    words += ["--engine", NAME] if by == "option" else []
    words += ["--out", folder / "out"] if command == "anonymize" else []
    ended = sfumato(*words)
    assert ended.returncode == 0, ended.stderr
    assert len(opened) == 1
    assert opened[0].asked


def test_a_policy_keeps_it(opened: list[Any], folder: Path) -> None:
    policy = sf.Policy.load(folder / "watched.toml")
    assert policy.read == Reading(engine=NAME)
    policy.save(folder / "again.toml")
    assert sf.Policy.load(folder / "again.toml") == policy


def test_the_help_lists_it() -> None:
    """In a process of its own: help is put together as the program starts."""
    program = (
        f"from sfumato.engines.choose import ENGINES, EngineEntry\nentry = {ENTRY}\n"
        "ENGINES[entry.name] = entry\nfrom sfumato.cli.main import run\nrun()\n"
    )
    words = [sys.executable, "-c", program, "audit", "--help"]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "duckdb (the default), spark or watched." in " ".join(told.split())
