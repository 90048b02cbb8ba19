"""A criterion of groups that only all groups of a release together can be judged by.

How many people look alike in some of the columns, and who of a population fits no group at all,
depends on every other group. Audits give such a criterion all groups at once; searches carry it as
`JudgedTogether`. A lattice judges its nodes by it, exactly: people who look alike still do where
a column is one level coarser, so what holds goes on to hold as long as nobody is suppressed. It is
not merge closed: two groups put together by themselves leave those behind who looked like one of
them. Where groups are split one by one each part must be safe whatever the others are (`each`),
which is more than is asked.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.criteria.base import GroupCriterion, Measure, ReleaseCriterion, Verdict
from sfumato.criteria.splits import CandidateSplits
from sfumato.numbers import Bools, Ints
from sfumato.release.groups import Groups
from sfumato.release.release import Release


@dataclass(frozen=True)
class JudgedTogether(ReleaseCriterion):
    """A criterion of all groups of a release, by what they show."""

    reads_values: ClassVar[bool] = False
    about_identity: ClassVar[bool] = True
    merge_closed: ClassVar[bool] = False
    upward_closed: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset({"regions"})

    @property
    @abstractmethod
    def group_criterion(self) -> GroupCriterion:
        """A release holds by this if each of its groups holds by that."""

    def start(self, groups: Groups) -> object:
        """There is nothing to remember: parts are judged by themselves."""
        return self

    def split(self, state: object, parent: Groups, children: Groups) -> object | None:
        return state if np.all(self.group_criterion.holds(children)) else None

    def candidates(
        self, state: object, parents: Groups, children: Groups, first: Ints
    ) -> CandidateSplits:
        safe = self.group_criterion.holds(children)
        return PartsAlone(np.logical_and.reduceat(safe, first[:-1]))


@dataclass(frozen=True)
class PartsAlone:
    """Splits that may be made whatever else is: all of their parts are safe by themselves."""

    hopeful: Bools

    def allows(self, state: object, at: int) -> bool:
        return bool(self.hopeful[at])

    def take(self, state: object, at: int) -> object:
        return state


@dataclass(frozen=True)
class Together(JudgedTogether):
    """A criterion that is written as one of groups, as searches carry it."""

    criterion: GroupCriterion
    of_each: GroupCriterion

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.criterion.name

    @property
    def against(self) -> str:
        return self.criterion.against

    @property
    def required(self) -> str:
        return self.criterion.required

    @property
    def promise(self) -> str:
        return self.criterion.promise

    @property
    def group_criterion(self) -> GroupCriterion:
        return self.of_each

    def inapplicable(self, groups: Groups) -> str:
        return self.criterion.inapplicable(groups)

    def measure(self, groups: Groups) -> Measure:
        return self.criterion.measure(groups)

    def verdict(self, groups: Groups) -> Verdict:
        return self.criterion.verdict(groups)

    def of_release(self, release: Release, groups: Groups) -> Verdict:
        return self.criterion.of_release(release, groups)
