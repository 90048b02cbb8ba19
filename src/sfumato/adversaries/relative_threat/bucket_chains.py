"""Chains over who has which value in the buckets of a bucketized release."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.relative_threat.bucketized import Bucketized, BucketModel
from sfumato.adversaries.relative_threat.chains import BATCHES, POOL, keepable, side_by_side
from sfumato.adversaries.relative_threat.model import jackknife
from sfumato.numbers import Floats, Ints

_PARAMETERS, _ROWS = 200, 50
_ROOM = 1 << 27  # bytes for the chances by batch


class StageRecord(NamedTuple):
    """What a chain leaves of a stage: chances by batch, counts, what was watched and followed."""

    sums: Floats
    kept: Floats
    traces: Floats
    categories: Ints


class SweepState(NamedTuple):
    """Where a chain is, and what the release shows: what every sweep begins with."""

    has: Ints
    b: Floats
    place: Ints
    begins: Ints
    member: Ints
    member_begins: Ints
    value_begins: Ints
    value: Ints
    slot_begins: Ints


class BucketChains:
    """Whole buckets dealt anew in turn (`bucket_kernel`), the population integrated out."""

    @property
    def method(self) -> str:
        """How buckets are dealt: as a whole where that can be worked out, else by swaps."""
        whole, every = int(self.buckets.blocks.sum()), len(self.buckets.blocks)
        if whole == every:
            return "sampled (whole buckets)"
        if whole == 0:
            return "sampled (swaps within buckets)"
        return f"sampled (whole buckets, {every - whole:,} of {every:,} by swaps)"

    def __init__(self, buckets: BucketModel, chains: int, seed: int) -> None:
        self.buckets, self.chains = buckets, chains
        self.most_kept = 64_000  # only watched chances are kept so often
        self._keep = keepable(chains, 8 * len(buckets.start))
        self._place = buckets.place
        self._largest = int(buckets.groups.sizes[buckets.blocks].max(initial=1))
        rng = np.random.default_rng([seed, 3])
        slots = int(buckets.slot_begins[-1])
        self._slots = np.sort(rng.permutation(slots)[:POOL])
        self.pool = len(self._slots)
        self._followed = np.sort(rng.permutation(len(buckets.member))[:_ROWS])
        self._batches = BATCHES if 8 * slots * chains * BATCHES <= _ROOM else 2
        self._rngs = [np.random.default_rng([seed, 5, chain]) for chain in range(chains)]
        self._has = [self._start(chain) for chain in range(chains)]
        self._b = [self._counted(has) for has in self._has]
        self.learnt: Bucketized | None = None
        self._categories = np.zeros((chains, 0, len(self._followed)), dtype=np.int64)

    def _start(self, chain: int) -> Ints:
        """Every other chain begins with like values dealt to like people, the rest at random."""
        buckets, rng = self.buckets, self._rngs[chain]
        groups = buckets.groups
        nth = np.arange(len(groups.data)) - groups.indptr[groups.row]
        dealt = np.repeat(nth, groups.data)
        order = rng.random(len(dealt))
        if chain % 2:
            # By the code of a bucket's tuples: the same people get the same end of the values.
            order = buckets.codes[chain // 2 % len(buckets.codes)][buckets.member].astype(float)
        group = np.repeat(np.arange(len(groups)), groups.sizes)
        ranked = np.lexsort((order, group))
        has = np.empty(len(dealt), dtype=np.int64)
        has[ranked] = dealt
        return has

    def _counted(self, has: Ints) -> Floats:
        """beta plus counts for a way of dealing."""
        buckets = self.buckets
        groups = buckets.groups
        group = np.repeat(np.arange(len(groups)), groups.sizes)
        s = groups.indices[groups.indptr[group] + has].astype(np.int64)
        b = buckets.start.copy()
        for row in self._place.T:
            np.add.at(b, row + s, 1.0)
        return b

    def warm_up(self, sweeps: int) -> None:
        none = self._slots[:0]
        side_by_side(lambda chain: self._run(chain, sweeps, sweeps, none), self.chains)

    def stage(self, sweeps: int, thin: int, watched: Ints) -> list[Floats]:
        slots = self._slots[watched]
        ran = side_by_side(lambda chain: self._run(chain, sweeps, thin, slots), self.chains)
        chances = np.concatenate([one.sums for one in ran]) / (sweeps // self._batches)
        kept = np.concatenate([one.kept for one in ran])
        self.learnt = Bucketized(self.buckets, chances, kept, len(chances))
        self._categories = np.array([one.categories for one in ran])
        return [np.array([one.traces for one in ran]) / self._many(slots), self._learner(slots)]

    def _learner(self, slots: Ints) -> Floats:
        """p_L of each slot's value for its tuple, in every kept draw: chains by draws by slots."""
        assert self.learnt is not None
        buckets = self.buckets
        member, s = self._about(slots)
        places = buckets.places(buckets.codes[:, member])
        total: Floats = self.learnt.mean_pi[None, None, :]
        for c in range(places.shape[1]):
            at = places[:, c][:, None] + np.arange(buckets.width)
            total = total * (self.learnt.kept_counts[:, at] * buckets.scale[c])
        own: Floats = total[:, np.arange(len(s)), s] / total.sum(axis=2)
        return own.reshape(self.chains, -1, len(slots))

    def _run(self, chain: int, sweeps: int, thin: int, slots: Ints) -> StageRecord:
        buckets = self.buckets
        keep_thin = max(thin, sweeps // self._keep)
        record = StageRecord(
            np.zeros((self._batches, int(buckets.slot_begins[-1]))),
            np.empty((sweeps // keep_thin, len(buckets.start))),
            np.empty((sweeps // thin, len(slots))),
            np.empty((sweeps // thin, len(self._followed)), dtype=np.int64),
        )
        self._sweep(chain, sweeps, thin, keep_thin, slots, record)
        return record

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

    def _sweep(
        self, chain: int, sweeps: int, thin: int, keep_thin: int, slots: Ints, record: StageRecord
    ) -> None:
        from sfumato.adversaries.relative_threat.bucket_kernel import deal_steps, sweep_buckets

        step_begins, steps = deal_steps(self._largest)
        sweep_buckets(
            self._rngs[chain],
            sweeps,
            thin,
            keep_thin,
            -(-sweeps // self._batches),
            *self._state(chain),
            self.buckets.blocks,
            step_begins,
            steps,
            slots,
            self._followed,
            *record,
        )

    def _state(self, chain: int) -> SweepState:
        buckets, groups = self.buckets, self.buckets.groups
        return SweepState(
            self._has[chain],
            self._b[chain],
            self._place,
            buckets.begins,
            buckets.member,
            buckets.member_begins,
            groups.indptr,
            groups.indices.astype(np.int64),
            buckets.slot_begins,
        )

    def errors(self) -> Floats:
        assert self.learnt is not None
        chances = self.learnt.chances[:, self._slots] / self._many(self._slots)
        return jackknife(chances)

    def parameters(self) -> Floats:
        assert self.learnt is not None
        kept = self.learnt.kept_counts[:, :_PARAMETERS]
        return kept.reshape(self.chains, -1, kept.shape[1])

    def categories(self) -> npt.NDArray[np.int64]:
        return self._categories
