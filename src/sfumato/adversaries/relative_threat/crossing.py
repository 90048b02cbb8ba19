"""The posterior where regions cross (Mondrian's ranges): estimated from draws of theta.

`crossing_kernel.py` makes the draws; here is what they say.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.relative_threat.atoms import Problems
from sfumato.adversaries.relative_threat.by_atoms import ByAtoms
from sfumato.adversaries.relative_threat.column import Column
from sfumato.adversaries.relative_threat.posterior import replicates
from sfumato.counts.counts import Ints

Floats = npt.NDArray[np.float64]


class Drawn(ByAtoms):
    """The posterior of one column from draws of theta, atoms by draws, in equal batches."""

    def __init__(self, column: Column, problems: Problems, draws: Floats, batches: int) -> None:
        super().__init__(column, problems)
        self.thetas, self.batches = draws, batches

    def means(self) -> Floats:
        return self._means

    @cached_property
    def _means(self) -> Floats:
        by_batch = self.thetas.reshape(len(self.thetas), self.batches, -1).mean(axis=2)
        return replicates(np.ascontiguousarray(by_batch.T))

    def inside(self, cells: Ints, atoms: Ints) -> Floats:
        from sfumato.adversaries.relative_threat.crossing_kernel import inside_means

        begins, listed = self.problems.cell_begins, self.problems.cell_atoms
        return replicates(inside_means(self.thetas, begins, listed, cells, atoms, self.batches))

    def weighted(self, weights: Floats) -> Floats:
        from sfumato.adversaries.relative_threat.crossing_kernel import weighted_means

        begins, listed = self.problems.cell_begins, self.problems.cell_atoms
        return replicates(weighted_means(self.thetas, begins, listed, weights, self.batches))

    def drawn(self, rng: np.random.Generator, many: int) -> Floats:
        return self.thetas

    # -- draw by draw, for watching chains ---------------------------------------------------------

    def inside_draws(self, s: Ints, parts: Ints, codes: Ints) -> Floats:
        """Pr(a row with s and this region has this value) in every draw: elements by draws."""
        from sfumato.adversaries.relative_threat.crossing_kernel import inside_draws

        cells, wanted, place, share = self.pairs(s, parts, codes)
        begins, listed = self.problems.cell_begins, self.problems.cell_atoms
        found = inside_draws(self.thetas, begins, listed, cells, wanted)
        drawn: Floats = found[place] * np.exp(share)[:, None]
        return drawn

    def mean_draws(self, codes: Ints) -> Floats:
        """theta(v) in every draw, the atom divided by the prior: s by values by draws."""
        at, share = self.at(codes)
        drawn: Floats = self.thetas[at] * np.exp(share)[:, :, None]
        return drawn
