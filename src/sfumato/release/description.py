"""Description: what each group of a release says about the quasi-identifiers of its people.

Four kinds, and nobody else asks which one it is. `Regions` contain their people's values (a
generalized release). `Centroids` are points near their people. `NoisyCells` are regions whose
counts are noise. `Buckets` list their people's exact tuples and, apart from them, their sensitive
values. `Examples` stand for the regions of a release that is larger than memory, `StoredBuckets`
for its buckets.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from sfumato.counts.counts import Counts, rank_rows
from sfumato.counts.stored import Kinds, StoredCounts
from sfumato.errors import InputError, ResourceError
from sfumato.numbers import Codes, Floats, Ints, rows_of, sums_by, taken_rows
from sfumato.release.beside import Beside, Inside
from sfumato.release.groups import Groups
from sfumato.release.overlap import no_overlap
from sfumato.schema.domain import Domain
from sfumato.schema.region import Region, ValueSet, text_of

Scheme = Literal["generalized", "bucketized", "microaggregated", "randomised"]


class Description(ABC):
    """What groups publish of quasi-identifiers, whatever their scheme."""

    scheme: ClassVar[Scheme]
    columns: tuple[str, ...]

    @property
    def noisy(self) -> bool:
        """Whether counts are noisy: nobody is in a cell, and how many are is noise too."""
        return self.scheme == "randomised"

    @property
    def exact(self) -> bool:
        """Whether the exact quasi-identifiers of its people are published, in buckets."""
        return self.scheme == "bucketized"

    @property
    def centroids(self) -> bool:
        """Whether groups show a point that their people are near to, and need not have."""
        return self.scheme == "microaggregated"

    @property
    def generalizes(self) -> bool:
        """Whether groups show ranges or labels that hold for all of their people."""
        return self.scheme == "generalized"

    @property
    def contains_people(self) -> bool:
        """Whether everybody's own values are among those that her group shows."""
        return self.generalizes or self.exact

    @property
    def buckets(self) -> Buckets | None:
        """The lists of exact tuples, where that is what is published."""
        return None

    @property
    def stored_tuples(self) -> StoredCounts | None:
        """The table that an engine keeps, where people are told apart by their tuples in it."""
        return None

    @property
    def listed_people(self) -> list[tuple[Domain, Ints]] | None:
        """Of buckets: the people by their exact value of each column."""
        return None

    def told_apart(self, groups: Groups) -> Groups:
        """The people nobody can tell apart by quasi-identifiers, where `groups` are all there are.

        Those of a group, as a rule.
        """
        return groups

    def describe_apart(self, group: int) -> dict[str, str]:
        """What is published, or known, of the people of a group of `told_apart`."""
        return self.describe(group)

    @property
    def each_region(self) -> Regions | None:
        """The region of every group, where groups show regions and all of them are at hand."""
        return None

    @property
    def regions_at_hand(self) -> Regions | None:
        """Those of every group or, of a release larger than memory, of one group of each kind."""
        return self.each_region

    @abstractmethod
    def require_regions(self) -> Regions:
        """The region of every group; refuses where there is none, or not all are at hand."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def describe(self, group: int) -> dict[str, str]:
        """What a group publishes, column by column."""

    def name(self, group: int) -> str:
        """A group as everything calls it that speaks of it: by what it publishes."""
        return ", ".join(f"{column} {text}" for column, text in self.describe(group).items())

    @abstractmethod
    def take(self, groups: Ints) -> Self:
        """Of some of the groups, by their positions."""

    @abstractmethod
    def disjoint(self) -> bool:
        """Whether no combination of QI values fits two groups; no where that cannot be told."""


class Singletons(Sequence[Region]):
    """The regions of a column published as it is: one value each, made when asked for."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain

    def __len__(self) -> int:
        return len(self._domain)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return ValueSet(frozenset({self._domain.values[index]}))


@dataclass(frozen=True)
class Regions(Description):
    """Column by column, the distinct regions it shows and which of them each group shows.

    `parts[c]` are the distinct regions of column c; `codes[c, g]` says which group g shows. Groups
    with equal descriptions cannot be told apart by anybody and are merged before any judgement.
    """

    scheme: ClassVar[Scheme] = "generalized"

    columns: tuple[str, ...]
    parts: tuple[Sequence[Region], ...]
    codes: Codes

    def __len__(self) -> int:
        return int(self.codes.shape[1])

    def describe(self, group: int) -> dict[str, str]:
        return {
            column: parts[code].text
            for column, parts, code in zip(
                self.columns, self.parts, self.codes[:, group], strict=True
            )
        }

    @property
    def each_region(self) -> Regions:
        return self

    def require_regions(self) -> Regions:
        return self

    def equal_descriptions(self) -> tuple[Ints, Ints]:
        """Each group's number among distinct descriptions, and one group of each."""
        return rank_rows(self.codes, [len(parts) for parts in self.parts])

    def take(self, groups: Ints) -> Self:
        return type(self)(self.columns, self.parts, self.codes[:, groups])

    def disjoint(self) -> bool:
        return bool(no_overlap(self.parts, self.codes))


class Centroids(Regions):
    """Points, one value a column: whoever looks for somebody takes the nearest."""

    scheme: ClassVar[Scheme] = "microaggregated"


class NoisyCells(Regions):
    """The cells of a noisy table that noise left with people."""

    scheme: ClassVar[Scheme] = "randomised"


REGIONS_OF: dict[Scheme, type[Regions]] = {
    description.scheme: description for description in (Regions, Centroids, NoisyCells)
}


@dataclass(frozen=True)
class Examples(Description):
    """The regions of groups of which each stands for many that count the same.

    They can be told one by one. They are no `Regions`: nobody may reason from all regions of a
    release and take these for them. `counts`: the table whose tuples the groups are, if they are.
    """

    regions: Regions
    counts: StoredCounts | None = None

    @property
    def stored_tuples(self) -> StoredCounts | None:
        return self.counts

    @property
    def scheme(self) -> Scheme:  # type: ignore[override]
        return self.regions.scheme

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.regions.columns

    def __len__(self) -> int:
        return len(self.regions)

    def describe(self, group: int) -> dict[str, str]:
        return self.regions.describe(group)

    def take(self, groups: Ints) -> Self:
        return type(self)(self.regions.take(groups))

    @property
    def regions_at_hand(self) -> Regions:
        return self.regions

    def require_regions(self) -> Regions:
        raise ResourceError(
            "this needs the description of every group, and the file is larger than memory; raise "
            "the memory limit"
        )

    def disjoint(self) -> bool:
        return False  # asked of all groups, of which here is one of each kind

    def __repr__(self) -> str:
        return f"Examples({', '.join(self.columns)})"


GROUP_ID, PSEUDONYM = "group_id", "pseudonym"


@dataclass(frozen=True)
class BucketIds:
    """What both files of a bucketized release call each bucket, and in which column."""

    column: str
    ids: npt.NDArray[Any]

    def take(self, groups: Ints) -> BucketIds:
        return BucketIds(self.column, self.ids[groups])


@dataclass(frozen=True)
class Buckets(Description):
    """A bucket lists its people's exact QI tuples, apart from its sensitive values.

    Who has which value is what it hides. Who is who it does not hide: people are told apart by
    their tuples, whatever their bucket. Group g lists the distinct tuples
    `codes[:, indptr[g]:indptr[g + 1]]`, `n` people each.

    `weights`: how many people of the population they stand for, where survey weights are known.
    `numbered`: what they are called where they are published; only buckets that a search tries
    have no ids, and are described by the values they list.
    """

    scheme: ClassVar[Scheme] = "bucketized"

    domains: tuple[Domain, ...]
    indptr: Ints
    codes: Codes
    n: Ints
    weights: Floats | None = None
    numbered: BucketIds | None = None

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(domain.name for domain in self.domains)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def describe(self, group: int) -> dict[str, str]:
        if self.numbered is not None:
            return {self.numbered.column: str(self.numbered.ids[group])}
        listed = self.codes[:, self.indptr[group] : self.indptr[group + 1]]
        return {
            domain.name: ", ".join(text_of(domain.values[code]) for code in np.unique(row))
            for domain, row in zip(self.domains, listed, strict=True)
        }

    @property
    def buckets(self) -> Buckets:
        return self

    @property
    def listed_people(self) -> list[tuple[Domain, Ints]]:
        return [
            (domain, sums_by(codes, self.n, len(domain)))
            for domain, codes in zip(self.domains, self.codes, strict=True)
        ]

    def require_regions(self) -> Regions:
        raise InputError("a bucketized release publishes exact values, not regions")

    def take(self, groups: Ints) -> Self:
        indptr, listed = taken_rows(self.indptr, groups)
        weights = None if self.weights is None else self.weights[listed]
        numbered = None if self.numbered is None else self.numbered.take(groups)
        return type(self)(
            self.domains, indptr, self.codes[:, listed], self.n[listed], weights, numbered
        )

    def with_ids(self, values: Groups, seed: int) -> Self:
        """With ids that say nothing: 1, 2, ... in an order drawn for what buckets publish.

        Every tuple and every value draws a number, and buckets are sorted by the sums over what
        they list. So whoever guesses the seed learns no more than what is published anyway.
        """
        draw = np.random.default_rng([seed, 1])
        number, first = rank_rows(self.codes, [len(domain) for domain in self.domains])
        drawn = (draw.integers(2**62, size=len(first)), draw.integers(2**62, size=values.width))
        key = np.zeros(len(self), dtype=np.int64)  # sums wrap, which does no harm
        np.add.at(key, rows_of(self.indptr), drawn[0][number] * self.n)
        np.add.at(key, values.row, drawn[1][values.indices] * values.data)
        ids = np.empty(len(self), dtype=np.int64)
        ids[np.argsort(key, kind="stable")] = np.arange(1, len(self) + 1)
        return replace(self, numbered=BucketIds(GROUP_ID, ids))

    def describe_apart(self, group: int) -> dict[str, str]:
        _, first = rank_rows(self.codes, [len(domain) for domain in self.domains])
        codes = self.codes[:, first[group]]
        return {
            domain.name: text_of(domain.values[code])
            for domain, code in zip(self.domains, codes, strict=True)
        }

    def inside(self) -> Inside:
        """Who is in each bucket, as it is published: nobody's sensitive value."""
        nothing = np.zeros((0, self.codes.shape[1]), dtype=np.int32)
        counts = Counts(self.domains, (), self.codes, nothing, self.n)
        return Inside(counts, self.indptr, np.arange(len(counts)), self.n)

    def told_apart(self, groups: Groups) -> Groups:
        """The people by exact tuple, in whatever bucket."""
        number, first = rank_rows(self.codes, [len(domain) for domain in self.domains])
        sizes = sums_by(number, self.n, len(first))
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
        return bool(np.unique(self.codes, axis=1).shape[1] == self.codes.shape[1])


@dataclass(frozen=True)
class StoredBuckets(Description):
    """Buckets that an engine keeps, of which each here stands for many that count the same.

    They list everybody of a table, `counts`, nobody being suppressed. `numbered`: what one bucket
    of each kind is called.
    """

    scheme: ClassVar[Scheme] = "bucketized"

    counts: StoredCounts
    numbered: BucketIds

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(domain.name for domain in self.counts.quasi)

    def __len__(self) -> int:
        return len(self.numbered.ids)

    def describe(self, group: int) -> dict[str, str]:
        return {self.numbered.column: str(self.numbered.ids[group])}

    @property
    def stored_tuples(self) -> StoredCounts:
        return self.counts

    @cached_property
    def listed_people(self) -> list[tuple[Domain, Ints]]:
        return [
            (domain, self.counts.by_code(column)) for column, domain in enumerate(self.counts.quasi)
        ]

    def require_regions(self) -> Regions:
        raise ResourceError(
            "this needs the exact quasi-identifiers that every bucket lists, which are larger than "
            "memory; raise the memory limit"
        )

    def take(self, groups: Ints) -> Self:
        return replace(self, numbered=self.numbered.take(groups))

    @cached_property
    def _tuples(self) -> Kinds:
        """The distinct tuples, those with equally many people told once."""
        return replace(self.counts, sensitive=(), labels=None, weighted=False).kinds()

    def told_apart(self, groups: Groups) -> Groups:
        kinds = self._tuples
        sizes = sums_by(kinds.of, kinds.counts.n, len(kinds.multiplicity))
        return Groups.of_sizes(
            sizes, Beside(multiplicity=kinds.multiplicity, several=groups.several)
        )

    def describe_apart(self, group: int) -> dict[str, str]:
        return {
            domain.name: text_of(domain.values[code])
            for domain, code in zip(self.counts.quasi, self._tuples.codes[:, group], strict=True)
        }

    def disjoint(self) -> bool:
        return False  # people with equal values are dealt into any buckets

    def __repr__(self) -> str:
        return f"StoredBuckets({', '.join(self.columns)})"


def of_scheme(described: Description, scheme: Scheme) -> Description:
    """The same regions, which a file or its manifest says are of this scheme."""
    if isinstance(described, Examples):
        if described.scheme == scheme:
            return described
        return Examples(_as(REGIONS_OF[scheme], described.regions))
    if described.each_region is None:  # buckets, and signatures: of one scheme each
        return described
    return _as(REGIONS_OF[scheme], described.require_regions())


def _as(kind: type[Regions], regions: Regions) -> Regions:
    return kind(regions.columns, regions.parts, regions.codes)
