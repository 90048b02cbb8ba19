"""One DuckDB connection: runs SQL, and makes files, frames and relations known to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from sfumato.engines.base import Source
from sfumato.engines.duckdb_failures import translated
from sfumato.engines.files import is_packed, kind_of, read_arrow, shown_name
from sfumato.engines.frames import check_names, from_pandas, is_pandas, left_out
from sfumato.engines.parquet import check_told_apart, top_level
from sfumato.engines.parts import Parts, partition_values, partitioned
from sfumato.engines.sql import literal
from sfumato.engines.textfile import inspect_text
from sfumato.errors import InputError

# 3,5 and 1.234,5 and 1.234 and 7, but not 007 nor 1.23: what a decimal comma makes of a number.
COMMA_NUMBER = r"'[+-]?(0|[1-9]\d*|[1-9]\d{0,2}(\.\d{3})+)(,\d+)?([eE][+-]?\d+)?'"


class Connected:
    """A connection and the sources that are registered with it."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        *,
        spill: Path,
        delimiter: str | None = None,
        decimal: str | None = None,
        partitioned: bool = False,
    ) -> None:
        if decimal not in (None, ".", ","):
            raise InputError(f"decimal {decimal!r} is not allowed; use '.' or ','")
        self._connection = connection
        self._spill = spill
        self._links = 0
        self._partitioned = partitioned
        self._delimiter = delimiter
        self._decimal = decimal
        self._sources = 0
        self._labels: dict[str, str] = {}  # what to call each source in messages
        self._alive: list[object] = []  # frames registered by reference must outlive their queries

    def fetch(self, select: str) -> pa.Table:
        try:
            return self._connection.sql(select).to_arrow_table()
        except duckdb.Error as error:
            raise translated(error, self._blamed(select), select) from None

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

    # -- sources -----------------------------------------------------------------------------

    def register(self, source: object, needed: tuple[str, ...] | None = None) -> Source:
        if isinstance(source, Parts):
            return self._register_parquet(source.label, source.files, source.folder)
        if isinstance(source, str | Path):
            return self._register_file(Path(source))
        if isinstance(source, pa.Table):
            return self._register_arrow(source, needed)
        if is_pandas(source):
            found = self._register_arrow(from_pandas(source, needed), None)
            names = [str(name) for name in source.columns]  # type: ignore[attr-defined]
            return replace(found, others=left_out(names, needed))
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
        if path.is_dir() and self._partitioned:
            return self.register(partitioned(path))
        kind = kind_of(path)
        if kind == "text":
            return self._register_text(path)
        if kind == "parquet":
            return self._register_parquet(shown_name(path), (path,))
        return self._register_arrow(read_arrow(path), None, shown_name(path))

    def _register_parquet(
        self, label: str, paths: Sequence[Path], partitions: Path | None = None
    ) -> Source:
        """Parquet files of one table; `partitions`: a folder whose inner folders name columns."""
        name = self._name(label)
        listed = [literal(self._address(path)) for path in paths]
        nodes = self._parquet_nodes(label, listed[0])
        if any(self._parquet_nodes(label, other) != nodes for other in listed[1:]):
            raise InputError(
                f"{label}: its files do not all have the same columns, of the same types and in "
                "the same order"
            )
        names = top_level(nodes)
        told = [] if partitions is None else partition_values(partitions, paths)
        named_by_folders = list(told[0]) if told else []
        check_names([*names, *named_by_folders], label)
        columns = ", ".join(f"c{place}" for place in range(len(names) + len(named_by_folders)))
        selected = []
        # One file after the other: across files the engine would match columns by their names.
        for place, file in enumerate(listed):
            values = "".join(f", {_text(value)}" for value in told[place].values()) if told else ""
            read = f"read_parquet({file}, hive_partitioning = false, filename = false)"
            selected.append(f"SELECT *{values} FROM {read}")
        whole = " UNION ALL ".join(selected)
        self._run(f"CREATE VIEW {name}({columns}) AS {whole}")
        rows = self.fetch(f"SELECT COUNT(*) FROM {name}").column(0)[0].as_py()
        types = self.fetch(f"SELECT * FROM {name} LIMIT 0").schema.types
        check_told_apart(label, nodes, types, paths)
        return Source(name, label, dict(zip([*names, *named_by_folders], types, strict=True)), rows)

    def _parquet_nodes(self, label: str, file: str) -> list[tuple[Any, ...]]:
        """What a Parquet file says of its columns; a view of it may change their names."""
        told = "name, num_children, type, type_length, converted_type, scale, precision"
        try:
            found = self._connection.sql(
                f"SELECT {told}, CAST(logical_type AS VARCHAR) FROM parquet_schema({file})"
            )
            return list(found.fetchall())
        except duckdb.Error as error:
            raise translated(error, label, "read_parquet") from None

    def _register_text(self, path: Path) -> Source:
        file = inspect_text(path, self._delimiter)
        columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(file.columns)))
        label = shown_name(path)
        name = self._name(label)
        packed = "gzip" if is_packed(path) else "none"
        # Nothing is sniffed: the engine either reads every row as stated or fails.
        self._run(
            f"CREATE VIEW {name} AS SELECT * FROM read_csv({literal(self._address(path))}, "
            f"auto_detect = false, header = true, delim = {literal(file.delimiter)}, "
            f"quote = '\"', escape = '\"', columns = {{{columns}}}, strict_mode = true, "
            f"null_padding = false, ignore_errors = false, compression = '{packed}', "
            "hive_partitioning = false)"
        )
        if self._decimal == ",":
            name = self._with_points(name, len(file.columns), label)
        types: dict[str, pa.DataType] = dict.fromkeys(file.columns, pa.string())
        return Source(name, label, types, file.rows, untyped=True)

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

    def _with_points(self, raw: str, columns: int, label: str) -> str:
        """A view with 1.234,5 as 1234.5, in the columns most of whose values are such numbers."""
        names = [f"c{place}" for place in range(columns)]
        matches = [f"regexp_full_match({column}, {COMMA_NUMBER})" for column in names]
        shares = self.fetch(
            "SELECT "
            + ", ".join(
                f"2 * COUNT(*) FILTER (WHERE {match}) >= GREATEST(COUNT({column}), 1)"
                for column, match in zip(names, matches, strict=True)
            )
            + f" FROM {raw}"
        )
        written = []
        for place, (column, match) in enumerate(zip(names, matches, strict=True)):
            plain = f"replace(replace({column}, '.', ''), ',', '.')"
            numbers = shares.column(place)[0].as_py()
            written.append(
                f"CASE WHEN {match} THEN {plain} ELSE {column} END AS {column}"
                if numbers
                else column
            )
        name = self._name(label)
        self._run(f"CREATE VIEW {name} AS SELECT {', '.join(written)} FROM {raw}")
        return name

    def _register_arrow(
        self, table: pa.Table, needed: tuple[str, ...] | None, label: str = "the table"
    ) -> Source:
        names = list(table.schema.names)
        check_names(names, label)
        others = left_out(names, needed)
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
        return Source(name, label, types, rows, others=others)

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
            stream = _called_by_place(reader, names)
            try:
                self._connection.register(f"{name}_stream", stream)
            except duckdb.Error:
                raise self._strange(types, "the table") from None
            self._run(f"CREATE TABLE {name} AS SELECT * FROM {name}_stream")
            rows = self.fetch(f"SELECT COUNT(*) FROM {name}").column(0)[0].as_py()
        others = left_out(reader.schema.names, needed)
        return Source(name, "the table", types, rows, others=others)


def _called_by_place(reader: pa.RecordBatchReader, names: list[str]) -> pa.RecordBatchReader:
    """Some columns of a stream under the names c0, c1, ..."""
    places = [reader.schema.get_field_index(name) for name in names]
    fields = [reader.schema.field(at).with_name(f"c{n}") for n, at in enumerate(places)]
    schema = pa.schema(fields)
    batches = (
        pa.RecordBatch.from_arrays([batch.column(at) for at in places], schema=schema)
        for batch in reader
    )
    return pa.RecordBatchReader.from_batches(schema, batches)


def _text(value: str | None) -> str:
    return "CAST(NULL AS VARCHAR)" if value is None else literal(value)
