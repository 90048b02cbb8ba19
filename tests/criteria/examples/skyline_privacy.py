"""Examples of skyline-privacy."""

from __future__ import annotations

import math

from sfumato.criteria.skyline_privacy import SkylinePrivacy
from tests.criteria.examples.base import Example

EXAMPLES: dict[str, Example] = {
    "skyline-privacy": Example(
        (
            SkylinePrivacy([(0, 0, 0, 0.8)]),
            SkylinePrivacy([(1, 1, 1, 0.9)]),
            SkylinePrivacy([(0, 1, 0, 1), (0, 0, 2, 1), (0, 0, 1, 0.75)]),
            SkylinePrivacy([(0, 0, 0, 0.5), {"l": 1, "k": 0, "m": 0, "c": 0.5}], value="a"),
            SkylinePrivacy([(0, 0, 0, 0.9)], value={"a": [(0, 0, 1, 0.5)]}),
        ),
        SkylinePrivacy([(0, 0, 0, 1)]),
        (
            (lambda: SkylinePrivacy([]), "points"),
            (lambda: SkylinePrivacy(None), "points"),
            (lambda: SkylinePrivacy("(0, 0, 0, 1)"), "points"),
            (lambda: SkylinePrivacy([(0, 0, 0)]), "points"),
            (lambda: SkylinePrivacy([(0, 0, 0, 1, 1)]), "points"),
            (lambda: SkylinePrivacy([(-1, 0, 0, 1)]), "points"),
            (lambda: SkylinePrivacy([(0, 1.5, 0, 1)]), "points"),
            (lambda: SkylinePrivacy([(0, 0, True, 1)]), "points"),
            (lambda: SkylinePrivacy([(0, 0, 0, 0)]), "points"),
            (lambda: SkylinePrivacy([(0, 0, 0, 1.01)]), "points"),
            (lambda: SkylinePrivacy([(0, 0, 0, math.nan)]), "points"),
            (lambda: SkylinePrivacy([{"l": 0, "k": 0, "m": 0}]), "points"),
            (lambda: SkylinePrivacy([(0, 0, 0, 1)], value=3), "value"),
            (lambda: SkylinePrivacy([(0, 0, 0, 1)], value=[]), "value"),
            (lambda: SkylinePrivacy([], value={"a": [(0, 0, 0, 2)]}), "value"),
        ),
    ),
}
