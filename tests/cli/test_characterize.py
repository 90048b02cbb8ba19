"""The characterize command: tables, JSON, pages, private files; every mistake in one line."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from sfumato.datasets.census import census, census_policy
from tests.program import sfumato


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> tuple[Path, ...]:
    folder = tmp_path_factory.mktemp("characterize")
    data, policy = folder / "census.csv", folder / "policy.toml"
    pa_csv.write_csv(census(200), data)
    policy.write_text(census_policy())
    return data, policy


def characterize(files: tuple[Path, ...], *more: object):
    return sfumato("characterize", files[0], "--policy", files[1], *more)


def test_tables_a_page_and_what_is_private(files, tmp_path: Path) -> None:
    page, private = tmp_path / "page.html", tmp_path / "private.json"
    arguments = ("--max-size", 2, "--html", page, "--private", private)
    run = characterize(files, *arguments)
    assert run.returncode == 0, run.stderr
    assert "Which columns give people away? census.csv, 200 people" in run.stdout
    assert "Coarsen" in run.stdout
    assert "The worst class" not in run.stdout
    assert f"Saved: {page}" in run.stderr
    text = page.read_text(encoding="utf-8")
    assert "Which columns give people away?" in text
    assert "The worst class" not in text
    content = json.loads(private.read_text(encoding="utf-8"))
    assert "People" in [section["title"] for section in content["sections"]]
    assert any(section["title"].startswith("The worst class") for section in content["sections"])
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    again = characterize(files, *arguments)
    assert again.returncode == 2
    assert "exists; give another name, or --force" in again.stderr
    people = tmp_path / "people.parquet"
    more = ("--max-size", 1, "--private", people, "--html", page, "--force", "--json")
    assert characterize(files, *more).returncode == 0
    assert pq.read_table(people).column("people").to_pandas().sum() == 200


def test_json_targets_and_columns(files) -> None:
    run = characterize(
        files, "--max-size", 2, "--target", "disease|work", "--target", "sex", "--json",
        "--column", "age", "--column", "zip", "--given", "age",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    content = json.loads(run.stdout)
    assert content["facts"]["targets"] == ["disease | work", "sex"]
    assert content["facts"]["columns"] == ["age", "zip"]
    assert [one["columns"] for one in content["facts"]["findings"]] == [["age", "zip"]] * 2
    every = json.loads(characterize(files, "--max-size", 1, "--target", "*", "--json").stdout)
    assert len(every["facts"]["targets"]) == 7


def test_a_release_folder(files, tmp_path: Path) -> None:
    out = tmp_path / "release"
    made = sfumato("anonymize", files[0], "--policy", files[1], "--out", out)
    assert made.returncode == 0, made.stderr
    run = sfumato("characterize", out, "--policy", files[1], "--max-size", 1, "--verbose")
    assert run.returncode == 0, run.stderr
    assert "The worst class" in run.stdout  # anybody can read it there
    alone = sfumato(
        "characterize",
        out / "public" / "data.csv",
        "--policy",
        files[1],
        "--max-size",
        1,
        "--release",
        "--verbose",
    )
    assert alone.returncode == 0, alone.stderr
    assert "The worst class" in alone.stdout


def test_a_prior_and_further_metrics(files) -> None:
    asked = ("--max-size", 1, "--metric", "all", "--prior", "uniform")
    run = characterize(files, *asked, "--verbose")
    assert run.returncode == 0, run.stderr
    assert "By further metrics" in run.stdout
    assert all(len(line) <= 80 for line in run.stdout.splitlines())
    more = ("--metric", "hellinger", "--metric", "kullback-leibler", "--json")
    content = json.loads(characterize(files, "--max-size", 1, *more).stdout)
    assert set(content["facts"]["findings"][0]["metrics"]) == {"hellinger", "kullback-leibler"}


CASES = {
    "no metric": (("--metric", "L1"), "metric 'L1' is not known; allowed: all, chi-square"),
    "no role": (("--target", "income"), "column 'income' has no role in the policy; give it one"),
    "unknown target": (("--target", "illness"), "column 'illness' is not in census.csv"),
    "unknown column": (("--column", "agee"), "did you mean 'age'?"),
    "target inside": (
        ("--column", "age", "--column", "sex", "--target", "sex"),
        "target 'sex' is one of the columns that are combined",
    ),
    "no size": (("--max-size", 0), "max_size = 0 is not allowed"),
    "given": (("--given", "disease"), "'disease' is the target 'disease' itself"),
    "not a page": (("--html", "page.pdf"), "cannot write 'page.pdf'; use a name ending in .html"),
    "not private": (("--private", "x.txt"), ".html, .json, .csv, .parquet"),
    "nowhere": (("--html", "/nowhere/page.html"), "/nowhere is no folder"),
    "twice": (("--html", "a.html", "--private", "a.html"), "would be written twice"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_line_exit_2(files, case: str, tmp_path: Path) -> None:
    arguments, said = CASES[case]
    run = characterize(files, *arguments)
    assert run.returncode == 2, run.stderr
    assert run.stdout == ""
    assert said in run.stderr
    assert run.stderr.startswith("error: ")
    assert run.stderr.count("\n") == 1


def test_help_has_an_example() -> None:
    assert "sfumato characterize patients.csv" in sfumato("characterize", "--help").stdout
