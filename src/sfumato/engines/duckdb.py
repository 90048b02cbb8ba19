"""DuckDB, embedded: files of any size, a memory limit, spilling to disk."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from sfumato.engines.base import Source
from sfumato.engines.sql import literal, quote
from sfumato.engines.textfile import inspect_text
from sfumato.errors import InputError, ResourceError, SfumatoError, name_some

_TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc")
# 3,5 and 1.234,5 and 1.234 and 7, but not 007 nor 1.23: what a decimal comma makes of a number.
COMMA_NUMBER = r"'[+-]?(0|[1-9]\d*|[1-9]\d{0,2}(\.\d{3})+)(,\d+)?([eE][+-]?\d+)?'"
KNOWN_FILES = "CSV (.csv, .tsv, .txt, also .gz), Parquet (.parquet, .pq), Arrow (.arrow, .feather)"


class DuckDB:
    """One in-process database for one table."""

    def __init__(
        self,
        *,
        memory: str | None = None,
        spill: str | Path | None = None,
        threads: int | None = None,
        delimiter: str | None = None,
        decimal: str | None = None,
    ) -> None:
        if decimal not in (None, ".", ","):
            raise InputError(f"decimal {decimal!r} is not allowed; use '.' or ','")
        if memory is not None and not re.fullmatch(r"\d+(\.\d+)?\s*[KMGT]i?B", memory):
            raise InputError(f"memory {memory!r} is not a size; write it like '512MB' or '2GB'")
        self._delimiter = delimiter
        self._decimal = decimal
        self._sources = 0
        self._labels: dict[str, str] = {}  # what to call each source in messages
        self._alive: list[object] = []  # frames registered by reference must outlive their queries
        self._spill = Path(spill) if spill is not None else Path(tempfile.gettempdir())
        settings: dict[str, Any] = {
            "temp_directory": str(self._spill / f"sfumato-{os.getpid()}-{id(self):x}"),
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
        }
        if memory is not None:
            settings["memory_limit"] = memory
        if threads is not None:
            settings["threads"] = threads
        self._connection = duckdb.connect(":memory:", config=settings)

    # -- sources -----------------------------------------------------------------------------

    def register(self, source: object, needed: tuple[str, ...] | None = None) -> Source:
        if isinstance(source, str | Path):
            return self._register_file(Path(source))
        if isinstance(source, pa.Table):
            return self._register_arrow(source, needed)
        if type(source).__module__.split(".")[0] == "pandas" and hasattr(source, "columns"):
            return self._register_arrow(_from_pandas(source, needed), None)
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
        if not path.exists():
            raise InputError(f"{path} does not exist")
        if path.is_dir():
            raise InputError(f"{path} is a folder; give a file: {KNOWN_FILES}")
        lower = path.name.lower()
        if path.stat().st_size == 0:
            raise InputError(f"{path.name} is empty: expected a header line and rows")
        if lower.endswith(_TEXT):
            return self._register_text(path)
        if lower.endswith(_PARQUET):
            name = self._name(path.name)
            self._run(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({literal(str(path))})")
            rows = self.fetch(f"SELECT COUNT(*) FROM {name}").column(0)[0].as_py()
            return Source(name, path.name, self._types(name), rows)
        if lower.endswith(_ARROW):
            return self._register_arrow(_read_arrow(path), None, path.name)
        raise InputError(f"{path.name}: unknown kind of file; known: {KNOWN_FILES}")

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
        _check_names(table.schema.names, label)
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
        _check_names(reader.schema.names, "the table")
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
        _check_names(schema.names, "the file")
        return dict(zip(schema.names, schema.types, strict=True))

    # -- queries -----------------------------------------------------------------------------

    def materialize(self, name: str, select: str) -> None:
        self._run(f"CREATE OR REPLACE TABLE {quote(name)} AS {select}")

    def put(self, name: str, table: pa.Table) -> None:
        self._alive.append(table)
        self._connection.register(name, table)

    def fetch(self, select: str) -> pa.Table:
        try:
            return self._connection.sql(select).to_arrow_table()
        except duckdb.Error as error:
            raise _translate(error, self._blamed(select), select) from None

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

    def _run(self, sql: str) -> None:
        try:
            self._connection.execute(sql)
        except duckdb.Error as error:
            raise _translate(error, self._blamed(sql), sql) from None

    def _blamed(self, sql: str) -> str:
        """What to call the sources that a query reads."""
        read = re.findall(r"\bsource_\d+\b", sql)
        labels = dict.fromkeys(self._labels[name] for name in read if name in self._labels)
        return " or ".join(labels) or "the table"


def _translate(error: duckdb.Error, label: str, sql: str) -> SfumatoError:
    """Our words for the engine's; its own may quote a row and are never passed on."""
    text = str(error)
    if isinstance(error, duckdb.OutOfMemoryException):
        return ResourceError(
            "out of memory: raise the memory limit, or give a spill folder with more free space"
        )
    line = re.search(r"Line: (\d+)", text)
    if line is not None:
        fields = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
        why = f"has {fields[2]} fields, the header {fields[1]}" if fields else "cannot be split"
        if "unterminated quote" in text:
            why = "has a quotation mark that is never closed"
        if "unicode" in text or "utf-8" in text:
            why = "is not UTF-8 text"
        return InputError(
            f"{label}, line {line[1]} {why}; correct the line or quote fields that hold the "
            "delimiter"
        )
    if isinstance(error, duckdb.IOException | duckdb.InvalidInputException):
        return InputError(f"{label} cannot be read as the file its name says it is")
    return SfumatoError(f"the engine refused a query ({type(error).__name__}): {sql}")


def _check_names(names: list[str], label: str) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{label} names {name_some(twice)} more than once; rename the columns")


def _read_arrow(path: Path) -> pa.Table:
    try:
        with pa.memory_map(str(path)) as mapped:
            return pa.ipc.open_file(mapped).read_all()
    except pa.ArrowInvalid:
        raise InputError(f"{path.name} is not an Arrow file") from None


def _from_pandas(frame: Any, needed: tuple[str, ...] | None) -> pa.Table:
    """A frame's columns without its index: labels of rows are nobody's attribute."""
    names = [str(name) for name in frame.columns]
    _check_names(names, "the table")
    wanted = [n for n in frame.columns if needed is None or str(n) in needed]
    arrays = []
    for name in wanted:
        try:
            arrays.append(pa.array(frame[name], from_pandas=True))
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            kinds = sorted({type(value).__name__ for value in frame[name].dropna().head(10_000)})
            raise InputError(
                f"column {str(name)!r} mixes types ({', '.join(kinds)}); convert it to one type"
            ) from None
    return pa.table(arrays, names=[str(name) for name in wanted])
