"""Arrow tables as Spark can take them: its types are fewer than Arrow's.

Each type goes to the nearest that holds all its values; where there is none, the column is refused.
Nothing is rounded on the way: two values that became one would make two people alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.types as kinds

from sfumato.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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

    columns = [_column(name, table.column(name)) for name in table.schema.names]
    plain = pa.table(columns, names=table.schema.names if called is None else list(called))
    # A time without a zone stays one, whatever the session takes timestamps to be.
    schema = from_arrow_schema(plain.schema, prefer_timestamp_ntz=True)
    return session.createDataFrame(plain, schema)


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
