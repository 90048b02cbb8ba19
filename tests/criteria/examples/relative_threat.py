"""Examples of relative-threat."""

from __future__ import annotations

import math

from sfumato.criteria.relative_threat import RelativeThreatBound
from tests.criteria.examples.base import Example

EXAMPLES: dict[str, Example] = {
    "relative-threat": Example(
        (
            RelativeThreatBound(1.0),
            RelativeThreatBound(1.5),
            RelativeThreatBound(1.1, quantile=0.8),
            RelativeThreatBound(3, max_rgt=0.05),
            RelativeThreatBound(1.5, prior=0.5, gain="top 2"),
        ),
        RelativeThreatBound(1.0),
        (
            (lambda: RelativeThreatBound(0), "max_ti"),
            (lambda: RelativeThreatBound(-1), "max_ti"),
            (lambda: RelativeThreatBound(math.nan), "max_ti"),
            (lambda: RelativeThreatBound(math.inf), "max_ti"),
            (lambda: RelativeThreatBound("2"), "max_ti"),
            (lambda: RelativeThreatBound(2, quantile=0), "quantile"),
            (lambda: RelativeThreatBound(2, quantile=1.5), "quantile"),
            (lambda: RelativeThreatBound(2, max_rgt=-0.1), "max_rgt"),
            (lambda: RelativeThreatBound(2, max_rgt=2), "max_rgt"),
            (lambda: RelativeThreatBound(2, prior="flu"), "prior"),
            (lambda: RelativeThreatBound(2, weight=0), "weight"),
            (lambda: RelativeThreatBound(2, learner="both"), "learner"),
            (lambda: RelativeThreatBound(2, gain="top"), "gain"),
            (lambda: RelativeThreatBound(2, known=[]), "known"),
            (lambda: RelativeThreatBound(2, known="age"), "known"),
            (lambda: RelativeThreatBound(2, noise=1), "noise"),
            (lambda: RelativeThreatBound(2, noise={"age": "x"}), "noise"),
            (lambda: RelativeThreatBound(2, joint=["s"]), "joint"),
            (lambda: RelativeThreatBound(2, method="exakt"), "method"),
            (lambda: RelativeThreatBound(2, chains=2), "chains"),
            (lambda: RelativeThreatBound(2, chains="4"), "chains"),
            (lambda: RelativeThreatBound(2, sweeps=10), "sweeps"),
            (lambda: RelativeThreatBound(2, seconds=0), "seconds"),
            (lambda: RelativeThreatBound(2, draws=5), "draws"),
        ),
    ),
}
