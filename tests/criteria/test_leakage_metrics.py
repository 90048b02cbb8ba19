"""Distribution leakage by further metrics: brute force, scipy, exact ties, infinity, searches."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.leakage.metrics import FURTHER, METRICS
from sfumato.criteria.base import judge
from sfumato.criteria.leakage import root_sign
from sfumato.release.release import as_it_stands
from tests.oracles import leakage_oracle as oracle
from tests.oracles.tables import Small, tables

ENDLESS = ("kullback-leibler", "chi-square")


def by(metric: str, epsilon: float = 0.5, **more: Any) -> sf.DistributionLeakage:
    return sf.DistributionLeakage(epsilon, metric=metric, **more)


def shares(counts: Any) -> dict[object, Fraction]:
    return {v: Fraction(n, sum(counts)) for v, n in enumerate(counts)}


@given(tables())
def test_every_metric_is_what_its_definition_says(small: Small) -> None:
    for name, right in oracle.METRICS.items():
        found = by(name).measure(small.groups).per_group
        for g, counts in enumerate(small.counts):
            exact = right(shares(small.reference), shares(counts))
            assert found[g] == pytest.approx(exact, abs=2e-8 if name == "hellinger" else 1e-12)


def test_as_scipy_has_them() -> None:
    from scipy import stats
    from scipy.spatial import distance as peers

    rng = np.random.default_rng(3)
    reference = rng.integers(1, 30, 6)
    counts = rng.integers(0, 9, (8, 6)) + np.eye(8, 6, dtype=int)
    groups = sf.Groups(counts, reference=reference)
    a = reference / reference.sum()
    places = np.arange(6)
    for g, row in enumerate(counts):
        x = row / row.sum()
        right = {
            "kullback-leibler": stats.entropy(x, a, base=2),
            "jensen-shannon": peers.jensenshannon(x, a, base=2) ** 2,
            "hellinger": np.linalg.norm(np.sqrt(x) - np.sqrt(a)) / math.sqrt(2),
            "chi-square": stats.chisquare(row, a * row.sum()).statistic / row.sum(),
            "total-variation": peers.cityblock(x, a) / 2,
            "earth-mover": stats.wasserstein_distance(places, places, x, a) / 5,
            "euclidean": peers.euclidean(x, a),
        }
        for name in METRICS:
            assert by(name).measure(groups).per_group[g] == pytest.approx(right[name])


@given(tables(), st.integers(0, 100))
def test_earth_movers_are_t_closeness(small: Small, hundredths: int) -> None:
    t = hundredths / 100
    for metric, distance in (("total-variation", "equal"), ("earth-mover", "ordered")):
        ours, theirs = by(metric, t), sf.TCloseness(t, distance=distance)
        assert ours.measure(small.groups).per_group == pytest.approx(
            theirs.measure(small.groups).per_group
        )
        assert (ours.holds(small.groups) == theirs.holds(small.groups)).all()


# -- exact at the bound ---------------------------------------------------------------------------

TIES = {
    "kullback-leibler": ([2, 0], [1, 1], 1),  # one bit
    "jensen-shannon": ([1, 0], [0, 1], 1),  # nothing in common
    "hellinger": ([9, 16], [16, 9], 0.2),  # 1 - 24/25 is the square of a fifth
    "chi-square": ([1, 0], [1, 1], 1),
    "total-variation": ([3, 7], [5, 5], 0.2),
    "earth-mover": ([1, 0, 1], [1, 2, 1], 0.25),
}


@pytest.mark.parametrize("metric", FURTHER)
def test_ties_are_met_exactly(metric: str) -> None:
    counts, reference, tie = TIES[metric]
    groups = sf.Groups([counts], reference=reference)
    assert by(metric, tie).verdict(groups).measured == tie
    assert by(metric, tie).verdict(groups).holds
    assert not by(metric, tie - 1e-15).verdict(groups).holds
    same = sf.Groups([[2, 4, 6]], reference=[7, 14, 21])
    assert by(metric, 0).verdict(same).holds
    assert by(metric, 0).verdict(same).measured == 0
    off = sf.Groups([[2, 4, 6]], reference=[2 * 10**9, 4 * 10**9, 6 * 10**9 + 1])
    assert not by(metric, 0).verdict(off).holds


@given(st.lists(st.fractions(0, 3, max_denominator=9), max_size=4), st.fractions(0, 6))
def test_the_sign_of_a_sum_of_roots(roots: list[Fraction], whole: Fraction) -> None:
    about = float(whole) - sum(math.sqrt(root) for root in roots)
    found = root_sign(whole, roots)
    assert found is not None
    if abs(about) > 1e-9:
        assert found == (about > 0) - (about < 0)
    squares = [root * root for root in roots]
    assert root_sign(sum(roots, Fraction(0)), squares) == 0


# -- infinity -------------------------------------------------------------------------------------


def test_what_nobody_expected_is_infinite_and_said_so() -> None:
    groups = sf.Groups([[3, 1], [4, 0]], ["flu", "HIV"])
    for metric in FURTHER:
        verdict = by(metric, prior={"flu": 1}).verdict(groups)
        assert (verdict.measured == math.inf) is (metric in ENDLESS)
        said = "in the worst group somebody has 'HIV', which nobody expected: infinite"
        assert (said in verdict.note) is (metric in ENDLESS)
    assert by("kullback-leibler", prior={"flu": 1}).holds(groups).tolist() == [False, True]


# -- policies and searches ------------------------------------------------------------------------


def people() -> sf.Table:
    ages = [20 + i % 40 for i in range(200)]
    ills = [(i * 7 + i // 9) % 3 for i in range(200)]
    schema = sf.Schema(quasi=["q"], sensitive="s", hierarchies={"q": sf.intervals([5, 10, 20])})
    return sf.read(pa.table({"q": ages, "s": ills}), schema, threads=1)


def half(metric: str) -> sf.DistributionLeakage:
    """A bound of half of what the table leaks as it stands."""
    leaks = judge(by(metric), as_it_stands(people())).measured
    assert leaks is not None
    return by(metric, leaks / 2)


@pytest.mark.parametrize("metric", FURTHER)
@pytest.mark.parametrize("anonymizer", [sf.Mondrian(), sf.Lattice()], ids=lambda a: a.name)
def test_searches_keep_the_bound(anonymizer: Any, metric: str) -> None:
    criterion = half(metric)
    release = sf.anonymize(people(), sf.Policy([criterion], anonymizer=anonymizer), seed=1)
    assert judge(criterion, release).holds
    assert len(release.groups) > 1


@pytest.mark.parametrize("metric", ["hellinger", "total-variation"])
def test_deal_keeps_the_bound(metric: str) -> None:
    """By count rules, and asked as it stands."""
    criterion = half(metric)
    policy = sf.Policy([sf.KAnonymity(3), criterion], anonymizer=sf.Deal(sweeps=2))
    release = sf.anonymize(people(), policy, seed=1)
    assert judge(criterion, release).holds
    assert len(release.groups) > 1


def test_a_policy_names_its_metric(tmp_path: Any) -> None:
    policy = sf.Policy([by("hellinger", 0.3, prior="uniform")])
    policy.save(tmp_path / "policy.toml")
    assert 'metric = "hellinger"' in (tmp_path / "policy.toml").read_text()
    assert sf.Policy.load(tmp_path / "policy.toml") == policy
    assert "Hellinger ≤ 0.3 (prior uniform)" in str(policy.require[0])
    assert [step.criterion.epsilon for step in by("hellinger", 1).steps()] == [0.9]


def test_an_order_is_needed_to_move_earth_along_it() -> None:
    schema = sf.Schema(quasi=["q"], sensitive="s")
    subject = sf.read(pa.table({"q": ["a", "a"], "s": ["flu", "HIV"]}), schema, threads=1)
    verdict = judge(by("earth-mover"), as_it_stands(subject))
    assert verdict.status == "not_applicable"
    assert "use metric 'total-variation'" in verdict.note
