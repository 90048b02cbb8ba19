"""Examples of distinct-diversity, entropy-diversity and recursive-diversity."""

from __future__ import annotations

import math

from sfumato.criteria.diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from tests.criteria.examples.base import Example

EXAMPLES: dict[str, Example] = {
    "distinct-diversity": Example(
        (DistinctDiversity(1), DistinctDiversity(2), DistinctDiversity(3)),
        DistinctDiversity(2),
        (
            (lambda: DistinctDiversity(0), "l"),
            (lambda: DistinctDiversity(1.5), "l"),
            (lambda: DistinctDiversity(True), "l"),
        ),
    ),
    "entropy-diversity": Example(
        (EntropyDiversity(1), EntropyDiversity(1.5), EntropyDiversity(2), EntropyDiversity(2.5)),
        EntropyDiversity(1.5),
        (
            (lambda: EntropyDiversity(0.9), "l"),
            (lambda: EntropyDiversity(math.nan), "l"),
            (lambda: EntropyDiversity(True), "l"),
        ),
    ),
    "recursive-diversity": Example(
        (
            RecursiveDiversity(0.75, 2),
            RecursiveDiversity(1, 2),
            RecursiveDiversity(2, 2),
            RecursiveDiversity(3, 3),
        ),
        RecursiveDiversity(1000, 2),
        (
            (lambda: RecursiveDiversity(0, 2), "c"),
            (lambda: RecursiveDiversity(-1, 2), "c"),
            (lambda: RecursiveDiversity(math.nan, 2), "c"),
            (lambda: RecursiveDiversity(1, 1), "l"),
            (lambda: RecursiveDiversity(1, 2.5), "l"),
        ),
    ),
}
