"""What somebody may know of particular people: facts, and whom they are about (Chen, LeFevre,
Ramakrishnan: Privacy Skyline, VLDB 2007, Section 2).

Somebody has a value, somebody lacks one, and if the one is so then so is the other: whatever she
knows is some of these together. Facts are objects (`Has`, `Lacks`, `Implies`) or texts:

    not cancer                          of the target
    Gary has flu                        Gary lacks flu, Gary has not flu
    if Ann has flu so has he            if Ann has flu then he has not cancer

He, she, they and target are the target. Others go by a name that is explained besides, by their
quasi-identifiers (`age=31,zip=12453 has flu`), or by the number of their record in a table (`#7 has
flu`). Two names are two people, whatever is known of them, unless they are of one record; two equal
descriptions are one person, who is none of those with a name.

Here too: which groups of a release somebody may be in of whom that much is known.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.adversaries.locating.locate import locate
from sfumato.adversaries.locating.targets import (
    UNKNOWN,
    read_description,
    read_targets,
    refuse_published,
)
from sfumato.adversaries.skyline.knowledge import column_of
from sfumato.engines.base import named, select
from sfumato.errors import InputError, did_you_mean, quoted
from sfumato.numbers import rows_of
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.schema.region import codes_inside, text_of
from sfumato.table import Table

Described = Mapping[str, object]
Person = str | int | Described
TARGET = "target"
GROUP = "group"  # people of groups that publish nothing are told by their group's number
_TARGET_WORDS = (TARGET, "the target", "he", "she", "they")
_RECORD = re.compile(r"(?:#|record )\s*(\d{1,18})")
_MOST_RECORDS = 10**18
_VERBS = ("has not", "does not have", "lacks", "has")
_FORMS = (
    "write 'not VALUE', 'WHO has VALUE', 'WHO lacks VALUE', 'if WHO has VALUE so has WHO' or 'if "
    "WHO has VALUE then WHO lacks VALUE'"
)


@dataclass(frozen=True)
class Has:
    """Somebody has a value."""

    person: Person
    value: str

    def __str__(self) -> str:
        return f"{name_of(self.person)} has {self.value}"


@dataclass(frozen=True)
class Lacks:
    """Somebody does not have a value."""

    person: Person
    value: str

    def __str__(self) -> str:
        return f"{name_of(self.person)} lacks {self.value}"


Statement = Has | Lacks


@dataclass(frozen=True)
class Implies:
    """If the first is so, then so is the second."""

    given: Statement
    then: Statement

    def __str__(self) -> str:
        return f"if {self.given} then {self.then}"


Fact = Has | Lacks | Implies


def name_of(person: Person) -> str:
    """A person as facts are told."""
    if isinstance(person, Mapping):
        return ",".join(f"{column}={text_of(value)}" for column, value in person.items())
    return f"#{person}" if isinstance(person, int) else person


@dataclass(frozen=True)
class Acquaintances:
    """The people she knows something of: the target, those with a name, and records of a table."""

    target: Person
    named: Mapping[str, Person]
    table: Table | None = None

    def __post_init__(self) -> None:
        if _means_target(self.target):
            raise InputError(
                f"the target is {self.target!r}: say who that is, by COLUMN=VALUE,..., by a name, "
                "or as #7 by a record of the table"
            )
        for name, meant in self.named.items():
            if _means_target(name):
                raise InputError(f"{name!r} is the target; give {name_of(meant)} another name")
            if _means_target(meant) or (isinstance(meant, str) and meant in self.named):
                raise InputError(f"{name!r} is explained by another name; describe the person")

    def identity(self, person: object) -> tuple[object, ...]:
        """Who that is: equal for one person only."""
        if isinstance(person, int | np.integer) and not isinstance(person, bool):
            if not 0 < person < _MOST_RECORDS:
                raise InputError(f"record {quoted(person)} is not there; the first one is 1")
            return "record", int(person)
        if isinstance(person, Mapping):
            known = ((str(column), text_of(value)) for column, value in person.items())
            return "described", *sorted(known)
        if not isinstance(person, str):
            raise InputError(
                f"{quoted(person)} is nobody; give a name, the number of a record, or a mapping "
                "from columns to values"
            )
        if person in self.named:
            meant = self.named[person]
            record = isinstance(meant, int) or (isinstance(meant, str) and _RECORD.fullmatch(meant))
            return self.identity(meant) if record else ("name", person)
        if _means_target(person):
            return self.identity(self.target)
        if record := _RECORD.fullmatch(person):
            return self.identity(int(record[1]))
        if "=" in person:
            return self.identity(read_description(person, "person"))
        names = [*self.named, TARGET]
        raise InputError(
            f"nobody is called {person!r}; {did_you_mean(person, names)} (others are told by "
            "COLUMN=VALUE,..., or as #7 by a record of the table)"
        )

    def knows(self, fact: Fact) -> bool:
        """Whether all are known whom a fact is about."""
        try:
            return all(self.identity(part.person) for part in statements_of(fact))
        except InputError:
            return False

    def description(self, person: object) -> Described:
        """What is known of somebody's quasi-identifiers."""
        if isinstance(person, Mapping):
            return person
        kind, known, *_ = self.identity(person)
        if kind == "record":
            if self.table is None:
                raise InputError(f"#{known} is a record of a table; give the table too")
            return record_of(self.table, int(str(known)))
        if kind == "name":
            return self.description(self.named[str(known)])
        assert isinstance(person, str)
        if _means_target(person):
            return self.description(self.target)
        return read_description(person, "person")


def _means_target(person: object) -> bool:
    return isinstance(person, str) and person.lower() in _TARGET_WORDS


def record_of(table: Table, number: int) -> dict[str, object]:
    """The quasi-identifiers of a record of a table, by its number: 1 is the first row."""
    source, columns = table.source, table.schema.quasi
    listed = [named(source.column(name), f"q{place}") for place, name in enumerate(columns)]
    only = f"{select(listed, source.name)} LIMIT 1 OFFSET {number - 1}"
    row = table.engine.fetch(only, in_order=True)
    if row.num_rows == 0:
        raise InputError(f"{source.label} has no record {number}; the first one is 1")
    return {name: row.column(place)[0].as_py() for place, name in enumerate(columns)}


# -- which groups people may be in -----------------------------------------------------------------

Room = dict[
    int, dict[int, int]
]  # by group: whom somebody may be there, and how many such there are


def have_room(placed: Sequence[int], rooms: Sequence[Room]) -> bool:
    """Whether everybody placed in a group may be somebody of it, each somebody else."""
    return all(
        _seated([room[group] for room, own in zip(rooms, placed, strict=True) if own == group])
        for group in set(placed)
    )


def _seated(wanted: Sequence[dict[int, int]]) -> bool:
    taken: dict[int, list[int]] = defaultdict(list)

    def seat(person: int, tried: set[int]) -> bool:
        """On a free place; or on one whose owner finds another."""
        for place, many in wanted[person].items():
            if place in tried:
                continue
            tried.add(place)
            if len(taken[place]) == many:
                leaving = next((other for other in taken[place] if seat(other, tried)), None)
                if leaving is None:
                    continue
                taken[place].remove(leaving)
            taken[place].append(person)
            return True
        return False

    return all(seat(person, set()) for person in range(len(wanted)))


class NumberedPlaces:
    """Groups that publish nothing: people are told by the number of their group."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def groups(self, value: str, sensitive: str | None) -> Groups:
        return self._groups

    def room(self, described: Described) -> Room:
        """The groups that somebody may be in, and how many people there fit the description."""
        number = described.get(GROUP)
        if set(described) != {GROUP} or not str(number).isdecimal():
            raise InputError('these groups publish nothing; tell people by them: {"group": 0}')
        if int(str(number)) >= len(self._groups):
            raise InputError(f"there is no group {number} among {len(self._groups):,}, from 0")
        group = int(str(number))
        return {group: {0: int(self._groups.sizes[group])}}


class ReleasePlaces:
    """A release: people are told by their quasi-identifiers."""

    def __init__(self, release: Release) -> None:
        release.refuse_wildcards()
        if release.regions.noisy:
            raise InputError(
                "counts of a randomised release are noisy; it carries its own guarantee"
            )
        if release.several is not None:
            raise InputError(
                f"{release.label} has people whose rows are in several groups, and what these tell "
                "together is not worked out; keep one row a person"
            )
        self._release = release

    def groups(self, value: str, sensitive: str | None) -> Groups:
        """Those by the sensitive column that has the value, unless it is named."""
        columns = list(self._release.schema.sensitive) if sensitive is None else [sensitive]
        if not columns:
            raise InputError("the release has no sensitive column")
        return self._release.groups_for(column_of(self._release, value, columns))

    def room(self, described: Described) -> Room:
        """The groups that somebody may be in, and how many people there fit the description."""
        regions, sizes = self._release.regions, self._release.groups.sizes
        for name in described:
            if name not in regions.columns:
                raise InputError(
                    f"{name!r} is not a quasi-identifier of {self._release.label}; "
                    f"{did_you_mean(name, regions.columns)}"
                )
        known: list[int] = []
        if described:
            asked = read_targets([dict(described)], regions.columns)
            refuse_published(asked, [self._release], UNKNOWN)
            if regions.centroids:
                return {
                    group: {0: int(sizes[group])} for group in locate(self._release, asked).groups
                }
            columns = range(len(regions.columns))
            known = [at for at in columns if asked.known is None or asked.known[at, 0]]
        if (buckets := regions.buckets) is not None:
            fits = np.ones(len(buckets.n), dtype=bool)
            for at in known:
                code = buckets.domains[at].code(asked.domains[at].values[0])
                fits &= buckets.codes[at] == (-1 if code is None else code)
            listed: Room = {}
            bucket = rows_of(buckets.indptr)
            for place in np.flatnonzero(fits).tolist():
                listed.setdefault(int(bucket[place]), {})[place] = int(buckets.n[place])
            return listed
        inside = np.ones(len(sizes), dtype=bool)
        for at in known:
            shown = regions.require_regions()
            meant = codes_inside(shown.parts[at], np.unique(shown.codes[at]), asked.domains[at])
            inside &= np.isin(shown.codes[at], [part for part, codes in meant if codes])
        return {int(group): {0: int(sizes[group])} for group in np.flatnonzero(inside)}


# -- facts as texts --------------------------------------------------------------------------------


def fact_of(given: object, people: Acquaintances, values: Collection[str]) -> Fact:
    """A fact, or a text that tells one of these people and values."""
    if isinstance(given, Has | Lacks):
        return given
    if isinstance(given, Implies):
        if not all(isinstance(part, Has | Lacks) for part in (given.given, given.then)):
            raise InputError("an Implies takes two facts, each a Has or a Lacks")
        return given
    if not isinstance(given, str) or not given.strip():
        raise InputError(f"a fact {quoted(given)} is not understood; {_FORMS}")
    readings = list(_facts(" ".join(given.split())))
    if not readings:
        raise InputError(f"a fact {given!r} is not understood; {_FORMS}")
    # A value may hold any of the words: meant is the reading whose people and values there are.
    likely = [
        fact for fact in readings if {part.value for part in statements_of(fact)} <= {*values}
    ]
    return next((fact for fact in likely if people.knows(fact)), (likely or readings)[0])


def statements_of(fact: Fact) -> tuple[Statement, ...]:
    return (fact.given, fact.then) if isinstance(fact, Implies) else (fact,)


def _facts(text: str) -> Iterator[Fact]:
    if text.lower().startswith("if "):
        for condition, other in _splits(text[3:], "so has"):
            for given in _statements(condition):
                if isinstance(given, Has):
                    yield Implies(given, Has(other, given.value))
        for condition, consequence in _splits(text[3:], "then"):
            for given in _statements(condition):
                for then in _statements(consequence):
                    yield Implies(given, then)
    yield from _statements(text)


def _statements(text: str) -> Iterator[Statement]:
    if text.lower().startswith("not "):
        yield Lacks(TARGET, text[4:])
    for verb in _VERBS:
        for who, value in _splits(text, verb):
            yield (Has if verb == "has" else Lacks)(who, value)


def _splits(text: str, words: str) -> Iterator[tuple[str, str]]:
    """What stands before and after some words, wherever they stand."""
    for joint in re.finditer(rf"(?=,? {words} )", text):
        yield text[: joint.start()], text[joint.start() :].partition(f"{words} ")[2]
