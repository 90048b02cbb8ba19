"""Households: people of at least k of them in every group, or a bound on the risk of each.

Whoever finds one member of a household finds them all (`adversaries/linkage/households.py`). A
group of five people who all live together is no hiding place: who looks for that household has
found it. So groups must have people of at least k households. And a large household is found more
easily than a small one, each member being a way to it: its risk, 1 - (1 - r1)(1 - r2)... of its
members' risks, can be bounded as such.

Both are judged on finished releases, where it is known who lives together. Of groups alone it is
not: they can be shown to fail, since no group has more households than people, and never to hold.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.adversaries.linkage.households import PARTED, UNKNOWN, Households
from sfumato.adversaries.linkage.risks import BY_HOUSEHOLD
from sfumato.criteria.at_end import JudgedAtEnd
from sfumato.criteria.base import Measure, Sense, Verdict, parameter
from sfumato.criteria.steps import PEOPLE, SHARES, Ladder
from sfumato.criteria.verdict import UNOWNED
from sfumato.errors import InputError
from sfumato.numbers import Floats, Ints, fraction, shortest
from sfumato.release.groups import Groups
from sfumato.release.release import Release


@dataclass(frozen=True)
class OfHouseholds(JudgedAtEnd):
    """What is asked of households, judged on a finished release."""

    adversary: ClassVar[str] = BY_HOUSEHOLD
    sense: ClassVar[Sense]
    private: ClassVar[bool] = True
    reads_values: ClassVar[bool] = False
    of_rows: ClassVar[bool] = True
    merge_closed: ClassVar[bool] = True
    upward_closed: ClassVar[bool] = True

    @abstractmethod
    def alone(self, groups: Groups) -> Floats | Ints:
        """What each group comes to, if everybody lived alone."""

    @abstractmethod
    def by_household(self, known: Households, total: int) -> Floats | Ints:
        """What each of so many groups comes to."""

    @abstractmethod
    def kept(self, value: float) -> bool:
        """Whether a group that comes to so much holds."""

    def measure(self, groups: Groups) -> Measure:
        if reason := self.inapplicable(groups):
            raise InputError(f"{self.name} cannot be measured: {reason}")
        return Measure(np.asarray(self.alone(groups), np.float64), groups.sizes, self.sense)

    def verdict(self, groups: Groups) -> Verdict:
        if reason := self.inapplicable(groups):
            return self.unjudged("not_applicable", reason, groups)
        measure = self.measure(groups)
        if not self.kept(measure.value):
            return self.decided("violated", measure, groups, "if everybody lived alone")
        return self.decided("cannot_judge", measure, groups, UNKNOWN)

    def of_release(self, release: Release, groups: Groups) -> Verdict:
        known = Households.of(release)
        if known is None or not len(known.group) or self.inapplicable(groups):
            verdict = self.verdict(groups)
            if verdict.status != "cannot_judge":
                return verdict
            unknown = UNOWNED if release.groups.owners_unknown else UNKNOWN
            return self.unjudged("cannot_judge", unknown if known is None else PARTED)
        values = np.asarray(self.by_household(known, len(groups)), np.float64)
        measure = Measure(values, groups.sizes, self.sense)
        status = "holds" if self.kept(measure.value) else "violated"
        return self.decided(status, measure, groups, "")  # type: ignore[arg-type]


@dataclass(frozen=True)
class HouseholdAnonymity(OfHouseholds):
    """Every group has people of at least k households."""

    name: ClassVar[str] = "household-anonymity"
    plain: ClassVar[str] = "people of at least {0.k} households look alike"
    sense: ClassVar[Sense] = "at_least"
    ladders: ClassVar[tuple[Ladder, ...]] = (Ladder("k", PEOPLE),)

    k: int
    """How many households, 1 or more. Example: `k = 5`."""

    def __post_init__(self) -> None:
        parameter(self.name, "k", self.k, whole=True, least=1)

    @property
    def required(self) -> str:
        return f"households ≥ {self.k}"

    @property
    def fewest_people(self) -> int:
        return self.k

    def alone(self, groups: Groups) -> Ints:
        return groups.sizes

    def by_household(self, known: Households, total: int) -> Ints:
        return known.per_group(total)

    def kept(self, value: float) -> bool:
        return value >= self.k


@dataclass(frozen=True)
class HouseholdRisk(OfHouseholds):
    """No household is found with a chance above `most`, one of its members being enough."""

    name: ClassVar[str] = "household-risk"
    plain: ClassVar[str] = "no household is found with a chance above {0.most:.3g}"
    sense: ClassVar[Sense] = "at_most"
    ladders: ClassVar[tuple[Ladder, ...]] = (Ladder("most", SHARES),)

    most: float
    """The largest chance, above 0 and at most 1. Example: `most = 0.2`."""

    def __post_init__(self) -> None:
        parameter(self.name, "most", self.most, above=0, most=1)

    @property
    def required(self) -> str:
        return f"risk of a household ≤ {shortest(self.most)}"

    def alone(self, groups: Groups) -> Floats:
        return 1 / groups.sizes

    def by_household(self, known: Households, total: int) -> Floats:
        return known.worst_per_group(total)

    def kept(self, value: float) -> bool:
        # Products of floats: 1 - 0.8 * 0.8 is 0.36 and no more.
        return value <= float(fraction(self.most)) * (1 + 1e-12)
