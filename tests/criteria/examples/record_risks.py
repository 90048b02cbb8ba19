"""Examples of what is asked of records at risk."""

from __future__ import annotations

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
}
