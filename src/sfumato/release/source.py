"""Opening a published file: which of the schema's columns it still carries, and in what form."""

from __future__ import annotations

from dataclasses import replace

from sfumato.counts.columns import values_in
from sfumato.engines.base import Engine, Source
from sfumato.errors import InputError, did_you_mean
from sfumato.release.cells import published_order
from sfumato.schema.region import text_of
from sfumato.schema.roles import Schema
from sfumato.table.facts import attach_facts

# What a release leaves out, rightly, although the schema of its table names it.
_LEFT_OUT = ("keep", "weight", "protect")
_WHY = {
    "person": "without it sizes would count rows, not people: drop the role to accept that",
    "count": "without it a row would be one person: drop the role if it is",
    "sensitive": "leave it out of the schema if it is not published",
    "quasi": "leave it out of the schema if it is not published",
}


def open_release(
    engine: Engine,
    source: object,
    schema: Schema,
    group: str | None = None,
    facts: object = None,
    count: str | None = None,
) -> tuple[Source, Schema, tuple[str, ...]]:
    """Register a release; the schema loses the roles it rightly has no column for, with a note.

    `group` is the quasi-identifier that is really a column of group ids, if there is one; `facts`
    a second table with the sensitive values; `count` a column that may be there.
    """
    wanted = tuple(name for role, name in schema.roles() if role != "identifiers")
    wanted += () if count is None else (count,)
    registered = engine.register(source, wanted)
    if facts is not None:
        registered = attach_facts(engine, registered, facts, schema)
    notes: list[str] = []
    gone: list[str] = []
    for listed, name in schema.roles():
        role = "group" if name == group else listed
        if name in registered.types:
            if role == "identifiers":
                notes.append(f"the file still holds the identifier {name!r}")
        elif role in _LEFT_OUT:
            gone.append(f"{name} ({role})")
        elif role != "identifiers":
            raise InputError(
                f"column {name!r} ({role}) is not in {registered.label}; "
                f"{did_you_mean(name, registered.types)}"
                + (f"; {_WHY[role]}" if role in _WHY else "")
            )
    if gone:
        notes.append(f"not in the file and left out of account: {', '.join(gone)}")

    def if_there(name: str | None) -> str | None:
        return name if name in registered.types else None

    kept = replace(
        schema,
        identifiers=(),
        keep=[name for name in schema.keep if name in registered.types],
        weight=if_there(schema.weight),
        protect=if_there(schema.protect),
    )
    return registered, kept, tuple(notes)


def as_published(engine: Engine, source: Source, schema: Schema) -> Schema:
    """The schema for counting published texts.

    Quasi-identifiers lose their hierarchies: their cells are read later, text by text. A sensitive
    column that a level coarsens loses it too where the file shows that level's labels already.
    """
    hierarchies = {n: made for n, made in schema.hierarchies.items() if n in schema.sensitive}
    domains = {**schema.domains, **dict.fromkeys(schema.quasi, "categorical")}
    levels = dict(schema.levels)
    for name, level in schema.levels.items():
        if level == 0:
            continue
        found = values_in(engine, source, schema, name)
        texts = [None if value is None else text_of(value) for value in found.to_pylist()]
        order = published_order(name, texts, schema)
        if order is not None:
            domains[name] = order
            del hierarchies[name], levels[name]
    return replace(schema, domains=domains, hierarchies=hierarchies, levels=levels)
