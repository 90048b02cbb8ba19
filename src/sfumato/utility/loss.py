"""Loss (Iyengar 2002; Xu et al. 2006, normalised certainty penalty): how far values were widened.

Mean, over people and quasi-identifiers, of the share of the column's domain a value was widened to:
0 for a value published as it is, 1 for `*`; a suppressed person loses everything. Not applicable
(NaN) to centroids and noise, which are not regions around a person's values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.counts.counts import TableCounts
from sfumato.numbers import Floats
from sfumato.schema.region import Coverage
from sfumato.utility.base import Utility
from sfumato.utility.view import View


@dataclass(frozen=True)
class Loss(Utility):
    """The mean share of the domain a value was widened to."""

    name: ClassVar[str] = "loss"
    share: ClassVar[bool] = True
    about: ClassVar[str] = "mean share of the domain a value was widened to; suppressed = 1"

    def cost(self, view: View) -> float:
        if view.people == 0 or not view.covering:
            return float("nan")
        if view.exact:
            return view.suppressed / view.people
        columns = len(view.counts.quasi)
        lost = view.total([view.coverage(column).widening() for column in range(columns)])
        return lost / columns / view.people + view.suppressed / view.people

    def by_level(self, counts: TableCounts, covers: list[list[Coverage]]) -> list[Floats] | None:
        """Mean widening of everybody: suppressing somebody costs 1, never less than widening."""
        people, columns = counts.memberships, len(covers)
        losses = []
        for column, levels in enumerate(covers):
            having = counts.by_code(column)
            costs = []
            for cover in levels:
                widened = np.zeros(len(having))
                for part, widening in enumerate(cover.widening()):
                    widened[cover.codes(part)] = widening
                costs.append(float(widened @ having) / people / columns)
            losses.append(np.array(costs))
        return losses
