"""Both leakages of every class of a combination of columns, from its counts, compiled.

What `leakage.py` computes on the groups of a release, for any columns of a table: the classes are
what some columns show, the target is another column, the cells of a `Marginal` have both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np

from sfumato.adversaries.leakage.observer import Leakage, assemble
from sfumato.counts.marginals import Marginal
from sfumato.numbers import Codes, Floats, Ints


@dataclass(frozen=True)
class ClassLeakage:
    """`of` is the class of each cell, `first` one cell of each class, `expected` what was expected.

    `covered` says which classes the prior speaks of; what the others leak cannot be told.
    """

    cells: Marginal
    target: int
    of: Codes
    first: Ints
    people: Floats
    expected: Floats
    found: Leakage
    covered: np.ndarray[tuple[int], np.dtype[np.bool_]]

    @property
    def values(self) -> Codes:
        """The target's value of each cell."""
        row: Codes = self.cells.codes[self.cells.columns.index(self.target)]
        return row

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(column for column in self.cells.columns if column != self.target)


@dataclass(frozen=True)
class OnePrior:
    """The same shares of the target's values for every class."""

    shares: Floats

    def judge(self, cells: Marginal, target: int) -> ClassLeakage:
        columns = [column for column in cells.columns if column != target]
        of, first = cells.classes(columns)
        values = cells.codes[cells.columns.index(target)]
        a = self.shares[values]
        people, gap, covered, hits, entropy = _sums(of, cells.n, a, len(first))
        present = self.shares[self.shares > 0]
        found = assemble(
            gap=gap,
            covered=covered,
            hits=hits,
            entropy=entropy,
            squares=np.array(np.sum(present**2)),
            support=np.array(float(len(present))),
            expected=np.array(-np.sum(present * np.log2(present))),
        )
        everything = np.ones(len(first), dtype=bool)
        return ClassLeakage(cells, target, of, first, people, a, found, everything)


@dataclass(frozen=True)
class PriorByClass:
    """The shares among the people of `outside` who show the same in its columns, less the target.

    `outside` has the target and some, or all, of the columns of the classes.
    """

    outside: Marginal

    def judge(self, cells: Marginal, target: int) -> ClassLeakage:
        columns = [column for column in cells.columns if column != target]
        known = [column for column in self.outside.columns if column != target]
        of, first = cells.classes(columns)
        both = _together(self.outside, cells)
        many = len(self.outside)
        row, _ = both.classes(known)
        cell, _ = both.classes([*known, target])
        rows = int(row[:many].max(initial=-1)) + 1

        def summed(numbers: Floats) -> Floats:
            return np.bincount(row[:many], numbers, minlength=rows).astype(np.float64)

        shares = self.outside.n / summed(self.outside.n)[row[:many]]
        # Cells outside are distinct, so they are numbered first and in their own order.
        met = np.append(shares, 0.0)[np.minimum(cell[many:], many)]
        people, gap, covered, hits, entropy = _sums(of, cells.n, met, len(first))
        its = row[many:][first]
        spoken = its < rows
        its = np.where(spoken, its, 0)
        found = assemble(
            gap=gap,
            covered=covered,
            hits=hits,
            entropy=entropy,
            squares=summed(shares**2)[its],
            support=summed(np.ones(many))[its],
            expected=summed(-shares * np.log2(shares))[its],
        )
        return ClassLeakage(cells, target, of, first, people, met, found, spoken)


MarginalPrior = OnePrior | PriorByClass


def _together(one: Marginal, other: Marginal) -> Marginal:
    """The cells of both, by the columns of the first."""
    rows = [other.columns.index(column) for column in one.columns]
    sizes = tuple(max(size, other.sizes[row]) for size, row in zip(one.sizes, rows, strict=True))
    codes = np.hstack([one.codes, other.codes[rows]])
    return Marginal(one.columns, sizes, codes, np.concatenate([one.n, other.n]))


@nb.njit(cache=True, nogil=True)
def _sums(
    of: Codes, n: Floats, a: Floats, classes: int
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """People of each class; sums of (x - a)^2, of a^2, how many a > 0, and the entropy of x."""
    people = np.zeros(classes)
    for i in range(len(of)):
        people[of[i]] += n[i]
    gap, covered = np.zeros(classes), np.zeros(classes)
    hits, entropy = np.zeros(classes), np.zeros(classes)
    for i in range(len(of)):
        g = of[i]
        x = n[i] / people[g]
        gap[g] += (x - a[i]) ** 2
        covered[g] += a[i] * a[i]
        hits[g] += a[i] > 0
        entropy[g] -= x * np.log2(x)
    return people, gap, covered, hits, entropy
