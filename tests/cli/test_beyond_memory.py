"""Commands about tables and releases larger than memory print what they print where all fits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from sfumato.adversaries.composition import alike_people, true_groups
from sfumato.counts import stored
from tests.program import sfumato

POLICY = """
[schema]
quasi = ["age", "zip"]
sensitive = ["ill"]
[schema.hierarchies]
age = {{ kind = "intervals", widths = [50, 100] }}
zip = {{ kind = "suppression" }}
[anonymizer]
{anonymizer}
[[require]]
{require}
"""
COMPOSITION = """
[[require]]
kind = "composition"
share = 0.5
confidence = 0.5
earlier = ["ledger.sqlite"]
"""
LATTICE = 'kind = "lattice"', 'kind = "k-anonymity"\nk = 3'
ANATOMY = 'kind = "anatomy"\nl = 2', 'kind = "distinct-diversity"\nl = 2'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six hundred people of as many tuples, and two policies."""
    chance = np.random.default_rng(1)
    people = pa.table(
        {
            "age": np.arange(600) % 300,
            "zip": chance.integers(10000, 10200, 600),
            "ill": chance.integers(0, 5, 600),
        }
    )
    pa_csv.write_csv(people, tmp_path / "people.csv")
    for name, (anonymizer, require) in (("groups", LATTICE), ("buckets", ANATOMY)):
        policy = POLICY.format(anonymizer=anonymizer, require=require)
        (tmp_path / f"{name}.toml").write_text(policy)
        told = sfumato(
            *("anonymize", tmp_path / "people.csv", "--policy", tmp_path / f"{name}.toml"),
            *("--out", tmp_path / name, "--seed", 1),
        )
        assert told.returncode == 0, told.stderr
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(*command: Any) -> tuple[int, Any]:
    run = sfumato(*command, "--memory", "1GB", "--json")
    assert run.stdout, run.stderr
    return run.returncode, json.loads(run.stdout)


@pytest.mark.parametrize("bound", ["", COMPOSITION])
def test_who_is_in_which_group_by_the_table(
    folder: Path, bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = folder / "both.toml"
    add = ("ledger", "add", "ledger.sqlite", "groups", "--policy", "groups.toml", "--name", "first")
    assert sfumato(*add).returncode == 0
    policy.write_text((folder / "groups.toml").read_text() + bound)
    asked = ("--policy", policy, "--table", "people.csv")
    commands = [
        ("ledger", "check", "ledger.sqlite", "groups", *asked, "--confidence", 0.4),
        *([("audit", "groups", *asked)] if bound else []),
    ]
    expected = [told(*command) for command in commands]
    # As if a tuple took 2.4 MB: those of the release fit, those of the table do not.
    monkeypatch.setattr(stored, "COPIES", 10**5)
    looked_up: list[object] = []

    def people_alike(*asked: Any) -> Any:
        looked_up.append(asked)
        return alike_people.people_alike(*asked)

    monkeypatch.setattr(true_groups, "people_alike", people_alike)
    for command, (code, document) in zip(commands, expected, strict=True):
        ours = told(*command)
        assert ours[0] == code
        for part in ("verdicts", "findings", "threats", "sections", "basis"):
            if part == "sections" and command[0] == "audit":
                continue  # charts of the attack on everybody are drawn from what is summed up
            assert ours[1].get(part) == document.get(part), part
    assert len(looked_up) == len(commands)


def test_buckets_are_audited_and_asked_for_their_skyline(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = [
        ("audit", "buckets", "--policy", "buckets.toml"),
        ("skyline", "buckets", "--policy", "buckets.toml", "--value", 1, "--confidence", 0.9),
        (
            *("audit", "buckets/public/quasi.csv", "buckets/public/sensitive.csv"),
            *("--policy", "counted.toml", "--group", "group_id"),
        ),
    ]
    roles = (folder / "buckets.toml").read_text()
    (folder / "counted.toml").write_text(roles.replace("[schema]", '[schema]\ncount = "count"', 1))
    expected = [told(*command) for command in commands]
    monkeypatch.setattr(stored, "COPIES", 10**9)
    for command, (code, document) in zip(commands, expected, strict=True):
        ours = told(*command)
        assert ours[0] == code
        if command[0] == "skyline":
            assert ours[1] == document
            continue
        for part in ("summary", "threats", "linkage"):
            assert ours[1].get(part) == document.get(part), part
        for one, other in zip(ours[1]["verdicts"], document["verdicts"], strict=True):
            assert one | {"worst": ()} == other | {"worst": ()}
