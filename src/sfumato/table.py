"""`sf.read`: a file, frame or relation and its Schema become a Table, ready to be judged.

A file of a randomised release, which would pass for a table of people, is refused. People in one
file and their sensitive values in another are joined to one table.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol, Unpack, runtime_checkable

import numpy as np
import pyarrow as pa

from sfumato.counts.columns import CodedValues, is_numeric
from sfumato.counts.counts import TableCounts
from sfumato.counts.households import Members, members_of_households
from sfumato.counts.leaves import leaves_as_table
from sfumato.counts.rows import PersonRows, count_people
from sfumato.counts.value_sets import is_list_type
from sfumato.engines.base import (
    Engine,
    Source,
    check_columns_named,
    missing_column,
    named,
    select,
)
from sfumato.engines.choose import open_engine
from sfumato.engines.files import check_sheet, checked_path, is_text
from sfumato.engines.reading import Reading, TableOptions
from sfumato.errors import InputError, SchemaError, expect
from sfumato.notebook import Displayed
from sfumato.perturbation.base import Changed, Perturbation
from sfumato.perturbation.pseudonyms import KeyedPeople
from sfumato.progress import phase
from sfumato.schema.hierarchy import Levels
from sfumato.schema.roles import Schema

# People in one table, their sensitive values in another, one row a value.
#
# The person column names the people in both. Whoever has no row in the second table has no value,
# the empty set; whoever is only in the second table is somebody the first does not tell about,
# which is refused. Joined, they are one table with list columns, and are counted as such.

BY_PERSON, JOINED = "facts_by_person", "people_with_facts"


def attach_facts(engine: Engine, people: Source, facts: object, schema: Schema) -> Source:
    """The people with the values that a second table, `facts`, tells of each."""
    if schema.person is None:
        raise SchemaError(
            "facts needs person: name the column that tells in both tables whom a row is about"
        )
    second = engine.register(facts, (schema.person, *schema.sensitive))
    if not isinstance(facts, str | Path):
        second = replace(second, label="the facts")
    fact_columns = _fact_columns(people, second, schema)
    people_key, second_key = _keys(people, second, schema.person)
    _check_rows(engine, people, second, schema.person)
    _check_compared(engine, people, second, schema.person)
    repeated = schema.several == "multiset"
    gathered = [
        named(engine.set_of_rows(second.column(name), repeated=repeated), f"s{place}")
        for place, name in enumerate(fact_columns)
    ]
    engine.materialize(
        BY_PERSON, select([named(second_key, "person"), *gathered], second.name, group=[second_key])
    )
    _check_known(engine, people, second, people_key)
    kept = [name for role, name in schema.roles() if role != "identifiers" and name in people.types]
    cells = [f"{people.name}.{people.column(name)}" for name in kept]
    cells += [engine.or_empty(f"{BY_PERSON}.s{place}") for place in range(len(fact_columns))]
    columns = [named(cell, f"c{place}") for place, cell in enumerate(cells)]
    joined = f"{people.name} LEFT JOIN {BY_PERSON} ON {people_key} = {BY_PERSON}.person"
    engine.materialize(JOINED, select(columns, joined))
    types = {name: people.types[name] for name in kept}
    types |= {name: pa.list_(second.types[name]) for name in fact_columns}
    all_names = (*people.types, *people.others, *second.types, *second.others)
    return Source(
        JOINED,
        f"{people.label} with {second.label}",
        types,
        people.rows,
        people.untyped,
        apart=frozenset(fact_columns if people.untyped != second.untyped else ()),
        one_each=True,
        others=tuple(dict.fromkeys(name for name in all_names if name not in types)),
        form=people.form,
        notes=(*people.notes, *second.notes),
    )


def _fact_columns(people: Source, second: Source, schema: Schema) -> list[str]:
    """The sensitive columns of the second table."""
    person = str(schema.person)
    for source in (people, second):
        if person not in source.types:
            raise missing_column(source, person, "person")
    columns = [name for name in schema.sensitive if name in second.types]
    if not columns:
        raise InputError(
            f"{second.label} has none of the sensitive columns: {', '.join(schema.sensitive)}"
        )
    for name in columns:
        if name in people.types:
            raise InputError(
                f"column {name!r} is in {people.label} and in {second.label}; keep it in one"
            )
        if name in schema.lists or is_list_type(second.types[name]):
            raise InputError(
                f"column {name!r} of {second.label} is to hold one value a row; lists belong in "
                f"{people.label}"
            )
    return columns


def _keys(people: Source, second: Source, person: str) -> tuple[str, str]:
    """The person column of each table, as text where their types cannot be compared."""
    people_key = f"{people.name}.{people.column(person)}"
    second_key = f"{second.name}.{second.column(person)}"
    people_type, second_type = people.types[person], second.types[person]
    if people_type == second_type or (is_numeric(people_type) and is_numeric(second_type)):
        return people_key, second_key
    return f"CAST({people_key} AS STRING)", f"CAST({second_key} AS STRING)"


def _check_compared(engine: Engine, people: Source, second: Source, person: str) -> None:
    """Refuse long numbers beside floats: compared as floats, two people would be one."""
    kinds = people.types[person], second.types[person]
    if kinds[0] == kinds[1] or not all(map(is_numeric, kinds)):
        return
    widths = [kind.bit_width for kind in kinds if pa.types.is_floating(kind)]
    if not widths:
        return
    most = 2**53 if min(widths) == 64 else 2**24
    for source in (people, second):
        key = source.column(person)
        too_long = f"SUM(CASE WHEN {key} BETWEEN {1 - most} AND {most - 1} THEN 0 ELSE 1 END) AS x"
        if engine.fetch(select([too_long], source.name)).column(0)[0].as_py():
            raise InputError(
                f"person column {person!r} has the type {kinds[0]} in {people.label} and "
                f"{kinds[1]} in {second.label}, and numbers that these do not tell apart; give "
                "both one type"
            )


def _check_rows(engine: Engine, people: Source, second: Source, person: str) -> None:
    for source in (people, second):
        key = source.column(person)
        counted = engine.fetch(
            select([f"COUNT(*) - COUNT({key}) AS x", f"COUNT(DISTINCT {key}) AS y"], source.name)
        )
        missing, distinct = counted.column(0)[0].as_py(), counted.column(1)[0].as_py()
        if missing:
            raise InputError(
                f"person column {person!r} is missing in {missing} row(s) of {source.label}; give "
                "every row its person"
            )
        if source is people:
            rows = engine.fetch(select(["COUNT(*) AS x"], source.name)).column(0)[0].as_py()
            if rows > distinct:
                raise InputError(
                    f"{source.label} has {rows:,} rows for {distinct:,} people; beside a second "
                    "table it must have one row a person"
                )


def _check_known(engine: Engine, people: Source, second: Source, people_key: str) -> None:
    unknown = engine.fetch(
        f"SELECT COUNT(*) AS x FROM {BY_PERSON} LEFT JOIN {people.name} "
        f"ON {people_key} = {BY_PERSON}.person WHERE {people_key} IS NULL"
    )
    number = unknown.column(0)[0].as_py()
    if number:
        raise InputError(
            f"{number:,} of the people in {second.label} are not in {people.label}; add them "
            "there, or leave their rows out"
        )


# Where a file is, and whether it is still as it was when it was read.


@dataclass(frozen=True)
class FileStamp:
    """`path` was read when `content` (itself, or what vouches for a folder) had this state."""

    path: Path
    content: Path
    size: int
    changed: int

    @classmethod
    def of(cls, path: str | Path, content: str | Path | None = None) -> FileStamp | None:
        """None where there is no such file."""
        file = Path(os.path.realpath(path if content is None else content))
        if not file.is_file():
            return None
        state = file.stat()
        return cls(Path(os.path.realpath(path)), file, state.st_size, state.st_mtime_ns)

    def sha256(self) -> str | None:
        """Of what was read; None where the file is gone or was changed since."""
        try:
            if FileStamp.of(self.path, self.content) != self:
                return None
            return digest(self.content)
        except OSError:
            return None


def stamps_of(*sources: object) -> tuple[FileStamp, ...]:
    """Those of the sources that are files; a folder, a frame or nothing is none."""
    paths = [source for source in sources if isinstance(source, str | Path)]
    return tuple(stamp for path in paths if (stamp := FileStamp.of(path)) is not None)


def digest(path: Path) -> str:
    """The SHA-256 of a file of any size."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def real_path(path: str | Path) -> Path:
    """Where something is, links followed; one that leads back to itself is nowhere."""
    try:
        return Path(path).resolve()
    except ValueError:
        raise InputError(
            "a name of a file holds signs that no file name can have (NUL, half of a pair); name "
            "the file or folder that is meant"
        ) from None
    except (RuntimeError, OSError):  # before Python 3.13 the one, since then the other if any
        raise InputError(
            f"{path} is, or lies behind, a link that leads back to itself; name the file or folder "
            "that is meant"
        ) from None


# A file of some releases, read without its manifest, would pass for a table of people.
#
# Of a randomised one counts are noisy and some cells are nobody's, and of one that shows several
# rows a person rows are not people; only the manifest beside it says so. Such a file is therefore
# not read alone, by any reader, unless the schema says how rows are shown.

MANIFEST = "manifest.json"


def refuse_part(*sources: object, schema: Schema | None = None) -> None:
    """Refuse files that a manifest beside them lists as those of a release that tells more.

    `schema`: by which rows are to be counted, if they are.
    """
    for source in sources:
        if not isinstance(source, str | Path):
            continue
        path = checked_path(source)
        linked = Path(os.path.realpath(path))  # a link may stand elsewhere
        for file in dict.fromkeys((path, linked)):
            noisy, rows = _told_of(file)
            if noisy:
                raise InputError(
                    f"{path} is part of a randomised release, and its counts are noisy; give the "
                    f"folder {_folder(file)} instead, so that its guarantee is read with it"
                )
            if schema is not None and rows not in ("gathered", schema.rows):
                raise InputError(
                    f"{path} is part of a release that shows several rows a person; give the "
                    f"folder {_folder(file)} instead, or say person and rows = {rows!r} in the "
                    "schema, so that its rows are not taken for people"
                )


def _told_of(file: Path) -> tuple[bool, str]:
    """What a manifest beside a file says of it: whether it is noisy, and how rows are shown."""
    try:
        if not (file.parent / MANIFEST).is_file():  # a pipe of that name would never end
            return False, "gathered"
        content = json.loads((file.parent / MANIFEST).read_text(encoding="utf-8"))
        if file.name not in content["files"]:
            return False, "gathered"
        noisy = content["scheme"] == "randomised" or "guarantee" in content
        return bool(noisy), str(content.get("rows", "gathered"))
    except (OSError, ValueError, KeyError, TypeError, RecursionError, AttributeError):
        return False, "gathered"  # no manifest of ours


def _folder(file: Path) -> Path:
    return file.parent.parent if file.parent.name == "public" else file.parent


@dataclass(frozen=True, repr=False)
class Table(Displayed):
    """A table about people: its schema, its counts, and the engine that holds its rows.

    `file` is the one file that says it all, if there is one that is read without further options,
    or `read_as` the policy that names it says; `files` are all that were read, whatever options.
    `two_ways`: quasi-identifiers with values that were written in two ways and count as one.
    `of_file`: it is a file, which is handed out with all of its columns or not at all; of a frame
    only those that have a role would be. `rows`: where a pseudonym is to link them, the rows.
    `households`: who lives together, where a column says so. `perturbed`: columns whose values
    are no longer those of the file, and what was done to them; `changed` is what it did, `key` that
    of pseudonyms where no file of the owner has it, `keyed` those of people whose rows they link
    (both private).
    """

    schema: Schema
    counts: TableCounts
    levels: Mapping[str, Levels]
    source: Source
    engine: Engine
    file: FileStamp | None = None
    two_ways: tuple[str, ...] = ()
    of_file: bool = False
    rows: PersonRows | None = field(default=None, repr=False)
    households: Members | None = field(default=None, repr=False)
    perturbed: Mapping[str, Perturbation] = field(default_factory=dict)
    changed: Mapping[str, Changed] = field(default_factory=dict, repr=False)
    key: bytes | None = field(default=None, repr=False)
    keyed: KeyedPeople | None = field(default=None, repr=False)
    files: tuple[FileStamp, ...] = field(default=(), repr=False)
    read_as: Reading = field(default=Reading(), repr=False)

    @property
    def people(self) -> int:
        return self.counts.people

    @cached_property
    def fingerprint(self) -> str:
        """The same for tables of the same people, as far as they are counted, in any order."""
        counts, total = self.counts, 0
        for part in counts.parts():
            stacked = np.vstack([part.codes, part.values, part.n]).astype(np.uint64)
            mixed = np.zeros(stacked.shape[1], dtype=np.uint64)
            for row in stacked:  # products wrap, which does no harm
                mixed = (mixed ^ (row + np.uint64(1))) * np.uint64(0x9E3779B97F4A7C15)
                mixed ^= mixed >> np.uint64(29)
            total = (total + int(mixed.sum(dtype=np.uint64))) % 2**64
        domains = (*counts.quasi, *(attribute.domain for attribute in counts.sensitive))
        values = [(domain.name, domain.labels) for domain in domains]
        content = repr((values, counts.people, self.source.rows, total))
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def _in_short(self) -> tuple[str, ...]:
        return (
            f"Table of {self.people:,} people from {self.source.label}",
            self.schema.in_short,
            f"{len(self.counts):,} distinct tuples",
        )


@runtime_checkable
class SaysHowToRead(Protocol):
    """A policy: the schema of its table, and how the file of it is written."""

    @property
    def schema(self) -> Schema | None: ...
    @property
    def read(self) -> Reading: ...


def read(source: object, schema: Schema | SaysHowToRead, **options: Unpack[TableOptions]) -> Table:
    """Read a table: a path, anything with `__arrow_c_stream__`, pandas, a DuckDB or Spark frame.

    In place of its schema a policy may be given, such as `sf.draft_policy(source).policy`: the
    table is then read by the policy's schema and as its `[read]` says, unless an option differs.
    `facts` is a second table with the sensitive values of the people of the first, one row a value;
    the schema's person column names the people in both. People without a row there have no value.
    `memory` limits what may be taken ("2GB"); beyond it, work spills to the folder `spill`.
    `delimiter` and `decimal` ("," where 3,5 is a number) say how a text file is written.
    `partitioned`: the path is a folder of Parquet files that are one table, and inner folders such
    as year=2020 name a column; without it a path is one file, whatever its name.
    `engine` is "duckdb" or "spark"; left out, Spark frames are counted by Spark, in their own
    session, and all else by DuckDB. `master` is where a Spark session that we start is to run,
    `threads` how many threads DuckDB may use.
    """
    reading = Reading(**options)
    if not isinstance(schema, SaysHowToRead):
        return load_table(source, schema, reading)
    if schema.schema is None:
        raise SchemaError("the policy has no schema; give it one, or read by a Schema")
    return load_table(source, schema.schema, reading.over(schema.read))


_LINKED_NEEDS = "people of linked rows are found by all of theirs, so a file must say whose each is"


@phase("reading")
def load_table(source: object, schema: Schema, reading: Reading) -> Table:
    """Read a table as `reading` says."""
    expect("schema", schema, Schema, "a Schema")
    facts = reading.of_a_table().facts
    check_sheet(reading, (source, facts))
    refuse_part(source, facts, schema=schema)
    alone = isinstance(source, str | Path) and not (facts or reading.about("file").given_fields())
    stamp = FileStamp.of(source) if alone else None  # type: ignore[arg-type]
    door = open_engine(source, reading)
    # What is published as it is, is read as it is; a text file has all of its columns anyway.
    unread = {"identifiers", "keep"} if _is_text_file(source) else {"identifiers"}
    needed = tuple(name for role, name in schema.roles() if role not in unread)
    registered = door.register(source, needed)
    if facts is not None:
        registered = attach_facts(door, registered, facts, schema)
    for role, name in schema.roles():
        # An identifier that is already gone is no loss; any other column must be there.
        if name not in registered.types and role != "identifiers":
            missing = missing_column(registered, name, role)
            of_linked = role == "person" and schema.rows == "linked"
            raise InputError(f"{missing}; {_LINKED_NEEDS}") if of_linked else missing
    check_columns_named(registered, reading.columns_named())
    for option, name in reading.columns_named():
        if option == "dates" and name in registered.doubts:
            raise InputError(f"column {name!r}: {registered.doubts[name]}")
    schema = leaves_as_table(schema, registered, reading.stated_forms)
    coded = CodedValues()
    linked, counts = count_people(door, registered, schema, coded)
    return Table(
        schema,
        counts,
        levels_of(schema, counts),
        registered,
        door,
        stamp,
        two_ways=tuple(coded.two_ways),
        of_file=isinstance(source, str | Path),
        rows=linked,
        households=members_of_households(door, registered, schema, counts, CodedValues()),
        files=stamps_of(source, facts),
    )


def load_register(path: Path, schema: Schema, person: str | None, reading: Reading) -> Table:
    """Read a register of the population by the schema of one; who names the table's `person`s in it
    is told apart by them: nobody's second row is taken for another person.
    """
    if person is not None and schema.person is None and schema.count is None:
        registered = open_engine(path, reading).register(path, tuple(schema.quasi))
        if person in {*registered.types, *registered.others}:
            schema = replace(schema, person=person)
    return load_table(path, schema, reading)


def _is_text_file(source: object) -> bool:
    return isinstance(source, str | Path) and is_text(checked_path(source))


def levels_of(schema: Schema, counts: TableCounts) -> dict[str, Levels]:
    """The hierarchies of the quasi-identifiers, each over the values it has."""
    return {domain.name: schema.bind(domain) for domain in counts.quasi}
