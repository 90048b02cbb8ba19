"""The anonymize command: a release folder, or one line and nothing at all."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv as pa_csv
import pytest

from sfumato.datasets.census import census, census_policy
from tests.program import sfumato


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    home = tmp_path_factory.mktemp("anonymize")
    pa_csv.write_csv(census(500, seed=2), home / "census.csv")
    (home / "policy.toml").write_text(census_policy())
    return home


def policy(folder: Path, name: str, **changes: str) -> Path:
    text = census_policy()
    for before, after in changes.values():
        assert before in text
        text = text.replace(before, after)
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize("kind", ["mondrian", "lattice", "anatomy", "microaggregation"])
def test_every_anonymizer_from_a_policy_file(folder: Path, tmp_path: Path, kind: str) -> None:
    more = {"anatomy": "\nl = 2", "microaggregation": "\nk = 6"}.get(kind, "")
    rules = policy(
        folder,
        f"{kind}.toml",
        a=('kind = "mondrian"', f'kind = "{kind}"{more}'),
        k=("k = 5", "k = 1" if kind == "anatomy" else "k = 2"),
        l=("l = 3", "l = 2"),
        t=("t = 0.4", "t = 1.0"),
    )
    out = tmp_path / "out"
    run = sfumato("anonymize", folder / "census.csv", "--policy", rules, "--out", out, "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["holds"] is True
    again = sfumato("audit", out, "--policy", rules, "--json")
    assert again.returncode == 0, again.stdout + again.stderr


def test_anatomy_writes_no_release_that_promises_k(folder: Path, tmp_path: Path) -> None:
    rules = policy(folder, "buckets.toml", a=('kind = "mondrian"', 'kind = "anatomy"\nl = 3'))
    out = tmp_path / "out"
    run = sfumato("anonymize", folder / "census.csv", "--policy", rules, "--out", out)
    assert run.returncode == 1
    assert "anatomy publishes exact quasi-identifiers, so k is theirs (1)" in run.stderr
    assert run.stderr.count("\n") == 1
    assert not out.exists()


def test_the_same_seed_gives_the_same_files_and_no_seed_a_new_order(folder, tmp_path) -> None:
    def data(name: str, *seed: object) -> bytes:
        run = sfumato(
            "anonymize",
            folder / "census.csv",
            "--policy",
            folder / "policy.toml",
            "--out",
            tmp_path / name,
            *seed,
        )
        assert run.returncode == 0, run.stderr
        return (tmp_path / name / "public" / "data.csv").read_bytes()

    assert data("a", "--seed", 1) == data("b", "--seed", 1)
    one, other = data("c"), data("d")
    assert one != other
    assert sorted(one.splitlines()) == sorted(other.splitlines())


def test_no_safe_release_is_one_line_exit_1_and_nothing_written(folder, tmp_path) -> None:
    rules = policy(folder, "strict.toml", k=("k = 5", "k = 5000"))
    run = sfumato("anonymize", folder / "census.csv", "--policy", rules, "--out", tmp_path / "out")
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1
    assert "k-anonymity" in run.stderr
    assert "500" in run.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"a": ('kind = "mondrian"', 'kind = "mondrain"')}, "did you mean 'mondrian'?"),
        ({"a": ('kind = "mondrian"', 'kind = "anatomy"')}, "(anatomy): l is missing"),
        (
            {"a": ('kind = "mondrian"', 'kind = "mondrian"\nstrickt = true')},
            "did you mean 'strict'",
        ),
        ({"a": ('kind = "mondrian"', 'kind = "mondrian"\norder = "gain"')}, "target column"),
        ({"a": ("[schema]\n", 'utility = "los"\n[schema]\n')}, "did you mean 'loss'?"),
        ({"a": ("[schema]\n", "suppression = 2\n[schema]\n")}, "a share from 0 to 1"),
    ],
)
def test_a_policy_that_cannot_be_meant(folder, tmp_path, changes, said: str) -> None:
    rules = policy(folder, "odd.toml", **changes)
    run = sfumato("anonymize", folder / "census.csv", "--policy", rules, "--out", tmp_path / "out")
    assert run.returncode == 2
    assert said in run.stderr
    assert run.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_an_existing_folder_is_refused_before_any_work(folder, tmp_path) -> None:
    run = sfumato(
        "anonymize", tmp_path / "nowhere.csv", "--policy", folder / "policy.toml", "--out", tmp_path
    )
    assert run.returncode == 2
    assert "exists; give another name" in run.stderr


def test_force_replaces_releases_and_nothing_else(folder, tmp_path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    run = sfumato(
        "anonymize",
        folder / "census.csv",
        "--policy",
        folder / "policy.toml",
        "--out",
        tmp_path / "mine",
        "--force",
    )
    assert run.returncode == 2
    assert "was not written by Sfumato" in run.stderr
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "precious"


def test_what_cannot_be_written_to_is_one_line_before_any_work(folder, tmp_path) -> None:
    for out in (folder / "census.csv" / "x", "/proc/release"):
        run = sfumato(
            "anonymize", folder / "census.csv", "--policy", folder / "policy.toml", "--out", out
        )
        assert run.returncode == 2
        assert run.stderr.count("\n") == 1
    report = tmp_path / "nowhere" / "report.json"
    run = sfumato(
        "audit", folder / "census.csv", "--policy", folder / "policy.toml", "--report", report
    )
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1


def test_a_seed_is_a_whole_number(folder, tmp_path) -> None:
    run = sfumato(
        "anonymize",
        folder / "census.csv",
        "--policy",
        folder / "policy.toml",
        "--out",
        tmp_path / "out",
        "--seed",
        -1,
    )
    assert run.returncode == 2
    assert "seed = -1 is not allowed" in run.stderr


def test_a_release_is_read_as_it_is_written_whatever_its_table_was(folder, tmp_path) -> None:
    text = (folder / "census.csv").read_text()
    (tmp_path / "semicolon.csv").write_text(text.replace(",", ";"))
    rules = tmp_path / "policy.toml"
    rules.write_text(
        census_policy().replace("[schema]\n", '[read]\ndelimiter = ";"\n[schema]\n', 1)
    )
    out = tmp_path / "out"
    made = sfumato("anonymize", tmp_path / "semicolon.csv", "--policy", rules, "--out", out)
    assert made.returncode == 0, made.stderr
    for release in (out, out / "public" / "data.csv"):
        again = sfumato("audit", release, "--policy", rules)
        assert again.returncode == 0, again.stderr


def test_an_unknown_format_is_refused(folder, tmp_path) -> None:
    run = sfumato(
        "anonymize",
        folder / "census.csv",
        "--policy",
        folder / "policy.toml",
        "--out",
        tmp_path / "out",
        "--format",
        "docx",
    )
    assert run.returncode == 2
    assert "format 'docx' is not known" in run.stderr
