"""One DuckDB connection: runs SQL, and makes files, frames and relations known to it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from sfumato.engines.base import Source
from sfumato.engines.duckdb_failures import translated
from sfumato.engines.files import kind_of, read_arrow
from sfumato.engines.frames import check_names, from_pandas, is_pandas
from sfumato.engines.parts import parts_of
from sfumato.engines.sql import literal, quote
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
        delimiter: str | None = None,
        decimal: str | None = None,
    ) -> None:
        if decimal not in (None, ".", ","):
            raise InputError(f"decimal {decimal!r} is not allowed; use '.' or ','")
        self._connection = connection
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
        if isinstance(source, str | Path):
            return self._register_file(Path(source))
        if isinstance(source, pa.Table):
            return self._register_arrow(source, needed)
        if is_pandas(source):
            return self._register_arrow(from_pandas(source, needed), None)
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
        if path.is_dir() and (parts := parts_of(path)):
            return self._register_parquet(path.name, parts)
        kind = kind_of(path)
        if kind == "text":
            return self._register_text(path)
        if kind == "parquet":
            return self._register_parquet(path.name, [path])
        return self._register_arrow(read_arrow(path), None, path.name)

    def _register_parquet(self, label: str, paths: list[Path]) -> Source:
        name = self._name(label)
        listed = ", ".join(literal(str(path)) for path in paths)
        self._run(f"CREATE VIEW {name} AS SELECT * FROM read_parquet([{listed}])")
        rows = self.fetch(f"SELECT COUNT(*) FROM {name}").column(0)[0].as_py()
        return Source(name, label, self._types(name), rows)

    def _register_text(self, path: Path) -> Source:
        file = inspect_text(path, self._delimiter)
        columns = ", ".join(f"{literal(column)}: 'VARCHAR'" for column in file.columns)
        name = self._name(path.name)
        # Nothing is sniffed: the engine either reads every row as stated or fails.
        self._run(
            f"CREATE VIEW {name} AS SELECT * FROM read_csv({literal(str(path))}, "
            f"auto_detect = false, header = true, delim = {literal(file.delimiter)}, "
            f"quote = '\"', escape = '\"', columns = {{{columns}}}, strict_mode = true, "
            "null_padding = false, ignore_errors = false)"
        )
        if self._decimal == ",":
            name = self._with_points(name, file.columns, path.name)
        types: dict[str, pa.DataType] = dict.fromkeys(file.columns, pa.string())
        return Source(name, path.name, types, file.rows, untyped=True)

    def _with_points(self, raw: str, columns: tuple[str, ...], label: str) -> str:
        """A view with 1.234,5 as 1234.5, in the columns most of whose values are such numbers."""
        matches = [f"regexp_full_match({quote(column)}, {COMMA_NUMBER})" for column in columns]
        shares = self.fetch(
            "SELECT "
            + ", ".join(
                f"2 * COUNT(*) FILTER (WHERE {match}) >= GREATEST(COUNT({quote(column)}), 1)"
                for column, match in zip(columns, matches, strict=True)
            )
            + f" FROM {raw}"
        )
        written = []
        for place, (column, match) in enumerate(zip(columns, matches, strict=True)):
            plain = f"replace(replace({quote(column)}, '.', ''), ',', '.')"
            numbers = shares.column(place)[0].as_py()
            written.append(
                f"CASE WHEN {match} THEN {plain} ELSE {quote(column)} END AS {quote(column)}"
                if numbers
                else quote(column)
            )
        name = self._name(label)
        self._run(f"CREATE VIEW {name} AS SELECT {', '.join(written)} FROM {raw}")
        return name

    def _register_arrow(
        self, table: pa.Table, needed: tuple[str, ...] | None, label: str = "the table"
    ) -> Source:
        check_names(table.schema.names, label)
        if needed is not None:
            table = table.select([column for column in needed if column in table.schema.names])
        name = self._name(label)
        self._alive.append(table)
        if table.num_columns:  # with none of the needed columns there is nothing to query
            self._connection.register(name, table)
        types = dict(zip(table.schema.names, table.schema.types, strict=True))
        return Source(name, label, types, table.num_rows)

    def _register_stream(self, source: Any, needed: tuple[str, ...] | None) -> Source:
        """A one-shot stream is kept as a table (which may spill), since we scan more than once."""
        reader = pa.RecordBatchReader.from_stream(source)
        check_names(reader.schema.names, "the table")
        names = [c for c in (needed or reader.schema.names) if c in reader.schema.names]
        name = self._name("the table")
        self._connection.register(f"{name}_stream", reader)
        if names:
            columns = ", ".join(quote(column) for column in names)
            self._run(f"CREATE TABLE {name} AS SELECT {columns} FROM {name}_stream")
        types = dict(zip(reader.schema.names, reader.schema.types, strict=True))
        rows = 0
        if names:
            rows = self.fetch(f"SELECT COUNT(*) FROM {name}").column(0)[0].as_py()
        return Source(name, "the table", {column: types[column] for column in names}, rows)

    def _types(self, name: str) -> dict[str, pa.DataType]:
        schema = self.fetch(f"SELECT * FROM {name} LIMIT 0").schema
        check_names(schema.names, "the file")
        return dict(zip(schema.names, schema.types, strict=True))
