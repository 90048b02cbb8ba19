"""Samplers against enumeration; convergence that is judged, told, and never assumed."""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.adversaries.relative_threat.convergence import geweke, judge_traces, weiss
from tests.adversaries.relative_threat.tiny_releases import (
    bucketized,
    everyone,
    generalized,
    rows_of,
    victim,
)
from tests.examples import few
from tests.oracles.relative_oracle import (
    Beliefs,
    Urns,
    bucket_worlds,
    enumerate_beliefs,
    region_worlds,
)

SIZES, WIDTH = [4, 2], 2
PRECISE = {"ess": 3_000, "sweeps": 33_000}


def crossing(rng: np.random.Generator):
    """Ranges that overlap in the first column, a few people in each."""
    shapes = [((0, 1), (0, 1)), ((1, 2), (0,)), ((2, 3), (0, 1)), ((0, 1, 2), (1,))]
    groups = []
    for place in rng.permutation(len(shapes))[:3]:
        counts = rng.integers(0, 3, WIDTH)
        counts[int(rng.integers(WIDTH))] += not counts.any()
        groups.append((shapes[int(place)], counts.tolist()))
    return groups


def dealt(rng: np.random.Generator, *, repeated: bool):
    buckets = []
    for _ in range(3):
        many = int(rng.integers(2, 4))
        some = rng.integers(0, 3, many) if repeated else rng.permutation(3)[:many]
        people = [(int(rng.integers(3)), int(rng.integers(2))) for _ in range(many)]
        buckets.append((some.tolist(), people))
    return buckets


def distance(found: sf.RelativeThreat, asked: list, expected: list[Beliefs]) -> float:
    """The largest total variation of learner's or attacker's beliefs from the truth."""
    worst = 0.0
    for row, beliefs in zip(asked, expected, strict=True):
        for name in ("learner", "attacker"):
            if sum(getattr(beliefs, name)):
                truth = np.array([float(share) for share in beliefs.shares(name)])
                guess = np.array(list(getattr(found, name)(victim(row)).values()))
                worst = max(worst, 0.5 * float(np.abs(guess - truth).sum()))
    return worst


@pytest.mark.parametrize(
    ("method", "seed"),
    [*(("sample", seed) for seed in range(few(2))), ("row-gibbs", 1)],
)
def test_crossing_regions_are_within_two_hundredths_of_enumeration(seed: int, method: str) -> None:
    groups = crossing(np.random.default_rng(seed))
    asked = everyone(SIZES)
    worlds = region_worlds(rows_of(groups))
    expected = enumerate_beliefs(
        worlds, Urns.even(WIDTH, SIZES), [{row: Fraction(1)} for row in asked]
    )
    release = generalized(groups, SIZES, WIDTH)
    found = sf.relative_threat(release, method=method, seed=seed, **PRECISE)
    assert found.status == "converged"
    assert found.diagnostics.ess >= 3_000
    assert distance(found, asked, expected) < 0.02


@pytest.mark.parametrize(
    ("method", "repeated", "seed"),
    [
        *(("sample", repeated, seed) for repeated in (False, True) for seed in range(few(2))),
        *((method, True, 1) for method in ("swap", "permutation")),
        *((method, False, 2) for method in ("swap", "permutation")),
    ],
)
def test_buckets_are_within_two_hundredths_of_enumeration(
    seed: int, repeated: bool, method: str
) -> None:
    buckets = dealt(np.random.default_rng(seed), repeated=repeated)
    sizes, width = [3, 2], 3
    asked = everyone(sizes)
    expected = enumerate_beliefs(
        bucket_worlds(buckets), Urns.even(width, sizes), [{row: Fraction(1)} for row in asked]
    )
    release = bucketized(buckets, sizes, width)
    found = sf.relative_threat(release, method=method, seed=seed, **PRECISE)
    assert distance(found, asked, expected) < 0.02


def test_an_uneven_prior_reaches_the_samplers() -> None:
    groups = crossing(np.random.default_rng(5))
    release = generalized(groups, SIZES, WIDTH)
    prior = {"q0": {"v0001": 5.0, "v0003": 0.5}, "q1": 2.0}
    exact = sf.relative_threat(release, prior=prior)
    assert exact.status == "exact"
    drawn = sf.relative_threat(release, prior=prior, method="sample", **PRECISE)
    for row in everyone(SIZES):
        truth = exact.learner(victim(row))
        assert dict(drawn.learner(victim(row))) == pytest.approx(dict(truth), abs=0.02)


def wide(people: int, seed: int = 0) -> sf.Release:
    """Overlapping ranges with too many people to sum up."""
    rng = np.random.default_rng(seed)
    groups = []
    for start in range(0, 20, 3):
        region = tuple(range(start, min(start + 5, 20)))
        groups.append(((region, (start % 2,)), rng.multinomial(people // 7, [0.5, 0.3, 0.2])))
    return generalized([(one, counts.tolist()) for one, counts in groups], [20, 2], 3)


def test_large_cells_are_dealt_at_once() -> None:
    """Hundreds of people in a region: nested ones, so that the truth is known."""
    regions = [((0, 1, 2, 3), (0, 1)), ((0, 1), (0,)), ((2,), (1,)), ((0,), (0, 1))]
    counts = [[400, 90], [150, 200], [35, 17], [60, 20]]
    release = generalized(list(zip(regions, counts, strict=True)), SIZES, WIDTH)
    exact = sf.relative_threat(release)
    drawn = sf.relative_threat(release, method="sample", ess=2_000)
    assert (exact.status, drawn.status) == ("exact", "converged")
    for row in everyone(SIZES):
        for who in ("attacker", "learner"):
            truth, guess = (getattr(one, who)(victim(row)) for one in (exact, drawn))
            for value in truth:
                assert abs(guess[value] - truth[value]) < 5 * guess.error[value] + 1e-12


def test_the_method_of_each_column_is_told() -> None:
    assert sf.relative_threat(wide(500)).method == {
        "q0": "sampled (counts and slices)",
        "q1": "exact",
    }
    rows = sf.relative_threat(wide(500), method="row-gibbs", sweeps=750)
    assert set(rows.method.values()) == {"sampled (per-row Gibbs)"}


def test_sampling_what_is_known_exactly_gives_it_within_its_own_error() -> None:
    groups = [(((0, 1), (0, 1)), [4, 3]), (((2, 3), (0,)), [2, 5]), (((0, 1, 2, 3), (1,)), [3, 3])]
    release = generalized(groups, SIZES, WIDTH)
    exact = sf.relative_threat(release)
    drawn = sf.relative_threat(release, method="sample", ess=4_000)
    assert (exact.status, drawn.status) == ("exact", "converged")
    for row in everyone(SIZES):
        truth, guess = exact.learner(victim(row)), drawn.learner(victim(row))
        for value in truth:
            assert guess.error[value] > 0
            assert abs(guess[value] - truth[value]) < 5 * guess.error[value]


def test_the_same_seed_gives_the_same_result_and_another_one_another() -> None:
    release = wide(300)
    one, twin, other = (sf.relative_threat(release, seed=seed) for seed in (3, 3, 4))
    who = victim((4, 1))
    assert one.attacker(who) == twin.attacker(who)
    assert one.attacker(who) != other.attacker(who)
    assert one.diagnostics == twin.diagnostics


# -- convergence ----------------------------------------------------------------------------------


def symmetric(buckets: int) -> sf.Release:
    """Two values that may change places everywhere: two worlds far apart, both as likely."""
    people = [(0, 0, 0), (1, 1, 1)]
    return bucketized([((0, 1), people)] * buckets, [2, 2, 2], 2)


def test_chains_that_disagree_are_told_and_never_pass() -> None:
    found = sf.relative_threat(symmetric(60), method="swap", sweeps=800)
    assert found.status == "not_converged"
    assert not found.diagnostics.converged
    assert found.diagnostics.rhat > 1.01
    assert any("not converged" in note for note in found.notes)
    assert {threat.status for threat in found.threats()} == {"not_measured"}


def test_the_budget_ends_the_work() -> None:
    found = sf.relative_threat(wide(2_000), ess=1e6, sweeps=1_800)
    assert found.status == "not_converged"
    assert found.diagnostics.sweeps == 250 + 500 + 1000
    late = sf.relative_threat(wide(2_000), ess=1e6, seconds=1e-9)
    assert late.diagnostics.sweeps == 250 + 500


def test_the_papers_own_checks_on_request() -> None:
    found = sf.relative_threat(wide(500), checks=("geweke", "weiss"))
    assert 0 <= found.diagnostics.geweke < 0.2
    assert 0 <= found.diagnostics.weiss < 0.2
    buckets = dealt(np.random.default_rng(1), repeated=False)
    found = sf.relative_threat(
        bucketized(buckets, [3, 2], 3), method="sample", checks=("geweke", "weiss")
    )
    assert 0 <= found.diagnostics.geweke < 0.3
    assert 0 <= found.diagnostics.weiss < 0.3


def test_geweke_sees_a_drift_and_weiss_a_change_of_distribution() -> None:
    rng = np.random.default_rng(0)
    calm = rng.normal(size=(2, 2_000, 3))
    assert np.abs(geweke(calm)).max() < 4
    drifting = calm + np.linspace(0, 3, 2_000)[None, :, None]
    assert np.abs(geweke(drifting)).min() > 3.5
    draws = rng.integers(0, 3, 3_000)
    assert weiss(draws) > 0.001
    assert weiss(np.concatenate([draws[:1500], np.zeros(1500, dtype=np.int64)])) < 1e-6
    assert weiss(np.zeros(100, dtype=np.int64)) == 1.0


def test_weiss_allows_for_autocorrelation() -> None:
    """A sticky chain is no worse for being sticky: about one in twenty is refused."""
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(60):
        fresh, stay = rng.integers(0, 3, 4_000), rng.random(4_000) < 0.8
        last = np.maximum.accumulate(np.where(stay, 0, np.arange(4_000)))
        refused += weiss(fresh[last]) < 0.05
    assert refused < 12


def test_a_chain_that_stands_still_where_others_move_has_not_arrived() -> None:
    traces = np.random.default_rng(0).normal(size=(4, 200, 2))
    traces[1, :, 0] = 0.5
    rhat, _, _ = judge_traces(traces)
    assert rhat[0] == np.inf
    assert rhat[1] < 1.1
    constant = np.full((4, 200, 1), 0.25)
    assert [float(one[0]) for one in judge_traces(constant)] == [1.0, np.inf, 0.0]


def test_sampling_needs_no_library_that_is_slow_to_load(monkeypatch) -> None:
    for slow in ("arviz_stats", "scipy.stats", "scipy.special"):
        monkeypatch.setitem(sys.modules, slow, None)
    regions = sf.relative_threat(wide(500), checks=("geweke", "weiss"))
    buckets = bucketized(dealt(np.random.default_rng(1), repeated=False), [3, 2], 3)
    dealt_anew = sf.relative_threat(buckets, method="sample")
    assert regions.status == dealt_anew.status == "converged"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"chains": 2}, "chains = 2 is not allowed"),
        ({"sweeps": 10}, "sweeps = 10 is not allowed"),
        ({"ess": 0}, "ess must be above 0"),
        ({"checks": ("raftery",)}, "checks: 'raftery' is not known"),
    ],
)
def test_goals_that_cannot_be_meant(settings, said: str) -> None:
    with pytest.raises(sf.InputError, match=said):
        sf.relative_threat(wide(100), **settings)
