"""The oracles themselves, against figures worked out by hand or in print."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import criteria_oracle as oracle
from tests.oracles.tables import group_counts

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "leakage_emd.json").read_text())


@pytest.mark.parametrize("example", GOLDEN["examples"], ids=lambda example: example["name"])
def test_the_transport_costs_what_the_leakage_examples_say(example) -> None:
    table = oracle.normalized(example["table"])
    grounds = {
        "equal": oracle.equal_ground(len(table)),
        "ordered": oracle.ordered_ground(example["table"]),
    }
    for kind in grounds.keys() & example.keys():
        for counts, distance in zip(example["groups"], example[kind], strict=True):
            found = oracle.earth_mover(oracle.normalized(counts), table, grounds[kind])
            assert found == Fraction(distance)


@given(st.data())
def test_the_transport_of_single_units_is_the_cheapest_assignment(data) -> None:
    width = data.draw(st.integers(2, 4))
    costs = st.integers(0, 5).map(Fraction)
    ground = [[data.draw(costs) for _ in range(width)] for _ in range(width)]
    share = [Fraction(1, width)] * width
    cheapest = min(
        sum(ground[i][j] for i, j in enumerate(order)) for order in permutations(range(width))
    )
    assert oracle.earth_mover(share, share, ground) == cheapest / width


@given(st.integers(1, 5).flatmap(lambda m: st.tuples(group_counts(m), group_counts(m))))
def test_the_transport_at_distance_one_is_the_variational_distance(pair) -> None:
    p, q = map(oracle.normalized, pair)
    half = sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
    assert oracle.earth_mover(p, q, oracle.equal_ground(len(p))) == half


def test_values_meet_at_their_lowest_common_label() -> None:
    paths = [("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")]
    half = Fraction(1, 2)
    assert oracle.tree_ground(paths) == [[0, half, 1], [half, 0, 1], [1, 1, 0]]


def test_a_label_that_all_share_is_the_root() -> None:
    assert oracle.tree_ground([("a", "x", "*"), ("b", "x", "*")]) == [[0, 1], [1, 0]]


def test_diversity_by_hand() -> None:
    members = [0] * 4 + [1, 2, 3, 4]  # 2 bits of entropy
    assert oracle.effective_values(members) == pytest.approx(4)
    assert oracle.entropy_diverse(members, Fraction(4))
    assert not oracle.entropy_diverse(members, Fraction(4) + Fraction(1, 10**12))
    assert oracle.recursive_ratio(members, 3) == Fraction(4, 3)
    assert oracle.recursive_ratio(members, 6) is None
    assert not oracle.recursive_diverse(members, Fraction(4, 3), 3)


def test_likeness_and_disclosure_by_hand() -> None:
    members, weights = [0, 0, 0, 1], [1, 1]
    assert oracle.likeness_gain(members, weights) == Fraction(1, 2)
    assert oracle.disclosure(members, weights) == pytest.approx(math.log(2))
    assert oracle.likeness_gain(members, [1, 0]) is None
    assert oracle.disclosure([0], weights) == math.inf
    assert oracle.least_enhanced_beta([0, 0], [3, 1]) is None  # 1/3 exceeds -ln(3/4)
    assert oracle.least_enhanced_beta(members, weights) == Fraction(1, 2)  # below ln 2
