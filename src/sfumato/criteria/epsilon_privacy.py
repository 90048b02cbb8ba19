"""epsilon-privacy (Machanavajjhala, Gehrke, Goetz: Data Publishing against Realistic Adversaries,
VLDB 2009), Definition 4 and Theorems 1 to 4.

An adversary with a prior from outside data asks what she would believe about her target if the
target's row were left out, and what she believes now. Nobody's presence may raise her belief in a
sensitive statement, or lower her doubt of it, by more than a factor epsilon. Who she is, her
outside data and whom she knows, is `sfumato.adversaries.realistic.adversary`.

Measured is the smallest epsilon of each group: exactly (mode "exact"), or as the paper's theorems
state it (mode "theorem", slightly larger). Errata: Theorem 1 is unsound where a present value has a
prior weight below 1 (two people, one with s of weight 3/4 of 103/4: 107/6 is needed, the theorem
says 111/8), so theorem mode refuses such priors. The text's claim that its Table 3 is 2.5-private
for D(12000, 18000) is false: 200000/49999 is needed.

Two groups that hold, merged, hold, for one fixed prior. Priors by region change with the groups, so
nothing is promised for them, nor for priors by cell, which are judged on finished releases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self

import numpy as np

from sfumato.adversaries.base import Asked
from sfumato.adversaries.priors import OfTable, Uniform
from sfumato.adversaries.realistic.adversary import RealisticAdversary
from sfumato.adversaries.realistic.beliefs import in_words
from sfumato.adversaries.realistic.cells import CellPrior, small
from sfumato.adversaries.realistic.negations import epsilons_ruling_out, worst_ruling_out
from sfumato.adversaries.realistic.priors import (
    Predicates,
    RegionalPrior,
    SharedPrior,
    asked,
    normal,
    per_person,
)
from sfumato.adversaries.realistic.ratios import Binding, epsilons, judged, worst_shift
from sfumato.counts.counts import TableCounts
from sfumato.criteria.base import (
    AT_END,
    Criterion,
    GroupCriterion,
    Measure,
    groups_about,
    parameter,
    summarize,
)
from sfumato.criteria.count_rules import CountRule, RuleKind, fewest, present
from sfumato.criteria.exact import decide, sign
from sfumato.criteria.steps import FACTORS, Ladder
from sfumato.criteria.whole_table import MissingPeople, holds_of_all
from sfumato.errors import PolicyError, quoted
from sfumato.numbers import Bools, fraction, shortest
from sfumato.release.build import checked_joint
from sfumato.release.groups import Groups
from sfumato.release.release import Release


@dataclass(frozen=True)
class EpsilonPrivacy(GroupCriterion):
    """No group moves the adversary's belief or doubt by more than a factor epsilon."""

    name: ClassVar[str] = "epsilon-privacy"
    plain: ClassVar[str] = "a row makes nobody with such figures over {0.epsilon:.4g} times as sure"
    upward_closed: ClassVar[bool] = False
    ladders: ClassVar[tuple[Ladder, ...]] = (Ladder("epsilon", FACTORS),)

    epsilon: float
    """The largest factor, 1 or more. Example: `epsilon = 2.5`."""
    # The base names here whose belief is bounded; in this one she is a parameter: see `against`.
    adversary: RealisticAdversary  # type: ignore[misc, assignment]
    """What she has seen before and whom she knows. Example:
    `adversary = { shape = "table", stubbornness = 1e6 }`.
    """
    _: KW_ONLY
    predicates: Predicates = field(default="values", hash=False)
    """What must not become more believable: "values" (has s, for each s), "all" (every set of
    values), or a list of sets: a value, several values, or { not = values }; or by the label of
    each person's `protect` column, { protect = { label = any of these } }. Example: `predicates =
    [["flu", "ulcer"], { not = ["flu"] }]`.
    """
    mode: Literal["exact", "theorem"] = "exact"
    """Each group's smallest epsilon "exact", or by the paper's "theorem" (slightly larger).
    Example: `mode = "theorem"`.
    """
    joint: Sequence[str] = ()  # type: ignore[misc]

    def __post_init__(self) -> None:
        joint = checked_joint(self.name, self.joint, self.sensitive)
        object.__setattr__(self, "joint", joint)
        parameter(self.name, "epsilon", self.epsilon, least=1)
        given: Any = self.adversary
        if isinstance(given, Mapping):
            object.__setattr__(self, "adversary", RealisticAdversary.from_settings(given))
        elif not isinstance(given, RealisticAdversary):
            raise PolicyError(
                f"{self.name}: adversary = {quoted(given)} is not allowed; it must be a "
                "RealisticAdversary or a table such as { shape = 'table', stubbornness = 1e6 }"
            )
        object.__setattr__(self, "predicates", normal(self.name, self.predicates))
        if not isinstance(self.mode, str) or self.mode not in ("exact", "theorem"):
            raise PolicyError(
                f"{self.name}: mode = {quoted(self.mode)} is not known; use 'exact' or 'theorem'"
            )

    @property
    def against(self) -> str:
        return self.adversary.name

    @property
    def limit(self) -> float:
        return self.epsilon

    def adversaries(self, release: Release) -> Iterator[Asked]:
        return (Asked(self.adversary, groups) for groups in groups_about(self, release))

    @property
    def merge_closed(self) -> bool:  # type: ignore[override]
        """Fixed priors and predicates only.

        Priors by region change when groups merge, and so does what their members protect.
        """
        adversary = self.adversary
        # What is left of a prior without some values may weigh less than 1, which is not safe.
        light = (
            adversary.negations > 0 and adversary.adversary_class == "I" and not adversary.at_most
        )
        changing = adversary.by_region or adversary.by_cell or per_person(self.predicates)
        return not changing and not light

    def bind(self, counts: TableCounts) -> Criterion:
        if self.adversary.by_cell:
            raise PolicyError(f"{self.name}: a prior by cell {AT_END}")
        return super().bind(counts)

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """Regions, to find the outside people who fit a group; what its members protect."""
        needed = {"regions"} if self.adversary.by_region else set()
        needed |= {"members"} if self.adversary.by_cell else set()
        return frozenset(needed | ({"protect"} if per_person(self.predicates) else set()))

    @property
    def reads_reference(self) -> bool:  # type: ignore[override]
        """Whether her prior follows from everybody's values, or from how many there are."""
        return isinstance(self.adversary.shape, OfTable | Uniform | None)

    def holds_whatever_missing(self, groups: Groups, missing: MissingPeople) -> bool:
        adversary = self.adversary
        if not (isinstance(adversary.shape, OfTable) and adversary.at_most):
            return super().holds_whatever_missing(groups, missing)
        # The least stubbornness that counts changes with the table: worked out for this case.
        worked_out = self.predicates == "values" and self.mode == "exact"
        if not worked_out or adversary.known or adversary.negations:
            return False
        return holds_of_all(self, groups, missing, every_size=True)

    def stays_private(self, release: Release) -> bool:
        """What people protect is not published, and the figure tells of somebody that she does."""
        return self.private or per_person(self.predicates)

    @property
    def required(self) -> str:
        sets = "" if self.predicates == "values" else ", all sets"
        if per_person(self.predicates):
            sets = ", by person"
        elif not isinstance(self.predicates, str):
            sets = f", {len(self.predicates)} listed sets"
        how = ", as the theorem" if self.mode == "theorem" else ""
        how += f", {' and '.join(self.joint)} together" if self.joint else ""
        return f"epsilon ≤ {shortest(self.epsilon)} ({self.adversary}{sets}{how})"

    def inapplicable(self, groups: Groups) -> str:
        reason = super().inapplicable(groups)
        if not reason and per_person(self.predicates) and groups.protected is None:
            return "it is not known what the people of a group protect: no protect column"
        if not reason and self.adversary.negations and self.predicates != "values":
            return "values she rules out are judged for predicates = 'values' only"
        return reason or self.adversary.inapplicable(groups, theorem=self.mode == "theorem")

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        if not isinstance(self.predicates, str):
            asked(self.predicates, groups)  # class IV too must know its values
        if self.adversary.adversary_class == "IV":
            return (
                summarize(groups, np.full(len(groups), np.inf), "at_most"),
                np.zeros(len(groups), dtype=bool),
            )
        if self.adversary.by_cell:
            return self._judge_by_cell(groups)
        prior = self.adversary.prior(groups)
        theorem = self.mode == "theorem"
        known, negations = self.adversary.known, self.adversary.negations
        if negations and isinstance(prior, SharedPrior):
            measured = epsilons_ruling_out(groups, prior, negations, known)
        else:
            measured = epsilons(groups, prior, self.predicates, known, theorem=theorem)
        bound = fraction(self.epsilon)

        def compare(g: int) -> int:
            binding = self._binding(groups, prior, g)
            needed = Fraction(1) if binding is None else binding.shift.epsilon
            return 1 if needed is None else sign(needed - bound)

        if isinstance(prior, RegionalPrior):
            measured, holds = _decide_one_by_one(measured, float(self.epsilon), compare)
        else:
            measured, holds = decide(groups, measured, float(self.epsilon), "at_most", compare)
        return summarize(groups, measured, "at_most"), holds

    def _judge_by_cell(self, groups: Groups) -> tuple[Measure, Bools]:
        prior, bound = self.adversary.cell_prior(groups), fraction(self.epsilon)

        def compare(group: int) -> int:
            return prior.compare(groups, group, self.predicates, bound)

        measured = prior.epsilons(groups, self.predicates)
        measured, holds = _decide_one_by_one(measured, float(self.epsilon), compare)
        return summarize(groups, measured, "at_most"), holds

    def count_rules(self, everybody: Groups) -> Sequence[CountRule] | None:
        """Both ratios of every set in question, at every stubbornness, freed of denominators.

        With A people of N in the set, R1 <= eps and R2 <= eps are y (d N + e) <= a N^2 + b N + c
        at y = A: caps on how many may have it.
        """
        adversary = self.adversary
        by_itself = (
            adversary.by_region or not adversary.drawable or adversary.adversary_class == "IV"
        )
        if by_itself or per_person(self.predicates):
            return None
        prior = adversary.prior(everybody)
        assert isinstance(prior, SharedPrior)
        sets = [values for values, _ in asked(self.predicates, everybody)]
        certain = [values for values in sets if prior.weights(values, prior.totals[0])[1] == 0]
        if not isinstance(self.predicates, str) and (certain or adversary.known):
            return None
        # What she was certain of nothing moves, as long as nobody has what she rules out.
        sets = [values for values in sets if values not in certain]
        numbers = [
            row
            for total in prior.totals
            for values in sets
            for row in self._caps(*prior.weights(values, total), total, negated=values.negated)
        ]
        codes = [tuple(sorted(values.codes)) for values in sets for _ in range(2)]
        upper = CountRule(
            RuleKind.UPPER,
            tuple(codes * len(prior.totals)),
            tuple(float(number) for row in numbers for number in row),
        )
        rules = [fewest(adversary.known + 1), upper]
        if self.predicates == "all" and everybody.width > 1:
            shares = prior.shares or (Fraction(1),) * everybody.width
            rules.append(present([code for code, share in enumerate(shares) if share > 0]))
        return rules

    def _caps(
        self, weight: Fraction, rest: Fraction, total: Fraction | None, *, negated: bool
    ) -> list[tuple[float, ...]]:
        """The numbers of R1 and of R2 for a set of this weight under her prior."""
        epsilon, known = float(self.epsilon), self.adversary.known
        inside, outside, other = float(weight), float(rest), float(negated)
        if weight <= 0:  # she rules out what somebody has
            return [(0.0, 0.0, 0.0, 0.0, 1.0, other)] * 2
        if total is None:
            raised, doubt = epsilon * inside, epsilon - outside
            return [
                (0.0, raised, -raised * known, 0.0, 1.0, other),
                (0.0, doubt, -doubt * known, 0.0, epsilon, other),
            ]
        theorem = float(self.mode == "theorem")
        whole = float(total) - 1 + theorem
        raised = epsilon * ((max(inside, 1.0) if theorem else inside) - 1)
        most = epsilon * (float(total) - 1)
        left = most - outside - theorem
        return [
            (0.0, raised, -raised * known, 1 - epsilon, whole + epsilon * known, other),
            (
                epsilon - 1,
                left - known * (epsilon - 1),
                -known * left,
                epsilon - 1,
                most + known,
                other,
            ),
        ]

    def tightened(self, share: float, everybody: Groups) -> Self:
        return replace(self, epsilon=1 + (self.epsilon - 1) * share)

    def _binding(
        self, groups: Groups, prior: SharedPrior | RegionalPrior | CellPrior, group: int
    ) -> Binding | None:
        if isinstance(prior, CellPrior):
            return prior.binding(groups, group, self.predicates, exact=small(groups, group))
        adversary = self.adversary
        if adversary.negations and isinstance(prior, SharedPrior):
            return worst_ruling_out(groups, group, prior, adversary.negations, adversary.known)
        return worst_shift(
            groups,
            group,
            prior.of(group),
            self.predicates,
            self.adversary.known,
            theorem=self.mode == "theorem",
        )

    def binding(self, groups: Groups, group: int) -> Binding | None:
        """What binds in a group, exactly: the set of values, the ratio, p_in and p_out.

        None for class IV, and where nobody has any of the sets in question.
        """
        if self.adversary.adversary_class == "IV":
            return None
        return self._binding(groups, self._prior(groups), group)

    def _prior(self, groups: Groups) -> SharedPrior | RegionalPrior | CellPrior:
        adversary = self.adversary
        return adversary.cell_prior(groups) if adversary.by_cell else adversary.prior(groups)

    def explain(self, groups: Groups, measure: Measure, worst: int) -> str:
        if self.adversary.adversary_class == "IV":
            return "an adversary who is endlessly stubborn about any shape is never kept within it"
        prior = self._prior(groups)
        covered = _covered(groups, prior)
        sentences = [_uncovered(covered, by_cell=self.adversary.by_cell)]
        binding = self._binding(groups, prior, worst) if covered[worst] else None
        if binding is not None:
            sentences.append(in_words(groups, binding, self.adversary.known))
        return "; ".join(text for text in sentences if text)


def _uncovered(covered: Bools, *, by_cell: bool) -> str:
    if covered.all():
        return ""
    lacking = "no admissible prior in the outside table"
    if by_cell:
        lacking = "people of a cell that her prior does not cover"
    without = int((~covered).sum())
    return f"{without:,} of {len(covered):,} groups have {lacking} and count as infinite"


def _covered(groups: Groups, prior: SharedPrior | RegionalPrior | CellPrior) -> Bools:
    """Groups of which it can be said what she believed."""
    if isinstance(prior, SharedPrior):
        return np.ones(len(groups), dtype=bool)
    return prior.covered(groups) if isinstance(prior, CellPrior) else judged(prior)


def _decide_one_by_one(measured: Any, bound: float, compare: Any) -> tuple[Any, Bools]:
    """As `decide`, for groups whose equal counts may have different priors."""
    holds = measured < bound
    near = np.flatnonzero(np.abs(measured - bound) <= 1e-9 * max(1.0, bound))
    values = measured.copy()
    for g in near.tolist():
        compared = compare(g)
        holds[g] = compared <= 0
        if compared == 0:
            values[g] = bound
    return values, holds
