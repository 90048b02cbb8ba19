"""What is learnt from a bucketized release (Anatomy), about anybody.

Everybody's exact quasi-identifiers are listed; who has which of her bucket's values is hidden. The
attacker's belief is the chance that the person she looks at was dealt s, averaged over all the
people listed with these values. The learner's is E[prod_A theta_{A,s}(r_A)] over all ways of
dealing, which is not the product of the columns' expectations. Random worlds: n(g, s) / n_g.

Here too: how a bucketized release is laid out for the kernels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.locating.locate import Located
from sfumato.adversaries.relative_threat.atoms import Clues
from sfumato.adversaries.relative_threat.columns import recode
from sfumato.adversaries.relative_threat.model import (
    DirichletWeights,
    mixed,
    normalised,
    replicates,
    soft_shares,
)
from sfumato.counts.counts import rank_rows
from sfumato.numbers import Bools, Floats, Ints, Ragged, offsets_of, rows_of, run_places
from sfumato.release.description import Buckets
from sfumato.release.groups import Groups
from sfumato.schema.domain import Domain

# A bucketized release laid out for the kernels. Only values that somebody is listed with are
# counted; a value nobody has keeps its prior weight.

LARGEST = 12  # people of a bucket that is still dealt as a whole
BLOCK = 5  # people dealt at once in other buckets
FREQUENT = 24  # values of which two may be tried in each other's places


class PowerLadder(NamedTuple):
    """Replicas of who has what, one on every rung of a ladder of powers; often of one rung only.

    Replica i gives person k her bucket's value number `has[i, k]`. What follows for each cell of
    the counts: beta + count stands at `at[i, cell]` of the `WeightTable`, and to the power of its
    rung it is `weight[i, cell]`. Rung r has the power `powers[r]`, the replica `replica[r]` and the
    table of weights `tables[r]`. `states` are those of random numbers, one a rung and one for
    exchanges, so that results do not depend on threads.

    Of each replica: `log_chance` of its dealing, and how far it is on its `way` from power 1 (1)
    to the lowest (2) and back. Of neighbours: exchanges `proposed` and, in expectation, `refused`.
    `passed` counts iterations and round trips.
    """

    has: Ints
    at: npt.NDArray[np.int32]
    weight: Floats
    powers: Floats
    tables: Floats
    logs: Floats
    replica: Ints
    states: npt.NDArray[np.uint64]
    log_chance: Floats
    way: Ints
    proposed: Floats
    refused: Floats
    passed: Ints


class WeightTable(NamedTuple):
    """Every weight beta + count a cell may have, cells with one beta sharing theirs.

    `begins[cell]` is the place of count 0. `logs` are log Gamma(beta + count): summed over the
    cells they are the logarithm of a dealing's chance, up to a constant.
    """

    begins: Ints
    weights: Floats
    logs: Floats


class BucketLayout(NamedTuple):
    """Person k of bucket g (`begins[g]:begins[g + 1]`) is of the listed tuple `member[k]`.

    The bucket's value number i is `value[value_begins[g] + i]`. Column c of person k at value s
    lies at `place[k, c] + s` of the counts. A slot is a bucket, a tuple and a value.
    """

    place: npt.NDArray[np.int32]
    begins: Ints
    member: Ints
    member_begins: Ints
    value_begins: Ints
    value: Ints
    slot_begins: Ints
    blocks: Bools


@dataclass(frozen=True)
class BucketModel:
    """Bucket g has the people `begins[g]:begins[g + 1]` and the listed tuples
    `member_begins[g]:member_begins[g + 1]`; its values are those of `groups`.

    In column c the value v for those with s has its weight beta + count at
    `(offsets[c] + number[c][v]) * width + s`; number -1 is a value that nobody is listed with.
    """

    values: Domain
    domains: tuple[Domain, ...]
    alpha: Floats
    groups: Groups
    codes: Ints  # exact values of each listed tuple, a row by column
    many: Ints  # people of each listed tuple
    member_begins: Ints
    begins: Ints
    member: Ints  # the listed tuple of each person
    number: tuple[Ints, ...]
    offsets: Ints
    lengths: Ints  # listed values of each column
    beta: tuple[Floats, ...]  # of all values of a column, a row by s or one for all
    start: Floats  # the prior weights at their places
    scale: Floats  # 1 / (sum of beta + people with s): columns by s
    blocks: Bools  # dealt as a whole, not by swaps
    slot_begins: Ints

    @property
    def width(self) -> int:
        return len(self.values)

    @property
    def people(self) -> Floats:
        """How many people have each sensitive value."""
        groups = self.groups
        sums = np.bincount(groups.indices, weights=groups.data, minlength=self.width)
        return sums.astype(np.float64)

    @cached_property
    def layout(self) -> BucketLayout:
        """As the kernels take it."""
        return BucketLayout(
            self.places(self.codes)[self.member].astype(np.int32),
            self.begins,
            self.member,
            self.member_begins,
            self.groups.indptr,
            self.groups.indices.astype(np.int64),
            self.slot_begins,
            self.blocks,
        )

    @cached_property
    def weight_table(self) -> WeightTable:
        place = self.layout.place.ravel()
        listed = np.bincount(place, minlength=len(self.start))[:: self.width]
        most = np.minimum(listed[:, None], self.people.astype(np.int64)).ravel()
        betas, number = np.unique(self.start, return_inverse=True)
        longest = np.zeros(len(betas), dtype=np.int64)
        np.maximum.at(longest, number, most + 1)
        begins = offsets_of(longest)
        weights = np.repeat(betas, longest) + run_places(np.zeros_like(longest), longest)
        logs = np.array([*map(math.lgamma, weights.tolist())])
        return WeightTable(begins[number], weights, logs)

    def ladder(self, powers: Floats, has: Ints, seed: Sequence[int]) -> PowerLadder:
        """A replica on every rung, which deals as its row of `has` says."""
        table, groups = self.weight_table, self.groups
        rungs = len(powers)
        first = np.repeat(groups.indptr[:-1], groups.sizes)
        at = np.empty((rungs, len(self.start)), dtype=np.int32)
        for row, dealt in zip(at, has, strict=True):
            s = groups.indices[first + dealt].astype(np.int64)
            cells = (self.layout.place + s[:, None]).ravel()
            row[:] = table.begins + np.bincount(cells, minlength=len(row))
        tables = table.weights ** powers[:, None]
        words = np.random.SeedSequence(seed).generate_state(4 * (rungs + 1), np.uint64)
        states = words.astype(np.uint64).reshape(rungs + 1, 4)
        return PowerLadder(
            has.copy(),
            at,
            np.take_along_axis(tables, at, axis=1),
            powers,
            tables,
            table.logs,
            np.arange(rungs),
            states,
            np.zeros(rungs),
            np.where(np.arange(rungs) == 0, 1, 0),
            np.zeros(rungs),
            np.zeros(rungs),
            np.zeros(2, dtype=np.int64),
        )

    def with_values_exchanged(self, has: Ints, many: int) -> list[Ints]:
        """The likeliest dealings that differ from this by two values having changed places, of
        pairs of values that many would exchange: other worlds, if there are any."""
        groups = self.groups
        group = np.repeat(np.arange(len(groups)), groups.sizes)
        value = groups.indices[groups.indptr[group] + has]
        by_value = np.lexsort((group, value))  # who have a value, by their buckets
        ends = np.searchsorted(value[by_value], np.arange(self.width + 1))
        holders = [by_value[start:stop] for start, stop in pairwise(ends.tolist())]
        pairs = []
        for pair in combinations(sorted(holders, key=len)[-FREQUENT:], 2):
            # A bucket's first with one value and its first with the other, and so on.
            first, second = (group[people] * len(has) + _nth(group[people]) for people in pair)
            _, here, there = np.intersect1d(first, second, return_indices=True)
            pairs.append((pair[0][here], pair[1][there]))
        most = max((len(here) for here, _ in pairs), default=0)
        made: list[tuple[float, Ints]] = []
        for here, there in pairs:
            if len(here) and 2 * len(here) >= most:
                dealt = has.copy()
                dealt[here], dealt[there] = has[there], has[here]
                at = self.ladder(np.ones(1), dealt[None], [0]).at
                made.append((float(self.weight_table.logs[at].sum()), dealt))
        return [dealt for _, dealt in sorted(made, key=lambda scored: -scored[0])[:many]]

    def places(self, codes: Ints) -> Ints:
        """Where values of tuples lie for the first sensitive value: tuples by columns.

        -1 where nobody is listed with the value.
        """
        rows = [numbers[row] for numbers, row in zip(self.number, codes, strict=True)]
        slots = np.array(rows, dtype=np.int64).reshape(len(self.number), codes.shape[1])
        placed = np.where(slots >= 0, (slots + self.offsets[:, None]) * self.width, -1)
        return np.ascontiguousarray(placed.T)

    def beta_of(self, column: int, s: Ints | slice, codes: Ints) -> Floats:
        beta = self.beta[column]
        return np.broadcast_to(beta, (self.width, beta.shape[1]))[s][:, codes]


def _nth(sorted_keys: Ints) -> Ints:
    """The how manieth of its key each is, from 0."""
    return np.arange(len(sorted_keys)) - np.searchsorted(sorted_keys, sorted_keys)


def buckets_of(
    values: Domain,
    groups: Groups,
    members: Buckets,
    domains: Sequence[Domain],
    prior: DirichletWeights,
) -> BucketModel:
    codes = np.array(
        [
            recode(domain.name, row, published, domain)
            for domain, published, row in zip(domains, members.domains, members.codes, strict=True)
        ],
        dtype=np.int64,
    )
    size = groups.sizes
    begins = offsets_of(size)
    member = np.repeat(np.arange(codes.shape[1]), members.n)
    people = np.bincount(groups.indices, weights=groups.data, minlength=len(values))
    numbers, lengths, betas, starts, scales = [], [], [], [], []
    for domain, row in zip(domains, codes, strict=True):
        listed = np.unique(row)
        number = np.full(len(domain), -1, dtype=np.int64)
        number[listed] = np.arange(len(listed))
        beta = prior.of_column(domain, values)
        whole = np.broadcast_to(beta, (len(values), len(domain)))
        numbers.append(number)
        lengths.append(len(listed))
        betas.append(beta)
        starts.append(whole[:, listed].T.ravel())
        scales.append(1 / (whole.sum(axis=1) + people))
    different = groups.max_of(groups.data) <= 1
    slots = np.diff(members.indptr) * groups.distinct
    return BucketModel(
        values,
        tuple(domains),
        prior.of_values(values),
        groups,
        codes,
        members.n,
        members.indptr,
        begins,
        member.astype(np.int64),
        tuple(numbers),
        offsets_of(lengths)[:-1],
        np.array(lengths, dtype=np.int64),
        tuple(betas),
        np.concatenate(starts).astype(np.float64),
        np.array(scales),
        different & (size <= LARGEST),
        offsets_of(slots),
    )


def listings(buckets: BucketModel, codes: Ints) -> Ragged[Ints]:
    """Which listed tuples each asked tuple is."""
    listed_and_asked = np.hstack([buckets.codes, codes]).astype(np.int32)
    number, first = rank_rows(listed_and_asked, [len(domain) for domain in buckets.domains])
    total = buckets.codes.shape[1]
    order = np.argsort(number[:total], kind="stable")
    ends = np.searchsorted(number[:total][order], np.arange(len(first) + 1))
    asked = number[total:]
    return Ragged(ends, order).take(asked)


class Bucketized:
    """Beliefs from draws of who has what; answers are replicates by people by values.

    `chances[i, slot]` are the mean chances of batch i; `kept` holds beta + counts of some sweeps.
    """

    def __init__(
        self,
        buckets: BucketModel,
        chances: Floats,
        kept: Floats,
        batches: int,
        log_weights: Floats | None = None,
    ) -> None:
        """`log_weights`: of worlds that are all there are, instead of draws that count alike."""
        self.buckets, self.kept_counts, self.batches = buckets, kept, batches
        self._worlds = log_weights
        self.chances = replicates(chances)
        weights = buckets.alpha + buckets.people
        self.mean_pi: Floats = weights / weights.sum()

    @property
    def kept(self) -> int | None:
        return None if self._worlds is not None else len(self.kept_counts)

    @cached_property
    def _log_weights(self) -> Floats:
        """The weight of each kept draw in its batch."""
        if self._worlds is not None:
            return self._worlds
        many = len(self.kept_counts) // self.batches
        return np.full(len(self.kept_counts), -np.log(many))

    @cached_property
    def _group(self) -> Ints:
        """The bucket of each listed tuple."""
        return rows_of(self.buckets.member_begins)

    def attacker(self, codes: Ints, where: Located | None = None) -> Floats:
        return normalised(self._spread(codes, self.chances))

    def random_worlds(self, codes: Ints, where: Located | None = None) -> Floats:
        return normalised(self._spread(codes, self._even[None, :]))

    @cached_property
    def _even(self) -> Floats:
        """Chances where every way of dealing is as likely, slot by slot."""
        buckets, groups = self.buckets, self.buckets.groups
        member, value = self._slots
        share = groups.data[value] / groups.sizes[self._group[member]]
        even: Floats = share * buckets.many[member]
        return even

    @cached_property
    def _slots(self) -> tuple[Ints, Ints]:
        """The listed tuple and the stored value (of groups) of each slot."""
        groups = self.buckets.groups
        values = groups.distinct[self._group]
        member = np.repeat(np.arange(len(self._group)), values)
        return member, run_places(groups.indptr[self._group], values)

    def _spread(self, codes: Ints, chances: Floats) -> Floats:
        """Sum the chances of everybody listed with these values: replicates by people by values."""
        buckets, groups = self.buckets, self.buckets.groups
        listed = listings(buckets, codes)
        asked = listed.rows
        group = self._group[listed.values]
        many = groups.distinct[group]
        row = buckets.slot_begins[group] + (listed.values - buckets.member_begins[group]) * many
        slot = run_places(row, many)
        s = groups.indices[run_places(groups.indptr[group], many)]
        key = np.repeat(asked, many) * buckets.width + s
        size = codes.shape[1] * buckets.width
        rows = [np.bincount(key, weights=chance[slot], minlength=size) for chance in chances]
        summed = np.array(rows, dtype=np.float64)
        return summed.reshape(len(chances), codes.shape[1], buckets.width)

    def learner(self, codes: Ints, where: Located | None = None) -> Floats:
        return soft_shares(self.log_joint(codes))

    def log_joint(self, codes: Ints) -> Floats:
        """log p_L(s, r)."""
        from sfumato.adversaries.relative_threat.bucket_kernel import learner_means

        buckets = self.buckets
        places = buckets.places(codes)
        mean_weights = self.kept_counts.mean(axis=0).reshape(-1, buckets.width)
        means, logs = learner_means(
            self.kept_counts, self._log_weights, places, mean_weights, self.batches
        )
        logs += np.log(self.mean_pi) + np.log(buckets.scale).sum(axis=0)
        for c, row in enumerate(codes):
            rare = np.flatnonzero(places[:, c] < 0)
            logs[rare] += np.log(buckets.beta_of(c, slice(None), row[rare]).T)
        joint: Floats = np.log(np.maximum(replicates(means), 1e-300)) + logs
        return joint

    # -- one victim of whom anything may be known --------------------------------------------------

    def _fits(self, known: Clues) -> Floats:
        """The weight of each listed tuple."""
        total = np.ones(self.buckets.codes.shape[1])
        for row, weights in zip(self.buckets.codes, known, strict=True):
            if weights is not None:
                total = total * weights[row]
        return total

    def attacker_of(self, known: Clues) -> Floats:
        return self._sum_slots(self.chances * self._fits(known)[self._slots[0]])

    def random_worlds_of(self, known: Clues) -> Floats:
        return self._sum_slots((self._even * self._fits(known)[self._slots[0]])[None, :])

    def _sum_slots(self, weighed: Floats) -> Floats:
        s = self.buckets.groups.indices[self._slots[1]]
        rows = [np.bincount(s, weights=row, minlength=self.buckets.width) for row in weighed]
        return np.array(rows, dtype=np.float64)

    def learner_of(self, asked: Sequence[tuple[float, Clues]]) -> Floats:
        logs = np.log(self.mean_pi)[:, None] + self._log_masses([known for _, known in asked])
        logs += self._log_weights[:, None, None]
        total = mixed(logs, [weight for weight, _ in asked])
        many = len(total) // self.batches * self.batches
        return replicates(total[:many].reshape(self.batches, -1, self.buckets.width).sum(axis=1))

    def _log_masses(self, known: Sequence[Clues]) -> Floats:
        """log prod_A sum_v w_v (beta + c) / (B + n) in every kept draw: draws by s by known."""
        buckets = self.buckets
        total = np.zeros((len(self.kept_counts), buckets.width, len(known)))
        for c, numbers in enumerate(buckets.number):
            listed = np.flatnonzero(numbers >= 0)
            counts = self._column(c)
            for at, victim in enumerate(known):
                weights = victim[c]
                if weights is None:
                    continue
                unseen = np.where(numbers < 0, weights, 0.0)
                rest = buckets.beta[c] @ unseen
                mass = (counts @ weights[listed] + rest) * buckets.scale[c]
                with np.errstate(divide="ignore"):
                    total[:, :, at] += np.log(mass)
        return total

    def _column(self, c: int) -> Floats:
        """beta + counts of a column's listed values in every kept draw: draws by s by values."""
        buckets = self.buckets
        start, stop = buckets.offsets[c], buckets.offsets[c] + buckets.lengths[c]
        kept = self.kept_counts[:, start * buckets.width : stop * buckets.width]
        return kept.reshape(len(kept), int(buckets.lengths[c]), buckets.width).swapaxes(1, 2)

    def _chosen(self, rng: np.random.Generator, many: int) -> Ints:
        """The draws to take: all of them, or as many of all worlds."""
        if self._worlds is None:
            return np.arange(len(self.kept_counts))
        return rng.choice(len(self._worlds), size=many, p=np.exp(self._worlds))

    # -- draws of the population, for the other reading of p_L -------------------------------------

    def populations(
        self, codes: Ints, rng: np.random.Generator, many: int
    ) -> tuple[Floats, list[Floats]]:
        pi = rng.dirichlet(self.buckets.alpha + self.buckets.people, size=many)
        chosen, thetas = self._chosen(rng, many), []
        for c, row in enumerate(codes):
            number = self.buckets.number[c][row]
            beta = self.buckets.beta_of(c, slice(None), row)
            counts = self._column(c)[chosen]
            weight = np.where(number >= 0, counts[:, :, np.maximum(number, 0)], beta)
            rest = 1 / self.buckets.scale[c][:, None] - weight
            drawn = rng.beta(weight, np.maximum(rest, 1e-300))
            thetas.append(np.maximum(drawn, 1e-300))
        return pi, thetas

    def weights_drawn(self, known: Sequence[Clues], rng: np.random.Generator, many: int) -> Floats:
        pi = rng.dirichlet(self.buckets.alpha + self.buckets.people, size=many)
        chosen = self._chosen(rng, many)
        total = np.repeat(pi[:, :, None], len(known), axis=2)
        for c, numbers in enumerate(self.buckets.number):
            asked = [victim[c] for victim in known]
            if all(weights is None for weights in asked):
                continue
            size = len(self.buckets.domains[c])
            rows = np.array([np.ones(size) if row is None else row for row in asked])
            kinds, kind = np.unique(rows, axis=1, return_inverse=True)
            shape = np.zeros((many, self.buckets.width, kinds.shape[1]))
            listed = np.flatnonzero(numbers >= 0)
            counts = self._column(c)[chosen]
            for number in range(kinds.shape[1]):
                unseen = self.buckets.beta[c][:, (kind == number) & (numbers < 0)].sum(axis=1)
                shape[:, :, number] = counts[:, :, kind[listed] == number].sum(axis=2) + unseen
            gamma = np.maximum(rng.standard_gamma(shape), 1e-300)
            total = total * ((gamma / gamma.sum(axis=2, keepdims=True)) @ kinds.T)
        return total
