"""Differential privacy as a criterion: read from the guarantee, infinite without one."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import sfumato as sf
from sfumato.anonymizers.anatomy import Anatomy
from sfumato.anonymizers.lattice.lattice import Lattice
from sfumato.anonymizers.microaggregation import Microaggregation
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.criteria import CRITERIA
from sfumato.criteria.base import judge
from sfumato.release.description import of_scheme
from sfumato.release.guarantee import PrivacyLoss
from sfumato.release.release import Release, as_it_stands
from tests.anonymizers.noisy import noise, people, read, release
from tests.criteria.examples import EXAMPLES


def promised(epsilon: float, delta: float = 0.0, **more) -> Release:
    guarantee = sf.Guarantee(epsilon, delta, "geometric", **more)
    exact = as_it_stands(read(people(20)))
    made = replace(exact.made, guarantee=guarantee)
    return replace(exact, regions=of_scheme(exact.regions, "randomised"), made=made)


@pytest.mark.parametrize(
    ("promise", "bound", "status"),
    [
        ((1.0, 0.0), sf.DifferentialPrivacy(1.0), "holds"),
        ((1.0, 0.0), sf.DifferentialPrivacy(1), "holds"),
        ((math.nextafter(1, 2), 0.0), sf.DifferentialPrivacy(1), "violated"),
        ((0.3, 0.0), sf.DifferentialPrivacy(0.1 * 3), "holds"),
        ((0.1 * 3, 0.0), sf.DifferentialPrivacy(0.3), "violated"),
        ((0.5, 1e-6), sf.DifferentialPrivacy(1), "violated"),
        ((0.5, 1e-6), sf.DifferentialPrivacy(1, 1e-6), "holds"),
        ((0.5, 1e-6), sf.DifferentialPrivacy(1, 1e-7), "violated"),
        ((0.0, 0.0), sf.DifferentialPrivacy(0), "holds"),
    ],
)
def test_it_holds_up_to_the_bound_and_no_further(promise, bound, status: str) -> None:
    verdict = judge(bound, promised(*promise))
    assert verdict.status == status
    assert verdict.measured == promise[0]
    assert verdict.worst == ()  # a promise to everybody alike


def test_the_relation_of_neighbours_is_part_of_the_bound() -> None:
    both = promised(1.0, other=PrivacyLoss(0.5, 0.0))
    assert judge(sf.DifferentialPrivacy(0.5, neighbours="add-remove"), both).holds
    assert not judge(sf.DifferentialPrivacy(0.5), both).holds
    one = judge(sf.DifferentialPrivacy(9, neighbours="add-remove"), promised(1.0))
    assert one.status == "violated"
    assert one.measured == math.inf
    assert one.note == "its guarantee is by replace-one only"
    doubled = judge(sf.DifferentialPrivacy(2), promised(1.0, neighbours="add-remove"))
    assert doubled.holds
    assert doubled.measured == 2.0


def test_a_release_that_was_not_randomised_promises_nothing() -> None:
    verdict = judge(sf.DifferentialPrivacy(100, 1.0), as_it_stands(read(people(20))))
    assert verdict.status == "violated"
    assert verdict.measured == math.inf
    assert "not randomised" in verdict.note


@pytest.mark.parametrize(
    "anonymizer", [Lattice(), Mondrian(), Anatomy(2), Microaggregation(3)], ids=lambda a: a.name
)
def test_no_partition_satisfies_it(anonymizer) -> None:
    table = read(people(60))
    policy = sf.Policy([sf.KAnonymity(1), sf.DifferentialPrivacy(5.0)], anonymizer)
    with pytest.raises(sf.NoSafeRelease, match="differential-privacy") as told:
        sf.anonymize(table, policy)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("name", sorted(name for name in CRITERIA if not CRITERIA[name].of_noise))
def test_criteria_on_exact_counts_are_not_applicable_to_noise(name: str) -> None:
    made = release(read(people()), noise())
    for criterion in EXAMPLES[name].settings:
        verdict = judge(criterion, made)
        assert verdict.status == "not_applicable"
        assert not verdict.holds
        assert "counts are noisy" in verdict.note
    report = sf.audit(made, [EXAMPLES[name].settings[0]])
    assert report.status == "could_not_judge"


def test_an_audit_tells_of_any_prior_and_reads_nothing_off_noisy_counts() -> None:
    made = release(read(people()), noise(0.5))
    report = sf.audit(made, [sf.DifferentialPrivacy(0.5)])
    assert report.holds
    by_adversary = {threat.adversary: threat for threat in report.threats}
    bounded = by_adversary["any prior"].belief
    assert bounded is not None
    assert bounded.at_most
    assert bounded.after - (bounded.before or 0.0) == pytest.approx(math.tanh(0.25))
    assert by_adversary["any prior"].covered == ("differential-privacy",)
    assert "random worlds" not in by_adversary
    assert by_adversary["prosecutor"].status == "not_applicable"
    assert report.columns == ()
    assert "epsilon ≤ 0.5 (replace-one)" in str(report)
