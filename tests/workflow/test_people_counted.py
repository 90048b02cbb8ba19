"""People are told as people, in one way: distinct ones, and by whom a release counted them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf

TAKEN = "one row is taken for one person"


def visits(*, moving: bool) -> pa.Table:
    """Forty patients, two visits each; `moving` ones are at another place the second time."""
    return pa.table(
        {
            "patient": [f"P{row // 2}" for row in range(80)],
            "ward": [f"w{(row // 2 + (row % 2 if moving else 0)) % 4}" for row in range(80)],
            "disease": ["flu" if row % 3 else "gout" for row in range(80)],
        }
    )


def policy(person: str | None) -> sf.Policy:
    schema = sf.Schema(
        quasi=["ward"],
        sensitive=["disease"],
        person=person,
        hierarchies={"ward": sf.suppression()},
    )
    return sf.Policy([sf.KAnonymity(5)], schema=schema, anonymizer=sf.Mondrian())


@pytest.mark.parametrize("moving", [False, True])
def test_an_audited_table_has_as_many_people_as_there_are(moving: bool) -> None:
    rules = policy("patient")
    assert rules.schema is not None
    report = sf.audit(sf.read(visits(moving=moving), rules.schema), rules)
    assert report.summary.people == 40
    assert report.linkage is not None
    assert report.linkage.people == 40
    assert json.loads(report.to_json())["release"]["people"] == 40
    assert "40 people in" in str(report)
    assert "80 people in" not in str(report)
    assert any("40 more places than people" in note for note in report.notes) is moving


@pytest.mark.parametrize("person", ["patient", None])
def test_a_release_remembers_that_it_counted_people(person: str | None, tmp_path: Path) -> None:
    rules = policy(person)
    assert rules.schema is not None
    release = sf.anonymize(sf.read(visits(moving=False), rules.schema), rules, seed=1)
    out = release.save(tmp_path / "out", report=sf.audit(release, rules), policy=rules)
    manifest = json.loads((tmp_path / "out" / "public" / "manifest.json").read_text())
    assert manifest["counted_by"] == ("person" if person else "row")
    assert manifest["people"] == (40 if person else 80)
    for schema in (rules.schema, None):
        report = sf.audit(sf.read_release(out, schema), rules)
        assert report.summary.people == manifest["people"]
        assert any(TAKEN in note for note in report.notes) is (person is None)
