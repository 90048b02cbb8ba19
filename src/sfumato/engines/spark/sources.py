"""Where rows come from: a Spark frame, a file that Spark reads, a small table brought to it."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sfumato.engines.choose import is_spark_frame
from sfumato.engines.files import kind_of, read_arrow, shown_name
from sfumato.engines.frames import check_names, from_pandas, is_pandas, left_out
from sfumato.engines.parquet import check_old_times
from sfumato.engines.parts import Parts, partition_values, partitioned
from sfumato.engines.spark.arrow import to_spark
from sfumato.engines.spark.textfile import read_text
from sfumato.engines.textfile import TextFile, inspect_text
from sfumato.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Opened:
    """A frame with columns c0, c1, ..., their names, and what is known before it is counted."""

    frame: DataFrame
    names: tuple[str, ...]
    label: str = "the table"
    rows: int | None = None
    file: TextFile | None = None
    others: tuple[str, ...] = ()

    @property
    def untyped(self) -> bool:
        return self.file is not None


def open_source(
    session: SparkSession,
    source: Any,
    needed: tuple[str, ...] | None,
    delimiter: str | None,
    *,
    in_parts: bool,
) -> Opened:
    """Open a source; `in_parts`: a folder may be given whose Parquet files are one table."""
    if isinstance(source, str | Path):
        path = Path(source)
        if not (in_parts and path.is_dir()):
            return _open_file(session, path, needed, delimiter)
        source = partitioned(path)
    if isinstance(source, Parts):
        return _parquet(session, source, needed)
    if is_spark_frame(source):
        if source.isStreaming:
            raise InputError("a stream has no end to count to; give a frame of finished rows")
        return _chosen(source, source.columns, needed, "the table")
    if isinstance(source, pa.Table):
        return _brought(session, source, needed)
    if is_pandas(source):
        names = [str(name) for name in source.columns]
        brought = _brought(session, from_pandas(source, needed), needed)
        return replace(brought, others=left_out(names, needed))
    if hasattr(source, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(source)
        return _brought(session, reader.read_all(), needed)
    raise InputError(
        f"cannot read a {type(source).__name__}; give a path, a Spark frame, or a pandas, Polars "
        "or Arrow table"
    )


def _open_file(
    session: SparkSession, path: Path, needed: tuple[str, ...] | None, delimiter: str | None
) -> Opened:
    kind, label = kind_of(path), shown_name(path)
    if kind == "arrow":
        return _brought(session, read_arrow(path), needed, label)
    if label != path.name or path.name.startswith(("_", ".")):
        raise InputError(f"{label}: Spark passes over files of such names; rename it")
    if kind == "parquet":
        return _parquet(session, Parts(label, (path,)), needed)
    file = inspect_text(path, delimiter)
    frame, rows = read_text(session, file, _address(path))
    opened = _chosen(frame, file.columns, None, label)
    return replace(opened, rows=rows, file=file)


def _parquet(session: SparkSession, parts: Parts, needed: tuple[str, ...] | None) -> Opened:
    """Files each for itself: no column comes from a folder's name unless `parts` says so."""
    from pyspark.sql import functions

    with contextlib.suppress(pa.ArrowException):  # of a damaged file Spark says more
        check_old_times(parts.label, parts.files)  # Spark cuts them to microseconds
    told = [] if parts.folder is None else partition_values(parts.folder, parts.files)
    if not told or not told[0]:
        frame = session.read.option("recursiveFileLookup", True).parquet(
            *map(_address, parts.files)
        )
        return _chosen(frame, frame.columns, needed, parts.label)
    values = list(dict.fromkeys(tuple(values.items()) for values in told))
    frames = []
    for one in values:
        files = [file for file, other in zip(parts.files, told, strict=True) if dict(one) == other]
        frame = session.read.option("recursiveFileLookup", True).parquet(*map(_address, files))
        # As text: 01301 is not the number that Spark would make of it.
        more = [functions.lit(value).cast("string") for _, value in one]
        places = [f"c{place}" for place in range(len(frame.columns))]
        frames.append((frame.columns, frame.toDF(*places).select(*places, *more)))
    columns = [*frames[0][0], *(name for name, _ in values[0])]
    if any(names != frames[0][0] for names, _ in frames):
        raise InputError(f"{parts.label}: its files do not all have the same columns")
    whole = functools.reduce(lambda one, other: one.union(other), [frame for _, frame in frames])
    return _chosen(whole, columns, needed, parts.label)


def _brought(
    session: SparkSession,
    table: pa.Table,
    needed: tuple[str, ...] | None,
    label: str = "the table",
) -> Opened:
    check_names(table.schema.names, label)
    others = left_out(table.schema.names, needed)
    if needed is not None:
        table = table.select([name for name in needed if name in table.schema.names])
    names = tuple(table.schema.names)
    frame = to_spark(session, table, [f"c{place}" for place in range(len(names))])
    return Opened(frame, names, label, table.num_rows, others=others)


def _chosen(
    frame: DataFrame, names: Sequence[str], needed: tuple[str, ...] | None, label: str
) -> Opened:
    """The needed columns of a frame, told apart by their places: to Spark, a and A are one."""
    from pyspark.sql import functions

    names = list(names)
    check_names(names, label)
    kept = [name for name in names if needed is None or name in needed]
    by_place = frame.toDF(*(f"c{place}" for place in range(len(names))))
    columns: list[Any] = []
    for name in kept:
        place = names.index(name)
        column = functions.col(f"c{place}")
        kind = frame.schema.fields[place].dataType.simpleString()
        if " collate " in kind:
            # Texts that a collation holds for equal are different values.
            column = column.cast(re.sub(r" collate \w+", " collate UTF8_BINARY", kind))
        columns.append(column.alias(f"c{len(columns)}"))
    others = left_out(names, needed)
    return Opened(by_place.select(*columns), tuple(kept), label, others=others)


def _address(path: Path) -> str:
    """A path as Spark must be told it: of this machine, each sign meant as itself."""
    text = str(path.absolute())
    for sign in "\\*?[]{}":
        text = text.replace(sign, f"\\{sign}")
    return f"file://{text}"
