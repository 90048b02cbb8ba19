"""Have the chains converged? Library diagnostics, and on request the paper's own.

Rank-normalised R-hat, effective sample size and Monte Carlo error are ArviZ's (Vehtari, Gelman,
Simpson, Carpenter, Buerkner 2021). On request, as Boreale, Corradi and Viscardi do: Geweke's
comparison of the beginning of a chain with its end, for parameters; and Weiss's chi-square of parts
of a chain against the whole, adjusted for autocorrelation, for the value a row takes (Weiss 2013;
Deonovic and Smith 2017).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import MissingExtra

Floats = npt.NDArray[np.float64]
RHAT, ESS, CHAINS = 1.01, 400.0, 4


@dataclass(frozen=True)
class Diagnostics:
    """How the sampling went; figures are the worst over what was watched.

    `watched` people's p_A and p_L were followed draw by draw. `sweeps` are those of each chain in
    all, `kept` the draws the estimates rest on. `geweke` is the share of watched parameters with
    |z| > 1.96, `weiss` the share of watched rows with p < 0.05; chance alone gives about 0.05.
    """

    converged: bool
    rhat: float
    ess: float
    mcse: float
    chains: int
    sweeps: int
    kept: int
    watched: int
    median_ess: float
    seconds: float = field(compare=False, default=0.0)
    geweke: float | None = None
    weiss: float | None = None
    reason: str = ""


def statistics() -> Any:
    """ArviZ's statistics on arrays, or the line that installs them."""
    try:
        from arviz_stats.base import array_stats  # type: ignore[attr-defined]
    except ImportError:
        raise MissingExtra(
            "this release must be sampled, and sampling is not trusted without diagnostics: "
            "pip install 'sfumato[bayes]'"
        ) from None
    return array_stats


def judge_traces(traces: Floats) -> tuple[Floats, Floats, Floats]:
    """R-hat, effective sample size and Monte Carlo error of each trace (chains, draws, traces).

    What never moves in any chain, to the same figure, is known exactly: R-hat 1, no error.
    """
    stats = statistics()
    many = traces.shape[2]
    rhat, ess, mcse = np.ones(many), np.full(many, np.inf), np.zeros(many)
    spread = traces.max(axis=(0, 1)) - traces.min(axis=(0, 1))
    moving = np.flatnonzero(spread > 1e-12)
    if len(moving):
        moved = traces[:, :, moving]
        stuck = moved.max(axis=1) - moved.min(axis=1) <= 1e-12
        with np.errstate(divide="ignore", invalid="ignore"):
            rhat[moving] = stats.rhat(moved, chain_axis=0, draw_axis=1)
            bulk = stats.ess(moved, chain_axis=0, draw_axis=1, method="bulk")
            mean = stats.ess(moved, chain_axis=0, draw_axis=1, method="mean")
            mcse[moving] = stats.mcse(moved, chain_axis=0, draw_axis=1, method="mean")
        ess[moving] = np.fmin(bulk, mean)
        # A chain that stands still where others move has not arrived.
        rhat[moving] = np.where(stuck.any(axis=0) | np.isnan(rhat[moving]), np.inf, rhat[moving])
        ess[moving] = np.where(np.isnan(ess[moving]), 0.0, ess[moving])
    return rhat, ess, mcse


def geweke(traces: Floats, first: float = 0.1, last: float = 0.5) -> Floats:
    """Geweke's z: the mean of the beginning against that of the end, of each chain and trace.

    Standard errors account for autocorrelation through the effective sample size.
    """
    stats = statistics()
    draws = traces.shape[1]
    z = np.zeros((len(traces), traces.shape[2]))
    windows = (traces[:, : max(int(first * draws), 4)], traces[:, draws - int(last * draws) :])
    for chain in range(len(traces)):
        means, variance = [], np.zeros(traces.shape[2])
        for window in windows:
            one = window[chain][None]
            with np.errstate(divide="ignore", invalid="ignore"):
                error = stats.mcse(one, chain_axis=0, draw_axis=1, method="mean")
            means.append(one.mean(axis=(0, 1)))
            variance = variance + np.where(np.isnan(error), 0.0, error) ** 2
        gap = means[0] - means[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            z[chain] = np.where(
                variance > 0, gap / np.sqrt(variance), np.where(gap == 0, 0, np.inf)
            )
    return z


def weiss(draws: npt.NDArray[np.int64], parts: int = 5) -> float:
    """The p-value that parts of a categorical chain have one distribution, by Weiss's procedure.

    The chi-square of parts against the whole, divided by (1 + kappa) / (1 - kappa), where kappa is
    Cohen's agreement of a draw with the next: exact for a chain that repeats its last value or
    draws a new one. Agreement over longer stretches is what a drift would make, and is not allowed
    for.
    """
    from scipy.stats import chi2  # type: ignore[import-untyped]

    many = len(draws) // parts
    categories, coded = np.unique(draws[: many * parts], return_inverse=True)
    size = len(categories)
    if size < 2 or many < 2:
        return 1.0
    whole = np.bincount(coded, minlength=size) / len(coded)
    table = np.array(
        [np.bincount(part, minlength=size) for part in coded.reshape(parts, many)], dtype=float
    )
    statistic = float((((table - many * whole) ** 2) / (many * whole)).sum())
    agree_by_chance = float((whole**2).sum())
    same = float((coded[1:] == coded[:-1]).mean())
    kappa = max((same - agree_by_chance) / (1 - agree_by_chance), 0.0)
    inflation = (1 + kappa) / max(1 - kappa, 1e-12)
    return float(chi2.sf(statistic / inflation, (parts - 1) * (size - 1)))
