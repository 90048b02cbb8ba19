"""t-closeness: published distances, exact ties, the reference, and an independent transport."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import suppression, taxonomy
from sfumato.criteria.closeness import TCloseness
from sfumato.errors import SchemaError
from sfumato.release.groups import Groups
from sfumato.schema.domain import Domain
from tests.oracles import criteria_oracle as oracle
from tests.oracles.tables import Small, tables

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "leakage_emd.json").read_text())
T = st.integers(0, 10).map(lambda tenths: f"{tenths / 10:g}")


def measured(groups: Groups, distance) -> list[float]:
    return TCloseness(0.5, distance=distance).measure(groups).per_group.tolist()


# -- golden ---------------------------------------------------------------------------------------

SALARIES = [[3, 5, 9], [6, 11, 8], [4, 7, 10]]


def salary_groups() -> Groups:
    counts = [[int(salary in group) for salary in range(3, 12)] for group in SALARIES]
    return Groups(counts, domain=Domain("salary", "numeric", tuple(range(3, 12))))


def test_the_nine_salaries_of_the_paper() -> None:
    assert measured(salary_groups(), "ordered") == pytest.approx([1 / 6, 1 / 6, 1 / 12])


def test_one_sixth_holds_only_for_a_decimal_above_it() -> None:
    """The float 1/6 reads 0.16666666666666666, which is a decimal below one sixth."""
    assert not TCloseness(0.16666666666666666, distance="ordered").verdict(salary_groups()).holds
    assert TCloseness(0.1666666666666667, distance="ordered").verdict(salary_groups()).holds


@pytest.mark.parametrize("example", GOLDEN["examples"], ids=lambda example: example["name"])
def test_the_leakage_examples(example) -> None:
    groups = Groups(example["groups"], reference=example["table"])
    for kind in {"equal", "ordered"} & example.keys():
        exact = [Fraction(distance) for distance in example[kind]]
        assert measured(groups, kind) == pytest.approx([float(distance) for distance in exact])
        for t in (0.375, 0.25):
            holds = TCloseness(t, distance=kind).holds(groups).tolist()
            assert holds == [distance <= Fraction(t) for distance in exact]


# -- ties, infinities, the reference --------------------------------------------------------------


def test_a_distance_of_exactly_t_holds() -> None:
    groups = Groups([[2, 0], [0, 2]])
    verdict = TCloseness(0.5).verdict(groups)
    assert (verdict.status, verdict.measured) == ("holds", 0.5)
    assert not TCloseness(0.4999999999999).verdict(groups).holds


def test_t_is_the_decimal_somebody_wrote() -> None:
    """0.3 as a float lies below three tenths; a distance of exactly 3/10 holds all the same."""
    groups = Groups([[8, 2]], reference=[5, 5])
    verdict = TCloseness(0.3).verdict(groups)
    assert (verdict.status, verdict.measured) == ("holds", 0.3)
    one_more = Groups([[8 * 10**10 + 1, 2 * 10**10 - 1]], reference=[5, 5])
    assert not TCloseness(0.3).verdict(one_more).holds


def test_two_groups_a_hair_on_either_side_of_t_are_told_apart() -> None:
    """The same counts of different values, against a reference a person off even."""
    groups = Groups([[1, 0], [0, 1]], reference=[5 * 10**10 + 1, 5 * 10**10 - 1])
    assert TCloseness(0.5).holds(groups).tolist() == [True, False]


@pytest.mark.parametrize("distance", ["equal", "ordered", suppression()])
def test_groups_like_the_table_are_zero_close(distance) -> None:
    groups = Groups([[1, 2, 4], [3, 6, 12], [7, 14, 28]])
    verdict = TCloseness(0, distance=distance).verdict(groups)
    assert (verdict.status, verdict.measured) == ("holds", 0.0)
    one_off = Groups([[7 * 10**11, 14 * 10**11, 28 * 10**11 + 1]], reference=[1, 2, 4])
    assert not TCloseness(0, distance=distance).verdict(one_off).holds


@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_a_group_of_values_the_reference_lacks_is_as_far_as_can_be(distance) -> None:
    groups = Groups([[0, 3]], reference=[5, 0])
    assert measured(groups, distance) == [1.0]
    assert not TCloseness(0.999, distance=distance).verdict(groups).holds


def test_suppressed_rows_stay_in_the_reference() -> None:
    counts = [[2, 2], [2, 2]]
    assert TCloseness(0).verdict(Groups(counts)).holds
    with_suppressed = Groups(counts, reference=[4, 12])
    assert measured(with_suppressed, "equal") == [0.25, 0.25]
    assert not TCloseness(0.2).verdict(with_suppressed).holds


def test_weights_of_the_reference_need_not_be_whole() -> None:
    groups = Groups([[1, 1]], reference=[0.1, 0.3])
    verdict = TCloseness(0.25).verdict(groups)
    assert (verdict.status, verdict.measured) == ("holds", 0.25)


def test_values_that_occur_nowhere_do_not_dilute_the_ordered_distance() -> None:
    seen = Groups([[2, 0], [0, 2]])
    gap = Groups([[0, 2, 0, 0, 0], [0, 0, 0, 2, 0]])
    assert measured(gap, "ordered") == measured(seen, "ordered") == [0.5, 0.5]


def test_a_suppressed_value_is_a_step_of_the_ordered_distance() -> None:
    """Only suppressed people have the middle value; it still lies between the other two."""
    groups = Groups([[2, 0, 0]], reference=[2, 1, 1])
    assert measured(groups, "ordered") == [(1 / 2 + 1 / 4) / 2]


def test_values_of_other_groups_do_not_dilute_a_groups_ordered_distance() -> None:
    """Each group is judged alone: one with a value the reference lacks must not help another."""
    reference = [1, 1, 0]
    alone = measured(Groups([[1, 0, 0]], reference=reference), "ordered")
    among = measured(Groups([[1, 0, 0], [0, 0, 1]], reference=reference), "ordered")
    assert among[0] == alone[0] == 0.5


def test_one_value_only_is_no_distance() -> None:
    for distance in ("equal", "ordered", suppression()):
        assert measured(Groups([[3], [5]]), distance) == [0.0, 0.0]


# -- hierarchy ------------------------------------------------------------------------------------

DISEASES = {
    "flu": ("lung", "inner"),
    "asthma": ("lung", "inner"),
    "ulcer": ("stomach", "inner"),
    "eczema": ("skin", "outer"),
}


def test_values_near_each_other_in_the_tree_are_cheap_to_move() -> None:
    values = tuple(DISEASES)
    tree = taxonomy(DISEASES)
    flu = Groups([[1, 0, 0, 0]], values, reference=[0, 1, 0, 0])
    assert measured(flu, tree) == pytest.approx([1 / 3])
    assert measured(Groups([[1, 0, 0, 0]], values, reference=[0, 0, 1, 0]), tree) == (
        pytest.approx([2 / 3])
    )
    assert measured(Groups([[1, 0, 0, 0]], values, reference=[0, 0, 0, 1]), tree) == [1.0]


def test_a_distance_of_exactly_t_in_the_tree_holds() -> None:
    """Three tenths of the people move up one of two levels: 0.15, which has no float."""
    tree, values = taxonomy({"a": "x", "b": "x", "c": "y"}), ("a", "b", "c")
    tie = Groups([[8, 2, 0]], values, reference=[5, 5, 0])
    assert TCloseness(0.15, distance=tree).verdict(tie).status == "holds"
    assert TCloseness(0.15, distance=tree).verdict(tie).measured == 0.15
    one_more = Groups([[8 * 10**10 + 1, 2 * 10**10 - 1, 0]], values, reference=[5, 5, 0])
    assert TCloseness(0.15, distance=tree).verdict(one_more).status == "violated"


def test_the_tree_goes_by_the_labels_not_by_the_order_of_columns() -> None:
    tree = taxonomy(DISEASES)
    values = ("eczema", "asthma", "ulcer", "flu")
    groups = Groups([[0, 1, 0, 0]], values, reference=[0, 0, 0, 1])
    assert measured(groups, tree) == pytest.approx([1 / 3])


def test_a_tree_without_inner_labels_is_the_equal_distance() -> None:
    groups = Groups([[3, 1, 0], [0, 1, 3]], ["a", "b", "c"])
    assert measured(groups, suppression()) == pytest.approx(measured(groups, "equal"))


@pytest.mark.parametrize("top", ["*", "any disease"])
def test_the_label_that_all_values_share_is_the_root_whatever_its_name(top: str) -> None:
    """Else a file that spells out its root would make every distance, and so t, look smaller."""
    spelt_out = taxonomy({value: (*path, top) for value, path in DISEASES.items()})
    groups = Groups([[1, 0, 0, 0]], tuple(DISEASES), reference=[0, 0, 0, 1])
    assert measured(groups, spelt_out) == measured(groups, taxonomy(DISEASES)) == [1.0]


def test_a_tree_that_lacks_a_value_is_an_error_that_names_it() -> None:
    groups = Groups([[1, 1]], ["flu", "gout"])
    with pytest.raises(SchemaError, match="gout"):
        TCloseness(0.5, distance=taxonomy(DISEASES)).verdict(groups)


# -- not applicable -------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", ["equal", "ordered"])
@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        (Groups(np.zeros((2, 0), dtype=int), sizes=[3, 3]), "no sensitive column"),
        (Groups([[2, 2]], sizes=[3]), "several values"),
        (Groups(np.zeros((0, 2)), reference=[1, 1]), "no group"),
        (Groups([[2, 2]], reference=[0, 0]), "reference distribution is empty"),
    ],
    ids=["no sensitive column", "several values per person", "no group", "empty reference"],
)
def test_what_cannot_be_judged_is_not_applicable(distance, groups, reason) -> None:
    criterion = TCloseness(1, distance=distance)
    verdict = criterion.verdict(groups)
    assert (verdict.status, verdict.holds, verdict.measured) == ("not_applicable", False, None)
    assert reason in verdict.note
    assert not criterion.holds(groups).any()


def test_ordered_needs_an_order() -> None:
    disease = Domain("disease", "categorical", ("asthma", "flu"))
    verdict = TCloseness(1, distance="ordered").verdict(Groups([[1, 1]], domain=disease))
    assert verdict.status == "not_applicable"
    assert "'disease' has no order" in verdict.note
    stage = Domain("stage", "ordered", ("early", "late"))
    assert TCloseness(1, distance="ordered").verdict(Groups([[1, 1]], domain=stage)).holds


# -- against the oracle ---------------------------------------------------------------------------


def agrees(small: Small, groups: Groups, distance, ground: oracle.Ground, t: str) -> None:
    table = oracle.normalized(small.reference)
    exact = [
        oracle.earth_mover(oracle.distribution(group, small.width), table, ground)
        for group in oracle.classes(small.rows)
    ]
    criterion = TCloseness(float(t), distance=distance)
    measure = criterion.measure(groups)
    assert measure.per_group.tolist() == pytest.approx([float(emd) for emd in exact], abs=1e-12)
    assert measure.value == pytest.approx(float(max(exact)), abs=1e-12)
    expected = [emd <= Fraction(t) for emd in exact]
    assert criterion.holds(groups).tolist() == expected
    assert criterion.verdict(groups).holds == all(expected)


@given(tables(), T)
def test_equal_equals_the_cheapest_transport(small: Small, t: str) -> None:
    agrees(small, small.groups, "equal", oracle.equal_ground(small.width), t)


@given(tables(covering=True), T)
def test_ordered_equals_the_cheapest_transport(small: Small, t: str) -> None:
    agrees(small, small.groups, "ordered", oracle.ordered_ground(small.reference), t)


@given(tables(), T, st.data())
def test_hierarchical_equals_the_cheapest_transport(small: Small, t: str, data) -> None:
    labels = st.lists(st.sampled_from("pqr"), min_size=small.width, max_size=small.width)
    fine = data.draw(labels)
    above = data.draw(st.fixed_dictionaries({label: st.sampled_from("xy") for label in "pqr"}))
    steps = [step for step in (fine, [above[label] for label in fine]) if len(set(step)) > 1]
    values = list("abcde"[: small.width])
    paths = {value: tuple(step[i] for step in steps) for i, value in enumerate(values)}
    ground = oracle.tree_ground([(value, *path, "*") for value, path in paths.items()])
    groups = Groups(small.counts, values, reference=small.reference)
    agrees(small, groups, taxonomy(paths), ground, t)
