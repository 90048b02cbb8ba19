"""What an observer expects of each class before she reads the release: distributions of the target.

One for all classes, or one a class: `of[g]` says which row is class g's, -1 that none covers it.
Rows are kept sparse; they may hold values that no class shows, which she expected in vain. Weights
are whole numbers wherever they were counted or written down, so that a bound that is met exactly
can be decided exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np

from sfumato.counts.counts import Ints
from sfumato.release.groups import Floats, Groups


@dataclass(frozen=True)
class Expectation:
    """Row r expects value `values[i]` with weight `weights[i]`, i from `indptr[r]` on."""

    of: Ints
    indptr: Ints
    values: Ints
    weights: tuple[int | float, ...] | Ints | Floats

    @cached_property
    def _row(self) -> Ints:
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    @cached_property
    def shares(self) -> Floats:
        """The weights as shares of their row."""
        weights = np.asarray(self.weights, dtype=np.float64)
        total = np.bincount(self._row, weights=weights, minlength=len(self.indptr) - 1)
        return weights / total[self._row]

    def _sum(self, numbers: Floats) -> Floats:
        summed = np.bincount(self._row, weights=numbers, minlength=len(self.indptr) - 1)
        return summed.astype(np.float64)

    @cached_property
    def squares(self) -> Floats:
        """The sum of each row's squared shares."""
        return self._sum(self.shares**2)

    @cached_property
    def support(self) -> Floats:
        """How many values each row expects."""
        return self._sum(np.ones(len(self.shares)))

    @cached_property
    def entropy(self) -> Floats:
        """The entropy of each row, in bits."""
        return self._sum(-self.shares * np.log2(self.shares))

    def met(self, groups: Groups) -> Floats:
        """The expected share of each stored count's value; 0 where it was not expected."""
        if len(self.indptr) == 2:
            one = np.zeros(max(groups.width, int(self.values.max(initial=-1)) + 1))
            one[self.values] = self.shares
            return one[groups.indices]
        step = max(groups.width, int(self.values.max(initial=-1)) + 1)
        known = self._row * step + self.values
        wanted = self.of[groups.row] * step + groups.indices
        place = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))
        there = (known[place] == wanted) if len(known) else np.zeros(len(wanted), dtype=bool)
        return np.where(there, self.shares[place], 0.0) if len(known) else there.astype(np.float64)

    def exact(self, row: int) -> dict[int, int]:
        """The weights of one row by value, in whole numbers of the same proportions."""
        low, high = int(self.indptr[row]), int(self.indptr[row + 1])
        weights = [_exactly(weight) for weight in self.weights[low:high]]
        scale = lcm(*(weight.denominator for weight in weights))
        found = zip(self.values[low:high].tolist(), weights, strict=True)
        return {value: int(weight * scale) for value, weight in found}


def _exactly(weight: object) -> Fraction:
    """The decimal somebody wrote, exactly."""
    return Fraction(str(weight))


def one_for_all(groups: Groups, weights: Sequence[int] | Floats) -> Expectation:
    """The same distribution for every class: weights by value."""
    listed = np.asarray(weights)
    values = np.flatnonzero(listed > 0)
    nobody = np.zeros(len(groups), dtype=np.int64)
    return Expectation(nobody, np.array([0, len(values)]), values, listed[values])


def by_value(rows: Sequence[Mapping[str, int | float]], of: Ints, groups: Groups) -> Expectation:
    """One distribution a row, by the values' labels; labels no class has count as values too."""
    code = {value: place for place, value in enumerate(groups.values)}
    values: list[int] = []
    weights: list[int | float] = []
    indptr = [0]
    for row in rows:
        kept = [(code.setdefault(v, len(code)), weight) for v, weight in row.items() if weight > 0]
        for place, weight in sorted(kept):
            values.append(place)
            weights.append(weight)
        indptr.append(len(values))
    return Expectation(
        of, np.array(indptr, dtype=np.int64), np.array(values, dtype=np.int64), tuple(weights)
    )


def counted(row: Ints, value: Ints, n: Ints, rows: int, of: Ints) -> Expectation:
    """One distribution a row, from people: n[i] of row[i] have value[i]."""
    step = int(value.max(initial=0)) + 1
    key, inverse = np.unique(row * step + value, return_inverse=True)
    people = np.bincount(inverse, weights=n, minlength=len(key)).astype(np.int64)
    row, value = np.divmod(key, step)
    kept = people > 0
    row, value, people = row[kept], value[kept], people[kept]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))]).astype(np.int64)
    return Expectation(of, indptr, value, people)
