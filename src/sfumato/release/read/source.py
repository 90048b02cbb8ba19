"""Opening a published file: which of the schema's columns it still carries, and in what form.

A file publishes all of its columns, not only those somebody gave a role. Identifiers that are still
in it, and columns of which nothing is known, are part of what is judged (`StrayColumns`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from sfumato.counts.columns import values_in
from sfumato.engines.base import Engine, Source, missing_column
from sfumato.errors import InputError
from sfumato.release.handed_out import HandedOut, columns_of
from sfumato.release.read.cells import published_order
from sfumato.schema.region import text_of
from sfumato.schema.roles import Schema
from sfumato.table import attach_facts

# What a release leaves out, rightly, although the schema of its table names it.
_LEFT_OUT = ("keep", "pseudonyms", "weight", "protect", "household")
_WHY = {
    "person": "without it sizes would count rows, not people: drop the role to accept that",
    "count": "without it a row would be one person: drop the role if it is",
    "sensitive": "leave it out of the schema if it is not published",
    "quasi": "leave it out of the schema if it is not published",
}


@dataclass(frozen=True)
class StrayColumns:
    """Columns a published file has besides those that are judged; `handed_out`: all it has."""

    identifiers: tuple[str, ...] = ()
    without_role: tuple[str, ...] = ()
    handed_out: HandedOut = field(default=HandedOut(()), repr=False, compare=False)

    def of_these(self, columns: Collection[str]) -> StrayColumns:
        """The same, of which no other columns are handed out."""
        kept = tuple(column for column in self.handed_out.columns if column.name in columns)
        return replace(self, handed_out=replace(self.handed_out, columns=kept))

    def __add__(self, other: StrayColumns) -> StrayColumns:
        return StrayColumns(
            tuple(dict.fromkeys(self.identifiers + other.identifiers)),
            tuple(dict.fromkeys(self.without_role + other.without_role)),
            self.handed_out + other.handed_out,
        )


def reading_notes(source: Source, schema: Schema) -> list[str]:
    """What could not be read with certainty, of the columns that are judged."""
    doubts = source.doubts
    return [f"{name}: {doubts[name]}" for name in schema.judged if name in doubts]


def open_release(
    engine: Engine,
    source: object,
    schema: Schema,
    group: str | None = None,
    facts: object = None,
    count: str | None = None,
) -> tuple[Source, Schema, tuple[str, ...], StrayColumns]:
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
            continue
        if role == "person" and schema.rows == "unlinked":
            continue
        if role in _LEFT_OUT:
            gone.append(f"{name} ({role})")
        elif role != "identifiers":
            error = missing_column(registered, name, role)
            raise InputError(f"{error}; {_WHY[role]}" if role in _WHY else str(error))
    if gone:
        notes.append(f"not in the file and left out of account: {', '.join(gone)}")

    def if_there(name: str | None) -> str | None:
        return name if name in registered.types else None

    kept = replace(
        schema,
        identifiers=(),
        pseudonyms=(),
        keep=[name for name in schema.keep if name in registered.types],
        weight=if_there(schema.weight),
        publish_weight=schema.publish_weight if schema.weight in registered.types else None,
        protect=if_there(schema.protect),
        household=if_there(schema.household),
    )
    return registered, kept, tuple(notes), stray_columns(engine, registered, schema, count)


def stray_columns(
    engine: Engine, source: Source, schema: Schema, count: str | None = None, *, file: bool = True
) -> StrayColumns:
    """The columns of a published file that no role accounts for; of a frame there are none."""
    columns = columns_of(engine, source, schema, whole=file)
    if not file:
        return StrayColumns(handed_out=columns)
    published = (*source.types, *source.others)
    hidden = {*schema.identifiers, *schema.pseudonyms}
    roles = {name for _, name in schema.roles() if name not in hidden} | {count}
    return StrayColumns(
        tuple(name for name in published if name in hidden),
        tuple(name for name in published if name not in hidden | roles),
        columns,
    )


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
        values = values_in(engine, source, schema, name)
        texts = [None if value is None else text_of(value) for value in values.to_pylist()]
        order = published_order(name, texts, schema, source.codes.get(name, ()))
        if order is not None:
            domains[name] = order
            del hierarchies[name], levels[name]
    return replace(schema, domains=domains, hierarchies=hierarchies, levels=levels)
