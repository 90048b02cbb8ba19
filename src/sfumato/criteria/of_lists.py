"""A criterion of one value, asked of people of whom a pseudonym links several rows.

It stands apart from the base, whose `judge` alone asks for it, and from each family it may be asked
of: what it does is the same for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sfumato.criteria.base import GroupCriterion, Measure, summarize
from sfumato.numbers import Bools, rows_of
from sfumato.release.groups import Groups
from sfumato.release.sparse import summed


@dataclass(frozen=True)
class OfLists(GroupCriterion):
    """A criterion of one value asked of people whose lists are published whole, value by value.

    Whatever value somebody is thought to have: those who have it, against everybody else's list.
    Of people with one value each it is the criterion itself.
    """

    criterion: GroupCriterion

    of_several: ClassVar[bool] = True

    @classmethod
    def of(cls, criterion: GroupCriterion) -> Self:
        """About the same column."""
        return cls(criterion, sensitive=criterion.sensitive)

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
    def merge_closed(self) -> bool:  # type: ignore[override]
        return self.criterion.merge_closed

    @property
    def upward_closed(self) -> bool:  # type: ignore[override]
        return self.criterion.upward_closed

    @property
    def fewest_people(self) -> int:
        return self.criterion.fewest_people

    def inapplicable(self, groups: Groups) -> str:
        if groups.single_valued:
            return self.criterion.inapplicable(groups)
        whole = groups.lists is not None
        return "" if whole else "people's values are not published together"

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        if groups.lists is None:
            return self.criterion.judge(groups)
        judged = [self.criterion.judge(_having_or_list(groups, v)) for v in range(groups.width)]
        worse = np.minimum if judged[0][0].sense in ("at_least", "above") else np.maximum
        per_group = worse.reduce([measure.per_group for measure, _ in judged])
        holds = np.logical_and.reduce([holds for _, holds in judged])
        return summarize(groups, per_group, judged[0][0].sense), holds

    def explain(self, groups: Groups, measure: Measure, worst: int) -> str:
        return "" if groups.lists is None else "by person, whichever of her rows it is"


def _having_or_list(groups: Groups, value: int) -> Groups:
    """By one value a person: that she has this one in her list or, if not, her whole list."""
    lists = groups.lists
    assert lists is not None
    sets = lists.sets
    has = np.zeros(len(sets), dtype=bool)
    has[rows_of(sets.offsets)[sets.members == value]] = True
    number = np.where(has, 0, np.arange(1, len(sets) + 1))
    cells = summed(lists.row, number[lists.indices], lists.data, len(groups), len(sets) + 1)
    return Groups.from_sparse(*cells, len(sets) + 1, attribute=groups.attribute, case="single")
