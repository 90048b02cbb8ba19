"""Portable SQL in Spark's dialect: the quotes differ, and tables are temporary views of ours.

Identifiers arrive in double quotes, which Spark reads as text unless a session says otherwise; the
session is not ours to change. Text constants that any setting of a session could read differently
(backslashes, quotes, ${variables}) are written as their bytes. A table that we keep has a view of
its own name, so that it never meets a view of the user's: a name is a table's after FROM or JOIN,
and before a dot.

Here too: Arrow's types in Spark's, and whether all rows that its machines write have arrived.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as kinds

from sfumato.errors import InputError, ResourceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# -- types: Spark's are fewer than Arrow's ---------------------------------------------------------
# Each goes to the nearest that holds all its values; where there is none, the column is refused.
# Nothing is rounded on the way: two values that became one would make two people alike.

_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.float16(): pa.float32(),
    pa.null(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_string(): pa.string(),
    pa.date64(): pa.date32(),
}


def to_spark(
    session: SparkSession, table: pa.Table, called: Sequence[str] | None = None
) -> DataFrame:
    """A small table as a Spark frame, its columns `called` otherwise if that is given."""
    from pyspark.sql.pandas.types import from_arrow_schema

    plain = spark_types(table)
    if called is not None:
        plain = plain.rename_columns(list(called))
    # A time without a zone stays one, whatever the session takes timestamps to be.
    schema = from_arrow_schema(plain.schema, prefer_timestamp_ntz=True)
    return session.createDataFrame(plain, schema)


def spark_types(table: pa.Table) -> pa.Table:
    """The same cells in types that Spark has."""
    columns = [_column(name, table.column(name)) for name in table.schema.names]
    return pa.table(columns, names=table.schema.names)


def _column(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if column.type == pa.uint64():
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:  # numbers beyond 64 signed bits are codes, not quantities
            return column.cast(pa.string())
    wanted = _nearest(name, column.type)
    if wanted == column.type:
        return column
    try:
        return column.cast(wanted)
    except pa.ArrowInvalid:
        raise InputError(
            f"column {name!r} holds values of type {column.type} that Spark cannot keep apart; "
            f"convert it to {wanted} or text"
        ) from None


def _nearest(name: str, kind: pa.DataType) -> pa.DataType:
    if kinds.is_dictionary(kind):
        return _nearest(name, kind.value_type)
    if kinds.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if kinds.is_time(kind):
        return pa.time64("us")
    if kinds.is_decimal(kind):
        if kind.precision > 38:
            raise InputError(
                f"column {name!r} has the type {kind}; Spark's decimals have 38 digits at most"
            )
        return pa.decimal128(kind.precision, kind.scale)
    if hasattr(kind, "value_field") and not kinds.is_map(kind):
        return pa.list_(_nearest(name, kind.value_type))
    return _WIDER.get(kind, kind)


def is_plain(kind: pa.DataType) -> bool:
    """Whether Spark's cells are those of a file, and equal ones have equal hashes and no others."""
    same = kinds.is_string(kind) or kinds.is_boolean(kind) or kinds.is_date32(kind)
    return same or bool(kinds.is_signed_integer(kind))


# Rows written by Spark's machines: all of them have arrived, or it is an error.


def write_parts(frame: DataFrame, folder: Path) -> list[Path]:
    """Write a frame as Parquet files; the files in the order of its rows."""
    from pyspark.sql import Observation, functions

    seen = Observation()
    counted = frame.observe(seen, functions.count(functions.lit(1)).alias("rows"))
    counted.write.mode("overwrite").option("compression", "snappy").parquet(f"file://{folder}")
    files = sorted(folder.glob("part-*.parquet"))
    arrived = sum(pq.read_metadata(file).num_rows for file in files)
    if arrived != seen.get["rows"]:
        raise ResourceError(
            f"only {arrived:,} of {seen.get['rows']:,} rows have arrived; every machine of a "
            "cluster must see the folder under the same path"
        )
    return files


_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\w+|\s+|.""", re.DOTALL)
_PLAIN = re.compile(r"[^'\\$]*")


def translate(sql: str, tables: Mapping[str, str]) -> str:
    """A query for Spark; `tables` are the views by the names they have in it."""
    tokens = _TOKEN.findall(sql)
    written = []
    before = ("", "")  # the last two words or signs
    for place, token in enumerate(tokens):
        if token.isspace():
            written.append(token)
            continue
        text = token
        if token[0] == "'":
            text = literal(token[1:-1].replace("''", "'"))
        elif token[0] == '"' or token[0].isalpha() or token[0] == "_":
            name = token[1:-1].replace('""', '"') if token[0] == '"' else token
            if name in tables and (_opens(before) or tokens[place + 1 : place + 2] == ["."]):
                text = identifier(tables[name])
            elif token[0] == '"':
                text = identifier(name)
        written.append(text)
        before = (before[1], token.upper())
    return "".join(written)


def _opens(before: tuple[str, str]) -> bool:
    """Whether a relation comes next; IS DISTINCT FROM is no FROM."""
    return before[1] == "JOIN" or (before[1] == "FROM" and before[0] != "DISTINCT")


def identifier(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex()}' AS STRING)"
