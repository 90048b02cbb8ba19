"""Distribution and entropy leakage (Ren, Li: Privacy-Preserving Characterization and Data
Publishing) as bounds.

The observer expects the target to be distributed as she knows it, and reads how it is distributed
in her target's class. A release has epsilon-distribution leakage when no class is further from what
she expected than epsilon (Euclidean distance), and alpha-entropy leakage when no class's entropy
differs by more than alpha bits. Who she is and what she expects: `adversaries.leakage.observer`.

`metric` puts another measure in the place of the Euclidean distance: `adversaries.leakage.metrics`.
Against one fixed prior each of them is convex, so two classes that hold, merged, hold. Entropy is
not monotone in either direction: two classes of one value each may merge to more entropy than was
expected. Priors that differ from class to class promise nothing.

Priors given fewer columns, and joint targets, are read off a whole release; no search can judge
them group by group, so a search refuses them.

Every bound is decided exactly: sums of logarithms and of roots of fractions by their sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property, partial
from itertools import accumulate
from math import gcd, isqrt, log
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.adversaries.base import Asked
from sfumato.adversaries.leakage.expectation import OBSERVER, Expectation, leakage
from sfumato.adversaries.leakage.metrics import EUCLIDEAN, METRICS, Metric, placed
from sfumato.adversaries.leakage.observer import WORDS, Observer
from sfumato.adversaries.priors import FewerColumns, OfTable, PriorGiven, Uniform, parse_prior
from sfumato.counts.counts import TableCounts
from sfumato.criteria.base import (
    AT_END,
    BoundStep,
    Criterion,
    GroupCriterion,
    Measure,
    Verdict,
    groups_about,
    parameter,
    summarize,
)
from sfumato.criteria.closeness import TCloseness
from sfumato.criteria.count_rules import CountRule, RuleKind, each_value, flows, near
from sfumato.criteria.exact import decide, sign
from sfumato.criteria.steps import SHARES, Ladder, steps_on
from sfumato.criteria.whole_table import MissingPeople
from sfumato.errors import PolicyError, quoted
from sfumato.numbers import Bools, fraction, shortest
from sfumato.release.build import checked_joint
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


def root_sign(whole: Fraction, roots: Iterable[Fraction]) -> int | None:
    """The sign of whole - the sum of the square roots; None if undecided.

    Roots that are no fractions add up to no fraction either, so zero is a question of the others.
    """
    irrational = []
    for number in roots:
        root = Fraction(isqrt(number.numerator), isqrt(number.denominator))
        if root * root == number:
            whole -= root
        else:
            irrational.append(number)
    if not irrational or whole <= 0:
        return -1 if irrational else sign(whole)
    for digits in _DIGITS:
        with localcontext() as context:
            context.prec = digits
            summed = sum((Decimal(q.numerator) / q.denominator).sqrt() for q in irrational)
            gap = Decimal(whole.numerator) / whole.denominator - summed
            if abs(gap) > summed * Decimal(10) ** (_SURE - digits):
                return 1 if gap > 0 else -1
    return None


@dataclass(frozen=True, kw_only=True)
class LeakageCriterion(GroupCriterion):
    """What both bounds share."""

    upward_closed: ClassVar[bool] = False

    prior: PriorGiven = "table"
    """What the observer expects: "uniform", "table", shares or counts by value, { given = columns }
    (as among those who show the same there), a list of { class, shares }, or people in a
    file. Example: `prior = { given = ["age"] }`.
    """
    joint: Sequence[str] = ()  # type: ignore[misc]

    def __post_init__(self) -> None:
        use = replace(OBSERVER, user=self.name)
        object.__setattr__(self, "prior", parse_prior(self.prior, use))
        joint = checked_joint(self.name, self.joint, self.sensitive)
        object.__setattr__(self, "joint", joint)

    @cached_property
    def observer(self) -> Observer:
        return Observer(self.prior)

    @property
    def reads_reference(self) -> bool:  # type: ignore[override]
        """Whether what is expected follows from everybody's values, or from how many there are."""
        return isinstance(self.prior, OfTable | Uniform)

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
        if isinstance(self.prior, FewerColumns):
            raise PolicyError(f"{self.name}: a prior given fewer columns {AT_END}")
        return super().bind(counts)

    def inapplicable(self, groups: Groups) -> str:
        return super().inapplicable(groups) or self.observer.inapplicable(groups)

    def measure(self, groups: Groups) -> Measure:
        self._check_covered(groups)
        return super().measure(groups)

    def verdict(self, groups: Groups) -> Verdict:
        self._check_covered(groups)
        return super().verdict(groups)

    def _check_covered(self, groups: Groups) -> None:
        if not self.undefined(groups):
            for reading in self.readings(groups):
                self.observer.check_covered(reading)

    def _expected(self) -> str:
        about = f", {' and '.join(self.joint)} together" if self.joint else ""
        if isinstance(self.prior, FewerColumns):
            return f"prior given {', '.join(self.prior.columns)}{about}"
        return f"prior {WORDS[type(self.prior)]}{about}"

    def explain(self, groups: Groups, measure: Measure, worst: int) -> str:
        expected = self.observer.expectation(groups)
        if expected.of[worst] < 0:
            return ""
        low, high = groups.indptr[worst], groups.indptr[worst + 1]
        met = expected.met(groups)[low:high]
        gain = groups.share[low:high] - met
        if np.isinf(measure.per_group[worst]):
            value = groups.values[groups.indices[low + int(np.argmin(met))]]
            return f"in the worst group somebody has {value!r}, which nobody expected: infinite"
        best = low + int(np.argmax(gain))
        value, share = groups.values[groups.indices[best]], float(groups.share[best])
        before = max(share - float(gain.max()), 0.0)
        gone = int(leakage(groups, expected).ruled_out[worst])
        sentence = (
            f"in the worst group {value!r} is had by {share:.2g} where {before:.2g} was expected"
        )
        ruled_out = "1 value is" if gone == 1 else f"{gone} values are"
        return f"{sentence}, and {ruled_out} ruled out" if gone else sentence


@dataclass(frozen=True)
class DistributionLeakage(LeakageCriterion):
    """No class's distribution is further than epsilon from what was expected."""

    name: ClassVar[str] = "distribution-leakage"
    plain: ClassVar[str] = "values of every group are within {0.epsilon:.4g} of what was expected"

    epsilon: float
    """The largest distance, 0 or more. Example: `epsilon = 0.2`."""
    _: KW_ONLY
    metric: str = EUCLIDEAN
    """How distances are measured; Euclidean as in the paper. Example: `metric = "hellinger"`."""

    def __post_init__(self) -> None:
        if not isinstance(self.metric, str) or self.metric not in METRICS:
            raise PolicyError(
                f"{self.name}: metric = {quoted(self.metric)} is not known; use "
                f"{', '.join(map(repr, METRICS))}"
            )
        parameter(self.name, "epsilon", self.epsilon, least=0, most=self._measured_by.most)
        super().__post_init__()

    @property
    def _measured_by(self) -> Metric:
        return METRICS[self.metric]

    @property
    def merge_closed(self) -> bool:  # type: ignore[override]
        """Convex, for a prior that merging does not change."""
        return self.observer.fixed

    @property
    def reads_reference(self) -> bool:  # type: ignore[override]
        """An order's places are those of values that somebody of the table has."""
        return super().reads_reference or self._measured_by.ordered

    def holds_whatever_missing(self, groups: Groups, missing: MissingPeople) -> bool:
        if not self._measured_by.ordered or missing.closed:
            return super().holds_whatever_missing(groups, missing)
        if not isinstance(self.prior, OfTable):
            return False
        closeness = TCloseness(self.epsilon, distance="ordered")
        return closeness.holds_whatever_missing(groups, missing)

    @property
    def required(self) -> str:
        metric = self._measured_by
        return f"{metric.sign} ≤ {shortest(self.epsilon)}{metric.unit} ({self._expected()})"

    def steps(self) -> Sequence[BoundStep]:
        most = self._measured_by.most
        rungs = tuple(rung for rung in (3, 2, 1.5, 1.2, 1, *SHARES) if rung <= most)
        return tuple(steps_on(self, (Ladder("epsilon", rungs),)))

    def inapplicable(self, groups: Groups) -> str:
        reason = super().inapplicable(groups)
        if reason or not self._measured_by.ordered:
            return reason
        if groups.domain is not None and not groups.domain.is_ordered:
            return (
                f"{groups.attribute!r} has no order; declare its values in order in domains, or "
                "use metric 'total-variation'"
            )
        if self.observer.expectation(groups).rows.values.max(initial=0) >= groups.width:
            return "the prior expects values that have no place in the order of the column's"
        return ""

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        expected, metric = self.observer.expectation(groups), self._measured_by
        # A root is no fraction, what it is taken of may be one.
        bound = fraction(self.epsilon) ** (2 if metric.rooted else 1)
        edge = float(bound)
        compare = partial(_metric_sign, metric, groups, expected, bound)
        summed = metric.unrooted(groups, expected)
        decided, holds = decide(groups, summed, edge, "at_most", compare, expected.of)
        if metric.rooted:
            decided = np.where(decided == edge, float(self.epsilon), np.sqrt(decided))
        return summarize(groups, decided, "at_most"), holds

    def count_rules(self, everybody: Groups) -> Sequence[CountRule] | None:
        if not self.observer.fixed or self.epsilon >= self._measured_by.most:
            return [] if self.observer.fixed else None
        expectation = self.observer.expectation(everybody)
        width, shares = everybody.width, expectation.rows.of_row(0, everybody.width)
        # Values that she expects and the table does not know are expected in vain, in every class.
        vain, shares = shares[width:], shares[:width]
        match self.metric:
            case "euclidean":
                most = self.epsilon**2 - float((vain**2).sum())
                return [near(RuleKind.SQUARES, each_value(width), shares, most)]
            case "total-variation":
                most = 2 * self.epsilon - float(vain.sum())
                return [near(RuleKind.DISTANCE, each_value(width), shares, most)]
            case "earth-mover":
                return flows(placed(everybody, expectation), shares, self.epsilon)
        return None

    def tightened(self, share: float, everybody: Groups) -> Self:
        return replace(self, epsilon=self.epsilon * share)


@dataclass(frozen=True)
class EntropyLeakage(LeakageCriterion):
    """No class's entropy differs by more than alpha bits from what was expected."""

    name: ClassVar[str] = "entropy-leakage"
    plain: ClassVar[str] = "every group is as mixed as was expected, up to {0.alpha:.4g} bits"
    merge_closed: ClassVar[bool] = False
    ladders: ClassVar[tuple[Ladder, ...]] = (Ladder("alpha", (3, 2, 1.5, 1, *SHARES)),)

    alpha: float
    """The largest difference in bits, 0 or more. Example: `alpha = 0.5`."""

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
        return [CountRule(RuleKind.ENTROPY, each_value(everybody.width), bounds)]

    def tightened(self, share: float, everybody: Groups) -> Self:
        return replace(self, alpha=self.alpha * share)


def _counts(groups: Groups, group: int) -> dict[int, int]:
    low, high = groups.indptr[group], groups.indptr[group + 1]
    counted = zip(groups.indices[low:high].tolist(), groups.data[low:high].tolist(), strict=True)
    return dict(counted)


def _metric_sign(
    metric: Metric, groups: Groups, expected: Expectation, bound: Fraction, group: int
) -> int | None:
    """The sign of a metric of one class, before any root, less the bound: exactly."""
    counts, weights = _counts(groups, group), expected.exact(group)
    size, total = int(groups.sizes[group]), sum(weights.values())
    values = sorted(counts.keys() | weights.keys())
    x = [Fraction(counts.get(value, 0), size) for value in values]
    a = [Fraction(weights.get(value, 0), total) for value in values]
    pairs = list(zip(x, a, strict=True))
    match metric.name:
        case "kullback-leibler":
            return log_sign([*_gains(pairs), (-bound, 2)])
        case "jensen-shannon":
            middle = [(p + q) / 2 for p, q in pairs]
            gains = [
                term
                for distribution in (x, a)
                for term in _gains(list(zip(distribution, middle, strict=True)))
            ]
            return log_sign([*gains, (-2 * bound, 2)])
        case "hellinger":
            return root_sign(1 - bound, [p * q for p, q in pairs if p * q])
        case "chi-square":
            if any(p and not q for p, q in pairs):
                return 1
            measured = sum(((p - q) ** 2 / q for p, q in pairs), Fraction(0))
        case "total-variation":
            measured = sum((abs(p - q) for p, q in pairs), Fraction(0)) / 2
        case "earth-mover":
            places = np.flatnonzero(placed(groups, expected)).tolist()
            if not set(counts) <= set(places):
                return sign(1 - bound)
            gap = {value: p - q for value, (p, q) in zip(values, pairs, strict=True)}
            moved = accumulate(gap.get(place, Fraction(0)) for place in places[:-1])
            measured = sum(map(abs, moved), Fraction(0)) / max(len(places) - 1, 1)
        case _:
            measured = sum(((p - q) ** 2 for p, q in pairs), Fraction(0))
    return sign(measured - bound)


def _gains(pairs: Sequence[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, int]]:
    """The sum of x log(x / a) as logarithms of whole numbers; what was expected, that is."""
    ratios = [(p, p / q) for p, q in pairs if p]
    numerators = [(p, ratio.numerator) for p, ratio in ratios]
    return [*numerators, *((-p, ratio.denominator) for p, ratio in ratios)]


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
