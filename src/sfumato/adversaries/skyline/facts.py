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

Where people have several rows (`rows = "unlinked"` or "linked"), somebody is told by some of them
(`age=23,ward=A; age=24,ward=B`), or by a record of the table that has them: then all rows of its
owner are known. What is known of people is about the rows that are known of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard

import numpy as np
import pyarrow as pa

from sfumato.engines.base import named, select
from sfumato.errors import InputError, did_you_mean, quoted
from sfumato.numbers import Ints
from sfumato.schema.notation import read_description
from sfumato.schema.region import text_of
from sfumato.table import Table

Described = Mapping[str, object]
Person = str | int | Described | Sequence[Described]
TARGET = "target"
_TARGET_WORDS = (TARGET, "the target", "he", "she", "they")
_RECORD = re.compile(r"(?:#|record )\s*(\d{1,18})")
_ROWS = re.compile(r";(?=[^=;]+=)")  # between the descriptions of two rows
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
    if isinstance(person, str):
        return person
    return f"#{person}" if isinstance(person, int) else "; ".join(map(name_of, person))


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
            owned = self._owned
            return "record", int(person) if owned is None else owned.first(int(person))
        if isinstance(person, Mapping):
            return "described", *_written(person)
        if _are_rows(person):
            return "rows", *sorted(map(_written, person))
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
            rows = _read_rows(person)
            return self.identity(rows[0] if len(rows) == 1 else rows)
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

    def rows(self, person: object) -> list[Described]:
        """What is known of somebody's quasi-identifiers: of one description, or of several rows."""
        if isinstance(person, Mapping):
            return [person]
        if _are_rows(person):
            return [*person]
        kind, known, *_ = self.identity(person)
        if kind == "record":
            number = int(str(known))
            if self.table is None:
                raise InputError(f"#{number} is a record of a table; give the table too")
            return (
                [record_of(self.table, number)] if self._owned is None else self._owned.of(number)
            )
        if kind == "name":
            return self.rows(self.named[str(known)])
        assert isinstance(person, str)
        if _means_target(person):
            return self.rows(self.target)
        return [*_read_rows(person)]

    def told_by_record(self, person: object) -> bool:
        """Whether all rows of somebody are known, published or not."""
        return self.identity(person)[0] == "record"

    @cached_property
    def _owned(self) -> _OwnedRows | None:
        """Whose the records of the table are, where people have several."""
        table = self.table
        return (
            None if table is None or table.schema.rows == "gathered" else _OwnedRows.of_all(table)
        )


def _written(described: Described) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((str(column), text_of(value)) for column, value in described.items()))


def _are_rows(person: object) -> TypeGuard[Sequence[Described]]:
    listed = isinstance(person, list | tuple) and len(person) > 0
    return listed and all(isinstance(row, Mapping) for row in person)  # type: ignore[attr-defined]


def _read_rows(text: str) -> list[Described]:
    """`age=23,ward=A; age=24,ward=B`: the descriptions of one row, or of several of one person."""
    return [read_description(row.strip(), "person") for row in _ROWS.split(text)]


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


@dataclass(frozen=True)
class _OwnedRows:
    """Records of a table in which people have several: `owner[i]` has record i + 1."""

    label: str
    owner: Ints
    quasi: pa.Table

    @classmethod
    def of_all(cls, table: Table) -> _OwnedRows:
        source, columns = table.source, table.schema.quasi
        listed = [named(source.column(str(table.schema.person)), "whose")]
        listed += [named(source.column(name), f"q{place}") for place, name in enumerate(columns)]
        rows = table.engine.fetch(select(listed, source.name), in_order=True)
        persons = rows.column("whose").combine_chunks().dictionary_encode()
        owner = persons.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return cls(source.label, owner, rows.drop_columns(["whose"]).rename_columns([*columns]))

    def first(self, number: int) -> int:
        """The first record of whoever has this one."""
        if number > len(self.owner):
            raise InputError(f"{self.label} has no record {number}; the first one is 1")
        return int(np.flatnonzero(self.owner == self.owner[number - 1])[0]) + 1

    def of(self, number: int) -> list[Described]:
        """The quasi-identifiers of all rows of whoever has a record."""
        return list(
            self.quasi.take(np.flatnonzero(self.owner == self.owner[number - 1])).to_pylist()
        )


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
        for person, value in _splits(text, verb):
            yield (Has if verb == "has" else Lacks)(person, value)


def _splits(text: str, words: str) -> Iterator[tuple[str, str]]:
    """What stands before and after some words, wherever they stand."""
    for joint in re.finditer(rf"(?=,? {words} )", text):
        yield text[: joint.start()], text[joint.start() :].partition(f"{words} ")[2]
