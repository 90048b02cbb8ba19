"""Seven measures of leakage compared: their values, sensitivity, ranks; bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.papers.metric_comparison import DISTANCES, compare_metrics

A = np.array([7 / 12, 3 / 12, 2 / 12])
X = np.array([0.25, 0.25, 0.5])


def one(name: str, x: np.ndarray, a: np.ndarray) -> float:
    return float(DISTANCES[name](x[None, :], a)[0])


def test_values_as_other_libraries_have_them() -> None:
    from scipy import stats
    from scipy.spatial import distance as peers

    rng = np.random.default_rng(1)
    for a, x in [*zip(rng.dirichlet(np.ones(5), 20), rng.dirichlet(np.ones(5), 20), strict=True)]:
        assert one("L1", x, a) == pytest.approx(peers.cityblock(x, a))
        assert one("Euclidean", x, a) == pytest.approx(peers.euclidean(x, a))
        assert one("Kullback-Leibler", x, a) == pytest.approx(stats.entropy(x, a, base=2))
        assert one("Jensen-Shannon", x, a) == pytest.approx(peers.jensenshannon(x, a, base=2) ** 2)
        hellinger = np.linalg.norm(np.sqrt(x) - np.sqrt(a)) / math.sqrt(2)
        assert one("Hellinger", x, a) == pytest.approx(hellinger)
        places = np.arange(5)
        moved = stats.wasserstein_distance(places, places, x, a) / 4
        assert one("earth mover", x, a) == pytest.approx(moved)
        bits = abs(stats.entropy(x, base=2) - stats.entropy(a, base=2))
        assert one("entropy", x, a) == pytest.approx(bits)


def test_they_are_what_the_criteria_measure() -> None:
    groups = sf.Groups([[1, 1, 2]], reference=[7, 3, 2])
    assert one("Euclidean", X, A) == pytest.approx(sf.DistributionLeakage(1).measure(groups).value)
    assert one("entropy", X, A) == pytest.approx(sf.EntropyLeakage(1).measure(groups).value)
    ordered = sf.TCloseness(1, distance="ordered").measure(groups).value
    assert one("earth mover", X, A) == pytest.approx(ordered)
    assert one("L1", X, A) / 2 == pytest.approx(sf.TCloseness(1).measure(groups).value)


def test_what_was_impossible_is_an_infinite_gain() -> None:
    a, x = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    assert one("Kullback-Leibler", x, a) == math.inf
    assert one("Kullback-Leibler", a, x) == 1
    assert one("Jensen-Shannon", x, a) < 1


def test_the_walk_and_the_permutations() -> None:
    found = compare_metrics(A, X, permutations=50, draws=300, seed=4)
    for name in ("L1", "Euclidean", "earth mover"):
        assert found.sensitivity(name, 0.1) == pytest.approx(0.1)
    assert found.sensitivity("Kullback-Leibler", 0.1) < 0.02
    assert found.sensitivity("entropy", 0.5) > 1  # it is not even monotone
    assert found.permuted["entropy"].max() < 1e-12
    assert found.permuted["Euclidean"].max() > 0.5
    for curve in found.curves.values():
        assert curve[0] == pytest.approx(0, abs=1e-12)


def test_rank_correlation_is_spearman_s() -> None:
    from scipy import stats

    found = compare_metrics(A, X, draws=200, seed=4)
    drawn = np.random.default_rng(4)
    for _ in range(200):
        drawn.permutation(3)
    sample = drawn.dirichlet(np.ones(3), 200)
    values = np.vstack([measure(sample, A) for measure in DISTANCES.values()])
    assert found.correlation == pytest.approx(stats.spearmanr(values.T).statistic)
    assert found.correlation[0, 1] > 0.95
    assert found.correlation[0, -1] < 0.7


def test_sheets_and_figures_hold_all_measures() -> None:
    found = compare_metrics(A, X, draws=50)
    sensitivity, correlation = found.tables()
    assert [row[0] for row in sensitivity.rows] == list(DISTANCES)
    assert correlation.columns == ("measure", *DISTANCES)
    walk, permuted = found.charts()
    assert [series.name for series in walk.series] == list(DISTANCES)
    assert [series.name for series in permuted.series] == ["Euclidean", "earth mover", "entropy"]


def test_a_measure_that_ends_at_nothing_has_no_sensitivity() -> None:
    found = compare_metrics(A, A[::-1], draws=20)
    assert math.isnan(found.sensitivity("entropy", 0.5))
    assert "entropy" not in [series.name for series in found.charts()[0].series]


@pytest.mark.parametrize(
    ("a", "x", "said"),
    [
        ([0.5, 0.4], [0.5, 0.5], "expected is no distribution"),
        ([0.5, 0.5], [1.5, -0.5], "towards is no distribution"),
        ([1.0], [1.0], "two or more shares"),
        ([0.5, 0.5], [0.5, 0.25, 0.25], "expected has 2 values, towards 3"),
        ([math.nan, 1], [0.5, 0.5], "expected is no distribution"),
    ],
)
def test_bad_distributions(a, x, said: str) -> None:
    with pytest.raises(sf.InputError, match=said):
        compare_metrics(a, x)
