"""Compiled sweeps over who has which value in the buckets of a bucketized release.

The population is integrated out: given everybody else, person k of a bucket has value s with weight

    w[s, k] = prod_A (beta + others with s and k's value of A),

up to factors that do not depend on k. If people have values that are all different, a way of
dealing these anew to them has the product of its weights, and all ways are drawn from at once:
f(set) sums over the ways of dealing the first |set| values to that set of people (2^size sets), and
walking back from the full set draws one way exactly. The same sums give every person's chances
given all others, which is what is averaged, not the draw itself.

If a bucket repeats a value the product is not right any more (its second person changes the weight
of the third), and beyond 12 people there are too many sets: there blocks of up to five people with
different values are dealt anew, one after another. Which people a block takes depends only on how
often each of its values is in the bucket, which dealing inside the block leaves as it is.

The same holds on a rung of a ladder (`tempering`), where a way of dealing has its chance to the
power of p: every weight is taken to the power of p.

The paper's Metropolis samplers stand beside it, for comparison.

A kernel of its own: it has nothing in common with `crossing_kernel.py` (who has which value,
against how values are spread), a release needs one of the two, and each takes seconds to compile.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.relative_threat.bucketized import BLOCK
from sfumato.compiled import inner, kernel
from sfumato.numbers import Floats, Ints

if TYPE_CHECKING:
    from sfumato.adversaries.relative_threat.bucketized import BucketLayout, PowerLadder
    from sfumato.adversaries.relative_threat.samplers import StageRecord

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
        _note(sweep, now, has, b, 0.0, record)


Steps = npt.NDArray[np.int32]
MANY_COLUMNS = 32  # beyond, products of weights are taken as sums of logarithms


@kernel
def run_ladder(
    ladder: PowerLadder,
    buckets: BucketLayout,
    step_begins: Ints,
    steps: Steps,
    iterations: tuple[int, int],
    rungs: tuple[int, int],
    at_one: int,
    record: StageRecord,
) -> None:
    """Run a ladder on for `iterations` (from, to).

    In each the replicas on `rungs` (from, to) are swept, that at power 1 `at_one` times, which is
    what is recorded; then neighbours are exchanged, unless rungs are swept elsewhere too: those
    who do so end an iteration by one on no rung (0, 0). `steps` are those of `deal_steps`.
    """
    low, high = rungs
    recording = low == 0 and high > 0 and len(record.sums) > 0
    now = np.zeros(buckets.slot_begins[-1] if recording else 0)
    room = _room(buckets, len(step_begins) - 2)
    for iteration in range(iterations[0], iterations[1]):
        for rung in range(low, high):
            i, table = ladder.replica[rung], ladder.tables[rung]
            has, at, weight = ladder.has[i], ladder.at[i], ladder.weight[i]
            noting = recording and rung == 0
            if noting:
                now[:] = 0.0
            for _ in range(1 if rung else at_one):
                _sweep(
                    ladder.states[rung],
                    has,
                    at,
                    weight,
                    table,
                    buckets,
                    step_begins,
                    steps,
                    room,
                    now if noting else now[:0],
                )
            log_chance = 0.0
            for cell in range(len(at)):
                log_chance += ladder.logs[at[cell]]
            ladder.log_chance[i] = log_chance
            if noting:
                if at_one > 1:
                    now /= at_one
                _note(iteration, now, has, weight, log_chance, record)
        if high - low in (0, len(ladder.powers)):
            _exchange(ladder)


@inner
def _exchange(ladder: PowerLadder) -> None:
    """Propose to exchange neighbours, every other pair in turn, by Metropolis' rule."""
    last = len(ladder.powers) - 1
    for rung in range(ladder.passed[0] % 2, last, 2):
        i, j = ladder.replica[rung], ladder.replica[rung + 1]
        step = ladder.powers[rung] - ladder.powers[rung + 1]
        gain = step * (ladder.log_chance[j] - ladder.log_chance[i])
        accepted = math.exp(min(gain, 0.0))
        ladder.proposed[rung] += 1.0
        ladder.refused[rung] += 1.0 - accepted
        if _uniform(ladder.states[last + 1]) < accepted:
            ladder.replica[rung], ladder.replica[rung + 1] = j, i
            for cell in range(ladder.at.shape[1]):
                ladder.weight[j, cell] = ladder.tables[rung, ladder.at[j, cell]]
                ladder.weight[i, cell] = ladder.tables[rung + 1, ladder.at[i, cell]]
            if rung + 1 == last and ladder.way[i] == 1:
                ladder.way[i] = 2
            if rung == 0:
                if ladder.way[j] == 2:
                    ladder.passed[1] += 1
                ladder.way[j] = 1
    ladder.passed[0] += 1


@inner
def _uniform(state: npt.NDArray[np.uint64]) -> float:
    """The next number from 0 to 1: xoshiro256+ (Blackman, Vigna 2021).

    NumPy's generators cannot be held in arrays, one a rung.
    """
    a, b, c, d = state[0], state[1], state[2], state[3]
    drawn = a + d
    c ^= a
    d ^= b
    state[0] = a ^ d
    state[1] = b ^ c
    state[2] = c ^ (b << np.uint64(17))
    state[3] = (d << np.uint64(45)) | (d >> np.uint64(19))
    return float(drawn >> np.uint64(11)) / 9007199254740992.0  # 2 ** 53


class Room(NamedTuple):
    """What a sweep works in, made once."""

    w: Floats
    chances: Floats
    forward: Floats
    backward: Floats
    who: Ints
    which: Ints
    order: Ints
    seat: Ints


@inner
def _room(buckets: BucketLayout, largest: int) -> Room:
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
def _sweep(
    state: npt.NDArray[np.uint64],
    has: Ints,
    at: npt.NDArray[np.int32],
    weight: Floats,
    table: Floats,
    buckets: BucketLayout,
    step_begins: Ints,
    steps: Steps,
    room: Room,
    now: Floats,
) -> None:
    """Deal every bucket anew; chances are added to `now`, by slot, unless it is empty."""
    place, begins, member, member_begins, value_begins, value, slot_begins, blocks = buckets
    w, chances, forward, backward, who, which, order, seat = room
    for g in range(len(blocks)):
        start, people = begins[g], begins[g + 1] - begins[g]
        first = value_begins[g]
        values = value_begins[g + 1] - first
        rounds = 1 if blocks[g] else 2 * ((people + BLOCK - 1) // BLOCK)
        n, total = 0, 0.0
        for _ in range(rounds if values > 1 else 0):
            if blocks[g]:
                n = people
                for k in range(n):
                    who[k], which[k] = start + k, has[start + k]
            else:
                n = _choose(state, start, people, has, order, who, which)
            for j in range(n):
                s = value[first + which[j]]
                for c in range(place.shape[1]):
                    cell = place[who[j], c] + s
                    at[cell] -= 1
                    weight[cell] = table[at[cell]]
            _weigh(n, weight, place, who, value, first, which, w)
            total = _sum_forward(n, w, steps, step_begins[n], step_begins[n + 1], forward)
            if total > 0.0:  # else all ways are too unlikely for a float: leave it as it is
                _draw(state, n, w, forward, has, who, which)
            for j in range(n):
                s = value[first + has[who[j]]]
                for c in range(place.shape[1]):
                    cell = place[who[j], c] + s
                    at[cell] += 1
                    weight[cell] = table[at[cell]]
        if len(now) == 0:
            continue
        # Chances of the last block given everybody else; the others as they stand.
        if total > 0.0:
            begin, end = step_begins[n], step_begins[n + 1]
            _sum_chances(n, w, steps, begin, end, forward, backward, chances)
            for j in range(n):
                seat[who[j] - start] = j
        for k in range(people):
            row = slot_begins[g] + (member[start + k] - member_begins[g]) * values
            if seat[k] < 0:
                now[row + has[start + k]] += 1.0
            else:
                for i in range(n):
                    now[row + which[i]] += chances[seat[k] * n + i]
                seat[k] = -1


@inner
def _choose(
    state: npt.NDArray[np.uint64],
    start: int,
    people: int,
    has: Ints,
    order: Ints,
    who: Ints,
    which: Ints,
) -> int:
    """Go through people in random order, take each whose value is new; how many were taken."""
    n = 0
    for k in range(people):
        order[k] = k
    for k in range(people):
        other = k + int(_uniform(state) * (people - k))
        order[k], order[other] = order[other], order[k]
        person = start + order[k]
        new = True
        for j in range(n):
            if which[j] == has[person]:
                new = False
        if new:
            who[n], which[n] = person, has[person]
            n += 1
            if n == BLOCK:
                break
    return n


@inner
def _note(
    sweep: int, now: Floats, has: Ints, b: Floats, log_chance: float, record: StageRecord
) -> None:
    """What a sweep leaves of itself: the chances by slot, and at times what is watched."""
    record.sums[sweep // record.batch] += now
    if (sweep + 1) % record.thin == 0:
        row = sweep // record.thin
        record.log_chances[row] = log_chance
        for i in range(len(record.watched)):
            record.traces[row, i] = now[record.watched[i]]
        for i in range(len(record.followed)):
            record.categories[row, i] = has[record.followed[i]]
    if (sweep + 1) % record.keep_thin == 0:
        record.kept[sweep // record.keep_thin] = b


def deal_steps(largest: int) -> tuple[Ints, Steps]:
    """For each number n of people, the steps of the sum over sets: set, set before, person, value.

    The last two as person * n + value.

    Steps of n people are `steps[begins[n]:begins[n + 1]]`, smaller sets first.
    """
    begins, steps = [0, 0], []
    for n in range(1, largest + 1):
        of_n = []
        for mask in range(1, 1 << n):
            people = [k for k in range(n) if mask >> k & 1]
            for rank, k in enumerate(people):
                step = (mask, mask ^ (1 << k), k * n + len(people) - 1)
                of_n.append((len(people), rank, step))
        # Steps that follow each other add to different sums, so that none waits for the last.
        steps += [step for _, _, step in sorted(of_n)]
        begins.append(len(steps))
    return np.array(begins, dtype=np.int64), np.array(steps, dtype=np.int32).reshape(-1, 3)


@inner
def _weigh(
    n: int,
    weight: Floats,
    place: npt.NDArray[np.int32],
    who: Ints,
    value: Ints,
    first: int,
    which: Ints,
    w: Floats,
) -> None:
    """w[j * n + i]: the i-th value to the j-th person, those of a value up to a common factor."""
    columns = place.shape[1]
    for i in range(n):
        s = value[first + which[i]]
        for j in range(n):
            if columns <= MANY_COLUMNS:
                product = 1.0
                for c in range(columns):
                    product *= weight[place[who[j], c] + s]
                w[j * n + i] = product
            else:
                logs = 0.0
                for c in range(columns):
                    logs += math.log(weight[place[who[j], c] + s])
                w[j * n + i] = logs
    for i in range(n):
        most = -math.inf
        for j in range(n):
            most = max(most, w[j * n + i])
        scale = 1.0 / most
        for j in range(n):
            pair = j * n + i
            w[pair] = w[pair] * scale if columns <= MANY_COLUMNS else math.exp(w[pair] - most)


@inner
def _sum_forward(n: int, w: Floats, steps: Steps, start: int, stop: int, forward: Floats) -> float:
    """forward[set]: all ways of dealing the first values to a set of people; returns all in all."""
    for mask in range(1, 1 << n):
        forward[mask] = 0.0
    forward[0] = 1.0
    for at in range(start, stop):
        forward[steps[at, 0]] += forward[steps[at, 1]] * w[steps[at, 2]]
    return float(forward[(1 << n) - 1])


@inner
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


@inner
def _draw(
    state: npt.NDArray[np.uint64],
    n: int,
    w: Floats,
    forward: Floats,
    has: Ints,
    who: Ints,
    which: Ints,
) -> None:
    """One way of dealing, walking back from the full set."""
    mask = (1 << n) - 1
    for i in range(n - 1, -1, -1):
        chance = _uniform(state) * forward[mask]
        taken = -1
        for k in range(n):
            if mask >> k & 1:
                taken = k
                chance -= forward[mask ^ (1 << k)] * w[k * n + i]
                if chance < 0:
                    break
        has[who[taken]] = which[i]
        mask ^= 1 << taken


@kernel
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
