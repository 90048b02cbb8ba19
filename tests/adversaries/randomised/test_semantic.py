"""Semantic privacy: the bounds hold on mechanisms that can be enumerated, and some are reached."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.randomised import NAME, AnyPrior, PosteriorBound
from sfumato.release.guarantee import PrivacyLoss
from tests.oracles.semantic_oracle import (
    Mechanism,
    distances,
    failing,
    indistinguishable,
    smallest_delta,
    supremum,
    total_variation,
)

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "composition.json").read_text())[
    "semantic_bound"
]
BITS = (0, 1)
EPSILONS = (0.1, 0.5, math.log(2), 1.0, 3.0)


def randomised_response(people: int, epsilon: float) -> dict[tuple[int, ...], dict]:
    """Everybody answers truly with probability e^eps / (1 + e^eps)."""
    true = math.exp(epsilon) / (1 + math.exp(epsilon))
    tables = list(product(BITS, repeat=people))
    return {
        table: {
            told: math.prod(true if a == b else 1 - true for a, b in zip(table, told, strict=True))
            for told in tables
        }
        for table in tables
    }


def noisy_counts(people: int, epsilon: float) -> dict[tuple[int, ...], dict]:
    """Geometric noise of scale 2 / eps on both counts, cut off at 0 and at the people there are."""
    ratio = math.exp(-epsilon / 2)

    def chance(count: int, told: int) -> float:
        if told in (0, people):  # everything beyond is told as this
            return ratio ** abs(told - count) / (1 + ratio)
        return (1 - ratio) / (1 + ratio) * ratio ** abs(told - count)

    return {
        table: {
            told: chance(table.count(0), told[0]) * chance(table.count(1), told[1])
            for told in product(range(people + 1), repeat=2)
        }
        for table in product(BITS, repeat=people)
    }


def one_record(people: int) -> dict[tuple[int, ...], dict]:
    """The paper's example: publish the record of one person, drawn at random."""
    return {
        table: dict.fromkeys(enumerate(table), 1 / people) for table in product(BITS, repeat=people)
    }


def bounds(
    epsilon: float, delta: float = 0.0, people: int | None = None
) -> dict[str, PosteriorBound]:
    found = sf.semantic_privacy(PrivacyLoss(epsilon, delta), people)
    return {bound.source: bound for bound in found.bounds if bound.about == "anybody"}


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("make", [randomised_response, noisy_counts])
def test_no_prior_moves_further_than_the_bounds_say(make, epsilon: float) -> None:
    mechanism = make(3, epsilon)
    assert all(math.isclose(sum(told.values()), 1) for told in mechanism.values())
    assert indistinguishable(mechanism, BITS) <= epsilon + 1e-9
    worst = supremum(mechanism, 0)
    assert worst <= bounds(epsilon)["tight"].distance + 1e-9
    assert worst <= bounds(epsilon)["paper"].distance + 1e-9


def parity(epsilon: float) -> dict[tuple[int, ...], dict]:
    """Whether two people's bits differ, told truly with probability e^eps / (1 + e^eps).

    What a replacement does to the answer depends on the other person's bit.
    """
    true = math.exp(epsilon) / (1 + math.exp(epsilon))
    return {(a, b): {a ^ b: true, 1 - (a ^ b): 1 - true} for a, b in product(BITS, repeat=2)}


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_tight_bound_is_reached_so_nothing_smaller_is_true(epsilon: float) -> None:
    mechanism = parity(epsilon)
    assert indistinguishable(mechanism, BITS) == pytest.approx(epsilon)
    assert supremum(mechanism, 0) == pytest.approx(bounds(epsilon)["tight"].distance, abs=1e-12)
    own = supremum(randomised_response(3, epsilon), 0)
    assert own == pytest.approx(math.tanh(epsilon / 4), abs=1e-12)


@given(
    weights=st.lists(st.floats(0, 1), min_size=8, max_size=8).filter(lambda w: sum(w) > 0.01),
    epsilon=st.sampled_from(EPSILONS),
)
def test_any_prior_stays_within_the_tight_bound(weights: list[float], epsilon: float) -> None:
    mechanism = randomised_response(3, epsilon)
    prior = dict(zip(mechanism, weights, strict=True))
    found = distances(mechanism, prior, 0)
    assert found
    assert max(found.values()) <= math.tanh(epsilon / 2) + 1e-9
    assert max(found.values()) <= supremum(mechanism, 0) + 1e-9


@pytest.mark.parametrize("text", GOLDEN)
def test_the_golden_bounds(text: str) -> None:
    """Priors on two tables, and random ones, come near the tight bound and never beyond it."""
    wanted, found = GOLDEN[text], bounds(float(text))
    assert found["tight"].distance == pytest.approx(wanted["tanh(eps/2)"], abs=1e-15)
    assert found["paper"].distance == pytest.approx(wanted["e^eps-1"], abs=1e-15)
    assert found["paper"].vacuous == (wanted["e^eps-1"] >= 1)
    for name in ("two_point_max", "random_max"):
        assert wanted[name] <= found["tight"].distance
        assert supremum(parity(float(text)), 0) == pytest.approx(wanted[name], abs=1e-6)


def test_the_supremum_is_approached_by_a_prior_on_two_tables() -> None:
    """The oracle's closed form against the enumeration it stands for."""
    mechanism = parity(1.0)
    best = max(
        max(distances(mechanism, {(1, 0): weight, (1, 1): 1 - weight}, 0).values())
        for weight in (step / 1000 for step in range(1, 1000))
    )
    assert best == pytest.approx(supremum(mechanism, 0), abs=1e-3)
    assert best <= supremum(mechanism, 0) + 1e-12


def test_one_random_record_is_near_in_total_variation_and_no_privacy_at_all() -> None:
    mechanism: Mechanism = one_record(8)
    assert total_variation(mechanism, BITS) == pytest.approx(1 / 8)
    assert indistinguishable(mechanism, BITS) == math.inf
    assert supremum(mechanism, 0) == 1.0
    # Person 0 is nearly sure to be 1; told that she is 0, the adversary turns round.
    prior = {table: 0.99 if table[0] else 0.01 for table in mechanism if not any(table[1:])}
    assert distances(mechanism, prior, 0)[(0, 0), 0] == pytest.approx(0.99)


def test_with_delta_the_bound_fails_no_oftener_than_it_says() -> None:
    """Randomised response that tells the whole table with probability delta."""
    people, epsilon, delta = 3, 0.05, 1e-6
    mechanism = randomised_response(people, epsilon)
    for table, told in mechanism.items():
        for outcome in told:
            told[outcome] *= 1 - delta
        told["all", table] = delta
    bound = bounds(epsilon, delta, people)["paper"]
    assert not bound.vacuous
    prior = dict.fromkeys(mechanism, 1 / len(mechanism))
    far = {what for what, found in distances(mechanism, prior, 0).items() if found > bound.distance}
    assert far  # what is told outright is far
    for person in range(people):
        failing = sum(
            prior[table] * chance
            for table, told in mechanism.items()
            for outcome, chance in told.items()
            if (outcome, person) in far
        )
        assert failing <= bound.failing


@given(
    chances=st.lists(st.integers(1, 9), min_size=16, max_size=16),
    weights=st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(any),
    mixed=st.sampled_from([0.001, 0.01, 0.05]),
    epsilon=st.sampled_from([0.0, 0.2, 1.0]),
    bad=st.sampled_from([(), ((1, 1),)]),
)
def test_our_bound_with_delta_fails_no_oftener_than_it_says(
    chances: list[int], weights: list[int], mixed: float, epsilon: float, bad: Any
) -> None:
    """Any mechanism near a promise, any prior, tables for which nothing is promised: Theorem 2."""
    tables = list(product(BITS, repeat=2))
    response, mechanism = parity(epsilon), {}
    for place, table in enumerate(tables):
        mine = chances[4 * place : 4 * place + 4]
        share = 1.0 if table in bad else mixed
        mechanism[table] = {
            outcome: share * mine[outcome] / sum(mine)
            + (1 - share) * response[table].get(outcome, 0)
            for outcome in range(4)
        }
    prior = {table: weight / sum(weights) for table, weight in zip(tables, weights, strict=True)}
    delta = smallest_delta(mechanism, 0, epsilon, bad)
    lost = sum(prior[table] for table in bad)
    for often in (0.01, 0.1, 0.4, 0.8):
        if lost >= 1:
            continue
        found = sf.semantic_privacy(
            PrivacyLoss(epsilon, delta), 2, failing=often, bad_tables=lost
        ).bounds
        for bound in found:
            if bound.source != "tight" or bound.vacuous:
                continue
            fails = [failing(mechanism, prior, 0, i, bound.distance + 1e-9) for i in range(2)]
            assert max(fails) <= often + 1e-9
            assert bound.about == "each" or sum(fails) <= often + 1e-9


@pytest.mark.parametrize("many", [2, 3, 5])
def test_with_delta_alone_our_bound_is_reached(many: int) -> None:
    """Outcomes that rule one of `many` tables out, in one game or in the other."""
    delta = 0.01
    everything = {(what, y): delta for what in "tu" for y in range(many)}
    mechanism: dict[tuple[object, ...], dict[object, float]] = {}
    for here, ruled_out in (("there", "u"), ("default", "t")):
        for y in range(many):
            told = {**everything, (ruled_out, y): 0.0}
            mechanism[here, y] = {**told, "rest": 1 - sum(told.values())}
    for here in ("there", "default"):  # of the second person's game nothing is asked
        mechanism[here, "default"] = {"rest": 1.0}
    prior = {("there", y): 1 / many for y in range(many)}
    often = (2 * many - 1) * delta
    (_, bound) = sf.semantic_privacy(PrivacyLoss(0.0, delta), failing=often).bounds
    assert bound.distance == pytest.approx(1 / many)
    assert failing(mechanism, prior, "default", 0, 1 / many - 1e-9) == pytest.approx(often)
    assert failing(mechanism, prior, "default", 0, 1 / many + 1e-9) == 0


def test_our_bound_says_something_where_the_papers_does_not() -> None:
    loss = PrivacyLoss(1.0, 1e-6)
    paper, anybody, each = sf.semantic_privacy(loss, 2_000).bounds
    assert paper.vacuous
    assert (anybody.about, each.about) == ("anybody", "each")
    assert math.tanh(0.5) < each.distance < 0.463 < anybody.distance < 0.75
    rare = sf.semantic_privacy(loss, 2_000, bad_tables=1e-4).bounds
    for bound, before in zip(rare, (paper, anybody, each), strict=True):
        assert bound.distance > before.distance
    assert sf.semantic_privacy(PrivacyLoss(1.0, 0.0), bad_tables=1e-6).bounds[0].source == "paper"
    for wrong in ({"failing": 0}, {"failing": 1}, {"bad_tables": -0.1}, {"bad_tables": True}):
        with pytest.raises(sf.InputError, match="is not allowed"):
            sf.semantic_privacy(loss, **wrong)


# -- figures --------------------------------------------------------------------------------------


def test_bounds_that_say_nothing_are_told_as_vacuous() -> None:
    assert bounds(0.5)["paper"].distance == pytest.approx(math.exp(0.5) - 1)
    assert not bounds(0.5)["paper"].vacuous
    for epsilon in (math.log(2), 1.0, 1e6):
        assert str(bounds(epsilon)["paper"]) == "vacuous"
    assert str(bounds(1.0)["tight"]) == "0.4621"
    assert bounds(0.1, 1e-12, 100)["paper"].failing == pytest.approx(4 * 100 * 1e-6)
    assert not bounds(0.1, 1e-12, 100)["paper"].vacuous
    assert bounds(0.24, 1e-12, 100)["paper"].vacuous
    assert bounds(0.1, 1e-12, 10**6)["paper"].vacuous
    assert bounds(0.1, 1e-12)["paper"].vacuous  # not known of how many people
    assert sf.semantic_privacy(PrivacyLoss(0.1, 1e-12)).best.about == "each"


def test_a_noisy_number_of_people_bounds_nothing() -> None:
    """A release that noise left nobody in is about as many as before; a public number counts."""
    cells = pa.table({"x": [0, 1, 0], "s": ["a", "b", "a"]})
    schema = sf.Schema(["x"], "s", domains={"x": [0, 1], "s": ["a", "b"]}, nulls="error")
    for total, told in (("noisy", ["paper", "each"]), ("public", ["paper", "anybody", "each"])):
        noise = sf.Noise(0.2, mechanism="gaussian", delta=0.01, total=total)
        promise = sf.DifferentialPrivacy(0.2, delta=0.01)
        made = sf.anonymize(sf.read(cells, schema), sf.Policy([promise], anonymizer=noise))
        found = AnyPrior().attack(made)
        assert [one.about if one.source == "tight" else "paper" for one in found.bounds] == told
        # Whoever may be exposed with a probability of delta is told nothing at that probability.
        assert found.best is None
        assert [str(one) for one in found.bounds] == ["vacuous"] * len(told)
    for people in (0, -1, 2.5, True):
        with pytest.raises(sf.InputError, match="it is a whole number above 0"):
            sf.semantic_privacy(PrivacyLoss(0.1, 1e-6), people)  # type: ignore[arg-type]


def test_it_is_about_replacing_a_record_whatever_the_guarantee_is_by() -> None:
    half = sf.Guarantee(0.5, 0.0, "geometric", "add-remove")
    assert sf.semantic_privacy(half) == sf.semantic_privacy(sf.Guarantee(1.0, 0.0, "geometric"))
    assert sf.semantic_privacy(half).loss == PrivacyLoss(1.0, 0.0)


def test_the_threat_of_any_prior() -> None:
    (threat,) = sf.semantic_privacy(sf.Guarantee(0.5, 0.0, "geometric")).threats()
    assert threat.adversary == NAME
    assert threat.belief.at_most
    assert threat.belief.after - threat.belief.before == pytest.approx(math.tanh(0.25))
    odds = [p / (1 - p) for p in (threat.belief.before, threat.belief.after)]
    assert odds == pytest.approx([math.exp(-0.5), math.exp(0.5)])
    assert "within 0.2449 of what they would be" in threat.learns
    assert "(the paper's bound: 0.6487)" in threat.learns
    (threat,) = sf.semantic_privacy(sf.Guarantee(1.0, 0.0, "geometric")).threats()
    assert "(the paper's bound: vacuous)" in threat.learns
    (threat,) = sf.semantic_privacy(sf.Guarantee(1.0, 1e-6, "gaussian"), 100).threats()
    assert "within 0.4623, but for a probability of 0.01 of" in threat.learns
    (threat,) = sf.semantic_privacy(sf.Guarantee(2.0, 0.1, "gaussian"), 100).threats()
    assert (threat.belief, threat.status) == (None, "not_measured")
    assert "not bounded" in threat.learns
    assert "vacuous" in threat.learns
