"""A delimited text file read by Spark as DuckDB reads it: every field text, strictly.

Spark's reader is lenient where it matters to us: it leaves out lines of spaces, takes what follows
a NUL for a comment, puts a sign in the place of bytes that are not UTF-8, and takes all that
follows a quotation mark which is never closed for one field. A first pass over the bare lines
finds these. Lines that are as RFC 4180 has them, with as many fields as the header, leave no doubt;
a file with others (quotation marks inside fields, line breaks, spaces around them) is believed only
if DuckDB finds the same in it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sfumato.engines.spark.dialect import literal
from sfumato.engines.textfile import TextFile
from sfumato.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_QUOTE = literal('"')
_SPACES = literal(r"^[\x00-\x20]+$")
_FIX = "; correct the file, or give Parquet"


def read_text(session: SparkSession, file: TextFile, uri: str) -> tuple[DataFrame, int]:
    """The frame, its columns called c0, c1, ..., and the number of its lines."""
    found = _look(session, file, uri)
    _check(file, found)
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
        .option("multiLine", bool(found["broken"]))  # then it cannot be read in pieces
        .csv(uri)
    )
    if found["doubtful"]:
        expected = read_by_duckdb(file)  # first: it names the line that is wrong
        ours = frame.selectExpr(*_figures(columns)).toArrow()
        if list(ours.to_pylist()[0].values()) != expected:
            raise InputError(
                f"{file.path.name} has quotation marks, spaces or line breaks that Spark reads "
                f"differently{_FIX}"
            )
    return frame, int(found["lines"]) - 1


def read_by_duckdb(file: TextFile) -> list[int]:
    """Figures of a file as the other engine reads it; a line it cannot read, it names."""
    from sfumato.engines.duckdb import DuckDB

    engine = DuckDB(delimiter=file.delimiter)
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


def _check(file: TextFile, found: dict[str, Any]) -> None:
    name = file.path.name
    if found["coded"]:
        raise InputError(f"{name} is not UTF-8 text; convert it to UTF-8 first")
    if found["binary"]:
        raise InputError(f"{name} is not a text file; give CSV, Parquet or Arrow")
    empty = found["spaces"] + (found["blank"] if len(file.columns) == 1 else 0)
    if empty:
        raise InputError(
            f"{name} has {empty} line(s) without a character, which Spark would leave out{_FIX}"
        )
