"""The paper's own samplers (Boreale, Corradi, Viscardi 2020), for comparison.

Per-row Gibbs (generalized): given the population every row draws its hidden value, given the rows
the population is drawn. On a column that is mostly suppressed 200,000 sweeps of a file of 5,692
rows still leave p_A .0195 from the truth.

Metropolis swaps and permutations (bucketized): each bucket proposes to swap two people's values, or
to deal all anew at random; then the population is drawn, which is held fixed meanwhile.

Stands apart: nothing but a comparison needs them.
"""

from __future__ import annotations

import numpy as np

from sfumato.adversaries.relative_threat.samplers import (
    BucketChains,
    CrossingChains,
    StageRecord,
)
from sfumato.numbers import Floats

ROW_GIBBS = "sampled (per-row Gibbs)"


class RowGibbs(CrossingChains):
    """A hidden value for every row, vectorised over all rows of a column."""

    merge = False

    def _run(self, chain: int, sweeps: int, thin: int) -> list[Floats]:
        return [self._column(chain, number, sweeps, thin) for number in range(len(self.columns))]

    def _column(self, chain: int, number: int, sweeps: int, thin: int) -> Floats:
        _, column, problems = self.columns[number]
        rng, theta = self._rngs[chain], self._thetas[chain][number]
        cells = self.model.cells(column).astype(np.int64)
        values, parts = np.nonzero(cells)
        many = cells[values, parts]
        size = len(column.atoms)
        start = np.repeat(values * size + column.indptr[parts], many)
        stop = np.repeat(values * size + column.indptr[parts + 1], many)
        flat = (np.arange(len(cells))[:, None] * column.width + column.atoms).ravel()
        beta = problems.prior  # rows of a single atom are drawn like all others
        begins, width = problems.begins[:-1], np.diff(problems.begins)
        kept = np.empty((sweeps // thin, len(theta)))
        for sweep in range(sweeps):
            running = np.concatenate([[0.0], np.cumsum(theta[flat])])
            low = running[start]
            chance = low + rng.random(len(start)) * (running[stop] - low)
            drawn = np.clip(np.searchsorted(running, chance, "right") - 1, start, stop - 1)
            counts = np.bincount(flat[drawn], minlength=len(theta))
            gamma = np.maximum(rng.standard_gamma(beta + counts), 1e-300)
            theta[:] = gamma / np.repeat(np.add.reduceat(gamma, begins), width)
            if (sweep + 1) % thin == 0:
                kept[sweep // thin] = theta
        return kept


class Swaps(BucketChains):
    """One proposed swap a bucket and sweep, the population held fixed."""

    permute = False

    @property
    def method(self) -> str:
        return "sampled (Metropolis swaps)"

    def _sweep(self, chain: int, sweeps: int, record: StageRecord) -> None:
        from sfumato.adversaries.relative_threat.bucket_kernel import sweep_metropolis

        rng, ladder = self._rngs[chain], self.ladders[chain]
        has, b = ladder.has[0], ladder.weight[0]
        sweep_metropolis(rng, sweeps, self.permute, has, b, self.buckets.layout, record)


class Permutations(Swaps):
    """One random dealing of all its values a bucket and sweep, the population held fixed."""

    permute = True

    @property
    def method(self) -> str:
        return "sampled (Metropolis permutations)"
