"""`sf.read`: a file, frame or relation and its Schema become a Table, ready to be judged.

A file of a randomised release, which would pass for a table of people, is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from sfumato.counts.columns import CodedValues
from sfumato.counts.counts import TableCounts
from sfumato.counts.scan import scan
from sfumato.engines.base import Engine, Source, missing_column
from sfumato.engines.choose import open_engine
from sfumato.engines.files import checked_path
from sfumato.engines.reading import Reading, TableOptions
from sfumato.errors import InputError, expect
from sfumato.progress import phase
from sfumato.schema.hierarchy import Levels
from sfumato.schema.roles import Schema
from sfumato.table.facts import attach_facts
from sfumato.table.file_stamp import FileStamp

# A file of a randomised release, read without its manifest, would pass for a table of people.
#
# Its counts are noisy and some of its cells are nobody's; only the manifest beside it says so.
# Such a file is therefore not read alone, by any reader.

MANIFEST = "manifest.json"


def refuse_noisy_part(*sources: object) -> None:
    """Refuse files that a manifest beside them lists as those of a randomised release."""
    for source in sources:
        if not isinstance(source, str | Path):
            continue
        path = checked_path(source)
        linked = Path(os.path.realpath(path))  # a link may stand elsewhere
        for file in dict.fromkeys((path, linked)):
            if _listed(file):
                raise InputError(
                    f"{path} is part of a randomised release, and its counts are noisy; give the "
                    f"folder {_folder(file)} instead, so that its guarantee is read with it"
                )


def _listed(file: Path) -> bool:
    try:
        if not (file.parent / MANIFEST).is_file():  # a pipe of that name would never end
            return False
        told = json.loads((file.parent / MANIFEST).read_text(encoding="utf-8"))
        noisy = told["scheme"] == "randomised" or "guarantee" in told
        return bool(noisy and file.name in told["files"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False  # no manifest of ours


def _folder(file: Path) -> Path:
    return file.parent.parent if file.parent.name == "public" else file.parent


@dataclass(frozen=True)
class Table:
    """A table about people: its schema, its counts, and the engine that holds its rows.

    `file` is the one file that says it all, if there is one that is read without further options.
    `two_ways`: quasi-identifiers with values that were written in two ways and count as one.
    `of_file`: it is a file, which is handed out with all of its columns or not at all; of a frame
    only those that have a role would be.
    """

    schema: Schema
    counts: TableCounts
    levels: Mapping[str, Levels]
    source: Source
    engine: Engine
    file: FileStamp | None = None
    two_ways: tuple[str, ...] = ()
    of_file: bool = False

    @property
    def people(self) -> int:
        return self.counts.people

    def __repr__(self) -> str:
        sensitive = ", ".join(self.schema.sensitive) or "none"
        return (
            f"Table of {self.people:,} people from {self.source.label}\n"
            f"  quasi-identifiers: {', '.join(self.schema.quasi)}; sensitive: {sensitive}\n"
            f"  {len(self.counts):,} distinct tuples"
        )


def read(source: object, schema: Schema, **options: Unpack[TableOptions]) -> Table:
    """Read a table: a path, anything with `__arrow_c_stream__`, pandas, a DuckDB or Spark frame.

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
    return load_table(source, schema, Reading(**options))


@phase("reading")
def load_table(source: object, schema: Schema, reading: Reading) -> Table:
    """Read a table as `reading` says."""
    expect("schema", schema, Schema, "a Schema")
    facts = reading.of_a_table().facts
    refuse_noisy_part(source, facts)
    alone = isinstance(source, str | Path) and not (facts or reading.delimiter or reading.decimal)
    stamp = FileStamp.of(source) if alone else None  # type: ignore[arg-type]
    door = open_engine(source, reading)
    needed = tuple(name for role, name in schema.roles() if role != "identifiers")
    registered = door.register(source, needed)
    if facts is not None:
        registered = attach_facts(door, registered, facts, schema)
    for role, name in schema.roles():
        # An identifier that is already gone is no loss; any other column must be there.
        if name not in registered.types and role != "identifiers":
            raise missing_column(registered, name, role)
    coded = CodedValues()
    counts = scan(door, registered, schema, coded)
    return Table(
        schema,
        counts,
        levels_of(schema, counts),
        registered,
        door,
        stamp,
        two_ways=tuple(coded.two_ways),
        of_file=isinstance(source, str | Path),
    )


def levels_of(schema: Schema, counts: TableCounts) -> dict[str, Levels]:
    """The hierarchies of the quasi-identifiers, each over the values it has."""
    return {domain.name: schema.hierarchy(domain.name).bind(domain) for domain in counts.quasi}
