"""A table larger than memory is judged as it is in memory."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import chain
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.priors import counts_in
from sfumato.adversaries.realistic.priors import SHAPE
from sfumato.counts import stored
from sfumato.counts.stored import StoredCounts
from sfumato.criteria.base import Verdict
from sfumato.errors import ResourceError
from sfumato.release.description import Examples
from sfumato.release.release import as_it_stands
from tests.anonymizers.mondrian_tables import CRITERIA, TABLES, small_table
from tests.examples import few
from tests.table.beyond_memory import beyond

MORE = [
    [sf.EpsilonPrivacy(2, sf.RealisticAdversary(stubbornness=20))],
    [sf.EpsilonPrivacy(1.5, sf.RealisticAdversary("table", stubbornness=50))],
    [sf.SkylinePrivacy([(0, 1, 0, 0.9), (1, 1, 1, 0.95)])],
    [sf.DeltaDisclosure(2), sf.DistributionLeakage(0.3), sf.EntropyLeakage(0.5)],
]


def figures(verdict: Verdict) -> tuple[Any, ...]:
    """All but the numbers of groups, which are named as they are counted."""
    note = re.sub(r"group \d+", "group", verdict.note)
    return verdict.criterion, verdict.status, verdict.measured, verdict.attribute, note


def compare(table: sf.Table, require: Any) -> None:
    expected, found = sf.audit(table, require), sf.audit(beyond(table, 10_000), require)
    same_report(expected, found)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stored, "_SORTED_TUPLE", 1 << 40)  # as if no number a tuple fitted
        same_report(expected, sf.audit(beyond(table, 10_000), require))


def same_report(expected: sf.Report, found: sf.Report) -> None:
    assert [figures(f.verdict) for f in found.findings] == [
        figures(f.verdict) for f in expected.findings
    ]
    assert found.threats == expected.threats
    assert found.summary == expected.summary
    assert found.holds == expected.holds
    assert found.columns == ()  # which cannot be told from one group of each kind
    one, other = found.linkage, expected.linkage
    assert one is not None
    assert other is not None
    assert (one.people, one.groups, one.prosecutor) == (
        other.people,
        other.groups,
        other.prosecutor,
    )


@settings(max_examples=few(30))
@given(
    seed=st.integers(0, TABLES - 1), require=st.sampled_from([*chain(*CRITERIA.values()), *MORE])
)
def test_verdicts_threats_and_linkage_are_the_same(seed: int, require: Any) -> None:
    compare(small_table(seed), require)


@settings(max_examples=few(20))
@given(seed=st.integers(0, TABLES - 1))
def test_of_several_values_too(seed: int) -> None:
    points = sf.SkylinePrivacy([(0, 1, 0, 0.9)])
    compare(small_table(seed, several=True), [sf.KAnonymity(2), sf.AlphaK(0.7, 2), points])


def people(seed: int) -> sf.Table:
    chance = Random(seed)
    rows = {
        "age": [chance.choice([20, 30, 40, None]) for _ in range(50)],
        "job": [chance.choice(["nurse", "smith"]) for _ in range(50)],
        "ill": [chance.choice("ab") for _ in range(50)],
        "pay": [chance.choice("xyz") for _ in range(50)],
        "w": [chance.randint(1, 30) / 4 for _ in range(50)],
        "hide": [chance.choice(["a", "b", None]) for _ in range(50)],
    }
    schema = sf.Schema(quasi=["age", "job"], sensitive=["ill", "pay"], weight="w", protect="hide")
    return sf.read(pa.table(rows), schema)


@pytest.mark.parametrize("seed", range(5))
def test_two_attributes_are_told_together(seed: int) -> None:
    """Groups are of one kind if they agree in all that is sensitive, or to be protected."""
    table = people(seed)
    expected = sf.audit(table, [sf.DistinctDiversity(2), sf.TCloseness(0.3)])
    found = sf.audit(beyond(table, 10_000), [sf.DistinctDiversity(2), sf.TCloseness(0.3)])
    assert [figures(f.verdict) for f in found.findings] == [
        figures(f.verdict) for f in expected.findings
    ]
    assert any("weights" in note for note in found.notes)


def test_the_worst_group_is_one_that_is_there() -> None:
    table = people(1)
    found = sf.audit(beyond(table, 10_000), [sf.KAnonymity(50)])
    there = sf.audit(table, [sf.KAnonymity(50)]).evidence
    assert there is not None
    groups = there.release
    known = {
        (tuple(groups.regions.describe(g).items()), int(groups.groups.sizes[g]))
        for g in range(len(groups.groups))
    }
    for worst in found.findings[0].worst:
        assert (tuple(worst.description.items()), worst.people) in known


def test_what_needs_every_group_is_not_judged() -> None:
    report = sf.audit(beyond(people(2), 10_000), [sf.KMap(5, "weights")])
    assert report.findings[0].verdict.status == "cannot_judge"
    assert "larger than memory" in report.findings[0].verdict.note
    assert not report.holds


def test_kinds_are_few_and_too_many_are_refused() -> None:
    ages = [*range(1000), *range(1000)]
    table = sf.read(
        pa.table({"age": ages, "ill": ["a", "b"] * 1000}), sf.Schema(quasi=["age"], sensitive="ill")
    )
    large = beyond(table, 5)
    assert isinstance(large.counts, StoredCounts)
    kinds = large.counts.kinds()
    assert sorted(kinds.multiplicity.tolist()) == [500, 500]  # two of "a" here, two of "b" there
    varied = [age for age in range(60) for _ in range(age + 1)]
    rows = {"age": varied, "ill": ["a"] * len(varied)}
    many = beyond(sf.read(pa.table(rows), sf.Schema(quasi=["age"], sensitive="ill")), 5)
    with pytest.raises(ResourceError, match="60 different groups of 60 tuples"):
        sf.audit(many, [sf.KAnonymity(2)])


def test_a_report_is_written(tmp_path: Any) -> None:
    report = sf.audit(beyond(people(3), 10_000), sf.Policy([sf.KAnonymity(2)]))
    for ending in ("html", "json", "md"):
        report.save(tmp_path / f"report.{ending}")
    told = json.loads((tmp_path / "report.json").read_text())
    assert told["release"]["people"] == 50


@pytest.mark.parametrize(
    "criterion",
    [
        sf.RelativeThreatBound(2.0),
        sf.DistributionLeakage(0.1, joint=["ill", "pay"]),
        sf.DistributionLeakage(0.1, prior={"given": ["age"]}),
    ],
)
def test_nor_is_what_reads_more_than_counts(criterion: Any) -> None:
    report = sf.audit(beyond(people(4), 10_000), [criterion])
    assert report.findings[0].verdict.status == "cannot_judge"


def test_nobody_takes_one_group_of_a_kind_for_all() -> None:
    """Attacks and ledgers read every group's description; of these there is one of each kind."""
    table = people(5)
    large = as_it_stands(beyond(table, 10_000))
    whole = as_it_stands(table)
    targets = pa.table({"age": [20], "job": ["nurse"]})
    with pytest.raises(ResourceError, match="description of every group"):
        sf.intersection_attack([large, whole], targets, sensitive="ill")
    with pytest.raises(ResourceError, match="description of every group"):
        sf.characterize(large)
    with pytest.raises(ResourceError):
        sf.relative_threat(large, sensitive="ill")
    register = sf.read(targets, sf.Schema(quasi=["age", "job"]))
    # Of a published file nobody knows the other groups' regions; of a table the engine does.
    assert isinstance(large.regions, Examples)
    of_file = replace(large, regions=Examples(large.regions.regions), disjoint=False)
    report = sf.audit(of_file, [sf.KAnonymity(2), sf.KMap(2, register)], population=register)
    assert report.linkage is not None
    assert report.linkage.journalist is None
    assert "larger than memory" in report.linkage.reason
    assert report.findings[1].verdict.status == "cannot_judge"
    reports = [
        sf.audit(subject, [sf.KAnonymity(2)], population=register)
        for subject in (beyond(table, 10_000), table)
    ]
    assert reports[0].linkage is not None
    assert reports[0].linkage.journalist is not None
    assert reports[0].threats == reports[1].threats
    assert "describe" not in repr(large.regions)


def test_a_ledger_refuses_what_it_cannot_keep_whole(tmp_path: Any) -> None:
    release = as_it_stands(beyond(people(6), 10_000))
    with pytest.raises(ResourceError):
        sf.Ledger(tmp_path / "ledger.db").add(release, "first")


def test_an_outside_release_counts_everybody() -> None:
    """A prior from a file larger than memory is that of all its people."""
    rows = {"age": list(range(60)), "ill": ["x"] * 50 + ["y"] * 7 + ["z"] * 3}
    table = sf.read(pa.table(rows), sf.Schema(quasi=["age"], sensitive="ill"))
    large = as_it_stands(beyond(table, 10_000))
    assert counts_in(large, "ill", SHAPE) == {"x": 50, "y": 7, "z": 3}
    assert counts_in(beyond(table, 10_000), "ill", SHAPE) == {"x": 50, "y": 7, "z": 3}


def test_advice_is_not_worked_out_from_examples(tmp_path: Any) -> None:
    rows = {"a": [1, 2, 3, 4, 4], "b": [1, 1, 2, 1, 1], "ill": list("xxxxy")}
    table = sf.read(pa.table(rows), sf.Schema(quasi=["a", "b"], sensitive="ill"))
    sf.audit(beyond(table, 10_000), [sf.KAnonymity(2)]).save(tmp_path / "report.md")
    told = (tmp_path / "report.md").read_text()
    assert "Coarsen " not in told
    assert "larger than memory" in told
