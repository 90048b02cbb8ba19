"""The breach probability by dynamic programming over the groups: the algorithm the privacy skyline
paper compares its own with (Chen, LeFevre, Ramakrishnan, VLDB 2007).

It does not know that the worst facts lie in one or two groups. Going through the groups it keeps,
for every way of having spent i known people and j of the family so far, the least odds, her target
being in one of the groups seen or in none of them yet. Single values per person. The tests use it
as an oracle.

Stands apart: compiled, and the paper's slower algorithm: a floor to measure against.
"""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from sfumato.numbers import Floats, Ints


@nb.njit(cache=True, nogil=True)
def doubts(counts: Ints, value: int, facts: int, k: int, out: Floats) -> None:
    """T(l, i) for i = 0..k: the odds against a target of this group, i others of it known."""
    n, a = counts.sum(), counts[value]
    others = np.sort(np.delete(counts, value))[::-1]
    left = n - a - others[:facts].sum()
    for i in range(k + 1):
        out[i] = np.inf if a == 0 else max(left - i, 0) / a


@nb.njit(cache=True, nogil=True)
def kins(n: int, a: int, m: int, k: int, out: Floats) -> None:
    """V(j, i) for i = 0..k, j = 0..m: how likely none of j of the family has the value."""
    for i in range(k + 1):
        out[i, 0] = 1.0
        for j in range(m):
            left = n - a - i - j
            out[i, j + 1] = 1.0 if a == 0 else out[i, j] * (left / (n - i - j) if left > 0 else 0.0)


@nb.njit(cache=True, nogil=True)
def least_odds(counts: Ints, value: int, facts: int, k: int, m: int) -> float:
    """The odds against the surest adversary, over every distribution of what she knows."""
    doubt, kin = np.empty(k + 1), np.empty((k + 2, m + 1))
    without, with_target = np.full((k + 1, m + 1), np.inf), np.full((k + 1, m + 1), np.inf)
    without[0, 0] = 1.0
    for g in range(len(counts)):
        n, a = counts[g].sum(), counts[g, value]
        doubts(counts[g], value, facts, k, doubt)
        kins(n, a, m, k + 1, kin)
        # From the most spent to the least, so that what is read is still that of the groups before.
        for i in range(k, -1, -1):
            for j in range(m, -1, -1):
                here, there = np.inf, np.inf
                for x in range(i + 1):
                    for y in range(j + 1):
                        here = min(here, without[i - x, j - y] * kin[x, y])
                        there = min(there, with_target[i - x, j - y] * kin[x, y])
                        if a > 0:
                            own = doubt[x] * kin[x + 1, y] if doubt[x] > 0.0 else 0.0
                            there = min(there, without[i - x, j - y] * own)
                without[i, j], with_target[i, j] = here, there
    return float(with_target[k, m])


def breach_probability(counts: npt.ArrayLike, value: int, facts: int, k: int, m: int) -> float:
    """How sure somebody can become, by trying every distribution; counts are groups by values."""
    return 1.0 / (1.0 + least_odds(np.asarray(counts, dtype=np.int64), value, facts, k, m))
