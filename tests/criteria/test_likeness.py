"""beta-likeness and delta-disclosure: relative gains, the enhanced cap, vanished values."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.criteria.likeness import BetaLikeness, DeltaDisclosure
from sfumato.release.groups import Groups
from tests.oracles import criteria_oracle as oracle
from tests.oracles.tables import Small, tables

ALL = [BetaLikeness(1), BetaLikeness(1, enhanced=True), DeltaDisclosure(1)]


# -- beta-likeness --------------------------------------------------------------------------------


def test_a_gain_of_exactly_beta_holds() -> None:
    groups = Groups([[1, 1]], reference=[1, 3])  # a quarter becomes a half: gain 1
    verdict = BetaLikeness(1).verdict(groups)
    assert (verdict.status, verdict.measured) == ("holds", 1.0)
    assert not BetaLikeness(0.9999999999).verdict(groups).holds


def test_beta_is_the_decimal_somebody_wrote() -> None:
    groups = Groups([[13, 7]], reference=[1, 1])  # 13/20 against 1/2: gain 0.3
    verdict = BetaLikeness(0.3).verdict(groups)
    assert (verdict.status, verdict.measured) == ("holds", 0.3)
    one_more = Groups([[13 * 10**10 + 1, 7 * 10**10 - 1]], reference=[1, 1])
    assert not BetaLikeness(0.3).verdict(one_more).holds


def test_a_rare_value_weighs_more_than_a_frequent_one() -> None:
    """The same two people more: 2 of 100 against 1 of 100 doubles, 51 against 50 does not."""
    rare = Groups([[2, 50, 48]], reference=[1, 50, 49])
    frequent = Groups([[1, 51, 48]], reference=[1, 50, 49])
    assert BetaLikeness(0.5).measure(rare).value == pytest.approx(1)
    assert BetaLikeness(0.5).measure(frequent).value == pytest.approx(0.02)


def test_losing_frequency_is_no_gain() -> None:
    groups = Groups([[5, 5, 0]], reference=[4, 5, 1])
    assert BetaLikeness(0.25).verdict(groups).measured == 0.25
    like_the_table = Groups([[4, 5, 1]], reference=[4, 5, 1])
    assert BetaLikeness(0.001).verdict(like_the_table).measured == 0.0


def test_a_homogeneous_group_gains_the_inverse_of_its_share() -> None:
    groups = Groups([[2, 0], [0, 6]])
    assert BetaLikeness(3).measure(groups).per_group.tolist() == pytest.approx([3, 1 / 3])
    assert BetaLikeness(3).verdict(groups).holds
    assert not BetaLikeness(2.999).verdict(groups).holds


@pytest.mark.parametrize("enhanced", [False, True])
def test_a_value_the_reference_lacks_gains_infinitely(enhanced: bool) -> None:
    groups = Groups([[1, 9], [0, 9]], reference=[0, 9])
    criterion = BetaLikeness(1e9, enhanced=enhanced)
    assert criterion.measure(groups).per_group.tolist() == [math.inf, 0.0]
    assert criterion.holds(groups).tolist() == [False, True]


def test_the_enhanced_cap_is_minus_log_of_the_share() -> None:
    """A share of 1/2 may grow by ln 2 = 0.69 at most, whatever beta."""
    table = [50, 50]
    below, above = Groups([[84, 16]], reference=table), Groups([[85, 15]], reference=table)
    assert BetaLikeness(5, enhanced=True).verdict(below).measured == pytest.approx(0.68)
    assert BetaLikeness(5, enhanced=True).verdict(below).holds
    assert BetaLikeness(5, enhanced=True).verdict(above).measured == math.inf
    assert not BetaLikeness(5, enhanced=True).verdict(above).holds
    assert BetaLikeness(5).verdict(above).holds


def test_below_the_cap_enhanced_still_asks_for_beta() -> None:
    groups = Groups([[3, 2]], reference=[1, 1])  # gain 0.2, cap 0.69
    assert BetaLikeness(0.2, enhanced=True).verdict(groups).holds
    assert not BetaLikeness(0.1, enhanced=True).verdict(groups).holds


def test_one_value_for_everybody_is_no_gain_even_enhanced() -> None:
    verdict = BetaLikeness(0.001, enhanced=True).verdict(Groups([[3, 0], [5, 0]]))
    assert (verdict.status, verdict.measured) == ("holds", 0.0)


# -- delta-disclosure -----------------------------------------------------------------------------


def test_delta_is_strict() -> None:
    groups = Groups([[3, 1]], reference=[1, 1])  # 3/4 and 1/4 against 1/2: ln 2 downwards
    assert DeltaDisclosure(1).verdict(groups).measured == pytest.approx(math.log(2))
    assert not DeltaDisclosure(math.log(2)).verdict(groups).holds
    assert DeltaDisclosure(math.log(2) + 1e-9).verdict(groups).holds


def test_delta_bounds_gains_and_losses_alike() -> None:
    gain = Groups([[1, 1]], reference=[1, 3])  # ln 2 up, ln 1.5 down
    loss = Groups([[1, 3]], reference=[1, 1])  # ln 2 down, ln 1.5 up
    for groups in (gain, loss):
        assert DeltaDisclosure(1).measure(groups).value == pytest.approx(math.log(2))


def test_a_vanished_value_discloses_infinitely() -> None:
    groups = Groups([[5, 0], [5, 5]])
    verdict = DeltaDisclosure(1e9).verdict(groups)
    assert (verdict.status, verdict.measured, verdict.worst[0]) == ("violated", math.inf, 0)
    assert DeltaDisclosure(1e9).holds(groups).tolist() == [False, True]


def test_a_value_only_suppressed_people_have_has_vanished() -> None:
    assert DeltaDisclosure(1).verdict(Groups([[2, 2, 0]])).holds
    assert not DeltaDisclosure(1e9).verdict(Groups([[2, 2, 0]], reference=[2, 2, 1])).holds


def test_a_value_the_reference_lacks_discloses_infinitely() -> None:
    assert DeltaDisclosure(1e9).verdict(Groups([[2, 1]], reference=[2, 0])).measured == math.inf
    both = Groups([[0, 2]], reference=[2, 0])  # one vanished, one new
    assert DeltaDisclosure(1e9).verdict(both).measured == math.inf


def test_groups_like_the_table_disclose_nothing() -> None:
    verdict = DeltaDisclosure(1e-6).verdict(Groups([[1, 2], [10, 20]]))
    assert verdict.holds
    assert verdict.measured == pytest.approx(0, abs=1e-12)


# -- both -----------------------------------------------------------------------------------------


def test_suppressed_rows_stay_in_the_reference() -> None:
    counts = [[2, 2], [2, 2]]
    assert BetaLikeness(0.01).verdict(Groups(counts)).holds
    with_suppressed = Groups(counts, reference=[4, 12])
    assert BetaLikeness(0.01).verdict(with_suppressed).measured == pytest.approx(1)
    assert DeltaDisclosure(0.01).verdict(with_suppressed).measured == pytest.approx(math.log(2))


@pytest.mark.parametrize("criterion", ALL, ids=str)
@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        (Groups(np.zeros((2, 0), dtype=int), sizes=[3, 3]), "no sensitive column"),
        (Groups([[2, 2]], sizes=[3]), "several values"),
        (Groups(np.zeros((0, 2)), reference=[1, 1]), "no group"),
    ],
    ids=["no sensitive column", "several values per person", "no group"],
)
def test_what_cannot_be_judged_is_not_applicable(criterion, groups, reason) -> None:
    verdict = criterion.verdict(groups)
    assert (verdict.status, verdict.holds, verdict.measured) == ("not_applicable", False, None)
    assert reason in verdict.note
    assert not criterion.holds(groups).any()


@pytest.mark.parametrize("criterion", ALL, ids=str)
def test_an_empty_reference_never_holds(criterion) -> None:
    assert not criterion.verdict(Groups([[2, 2]], reference=[0, 0])).holds


# -- against the oracle ---------------------------------------------------------------------------


@given(tables(), st.sampled_from(["0.5", "1", "2"]), st.booleans())
def test_beta_equals_the_oracle(small: Small, beta: str, enhanced: bool) -> None:
    members = oracle.classes(small.rows)
    least = oracle.least_enhanced_beta if enhanced else oracle.likeness_gain
    gains = [least(group, small.reference) for group in members]
    measured = [math.inf if gain is None else float(gain) for gain in gains]
    criterion = BetaLikeness(float(beta), enhanced=enhanced)
    measure = criterion.measure(small.groups)
    assert measure.per_group.tolist() == pytest.approx(measured, abs=1e-12)
    assert measure.value == pytest.approx(max(measured), abs=1e-12)
    expected = [
        oracle.beta_like(group, small.reference, Fraction(beta), enhanced=enhanced)
        for group in members
    ]
    assert criterion.holds(small.groups).tolist() == expected
    assert criterion.verdict(small.groups).holds == all(expected)


@given(tables(), st.sampled_from([0.5, 1, 2]))
def test_delta_equals_the_oracle(small: Small, delta: float) -> None:
    shifts = [oracle.disclosure(group, small.reference) for group in oracle.classes(small.rows)]
    criterion = DeltaDisclosure(delta)
    measure = criterion.measure(small.groups)
    assert measure.per_group.tolist() == pytest.approx(shifts, abs=1e-12)
    assert measure.value == pytest.approx(max(shifts), abs=1e-12)
    expected = [shift < delta for shift in shifts]
    assert criterion.holds(small.groups).tolist() == expected
    assert criterion.verdict(small.groups).holds == all(expected)
