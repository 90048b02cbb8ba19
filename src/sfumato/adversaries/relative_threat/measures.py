"""The paper's measures over all people of a release, each with its Monte Carlo error.

GT: the share of people whose true value is a mode of a belief (global threat), for the attacker,
the learner and random worlds. RGT = max(0, GT_A - GT_L): what knowing that somebody is in the table
adds. RF: `faithfulness.py`. ABS = 2 (N - sum of p(own value)): the distance of all beliefs from the
truth. Ti = p_A / p_L for threatened rows: how much more surely an attacker knows a person.

Erratum: Table IV's RGT at k = 6 is .0238.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.relative_threat.case_beliefs import TWICE, Belief, Rows
from sfumato.adversaries.relative_threat.faithfulness import Faithfulness
from sfumato.adversaries.relative_threat.posterior import jackknife

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Threatened:
    """Ti over the rows threatened under one belief.

    `any_mode` people's true value is a mode. `doubled`: the share of them with log2 Ti >= 1.
    `skewness` is that of log2 Ti; positive where a few are known far better than most. `errors` are
    the Monte Carlo errors by name (0 where exact), of the people who are threatened by the whole
    sample.
    """

    any_mode: int
    highest: float
    doubled: float
    mean_log2: float
    skewness: float
    errors: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Measures:
    """Shares of people, and their errors by name where beliefs were sampled (0 where exact)."""

    people: int
    gt_attacker: float
    gt_learner: float
    gt_random_worlds: float
    gt_ideal: float
    baseline: float
    rgt: float
    rf: float | None
    abs_attacker: float
    abs_random_worlds: float
    attacker: Threatened
    learner: Threatened
    any_random_worlds: int
    errors: Mapping[str, float] = field(default_factory=dict)


def measure(rows: Rows, faithful: Faithfulness | None, most_frequent: float) -> Measures:
    n = rows.people.n
    people = max(int(n.sum()), 1)

    def share(belief: Belief) -> Floats:
        return belief.hits / people

    gt_a, gt_l = share(rows.attacker), share(rows.learner)
    many = max(len(gt_a), len(gt_l))
    gap = _to(gt_a, many) - _to(gt_l, many)
    rgt = np.maximum(gap, 0.0)
    errors = {
        "gt_attacker": float(jackknife(gt_a)),
        "gt_learner": float(jackknife(gt_l)),
        # Clipping at 0 must not hide the error of the difference.
        "rgt": float(jackknife(gap)),
        "abs_attacker": 2 * float(jackknife(rows.attacker.missed)),
        "rf": faithful.error + faithful.bound if faithful is not None else 0.0,
    }
    return Measures(
        people=int(n.sum()),
        gt_attacker=float(gt_a[0]),
        gt_learner=float(gt_l[0]),
        gt_random_worlds=float(share(rows.random_worlds)[0]),
        gt_ideal=float(share(rows.ideal)[0]),
        baseline=most_frequent,
        rgt=float(rgt[0]),
        rf=None if faithful is None else faithful.value,
        abs_attacker=2 * float(rows.attacker.missed[0]),
        abs_random_worlds=2 * float(rows.random_worlds.missed[0]),
        attacker=threatened(rows, "attacker"),
        learner=threatened(rows, "learner"),
        any_random_worlds=int(n[rows.random_worlds.hit > 0].sum()),
        errors=errors,
    )


def _to(figures: Floats, many: int) -> Floats:
    return figures if len(figures) == many else np.repeat(figures[:1], many)


def threatened(rows: Rows, who: Literal["attacker", "learner"]) -> Threatened:
    belief: Belief = getattr(rows, who)
    chosen = belief.hit > 0
    n = rows.people.n[chosen]
    if not n.sum():
        return Threatened(0, 0.0, 0.0, float("nan"), float("nan"))
    ti = rows.ti[chosen]
    positive = ti > 0
    logs, weights = np.log2(ti[positive]), n[positive]
    mean = float(np.average(logs, weights=weights))
    spread = float(np.average((logs - mean) ** 2, weights=weights))
    third = float(np.average((logs - mean) ** 3, weights=weights))
    return Threatened(
        int(n.sum()),
        float(ti.max()),
        float(n[ti >= TWICE].sum() / n.sum()),
        mean,
        third / spread**1.5 if spread > 1e-24 else 0.0,
        _errors(rows, chosen, rows.ti_sums[who]),
    )


def _errors(rows: Rows, chosen: npt.NDArray[np.bool_], sums: Floats) -> dict[str, float]:
    people, doubled, first, second, third = sums.T
    mean = first / people
    spread = np.maximum(second / people - mean**2, 0.0)
    skew = third / people - 3 * mean * second / people + 2 * mean**3
    skewness = np.divide(skew, spread**1.5, out=np.zeros_like(skew), where=spread > 1e-12)
    return {
        "highest": float(rows.ti_error[chosen][np.argmax(rows.ti[chosen])]),
        "doubled": float(jackknife(doubled / rows.people.n[chosen].sum())),
        "mean_log2": float(jackknife(mean)),
        "skewness": float(jackknife(skewness)),
    }
