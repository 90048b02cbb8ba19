"""How far a release moves a belief (Machanavajjhala, Gehrke, Goetz, VLDB 2009, Theorems 1 and 2).

Of a group of N people A have one of the values of a set S. Her prior about them is a Dirichlet
distribution of weight `weight` on S and `rest` on all other values, `total` together. She knows b
people of the group. If her target is in the release, she believes "the target has one of S" with

    p_in  = A / (N - b)                        (the worst b people are those without S)
    p_out = (A - 1 + weight) / (N - 1 + total)  when the target (who has one of S) is left out.

R1 = p_in / p_out and R2 = (1 - p_out) / (1 - p_in) are what the release does to her belief and to
her doubt; the smallest epsilon is the larger of both, and at least 1. A prior of infinite weight
does not move: p_out is her share of S. The prior is whole in each group (it is not divided among
them).

Errata. Theorem 1 as printed has N + total in R1 and one more in the numerator of R2: `theorem`
gives that form, which is only sound when every present value has a weight of at least 1. Its left
side turns negative for N <= b: such groups are refused first. For sets, Eq. 9 subtracts |S| where
the minimum is at A - 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def smallest_epsilon(
    inside: npt.NDArray[Any],
    size: npt.NDArray[Any],
    weight: Any,
    rest: Any,
    total: Any,
    known: int,
    *,
    theorem: bool = False,
) -> Floats:
    """The smallest epsilon of each (group, set); `total` None: infinite, the weights are shares.

    1 where nobody has the set, and where she was certain of it before. Infinite where she knows
    everybody without it, and where her prior rules out what somebody has.
    """
    left = size - known
    others = size - inside
    if total is None:
        believed, doubted, certain = weight, rest, rest == 0
    else:
        # As printed, a weight below 1 counts as 1 in R1.
        least = np.maximum(weight, 1) if theorem else weight
        believed = (inside - 1 + least) / (size + (total if theorem else total - 1))
        doubted = (others + rest + int(theorem)) / (size - 1 + total)
        certain = others + rest == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.maximum(inside / (left * believed), doubted * left / (left - inside))
    np.maximum(found, 1.0, out=found)
    cornered = left <= inside
    if cornered.any():
        found[cornered] = np.inf
        found[cornered & certain] = 1.0
    found[np.broadcast_to(np.asarray(weight) <= 0, found.shape)] = np.inf
    if known:
        found[left <= 0] = np.inf
    found[inside == 0] = 1.0
    return found


@dataclass(frozen=True)
class Shift:
    """What the release does to her belief in one set of values in one group, exactly.

    `epsilon` None is infinity; `ratio` is "R1" or "R2", whichever binds. `believed_in` and
    `believed_out` are p_in and p_out.
    """

    epsilon: Fraction | None
    ratio: str
    believed_in: Fraction
    believed_out: Fraction

    @property
    def order(self) -> tuple[bool, Fraction]:
        """Infinity last."""
        return self.epsilon is None, self.epsilon or Fraction(0)


@lru_cache(maxsize=4096)  # most values of a wide column are as frequent as others
def exact_shift(
    inside: int,
    size: int,
    weight: Fraction,
    rest: Fraction,
    total: Fraction | None,
    known: int,
    *,
    theorem: bool = False,
) -> Shift:
    """The same for one group and set, in fractions; somebody must have the set."""
    left, others = size - known, size - inside
    if total is None:
        believed, doubted, certain = weight, rest, rest == 0
        p_out = weight
    else:
        least = max(weight, Fraction(1)) if theorem else weight
        believed = (inside - 1 + least) / (size + total - (0 if theorem else 1))
        doubted = (others + rest + int(theorem)) / (size - 1 + total)
        certain = others + rest == 0
        p_out = (inside - 1 + weight) / (size + total - 1)
    p_in = Fraction(inside, left) if left > inside else Fraction(1)
    if left <= 0 or weight <= 0:
        return Shift(None, "R1" if weight <= 0 else "R2", p_in, p_out)
    if left <= inside:
        return Shift(Fraction(1) if certain else None, "R2", p_in, p_out)
    raised = p_in / believed
    cleared = doubted * left / (left - inside)
    ratio = "R1" if raised >= cleared else "R2"
    return Shift(max(raised, cleared, Fraction(1)), ratio, p_in, p_out)
