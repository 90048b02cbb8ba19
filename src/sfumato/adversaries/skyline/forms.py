"""The closed forms of the privacy skyline for one group, compiled.

Of a group's n people, a have the target value. `doubt` is the paper's T(l, k): the odds against the
target having it, when l facts about the target and k about others of the group are known. `kin` is
V(m, k): the share of worlds in which none of m family members has it, k others being known. A
`column` is one question: a target value and a point (l, k, m). Its five factors in one group are

    OWN        doubt(l, k) * kin(m, k + 1): everything known is about the target's own group
    BARE       doubt(l, 0)                  } the people known are in the family's group,
    KIN_AIDED  kin(m, k)                    } not in the target's
    AIDED      doubt(l, k)                  } the people known are in the target's group,
    KIN        kin(m, 0)                    } the family elsewhere

A group without the target value has infinite doubt and kin 1. Any numerator that is not positive
makes the whole factor zero: negative over negative would look positive.
"""

from __future__ import annotations

import math

import numba as nb

from sfumato.adversaries.skyline.breach import MULTISET, SET, SINGLE


@nb.njit(cache=True, nogil=True, error_model="numpy")
def doubt(n: int, a: int, k: int, summed: int, spared: float, case: int) -> float:
    """T(l, k). Of the l most frequent other values o: `summed` is sum(o), `spared` the product of
    (n - o) / n."""
    if a == 0:
        return math.inf
    if case == SINGLE:
        left = n - a - summed - k
        return left / a if left > 0 else 0.0
    if case == SET:
        left = n - a - k
        return left / a * spared if left > 0 else 0.0
    if k >= n - 1:
        return 0.0
    # r / (1 - r) with r = (1 - 1 / (n - k)) ** a, without losing 1 - r where r is near 1.
    return math.exp(summed * math.log1p(-1.0 / n)) / math.expm1(-a * math.log1p(-1.0 / (n - k)))


@nb.njit(cache=True, nogil=True, error_model="numpy")
def kin(n: int, a: int, m: int, k: int, case: int) -> float:
    """V(m, k)."""
    if a == 0 or m == 0:
        return 1.0
    people = n - k
    if case == MULTISET:
        return math.exp(a * math.log1p(-m / people)) if people > m else 0.0
    left = people - a
    if left < m:
        return 0.0
    # C(left, m) / C(people, m) = C(people - m, a) / C(people, a): the shorter product.
    start, terms = (people - m, a) if a < m else (left, m)
    product = 1.0
    for i in range(terms):
        product *= (start - i) / (people - i)
    return product


@nb.njit(cache=True, nogil=True, error_model="numpy")
def kin_of_one_more(before: float, n: int, a: int, m: int, k: int, case: int) -> float:
    """V(m, k + 1), from V(m, k) where that is shorter."""
    people = n - k
    if case == MULTISET or a == 0 or m == 0:
        return kin(n, a, m, k + 1, case)
    left = people - a
    if left <= m:
        return 0.0
    return before * ((left - m) / left) * (people / (people - m))
