"""Everybody's own value as each of the three would guess it: private, one line a case.

A row is *threatened* under a belief if its true value is a mode of that belief. Ties are not drawn
for: a value that is one of m modes counts 1/m (what guessing among them gives on average), and
whether it is any mode at all is kept beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.relative_threat.ideal import Ideal
from sfumato.adversaries.relative_threat.learnt import Conditional, Learnt
from sfumato.adversaries.relative_threat.people import People
from sfumato.adversaries.relative_threat.posterior import jackknife
from sfumato.counts.counts import Ints

Floats = npt.NDArray[np.float64]
TWICE = 2 * (1 - 1e-12)  # log2 Ti of 1 or more
TIE = 1e-9  # beliefs that differ by less, relatively, are equal
SURE = 3.0  # standard errors within which nothing is taken for decided
_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Belief:
    """What one of them believes of each case: its probability, and 1/modes if it is a mode, else 0.

    `error` is the Monte Carlo error of `p`. `short` is how far it lies below the highest belief, at
    most so far as sampling may be off (0: it may be a mode). By replicate: `hits`, the expected
    number of people guessed right, and `missed`, the sum of (1 - p).
    """

    p: Floats
    hit: Floats
    error: Floats
    short: Floats
    hits: Floats
    missed: Floats


@dataclass(frozen=True)
class Rows:
    """The beliefs about every case, and Ti = p_A / p_L with its error.

    `ti_sums`, by replicate, of the people threatened under the attacker's and under the learner's
    belief: how many, how many with Ti of 2 or more, and the sums of log2 Ti, its square and cube.
    """

    people: People
    attacker: Belief
    learner: Belief
    random_worlds: Belief
    ideal: Belief
    ti: Floats
    ti_error: Floats
    ti_sums: Mapping[str, Floats]


def judge_rows(
    learnt: Learnt, people: People, ideal: Ideal, conditional: Conditional | None
) -> Rows:
    """Work out every belief, block by block of tuples."""
    names = ("attacker", "learner", "random_worlds", "ideal")
    blocks: dict[str, list[Belief]] = {name: [] for name in names}
    ratios: list[Floats] = []
    errors: list[Floats] = []
    sums: dict[str, list[Floats]] = {name: [] for name in names[:2]}
    width = len(ideal.log_pi)
    total = people.codes.shape[1]
    step = max(1, _AT_ONCE // (width * (1 if learnt.kept is None else 21)))
    for start in range(0, total, step):
        stop = min(start + step, total)
        low, high = np.searchsorted(people.tuples, [start, stop])
        if low == high:
            continue
        asked = np.unique(people.tuples[low:high])
        codes = np.ascontiguousarray(people.codes[:, asked])
        where = people.where.take(asked)
        place = np.searchsorted(asked, people.tuples[low:high])
        cases = (place, people.s[low:high], people.n[low:high])
        p_a = learnt.attacker(codes, where)
        p_l = learnt.learner(codes, where) if conditional is None else conditional.learner(codes)
        blocks["attacker"].append(_belief(p_a, *cases))
        blocks["learner"].append(_belief(p_l, *cases))
        blocks["random_worlds"].append(_belief(learnt.random_worlds(codes, where), *cases))
        blocks["ideal"].append(_belief(ideal.learner(codes)[None], *cases))
        ratio = _paired(p_a[:, place, cases[1]], p_l[:, place, cases[1]])
        ratios.append(ratio[0])
        errors.append(jackknife(ratio))
        for name, listed in sums.items():
            listed.append(_ti_sums(ratio, cases[2], blocks[name][-1].hit > 0))
    joined = {name: _joined(blocks[name]) for name in names}
    return Rows(
        people,
        **joined,
        ti=_concatenated(ratios),
        ti_error=_concatenated(errors),
        ti_sums={name: np.sum(listed, axis=0) for name, listed in sums.items() if listed},
    )


def _ti_sums(ratio: Floats, n: Ints, chosen: npt.NDArray[np.bool_]) -> Floats:
    """Replicates by five sums over the chosen cases; a Ti of 0 has no logarithm."""
    ti, weights = ratio[:, chosen], n[chosen].astype(np.float64)
    possible = (ti > 0) & np.isfinite(ti)
    logs = np.log2(np.where(possible, ti, 1.0))
    parts = (possible, ti >= TWICE, logs, logs**2, logs**3)
    summed: Floats = np.stack([part @ weights for part in parts], axis=1)
    return summed


def _paired(p_a: Floats, p_l: Floats) -> Floats:
    """p_A / p_L by replicate; one that is exact goes with every replicate of the other."""
    many = max(len(p_a), len(p_l))
    # The errors of two samplings are independent: what the longer has no partner for stays put.
    a = p_a if len(p_a) == many else np.repeat(p_a[:1], many, axis=0)
    b = p_l if len(p_l) == many else np.repeat(p_l[:1], many, axis=0)
    ratio: Floats = np.divide(a, b, out=np.full(a.shape, np.inf), where=b > 0)
    return ratio


def _belief(beliefs: Floats, place: Ints, s: Ints, n: Ints) -> Belief:
    """What replicates by tuples by values say of cases at these tuples."""
    highest = beliefs.max(axis=2)
    modes = beliefs >= (highest * (1 - TIE))[:, :, None]
    own = beliefs[:, place, s]
    hit = np.where(modes[:, place, s] & (own > 0), 1 / modes.sum(axis=2)[:, place], 0.0)
    below = highest[:, place] - own
    short = np.maximum(below[0] - SURE * jackknife(below), 0.0)
    short[hit[0] > 0] = 0.0
    return Belief(own[0], hit[0], jackknife(own), short, hit @ n, (1 - own) @ n)


def _joined(blocks: list[Belief]) -> Belief:
    none = np.zeros(0)
    if not blocks:
        return Belief(none, none, none, none, np.zeros(1), np.zeros(1))
    return Belief(
        np.concatenate([one.p for one in blocks]),
        np.concatenate([one.hit for one in blocks]),
        np.concatenate([one.error for one in blocks]),
        np.concatenate([one.short for one in blocks]),
        np.sum([one.hits for one in blocks], axis=0),
        np.sum([one.missed for one in blocks], axis=0),
    )


def _concatenated(arrays: list[Floats]) -> Floats:
    return np.concatenate([np.zeros(0), *arrays])
