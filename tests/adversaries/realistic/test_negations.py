"""Values she rules out beside a prior: the model enumerated, any shape, what is not judged."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.base import judge
from tests.examples import few
from tests.oracles import dirichlet_oracle as oracle
from tests.oracles.tables import group_counts


def worst(counts: tuple[int, ...], weights: Any, known: int, negations: int) -> Fraction | None:
    """Every statement and every set of values ruled out, by enumeration."""
    found = Fraction(1)
    for many in range(negations + 1):
        for gone in combinations(range(len(counts)), many):
            for value in range(len(counts)):
                if value in gone or not counts[value]:
                    continue
                one = oracle.needed(counts, weights, {value}, known, ruled_out=gone)
                if one is None:
                    return None
                found = max(found, one)
    return found


def binding(her: sf.RealisticAdversary, counts: Any) -> Fraction | None:
    found = sf.EpsilonPrivacy(2, her).binding(sf.Groups([counts]), 0)
    assert found is not None
    return found.shift.epsilon


@settings(max_examples=few(30))
@given(st.data())
def test_the_group_and_the_prior_without_what_is_ruled_out_are_the_model(data) -> None:
    width = data.draw(st.integers(2, 3))
    counts = data.draw(group_counts(width, 2).filter(lambda some: sum(some) <= 4))
    weights = data.draw(st.tuples(*[st.fractions(Fraction(1, 3), 6, max_denominator=4)] * width))
    known = data.draw(st.integers(0, min(1, sum(counts) - 1)))
    negations = data.draw(st.integers(1, 2))
    right = worst(counts, weights, known, min(negations, width - 1))
    total = sum(weights)
    assume(total >= 1)
    shape = {str(code): weight / total for code, weight in enumerate(weights)}
    her = sf.RealisticAdversary(shape, total, known=known, negations=negations, at_most=False)
    assert binding(her, counts) == right
    measured = sf.EpsilonPrivacy(2, her).measure(sf.Groups([counts])).value
    assert measured == pytest.approx(math.inf if right is None else float(right), rel=1e-12)


@settings(max_examples=few(30))
@given(counts=group_counts(3, 5), total=st.integers(3, 9), negations=st.integers(1, 2))
def test_of_any_shape_the_worst_of_all(counts: Any, total: int, negations: int) -> None:
    """Whole weights that add up reach the worst shape, which has weights of 1."""
    shapes = [w for w in product(range(1, total), repeat=3) if sum(w) == total]
    each = []
    for weights in shapes:
        shape = {str(code): Fraction(weight, total) for code, weight in enumerate(weights)}
        her = sf.RealisticAdversary(shape, total, negations=negations, at_most=False)
        each.append(binding(her, counts))
    right = None if None in each else max(one for one in each if one is not None)
    assert binding(sf.RealisticAdversary(stubbornness=total, negations=negations), counts) == right


def test_an_example_in_words_and_figures() -> None:
    """Who holds all three alike likely and knows that it is not HIV: flu from 1/2 to 5/6."""
    groups = sf.Groups([[5, 4, 1]], ["flu", "HIV", "cold"])
    plain = sf.RealisticAdversary("uniform", math.inf, at_most=False)
    ruling = sf.RealisticAdversary("uniform", math.inf, negations=1, at_most=False)
    assert sf.EpsilonPrivacy(2, plain).verdict(groups).measured == pytest.approx(1.5)
    verdict = sf.EpsilonPrivacy(2, ruling).verdict(groups)
    assert verdict.measured == pytest.approx(3)
    assert "rules out 1" in verdict.required
    said = (
        "and rules out 'HIV' would raise her belief in 'flu' from .50 to .83, her doubt falling 3"
    )
    assert said in verdict.note
    seen = sf.RealisticAdversary("uniform", 300, negations=1, at_most=False)
    assert "who has seen 300 outside" in sf.EpsilonPrivacy(2, seen).verdict(groups).note
    sure = sf.Groups([[5, 5, 0]], ["flu", "HIV", "cold"])
    assert sf.EpsilonPrivacy(2, ruling).verdict(sure).measured == math.inf
    (threat,) = ruling.attack(groups_as_release(), groups).threats()
    assert threat.belief is not None
    assert (threat.belief.before, threat.belief.after) == pytest.approx((0.5, 5 / 6))


def groups_as_release() -> sf.Release:
    rows = pa.table({"q": list("xxxxxxyyyyyy"), "s": ["flu", "HIV", "cold"] * 4})
    schema = sf.Schema(quasi=["q"], sensitive="s", hierarchies={"q": sf.suppression()})
    return sf.generalize(sf.read(rows, schema, threads=1), {"q": 0})


def test_ruling_out_more_is_never_safer_and_nothing_is_as_before() -> None:
    groups = sf.Groups([[6, 3, 1, 2], [1, 1, 1, 1], [4, 0, 4, 1]])
    for her in ({"shape": "table", "stubbornness": 40}, {"stubbornness": 20, "known": 1}):
        figures = [
            sf.EpsilonPrivacy(2, sf.RealisticAdversary(**her, negations=many)).measure(groups)
            for many in range(4)
        ]
        assert (figures[0].per_group <= figures[1].per_group).all()
        assert (figures[1].per_group <= figures[2].per_group).all()
        plain = sf.EpsilonPrivacy(2, sf.RealisticAdversary(**her)).measure(groups)
        assert (plain.per_group == figures[0].per_group).all()


def test_where_it_is_not_applicable_it_says_so() -> None:
    her = sf.RealisticAdversary("uniform", 40, negations=2)
    groups = sf.Groups([[3, 2, 1]])
    cases = {
        "for predicates = 'values' only": sf.EpsilonPrivacy(2, her, predicates="all"),
        "cannot be combined with the theorem": sf.EpsilonPrivacy(2, her, mode="theorem"),
    }
    for said, criterion in cases.items():
        verdict = criterion.verdict(groups)
        assert verdict.status == "not_applicable"
        assert said in verdict.note
    wide = sf.Groups([[1] * 80])
    many = sf.EpsilonPrivacy(2, sf.RealisticAdversary("uniform", 400, negations=3)).verdict(wide)
    assert "can be ruled out in 85,401 ways, and at most 2,000 are tried" in many.note
    release = groups_as_release()
    regional = sf.RealisticAdversary(release, by_region=True, negations=1)
    assert "priors by region" in judge(sf.EpsilonPrivacy(2, regional), release).note
    with pytest.raises(sf.PolicyError, match="negations = -1 is not allowed"):
        sf.RealisticAdversary("uniform", 40, negations=-1)
    with pytest.raises(sf.InputError, match="nothing ruled out"):
        sf.Beliefs(her, groups).curves([10])


@given(st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(1, 20)))
def test_implications_about_people_of_other_groups_cost_at_most_the_square(twentieths) -> None:
    """What is said of implications: q, that none of them has the value, is the same both times."""
    p_in, p_out, q = (Fraction(number, 20) for number in twentieths)

    def needed(with_row: Fraction, without: Fraction) -> Fraction | None:
        pairs = ((with_row, without), (1 - without, 1 - with_row))
        if any(top and not bottom for top, bottom in pairs):
            return None
        return max([Fraction(1), *(top / bottom for top, bottom in pairs if bottom)])

    plain = needed(p_in, p_out)
    knowing = needed(p_in / (p_in + (1 - p_in) * q), p_out / (p_out + (1 - p_out) * q))
    assert (plain is None) == (knowing is None)
    assert plain is None or knowing is None or knowing <= plain**2
