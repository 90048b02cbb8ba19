"""Several values a person, in every form they may come in: the same counts, by plain Python."""
# ruff: noqa: E501 (a table of cases reads best one a line)

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.counts import scan as scanning
from sfumato.release.release import as_it_stands
from tests.examples import few
from tests.oracles.several_oracle import (
    Person,
    expected_groups,
    expected_tuples,
    groups_by,
    people,
    tuples_of,
)

SEVERAL = ("set", "multiset")
QUICK = settings(max_examples=few(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
FLU: list[Person] = [
    ("x", ["flu", "ulcer", "flu"]),
    ("x", []),
    ("x", ["ulcer", "flu"]),
    ("y", ["cold"]),
    ("y", ["cold", "cold", "flu"]),
]


@pytest.fixture(params=["raw", "coded"])
def way(request, monkeypatch) -> str:
    """Both ways of counting."""
    if request.param == "coded":
        monkeypatch.setattr(scanning, "MANY_ROWS", 0)
        monkeypatch.setattr(scanning, "MANY_TUPLES", -1)
    return str(request.param)


def schema(several: str = "set", **more) -> sf.Schema:
    return sf.Schema(quasi=["q"], sensitive="s", several=several, **more)  # type: ignore[arg-type]


def in_lists(rows: list[Person], kind: pa.DataType | None = None) -> pa.Table:
    lists = pa.array([listed for _, listed in rows], kind or pa.list_(pa.string()))
    return pa.table({"q": [quasi for quasi, _ in rows], "s": lists})


def as_people_and_facts(rows: list[Person]) -> tuple[pa.Table, pa.Table]:
    first = pa.table({"id": list(range(len(rows))), "q": [quasi for quasi, _ in rows]})
    told = [(place, value) for place, (_, listed) in enumerate(rows) for value in listed or [None]]
    kept = [one for one in told if rows[one[0]][1] != []]
    second = pa.table(
        {
            "id": pa.array([place for place, _ in kept], pa.int64()),
            "s": pa.array([value for _, value in kept], pa.string()),
        }
    )
    return first, second


def joined(rows: list[Person], separator: str) -> list[str | None]:
    """Delimited texts; None for a missing list."""
    return [
        None if listed is None else separator.join("(missing)" if v is None else v for v in listed)
        for _, listed in rows
    ]


def check(table: sf.Table, rows: list[Person], several: str, *, single: bool = False) -> None:
    assert table.people == len(rows)
    assert tuples_of(table.counts) == expected_tuples(rows, several)
    release = as_it_stands(table)
    assert groups_by(release) == expected_groups(rows, several)
    assert release.groups.case == ("single" if single else several)


@QUICK
@given(rows=people(), several=st.sampled_from(SEVERAL))
def test_list_columns(way, rows, several) -> None:
    check(sf.read(in_lists(rows), schema(several)), rows, several)


@QUICK
@given(rows=people(), several=st.sampled_from(SEVERAL), typed=st.booleans())
def test_json_lists(way, tmp_path: Path, rows, several, typed: bool) -> None:
    texts = [None if listed is None else json.dumps(listed) for _, listed in rows]
    table = pa.table({"q": [quasi for quasi, _ in rows], "s": pa.array(texts, pa.string())})
    pa_csv.write_csv(table, tmp_path / "rows.csv")
    source = table if typed else tmp_path / "rows.csv"
    check(sf.read(source, schema(several, lists={"s": "json"})), rows, several)


@QUICK
@given(
    rows=people(),
    several=st.sampled_from(SEVERAL),
    separator=st.sampled_from([";", ",", " / "]),
    typed=st.booleans(),
)
def test_delimited_texts(way, tmp_path: Path, rows, several, separator, typed: bool) -> None:
    table = pa.table(
        {"q": [quasi for quasi, _ in rows], "s": pa.array(joined(rows, separator), pa.string())}
    )
    pa_csv.write_csv(table, tmp_path / "rows.csv")
    source = table if typed else tmp_path / "rows.csv"
    if not typed:  # a text file has no NULL apart from the empty text, which lists nothing
        rows = [(quasi, [] if listed is None else listed) for quasi, listed in rows]
    check(sf.read(source, schema(several, lists={"s": separator})), rows, several)


@QUICK
@given(rows=people(), several=st.sampled_from(SEVERAL))
def test_a_second_table(way, rows, several) -> None:
    first, second = as_people_and_facts(rows)
    check(sf.read(first, schema(several, person="id"), facts=second), rows, several)


@QUICK
@given(rows=people(), several=st.sampled_from(SEVERAL))
def test_several_rows_of_a_person(rows, several) -> None:
    rows = [(quasi, listed) for quasi, listed in rows if listed != []]  # a row has a value
    if not rows:
        return
    first, second = as_people_and_facts(rows)
    long = second.join(first, "id")
    single = all(len(held) == 1 for _, held in expected_tuples(rows, several))
    check(sf.read(long, schema(several, person="id")), rows, several, single=single)


@QUICK
@given(rows=people(), several=st.sampled_from(SEVERAL), form=st.sampled_from(["list", "text"]))
def test_rows_of_a_person_that_hold_lists_each(rows, several, form) -> None:
    """A person's lists are put together: a union, or every occurrence."""
    table = in_lists(rows)
    lists = {}
    if form == "text":
        texts = [None if listed is None else json.dumps(listed) for _, listed in rows]
        table = table.set_column(1, "s", pa.array(texts, pa.string()))
        lists = {"s": "json"}
    ids = [place // 2 for place in range(len(rows))]
    table = table.append_column("id", pa.array(ids))
    gathered: dict[tuple[int, str], list[str | None]] = {}
    for who, (quasi, listed) in zip(ids, rows, strict=True):
        gathered.setdefault((who, quasi), []).extend([None] if listed is None else listed)
    found = sf.read(table, schema(several, person="id", lists=lists))
    expected = [(quasi, listed) for (_, quasi), listed in gathered.items()]
    assert tuples_of(found.counts) == expected_tuples(expected, several)
    assert found.counts.people == len(set(ids))


@pytest.mark.parametrize("several", SEVERAL)
@pytest.mark.parametrize(
    "form",
    [
        "list",
        "large_list",
        "list_view",
        "large_list_view",
        "dictionary",
        "pandas",
        "polars",
        "duckdb",
        "parquet",
        "arrow",
    ],
)
def test_every_kind_of_list(tmp_path: Path, form: str, several: str) -> None:
    words = pa.string()
    kinds = {
        "large_list": pa.large_list(words),
        "list_view": pa.list_view(words),
        "large_list_view": pa.large_list_view(words),
    }
    rows = [*FLU, ("y", None), ("x", ["flu", None, None])]
    table: object = in_lists(rows, kinds.get(form))
    if form == "dictionary":
        table = in_lists(rows).cast(
            pa.schema([("q", words), ("s", pa.list_(pa.dictionary(pa.int32(), words)))])
        )
    elif form == "pandas":
        table = pd.DataFrame({"q": [q for q, _ in rows], "s": [listed for _, listed in rows]})
    elif form == "polars":
        table = pl.DataFrame({"q": [q for q, _ in rows], "s": [listed for _, listed in rows]})
    elif form == "duckdb":
        table = duckdb.from_arrow(table)
    elif form == "parquet":
        pq.write_table(table, tmp_path / "rows.parquet")
        table = tmp_path / "rows.parquet"
    elif form == "arrow":
        with pa.ipc.new_file(tmp_path / "rows.arrow", in_lists(rows).schema) as file:
            file.write_table(in_lists(rows))
        table = tmp_path / "rows.arrow"
    check(sf.read(table, schema(several)), rows, several)


@pytest.mark.parametrize("form", ["arrow", "parquet", "polars"])
def test_lists_of_a_fixed_size(tmp_path: Path, form: str) -> None:
    rows: list[Person] = [("x", ["b", "a"]), ("x", ["a", "b"]), ("y", ["a", "a"]), ("y", None)]
    table: object = in_lists(rows, pa.list_(pa.string(), 2))
    if form == "parquet":
        pq.write_table(table, tmp_path / "rows.parquet")
        table = tmp_path / "rows.parquet"
    elif form == "polars":
        table = pl.from_arrow(table)
    check(sf.read(table, schema()), rows, "set")


@pytest.mark.parametrize("first", ["csv", "parquet"])
@pytest.mark.parametrize("second", ["csv", "parquet"])
def test_two_files_of_different_kinds(tmp_path: Path, first: str, second: str) -> None:
    """Text has no types, Parquet has; keys meet all the same, and values are what they were."""
    tables = {
        "people": pa.table({"id": [1, 2, 3], "q": [30, 30, 40], "w": [1.5, 2.0, 1.0]}),
        "facts": pa.table({"id": [1, 1, 3], "s": [7, 10, 7]}),
    }
    for (name, table), kind in zip(tables.items(), (first, second), strict=True):
        write = pa_csv.write_csv if kind == "csv" else pq.write_table
        write(table, tmp_path / f"{name}.{kind}")
    found = sf.read(
        tmp_path / f"people.{first}",
        schema(person="id", weight="w"),
        facts=tmp_path / f"facts.{second}",
    )
    (attribute,) = found.counts.sensitive
    assert attribute.domain.values == (7, 10)
    assert found.counts.quasi[0].values == (30, 40)
    assert tuples_of(found.counts) == {("30", ("10", "7")): 1, ("30", ()): 1, ("40", ("7",)): 1}
    assert found.counts.weights is not None
    assert found.counts.weights.sum() == 4.5


def test_columns_named_like_our_own() -> None:
    """Whatever columns are called, queries know which is meant."""
    first = pa.table({"person": [1, 2], "s0": ["x", "x"], "v": [1.0, 2.0], "c": ["k", "k"]})
    second = pa.table({"person": [1, 1], "n": ["a", "b"]})
    named = sf.Schema(quasi=["s0", "c"], sensitive="n", person="person", weight="v")
    groups = as_it_stands(sf.read(first, named, facts=second)).groups
    assert (groups.sizes.tolist(), groups.counts_of(0)) == ([2], {"a": 1, "b": 1})
    long = pa.table({"c": [1, 1, 2], "p0": ["x"] * 3, "person": ["a", "b", "a"], "v": [1.0] * 3})
    named = sf.Schema(quasi=["p0"], sensitive="person", person="c", weight="v")
    assert as_it_stands(sf.read(long, named)).groups.counts_of(0) == {"a": 2, "b": 1}


def test_several_sensitive_columns_of_a_second_table() -> None:
    first = pa.table({"id": [1, 2, 3], "q": ["x"] * 3, "job": ["clerk", "nurse", "clerk"]})
    second = pa.table({"id": [1, 1, 2], "s": ["a", "b", "a"], "drug": ["p", "p", "r"]})
    named = sf.Schema(quasi=["q"], sensitive=["job", "s", "drug"], person="id")
    release = as_it_stands(sf.read(first, named, facts=second))
    assert [groups.case for groups in release.by_attribute.values()] == ["single", "set", "set"]
    assert release.groups_for("drug").counts_of(0) == {"p": 1, "r": 1}
    assert release.groups_for("job").counts_of(0) == {"clerk": 2, "nurse": 1}


def test_a_list_column_is_a_set_even_where_everybody_has_one_value() -> None:
    """The case follows from the schema: what is left of a table does not change it."""
    groups = as_it_stands(sf.read(in_lists([("x", ["a"]), ("x", ["b"])]), schema())).groups
    assert groups.case == "set"
    assert sf.audit(
        sf.read(in_lists([("x", ["a"]), ("x", ["b"])]), schema()), [sf.DistinctDiversity(2)]
    ).verdicts[0].status == ("not_applicable")


def test_two_values_beside_none_are_not_one_each() -> None:
    """The sums agree with the people; still nobody has exactly one value."""
    groups = as_it_stands(sf.read(in_lists([("x", ["a", "b"]), ("x", [])]), schema())).groups
    assert groups.occurrences.tolist() == groups.sizes.tolist()
    assert not groups.single_valued


def test_nobody_has_any_value() -> None:
    table = sf.read(in_lists([("x", []), ("x", [])]), schema())
    groups = as_it_stands(table).groups
    assert (groups.sizes.tolist(), groups.width) == ([2], 0)
    report = sf.audit(table, [sf.KAnonymity(2), sf.DistinctDiversity(2)])
    assert [verdict.status for verdict in report.verdicts] == ["holds", "not_applicable"]


def test_values_are_coarsened_before_they_are_put_together() -> None:
    rows = pa.table({"q": ["x", "x"], "s": [[11, 12, 25], [13]]})
    for several, twenties in (("set", 2), ("multiset", 3)):
        coarse = schema(several, hierarchies={"s": sf.intervals([10])}, levels={"s": 1})
        groups = as_it_stands(sf.read(rows, coarse)).groups
        assert groups.counts_of(0) == {"[10, 20)": twenties, "[20, 30)": 1}


def test_a_list_that_is_declared_as_text_besides_stays_a_list() -> None:
    """One schema reads the table as text and its release as Parquet."""
    declared = schema(lists={"s": ";"})
    groups = as_it_stands(sf.read(in_lists([("x", ["a;b", "c"])]), declared)).groups
    assert groups.counts_of(0) == {"a;b": 1, "c": 1}


def test_counts_stand_for_people_with_the_same_set() -> None:
    rows = pa.table({"q": ["x", "x"], "s": [["a", "b"], []], "n": [3, 2]})
    groups = as_it_stands(sf.read(rows, schema(count="n"))).groups
    assert (groups.sizes.tolist(), groups.counts_of(0)) == ([5], {"a": 3, "b": 3})


TWO = pa.table({"id": [1, 2], "q": ["x", "y"]})


@pytest.mark.parametrize(
    ("source", "options", "facts", "said"),
    [
        ({"q": [["x"]], "s": ["a"]}, {}, None, r"'q' \(quasi\) holds lists; only sensitive"),
        ({"q": ["x"], "s": [[["a"]]]}, {}, None, "'s' holds lists of list"),
        ({"q": ["x"], "s": ['["a"]']}, {}, None, "'s' holds JSON lists; declare lists"),
        ({"q": ["x"], "s": ["a;;b"]}, {"lists": {"s": ";"}}, None, "1 distinct cell.s. cannot be"),
        ({"q": ["x"], "s": ['["a"]']}, {"lists": {"s": ";"}}, None, "a JSON list: 1.*or declare the lists as 'json'"),
        ({"q": ["x"], "s": ["a"]}, {"lists": {"s": "json"}}, None, "write a JSON list such as"),
        ({"q": ["x"], "s": [5]}, {"lists": {"s": ";"}}, None, "has the type int64; it must hold"),
        ({"q": ["x"], "s": [["a", None]]}, {"nulls": "error"}, None, "'s' has missing values"),
        (TWO, {}, {"id": [1], "s": ["a"]}, "facts needs person"),
        (TWO, {"person": "id"}, {"who": [1], "s": ["a"]}, r"'id' \(person\) is not in the facts"),
        ({"q": ["x"]}, {"person": "id"}, {"id": [1], "s": ["a"]}, "'id' .person. is not in the table"),
        (TWO, {"person": "id"}, {"id": [1], "z": ["a"]}, "none of the sensitive columns: s"),
        (TWO, {"person": "id"}, {"id": [1, 7, 8, 8], "s": list("abcd")}, "2 of the people in the facts are not"),
        (TWO, {"person": "id"}, {"id": [1, None], "s": ["a", "b"]}, "missing in 1 row.s. of the facts"),
        ({"id": [1, None], "q": ["x", "y"]}, {"person": "id"}, {"id": [1], "s": ["a"]}, "missing in 1 row.s. of the table"),
        ({"id": [1, 1], "q": ["x", "y"]}, {"person": "id"}, {"id": [1], "s": ["a"]}, "2 rows for 1 people"),
        ({"id": [1], "q": ["x"], "s": ["a"]}, {"person": "id"}, {"id": [1], "s": ["a"]}, "'s' is in the table and in the facts"),
        (TWO, {"person": "id"}, {"id": [1], "s": [["a"]]}, "to hold one value a row"),
        (TWO, {"person": "id", "lists": {"s": ";"}}, {"id": [1], "s": ["a;b"]}, "to hold one value a row"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(source, options, facts, said: str) -> None:
    rows = source if isinstance(source, pa.Table) else pa.table(source)
    second = None if facts is None else pa.table(facts)
    with pytest.raises(sf.SfumatoError, match=said):
        sf.read(rows, schema(**options), facts=second)


@pytest.mark.parametrize(
    ("form", "told"), [("json", "JSON but no list: 1, not JSON: 1"), (";", "before a ';': 1")]
)
def test_lists_that_cannot_be_read_are_counted_and_not_quoted(form: str, told: str) -> None:
    cells = ["Flu;;Gout", '{"Flu": 1}', '["Flu", "Gout"]']
    with pytest.raises(sf.InputError) as caught:
        sf.read(pa.table({"q": ["x"] * 3, "s": cells}), schema(lists={"s": form}))
    assert told in str(caught.value)
    assert "Flu" not in str(caught.value)
    assert "Gout" not in str(caught.value)


@pytest.mark.parametrize("short", ["people", "facts"])
def test_a_short_line_is_blamed_on_the_file_that_has_it(short: str, tmp_path) -> None:
    texts = {"people": "id,q\n1,x\n2,y\n", "facts": "id,s\n1,a\n2,b\n"}
    texts[short] += "3\n"
    for name, text in texts.items():
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    with pytest.raises(sf.InputError, match=rf"^{short}\.csv, line 4 has 1 fields"):
        sf.read(tmp_path / "people.csv", schema(person="id"), facts=tmp_path / "facts.csv")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"lists": {"q": ";"}}, "lists: column 'q' is not sensitive"),
        ({"lists": {"t": ";"}}, "lists: column 't' is not sensitive.*allowed: s"),
        ({"lists": {"s": ""}}, "lists: column 's' has ''"),
        ({"several": "bag"}, "several: 'bag' is not allowed; use 'set' or 'multiset'"),
    ],
)
def test_what_a_schema_refuses(options, said: str) -> None:
    with pytest.raises(sf.SchemaError, match=said):
        schema(**options)


def test_declared_categories_may_look_like_lists() -> None:
    table = sf.read(
        pa.table({"q": ["x", "x"], "s": ['["a"]', "[]"]}), schema(domains={"s": "categorical"})
    )
    assert as_it_stands(table).groups.case == "single"
