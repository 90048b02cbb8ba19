"""The worst grounding, taken literally, gives the confidence it claims; told in plain words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.skyline.grounding import Grounding
from sfumato.errors import InputError
from tests.adversaries.skyline.tiny_releases import CASES, groups_of, tinies
from tests.examples import few
from tests.oracles.skyline_oracle import Tiny

each_case = pytest.mark.parametrize("case", CASES)


def literally(tiny: Tiny, values: tuple[str, ...], found: Grounding) -> float:
    """Choose the people it speaks of, know what it says, count the worlds that are left."""
    sigma = values.index(found.value)
    assert found.target is not None
    target = (found.target, 0)
    free = {g: [one for one in tiny.people if one[0] == g and one != target] for g in range(9)}
    known = tiny.every
    for fact in found.facts:
        known &= tiny.about_target(target, sigma, values.index(fact))
    if found.known is not None:
        if tiny.case == "single":
            told = [values.index(value) for value, n in found.known_values for _ in range(n)]
            assert len(told) == found.people
            for value in told:
                known &= tiny.has[free[found.known].pop(), value]
        else:
            for _ in range(found.people):
                known &= tiny.lacks(free[found.known].pop(), sigma)
    if found.family is not None:
        for _ in range(found.members):
            known &= tiny.of_family(target, free[found.family].pop(), sigma)
    chance = tiny.chance(target, sigma, known)
    assert chance is not None, "no reconstruction is left"
    return float(chance)


@each_case
@settings(max_examples=few(80))
@given(data=st.data())
def test_literally_it_gives_the_breach_probability(case, data) -> None:
    tiny = data.draw(tinies(case, people=8, worlds=1_000))
    groups = groups_of(tiny)
    point = data.draw(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 4)))
    for value in groups.values:
        found = sf.worst_grounding(groups, value, *point)
        assert found.confidence == pytest.approx(sf.breach_probability(groups, value, *point))
        if found.target is None:
            assert found.confidence == 0
            assert not tiny.has[tiny.people[0], groups.values.index(value)]
            continue
        assert literally(tiny, groups.values, found) == pytest.approx(found.confidence, abs=1e-12)
        assert len(found.facts) <= point[0]
        assert found.people <= point[1]
        assert found.members <= point[2]


def test_the_family_may_be_in_another_group_the_known_people_in_the_targets() -> None:
    groups = sf.Groups([[1, 2, 4, 0], [3, 3, 2, 5]], list("ABCD"))
    found = sf.worst_grounding(groups, "A", 1, 1, 1)
    assert (found.target, found.known, found.family) == (0, 0, 1)
    assert found.confidence == pytest.approx(13 / 23)
    assert (found.facts, found.known_values) == (("C",), (("B", 1),))


def test_the_known_people_may_be_in_the_familys_group() -> None:
    tiny = Tiny(((6, (1, 0, 4)), (8, (1, 7, 1))), "set")
    found = sf.worst_grounding(groups_of(tiny), "A", 2, 1, 3)
    assert (found.target, found.known, found.family) == (1, 0, 0)
    assert literally(tiny, ("A", "B", "C"), found) == pytest.approx(160 / 209)
    assert found.confidence == pytest.approx(160 / 209)


@pytest.mark.parametrize(
    ("groups", "point", "words"),
    [
        (
            sf.Groups([[1, 1, 2]], ["HIV", "Cold", "Flu"]),
            (1, 1, 0),
            "Looking for 'HIV', somebody whose target is in group 0 and who knows that the target "
            "has not 'Flu' and the value of one other there (1 with 'Cold') is certain that the "
            "target has it.",
        ),
        (
            sf.Groups([[1, 3, 4, 4]], ["HIV", "Cold", "Flu", "Gout"]),
            (2, 0, 2),
            "Looking for 'HIV', somebody whose target is in group 0 and who knows that the target "
            "has none of 'Flu', 'Gout' and that the target has it if any of 2 relatives there has "
            "is 28.9% sure that the target has it.",
        ),
        (
            sf.Groups([[1, 2]], ["HIV", "Flu"], [5], case="set"),
            (1, 2, 0),
            "Looking for 'HIV', somebody whose target is in group 0 and who knows that the target "
            "has it if he has 'Flu' and 2 others there without it is 45.5% sure that the target "
            "has it.",
        ),
        (
            sf.Groups([[1, 1]], ["HIV", "Flu"]),
            (0, 0, 0),
            "Looking for 'HIV', somebody whose target is in group 0 and who knows nothing but the "
            "release is 50% sure that the target has it.",
        ),
        (
            sf.Groups([[0, 1]], ["HIV", "Flu"]),
            (3, 3, 3),
            "Nobody in the release has 'HIV', so nothing makes anybody surer of it.",
        ),
    ],
)
def test_it_is_told_in_words(groups, point, words) -> None:
    assert sf.worst_grounding(groups, "HIV", *point).sentence == words


def test_near_certainty_is_not_told_as_certainty() -> None:
    groups = sf.Groups([[9_999, 2]], ["HIV", "Flu"])
    assert "over 99.9% sure" in sf.worst_grounding(groups, "HIV", 0, 0, 0).sentence


def test_mistakes_are_answered() -> None:
    groups = sf.Groups([[1, 1]], ["HIV", "Flu"])
    with pytest.raises(InputError, match="did you mean 'HIV'"):
        sf.worst_grounding(groups, "HIVV", 0, 0, 0)
    with pytest.raises(InputError, match="k = -1"):
        sf.worst_grounding(groups, "HIV", 0, -1, 0)
