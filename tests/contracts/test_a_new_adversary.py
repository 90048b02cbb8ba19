"""docs/adding-an-adversary.md and docs/adding-a-criterion.md, followed: registered once, both are
everywhere.

An adversary who bets on her target's value, and a criterion that bounds her bets, as they stand on
the pages. Nothing but the two registries knows of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pytest

import sfumato as sf
from sfumato.adversaries.base import BeliefChange
from sfumato.adversaries.catalogue import ADVERSARIES
from sfumato.criteria import CRITERIA
from sfumato.report.sections.threats import Unbounded, matrix, uncovered
from tests.contracts.pages import blocks, module
from tests.program import sfumato

NAME = "gambler"


@pytest.fixture(autouse=True)
def fair_bets(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The criterion, once both pages have been followed."""
    (hers,), (its,) = blocks("adding-an-adversary.md"), blocks("adding-a-criterion.md")
    gambler = module("sfumato.adversaries.gambler", hers, monkeypatch)
    found = module("sfumato.criteria.fair_bets", its, monkeypatch).FairBets
    monkeypatch.setitem(ADVERSARIES, NAME, gambler.ENTRY)
    monkeypatch.setitem(CRITERIA, found.name, found)
    return found


def people() -> pa.Table:
    return pa.table({"age": ["30", "30", "40", "40"], "disease": ["flu", "cold", "flu", "flu"]})


SCHEMA = sf.Schema(quasi=["age"], sensitive="disease")


def test_an_audit_the_matrix_and_the_report_know_her(fair_bets: Any) -> None:
    table = sf.read(people(), SCHEMA)
    report = sf.audit(table, [fair_bets(0.75)])
    assert report.status == "violated"
    (row,) = [row for row in matrix(report) if row.adversary == NAME]
    assert (row.covered, row.belief) == (("fair-bets",), BeliefChange(0.5, 1.0))
    told = report.to_markdown()
    assert "fair-bets" in told
    assert NAME in report.to_html()
    assert any(row["adversary"] == NAME for row in json.loads(report.to_json())["threats"])


def test_her_stand_in_runs_where_no_policy_names_her_and_her_bound_is_suggested() -> None:
    report = sf.audit(sf.read(people(), SCHEMA), [sf.KAnonymity(2)])
    (row,) = [row for row in matrix(report) if row.adversary == NAME]
    assert (row.status, row.covered) == ("measured", ())
    assert Unbounded(NAME, "disease", ("fair-bets",)) in uncovered(report)


def test_a_search_keeps_her_bound(fair_bets: Any) -> None:
    table = sf.read(people(), SCHEMA)
    for anonymizer in (sf.Mondrian(), sf.Lattice(), sf.Deal(sweeps=2)):
        release = sf.anonymize(table, sf.Policy([fair_bets(0.75)], anonymizer))
        assert len(release.groups) == 1
        assert sf.audit(release, [fair_bets(0.75)]).holds
    with pytest.raises(sf.NoSafeRelease, match="fair-bets, required bets won ≤"):
        sf.anonymize(table, sf.Policy([fair_bets(0.7)], anonymizer=sf.Mondrian()))
    with pytest.raises(sf.PolicyError, match="most"):
        fair_bets(2)


def test_deal_searches_by_her_bound_without_another_line(fair_bets: Any) -> None:
    """Neighbours share a disease: no cut of ages keeps the bound, dealing does."""
    rows = pa.table({"age": [n // 4 for n in range(80)], "disease": ["flu"] * 40 + ["cold"] * 40})
    table = sf.read(rows, SCHEMA)
    cut, dealt = (
        sf.anonymize(table, sf.Policy([fair_bets(0.5)], anonymizer))
        for anonymizer in (sf.Mondrian(regions="tight"), sf.Deal(sweeps=2))
    )
    assert len(cut.groups) == 1
    assert len(dealt.groups) > 4
    assert sf.audit(dealt, [fair_bets(0.5)]).holds


def test_the_program_reads_her_bound_from_a_policy_and_lists_her(tmp_path: Path) -> None:
    csv.write_csv(people(), tmp_path / "people.csv")
    policy = tmp_path / "policy.toml"
    policy.write_text(
        '[schema]\nquasi = ["age"]\nsensitive = ["disease"]\n\n'
        '[[require]]\nkind = "fair-bets"\nmost = 0.75\n'
    )
    ended = sfumato("audit", tmp_path / "people.csv", "--policy", policy)
    assert ended.returncode == 1, ended.stderr
    assert "fair-bets" in ended.stdout
    assert NAME in ended.stdout
    listed = sfumato("attack", "list")
    assert listed.returncode == 0, listed.stderr
    assert NAME in listed.stdout
