"""Precision (Sweeney 2002, "Achieving k-anonymity privacy protection..."), as a cost: 1 - Prec.

Mean, over people and quasi-identifiers, of how high up its column's hierarchy a value was raised:
0 for the value itself, 1 for `*`, one third for the first of three steps; a suppressed person costs
1. It counts steps, not values: a hierarchy with many thin levels makes each of them cheap. A
region that stands on several levels (a top-coded range, a repeated label, NULL) counts as the
lowest of them, since a reader cannot tell them apart.

A region that is no label of the hierarchy (Mondrian's ranges) has no level: not applicable (NaN).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from sfumato.numbers import Floats
from sfumato.release.description import Singletons
from sfumato.schema.hierarchy import Levels
from sfumato.schema.region import Anything, Region
from sfumato.utility.base import Remembered, Utility
from sfumato.utility.view import View


class LabelHeights:
    """How high each label of one column's hierarchy stands, as a share of the whole height."""

    def __init__(self, levels: Levels) -> None:
        self._levels = levels
        self._height: dict[Region, float] = {}
        for step, level in enumerate(levels.levels):
            for region in level.regions:
                self._height.setdefault(region, step / (levels.height - 1))
        # A taxonomy may send some of its values to `*` earlier than others.
        self._height[Anything()] = 1.0
        self._by_level = [self._heights(level.regions) for level in levels.levels]

    def heights(self, parts: Sequence[Region]) -> Floats:
        """Of each region; NaN for one that is no label."""
        for level, known in zip(self._levels.levels, self._by_level, strict=True):
            if parts is level.regions:
                return known
        return np.zeros(len(parts)) if isinstance(parts, Singletons) else self._heights(parts)

    def _heights(self, parts: Sequence[Region]) -> Floats:
        return np.array([self._height.get(part, np.nan) for part in parts], dtype=np.float64)


@dataclass(frozen=True)
class Precision(Utility):
    """The mean height, in its hierarchy, to which a value was raised."""

    name: ClassVar[str] = "precision"
    share: ClassVar[bool] = True
    about: ClassVar[str] = (
        "mean share of its hierarchy's height a value was raised (1 - precision); suppressed = 1"
    )

    _by_column: Remembered[list[LabelHeights]] = field(
        default_factory=Remembered, init=False, repr=False, compare=False
    )

    def cost(self, view: View) -> float:
        if view.people == 0 or not view.covering:
            return float("nan")
        if view.exact:
            return view.suppressed / view.people
        by_column = self._by_column.of(
            *view.levels, make=lambda: [LabelHeights(level) for level in view.levels]
        )
        raised = view.total(
            [heights.heights(parts) for heights, parts in zip(by_column, view.parts, strict=True)]
        )
        return raised / max(len(by_column), 1) / view.people + view.suppressed / view.people
