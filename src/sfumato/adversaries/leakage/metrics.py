"""Metrics of leakage (Ren, Li: Section IV): how far what a class shows lies from what was expected.

The paper takes the Euclidean distance and says that any metric of distributions may stand in its
place. Here are the usual ones, of the distribution x of a class against the expected a:

    euclidean         root of the sum of (x - a)^2: the paper's distribution leakage
    kullback-leibler  sum of x log2(x / a), bits; infinite where a class shows what nobody expected
    jensen-shannon    mean of the gains of x and of a over their middle, bits, at most 1
    hellinger         root of half the sum of (sqrt(x) - sqrt(a))^2, at most 1
    chi-square        sum of (x - a)^2 / a; infinite as Kullback-Leibler is
    total-variation   half the sum of |x - a|: the earth mover's with all values equally far
    earth-mover       work to move a to x along the values' order, neighbours 1 / (m - 1) apart

Each is convex in x for a fixed a (a root of a convex one is quasi-convex): a class put together of
two is a mixture of both, and never further from a than the further of them.

Each is a sum over values. A class stores only the values it shows; what was expected in vain adds
its share times what a unit of it costs.

The values of earth-mover are those that somebody was expected to have or has in the table, in their
order, as t-closeness has them; a value without a place among them is as far as can be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from sfumato.adversaries.leakage.expectation import Expectation, leakage
from sfumato.errors import InputError, did_you_mean
from sfumato.numbers import Bools, Floats
from sfumato.release.groups import Groups

Terms = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class Metric:
    """One metric: what its value is called, its largest value, and how it is summed.

    `terms(a, x)` is what each value adds; `vain` what a unit of share adds that was expected and is
    not shown. `rooted`: the metric is the root of the sum. None: it is not such a sum.
    """

    name: str
    sign: str
    most: float
    terms: Terms | None = None
    vain: float = 0.0
    rooted: bool = False
    unit: str = ""

    @property
    def ordered(self) -> bool:
        """Whether it asks for the order of the values."""
        return self.name == EARTH_MOVER

    def of(self, groups: Groups, expected: Expectation) -> Floats:
        """How far every class lies from what was expected; infinite where no prior covers it."""
        summed = self.unrooted(groups, expected)
        return np.sqrt(summed) if self.rooted else summed

    def unrooted(self, groups: Groups, expected: Expectation) -> Floats:
        """The same before the root is taken, if one is: a fraction where all shares are."""
        if self.name == EUCLIDEAN:
            return leakage(groups, expected).squared
        if self.terms is None:
            distance = _moved(groups, expected)
        else:
            a = expected.met(groups)
            distance = np.maximum(_summed(groups, self.terms(a, groups.share)), 0.0)
            if self.vain:
                distance += self.vain * _in_vain(groups, expected, a)
        distance[expected.of < 0] = inf
        return distance

    def between(self, rows: Floats, expected: Floats) -> Floats:
        """The metric of distributions given as rows, every value in its place."""
        if self.terms is None:
            moved = np.abs(np.cumsum(rows - expected, axis=1))[:, :-1]
            return np.asarray(moved.sum(axis=1) / max(rows.shape[1] - 1, 1))
        summed = self.terms(np.broadcast_to(expected, rows.shape), rows).sum(axis=1)
        return np.sqrt(summed) if self.rooted else np.asarray(summed)


def _gain(x: Floats, a: Floats) -> Floats:
    """x log2(x / a), 0 where x is."""
    there = x > 0
    with np.errstate(divide="ignore"):
        logs = np.log2(np.where(there, x, 1.0)) - np.log2(np.where(there, a, 1.0))
    return np.where(there, x * logs, 0.0)


def _squares(a: Floats, x: Floats) -> Floats:
    return np.asarray((x - a) ** 2)


def _kullback_leibler(a: Floats, x: Floats) -> Floats:
    return _gain(x, a)


def _jensen_shannon(a: Floats, x: Floats) -> Floats:
    middle = (a + x) / 2
    return np.asarray((_gain(x, middle) + _gain(a, middle)) / 2)


def _hellinger(a: Floats, x: Floats) -> Floats:
    return np.asarray((np.sqrt(x) - np.sqrt(a)) ** 2 / 2)


def _chi_square(a: Floats, x: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((a > 0) | (x > 0), (x - a) ** 2 / a, 0.0)


def _total_variation(a: Floats, x: Floats) -> Floats:
    return np.asarray(np.abs(x - a) / 2)


EUCLIDEAN, EARTH_MOVER = "euclidean", "earth-mover"
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(EUCLIDEAN, "L_D", 2**0.5, _squares, rooted=True),
        Metric("kullback-leibler", "KL", inf, _kullback_leibler, unit=" bits"),
        Metric("jensen-shannon", "JS", 1, _jensen_shannon, 0.5, unit=" bits"),
        Metric("hellinger", "Hellinger", 1, _hellinger, 0.5, rooted=True),
        Metric("chi-square", "chi²", inf, _chi_square, 1.0),
        Metric("total-variation", "TV", 1, _total_variation, 0.5),
        Metric(EARTH_MOVER, "EMD", 1),
    )
}
FURTHER = tuple(name for name in METRICS if name != EUCLIDEAN)
ALL = "all"


def named_metrics(given: str | Sequence[str], *, ordered: bool) -> tuple[str, ...]:
    """The metrics beside the paper's two; "all" has those of an order only where there is one."""
    names = [given] if isinstance(given, str) else list(given)
    if names == [ALL]:
        return tuple(name for name in FURTHER if ordered or not METRICS[name].ordered)
    for name in names:
        if name not in FURTHER:
            raise InputError(f"metric {name!r} is not known; {did_you_mean(name, (*FURTHER, ALL))}")
        if METRICS[name].ordered and not ordered:
            raise InputError(
                f"metric {name!r} needs values in an order; use 'total-variation', or declare "
                "every target's values in order in domains"
            )
    return tuple(dict.fromkeys(names))


def _summed(groups: Groups, terms: Floats) -> Floats:
    return np.bincount(groups.row, terms, minlength=len(groups)).astype(np.float64, copy=False)


def _in_vain(groups: Groups, expected: Expectation, a: Floats) -> Floats:
    """The share that was expected of values a class does not show: exactly nothing where it is."""
    occurring = _summed(groups, (a > 0).astype(np.float64))
    missing = expected.rows.support[expected.of] > occurring
    return np.where(missing, np.maximum(1.0 - _summed(groups, a), 0.0), 0.0)


def placed(groups: Groups, expected: Expectation) -> Bools:
    """Which values have a place in the order: somebody has them, or was expected to."""
    known = groups.reference > 0
    known[expected.rows.values[expected.rows.values < groups.width]] = True
    return known


def _moved(groups: Groups, expected: Expectation) -> Floats:
    places, width = placed(groups, expected), groups.width
    distance = np.zeros(len(groups))
    for start, stop in groups.blocks():
        rows, at = np.unique(np.maximum(expected.of[start:stop], 0), return_inverse=True)
        a = np.vstack([expected.rows.of_row(row, width)[:width] for row in rows.tolist()])
        shares = groups.dense(start, stop) / groups.sizes[start:stop, None]
        distance[start:stop] = METRICS[EARTH_MOVER].between(shares[:, places], a[at][:, places])
    distance[groups.row[~places[groups.indices]]] = 1.0
    return distance
