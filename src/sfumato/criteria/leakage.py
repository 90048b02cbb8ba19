"""Distribution and entropy leakage (Ren, Li: Privacy-Preserving Characterization and Data
Publishing) as bounds.

The observer expects the target to be distributed as she knows it, and reads how it is distributed
in her target's class. A release has epsilon-distribution leakage when no class is further from what
she expected than epsilon (Euclidean distance), and alpha-entropy leakage when no class's entropy
differs by more than alpha bits. Who she is and what she expects: `adversaries.leakage.observer`.

Against one fixed prior the distance is convex, so two classes that hold, merged, hold. Entropy is
not monotone in either direction: two classes of one value each may merge to more entropy than was
expected. Priors that differ from class to class promise nothing.

Priors given fewer columns, and joint targets, are read off a whole release; no search can judge
them group by group, so a search refuses them.

A bound on entropies of counts is decided exactly, by the sign of a sum of logarithms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property, partial
from math import gcd, log
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.adversaries.base import Asked
from sfumato.adversaries.leakage.expectation import OBSERVER, Expectation, leakage
from sfumato.adversaries.leakage.observer import WORDS, Observer
from sfumato.adversaries.priors import FewerColumns, PriorGiven, parse_prior
from sfumato.counts.counts import TableCounts
from sfumato.criteria.base import (
    Criterion,
    GroupCriterion,
    Measure,
    Verdict,
    groups_about,
    parameter,
    summarize,
)
from sfumato.criteria.count_rules import CountRule, Kind, each_value, near
from sfumato.criteria.exact import decide, sign
from sfumato.criteria.steps import SHARES, Ladder
from sfumato.errors import PolicyError
from sfumato.numbers import Bools, fraction, shortest
from sfumato.release.groups import Groups
from sfumato.release.release import Release

# The exact sign of a sum of logarithms of whole numbers with rational factors.
#
# Entropies of counts are such sums. Whether one is exactly zero is a question of integers:
# pairwise coprime numbers have independent logarithms, so the sum is zero if and only if, with
# every number written as powers of a coprime base, each base number's factors add up to zero. What
# is not zero is computed with more and more digits until its sign is plain.

_DIGITS = (50, 100, 400, 1600)
_SURE = 20  # digits by which a value must exceed what rounding may have done


def log_sign(terms: Iterable[tuple[Fraction, int]]) -> int | None:
    """The sign of the sum of factor * log(number), numbers at least 1; None if undecided."""
    factors: dict[int, Fraction] = {}
    for factor, number in terms:
        factors[number] = factors.get(number, Fraction(0)) + factor
    kept = {number: f for number, f in factors.items() if f and number > 1}
    for digits in _DIGITS:
        rounded = _rounded_sign(kept, digits)
        if rounded is not None:
            return rounded
        if digits == _DIGITS[0] and _is_zero(kept):
            return 0
    return None


def _rounded_sign(factors: dict[int, Fraction], digits: int) -> int | None:
    with localcontext() as context:
        context.prec = digits
        value, size = Decimal(0), Decimal(0)
        for number, factor in factors.items():
            term = Decimal(number).ln() * factor.numerator / factor.denominator
            value += term
            size += abs(term)
        sure = size * Decimal(10) ** (_SURE - digits)
        return None if abs(value) <= sure else 1 if value > 0 else -1


def _is_zero(factors: dict[int, Fraction]) -> bool:
    base = _coprime_base(list(factors))
    for number in base:
        power = Fraction(0)
        for whole, factor in factors.items():
            times = 0
            while whole % number == 0:
                whole //= number
                times += 1
            power += factor * times
        if power:
            return False
    return True


def _coprime_base(numbers: list[int]) -> list[int]:
    """Pairwise coprime numbers above 1 of which every given number is a product of powers."""
    base: list[int] = []
    waiting = [number for number in numbers if number > 1]
    while waiting:
        number = waiting.pop()
        for place, other in enumerate(base):
            shared = gcd(number, other)
            if shared > 1:
                del base[place]
                waiting += [
                    part for part in (shared, number // shared, other // shared) if part > 1
                ]
                break
        else:
            base.append(number)
    return base


MOST = 2**0.5  # two distributions without a common value cannot be further apart


@dataclass(frozen=True, kw_only=True)
class LeakageCriterion(GroupCriterion):
    """What both bounds share.

    `prior`: what she expects, as `Observer` takes it. `joint`: sensitive columns that are one
    target together; otherwise each is a target of its own.
    """

    upward_closed: ClassVar[bool] = False

    prior: PriorGiven = "table"
    joint: Sequence[str] = ()  # type: ignore[misc]

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", parse_prior(self.prior, replace(OBSERVER, who=self.name)))
        joint = (self.joint,) if isinstance(self.joint, str) else tuple(self.joint)
        object.__setattr__(self, "joint", joint)
        if joint and (len(set(joint)) < 2 or self.sensitive is not None):
            raise PolicyError(
                f"{self.name}: joint = {list(joint)!r} is not allowed; it must list two or more "
                "different sensitive columns, and sensitive must be left out"
            )

    @cached_property
    def observer(self) -> Observer:
        return Observer(self.prior)

    @property
    def against(self) -> str:
        return self.observer.name

    def adversaries(self, release: Release) -> Iterator[Asked]:
        return (Asked(self.observer, groups) for groups in groups_about(self, release))

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """The cells of the classes, where what is expected depends on them."""
        return frozenset() if self.observer.fixed else frozenset({"regions"})

    def bind(self, counts: TableCounts) -> Criterion:
        what = "joint targets" if self.joint else "a prior given fewer columns"
        if self.joint or isinstance(self.prior, FewerColumns):
            raise PolicyError(
                f"{self.name}: {what} can be judged on a finished release only: take it out of the "
                "policy of the search, and audit the release by it"
            )
        return self

    def inapplicable(self, groups: Groups) -> str:
        return super().inapplicable(groups) or self.observer.inapplicable(groups)

    def measure(self, groups: Groups) -> Measure:
        self._check_covered(groups)
        return super().measure(groups)

    def verdict(self, groups: Groups) -> Verdict:
        self._check_covered(groups)
        return super().verdict(groups)

    def _check_covered(self, groups: Groups) -> None:
        if not self.inapplicable(groups):
            self.observer.check_covered(groups)

    def _expected(self) -> str:
        about = f", {' and '.join(self.joint)} together" if self.joint else ""
        if isinstance(self.prior, FewerColumns):
            return f"prior given {', '.join(self.prior.columns)}{about}"
        return f"prior {WORDS[type(self.prior)]}{about}"

    def explain(self, groups: Groups, measure: Measure, worst: int) -> str:
        expected = self.observer.expectation(groups)
        row = int(expected.of[worst])
        if row < 0 or not np.isfinite(measure.per_group[worst]):
            return ""
        low, high = groups.indptr[worst], groups.indptr[worst + 1]
        gain = groups.share[low:high] - expected.met(groups)[low:high]
        best = low + int(np.argmax(gain))
        value, share = groups.values[groups.indices[best]], float(groups.share[best])
        before = max(share - float(gain.max()), 0.0)
        gone = int(leakage(groups, expected).ruled_out[worst])
        sentence = (
            f"in group {worst} {value!r} is had by {share:.2g} where {before:.2g} was expected"
        )
        return f"{sentence}, and {gone} values are ruled out" if gone else sentence


@dataclass(frozen=True)
class DistributionLeakage(LeakageCriterion):
    """No class's distribution is further than epsilon (Euclidean) from what was expected."""

    name: ClassVar[str] = "distribution-leakage"
    ladders: ClassVar[tuple[Ladder, ...]] = (Ladder("epsilon", (1.2, 1, *SHARES)),)

    epsilon: float

    def __post_init__(self) -> None:
        parameter(self.name, "epsilon", self.epsilon, least=0, most=MOST)
        super().__post_init__()

    @property
    def merge_closed(self) -> bool:  # type: ignore[override]
        """Convex, for a prior that merging does not change."""
        return self.observer.fixed

    @property
    def required(self) -> str:
        return f"L_D ≤ {shortest(self.epsilon)} ({self._expected()})"

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        expected = self.observer.expectation(groups)
        squared = leakage(groups, expected).squared
        bound = fraction(self.epsilon) ** 2

        def compare(g: int) -> int:
            return sign(_squared(groups, expected, g) - bound)

        # The square is rational where the distance is not.
        edge = float(bound)
        decided, holds = decide(groups, squared, edge, "at_most", compare, expected.of)
        measured = np.where(decided == edge, float(self.epsilon), np.sqrt(decided))
        return summarize(groups, measured, "at_most"), holds

    def count_rules(self, everybody: Groups) -> Sequence[CountRule] | None:
        if not self.observer.fixed:
            return None
        expected = self.observer.expectation(everybody).rows
        shares = expected.of_row(0, everybody.width)
        # Values that she expects and the table does not know are expected in vain, in every class.
        vain = float((shares[everybody.width :] ** 2).sum())
        values = each_value(everybody.width)
        return [near(Kind.SQUARES, values, shares[: everybody.width], self.epsilon**2 - vain)]

    def tightened(self, share: float, everybody: Groups) -> Self:
        return replace(self, epsilon=self.epsilon * share)


@dataclass(frozen=True)
class EntropyLeakage(LeakageCriterion):
    """No class's entropy differs by more than alpha bits from what was expected."""

    name: ClassVar[str] = "entropy-leakage"
    merge_closed: ClassVar[bool] = False
    ladders: ClassVar[tuple[Ladder, ...]] = (Ladder("alpha", (3, 2, 1.5, 1, *SHARES)),)

    alpha: float

    def __post_init__(self) -> None:
        parameter(self.name, "alpha", self.alpha, least=0)
        super().__post_init__()

    @property
    def required(self) -> str:
        return f"L_E ≤ {shortest(self.alpha)} bits ({self._expected()})"

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        expected = self.observer.expectation(groups)
        compare = partial(_entropy_sign, groups, expected, fraction(self.alpha))
        measured, holds = decide(
            groups,
            leakage(groups, expected).entropy,
            float(self.alpha),
            "at_most",
            compare,
            expected.of,
        )
        return summarize(groups, measured, "at_most"), holds

    def count_rules(self, everybody: Groups) -> Sequence[CountRule] | None:
        if not self.observer.fixed:
            return None
        expected = float(self.observer.expectation(everybody).rows.entropy[0])
        bounds = ((expected - self.alpha) * log(2), (expected + self.alpha) * log(2))
        return [CountRule(Kind.ENTROPY, each_value(everybody.width), bounds)]

    def tightened(self, share: float, everybody: Groups) -> Self:
        return replace(self, alpha=self.alpha * share)


def _counts(groups: Groups, group: int) -> dict[int, int]:
    low, high = groups.indptr[group], groups.indptr[group + 1]
    counted = zip(groups.indices[low:high].tolist(), groups.data[low:high].tolist(), strict=True)
    return dict(counted)


def _squared(groups: Groups, expected: Expectation, group: int) -> Fraction:
    """The squared distance of one class from what was expected, exactly."""
    counts, weights = _counts(groups, group), expected.exact(group)
    size, total = int(groups.sizes[group]), sum(weights.values())
    gaps = (
        Fraction(counts.get(value, 0), size) - Fraction(weights.get(value, 0), total)
        for value in counts.keys() | weights.keys()
    )
    return sum((gap * gap for gap in gaps), Fraction(0))


def _entropy_sign(groups: Groups, expected: Expectation, alpha: Fraction, group: int) -> int | None:
    """The sign of |H(a) - H(x)| - alpha, exactly."""
    more = _bits(expected.exact(group).values())
    less = _bits(_counts(groups, group).values())
    gap = [*more, *((-factor, number) for factor, number in less)]
    side = log_sign(gap)
    if side is None:
        return None
    return log_sign([*((side * factor, number) for factor, number in gap), (-alpha, 2)])


def _bits(weights: Any) -> list[tuple[Fraction, int]]:
    """An entropy as logarithms: log(W) - sum of (w / W) log(w)."""
    listed = [weight for weight in weights if weight]
    total = sum(listed)
    return [(Fraction(1), total), *((Fraction(-weight, total), weight) for weight in listed)]
