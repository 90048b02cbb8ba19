"""A project with two releases of a small table whose labels are hostile, made as the shell does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import sfumato as sf
from sfumato.web.project import FOLDER, Project

HOSTILE = "<script>alert('flu')</script>"
DATA = "patients.csv"
POLICY = """
[schema]
quasi = ["age", "zip"]
sensitive = ["disease"]
identifiers = ["name"]

[schema.hierarchies]
age = { kind = "intervals", widths = [10, 20] }
zip = { kind = "mask" }

[anonymizer]
kind = "lattice"

[[require]]
kind = "k-anonymity"
k = 3
"""
LEVELS = ({"age": 1, "zip": 2}, {"age": 2, "zip": 1})


def make_project(folder: Path) -> None:
    """The table, the policy, and releases 1 and 2 with their evidence."""
    diseases = ("cold", "ulcer", HOSTILE, "cold", "HIV")
    rows = [
        f"P{n},{20 + (7 * n) % 40},{13050 + (n % 4) * 10 + n % 3},{diseases[(3 * n + n // 7) % 5]}"
        for n in range(60)
    ]
    (folder / DATA).write_text("\n".join(["name,age,zip,disease", *rows]) + "\n")
    project = Project.open(folder / FOLDER)
    project.choose_data(DATA, {}, project.state().revision)
    project.save_policy(POLICY, project.state().revision)
    rules = sf.Policy.load(project.policy_file)
    assert rules.schema is not None
    table = sf.read(folder / DATA, rules.schema)
    for number, levels in enumerate(LEVELS, start=1):
        release = sf.generalize(table, levels)
        report = sf.audit(release, rules)
        release.save(project.release_folder(number), report=report, policy=rules)
        facts = {"figures": {"verdict": report.status}, "seed": "0"}
        project.keep_point(number, facts)
    project.close()


def facts_of(run: Any) -> dict[str, Any]:
    """What a command printed as JSON."""
    found: dict[str, Any] = json.loads(run.stdout)
    return found
