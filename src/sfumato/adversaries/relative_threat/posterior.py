"""What every way of learning one quasi-identifier from a generalized release must answer."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sfumato.adversaries.relative_threat.columns import Column
from sfumato.numbers import Floats, Ints


class Posterior(Protocol):
    """Beliefs about theta_{A,s}, the population's distribution of column A among those with s.

    Answers come in replicates, the first axis: one where they are exact. Where they are estimated
    from draws, the first is from all of them and each other one leaves out a batch, which tells the
    error of whatever is computed from them (the jackknife).
    """

    @property
    def column(self) -> Column: ...

    def log_mean(self, codes: Ints) -> Floats:
        """log E[theta_{A,s}(v)]: replicates by s by these values."""

    def log_inside(self, s: Ints, parts: Ints, codes: Ints) -> Floats:
        """log Pr(a row with s and this region has this value), element by element."""

    def mean_of(self, weights: Floats) -> Floats:
        """The expected weight of somebody with s: replicates by s; weights are by value."""

    def inside_of(self, weights: Floats) -> Floats:
        """The same given a region: replicates by s by regions."""

    def draws(self, codes: Ints, rng: np.random.Generator, many: int) -> Floats:
        """theta_{A,s}(v) drawn `many` times: draws by s by values."""

    def draws_of(self, weights: Floats, rng: np.random.Generator, many: int) -> Floats:
        """The weights of somebody with s drawn `many` times: draws by s by rows of weights."""


def replicates(batches: Floats) -> Floats:
    """From the means of equally many draws each: the whole mean, and those without one batch."""
    many, mean = len(batches), np.asarray(batches.mean(axis=0, keepdims=True))
    if many == 1:
        return mean
    found: Floats = np.concatenate([mean, (many * mean - batches) / (many - 1)])
    return found


def jackknife(figures: Floats) -> Floats:
    """The standard error of the first replicate from those that leave a batch out."""
    left = figures[1:]
    if not len(left):
        none: Floats = np.zeros_like(figures[0])
        return none
    spread = ((left - left.mean(axis=0)) ** 2).sum(axis=0)
    error: Floats = np.sqrt(spread * (len(left) - 1) / len(left))
    return error


def split_atoms(
    column: Column, theta: Floats, atoms: Ints, codes: Ints, rng: np.random.Generator
) -> Floats:
    """Single values from drawn atoms: theta[m, s, i] is the mass of the atom of codes[i].

    Inside an atom the prior alone speaks: value v has Beta(beta_v, beta_atom - beta_v) of it.
    """
    beta, whole = column.beta[:, codes], column.weight[:, atoms]
    rest = whole - beta
    alone = rest <= 1e-12 * whole  # the only value of its atom
    if alone.all():
        return theta
    drawn = rng.beta(beta, np.where(alone, 1.0, rest), size=theta.shape)
    split: Floats = theta * np.where(alone, 1.0, drawn)
    return split


def weigh_atoms(column: Column, theta: Floats, weights: Floats, rng: np.random.Generator) -> Floats:
    """sum_v w_v theta_v for several weights (rows) from drawn atoms theta[m, s, atom].

    Atoms whose values have different weights are split among the kinds of them, for all rows alike.
    """
    low = np.minimum.reduceat(weights, column.first, axis=1)
    high = np.maximum.reduceat(weights, column.first, axis=1)
    total: Floats = theta @ low.T
    for atom in np.flatnonzero((high > low).any(axis=0)).tolist():
        stop = column.first[atom + 1] if atom + 1 < column.width else len(column.domain)
        codes = np.arange(column.first[atom], stop)
        kinds, kind = np.unique(weights[:, codes], axis=1, return_inverse=True)
        beta = np.zeros((kinds.shape[1], len(column.beta)))
        np.add.at(beta, kind.ravel(), column.beta[:, codes].T)
        shape = np.broadcast_to(beta.T, (*theta.shape[:2], len(beta)))
        drawn = np.maximum(rng.standard_gamma(shape), 1e-300)
        share = drawn / drawn.sum(axis=2, keepdims=True)
        total = total + theta[:, :, atom, None] * (share @ (kinds - low[:, [atom]]).T)
    return total
