"""Have the chains converged? Rank-normalised R-hat and effective draws, and the paper's own checks.

R-hat and effective draws are those of Vehtari, Gelman, Simpson, Carpenter, Buerkner (2021), for all
traces at once. ArviZ computes them too, and tests compare; but it imports most of SciPy, which
takes longer than sampling a small release. On request, as Boreale, Corradi and Viscardi do:
Geweke's comparison of the beginning of a chain with its end, for parameters; and Weiss's chi-square
of parts of a chain against the whole, adjusted for autocorrelation, for the value a row takes
(Weiss 2013; Deonovic and Smith 2017).
"""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from sfumato.numbers import Floats, Ints

FEWEST = 4  # draws of a chain that anything can be said of
_STILL = 1e-15  # what moves less stands still


def judge_traces(traces: Floats) -> tuple[Floats, Floats, Floats]:
    """R-hat, effective sample size and Monte Carlo error of each trace (chains, draws, traces).

    What never moves in any chain, to the same figure, is known exactly: R-hat 1, no error.
    """
    many = traces.shape[2]
    rhat, ess, mcse = np.ones(many), np.full(many, np.inf), np.zeros(many)
    unknown = ~np.isfinite(traces).all(axis=(0, 1))
    rhat[unknown], ess[unknown], mcse[unknown] = np.inf, 0.0, np.inf
    moving = _moving(traces)
    if len(moving):
        moved = traces[:, :, moving]
        halves = _halves(moved)
        scores = _normal_scores(halves)
        rhat[moving] = _rhat(moved, halves, scores)
        with np.errstate(divide="ignore", invalid="ignore"):
            bulk, mean = _effective(scores), _effective(halves)
            mcse[moving] = moved.std(axis=(0, 1), ddof=1) / np.sqrt(mean)
        ess[moving] = np.nan_to_num(np.fmin(bulk, mean), nan=0.0)
    return rhat, ess, mcse


def rhat_of(traces: Floats) -> Floats:
    """R-hat of each trace alone."""
    rhat, moving = np.ones(traces.shape[2]), _moving(traces)
    rhat[~np.isfinite(traces).all(axis=(0, 1))] = np.inf  # nothing is known of what is no number
    if len(moving):
        moved = traces[:, :, moving]
        halves = _halves(moved)
        rhat[moving] = _rhat(moved, halves, _normal_scores(halves))
    return rhat


def _rhat(moved: Floats, halves: Floats, scores: Floats) -> Floats:
    """The larger of that of a trace's ranks and of how far its draws are from their median."""
    # A chain that stands still where others move has not arrived.
    stuck = (moved.max(axis=1) - moved.min(axis=1) <= 1e-12).any(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        folded = np.abs(halves - np.median(halves, axis=(1, 2), keepdims=True))
        bulk, tail = _apart(scores), _apart(_normal_scores(folded))
    larger = np.where(tail > bulk, tail, bulk)
    return np.where(stuck | np.isnan(larger), np.inf, larger)


def _moving(traces: Floats) -> Ints:
    return np.flatnonzero(traces.max(axis=(0, 1)) - traces.min(axis=(0, 1)) > 1e-12)


def _halves(traces: Floats) -> Floats:
    """Every chain cut in two, so that drifts show: traces by half chains by draws."""
    half = traces.shape[1] // 2
    by_trace = traces.transpose(2, 0, 1)
    return np.concatenate([by_trace[:, :, :half], by_trace[:, :, traces.shape[1] - half :]], axis=1)


def _normal_scores(halves: Floats) -> Floats:
    """The normal quantile of each draw's rank among all of its trace; ties share a mean rank."""
    flat = halves.reshape(len(halves), -1)
    order = flat.argsort(axis=1)
    ascending = np.take_along_axis(flat, order, axis=1)
    other = ascending[:, 1:] != ascending[:, :-1]
    places = np.arange(flat.shape[1])
    first, last = np.zeros(flat.shape, dtype=np.int64), np.full(flat.shape, places[-1])
    first[:, 1:] = np.where(other, places[1:], 0)
    last[:, :-1] = np.where(other, places[:-1], places[-1])
    np.maximum.accumulate(first, axis=1, out=first)
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    scores = np.empty(flat.shape)
    np.put_along_axis(scores, order, _quantiles(flat.shape[1])[first + last], axis=1)
    return scores.reshape(halves.shape)


@lru_cache(maxsize=8)
def _quantiles(many: int) -> Floats:
    """Of ranks 1, 1.5, 2, ... among so many, shifted as Blom (1958) does."""
    ranks = 1 + np.arange(2 * many - 1) / 2
    return np.array([*map(NormalDist().inv_cdf, ((ranks - 3 / 8) / (many + 1 / 4)).tolist())])


def _apart(halves: Floats) -> Floats:
    """Gelman and Rubin's R-hat of each trace."""
    draws = halves.shape[2]
    if draws < FEWEST // 2:
        return np.full(len(halves), np.nan)
    between = halves.mean(axis=2).var(axis=1, ddof=1)
    within = halves.var(axis=2, ddof=1).mean(axis=1)
    rhat: Floats = np.sqrt((draws * between / within + draws - 1) / draws)
    return rhat


def _effective(halves: Floats) -> Floats:
    """Effective draws of each trace, by Geyer's initial monotone sequence of pairs of lags."""
    many, chains, draws = halves.shape
    if draws < FEWEST // 2:
        return np.full(many, np.nan)
    means = halves.mean(axis=2)
    room = 1 << (2 * draws - 1).bit_length()  # so that the end does not touch the beginning
    waves = np.fft.rfft(halves - means[:, :, None], n=room, axis=2)
    power = (waves.real**2 + waves.imag**2).mean(axis=1)
    covariance = np.fft.irfft(power, n=room, axis=1)[:, :draws] / draws
    within = covariance[:, :1] * draws / (draws - 1)
    whole = covariance[:, :1].copy()
    if chains > 1:
        whole += means.var(axis=1, ddof=1)[:, None]
    correlation = 1 - (within - covariance) / whole
    correlation[:, 0] = 1.0
    even = correlation[:, : draws - draws % 2 : 2]
    pairs = even + correlation[:, 1::2]
    # The first pair that is not positive ends the sum, or the last for which there are lags left.
    ends = ~(pairs > 0)
    ends[:, max(0, (draws - 3) // 2) :] = True
    end = ends.argmax(axis=1)[:, None]
    before = np.arange(pairs.shape[1]) < end
    falling = np.minimum.accumulate(pairs, axis=1)
    at_end = np.take_along_axis(even, end, axis=1)
    counts = (at_end > 0) | (np.take_along_axis(pairs, end, axis=1) >= 0)
    last = np.where(counts | np.isnan(at_end), at_end, 0.0)[:, 0]
    time = -1 + 2 * np.where(before, falling, 0.0).sum(axis=1) + last
    size = chains * draws
    still = halves.max(axis=(1, 2)) - halves.min(axis=(1, 2)) < _STILL
    effective: Floats = np.where(still, size, size / np.maximum(time, 1 / np.log10(size)))
    return effective


def geweke(traces: Floats, first: float = 0.1, last: float = 0.5) -> Floats:
    """Geweke's z: the mean of the beginning against that of the end, of each chain and trace.

    Standard errors account for autocorrelation through the effective sample size.
    """
    draws = traces.shape[1]
    z = np.zeros((len(traces), traces.shape[2]))
    windows = (traces[:, : max(int(first * draws), 4)], traces[:, draws - int(last * draws) :])
    for chain in range(len(traces)):
        means, variance = [], np.zeros(traces.shape[2])
        for window in windows:
            trace = window[chain][None]
            with np.errstate(divide="ignore", invalid="ignore"):
                error = trace.std(axis=(0, 1), ddof=1) / np.sqrt(_effective(_halves(trace)))
            means.append(trace.mean(axis=(0, 1)))
            variance = variance + np.where(np.isnan(error), 0.0, error) ** 2
        gap = means[0] - means[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            z[chain] = np.where(
                variance > 0, gap / np.sqrt(variance), np.where(gap == 0, 0, np.inf)
            )
    return z


PARTS = 5  # of a categorical chain


def weiss(draws: npt.NDArray[np.int64]) -> float:
    """The p-value that parts of a categorical chain have one distribution, by Weiss's procedure.

    The chi-square of parts against the whole, divided by (1 + kappa) / (1 - kappa), where kappa is
    Cohen's agreement of a draw with the next: exact for a chain that repeats its last value or
    draws a new one. Agreement over longer stretches is what a drift would make, and is not allowed
    for.
    """
    many = len(draws) // PARTS
    categories, coded = np.unique(draws[: many * PARTS], return_inverse=True)
    size = len(categories)
    if size < 2 or many < 2:
        return 1.0
    whole = np.bincount(coded, minlength=size) / len(coded)
    table = np.array(
        [np.bincount(part, minlength=size) for part in coded.reshape(PARTS, many)], dtype=float
    )
    statistic = float((((table - many * whole) ** 2) / (many * whole)).sum())
    agree_by_chance = float((whole**2).sum())
    same = float((coded[1:] == coded[:-1]).mean())
    kappa = max((same - agree_by_chance) / (1 - agree_by_chance), 0.0)
    inflation = (1 + kappa) / max(1 - kappa, 1e-12)
    return chi_square_above(statistic / inflation, (PARTS - 1) * (size - 1))


def chi_square_above(statistic: float, freedom: int) -> float:
    """The chance of more than a statistic by an even number of degrees of freedom.

    Such a sum of squares is the time until freedom / 2 events happen: fewer have by then.
    """
    assert freedom % 2 == 0
    terms = np.arange(1, freedom // 2)
    with np.errstate(divide="ignore"):
        logs = np.concatenate([[0.0], np.cumsum(np.log(statistic / 2) - np.log(terms))])
    return float(np.exp(logs - statistic / 2).sum())
