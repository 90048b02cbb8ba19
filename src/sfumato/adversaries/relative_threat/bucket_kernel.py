"""Compiled sweeps over who has which value in the buckets of a bucketized release.

The population is integrated out: given everybody else, person k of a bucket has value s with weight

    w[s, k] = prod_A (beta + others with s and k's value of A),

up to factors that do not depend on k. If a bucket's values are all different, a way of dealing
them to its people has the product of its weights, and all ways are drawn from at once: f(set) sums
over the ways of dealing the first |set| values to that set of people (2^size sets), and walking
back from the full set draws one way exactly. The same sums give every person's chances given all
other buckets, which is what is averaged, not the draw itself.

If a bucket repeats a value the product is not right any more (its second person changes the weight
of the third), and beyond 12 people there are too many sets: there pairs of people swap their values
with the right probability, one pair after another.

The paper's Metropolis samplers stand beside it, for comparison.

A kernel of its own: it has nothing in common with `crossing_kernel.py` (who has which value,
against how values are spread), a release needs one of the two, and each takes seconds to compile.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numba as nb
import numpy as np
import numpy.typing as npt

from sfumato.numbers import Floats, Ints

if TYPE_CHECKING:
    from sfumato.adversaries.relative_threat.bucketized import BucketLayout
    from sfumato.adversaries.relative_threat.samplers import StageRecord

# Compiled sweeps of the paper's Metropolis samplers over buckets, for comparison.
#
# Given the population theta, a bucket proposes other dealings of its values; the probability of one
# is prod over its people of prod_A theta_{A,s}(r_A). Factors that normalise theta cancel in every
# ratio.


@nb.njit(cache=True, nogil=True)
def sweep_metropolis(
    rng: np.random.Generator,
    sweeps: int,
    permute: bool,
    has: Ints,
    b: Floats,
    buckets: BucketLayout,
    record: StageRecord,
) -> None:
    """As `sweep_buckets`, whose arguments these are."""
    place, begins, member, member_begins, value_begins, value, slot_begins, _ = buckets
    now = np.zeros(slot_begins[-1])
    log_theta = np.empty(len(b))
    most = 1
    for g in range(len(begins) - 1):
        most = max(most, begins[g + 1] - begins[g])
    proposed = np.empty(most, np.int64)
    for sweep in range(sweeps):
        for i in range(len(b)):
            log_theta[i] = math.log(max(rng.standard_gamma(b[i]), 1e-300))
        for g in range(len(begins) - 1):
            start, stop = begins[g], begins[g + 1]
            people, first = stop - start, value_begins[g]
            if people > 1:
                for k in range(people):
                    proposed[k] = has[start + k]
                if permute:
                    for k in range(people - 1, 0, -1):
                        other = int(rng.random() * (k + 1))
                        proposed[k], proposed[other] = proposed[other], proposed[k]
                else:
                    one = int(rng.random() * people)
                    other = (one + 1 + int(rng.random() * (people - 1))) % people
                    proposed[one], proposed[other] = proposed[other], proposed[one]
                ratio = 0.0
                for k in range(people):
                    if proposed[k] != has[start + k]:
                        s, t = value[first + proposed[k]], value[first + has[start + k]]
                        for c in range(place.shape[1]):
                            at = place[start + k, c]
                            ratio += log_theta[at + s] - log_theta[at + t]
                if math.log(max(rng.random(), 1e-300)) < ratio:
                    for k in range(people):
                        if proposed[k] != has[start + k]:
                            s, t = value[first + proposed[k]], value[first + has[start + k]]
                            for c in range(place.shape[1]):
                                b[place[start + k, c] + t] -= 1.0
                                b[place[start + k, c] + s] += 1.0
                            has[start + k] = proposed[k]
            values = value_begins[g + 1] - first
            base = slot_begins[g]
            now[base : slot_begins[g + 1]] = 0.0
            for k in range(start, stop):
                now[base + (member[k] - member_begins[g]) * values + has[k]] += 1.0
        _note(sweep, now, has, b, record)


Steps = npt.NDArray[np.int32]
MANY_COLUMNS = 32  # beyond, products of weights are taken as sums of logarithms


@nb.njit(cache=True, nogil=True)
def sweep_buckets(
    rng: np.random.Generator,
    sweeps: int,
    has: Ints,
    b: Floats,
    buckets: BucketLayout,
    step_begins: Ints,
    steps: Steps,
    record: StageRecord,
) -> None:
    """Sweep all buckets `sweeps` times.

    Person k has the bucket's value number `has[k]`; `b` holds beta plus counts. `steps` are those
    of `deal_steps`.
    """
    place, begins, member, member_begins, value_begins, value, slot_begins, blocks = buckets
    now = np.zeros(slot_begins[-1])
    largest = len(step_begins) - 2
    w, chances = np.empty(largest * largest), np.empty(largest * largest)
    forward, backward = np.empty(1 << largest), np.empty(1 << largest)
    for sweep in range(sweeps):
        for g in range(len(blocks)):
            start, stop = begins[g], begins[g + 1]
            first, base = value_begins[g], slot_begins[g]
            values = value_begins[g + 1] - first
            for slot in range(base, slot_begins[g + 1]):
                now[slot] = 0.0
            total = 0.0
            if values > 1 and blocks[g]:
                for k in range(start, stop):
                    s = value[first + has[k]]
                    for c in range(place.shape[1]):
                        b[place[k, c] + s] -= 1.0
                _weigh(b, place, start, stop, value, first, w)
                at, end = step_begins[values], step_begins[values + 1]
                total = _sum_forward(values, w, steps, at, end, forward)
                if total > 0.0:  # else all ways are too unlikely for a float: leave it as it is
                    _sum_chances(values, w, steps, at, end, forward, backward, chances)
                    _draw(rng, values, w, forward, has, start)
                for k in range(start, stop):
                    s = value[first + has[k]]
                    for c in range(place.shape[1]):
                        b[place[k, c] + s] += 1.0
            elif values > 1:
                _swap_some(rng, start, stop, has, b, place, value, first)
            for k in range(start, stop):
                row = base + (member[k] - member_begins[g]) * values
                if total > 0.0:
                    for i in range(values):
                        now[row + i] += chances[i * values + k - start]
                else:
                    now[row + has[k]] += 1.0
        _note(sweep, now, has, b, record)


@nb.njit(cache=True, nogil=True)
def _note(sweep: int, now: Floats, has: Ints, b: Floats, record: StageRecord) -> None:
    """What a sweep leaves of itself: the chances by slot, and at times what is watched."""
    record.sums[sweep // record.batch] += now
    if (sweep + 1) % record.thin == 0:
        row = sweep // record.thin
        for i in range(len(record.watched)):
            record.traces[row, i] = now[record.watched[i]]
        for i in range(len(record.followed)):
            record.categories[row, i] = has[record.followed[i]]
    if (sweep + 1) % record.keep_thin == 0:
        record.kept[sweep // record.keep_thin] = b


def deal_steps(largest: int) -> tuple[Ints, Steps]:
    """For each number n of people, the steps of the sum over sets: set, set before, value, person.

    The last two as value * n + person.

    Steps of n people are `steps[begins[n]:begins[n + 1]]`, smaller sets first.
    """
    begins, steps = [0, 0], []
    for n in range(1, largest + 1):
        for mask in range(1, 1 << n):
            for k in range(n):
                if mask >> k & 1:
                    steps.append((mask, mask ^ (1 << k), (mask.bit_count() - 1) * n + k))
        begins.append(len(steps))
    return np.array(begins, dtype=np.int64), np.array(steps, dtype=np.int32).reshape(-1, 3)


@nb.njit(cache=True, nogil=True)
def _weigh(
    b: Floats, place: Ints, start: int, stop: int, value: Ints, first: int, w: Floats
) -> None:
    """w[i * n + k]: value number i to person k, the weights of a value up to a common factor."""
    n, columns = stop - start, place.shape[1]
    for i in range(n):
        s, most = value[first + i], -math.inf
        for k in range(n):
            if columns <= MANY_COLUMNS:
                weight = b[place[start + k, 0] + s]
                for c in range(1, columns):
                    weight *= b[place[start + k, c] + s]
            else:
                weight = 0.0
                for c in range(columns):
                    weight += math.log(b[place[start + k, c] + s])
            w[i * n + k] = weight
            most = max(most, weight)
        scale = 1.0 / most
        for k in range(n):
            at = i * n + k
            w[at] = w[at] * scale if columns <= MANY_COLUMNS else math.exp(w[at] - most)


@nb.njit(cache=True, nogil=True)
def _sum_forward(n: int, w: Floats, steps: Steps, start: int, stop: int, forward: Floats) -> float:
    """forward[set]: all ways of dealing the first values to a set of people; returns all in all."""
    for mask in range(1, 1 << n):
        forward[mask] = 0.0
    forward[0] = 1.0
    for at in range(start, stop):
        forward[steps[at, 0]] += forward[steps[at, 1]] * w[steps[at, 2]]
    return float(forward[(1 << n) - 1])


@nb.njit(cache=True, nogil=True)
def _sum_chances(
    n: int,
    w: Floats,
    steps: Steps,
    start: int,
    stop: int,
    forward: Floats,
    backward: Floats,
    chances: Floats,
) -> None:
    """Each pair's chance over all ways of dealing."""
    full = (1 << n) - 1
    for mask in range(full):
        backward[mask] = 0.0
    for pair in range(n * n):
        chances[pair] = 0.0
    backward[full] = 1.0 / forward[full]
    for at in range(stop - 1, start - 1, -1):
        before, pair = steps[at, 1], steps[at, 2]
        after = backward[steps[at, 0]] * w[pair]
        backward[before] += after
        chances[pair] += forward[before] * after


@nb.njit(cache=True, nogil=True)
def _draw(
    rng: np.random.Generator, n: int, w: Floats, forward: Floats, has: Ints, start: int
) -> None:
    """One way of dealing, walking back from the full set."""
    mask = (1 << n) - 1
    for i in range(n - 1, -1, -1):
        chance = rng.random() * forward[mask]
        taken = -1
        for k in range(n):
            if mask >> k & 1:
                taken = k
                chance -= forward[mask ^ (1 << k)] * w[i * n + k]
                if chance < 0:
                    break
        has[start + taken] = i
        mask ^= 1 << taken


@nb.njit(cache=True, nogil=True)
def _swap_some(
    rng: np.random.Generator,
    start: int,
    stop: int,
    has: Ints,
    b: Floats,
    place: Ints,
    value: Ints,
    first: int,
) -> None:
    """As many pairs as people: each swaps its values with the conditional probability."""
    people = stop - start
    for _ in range(people):
        one = start + int(rng.random() * people)
        other = start + int(rng.random() * people)
        if has[one] == has[other]:
            continue
        s, t = value[first + has[one]], value[first + has[other]]
        odds = 1.0
        for c in range(place.shape[1]):
            b[place[one, c] + s] -= 1.0
            b[place[other, c] + t] -= 1.0
            odds *= b[place[other, c] + s] / b[place[one, c] + s]
            odds *= b[place[one, c] + t] / b[place[other, c] + t]
        odds = min(odds, 1e300)
        if rng.random() * (1.0 + odds) < odds:
            has[one], has[other] = has[other], has[one]
            s, t = t, s
        for c in range(place.shape[1]):
            b[place[one, c] + s] += 1.0
            b[place[other, c] + t] += 1.0


@nb.njit(cache=True, nogil=True)
def learner_means(
    kept: Floats, weights: Floats, places: Ints, scale: Floats, batches: int, log_scale: Floats
) -> Floats:
    """E[prod_A (beta + c) / (B + n)] for people of given tuples: batches by people by values.

    `places[t, c]` is where tuple t's value of column c lies for the first sensitive value, or -1
    where nobody listed has it: its factor is in `log_scale[t, s]` then. `weights` are those of the
    draws, which add up to 1 in every batch.
    """
    many, values = len(kept) // batches, scale.shape[1]
    found = np.zeros((batches, len(places), values))
    for batch in range(batches):
        for m in range(batch * many, (batch + 1) * many):
            for t in range(len(places)):
                for s in range(values):
                    product = weights[m]
                    for c in range(places.shape[1]):
                        if places[t, c] >= 0:
                            product *= kept[m, places[t, c] + s] * scale[c, s]
                    found[batch, t, s] += product
    for batch in range(batches):
        for t in range(len(places)):
            for s in range(values):
                found[batch, t, s] *= math.exp(log_scale[t, s])
    return found
