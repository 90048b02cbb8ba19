"""The people of a register who could be behind each signature of a release of linked rows.

A register of people with several rows tells whose each is. Somebody fits a signature if all of her
rows, no more and no fewer, can be published as its rows: each lies in another of them. Rows of the
release that were cut or left out hide people who have more rows than a signature; they are not
counted, since whoever has just these rows is at least as likely to be behind them. Who knows r rows
of her target counts everybody of the register whose rows contain what is known.

Where descriptions of rows overlap somebody may fit several signatures, and those who fit this one
alone are counted, as of overlapping groups (`people.py`). Which r of her rows are known does not
say then what of her is published, so all rows are taken to be known: nobody has fewer candidates.

Stands apart from `people.py`: whole people are matched with whole signatures, not rows with groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise
from math import comb
from typing import Literal, NamedTuple

import numpy as np

from sfumato.adversaries.locating.people import Population, RegionIndex, places_of, register_groups
from sfumato.counts.counts import Sets, rank_rows
from sfumato.counts.rows import PersonRows
from sfumato.counts.value_sets import code_sets
from sfumato.numbers import Floats, Ints, offsets_of, rows_of, sums_by
from sfumato.release.beside import CountedRegister
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.release.signatures import MOST_SUBSETS, KnownRows, Signatures
from sfumato.table import Table

MOST_COMPARED = 1_000_000  # pairs of somebody of a register and a signature she may fit

_NO_ROWS = (
    "people of linked rows are found by all of theirs, and the population does not tell whose each "
    "row is; give a table of it that is read with person and rows = 'linked'"
)
_ONE_ROW = (
    "everybody has one row in the register {0}, and the release shows several of a person; give a "
    "register that has all rows of everybody"
)
_TOO_MANY = (
    "rows of the register {0} fit overlapping rows of the release in too many ways; drop a "
    "quasi-identifier, or publish by the lattice, whose rows do not overlap"
)


class CountedPeople(NamedTuple):
    """People nobody can tell apart, with how many of a register fit them; or why that is unknown.

    Neither where groups' own regions tell it. `other`: they are not `release.indistinguishable`.
    """

    groups: Groups | None = None
    reason: str = ""
    other: bool = False


def cannot_tell_signatures(release: Release, population: Population | None) -> str:
    """Why a population knows nothing of people's linked rows; empty where it does."""
    if not isinstance(release.regions, Signatures) or population is None:
        return ""
    if isinstance(population, str):
        return ""
    if not isinstance(population, Table) or population.rows is None:
        return _NO_ROWS
    several = int(np.diff(release.regions.sets.offsets).max(initial=0)) > 1
    if several and population.rows.people == len(population.rows):
        return _ONE_ROW.format(population.source.label)
    return ""


def count_register(
    release: Release, population: Population | None, *, all_rows: bool = False
) -> CountedPeople:
    """How many people of a register are behind those who cannot be told apart.

    `all_rows`: by all of theirs, however many are known.
    """
    described = release.regions
    if population is None:
        return CountedPeople()
    if not isinstance(described, Signatures) or isinstance(population, str):
        return CountedPeople(register_groups(release, population), other=True)
    if reason := cannot_tell_signatures(release, population):
        return CountedPeople(reason=reason)
    assert isinstance(population, Table)
    register = _PeopleOfRegister.of(described, population)
    known = None if all_rows else described.known_rows
    groups = release.indistinguishable
    counted = register.containing(known) if known and described.rows.disjoint() else None
    other = known is not None and counted is None
    if counted is None:
        fitting = register.fitting()
        groups, counted = release.groups, None if fitting is None else fitting.counted()
    if counted is None:
        return CountedPeople(reason=_TOO_MANY.format(population.source.label))
    with_register = groups.with_beside(replace(groups.beside, register=counted))
    return CountedPeople(with_register, other=other)


@dataclass(frozen=True)
class SignatureFits:
    """People of a register by the signatures they fit: `people[i]` fit those of `sets[i]`."""

    people: Ints
    sets: Sets
    signatures: int

    def counted(self) -> CountedRegister:
        """Who fits each signature and no other."""
        many = np.diff(self.sets.offsets)
        alone = np.flatnonzero(many == 1)
        own = self.sets.members[self.sets.offsets[alone]]
        total = sums_by(own, self.people[alone], self.signatures)
        return CountedRegister(total, int(self.people.sum()), int(self.people[many == 0].sum()))

    def summed(self, chance: Floats) -> Floats:
        """The chances of the signatures that each of `people` fits, added up; -1 without any."""
        total = np.zeros(len(self.people))
        np.add.at(total, rows_of(self.sets.offsets), chance[self.sets.members])
        total[np.diff(self.sets.offsets) == 0] = -1.0
        return total


def fitting_people(release: Release, population: Table) -> SignatureFits | str:
    """Who of a register fits which signatures of a release by all rows, or why that is unknown."""
    described = release.regions
    assert isinstance(described, Signatures)
    if reason := cannot_tell_signatures(release, population):
        return reason
    fitting = _PeopleOfRegister.of(described, population).fitting()
    return _TOO_MANY.format(population.source.label) if fitting is None else fitting


def people_behind_rows(
    release: Release, groups: Groups, source: Literal["table", "weights"] | None
) -> float | None:
    """How many people of a population fit rows of people with several, each once.

    None of any other release, and of unlinked rows and a register, where each is in one group.
    """
    if source == "weights" and (rows := groups.beside.unlinked) is not None:
        summed = rows.everybody_stands_for
        return None if summed is None else max(summed, float(release.people))
    if release.by_row is None:
        return None
    if (register := groups.beside.register) is not None:
        return max(register.everybody - register.outside, release.people)
    return None if release.population is None else float(release.population.sum())


def overlaps_apart(release: Release) -> bool:
    """Whether people may fit several groups, of which each is in one."""
    if isinstance(release.regions, Signatures):
        return not release.regions.rows.disjoint()
    return not (release.disjoint or release.shares_people or release.regions.exact)


@dataclass(frozen=True)
class _PeopleOfRegister:
    """People of a register by what their rows may be published as.

    `people[i]` have a row of each of the kinds in `sets[i]`, one of kind k being published as any
    of the rows `kinds[k]` of `described`.
    """

    described: Signatures
    kinds: Sets
    sets: Sets
    people: Ints

    @classmethod
    def of(cls, described: Signatures, population: Table) -> _PeopleOfRegister:
        rows = population.rows
        assert rows is not None
        kinds, kind_of = kinds_of_rows(described, rows, places_of(described.columns, population))
        number, sets = code_sets(
            offsets_of(np.bincount(rows.person)), kind_of.astype(np.int32), repeated=True
        )
        people = np.bincount(number, minlength=len(sets)).astype(np.int64)
        return cls(described, kinds, sets, people)

    @cached_property
    def options(self) -> list[tuple[int, ...]]:
        return listed(self.kinds)

    def fitting(self) -> SignatureFits | None:
        """Who fits which signatures; None where that takes too long."""
        signatures = listed(self.described.sets)
        reached = _Reached.of(signatures, self.options)
        number = {rows: at for at, rows in enumerate(signatures)}
        compared = 0
        fitted: list[list[int]] = []
        for kinds in listed(self.sets):
            options = [self.options[kind] for kind in kinds]
            if all(len(own) == 1 for own in options):
                at = number.get(tuple(sorted(own[0] for own in options)))
                fitted.append([] if at is None else [at])
            else:
                candidates = reached.by(kinds)
                compared += len(candidates)
                if compared > MOST_COMPARED:
                    return None
                fitted.append([at for at in candidates if _matched(options, signatures[at])])
        members = np.array([at for own in fitted for at in own], dtype=np.int32)
        sets = Sets(offsets_of([len(own) for own in fitted]), members)
        return SignatureFits(self.people, sets, len(signatures))

    def containing(self, known: KnownRows) -> CountedRegister | None:
        """Whose rows contain each of what may be known; None where that takes too long.

        Of rows that do not overlap: everybody's are published in one way, or not at all.
        """
        parts = listed(known.parts)
        number, sizes = {rows: at for at, rows in enumerate(parts)}, {len(rows) for rows in parts}
        everybody = zip(listed(self.sets), self.people.tolist(), strict=True)
        published = [
            (sorted(own[0] for kind in kinds if (own := self.options[kind])), people)
            for kinds, people in everybody
        ]
        if sum(comb(len(rows), size) for rows, _ in published for size in sizes) > MOST_SUBSETS:
            return None
        total = np.zeros(len(parts), dtype=np.int64)
        outside = 0
        for rows, people in published:
            contained = {part for size in sizes for part in combinations(rows, size)}
            at = [number[part] for part in contained if part in number]
            total[at] += people
            outside += 0 if at else people
        return CountedRegister(total, int(self.people.sum()), outside)


def kinds_of_rows(
    described: Signatures, rows: PersonRows, columns: Sequence[int]
) -> tuple[Sets, Ints]:
    """Which published rows each row of a register may be; those that may be the same are a kind."""
    codes, domains = rows.codes[list(columns)], [rows.quasi[column] for column in columns]
    number, first = rank_rows(codes, [len(domain) for domain in domains])
    index = RegionIndex.of(described.rows, domains)
    published_row = np.argsort(index.place)  # distinct rows have a place each
    pairs = [(tuples, published_row[at]) for tuples, at in index.pairs(codes[:, first])]
    fitting, published = (np.concatenate(column) for column in zip(*pairs, strict=True))
    order = np.argsort(fitting, kind="stable")
    offsets = offsets_of(np.bincount(fitting, minlength=len(first)))
    kind, kinds = code_sets(offsets, published[order].astype(np.int32), repeated=False)
    return kinds, kind[number].astype(np.int64)


@dataclass(frozen=True)
class _Reached:
    """The signatures that show one of the rows that a kind may be, by the kind and their length."""

    showing: dict[tuple[int, int], set[int]]
    options: list[tuple[int, ...]]
    reached: dict[tuple[int, int], set[int]]

    @classmethod
    def of(cls, signatures: list[tuple[int, ...]], options: list[tuple[int, ...]]) -> _Reached:
        showing: dict[tuple[int, int], set[int]] = {}
        for at, rows in enumerate(signatures):
            for row in rows:
                showing.setdefault((row, len(rows)), set()).add(at)
        return cls(showing, options, {})

    def by(self, kinds: tuple[int, ...]) -> list[int]:
        """The signatures of as many rows that show such a row for each kind."""
        candidates: set[int] | None = None
        for kind in sorted(set(kinds), key=lambda kind: len(self.options[kind])):
            key = kind, len(kinds)
            if key not in self.reached:
                showing = [self.showing.get((row, len(kinds)), set()) for row in self.options[kind]]
                self.reached[key] = set().union(*showing)
            reached = self.reached[key]
            candidates = reached if candidates is None else candidates & reached
            if not candidates:
                break
        return sorted(candidates or ())


def _matched(options: list[tuple[int, ...]], rows: tuple[int, ...]) -> bool:
    """Whether each of somebody's rows may be published as another one of these."""
    taken = [-1] * len(rows)

    def place(own: int, tried: set[int]) -> bool:
        for at, row in enumerate(rows):
            if row in options[own] and at not in tried:
                tried.add(at)
                if taken[at] < 0 or place(taken[at], tried):
                    taken[at] = own
                    return True
        return False

    return all(place(own, set()) for own in range(len(options)))


def listed(sets: Sets) -> list[tuple[int, ...]]:
    members, offsets = sets.members.tolist(), sets.offsets.tolist()
    return [tuple(members[low:high]) for low, high in pairwise(offsets)]
