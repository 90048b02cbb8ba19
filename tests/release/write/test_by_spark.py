"""A release of a table in Spark: the same rows as from DuckDB, written there if they must be."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.release.release import Release
from tests.engines.spark.jobs import jobs_run


@pytest.fixture
def in_parts(spark: Any) -> Iterator[None]:
    """Spark would put small parts together."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    yield
    spark.conf.unset("spark.sql.adaptive.enabled")


def rows() -> pa.Table:
    chance = np.random.default_rng(1)

    def some(values: list[Any], kind: pa.DataType | None = None) -> pa.Array:
        return pa.array([values[place] for place in chance.integers(0, len(values), 300)], kind)

    return pa.table(
        {
            "age": some([20, 21, 40, 41, None]),
            "day": some([dt.date(2020, 1, 1), dt.date(2021, 5, 5), None]),
            "nothing": pa.nulls(300, pa.string()),
            "many": some([["x", "y"], ["x"], [], None], pa.list_(pa.string())),
            "dose": some([1.5, 2.0, None]),
            "ward": some(["a", 'b "c", d', None]),
            "when": some([dt.datetime(2020, 1, 1, 3, 4, 5, 6), None]),
        }
    )


def made(engine: str, keep: tuple[str, ...]) -> Release:
    schema = sf.Schema(
        quasi=["age", "day", "nothing"],
        sensitive=["many", "dose"],
        keep=keep,
        hierarchies={"age": sf.intervals([10, 20])},
    )
    table = sf.read(rows(), schema, engine=engine)
    return sf.generalize(table, dict.fromkeys(schema.quasi, 0), [sf.KAnonymity(16)], 0.5)


def written(out: Path) -> list[str]:
    text = out / "public" / "data.csv"
    if text.exists():
        return sorted(text.read_text().splitlines())
    found = sorted((out / "public").rglob("*.parquet"))
    return sorted(repr(row) for path in found for row in pq.read_table(path).to_pylist())


@pytest.mark.parametrize("keep", [(), ("ward", "when")])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_spark_writes_the_rows_that_duckdb_writes(
    tmp_path: Path, in_parts, monkeypatch, form: str, keep
) -> None:
    here, there = (made(engine, keep) for engine in ("duckdb", "spark"))
    assert here.suppressed > 0
    here.save(tmp_path / "duckdb", format=form)
    monkeypatch.setattr("sfumato.release.write.publish._people", None)  # no rows in Python
    monkeypatch.setattr("sfumato.release.write.by_engine._ROW", 1 << 40)  # they would not fit
    there.save(tmp_path / "spark", format=form)
    assert written(tmp_path / "spark") == written(tmp_path / "duckdb")
    one, other = (
        json.loads((tmp_path / name / "public" / "manifest.json").read_text())
        for name in ("duckdb", "spark")
    )
    files = sorted(other["files"])
    whole = [f"data/part-0000{number}.parquet" for number in range(2)]
    assert files == (["data.csv"] if form == "csv" else whole)
    # What stands beside the data names their files.
    assert {**other, "files": 0, "beside": 0} == {**one, "files": 0, "beside": 0}
    books = [
        json.loads((tmp_path / name / "public" / "codebook.json").read_text())
        for name in ("duckdb", "spark")
    ]
    assert {**books[0], "files": 0} == {**books[1], "files": 0}
    again = sf.read_release(tmp_path / "spark")
    assert (again.people, len(again.groups)) == (here.people, len(here.groups))
    assert sf.audit(again, [sf.KAnonymity(16)]).holds


def test_nothing_is_left_of_a_writing_that_failed(tmp_path: Path, monkeypatch, spark) -> None:
    release = made("spark", ("ward",))
    monkeypatch.setattr(Release, "people", property(lambda self: 7))
    before = release.placement.table.engine._tables.copy()
    with pytest.raises(sf.SfumatoError, match="rows for 7 people"):
        release.save(tmp_path / "out", format="parquet")
    assert list(tmp_path.iterdir()) == []
    assert release.placement.table.engine._tables == before


def test_spark_has_nothing_to_do_for_a_release_that_is_in_memory(
    tmp_path: Path, spark: Any
) -> None:
    here, there = (made(engine, ()) for engine in ("duckdb", "spark"))
    before = jobs_run(spark)
    there.save(tmp_path / "spark", format="parquet")
    assert jobs_run(spark) == before
    here.save(tmp_path / "duckdb", format="parquet")
    assert written(tmp_path / "spark") == written(tmp_path / "duckdb")


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_columns_whose_names_differ_only_in_case(tmp_path: Path, spark: Any, form: str) -> None:
    data = pa.table({"age": [1, 1, 2, 2], "AGE": ["x", "x", "y", "y"], "Age": ["u", "v"] * 2,
                     "aGe": ["k", "l", "m", "n"], "note": ["n"] * 4})  # fmt: skip
    schema = sf.Schema(quasi=["age", "AGE"], sensitive="Age", keep=["aGe"])
    for engine in ("duckdb", "spark"):
        release = sf.generalize(sf.read(data, schema, engine=engine), [0, 0], [sf.KAnonymity(2)])
        release.save(tmp_path / engine, format=form)
        again = sf.read_release(tmp_path / engine)
        assert (again.people, len(again.groups)) == (4, 2)
    assert written(tmp_path / "spark") == written(tmp_path / "duckdb")
