"""`sfumato anonymize` by a policy that blanks single cells, and what is asked of its release."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.oracles.suppression_oracle import BLANK, alike
from tests.program import sfumato

POLICY = """
[schema]
quasi = ["age", "sex", "town"]
sensitive = "ill"
[schema.hierarchies]
age = { kind = "intervals", widths = [5, 10, 20] }
[anonymizer]
kind = "local-suppression"
levels = { age = 1 }
[[require]]
kind = "k-anonymity"
k = 3
[[require]]
kind = "distinct-diversity"
l = 2
"""
QUASI = ("age", "sex", "town")
RARE = "Quakenbrueck"  # one person's town, which must be blank


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    chance = Random(3)
    data, policy = tmp_path / "people.csv", tmp_path / "policy.toml"
    rows = [
        [chance.choice(["", *range(20, 59, 3)]), chance.choice("fm"), chance.choice("abc"), ill]
        for ill in ["flu", "gout", "cold"] * 13
    ]
    rows[5][2] = RARE
    with data.open("w", newline="") as file:
        csv.writer(file).writerows([[*QUASI, "ill"], *rows])
    policy.write_text(POLICY)
    return data, policy


def test_from_a_table_to_an_audit_by_both_readings(files: tuple[Path, Path]) -> None:
    data, policy = files
    out = data.parent / "out"
    run = sfumato("anonymize", data, "--policy", policy, "--out", out, "--seed", 1, "--no-price")
    assert run.returncode == 0, run.stderr
    with (out / "public" / "data.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    cells = [tuple(row[name] for name in QUASI) for row in rows]
    assert len(cells) == 39
    blank = sum(row.count("*") for row in cells)
    assert f"{blank} cells are blank" in " ".join(run.stdout.split())
    diseases: dict[tuple[str, ...], set[str]] = {}
    for shown, row in zip(cells, rows, strict=True):
        diseases.setdefault(shown, set()).add(row["ill"])
    smallest = min(Counter(cells).values())
    assert smallest >= 3
    assert min(map(len, diseases.values())) >= 2
    masked = [tuple(BLANK if cell == "*" else cell for cell in row) for row in cells]
    fitting = min(sum(alike(one, other) for other in masked) for one in masked)
    for matching, people in (("exact", smallest), ("wildcard", fitting)):
        audit = sfumato("audit", out, "--policy", policy, "--matching", matching, "--json")
        assert audit.returncode == 0, audit.stderr
        by_size = [
            finding
            for finding in json.loads(audit.stdout)["verdicts"]
            if finding["criterion"] == "k-anonymity"
        ]
        assert [finding["measured"] for finding in by_size] == [people]
    for file in (out / "public").iterdir():  # nor does anything beside the data tell what was there
        assert RARE not in file.read_text("utf-8"), file.name


def test_attacks_on_it_run(files: tuple[Path, Path]) -> None:
    """Though somebody fits every description that agrees with her where it is not blank."""
    data, policy = files
    outs = [data.parent / name for name in ("first", "second")]
    for seed, out in enumerate(outs):
        sfumato("anonymize", data, "--policy", policy, "--out", out, "--seed", seed, "--no-price")
    victim = ("--victim", "age=20,sex=f,town=a")
    relative = sfumato("attack", "relative", outs[0], "--policy", policy, *victim)
    assert relative.returncode == 0, relative.stderr
    assert "best guess" in relative.stdout
    intersected = sfumato("attack", "intersect", *outs, "--policy", policy, "--targets", data)
    assert intersected.returncode == 0, intersected.stderr
    assert "located in every release" in intersected.stdout
