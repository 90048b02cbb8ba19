"""What every engine promises, verb by verb: DuckDB and Spark alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from sfumato.engines.base import Engine, literal, named, quote, select
from sfumato.errors import InputError, SfumatoError

ODD = ["plain", "with space", "dot.ted", 'qu"ote', "back`tick", "select", "Ünïcode", "it's", "1st"]
PEOPLE = pa.table({"age": [30, None, 40, 30], "name": ["a", "b", None, 'it\'s "x" \\']})


def rows(engine: Engine, sql: str) -> list[tuple[Any, ...]]:
    """A query's rows in an order of their own."""
    found = engine.fetch(sql).to_pydict().values()
    return sorted(zip(*found, strict=True), key=repr)


def test_register_tells_types_and_rows(engine: Engine) -> None:
    source = engine.register(PEOPLE)
    assert (source.types, source.rows) == ({"age": pa.int64(), "name": pa.string()}, 4)
    assert not source.untyped
    expected = sorted(zip(*PEOPLE.to_pydict().values(), strict=True), key=repr)
    assert rows(engine, f"SELECT * FROM {source.name}") == expected


def test_register_takes_what_is_needed(engine: Engine) -> None:
    assert list(engine.register(PEOPLE, ("name", "nobody")).types) == ["name"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "parquet", "feather", "csv"])
def test_register_reads(engine: Engine, kind: str, tmp_path: Path) -> None:
    file = tmp_path / f"people.{kind}"
    frame = PEOPLE.to_pandas()
    if kind == "pandas":
        source = engine.register(frame)
    elif kind == "polars":
        source = engine.register(pl.from_arrow(PEOPLE))
    elif kind == "csv":
        frame["age"] = frame["age"].map(lambda age: "" if math.isnan(age) else f"{age:.0f}")
        frame.to_csv(file, index=False)
        source = engine.register(file)
    else:
        write = pq.write_table if kind == "parquet" else feather.write_feather
        write(PEOPLE, file)
        source = engine.register(str(file))
    assert source.untyped == (kind == "csv")
    listed = [source.column("age"), "CAST(COUNT(*) AS BIGINT) AS n"]
    counted = rows(engine, select(listed, source.name, group=[source.column("age")]))
    ages: list[Any] = ["30", "40"] if kind == "csv" else [30, 40]
    assert counted == [(ages[0], 2), (ages[1], 1), (None, 1)]
    names = [name for (name,) in rows(engine, f"SELECT {source.column('name')} FROM {source.name}")]
    assert sorted(names, key=repr) == sorted(PEOPLE.column("name").to_pylist(), key=repr)


def test_names_and_texts_of_any_signs(engine: Engine) -> None:
    texts = ["'", "\\", "\\'", "''", '"', "`", "${x}", "%", "\n", "\\n", "é", "-- x", "/*", "x;y"]
    source = engine.register(pa.table(dict.fromkeys(ODD, texts)))
    first = source.column(ODD[0])
    tests = [f"SUM(CASE WHEN {first} = {literal(text)} THEN 1 ELSE 0 END)" for text in texts]
    tests = [named(f"CAST({test} AS BIGINT)", f"x{place}") for place, test in enumerate(tests)]
    assert rows(engine, select(tests, source.name)) == [(1,) * len(texts)]
    columns = [source.column(name) for name in ODD]
    listed = [named(column, f"{name}!") for name, column in zip(ODD, columns, strict=True)]
    found = engine.fetch(select(listed, source.name, group=columns))
    assert found.schema.names == [f"{name}!" for name in ODD]
    for name in found.schema.names:
        assert sorted(found.column(name).to_pylist()) == sorted(texts)


def test_two_engines_share_nothing(made: Callable[..., Engine]) -> None:
    one, other = made(), made()
    one.put("kept", pa.table({"a": [1]}))
    other.put("kept", pa.table({"a": [2]}))
    first, second = one.register(PEOPLE), other.register(PEOPLE.slice(0, 2))
    assert (rows(one, "SELECT a FROM kept"), rows(other, "SELECT a FROM kept")) == ([(1,)], [(2,)])
    assert rows(one, f"SELECT COUNT(*) AS n FROM {first.name}") == [(4,)]
    assert rows(other, f"SELECT COUNT(*) AS n FROM {second.name}") == [(2,)]


@pytest.mark.parametrize("large", [False, True])
def test_materialize_keeps_and_replaces(engine: Engine, large: bool) -> None:
    source = engine.register(PEOPLE)
    ages = f"SELECT {source.column('age')} AS a FROM {source.name}"
    engine.materialize("kept", ages, large=large)
    engine.materialize("kept", "SELECT a FROM kept WHERE a IS NOT NULL", large=large)
    engine.materialize("other", "SELECT a + 1 AS b FROM kept", large=large)
    engine.drop("kept")
    assert rows(engine, "SELECT other.b FROM other") == [(31,), (31,), (41,)]
    with pytest.raises(SfumatoError):
        engine.fetch("SELECT * FROM kept")
    engine.drop("kept")  # nothing to forget


def test_append_adds_rows(engine: Engine) -> None:
    for n in range(3):
        engine.append("more", pa.table({"a": [n, n], "b": ["x", None]}))
    assert rows(engine, "SELECT a, COUNT(*) AS n, COUNT(b) AS b FROM more GROUP BY a") == [
        (0, 2, 1),
        (1, 2, 1),
        (2, 2, 1),
    ]
    engine.drop("more")
    engine.append("more", pa.table({"a": [7]}))
    assert rows(engine, "SELECT * FROM more") == [(7,)]


def test_a_column_named_like_a_table(engine: Engine) -> None:
    engine.put("people", pa.table({"people": ["x", None], "n": [1, 2]}))
    column = quote("people")
    sql = f"SELECT {column} AS k, people.n FROM people WHERE 'x' IS DISTINCT FROM {column}"
    assert rows(engine, sql) == [(None, 2)]
    assert rows(engine, f"SELECT {quote('people')}.{column} FROM people") == [("x",), (None,)]


def test_missing_values_join_and_group(engine: Engine) -> None:
    left = pa.table({"v": [1.0, None, float("nan"), -0.0], "i": [0, 1, 2, 3]})
    engine.put("left_one", left)
    engine.put("right_one", pa.table({"v": [0.0, None, float("nan")], "j": [3, 1, 2]}))
    joined = "left_one JOIN right_one ON left_one.v IS NOT DISTINCT FROM right_one.v"
    assert rows(engine, f"SELECT i, j FROM {joined}") == [(1, 1), (2, 2), (3, 3)]
    engine.put("twice", pa.concat_tables([left, left]))
    counted = rows(engine, "SELECT COUNT(*) AS n FROM twice GROUP BY v")
    assert counted == [(2,), (2,), (2,), (2,)]


def test_arithmetic_is_the_same(engine: Engine) -> None:
    engine.put("one", pa.table({"a": pa.array([7], pa.int32()), "t": ["x"], "u": [" 3.5 "]}))
    sql = (
        "SELECT a / 2 AS half, CAST(a AS BIGINT) * 4000000000 AS big, a % 4 AS rest, "
        "TRY_CAST(t AS DOUBLE) AS no, TRY_CAST(TRIM(u) AS DOUBLE) AS yes, "
        "CAST(a AS STRING) AS text, LEAST(a, NULL, 3) AS least, "
        "COUNT(*) FILTER (WHERE a > 7) AS none, FLOOR(a / 2) AS whole FROM one GROUP BY a, t, u"
    )
    assert [tuple(map(float, row[:3])) for row in rows(engine, sql)] == [(3.5, 28e9, 3.0)]
    assert [row[3:] for row in rows(engine, sql)] == [(None, 3.5, "7", 3, 0, 3)]


def test_grouping_sets(engine: Engine) -> None:
    engine.put("g", pa.table({"a": [1, 1, None], "b": ["x", "y", "x"]}))
    sql = (
        "SELECT a, b, GROUPING(a) AS ga, GROUPING(b) AS gb, CAST(COUNT(*) AS BIGINT) AS n FROM g "
        "GROUP BY GROUPING SETS ((a), (b))"
    )
    assert rows(engine, sql) == sorted(
        [(1, None, 0, 1, 2), (None, None, 0, 1, 1), (None, "x", 1, 0, 2), (None, "y", 1, 0, 1)],
        key=repr,
    )


LISTS = [["b", "a", "b"], ["a", "b"], [None, "a"], ["a", None, None], [], None]


@pytest.mark.parametrize("repeated", [False, True])
def test_sets_of_lists(engine: Engine, repeated: bool) -> None:
    engine.put("l", pa.table({"x": pa.array(LISTS, pa.list_(pa.string()))}))
    found = engine.fetch(f"SELECT {engine.set_of_list('x', repeated=repeated)} AS y FROM l")
    expected = [
        None if one is None else sorted(one if repeated else set(one), key=repr) for one in LISTS
    ]
    made = [None if one is None else sorted(one, key=repr) for one in found.column("y").to_pylist()]
    assert sorted(made, key=repr) == sorted(expected, key=repr)
    key = engine.set_of_list("x", repeated=repeated)
    groups = rows(engine, f"SELECT COUNT(*) AS n FROM l GROUP BY {key}")
    assert len(groups) == (6 if repeated else 4)


@pytest.mark.parametrize("repeated", [False, True])
def test_sets_of_rows(engine: Engine, repeated: bool) -> None:
    engine.put("r", pa.table({"g": [1, 1, 1, 2], "x": ["b", None, "b", None]}))
    gathered = engine.set_of_rows("x", repeated=repeated)
    found = dict(rows(engine, f"SELECT g, {gathered} AS y FROM r GROUP BY g"))
    expected = {1: ["b", "b", None] if repeated else ["b", None], 2: [None]}
    assert {g: sorted(y, key=repr) for g, y in found.items()} == expected


def test_or_empty(engine: Engine) -> None:
    engine.put("l", pa.table({"x": pa.array([[1], None], pa.list_(pa.int32()))}))
    assert rows(engine, f"SELECT {engine.or_empty('x')} AS y FROM l") == [([1],), ([],)]


def test_repeated(engine: Engine) -> None:
    engine.put("r", pa.table({"a": ["x", "y", "z"], "n": [3, 0, 100_000]}))
    sql = f"SELECT a, CAST(COUNT(*) AS BIGINT) AS m FROM {engine.repeated('r', 'n')} GROUP BY a"
    assert rows(engine, sql) == [("x", 3), ("z", 100_000)]
    numbered = "CAST(MIN(sfumato_copy) AS BIGINT) AS a, CAST(MAX(sfumato_copy) AS BIGINT) AS b"
    numbered += ", CAST(COUNT(DISTINCT sfumato_copy) AS BIGINT) AS c"
    copies = f"SELECT {numbered} FROM {engine.repeated('r', 'n')} WHERE a = 'z'"
    assert rows(engine, copies) == [(0, 99_999, 100_000)]


def test_write(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "we{i}rd [x]"
    folder.mkdir()
    many = pa.table({"a": range(5000), "t": [None, "é"] * 2500})
    engine.put("many", many)
    engine.write("SELECT a, t FROM many ORDER BY a DESC", folder)
    files = sorted(folder.iterdir())
    assert all(file.suffix == ".parquet" and not file.name.startswith((".", "_")) for file in files)
    found = pa.concat_tables([pq.read_table(file) for file in files])
    assert found.schema.names == ["a", "t"]
    assert found.column("a").to_pylist() == list(range(4999, -1, -1))


def test_write_copies_in_order(engine: Engine, tmp_path: Path) -> None:
    numbers = list(range(3000))
    engine.put("few", pa.table({"a": numbers[::-1], "n": [place % 3 for place in numbers[::-1]]}))
    ordered = "(SELECT a AS x, n FROM few ORDER BY few.a) AS ordered"
    engine.write(f"SELECT x FROM {engine.repeated(ordered, 'n')}", tmp_path)
    found = pa.concat_tables([pq.read_table(file) for file in sorted(tmp_path.iterdir())])
    assert found.column("x").to_pylist() == [a for a in numbers for _ in range(a % 3)]


def test_write_nobody(engine: Engine, tmp_path: Path) -> None:
    engine.put("few", pa.table({"a": [1]}))
    engine.write("SELECT a FROM few WHERE a > 1", tmp_path)
    (file,) = tmp_path.iterdir()
    assert pq.read_table(file).to_pydict() == {"a": []}


def test_refusals_are_one_line_without_values(engine: Engine) -> None:
    engine.put("one", pa.table({"t": ["secret"]}))
    for sql in ("SELECT nothing FROM one", "SELEC", "SELECT CAST(t AS INTEGER) AS x FROM one"):
        with pytest.raises(SfumatoError, match="refused to read") as told:
            engine.fetch(sql)
        assert "secret" not in str(told.value)
        assert "\n" not in str(told.value)


def test_bad_sources(engine: Engine, tmp_path: Path) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_text("no Parquet at all")
    for source, why in (
        (object(), "cannot read a object"),
        (tmp_path / "gone.csv", "does not exist"),
        (broken, "broken.parquet cannot be read"),
        (pa.table([[1], [2]], names=["a", "a"]), "column 2 has the name of another"),
        (pd.DataFrame({"a": [1, "x"]}, dtype=object), "mixes types"),
    ):
        with pytest.raises(InputError, match=why):
            engine.register(source)


def test_memory_is_known(made: Callable[..., Engine]) -> None:
    assert 0 < made(memory="200MB").memory <= 200_000_000
    with pytest.raises(InputError, match="is not a size"):
        made(memory="much")
    with made(memory="200MB").yield_memory():
        pass
