"""The paper's measures over all people of a release, each with its Monte Carlo error.

GT: the share of people whose true value is a mode of a belief (global threat), for the attacker,
the learner and random worlds; where other than the value is to be gained, the share of all that
could be (`guesses`). RGT = max(0, GT_A - GT_L): what knowing that somebody is in the table
adds. RF is told below. ABS = 2 (N - sum of p(own value)): the distance of all beliefs from the
truth. Ti = p_A / p_L for threatened rows: how much more surely an attacker knows a person.

Erratum: Table IV's RGT at k = 6 is .0238.

And relative faithfulness: how much of the population a release still teaches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.relative_threat.atoms import Generalized
from sfumato.adversaries.relative_threat.bucketized import Bucketized
from sfumato.adversaries.relative_threat.guesses import TWICE, Belief, CaseBeliefs
from sfumato.adversaries.relative_threat.learnt import Ideal
from sfumato.adversaries.relative_threat.model import jackknife
from sfumato.numbers import Floats

# Relative faithfulness RF = 1 - TV(p_I, p_L): how much of the population a release still teaches.
#
# TV(p_I, p_L) = sum over s of p_I(s) E[(1 - p_L / p_I)+], the expectation over people r with s as
# the ideal learner sees them. Where p_L is a product over columns, log(p_L / p_I) is a sum of
# independent terms, one a column. The columns are put in two halves, the distribution of each
# half's sum is worked out, and the halves are met in the middle: exact, and nobody ever lists all
# combinations of values. Only where a half has too many distinct sums are near ones put together;
# the error this can make is at most how far they were moved, and it is told.
#
# Where p_L is no product (buckets), r is drawn and the same expectation estimated: its terms are
# bounded by 1 and its standard deviation is .006 where that of the paper's printed estimator is
# .78.

LIMIT = 1 << 17  # distinct sums of a half before near ones are put together
DRAWS = 2_000
_EQUAL = 1e-13  # sums of floats that differ by less are one


@dataclass(frozen=True)
class LogRatioSums:
    """The distribution of a sum of log ratios, and how far sums were moved at most."""

    x: Floats
    p: Floats
    moved: float = 0.0


@dataclass(frozen=True)
class Faithfulness:
    """RF; `error` is its Monte Carlo error, `bound` what putting sums together may have moved."""

    value: float
    error: float = 0.0
    bound: float = 0.0


def faithfulness(learnt: Generalized | Bucketized, ideal: Ideal, seed: int) -> Faithfulness:
    if isinstance(learnt, Generalized):
        return _of_products(learnt, ideal)
    return _of_draws(learnt, ideal, seed)


def _of_products(learnt: Generalized, ideal: Ideal) -> Faithfulness:
    log_pi = np.log(learnt.model.mean_pi)
    means = [learnt.log_means(place) for place in range(len(ideal.log_theta))]
    many = max((len(mean) for mean in means), default=1)
    parts, bound = [], 0.0
    for replicate in range(many):
        total, moved = 0.0, 0.0
        for s, weight in enumerate(np.exp(ideal.log_pi)):
            columns = [
                LogRatioSums(mean[min(replicate, len(mean) - 1), s] - theta[s], np.exp(theta[s]))
                for mean, theta in zip(means, ideal.log_theta, strict=True)
            ]
            excess, by = shortfall(float(log_pi[s] - ideal.log_pi[s]), columns)
            total += float(weight) * excess
            moved += float(weight) * by
        parts.append(1 - total)
        bound = max(bound, moved)
    return Faithfulness(parts[0], float(jackknife(np.array(parts))), bound)


def shortfall(shift: float, columns: Sequence[LogRatioSums]) -> tuple[float, float]:
    """E[(1 - exp(shift + sum of the columns' terms))+], and how far it may be off."""
    halves = [LogRatioSums(np.zeros(1), np.ones(1)), LogRatioSums(np.zeros(1), np.ones(1))]
    merged = sorted((_merged(column) for column in columns), key=lambda sums: -len(sums.x))
    for column in merged:
        smaller = int(len(halves[1].x) < len(halves[0].x))
        halves[smaller] = _added(halves[smaller], column)
    left, right = halves
    order = np.argsort(right.x)
    x, p = right.x[order], right.p[order]
    below = np.concatenate([[0.0], np.cumsum(p)])
    scaled = np.concatenate([[0.0], np.cumsum(p * np.exp(x))])
    at = np.searchsorted(x, -(shift + left.x))
    inner = below[at] - np.exp(shift + left.x) * scaled[at]
    return float((left.p * np.maximum(inner, 0.0)).sum()), left.moved + right.moved


def _merged(sums: LogRatioSums) -> LogRatioSums:
    """Equal sums once."""
    order = np.argsort(sums.x, kind="stable")
    x, p = sums.x[order], sums.p[order]
    starts = np.flatnonzero(np.concatenate([[True], np.diff(x) > _EQUAL]))
    summed: Floats = np.add.reduceat(p, starts)
    return LogRatioSums(x[starts], summed, sums.moved)


def _added(left: LogRatioSums, right: LogRatioSums) -> LogRatioSums:
    """The distribution of the sum of two independent terms."""
    if len(left.x) * len(right.x) > 4 * LIMIT:
        room = 2 * int(LIMIT**0.5)
        if len(right.x) > room:
            right = _coarser(right, room)
        left = _coarser(left, max(room, 4 * LIMIT // len(right.x)))
    x = (left.x[:, None] + right.x).ravel()
    p = (left.p[:, None] * right.p).ravel()
    together = _merged(LogRatioSums(x, p, left.moved + right.moved))
    return _coarser(together, LIMIT)


def _coarser(sums: LogRatioSums, most: int) -> LogRatioSums:
    """At most so many sums, near ones moved to their common mean."""
    if len(sums.x) <= most:
        return sums
    low, high = float(sums.x.min()), float(sums.x.max())
    step = (high - low) / most
    cell = np.minimum(((sums.x - low) / step).astype(np.int64), most - 1)
    p = np.bincount(cell, weights=sums.p, minlength=most).astype(np.float64)
    x = np.bincount(cell, weights=sums.p * sums.x, minlength=most).astype(np.float64)
    used = p > 0
    return LogRatioSums(x[used] / p[used], p[used], sums.moved + step)


def _of_draws(learnt: Bucketized, ideal: Ideal, seed: int) -> Faithfulness:
    rng = np.random.default_rng([seed, 19])
    pi = np.exp(ideal.log_pi)
    s = rng.choice(len(pi), size=DRAWS, p=pi / pi.sum())
    codes = np.zeros((len(ideal.log_theta), DRAWS), dtype=np.int64)
    log_ideal = ideal.log_pi[s]
    for place, theta in enumerate(ideal.log_theta):
        for value in np.unique(s).tolist():
            chance = np.exp(theta[value])
            draws = np.flatnonzero(s == value)
            codes[place, draws] = rng.choice(len(chance), size=len(draws), p=chance / chance.sum())
        log_ideal = log_ideal + theta[s, codes[place]]
    log_learnt = learnt.log_joint(codes)[:, np.arange(DRAWS), s]
    excess = np.maximum(1 - np.exp(log_learnt - log_ideal), 0.0)
    figures = 1 - excess.mean(axis=1)
    drawn = float(excess[0].std(ddof=1)) / DRAWS**0.5
    error = float(np.hypot(drawn, jackknife(figures)))
    return Faithfulness(float(figures[0]), error)


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
    """Shares of people, or of what there is to gain, and their errors by name (0 where exact)."""

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
    errors: Mapping[str, float] = field(default_factory=dict)


def measure(rows: CaseBeliefs, faithful: Faithfulness | None, baseline: float) -> Measures:
    n = rows.people.n

    def share(belief: Belief) -> Floats:
        return belief.hits / (rows.possible or 1.0)

    gt_a, gt_l = share(rows.attacker), share(rows.learner)
    many = max(len(gt_a), len(gt_l))
    gap = _to(gt_a, many) - _to(gt_l, many)
    rgt = np.maximum(gap, 0.0)
    errors = {
        "gt_attacker": float(jackknife(gt_a)),
        "gt_learner": float(jackknife(gt_l)),
        # Clipping at 0 must not hide the error of the difference.
        "rgt": float(jackknife(gap)) if jackknife(gt_a) or jackknife(gt_l) else 0.0,
        "abs_attacker": 2 * float(jackknife(rows.attacker.missed)),
        "rf": faithful.error + faithful.bound if faithful is not None else 0.0,
    }
    return Measures(
        people=int(n.sum()),
        gt_attacker=float(gt_a[0]),
        gt_learner=float(gt_l[0]),
        gt_random_worlds=float(share(rows.random_worlds)[0]),
        gt_ideal=float(share(rows.ideal)[0]),
        baseline=baseline,
        rgt=float(rgt[0]),
        rf=None if faithful is None else faithful.value,
        abs_attacker=2 * float(rows.attacker.missed[0]),
        abs_random_worlds=2 * float(rows.random_worlds.missed[0]),
        attacker=threatened(rows, "attacker"),
        learner=threatened(rows, "learner"),
        errors=errors,
    )


def _to(figures: Floats, many: int) -> Floats:
    return figures if len(figures) == many else np.repeat(figures[:1], many)


def threatened(rows: CaseBeliefs, adversary: Literal["attacker", "learner"]) -> Threatened:
    belief: Belief = getattr(rows, adversary)
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
        _errors(rows, chosen, rows.ti_sums[adversary]),
    )


def _errors(rows: CaseBeliefs, chosen: npt.NDArray[np.bool_], sums: Floats) -> dict[str, float]:
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
