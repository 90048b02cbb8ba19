"""Examples of epsilon-privacy."""

from __future__ import annotations

import math

from sfumato.adversaries.realistic.adversary import RealisticAdversary
from sfumato.criteria.epsilon_privacy import EpsilonPrivacy
from tests.criteria.examples.base import Example

EXAMPLES: dict[str, Example] = {
    "epsilon-privacy": Example(
        (
            EpsilonPrivacy(3, RealisticAdversary("uniform", 10)),
            EpsilonPrivacy(4, RealisticAdversary("table", 1e3)),
            EpsilonPrivacy(1.5, RealisticAdversary("table", 1e6, at_most=False)),
            EpsilonPrivacy(5, RealisticAdversary(stubbornness=20)),
            EpsilonPrivacy(4, RealisticAdversary(stubbornness=8, known=1)),
            EpsilonPrivacy(2, RealisticAdversary("uniform", math.inf)),
            EpsilonPrivacy(3, RealisticAdversary("table", math.inf, known=1)),
            EpsilonPrivacy(3, RealisticAdversary("uniform", 10), mode="theorem"),
            EpsilonPrivacy(4, RealisticAdversary("uniform", 10), predicates="all"),
            EpsilonPrivacy(6, RealisticAdversary(stubbornness=10), predicates="all"),
            EpsilonPrivacy(6, RealisticAdversary("uniform", 30, negations=1)),
            EpsilonPrivacy(9, RealisticAdversary(stubbornness=10, negations=2)),
            EpsilonPrivacy(4, RealisticAdversary("table", math.inf, negations=1, at_most=False)),
        ),
        EpsilonPrivacy(1000, RealisticAdversary(stubbornness=3)),
        (
            (lambda: EpsilonPrivacy(0.9, RealisticAdversary("uniform", 10)), "epsilon"),
            (lambda: EpsilonPrivacy(math.nan, RealisticAdversary("uniform", 10)), "epsilon"),
            (lambda: EpsilonPrivacy(math.inf, RealisticAdversary("uniform", 10)), "epsilon"),
            (lambda: EpsilonPrivacy("2", RealisticAdversary("uniform", 10)), "epsilon"),
            (lambda: EpsilonPrivacy(2, None), "adversary"),
            (lambda: EpsilonPrivacy(2, RealisticAdversary("uniform", 10), joint=["a"]), "joint"),
            (lambda: EpsilonPrivacy(2, RealisticAdversary("uniform", 10), joint=3), "joint"),
            (lambda: EpsilonPrivacy(2, "uniform"), "adversary"),
            (
                lambda: EpsilonPrivacy(2, RealisticAdversary("uniform", 10), predicates="some"),
                "predicates",
            ),
            (
                lambda: EpsilonPrivacy(2, RealisticAdversary("uniform", 10), predicates="protect"),
                "predicates",
            ),
            (
                lambda: EpsilonPrivacy(
                    2, RealisticAdversary("uniform", 10), predicates=[{"no": 1}]
                ),
                "predicates",
            ),
            (lambda: EpsilonPrivacy(2, RealisticAdversary("uniform", 10), mode="fast"), "mode"),
        ),
    ),
}
