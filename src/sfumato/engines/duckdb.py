"""DuckDB, embedded: files of any size, a memory limit, spilling to disk."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from sfumato.engines.duckdb_sources import Connected
from sfumato.engines.memory import check_spill, in_bytes, machine_memory, own_folder
from sfumato.engines.sql import literal, quote

_LISTED = 1 << 16  # labels in a list that is looked into row by row; beyond, a join is faster
_OURS = 0.75  # the share of the memory that we may take while the engine stands aside


class DuckDB(Connected):
    """One in-process database for one table."""

    embedded = True

    def __init__(
        self,
        *,
        memory: str | None = None,
        spill: str | Path | None = None,
        threads: int | None = None,
        delimiter: str | None = None,
        decimal: str | None = None,
        partitioned: bool = False,
    ) -> None:
        self._limit = machine_memory() if memory is None else in_bytes(memory)
        self.memory = int(self._limit * _OURS)
        home = Path(spill) if spill is not None else Path(tempfile.gettempdir())
        if spill is not None:
            check_spill(home)
        self._spill = own_folder(home)
        self._attached = False
        self._kept: set[str] = set()
        self._brought: dict[str, pa.Table] = {}
        settings: dict[str, Any] = {
            "temp_directory": str(self._spill),
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            # Histograms of many nodes at once are still counted in arrays.
            "perfect_ht_threshold": 16,
        }
        if memory is not None:
            settings["memory_limit"] = f"{self._limit}B"
        if threads is not None:
            settings["threads"] = threads
        database = None
        if plain := memory is None and spill is None and threads is None:
            database = _idle_database(self._spill)
        if database is None:
            database = duckdb.connect(":memory:", config=settings)
        connection = database.cursor()
        connection.execute("ATTACH ':memory:' AS work")
        connection.execute("USE work")
        super().__init__(
            connection,
            spill=self._spill,
            delimiter=delimiter,
            decimal=decimal,
            partitioned=partitioned,
        )
        weakref.finalize(self, _clear, database, connection, self._spill, reuse=plain)

    # -- queries -----------------------------------------------------------------------------

    def materialize(self, name: str, select: str, *, large: bool = False) -> None:
        if not large:
            self._run(f"CREATE OR REPLACE TABLE {quote(name)} AS {select}")
            return
        if not self._attached:
            # A database file keeps tables compressed and out of memory.
            self._run(f"ATTACH {literal(str(self._spill / 'kept.duckdb'))} AS kept")
            self._attached = True
        self._kept.add(name)
        self._run(f"CREATE OR REPLACE TABLE kept.{quote(name)} AS {select}")
        self._run(f"CREATE OR REPLACE VIEW {quote(name)} AS SELECT * FROM kept.{quote(name)}")

    def append(self, name: str, table: pa.Table) -> None:
        self._connection.register("sfumato_more", table)
        try:
            if name in self._kept:
                self._run(f"INSERT INTO kept.{quote(name)} SELECT * FROM sfumato_more")
            else:
                self.materialize(name, "SELECT * FROM sfumato_more", large=True)
        finally:
            self._connection.unregister("sfumato_more")

    def drop(self, name: str) -> None:
        if name in self._brought:
            self._connection.unregister(name)
            self._run(f"RESET VARIABLE {quote(name)}")  # where it was listed for `label_of`
            del self._brought[name]
        elif name in self._kept:
            self._run(f"DROP VIEW IF EXISTS {quote(name)}")
            self._run(f"DROP TABLE IF EXISTS kept.{quote(name)}")
            self._kept.discard(name)
        else:
            self._run(f"DROP TABLE IF EXISTS {quote(name)}")

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        self._run(f"SET memory_limit = '{int(self._limit * (1 - _OURS))}B'")
        try:
            yield
        finally:
            self._run(f"SET memory_limit = '{self._limit}B'")

    def write(self, select: str, folder: Path) -> None:
        self._run("SET preserve_insertion_order = true")
        try:
            path = literal(str(folder / "data.parquet"))
            self._run(f"COPY ({select}) TO {path} (FORMAT parquet)")
        finally:
            self._run("SET preserve_insertion_order = false")

    def repeated(self, relation: str, n: str) -> str:
        return f"(SELECT *, unnest(range({n})) AS sfumato_copy FROM {relation}) AS copies"

    def label_of(self, table: str, code: str) -> str | None:
        if self._brought[table].num_rows > _LISTED:
            return None
        listed = f"SELECT list(label ORDER BY code) FROM {quote(table)}"
        self._run(f"SET VARIABLE {quote(table)} = ({listed})")
        return f"getvariable({literal(table)})[CAST({code} AS INT) + 1]"

    def put(self, name: str, table: pa.Table) -> None:
        self._brought[name] = table
        self._connection.register(name, table)

    def set_of_rows(self, column: str, *, repeated: bool = False) -> str:
        return f"list_sort(list({'' if repeated else 'DISTINCT '}{column}))"

    def set_of_list(self, column: str, *, repeated: bool = False) -> str:
        if repeated:
            return f"list_sort({column})"
        # list_distinct leaves NULL out, but a missing value is a value.
        distinct = f"list_distinct({column})"
        return (
            f"list_sort(CASE WHEN list_count({column}) < len({column}) "
            f"THEN list_append({distinct}, NULL) ELSE {distinct} END)"
        )

    def or_empty(self, column: str) -> str:
        return f"COALESCE({column}, [])"


# Databases that were emptied, and the process they belong to: to make one takes longer than to
# read a small table. Only such as were made without limits of their own.
_idle: list[tuple[int, duckdb.DuckDBPyConnection]] = []
_IDLE_AT_MOST = 2


def _idle_database(spill: Path) -> duckdb.DuckDBPyConnection | None:
    """An empty database that spills to this folder, if one is at hand."""
    while _idle:
        process, database = _idle.pop()
        if process != os.getpid():
            continue  # a fork has none of its threads
        try:
            database.execute(f"SET temp_directory = {literal(str(spill))}")
        except duckdb.Error:  # it has spilled: its folder is for good
            database.close()
            continue
        return database
    return None


def _clear(
    database: duckdb.DuckDBPyConnection,
    connection: duckdb.DuckDBPyConnection,
    spill: Path,
    *,
    reuse: bool,
) -> None:
    """Nothing of anybody's data stays behind."""
    connection.close()
    try:
        database.execute("DETACH work")
        database.execute("DETACH DATABASE IF EXISTS kept")
    except duckdb.Error:
        reuse = False
    if reuse and len(_idle) < _IDLE_AT_MOST:
        _idle.append((os.getpid(), database))
    else:
        database.close()
    shutil.rmtree(spill, ignore_errors=True)
