"""Tempered ensembles against every dealing there is, where plain chains stay where they began."""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.adversaries.relative_threat import chains as chains_module
from sfumato.adversaries.relative_threat import relative, tempering
from sfumato.adversaries.relative_threat.bucketized import BucketModel, buckets_of
from sfumato.adversaries.relative_threat.chains import (
    Diagnostics,
    Goal,
    StageTooLong,
    Tempering,
    judge_traces,
    run_chains,
)
from sfumato.adversaries.relative_threat.columns import domains_of
from sfumato.adversaries.relative_threat.model import DirichletWeights
from sfumato.adversaries.relative_threat.samplers import BucketChains
from sfumato.adversaries.relative_threat.tempering import TemperedChains, _unequal_shares
from sfumato.errors import ResourceError
from sfumato.report.sections.relative_threat import relative_document
from sfumato.schema.domain import Domain
from tests.adversaries.relative_threat.tiny_releases import bucketized, victim
from tests.oracles.relative_oracle import Urns, bucket_worlds

COLUMNS = 2
ONE, OTHER, THIRD = ((code,) * COLUMNS for code in range(3))
TWO_MODES = [((0, 1), (ONE, OTHER))] * 5
CASES = {
    "distinct": [*TWO_MODES, ((0, 1, 2), (ONE, OTHER, THIRD))],
    "repeats": [*TWO_MODES, ((0, 0, 1, 1), (ONE, ONE, OTHER, OTHER))],
}


def model(buckets: list) -> BucketModel:
    release = bucketized(buckets, [3] * COLUMNS, 3)
    domains, _ = domains_of(release, None)
    values = Domain("s", "categorical", release.groups.values)
    assert release.regions.buckets is not None
    return buckets_of(values, release.groups, release.regions.buckets, domains, DirichletWeights())


def dealings(buckets: list) -> dict[tuple[int, ...], float]:
    """The probability of every way of dealing."""
    urns, chances = Urns.even(3, [3] * COLUMNS), Counter()
    for world in bucket_worlds(buckets):
        chances[tuple(s for s, _ in world)] += urns.chance(world)
    whole = sum(chances.values(), Fraction(0))
    return {state: float(chance / whole) for state, chance in chances.items()}


def variation(sampler: BucketChains, truth: dict[tuple[int, ...], float]) -> float:
    """Total variation of the dealings a sampler went through from their probabilities."""
    groups = sampler.buckets.groups
    first = np.repeat(groups.indptr[:-1], groups.sizes)
    drawn = sampler.categories().reshape(-1, len(first))
    seen = Counter(map(tuple, groups.indices[first + drawn].tolist()))
    return 0.5 * sum(abs(seen[state] / len(drawn) - p) for state, p in truth.items())


def independent(truth: dict[tuple[int, ...], float], many: int) -> float:
    """What as many independent draws would be off."""
    p = np.array(list(truth.values()))
    drawn = np.random.default_rng(0).multinomial(many, p, size=20)
    return float(0.5 * np.abs(drawn / many - p).sum(axis=1).mean())


@pytest.mark.parametrize("case", CASES)
def test_every_dealing_is_drawn_as_often_as_it_is_likely(case: str) -> None:
    truth = dealings(CASES[case])
    assert len(truth) == 192
    sampler = TemperedChains(model(CASES[case]), 4, 1)
    sampler.warm_up(100)
    traces = sampler.stage(8_000, 1, np.arange(4))
    assert sampler.ladders[0].powers[0] == 1
    assert min(sampler.tempering.round_trips) > 1_000
    effective = judge_traces(traces[0])[1].min()
    assert effective > 500
    assert variation(sampler, truth) < 2 * independent(truth, int(effective))
    plain = BucketChains(model(CASES[case]), 1, 0)
    plain.warm_up(100)
    plain.stage(6_000, 1, np.arange(4))
    assert variation(plain, truth) > 0.2  # stays with one of the two


def test_counts_and_weights_keep_up_with_who_has_what() -> None:
    sampler = TemperedChains(model(CASES["repeats"]), 4, 1)
    sampler.warm_up(20)
    for ladder in sampler.ladders:
        anew = sampler.buckets.ladder(ladder.powers, ladder.has[ladder.replica], [0])
        assert (anew.at == ladder.at[ladder.replica]).all()
        assert (anew.weight == ladder.weight[ladder.replica]).all()


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    learnt = []
    for cores in (1, 12):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        sampler = TemperedChains(model(CASES["repeats"]), 4, 3)
        sampler.warm_up(20)
        sampler.stage(40, 1, np.arange(4))
        assert sampler.learnt is not None
        learnt.append((sampler.learnt.chances, sampler.learnt.kept_counts))
    assert all((one == other).all() for one, other in zip(*learnt, strict=True))


def test_two_worlds_as_likely_are_believed_alike_and_it_is_said_how() -> None:
    """Plain chains disagree for ever: which of them is right is a toss of a coin."""
    release = bucketized([((0, 1), [(0, 0, 0), (1, 1, 1)])] * 13, [2, 2, 2], 2)
    found = sf.relative_threat(release, sweeps=7_000, ess=100, rhat=1.05)
    assert found.status == "converged"
    assert found.method == {"buckets": "sampled (tempered ensembles, whole buckets)"}
    ladder = found.diagnostics.tempering
    assert ladder.lowest_power < 0.3
    assert min(ladder.round_trips) > 20
    belief = found.attacker(victim((0, 0, 0)))
    assert abs(belief["s0"] - 0.5) < 4 * belief.error["s0"] < 0.3
    document = relative_document(found, "r")
    assert document.facts["diagnostics"]["tempering"]["round_trips"] == ladder.round_trips
    words = document.sections[-1].words
    assert f"{ladder.rungs} rungs" in words
    assert f"{min(ladder.round_trips)} round trips" in words
    assert "iterations" in words


@pytest.mark.parametrize("seldom", [50, 100])
def test_ensembles_follow_chains_that_agree_and_seldom_move(
    seldom: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One effective draw in 57 sweeps: ensembles have the draws that chains lack."""
    monkeypatch.setattr(relative, "SELDOM", seldom)
    release = bucketized([((0, 1), (ONE, OTHER))] * 3, [3] * COLUMNS, 3)
    threat = sf.relative_threat(release, method="sample", sweeps=7_000, rhat=1.05, seed=1)
    assert ("tempered" in threat.method["buckets"]) == (seldom == 50)
    assert threat.status == ("converged" if seldom == 50 else "not_converged")
    exact = sf.relative_threat(release).attacker(victim(ONE))
    belief = threat.attacker(victim(ONE))
    assert belief["s0"] == pytest.approx(exact["s0"], abs=4 * belief.error["s0"])


def test_a_world_that_is_seldom_seen_has_its_weight() -> None:
    """One in thirty: chains that had not yet come upon it agreed that there is none."""
    release = bucketized([*[((0, 1), (ONE, OTHER))] * 6, ((0, 2), (ONE, THIRD))], [3] * COLUMNS, 3)
    exact = sf.relative_threat(release).attacker(victim(ONE))["s1"]
    assert 0.03 < exact < 0.04
    for seed in (7, 13):
        found = sf.relative_threat(release, method="sample", seed=seed)
        belief = found.attacker(victim(ONE))
        assert found.status == "converged"
        assert belief.error["s1"] < 0.01
        assert belief["s1"] == pytest.approx(exact, abs=3 * belief.error["s1"])


@pytest.mark.parametrize("sweeps", [2_900, 32_000])
def test_chains_that_all_went_to_one_world_of_two_have_not_converged(sweeps: int) -> None:
    """R-hat and effective draws see nothing: all four are in the same of two equally likely."""
    release = bucketized(TWO_MODES, [3] * COLUMNS, 3)
    found = sf.relative_threat(release, method="sample", sweeps=sweeps, seed=1)
    if sweeps < 3_000:  # too few for ensembles
        assert found.status == "not_converged"
        assert any("others begun elsewhere stay there" in note for note in found.notes)
    else:
        assert found.status == "converged"
        belief = found.attacker(victim(ONE))
        exact = sf.relative_threat(release).attacker(victim(ONE))
        assert belief["s0"] == pytest.approx(exact["s0"], abs=4 * belief.error["s0"])
        assert "tempered" in found.method["buckets"]


def test_the_lowest_power_is_one_at_which_chains_leave_the_world_they_are_in() -> None:
    """All four are in the same of two: they agree at every power, and others do not with them."""
    buckets = model([((0, 1), (ONE, OTHER))] * 8)
    there = np.tile([0, 1], 8)
    begun = [buckets.ladder(np.ones(1), there[None], [chain]) for chain in range(4)]
    sampler = TemperedChains(buckets, 4, 0, begun)
    assert 0 < sampler._lowest_power() < 0.6
    worlds = {tuple(ladder.has[0].tolist()) for ladder in sampler.ladders}
    assert len(worlds) > 1


def test_chains_that_agree_late_need_no_lower_power(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worlds that are left once in some hundred sweeps: a lot is too few to see it, all are not."""
    buckets, lowest = model([((0, 1), (ONE, OTHER))] * 8), {}
    worlds = np.tile([0, 1], 8), np.tile([1, 0], 8)
    for lots in (1, 16):
        monkeypatch.setattr(tempering, "LOTS", lots)
        begun = [buckets.ladder(np.ones(1), worlds[at % 2][None], [at]) for at in range(4)]
        lowest[lots] = TemperedChains(buckets, 4, 0, begun)._lowest_power()
    assert 0 < lowest[1] < lowest[16] < 0.9


@pytest.mark.parametrize("worlds", ["AAAB", "AABB", "ABBB"])
def test_how_many_began_in_a_world_is_not_taken_for_its_weight(
    worlds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lowest power at which nobody leaves a world: climbs tell nothing of how likely it is."""
    monkeypatch.setattr(TemperedChains, "_lowest_power", lambda self: 0.8)
    monkeypatch.setattr(tempering, "CLIMBS", 2)
    buckets = model([((0, 1), (ONE, OTHER))] * 30)
    dealt = {"A": np.tile([0, 1], 30), "B": np.tile([1, 0], 30)}
    begun = [buckets.ladder(np.ones(1), dealt[one][None], [at]) for at, one in enumerate(worlds)]
    sampler = TemperedChains(buckets, 4, 0, begun)
    sampler.warm_up(50)
    for sweeps in (100, 200):
        traces = sampler.stage(sweeps, 1, np.arange(sampler.pool))
        assert judge_traces(traces[0])[0].max() > 1.5
        assert traces[0].shape[1] == sweeps  # what was drawn before is not kept


def test_on_a_long_ladder_all_ensembles_have_all_worlds_in_unequal_shares() -> None:
    rng = np.random.default_rng(0)
    rare = np.arange(32) % 4 == 3  # eight climbs of 32 came to the second world
    counts = np.where(rare[:, None], [9.0, 1.0, 5.0], [1.0, 9.0, 5.0]) + rng.normal(size=(32, 3))
    shares = [rare[climbs].mean() for climbs in _unequal_shares(counts, 4, 60, 0)]
    assert min(shares) > 0
    assert max(shares) > 0.5
    assert sorted(shares)[2] < 0.3
    short = [set(climbs.tolist()) for climbs in _unequal_shares(counts, 4, 16, 0)]
    assert sum(map(len, short)) == len(set.union(*short)) == 32
    same = _unequal_shares(np.ones((32, 3)), 4, 16, 0)
    assert [climbs[0] for climbs in same] == [0, 8, 16, 24]


def test_chains_begin_at_opposite_ends_whichever_column_tells_people_apart() -> None:
    sampler = BucketChains(model([((0, 1), ((0, 0), (0, 1)))] * 8), 4, 0)
    one, other = (sampler.ladders[chain].has[0] for chain in (1, 3))
    assert (one + other == 1).all()


def test_whoever_looks_elsewhere_tries_two_values_in_each_others_places() -> None:
    """Two worlds between which one value stays where it is: no opposite ends are both of them."""
    third = ((2,), (THIRD,))
    buckets = model([((0, 1, 2), (ONE, OTHER, THIRD))] * 6 + [third] * 8)
    sampler = BucketChains(buckets, 4, 0)
    there = np.array([0, 1, 2] * 6 + [0] * 8)
    sampler.ladders = [buckets.ladder(np.ones(1), there[None], [chain]) for chain in range(4)]
    others = buckets.with_values_exchanged(there, 2)
    assert others[0].tolist() == [1, 0, 2] * 6 + [0] * 8
    sampler.warm_up(50)
    sampler.stage(500, 1, np.arange(sampler.pool))
    rhat, both = sampler.look_elsewhere(800)
    assert rhat > 1.1
    assert len(both) == 4


def test_values_change_places_as_often_as_a_bucket_has_both() -> None:
    buckets = model([((0, 0, 1), (ONE, ONE, OTHER)), ((0, 2), (ONE, OTHER))])
    exchanged = [
        dealt.tolist() for dealt in buckets.with_values_exchanged(np.array([0, 0, 1, 0, 1]), 3)
    ]
    assert sorted(exchanged) == [[0, 0, 1, 1, 0], [1, 0, 0, 0, 1]]


def test_looking_elsewhere_takes_no_more_time_than_is_left() -> None:
    done = IndependentDraws((1, 1, 1, 1)).run(sweeps=800)
    half = replace(done, seconds=2.0, sweeps=4_000)
    assert Goal().sweeps_in_time(half) == Goal(seconds=9).sweeps_in_time(half) == 4_000
    assert Goal(seconds=3).sweeps_in_time(half) == 2_000
    assert Goal(seconds=1).sweeps_in_time(half) == 0


class IndependentDraws:
    """A sampler whose chains agree at once: independent draws, and so many round trips."""

    pool, most_kept, unit, least = 4, 1_000, "iterations of each ensemble", 0

    def __init__(
        self,
        round_trips: tuple[int, ...],
        seconds_of_a_sweep: float = 0.0,
        longest: float = math.inf,
        rungs: int = 2,
    ) -> None:
        self._longest = longest  # stage that there is time for
        self.tempering = Tempering(rungs, 32, 0.5, 0.5, round_trips)
        self._rng, self._seconds = np.random.default_rng(0), seconds_of_a_sweep

    def warm_up(self, sweeps: int) -> None:
        time.sleep(sweeps * self._seconds)

    def stage(self, sweeps: int, thin: int, watched: np.ndarray) -> list[np.ndarray]:
        if sweeps > self._longest:
            raise StageTooLong
        time.sleep(sweeps * self._seconds)
        return [self._rng.random((4, sweeps // thin, len(watched))) for _ in range(2)]

    def errors(self) -> np.ndarray:
        return np.ones(self.pool)

    parameters = categories = errors

    def run(self, **goal: float) -> Diagnostics:
        return run_chains(self, Goal(**goal), 0)


def test_ensembles_that_agree_without_a_round_trip_have_not_converged() -> None:
    assert IndependentDraws((1, 1, 1, 1)).run(sweeps=800).converged
    apart = IndependentDraws((3, 0, 0, 1)).run(sweeps=800)
    assert not apart.converged
    assert "ensembles without a round trip 2 (0 wanted)" in apart.reason
    assert IndependentDraws((3, 0, 0, 1), rungs=40).run(sweeps=800).converged


def test_a_stage_that_would_end_too_late_is_not_begun() -> None:
    """The first takes .05 s, the next would end at .175."""
    hurried = IndependentDraws((1, 1, 1, 1), seconds_of_a_sweep=1e-4).run(ess=1e9, seconds=0.13)
    assert hurried.sweeps == 250 + 500


def test_a_stage_that_is_stopped_leaves_what_the_one_before_told() -> None:
    stopped = IndependentDraws((1, 1, 1, 1), longest=1_000).run(ess=1e9)
    assert stopped.sweeps == 250 + 500 + 1_000
    assert not stopped.converged
    assert "not converged after 1,750 iterations" in stopped.reason
    with pytest.raises(StageTooLong):
        IndependentDraws((1, 1, 1, 1), longest=499).run(ess=1e9)


def test_ensembles_look_at_the_clock_and_are_the_same_in_whatever_stretches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    buckets, ran = model(CASES["distinct"]), []
    for stretch in (1, 10**9):
        monkeypatch.setattr(chains_module, "STRETCH", stretch)
        ensembles = TemperedChains(buckets, 4, seed=3)
        ensembles.warm_up(20)
        ran.append(ensembles.stage(40, 1, np.arange(ensembles.pool))[0])
    assert (ran[0] == ran[1]).all()
    with pytest.raises(StageTooLong):
        TemperedChains(buckets, 4, seed=3, seconds=1e-9).warm_up(20)
    plain = BucketChains(buckets, 4, 3, seconds=1e-9)
    plain.warm_up(20)
    told = plain.stage(40, 1, np.arange(plain.pool))[0]
    assert told.shape[:2] == (4, 40)
    with pytest.raises(StageTooLong):  # once something can be told
        plain.stage(80, 1, np.arange(plain.pool))
    release = bucketized(CASES["distinct"], [3] * COLUMNS, 3)
    with pytest.raises(ResourceError, match="not through their first stage after 1e-09 seconds"):
        sf.relative_threat(release, method="tempered", seconds=1e-9)
