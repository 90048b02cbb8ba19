"""Charts of relative threat: p_L against p_A, the histogram of log2 Ti, threatened people by group.

They show no single person's quasi-identifiers; a point is a case, and of many cases a sample.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.relative_threat.learnt import Belief
from sfumato.adversaries.relative_threat.measures import threatened
from sfumato.adversaries.relative_threat.result import RelativeThreat
from sfumato.report.figure import Figure, Series

Who = Literal["attacker", "learner"]
MOST_POINTS = 2_000
_BIN = 0.25  # of log2 Ti


def scatter(threat: RelativeThreat, who: Who, title: str = "") -> Figure:
    """p_A against p_L of the true value, for people threatened under one of the two beliefs."""
    rows = threat.judged
    chosen = np.flatnonzero(_belief(threat, who).hit > 0)
    shown = chosen
    if len(chosen) > MOST_POINTS:
        shown = np.sort(np.random.default_rng(0).permutation(chosen)[:MOST_POINTS])
    p_l, p_a = rows.learner.p[shown], rows.attacker.p[shown]
    above = float(rows.people.n[chosen][rows.ti[chosen] > 1].sum())
    people = float(rows.people.n[chosen].sum())
    share = f"{above / people:.0%}" if people else "none"
    sample = f", {len(shown):,} of {len(chosen):,} cases drawn" if len(shown) < len(chosen) else ""
    return Figure(
        title or f"Learner against attacker, people threatened by the {who}",
        "points",
        "p_L of the true value",
        "p_A of the true value",
        (Series(f"threatened by the {who}", p_l.tolist(), p_a.tolist()),),
        behind=(Series("equal", [0.0, 1.0], [0.0, 1.0]),),
        alt=f"For {share} of them the attacker is surer of the true value{sample}.",
    )


def histogram(threat: RelativeThreat, who: Who, title: str = "") -> Figure:
    """People by log2 Ti."""
    rows, belief = threat.judged, _belief(threat, who)
    chosen = (belief.hit > 0) & (rows.ti > 0)
    logs, n = np.log2(rows.ti[chosen]), rows.people.n[chosen]
    found = threatened(rows, who)
    edges, counts = _bins(logs, n)
    return Figure(
        title or f"log2 Ti, people threatened by the {who}",
        "bars",
        "log2 Ti",
        "people",
        (Series(f"threatened by the {who}", edges, counts),),
        alt=(
            f"{found.any_mode:,} people; skewness {found.skewness:.2f}, {found.doubled:.1%} of "
            f"them with log2 Ti of 1 or more, highest Ti {found.highest:.3g}."
        ),
    )


def _bins(
    logs: npt.NDArray[np.float64], n: npt.NDArray[np.int64]
) -> tuple[list[float], list[float]]:
    if not len(logs):
        return [], []
    first = int(np.floor(logs.min() / _BIN))
    place = np.floor(logs / _BIN).astype(np.int64) - first
    counts = np.bincount(place, weights=n)
    return [(first + bar + 0.5) * _BIN for bar in range(len(counts))], counts.tolist()


def by_group(threat: RelativeThreat, title: str = "") -> Figure:
    """The share of every group's people who are threatened, from most to least."""
    rows = threat.judged
    known = rows.people.group >= 0
    group, n = rows.people.group[known], rows.people.n[known]
    size = np.bincount(group, weights=n)
    there = size > 0
    whole, series, all_of = int(there.sum()), [], 0
    for who, belief in (("attacker", rows.attacker), ("learner", rows.learner)):
        hit = np.bincount(group, weights=n * (belief.hit[known] > 0), minlength=len(size))
        shares = np.sort(hit[there] / size[there])[::-1].tolist()
        series.append(Series(f"threatened by the {who}", list(range(1, whole + 1)), shares))
        if who == "attacker":
            all_of = sum(share >= 1 for share in shares)
    missing = int(rows.people.n[~known].sum())
    left = f" {missing:,} people fit several groups and are left out." if missing else ""
    return Figure(
        title or "Threatened people by group",
        "steps",
        "group, the most threatened first",
        "share of its people",
        tuple(series),
        alt=f"In {all_of:,} of {whole:,} groups everybody is threatened by the attacker.{left}",
    )


def _belief(threat: RelativeThreat, who: Who) -> Belief:
    return threat.judged.attacker if who == "attacker" else threat.judged.learner
