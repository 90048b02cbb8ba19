"""Tempered ensembles, for buckets between whose likely dealings no chain moves.

Where values may change places all over a release (two occupations that share most buckets), the
posterior has states far apart, and chains stay where they began. An ensemble holds a replica of the
dealing on every rung of a ladder of powers 1 = p_0 > p_1 > ... of the dealing's chance. On the
lowest rung replicas move freely. Neighbours exchange rungs by Metropolis' rule, so states found
below rise to power 1, where alone anything is recorded. An ensemble is one chain for R-hat.

What is set is set before anything is recorded, and then left alone, for adapting while recording
would bias the draws:

- the lowest power: from where plain chains disagreed, a little below the first of .95, .90, ... at
  which they come to agree how many people with each value of a column have each sensitive value,
  and others begun elsewhere with them. Where buckets are dealt as a whole they are given time: a
  lower power would make replicas forget faster, but its rungs cost more than that saves;
- the rungs: the spread of log chances along a pass upwards says how far apart two may stand that
  exchange half of the time; after a pilot they are moved so that all pairs are refused alike;
- what replicas begin with: dealings of many climbs to power 1, each from the lowest power, where it
  forgot the others. An ensemble has those of climbs that came to much the same, and to something
  else than those of the next. Where rungs are many, half of its replicas are of all climbs, so that
  what is likely soon stands at power 1 in each ensemble.

So R-hat judges weights, too: as long as how often a state is seen follows from how many replicas
began in it, and not from its chance, ensembles see it more or less often and disagree. States that
no climb came to are not known of; with 32 climbs one that every tenth comes to is missed once in
thirty times. Of all iterations the first quarter is left out. How often a replica went from power 1
to the lowest and back (round trips) is reported: where rungs are many it is seldom, and weights of
states that hardly differ are rough then, as errors tell.

Stands apart: another way of running what `samplers` has, which few releases need.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.relative_threat.bucketized import Bucketized, BucketModel, PowerLadder
from sfumato.adversaries.relative_threat.chains import (
    FEW_RUNGS,
    FIRST,
    StageClock,
    Tempering,
    keepable,
    side_by_side,
)
from sfumato.adversaries.relative_threat.convergence import rhat_of
from sfumato.adversaries.relative_threat.samplers import BucketChains, StageRecord
from sfumato.numbers import Floats, Ints

if TYPE_CHECKING:
    from sfumato.adversaries.relative_threat.ladder_kernel import LaneSteps, PowerTrace

Number = TypeVar("Number", bound=np.generic)
AT_ONE = 5  # sweeps at power 1 of an iteration, whose chances are averaged
LOWER, AGREE = 0.05, 1.1  # steps of power down to where R-hat is below
BELOW = 0.1  # the lowest power, below that
# Of so few people iterations cost little. A world that is seldom seen is left long before it is
# entered, so chains agree where they would not enter it: a lower power, and more iterations than
# end where it was not come upon.
FEW_PEOPLE, FEW_BELOW, FEW_LEAST = 100, 0.3, 7_000
LOTS, LOT = 8, 300  # of sweeps at a power, the first third of all left out; one lot for blocks
LOT_KEPT = 100  # draws of a lot
CLIMBS = 8  # of a chain
MELT = 200  # sweeps at the lowest power between two climbs
SCAN_POWERS, SCAN_SWEEPS = 25, 60  # of a climb
APART = 0.954  # steps of power, in standard deviations of log chance, exchanged half of the time
REFUSED = 0.5  # of proposed exchanges
PILOT = 60  # iterations
MOST_RUNGS = 400
SETTLED = 1.02  # R-hat of a stage below which its draws are kept beside those of the next
BATCHES = 4  # of a stage and chain, for the error of sampling
POOL = 256  # beliefs that may be watched
FEW = 16  # counts on which chains are to agree at the lowest power


def shortest_run(buckets: BucketModel) -> float:
    """How many sweeps the shortest run takes: a guess, for rungs grow as the root of people."""
    rungs = math.sqrt(len(buckets.member)) / 2
    climbs = CLIMBS * (MELT + SCAN_POWERS * SCAN_SWEEPS)
    ladder = 2 * LOT + climbs + PILOT * rungs
    return ladder + 3 * FIRST * (rungs + AT_ONE - 1)


class TemperedChains(BucketChains):
    """Ensembles of replicas, of which those at power 1 are recorded. A sweep is an iteration."""

    unit = "iterations of each ensemble"

    @property
    def method(self) -> str:
        return f"sampled (tempered ensembles, {self.dealt_by})"

    def __init__(
        self,
        buckets: BucketModel,
        chains: int,
        seed: int,
        begun: Sequence[PowerLadder] = (),
        seconds: float | None = None,
    ) -> None:
        """`begun`: plain chains that disagreed; without them some are run a little. After `seconds`
        whatever is run raises `StageTooLong`: plain chains can tell more."""
        super().__init__(buckets, chains, seed)
        self.clock = StageClock(seconds, binding=True)
        self._begun = bool(begun)
        self.ladders = list(begun) or self.ladders
        self._slots = np.ascontiguousarray(self._slots[:: -(-len(self._slots) // POOL)])
        self.pool = len(self._slots)
        self._batches = min(self._batches, BATCHES)
        self._few = len(buckets.member) <= FEW_PEOPLE
        self.least = FEW_LEAST if self._few else 0
        self._last: list[StageRecord] = []
        self._round_trips: list[Ints] = []

    @property
    def tempering(self) -> Tempering:
        powers = self.ladders[0].powers
        # Those of the last two stages, as all that is reported.
        round_trips = self._round_trips[-1] - self._round_trips[max(len(self._round_trips) - 3, 0)]
        return Tempering(
            len(powers),
            self.chains * CLIMBS,
            float(powers[-1]),
            float(1 - self._refused().max()),
            tuple(round_trips.tolist()),
        )

    def _refused(self) -> Floats:
        """The share of exchanges refused between neighbours."""
        refused = np.sum([ladder.refused[:-1] for ladder in self.ladders], axis=0)
        proposed = np.sum([ladder.proposed[:-1] for ladder in self.ladders], axis=0)
        share: Floats = refused / np.maximum(proposed, 1.0)
        return share

    # -- the ladder, set before anything is recorded -----------------------------------------------

    def warm_up(self, sweeps: int) -> None:
        if not self._begun:
            super().warm_up(sweeps)
        self._put_up(*self._scan(self._lowest_power()), phase=1)
        side_by_side(lambda chain: self._iterate(chain, PILOT, 1), self.chains)
        # Rungs at which all pairs are refused alike.
        before = self.ladders[0].powers
        powers = _evenly(before, self._refused() / REFUSED)
        nearest = np.abs(before[:, None] - powers).argmin(axis=0)
        dealings = [ladder.has[ladder.replica[nearest]] for ladder in self.ladders]
        self._put_up(powers, dealings, phase=2)
        side_by_side(lambda chain: self._iterate(chain, sweeps, AT_ONE), self.chains)
        self._round_trips = [self._trips()]

    def _trips(self) -> Ints:
        return np.array([ladder.passed[1] for ladder in self.ladders])

    def _put_up(self, powers: Floats, dealings: Sequence[Ints], phase: int) -> None:
        self.ladders = [
            self.buckets.ladder(powers, dealt, [self._seed, 9, phase, chain])
            for chain, dealt in enumerate(dealings)
        ]

    def _at_power(
        self, ladder: PowerLadder, power: float, sweeps: int, seed: Sequence[int], most: int
    ) -> tuple[PowerLadder, PowerTrace]:
        """Run all replicas on at one power; of their counts `most` are kept at most."""
        from sfumato.adversaries.relative_threat.ladder_kernel import PowerTrace

        replicas = len(ladder.has)
        ladder = self.buckets.ladder(np.full(replicas, power), ladder.has, [self._seed, *seed])
        cells = len(self.buckets.start)
        thin = max(1, sweeps // min(most, keepable(replicas, 4 * cells)))
        at = np.empty((sweeps // thin, replicas, cells), dtype=np.int32)
        trace = PowerTrace(thin, np.empty((sweeps, replicas)), at)
        self._run_ladder(ladder, (0, sweeps), (0, replicas), 1, trace=trace)
        return ladder, trace

    def _lowest_power(self) -> float:
        """A little below the first power at which chains come to agree that did not at 1."""
        for place, power in enumerate(np.arange(1 - LOWER, LOWER / 2, -LOWER).tolist()):
            if self._come_to_agree(place, power):
                # All may have gone over to one of several states that last at this power as well:
                # others begun elsewhere must come to the same, and go on beside these.
                doubled = copy(self)
                doubled.ladders = [*self.ladders, *self._elsewhere(12).ladders]
                agreed = doubled._come_to_agree(50 + place, power)
                own, elsewhere = doubled.ladders[: self.chains], doubled.ladders[self.chains :]
                middle = slice(self.chains // 2 - 1, self.chains // 2 + 1)
                own[middle] = elsewhere[middle]  # from an end, and the likeliest exchange
                self.ladders = own
                if agreed:
                    return float(max(power - (FEW_BELOW if self._few else BELOW), 0.0))
        return 0.0

    def _come_to_agree(self, place: int, power: float) -> bool:
        """Run all chains on at a power, side by side, until they agree or it is in vain.

        What they are to agree on are the counts that move most: they tell which values have
        changed places long before single people do.
        """
        has = np.array([ladder.has[ladder.replica[0]] for ladder in self.ladders])
        together = self.buckets.ladder(np.full(len(has), power), has, [self._seed])
        weights = (self.buckets.weight_table.weights**power).astype(np.float32)
        most = min(LOT_KEPT, keepable(LOTS * len(has), 4 * len(self.buckets.start)))
        lots, agreed = [], False
        # Blocks within buckets move rare values more slowly than the counts that are looked at:
        # 1,500 people in buckets of 20 had 20 effective draws after 1,750 iterations from there.
        for lot in range(LOTS if self.buckets.blocks.all() else 1):
            together, trace = self._at_power(together, power, LOT, [8, place, lot], most)
            lots.append(weights[trace.at])
            agreed = _agree(_late(np.concatenate(lots)).swapaxes(0, 1))
            if agreed:
                break
        self.ladders = [
            self.buckets.ladder(np.array([power]), dealt[None], [self._seed, 8, place, chain])
            for chain, dealt in enumerate(together.has)
        ]
        return agreed

    def _scan(self, lowest: float) -> tuple[Floats, list[Ints]]:
        """Up from the lowest power: rungs by the spread of log chances, and dealings for them."""
        passed = np.linspace(lowest, 1.0, SCAN_POWERS)
        people = len(self.buckets.member)

        def climb(chain: int) -> tuple[Floats, npt.NDArray[np.int32], Floats]:
            variance = np.empty((CLIMBS, len(passed)))
            left = np.empty((CLIMBS, len(passed), people), dtype=np.int32)
            # All climbs begin where the chain is, and each forgets it at the lowest power.
            begun = self.ladders[chain].has[self.ladders[chain].replica[:1]]
            climbers = self.buckets.ladder(np.ones(CLIMBS), begun.repeat(CLIMBS, axis=0), [0])
            climbers, trace = self._at_power(climbers, lowest, MELT, [8, chain, 100], 1)
            for place, power in enumerate(passed.tolist()):
                climbers, trace = self._at_power(
                    climbers, power, SCAN_SWEEPS, [8, chain, 101 + place], SCAN_SWEEPS
                )
                variance[:, place] = _late(trace.log_chances).var(axis=0)
                left[:, place] = climbers.has
            counts = self.buckets.weight_table.weights[_late(trace.at)].mean(axis=0)
            return variance, left, counts

        climbed = side_by_side(climb, self.chains)
        variances, left, counts = (np.concatenate(all_of) for all_of in zip(*climbed, strict=True))
        spread = np.sqrt(variances.mean(axis=0))
        steps = np.diff(passed) * (spread[1:] + spread[:-1]) / 2
        powers = _evenly(passed[::-1], steps[::-1] / APART)
        nearest = np.abs(passed[:, None] - powers).argmin(axis=0)
        begun = _unequal_shares(counts, self.chains, len(powers), self._seed)
        return powers, [left[climbs, nearest].astype(np.int64) for climbs in begun]

    # -- iterations --------------------------------------------------------------------------------

    def _run_ladder(
        self,
        ladder: PowerLadder,
        iterations: tuple[int, int],
        rungs: tuple[int, int],
        at_one: int,
        exchanging: bool = False,
        record: StageRecord | None = None,
        trace: PowerTrace | None = None,
    ) -> None:
        from sfumato.adversaries.relative_threat.ladder_kernel import PowerTrace, run_ladder

        if trace is None:
            trace = PowerTrace(1, np.empty((0, 0)), np.empty((0, 0, 0), dtype=np.int32))
        dealt = len(self.buckets.member) * (rungs[1] - rungs[0] + at_one - 1)
        for stretch in self.clock.stretches(iterations, dealt):
            run_ladder(
                ladder,
                self.buckets.layout,
                *self._steps,
                self._lane_steps,
                stretch,
                rungs,
                at_one,
                exchanging,
                record or _NOTHING,
                trace,
            )

    @cached_property
    def _lane_steps(self) -> LaneSteps:
        from sfumato.adversaries.relative_threat.ladder_kernel import lane_steps

        return lane_steps(len(self._steps[0]) - 2)

    def _iterate(
        self, chain: int, iterations: int, at_one: int, record: StageRecord | None = None
    ) -> None:
        """Run an ensemble on; its rungs in several threads where there are cores to spare."""
        ladder, rungs = self.ladders[chain], len(self.ladders[chain].powers)
        threads = min((os.cpu_count() or 1) // self.chains, rungs)
        if threads <= 1:
            self._run_ladder(ladder, (0, iterations), (0, rungs), at_one, True, record)
            return
        cuts = np.linspace(0, rungs, threads + 1).astype(int).tolist()
        with ThreadPoolExecutor(threads) as pool:
            for iteration in range(iterations):
                once = (iteration, iteration + 1)
                parts = [
                    pool.submit(self._run_ladder, ladder, once, part, at_one, False, record)
                    for part in pairwise(cuts)
                ]
                for part in parts:
                    part.result()
                self._run_ladder(ladder, once, (0, 0), at_one, True)

    def stage(self, sweeps: int, thin: int, watched: Ints) -> list[Floats]:
        """The beliefs watched in this stage and the one before, half as long.

        Together they are all but the first quarter of the iterations. A stage in which ensembles
        were still on their way from where they began counts as warm-up for the next.
        """
        now = [self._record(sweeps, 1, self._slots) for _ in range(self.chains)]
        side_by_side(lambda chain: self._iterate(chain, sweeps, AT_ONE, now[chain]), self.chains)
        joined = list(map(_joined, now, self._last)) if self._last else now
        traces = np.array([record.traces for record in now])
        self._last = now if rhat_of(traces).max(initial=1.0) < SETTLED else []
        self._round_trips.append(self._trips())
        chances = np.concatenate([record.sums for record in joined]) / joined[0].batch
        kept = np.concatenate([record.kept for record in joined])
        self.learnt = Bucketized(self.buckets, chances, kept, len(chances))
        self._categories = np.array([record.categories for record in joined])
        pool = np.array([record.traces for record in joined]) / self._many(self._slots)
        log_chance = np.array([record.log_chances for record in joined])
        whole = np.stack([pool.mean(axis=2), log_chance], axis=2)
        return [pool[:, :, watched], self._learner(self._slots[watched]), whole]


def _unequal_shares(counts: Floats, chains: int, rungs: int, seed: int) -> list[Ints]:
    """Which climb's dealing each ensemble begins with on each rung, by what the climbs came to.

    Climbs are put in order along the line on which their counts differ most, and every ensemble has
    a stretch of its own. On a long ladder every other rung is for all climbs.
    """
    apart = counts - counts.mean(axis=0)
    along, lengths, _ = np.linalg.svd(apart, full_matrices=False)
    line = along[:, 0] * np.sign(along[np.abs(along[:, 0]).argmax(), 0])
    # What rounding decides is not decided by the machine.
    order = np.argsort(np.round(line, 6) if lengths[0] > 0 else 0 * line, kind="stable")
    pairs = np.arange(rungs) // 2
    begun = []
    for chain, own in enumerate(np.split(order, chains)):
        shuffled = np.random.default_rng([seed, 10, chain]).permutation(order)
        mixed = shuffled[pairs % len(shuffled)]
        is_own = (np.arange(rungs) % 2 == 0) | (rungs <= FEW_RUNGS)
        begun.append(np.where(is_own, own[pairs % len(own)], mixed))
    return begun


def _late(draws: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """All but the first third."""
    return draws[len(draws) // 3 :]


def _agree(counts: npt.NDArray[np.float32]) -> bool:
    """Whether chains do about the counts that move most."""
    most = np.argsort(-counts.var(axis=(0, 1)), kind="stable")[:FEW]
    moving = counts[:, :, most].astype(np.float64)
    return bool(rhat_of(moving).max(initial=1.0) < AGREE)


def _joined(now: StageRecord, before: StageRecord) -> StageRecord:
    """One record of two stages, the first half as long as the second."""
    # Batches and kept draws are to stand for equally many iterations in both.
    halves = before.sums.reshape(-1, 2, before.sums.shape[1]).sum(axis=1)
    sums = np.concatenate([halves, now.sums])
    thinner = now.keep_thin // before.keep_thin
    kept = np.concatenate([before.kept[thinner - 1 :: thinner], now.kept])
    return now._replace(
        sums=sums,
        kept=kept[len(kept) % len(sums) :],
        traces=np.concatenate([before.traces, now.traces]),
        categories=np.concatenate([before.categories, now.categories]),
        log_chances=np.concatenate([before.log_chances, now.log_chances]),
    )


def _evenly(powers: Floats, steps: Floats) -> Floats:
    """Powers from the first to the last, as many and so placed that steps are 1 or less."""
    along = np.concatenate([[0.0], np.cumsum(np.maximum(steps, 0.01))])
    rungs = min(max(math.ceil(along[-1]) + 1, 2), MOST_RUNGS)
    evenly: Floats = np.interp(np.linspace(0.0, along[-1], rungs), along, powers)
    return evenly


_NOTHING = StageRecord(
    1,
    1,
    1,
    np.zeros(0, dtype=np.int64),
    np.zeros(0, dtype=np.int64),
    np.zeros((0, 0)),
    np.zeros((0, 0)),
    np.zeros((0, 0)),
    np.zeros((0, 0), dtype=np.int64),
    np.zeros(0),
)
