"""Examples of distribution-leakage and entropy-leakage."""

from __future__ import annotations

import math

from sfumato.adversaries.leakage.metrics import FURTHER
from sfumato.criteria.leakage import DistributionLeakage, EntropyLeakage
from tests.criteria.examples.base import Example

EXAMPLES: dict[str, Example] = {
    "distribution-leakage": Example(
        (
            DistributionLeakage(0),
            DistributionLeakage(0.3),
            DistributionLeakage(0.5),
            DistributionLeakage(0.4, prior="uniform"),
            DistributionLeakage(0.6, prior={"a": 1}),
            *(
                DistributionLeakage(0.3, metric=metric, prior=prior)
                for metric in FURTHER
                for prior in ("table", "uniform")
            ),
        ),
        DistributionLeakage(0.1),
        (
            (lambda: DistributionLeakage(1.2, metric="hellinger"), "epsilon"),
            (lambda: DistributionLeakage(0.2, metric="manhattan"), "metric"),
            (lambda: DistributionLeakage(0.2, metric=None), "metric"),
            (lambda: DistributionLeakage(-0.1), "epsilon"),
            (lambda: DistributionLeakage(1.5), "epsilon"),
            (lambda: DistributionLeakage(math.nan), "epsilon"),
            (lambda: DistributionLeakage(math.inf), "epsilon"),
            (lambda: DistributionLeakage("0.2"), "epsilon"),
            (lambda: DistributionLeakage(0.2, prior="census"), "prior"),
            (lambda: DistributionLeakage(0.2, prior={"given": []}), "prior"),
            (lambda: DistributionLeakage(0.2, prior={"a": -1}), "prior"),
            (lambda: DistributionLeakage(0.2, joint=["a"]), "joint"),
            (lambda: DistributionLeakage(0.2, joint=["a", "b"], sensitive="a"), "joint"),
        ),
    ),
    "entropy-leakage": Example(
        (
            EntropyLeakage(0),
            EntropyLeakage(0.3),
            EntropyLeakage(1),
            EntropyLeakage(0.6, prior="uniform"),
            EntropyLeakage(0.9, prior={"a": 1}),
        ),
        EntropyLeakage(0.1),
        (
            (lambda: EntropyLeakage(-0.1), "alpha"),
            (lambda: EntropyLeakage(math.nan), "alpha"),
            (lambda: EntropyLeakage(math.inf), "alpha"),
            (lambda: EntropyLeakage(None), "alpha"),
            (lambda: EntropyLeakage(1, prior=[]), "prior"),
            (lambda: EntropyLeakage(1, joint=["a", "a"]), "joint"),
        ),
    ),
}
