"""Members: what a bucketized release says of a group's QIs, which is all of them, exactly.

A bucket lists its people's exact QI tuples and, apart from them, its sensitive values; who has
which value is what it hides. `Members` stands where a generalized release has `Regions` and answers
the same questions: how a group is described, and which groups a person may be in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.counts.contingency import Ints
from sfumato.schema.domain import Codes, Domain
from sfumato.schema.region import Value, text_of


@dataclass(frozen=True)
class Members:
    """Group g lists the distinct tuples `codes[:, indptr[g]:indptr[g + 1]]`, `n` people each."""

    domains: tuple[Domain, ...]
    indptr: Ints
    codes: Codes
    n: Ints

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
        group = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        return np.unique(group[fits])

    def take(self, groups: Ints) -> Members:
        """Some of the groups, by their positions."""
        many = np.diff(self.indptr)[groups]
        indptr = np.concatenate([[0], np.cumsum(many)]).astype(np.int64)
        listed = np.repeat(self.indptr[groups] - indptr[:-1], many) + np.arange(indptr[-1])
        return Members(self.domains, indptr, self.codes[:, listed], self.n[listed])

    def disjoint(self) -> bool:
        """Whether no tuple is listed by two groups."""
        return bool(np.unique(self.codes, axis=1).shape[1] == self.codes.shape[1])
