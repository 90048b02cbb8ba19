"""Random worlds: she believes a group's shares, and homogeneous groups make her sure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

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
    assert (threat.worst, threat.people, threat.status) == (1.0, 4, "measured")
    assert threat.learns == "disease: more likely than not for 4 people, for sure for 4"


def test_more_likely_than_not_begins_above_one_half() -> None:
    (threat,) = RandomWorlds(Groups([[5, 5], [6, 5], [1, 2]])).threats()
    assert threat.people == 11 + 3
    assert threat.worst == pytest.approx(2 / 3)
    assert "for sure for 0" in threat.learns


def test_what_she_knows_and_who_she_is_are_named() -> None:
    (threat,) = RandomWorlds(Groups([[1, 1]])).threats()
    assert threat.adversary == "random worlds"
    assert "quasi-identifiers" in threat.knows
    assert threat.covered == ()


def test_thousands_are_grouped_in_the_sentence() -> None:
    (threat,) = RandomWorlds(Groups([[1500, 0]])).threats()
    assert threat.learns.endswith("more likely than not for 1,500 people, for sure for 1,500")


def test_with_several_values_per_person_beliefs_are_shares_of_people() -> None:
    """Two of four people have both values: nobody's values are sure, and shares exceed one."""
    worlds = RandomWorlds(Groups([[3, 3], [2, 1]], sizes=[4, 2]))
    assert worlds.belief(0) == {"0": 0.75, "1": 0.75}
    assert worlds.strongest().tolist() == [0.75, 1.0]
    (threat,) = worlds.threats()
    assert (threat.people, threat.worst) == (6, 1.0)
    assert "for sure for 2" in threat.learns


def test_without_a_sensitive_column_she_learns_nothing() -> None:
    (threat,) = RandomWorlds(Groups(np.zeros((2, 0), dtype=int), sizes=[3, 3])).threats()
    assert (threat.status, threat.people, threat.worst) == ("not_applicable", None, None)
    assert "no sensitive column" in threat.learns


def test_without_groups_there_is_nobody_to_learn_about() -> None:
    (threat,) = RandomWorlds(Groups(np.zeros((0, 2)))).threats()
    assert (threat.status, threat.people, threat.worst) == ("not_applicable", None, None)
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
    likely = [group for group in members if oracle.largest_share(group) * 2 > 1]
    sure = [group for group in members if oracle.distinct_values(group) == 1]
    assert threat.worst == pytest.approx(max(strongest))
    assert threat.people == sum(map(len, likely))
    assert threat.learns.endswith(f"for sure for {sum(map(len, sure))}")


def test_a_value_somebody_may_have_twice_is_never_surer_than_certain() -> None:
    """Two people and two occurrences of one value: three of four worlds give it to the target."""
    groups = Groups([[2, 0], [3, 1]], ["A", "B"], [2, 1], case="multiset")
    worlds = RandomWorlds(groups)
    assert worlds.belief(0) == {"A": 0.75}
    assert worlds.strongest().tolist() == [0.75, 1.0]
    assert "for sure for 1" in worlds.threats()[0].learns
