"""Compiled sweeps of the paper's Metropolis samplers over buckets, for comparison.

Given the population theta, a bucket proposes other dealings of its values; the probability of one
is prod over its people of prod_A theta_{A,s}(r_A). Factors that normalise theta cancel in every
ratio.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np
import numpy.typing as npt

from sfumato.counts.counts import Ints

Floats = npt.NDArray[np.float64]


@nb.njit(cache=True, nogil=True)
def sweep_metropolis(
    rng: np.random.Generator,
    sweeps: int,
    thin: int,
    keep_thin: int,
    batch: int,
    permute: bool,
    has: Ints,
    b: Floats,
    place: Ints,
    begins: Ints,
    member: Ints,
    member_begins: Ints,
    value_begins: Ints,
    value: Ints,
    slot_begins: Ints,
    watched: Ints,
    followed: Ints,
    sums: Floats,
    kept: Floats,
    traces: Floats,
    categories: Ints,
) -> None:
    """As `bucket_kernel.sweep_buckets`, whose arguments these are."""
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
        sums[sweep // batch] += now
        if (sweep + 1) % thin == 0:
            for i in range(len(watched)):
                traces[sweep // thin, i] = now[watched[i]]
            for i in range(len(followed)):
                categories[sweep // thin, i] = has[followed[i]]
        if (sweep + 1) % keep_thin == 0:
            for i in range(len(b)):
                kept[sweep // keep_thin, i] = b[i]
