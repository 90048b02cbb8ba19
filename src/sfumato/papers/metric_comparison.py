"""Which measure of leakage notices what? (Ren, Li: Figure 1)

From the expected distribution a, walk straight to another one, x: (1 - t) a + t x. A measure that
grows at once is sensitive to small leaks, one that grows late forgives them. Then permute a: the
values change places, which no entropy can notice. Last, draw distributions at random and ask
whether the measures agree on which of them leak more (Spearman's rank correlation).

Stands apart: the walk between distributions, one figure of the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.adversaries.leakage.metrics import METRICS
from sfumato.errors import InputError
from sfumato.numbers import Floats
from sfumato.papers.evidence import EvidenceRow, claimed
from sfumato.report.document import Chart, Series, Sheet

# How far two distributions lie apart, by seven measures (the leakage paper's Figure 1): those that
# criteria take, L1 and the difference of entropies. Each takes distributions as rows, and what was
# expected of all of them.

Distance = Callable[[Floats, Floats], Floats]


def _l1(rows: Floats, expected: Floats) -> Floats:
    return 2 * METRICS["total-variation"].between(rows, expected)


def _entropy_leakage(rows: Floats, expected: Floats) -> Floats:
    return np.asarray(np.abs(_entropy(rows) - _entropy(expected[None, :])), dtype=np.float64)


def _entropy(rows: Floats) -> Floats:
    logs = np.log2(np.where(rows > 0, rows, 1.0))
    return np.asarray(-(rows * logs).sum(axis=1), dtype=np.float64)


DISTANCES: dict[str, Distance] = {
    "L1": _l1,
    "Euclidean": METRICS["euclidean"].between,
    "Kullback-Leibler": METRICS["kullback-leibler"].between,
    "Jensen-Shannon": METRICS["jensen-shannon"].between,
    "Hellinger": METRICS["hellinger"].between,
    "earth mover": METRICS["earth-mover"].between,
    "entropy": _entropy_leakage,
}

_EARLY, _HALF = 0.1, 0.5


@dataclass(frozen=True)
class MetricComparison:
    """`curves[m]` is measure m along `steps`; `permuted[m]` its values on permutations of a.

    `correlation[i, j]` is the rank correlation of two measures, in the order of the names.
    """

    expected: Floats
    steps: Floats
    curves: dict[str, Floats]
    permuted: dict[str, Floats]
    correlation: Floats

    def sensitivity(self, name: str, t: float) -> float:
        """The share of its final value a measure has reached at t; NaN if that is 0 or infinite."""
        curve = self.curves[name]
        end = float(curve[-1])
        if not np.isfinite(end) or end <= 0:
            return float("nan")
        return float(np.interp(t, self.steps, curve)) / end

    def tables(self) -> tuple[Sheet, ...]:
        """Sensitivity and correlation as tables."""
        names = tuple(self.curves)
        rows = tuple(
            (
                name,
                self.sensitivity(name, _EARLY),
                self.sensitivity(name, _HALF),
                float(self.curves[name][-1]),
                float(self.permuted[name].min()),
                float(self.permuted[name].max()),
            )
            for name in names
        )
        matrix = tuple(
            (name, *(float(value) for value in row))
            for name, row in zip(names, self.correlation, strict=True)
        )
        return (
            Sheet(
                ("measure", "at t = .1", "at t = .5", "at t = 1", "permuted, least", "most"),
                rows,
                "Sensitivity: the share of its final value reached at t; values under permutations",
            ),
            Sheet(("measure", *names), matrix, "Rank correlation over random distributions"),
        )

    def charts(self) -> tuple[Chart, ...]:
        """The walk, each measure as a share of where it ends; and the permutations."""
        shares = {
            name: curve / curve[-1]
            for name, curve in self.curves.items()
            if np.isfinite(curve[-1]) and curve[-1] > 0
        }
        steps = self.steps.tolist()
        order = np.argsort(self.permuted["Euclidean"], kind="stable")
        return (
            Chart(
                "Seven measures along (1 - t) a + t x",
                "lines",
                "t",
                "share of the value at t = 1",
                tuple(Series(name, steps, values.tolist()) for name, values in shares.items()),
                alt="Distances grow in proportion to t; divergences start slowly, and entropy need "
                "not be monotone.",
            ),
            Chart(
                "Permutations of a: the entropy stays, the distribution does not",
                "lines",
                "permutation, by Euclidean distance",
                "value",
                tuple(
                    Series(name, list(range(len(order))), self.permuted[name][order].tolist())
                    for name in ("Euclidean", "earth mover", "entropy")
                ),
                alt="The entropy distance is 0 for every permutation, the others are not.",
            ),
        )


def compare_metrics(
    expected: Sequence[float],
    towards: Sequence[float],
    *,
    steps: int = 101,
    permutations: int = 200,
    draws: int = 2000,
    seed: int = 0,
) -> MetricComparison:
    """Seven measures on the way from one distribution to another, and under permutations."""
    a, x = _distribution(expected, "expected"), _distribution(towards, "towards")
    if len(a) != len(x):
        raise InputError(f"expected has {len(a)} values, towards {len(x)}; they must be the same")
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, steps)
    walk = (1 - t[:, None]) * a + t[:, None] * x
    moved = np.vstack([a[rng.permutation(len(a))] for _ in range(permutations)])
    drawn = rng.dirichlet(np.ones(len(a)), draws)
    values = np.vstack([measure(drawn, a) for measure in DISTANCES.values()])
    return MetricComparison(
        a,
        t,
        {name: measure(walk, a) for name, measure in DISTANCES.items()},
        {name: measure(moved, a) for name, measure in DISTANCES.items()},
        np.corrcoef(np.vstack([_ranks(row) for row in values])),
    )


def _distribution(shares: Sequence[float], name: str) -> Floats:
    distribution = np.asarray(shares, dtype=np.float64)
    fine = (
        distribution.ndim == 1
        and len(distribution) > 1
        and np.isfinite(distribution).all()
        and (distribution >= 0).all()
    )
    if not fine or abs(distribution.sum() - 1) > 1e-9:
        raise InputError(f"{name} is no distribution: two or more shares, 0 or more, that sum to 1")
    return distribution


def _ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share the mean of theirs."""
    array = pa.array(values)
    low, high = (pc.rank(array, tiebreaker=way).to_numpy() for way in ("min", "max"))
    return np.asarray(low + high, dtype=np.float64) / 2


def judge_figure(comparison: MetricComparison) -> list[EvidenceRow]:
    """What is said of Fig. 1: its axes are not at hand, so it is our reading that is judged."""
    early = {name: comparison.sensitivity(name, 0.1) for name in comparison.curves}
    straight = min(early["L1"], early["Euclidean"])
    more = [name for name, share in early.items() if share > straight + 1e-9]
    names = list(comparison.curves)
    place = names.index("entropy")
    others = [at for at in range(len(names)) if at != place]
    with_entropy = comparison.correlation[place, others]
    among = comparison.correlation[np.ix_(others, others)][np.triu_indices(len(others), 1)]
    permuted = float(np.abs(comparison.permuted["entropy"]).max())
    return [
        claimed(
            "Fig. 1, sensitivity",
            "L1 and Euclidean are most sensitive to small changes",
            not more,
            "share of its final value a measure has reached at t = .1: "
            + ", ".join(f"{name} {share:.3g}" for name, share in early.items()),
            f"on this way {' and '.join(more)} grow faster at first; the figure's axes are not at "
            "hand, so this is our reading of sensitive",
        ),
        claimed(
            "Fig. 1, independence",
            "entropy alone is independent of the others",
            bool(with_entropy.max() < among.min()),
            f"rank correlations with entropy {with_entropy.min():.2f} to {with_entropy.max():.2f}, "
            f"among the others {among.min():.2f} to {among.max():.2f}",
            "some of the others are no nearer to each other than to entropy",
        ),
        claimed(
            "Remark on permutations",
            "the entropy does not notice them",
            permuted < 1e-12,
            f"entropy moves by at most {permuted:g}, L_D by up to "
            f"{comparison.permuted['Euclidean'].max():.3g}",
        ),
    ]
