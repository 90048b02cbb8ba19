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

Here too: what every way of learning one column must answer, and the prior.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from sfumato.adversaries.locating.locate import Located
from sfumato.adversaries.priors import (
    ColumnWeights,
    EqualWeights,
    OutsideTable,
    PriorGiven,
    PriorUse,
    Uniform,
    parse_prior,
)
from sfumato.adversaries.relative_threat.columns import RegionColumn, column_of
from sfumato.counts.counts import TableCounts
from sfumato.errors import InputError, did_you_mean, quoted
from sfumato.numbers import Floats, Ints, rows_of, run_places
from sfumato.release.description import Regions
from sfumato.release.groups import Groups
from sfumato.schema.domain import Domain
from sfumato.table import Table

# What every way of learning one quasi-identifier from a generalized release must answer.


class Posterior(Protocol):
    """Beliefs about theta_{A,s}, the population's distribution of column A among those with s.

    Answers come in replicates, the first axis: one where they are exact. Where they are estimated
    from draws, the first is from all of them and each other one leaves out a batch, which tells the
    error of whatever is computed from them (the jackknife).
    """

    @property
    def column(self) -> RegionColumn: ...

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
    batches_out: Floats = np.concatenate([mean, (many * mean - batches) / (many - 1)])
    return batches_out


def jackknife(figures: Floats) -> Floats:
    """The standard error of the first replicate from those that leave a batch out."""
    left = figures[1:]
    if not len(left):
        none: Floats = np.zeros_like(figures[0])
        return none
    spread = ((left - left.mean(axis=0)) ** 2).sum(axis=0)
    error: Floats = np.sqrt(spread * (len(left) - 1) / len(left))
    # What differs by rounding alone is the same in all of them.
    return np.where(error <= 1e-13 * np.abs(figures[0]), 0.0, error)


def split_atoms(
    column: RegionColumn, theta: Floats, atoms: Ints, codes: Ints, rng: np.random.Generator
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


def weigh_atoms(
    column: RegionColumn, theta: Floats, weights: Floats, rng: np.random.Generator
) -> Floats:
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


# What learner and attacker believe of the population before they see the release.
#
# pi_S ~ Dirichlet(alpha) over the sensitive values, and for each sensitive value s and each
# quasi-identifier A, theta_{A,s} ~ Dirichlet(beta) over A's whole domain. A weight is the number of
# people of that kind she thinks she has seen already; 1 everywhere is no opinion.
#
# From an outside table: where it has the sensitive column, its counts are added to every weight, as
# after having seen those people. Where it has not, it only tells how common each value is, so each
# column takes its shape and keeps the strength the plain weights would have.

Weights = float | Mapping[object, float]


@dataclass(frozen=True)
class DirichletWeights:
    """Dirichlet weights: `weight` for every value, or other ones in some `columns`.

    A column's entry is one weight for all its values, or weights by value (those not named keep
    `weight`). `outside` is a table about other people of the same population.
    """

    weight: float = 1.0
    columns: Mapping[str, Weights] = field(default_factory=dict)
    outside: Table | None = None

    def __post_init__(self) -> None:
        _positive(self.weight, "prior: weight")
        for name, given in self.columns.items():
            if isinstance(given, Mapping):
                for value, weight in given.items():
                    _positive(weight, f"prior of column {name!r}: the weight of {value!r}")
            else:
                _positive(given, f"prior of column {name!r}: weight")

    def check_columns(self, known: tuple[str, ...]) -> None:
        """Refuse priors of columns that are not there."""
        for name in self.columns:
            if name not in known:
                raise InputError(f"prior: no column {name!r}; {did_you_mean(name, known)}")

    def of_values(self, domain: Domain) -> Floats:
        """alpha: the weight of each sensitive value."""
        weights = self._plain(domain)
        if self.outside is not None and domain.name in _sensitive(self.outside.counts):
            weights = weights + _sums(self.outside.counts, domain)
        return weights

    def of_column(self, domain: Domain, values: Domain) -> Floats:
        """beta: the weight of each value of a quasi-identifier, a row by sensitive value.

        One row where it is the same for all of them.
        """
        plain = self._plain(domain)[None, :]
        if self.outside is None:
            return plain
        counts = self.outside.counts
        if domain.name not in [column.name for column in counts.quasi]:
            return plain
        if values.name in _sensitive(counts):
            return plain + _by_value(counts, domain, values)
        seen = _seen(counts, domain)
        shape = (seen + self.weight) / (seen.sum() + self.weight * len(domain))
        spread: Floats = plain.sum() * shape[None, :]
        return spread

    def _plain(self, domain: Domain) -> Floats:
        given = self.columns.get(domain.name, self.weight)
        if not isinstance(given, Mapping):
            return np.full(len(domain), float(given))
        weights = np.full(len(domain), float(self.weight))
        for value, weight in given.items():
            code = domain.code(value)
            if code is None:
                raise InputError(
                    f"prior of column {domain.name!r}: {value!r} is not in its domain; "
                    f"{did_you_mean(value, domain.labels)}"
                )
            weights[code] = weight
        return weights


LEARNER = PriorUse(
    "relative threat",
    (Uniform, EqualWeights, ColumnWeights, OutsideTable),
    error=InputError,
)


LearnerPrior = PriorGiven | DirichletWeights


def prior_of(given: LearnerPrior, weight: float = 1.0) -> DirichletWeights:
    """What a caller may write as weights: "uniform", one weight, weights by column, a table.

    `weight` is that of every value which the prior says nothing of.
    """
    if isinstance(given, DirichletWeights):
        return given
    match parse_prior(given, LEARNER):
        case EqualWeights(shared):
            return DirichletWeights(shared)
        case ColumnWeights(columns):
            return DirichletWeights(weight, columns)
        case OutsideTable(people):
            return DirichletWeights(weight, outside=people)
    return DirichletWeights(weight)


def _positive(weight: object, name: str) -> None:
    number = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not number or not 0 < weight < math.inf:  # type: ignore[operator]
        raise InputError(f"{name} = {quoted(weight)} is not allowed; every weight must be above 0")


def _sensitive(counts: TableCounts) -> list[str]:
    """The sensitive columns in which everybody has one value."""
    return [attribute.name for attribute in counts.sensitive if attribute.sets is None]


def _codes(source: Domain, target: Domain) -> Ints:
    """The target's code of each value of the source; one past the last for values it lacks."""
    codes = [target.code(value) for value in source.values]
    return np.array([len(target) if code is None else code for code in codes], dtype=np.int64)


def _sums(counts: TableCounts, domain: Domain) -> Floats:
    place = counts.attribute(domain.name)
    codes = _codes(counts.sensitive[place].domain, domain)
    sums = np.bincount(codes, weights=counts.by_value(place), minlength=len(domain) + 1)
    return sums[:-1].astype(np.float64)


def _seen(counts: TableCounts, domain: Domain) -> Floats:
    place = [column.name for column in counts.quasi].index(domain.name)
    codes = _codes(counts.quasi[place], domain)
    people = np.bincount(codes, weights=counts.by_code(place), minlength=len(domain) + 1)
    return people[:-1].astype(np.float64)


def _by_value(counts: TableCounts, domain: Domain, values: Domain) -> Floats:
    """People by sensitive value and by quasi-identifier, summed part by part."""
    column = [quasi.name for quasi in counts.quasi].index(domain.name)
    place = counts.attribute(values.name)
    code_of = _codes(counts.quasi[column], domain)
    value_of = _codes(counts.sensitive[place].domain, values)
    width = len(domain) + 1
    table: Floats = np.zeros((len(values) + 1, width))
    for part in counts.parts():
        key = value_of[part.values[place]] * width + code_of[part.codes[column]]
        table += np.bincount(key, weights=part.n, minlength=table.size).reshape(table.shape)
    return table[:-1, :-1]


@dataclass(frozen=True)
class Model:
    """A generalized release in the terms of the model."""

    values: Domain
    alpha: Floats
    groups: Groups
    columns: tuple[RegionColumn, ...]

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

    def cells(self, column: RegionColumn) -> Floats:
        """How many people with s show each region of a column: s by regions."""
        groups = self.groups
        key = groups.indices.astype(np.int64) * column.parts + column.region_of[groups.row]
        size = self.width * column.parts
        people = np.bincount(key, weights=groups.data, minlength=size)
        return people.reshape(self.width, column.parts).astype(np.float64)

    def atom_codes(self, noise_of: Callable[[str], float]) -> list[Ints]:
        """For every code of each column the first that is believed the same in the joint reading.

        Of the values of an atom a release tells nothing apart. Nor does the prior, if all sensitive
        values have the same shares of the atom, and a value is seen as it is or not at all.
        """
        return [
            column.first[column.atom_of]
            if len(column.beta) == 1 and not noise_of(column.name)
            else np.arange(len(column.domain))
            for column in self.columns
        ]


def model_of(
    values: Domain,
    groups: Groups,
    regions: Regions,
    domains: Sequence[Domain],
    prior: DirichletWeights,
) -> Model:
    columns = tuple(
        column_of(domain, prior.of_column(domain, values), parts, region_of)
        for domain, parts, region_of in zip(domains, regions.parts, regions.codes, strict=True)
    )
    return Model(values, prior.of_values(values), groups, columns)


@dataclass(frozen=True)
class Entries:
    """What speaks about each person asked for: every (group she fits, sensitive value there).

    Entry i says that `n` people with value `s` of group `group` could be person `person`; sorted by
    person.
    """

    person: Ints
    group: Ints
    s: Ints
    n: Ints
    asked: int


def entries_of(groups: Groups, where: Located) -> Entries:
    fitting = np.diff(where.indptr)
    many = groups.distinct[where.groups]
    stored = run_places(groups.indptr[where.groups], many)
    return Entries(
        np.repeat(rows_of(where.indptr), many),
        np.repeat(where.groups, many),
        groups.indices[stored].astype(np.int64),
        groups.data[stored],
        len(fitting),
    )


def shares(entries: Entries, log_weight: Floats, width: int) -> Floats:
    """Each person's distribution over values from entries' log weights (replicates by entries).

    Persons nobody could be have no distribution: zeros.
    """
    sums = np.zeros((len(log_weight), entries.asked, width))
    if not len(entries.person):
        return sums
    starts = np.flatnonzero(np.diff(entries.person, prepend=-1))
    persons = entries.person[starts]
    key = entries.person * width + entries.s
    for replicate, weights in enumerate(log_weight):
        most = np.zeros(entries.asked)
        most[persons] = np.maximum.reduceat(weights, starts)
        scaled = np.exp(weights - most[entries.person])
        summed = np.bincount(key, weights=scaled, minlength=entries.asked * width)
        sums[replicate] = summed.reshape(entries.asked, width)
    return normalised(sums)


def normalised(weights: Floats) -> Floats:
    """Weights along the last axis as shares of their sum; none stays none."""
    total = weights.sum(axis=-1, keepdims=True)
    chances: Floats = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return chances


def mixed(log_weights: Floats, shares: Sequence[float]) -> Floats:
    """Weights of alternatives (last axis) added up in these shares.

    All are scaled alike, for no float holds a product over many columns.
    """
    most = log_weights.max(initial=-1e300)
    weights: Floats = np.exp(log_weights - most) @ np.array(shares)
    return weights


def soft_shares(log_weights: Floats) -> Floats:
    """Log weights along the last axis as shares."""
    scaled = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    return normalised(scaled)
