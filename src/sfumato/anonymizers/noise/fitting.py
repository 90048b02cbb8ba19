"""From noisy counts to numbers of people: whole, not negative, adding up to a total.

Cutting off what is negative would add people: noise around an empty cell would only ever count
upwards, and there are many empty cells. Instead the nearest counts (least squares) that are not
negative and have the right sum: every count is lowered by the same amount and cut off at 0. What
is left of a person then goes to the largest counts, one each (largest remainder; remainders are all
equal). Everything here is made from noisy counts alone.
"""

from __future__ import annotations

import numpy as np

from sfumato.counts.counts import Ints


def fit(noisy: Ints, total: int | None = None) -> Ints:
    """The nearest whole, non-negative counts with this total; by default, that of the noisy ones.

    The sum of noisy counts is as often above the true total as below it.
    """
    people = int(noisy.sum()) if total is None else total
    if people <= 0:
        return np.zeros_like(noisy)
    order = np.argsort(-noisy, kind="stable")
    falling = noisy[order]
    excess = np.cumsum(falling) - people
    place = np.arange(1, len(falling) + 1)
    kept = int(np.flatnonzero(falling > excess // place)[-1]) + 1
    lowered, remainder = divmod(-int(excess[kept - 1]), kept)  # how much each count rises, exactly
    fitted = np.zeros_like(noisy)
    fitted[order[:kept]] = falling[:kept] + lowered
    fitted[order[:remainder]] += 1
    return fitted
