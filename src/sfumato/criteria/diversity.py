"""l-diversity (Machanavajjhala et al. 2006): distinct, entropy and recursive (c, l).

The adversary finds her target's group and reads off the sensitive values in it. If they are all
the same, or nearly, she has learnt the value without finding the row. Each form asks in its own
way that a group show at least l "well represented" values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, inf, log
from typing import ClassVar, Self

import numpy as np

from sfumato.adversaries.random_worlds import NAME as RANDOM_WORLDS
from sfumato.criteria.base import GroupCriterion, Measure, parameter, summarize
from sfumato.criteria.count_rules import CountRule, RuleKind, each_value
from sfumato.criteria.exact import decide, entropy_sign, sign
from sfumato.criteria.steps import Ladder
from sfumato.numbers import Bools, Floats, Ints, fraction, shortest
from sfumato.release.groups import Groups

VALUES = (2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50)  # how many may be asked for


@dataclass(frozen=True)
class DistinctDiversity(GroupCriterion):
    """Every group shows at least l distinct values.

    Where people have several rows, one by one: values that so many different people have. That is
    told from how many have each value, as no fewer than so many.
    """

    name: ClassVar[str] = "distinct-diversity"
    plain: ClassVar[str] = "at least {0.l} values are possible for everybody"
    adversary: ClassVar[str] = RANDOM_WORLDS
    of_lists: ClassVar[bool] = True
    merge_closed: ClassVar[bool] = True
    upward_closed: ClassVar[bool] = True
    ladders: ClassVar[tuple[Ladder, ...]] = (Ladder("l", VALUES),)

    l: int  # noqa: E741 (the literature's own letter)
    """How many values every group shows at least, 1 or more. Example: `l = 3`."""

    def __post_init__(self) -> None:
        parameter(self.name, "l", self.l, whole=True, least=1)

    @property
    def required(self) -> str:
        return f"l ≥ {self.l}"

    def readings(self, groups: Groups) -> tuple[Groups, ...]:
        rows = groups.beside.unlinked
        having = None if rows is None else rows.having(groups.sizes)
        return super().readings(groups) if rows is None or having is None else (rows.by_row, having)

    def inapplicable(self, groups: Groups) -> str:
        reason = super().inapplicable(groups)
        return "" if reason and groups.width and _by_person(groups) else reason

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        values = of_different_people(groups) if _by_person(groups) else groups.distinct
        return summarize(groups, values, "at_least"), values >= self.l

    def count_rules(self, everybody: Groups) -> Sequence[CountRule]:
        return [CountRule(RuleKind.DISTINCT, each_value(everybody.width), (float(self.l),))]


def _by_person(groups: Groups) -> bool:
    """Whether these count the people of unlinked rows by each value that they have."""
    return groups.beside.unlinked is not None and groups.case == "set"


def of_different_people(groups: Groups) -> Ints:
    """For how many values, at least, there are as many different people, each with another one.

    With one value a person that is all values, and every further value of somebody takes away one
    at most. Or, from the rarest value on, each finds somebody who is not taken yet as long as more
    people have it than were taken: with counts c1 >= c2 >= ... that is min(cj + j - 1) of them.
    """
    surplus = groups.occurrences - groups.sizes
    place = np.arange(len(groups.data)) - groups.indptr[groups.row]
    matched = np.minimum.reduceat(groups.descending + place, groups.indptr[:-1])
    least: Ints = np.maximum(np.minimum(matched, groups.distinct), groups.distinct - surplus)
    return np.maximum(least, 1)


@dataclass(frozen=True)
class EntropyDiversity(GroupCriterion):
    """The entropy of every group's values is at least log l; measured as exp(entropy).

    Decided exactly near the bound: in floating point a uniform group of three values comes out
    as 2.9999999999999996.
    """

    name: ClassVar[str] = "entropy-diversity"
    plain: ClassVar[str] = "values of a group are as mixed as {0.l:.4g} equally common ones"
    adversary: ClassVar[str] = RANDOM_WORLDS
    of_lists: ClassVar[bool] = True
    merge_closed: ClassVar[bool] = True
    upward_closed: ClassVar[bool] = False
    ladders: ClassVar[tuple[Ladder, ...]] = (Ladder("l", (1.5, *VALUES)),)

    l: float  # noqa: E741
    """The least exp(entropy): as diverse as l values that are equally frequent; 1 or more. Example:
    `l = 2.5`.
    """

    def __post_init__(self) -> None:
        parameter(self.name, "l", self.l, least=1)

    @property
    def required(self) -> str:
        return f"l ≥ {shortest(self.l)}"

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        surprise = groups.sum_of(groups.data * np.log(groups.data))
        measured = np.exp(np.log(groups.sizes) - surprise / groups.sizes)
        # A uniform group over d values has exactly d.
        uniform = groups.largest * groups.distinct == groups.sizes
        measured = np.where(uniform, groups.distinct, measured)
        least = fraction(self.l)

        def compare(g: int) -> int | None:
            counts = groups.data[groups.indptr[g] : groups.indptr[g + 1]]
            return entropy_sign(counts.tolist(), least)

        measured, holds = decide(groups, measured, self.l, "at_least", compare)
        return summarize(groups, measured, "at_least"), holds

    def lost_below(self, groups: Groups, measured: Floats) -> Floats:
        """Entropy is concave, and that of one value is 0."""
        if self.l <= 1:
            return super().lost_below(groups, measured)
        lost: Floats = np.maximum(1.0 - np.log(measured) / log(self.l), 0.0)
        return lost * groups.sizes.astype(np.float64)

    def count_rules(self, everybody: Groups) -> Sequence[CountRule]:
        bounds = (log(self.l), inf)
        return [CountRule(RuleKind.ENTROPY, each_value(everybody.width), bounds)]

    def tightened(self, share: float, everybody: Groups) -> Self:
        """Moved towards the entropy of the table."""
        whole = log(max(self.measure(everybody).value, self.l))
        return replace(self, l=max(exp(share * log(self.l) + (1 - share) * whole), self.l))


@dataclass(frozen=True)
class RecursiveDiversity(GroupCriterion):
    """Recursive (c, l): with counts r1 >= r2 >= ..., r1 < c (r_l + r_l+1 + ...), strictly.

    Even after l-2 values are ruled out, the most frequent one is not too likely. Measured as
    r1 / (r_l + ...), which must lie below c; infinite when fewer than l values are present.
    """

    name: ClassVar[str] = "recursive-diversity"
    plain: ClassVar[str] = "no group's commonest value outweighs {0.c:.4g} times its rarer ones"
    adversary: ClassVar[str] = RANDOM_WORLDS
    of_lists: ClassVar[bool] = True
    merge_closed: ClassVar[bool] = True
    upward_closed: ClassVar[bool] = False
    ladders: ClassVar[tuple[Ladder, ...]] = (
        Ladder("c", (20, 10, 5, 4, 3, 2, 1, 0.5)),
        Ladder("l", VALUES),
    )

    c: float
    """How often the most frequent value may occur for each time that the rarer ones do; above 0.
    Example: `c = 3.0`.
    """
    l: int  # noqa: E741
    """Rarer ones are those from the l-th most frequent on; 2 or more. Example: `l = 2`."""

    def __post_init__(self) -> None:
        parameter(self.name, "c", self.c, above=0)
        parameter(self.name, "l", self.l, whole=True, least=2)

    @property
    def required(self) -> str:
        return f"c < {shortest(self.c)} at l = {self.l}"

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        tail = self._tail(groups)
        with np.errstate(divide="ignore"):
            ratio = groups.largest / tail
        c = fraction(self.c)
        ratio, holds = decide(
            groups,
            ratio,
            self.c,
            "below",
            lambda g: sign(int(groups.largest[g]) - c * int(tail[g])),
        )
        return summarize(groups, ratio, "below"), holds

    def _tail(self, groups: Groups) -> Ints:
        """r_l + r_(l+1) + ... of each group."""
        rank = np.arange(len(groups.data)) - groups.indptr[groups.row]
        return groups.sum_of(np.where(rank >= self.l - 1, groups.descending, 0))

    def lost_below(self, groups: Groups, measured: Floats) -> Floats:
        """r1 is convex, the tail is concave: what r1 has too many are no more than the parts'."""
        lost: Floats = np.maximum(1.0 - self.c / measured, 0.0)
        return lost * groups.largest.astype(np.float64)

    def count_rules(self, everybody: Groups) -> Sequence[CountRule]:
        bounds = (float(self.c), float(self.l))
        return [CountRule(RuleKind.TAIL, each_value(everybody.width), bounds, strict=True)]

    def tightened(self, share: float, everybody: Groups) -> Self:
        room = self.c - self.measure(everybody).value
        return replace(self, c=self.c - (1 - share) * room) if room > 0 else self
