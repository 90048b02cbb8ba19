"""docs/adding-an-anonymizer.md, followed: registered once, an anonymizer is everywhere.

The anonymizer and the lines of a policy that name it are the page's own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.anonymizers import ANONYMIZERS
from tests.contracts.pages import blocks, module
from tests.program import sfumato

(MODULE,) = blocks("adding-an-anonymizer.md")
(NAMED,) = blocks("adding-an-anonymizer.md", "toml")
NAME = "one-column"
SCHEMA = sf.Schema(quasi=["age", "zip"], sensitive="disease")
ROWS = "age,zip,disease\n30,1,flu\n30,2,cold\n40,3,flu\n40,4,gout\n"
RULES = """
[schema]
quasi = ["age", "zip"]
sensitive = "disease"

[[require]]
kind = "k-anonymity"
k = 2
"""


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> Any:
    found = module("sfumato.anonymizers.one_column", MODULE, monkeypatch).OneColumn
    monkeypatch.setitem(ANONYMIZERS, NAME, found)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(ROWS)
    (tmp_path / "policy.toml").write_text(NAMED + RULES)
    return tmp_path


def test_a_policy_names_it_and_keeps_it(kind: Any, folder: Path) -> None:
    policy = sf.Policy.load(folder / "policy.toml")
    assert policy.anonymizer == kind("age")
    policy.save(folder / "again.toml")
    assert sf.Policy.load(folder / "again.toml") == policy
    (folder / "wrong.toml").write_text(NAMED.replace("one-column", "one-colum") + RULES)
    with pytest.raises(sf.PolicyError, match="'one-colum' is not known; did you mean 'one-column'"):
        sf.Policy.load(folder / "wrong.toml")
    (folder / "wrong.toml").write_text(NAMED.replace("column =", "colum =") + RULES)
    with pytest.raises(sf.PolicyError, match="unknown key 'colum'; did you mean 'column'"):
        sf.Policy.load(folder / "wrong.toml")


def test_the_program_runs_it_and_everything_tells_of_it(kind: Any, folder: Path) -> None:
    out = folder / "out"
    words = ["--policy", folder / "policy.toml"]
    ended = sfumato("anonymize", folder / "people.csv", *words, "--out", out)
    assert ended.returncode == 0, ended.stderr
    published = (out / "public" / "data.csv").read_text().replace('"', "").splitlines()
    assert sorted(published[1:]) == ["30,*,cold", "30,*,flu", "40,*,flu", "40,*,gout"]
    manifest = json.loads((out / "public" / "manifest.json").read_text())
    assert manifest["policy"]["anonymizer"] == NAME
    report = json.loads((out / "private" / "report.json").read_text())
    assert report["release"]["anonymizer"] == NAME
    assert f"made by {NAME}" in (out / "private" / "report.html").read_text()
    assert sfumato("audit", out, *words).returncode == 0


def test_python_runs_it_and_its_report_says_so(kind: Any, folder: Path) -> None:
    table = sf.read(folder / "people.csv", SCHEMA)
    release = sf.anonymize(table, sf.Policy([sf.KAnonymity(2)], kind("age")), seed=1)
    report = sf.audit(release, [sf.KAnonymity(2)])
    assert report.holds
    for told in (report, report.public()):
        assert f"A generalized release, made by {NAME}." in told.to_markdown()
    with pytest.raises(sf.NoSafeRelease, match="k-anonymity"):
        sf.anonymize(table, sf.Policy([sf.KAnonymity(3)], kind("age")))
    with pytest.raises(sf.PolicyError, match="column = 'agee' is not there; did you mean 'age'"):
        sf.anonymize(table, sf.Policy([sf.KAnonymity(2)], kind("agee")))


def test_the_help_lists_it(kind: Any) -> None:
    told = " ".join(sfumato("anonymize", "--help").stdout.split())
    assert f"{NAME} {kind.__doc__}" in told
    for name in ANONYMIZERS:
        assert f" {name} " in told


def test_it_is_compared_with_the_others(kind: Any, folder: Path) -> None:
    words = ["--policy", folder / "policy.toml", "--sweep", "k=1,2", "--json"]
    ended = sfumato("compare", folder / "people.csv", *words)
    assert ended.returncode == 0, ended.stderr
    assert f'"anonymizer": "{NAME}"' in ended.stdout
