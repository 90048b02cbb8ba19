"""Columns whose names are easily taken for one another, in every kind of source."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

FAMILIES = [
    ["age", "AGE", "Age", "age ", " age", "age_1", "AGE_1"],
    ["caf\u00e9", "cafe\u0301", "CAF\u00c9", "cafe"],
    ["\u00df", "ss", "SS", "\u1e9e", "\u017fs"],
    ["c0", "C0", "c1", "C1", "c10"],
    ['a"b', 'A"B', "a'b", "a`b", "a;b", "a,b", "a\tb"],
    ["__index_level_0__", "__INDEX_LEVEL_0__", "index", "rowid", "ROWID", "filename"],
    ["\u0130", "i\u0307", "I", "i", "\u0131"],
    ["n", "N", "person", "sfumato_value", "source_1", "1", "*", "a.b", "${HOME}"],
]


NAMES = [name for family in FAMILIES for name in family]


def by_csv(table: pa.Table, folder: Path) -> Path:
    file = folder / "people.csv"
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        writer.writerow(table.schema.names)
        writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return file


def by_parquet(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "people.parquet")
    return folder / "people.parquet"


def by_arrow(table: pa.Table, folder: Path) -> Path:
    feather.write_feather(table, folder / "people.arrow", compression="uncompressed")
    return folder / "people.arrow"


SOURCES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "Arrow": lambda table, _: table,
    "stream": lambda table, _: table.to_reader(max_chunksize=3),
    "pandas": lambda table, _: table.to_pandas(),
    "Polars": lambda table, _: pl.from_arrow(table),
    "csv": by_csv,
    "parquet": by_parquet,
    "arrow file": by_arrow,
}
