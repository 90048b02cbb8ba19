"""k-anonymity and (alpha, k)-anonymity: sizes, shares of people, ties at alpha."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.k_anonymity import AlphaK, KAnonymity
from sfumato.errors import InputError, PolicyError, ResourceError
from sfumato.release.groups import Groups
from tests.oracles import criteria_oracle as oracle
from tests.oracles.tables import Small, tables


def without_values(sizes: list[int]) -> Groups:
    """Groups of a table that has no sensitive column."""
    return Groups.from_sparse(
        np.zeros(len(sizes) + 1, dtype=np.int64),
        np.zeros(0, dtype=np.int32),
        np.zeros(0, dtype=np.int64),
        0,
        sizes=np.array(sizes, dtype=np.int64),
    )


def test_k_is_the_size_of_the_smallest_group() -> None:
    groups = Groups([[3, 2], [0, 4], [5, 5]])
    verdict = KAnonymity(4).verdict(groups)
    assert (verdict.status, verdict.measured, verdict.worst[0]) == ("holds", 4, 1)
    assert KAnonymity(5).holds(groups).tolist() == [True, False, True]


def test_the_verdict_counts_the_people_in_groups_that_are_too_small() -> None:
    verdict = KAnonymity(5).verdict(Groups([[3, 1], [2, 0], [5, 5]]))
    assert verdict.status == "violated"
    assert "2 of 3 groups, 6 people" in verdict.note


def test_k_needs_no_sensitive_column() -> None:
    verdict = KAnonymity(2).verdict(without_values([2, 3]))
    assert (verdict.status, verdict.measured, verdict.attribute) == ("holds", 2, None)


def test_k_counts_people_not_values() -> None:
    three_people_with_five_values = Groups([[3, 2]], sizes=[3])
    assert KAnonymity(3).verdict(three_people_with_five_values).holds
    assert not KAnonymity(4).verdict(three_people_with_five_values).holds


def test_suppressed_people_in_the_reference_make_no_group_larger() -> None:
    assert KAnonymity(3).verdict(Groups([[2, 0]], reference=[9, 9])).measured == 2


@pytest.mark.parametrize("criterion", [KAnonymity(2), AlphaK(0.5, 2)])
def test_no_group_is_not_applicable(criterion) -> None:
    verdict = criterion.verdict(Groups(np.zeros((0, 3))))
    assert (verdict.status, verdict.holds, verdict.measured) == ("not_applicable", False, None)
    assert "no group" in verdict.note
    with pytest.raises(InputError, match=criterion.name):
        criterion.measure(Groups(np.zeros((0, 3))))


def test_alpha_without_a_sensitive_column_is_not_applicable() -> None:
    groups = without_values([4, 4])
    verdict = AlphaK(0.5, 2).verdict(groups)
    assert (verdict.status, verdict.measured) == ("not_applicable", None)
    assert "no sensitive column" in verdict.note
    assert not AlphaK(0.5, 2).holds(groups).any()


def test_a_share_of_exactly_alpha_holds() -> None:
    assert AlphaK(0.5, 1).verdict(Groups([[2, 2]])).holds
    assert not AlphaK(0.5, 1).verdict(Groups([[3, 2]])).holds


def test_alpha_is_the_decimal_somebody_wrote() -> None:
    """0.1 and 0.7 have no float: ties there are decided as one tenth and seven tenths."""
    tenth = Groups([[1] * 10])
    assert AlphaK(0.1, 1).verdict(tenth).holds
    assert not AlphaK(0.0999999999999, 1).verdict(tenth).holds
    assert AlphaK(0.7, 1).verdict(Groups([[7, 3]])).holds
    one_too_many = Groups([[70_000_000_001, 29_999_999_999]])
    assert not AlphaK(0.7, 1).verdict(one_too_many).holds


def test_a_homogeneous_group_is_violated_by_every_alpha_below_one() -> None:
    groups = Groups([[5, 0], [3, 3]])
    verdict = AlphaK(0.999, 1).verdict(groups)
    assert (verdict.status, verdict.measured, verdict.worst[0]) == ("violated", 1.0, 0)
    assert AlphaK(1, 1).verdict(groups).holds


def test_alpha_and_k_must_both_hold() -> None:
    groups = Groups([[1, 1], [4, 1], [3, 3]])
    assert AlphaK(0.5, 3).holds(groups).tolist() == [False, False, True]
    assert "smallest group 2" in AlphaK(0.5, 3).verdict(groups).note


def test_with_several_values_per_person_alpha_is_a_share_of_people() -> None:
    four_people = Groups([[3, 3, 2]], sizes=[4])
    verdict = AlphaK(0.75, 4).verdict(four_people)
    assert (verdict.status, verdict.measured) == ("holds", 0.75)
    assert not AlphaK(0.7, 4).verdict(four_people).holds


@given(tables(), st.integers(1, 8))
def test_k_equals_the_oracle(small: Small, k: int) -> None:
    members = oracle.classes(small.rows)
    verdict = KAnonymity(k).verdict(small.groups)
    assert verdict.measured == min(map(len, members))
    expected = [oracle.k_anonymous(group, k) for group in members]
    assert KAnonymity(k).holds(small.groups).tolist() == expected
    assert verdict.holds == all(expected)


@given(tables(), st.sampled_from(["0.25", "0.5", "0.75", "1"]), st.integers(1, 6))
def test_alpha_k_equals_the_oracle(small: Small, alpha: str, k: int) -> None:
    members = oracle.classes(small.rows)
    criterion = AlphaK(float(alpha), k)
    measure = criterion.measure(small.groups)
    shares = [float(oracle.largest_share(group)) for group in members]
    assert measure.per_group.tolist() == pytest.approx(shares)
    assert measure.value == pytest.approx(max(shares))
    assert measure.parts["smallest group"] == min(map(len, members))
    expected = [oracle.alpha_k(group, Fraction(alpha), k) for group in members]
    assert criterion.holds(small.groups).tolist() == expected
    assert criterion.verdict(small.groups).holds == all(expected)


@pytest.mark.parametrize(
    ("key", "given"), [("columns", ["age", "sx"]), ("sets", [["age"], ["sx", "age"]])]
)
def test_policies_name_columns_of_their_schema(tmp_path, key: str, given: object) -> None:
    path = tmp_path / "policy.toml"
    text = '[schema]\nquasi = ["age", "sex"]\n\n[[require]]\nkind = "k-anonymity"\nk = 2\n'
    path.write_text(f"{text}{key} = {given}\n".replace("'", '"'))
    with pytest.raises(PolicyError, match=f"{key} names 'sx'.* mean 'sex'"):
        sf.Policy.load(path)
    path.write_text(path.read_text().replace("sx", "sex"))
    assert sf.Policy.load(path).require


def test_more_sets_than_can_be_counted_are_refused() -> None:
    columns = [f"c{number}" for number in range(40)]
    with pytest.raises(ResourceError, match="76,904,685 sets of 8"):
        KAnonymity(2, up_to=8).seen(columns)
