"""l-diversity in its three forms: exact values, ties at the bound, infinities."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.criteria.diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from sfumato.release.groups import Groups
from tests.oracles import criteria_oracle as oracle
from tests.oracles.tables import Small, tables

ALL = [DistinctDiversity(2), EntropyDiversity(2), RecursiveDiversity(2, 2)]


# -- distinct -------------------------------------------------------------------------------------


def test_distinct_counts_values_not_people() -> None:
    groups = Groups([[9, 1, 0], [1, 1, 1], [0, 0, 50]])
    verdict = DistinctDiversity(2).verdict(groups)
    assert (verdict.status, verdict.measured, verdict.worst[0]) == ("violated", 1, 2)
    assert DistinctDiversity(2).holds(groups).tolist() == [True, True, False]
    assert DistinctDiversity(1).verdict(groups).holds


def test_of_equally_bad_groups_the_largest_are_named_first() -> None:
    sizes = [3, 9, 1, 7, 5, 8, 2]
    verdict = DistinctDiversity(2).verdict(Groups([[size, 0] for size in sizes] + [[1, 1]]))
    assert [sizes[g] for g in verdict.worst] == [9, 8, 7, 5, 3]


# -- entropy --------------------------------------------------------------------------------------


@pytest.mark.parametrize("l", [2, 3, 7])
@pytest.mark.parametrize("each", [1, 5, 1000])
def test_a_uniform_group_over_l_values_has_entropy_l_exactly(l: int, each: int) -> None:  # noqa: E741
    groups = Groups([[each] * l])
    verdict = EntropyDiversity(l).verdict(groups)
    assert (verdict.status, verdict.measured) == ("holds", l)
    assert not EntropyDiversity(l + 1e-10).verdict(groups).holds


def test_a_tie_that_is_not_uniform_holds_exactly() -> None:
    """Half the people share one value, the other half have one of four: two bits, so l = 4."""
    groups = Groups([[4, 1, 1, 1, 1]])
    verdict = EntropyDiversity(4).verdict(groups)
    assert (verdict.status, verdict.measured) == ("holds", 4)
    assert not EntropyDiversity(4.0000000001).verdict(groups).holds
    assert EntropyDiversity(3.9999999999).verdict(groups).holds


def test_one_person_off_a_large_tie_is_decided_in_integers() -> None:
    """A float cannot tell exp(entropy) of 1,000,001 against 1,000,000 from 2."""
    groups = Groups([[1_000_001, 1_000_000]])
    assert not EntropyDiversity(2).verdict(groups).holds
    assert EntropyDiversity(1.9999999999).verdict(groups).holds


def test_a_tie_too_large_to_decide_counts_as_unsafe() -> None:
    """2^14 people share one value, as many others have one each: 8 bits, but N is 32,768."""
    groups = Groups([[1 << 14] + [1] * (1 << 14)])
    assert not EntropyDiversity(256).verdict(groups).holds
    assert EntropyDiversity(255.9999).verdict(groups).holds
    assert EntropyDiversity(256).verdict(groups).measured == pytest.approx(256)


def test_entropy_of_a_homogeneous_group_is_one() -> None:
    verdict = EntropyDiversity(1.001).verdict(Groups([[6, 0], [3, 3]]))
    assert (verdict.status, verdict.measured, verdict.worst[0]) == ("violated", 1.0, 0)
    assert EntropyDiversity(1).verdict(Groups([[6, 0]])).holds


# -- recursive ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("c", "holds"), [(97, False), (98, False), (98.0000001, True)])
def test_98_1_1_needs_c_above_98_at_l_3(c: float, holds: bool) -> None:
    verdict = RecursiveDiversity(c, 3).verdict(Groups([[98, 1, 1]]))
    assert verdict.holds is holds
    assert verdict.measured == 98


def test_the_same_counts_at_l_2_need_c_above_49() -> None:
    groups = Groups([[1, 98, 1]])
    assert not RecursiveDiversity(49, 2).verdict(groups).holds
    assert RecursiveDiversity(49.0000001, 2).verdict(groups).holds


def test_c_is_the_decimal_somebody_wrote_and_a_tie_violates() -> None:
    assert not RecursiveDiversity(1.1, 2).verdict(Groups([[11, 10]])).holds
    assert not RecursiveDiversity(0.1, 2).verdict(Groups([[1] * 11])).holds
    assert RecursiveDiversity(0.1, 2).verdict(Groups([[1] * 12])).holds


def test_fewer_than_l_values_are_infinitely_bad() -> None:
    groups = Groups([[5, 5, 0], [2, 2, 2]])
    measure = RecursiveDiversity(1000, 3).measure(groups)
    assert measure.per_group.tolist() == [math.inf, 1.0]
    assert (measure.value, measure.worst) == (math.inf, (0, 1))
    assert RecursiveDiversity(1000, 3).holds(groups).tolist() == [False, True]


def test_a_homogeneous_group_is_violated_by_every_c() -> None:
    assert not RecursiveDiversity(1e12, 2).verdict(Groups([[5, 0]])).holds


# -- not applicable -------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ALL, ids=str)
@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        (Groups(np.zeros((2, 0), dtype=int), sizes=[3, 3]), "no sensitive column"),
        (Groups([[2, 2]], sizes=[3]), "several values"),
        (Groups(np.zeros((0, 2))), "no group"),
    ],
    ids=["no sensitive column", "several values per person", "no group"],
)
def test_what_cannot_be_judged_is_not_applicable(criterion, groups, reason) -> None:
    verdict = criterion.verdict(groups)
    assert (verdict.status, verdict.holds, verdict.measured) == ("not_applicable", False, None)
    assert reason in verdict.note
    assert not criterion.holds(groups).any()


# -- against the oracle ---------------------------------------------------------------------------


@given(tables(), st.integers(1, 4))
def test_distinct_equals_the_oracle(small: Small, least: int) -> None:
    found = [oracle.distinct_values(group) for group in oracle.classes(small.rows)]
    criterion = DistinctDiversity(least)
    assert criterion.measure(small.groups).per_group.tolist() == found
    assert criterion.measure(small.groups).value == min(found)
    assert criterion.holds(small.groups).tolist() == [n >= least for n in found]
    assert criterion.verdict(small.groups).holds == (min(found) >= least)


@given(tables(), st.sampled_from(["1", "1.5", "2", "3", "4"]))
def test_entropy_equals_the_oracle(small: Small, least: str) -> None:
    members = oracle.classes(small.rows)
    criterion = EntropyDiversity(float(least))
    effective = [oracle.effective_values(group) for group in members]
    measure = criterion.measure(small.groups)
    assert measure.per_group.tolist() == pytest.approx(effective)
    assert measure.value == pytest.approx(min(effective))
    expected = [oracle.entropy_diverse(group, Fraction(least)) for group in members]
    assert criterion.holds(small.groups).tolist() == expected
    assert criterion.verdict(small.groups).holds == all(expected)


@given(tables(), st.sampled_from(["0.5", "1", "2", "3"]), st.integers(2, 4))
def test_recursive_equals_the_oracle(small: Small, c: str, least: int) -> None:
    members = oracle.classes(small.rows)
    criterion = RecursiveDiversity(float(c), least)
    ratios = [oracle.recursive_ratio(group, least) for group in members]
    measured = [math.inf if ratio is None else float(ratio) for ratio in ratios]
    measure = criterion.measure(small.groups)
    assert measure.per_group.tolist() == pytest.approx(measured)
    assert measure.value == pytest.approx(max(measured))
    expected = [oracle.recursive_diverse(group, Fraction(c), least) for group in members]
    assert criterion.holds(small.groups).tolist() == expected
    assert criterion.verdict(small.groups).holds == all(expected)
