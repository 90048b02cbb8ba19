"""Compiled sweeps over theta where regions cross: counts drawn by cell, then slices between atoms.

One problem is a sensitive value in a column: K atoms with prior weights, and regions (sets of
atoms) with the number of people each. A sweep has two halves, each leaving the posterior as it is.

1. Counts: the people of a region are dealt to its atoms in proportion to theta (a multinomial, not
   a draw for every person), and theta is drawn from the Dirichlet that the counts make.
2. Exchange: for two neighbouring atoms the mass they share is kept and its division drawn anew from
   its own conditional by a slice, summing over all ways the people may lie. Only the regions that
   part the two matter. It moves where the first half is stuck: many people, few of them pinned.

Regions of one atom are part of the prior weights by now, and regions of all atoms say nothing.

A kernel of its own, as `bucket_kernel.py` is: a release needs one of the two.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sfumato.compiled import inner, kernel
from sfumato.numbers import Floats, Ints

if TYPE_CHECKING:
    from sfumato.adversaries.relative_threat.atoms import Problems

TINY = 1e-300
FEW = 16  # people of a region up to which each is dealt alone


@kernel
def sweep_all(
    rng: np.random.Generator,
    sweeps: int,
    thin: int,
    theta: Floats,
    problems: Problems,
    kept: Floats,
) -> None:
    """Sweep all problems; every `thin`-th state goes to a row of `kept`."""
    begins, beta, people = problems.begins, problems.beta, problems.people
    part_begins, atom_begins, atoms = problems.part_begins, problems.atom_begins, problems.atoms
    mass = np.empty(len(people))
    counts = np.empty(len(theta))
    row = 0
    for sweep in range(sweeps):
        for q in range(len(begins) - 1):
            start, stop = begins[q], begins[q + 1]
            if stop - start < 2:
                continue
            first, last = part_begins[q], part_begins[q + 1]
            for p in range(first, last):
                mass[p] = _mass(theta, atoms, atom_begins[p], atom_begins[p + 1])
            for a in range(start, stop):
                counts[a] = beta[a]
            for p in range(first, last):
                _deal(rng, theta, atoms, atom_begins[p], atom_begins[p + 1], people[p], counts)
            _dirichlet(rng, theta, counts, start, stop)
            for p in range(first, last):
                mass[p] = _mass(theta, atoms, atom_begins[p], atom_begins[p + 1])
            for a in range(start, stop - 1):
                pair = slice(problems.pair_begins[a], problems.pair_begins[a + 1])
                parts, sides = problems.pair_parts[pair], problems.pair_sides[pair]
                _exchange(rng, theta, beta, a, parts, sides, people, mass)
        if (sweep + 1) % thin == 0:
            for a in range(len(theta)):
                kept[row, a] = theta[a]
            row += 1


@inner
def _mass(theta: Floats, atoms: Ints, start: int, stop: int) -> float:
    total = 0.0
    for i in range(start, stop):
        total += theta[atoms[i]]
    return total


@inner
def _deal(
    rng: np.random.Generator,
    theta: Floats,
    atoms: Ints,
    start: int,
    stop: int,
    people: int,
    counts: Floats,
) -> None:
    """Deal a region's people to its atoms."""
    left = _mass(theta, atoms, start, stop)
    if people <= FEW:
        for _ in range(people):
            chance = rng.random() * left
            i = start
            while i < stop - 1:
                chance -= theta[atoms[i]]
                if chance < 0:
                    break
                i += 1
            counts[atoms[i]] += 1.0
        return
    for i in range(start, stop - 1):
        if people == 0:
            return
        share = theta[atoms[i]] / left if left > 0 else 0.5
        drawn = _binomial(rng, people, min(max(share, 0.0), 1.0))
        counts[atoms[i]] += drawn
        people -= drawn
        left -= theta[atoms[i]]
    counts[atoms[stop - 1]] += people


@inner
def _binomial(rng: np.random.Generator, people: int, share: float) -> int:
    """How many of them, each with this chance (Devroye: halving by the median order statistic).

    Large numbers take a few gammas, and the compiler has no second distribution to build.
    """
    successes = 0
    while people > FEW:
        middle = people // 2 + 1
        gamma = rng.standard_gamma(float(middle))
        split = gamma / (gamma + rng.standard_gamma(float(people + 1 - middle)))
        if split <= share:
            successes += middle
            people -= middle
            share = (share - split) / (1.0 - split)
        else:
            people = middle - 1
            share /= split
    for _ in range(people):
        if rng.random() < share:
            successes += 1
    return successes


@inner
def _dirichlet(
    rng: np.random.Generator, theta: Floats, counts: Floats, start: int, stop: int
) -> None:
    total = 0.0
    for a in range(start, stop):
        theta[a] = max(rng.standard_gamma(counts[a]), TINY)
        total += theta[a]
    for a in range(start, stop):
        theta[a] = max(theta[a] / total, TINY)


@inner
def _exchange(
    rng: np.random.Generator,
    theta: Floats,
    beta: Floats,
    a: int,
    parts: Ints,
    sides: Ints,
    people: Ints,
    mass: Floats,
) -> None:
    """Draw anew how two neighbours divide their mass: a slice, shrunk from the whole of it."""
    whole = theta[a] + theta[a + 1]
    if len(parts) == 0:
        gamma = max(rng.standard_gamma(beta[a]), TINY)
        theta[a] = max(whole * gamma / (gamma + rng.standard_gamma(beta[a + 1])), TINY)
        theta[a + 1] = max(whole - theta[a], TINY)
        return
    x = min(max(theta[a] / whole, TINY), 1.0 - 1e-16)
    rest = np.empty(len(parts))
    for i in range(len(parts)):
        own = theta[a] if sides[i] == 0 else theta[a + 1]
        rest[i] = max(mass[parts[i]] - own, 0.0)
    level = _density(x, whole, beta[a], beta[a + 1], parts, sides, people, rest)
    level += math.log(1.0 - rng.random())
    low, high = 0.0, 1.0
    for _ in range(200):  # shrinks by a half or so each time; 200 is never reached
        drawn = low + rng.random() * (high - low)
        if _density(drawn, whole, beta[a], beta[a + 1], parts, sides, people, rest) >= level:
            x = drawn
            break
        if drawn < x:
            low = drawn
        else:
            high = drawn
    theta[a] = max(whole * x, TINY)
    theta[a + 1] = max(whole - theta[a], TINY)
    for i in range(len(parts)):
        mass[parts[i]] = rest[i] + (theta[a] if sides[i] == 0 else theta[a + 1])


@inner
def _density(
    x: float,
    whole: float,
    left: float,
    right: float,
    parts: Ints,
    sides: Ints,
    people: Ints,
    rest: Floats,
) -> float:
    """The logarithm of the conditional density of the left neighbour's share."""
    if x <= 0.0 or x >= 1.0:
        return -math.inf
    total = (left - 1.0) * math.log(x) + (right - 1.0) * math.log(1.0 - x)
    for i in range(len(parts)):
        own = whole * x if sides[i] == 0 else whole * (1.0 - x)
        total += people[parts[i]] * math.log(max(rest[i] + own, TINY))
    return total


@kernel
def inside_draws(draws: Floats, begins: Ints, atoms: Ints, cells: Ints, wanted: Ints) -> Floats:
    """theta(atom) / theta(region) in every draw, for regions (`cells`) and atoms (`wanted`).

    `draws` has a row by atom. Pairs of one region should stand together: its mass is summed once.
    """
    many = draws.shape[1]
    shares = np.empty((len(cells), many))
    mass = np.empty(many)
    last = -1
    for i in range(len(cells)):
        if cells[i] != last:
            last = cells[i]
            _sum_mass(draws, begins, atoms, last, mass)
        for m in range(many):
            shares[i, m] = draws[wanted[i], m] / mass[m]
    return shares


@kernel
def inside_means(
    draws: Floats, begins: Ints, atoms: Ints, cells: Ints, wanted: Ints, batches: int
) -> Floats:
    """The means of the same over equal batches of draws: batches by pairs."""
    many = draws.shape[1] // batches
    means = np.zeros((batches, len(cells)))
    mass = np.empty(draws.shape[1])
    last = -1
    for i in range(len(cells)):
        if cells[i] != last:
            last = cells[i]
            _sum_mass(draws, begins, atoms, last, mass)
        for batch in range(batches):
            total = 0.0
            for m in range(batch * many, (batch + 1) * many):
                total += draws[wanted[i], m] / mass[m]
            means[batch, i] = total / many
    return means


@kernel
def weighted_means(
    draws: Floats, begins: Ints, atoms: Ints, weights: Floats, batches: int
) -> Floats:
    """The mean of sum_a w_a theta_a / theta(region) for every region: batches by regions."""
    many = draws.shape[1] // batches
    means = np.zeros((batches, len(begins) - 1))
    mass, part = np.empty(draws.shape[1]), np.empty(draws.shape[1])
    for cell in range(len(begins) - 1):
        _sum_mass(draws, begins, atoms, cell, mass)
        for m in range(len(part)):
            part[m] = 0.0
        for i in range(begins[cell], begins[cell + 1]):
            if weights[atoms[i]] != 0.0:
                for m in range(len(part)):
                    part[m] += weights[atoms[i]] * draws[atoms[i], m]
        for batch in range(batches):
            total = 0.0
            for m in range(batch * many, (batch + 1) * many):
                total += part[m] / mass[m]
            means[batch, cell] = total / many
    return means


@inner
def _sum_mass(draws: Floats, begins: Ints, atoms: Ints, cell: int, mass: Floats) -> None:
    for m in range(len(mass)):
        mass[m] = 0.0
    for i in range(begins[cell], begins[cell + 1]):
        for m in range(len(mass)):
            mass[m] += draws[atoms[i], m]
