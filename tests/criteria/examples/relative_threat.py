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
        ),
    ),
}
