"""The population model of learner and attacker (Boreale, Corradi, Viscardi 2020, Section III).

A person is drawn by first drawing a sensitive value s from pi, then each quasi-identifier A from
theta_{A,s}, independently of the others. Rows are independent draws. The release shows every row's
sensitive value and a region its quasi-identifiers lie in, so given the release

    pi is Dirichlet(alpha + n(s)), and theta_{A,s} depends only on how often each region of column A
    was published with s.

Everything therefore falls apart into (sensitive value, column) pairs, and rows into cells: how many
people with s show region p of column A. The *learner* uses what the release tells of the
population, p_L(s|r) ~ E[pi_s] prod_A E[theta_{A,s}(r_A)]. The *attacker* knows that her victim is
one of the rows: p_A(s|r) ~ sum over rows j with s of Pr(R_j = r | release), and Pr(R_j = r) is the
product over columns of Pr(R_jA = r_A), which given the row's region is
E[theta(r_A) / theta(region)]. *Random worlds* takes all values of a region as equally likely.

Erratum: Definition 1 asks p_A to have full support; it may have zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.locating.locate import Located
from sfumato.adversaries.relative_threat.column import Column, column_of
from sfumato.adversaries.relative_threat.prior import Prior
from sfumato.counts.counts import Ints
from sfumato.release.groups import Groups
from sfumato.release.regions import Regions
from sfumato.schema.domain import Domain

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Model:
    """A generalized release in the terms of the model."""

    values: Domain
    alpha: Floats
    groups: Groups
    columns: tuple[Column, ...]

    @property
    def width(self) -> int:
        return len(self.values)

    @cached_property
    def people(self) -> Floats:
        """How many people have each sensitive value."""
        groups = self.groups
        sums = np.bincount(groups.indices, weights=groups.data, minlength=self.width)
        return sums.astype(np.float64)

    @cached_property
    def mean_pi(self) -> Floats:
        """E[pi_s]."""
        weights = self.alpha + self.people
        mean: Floats = weights / weights.sum()
        return mean

    def cells(self, column: Column) -> Floats:
        """How many people with s show each region of a column: s by regions."""
        groups = self.groups
        key = groups.indices.astype(np.int64) * column.parts + column.shown[groups.row]
        size = self.width * column.parts
        found = np.bincount(key, weights=groups.data, minlength=size)
        return found.reshape(self.width, column.parts).astype(np.float64)


def model_of(
    values: Domain, groups: Groups, regions: Regions, domains: Sequence[Domain], prior: Prior
) -> Model:
    columns = tuple(
        column_of(domain, prior.of_column(domain, values), parts, shown)
        for domain, parts, shown in zip(domains, regions.parts, regions.codes, strict=True)
    )
    return Model(values, prior.of_values(values), groups, columns)


@dataclass(frozen=True)
class Entries:
    """What speaks about each person asked for: every (group she fits, sensitive value there).

    Entry i says that `n` people with value `s` of group `group` could be person `who`; sorted by
    person.
    """

    who: Ints
    group: Ints
    s: Ints
    n: Ints
    asked: int


def entries_of(groups: Groups, where: Located) -> Entries:
    fitting = np.diff(where.indptr)
    who = np.repeat(np.arange(len(fitting)), fitting)
    many = groups.distinct[where.groups]
    total = int(many.sum())
    begin = groups.indptr[where.groups] - (np.cumsum(many) - many)
    stored = np.repeat(begin, many) + np.arange(total)
    return Entries(
        np.repeat(who, many),
        np.repeat(where.groups, many),
        groups.indices[stored].astype(np.int64),
        groups.data[stored],
        len(fitting),
    )


def shares(entries: Entries, log_weight: Floats, width: int) -> Floats:
    """Each person's distribution over values from entries' log weights (replicates by entries).

    Persons nobody could be have no distribution: zeros.
    """
    found = np.zeros((len(log_weight), entries.asked, width))
    if not len(entries.who):
        return found
    starts = np.flatnonzero(np.diff(entries.who, prepend=-1))
    persons = entries.who[starts]
    key = entries.who * width + entries.s
    for replicate, weights in enumerate(log_weight):
        most = np.zeros(entries.asked)
        most[persons] = np.maximum.reduceat(weights, starts)
        scaled = np.exp(weights - most[entries.who])
        summed = np.bincount(key, weights=scaled, minlength=entries.asked * width)
        found[replicate] = summed.reshape(entries.asked, width)
    return normalised(found)


def normalised(weights: Floats) -> Floats:
    """Weights along the last axis as shares of their sum; none stays none."""
    total = weights.sum(axis=-1, keepdims=True)
    found: Floats = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return found


def soft_shares(log_weights: Floats) -> Floats:
    """Log weights along the last axis as shares."""
    scaled = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    return normalised(scaled)
