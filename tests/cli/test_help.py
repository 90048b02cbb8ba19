"""What the program says of itself: help, version, completion."""

from __future__ import annotations

import runpy
import sys

import pytest

import sfumato as sf
from tests.program import sfumato


def test_help_is_asked_for_in_two_ways() -> None:
    for command in ([], ["audit"], ["attack", "relative"], ["ledger", "check"]):
        short = sfumato(*command, "-h")
        assert short.returncode == 0
        assert short.stdout == sfumato(*command, "--help").stdout


@pytest.mark.parametrize("group", [[], ["attack"], ["ledger"]])
def test_no_summary_in_a_list_of_commands_is_cut_off(group: list[str]) -> None:
    listed = sfumato(*group, "-h").stdout.split("Commands:")[1]
    assert listed.strip()
    assert "..." not in listed


@pytest.mark.parametrize(
    ("command", "choices"),
    [
        ("anonymize", "--format csv|parquet"),
        ("anonymize", "--engine duckdb|spark"),
        ("audit", "--matching exact|wildcard"),
        ("audit", "--scheme generalized|microaggregated"),
        ("init", "--decimal .|,"),
    ],
)
def test_help_shows_what_may_be_chosen(command: str, choices: str) -> None:
    told = " ".join(sfumato(command, "--help").stdout.split())
    assert choices in told
    assert "<list[str]>" not in told


def test_the_package_is_a_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["sfumato", "--version"])
    with pytest.raises(SystemExit) as left:
        runpy.run_module("sfumato", run_name="__main__")
    assert left.value.code == 0
    assert capsys.readouterr().out.strip() == f"sfumato {sf.__version__}"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_SFUMATO_COMPLETE", f"source_{shell}")
    assert "_SFUMATO_COMPLETE=complete_" in sfumato().stdout
    monkeypatch.setenv("_SFUMATO_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("COMP_WORDS", "sfumato an")
    monkeypatch.setenv("COMP_CWORD", "1")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "sfumato an")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    completed = sfumato()
    assert completed.returncode == 0
    assert "anonymize" in completed.stdout
    assert "audit" not in completed.stdout
