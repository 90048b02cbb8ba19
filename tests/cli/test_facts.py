"""`--facts`: people in one file, their sensitive values in another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.program import sfumato

POLICY = """
[schema]
quasi = ["age"]
sensitive = ["disease"]
person = "id"

[anonymizer]
kind = "mondrian"

[[require]]
kind = "k-anonymity"
k = 2
"""
PEOPLE = "id,age\np1,30\np2,30\np3,31\np4,31\n"
FACTS = "id,disease\np1,flu\np1,ulcer\np1,flu\np3,gout\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("people.csv", PEOPLE), ("facts.csv", FACTS), ("policy.toml", POLICY)):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_journey_of_two_files(folder: Path) -> None:
    given = ("--facts", folder / "facts.csv", "--policy", folder / "policy.toml")
    judged = sfumato("audit", folder / "people.csv", *given, "--json")
    assert judged.returncode == 0, judged.stderr
    assert json.loads(judged.stdout)["release"]["people"] == 4
    out = folder / "out"
    made = sfumato("anonymize", folder / "people.csv", *given, "--out", out)
    assert made.returncode == 0, made.stderr
    lines = (out / "public" / "data.csv").read_text().splitlines()
    assert sorted(lines) == sorted(
        ['"age","disease"', '30,"[""flu"", ""ulcer""]"', '30,"[]"', '31,"[""gout""]"', '31,"[]"']
    )
    again = sfumato("audit", out, "--policy", folder / "policy.toml", "--json")
    assert again.returncode == 0, again.stderr
    compared = sfumato("compare", folder / "people.csv", *given, "--sweep", "k=2,4", "--json")
    assert compared.returncode == 0, compared.stderr


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (FACTS + "secret9,flu\n", "1 of the people in facts.csv are not in people.csv"),
        (FACTS + ",flu\n", "person column 'id' is missing in 1 row(s) of facts.csv"),
        ("who,disease\np1,flu\n", "column 'id' (person) is not in facts.csv"),
        ("id,illness\np1,flu\n", "facts.csv has none of the sensitive columns: disease"),
    ],
)
def test_mistakes_get_one_line(folder: Path, facts: str, said: str) -> None:
    (folder / "facts.csv").write_text(facts)
    given = ("--facts", folder / "facts.csv", "--policy", folder / "policy.toml")
    for command in (
        ("audit", folder / "people.csv"),
        ("anonymize", folder / "people.csv", "--out", folder / "out"),
    ):
        run = sfumato(*command, *given)
        assert run.returncode == 2
        assert said in run.stderr
        assert len(run.stderr.splitlines()) == 1
        assert "secret9" not in run.stderr
        assert not (folder / "out").exists()


def test_lists_declared_in_a_policy(tmp_path: Path) -> None:
    """Delimited texts go in and come out, and the file alone is read by the same policy."""
    (tmp_path / "rows.csv").write_text("age,disease\n30,ulcer;flu\n30,\n30,flu;flu\n")
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.replace('person = "id"', '[schema.lists]\ndisease = ";"'))
    out = tmp_path / "out"
    made = sfumato("anonymize", tmp_path / "rows.csv", "--policy", policy, "--out", out)
    assert made.returncode == 0, made.stderr
    lines = (out / "public" / "data.csv").read_text().splitlines()
    assert sorted(line.replace('"', "") for line in lines) == [
        "*,",
        "*,flu",
        "*,flu;ulcer",
        "age,disease",
    ]
    for path in (out, out / "public" / "data.csv"):
        judged = sfumato("audit", path, "--policy", policy)
        assert judged.returncode == 0, judged.stderr
