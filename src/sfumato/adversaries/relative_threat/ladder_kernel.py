"""Compiled iterations of a ladder of powers, four rungs swept side by side.

Replicas on different rungs deal the same buckets, only by other weights. Where buckets are dealt as
a whole, four of them go through a sweep in lanes: what is worked out for one lane is worked out for
its neighbours by the same instruction. Only drawing, and counting who has what, is done lane by
lane. Other buckets, and weights no float holds, are swept rung by rung (`bucket_kernel`).

Each rung has random numbers of its own, so results do not depend on who sweeps which rungs.

Stands apart: it is compiled only where chains disagree (`tempering`), which is seldom.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.relative_threat.bucket_kernel import (
    Room,
    log_chance_of,
    note,
    room_for,
    sweep_buckets,
)
from sfumato.adversaries.relative_threat.dealing_kernel import (
    LEAST_SUM,
    StepArray,
    need_logs,
    scale_costs,
    uniform,
)
from sfumato.compiled import by_address, inner, kernel
from sfumato.numbers import Floats, Ints

if TYPE_CHECKING:
    from sfumato.adversaries.relative_threat.bucketized import BucketLayout, PowerLadder
    from sfumato.adversaries.relative_threat.samplers import StageRecord

LANES = 4  # doubles of a vector instruction; the code below names each


@by_address
class LaneSteps(NamedTuple):
    """The steps of the sum over sets, set after set: those of n people begin at `begins[n]`, a set
    has as many as `people` in it, and each is the set before and person * n + value."""

    begins: Ints
    people: Ints
    steps: npt.NDArray[np.uint32]


def lane_steps(largest: int) -> LaneSteps:
    begins, steps = [0, 0], []
    for n in range(1, largest + 1):
        for mask in range(1, 1 << n):
            people = [k for k in range(n) if mask >> k & 1]
            steps += [(mask ^ (1 << k), k * n + len(people) - 1) for k in people]
        begins.append(len(steps))
    people = [mask.bit_count() for mask in range(1 << largest)]
    return LaneSteps(np.array(begins), np.array(people), np.array(steps, dtype=np.uint32))


@by_address
class PowerTrace(NamedTuple):
    """What each replica of a ladder leaves: the log chance of its dealing after every iteration,
    and counts (places in the table of weights) after every `thin`; iterations by replicas."""

    thin: int
    log_chances: Floats
    at: npt.NDArray[np.int32]


class Lanes(NamedTuple):
    """Four replicas side by side, and room for their sums: `has[k, lane]`, `at[cell, lane]`."""

    has: Ints
    at: npt.NDArray[np.int32]
    weight: Floats
    w: Floats
    forward: Floats
    before: Ints  # the values that a bucket's people had
    costs: Floats


@kernel
def run_ladder(
    ladder: PowerLadder,
    buckets: BucketLayout,
    step_begins: Ints,
    steps: StepArray,
    by_lanes: LaneSteps,
    iterations: tuple[int, int],
    rungs: tuple[int, int],
    at_one: int,
    exchanging: bool,
    record: StageRecord,
    trace: PowerTrace,
) -> None:
    """Run a ladder on for `iterations` (from, to).

    In each the replicas on `rungs` (from, to) are swept, the first `at_one` times, which is what is
    recorded if the record has room; then neighbours are exchanged, if this is asked for. Of all
    replicas the `trace` is kept if it has room.
    """
    low, high = rungs
    recording = low == 0 and high > 0 and len(record.sums) > 0
    now = np.zeros(record.sums.shape[1] if recording else 0)
    room = room_for(buckets, len(step_begins) - 2)
    # The highest power is that at which weights are farthest from 1.
    by_logs = need_logs(ladder.tables[0], buckets.place.shape[1])
    in_lanes = not by_logs and high - low >= LANES
    for g in range(len(buckets.blocks)):
        in_lanes = in_lanes and buckets.blocks[g]
    lanes = _lanes(buckets, len(step_begins) - 2, ladder.at.shape[1] if in_lanes else 0)
    alone = low + 1 if low == 0 and (recording or at_one > 1) else low
    stop = alone + (high - alone) // LANES * LANES if in_lanes else alone
    for iteration in range(iterations[0], iterations[1]):
        for rung in range(alone, stop, LANES):
            _take_up(ladder, rung, lanes)
            _sweep_lanes(ladder, rung, lanes, buckets, by_lanes)
            _put_down(ladder, rung, lanes)
        for rung in range(low, high):
            if alone <= rung < stop:
                continue
            noting = recording and rung == 0
            if noting:
                now[:] = 0.0
            for _ in range(1 if rung else at_one):
                _sweep_alone(
                    ladder,
                    rung,
                    buckets,
                    step_begins,
                    steps,
                    room,
                    by_logs,
                    now if noting else now[:0],
                )
        for rung in range(low, high):
            i = ladder.replica[rung]
            ladder.log_chance[i] = log_chance_of(ladder.at[i], ladder.logs)
        if recording:
            if at_one > 1:
                now /= at_one
            i = ladder.replica[0]
            note(iteration, now, ladder.has[i], ladder.weight[i], ladder.log_chance[i], record)
        if len(trace.log_chances):
            _keep(iteration, ladder, trace)
        if exchanging:
            _exchange(ladder)


@inner
def _keep(iteration: int, ladder: PowerLadder, trace: PowerTrace) -> None:
    for i in range(len(ladder.log_chance)):
        trace.log_chances[iteration, i] = ladder.log_chance[i]
    at, kept, row = ladder.at, trace.at, iteration // trace.thin
    if (iteration + 1) % trace.thin == 0:
        for i in range(len(at)):
            for cell in range(at.shape[1]):
                kept[row, i, cell] = at[i, cell]


@inner
def _sweep_alone(
    ladder: PowerLadder,
    rung: int,
    buckets: BucketLayout,
    step_begins: Ints,
    steps: StepArray,
    room: Room,
    by_logs: bool,
    now: Floats,
) -> None:
    i = ladder.replica[rung]
    sweep_buckets(
        ladder.states[rung],
        ladder.has[i],
        ladder.at[i],
        ladder.weight[i],
        ladder.tables[rung],
        buckets,
        step_begins,
        steps,
        room,
        by_logs,
        now,
    )


@inner
def _exchange(ladder: PowerLadder) -> None:
    """Propose to exchange neighbours, every other pair in turn, by Metropolis' rule."""
    last = len(ladder.powers) - 1
    at, weight, tables = ladder.at, ladder.weight, ladder.tables
    for rung in range(ladder.passed[0] % 2, last, 2):
        i, j = ladder.replica[rung], ladder.replica[rung + 1]
        step = ladder.powers[rung] - ladder.powers[rung + 1]
        gain = step * (ladder.log_chance[j] - ladder.log_chance[i])
        accepted = math.exp(min(gain, 0.0))
        ladder.proposed[rung] += 1.0
        ladder.refused[rung] += 1.0 - accepted
        if uniform(ladder.states[last + 1]) < accepted:
            ladder.replica[rung], ladder.replica[rung + 1] = j, i
            for cell in range(at.shape[1]):
                weight[j, cell] = tables[rung, at[j, cell]]
                weight[i, cell] = tables[rung + 1, at[i, cell]]
            if rung + 1 == last and ladder.way[i] == 1:
                ladder.way[i] = 2
            if rung == 0:
                if ladder.way[j] == 2:
                    ladder.passed[1] += 1
                ladder.way[j] = 1
    ladder.passed[0] += 1


# -- four replicas side by side --------------------------------------------------------------------


@inner
def _lanes(buckets: BucketLayout, largest: int, cells: int) -> Lanes:
    return Lanes(
        np.empty((len(buckets.member), LANES), np.int64),
        np.empty((cells, LANES), np.int32),
        np.empty((cells, LANES)),
        np.empty((largest * largest, LANES)),
        np.empty((1 << largest, LANES)),
        np.empty((largest, LANES), np.int64),
        np.empty(largest * largest),
    )


@inner
def _take_up(ladder: PowerLadder, rung: int, lanes: Lanes) -> None:
    has, at, weight = ladder.has, ladder.at, ladder.weight
    for lane in range(LANES):
        i = ladder.replica[rung + lane]
        for k in range(len(lanes.has)):
            lanes.has[k, lane] = has[i, k]
        for cell in range(len(lanes.at)):
            lanes.at[cell, lane] = at[i, cell]
            lanes.weight[cell, lane] = weight[i, cell]


@inner
def _put_down(ladder: PowerLadder, rung: int, lanes: Lanes) -> None:
    has, at, weight = ladder.has, ladder.at, ladder.weight
    for lane in range(LANES):
        i = ladder.replica[rung + lane]
        for k in range(len(lanes.has)):
            has[i, k] = lanes.has[k, lane]
        for cell in range(len(lanes.at)):
            at[i, cell] = lanes.at[cell, lane]
            weight[i, cell] = lanes.weight[cell, lane]


@inner
def _sweep_lanes(
    ladder: PowerLadder, rung: int, lanes: Lanes, buckets: BucketLayout, by_lanes: LaneSteps
) -> None:
    """Deal every bucket anew in each lane, from `rung` on."""
    place, begins, value = buckets.place, buckets.begins, buckets.value
    tables, states = ladder.tables, ladder.states
    has, at, weight, w, forward, before, _ = lanes
    for g in range(len(begins) - 1):
        start, n = begins[g], begins[g + 1] - begins[g]
        first = buckets.value_begins[g]
        if n < 2:
            continue
        # Nobody but one has a value, so no cell loses two. Counts follow when all are dealt to.
        for lane in range(LANES):
            for j in range(n):
                before[j, lane] = has[start + j, lane]
                s = value[first + before[j, lane]]
                for c in range(place.shape[1]):
                    cell = np.uint64(place[start + j, c] + s)
                    weight[cell, lane] = tables[rung + lane, at[cell, lane] - 1]
        _weigh(n, weight, place, start, value, first, w)
        _sum_forward(n, w, by_lanes, forward)
        for lane in range(LANES):
            if forward[(1 << n) - 1, lane] < LEAST_SUM:
                _sum_by_logs(n, weight, place, start, value, first, lane, by_lanes, lanes)
            _draw(states[rung + lane], n, start, lane, w, forward, has)
        for lane in range(LANES):
            for j in range(n):
                if has[start + j, lane] != before[j, lane]:
                    lost = value[first + before[j, lane]]
                    gained = value[first + has[start + j, lane]]
                    for c in range(place.shape[1]):
                        at[np.uint64(place[start + j, c] + lost), lane] -= 1
                        at[np.uint64(place[start + j, c] + gained), lane] += 1
            for j in range(n):
                s = value[first + has[start + j, lane]]
                for c in range(place.shape[1]):
                    cell = np.uint64(place[start + j, c] + s)
                    weight[cell, lane] = tables[rung + lane, at[cell, lane]]


@inner
def _weigh(
    n: int,
    weight: Floats,
    place: npt.NDArray[np.int32],
    start: int,
    value: Ints,
    first: int,
    w: Floats,
) -> None:
    """The weights w[j * n + i] of the i-th value for the j-th person, those of a value up to a
    common factor. Unsigned places need no look at whether they count from the end."""
    for i in range(n):
        s = value[first + i]
        whole_0 = whole_1 = whole_2 = whole_3 = 0.0
        for j in range(n):
            product_0 = product_1 = product_2 = product_3 = 1.0
            for c in range(place.shape[1]):
                cell = np.uint64(place[start + j, c] + s)
                product_0 *= weight[cell, 0]
                product_1 *= weight[cell, 1]
                product_2 *= weight[cell, 2]
                product_3 *= weight[cell, 3]
            pair = np.uint64(j * n + i)
            w[pair, 0], w[pair, 1] = product_0, product_1
            w[pair, 2], w[pair, 3] = product_2, product_3
            whole_0 += product_0
            whole_1 += product_1
            whole_2 += product_2
            whole_3 += product_3
        whole_0, whole_1 = 1.0 / whole_0, 1.0 / whole_1
        whole_2, whole_3 = 1.0 / whole_2, 1.0 / whole_3
        for j in range(n):
            pair = np.uint64(j * n + i)
            w[pair, 0] *= whole_0
            w[pair, 1] *= whole_1
            w[pair, 2] *= whole_2
            w[pair, 3] *= whole_3


@inner
def _sum_forward(n: int, w: Floats, by_lanes: LaneSteps, forward: Floats) -> None:
    """forward[set]: all ways of dealing the first values to a set of people."""
    steps = by_lanes.steps
    for lane in range(LANES):
        forward[0, lane] = 1.0
    step, stop = by_lanes.begins[n], by_lanes.begins[n]
    for mask in range(1, 1 << n):
        sum_0 = sum_1 = sum_2 = sum_3 = 0.0
        stop += by_lanes.people[mask]
        while step < stop:
            before, pair = steps[step, 0], steps[step, 1]
            sum_0 += forward[before, 0] * w[pair, 0]
            sum_1 += forward[before, 1] * w[pair, 1]
            sum_2 += forward[before, 2] * w[pair, 2]
            sum_3 += forward[before, 3] * w[pair, 3]
            step += 1
        forward[mask, 0], forward[mask, 1] = sum_0, sum_1
        forward[mask, 2], forward[mask, 3] = sum_2, sum_3


@inner
def _sum_by_logs(
    n: int,
    weight: Floats,
    place: npt.NDArray[np.int32],
    start: int,
    value: Ints,
    first: int,
    lane: int,
    by_lanes: LaneSteps,
    lanes: Lanes,
) -> None:
    """The same in one lane, where floats do not hold the sums."""
    w, forward, costs = lanes.w, lanes.forward, lanes.costs
    for j in range(n):
        for i in range(n):
            cost = 0.0
            for c in range(place.shape[1]):
                cost -= math.log(weight[place[start + j, c] + value[first + i], lane])
            costs[j * n + i] = cost
    scale_costs(n, costs)
    for pair in range(n * n):
        w[pair, lane] = costs[pair]
    step, stop = by_lanes.begins[n], by_lanes.begins[n]
    for mask in range(1, 1 << n):
        total = 0.0
        stop += by_lanes.people[mask]
        while step < stop:
            before, pair = by_lanes.steps[step, 0], by_lanes.steps[step, 1]
            total += forward[before, lane] * w[pair, lane]
            step += 1
        forward[mask, lane] = total


@inner
def _draw(
    state: npt.NDArray[np.uint64],
    n: int,
    start: int,
    lane: int,
    w: Floats,
    forward: Floats,
    has: Ints,
) -> None:
    """One way of dealing in a lane, walking back from the full set."""
    mask = (1 << n) - 1
    for i in range(n - 1, -1, -1):
        chance = uniform(state) * forward[mask, lane]
        taken = -1
        for k in range(n):
            if mask >> k & 1:
                taken = k
                chance -= forward[mask ^ (1 << k), lane] * w[k * n + i, lane]
                if chance < 0:
                    break
        has[start + taken, lane] = i
        mask ^= 1 << taken
