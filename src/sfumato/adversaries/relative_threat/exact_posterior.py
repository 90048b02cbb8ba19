"""The posterior where nothing need be sampled: a tree, or a sum over few worlds.

Regions that are nested or apart have a Dirichlet tree. Of small releases all ways are gone through:
how people lie in regions that cross, and who has which value of a bucket.

Boreale, Corradi, Viscardi: Relative Privacy Threats and Learning From Anonymized Data (IEEE TIFS
2020) sample this posterior; no sampling is needed. Regions that are pairwise nested or disjoint, as
those of any hierarchy, form a tree, and a row published with a region tells how often its branch is
taken, nothing about the branches below. So the branches of a node are Dirichlet, independent of all
other nodes:

    E[branch p -> c] = (alpha(c) + n at or below c) / (alpha(p) + n strictly below p),

E[theta_v] is the product of the branches from the root to v, and a row published with region p has
the value v with the product of the branches from p to v. Everything follows from one table: the
logarithm of the path to each node, for each sensitive value. Its cost depends on distinct regions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import comb, factorial, prod

import numpy as np

from sfumato.adversaries.relative_threat.atoms import ByAtoms, Problems
from sfumato.adversaries.relative_threat.bucketized import Bucketized, BucketModel
from sfumato.adversaries.relative_threat.columns import RegionColumn
from sfumato.adversaries.relative_threat.model import split_atoms, weigh_atoms
from sfumato.errors import ResourceError
from sfumato.numbers import Floats, Ints, fraction

# The exact posterior of small bucketized releases: every way of dealing the values, weighed.

MOST = 4_096
_ROOM = 1 << 24  # counts of all worlds together


def every_world(buckets: BucketModel) -> Bucketized | None:
    """Beliefs from all worlds; None where there are too many of them."""
    groups = buckets.groups
    many = 1
    for g in range(len(groups)):
        counts = groups.data[groups.indptr[g] : groups.indptr[g + 1]].tolist()
        if sum(counts) > 12:
            return None
        many *= factorial(sum(counts)) // prod(factorial(n) for n in counts)
        if many > MOST or many * len(buckets.start) > _ROOM:
            return None
    dealt = [
        _ways(groups.data[groups.indptr[g] : groups.indptr[g + 1]]) for g in range(len(groups))
    ]
    place = buckets.layout.place
    group = np.repeat(np.arange(len(groups)), groups.sizes)
    row = (
        buckets.slot_begins[group]
        + (buckets.member - buckets.member_begins[group]) * groups.distinct[group]
    )
    kept = np.empty((many, len(buckets.start)))
    chances = np.zeros((many, int(buckets.slot_begins[-1])))
    logs = np.zeros(many)
    for number, ways in enumerate(product(*dealt)):
        has = np.concatenate(ways)
        s = groups.indices[groups.indptr[group] + has].astype(np.int64)
        b = buckets.start.copy()
        for person in range(len(has)):
            for at in (place[person] + s[person]).tolist():
                logs[number] += np.log(b[at])
                b[at] += 1
        kept[number] = b
        np.add.at(chances[number], row + has, 1.0)
    logs -= logs.max()
    logs -= np.log(np.exp(logs).sum())
    return Bucketized(buckets, (np.exp(logs) @ chances)[None], kept, 1, logs)


def _ways(counts: Ints) -> list[Ints]:
    """Every way of dealing values with these counts to so many people."""

    def deal(left: list[int], size: int) -> Iterator[list[int]]:
        if size == 0:
            yield []
        for value, n in enumerate(left):
            if n:
                rest = [*left[:value], n - 1, *left[value + 1 :]]
                for following in deal(rest, size - 1):
                    yield [value, *following]

    return [np.array(way, dtype=np.int64) for way in deal(counts.tolist(), int(counts.sum()))]


AtomSpread = tuple[int, ...]  # people in each atom
# The exact posterior of small crossing columns: a sum over how people may lie in their regions.
#
# A region of n people contributes (theta_a + theta_b + ...)^n to the likelihood. Multiplied out,
# the likelihood is a sum of monomials, each a way in which people may be spread over atoms, and
# the posterior the same mixture of Dirichlets. Where there are few enough monomials nothing is
# sampled.

MOST_TERMS = 5_000
MOST_PEOPLE = 60  # in regions of several atoms; beyond, coefficients grow out of proportion
_WORK = 200_000  # terms multiplied in all


class Expanded(ByAtoms):
    """Mixtures of Dirichlets, one by sensitive value."""

    def __init__(self, column: RegionColumn, problems: Problems, mixtures: list[Mixture]) -> None:
        super().__init__(column, problems)
        self._mixtures = mixtures
        self._means = np.concatenate([mixture.mean() for mixture in mixtures])
        self._inside = np.zeros(len(problems.cell_atoms))
        owner = np.searchsorted(problems.begins, problems.cell_atoms, "right") - 1
        for cell in range(len(problems.cell_begins) - 1):
            start, stop = problems.cell_begins[cell], problems.cell_begins[cell + 1]
            s = int(owner[start])
            atoms = problems.cell_atoms[start:stop] - problems.begins[s]
            self._inside[start:stop] = mixtures[s].inside(tuple(atoms.tolist()))

    def means(self) -> Floats:
        return self._means[None]

    def inside(self, cells: Ints, atoms: Ints) -> Floats:
        problems = self.problems
        shares = np.empty((1, len(cells)))
        for place, (cell, atom) in enumerate(zip(cells.tolist(), atoms.tolist(), strict=True)):
            start, stop = problems.cell_begins[cell], problems.cell_begins[cell + 1]
            at = start + np.searchsorted(problems.cell_atoms[start:stop], atom)
            shares[0, place] = self._inside[at]
        return shares

    def weighted(self, weights: Floats) -> Floats:
        weighed = self._inside * weights[self.problems.cell_atoms]
        sums: Floats = np.add.reduceat(weighed, self.problems.cell_begins[:-1])[None]
        return sums

    def drawn(self, rng: np.random.Generator, many: int) -> Floats:
        return np.concatenate([mixture.draws(rng, many) for mixture in self._mixtures])


class Mixture:
    """The posterior for one sensitive value: `beta` holds what is known, `cells` what is spread."""

    def __init__(
        self, beta: Floats, cells: dict[AtomSpread, int], terms: dict[AtomSpread, float]
    ) -> None:
        self._beta, self._cells = beta.tolist(), cells
        self._terms = np.array(list(terms), dtype=np.float64).reshape(len(terms), len(beta))
        chances = np.array([c * self._rising(spread) for spread, c in terms.items()])
        self._chances: Floats = chances / chances.sum()

    def _rising(self, spread: AtomSpread) -> float:
        """The integral of a monomial over the prior, up to a factor they all share."""
        return prod(
            prod((weight + k for k in range(people)), start=1.0)
            for weight, people in zip(self._beta, spread, strict=True)
        )

    def mean(self) -> Floats:
        posterior = np.array(self._beta) + self._terms
        means: Floats = self._chances @ (posterior / posterior.sum(axis=1, keepdims=True))
        return means

    def inside(self, atoms: AtomSpread) -> Floats:
        """Where a person of the region with these atoms lies: all others spread, then she."""
        if len(atoms) == 1:
            return np.ones(1)
        cells = dict(self._cells)
        if len(atoms) == len(self._beta):  # says nothing, and was not counted
            return self.mean()
        cells[atoms] -= 1
        terms = expand(cells, len(self._beta))
        assert terms is not None
        shares = np.zeros(len(atoms))
        for spread, coefficient in terms.items():
            base = coefficient * self._rising(spread)
            for place, atom in enumerate(atoms):
                shares[place] += base * (self._beta[atom] + spread[atom])
        share: Floats = shares / shares.sum()
        return share

    def draws(self, rng: np.random.Generator, many: int) -> Floats:
        chosen = rng.choice(len(self._chances), size=many, p=self._chances)
        gamma = np.maximum(rng.standard_gamma(np.array(self._beta) + self._terms[chosen]), 1e-300)
        theta: Floats = (gamma / gamma.sum(axis=1, keepdims=True)).T
        return theta


def expand(cells: dict[AtomSpread, int], width: int) -> dict[AtomSpread, float] | None:
    """The monomials of the likelihood and their coefficients; None where there are too many."""
    terms: dict[AtomSpread, float] = {(0,) * width: 1.0}
    for atoms, people in cells.items():
        for _ in range(people):
            grown: dict[AtomSpread, float] = {}
            for spread, coefficient in terms.items():
                for atom in atoms:
                    more = (*spread[:atom], spread[atom] + 1, *spread[atom + 1 :])
                    grown[more] = grown.get(more, 0.0) + coefficient
            terms = grown
            if len(terms) > MOST_TERMS:
                return None
    return terms


def expanded(column: RegionColumn, problems: Problems) -> Expanded | None:
    """The exact posterior, where that is little work."""
    mixtures = []
    for s in range(len(problems.begins) - 1):
        start, stop = int(problems.begins[s]), int(problems.begins[s + 1])
        cells: dict[AtomSpread, int] = {}
        for p in range(problems.part_begins[s], problems.part_begins[s + 1]):
            atoms = problems.atoms[problems.atom_begins[p] : problems.atom_begins[p + 1]] - start
            cells[tuple(atoms.tolist())] = int(problems.people[p])
        people, width = sum(cells.values()), stop - start
        most = prod(comb(n + len(atoms) - 1, n) for atoms, n in cells.items())
        ways = min(most, comb(people + width - 1, people)) if cells else 1
        if people > MOST_PEOPLE or ways * max(people, 1) * (len(cells) + 1) > _WORK:
            return None
        terms = expand(cells, width)
        if terms is None:
            return None
        mixtures.append(Mixture(problems.beta[start:stop], cells, terms))
    return Expanded(column, problems, mixtures)


# The Dirichlet tree of regions that are nested or apart.

MOST_CELLS = 1 << 27
_DRAWN_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Shape:
    """The tree of a column's regions: node 0 is the whole domain, atoms are the last nodes.

    A parent stands before its children. `node[p]` is the node of region p.
    """

    parent: Ints
    node: Ints
    levels: tuple[Ints, ...]  # the nodes of each depth, the root's first

    @property
    def inner(self) -> int:
        """Nodes that are not atoms: the root and the regions of several atoms."""
        return int(self.parent.max(initial=0)) + 1


def tree_shape(column: RegionColumn) -> Shape | None:
    """The tree of a column's regions, None where two of them cross."""
    width, many = column.width, np.diff(column.indptr)
    node = np.zeros(column.parts, dtype=np.int64)
    several = np.flatnonzero((many > 1) & (many < width))
    several = several[np.argsort(-many[several], kind="stable")]
    owner = np.zeros(width, dtype=np.int64)
    parent = np.zeros(1 + len(several) + width, dtype=np.int64)
    for number, part in enumerate(several.tolist(), start=1):
        atoms = column.of_part(part)
        above = owner[atoms[0]]
        if (owner[atoms] != above).any():
            return None
        parent[number], node[part] = above, number
        owner[atoms] = number
    inner = 1 + len(several)
    parent[inner:] = owner
    alone = np.flatnonzero(many == 1) if width > 1 else np.zeros(0, dtype=np.int64)
    node[alone] = inner + column.atoms[column.indptr[alone]]
    depth = np.zeros(len(parent), dtype=np.int64)
    for number in range(1, inner):
        depth[number] = depth[parent[number]] + 1
    depth[inner:] = depth[owner] + 1
    order = np.argsort(depth, kind="stable")
    cuts = np.cumsum(np.bincount(depth))[:-1]
    return Shape(parent, node, tuple(np.split(order, cuts)))


class DirichletTree:
    """The posterior of one column, exactly."""

    exact = True

    def __init__(self, column: RegionColumn, shape: Shape, cells: Floats) -> None:
        """`cells[s, p]` people have the sensitive value s and are published with region p."""
        self.column, self.shape = column, shape
        values = len(cells)
        if values * len(shape.parent) > MOST_CELLS:
            raise ResourceError(
                f"column {column.name!r} has {len(shape.parent):,} distinct regions for {values:,} "
                "sensitive values, too many for memory; coarsen one of them"
            )
        self._atom = len(shape.parent) - column.width  # the node of the first atom
        at = np.zeros((len(shape.parent), values))
        np.add.at(at, shape.node, cells.T)
        below = at.copy()
        alpha = np.zeros((len(shape.parent), len(column.beta)))
        alpha[self._atom :] = column.weight.T
        for level in shape.levels[:0:-1]:
            np.add.at(below, shape.parent[level], below[level])
            np.add.at(alpha, shape.parent[level], alpha[level])
        self._at, self._below, self._alpha = at, below, alpha
        log_path = np.zeros_like(at)
        taken = np.log(alpha + below) - np.log((alpha + below - at)[shape.parent])
        for level in shape.levels[1:]:
            log_path[level] = log_path[shape.parent[level]] + taken[level]
        self._log_path = np.ascontiguousarray(log_path.T)

    def log_mean(self, codes: Ints) -> Floats:
        column = self.column
        path = self._log_path[:, self._atom + column.atom_of[codes]]
        return (path + column.log_share[:, codes])[None]

    def log_inside(self, s: Ints, parts: Ints, codes: Ints) -> Floats:
        column = self.column
        down = self._log_path[s, self._atom + column.atom_of[codes]]
        start = self._log_path[s, self.shape.node[parts]]
        return (down - start + column.log_share[column.row(s), codes])[None]

    def mean_of(self, weights: Floats) -> Floats:
        means: Floats = (self._theta * self.column.gathered(weights)).sum(axis=1)[None]
        return means

    def inside_of(self, weights: Floats) -> Floats:
        column = self.column
        weighed = self._theta * column.gathered(weights)
        shares = np.zeros((len(weighed), column.parts))
        used = np.flatnonzero(np.diff(column.indptr))
        shares[:, used] = np.add.reduceat(weighed[:, column.atoms], column.indptr[used], axis=1)
        shares[:, used] /= np.exp(self._log_path[:, self.shape.node[used]])
        return shares[None]

    @cached_property
    def _theta(self) -> Floats:
        return np.exp(self._log_path[:, self._atom :])

    # -- draws, for the other reading of p_L -------------------------------------------------------

    def draws(self, codes: Ints, rng: np.random.Generator, many: int) -> Floats:
        atoms = self.column.atom_of[codes]
        theta = np.concatenate([block[:, :, atoms] for block in self._drawn(rng, many)])
        return split_atoms(self.column, theta, atoms, codes, rng)

    def draws_of(self, weights: Floats, rng: np.random.Generator, many: int) -> Floats:
        return np.concatenate(
            [weigh_atoms(self.column, block, weights, rng) for block in self._drawn(rng, many)]
        )

    def _drawn(self, rng: np.random.Generator, many: int) -> Iterator[Floats]:
        """theta of all atoms, drawn independently, in blocks of draws."""
        shape, counts = self.shape, (self._alpha + self._below).T
        step = max(1, _DRAWN_AT_ONCE // counts.size)
        children = 1 + np.argsort(shape.parent[1:], kind="stable")
        parents, begins = np.unique(shape.parent[children], return_index=True)
        for start in range(0, many, step):
            size = (min(step, many - start), *counts.shape)
            gamma = np.maximum(rng.standard_gamma(np.broadcast_to(counts, size)), 1e-300)
            total, path = np.ones(size), np.ones(size)
            total[:, :, parents] = np.add.reduceat(gamma[:, :, children], begins, axis=2)
            for level in shape.levels[1:]:
                above = shape.parent[level]
                path[:, :, level] = path[:, :, above] * gamma[:, :, level] / total[:, :, above]
            yield path[:, :, self._atom :]

    # -- the same in fractions, where a bound must be decided --------------------------------------

    def exact_mean(self, s: int, code: int) -> Fraction:
        """E[theta_{A,s}(v)], exactly."""
        return self._exact_path(s, self._atom + int(self.column.atom_of[code])) * self._part_of(
            s, code
        )

    def exact_inside(self, s: int, part: int, code: int) -> Fraction:
        """Pr(a row with s and this region has this value), exactly; the value must be inside."""
        whole = self._exact_path(s, int(self.shape.node[part]))
        return self.exact_mean(s, code) / whole

    def _exact_path(self, s: int, node: int) -> Fraction:
        path = Fraction(1)
        while node:
            above = int(self.shape.parent[node])
            strictly = int(self._below[above, s] - self._at[above, s])
            path *= (self._exact_alpha(s, node) + int(self._below[node, s])) / (
                self._exact_alpha(s, above) + strictly
            )
            node = above
        return path

    def _exact_alpha(self, s: int, node: int) -> Fraction:
        weights = self.column.beta[s if len(self.column.beta) > 1 else 0, self._codes(node)]
        distinct, many = np.unique(weights, return_counts=True)
        pairs = zip(distinct.tolist(), many.tolist(), strict=True)
        return sum((fraction(weight) * n for weight, n in pairs), Fraction(0))

    def _codes(self, node: int) -> Ints:
        """The values below a node."""
        inside = np.zeros(len(self.shape.parent), dtype=bool)
        inside[node] = True
        for level in self.shape.levels[1:]:
            inside[level] |= inside[self.shape.parent[level]]
        return np.flatnonzero(inside[self._atom :][self.column.atom_of])

    def _part_of(self, s: int, code: int) -> Fraction:
        weight = self.column.beta[s if len(self.column.beta) > 1 else 0, code]
        atom = self._atom + int(self.column.atom_of[code])
        return fraction(weight) / self._exact_alpha(s, atom)
