"""Where rows come from: a Spark frame, a file that Spark reads, a small table brought to it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sfumato.engines.choose import is_spark_frame
from sfumato.engines.files import kind_of, read_arrow
from sfumato.engines.frames import check_names, from_pandas, is_pandas
from sfumato.engines.spark.arrow import to_spark
from sfumato.engines.spark.textfile import read_text
from sfumato.engines.textfile import TextFile, inspect_text
from sfumato.errors import InputError, name_some

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Opened:
    """A frame, what to call it, and what is known of it before anything is counted."""

    frame: DataFrame
    label: str = "the table"
    rows: int | None = None
    file: TextFile | None = None

    @property
    def untyped(self) -> bool:
        return self.file is not None


def open_source(
    session: SparkSession, source: Any, needed: tuple[str, ...] | None, delimiter: str | None
) -> Opened:
    if isinstance(source, str | Path):
        return _open_path(session, Path(source), needed, delimiter)
    if is_spark_frame(source):
        if source.isStreaming:
            raise InputError("a stream has no end to count to; give a frame of finished rows")
        return Opened(_chosen(source, needed, "the table"))
    if isinstance(source, pa.Table):
        return _brought(session, source, needed)
    if is_pandas(source):
        return _brought(session, from_pandas(source, needed), needed)
    if hasattr(source, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(source)
        return _brought(session, reader.read_all(), needed)
    raise InputError(
        f"cannot read a {type(source).__name__}; give a path, a Spark frame, or a pandas, Polars "
        "or Arrow table"
    )


def _open_path(
    session: SparkSession, path: Path, needed: tuple[str, ...] | None, delimiter: str | None
) -> Opened:
    if path.is_dir():
        _check_folder(path)
        return _parquet(session, path, needed)
    kind = kind_of(path)
    if path.name.startswith(("_", ".")):
        raise InputError(f"{path.name}: Spark passes over files of such names; rename it")
    if kind == "arrow":
        return _brought(session, read_arrow(path), needed, path.name)
    if kind == "parquet":
        return _parquet(session, path, needed)
    file = inspect_text(path, delimiter)
    frame, rows = read_text(session, file, _address(path))
    return Opened(_chosen(frame, None, path.name), path.name, rows, file)


def _check_folder(path: Path) -> None:
    """Refuse a folder of which Spark would read a part, or what is no table of people."""
    if not any(path.rglob("*.parquet")):
        raise InputError(f"{path} is a folder without Parquet files; give a file, or such one")
    if any(path.rglob("manifest.json")):
        raise InputError(f"{path} holds a release; give it to read_release or sfumato audit")
    for inner in path.rglob("*"):
        if inner.is_dir() and "=" not in inner.name:
            raise InputError(
                f"{path} has the folder {inner.name}, which Spark would pass over; parts of a "
                "table are files, or folders like year=2020"
            )


def _parquet(session: SparkSession, path: Path, needed: tuple[str, ...] | None) -> Opened:
    return Opened(_chosen(session.read.parquet(_address(path)), needed, path.name), path.name)


def _brought(
    session: SparkSession,
    table: pa.Table,
    needed: tuple[str, ...] | None,
    label: str = "the table",
) -> Opened:
    check_names(table.schema.names, label)
    if needed is not None:
        table = table.select([name for name in needed if name in table.schema.names])
    return Opened(_chosen(to_spark(session, table), None, label), label, table.num_rows)


def _chosen(frame: DataFrame, needed: tuple[str, ...] | None, label: str) -> DataFrame:
    """The needed columns of a frame under names that Spark tells apart in any session."""
    from pyspark.sql import functions

    names = list(frame.columns)
    check_names(names, label)
    kept = [name for name in names if needed is None or name in needed]
    lowered = [name.lower() for name in kept]
    alike = [name for name in kept if lowered.count(name.lower()) > 1]
    if alike:
        raise InputError(
            f"{label}: Spark does not tell {name_some(alike)} apart; rename the columns"
        )
    odd = [name for name in kept if "${" in name]
    if odd:
        raise InputError(f"{label}: Spark would replace part of {name_some(odd)}; rename it")
    by_place = frame.toDF(*(f"c{place}" for place in range(len(names))))
    columns = []
    for name in kept:
        place = names.index(name)
        column = functions.col(f"c{place}")
        kind = frame.schema.fields[place].dataType.simpleString()
        if " collate " in kind:
            # Texts that a collation holds for equal are different values.
            column = column.cast(re.sub(r" collate \w+", " collate UTF8_BINARY", kind))
        columns.append(column.alias(name))
    return by_place.select(*columns)


def _address(path: Path) -> str:
    """A path as Spark must be told it: of this machine, each sign meant as itself."""
    text = str(path.absolute())
    for sign in "\\*?[]{}":
        text = text.replace(sign, f"\\{sign}")
    return f"file://{text}"
