"""Examples of differential-privacy."""

from __future__ import annotations

import math

from sfumato.criteria.differential_privacy import DifferentialPrivacy
from tests.criteria.examples.base import Example

EXAMPLES: dict[str, Example] = {
    "differential-privacy": Example(
        (DifferentialPrivacy(0.5), DifferentialPrivacy(1, 1e-6, neighbours="add-remove")),
        None,
        (
            (lambda: DifferentialPrivacy(-1), "epsilon"),
            (lambda: DifferentialPrivacy(math.inf), "epsilon"),
            (lambda: DifferentialPrivacy(True), "epsilon"),
            (lambda: DifferentialPrivacy(1, -0.1), "delta"),
            (lambda: DifferentialPrivacy(1, 1.5), "delta"),
            (lambda: DifferentialPrivacy(1, neighbours="both"), "neighbours"),
        ),
    ),
}
