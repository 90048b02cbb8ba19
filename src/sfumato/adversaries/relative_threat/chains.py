"""Run chains until they agree, or until the budget is spent, and say which.

Stages double in length. The first only warms up; each later one is judged on its own draws, and
everything before it counts as warm-up. So no start-up bias stays, at most twice the needed sweeps
are made, and the same seed gives the same result on any machine. Where seconds are limited, a stage
that at the pace of the last would end more than a tenth too late is not begun.

Whether chains agree is told by R-hat and effective draws, and on request by the paper's own checks
(`convergence`).
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.relative_threat.convergence import geweke, judge_traces, weiss
from sfumato.errors import InputError
from sfumato.numbers import Floats, Ints
from sfumato.progress import Ticker

RHAT, ESS, CHAINS, SWEEPS = 1.01, 400.0, 4, 32_000
FEW_RUNGS = 16  # of a ladder on which round trips take little


@dataclass(frozen=True)
class Tempering:
    """Of tempered ensembles: the ladder of powers, and how replicas moved along it.

    `climbs` are independent ways up from the lowest power, whose dealings ensembles began with.
    `exchanged` is the share of exchanges accepted between the two neighbours that exchange least.
    `round_trips`, by ensemble: how often a replica went from power 1 to the lowest and back, in the
    iterations that count.
    """

    rungs: int
    climbs: int
    lowest_power: float
    exchanged: float
    round_trips: tuple[int, ...]

    @property
    def stood_apart(self) -> int:
        """Ensembles without a round trip, where rungs are so few that all should have made some."""
        return self.round_trips.count(0) if self.rungs <= FEW_RUNGS else 0


@dataclass(frozen=True)
class Diagnostics:
    """How the sampling went; figures are the worst over what was watched.

    `watched` people's p_A and p_L were followed draw by draw. `sweeps` are those of each chain in
    all, `kept` the draws the estimates rest on. `geweke` is the share of watched parameters with
    |z| > 1.96, `weiss` the share of watched rows with p < 0.05; chance alone gives about 0.05.
    `tempering`: where chains are tempered ensembles, whose sweeps are iterations.
    """

    converged: bool
    rhat: float
    ess: float
    mcse: float
    chains: int
    sweeps: int
    kept: int
    watched: int
    seconds: float = field(compare=False, default=0.0)
    geweke: float | None = None
    weiss: float | None = None
    tempering: Tempering | None = None
    reason: str = ""


FIRST = 250  # sweeps of the first stage
TOO_LATE = 1.1  # times the seconds allowed: a stage that ends later is not begun
PATIENCE = 2_000  # sweeps of a stage that may be told to be in vain
KEPT = 1000  # draws kept of each chain, at most
BATCHES = 5  # per chain, for the error of sampling
STRETCH = 200_000  # people dealt to between two looks at the clock: a fraction of a second
POOL, WATCHED = 2_000, 64
_ROOM = 1 << 28  # bytes for kept draws
Result = TypeVar("Result")


@dataclass(frozen=True)
class Goal:
    """When to stop: effective draws of the worst p_A watched, R-hat, and at most so many sweeps."""

    ess: float = ESS
    rhat: float = RHAT
    sweeps: int = SWEEPS
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
        if self.seconds is not None and not self.seconds > 0:
            raise InputError(f"seconds = {self.seconds!r} is not allowed; it must be above 0")
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

    @property
    def allows_ensembles(self) -> bool:
        """Whether so many sweeps are enough to begin with tempered ensembles."""
        return self.sweeps >= 4 * 3 * FIRST

    def sweeps_in_time(self, done: Diagnostics) -> int:
        """As many sweeps as were done, or what the seconds that are left allow at their pace."""
        if self.seconds is None:
            return done.sweeps
        left = max(self.seconds - done.seconds, 0.0)
        return min(done.sweeps, int(left / max(done.seconds, 1e-9) * done.sweeps))

    def tempered(self, spent: float) -> Goal:
        """The same for ensembles, in the seconds that are left.

        An iteration is a sweep on every rung and more of them at power 1: a quarter is enough.
        """
        left = None if self.seconds is None else self.seconds - spent
        return replace(self, sweeps=max(self.sweeps // 4, 3 * FIRST), seconds=left)


class StageTooLong(Exception):
    """A sampler was stopped in the middle of a stage, whose draws are lost."""


class StageClock:
    """Is looked at between short stretches of a stage, which it stops where its draws may be lost:
    those of the first stage may not (`binding`), lest there be nothing to tell."""

    def __init__(self, seconds: float | None = None, *, binding: bool = False) -> None:
        self._end = math.inf if seconds is None else time.monotonic() + seconds
        self.binding = binding

    def stretches(self, iterations: tuple[int, int], people: int) -> Iterator[tuple[int, int]]:
        """Iterations (from, to), in each of which so many people are dealt to."""
        stretch = max(1, STRETCH // max(1, people))
        for begin in range(*iterations, stretch):
            if self.binding and time.monotonic() > self._end:
                raise StageTooLong
            yield begin, min(begin + stretch, iterations[1])


class Sampler(Protocol):
    """Chains that can be run on, and whose beliefs p_A can be watched."""

    pool: int  # how many beliefs may be watched
    most_kept: int  # draws of each chain that fit in memory
    unit: str  # what is done so many times, such as "sweeps of each chain"
    least: int  # of these, before which it is not taken for agreement that chains agree

    @property
    def tempering(self) -> Tempering | None: ...

    def warm_up(self, sweeps: int) -> None:
        """Run every chain on and forget it."""

    def stage(self, sweeps: int, thin: int, watched: Ints) -> list[Floats]:
        """Run every chain on; p_A, p_L, and more to judge by: chains by draws by each watched.

        p_A is taken after every `thin` sweeps, p_L as often as memory allows.
        """

    def errors(self) -> Floats:
        """The Monte Carlo error of every p_A of the pool, from the last stage."""

    def parameters(self) -> Floats:
        """Some parameters draw by draw: chains by draws by parameters."""

    def categories(self) -> npt.NDArray[np.int64]:
        """The value some rows take draw by draw: chains by draws by rows."""


def run_chains(sampler: Sampler, goal: Goal, seed: int, given_up: float = math.inf) -> Diagnostics:
    """Run a sampler to its goal.

    Chains whose R-hat is above `given_up` after some stages are left: there is another way. A
    sampler that is out of time is judged by the stage before; `StageTooLong` where there is none.
    """
    start = time.monotonic()
    rng = np.random.default_rng([seed, 7])
    shuffled = rng.permutation(sampler.pool)
    done, length = 0, FIRST
    with Ticker("sampling", goal.sweeps) as ticker:
        sampler.warm_up(length)
        done += length
        ticker.add(length)
        while True:
            length *= 2
            watched = _watched(sampler, shuffled, done > FIRST)
            thin = max(1, length // min(goal.kept, sampler.most_kept))
            begun = time.monotonic()
            try:
                traces = sampler.stage(length, thin, watched)
            except StageTooLong:
                if done == FIRST:
                    raise
                break
            ended = time.monotonic()
            done += length
            ticker.add(length)
            judged = [judge_traces(trace) for trace in traces]
            rhat, ess, _ = (np.concatenate(figures) for figures in zip(*judged, strict=True))
            tempering = sampler.tempering
            apart = 0 if tempering is None else tempering.stood_apart
            converged = bool((ess >= goal.ess).all() and (rhat < goal.rhat).all()) and not apart
            next_end = ended + 2 * (ended - begun) - start
            late = goal.seconds is not None and next_end > TOO_LATE * goal.seconds
            # At this pace the rest of the budget is not enough: chains sit in different places.
            vain = length >= PATIENCE and ess.min(initial=np.inf) * goal.sweeps < goal.ess * length
            vain |= length >= PATIENCE // 2 and rhat.max(initial=1.0) > given_up
            agreed = converged and done >= sampler.least
            if agreed or late or vain or done + 2 * length > goal.sweeps:
                break
    reason = "" if converged else _reason(rhat, ess, apart, goal, f"{done:,} {sampler.unit}")
    return Diagnostics(
        converged=converged,
        rhat=float(rhat.max(initial=1.0)),
        ess=float(ess.min(initial=np.inf)),
        mcse=max(float(mcse.max(initial=0.0)) for _, _, mcse in judged[:2]),  # of beliefs
        chains=goal.chains,
        sweeps=done,
        kept=traces[0].shape[0] * traces[0].shape[1],
        watched=traces[0].shape[2],
        seconds=time.monotonic() - start,
        geweke=_geweke(sampler) if "geweke" in goal.checks else None,
        weiss=_weiss(sampler) if "weiss" in goal.checks else None,
        tempering=tempering,
        reason=reason,
    )


def _watched(sampler: Sampler, shuffled: Ints, known: bool) -> Ints:
    """Half at random, half those with the largest error so far."""
    if len(shuffled) <= WATCHED:
        return np.sort(shuffled)
    if not known:
        return np.sort(shuffled[:WATCHED])
    half = WATCHED // 2
    worst = np.argsort(-sampler.errors(), kind="stable")
    return np.unique(np.concatenate([shuffled[:half], worst[:half]]))


def _reason(rhat: Floats, ess: Floats, apart: int, goal: Goal, done: str) -> str:
    trips = f", ensembles without a round trip {apart} (0 wanted)" if apart else ""
    return (
        f"not converged after {done}: R-hat {rhat.max():.3f} (below "
        f"{goal.rhat:g} wanted), effective draws {ess.min():.0f} ({goal.ess:.0f} wanted){trips}; "
        "the chains do not agree yet about who has what, so no figure here is to be relied on"
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
