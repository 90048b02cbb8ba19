"""People in one table, their sensitive values in another, one row a value.

The person column names the people in both. Whoever has no row in the second table has no value,
the empty set; whoever is only in the second table is somebody the first does not tell about, which
is refused. Joined, they are one table with list columns, and are counted as such.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from sfumato.counts.columns import is_numeric
from sfumato.counts.value_sets import is_list_type
from sfumato.engines.base import Engine, Source, missing_column, named, select
from sfumato.errors import InputError, SchemaError
from sfumato.schema.roles import Schema

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
    told = _told(people, second, schema)
    mine, theirs = _keys(people, second, schema.person)
    _check_rows(engine, people, second, schema.person)
    _check_compared(engine, people, second, schema.person)
    repeated = schema.several == "multiset"
    gathered = [
        named(engine.set_of_rows(second.column(name), repeated=repeated), f"s{place}")
        for place, name in enumerate(told)
    ]
    engine.materialize(
        BY_PERSON, select([named(theirs, "person"), *gathered], second.name, group=[theirs])
    )
    _check_known(engine, people, second, mine)
    kept = [name for role, name in schema.roles() if role != "identifiers" and name in people.types]
    cells = [f"{people.name}.{people.column(name)}" for name in kept]
    cells += [engine.or_empty(f"{BY_PERSON}.s{place}") for place in range(len(told))]
    columns = [named(cell, f"c{place}") for place, cell in enumerate(cells)]
    engine.materialize(
        JOINED,
        select(columns, f"{people.name} LEFT JOIN {BY_PERSON} ON {mine} = {BY_PERSON}.person"),
    )
    types = {name: people.types[name] for name in kept}
    types |= {name: pa.list_(second.types[name]) for name in told}
    every = (*people.types, *people.others, *second.types, *second.others)
    return Source(
        JOINED,
        f"{people.label} with {second.label}",
        types,
        people.rows,
        people.untyped,
        apart=frozenset(told if people.untyped != second.untyped else ()),
        one_each=True,
        others=tuple(dict.fromkeys(name for name in every if name not in types)),
    )


def _told(people: Source, second: Source, schema: Schema) -> list[str]:
    """The sensitive columns of the second table."""
    person = str(schema.person)
    for source in (people, second):
        if person not in source.types:
            raise missing_column(source, person, "person")
    told = [name for name in schema.sensitive if name in second.types]
    if not told:
        raise InputError(
            f"{second.label} has none of the sensitive columns: {', '.join(schema.sensitive)}"
        )
    for name in told:
        if name in people.types:
            raise InputError(
                f"column {name!r} is in {people.label} and in {second.label}; keep it in one"
            )
        if name in schema.lists or is_list_type(second.types[name]):
            raise InputError(
                f"column {name!r} of {second.label} is to hold one value a row; lists belong in "
                f"{people.label}"
            )
    return told


def _keys(people: Source, second: Source, person: str) -> tuple[str, str]:
    """The person column of each table, as text where their types cannot be compared."""
    mine = f"{people.name}.{people.column(person)}"
    theirs = f"{second.name}.{second.column(person)}"
    one, other = people.types[person], second.types[person]
    if one == other or (is_numeric(one) and is_numeric(other)):
        return mine, theirs
    return f"CAST({mine} AS STRING)", f"CAST({theirs} AS STRING)"


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
        beyond = f"SUM(CASE WHEN {key} BETWEEN {1 - most} AND {most - 1} THEN 0 ELSE 1 END) AS x"
        if engine.fetch(select([beyond], source.name)).column(0)[0].as_py():
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


def _check_known(engine: Engine, people: Source, second: Source, mine: str) -> None:
    unknown = engine.fetch(
        f"SELECT COUNT(*) AS x FROM {BY_PERSON} LEFT JOIN {people.name} "
        f"ON {mine} = {BY_PERSON}.person WHERE {mine} IS NULL"
    )
    number = unknown.column(0)[0].as_py()
    if number:
        raise InputError(
            f"{number:,} of the people in {second.label} are not in {people.label}; add them "
            "there, or leave their rows out"
        )
