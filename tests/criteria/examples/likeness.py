"""Examples of beta-likeness and delta-disclosure."""

from __future__ import annotations

import math

from sfumato.criteria.likeness import BetaLikeness, DeltaDisclosure
from tests.criteria.examples.base import Example

EXAMPLES: dict[str, Example] = {
    "beta-likeness": Example(
        (
            BetaLikeness(0.5),
            BetaLikeness(1),
            BetaLikeness(2),
            BetaLikeness(0.5, enhanced=True),
            BetaLikeness(2, enhanced=True),
        ),
        BetaLikeness(0.1),
        (
            (lambda: BetaLikeness(0), "beta"),
            (lambda: BetaLikeness(-1), "beta"),
            (lambda: BetaLikeness(math.nan), "beta"),
        ),
    ),
    "delta-disclosure": Example(
        (DeltaDisclosure(0.5), DeltaDisclosure(1), DeltaDisclosure(2)),
        DeltaDisclosure(1000),
        (
            (lambda: DeltaDisclosure(0), "delta"),
            (lambda: DeltaDisclosure(-1), "delta"),
            (lambda: DeltaDisclosure(math.nan), "delta"),
        ),
    ),
}
