"""docs/adding-an-adversary.md, followed: registered once, she is everywhere.

A toy adversary who bets on her target's value, and a toy criterion that bounds her bets. Nothing
but the two registries knows of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.csv as csv
import pytest

import sfumato as sf
from sfumato.adversaries.base import IN_IT, Asked, BeliefChange, CatalogueEntry, Threat
from sfumato.adversaries.catalogue import ADVERSARIES
from sfumato.criteria import CRITERIA
from sfumato.criteria.base import GroupCriterion, Measure, groups_about, parameter, summarize
from sfumato.numbers import Bools
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.report.sections.threats import catalogue_document
from sfumato.report.threat_matrix import matrix
from tests.program import sfumato

NAME = "gambler"
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Gambler:
    """She bets on the commonest value of her target's group, with so many coins."""

    coins: int = 1

    @property
    def name(self) -> str:
        return NAME

    def attack(self, release: Release, groups: Groups | None = None) -> Bets:
        return Bets(self, release.groups if groups is None else groups)


@dataclass(frozen=True)
class Bets:
    """What she wins."""

    gambler: Gambler
    groups: Groups

    def threats(self) -> list[Threat]:
        groups = self.groups
        share = groups.largest / groups.sizes
        belief = BeliefChange(1 / groups.width, float(share.max()))
        people = groups.headcount(share > 0.5)
        learns = "where to put her coins"
        return [Threat(NAME, IN_IT, learns, groups.attribute, people, belief)]


@dataclass(frozen=True)
class FairBets(GroupCriterion):
    """No bet is won with a chance above `most`."""

    name: ClassVar[str] = "fair-bets"
    adversary: ClassVar[str] = NAME
    merge_closed: ClassVar[bool] = True
    upward_closed: ClassVar[bool] = False

    most: float

    def __post_init__(self) -> None:
        parameter(self.name, "most", self.most, above=0, most=1)

    @property
    def required(self) -> str:
        return f"bets won ≤ {self.most}"

    def adversaries(self, release: Release) -> Iterator[Asked]:
        return (Asked(Gambler(7), groups) for groups in groups_about(self, release))

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        share = groups.largest / groups.sizes
        return summarize(groups, share, "at_most"), share <= self.most


ENTRY = CatalogueEntry(
    NAME,
    "Which value should I bet on?",
    IN_IT,
    "the value she bets on",
    "require fair-bets",
    "by itself",
    ("fair-bets",),
    stand_ins=lambda _: (Gambler(),),
)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ADVERSARIES, NAME, ENTRY)
    monkeypatch.setitem(CRITERIA, FairBets.name, FairBets)


def people() -> pa.Table:
    return pa.table({"age": ["30", "30", "40", "40"], "disease": ["flu", "cold", "flu", "flu"]})


SCHEMA = sf.Schema(quasi=["age"], sensitive="disease")


@pytest.mark.usefixtures("registered")
def test_a_policy_an_audit_the_matrix_and_the_report_know_her() -> None:
    table = sf.read(people(), SCHEMA)
    report = sf.audit(table, [FairBets(0.75)])
    assert report.status == "violated"
    (row,) = [row for row in matrix(report) if row.adversary == NAME]
    assert (row.covered, row.belief) == (("fair-bets",), BeliefChange(0.5, 1.0))
    told = report.to_markdown()
    assert "fair-bets" in told
    assert NAME in report.to_html()
    assert any(row["adversary"] == NAME for row in json.loads(report.to_json())["threats"])


@pytest.mark.usefixtures("registered")
def test_her_stand_in_runs_where_no_policy_names_her_and_her_bound_is_suggested() -> None:
    report = sf.audit(sf.read(people(), SCHEMA), [sf.KAnonymity(2)])
    (row,) = [row for row in matrix(report) if row.adversary == NAME]
    assert (row.status, row.covered) == ("measured", ())


@pytest.mark.usefixtures("registered")
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


def test_the_readme_has_the_table_of_the_catalogue() -> None:
    (section,) = catalogue_document().sections
    (sheet,) = section.tables
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    for name, asks, _, runs, bounded, _ in sheet.rows:
        assert f"| {name} | {asks} | {runs} | {bounded} |" in lines
