"""Examples of k-anonymity, alpha-k-anonymity and k-map."""

from __future__ import annotations

import math

from sfumato.criteria.k_anonymity import AlphaK, KAnonymity, KMap
from tests.criteria.examples.base import Example

EXAMPLES: dict[str, Example] = {
    "k-anonymity": Example(
        (KAnonymity(1), KAnonymity(2), KAnonymity(5)),
        None,
        (
            (lambda: KAnonymity(0), "k"),
            (lambda: KAnonymity(2.5), "k"),
            (lambda: KAnonymity("2"), "k"),
            (lambda: KAnonymity(True), "k"),
            (lambda: KAnonymity(None), "k"),
            (lambda: KAnonymity(math.inf), "k"),
            (lambda: KAnonymity(2, columns="age"), "columns"),
            (lambda: KAnonymity(2, columns=[]), "columns"),
            (lambda: KAnonymity(2, sets=["age", "zip"]), "sets"),
            (lambda: KAnonymity(2, sets=[]), "sets"),
            (lambda: KAnonymity(2, sets=[[]]), "sets"),
            (lambda: KAnonymity(2, up_to=0), "up_to"),
            (lambda: KAnonymity(2, columns=["age"], up_to=1), "columns"),
        ),
    ),
    "alpha-k-anonymity": Example(
        (AlphaK(0.5, 1), AlphaK(0.5, 4), AlphaK(0.75, 2), AlphaK(1, 2), AlphaK(0.4, 1)),
        AlphaK(0.5, 1),
        (
            (lambda: AlphaK(0, 2), "alpha"),
            (lambda: AlphaK(1.01, 2), "alpha"),
            (lambda: AlphaK(math.nan, 2), "alpha"),
            (lambda: AlphaK(math.inf, 2), "alpha"),
            (lambda: AlphaK("half", 2), "alpha"),
            (lambda: AlphaK(0.5, 0), "k"),
            (lambda: AlphaK(0.5, 2.0), "k"),
        ),
    ),
    "k-map": Example(
        (KMap(1, "weights"), KMap(3, "weights"), KMap(8, "weights")),
        None,
        (
            (lambda: KMap(0, "weights"), "k"),
            (lambda: KMap(2.5, "weights"), "k"),
            (lambda: KMap(True, "weights"), "k"),
            (lambda: KMap(2, "register.csv"), "population"),
            (lambda: KMap(2, None), "population"),
        ),
    ),
}
