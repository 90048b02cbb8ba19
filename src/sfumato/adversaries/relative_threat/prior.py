"""What learner and attacker believe of the population before they see the release.

pi_S ~ Dirichlet(alpha) over the sensitive values, and for each sensitive value s and each
quasi-identifier A, theta_{A,s} ~ Dirichlet(beta) over A's whole domain. A weight is the number of
people of that kind she thinks she has seen already; 1 everywhere is no opinion.

From an outside table: where it has the sensitive column, its counts are added to every weight, as
after having seen those people. Where it has not, it only tells how common each value is, so each
column takes its shape and keeps the strength the plain weights would have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sfumato.counts.counts import Counts, Ints
from sfumato.errors import InputError, did_you_mean, quoted
from sfumato.schema.domain import Domain
from sfumato.table.load import Table

Floats = npt.NDArray[np.float64]
Weights = float | Mapping[object, float]


@dataclass(frozen=True)
class Prior:
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
        if domain.name not in [one.name for one in counts.quasi]:
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
                    f"{did_you_mean(str(value), domain.labels)}"
                )
            weights[code] = weight
        return weights


def prior_of(given: object) -> Prior:
    """A prior from what a caller may write: "uniform", a weight, weights by column, a table."""
    if isinstance(given, Prior):
        return given
    if given == "uniform":
        return Prior()
    if isinstance(given, Table):
        return Prior(outside=given)
    if isinstance(given, Mapping):
        return Prior(columns=given)
    if isinstance(given, int | float) and not isinstance(given, bool):
        return Prior(float(given))
    raise InputError(
        f"prior = {quoted(given)} is not known; use 'uniform', a weight, weights by column, a "
        "table of other people, or a Prior"
    )


def _positive(weight: object, what: str) -> None:
    number = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not number or not 0 < weight < math.inf:  # type: ignore[operator]
        raise InputError(f"{what} = {quoted(weight)} is not allowed; every weight must be above 0")


def _sensitive(counts: Counts) -> list[str]:
    """The sensitive columns in which everybody has one value."""
    return [attribute.name for attribute in counts.sensitive if attribute.sets is None]


def _codes(theirs: Domain, ours: Domain) -> Ints:
    """Our code of each of their values; one past the last for values we do not have."""
    codes = [ours.code(value) for value in theirs.values]
    return np.array([len(ours) if code is None else code for code in codes], dtype=np.int64)


def _column(counts: Counts, domain: Domain) -> Ints:
    place = [one.name for one in counts.quasi].index(domain.name)
    found: Ints = _codes(counts.quasi[place], domain)[counts.codes[place]]
    return found


def _value(counts: Counts, domain: Domain) -> Ints:
    place = counts.attribute(domain.name)
    found: Ints = _codes(counts.sensitive[place].domain, domain)[counts.values[place]]
    return found


def _sums(counts: Counts, domain: Domain) -> Floats:
    found = np.bincount(_value(counts, domain), weights=counts.n, minlength=len(domain) + 1)
    return found[:-1].astype(np.float64)


def _seen(counts: Counts, domain: Domain) -> Floats:
    found = np.bincount(_column(counts, domain), weights=counts.n, minlength=len(domain) + 1)
    return found[:-1].astype(np.float64)


def _by_value(counts: Counts, domain: Domain, values: Domain) -> Floats:
    width = len(domain) + 1
    key = _value(counts, values) * width + _column(counts, domain)
    found = np.bincount(key, weights=counts.n, minlength=width * (len(values) + 1))
    table: Floats = found.reshape(len(values) + 1, width)[:-1, :-1].astype(np.float64)
    return table
