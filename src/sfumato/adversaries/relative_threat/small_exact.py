"""The exact posterior of small crossing columns: a sum over how people may lie in their regions.

A region of n people contributes (theta_a + theta_b + ...)^n to the likelihood. Multiplied out, the
likelihood is a sum of monomials, each a way in which people may be spread over atoms, and the
posterior the same mixture of Dirichlets. Where there are few enough monomials nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import comb, factorial, prod

import numpy as np

from sfumato.adversaries.relative_threat.atoms import ByAtoms, Problems
from sfumato.adversaries.relative_threat.bucketized import Bucketized, Buckets
from sfumato.adversaries.relative_threat.columns import Column
from sfumato.numbers import Floats, Ints

# The exact posterior of small bucketized releases: every way of dealing the values, weighed.

MOST = 4_096
_ROOM = 1 << 24  # counts of all worlds together


def every_world(buckets: Buckets) -> Bucketized | None:
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
    place = buckets.place
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
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return Bucketized(buckets, (weights @ chances)[None], kept, 1, weights)


def _ways(counts: Ints) -> list[Ints]:
    """Every way of dealing values with these counts to so many people."""

    def deal(left: list[int], size: int) -> Iterator[list[int]]:
        if size == 0:
            yield []
        for value, n in enumerate(left):
            if n:
                rest = [*left[:value], n - 1, *left[value + 1 :]]
                for others in deal(rest, size - 1):
                    yield [value, *others]

    return [np.array(way, dtype=np.int64) for way in deal(counts.tolist(), int(counts.sum()))]


Spread = tuple[int, ...]  # people in each atom
MOST_TERMS = 5_000
MOST_PEOPLE = 60  # in regions of several atoms; beyond, coefficients grow out of proportion
_WORK = 200_000  # terms multiplied in all


class Expanded(ByAtoms):
    """Mixtures of Dirichlets, one by sensitive value."""

    def __init__(self, column: Column, problems: Problems, mixtures: list[Mixture]) -> None:
        super().__init__(column, problems)
        self._mixtures = mixtures
        self._means = np.concatenate([one.mean() for one in mixtures])
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
        found = np.empty((1, len(cells)))
        for place, (cell, atom) in enumerate(zip(cells.tolist(), atoms.tolist(), strict=True)):
            start, stop = problems.cell_begins[cell], problems.cell_begins[cell + 1]
            at = start + np.searchsorted(problems.cell_atoms[start:stop], atom)
            found[0, place] = self._inside[at]
        return found

    def weighted(self, weights: Floats) -> Floats:
        weighed = self._inside * weights[self.problems.cell_atoms]
        found: Floats = np.add.reduceat(weighed, self.problems.cell_begins[:-1])[None]
        return found

    def drawn(self, rng: np.random.Generator, many: int) -> Floats:
        return np.concatenate([one.draws(rng, many) for one in self._mixtures])


class Mixture:
    """The posterior for one sensitive value: `beta` holds what is known, `cells` what is spread."""

    def __init__(self, beta: Floats, cells: dict[Spread, int], terms: dict[Spread, float]) -> None:
        self._beta, self._cells = beta.tolist(), cells
        self._terms = np.array(list(terms), dtype=np.float64).reshape(len(terms), len(beta))
        chances = np.array([c * self._rising(spread) for spread, c in terms.items()])
        self._chances: Floats = chances / chances.sum()

    def _rising(self, spread: Spread) -> float:
        """The integral of a monomial over the prior, up to a factor they all share."""
        return prod(
            prod((weight + k for k in range(people)), start=1.0)
            for weight, people in zip(self._beta, spread, strict=True)
        )

    def mean(self) -> Floats:
        posterior = np.array(self._beta) + self._terms
        found: Floats = self._chances @ (posterior / posterior.sum(axis=1, keepdims=True))
        return found

    def inside(self, atoms: Spread) -> Floats:
        """Where a person of the region with these atoms lies: all others spread, then she."""
        if len(atoms) == 1:
            return np.ones(1)
        others = dict(self._cells)
        if len(atoms) == len(self._beta):  # says nothing, and was not counted
            return self.mean()
        others[atoms] -= 1
        terms = expand(others, len(self._beta))
        assert terms is not None
        found = np.zeros(len(atoms))
        for spread, coefficient in terms.items():
            base = coefficient * self._rising(spread)
            for place, atom in enumerate(atoms):
                found[place] += base * (self._beta[atom] + spread[atom])
        share: Floats = found / found.sum()
        return share

    def draws(self, rng: np.random.Generator, many: int) -> Floats:
        chosen = rng.choice(len(self._chances), size=many, p=self._chances)
        gamma = np.maximum(rng.standard_gamma(np.array(self._beta) + self._terms[chosen]), 1e-300)
        theta: Floats = (gamma / gamma.sum(axis=1, keepdims=True)).T
        return theta


def expand(cells: dict[Spread, int], width: int) -> dict[Spread, float] | None:
    """The monomials of the likelihood and their coefficients; None where there are too many."""
    terms: dict[Spread, float] = {(0,) * width: 1.0}
    for atoms, people in cells.items():
        for _ in range(people):
            grown: dict[Spread, float] = {}
            for spread, coefficient in terms.items():
                for atom in atoms:
                    more = (*spread[:atom], spread[atom] + 1, *spread[atom + 1 :])
                    grown[more] = grown.get(more, 0.0) + coefficient
            terms = grown
            if len(terms) > MOST_TERMS:
                return None
    return terms


def expanded(column: Column, problems: Problems) -> Expanded | None:
    """The exact posterior, where that is little work."""
    mixtures = []
    for s in range(len(problems.begins) - 1):
        start, stop = int(problems.begins[s]), int(problems.begins[s + 1])
        cells: dict[Spread, int] = {}
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
