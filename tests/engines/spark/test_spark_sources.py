"""What Spark reads, it reads whole and as it is written, or not at all."""

from __future__ import annotations

import datetime as dt
import decimal
import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines.duckdb import DuckDB
from sfumato.engines.reading import Reading
from sfumato.engines.spark import Spark
from sfumato.errors import InputError, SfumatoError
from tests.engines.named_columns import NAMES, SOURCES

SAME = {
    "quotes": 'p,q\n"a ""b"" c","x,y"\n"""",""\n5" pipe,\n',
    "spaces": 'p,q\n a ,"x" \nNULL, \n',
    "line breaks": 'p,q\r\n"two\nlines",b\r\nc,"d"\r\n',
    "backslashes": 'p,q\n\\,"\\"\n\\n,#c\n',
    "blank lines": "p,q\n\na,b\n\n",
    "no end": "p,q\na,b",
    "nobody": "p,q\n",
    "one column": 'p\na\n"b"\n',
}
REFUSED = {
    "a field too many": "p,q\na,b\na,b,c\n",
    "a field too few": "p,q\na,b\na\n",
    "never closed": 'p,q\na,"b\nc,d\ne,f\n',
    "never closed at the end": 'p,q\na,b\nc,"d',
    "closed twice": 'p,q\na,"b" c"\n',
    "spaces alone": "p,q\na,b\n  \n",
}
SPARK_ONLY = {
    "a space before a quote": 'p,q\na, "b"\n',
    "a blank line in one column": "p\na\n\nb\n",
    "returns in a field": 'p,q\r\n"a\r\nb",c\r\n',
    "nothing between tabs": "p\tq\na\tb\n\t\n",
}


def read(engine: Any, file: Path) -> list[str]:
    source = engine.register(file)
    assert source.untyped
    assert set(source.types.values()) == {pa.string()}
    found = engine.fetch(f"SELECT * FROM {source.name}").to_pydict()
    return sorted(map(repr, zip(*found.values(), strict=True)))


@pytest.mark.parametrize("name", SAME)
def test_text_files_are_read_as_duckdb_reads_them(spark: Any, name: str, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_bytes(SAME[name].encode())
    assert read(Spark(session=spark), file) == read(DuckDB(), file)


@pytest.mark.parametrize("name", REFUSED)
def test_bad_lines_are_told_as_duckdb_tells_them(spark: Any, name: str, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_bytes(REFUSED[name].encode())
    with pytest.raises(InputError, match=r"people\.csv"):
        read(DuckDB(), file)
    with pytest.raises(InputError, match=r"people\.csv.* line"):
        read(Spark(session=spark), file)


@pytest.mark.parametrize("name", SPARK_ONLY)
def test_what_spark_would_misread_is_refused(spark: Any, name: str, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_bytes(SPARK_ONLY[name].encode())
    with pytest.raises(InputError, match=r"people\.csv"):
        read(Spark(session=spark), file)


def test_bytes_that_are_no_text(spark: Any, tmp_path: Path) -> None:
    lines = [b"p,q"] + [b"a,b"] * 300  # beyond what is looked at before an engine opens the file
    for odd, why in ((b"M\xfcller,b", "not UTF-8"), (b"\0a,b", "not a text file")):
        file = tmp_path / "people.csv"
        file.write_bytes(b"\n".join([*lines, odd, b""]))
        with pytest.raises(InputError, match=why):
            read(Spark(session=spark), file)


def test_zipped_text(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "people.csv.gz"
    file.write_bytes(gzip.compress("\ufeffp;q\nä;1\n".encode()))
    assert read(Spark(session=spark), file) == [repr(("ä", "1"))]


def test_every_field_is_looked_at(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("q,s,x\na,b,c\na,b,c,d\n")
    with pytest.raises(InputError, match=r"people\.csv, line 3 has 4 fields, the header 3"):
        sf.read(file, sf.Schema(quasi=["q"], sensitive="s"), engine="spark")


def test_a_folder_of_parts(spark: Any, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    for year in (2019, 2020):
        (parts / f"year={year}").mkdir(parents=True)
        pq.write_table(pa.table({"a": [1, 2]}), parts / f"year={year}" / "x.parquet")
    engine = Spark(session=spark)
    with pytest.raises(InputError, match="is a folder"):
        engine.register(parts)
    engine = Spark(Reading(partitioned=True), session=spark)
    source = engine.register(parts)
    assert (source.rows, source.types) == (4, {"a": pa.int64(), "year": pa.string()})
    (parts / "more").mkdir()
    with pytest.raises(InputError, match="the folder 'more'"):
        engine.register(parts)
    (parts / "more").rmdir()
    (parts / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="holds a release"):
        engine.register(parts)


def test_frames_that_cannot_be_read(spark: Any, tmp_path: Path) -> None:
    engine = Spark(session=spark)
    both = pa.table({"Age": [1], "age": [2], "${HOME}": [3]})
    source = engine.register(both)
    listed = [source.column(name) for name in both.schema.names]
    found = engine.fetch(f"SELECT {', '.join(listed)} FROM {source.name}")
    assert [column.to_pylist() for column in found.columns] == [[1], [2], [3]]
    hidden = tmp_path / "_people.csv"
    hidden.write_text("a,b\n1,2\n")
    fine = pa.table({"t": pa.array([1], pa.timestamp("ns"))})
    stream = spark.readStream.format("rate").load()
    for source, why in (
        (hidden, "passes over files of such names"),
        (fine, "cannot keep apart"),
        (pa.table({"d": pa.array([1], pa.decimal256(50, 0))}), "38 digits"),
        (stream, "has no end"),
        (tmp_path, "is a folder"),
    ):
        with pytest.raises(InputError, match=why):
            engine.register(source)


def test_columns_that_spark_holds_for_one(spark: Any, tmp_path: Path) -> None:
    """A frame may have both; only the needed one is looked at."""
    pq.write_table(pa.table({"a": [dt.date(2020, 1, 1)], "A": ["x"]}), tmp_path / "x.parquet")
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        frame = spark.read.parquet(str(tmp_path / "x.parquet"))
        assert Spark(session=spark).register(frame, ("A",)).types == {"A": pa.string()}
    finally:
        spark.conf.set("spark.sql.caseSensitive", "false")


def test_a_collation_makes_nobody_alike(spark: Any) -> None:
    frame = spark.sql("SELECT v COLLATE UTF8_LCASE AS v FROM VALUES ('a'), ('A') AS t(v)")
    assert frame.groupBy("v").count().count() == 1
    table = sf.read(frame, sf.Schema(quasi=["v"]))
    assert len(table.counts) == 2


def test_what_is_gone_is_told(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "people.parquet"
    pq.write_table(pa.table({"a": [1]}), file)
    engine = Spark(session=spark)
    source = engine.register(file)
    file.unlink()
    with pytest.raises(SfumatoError, match=r"people\.parquet") as told:
        engine.fetch(f"SELECT c0 FROM {source.name}")
    assert "\n" not in str(told.value)


def odd_names() -> pa.Table:
    """Columns that one engine or another would hold for one, each with values of its own."""
    return pa.table({name: [f"{place}/{row}" for row in range(4)]
                     for place, name in enumerate(NAMES)})  # fmt: skip


@pytest.mark.parametrize("kind", SOURCES)
def test_columns_of_names_that_look_alike(spark: Any, tmp_path: Path, kind: str) -> None:
    table = odd_names()
    source = SOURCES[kind](table, tmp_path)
    if kind == "parquet":  # both of a name in one file, and a name of a folder beside them
        file = Path(source)
        folder = tmp_path / "parts" / "AgE=2020"
        folder.mkdir(parents=True)
        file.rename(folder / "x.parquet")
        table = table.append_column("AgE", pa.array(["2020"] * 4))
        source = tmp_path / "parts"
    engine = Spark(Reading(partitioned=kind == "parquet"), session=spark)
    registered = engine.register(source)
    assert list(registered.types) == table.schema.names
    found = engine.fetch(f"SELECT * FROM {registered.name} ORDER BY c0")
    for place, name in enumerate(table.schema.names):
        assert found.column(place).to_pylist() == table[name].to_pylist(), name
    assert spark.conf.get("spark.sql.caseSensitive") == "false"  # a user's session stays as it is


def test_parquet_columns_whose_names_differ_only_in_case(spark: Any, tmp_path: Path) -> None:
    """What Spark holds for one name is judged, published and read again as it was named."""
    file = tmp_path / "people.parquet"
    days = [dt.date(1582, 10, day) for day in (4, 15, 16, 17)]
    lists = [["x"], ["x", None], [], None]
    pq.write_table(
        pa.table({"age": [30] * 4, "AGE": [1, 2, 3, 4], "Age": days, "aGE": lists}), file
    )
    for quasi, tuples in (("age", 1), ("AGE", 4), ("Age", 4)):
        table = sf.read(file, sf.Schema(quasi=[quasi], sensitive="aGE"), engine="spark")
        assert len({*zip(*(codes.tolist() for codes in table.counts.codes), strict=True)}) == tuples
        assert len(set(table.counts.values[0].tolist())) == 4
    release = sf.generalize(
        sf.read(file, sf.Schema(quasi=["age"], sensitive="AGE"), engine="spark"), [0]
    )
    release.save(tmp_path / "out", format="parquet")
    again = sf.read_release(tmp_path / "out", engine="spark")
    assert (again.people, len(again.groups)) == (4, 1)
    assert again.groups.dense().tolist() == [[1, 1, 1, 1]]


def test_frames_of_files_that_spark_cannot_read(spark: Any, tmp_path: Path) -> None:
    """A frame made where names were exact, counted where they are not."""
    pq.write_table(pa.table({"a": [1, 2], "A": ["x", "y"]}), tmp_path / "x.parquet")
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        frame = spark.read.parquet(str(tmp_path / "x.parquet"))
    finally:
        spark.conf.set("spark.sql.caseSensitive", "false")
    with pytest.raises(InputError, match="differ only in case"):
        sf.read(frame, sf.Schema(quasi=["A"]))


@pytest.mark.parametrize("other", [{"a": [3]}, {"a": [3], "B": [4]}, {"a": [3], "b": ["4"]}])
def test_parts_of_other_columns(spark: Any, tmp_path: Path, other: dict[str, Any]) -> None:
    """What one file lacks, Spark would take for missing."""
    pq.write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "x.parquet")
    pq.write_table(pa.table(other), tmp_path / "y.parquet")
    for engine in ("duckdb", "spark"):
        with pytest.raises(InputError, match="do not all have the same columns"):
            sf.read(tmp_path, sf.Schema(quasi=["a"]), engine=engine, partitioned=True)


@pytest.mark.parametrize("digits", [38, 39, 76])
def test_long_decimals_are_told_apart_or_refused(spark: Any, tmp_path: Path, digits: int) -> None:
    file = tmp_path / "people.parquet"
    kind = pa.decimal128(38, 0) if digits <= 38 else pa.decimal256(digits, 0)
    values = [decimal.Decimal("4" * (digits - 1) + str(last)) for last in range(5)]
    pq.write_table(pa.table({"number": pa.array(values, kind)}), file)
    schema = sf.Schema(quasi=["number"])
    if digits <= 38:
        assert len(sf.read(file, schema, engine="spark").counts) == 5
        return
    for engine in ("duckdb", "spark"):
        with pytest.raises(sf.SfumatoError) as refused:
            sf.read(file, schema, engine=engine)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", ["nanoseconds", "half floats", "nanoseconds of a day"])
def test_types_that_spark_does_not_read(spark: Any, tmp_path: Path, kind: str) -> None:
    column = {
        "nanoseconds": pa.array([0, 1], pa.timestamp("ns")),
        "half floats": pa.array([0.1, 0.2], pa.float16()),
        "nanoseconds of a day": pa.array([0, 1], pa.time64("ns")),
    }[kind]
    pq.write_table(pa.table({"q": column}), tmp_path / "people.parquet")
    with pytest.raises(InputError, match=r"people\.parquet has a column of a type") as refused:
        sf.read(tmp_path / "people.parquet", sf.Schema(quasi=["q"]), engine="spark")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("step", [1, 999, 1000])
def test_old_times_are_told_apart_or_refused(spark: Any, tmp_path: Path, step: int) -> None:
    """Nanoseconds in twelve bytes, which Spark would cut to microseconds."""
    file = tmp_path / "people.parquet"
    times = pa.array([10**18 + place * step for place in range(5)], pa.timestamp("ns"))
    pq.write_table(pa.table({"when": times}), file, use_deprecated_int96_timestamps=True)
    schema = sf.Schema(quasi=["when"])
    for engine in ("duckdb", "spark"):
        if step == 1000:
            assert len(sf.read(file, schema, engine=engine).counts) == 5
            continue
        with pytest.raises(sf.InputError, match="finer than a microsecond"):
            sf.read(file, schema, engine=engine)
