"""Chains: over who has which value in buckets, and over columns whose regions cross.

They are watched by the p_A of people. `paper_samplers` has the paper's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.locating.locate import Located
from sfumato.adversaries.relative_threat.atoms import Drawn, Generalized, Problems, problems_of
from sfumato.adversaries.relative_threat.bucketized import (
    BLOCK,
    Bucketized,
    BucketModel,
    PowerLadder,
)
from sfumato.adversaries.relative_threat.chains import (
    BATCHES,
    FIRST,
    POOL,
    StageClock,
    Tempering,
    keepable,
    side_by_side,
)
from sfumato.adversaries.relative_threat.columns import RegionColumn
from sfumato.adversaries.relative_threat.convergence import rhat_of
from sfumato.adversaries.relative_threat.model import (
    Model,
    Posterior,
    entries_of,
    jackknife,
    soft_shares,
)
from sfumato.numbers import Floats, Ints

# -- who has which value in the buckets of a bucketized release ------------------------------------

_ROOM = 1 << 27  # bytes for the chances by batch


class StageRecord(NamedTuple):
    """What a chain leaves of a stage: chances by batch, counts, what was watched and followed.

    `sums[i]` takes the chances of the i-th `batch` sweeps, by slot; `kept` the counts after every
    `keep_thin` sweeps; `traces`, `categories` and `log_chances` the `watched` slots, the values of
    the `followed` people and the dealing's log chance after every `thin` sweeps.
    """

    batch: int
    thin: int
    keep_thin: int
    watched: Ints
    followed: Ints
    sums: Floats
    kept: Floats
    traces: Floats
    categories: Ints
    log_chances: Floats


class BucketChains:
    """Whole buckets dealt anew in turn (`bucket_kernel`), the population integrated out."""

    unit = "sweeps of each chain"
    least = 0

    @property
    def tempering(self) -> Tempering | None:
        return None

    @property
    def method(self) -> str:
        return f"sampled ({self.dealt_by})"

    @property
    def dealt_by(self) -> str:
        """How buckets are dealt: as a whole where that can be worked out, else in blocks."""
        whole, total = int(self.buckets.blocks.sum()), len(self.buckets.blocks)
        if whole == total:
            return "whole buckets"
        if whole == 0:
            return "blocks within buckets"
        return f"whole buckets, {total - whole:,} of {total:,} in blocks"

    def __init__(
        self, buckets: BucketModel, chains: int, seed: int, seconds: float | None = None
    ) -> None:
        from sfumato.adversaries.relative_threat.dealing_kernel import deal_steps

        self.buckets, self.chains, self._seed = buckets, chains, seed
        self.clock = StageClock(seconds)
        self.most_kept = 64_000  # only watched chances are kept so often
        self._keep = keepable(chains, 8 * len(buckets.start))
        self._steps = deal_steps(int(buckets.groups.sizes[buckets.blocks].max(initial=BLOCK)))
        rng = np.random.default_rng([seed, 3])
        slots = int(buckets.slot_begins[-1])
        self._slots = np.sort(rng.permutation(slots)[:POOL])
        self.pool = len(self._slots)
        self._followed = np.sort(rng.permutation(len(buckets.member))[:_ROWS])
        self._batches = BATCHES if 8 * slots * chains * BATCHES <= _ROOM else 2
        self._begin(5, range(chains))
        self.learnt: Bucketized | None = None
        self._recorded: tuple[Ints, Floats] = (self._slots[:0], np.empty((chains, 0, 0)))
        self._categories = np.zeros((chains, 0, len(self._followed)), dtype=np.int64)

    def _begin(self, lot: int, starts: Iterable[int]) -> None:
        """Put chains at these starts, each with random numbers of its own."""
        seeds = [[self._seed, lot, chain] for chain in range(self.chains)]
        self._rngs = [np.random.default_rng(seed) for seed in seeds]
        self.ladders = [
            self.buckets.ladder(np.ones(1), self._start(start, rng)[None], seed)
            for start, rng, seed in zip(starts, self._rngs, seeds, strict=True)
        ]

    def _start(self, chain: int, rng: np.random.Generator) -> Ints:
        """Every other chain begins with like values dealt to like people, the rest at random. Two
        of them that follow each other begin at opposite ends."""
        buckets = self.buckets
        groups = buckets.groups
        nth = np.arange(len(groups.data)) - groups.indptr[groups.row]
        dealt = np.repeat(nth, groups.data)
        order = rng.random(len(dealt))
        if chain % 2:
            # By the codes of a bucket's tuples, from one column on: the same people get the same
            # end of the values, and no two that differ are alike.
            codes = np.roll(buckets.codes, -(chain // 4), axis=0)
            rank = np.unique(codes, axis=1, return_inverse=True)[1].reshape(-1)
            order[:] = (1 - chain // 2 % 2 * 2) * rank[buckets.member]
        group = np.repeat(np.arange(len(groups)), groups.sizes)
        ranked = np.lexsort((order, group))
        has = np.empty(len(dealt), dtype=np.int64)
        has[ranked] = dealt
        return has

    def look_elsewhere(self, sweeps: int) -> tuple[float, list[PowerLadder]]:
        """Whether chains begun elsewhere come to what these came to in so many sweeps.

        All of these may have gone over to one of several states that last while they were warmed
        up, and then agree; whoever begins in another state now is still there. The R-hat of all
        together, and chains of both: those begun anew that are farthest away are among them.
        """
        watched, before = self._recorded
        anew = self._elsewhere(11)
        anew.warm_up(50 * max(1, sweeps // 1_000))
        traces = anew.stage(FIRST * max(1, sweeps // (4 * FIRST)), 1, watched)[0]
        draws = min(before.shape[1], traces.shape[1])
        rhat = rhat_of(np.concatenate([before[:, -draws:], traces[:, -draws:]]))
        away = np.abs(traces.mean(axis=1) - before.mean(axis=(0, 1))).max(axis=1, initial=0.0)
        farthest = np.argsort(-away, kind="stable")[: self.chains // 2]
        near = self.ladders[: self.chains - len(farthest)]
        return float(rhat.max(initial=1.0)), [*near, *(anew.ladders[at] for at in farthest)]

    def _elsewhere(self, lot: int) -> Self:
        """Chains at opposite ends, and where the first is but two values have changed places."""
        anew, half = copy(self), self.chains // 2
        anew.clock = StageClock()
        anew._begin(lot, range(1, 2 * self.chains, 2))
        dealings = self.buckets.with_values_exchanged(self.ladders[0].has[0], self.chains - half)
        for chain, has in enumerate(dealings, half):
            seed = [self._seed, lot, self.chains + chain]
            anew.ladders[chain] = self.buckets.ladder(np.ones(1), has[None], seed)
        return anew

    def warm_up(self, sweeps: int) -> None:
        none = self._slots[:0]
        side_by_side(lambda chain: self._run(chain, sweeps, sweeps, none), self.chains)

    def stage(self, sweeps: int, thin: int, watched: Ints) -> list[Floats]:
        slots = self._slots[watched]
        ran = side_by_side(lambda chain: self._run(chain, sweeps, thin, slots), self.chains)
        chances = np.concatenate([chain.sums for chain in ran]) / (sweeps // self._batches)
        kept = np.concatenate([chain.kept for chain in ran])
        self.learnt = Bucketized(self.buckets, chances, kept, len(chances))
        self._categories = np.array([chain.categories for chain in ran])
        self._recorded = watched, np.array([chain.traces for chain in ran]) / self._many(slots)
        self.clock.binding = True
        return [self._recorded[1], self._learner(slots)]

    def _learner(self, slots: Ints) -> Floats:
        """p_L of each slot's value for its tuple, in every kept draw: chains by draws by slots."""
        assert self.learnt is not None
        buckets = self.buckets
        member, s = self._about(slots)
        places = buckets.places(buckets.codes[:, member])
        logs = np.log(self.learnt.mean_pi) + np.log(buckets.scale).sum(axis=0)
        for c in range(places.shape[1]):
            at = places[:, c][:, None] + np.arange(buckets.width)
            logs = logs + np.log(self.learnt.kept_counts[:, at])
        own: Floats = soft_shares(logs)[:, np.arange(len(s)), s]
        return own.reshape(self.chains, -1, len(slots))

    def _run(self, chain: int, sweeps: int, thin: int, slots: Ints) -> StageRecord:
        record = self._record(sweeps, thin, slots)
        self._sweep(chain, sweeps, record)
        return record

    def _record(self, sweeps: int, thin: int, slots: Ints) -> StageRecord:
        keep_thin = max(thin, sweeps // self._keep)
        return StageRecord(
            -(-sweeps // self._batches),
            thin,
            keep_thin,
            slots,
            self._followed,
            np.zeros((self._batches, int(self.buckets.slot_begins[-1]))),
            np.empty((sweeps // keep_thin, len(self.buckets.start))),
            np.empty((sweeps // thin, len(slots))),
            np.empty((sweeps // thin, len(self._followed)), dtype=np.int64),
            np.empty(sweeps // thin),
        )

    def _about(self, slots: Ints) -> tuple[Ints, Ints]:
        """The listed tuple and the sensitive value each slot is about."""
        buckets, groups = self.buckets, self.buckets.groups
        group = np.searchsorted(buckets.slot_begins, slots, "right") - 1
        row, value = np.divmod(slots - buckets.slot_begins[group], groups.distinct[group])
        s = groups.indices[groups.indptr[group] + value].astype(np.int64)
        return buckets.member_begins[group] + row, s

    def _many(self, slots: Ints) -> Floats:
        """The people of the listed tuple each slot is about."""
        return self.buckets.many[self._about(slots)[0]].astype(np.float64)

    def _sweep(self, chain: int, sweeps: int, record: StageRecord) -> None:
        from sfumato.adversaries.relative_threat.bucket_kernel import run_chain

        ladder = self.ladders[chain]
        for stretch in self.clock.stretches((0, sweeps), len(self.buckets.member)):
            run_chain(ladder, self.buckets.layout, *self._steps, stretch, record)

    def errors(self) -> Floats:
        assert self.learnt is not None
        return jackknife(self.learnt.chances[:, self._slots] / self._many(self._slots))

    def parameters(self) -> Floats:
        assert self.learnt is not None
        kept = self.learnt.kept_counts[:, :_PARAMETERS]
        return kept.reshape(self.chains, -1, kept.shape[1])

    def categories(self) -> npt.NDArray[np.int64]:
        return self._categories


_PARAMETERS, _ROWS = 200, 50  # followed for Geweke, for Weiss


@dataclass(frozen=True)
class WatchedPeople:
    """People to watch: exact values, a row by column, their sensitive value, groups they fit."""

    codes: Ints
    s: Ints
    where: Located

    def take(self, cases: Ints) -> WatchedPeople:
        return WatchedPeople(self.codes[:, cases], self.s[cases], self.where.take(cases))


def made_up_cases(model: Model, rng: np.random.Generator) -> WatchedPeople:
    """People who might be in it: a group, one of its values, exact values inside its regions."""
    groups = model.groups
    stored = rng.permutation(len(groups.data))[:POOL]
    group = groups.row[stored]
    rows = []
    for column in model.columns:
        atoms = [column.of_part(part)[0] for part in column.region_of[group].tolist()]
        rows.append(column.first[np.array(atoms, dtype=np.int64)])
    codes = np.array(rows, dtype=np.int64).reshape(len(model.columns), len(stored))
    where = Located(np.arange(len(stored) + 1), group)
    return WatchedPeople(codes, groups.indices[stored].astype(np.int64), where)


class CrossingChains:
    """Counts and slices (`crossing_kernel`) for some columns, the others learnt already."""

    merge = True
    unit = "sweeps of each chain"
    least = 0

    @property
    def tempering(self) -> Tempering | None:
        return None

    def __init__(
        self,
        model: Model,
        learnt: Sequence[Posterior | None],
        cases: WatchedPeople,
        chains: int,
        seed: int,
    ) -> None:
        """`learnt` holds the posterior of each column, None for those to be sampled."""
        self.model, self._learnt = model, list(learnt)
        rng = np.random.default_rng([seed, 3])
        chosen = np.sort(rng.permutation(len(cases.s))[:POOL])
        self.cases = cases.take(chosen)
        self.pool = len(chosen)
        self.chains = chains
        self.columns: list[tuple[int, RegionColumn, Problems]] = [
            (place, column, problems_of(column, model.cells(column), merge=self.merge))
            for place, column in enumerate(model.columns)
            if learnt[place] is None
        ]
        self._rngs = [np.random.default_rng([seed, 5, chain]) for chain in range(chains)]
        self._thetas = [
            [_start(problems, chain, self._rngs[chain]) for _, _, problems in self.columns]
            for chain in range(chains)
        ]
        size = sum(len(problems.prior) for _, _, problems in self.columns)
        self.most_kept = keepable(chains, 8 * size)
        self.learnt: Generalized | None = None

    def warm_up(self, sweeps: int) -> None:
        side_by_side(lambda chain: self._run(chain, sweeps, sweeps), self.chains)

    def stage(self, sweeps: int, thin: int, watched: Ints) -> list[Floats]:
        kept = side_by_side(lambda chain: self._run(chain, sweeps, thin), self.chains)
        posteriors = list(self._learnt)
        for number, (place, column, problems) in enumerate(self.columns):
            draws = np.concatenate([chain[number] for chain in kept])
            drawn = np.ascontiguousarray(draws.T)
            posteriors[place] = Drawn(column, problems, drawn, self.chains * BATCHES)
        self.learnt = Generalized(
            self.model, [posterior for posterior in posteriors if posterior is not None]
        )
        cases = self.cases.take(watched)
        beliefs = [self._attacker(cases), self._learner(cases)]
        return [
            belief.reshape(len(watched), self.chains, -1).transpose(1, 2, 0) for belief in beliefs
        ]

    def _run(self, chain: int, sweeps: int, thin: int) -> list[Floats]:
        from sfumato.adversaries.relative_threat.crossing_kernel import sweep_all

        drawn = []
        for number, (_, _, problems) in enumerate(self.columns):
            kept = np.empty((sweeps // thin, len(problems.prior)))
            sweep_all(self._rngs[chain], sweeps, thin, self._thetas[chain][number], problems, kept)
            drawn.append(kept)
        return drawn

    def _learner(self, cases: WatchedPeople) -> Floats:
        """p_L of each case's own value in every draw of the population: cases by draws."""
        assert self.learnt is not None
        total: Floats = self.model.mean_pi[:, None, None]
        for posterior, row in zip(self.learnt.posteriors, cases.codes, strict=True):
            if isinstance(posterior, Drawn):
                total = total * posterior.mean_draws(row)
            else:
                total = total * np.exp(posterior.log_mean(row)[0])[:, :, None]
        beliefs: Floats = total[cases.s, np.arange(len(cases.s))] / total.sum(axis=0)
        return beliefs

    def _attacker(self, cases: WatchedPeople) -> Floats:
        """p_A of each case's own value in every draw: cases by draws."""
        assert self.learnt is not None
        entries = entries_of(self.model.groups, cases.where)
        weight: Floats = entries.n[:, None].astype(np.float64)
        for posterior, row in zip(self.learnt.posteriors, cases.codes, strict=True):
            parts = posterior.column.region_of[entries.group].astype(np.int64)
            if isinstance(posterior, Drawn):
                weight = weight * posterior.inside_draws(entries.s, parts, row[entries.person])
            else:
                inside = posterior.log_inside(entries.s, parts, row[entries.person])
                weight = weight * np.exp(inside[0])[:, None]
        if not len(cases.s):
            return np.zeros((0, weight.shape[1]))
        starts = np.flatnonzero(np.diff(entries.person, prepend=-1))
        own = np.where((entries.s == cases.s[entries.person])[:, None], weight, 0.0)
        beliefs: Floats = np.add.reduceat(own, starts, axis=0) / np.add.reduceat(
            weight, starts, axis=0
        )
        return beliefs

    def errors(self) -> Floats:
        assert self.learnt is not None
        beliefs = self.learnt.attacker(self.cases.codes, self.cases.where)
        return jackknife(beliefs[:, np.arange(self.pool), self.cases.s])

    def parameters(self) -> Floats:
        traces = [
            posterior.thetas[:_PARAMETERS].reshape(-1, self.chains, self._kept(posterior))
            for posterior in self._sampled()
        ]
        return np.concatenate(traces).transpose(1, 2, 0)

    def categories(self) -> npt.NDArray[np.int64]:
        """The atom of the first cases' rows in the first sampled column, drawn given theta."""
        posterior = self._sampled()[0]
        problems, rng = posterior.problems, np.random.default_rng(11)
        cells = np.flatnonzero(np.diff(problems.cell_begins) > 1)[:_ROWS]
        rows = []
        for cell in cells.tolist():
            atoms = problems.cell_atoms[problems.cell_begins[cell] : problems.cell_begins[cell + 1]]
            running = np.cumsum(posterior.thetas[atoms], axis=0)
            chance = rng.random(running.shape[1]) * running[-1]
            rows.append((running < chance).sum(axis=0))
        shape = (len(cells), self.chains, self._kept(posterior))
        return np.array(rows, dtype=np.int64).reshape(shape).transpose(1, 2, 0)

    def _sampled(self) -> list[Drawn]:
        assert self.learnt is not None
        return [posterior for posterior in self.learnt.posteriors if isinstance(posterior, Drawn)]

    def _kept(self, posterior: Drawn) -> int:
        return int(posterior.thetas.shape[1]) // self.chains


def _start(problems: Problems, chain: int, rng: np.random.Generator) -> Floats:
    """A start of its own for each chain: even, or with most of the mass on few atoms."""
    theta = np.ones(len(problems.prior))
    if chain % 2:
        theta = np.maximum(rng.standard_gamma(0.3, size=len(theta)), 1e-12)
    elif chain:
        theta = rng.standard_exponential(len(theta))
    total = np.add.reduceat(theta, problems.begins[:-1])
    started: Floats = theta / np.repeat(total, np.diff(problems.begins))
    return started
