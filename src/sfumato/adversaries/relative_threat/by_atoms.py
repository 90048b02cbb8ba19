"""What is believed of a column whose regions cross, by its atoms; alike for draws and for sums.

Whoever knows E[theta(atom)] and E[theta(atom) / theta(region)] can answer every question; atoms are
those of `problems.py`, one set by sensitive value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.relative_threat.atoms import Problems
from sfumato.adversaries.relative_threat.column import Column
from sfumato.adversaries.relative_threat.posterior import split_atoms, weigh_atoms
from sfumato.counts.counts import Ints

Floats = npt.NDArray[np.float64]


class ByAtoms(ABC):
    """The posterior of one column by the atoms of each sensitive value."""

    def __init__(self, column: Column, problems: Problems) -> None:
        self.column, self.problems = column, problems

    @abstractmethod
    def means(self) -> Floats:
        """E[theta] of each atom: replicates by atoms."""

    @abstractmethod
    def inside(self, cells: Ints, atoms: Ints) -> Floats:
        """E[theta(atom) / theta(cell)]: replicates by pairs, those of a cell standing together."""

    @abstractmethod
    def weighted(self, weights: Floats) -> Floats:
        """E[sum of w theta over the cell / theta(cell)]: replicates by cells."""

    @abstractmethod
    def drawn(self, rng: np.random.Generator, many: int) -> Floats:
        """theta of the atoms, drawn: atoms by draws."""

    def at(self, codes: Ints) -> tuple[Ints, Floats]:
        """Where values lie for every s, and the logarithm of their share of the atom there."""
        at = self.problems.atom_at[:, self.column.atom_of[codes]]
        s = np.broadcast_to(np.arange(len(at))[:, None], at.shape)
        return at, self._log_share(s, np.broadcast_to(codes, at.shape), at)

    def _log_share(self, s: Ints, codes: Ints, at: Ints) -> Floats:
        beta = self.column.beta[self.column.row(s), codes]
        share: Floats = np.log(beta) - np.log(self.problems.prior[at])
        return share

    def pairs(self, s: Ints, parts: Ints, codes: Ints) -> tuple[Ints, Ints, Ints, Floats]:
        """Distinct pairs of a cell and an atom, which of them each element is, its log share."""
        at = self.problems.atom_at[s, self.column.atom_of[codes]]
        size = len(self.problems.prior)
        keys, place = np.unique(self.problems.cell[s, parts] * size + at, return_inverse=True)
        cells, wanted = np.divmod(keys, size)
        return cells, wanted, place, self._log_share(s, codes, at)

    def log_mean(self, codes: Ints) -> Floats:
        at, share = self.at(codes)
        found: Floats = np.log(self.means()[:, at]) + share
        return found

    def log_inside(self, s: Ints, parts: Ints, codes: Ints) -> Floats:
        cells, wanted, place, share = self.pairs(s, parts, codes)
        return np.log(self.inside(cells, wanted))[:, place] + share

    def _weights_at(self, weights: Floats) -> Floats:
        """For weights by value: what the values of each atom of theta have on average."""
        atoms = self.column.gathered(weights) * self.column.weight
        at = self.problems.atom_at
        summed = np.zeros(len(self.problems.prior))
        np.add.at(summed, at, np.broadcast_to(atoms, at.shape))
        return summed / self.problems.prior

    def mean_of(self, weights: Floats) -> Floats:
        weighed = self.means() * self._weights_at(weights)
        found: Floats = np.add.reduceat(weighed, self.problems.begins[:-1], axis=1)
        return found

    def inside_of(self, weights: Floats) -> Floats:
        found, cell = self.weighted(self._weights_at(weights)), self.problems.cell
        # Regions nobody with s shows are never asked for.
        return np.where(cell >= 0, found[:, np.maximum(cell, 0)], 0.0)

    def _column_atoms(self, rng: np.random.Generator, many: int) -> Floats:
        """theta of the column's own atoms: draws by s by atoms."""
        column, problems, thetas = self.column, self.problems, self.drawn(rng, many)
        values, draws = len(problems.atom_at), thetas.shape[1]
        found = np.empty((draws, values, column.width))
        for s in range(values):
            number = problems.atom_at[s] - problems.begins[s]
            weight = column.weight[min(s, len(column.beta) - 1)]
            gamma = np.maximum(rng.standard_gamma(weight, size=(draws, column.width)), 1e-300)
            total = np.add.reduceat(gamma, np.flatnonzero(np.diff(number, prepend=-1)), axis=1)
            found[:, s] = thetas[problems.atom_at[s]].T * gamma / total[:, number]
        return found

    def draws(self, codes: Ints, rng: np.random.Generator, many: int) -> Floats:
        atoms = self.column.atom_of[codes]
        theta = self._column_atoms(rng, many)[:, :, atoms]
        return split_atoms(self.column, theta, atoms, codes, rng)

    def draws_of(self, weights: Floats, rng: np.random.Generator, many: int) -> Floats:
        return weigh_atoms(self.column, self._column_atoms(rng, many), weights, rng)
