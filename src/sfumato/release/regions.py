"""Regions: what each group of a release says about the QIs of its people.

Column by column: the distinct regions a column shows, and which of them each group shows. Groups
with equal descriptions cannot be told apart by anybody and are merged before any judgement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from sfumato.counts.counts import rank_rows
from sfumato.errors import ResourceError
from sfumato.numbers import Codes, Ints
from sfumato.release.overlap import no_overlap
from sfumato.schema.domain import Domain
from sfumato.schema.region import Region, Value, ValueSet


class Singletons(Sequence[Region]):
    """The regions of a column published as it is: one value each, made when asked for."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain

    def __len__(self) -> int:
        return len(self._domain)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return ValueSet(frozenset({self._domain.values[index]}))


@dataclass(frozen=True)
class Regions:
    """`parts[c]` are the distinct regions of column c; `codes[c, g]` says which group g shows."""

    columns: tuple[str, ...]
    parts: tuple[Sequence[Region], ...]
    codes: Codes

    def __len__(self) -> int:
        return int(self.codes.shape[1])

    def describe(self, group: int) -> dict[str, str]:
        """What group g publishes, column by column."""
        return {
            column: parts[code].text
            for column, parts, code in zip(
                self.columns, self.parts, self.codes[:, group], strict=True
            )
        }

    def containing(self, person: dict[str, Value]) -> Ints:
        """The groups a person with these QI values may be in."""
        fits = np.ones(len(self), dtype=bool)
        for column, parts, codes in zip(self.columns, self.parts, self.codes, strict=True):
            inside = np.fromiter(
                (part.contains(person[column]) for part in parts), bool, len(parts)
            )
            fits &= inside[codes]
        return np.flatnonzero(fits)

    def equal_descriptions(self) -> tuple[Ints, Ints]:
        """Each group's number among distinct descriptions, and one group of each."""
        return rank_rows(self.codes, [len(parts) for parts in self.parts])

    def take(self, groups: Ints) -> Regions:
        return Regions(self.columns, self.parts, self.codes[:, groups])

    def disjoint(self) -> bool:
        """Whether no combination of QI values fits two groups; no where that took too long."""
        return bool(no_overlap(self.parts, self.codes))


class Examples(Regions):
    """The regions of groups of which each stands for many that count the same.

    They can be told one by one. Whoever would reason from all regions of a release must not take
    these for them, and gets an error.
    """

    def __init__(self, told: Regions) -> None:
        object.__setattr__(self, "told", told)
        object.__setattr__(self, "columns", told.columns)

    told: Regions

    def __len__(self) -> int:
        return len(self.told)

    def describe(self, group: int) -> dict[str, str]:
        return self.told.describe(group)

    def take(self, groups: Ints) -> Examples:
        return Examples(self.told.take(groups))

    def __repr__(self) -> str:
        return f"Examples({', '.join(self.columns)})"

    def _refuse(self) -> NoReturn:
        raise ResourceError(
            "this needs the description of every group, and the file is larger than memory; raise "
            "the memory limit"
        )

    @property
    def parts(self) -> tuple[Sequence[Region], ...]:
        self._refuse()

    @property
    def codes(self) -> Codes:
        self._refuse()
