"""Criteria that nobody needs, of every kind there may be: what merging breaks, what only the whole
release shows, what tells nothing of itself but whether it holds. Searches must keep them, too."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.criteria.base import GroupCriterion, Measure, ReleaseCriterion, Verdict, summarize
from sfumato.numbers import Bools
from sfumato.release.groups import Groups


@dataclass(frozen=True)
class FewValues(GroupCriterion):
    """At most m distinct values: merging two groups that hold may break it."""

    name: ClassVar[str] = "few-values"
    adversary: ClassVar[str] = "none"
    merge_closed: ClassVar[bool] = False
    upward_closed: ClassVar[bool] = False

    m: int

    @property
    def required(self) -> str:
        return f"m ≤ {self.m}"

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        return summarize(groups, groups.distinct, "at_most"), groups.distinct <= self.m


@dataclass(frozen=True)
class SmallGroups(GroupCriterion):
    """At most m people a group, whatever they have."""

    name: ClassVar[str] = "small-groups"
    adversary: ClassVar[str] = "none"
    merge_closed: ClassVar[bool] = False
    upward_closed: ClassVar[bool] = False
    reads_values: ClassVar[bool] = False

    m: int

    @property
    def required(self) -> str:
        return f"m ≤ {self.m}"

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        return summarize(groups, groups.sizes, "at_most"), groups.sizes <= self.m


@dataclass(frozen=True)
class CertainSizes(GroupCriterion):
    """A made-up criterion that merging can break: a group has one of these numbers of people."""

    name: ClassVar[str] = "certain-sizes"
    adversary: ClassVar[str] = "nobody"
    merge_closed: ClassVar[bool] = False
    upward_closed: ClassVar[bool] = False
    reads_values: ClassVar[bool] = False

    allowed: tuple[int, ...]

    @property
    def required(self) -> str:
        return f"size in {self.allowed}"

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        return summarize(groups, groups.sizes, "at_most"), np.isin(groups.sizes, self.allowed)


@dataclass(frozen=True)
class EvenSizes(GroupCriterion):
    """A criterion of somebody's own, which names no ladder."""

    name: ClassVar[str] = "even-sizes"
    adversary: ClassVar[str] = "prosecutor"
    merge_closed: ClassVar[bool] = True
    upward_closed: ClassVar[bool] = False
    reads_values: ClassVar[bool] = False

    @property
    def required(self) -> str:
        return "even"

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        odd = groups.sizes % 2
        return summarize(groups, odd, "at_most"), odd == 0


@dataclass(frozen=True)
class NoMajority(GroupCriterion):
    """One that somebody wrote: nothing is known of it but whether it holds."""

    name: ClassVar[str] = "no-majority"
    adversary: ClassVar[str] = "anybody"
    merge_closed: ClassVar[bool] = True
    upward_closed: ClassVar[bool] = False

    @property
    def required(self) -> str:
        return "no value of more than half"

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        share = groups.largest / groups.sizes
        return summarize(groups, share, "at_most"), 2 * groups.largest <= groups.sizes


@dataclass(frozen=True)
class FewGroups(ReleaseCriterion):
    """At most m groups in all. Coarser nodes have fewer, unless fewer people are suppressed."""

    name: ClassVar[str] = "few-groups"
    adversary: ClassVar[str] = "none"
    merge_closed: ClassVar[bool] = True
    upward_closed: ClassVar[bool] = False
    reads_values: ClassVar[bool] = False

    m: int

    @property
    def required(self) -> str:
        return f"groups ≤ {self.m}"

    def measure(self, groups: Groups) -> Measure:
        return summarize(groups, np.full(len(groups), groups.number()), "at_most")

    def verdict(self, groups: Groups) -> Verdict:
        status = "holds" if 0 < groups.number() <= self.m else "violated"
        return Verdict(self.name, status, groups.number(), self.required)

    def start(self, groups: Groups) -> int:
        return len(groups)

    def split(self, state: int, parent: Groups, children: Groups) -> int | None:
        total = state - len(parent) + len(children)
        return total if total <= self.m else None


@dataclass(frozen=True)
class FewGroupsAtTheEnd(FewGroups):
    """At most m groups, which is asked of the finished release alone."""

    at_end: ClassVar[bool] = True


@dataclass(frozen=True)
class ManyGroups(ReleaseCriterion):
    """At least so many groups in all."""

    name: ClassVar[str] = "many-groups"
    adversary: ClassVar[str] = "nobody"
    merge_closed: ClassVar[bool] = False
    upward_closed: ClassVar[bool] = False
    reads_values: ClassVar[bool] = False

    least: int

    @property
    def required(self) -> str:
        return f"groups ≥ {self.least}"

    def measure(self, groups: Groups) -> Measure:
        return summarize(groups, np.full(len(groups), len(groups)), "at_least")

    def verdict(self, groups: Groups) -> Verdict:
        status = "holds" if len(groups) >= self.least else "violated"
        return Verdict(self.name, status, len(groups), self.required)

    def start(self, groups: Groups) -> None:
        return None

    def split(self, state: object, parent: Groups, children: Groups) -> None:
        return None


@dataclass(frozen=True)
class Budget(ReleaseCriterion):
    """Summed over groups, the share of the most frequent value is at most `most`.

    Each split spends some of it: two splits may each be within the budget and jointly not.
    """

    name: ClassVar[str] = "budget"
    adversary: ClassVar[str] = "none"
    merge_closed: ClassVar[bool] = True
    upward_closed: ClassVar[bool] = False

    most: float

    @property
    def required(self) -> str:
        return f"sum ≤ {self.most:g}"

    def spent(self, groups: Groups) -> Fraction:
        shares = zip(groups.largest.tolist(), groups.sizes.tolist(), strict=True)
        return sum((Fraction(*share) for share in shares), Fraction(0))

    def measure(self, groups: Groups) -> Measure:
        return summarize(groups, groups.largest / groups.sizes, "at_most")

    def verdict(self, groups: Groups) -> Verdict:
        spent = self.spent(groups)
        status = "holds" if spent <= self.most else "violated"
        return Verdict(self.name, status, float(spent), self.required)

    def start(self, groups: Groups) -> Fraction:
        return self.spent(groups)

    def split(self, state: Fraction, parent: Groups, children: Groups) -> Fraction | None:
        assert len(parent) == 1
        assert parent.sizes.sum() == children.sizes.sum()
        spent = state - self.spent(parent) + self.spent(children)
        return spent if spent <= self.most else None
