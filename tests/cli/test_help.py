"""What the program says of itself: help, version, completion."""

from __future__ import annotations

import re
import runpy
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pyarrow.csv as pa_csv
import pytest
import typer

import sfumato as sf
from sfumato.cli.main import app
from sfumato.datasets.census import census, census_policy
from tests.cli.visits import POLICY, ROWS
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


# -- examples --------------------------------------------------------------------------------------

# Files that examples name, for those who have none yet; a little work where much would be done.
MORE = {
    "init": ("--seconds", "0"),
    "demo": ("--people", "100"),
    "anonymize": ("--no-price",),
    "price": ("--seconds", "0.5"),
    "characterize": ("--max-size", "1"),
    "attack relative": ("--sweeps", "750"),
}
FIRST, LAST = ("init", "anonymize", "ledger add"), "ledger remove"
UNENDING = "serve"  # until Ctrl-C; tests/web opens it


def examples() -> dict[str, list[str]]:
    """What the help of each command gives as an example, those first that others build on."""

    def commands(group: Any, above: str = "") -> Iterator[tuple[str, str]]:
        for name, inner in group.commands.items():
            if hasattr(inner, "commands"):
                yield from commands(inner, f"{above}{name} ")
            else:
                yield f"{above}{name}", inner.help

    found = {}
    for name, in_words in commands(typer.main.get_command(app)):
        if name == UNENDING:
            continue
        (example,) = re.findall(r"Example: sfumato (.*)", in_words)
        assert example.startswith(name)
        found[name] = example.split()
    order = dict.fromkeys((*FIRST, *(name for name in found if name != LAST), LAST))
    return {name: found[name] for name in order}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, CompletedProcess[str]]:
    """Every example, run in a folder that has the files it names."""
    folder = tmp_path_factory.mktemp("examples")
    pa_csv.write_csv(census(150, seed=3), folder / "patients.csv")
    shutil.copy(folder / "patients.csv", folder / "both.csv")
    (folder / "visits.csv").write_text(ROWS)
    (folder / "visits.toml").write_text(POLICY)
    runs = {}
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setenv("COLUMNS", "80")
        for name, words in examples().items():
            runs[name] = sfumato(*words, *MORE.get(name, ()))
            if name == "init":  # the draft tries every way there is, for half a minute
                drafted = Path("policy.toml").read_text()
                assert 'kind = "k-anonymity"' in drafted
                Path("policy.toml").write_text(census_policy())
            elif name == "anonymize":
                for another in ("2023", "2024", "release-2024", "release-2025"):
                    shutil.copytree("release", another)
    return runs


def test_every_example_runs(ran: dict[str, CompletedProcess[str]]) -> None:
    for name, run in ran.items():
        # 1 is an answer of these: the raw table violates its policy, and rows move beliefs far.
        answers = (0, 1) if name in ("audit", "attack realistic") else (0,)
        assert run.returncode in answers, (name, run.stderr)


def test_what_a_command_says_fits_a_screen(ran: dict[str, CompletedProcess[str]]) -> None:
    for name, run in ran.items():
        said = run.stdout + run.stderr
        if "--json" in run.args:
            continue
        lines = said.splitlines()
        assert len(lines) <= 30, name
        wide = [line for line in lines if len(line) > 80]
        assert not wide or name == "hierarchy", (name, wide)  # lines of a policy are for a file
        assert not [line for line in lines if line != line.rstrip()], name


def test_from_a_file_to_a_page_is_read_in_a_minute(ran: dict[str, CompletedProcess[str]]) -> None:
    runs = [ran[name] for name in ("init", "anonymize", "audit")]
    assert sum(len((run.stdout + run.stderr).splitlines()) for run in runs) < 60
    for run in runs[1:]:
        assert "Promised" in run.stdout
        assert " her value?  " in run.stdout  # she is named by her question
        assert run.stdout.rstrip().endswith("report.html")
