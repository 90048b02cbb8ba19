"""What is learnt from a generalized release, about anybody: learner, attacker, random worlds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.adversaries.locating.locate import Located
from sfumato.adversaries.relative_threat.atoms import Drawn
from sfumato.adversaries.relative_threat.model import (
    Model,
    Posterior,
    entries_of,
    shares,
    soft_shares,
)
from sfumato.numbers import Floats, Ints

# What is known of a victim in each column: a weight by value, None where nothing is.
Known = Sequence[Floats | None]


class Generalized:
    """Beliefs from a generalized release; answers are replicates by people by values.

    `codes` hold exact values, a row by column. `where` are the groups each person fits.
    """

    def __init__(self, model: Model, posteriors: Sequence[Posterior]) -> None:
        self.model, self.posteriors = model, tuple(posteriors)

    def learner(self, codes: Ints, where: Located | None = None) -> Floats:
        return soft_shares(self.log_joint(codes))

    def log_joint(self, codes: Ints) -> Floats:
        """log p_L(s, r)."""
        total: Floats = np.log(self.model.mean_pi)[None, None, :]
        for posterior, row in zip(self.posteriors, codes, strict=True):
            distinct, place = np.unique(row, return_inverse=True)
            total = total + np.swapaxes(posterior.log_mean(distinct), 1, 2)[:, place, :]
        return total

    def log_means(self, place: int) -> Floats:
        """log E[theta_{A,s}(v)] for all values of a column: replicates by s by values."""
        posterior = self.posteriors[place]
        return posterior.log_mean(np.arange(len(posterior.column.domain)))

    def attacker(self, codes: Ints, where: Located) -> Floats:
        entries = entries_of(self.model.groups, where)
        weight: Floats = np.log(entries.n)[None, :]
        for posterior, row in zip(self.posteriors, codes, strict=True):
            parts = posterior.column.shown[entries.group].astype(np.int64)
            weight = weight + posterior.log_inside(entries.s, parts, row[entries.who])
        return shares(entries, weight, self.model.width)

    def random_worlds(self, codes: Ints, where: Located) -> Floats:
        entries = entries_of(self.model.groups, where)
        room = np.zeros(len(self.model.groups))
        for column in self.model.columns:
            room += np.log(column.size[column.shown])
        weight = np.log(entries.n) - room[entries.group]
        return shares(entries, weight[None, :], self.model.width)

    # -- one victim of whom anything may be known --------------------------------------------------

    def learner_of(self, known: Known) -> Floats:
        """Unnormalised, so that alternatives may be added up: replicates by values."""
        total: Floats = self.model.mean_pi[None, :]
        for posterior, weights in zip(self.posteriors, known, strict=True):
            if weights is not None:
                total = total * posterior.mean_of(weights)
        return total

    def attacker_of(self, known: Known) -> Floats:
        groups = self.model.groups
        total: Floats = groups.data.astype(np.float64)[None, :]
        for posterior, weights in zip(self.posteriors, known, strict=True):
            if weights is not None:
                inside = posterior.inside_of(weights)
                total = total * inside[:, groups.indices, posterior.column.shown[groups.row]]
        return self._by_value(total)

    def random_worlds_of(self, known: Known) -> Floats:
        groups = self.model.groups
        total: Floats = groups.data.astype(np.float64)[None, :]
        for column, weights in zip(self.model.columns, known, strict=True):
            if weights is not None:
                summed = np.add.reduceat(weights, column.first)
                used = np.flatnonzero(column.size)
                inside = np.zeros(column.parts)
                inside[used] = np.add.reduceat(summed[column.atoms], column.indptr[used])
                inside[used] /= column.size[used]
                total = total * inside[column.shown[groups.row]]
        return self._by_value(total)

    def _by_value(self, stored: Floats) -> Floats:
        groups, width = self.model.groups, self.model.width
        rows = [np.bincount(groups.indices, weights=row, minlength=width) for row in stored]
        return np.array(rows, dtype=np.float64)

    # -- draws of the population, for the other reading of p_L -------------------------------------

    @property
    def kept(self) -> int | None:
        """How many draws of the population there are; None if any number can be made."""
        draws = [one.thetas.shape[1] for one in self.posteriors if isinstance(one, Drawn)]
        return draws[0] if draws else None

    def populations(
        self, codes: Ints, rng: np.random.Generator, many: int
    ) -> tuple[Floats, list[Floats]]:
        """Drawn populations: pi (draws by s), and theta at these values (draws by s by values)."""
        pi = rng.dirichlet(self.model.alpha + self.model.people, size=many)
        pairs = zip(self.posteriors, codes, strict=True)
        return pi, [posterior.draws(row, rng, many) for posterior, row in pairs]

    def weights_drawn(self, known: Sequence[Known], rng: np.random.Generator, many: int) -> Floats:
        """f(s, y) in drawn populations, for several y: draws by s by y."""
        pi = rng.dirichlet(self.model.alpha + self.model.people, size=many)
        total = np.repeat(pi[:, :, None], len(known), axis=2)
        for place, posterior in enumerate(self.posteriors):
            asked = [one[place] for one in known]
            if any(weights is not None for weights in asked):
                size = len(posterior.column.domain)
                rows = [np.ones(size) if weights is None else weights for weights in asked]
                total = total * posterior.draws_of(np.array(rows), rng, many)
        return total
