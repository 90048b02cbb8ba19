"""Different values dealt anew to as many people, drawn from all ways of dealing at once.

A way of dealing has the product of its weights. f(set) sums over the ways of dealing the first
|set| values to that set of people (2^size sets), and walking back from the full set draws one way
exactly. The same sums give every person's chances.

A weight is itself a product, over columns, and where there are many columns or the prior weighs
next to nothing no float holds it. Weights may be scaled by any factor for each person and for each
value: every way of dealing changes alike. So there they are taken as sums of logarithms, and the
factors are those at which no weight is above 1 and those of the likeliest way are all 1 (the duals
of the assignment problem): then what is too unlikely for a float is nothing beside the whole.

Called from `bucket_kernel` and `ladder_kernel`; `samplers` asks for its steps.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.compiled import inner
from sfumato.numbers import Floats, Ints

StepArray = npt.NDArray[np.int32]
LARGEST_EXPONENT = 460.0  # of e: products of weights within it are taken as they are
LEAST_SUM = 1e-100  # of all ways, where what floats cannot hold is nothing beside it


def deal_steps(largest: int) -> tuple[Ints, StepArray]:
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
def uniform(state: npt.NDArray[np.uint64]) -> float:
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


@inner
def need_logs(table: Floats, columns: int) -> bool:
    """Whether products of so many of these weights may be too large or small for a float."""
    least, most = math.inf, 0.0
    for at in range(len(table)):
        least, most = min(least, table[at]), max(most, table[at])
    return columns * max(-math.log(least), math.log(most)) > LARGEST_EXPONENT


@inner
def sum_ways(
    n: int,
    weight: Floats,
    place: npt.NDArray[np.int32],
    persons: Ints,
    value: Ints,
    first: int,
    numbers: Ints,
    by_logs: bool,
    steps: StepArray,
    start: int,
    stop: int,
    w: Floats,
    forward: Floats,
) -> None:
    """The weights w[j * n + i] of the i-th value for the j-th person, and their sums over sets."""
    total = 0.0
    if not by_logs:
        _weigh(n, weight, place, persons, value, first, numbers, w)
        total = _sum_forward(n, w, steps, start, stop, forward)
    if total < LEAST_SUM:
        _weigh_by_logs(n, weight, place, persons, value, first, numbers, w)
        _sum_forward(n, w, steps, start, stop, forward)


@inner
def _weigh(
    n: int,
    weight: Floats,
    place: npt.NDArray[np.int32],
    persons: Ints,
    value: Ints,
    first: int,
    numbers: Ints,
    w: Floats,
) -> None:
    """Weights as products, those of a value up to a common factor."""
    for i in range(n):
        s = value[first + numbers[i]]
        most = 0.0
        for j in range(n):
            product = 1.0
            for c in range(place.shape[1]):
                product *= weight[place[persons[j], c] + s]
            w[j * n + i] = product
            most = max(most, product)
        scale = 1.0 / most
        for j in range(n):
            w[j * n + i] *= scale


@inner
def _weigh_by_logs(
    n: int,
    weight: Floats,
    place: npt.NDArray[np.int32],
    persons: Ints,
    value: Ints,
    first: int,
    numbers: Ints,
    w: Floats,
) -> None:
    """Weights so scaled, by person and by value, that the likeliest way of dealing has ones only.

    Costs are negative logarithms.
    """
    for j in range(n):
        for i in range(n):
            cost = 0.0
            for c in range(place.shape[1]):
                cost -= math.log(weight[place[persons[j], c] + value[first + numbers[i]]])
            w[j * n + i] = cost
    scale_costs(n, w)


@inner
def scale_costs(n: int, w: Floats) -> None:
    """Costs become weights, those of the likeliest way of dealing 1.

    Shortest augmenting paths, one person after the other (Kuhn, Munkres; Jonker, Volgenant 1987).
    Person and value 0 stand for none.
    """
    by_person, by_value = np.zeros(n + 1), np.zeros(n + 1)
    holder, came_from = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    for person in range(1, n + 1):
        nearest, reached = np.full(n + 1, np.inf), np.zeros(n + 1, np.bool_)
        holder[0], at = person, 0
        while True:
            reached[at] = True
            j, step, following = holder[at], np.inf, 0
            for i in range(1, n + 1):
                if not reached[i]:
                    left = w[(j - 1) * n + i - 1] - by_person[j] - by_value[i]
                    if left < nearest[i]:
                        nearest[i], came_from[i] = left, at
                    if nearest[i] < step:
                        step, following = nearest[i], i
            for i in range(n + 1):
                if reached[i]:
                    by_person[holder[i]] += step
                    by_value[i] -= step
                else:
                    nearest[i] -= step
            at = following
            if holder[at] == 0:
                break
        while at > 0:
            holder[at] = holder[came_from[at]]
            at = came_from[at]
    for j in range(n):
        for i in range(n):
            left = w[j * n + i] - by_person[j + 1] - by_value[i + 1]
            w[j * n + i] = math.exp(-max(left, 0.0))


@inner
def _sum_forward(
    n: int, w: Floats, steps: StepArray, start: int, stop: int, forward: Floats
) -> float:
    """forward[set]: all ways of dealing the first values to a set of people; returns all in all."""
    for mask in range(1, 1 << n):
        forward[mask] = 0.0
    forward[0] = 1.0
    for at in range(start, stop):
        forward[steps[at, 0]] += forward[steps[at, 1]] * w[steps[at, 2]]
    return float(forward[(1 << n) - 1])


@inner
def sum_chances(
    n: int,
    w: Floats,
    steps: StepArray,
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
def draw_way(
    state: npt.NDArray[np.uint64],
    n: int,
    w: Floats,
    forward: Floats,
    has: Ints,
    persons: Ints,
    numbers: Ints,
) -> None:
    """One way of dealing, walking back from the full set."""
    mask = (1 << n) - 1
    for i in range(n - 1, -1, -1):
        chance = uniform(state) * forward[mask]
        taken = -1
        for k in range(n):
            if mask >> k & 1:
                taken = k
                chance -= forward[mask ^ (1 << k)] * w[k * n + i]
                if chance < 0:
                    break
        has[persons[taken]] = numbers[i]
        mask ^= 1 << taken
