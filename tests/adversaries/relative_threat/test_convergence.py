"""R-hat and effective draws beside ArviZ's, and the chi-square beside SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from arviz_stats.base import array_stats  # type: ignore[attr-defined]
from scipy.stats import chi2  # type: ignore[import-untyped]

from sfumato.adversaries.relative_threat.convergence import (
    chi_square_above,
    geweke,
    judge_traces,
)
from sfumato.numbers import Floats


def sticky(seed: int, shape: tuple[int, int, int], stay: float) -> Floats:
    """Chains each of whose draws remembers a share of the last: below 0 they swing."""
    rng = np.random.default_rng(seed)
    traces = rng.normal(size=shape)
    for draw in range(1, shape[1]):
        traces[:, draw] += stay * traces[:, draw - 1]
    return traces


def judged_by_arviz(traces: Floats) -> tuple[Floats, Floats, Floats]:
    axes = {"chain_axis": 0, "draw_axis": 1}
    bulk = array_stats.ess(traces, method="bulk", **axes)
    mean = array_stats.ess(traces, method="mean", **axes)
    error = array_stats.mcse(traces, method="mean", **axes)
    return array_stats.rhat(traces, **axes), np.fmin(bulk, mean), error


@pytest.mark.parametrize("stay", [-0.9, -0.3, 0.0, 0.5, 0.98])
@pytest.mark.parametrize("shape", [(4, 4, 3), (4, 5, 3), (4, 7, 3), (5, 50, 4), (4, 501, 6)])
def test_traces_are_judged_as_arviz_does(shape: tuple[int, int, int], stay: float) -> None:
    traces = sticky(shape[1], shape, stay)
    for ours, theirs in zip(judge_traces(traces), judged_by_arviz(traces), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-9)


def test_ties_and_chains_apart_are_judged_as_arviz_does() -> None:
    traces = np.round(sticky(0, (4, 300, 5), 0.4))
    traces[1, :, 2] += 3
    traces[:, :, 3] = traces[:, :, 3] > 1
    traces[:, :150, 4] -= 2
    for ours, theirs in zip(judge_traces(traces), judged_by_arviz(traces), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-9)
    rhat = judge_traces(traces)[0]
    assert rhat[2] > 1.1
    assert rhat[4] > 1.1


def test_the_error_of_gewekes_means_is_arvizs() -> None:
    traces = sticky(3, (2, 400, 3), 0.6)
    for chain, z in zip(traces, geweke(traces), strict=True):
        begin, end = chain[:40], chain[200:]
        errors = [
            array_stats.mcse(window[None], chain_axis=0, draw_axis=1, method="mean")
            for window in (begin, end)
        ]
        apart = begin.mean(axis=0) - end.mean(axis=0)
        assert z == pytest.approx(apart / np.hypot(*errors), rel=1e-9)


@pytest.mark.parametrize("freedom", [2, 4, 12, 400])
@pytest.mark.parametrize("statistic", [0.0, 0.3, 7.0, 90.0, 2_000.0])
def test_the_chi_square_is_scipys(freedom: int, statistic: float) -> None:
    assert chi_square_above(statistic, freedom) == pytest.approx(
        chi2.sf(statistic, freedom), rel=1e-9, abs=1e-300
    )
