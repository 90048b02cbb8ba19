"""The people of a population, or of another release, who could be behind each group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.adversaries.locating.boxes import BoxIndex
from sfumato.counts.counts import Counts, TableCounts, rank_rows
from sfumato.counts.stored import StoredCounts
from sfumato.engines.base import Scratch, named, select
from sfumato.errors import InputError, PolicyError, name_some, quoted
from sfumato.numbers import Codes, Floats, Ints, rows_of, run_places, sums_by
from sfumato.release.beside import Beside, CountedRegister
from sfumato.release.description import Regions
from sfumato.release.groups import Groups
from sfumato.release.release import Release, same_people
from sfumato.schema.domain import Domain
from sfumato.schema.region import Region, contains_region, overlaps
from sfumato.table import Table

# Who of a population could be behind each group of a release.
#
# Somebody who holds a register of the population (voters, patients, members) asks of each group:
# how many of them fit its description? Two sources answer. A population table is counted: people
# whose QI values lie in the group's region, column by column. Survey weights are summed: each
# record stands for so many people.
#
# The population must contain the release, so a group of f people has F >= f. Where a source says
# less (an incomplete or outdated register, weights below 1) it is wrong about that group; the
# fewest people there can be, F = f, is then used, which errs to unsafe, and the shortfall is told.
#
# The population may be another release: who of it may fit a group, and who must.
#
# Where regions overlap somebody may fit several groups, and a register tells who fits where: if
# one group takes all of those who also fit another, the other is left with fewer than fit it. How
# likely each is to be behind a group follows from counting all ways to place people, which nobody
# can do for a large table; but whoever fits this group alone is at least as likely to be in it as
# anybody (swap the two: what the other one fits besides, only she may leave). So a row is hers
# with a chance of at most 1 / max(f, those who fit no other group), and these are counted: an
# upper bound of the risk.

# People of another release, as far as it tells who they are: who may fit a group, and who must.
#
# A release about the population, or an earlier one, publishes regions instead of values. Somebody
# published with a region *must* fit a group whose region contains it, and *may* fit one whose
# region it meets. Whoever needs candidates counts those who must fit, the fewest there can be;
# whoever has formed an opinion about the people of a group formed it from those who may.

_AT_ONCE = 1 << 22  # pairs of groups compared at once


def people_surely_inside(regions: Regions, outside: Release, *, alone: bool = False) -> Ints:
    """How many people of a release are published with regions inside each group's.

    `alone`: only those whose regions meet no other group's.
    """
    outside_regions = _regions(outside)
    missing = [column for column in regions.columns if column not in outside_regions.columns]
    if missing:
        raise InputError(
            f"the population {outside.label} lacks quasi-identifiers of the release: "
            f"{name_some(missing)}"
        )
    people = outside.groups.sizes
    if alone:
        met = np.zeros(len(outside_regions), dtype=np.int64)
        for _, other in _pairs(regions, outside_regions, overlaps):
            np.add.at(met, other, 1)
        people = np.where(met == 1, people, 0)
    total = np.zeros(len(regions), dtype=np.int64)
    for group, other in _pairs(regions, outside_regions, contains_region):
        np.add.at(total, group, people[other])
    return total


def people_maybe_inside(regions: Regions, outside: Release, groups: Groups) -> Ints:
    """How many people of an earlier release may fit each group: a row by group, by value.

    `groups` are the earlier release's, about the attribute that is asked for. Columns that it does
    not publish rule nobody out.
    """
    outside_regions = _regions(outside)
    if not any(column in outside_regions.columns for column in regions.columns):
        raise InputError(
            f"{outside.label} has none of the quasi-identifiers {name_some(regions.columns)}"
        )
    total = np.zeros(len(regions) * groups.width, dtype=np.int64)
    for group, other in _pairs(regions, outside_regions, overlaps):
        many = groups.distinct[other]
        stored = run_places(groups.indptr[other], many)
        key = np.repeat(group, many) * groups.width + groups.indices[stored]
        np.add.at(total, key, groups.data[stored].astype(np.int64))
    return total.reshape(len(regions), groups.width)


def _regions(outside: Release) -> Regions:
    outside.refuse_wildcards()
    if outside.regions.exact:
        raise InputError(f"{outside.label} is bucketized and shows no regions to compare")
    return outside.regions.require_regions()


def _pairs(
    regions: Regions, outside_regions: Regions, fit: Callable[[Region, Region], bool]
) -> Iterator[tuple[Ints, Ints]]:
    """The pairs of groups that fit in every column both have, some of the regions at a time."""
    columns = []
    for place, name in enumerate(regions.columns):
        if name in outside_regions.columns:
            at = outside_regions.columns.index(name)
            own_codes, own_place = np.unique(regions.codes[place], return_inverse=True)
            outside_codes, outside_place = np.unique(outside_regions.codes[at], return_inverse=True)
            parts = [outside_regions.parts[at][part] for part in outside_codes.tolist()]
            fits = [
                fit(regions.parts[place][code], part)
                for code in own_codes.tolist()
                for part in parts
            ]
            columns.append(
                (
                    np.array(fits, bool).reshape(len(own_codes), len(outside_codes)),
                    own_place,
                    outside_place,
                )
            )
    step = max(1, _AT_ONCE // max(len(outside_regions), 1))
    for start in range(0, len(regions), step):
        block = np.arange(start, min(start + step, len(regions)))
        fitting = np.ones((len(block), len(outside_regions)), dtype=bool)
        for table, own_place, outside_place in columns:
            fitting &= table[own_place[block][:, None], outside_place]
        group, outside_codes = np.nonzero(fitting)
        yield block[group], outside_codes


_BLOCK = 1 << 16  # population tuples matched at once
_AHEAD = 16  # blocks that are matched before the first of them is asked for
_SORTED = 1 << 18  # population tuples sorted at once
_LIGHT = 4  # a tuple that is only looked up is copied so many times less often than one searched
_GROUP = 130  # bytes of a finished group that was judged
SLACK = 1e-9  # sums of weights are floats
WEIGHTS: Literal["weights"] = "weights"
Population = Table | Release | Literal["weights"]


def check_population(criterion: str, population: object) -> None:
    """Refuse what can be no population of a criterion."""
    weights = isinstance(population, str) and population == WEIGHTS
    if not isinstance(population, Table | Release) and not weights:
        raise PolicyError(
            f"{criterion}: population = {quoted(population)} is not allowed; it must be a table of "
            "the population, or 'weights' to add up survey weights"
        )
    if isinstance(population, Release) and not population.regions.generalizes:
        raise PolicyError(
            f"{criterion}: population: {population.label} is {population.scheme}; a release can "
            "stand for the population only if it is generalized"
        )


def unknown_population(population: Population, groups: Groups) -> str:
    """Why nothing can be told of who is behind these groups; empty where it can."""
    if isinstance(population, str):
        known = groups.population is not None
        return (
            ""
            if known
            else ("the table has no survey weights; name its weight column or give a population")
        )
    known = groups.regions is not None or groups.beside.register is not None
    return (
        ""
        if known
        else ("the groups do not publish regions that a population could be matched with")
    )


def same_population(population: Population, other: Population) -> bool:
    """The same object, or read from the same file."""
    return population == WEIGHTS == other or same_people(population, other)


@dataclass(frozen=True)
class PopulationPerGroup:
    """People of the population per group, at least as many as the group has, and the shortfalls.

    `uncovered` of so many `groups` have fewer behind them than people.
    """

    people: Floats
    uncovered: int
    groups: int

    @classmethod
    def behind(cls, groups: Groups, population: Population, *, alone: bool) -> PopulationPerGroup:
        """Who of a population fits each group; `alone`: and no other one."""
        if isinstance(population, str):
            assert groups.population is not None
            return cls.of(groups.population, groups.own_people)
        if (register := groups.beside.register) is not None:
            times = groups.multiplicity
            return cls.of(register.people, groups.own_people, alone=alone, times=times)
        assert groups.regions is not None
        if isinstance(population, Table):
            people = count_behind(groups.regions, population, alone=alone)
        else:
            people = people_surely_inside(groups.regions, population, alone=alone)
        return cls.of(people, groups.own_people, alone=alone)

    @classmethod
    def of(
        cls,
        people: npt.NDArray[np.float64 | np.int64],
        sizes: Ints,
        *,
        alone: bool = False,
        times: Ints | None = None,
    ) -> PopulationPerGroup:
        """`alone`: people who fit another group too are left out, so fewer are no shortfall.

        `times`: how many groups each stands for.
        """
        short = (people < sizes * (1 - SLACK)) & (not alone)
        number = np.ones(len(sizes), dtype=np.int64) if times is None else times
        behind = np.maximum(people, sizes).astype(np.float64)
        return cls(behind, int(number[short].sum()), int(number.sum()))

    def note(self, source: str) -> str:
        """What must be told of groups with more people than the population has for them."""
        if not self.uncovered:
            return ""
        return (
            f"{source} does not contain the release: {self.uncovered:,} of {self.groups:,} "
            "groups have more people than it has for them; there the population is taken to be "
            "the group itself, the fewest it can be"
        )


def count_behind(regions: Regions, population: Table, *, alone: bool = False) -> Ints:
    """How many people of the population table fit each group's region; `alone`: and no other's."""
    register = Register.of(regions.columns, population)
    index = RegionIndex.of(regions, register.domains)
    total = np.zeros(index.places, dtype=np.int64)
    for codes, n in register.parts(beside=index):
        for person, at in index.pairs(codes):
            if alone:
                _, place, many = np.unique(person, return_inverse=True, return_counts=True)
                person, at = person[many[place] == 1], at[many[place] == 1]
            np.add.at(total, at, n[person])
    return total[index.place]


@dataclass(frozen=True)
class RegionIndex:
    """The groups of a release by their regions; groups with equal ones are one `place`."""

    place: Ints
    places: int
    _boxes: BoxIndex

    @classmethod
    def of(cls, regions: Regions, domains: Sequence[Domain]) -> RegionIndex:
        """`domains` are those of the people who will be looked up, column by column."""
        place, first = regions.equal_descriptions()
        if len(first) == len(regions):  # as a rule: nothing is copied
            return cls(np.arange(len(regions)), len(regions), BoxIndex.of(regions, domains))
        return cls(place, len(first), BoxIndex.of(regions.take(first), domains))

    @property
    def size(self) -> int:
        """The bytes that it takes, with the groups whose it is."""
        return self._boxes.size + self.place.nbytes + _GROUP * len(self.place)

    def pairs(self, codes: Codes) -> Iterator[tuple[Ints, Ints]]:
        """Tuples, and a place each that they fit; all places of a tuple at once."""
        total = codes.shape[1]

        def locate(start: int) -> tuple[Ints, Ints]:
            return self._boxes.locate(codes[:, start : start + _BLOCK], among=total)

        blocks = range(0, total, _BLOCK)
        if len(blocks) == 1 or not self._boxes.compiles(total):
            for start in blocks:
                indptr, groups = locate(start)
                yield start + rows_of(indptr), groups
            return
        with ThreadPoolExecutor() as pool:
            for first in range(0, len(blocks), _AHEAD):
                here = blocks[first : first + _AHEAD]
                for start, (indptr, groups) in zip(here, pool.map(locate, here), strict=True):
                    yield start + rows_of(indptr), groups


def places_of(columns: Sequence[str], population: Table) -> tuple[int, ...]:
    """Where a population has the quasi-identifiers of a release."""
    place = {domain.name: number for number, domain in enumerate(population.counts.quasi)}
    missing = [column for column in columns if column not in place]
    if missing:
        raise InputError(
            f"the population {population.source.label} lacks quasi-identifiers of the release: "
            f"{name_some(missing)}; read it with a schema that names them in quasi"
        )
    return tuple(place[column] for column in columns)


@dataclass(frozen=True)
class Register:
    """A population by some of its columns, as many distinct tuples at a time as fit in memory."""

    domains: tuple[Domain, ...]
    _wanted: tuple[int, ...]
    _counts: TableCounts

    @classmethod
    def of(cls, columns: Sequence[str], population: Table) -> Register:
        counts = population.counts
        wanted = places_of(columns, population)
        if counts.extra_memberships:
            raise InputError(
                f"the population {population.source.label} lists people under several combinations "
                f"of quasi-identifiers ({counts.extra_memberships:,} more places than people); "
                "keep one row each"
            )
        return cls(tuple(counts.quasi[number] for number in wanted), wanted, counts)

    @property
    def people(self) -> int:
        return self._counts.people

    def parts(self, *, beside: RegionIndex | None = None) -> Iterator[tuple[Codes, Ints]]:
        """Distinct tuples, and how many people of this part have each.

        `beside`: what they will be looked up in, which is held at the same time.
        """
        yield from self._counts.either(
            in_memory=self._sorted, stored=lambda stored: self._fetched(stored, beside)
        )

    def _fetched(
        self, stored: StoredCounts, beside: RegionIndex | None
    ) -> Iterator[tuple[Codes, Ints]]:
        """Of a table larger than memory, no more of which comes here than is asked for."""
        bytes_beside = 0 if beside is None or stored.fits else beside.size
        quasi_alone = replace(stored, sensitive=(), labels=None, weighted=False)
        with stored.engine.yield_memory():
            for counts in quasi_alone.parts(beside=bytes_beside, light=_LIGHT):
                yield from self._sorted(counts)
                del counts  # before the next ones come

    def _sorted(self, counts: Counts) -> Iterator[tuple[Codes, Ints]]:
        """Neighbours are looked up one after another, in places that lie together."""
        for start in range(0, max(len(counts), 1), _SORTED):  # at least once
            here = slice(start, start + _SORTED)
            codes = counts.codes[list(self._wanted), here]
            number, first = rank_rows(codes, [len(domain) for domain in self.domains])
            yield codes[:, first], sums_by(number, counts.n[here], len(first))


# Tables larger than memory: the engine counts who of a register has the very tuples.


def can_count_register(release: Release, population: Population | None) -> bool:
    """Whether people are told apart by tuples that an engine keeps, as it can keep a register."""
    return isinstance(population, Table) and release.regions.stored_tuples is not None


def register_groups(release: Release, population: Population) -> Groups | None:
    """People told apart by their tuples, those as one group who are equally many here and there.

    None where the engine cannot tell.
    """
    stored = release.regions.stored_tuples
    if stored is None or not isinstance(population, Table):
        return None
    register = Register.of([domain.name for domain in stored.quasi], population)
    counted = _counted_together(stored, register)
    own, behind, times = (
        counted.column(name).to_numpy().astype(np.int64) for name in ("own", "behind", "times")
    )
    outside = register.people - int(behind @ times)
    known = CountedRegister(behind, register.people, outside)
    several = release.groups.several
    return Groups.of_sizes(own, Beside(multiplicity=times, several=several, register=known))


def _counted_together(stored: StoredCounts, register: Register) -> pa.Table:
    """How many tuples are of so many people here, and of so many of the register."""
    engine, key = stored.engine, stored.group_key()
    columns = stored.columns[: len(stored.quasi)]
    codes_of = [
        np.array([-1 if (code := own.code(value)) is None else code for value in domain.values])
        for own, domain in zip(stored.quasi, register.domains, strict=True)
    ]

    def blocks() -> Iterator[pa.Table]:
        for codes, n in register.parts():
            moved = np.array([of[row] for of, row in zip(codes_of, codes, strict=True)])
            fits = (moved >= 0).all(axis=0)
            named_codes = zip(columns, moved[:, fits].astype(np.int32), strict=True)
            yield pa.table({**dict(named_codes), "n": n[fits]})

    with Scratch(engine) as scratch:
        listed = scratch.append("register", blocks())
        here, there = (
            f"(SELECT {key} AS k, CAST(SUM(n) AS BIGINT) AS n FROM {name} GROUP BY {key}) AS {side}"
            for name, side in ((stored.name, "here"), (listed, "there"))
        )
        behind = "COALESCE(there.n, CAST(0 AS BIGINT))"
        counted = select(
            [named("here.n", "own"), named(behind, "behind"), "CAST(COUNT(*) AS BIGINT) AS times"],
            f"{here} LEFT JOIN {there} ON here.k = there.k",
            group=["here.n", behind],
        )
        return engine.fetch(counted).sort_by([("own", "ascending"), ("behind", "ascending")])
