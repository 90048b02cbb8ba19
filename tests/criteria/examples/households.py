"""Examples of what is asked of households."""

from __future__ import annotations

import math

from sfumato.criteria.households import HouseholdAnonymity, HouseholdRisk
from tests.criteria.examples.base import Example

EXAMPLES: dict[str, Example] = {
    "household-anonymity": Example(
        (HouseholdAnonymity(2), HouseholdAnonymity(3)),
        None,
        (
            (lambda: HouseholdAnonymity(0), "k"),
            (lambda: HouseholdAnonymity(2.5), "k"),
            (lambda: HouseholdAnonymity(True), "k"),
        ),
    ),
    "household-risk": Example(
        (HouseholdRisk(0.2), HouseholdRisk(0.5)),
        None,
        (
            (lambda: HouseholdRisk(0), "most"),
            (lambda: HouseholdRisk(1.5), "most"),
            (lambda: HouseholdRisk(math.nan), "most"),
            (lambda: HouseholdRisk("1"), "most"),
        ),
    ),
}
