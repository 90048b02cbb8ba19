"""A column whose regions cross, as one problem by sensitive value.

For each sensitive value the column is cut into atoms anew, by the regions that people with this
value show: fewer atoms, less to explore.

What is believed of such a column follows from its atoms, alike for draws and for sums.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sfumato.adversaries.locating.locate import Located
from sfumato.adversaries.relative_threat.columns import RegionColumn
from sfumato.adversaries.relative_threat.model import (
    Model,
    Posterior,
    entries_of,
    mixed,
    replicates,
    shares,
    soft_shares,
    split_atoms,
    weigh_atoms,
)
from sfumato.numbers import Floats, Ints, Ragged

NONE = -1


class Problems(NamedTuple):
    """A column as one problem by sensitive value, laid out for the kernel.

    Problem q has the atoms `begins[q]:begins[q + 1]` of theta and the regions
    `part_begins[q]:part_begins[q + 1]`; region p holds `atoms[atom_begins[p]:atom_begins[p + 1]]`.
    The regions between atom a and a + 1 are `pair_parts[pair_begins[a]:pair_begins[a + 1]]`, with
    side 0 where they hold a.

    `atom_at[s, a]` is where the column's atom a lies in theta for value s. `cell[s, p]` numbers the
    regions people with s show; cell i holds `cell_atoms[cell_begins[i]:cell_begins[i + 1]]`.
    """

    atom_at: Ints
    prior: Floats  # the prior weight of each atom of theta
    cell: Ints
    cell_begins: Ints
    cell_atoms: Ints
    begins: Ints
    beta: Floats  # the prior weight and the people known to be there
    part_begins: Ints
    people: Ints
    atom_begins: Ints
    atoms: Ints
    pair_begins: Ints
    pair_parts: Ints
    pair_sides: Ints


def problems_of(column: RegionColumn, cells: Floats, *, merge: bool = True) -> Problems:
    """`cells[s, p]` people with s show region p. `merge`: values s need not tell apart are one."""
    width, total = column.width, 0
    atom_at = np.zeros((len(cells), width), dtype=np.int64)
    cell = np.full(cells.shape, NONE, dtype=np.int64)
    prior, fixed, begins, part_begins = [], [], [0], [0]
    cell_lists: list[Ints] = []
    parts: list[Ints] = []
    people: list[int] = []
    for s in range(len(cells)):
        there = np.flatnonzero(cells[s])
        number = _own_atoms(column, there) if merge else np.arange(width)
        atom_at[s] = total + number
        own = int(number[-1]) + 1
        weight = np.bincount(number, weights=column.weight[min(s, len(column.beta) - 1)])
        pinned = weight.copy()
        for part in there.tolist():
            inside = np.unique(number[column.of_part(part)])
            cell[s, part] = len(cell_lists)
            cell_lists.append(total + inside)
            if len(inside) == 1:
                pinned[inside[0]] += cells[s, part]
            elif len(inside) < own:
                parts.append(total + inside)
                people.append(int(cells[s, part]))
        prior.append(weight)
        fixed.append(pinned)
        total += own
        begins.append(total)
        part_begins.append(len(parts))
    pair_begins, pair_parts, pair_sides = _neighbours(parts, total)
    return Problems(
        atom_at,
        np.concatenate(prior),
        cell,
        *_flat(cell_lists),
        np.array(begins, dtype=np.int64),
        np.concatenate(fixed),
        np.array(part_begins, dtype=np.int64),
        np.array(people, dtype=np.int64),
        *_flat(parts),
        pair_begins,
        pair_parts,
        pair_sides,
    )


def _own_atoms(column: RegionColumn, regions: Ints) -> Ints:
    """The number of each atom when only these regions count."""
    cut = np.zeros(column.width + 1, dtype=bool)
    for part in regions.tolist():
        atoms = column.of_part(part)
        gap = np.flatnonzero(np.diff(atoms) > 1)
        cut[atoms[0]] = cut[atoms[-1] + 1] = True
        cut[atoms[gap + 1]] = cut[atoms[gap] + 1] = True
    cut[0] = False
    return np.cumsum(cut[:-1])


def _flat(lists: list[Ints]) -> tuple[Ints, Ints]:
    flat = Ragged.of(lists)
    return flat.offsets, flat.values


def _neighbours(parts: list[Ints], total: int) -> tuple[Ints, Ints, Ints]:
    """For every atom, the regions that hold it or the next one but not both."""
    atom, region, side = [], [], []
    for number, inside in enumerate(parts):
        gap = np.flatnonzero(np.diff(inside) > 1)
        last = np.concatenate([inside[gap], inside[-1:]])  # the next atom is outside
        first = np.concatenate([inside[:1], inside[gap + 1]])  # the one before is outside
        atom += [last, first - 1]
        side += [np.zeros(len(last), np.int64), np.ones(len(first), np.int64)]
        region += [np.full(len(last) + len(first), number, np.int64)]
    none = np.zeros(0, dtype=np.int64)
    at, sides = np.concatenate([none, *atom]), np.concatenate([none, *side])
    regions = np.concatenate([none, *region])
    order = np.argsort(at, kind="stable")
    begins = np.searchsorted(at[order], np.arange(total + 1)).astype(np.int64)
    return begins, regions[order], sides[order]


# What is believed of a column whose regions cross, by its atoms; alike for draws and for sums.
#
# Whoever knows E[theta(atom)] and E[theta(atom) / theta(region)] can answer every question; atoms
# are those above, one set by sensitive value.


class ByAtoms(ABC):
    """The posterior of one column by the atoms of each sensitive value."""

    def __init__(self, column: RegionColumn, problems: Problems) -> None:
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
        logs: Floats = np.log(self.means()[:, at]) + share
        return logs

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
        means: Floats = np.add.reduceat(weighed, self.problems.begins[:-1], axis=1)
        return means

    def inside_of(self, weights: Floats) -> Floats:
        weighed_shares, cell = self.weighted(self._weights_at(weights)), self.problems.cell
        # Regions nobody with s shows are never asked for.
        return np.where(cell >= 0, weighed_shares[:, np.maximum(cell, 0)], 0.0)

    def _column_atoms(self, rng: np.random.Generator, many: int) -> Floats:
        """theta of the column's own atoms: draws by s by atoms."""
        column, problems, thetas = self.column, self.problems, self.drawn(rng, many)
        values, draws = len(problems.atom_at), thetas.shape[1]
        by_atom = np.empty((draws, values, column.width))
        for s in range(values):
            number = problems.atom_at[s] - problems.begins[s]
            weight = column.weight[min(s, len(column.beta) - 1)]
            gamma = np.maximum(rng.standard_gamma(weight, size=(draws, column.width)), 1e-300)
            total = np.add.reduceat(gamma, np.flatnonzero(np.diff(number, prepend=-1)), axis=1)
            by_atom[:, s] = thetas[problems.atom_at[s]].T * gamma / total[:, number]
        return by_atom

    def draws(self, codes: Ints, rng: np.random.Generator, many: int) -> Floats:
        atoms = self.column.atom_of[codes]
        theta = self._column_atoms(rng, many)[:, :, atoms]
        return split_atoms(self.column, theta, atoms, codes, rng)

    def draws_of(self, weights: Floats, rng: np.random.Generator, many: int) -> Floats:
        return weigh_atoms(self.column, self._column_atoms(rng, many), weights, rng)


# The posterior where regions cross (Mondrian's ranges): estimated from draws of theta.
#
# `crossing_kernel.py` makes the draws; here is what they say.


class Drawn(ByAtoms):
    """The posterior of one column from draws of theta, atoms by draws, in equal batches."""

    def __init__(
        self, column: RegionColumn, problems: Problems, draws: Floats, batches: int
    ) -> None:
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
        shares = inside_draws(self.thetas, begins, listed, cells, wanted)
        drawn: Floats = shares[place] * np.exp(share)[:, None]
        return drawn

    def mean_draws(self, codes: Ints) -> Floats:
        """theta(v) in every draw, the atom divided by the prior: s by values by draws."""
        at, share = self.at(codes)
        drawn: Floats = self.thetas[at] * np.exp(share)[:, :, None]
        return drawn


# What is learnt from a generalized release, about anybody: learner, attacker, random worlds.

# What is known of a victim in each column: a weight by value, None where nothing is.
Clues = Sequence[Floats | None]


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
            parts = posterior.column.region_of[entries.group].astype(np.int64)
            weight = weight + posterior.log_inside(entries.s, parts, row[entries.person])
        return shares(entries, weight, self.model.width)

    def random_worlds(self, codes: Ints, where: Located) -> Floats:
        entries = entries_of(self.model.groups, where)
        room = np.zeros(len(self.model.groups))
        for column in self.model.columns:
            room += np.log(column.size[column.region_of])
        weight = np.log(entries.n) - room[entries.group]
        return shares(entries, weight[None, :], self.model.width)

    # -- one victim of whom anything may be known --------------------------------------------------

    def learner_of(self, asked: Sequence[tuple[float, Clues]]) -> Floats:
        """Of a victim who is each of these with a weight, unnormalised: replicates by values."""
        logs = [self._log_learner(known) for _, known in asked]
        return mixed(np.stack(logs, axis=-1), [weight for weight, _ in asked])

    def _log_learner(self, known: Clues) -> Floats:
        total: Floats = np.log(self.model.mean_pi)[None, :]
        for posterior, weights in zip(self.posteriors, known, strict=True):
            if weights is not None:
                with np.errstate(divide="ignore"):
                    total = total + np.log(posterior.mean_of(weights))
        return total

    def attacker_of(self, known: Clues) -> Floats:
        groups = self.model.groups
        total: Floats = groups.data.astype(np.float64)[None, :]
        for posterior, weights in zip(self.posteriors, known, strict=True):
            if weights is not None:
                inside = posterior.inside_of(weights)
                total = total * inside[:, groups.indices, posterior.column.region_of[groups.row]]
        return self._by_value(total)

    def random_worlds_of(self, known: Clues) -> Floats:
        groups = self.model.groups
        total: Floats = groups.data.astype(np.float64)[None, :]
        for column, weights in zip(self.model.columns, known, strict=True):
            if weights is not None:
                summed = np.add.reduceat(weights, column.first)
                used = np.flatnonzero(column.size)
                inside = np.zeros(column.parts)
                inside[used] = np.add.reduceat(summed[column.atoms], column.indptr[used])
                inside[used] /= column.size[used]
                total = total * inside[column.region_of[groups.row]]
        return self._by_value(total)

    def _by_value(self, stored: Floats) -> Floats:
        groups, width = self.model.groups, self.model.width
        rows = [np.bincount(groups.indices, weights=row, minlength=width) for row in stored]
        return np.array(rows, dtype=np.float64)

    # -- draws of the population, for the other reading of p_L -------------------------------------

    @property
    def kept(self) -> int | None:
        """How many draws of the population there are; None if any number can be made."""
        draws = [
            posterior.thetas.shape[1]
            for posterior in self.posteriors
            if isinstance(posterior, Drawn)
        ]
        return draws[0] if draws else None

    def populations(
        self, codes: Ints, rng: np.random.Generator, many: int
    ) -> tuple[Floats, list[Floats]]:
        """Drawn populations: pi (draws by s), and theta at these values (draws by s by values)."""
        pi = rng.dirichlet(self.model.alpha + self.model.people, size=many)
        pairs = zip(self.posteriors, codes, strict=True)
        return pi, [posterior.draws(row, rng, many) for posterior, row in pairs]

    def weights_drawn(self, known: Sequence[Clues], rng: np.random.Generator, many: int) -> Floats:
        """f(s, y) in drawn populations, for several y: draws by s by y."""
        pi = rng.dirichlet(self.model.alpha + self.model.people, size=many)
        total = np.repeat(pi[:, :, None], len(known), axis=2)
        for place, posterior in enumerate(self.posteriors):
            asked = [victim[place] for victim in known]
            if any(weights is not None for weights in asked):
                size = len(posterior.column.domain)
                rows = [np.ones(size) if weights is None else weights for weights in asked]
                total = total * posterior.draws_of(np.array(rows), rng, many)
        return total
