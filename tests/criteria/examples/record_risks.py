"""Examples of what is asked of records at risk."""

from __future__ import annotations

from sfumato.criteria.presence import DeltaPresence
from sfumato.criteria.special_uniques import NoSpecialUniques
from tests.criteria.examples.base import Example

EXAMPLES: dict[str, Example] = {
    "special-uniques": Example(
        (NoSpecialUniques(1), NoSpecialUniques(3)),
        None,
        (
            (lambda: NoSpecialUniques(0), "size"),
            (lambda: NoSpecialUniques(2.5), "size"),
            (lambda: NoSpecialUniques(True), "size"),
        ),
    ),
    "delta-presence": Example(
        (
            DeltaPresence(0, 0.5, "weights"),
            DeltaPresence(0, 0.7, "weights"),
            DeltaPresence(0, 1, "weights"),
        ),
        None,
        (
            (lambda: DeltaPresence(-0.1, 0.5, "weights"), "minimum"),
            (lambda: DeltaPresence(0.6, 0.5, "weights"), "minimum"),
            (lambda: DeltaPresence(0.1, 0.5, "weights"), "minimum"),
            (lambda: DeltaPresence(0, 0, "weights"), "maximum"),
            (lambda: DeltaPresence(0, "half", "weights"), "maximum"),
            (lambda: DeltaPresence(0, 0.5, "register.csv"), "population"),
            (lambda: DeltaPresence(0, 0.5, None), "population"),
        ),
    ),
}
