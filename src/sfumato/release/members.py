"""Members: what a bucketized release says of a group's QIs, which is all of them, exactly.

A bucket lists its people's exact QI tuples and, apart from them, its sensitive values; who has
which value is what it hides. Who is who it does not hide: people are told apart by their tuples,
whatever their bucket. `Members` stands where a generalized release has `Regions` and answers the
same questions: how a group is described, which groups a person may be in, who looks like whom.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.counts.counts import rank_rows
from sfumato.numbers import Codes, Floats, Ints, rows_of, taken_rows
from sfumato.release.beside import Beside
from sfumato.release.groups import Groups
from sfumato.release.regions import Regions, Singletons
from sfumato.schema.domain import Domain
from sfumato.schema.region import Value, text_of


@dataclass(frozen=True)
class Members:
    """Group g lists the distinct tuples `codes[:, indptr[g]:indptr[g + 1]]`, `n` people each.

    `weights`: how many people of the population they stand for, where survey weights are known.
    """

    domains: tuple[Domain, ...]
    indptr: Ints
    codes: Codes
    n: Ints
    weights: Floats | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(domain.name for domain in self.domains)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def describe(self, group: int) -> dict[str, str]:
        """The values a group lists, column by column."""
        listed = self.codes[:, self.indptr[group] : self.indptr[group + 1]]
        return {
            domain.name: ", ".join(text_of(domain.values[code]) for code in np.unique(row))
            for domain, row in zip(self.domains, listed, strict=True)
        }

    def containing(self, person: dict[str, Value]) -> Ints:
        """The groups that list a tuple with these values."""
        fits = np.ones(self.codes.shape[1], dtype=bool)
        for domain, row in zip(self.domains, self.codes, strict=True):
            code = domain.code(person[domain.name])
            fits &= row == (-1 if code is None else code)
        return np.unique(rows_of(self.indptr)[fits])

    def take(self, groups: Ints) -> Members:
        """Some of the groups, by their positions."""
        indptr, listed = taken_rows(self.indptr, groups)
        weights = None if self.weights is None else self.weights[listed]
        return Members(self.domains, indptr, self.codes[:, listed], self.n[listed], weights)

    def by_tuple(self) -> Groups:
        """The people by exact tuple, in whatever bucket: those who cannot be told apart."""
        number, first = rank_rows(self.codes, [len(domain) for domain in self.domains])
        sizes = np.bincount(number, weights=self.n, minlength=len(first)).astype(np.int64)
        regions = Regions(
            self.columns,
            tuple(Singletons(domain) for domain in self.domains),
            np.ascontiguousarray(self.codes[:, first]),
        )
        population: Floats | None = None
        if self.weights is not None:
            summed = np.bincount(number, weights=self.weights, minlength=len(first))
            population = summed.astype(np.float64)
        return Groups.of_sizes(sizes, Beside(regions, population))

    def disjoint(self) -> bool:
        """Whether no tuple is listed by two groups."""
        return bool(np.unique(self.codes, axis=1).shape[1] == self.codes.shape[1])
