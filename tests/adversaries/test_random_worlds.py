"""Random worlds: she believes a group's shares, and homogeneous groups make her sure."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from sfumato.adversaries.base import BeliefChange
from sfumato.adversaries.random_worlds import RandomWorlds
from sfumato.release.groups import Groups
from tests.oracles import criteria_oracle as oracle
from tests.oracles.tables import Small, tables


def test_she_believes_the_shares_of_the_group() -> None:
    worlds = RandomWorlds(Groups([[3, 1, 0], [0, 2, 2]], ["flu", "gout", "none"]))
    assert worlds.belief(0) == {"flu": 0.75, "gout": 0.25}
    assert worlds.belief(1) == {"gout": 0.5, "none": 0.5}
    assert worlds.strongest().tolist() == [0.75, 0.5]


def test_a_homogeneous_group_makes_her_sure() -> None:
    groups = Groups([[4, 0], [3, 3]], ["flu", "gout"], attribute="disease")
    assert RandomWorlds(groups).belief(0) == {"flu": 1.0}
    (threat,) = RandomWorlds(groups).threats()
    assert threat.belief == BeliefChange(0.7, 1.0, "flu")
    assert (threat.about, threat.people.number, threat.status) == ("disease", 4, "measured")
    assert threat.learns == (
        "disease: moved more than 2 times for 4 people (more likely than not of 4, for sure of 4); "
        "most for 'flu', 70% → 100%"
    )


def test_what_is_as_common_in_the_group_as_everywhere_is_no_news() -> None:
    (threat,) = RandomWorlds(Groups([[5, 5], [6, 5], [1, 2]])).threats()
    assert threat.people.number == 0
    assert (threat.belief.before, threat.belief.after) == pytest.approx((1 / 2, 2 / 3))
    assert "for sure of 0" in threat.learns
    (threat,) = RandomWorlds(Groups([[99, 1], [97, 3], [4, 0]])).threats()
    assert threat.people.number == 0  # nearly everybody has it, and everybody knows
    assert threat.belief == BeliefChange(4 / 204, 3 / 100, "1")


def test_what_she_knows_and_who_she_is_are_named() -> None:
    (threat,) = RandomWorlds(Groups([[1, 1]])).threats()
    assert threat.adversary == "random worlds"
    assert "quasi-identifiers" in threat.knows
    assert threat.covered == ()


def test_thousands_are_grouped_in_the_sentence() -> None:
    (threat,) = RandomWorlds(Groups([[1500, 0], [0, 1500]])).threats()
    assert "for 3,000 people (more likely than not of 3,000, for sure of 3,000)" in threat.learns


def test_with_several_values_per_person_beliefs_are_shares_of_people() -> None:
    """Two of four people have both values: nobody's values are sure, and shares exceed one."""
    worlds = RandomWorlds(Groups([[3, 3], [2, 1]], sizes=[4, 2]))
    assert worlds.belief(0) == {"0": 0.75, "1": 0.75}
    assert worlds.strongest().tolist() == [0.75, 1.0]
    (threat,) = worlds.threats()
    assert threat.belief == BeliefChange(5 / 6, 1.0, "0")
    assert threat.people.number == 2
    assert "for sure of 2" in threat.learns


def test_without_a_sensitive_column_she_learns_nothing() -> None:
    (threat,) = RandomWorlds(Groups(np.zeros((2, 0), dtype=int), sizes=[3, 3])).threats()
    assert (threat.status, threat.people, threat.belief) == ("not_applicable", None, None)
    assert "no sensitive column" in threat.learns


def test_without_groups_there_is_nobody_to_learn_about() -> None:
    (threat,) = RandomWorlds(Groups(np.zeros((0, 2)))).threats()
    assert (threat.status, threat.people, threat.belief) == ("not_applicable", None, None)
    assert "no group" in threat.learns


@given(tables())
def test_beliefs_equal_counting_rows(small: Small) -> None:
    worlds = RandomWorlds(small.groups)
    members = oracle.classes(small.rows)
    for g, group in enumerate(members):
        shares = oracle.distribution(group, small.width)
        believed = {str(value): float(share) for value, share in enumerate(shares) if share}
        assert worlds.belief(g) == pytest.approx(believed)
    strongest = [float(oracle.largest_share(group)) for group in members]
    assert worlds.strongest().tolist() == pytest.approx(strongest)
    (threat,) = worlds.threats()
    everybody = oracle.distribution([row for group in members for row in group], small.width)
    people, best = 0, (Fraction(0), Fraction(0), Fraction(0))
    for group in members:
        shares = oracle.distribution(group, small.width)
        moves = [(factor(p, q), q, -p) for p, q in zip(everybody, shares, strict=True) if q]
        best = max(best, *moves)
        people += len(group) if max(moves)[0] > 2 else 0
    assert threat.people.number == people
    assert threat.belief is not None
    assert (threat.belief.factor, threat.belief.after, -threat.belief.before) == pytest.approx(
        tuple(float(one) for one in best)
    )


def factor(before: Fraction, after: Fraction) -> Fraction:
    """By how much a belief moves, as the report says it."""
    least = Fraction(1, 20)
    return max(after / before, max(1 - before, least) / max(1 - after, least), Fraction(1))


def test_a_value_somebody_may_have_twice_is_never_surer_than_certain() -> None:
    """Two people and two occurrences of one value: three of four worlds give it to the target."""
    groups = Groups([[2, 0], [3, 1]], ["A", "B"], [2, 1], case="multiset")
    worlds = RandomWorlds(groups)
    assert worlds.belief(0) == {"A": 0.75}
    assert worlds.strongest().tolist() == [0.75, 1.0]
    assert worlds.threats()[0].belief.after == 1
