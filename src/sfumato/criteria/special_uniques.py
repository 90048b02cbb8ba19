"""No special uniques: nobody is alone by few columns (Elliot, Manning and Ford 2002).

Whoever knows a few facts about her target finds the row for sure, if nobody else has these values
(`adversaries/linkage/special_uniques.py`). So nobody may have a minimal sample unique of so few
columns. It is k = 2 over any so many columns, told by the columns that are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.adversaries.base import Asked
from sfumato.adversaries.linkage.special_uniques import BY_FEW_COLUMNS, minimal_uniques
from sfumato.criteria.base import Measure, Verdict, parameter, summarize
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.criteria.steps import Ladder
from sfumato.criteria.together import JudgedTogether
from sfumato.errors import InputError
from sfumato.release.groups import Groups
from sfumato.release.release import Release


@dataclass(frozen=True)
class NoSpecialUniques(JudgedTogether):
    """Nobody is alone by `size` columns or fewer."""

    name: ClassVar[str] = "special-uniques"
    plain: ClassVar[str] = "nobody is alone by {0.size} columns or fewer"
    adversary: ClassVar[str] = BY_FEW_COLUMNS
    ladders: ClassVar[tuple[Ladder, ...]] = (Ladder("size", (1, 2, 3, 4, 5)),)

    size: int
    """So many columns, 1 or more. Example: `size = 2`."""

    def __post_init__(self) -> None:
        parameter(self.name, "size", self.size, whole=True, least=1)

    @property
    def required(self) -> str:
        return f"columns that tell somebody apart > {self.size}"

    @property
    def group_criterion(self) -> KAnonymity:
        return KAnonymity(2)

    def adversaries(self, release: Release) -> Iterator[Asked]:
        return KAnonymity(2, up_to=self.size).adversaries(release)

    def inapplicable(self, groups: Groups) -> str:
        reason = KAnonymity(2, up_to=self.size).inapplicable(groups)
        if not reason and groups.several is not None:
            return "people are in several groups: whoever has two rows alike is not alone by row"
        return reason

    def measure(self, groups: Groups) -> Measure:
        """Of each group the fewest columns by which its person is alone; infinite: none are."""
        if reason := self.inapplicable(groups):
            raise InputError(f"{self.name} cannot be measured: {reason}")
        regions = groups.regions
        assert regions is not None
        fewest = np.full(len(groups), np.inf)
        sizes = [len(parts) for parts in regions.parts]
        largest = min(self.size, len(sizes))
        for columns, rows in minimal_uniques(regions.codes, sizes, groups.own_people, largest):
            fewest[rows] = np.minimum(fewest[rows], len(columns))
        return summarize(groups, fewest, "above")

    def verdict(self, groups: Groups) -> Verdict:
        if reason := self.inapplicable(groups):
            return self.unjudged("not_applicable", reason, groups)
        measure = self.measure(groups)
        alone = int(np.isfinite(measure.per_group).sum())
        if not alone:
            return self.decided("holds", measure, groups, "")
        note = f"{alone:,} people are alone by {self.size} columns or fewer"
        return self.decided("violated", measure, groups, note)
