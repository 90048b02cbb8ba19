"""Signatures: a pseudonym links a person's published rows, and their multiset is what finds her.

Who knows all of her rows faces everybody with an equal signature; who knows some of them faces
everybody whose signature contains these. So k and linkage are about people who share a signature,
or what is known of one (`Signatures.told_apart`). What they have is judged twice. *By person*:
whether somebody has a value in any of her rows, each person's list being published whole. *By row*
(`Release.by_row`): which value a row has that is known by its quasi-identifiers, among the rows
that look like it in equal signatures; rows of one signature that look alike cannot be told apart,
and count together.

Groups are those of equal signatures, whatever she knows: who knows less faces several of them, and
a bound that is kept by each is kept by their mixture. Only k and linkage gain by her knowing less.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import ClassVar, Literal, Self

import numpy as np

from sfumato.counts.counts import Sets, rank_rows
from sfumato.counts.value_sets import code_sets
from sfumato.errors import InputError
from sfumato.numbers import Codes, Floats, Ints, offsets_of, rows_of, sums_by, taken_rows
from sfumato.release.beside import Beside, SeveralGroups
from sfumato.release.description import Description, Regions, Scheme
from sfumato.release.groups import Groups

Knows = int | Literal["all"]
MOST_SUBSETS = 2_000_000  # beyond, she is taken to know all rows, which finds nobody less
_MOST_DESCRIBED = 6  # rows of a signature that its description tells


@dataclass(frozen=True)
class KnownRows:
    """What may be known of people, and who fits it: `signature[i]` fits `part[i]` of `parts`."""

    parts: Sets
    part: Ints
    signature: Ints

    def fewest(self, people: Ints) -> Ints:
        """The fewest of signatures' people who fit what may be known of somebody, by signature."""
        sizes = sums_by(self.part, people[self.signature], len(self.parts))
        fewest: Ints = np.full(len(people), people.sum(), dtype=np.int64)
        np.minimum.at(fewest, self.signature, sizes[self.part])
        return fewest


def too_many_parts(signatures: Sets, known: int) -> bool:
    """Whether there are too many sets of so many rows to be told one by one."""
    sizes = (known, *_shorter(signatures, known))
    lengths, times = np.unique(np.diff(signatures.offsets), return_counts=True)
    sets = (
        comb(length, size) * many
        for length, many in zip(lengths.tolist(), times.tolist(), strict=True)
        for size in sizes
    )
    return bool(sum(sets) > MOST_SUBSETS)


def _shorter(signatures: Sets, known: int) -> list[int]:
    """The numbers of rows of whoever has fewer than that."""
    lengths = np.unique(np.diff(signatures.offsets))
    return [length for length in lengths.tolist() if length < known]


def parts_of_signatures(signatures: Sets, known: int) -> KnownRows | None:
    """Every set of `known` rows of a signature (all rows of a shorter one), and whose contain it.

    None where there are too many to tell.
    """
    if too_many_parts(signatures, known):
        return None
    short = _shorter(signatures, known)
    bounds = list(zip(signatures.offsets[:-1], signatures.offsets[1:], strict=True))
    listed = [tuple(signatures.members[low:high].tolist()) for low, high in bounds]
    whole = {rows for rows in listed if len(rows) < known}
    number: dict[tuple[int, ...], int] = {}
    part, owner = [], []
    for place, rows in enumerate(listed):
        contained = set(combinations(rows, known))
        for size in short:
            contained |= whole.intersection(combinations(rows, size))
        part += [number.setdefault(known_rows, len(number)) for known_rows in sorted(contained)]
        owner += [place] * len(contained)
    members = np.array([row for known_rows in number for row in known_rows], dtype=np.int32)
    parts = Sets(offsets_of([len(known_rows) for known_rows in number]), members)
    return KnownRows(parts, np.array(part, dtype=np.int64), np.array(owner, dtype=np.int64))


@dataclass(frozen=True)
class Signatures(Description):
    """Group g publishes the rows `sets[g]` of `rows`, each of its `people[g]` all of them.

    `rows` are the distinct rows. `knows`: how many of a person's rows an adversary knows.
    """

    scheme: ClassVar[Scheme] = "generalized"

    rows: Regions
    sets: Sets
    people: Ints
    knows: Knows = "all"

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.rows.columns

    def __len__(self) -> int:
        return len(self.sets)

    def describe(self, group: int) -> dict[str, str]:
        return _describe(self.rows, self.sets, group)

    @property
    def regions_at_hand(self) -> Regions:
        return self.rows

    def require_regions(self) -> Regions:
        raise InputError(
            "this is about one description of a person, and here a pseudonym links several rows of "
            "hers; it is not worked out for linked rows"
        )

    def take(self, groups: Ints) -> Self:
        offsets, places = taken_rows(self.sets.offsets, groups)
        sets = Sets(offsets, self.sets.members[places])
        return type(self)(self.rows, sets, self.people[groups], self.knows)

    def disjoint(self) -> bool:
        return False  # somebody's rows may fit several signatures, in one order or another

    @property
    def one_each(self) -> bool:
        """Whether everybody has a single row, so that people are rows."""
        return len(self.sets.members) == len(self)

    @cached_property
    def signature_by_row(self) -> Ints:
        """The signature of each group by row: rows of one that look alike are one group."""
        ends = zip(self.sets.offsets[:-1], self.sets.offsets[1:], strict=True)
        distinct = [len(np.unique(self.sets.members[low:high])) for low, high in ends]
        return np.repeat(np.arange(len(self)), np.array(distinct, dtype=np.int64))

    @cached_property
    def known_rows(self) -> KnownRows | None:
        """What she may know of people, who knows fewer than all rows; None where that is all."""
        return None if self.knows == "all" else parts_of_signatures(self.sets, self.knows)

    def told_apart(self, groups: Groups) -> Groups:
        """By what she knows of them: everybody whose rows contain it."""
        known = self.known_rows
        if known is None:
            return groups
        sizes = sums_by(known.part, self.people[known.signature], len(known.parts))
        population: Floats | None = None
        if groups.population is not None:
            stands_for = groups.population[known.signature]
            population = np.bincount(known.part, stands_for, len(known.parts)).astype(np.float64)
        several = self._several(known)
        return Groups.of_sizes(sizes, Beside(population=population, several=several))

    @cached_property
    def fewest(self) -> Ints:
        """The fewest people who fit what may be known of somebody, by her signature."""
        return self.people if self.known_rows is None else self.known_rows.fewest(self.people)

    def surest(self, risks: Floats) -> Floats:
        """The highest risk of each signature, of those of whatever may be known of somebody."""
        known = self.known_rows
        if known is None:
            return risks
        highest: Floats = np.zeros(len(self))
        np.maximum.at(highest, known.signature, risks[known.part])
        return highest

    def _several(self, known: KnownRows) -> SeveralGroups:
        """Everybody in each group of what may be known of her."""
        order = np.argsort(known.signature, kind="stable")
        offsets = np.searchsorted(known.signature[order], np.arange(len(self) + 1))
        signature_of = np.repeat(np.arange(len(self)), self.people)
        ends, places = taken_rows(offsets.astype(np.int64), signature_of)
        return SeveralGroups(len(signature_of), rows_of(ends), known.part[order][places])

    def describe_apart(self, part: int) -> dict[str, str]:
        known = self.known_rows
        return self.describe(part) if known is None else _describe(self.rows, known.parts, part)


def _describe(rows: Regions, sets: Sets, group: int) -> dict[str, str]:
    """The rows of a group, column by column."""
    listed = sets.members[sets.offsets[group] : sets.offsets[group + 1]]
    described = [rows.describe(int(row)) for row in listed[:_MOST_DESCRIBED]]
    more = (
        f"; and {len(listed) - _MOST_DESCRIBED} more rows" if len(listed) > _MOST_DESCRIBED else ""
    )
    return {column: "; ".join(row[column] for row in described) + more for column in rows.columns}


def signatures_of(
    regions: Regions, person: Ints, knows: Knows = "all"
) -> tuple[Codes, Codes, Signatures]:
    """The signature of each person, which distinct row each row is, and the signatures.

    `regions` tell of each row, `person` whose it is: 0, 1, 2, ... in order.
    """
    number, first = rank_rows(regions.codes, [len(parts) for parts in regions.parts])
    offsets = offsets_of(np.bincount(person))
    kinds = number.astype(np.int32)
    signature, sets = code_sets(offsets, kinds, repeated=True)
    people = np.bincount(signature, minlength=len(sets)).astype(np.int64)
    return signature, kinds, Signatures(regions.take(first), sets, people, knows)
