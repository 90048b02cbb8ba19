"""The knowledge skyline: golden ones, every point of small boxes, and what it says of itself."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.skyline import knowledge
from sfumato.adversaries.skyline.breach import minima, odds, safe
from sfumato.adversaries.skyline.knowledge import deciding
from sfumato.errors import InputError
from tests.adversaries.skyline.tiny_releases import CASES, golden, golden_groups, groups_of, tinies
from tests.examples import few

each_case = pytest.mark.parametrize("case", CASES)


@each_case
def test_every_golden_skyline_is_found(case) -> None:
    asked = 0
    for candidate in golden(case):
        groups = golden_groups(candidate, case)
        for confidence, points in candidate["knowledge_skyline"].items():
            found = sf.knowledge_skyline(groups, candidate["sigma"], Fraction(confidence))
            asked += 1
            if points == "ALL_SAFE":
                assert found.status == "all_safe"
                continue
            assert found.points == tuple(sorted(map(tuple, points)))
            assert found.bounds == tuple(candidate["axis_max_safe_bounds"])
            assert found.status == ("some_safe" if points else "none_safe")
            assert ("l" in found.unbounded) is (
                case != "single" and any(point[0] == found.bounds[0] for point in points)
            )
    assert asked > 60


@each_case
@settings(max_examples=few(40))
@given(data=st.data())
def test_it_divides_a_box_into_safe_and_unsafe(case, data) -> None:
    groups = groups_of(data.draw(tinies(case, people=14, worlds=10**9)))
    confidence = data.draw(st.sampled_from(["1/3", "1/2", "2/3", "9/10", "1"]).map(Fraction))
    found = sf.knowledge_skyline(groups, "A", confidence)
    box = list(product(range(4), repeat=3))
    holds = safe(groups, [0] * len(box), box, [confidence] * len(box), case)[1]
    free = found.bounds is not None and found.unbounded
    for point, good in zip(box, holds, strict=True):
        below = any(
            all(
                mine <= theirs or (axis == 0 and free and theirs == found.bounds[0])
                for axis, (mine, theirs) in enumerate(zip(point, top, strict=True))
            )
            for top in found.points
        )
        assert (below or found.status == "all_safe") is bool(good), point


@each_case
@given(data=st.data())
def test_the_shapes_that_decide_are_enough(case, data) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    counts = rng.integers(0, rng.choice([3, 9, 30]), (12, 4))
    counts[:, 0] += rng.random(12) < 0.5
    counts[:, 1] += 1
    sizes = counts.sum(axis=1) if case == "single" else counts.max(axis=1) + rng.integers(0, 9, 12)
    groups = sf.Groups(counts, sizes=sizes, case=case)
    small = deciding(groups, 0, case)
    points = rng.integers(0, [5, 8, 8], (20, 3))
    whole = odds(minima(groups, [0] * 20, points, case))
    assert odds(minima(small, [0] * 20, points, case)) == pytest.approx(whole, rel=1e-12)
    assert len(small) <= (counts[:, 0] > 0).sum()


def test_many_equal_groups_are_one_shape() -> None:
    groups = sf.Groups(np.tile([[1, 3, 4], [1, 4, 3], [0, 1, 1]], (500, 1)), list("ABC"))
    assert len(deciding(groups, 0, "single")) == 1


def test_larger_groups_with_fewer_never_decide() -> None:
    groups = sf.Groups([[2, 3, 4], [1, 30, 40], [2, 4, 4]], list("ABC"))
    assert deciding(groups, 0, "single").sizes.tolist() == [9]


def test_what_the_release_alone_gives_away() -> None:
    found = sf.knowledge_skyline(sf.Groups([[3, 1]], ["HIV", "Flu"]), "HIV", 0.75)
    assert (found.status, found.points) == ("none_safe", ())
    assert found.sentence == "The release alone makes somebody 75% sure that a person has 'HIV'."


def test_a_value_nobody_has() -> None:
    found = sf.knowledge_skyline(sf.Groups([[0, 1]], ["HIV", "Flu"]), "HIV", 0.1)
    assert (found.status, found.bounds, found.unbounded) == ("all_safe", None, ("l", "k", "m"))
    assert "Nobody has 'HIV'" in found.sentence


def test_an_axis_without_a_bound_is_said() -> None:
    groups = sf.Groups([[1, 2, 2]], ["HIV", "Flu", "Cold"], [9], case="set")
    found = sf.knowledge_skyline(groups, "HIV", 0.9)
    assert found.unbounded == ("l",)
    assert "no number of facts about the target changes that where l is 2" in found.sentence


def test_a_walk_that_was_cut_short_is_said(monkeypatch) -> None:
    monkeypatch.setattr(knowledge, "MOST", 5)
    found = sf.knowledge_skyline(sf.Groups([[1, 50, 50]], list("ABC")), "A", 1)
    assert found.cut == ("k", "m")
    assert max(point[1] for point in found.points) == 5
    assert "k was followed up to 5 only" in found.sentence


def test_it_becomes_json() -> None:
    found = sf.knowledge_skyline(sf.Groups([[1, 1, 2]], ["HIV", "Flu", "Cold"]), "HIV", 0.5)
    told = json.loads(found.to_json())
    assert told["points"] == [{"l": 0, "k": 0, "m": 1}, {"l": 0, "k": 1, "m": 0}]
    assert told["bounds"] == {"l": 1, "k": 2, "m": 2}
    assert (told["value"], told["confidence"], told["status"]) == ("HIV", 0.5, "some_safe")


@pytest.mark.parametrize("confidence", [0, -0.1, 1.01, float("nan"), "0.5", True, None])
def test_a_wrong_confidence_is_refused(confidence) -> None:
    with pytest.raises(InputError, match="confidence = ") as caught:
        sf.knowledge_skyline(sf.Groups([[1, 1]]), "0", confidence)
    assert "above 0 and at most 1" in str(caught.value)


def one_group(counts: list[int]) -> sf.Groups:
    return sf.Groups([counts], values=[str(value) for value in range(len(counts))])


@each_case
@settings(max_examples=few(40))
@given(data=st.data(), most=st.integers(0, 3))
def test_a_limit_gives_the_same_skyline_inside_it(case, data, most) -> None:
    groups = groups_of(data.draw(tinies(case, people=14, worlds=10**9)))
    confidence = data.draw(st.sampled_from(["1/2", "9/10", "1"]).map(Fraction))
    found = sf.knowledge_skyline(groups, "A", confidence, most=most)
    if found.bounds is None:
        return
    box = list(product(range(most + 1), repeat=3))
    holds = safe(groups, [0] * len(box), box, [confidence] * len(box), case)[1]
    for point, good in zip(box, holds, strict=True):
        below = any(all(a <= b for a, b in zip(point, top, strict=True)) for top in found.points)
        free = found.unbounded and any(
            top[0] == found.bounds[0] and point[1] <= top[1] and point[2] <= top[2]
            for top in found.points
        )
        assert bool(below or free) is bool(good)
    assert {"k", "m"} & set(found.cut) == ({"k", "m"} if found.bounds[1] > most else set())


def test_a_wide_column_is_followed_with_few_checks() -> None:
    """A value each for 3,000 people: the walk once judged a million points of such a group."""
    found = sf.knowledge_skyline(one_group([1] * 3_000), "0", 0.9)
    assert len(found.points) == 1_001
    assert found.checks < 30_000
    limited = sf.knowledge_skyline(one_group([1] * 3_000), "0", 0.9, most=50)
    assert limited.points == ((50, 50, 50),)
    assert limited.cut == ("l", "k", "m")
    assert limited.checks < 10
    assert "l was followed up to 50 only" in limited.sentence


def test_a_limit_below_none_is_refused() -> None:
    with pytest.raises(InputError, match="most = -1"):
        sf.knowledge_skyline(one_group([2, 1]), "0", 0.9, most=-1)
