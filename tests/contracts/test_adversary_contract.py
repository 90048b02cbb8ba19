"""What every adversary promises: who is in the catalogue, and whom criteria name, is held to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.base import Adversary, CatalogueEntry, Runs, Threat, ThreatStatus
from sfumato.adversaries.catalogue import ADVERSARIES, entry_of
from sfumato.criteria import CRITERIA
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.report.sections.threats import catalogue_document
from tests.adversaries.releases import buckets, release
from tests.conftest import ROOT
from tests.criteria.examples import EXAMPLES, VALUES
from tests.examples import few

each_entry = pytest.mark.parametrize("entry", ADVERSARIES.values(), ids=list(ADVERSARIES))
EVEN = dict.fromkeys(VALUES, 2)
RELEASES = {
    "ordinary": release(["x"], [((1,), {**EVEN, "a": 3}), ((2,), EVEN), ((3,), {"a": 2, "b": 1})]),
    "homogeneous": release(["x"], [((1,), {"a": 4}), ((2,), {"b": 4})], values=VALUES),
    "one person": release(["x"], [((1,), {"a": 1})]),
    "all alike": release(["x"], [(("*",), EVEN)]),
    "overlapping": release(["x"], [(((1, 5),), EVEN), (((3, 9),), {"a": 1, "c": 2})]),
    "buckets": buckets(["x"], [([(1,), (2,)], {"a": 1, "b": 1}), ([(1,)], {"c": 1})]),
}
each_release = pytest.mark.parametrize("made", RELEASES.values(), ids=list(RELEASES))


def named_by_criteria(made: Release) -> Iterator[tuple[Adversary, Groups]]:
    """Whom the examples of all criteria name; each is asked once."""
    seen: list[Adversary] = []
    for name in CRITERIA:
        for criterion in EXAMPLES[name].settings:
            for adversary, groups in criterion.adversaries(made):
                if adversary not in seen:
                    seen.append(adversary)
                    yield adversary, groups


def everybody(made: Release) -> Iterator[tuple[Adversary, Groups]]:
    """Everybody who can run on a release by herself, or because a criterion names her."""
    for entry in ADVERSARIES.values():
        if entry.applies(made):
            yield from ((one, made.groups) for one in entry.stand_ins(made.groups))
    yield from named_by_criteria(made)


# -- the catalogue --------------------------------------------------------------------------------


@each_entry
def test_she_tells_who_she_is(entry: CatalogueEntry) -> None:
    assert ADVERSARIES[entry.name] is entry
    assert entry_of(entry.name) is entry
    assert entry.question.endswith("?")
    assert entry.question[0].isupper()
    assert len(entry.question) <= 41  # a terminal has room for it beside figures
    for jargon in ("target", "prior", "class", "belie", "quasi", "distribution"):
        assert jargon not in entry.question
    assert entry.knows
    assert entry.learns
    assert entry.measure or entry.releases == "noisy"  # there she always runs
    assert entry.runs in get_args(Runs)


@each_entry
def test_the_criteria_that_bound_her_do(entry: CatalogueEntry) -> None:
    for name in entry.criteria:
        assert any(criterion.bounds(entry.name) for criterion in EXAMPLES[name].settings), name


def test_whom_a_criterion_is_against_is_in_the_catalogue() -> None:
    for name in CRITERIA:
        for criterion in EXAMPLES[name].settings:
            entry = entry_of(criterion.against)
            assert entry is not None, criterion
            for made in RELEASES.values():
                for adversary, _ in criterion.adversaries(made):
                    assert entry_of(adversary.name) is entry


def test_the_documentation_has_the_table_of_the_catalogue() -> None:
    (section,) = catalogue_document().sections
    (sheet,) = section.tables
    lines = (ROOT / "docs" / "criteria.md").read_text(encoding="utf-8").splitlines()
    for name, asks, _, runs, bounded, _ in sheet.rows:
        assert f"| {name} | {asks} | {runs} | {bounded} |" in lines


# -- herself --------------------------------------------------------------------------------------


@each_release
def test_she_is_a_frozen_dataclass_of_what_she_knows(made: Release) -> None:
    for adversary, _ in everybody(made):
        assert dataclasses.is_dataclass(adversary)
        for field in dataclasses.fields(adversary):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(adversary, field.name, None)


@each_entry
@each_release
def test_her_stand_ins_go_by_her_name(entry: CatalogueEntry, made: Release) -> None:
    for adversary in entry.stand_ins(made.groups):
        assert entry.owns(adversary.name)


@each_release
def test_her_threats_are_hers_and_within_bounds(made: Release) -> None:
    asked = 0
    for adversary, groups in everybody(made):
        for threat in adversary.attack(made, groups).threats():
            consistent(threat, adversary, made)
            asked += 1
    assert asked


def consistent(threat: Threat, adversary: Adversary, made: Release) -> None:
    entry = entry_of(adversary.name)
    assert entry is not None
    assert entry.owns(threat.adversary)
    assert threat.knows
    assert threat.learns
    assert threat.status in get_args(ThreatStatus)
    assert threat.about is None or threat.about in made.by_attribute
    assert threat.covered == ()  # that is the audit's to say
    if threat.status != "measured":
        assert threat.belief is None
    if threat.belief is not None:
        assert 0 <= threat.belief.before <= 1
        assert 0 <= threat.belief.after <= 1
        assert threat.belief.value in ("", *made.groups.values)
    if threat.people is not None:
        assert 0 <= threat.people.number <= made.people


@each_release
def test_she_finds_the_same_again(made: Release) -> None:
    for adversary, groups in everybody(made):
        first, again = (adversary.attack(made, groups).threats() for _ in range(2))
        assert first == again


COUNTS = st.dictionaries(st.sampled_from(VALUES), st.integers(1, 4), min_size=1)


@settings(max_examples=few(15))
@given(st.lists(COUNTS, min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_groups_does_not_matter(found, random) -> None:  # type: ignore[no-untyped-def]
    """Whoever reads groups finds the same in any order of them; criteria's examples included."""
    described = [((place,), counts) for place, counts in enumerate(found)]
    one = release(["x"], described, values=VALUES)
    other = release(["x"], random.sample(described, len(described)), values=VALUES)
    for (adversary, groups), (same, turned) in zip(everybody(one), everybody(other), strict=True):
        assert adversary == same
        assert adversary.attack(one, groups).threats() == same.attack(other, turned).threats()


def test_everybody_who_runs_by_herself_is_in_an_audit() -> None:
    """Of a release she applies to, an audit tells her threats or why there are none."""
    for made in RELEASES.values():
        told = {threat.adversary for threat in sf.audit(made, [sf.KAnonymity(1)]).threats}
        for entry in ADVERSARIES.values():
            if entry.runs == "by itself" and entry.applies(made):
                assert any(entry.owns(name) for name in told), (entry.name, made.label)
