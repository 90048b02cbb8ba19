"""A program of a user of Spark Connect: what Spark finds there, beside what DuckDB finds.

Run by test_connect.py in a process of its own, since a process has sessions of one kind only.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import sfumato as sf
from sfumato.counts import row_numbers
from sfumato.counts import scan as scanning
from sfumato.datasets.census import census, census_schema
from tests.engines.random_tables import SCHEMAS, random_table, told


def same(frame: Any, table: pa.Table, schema: sf.Schema, **options: Any) -> bool:
    return told(sf.read(frame, schema, **options)) == told(sf.read(table, schema))


def error_of(frame: Any, schema: sf.Schema) -> str:
    try:
        sf.read(frame, schema)
    except sf.SfumatoError as error:
        return str(error)
    return ""


def main(folder: Path) -> None:
    session = (
        SparkSession.builder.remote("local[2]")
        .config("spark.driver.memory", "1g")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    found: dict[str, object] = {}
    table = random_table(1)
    table = table.set_column(11, "empty", pa.nulls(len(table), pa.string()))
    pq.write_table(table, folder / "people.parquet")
    frame = session.read.parquet(str(folder / "people.parquet"))
    for name, options in SCHEMAS.items():
        found[name] = same(frame, table, sf.Schema(**options))
    schema = sf.Schema(quasi=["text", "whole", "flag", "day"], sensitive="set")
    scanning.MANY_ROWS, scanning.MANY_TUPLES = 0, -1
    found["by codes"] = same(frame, table, schema)
    row_numbers.SORTED_ROWS, row_numbers._UNALIKE = 0, 0.0
    found["by numbers of rows"] = same(frame, table, schema)
    scanning.MANY_ROWS, row_numbers.SORTED_ROWS = 4_000_000, 250_000
    path = folder / "people.parquet"
    found["a file in the running session"] = same(path, table, schema, engine="spark")
    people = census(500, seed=5)
    policy = sf.Policy([sf.KAnonymity(5)], sf.Mondrian())
    ours = sf.anonymize(sf.read(people, census_schema()), policy, seed=1)
    theirs = sf.anonymize(sf.read(session.createDataFrame(people), census_schema()), policy, seed=1)
    theirs.save(folder / "out", format="parquet")
    found["release"] = sorted(map(str, theirs.to_arrow().to_pylist())) == sorted(
        map(str, ours.to_arrow().to_pylist())
    )
    odd = pa.table({"age": [1, 2], "AGE": [3, 3]})
    pq.write_table(odd, folder / "odd.parquet")
    try:
        sf.read(folder / "odd.parquet", sf.Schema(quasi=["AGE"]), engine="spark")
    except sf.SfumatoError as error:
        found["names"] = str(error)
    broken = session.sql("SELECT CAST(v AS INT) AS v FROM VALUES ('a secret') AS t(v)")
    found["error"] = error_of(broken, sf.Schema(quasi=["v"]))
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
