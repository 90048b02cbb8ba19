"""Certainties of many points on one scale, group by group, for the measure of `SkylinePrivacy`."""

from __future__ import annotations

import numpy as np

from sfumato.adversaries.skyline.acquaintance import certainties
from sfumato.adversaries.skyline.breach import Bounds, breach
from sfumato.criteria.base import Bools
from sfumato.criteria.skyline_search import Questions
from sfumato.release.groups import Floats, Groups


class Scale:
    """Puts certainties of points with different confidences on the scale of the strictest."""

    def __init__(self, asked: Questions, strictest: float) -> None:
        self.asked, self.strictest = asked, strictest
        self.limits = np.array([float(confidence) for confidence in asked.confidences])

    def of(self, certainty: Floats) -> Floats:
        """On the same side of the strictest confidence as they were of their own."""
        scaled = certainty * (self.strictest / self.limits)
        below = np.minimum(scaled, np.nextafter(self.strictest, 0))
        return np.where(certainty < self.limits, below, np.maximum(scaled, self.strictest))

    def by_group(self, groups: Groups, least: Bounds, found: Floats) -> tuple[Floats, Bools]:
        """How sure she can become of a target in each group, whatever she knows of other groups;
        and where that is an upper bound only.

        `found` is what was decided for the release; it holds of the groups that decide it.
        """
        asked, out, most = self.asked, np.zeros(len(groups)), breach(least.least)
        at_most = np.zeros(len(groups), dtype=bool)
        targets, points = asked.targets, asked.points
        for block, sure, reached in certainties(groups, targets, points, asked.case, least):
            decided = self.of(np.where(sure >= most, found, np.minimum(sure, found)))
            out[block] = decided.max(axis=1, initial=0.0)
            if reached is not sure:
                worst = decided >= out[block][:, None]
                at_most[block] = ~(worst & (reached == sure)).any(axis=1)
        return out, at_most
