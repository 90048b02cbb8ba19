"""beta-likeness (Cao, Karras 2012) and delta-disclosure privacy (Brickell, Shmatikov 2008).

The adversary knows each value's share q in the whole table and sees its share p in her target's
group. beta-likeness bounds the relative gain (p - q) / q of every value that gains, so that a rare
value is protected as well as a frequent one; the enhanced form also caps the gain at -ln q.
delta-disclosure bounds |ln(p / q)| strictly, and in both directions: a value that vanishes from a
group tells the adversary that her target does not have it, so the measure is infinite there (some
tools leave vanished values out, which is not the definition).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import cache
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.random_worlds import NAME as RANDOM_WORLDS
from sfumato.criteria.base import GroupCriterion, Measure, parameter, summarize
from sfumato.criteria.count_rules import CountRule, largest_shares, least_shares
from sfumato.criteria.exact import decide, sign
from sfumato.criteria.steps import Ladder
from sfumato.criteria.whole_table import MissingPeople, holds_of
from sfumato.numbers import Bools, fraction, shortest
from sfumato.release.groups import Groups

GAINS = (10, 5, 4, 3, 2, 1.5, 1, 0.5, 0.25, 0.1)  # the most allowed
_UNSURE = 1e-12  # logarithms are compared with this margin, on the unsafe side


def _gain(groups: Groups) -> npt.NDArray[np.float64]:
    """(p - q) / q of each stored count; infinite for a value the reference does not have."""
    expected = groups.reference_share[groups.indices]
    with np.errstate(divide="ignore"):
        return np.maximum(groups.share / expected - 1.0, 0.0)


@dataclass(frozen=True)
class BetaLikeness(GroupCriterion):
    """No value is more frequent in a group than in the table by more than a factor 1 + beta."""

    name: ClassVar[str] = "beta-likeness"
    plain: ClassVar[str] = "no value is commoner in a group than in all by over {0.beta:.0%}"
    adversary: ClassVar[str] = RANDOM_WORLDS
    merge_closed: ClassVar[bool] = True
    upward_closed: ClassVar[bool] = False
    reads_reference: ClassVar[bool] = True
    ladders: ClassVar[tuple[Ladder, ...]] = (Ladder("beta", (20, *GAINS)),)

    beta: float
    """The largest gain: 1 allows twice the table's share; above 0. Example: `beta = 1.0`."""
    _: KW_ONLY
    enhanced: bool = False
    """Frequent values may gain less: their share p at most by -ln p. Example: `enhanced = true`."""

    def __post_init__(self) -> None:
        parameter(self.name, "beta", self.beta, above=0)

    @property
    def required(self) -> str:
        return f"beta ≤ {shortest(self.beta)}{' (enhanced)' if self.enhanced else ''}"

    @property
    def survives_undoing(self) -> bool:
        return not self.enhanced

    def holds_whatever_missing(self, groups: Groups, missing: MissingPeople) -> bool:
        # A gain is largest where a share is smallest, and p / q - 1 + ln q falls as q grows to p.
        if missing.closed:
            return super().holds_whatever_missing(groups, missing)
        return all(holds_of(self, whole) for whole in missing.unseen(groups))

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        gain = _gain(groups)
        if self.enhanced:
            # Beyond -ln q no beta holds at all; a gain of 0 is within any cap, that of q = 1 too.
            with np.errstate(divide="ignore"):
                cap = -np.log(groups.reference_share[groups.indices])
            gain = np.where((gain > cap - _UNSURE) & (gain > _UNSURE), np.inf, gain)
        measured = groups.max_of(gain)
        bound = fraction(self.beta)

        @cache  # only asked where a group comes near the bound
        def reference() -> list[Fraction]:
            weights = [fraction(weight) for weight in groups.reference.tolist()]
            total = sum(weights, Fraction(0))
            return [weight / total for weight in weights]

        def compare(g: int) -> int:
            size, shares = int(groups.sizes[g]), reference()
            worst = max(
                int(groups.data[place]) / (size * shares[groups.indices[place]]) - 1
                for place in range(groups.indptr[g], groups.indptr[g + 1])
            )
            return sign(worst - bound)

        measured, holds = decide(groups, measured, self.beta, "at_most", compare)
        return summarize(groups, measured, "at_most"), holds

    def count_rules(self, everybody: Groups) -> Sequence[CountRule]:
        expected = everybody.reference_share
        gains = np.full(everybody.width, float(self.beta))
        if self.enhanced:
            with np.errstate(divide="ignore"):
                gains = np.minimum(gains, np.maximum(-np.log(expected) - 2 * _UNSURE, 0.0))
            gains[expected == 0] = 0.0
        return [largest_shares(expected * (1 + gains))]

    def tightened(self, share: float, everybody: Groups) -> Self:
        return replace(self, beta=self.beta * share)


@dataclass(frozen=True)
class DeltaDisclosure(GroupCriterion):
    """No value's share differs from the table's by a factor e^delta or more, either way."""

    name: ClassVar[str] = "delta-disclosure"
    plain: ClassVar[str] = "no value's share in a group is off by a factor e^{0.delta:.4g}"
    adversary: ClassVar[str] = RANDOM_WORLDS
    merge_closed: ClassVar[bool] = True
    upward_closed: ClassVar[bool] = False
    reads_reference: ClassVar[bool] = True
    ladders: ClassVar[tuple[Ladder, ...]] = (Ladder("delta", GAINS),)

    delta: float
    """The logarithm of that factor, above 0. Example: `delta = 1.0`."""

    def __post_init__(self) -> None:
        parameter(self.name, "delta", self.delta, above=0)

    @property
    def required(self) -> str:
        return f"delta < {shortest(self.delta)}"

    @property
    def survives_undoing(self) -> bool:
        return True

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        expected = groups.reference_share[groups.indices]
        with np.errstate(divide="ignore"):
            shift = np.abs(np.log(groups.share / expected))
        measured = groups.max_of(shift)
        present = groups.sum_of((expected > 0).astype(np.int64))
        measured = np.where(present < int((groups.reference > 0).sum()), np.inf, measured)
        return summarize(groups, measured, "below"), measured < self.delta - _UNSURE

    def count_rules(self, everybody: Groups) -> Sequence[CountRule]:
        expected = everybody.reference_share
        least = expected * np.exp(-self.delta)
        most = expected * np.exp(min(self.delta, 700.0))
        return [largest_shares(most, strict=True), least_shares(least, strict=True)]

    def tightened(self, share: float, everybody: Groups) -> Self:
        return replace(self, delta=self.delta * share)
