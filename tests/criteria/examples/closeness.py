"""Examples of t-closeness."""

from __future__ import annotations

import math

from sfumato import suppression, taxonomy
from sfumato.criteria.closeness import TCloseness
from tests.criteria.examples.base import Example

TREE = taxonomy({"a": "x", "b": "x", "c": "y", "d": "y", "e": "y"})

EXAMPLES: dict[str, Example] = {
    "t-closeness": Example(
        (
            TCloseness(0),
            TCloseness(0.2),
            TCloseness(0.5),
            TCloseness(0.2, distance="ordered"),
            TCloseness(0.5, distance="ordered"),
            TCloseness(0.3, distance=TREE),
            TCloseness(0.3, distance=suppression()),
        ),
        TCloseness(0.1),
        (
            (lambda: TCloseness(-0.1), "t"),
            (lambda: TCloseness(1.1), "t"),
            (lambda: TCloseness(math.nan), "t"),
            (lambda: TCloseness(math.inf), "t"),
            (lambda: TCloseness("0.2"), "t"),
            (lambda: TCloseness(0.2, distance="euclidean"), "distance"),
            (lambda: TCloseness(0.2, distance=3), "distance"),
        ),
    ),
}
