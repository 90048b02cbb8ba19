"""DuckDB, embedded: files of any size, a memory limit, spilling to disk.

Its failures are told in our words: its own may quote a row.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from sfumato.engines.base import CellCombinations, LookedUp, Source, literal, quote, select_first
from sfumato.engines.cell_forms import as_written, is_string, without_plain_dates
from sfumato.engines.duckdb_failures import translated
from sfumato.engines.encoding import copy_as_utf8
from sfumato.engines.files import (
    Parts,
    called_by_place,
    check_names,
    check_told_apart,
    from_pandas,
    is_pandas,
    is_text,
    kind_of,
    left_out,
    packing_of,
    parquet_form,
    partition_values,
    partitioned,
    read_whole,
    shown_name,
    top_level,
)
from sfumato.engines.memory import check_spill, own_folder
from sfumato.engines.reading import Reading
from sfumato.engines.textfile import inspect_text
from sfumato.errors import InputError, ResourceError

_LISTED = 1 << 16  # labels in a list that is looked into row by row; beyond, a join is faster
_OWN_SHARE = 0.75  # the share of the memory that we may take while the engine stands aside


class DuckDB:
    """One in-process database for one table."""

    embedded = True

    def __init__(self, reading: Reading | None = None) -> None:
        self._reading = reading = reading or Reading()
        memory, spill, threads = reading.memory, reading.spill, reading.threads
        self._limit = reading.memory_limit()
        self.memory = int(self._limit * _OWN_SHARE)
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
        if plain := memory is None and spill is None:
            database = _idle_database(self._spill, threads)
        if database is None:
            database = duckdb.connect(":memory:", config=settings)
        connection = database.cursor()
        connection.execute("ATTACH ':memory:' AS work")
        connection.execute("USE work")
        self._connection = connection
        self._links = 0
        self._sources = 0
        self._labels: dict[str, str] = {}  # what to call each source in messages
        self._alive: list[object] = []  # frames registered by reference must outlive their queries
        weakref.finalize(self, _clear, database, connection, self._spill, threads, reuse=plain)

    # -- queries -----------------------------------------------------------------------------

    def fetch(self, select: str, *, in_order: bool = False) -> pa.Table:
        try:
            with self._in_order() if in_order else contextlib.nullcontext():
                return self._connection.sql(select).to_arrow_table()
        except duckdb.Error as error:
            raise translated(error, self._blamed(select), select) from None

    def first_rows(self, source: Source, columns: Sequence[str], most: int) -> pa.Table:
        return self.fetch(select_first(source, columns, most))

    def _run(self, sql: str) -> None:
        try:
            self._connection.execute(sql)
        except duckdb.Error as error:
            raise translated(error, self._blamed(sql), sql) from None

    def _blamed(self, sql: str) -> str:
        """What to call the sources that a query reads."""
        read = re.findall(r"\bsource_\d+\b", sql)
        labels = dict.fromkeys(self._labels[name] for name in read if name in self._labels)
        return " or ".join(labels) or "the table"

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
    def yield_memory(self) -> Iterator[None]:
        self._run(f"SET memory_limit = '{int(self._limit * (1 - _OWN_SHARE))}B'")
        try:
            yield
        finally:
            self._run(f"SET memory_limit = '{self._limit}B'")

    @contextlib.contextmanager
    def _in_order(self) -> Iterator[None]:
        self._run("SET preserve_insertion_order = true")
        try:
            yield
        finally:
            self._run("SET preserve_insertion_order = false")

    def write(self, select: str, folder: Path) -> None:
        path = literal(str(folder / "data.parquet"))
        copy = f"COPY ({select}) TO {path} (FORMAT parquet)"
        with self._in_order():
            try:
                self._run(copy)
            except ResourceError:
                # Each thread holds all the rows it has made until it is their turn in the file.
                with self._one_thread():
                    self._run(copy)

    @contextlib.contextmanager
    def _one_thread(self) -> Iterator[None]:
        ((threads,),) = self._connection.sql("SELECT current_setting('threads')").fetchall()
        self._run("SET threads = 1")
        try:
            yield
        finally:
            self._run(f"SET threads = {threads}")

    def repeated(self, relation: str, n: str) -> str:
        return f"(SELECT *, unnest(range({n})) AS sfumato_copy FROM {relation}) AS copies"

    def label_of(self, table: str, code: str) -> str | None:
        if self._brought[table].num_rows > _LISTED:
            return None
        listed = f"SELECT list(label ORDER BY code) FROM {quote(table)}"
        self._run(f"SET VARIABLE {quote(table)} = ({listed})")
        return f"getvariable({literal(table)})[CAST({code} AS INT) + 1]"

    def look_up(
        self, relation: str, cells: Sequence[CellCombinations], carried: Sequence[str] = ()
    ) -> LookedUp | None:
        return None

    def looks_up(self, kinds: Sequence[pa.DataType], combinations: int) -> bool:
        return False  # a join is as fast

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

    # -- sources -----------------------------------------------------------------------------

    def register(self, source: object, needed: tuple[str, ...] | None = None) -> Source:
        if isinstance(source, str | Path) and is_text(Path(source)):
            return self._register_text(Path(source), needed)
        registered = self._registered(source, needed)
        stated_forms = self._reading.stated_forms
        dated = [
            name
            for name, kind in registered.types.items()
            if (registered.untyped or stated_forms.dates_of(name))
            and (needed is None or name in needed)
            and is_string(kind)
        ]
        return self._as_written(registered, dict.fromkeys(dated, ()), None)

    def _registered(self, source: object, needed: tuple[str, ...] | None) -> Source:
        if isinstance(source, Parts):
            return self._register_parquet(source.label, source.files, source.folder)
        if isinstance(source, str | Path):
            return self._register_file(Path(source))
        if isinstance(source, pa.Table):
            return self._register_arrow(source, needed)
        if is_pandas(source):
            registered = self._register_arrow(from_pandas(source, needed), None)
            names = [str(name) for name in source.columns]  # type: ignore[attr-defined]
            return replace(registered, others=left_out(names, needed))
        if hasattr(source, "__arrow_c_stream__"):
            return self._register_stream(source, needed)
        raise InputError(
            f"cannot read a {type(source).__name__}; give a path, a pandas, Polars or Arrow table, "
            "or a DuckDB relation"
        )

    def _name(self, label: str) -> str:
        self._sources += 1
        name = f"source_{self._sources}"
        self._labels[name] = label
        return name

    def _register_file(self, path: Path) -> Source:
        if path.is_dir() and self._reading.partitioned:
            return self.register(partitioned(path))
        if (kind := kind_of(path)) == "parquet":
            return self._register_parquet(shown_name(path), (path,))
        whole = read_whole(path, kind, self._reading)
        return replace(
            self._register_arrow(whole.table, None, shown_name(path)),
            form=whole.form,
            notes=whole.notes,
            untyped=whole.untyped,
        )

    def _register_parquet(
        self, label: str, paths: Sequence[Path], partitions: Path | None = None
    ) -> Source:
        """Parquet files of one table; `partitions`: a folder whose inner folders name columns."""
        name = self._name(label)
        listed = [literal(self._address(path)) for path in paths]
        nodes = self._parquet_nodes(label, listed[0])
        if any(self._parquet_nodes(label, file) != nodes for file in listed[1:]):
            raise InputError(
                f"{label}: its files do not all have the same columns, of the same types and in "
                "the same order"
            )
        names = top_level(nodes)
        partition_columns = [] if partitions is None else partition_values(partitions, paths)
        named_by_folders = list(partition_columns[0]) if partition_columns else []
        check_names([*names, *named_by_folders], label)
        columns = ", ".join(f"c{place}" for place in range(len(names) + len(named_by_folders)))
        selected = []
        # One file after the other: across files the engine would match columns by their names.
        for place, file in enumerate(listed):
            values = (
                "".join(f", {_text(value)}" for value in partition_columns[place].values())
                if partition_columns
                else ""
            )
            read = f"read_parquet({file}, hive_partitioning = false, filename = false)"
            selected.append(f"SELECT *{values} FROM {read}")
        whole = " UNION ALL ".join(selected)
        self._run(f"CREATE VIEW {name}({columns}) AS {whole}")
        rows = self.fetch(f"SELECT COUNT(*) FROM {name}").column(0)[0].as_py()
        types = self.fetch(f"SELECT * FROM {name} LIMIT 0").schema.types
        check_told_apart(label, nodes, types, paths)
        form = parquet_form(paths[0])
        columns_read = dict(zip([*names, *named_by_folders], types, strict=True))
        return Source(name, label, columns_read, rows, form=form)

    def _parquet_nodes(self, label: str, file: str) -> list[tuple[Any, ...]]:
        """What a Parquet file says of its columns; a view of it may change their names."""
        columns = "name, num_children, type, type_length, converted_type, scale, precision"
        try:
            nodes = self._connection.sql(
                f"SELECT {columns}, CAST(logical_type AS VARCHAR) FROM parquet_schema({file})"
            )
            return list(nodes.fetchall())
        except duckdb.Error as error:
            raise translated(error, label, "read_parquet") from None

    def _register_text(self, path: Path, needed: tuple[str, ...] | None) -> Source:
        file = inspect_text(path, self._reading.delimiter, self._reading.encoding)
        columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(file.columns)))
        label = shown_name(path)
        name = self._name(label)
        packed = {"": "none", "gz": "gzip", "zst": "zstd"}[packing_of(path)]
        address = self._address(path)
        if not file.encoding.is_utf8:
            copy = self._spill / f"{name}.csv"
            copy_as_utf8(path, file.encoding, copy)
            address, packed = self._address(copy), "none"
        # Nothing is sniffed: the engine either reads every row as stated or fails.
        self._run(
            f"CREATE VIEW {name} AS SELECT * FROM read_csv({literal(address)}, "
            f"auto_detect = false, header = true, delim = {literal(file.delimiter)}, "
            f"quote = '\"', escape = '\"', columns = {{{columns}}}, strict_mode = true, "
            f"null_padding = false, ignore_errors = false, compression = '{packed}', "
            "hive_partitioning = false)"
        )
        types: dict[str, pa.DataType] = dict.fromkeys(file.columns, pa.string())
        samples = {
            column: [row[place] for row in file.head if len(row) > place and row[place]]
            for place, column in enumerate(file.columns)
        }
        source = Source(name, label, types, file.rows, untyped=True, form=file.form)
        return self._as_written(source, samples, needed)

    def _as_written(
        self, source: Source, samples: Mapping[str, Sequence[str]], needed: tuple[str, ...] | None
    ) -> Source:
        stated_forms = self._reading.stated_forms
        if source.form.format == "xlsx" and not stated_forms.exact:
            stated_forms = without_plain_dates(source, stated_forms, self.fetch)
        written, cells = as_written(source, samples, needed, stated_forms, self.fetch)
        if not cells:
            return written
        name = self._name(source.label)
        listed = ", ".join(f"{cell} AS {source.column(c)}" for c, cell in cells.items())
        self._run(f"CREATE VIEW {name} AS SELECT {listed} FROM {source.name}")
        return replace(written, name=name)

    def _address(self, path: Path) -> str:
        """A path under which the engine reads this file and no other.

        It takes `*`, `?` and `[` for patterns, and knows only names that are UTF-8. A file with
        another name is reached by a link of ours, whose own folder is written as a pattern that
        stands for itself alone.
        """
        text = path.absolute().as_posix()
        if not text.isprintable() or any(sign in text for sign in "*?[\\"):
            self._links += 1
            link = self._spill / f"file-{self._links}"
            try:
                link.symlink_to(path.absolute())
            except OSError:
                raise InputError(
                    f"{shown_name(path)} cannot be read under this name; rename the file, or its "
                    "folder, to one of letters and digits"
                ) from None
            text = link.absolute().as_posix()
        return re.sub(r"([*?\[])", r"[\1]", text)

    def _register_arrow(
        self, table: pa.Table, needed: tuple[str, ...] | None, label: str = "the table"
    ) -> Source:
        names = list(table.schema.names)
        check_names(names, label)
        other_columns = left_out(names, needed)
        if needed is not None:
            names = [column for column in needed if column in names]
            table = table.select(names)
        name = self._name(label)
        rows = table.num_rows
        arrays = [
            column.cast(pa.float32()) if pa.types.is_float16(column.type) else column
            for column in table.columns
        ]
        types = {column: array.type for column, array in zip(names, arrays, strict=True)}
        table = pa.table(arrays, names=[f"c{place}" for place in range(len(names))])
        self._alive.append(table)
        if table.num_columns:  # with none of the needed columns there is nothing to query
            try:
                self._connection.register(name, table)
            except duckdb.Error:
                raise self._strange(types, label) from None
        return Source(name, label, types, rows, others=other_columns)

    def _strange(self, types: dict[str, pa.DataType], label: str) -> InputError:
        """Which columns have types that the engine does not know."""
        odd = []
        for name, kind in types.items():
            try:
                self._connection.register("sfumato_trial", pa.table({"c0": pa.array([], kind)}))
                self._connection.unregister("sfumato_trial")
            except (duckdb.Error, pa.ArrowException):
                odd.append(f"{name!r} ({kind})")
        return InputError(
            f"{label}: the engine does not know the type of column {', '.join(odd[:5])}; convert "
            "it to text or numbers"
        )

    def _register_stream(self, source: Any, needed: tuple[str, ...] | None) -> Source:
        """A one-shot stream is kept as a table (which may spill), since we scan more than once."""
        reader = pa.RecordBatchReader.from_stream(source)
        check_names(reader.schema.names, "the table")
        names = [c for c in (needed or reader.schema.names) if c in reader.schema.names]
        name = self._name("the table")
        types = {column: reader.schema.field(column).type for column in names}
        rows = 0
        if names:
            stream = called_by_place(reader, names)
            try:
                self._connection.register(f"{name}_stream", stream)
            except duckdb.Error:
                raise self._strange(types, "the table") from None
            self._run(f"CREATE TABLE {name} AS SELECT * FROM {name}_stream")
            rows = self.fetch(f"SELECT COUNT(*) FROM {name}").column(0)[0].as_py()
        other_columns = left_out(reader.schema.names, needed)
        return Source(name, "the table", types, rows, others=other_columns)


def _text(value: str | None) -> str:
    return "CAST(NULL AS VARCHAR)" if value is None else literal(value)


# Databases that were emptied, with the process they belong to and the threads they were made
# with: to make one takes longer than to read a small table. None with a limit of its own.
_idle: list[tuple[tuple[int, int | None], duckdb.DuckDBPyConnection]] = []
_IDLE_AT_MOST = 2


def _idle_database(spill: Path, threads: int | None) -> duckdb.DuckDBPyConnection | None:
    """An empty database that spills to this folder, if one is at hand."""
    while _idle:
        made, database = _idle.pop()
        if made != (os.getpid(), threads):  # a fork has none of its threads
            continue
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
    threads: int | None,
    *,
    reuse: bool,
) -> None:
    """Nothing of anybody's data stays behind, whenever somebody interrupts."""
    try:
        try:
            connection.close()
            database.execute("DETACH work")
            database.execute("DETACH DATABASE IF EXISTS kept")
        except (duckdb.Error, RuntimeError):  # interrupted, it raises the latter
            reuse = False
        if reuse and len(_idle) < _IDLE_AT_MOST:
            _idle.append(((os.getpid(), threads), database))
        else:
            database.close()
    finally:
        shutil.rmtree(spill, ignore_errors=True)
