"""Run chains until they agree, or until the budget is spent, and say which.

Stages double in length. The first only warms up; each later one is judged on its own draws, and
everything before it counts as warm-up. So no start-up bias stays, at most twice the needed sweeps
are made, and the same seed gives the same result on any machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.relative_threat.diagnostics import (
    CHAINS,
    ESS,
    RHAT,
    Diagnostics,
    geweke,
    judge_traces,
    statistics,
    weiss,
)
from sfumato.counts.counts import Ints
from sfumato.errors import InputError
from sfumato.progress import Ticker

Floats = npt.NDArray[np.float64]
FIRST = 250  # sweeps of the first stage
PATIENCE = 2_000  # sweeps of a stage that may be told to be in vain
KEPT = 1000  # draws kept of each chain, at most
BATCHES = 5  # per chain, for the error of sampling
POOL, WATCHED = 2_000, 64
_ROOM = 1 << 28  # bytes for kept draws
Result = TypeVar("Result")


@dataclass(frozen=True)
class Goal:
    """When to stop: effective draws of the worst p_A watched, R-hat, and at most so many sweeps."""

    ess: float = ESS
    rhat: float = RHAT
    sweeps: int = 32_000
    chains: int = CHAINS
    seconds: float | None = None
    checks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.chains < 4:
            raise InputError(f"chains = {self.chains!r} is not allowed; use 4 or more")
        if self.sweeps < 3 * FIRST:
            raise InputError(f"sweeps = {self.sweeps!r} is not allowed; use {3 * FIRST} or more")
        if not self.ess > 0 or not self.rhat > 1:
            raise InputError("ess must be above 0 and rhat above 1")
        for check in self.checks:
            if check not in ("geweke", "weiss"):
                raise InputError(f"checks: {check!r} is not known; use 'geweke' or 'weiss'")

    @property
    def kept(self) -> int:
        """Draws to keep of each chain: enough to hold twice the effective draws wanted."""
        kept = KEPT
        while kept * self.chains < 2 * self.ess:
            kept *= 2
        return kept


class Sampler(Protocol):
    """Chains that can be run on, and whose beliefs p_A can be watched."""

    pool: int  # how many beliefs may be watched
    most_kept: int  # draws of each chain that fit in memory

    def warm_up(self, sweeps: int) -> None:
        """Run every chain on and forget it."""

    def stage(self, sweeps: int, thin: int, watched: Ints) -> list[Floats]:
        """Run every chain on; p_A, and p_L, of the watched: chains by draws by each.

        p_A is taken after every `thin` sweeps, p_L as often as memory allows.
        """

    def errors(self) -> Floats:
        """The Monte Carlo error of every p_A of the pool, from the last stage."""

    def parameters(self) -> Floats:
        """Some parameters draw by draw: chains by draws by parameters."""

    def categories(self) -> npt.NDArray[np.int64]:
        """The value some rows take draw by draw: chains by draws by rows."""


def run_chains(sampler: Sampler, goal: Goal, seed: int) -> Diagnostics:
    """Run a sampler to its goal."""
    statistics()  # says at once if the library is missing
    start = time.monotonic()
    rng = np.random.default_rng([seed, 7])
    some = rng.permutation(sampler.pool)
    done, length = 0, FIRST
    with Ticker("sampling", goal.sweeps) as ticker:
        sampler.warm_up(length)
        done += length
        ticker.add(length)
        while True:
            length *= 2
            watched = _watched(sampler, some, done > FIRST)
            thin = max(1, length // min(goal.kept, sampler.most_kept))
            traces = sampler.stage(length, thin, watched)
            done += length
            ticker.add(length)
            judged = [judge_traces(one) for one in traces]
            rhat, ess, mcse = (np.concatenate(figures) for figures in zip(*judged, strict=True))
            converged = bool((ess >= goal.ess).all() and (rhat < goal.rhat).all())
            late = goal.seconds is not None and time.monotonic() - start > goal.seconds
            # At this pace the rest of the budget is not enough: chains sit in different places.
            vain = length >= PATIENCE and ess.min(initial=np.inf) * goal.sweeps < goal.ess * length
            if converged or late or vain or done + 2 * length > goal.sweeps:
                break
    reason = "" if converged else _reason(rhat, ess, goal, done)
    return Diagnostics(
        converged=converged,
        rhat=float(rhat.max(initial=1.0)),
        ess=float(ess.min(initial=np.inf)),
        mcse=float(mcse.max(initial=0.0)),
        chains=goal.chains,
        sweeps=done,
        kept=traces[0].shape[0] * traces[0].shape[1],
        watched=len(watched),
        median_ess=float(np.median(judged[0][1])) if len(watched) else float("inf"),
        seconds=time.monotonic() - start,
        geweke=_geweke(sampler) if "geweke" in goal.checks else None,
        weiss=_weiss(sampler) if "weiss" in goal.checks else None,
        reason=reason,
    )


def _watched(sampler: Sampler, some: Ints, known: bool) -> Ints:
    """Half at random, half those with the largest error so far."""
    if len(some) <= WATCHED:
        return np.sort(some)
    if not known:
        return np.sort(some[:WATCHED])
    half = WATCHED // 2
    worst = np.argsort(-sampler.errors(), kind="stable")
    return np.unique(np.concatenate([some[:half], worst[:half]]))


def _reason(rhat: Floats, ess: Floats, goal: Goal, done: int) -> str:
    return (
        f"not converged after {done:,} sweeps of each chain: R-hat {rhat.max():.3f} (below "
        f"{goal.rhat:g} wanted), effective draws {ess.min():.0f} ({goal.ess:.0f} wanted); the "
        "chains disagree about who has what, so no figure here is to be relied on"
    )


def _geweke(sampler: Sampler) -> float:
    z = geweke(sampler.parameters())
    return float((np.abs(z) > 1.96).mean()) if z.size else 0.0


def _weiss(sampler: Sampler) -> float:
    drawn = sampler.categories()
    p = [weiss(row) for chain in drawn for row in chain.T]
    return float((np.array(p) < 0.05).mean()) if p else 0.0


def keepable(chains: int, size: int) -> int:
    """How many draws of each chain fit in memory, a draw being so many bytes."""
    room = _ROOM // max(chains * size, 1)
    several = (64 * KEPT, 16 * KEPT, 4 * KEPT, KEPT, 500, 250, 100, 50, 20)
    return next((kept for kept in several if kept <= room), 10)


def side_by_side(work: Callable[[int], Result], chains: int) -> list[Result]:
    """Do the work of every chain, on as many cores as there are."""
    with ThreadPoolExecutor(min(chains, os.cpu_count() or 1)) as pool:
        return list(pool.map(work, range(chains)))
