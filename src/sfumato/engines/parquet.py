"""What Parquet files say of their columns, and what engines cannot tell apart in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.errors import InputError

Node = tuple[Any, ...]  # name, number of children, physical type, ...: rows of parquet_schema


def top_level(nodes: Sequence[Node]) -> list[str]:
    """The columns of a file: of its nodes, root first, those that are in no other."""
    return [str(column[0][0]) for column in _columns(nodes)]


def _columns(nodes: Sequence[Node]) -> Iterator[list[Node]]:
    """The nodes of each column, its own first."""
    column: list[Node] = []
    inside = 0  # nodes yet to come that belong to this column
    for node in nodes[1:]:
        column.append(node)
        inside += (node[1] or 0) - (len(column) > 1)
        if not inside:
            yield column
            column = []


def check_told_apart(
    label: str, nodes: Sequence[Node], types: Sequence[pa.DataType], paths: Sequence[Path]
) -> None:
    """Refuse columns of which the engine makes one value of several.

    It reads decimals of more than 38 digits as floats, and times in twelve bytes (INT96) as
    microseconds, though they hold nanoseconds.
    """
    for (node, *inner), kind in zip(_columns(nodes), types, strict=False):  # then those of folders
        name, stored = node[0], {one[2] for one in (node, *inner)}
        if "DOUBLE" not in stored and pa.float64() in _leaves(kind):
            raise InputError(
                f"{label}: column {name!r} holds decimals of more than 38 digits, which cannot be "
                "told apart; convert it to text, or leave it out"
            )
    if any(node[2] == "INT96" for node in nodes):
        check_old_times(label, paths)


def check_old_times(label: str, paths: Sequence[Path]) -> None:
    """Refuse times in twelve bytes that are finer than any engine reads them."""
    if not all(map(_whole_microseconds, paths)):
        raise InputError(
            f"{label} holds times finer than a microsecond in an old form (INT96), which cannot be "
            "told apart; write them in the form of today (INT64), or as text"
        )


def _leaves(kind: pa.DataType) -> list[pa.DataType]:
    if not kind.num_fields:
        return [kind]
    return [leaf for at in range(kind.num_fields) for leaf in _leaves(kind.field(at).type)]


def _whole_microseconds(path: Path) -> bool:
    """Whether no time in twelve bytes has a part below a microsecond."""
    with path.open("rb") as one, path.open("rb") as other:
        fine = pq.ParquetFile(one, coerce_int96_timestamp_unit="ns")
        coarse = pq.ParquetFile(other, coerce_int96_timestamp_unit="us")
        described = [fine.schema.column(at) for at in range(len(fine.schema))]
        old = [column.path for column in described if column.physical_type == "INT96"]
        if not old:
            return True
        for part in range(fine.num_row_groups):
            exact, cut = (_times(file.read_row_group(part, columns=old)) for file in (fine, coarse))
            # Far from 1970 nanoseconds run over; so does the product, to the same number.
            if not np.array_equal(exact, cut * 1000):
                return False
    return True


def _times(table: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The numbers behind all times of a table."""
    found = [np.empty(0, np.int64)]
    for column in table.flatten().columns:
        while pa.types.is_list(column.type):
            column = pa.chunked_array([part.flatten() for part in column.chunks])
        if pa.types.is_timestamp(column.type):
            found.append(column.drop_null().cast(pa.int64()).to_numpy())
    return np.concatenate(found)
