"""Who counts does not matter: Spark finds the same people as DuckDB, tuple for tuple."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.counts import row_numbers
from sfumato.counts import scan as scanning
from sfumato.counts.stored import StoredCounts
from sfumato.datasets.census import census, census_schema
from sfumato.engines import base
from sfumato.engines.base import named, select
from sfumato.engines.reading import Reading
from sfumato.engines.spark.engine import Spark
from sfumato.engines.spark.look_up import MOST
from sfumato.errors import InputError
from tests.engines.random_tables import SCHEMAS, random_table, told
from tests.engines.spark.jobs import jobs_run
from tests.examples import few

# Rows of the frame, those looked at, a table of codes and numbers; by codes also an estimate,
# and two each for what is shuffled, kept and counted.
JOBS = {"by numbers of rows": 5, "by codes": 8}


def _count(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have rows counted by one of two ways."""
    if way == "by codes":
        monkeypatch.setattr(scanning, "MANY_ROWS", 0)
        monkeypatch.setattr(scanning, "MANY_TUPLES", -1)
    else:
        monkeypatch.setattr(row_numbers, "SORTED_ROWS", 0)
        monkeypatch.setattr(row_numbers, "_UNALIKE", 0.0)


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("seed", range(1, 1 + few(1)))  # of 0 some values look alike
def test_spark_finds_the_same_people(spark: Any, name: str, seed: int) -> None:
    table, schema = random_table(seed), sf.Schema(**SCHEMAS[name])
    assert told(sf.read(table, schema, engine="spark")) == told(sf.read(table, schema))


@pytest.mark.parametrize("name", ["every type", "lists", "person"])
def test_spark_finds_the_same_people_in_a_frame(
    spark: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From Parquet, by codes joined to the rows, and in a session that takes SQL otherwise."""
    monkeypatch.setattr(scanning, "MANY_ROWS", 0)
    monkeypatch.setattr(scanning, "MANY_TUPLES", -1)
    table = random_table(3)
    table = table.set_column(11, "empty", pa.nulls(len(table), pa.string()))  # Parquet wants a type
    pq.write_table(table, tmp_path / "people.parquet")
    schema = sf.Schema(**SCHEMAS[name])
    settings = {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.caseSensitive": "true",
        "spark.sql.parser.escapedStringLiterals": "true",
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.timestampType": "TIMESTAMP_LTZ",
    }
    before = {setting: spark.conf.get(setting) for setting in settings}
    for setting, value in settings.items():
        spark.conf.set(setting, value)
    try:
        frame = spark.read.parquet(str(tmp_path / "people.parquet"))
        found = told(sf.read(frame, schema))
    finally:
        for setting, value in before.items():
            spark.conf.set(setting, value)
    assert found == told(sf.read(tmp_path / "people.parquet", schema))


@pytest.mark.parametrize("looked_at", [1, 60])
def test_spark_finds_the_same_people_by_numbers_of_rows(
    spark: Any, looked_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the first rows lack values that later ones have, missing ones among them."""
    table = random_table(5)
    schema = sf.Schema(quasi=["text", "whole", "flag", "day", "price", "empty"], sensitive="set")
    expected = told(sf.read(table, schema))
    monkeypatch.setattr(row_numbers, "SORTED_ROWS", 0)
    monkeypatch.setattr(row_numbers, "_LOOKED_AT", looked_at)
    monkeypatch.setattr(row_numbers, "_UNALIKE", 0.0)
    monkeypatch.setattr(scanning, "_raw", None)
    assert told(sf.read(table, schema, engine="spark")) == expected


def test_spark_keeps_tuples_that_memory_does_not_hold(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They come as a number a row, and go back to Spark part by part."""
    table = random_table(5)
    schema = sf.Schema(quasi=["text", "whole", "flag", "day"], sensitive="set", protect="word")
    monkeypatch.setattr(row_numbers, "SORTED_ROWS", 0)
    monkeypatch.setattr(row_numbers, "_UNALIKE", 0.0)
    monkeypatch.setattr(base, "_BLOCK", 50)
    monkeypatch.setattr(scanning, "store", None)
    kept = sf.read(table, schema, engine="spark", memory="5KB").counts
    assert isinstance(kept, StoredCounts)
    assert isinstance(kept.engine, Spark)
    expected = sf.read(table, schema).counts
    found = kept.made_of(kept.engine.fetch(select([*kept.columns, "n"], kept.name))).compact()
    for name in ("codes", "values", "n"):
        assert (getattr(found, name) == getattr(expected, name)).all()
    assert found.quasi == expected.quasi
    assert (found.protect[1] == expected.protect[1]).all()


def test_spark_groups_tuples_that_memory_does_not_hold_where_numbers_do_not_fit_either(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, schema = random_table(5), sf.Schema(quasi=["text", "whole", "flag"], sensitive="set")
    people = sf.read(table, schema).people
    monkeypatch.setattr(row_numbers, "SORTED_ROWS", 0)
    monkeypatch.setattr(scanning, "count_sorted", None)
    kept = sf.read(table, schema, engine="spark", memory="1KB").counts
    assert isinstance(kept, StoredCounts)
    assert kept.people == people


def test_spark_finds_codes_by_hash_and_none_for_other_values(spark: Any) -> None:
    """Of columns with many values a table is joined, and rows without a code have no number."""
    engine = Spark(Reading(), session=spark)
    many = list(range(MOST + 1))
    rows = pa.table(
        {
            "text": ["a", "b", None, "c", "a", "a"],
            "day": pa.array([3, 4, 4, 4, 5, None], pa.date32()),
            "many": pa.array([0, MOST, 7, 7, 7, 7]),
        }
    )
    source = engine.register(rows)
    values = {"text": pa.array([None, "b", "a"]), "day": pa.array([3, 4], pa.date32())}
    values["many"] = pa.array(many)
    told = [engine.looks_up([cells.type], len(cells)) for cells in values.values()]
    assert told == [True, True, False]
    digits = [
        row_numbers.Digit(source.column(name), cells, np.arange(len(cells)), len(cells))
        for name, cells in values.items()
    ]
    brought: list[str] = []
    joins, number = row_numbers.join_numbers(engine, source.name, digits, brought)
    found = engine.fetch(select([named(number, "v")], joins)).column(0).to_pylist()
    size = len(many)
    whole = [(2 * 2 + 0) * size + 0, (1 * 2 + 1) * size + MOST, (0 * 2 + 1) * size + 7]
    assert sorted(found, key=str) == sorted([*whole, None, None, None], key=str)
    assert len(brought) == 1


def test_spark_does_not_take_a_missing_cell_for_its_neighbour(spark: Any) -> None:
    """A missing cell leaves a hash as it is: (missing, x) is listed, and (x, missing) is not."""
    engine = Spark(Reading(), session=spark)
    rows = pa.table({"a": ["u", None, "x", None, "u"], "b": ["x", "x", None, None, None]})
    source = engine.register(rows)
    digits = [
        row_numbers.Digit(source.column("a"), pa.array(["u", None]), np.arange(2), 2),
        row_numbers.Digit(source.column("b"), pa.array(["x"]), np.arange(1), 1),
    ]
    joins, number = row_numbers.join_numbers(engine, source.name, digits, [])
    assert joins.count("xxhash64") == 1
    found = engine.fetch(select([named(number, "v")], joins)).column(0).to_pylist()
    assert sorted(found, key=str) == [0, 1, None, None, None]


def test_spark_tells_missing_cells_side_by_side_apart(spark: Any) -> None:
    engine = Spark(Reading(), session=spark)
    cells = ["x", None, 1, None]
    rows = pa.table(
        {"a": ["x", None, "x", None], "b": ["x", "x", None, None], "c": pa.array([1, 1, None, 1])}
    )
    source = engine.register(rows)
    values = [pa.array(cells[:2]), pa.array(cells[:2]), pa.array(cells[2:], pa.int64())]
    sizes = row_numbers.digit_sizes(map(len, values))
    digits = [
        row_numbers.Digit(source.column(name), raw, np.arange(2), size)
        for name, raw, size in zip("abc", values, sizes, strict=True)
    ]
    joins, number = row_numbers.join_numbers(engine, source.name, digits, [])
    assert joins.count("xxhash64") == 1
    found = engine.fetch(select([named(number, "v")], joins)).column(0).to_pylist()
    assert found == [0b000, 0b100, 0b011, 0b110]


def test_spark_does_not_take_a_row_for_one_with_a_long_code(spark: Any) -> None:
    """Of codes with nearly all bits of a hash, every eighth value that is not listed had one."""
    engine = Spark(Reading(), session=spark)
    rows = pa.table({"a": [f"a{n}" for n in range(200)], "b": [f"b{n}" for n in range(200)]})
    source = engine.register(rows)
    size = 1 << 30
    digits = [
        row_numbers.Digit(source.column(name), pa.array([f"{name}0"]), np.array([size - 1]), size)
        for name in "ab"
    ]
    joins, number = row_numbers.join_numbers(engine, source.name, digits, [])
    found = engine.fetch(select([named(number, "v")], joins)).column(0)
    assert found.drop_null().to_pylist() == [size * size - 1]


def _wide() -> pa.Table:
    """More columns than an array has dimensions and a set of groupings has bits."""
    people = [*range(20), 0]
    return pa.table({"id": people, **{f"same{n}": ["x"] * len(people) for n in range(70)}})


@pytest.mark.parametrize("looked_at", [5, 60])
def test_many_columns_of_one_value_are_numbered(
    looked_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_numbers, "SORTED_ROWS", 0)
    monkeypatch.setattr(row_numbers, "_UNALIKE", 0.0)
    monkeypatch.setattr(row_numbers, "_LOOKED_AT", looked_at)
    monkeypatch.setattr(scanning, "_raw", None)
    table = _wide()
    counts = sf.read(table, sf.Schema(quasi=table.schema.names)).counts
    assert sorted(counts.n) == [1] * 19 + [2]


@pytest.mark.parametrize("way", ["by numbers of rows", "by codes"])
def test_spark_finds_the_same_people_in_many_columns(
    spark: Any, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = _wide()
    schema = sf.Schema(quasi=table.schema.names)
    expected = told(sf.read(table, schema))
    _count(way, monkeypatch)
    monkeypatch.setattr(row_numbers, "_LOOKED_AT", 5)
    monkeypatch.setattr(scanning, "_raw", None)
    assert told(sf.read(table, schema, engine="spark")) == expected


def _other_bytes() -> pa.Table:
    """What calls itself a text, and whose bytes are none."""
    parts = pa.array([b"x", b"\xff", b"y"]).buffers()
    return pa.table({"a": pa.Array.from_buffers(pa.string(), 3, parts), "b": list("xyx")})


@pytest.mark.parametrize("roles", [{"quasi": ["a"]}, {"quasi": ["b"], "sensitive": "a"}])
def test_texts_of_other_bytes_are_refused(roles: Any) -> None:
    with pytest.raises(InputError, match="'a' of the table holds text that is not UTF-8"):
        sf.read(_other_bytes(), sf.Schema(**roles))


def test_spark_refuses_texts_of_other_bytes(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "people.parquet"
    pq.write_table(_other_bytes(), file)
    with pytest.raises(InputError, match="holds text that is not UTF-8"):
        sf.read(file, sf.Schema(quasi=["a"]), engine="spark")


def test_spark_refuses_a_file_that_is_emptied_while_it_is_read(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_numbers, "SORTED_ROWS", 0)
    table, file = pa.table({"a": ["x", "y"], "b": [1, 2]}), tmp_path / "people.parquet"
    pq.write_table(table, file)
    engine = Spark(Reading(), session=spark)
    source = engine.register(file)
    pq.write_table(table.slice(2), file)
    with pytest.raises(InputError, match="holds 0 rows"):
        scanning.scan(engine, source, sf.Schema(quasi=["a", "b"]))


@given(st.lists(st.integers(1, 300), min_size=1, max_size=12), st.data())
def test_a_number_is_taken_apart_into_the_digits_it_was_made_of(
    lengths: list[int], data: st.DataObject
) -> None:
    assume(prod(lengths) < 1 << row_numbers.NUMBER_BITS)
    sizes = row_numbers.digit_sizes(lengths)
    assert all(size >= length for size, length in zip(sizes, lengths, strict=True))
    assert prod(sizes) < 1 << row_numbers.NUMBER_BITS
    expected = [data.draw(st.integers(0, length - 1)) for length in lengths]
    number = 0
    for digit, size in zip(expected, sizes, strict=True):
        number = number * size + digit
    each = [np.arange(length, dtype=np.int32) for length in lengths]
    found = row_numbers.taken_apart(np.array([number]), each, sizes)
    assert found[:, 0].tolist() == expected


def test_spark_runs_no_job_for_the_first_rows_of_a_parquet_file(spark: Any, tmp_path: Path) -> None:
    """They are those of the file; of types that Spark may take otherwise, Spark tells them."""
    table = random_table(5).select(["text", "whole", "flag", "day", "price"])
    table = table.append_column("a.b", table.column("text"))
    pq.write_table(table, tmp_path / "people.parquet", row_group_size=7)
    engine = Spark(Reading(), session=spark)
    source = engine.register(tmp_path / "people.parquet")
    for names, jobs in ((["whole", "text", "flag", "day"], 0), (["a.b"], 0), (["price"], 1)):
        before = jobs_run(spark)
        found = engine.first_rows(source, names, 20)
        assert found.schema.names == [f"k{at}" for at in range(len(names))]
        assert len(found) == 20
        assert found.schema.types == [source.types[name] for name in names]
        assert jobs_run(spark) - before == jobs
        for name, column in zip(names, found.columns, strict=True):
            assert set(column.to_pylist()) <= set(table.column(name).to_pylist())


def test_spark_finds_the_same_people_where_two_numbers_are_one(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0 and -0 are one value: rows that would be numbered twice are grouped instead."""
    table, schema = random_table(5), sf.Schema(quasi=["number", "single"], sensitive="set")
    expected = told(sf.read(table, schema))
    monkeypatch.setattr(row_numbers, "SORTED_ROWS", 0)
    monkeypatch.setattr(row_numbers, "_UNALIKE", 0.0)
    assert told(sf.read(table, schema, engine="spark")) == expected


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_a_row_numbered_twice_does_not_make_up_for_one_without_a_number(
    kind: pa.DataType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0 and -0 were two values among the first rows: so were their rows, 5 and 7 were left out."""
    monkeypatch.setattr(row_numbers, "SORTED_ROWS", 0)
    monkeypatch.setattr(row_numbers, "_UNALIKE", 0.0)
    monkeypatch.setattr(row_numbers, "_LOOKED_AT", 2)
    table = pa.table({"q": pa.array([0.0, -0.0, 5.0, 7.0], kind), "s": list("abab")})
    found = told(sf.read(table, sf.Schema(quasi=["q"], sensitive="s")))["tuples"]
    people = [((0.0, "a"), 1), ((0.0, "b"), 1), ((5.0, "a"), 1), ((7.0, "b"), 1)]
    assert found == {who: (n, 0.0) for who, n in people}


def _lose_a_value(monkeypatch: pytest.MonkeyPatch) -> pa.Table:
    """A table, and one of its values is there only once values were listed."""
    values_of = scanning.values_of
    monkeypatch.setattr(scanning, "MANY_ROWS", 0)
    monkeypatch.setattr(scanning, "MANY_TUPLES", -1)
    monkeypatch.setattr(
        scanning,
        "values_of",
        lambda *of: [raw.filter(pc.not_equal(raw, "z")) for raw in values_of(*of)],
    )
    return pa.table({"a": list("xyzxy"), "s": list("pqppr"), "who": list("ijklm")})


@pytest.mark.parametrize("rows", ["gathered", "linked", "unlinked"])
def test_a_table_that_changes_while_it_is_read_is_refused(
    rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose value had no code was left out, and nobody was told."""
    table = _lose_a_value(monkeypatch)
    person = None if rows == "gathered" else "who"
    schema = sf.Schema(quasi=["a"], sensitive="s", person=person, rows=rows)
    with pytest.raises(InputError, match="had 5 rows at first, and 4 were found"):
        sf.read(table, schema)


def test_spark_refuses_a_table_that_changes_while_it_is_read(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = _lose_a_value(monkeypatch)
    with pytest.raises(InputError, match="had 5 rows at first, and 4 were found"):
        sf.read(table, sf.Schema(quasi=["a"], sensitive="s"), engine="spark")


@pytest.mark.parametrize("way", ["by numbers of rows", "by codes"])
def test_spark_runs_no_more_jobs_for_more_columns(
    spark: Any, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All columns' values come in one job, and few of them need one table of codes."""
    frame = spark.createDataFrame(census(300, seed=2))
    _count(way, monkeypatch)
    run = []
    for columns in (["sex", "marital"], ["sex", "marital", "education", "work"]):
        before = jobs_run(spark)
        assert sf.read(frame, sf.Schema(quasi=columns)).people == 300
        run.append(jobs_run(spark) - before)
    assert run[0] == run[1]
    assert run[0] <= JOBS[way]


@pytest.mark.parametrize("name", ["count and weight", "person"])
def test_spark_finds_the_same_people_in_a_text_file(spark: Any, name: str, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    table = random_table(4)
    flat = [n for n in table.schema.names if not pa.types.is_list(table.schema.field(n).type)]
    texts = table.select([n for n in flat if n != "empty"])
    words = texts.column("text").to_pylist()  # a line break of the one kind that Spark keeps
    kept = [None if word in ("\n", None) else word for word in words]
    texts = texts.set_column(0, "text", pa.array([*kept[:-1], "two\nlines"]))
    pa_csv.write_csv(texts.set_column(1, "word", texts.column("word").cast(pa.string())), file)
    columns = [*SCHEMAS[name]["quasi"], *SCHEMAS[name]["sensitive"]]
    words = dict.fromkeys(columns, "categorical")
    schema = sf.Schema(**{**SCHEMAS[name], "domains": words | SCHEMAS[name].get("domains", {})})
    assert told(sf.read(file, schema, engine="spark")) == told(sf.read(file, schema))


@pytest.mark.parametrize("several", ["set", "multiset"])
@pytest.mark.parametrize("kind", [pa.string(), pa.int64()])
def test_spark_finds_the_same_people_with_facts(
    spark: Any, several: Any, kind: pa.DataType, tmp_path: Path
) -> None:
    people = pa.table({"who": pa.array(range(12)).cast(kind), "q": list("xxyyzzxxyyzz")})
    facts = pa.table(
        {
            "who": pa.array([n % 7 for n in range(30)], pa.int64()),
            "s": ["a", "b", None, "b", "a"] * 6,
            "t": [0.5, None, float("nan"), -0.0, 0.0] * 6,
        }
    )
    schema = sf.Schema(quasi=["q"], sensitive=["s", "t"], person="who", several=several)
    expected = told(sf.read(people, schema, facts=facts))
    assert told(sf.read(people, schema, facts=facts, engine="spark")) == expected
    file = tmp_path / "facts.csv"
    pa_csv.write_csv(facts.select(["who", "s"]), file)
    untyped = sf.Schema(quasi=["q"], sensitive=["s"], person="who", several=several)
    expected = told(sf.read(people, untyped, facts=file))
    assert told(sf.read(people, untyped, facts=file, engine="spark")) == expected


BAD = {
    "count": pa.array([1.5] * 3),
    "below": pa.array([-1] * 3),
    "word": pa.array(["many"] * 3),
    "missing": pa.array([None] * 3, pa.int64()),
    "suffix": pa.array(["1d", "2", "3"]),
    "hex": pa.array(["0x1p3", "2", "3"]),
    "grouped": pa.array(["1_000", "2", "3"]),
    "endless": pa.array(["inf", "2", "3"]),
}


@pytest.mark.parametrize("kind", BAD)
def test_spark_refuses_the_same(spark: Any, kind: str, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    pa_csv.write_csv(pa.table({"q": ["x", "y", "z"], "n": BAD[kind]}), file)
    schema = sf.Schema(quasi=["q"], count="n")
    with pytest.raises(InputError) as expected:
        sf.read(file, schema)
    with pytest.raises(InputError) as found:
        sf.read(file, schema, engine="spark")
    assert str(found.value) == str(expected.value)


def test_spark_makes_the_same_release(spark: Any) -> None:
    """What is made of equal counts is equal, group for group."""
    people = census(4000, seed=5)
    rules = sf.Policy(
        require=[sf.KAnonymity(10), sf.DistinctDiversity(3)], anonymizer=sf.Mondrian()
    )
    frame = spark.createDataFrame(people)
    mine, theirs = (
        sf.anonymize(sf.read(source, census_schema()), rules, seed=1) for source in (people, frame)
    )
    assert len(mine.groups) > 20
    assert sorted(map(str, theirs.to_arrow().to_pylist())) == sorted(
        map(str, mine.to_arrow().to_pylist())
    )
