"""Compiled sweeps over who has which value in the buckets of a bucketized release.

The population is integrated out: given everybody else, person k of a bucket has value s with weight

    w[s, k] = prod_A (beta + others with s and k's value of A),

up to factors that do not depend on k. If people have values that are all different, a way of
dealing these anew to them has the product of its weights, and `dealing_kernel` draws from all ways
at once. It gives every person's chances given all others too, which is what is averaged, not the
draw itself.

If a bucket repeats a value the product is not right any more (its second person changes the weight
of the third), and beyond 12 people there are too many sets: there blocks of up to five people with
different values are dealt anew, one after another. Which people a block takes depends only on how
often each of its values is in the bucket, which dealing inside the block leaves as it is.

The same holds on a rung of a ladder (`ladder_kernel`), where a way of dealing has its chance to the
power of p: every weight is taken to the power of p.

The paper's Metropolis samplers stand beside it, for comparison.

A kernel of its own: it has nothing in common with `crossing_kernel.py` (who has which value,
against how values are spread), a release needs one of the two, and each takes seconds to compile.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.relative_threat.bucketized import BLOCK, BucketLayout, PowerLadder
from sfumato.adversaries.relative_threat.dealing_kernel import (
    StepArray,
    draw_way,
    need_logs,
    sum_chances,
    sum_ways,
    uniform,
)
from sfumato.adversaries.relative_threat.samplers import StageRecord
from sfumato.compiled import by_address, inner, kernel
from sfumato.numbers import Floats, Ints

for handed_on in (BucketLayout, PowerLadder, StageRecord):
    by_address(handed_on)

# Compiled sweeps of the paper's Metropolis samplers over buckets, for comparison.
#
# Given the population theta, a bucket proposes other dealings of its values; the probability of one
# is prod over its people of prod_A theta_{A,s}(r_A). Factors that normalise theta cancel in every
# ratio.


@kernel
def sweep_metropolis(
    rng: np.random.Generator,
    sweeps: int,
    permute: bool,
    has: Ints,
    b: Floats,
    buckets: BucketLayout,
    record: StageRecord,
) -> None:
    """Sweep all buckets `sweeps` times; `b` is beta plus counts."""
    place, begins, value = buckets.place, buckets.begins, buckets.value
    member, member_begins = buckets.member, buckets.member_begins
    value_begins, slot_begins = buckets.value_begins, buckets.slot_begins
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
                    person = int(rng.random() * people)
                    other = (person + 1 + int(rng.random() * (people - 1))) % people
                    proposed[person], proposed[other] = proposed[other], proposed[person]
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
        note(sweep, now, has, b, 0.0, record)


@kernel
def run_chain(
    chain: PowerLadder,
    buckets: BucketLayout,
    step_begins: Ints,
    steps: StepArray,
    sweeps: tuple[int, int],
    record: StageRecord,
) -> None:
    """Run a ladder of one rung on for `sweeps` (from, to) and record it, without chances where the
    record has no room for them. `steps` are those of `deal_steps`."""
    table, weight, state = chain.tables[0], chain.weight[0], chain.states[0]
    has, at = chain.has[0], chain.at[0]
    now = np.zeros(record.sums.shape[1])
    room = room_for(buckets, len(step_begins) - 2)
    by_logs = need_logs(table, buckets.place.shape[1])
    for sweep in range(sweeps[0], sweeps[1]):
        now[:] = 0.0
        sweep_buckets(
            state, has, at, weight, table, buckets, step_begins, steps, room, by_logs, now
        )
        note(sweep, now, has, weight, log_chance_of(at, chain.logs), record)


@inner
def log_chance_of(at: npt.NDArray[np.int32], logs: Floats) -> float:
    """Of a dealing, up to a constant."""
    total = 0.0
    for cell in range(len(at)):
        total += logs[at[cell]]
    return total


class Room(NamedTuple):
    """What a sweep works in, made once."""

    w: Floats
    chances: Floats
    forward: Floats
    backward: Floats
    persons: Ints
    numbers: Ints
    order: Ints
    seat: Ints


@inner
def room_for(buckets: BucketLayout, largest: int) -> Room:
    most = 1
    for g in range(len(buckets.blocks)):
        most = max(most, buckets.begins[g + 1] - buckets.begins[g])
    return Room(
        np.empty(largest * largest),
        np.empty(largest * largest),
        np.empty(1 << largest),
        np.empty(1 << largest),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(most, np.int64),
        np.full(most, -1, np.int64),
    )


@inner
def sweep_buckets(
    state: npt.NDArray[np.uint64],
    has: Ints,
    at: npt.NDArray[np.int32],
    weight: Floats,
    table: Floats,
    buckets: BucketLayout,
    step_begins: Ints,
    steps: StepArray,
    room: Room,
    by_logs: bool,
    now: Floats,
) -> None:
    """Deal every bucket anew; chances are added to `now`, by slot, unless it is empty."""
    place, begins, value, blocks = buckets.place, buckets.begins, buckets.value, buckets.blocks
    member, member_begins = buckets.member, buckets.member_begins
    value_begins, slot_begins = buckets.value_begins, buckets.slot_begins
    w, chances, forward, backward, persons, numbers, order, seat = room
    for g in range(len(blocks)):
        start, people = begins[g], begins[g + 1] - begins[g]
        first = value_begins[g]
        values = value_begins[g + 1] - first
        rounds = 1 if blocks[g] else 2 * ((people + BLOCK - 1) // BLOCK)
        n = 0
        for _ in range(rounds if values > 1 else 0):
            if blocks[g]:
                n = people
                for k in range(n):
                    persons[k], numbers[k] = start + k, has[start + k]
            else:
                n = _choose(state, start, people, has, order, persons, numbers)
            for j in range(n):
                s = value[first + numbers[j]]
                for c in range(place.shape[1]):
                    cell = place[persons[j], c] + s
                    at[cell] -= 1
                    weight[cell] = table[at[cell]]
            sum_ways(
                n,
                weight,
                place,
                persons,
                value,
                first,
                numbers,
                by_logs,
                steps,
                step_begins[n],
                step_begins[n + 1],
                w,
                forward,
            )
            draw_way(state, n, w, forward, has, persons, numbers)
            for j in range(n):
                s = value[first + has[persons[j]]]
                for c in range(place.shape[1]):
                    cell = place[persons[j], c] + s
                    at[cell] += 1
                    weight[cell] = table[at[cell]]
        if len(now) == 0:
            continue
        # Chances of the last block given everybody else; the others as they stand.
        if n > 0:
            begin, end = step_begins[n], step_begins[n + 1]
            sum_chances(n, w, steps, begin, end, forward, backward, chances)
            for j in range(n):
                seat[persons[j] - start] = j
        for k in range(people):
            row = slot_begins[g] + (member[start + k] - member_begins[g]) * values
            if seat[k] < 0:
                now[row + has[start + k]] += 1.0
            else:
                for i in range(n):
                    now[row + numbers[i]] += chances[seat[k] * n + i]
                seat[k] = -1


@inner
def _choose(
    state: npt.NDArray[np.uint64],
    start: int,
    people: int,
    has: Ints,
    order: Ints,
    persons: Ints,
    numbers: Ints,
) -> int:
    """Go through people in random order, take each whose value is new; how many were taken."""
    n = 0
    for k in range(people):
        order[k] = k
    for k in range(people):
        other = k + int(uniform(state) * (people - k))
        order[k], order[other] = order[other], order[k]
        person = start + order[k]
        new = True
        for j in range(n):
            if numbers[j] == has[person]:
                new = False
        if new:
            persons[n], numbers[n] = person, has[person]
            n += 1
            if n == BLOCK:
                break
    return n


@inner
def note(
    sweep: int, now: Floats, has: Ints, b: Floats, log_chance: float, record: StageRecord
) -> None:
    """What a sweep leaves of itself: the chances by slot, and at times what is watched."""
    batch, sums = sweep // record.batch, record.sums
    for i in range(len(now)):
        sums[batch, i] += now[i]
    if (sweep + 1) % record.thin == 0:
        row = sweep // record.thin
        record.log_chances[row] = log_chance
        for i in range(len(record.watched)):
            record.traces[row, i] = now[record.watched[i]]
        for i in range(len(record.followed)):
            record.categories[row, i] = has[record.followed[i]]
    if (sweep + 1) % record.keep_thin == 0:
        row, kept = sweep // record.keep_thin, record.kept
        for i in range(len(b)):
            kept[row, i] = b[i]


@kernel
def learner_means(
    kept: Floats, log_weights: Floats, places: Ints, mean_weights: Floats, batches: int
) -> tuple[Floats, Floats]:
    """E[prod_A (beta + c)] for people of given tuples: batches by people by values, and logarithms
    of the factors by which they are to be multiplied, people by values.

    `places[t, c]` is where tuple t's value of column c lies for the first sensitive value, or -1
    where nobody listed has it: it is left out then. `log_weights` are those of the draws.
    `mean_weights` are beta + c on the whole, by cell: products are of ratios to them, which floats
    hold.
    """
    values = mean_weights.shape[1]
    many = len(kept) // batches
    products, logs = np.zeros((batches, len(places), values)), np.zeros((len(places), values))
    inverse, weights = 1.0 / mean_weights.ravel(), np.exp(log_weights)
    unlikely = weights.min() < 1e-200  # but what is looked for may be all the likelier there
    for batch in range(batches):
        for m in range(batch * many, (batch + 1) * many):
            for t in range(len(places)):
                for s in range(values):
                    product = weights[m]
                    for c in range(places.shape[1]):
                        if places[t, c] >= 0:
                            cell = places[t, c] + s
                            product *= kept[m, cell] * inverse[cell]
                    products[batch, t, s] += product
    for t in range(len(places)):
        for s in range(values):
            total = products[:, t, s].sum()
            if unlikely or not 1e-200 < total < 1e200:  # too far from the means
                logs[t, s] = _mean_by_logs(kept, log_weights, places[t], s, products[:, t, s])
                continue
            for c in range(places.shape[1]):
                if places[t, c] >= 0:
                    logs[t, s] += math.log(mean_weights[places[t, c] // values, s])
    return products, logs


@inner
def _mean_by_logs(kept: Floats, log_weights: Floats, place: Ints, s: int, means: Floats) -> float:
    """Means over batches of products, scaled so that the largest is 1: its logarithm."""
    many = len(kept) // len(means)
    logs = np.empty(many * len(means))
    for m in range(len(logs)):
        logs[m] = log_weights[m]
        for c in range(len(place)):
            if place[c] >= 0:
                logs[m] += math.log(kept[m, place[c] + s])
    most = logs.max()
    for batch in range(len(means)):
        means[batch] = np.exp(logs[batch * many : (batch + 1) * many] - most).sum()
    return float(most)
