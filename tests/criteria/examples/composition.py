"""Examples of composition."""

from __future__ import annotations

import math

from sfumato.criteria.composition import CompositionBound
from tests.adversaries.releases import release
from tests.criteria.examples.base import VALUES, Example

BEFORE = release(["x"], [((1,), dict.fromkeys(VALUES, 2)), ((2,), {"a": 3})])

EXAMPLES: dict[str, Example] = {
    "composition": Example(
        (
            CompositionBound(0, 1, BEFORE),
            CompositionBound(0.5, 1, BEFORE),
            CompositionBound(0.25, 0.5, [BEFORE, BEFORE]),
        ),
        CompositionBound(0.1, 1, BEFORE),
        (
            (lambda: CompositionBound(-0.1, 1, BEFORE), "share"),
            (lambda: CompositionBound(1.1, 1, BEFORE), "share"),
            (lambda: CompositionBound(math.nan, 1, BEFORE), "share"),
            (lambda: CompositionBound("0.1", 1, BEFORE), "share"),
            (lambda: CompositionBound(0.1, 0, BEFORE), "confidence"),
            (lambda: CompositionBound(0.1, 1.5, BEFORE), "confidence"),
            (lambda: CompositionBound(0.1, 1, None), "earlier"),
            (lambda: CompositionBound(0.1, 1, []), "earlier"),
            (lambda: CompositionBound(0.1, 1, "no such ledger"), "earlier"),
        ),
    ),
}
