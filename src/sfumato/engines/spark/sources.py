"""Where rows come from: a Spark frame, a file that Spark reads, a small table brought to it."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.engines.choose import is_spark_frame
from sfumato.engines.files import (
    Parts,
    check_names,
    check_old_times,
    from_pandas,
    is_pandas,
    kind_of,
    left_out,
    packing_of,
    parquet_form,
    partition_values,
    partitioned,
    read_whole,
    shown_name,
)
from sfumato.engines.form import FileForm
from sfumato.engines.reading import Reading
from sfumato.engines.spark.dialect import is_plain, literal, to_spark
from sfumato.engines.spark.session import is_connect, names_held_for_one
from sfumato.engines.textfile import TextFile, inspect_text
from sfumato.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# -- a delimited text file, read by Spark as DuckDB reads it: every field text, strictly -----------
#
# Spark's reader is lenient where it matters to us: it leaves out lines of spaces, takes what
# follows a NUL for a comment, puts a sign in the place of bytes that are not UTF-8, and takes all
# that follows a quotation mark which is never closed for one field. A first pass over the bare
# lines finds these. Lines that are as RFC 4180 has them, with as many fields as the header, leave
# no doubt; a file with others (quotation marks inside fields, line breaks, spaces around them) is
# believed only if DuckDB finds the same in it.

_QUOTE = literal('"')
_SPACES = literal(r"^[\x00-\x20]+$")
_BUFFER = 1 << 20  # bytes of a Parquet file's column that are read at once
_FIX = "; correct the file, or give Parquet"


def read_text(session: SparkSession, file: TextFile, uri: str) -> tuple[DataFrame, int]:
    """The frame, its columns called c0, c1, ..., and the number of its lines."""
    text_file = _look(session, file, uri)
    _check(file, text_file)
    columns = [f"c{place}" for place in range(len(file.columns))]
    frame = (
        session.read.schema(", ".join(f"{column} STRING" for column in columns))
        .option("sep", file.delimiter)
        .option("header", True)
        .option("enforceSchema", True)
        .option("encoding", "UTF-8")
        .option("quote", '"')
        .option("escape", '"')
        .option("nullValue", "")
        .option("emptyValue", "")
        .option("mode", "FAILFAST")
        .option("columnPruning", False)  # a field too many is seen only if all are looked at
        .option("unescapedQuoteHandling", "RAISE_ERROR")
        .option("ignoreLeadingWhiteSpace", False)
        .option("ignoreTrailingWhiteSpace", False)
        .option("maxColumns", len(columns) + 1)
        .option("maxCharsPerColumn", -1)
        .option("multiLine", bool(text_file["broken"]))  # then it cannot be read in pieces
        .csv(uri)
    )
    if text_file["doubtful"]:
        expected = read_by_duckdb(file)  # first: it names the line that is wrong
        figures = frame.selectExpr(*_figures(columns)).toArrow()
        if list(figures.to_pylist()[0].values()) != expected:
            raise InputError(
                f"{file.path.name} has quotation marks, spaces or line breaks that Spark reads "
                f"differently{_FIX}"
            )
    return frame, int(text_file["lines"]) - 1


def read_by_duckdb(file: TextFile) -> list[int]:
    """Figures of a file as the other engine reads it; a line it cannot read, it names."""
    from sfumato.engines.duckdb import DuckDB

    engine = DuckDB(Reading(delimiter=file.delimiter))
    source = engine.register(file.path)
    figures = ", ".join(_figures(list(map(source.column, file.columns))))
    return list(engine.fetch(f"SELECT {figures} FROM {source.name}").to_pylist()[0].values())


def _figures(columns: list[str]) -> list[str]:
    """SQL aggregates: any difference in how a file is split shows in one of them."""
    listed = ["CAST(COUNT(*) AS BIGINT) AS n"]
    for place, column in enumerate(columns):
        listed.append(f"CAST(COUNT({column}) AS BIGINT) AS n{place}")
        listed.append(f"CAST(COALESCE(SUM(LENGTH({column})), 0) AS BIGINT) AS l{place}")
    return listed


def _look(session: SparkSession, file: TextFile, uri: str) -> dict[str, Any]:
    """What the bare lines tell."""
    lines = session.read.option("lineSep", "\n").text(uri)
    returned = "substring(value, -1, 1) = char(13)"
    line = f"CASE WHEN {returned} THEN substring(value, 1, length(value) - 1) ELSE value END"
    sign = re.escape(file.delimiter)
    field = rf'(?:"[^"\r]*+(?:""[^"\r]*+)*+"|[^"\r{sign}]*+)'
    rest = f"{{{len(file.columns) - 1}}}+"
    plain = literal(rf"^(?:{field}(?:{sign}{field}){rest})?$")  # a blank line is nobody
    quotes = f"length(line) - length(replace(line, {_QUOTE}, ''))"
    return dict(
        lines.selectExpr("value", f"{line} AS line")
        .selectExpr(
            "COUNT(*) AS lines",
            "COUNT_IF(NOT is_valid_utf8(value)) AS coded",
            "COUNT_IF(instr(line, char(0)) > 0) AS binary",
            "COUNT_IF(line = '') AS blank",
            f"COUNT_IF(line RLIKE {_SPACES}) AS spaces",
            f"COUNT_IF(NOT line RLIKE {plain}) AS doubtful",
            f"COUNT_IF(({quotes}) % 2 = 1) AS broken",
        )
        .toArrow()
        .to_pylist()[0]
    )


def _check(file: TextFile, figures: dict[str, Any]) -> None:
    name = file.path.name
    if figures["coded"]:
        raise InputError(f"{name} is not UTF-8 text; convert it to UTF-8 first")
    if figures["binary"]:
        raise InputError(f"{name} is not a text file; give CSV, Parquet or Arrow")
    empty = figures["spaces"] + (figures["blank"] if len(file.columns) == 1 else 0)
    if empty:
        raise InputError(
            f"{name} has {empty} line(s) without a character, which Spark would leave out{_FIX}"
        )


@dataclass(frozen=True)
class Opened:
    """A frame with columns c0, c1, ..., their names, and what is known before it is counted."""

    frame: DataFrame
    names: tuple[str, ...]
    label: str = "the table"
    rows: int | None = None
    file: TextFile | None = None
    others: tuple[str, ...] = ()
    form: FileForm = field(default_factory=FileForm)
    notes: tuple[str, ...] = ()
    untyped: bool = False
    parquet: Path | None = None  # a file of it that is seen here, with all of its columns

    def first_rows(self, types: Mapping[str, pa.DataType], most: int) -> pa.Table | None:
        """Cells of its first rows as Spark has them, where no job of Spark's is needed for that."""
        if self.parquet is None or not all(map(is_plain, types.values())):
            return None
        batches: list[pa.RecordBatch] = []
        try:
            # A row group may be larger than memory: no more of it is read than is looked at.
            with pq.ParquetFile(self.parquet, buffer_size=_BUFFER, pre_buffer=False) as file:
                for batch in file.iter_batches(most, columns=list(types)):
                    batches.append(batch)
                    if sum(map(len, batches)) >= most:
                        break
            rows = pa.Table.from_batches(batches).slice(0, most) if batches else None
            if rows is None or sorted(rows.schema.names) != sorted(types):
                return None
            return rows.select(list(types)).cast(pa.schema(types.items()))
        except (pa.ArrowException, OSError):
            return None  # Spark says what there is to say


def open_source(
    session: SparkSession,
    source: Any,
    needed: tuple[str, ...] | None,
    reading: Reading,
) -> Opened:
    """Open a file, a folder whose Parquet files are one table, or a frame."""
    if isinstance(source, str | Path):
        path = Path(source)
        if not (reading.partitioned and path.is_dir()):
            return _open_file(session, path, needed, reading)
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
    session: SparkSession, path: Path, needed: tuple[str, ...] | None, reading: Reading
) -> Opened:
    kind, label = kind_of(path), shown_name(path)
    if kind not in ("text", "parquet"):
        whole = read_whole(path, kind, reading)
        opened = _brought(session, whole.table, needed, label)
        return replace(opened, form=whole.form, notes=whole.notes, untyped=whole.untyped)
    if label != path.name or path.name.startswith(("_", ".")):
        raise InputError(f"{label}: Spark passes over files of such names; rename it")
    if kind == "parquet":
        return _parquet(session, Parts(label, (path,)), needed)
    if packing_of(path) == "zst":
        raise InputError(f"{label}: Spark unpacks .gz, not .zst; pack it so, or use DuckDB")
    file = inspect_text(path, reading.delimiter)
    if not file.encoding.is_utf8:
        raise InputError(
            f"{label} is not UTF-8 text but {file.encoding.name}, which Spark does not read here; "
            "convert it to UTF-8, or choose the engine duckdb"
        )
    frame, rows = read_text(session, file, address(path))
    opened = _chosen(frame, file.columns, None, label)
    return replace(opened, rows=rows, file=file, form=file.form, untyped=True)


def _parquet(session: SparkSession, parts: Parts, needed: tuple[str, ...] | None) -> Opened:
    """Files each for itself: no column comes from a folder's name unless `parts` says so."""
    from pyspark.sql import functions

    reader = session
    rows: int | None = None
    with contextlib.suppress(pa.ArrowException):  # of a damaged file Spark says more
        check_old_times(parts.label, parts.files)  # Spark cuts them to microseconds
        fields = _fields_of_all(parts)
        rows = sum(pq.read_metadata(file).num_rows for file in parts.files)
        if _collide(fields):
            if is_connect(session):  # rows cannot be moved from a session beside it
                raise names_held_for_one(parts.label)
            reader = _of_exact_names(session)
    partition_columns = [] if parts.folder is None else partition_values(parts.folder, parts.files)
    values = list(dict.fromkeys(tuple(values.items()) for values in partition_columns)) or [()]
    frames = []
    for partition in values:
        files = [
            file
            for file, file_partition in zip(
                parts.files, partition_columns or [{}] * len(parts.files), strict=True
            )
            if dict(partition) == file_partition
        ]
        frame = reader.read.option("recursiveFileLookup", True).parquet(*map(address, files))
        # As text: 01301 is not the number that Spark would make of it.
        more = [functions.lit(value).cast("string") for _, value in partition]
        places = [f"c{place}" for place in range(len(frame.columns))]
        frames.append((frame.columns, frame.toDF(*places).select(*places, *more)))
    columns = [*frames[0][0], *(name for name, _ in values[0])]
    if any(names != frames[0][0] for names, _ in frames):
        raise _different_columns(parts)
    whole = functools.reduce(lambda left, right: left.union(right), [frame for _, frame in frames])
    opened = _chosen(whole, columns, needed, parts.label)
    opened = replace(opened, form=parquet_form(parts.files[0]), rows=rows)
    if reader is session:
        return opened if parts.folder is not None else replace(opened, parquet=parts.files[0])
    return replace(opened, frame=_moved(opened.frame, session))


def _fields_of_all(parts: Parts) -> list[pa.Field]:
    """The columns of files that are one table: what one of them lacks, Spark takes for missing."""
    schemas = [pq.read_schema(file) for file in parts.files]
    kinds = [[(field.name, field.type) for field in schema] for schema in schemas]
    if any(kind != kinds[0] for kind in kinds):
        raise _different_columns(parts)
    return list(schemas[0])


def _different_columns(parts: Parts) -> InputError:
    return InputError(
        f"{parts.label}: its files do not all have the same columns, of the same types and in the "
        "same order"
    )


def _collide(fields: Sequence[pa.Field]) -> bool:
    """Whether Spark, unless told otherwise, takes one of some columns for another."""
    if len({field.name.upper().casefold() for field in fields}) < len(fields):
        return True
    kinds = [field.type for field in fields]
    return any(_collide([kind.field(at) for at in range(kind.num_fields)]) for kind in kinds)


def _of_exact_names(session: SparkSession) -> SparkSession:
    """A session beside a user's, set as it is, to which `age` and `AGE` are two columns."""
    beside = session.newSession()
    for name, value in session.conf.getAll.items():
        with contextlib.suppress(Exception):  # what may not be set is the same for all sessions
            beside.conf.set(name, value)
    beside.conf.set("spark.sql.caseSensitive", "true")
    return beside


def _moved(frame: DataFrame, session: SparkSession) -> DataFrame:
    """A frame of another session as one of this.

    Only its rows come over: read again here, its files would be read by this session's rules.
    """
    from pyspark.sql import DataFrame

    rows, schema = frame._jdf.queryExecution().toRdd(), frame._jdf.schema()
    return DataFrame(session._jsparkSession.internalCreateDataFrame(rows, schema, False), session)


def _brought(
    session: SparkSession,
    table: pa.Table,
    needed: tuple[str, ...] | None,
    label: str = "the table",
) -> Opened:
    check_names(table.schema.names, label)
    other_columns = left_out(table.schema.names, needed)
    if needed is not None:
        table = table.select([name for name in needed if name in table.schema.names])
    names = tuple(table.schema.names)
    frame = to_spark(session, table, [f"c{place}" for place in range(len(names))])
    return Opened(frame, names, label, table.num_rows, others=other_columns)


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
    other_columns = left_out(names, needed)
    return Opened(by_place.select(*columns), tuple(kept), label, others=other_columns)


def address(path: Path) -> str:
    """A path as Spark must be told it: of this machine, each sign meant as itself."""
    text = str(path.absolute())
    for sign in "\\*?[]{}":
        text = text.replace(sign, f"\\{sign}")
    return f"file://{text}"
