"""sf.read: the same table from every kind of source, people counted as the schema says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.counts import row_numbers
from sfumato.counts import scan as scan_module
from sfumato.engines.reading import Reading
from sfumato.release.release import as_it_stands

ROWS = {
    "age": [28, 28, 31, 31, None, None],
    "zip": ["13053", "13053", "13068", "13068", None, None],
    "disease": ["flu", "aids", "flu", "flu", "flu", "cancer"],
    "note": ["x"] * 6,
}
SCHEMA = sf.Schema(quasi=["age", "zip"], sensitive="disease")


def groups_of(table: sf.Table) -> list[tuple[dict[str, str], dict[str, int]]]:
    release = as_it_stands(table)
    return sorted(
        (
            (release.regions.describe(g), release.groups.counts_of(g))
            for g in range(len(release.groups))
        ),
        key=str,
    )


def sources(folder) -> dict[str, object]:
    arrow = pa.table(ROWS)
    frame = pd.DataFrame(ROWS)
    paths = {kind: folder / f"rows.{kind}" for kind in ("csv", "parquet", "arrow")}
    frame.to_csv(paths["csv"], index=False, float_format="%.0f")
    pq.write_table(arrow, paths["parquet"])
    feather.write_feather(arrow, paths["arrow"], compression="uncompressed")
    connection = duckdb.connect()
    connection.register("arrow_rows", arrow)
    return {
        **paths,
        "table": arrow,
        "pandas": frame,
        "polars": pl.DataFrame(ROWS),
        "relation": connection.sql("SELECT * FROM arrow_rows"),
        "stream": pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches()),
    }


def test_every_source_gives_the_same_groups(tmp_path) -> None:
    read = {name: groups_of(sf.read(source, SCHEMA)) for name, source in sources(tmp_path).items()}
    expected = read.pop("table")
    assert expected == [
        ({"age": "(missing)", "zip": "(missing)"}, {"cancer": 1, "flu": 1}),
        ({"age": "28", "zip": "13053"}, {"aids": 1, "flu": 1}),
        ({"age": "31", "zip": "13068"}, {"flu": 2}),
    ]
    for name, groups in read.items():
        assert groups == expected, name


def test_a_row_with_null_quasi_identifiers_counts() -> None:
    rows = {"age": [30, 30, 30, None], "s": ["a", "b", "c", "a"]}
    report = sf.audit(
        sf.read(pa.table(rows), sf.Schema(quasi=["age"], sensitive="s")), [sf.KAnonymity(3)]
    )
    assert report.verdicts[0].measured == 1
    assert not report.holds


def test_nulls_can_be_forbidden() -> None:
    schema = sf.Schema(quasi=["age"], sensitive="disease", nulls="error")
    with pytest.raises(
        sf.InputError, match="'age' has missing values, which nulls='error' forbids"
    ):
        sf.read(pa.table(ROWS), schema)


def test_a_permuted_or_filtered_pandas_index_changes_nothing() -> None:
    frame = pd.DataFrame(ROWS)
    expected = groups_of(sf.read(frame, SCHEMA))
    shuffled = frame.sample(frac=1, random_state=3)
    filtered = pd.concat([frame, frame]).iloc[6:].set_index("note")
    assert groups_of(sf.read(shuffled, SCHEMA)) == expected
    assert groups_of(sf.read(filtered, SCHEMA)) == expected


def test_only_needed_columns_are_read() -> None:
    frame = pd.DataFrame({**ROWS, "odd": [1, "x", b"y", None, 2.5, {}]})  # cannot become Arrow
    assert sf.read(frame, SCHEMA).people == 6
    assert "note" not in sf.read(pa.table(ROWS), SCHEMA).source.types


def test_five_rows_of_one_person_are_one_person() -> None:
    rows = pa.table(
        {
            "who": [1, 1, 1, 1, 1, 2],
            "age": [30] * 6,
            "s": ["flu", "aids", "flu", "cold", "gout", "flu"],
        }
    )
    by_row = sf.read(rows, sf.Schema(quasi=["age"], sensitive="s"))
    by_person = sf.read(rows, sf.Schema(quasi=["age"], sensitive="s", person="who"))
    assert sf.audit(by_row, [sf.KAnonymity(5)]).verdicts[0].measured == 6
    assert sf.audit(by_person, [sf.KAnonymity(5)]).verdicts[0].measured == 2
    groups = as_it_stands(by_person).groups
    assert groups.sizes.tolist() == [2]
    assert groups.counts_of(0) == {"aids": 1, "cold": 1, "flu": 2, "gout": 1}
    assert not groups.single_valued


def test_a_person_in_two_groups_counts_in_each_and_is_said() -> None:
    rows = pa.table({"who": [1, 1, 2], "age": [30, 31, 31], "s": ["a", "b", "a"]})
    table = sf.read(rows, sf.Schema(quasi=["age"], sensitive="s", person="who"))
    assert table.people == 2
    report = sf.audit(table, [sf.KAnonymity(1)])
    assert report.summary.groups == 2
    assert any("several groups" in note for note in report.notes)


def test_persons_with_one_row_each_are_single_valued() -> None:
    rows = pa.table({"who": ["p", "q"], "age": [30, 30], "s": ["a", None]})
    table = sf.read(rows, sf.Schema(quasi=["age"], sensitive="s", person="who"))
    groups = as_it_stands(table).groups
    assert groups.single_valued
    assert groups.counts_of(0) == {"a": 1, "(missing)": 1}


def test_a_list_column_is_a_set_of_values() -> None:
    rows = pa.table({"age": [30, 30, 31, 31], "s": [["a", "b", "a"], ["b"], [], None]})
    groups = as_it_stands(sf.read(rows, sf.Schema(quasi=["age"], sensitive="s"))).groups
    assert groups.sizes.tolist() == [2, 2]
    assert groups.counts_of(0) == {"a": 1, "b": 2}
    assert groups.counts_of(1) == {"(missing)": 1}


def test_pre_aggregated_counts_give_the_same_verdicts() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(0, 4, 200), "s": rng.choice(list("abc"), 200)})
    packed = frame.value_counts().reset_index(name="n")
    packed.loc[len(packed)] = [99, "a", 0]  # nobody
    criteria = [sf.KAnonymity(5), sf.EntropyDiversity(2), sf.TCloseness(0.1)]
    rows = sf.audit(sf.read(frame, sf.Schema(quasi=["age"], sensitive="s")), criteria)
    counted = sf.audit(
        sf.read(packed, sf.Schema(quasi=["age"], sensitive="s", count="n")), criteria
    )
    assert [(v.status, v.measured) for v in rows.verdicts] == [
        (v.status, v.measured) for v in counted.verdicts
    ]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([1.0, -2.0], "holds a negative number in 1 row"),
        ([1.5, 2.0], "holds a fraction in 1 row"),
        ([1.0, None], "holds no number in 1 row"),
        ([1.0, float("nan")], "holds no number in 1 row"),
        (["1", "2"], "has the type string"),
    ],
)
def test_counts_that_cannot_be_people(counts, said: str) -> None:
    rows = pa.table({"age": [1, 2], "s": ["a", "b"], "n": counts})
    with pytest.raises(sf.InputError, match=said):
        sf.read(rows, sf.Schema(quasi=["age"], sensitive="s", count="n"))


def test_weights_are_summed_and_checked() -> None:
    rows = pa.table({"age": [1, 1, 2], "s": ["a", "a", "b"], "w": [2.5, 1.0, 4.0]})
    schema = sf.Schema(quasi=["age"], sensitive="s", weight="w")
    weights = sf.read(rows, schema).counts.weights
    assert weights is not None
    assert sorted(weights.tolist()) == [3.5, 4.0]
    with pytest.raises(sf.InputError, match="weight column 'w' holds a negative"):
        sf.read(rows.set_column(2, "w", pa.array([1.0, 2.0, -1.0])), schema)


def test_counts_are_keyed_by_the_predicate_set_of_protect() -> None:
    rows = pa.table({"age": [1, 1], "s": ["a", "a"], "p": ["strict", "open"]})
    counts = sf.read(rows, sf.Schema(quasi=["age"], sensitive="s", protect="p")).counts
    assert len(counts) == 2
    assert counts.protect is not None
    assert counts.protect[0].values == ("open", "strict")


def test_a_numeric_sensitive_column_is_judged_at_a_hierarchy_level() -> None:
    rows = pa.table({"age": [1, 1, 1], "pay": [11_000, 12_000, 25_000]})
    schema = sf.Schema(
        quasi=["age"],
        sensitive="pay",
        hierarchies={"pay": sf.intervals([10_000])},
        levels={"pay": 1},
    )
    groups = as_it_stands(sf.read(rows, schema)).groups
    assert groups.counts_of(0) == {"[10000, 20000)": 2, "[20000, 30000)": 1}


def test_no_sensitive_column_still_has_k() -> None:
    report = sf.audit(
        sf.read(pa.table({"age": [1, 1]}), sf.Schema(quasi=["age"])),
        [sf.KAnonymity(2), sf.DistinctDiversity(2)],
    )
    assert [v.status for v in report.verdicts] == ["holds", "not_applicable"]
    assert report.status == "could_not_judge"


def test_text_spellings_of_one_number_are_one_group(tmp_path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("age,s\n1,a\n1.0,a\n2,b\n")
    table = sf.read(path, sf.Schema(quasi=["age"], sensitive="s"))
    assert len(table.counts) == 2
    assert as_it_stands(table).groups.sizes.tolist() == [2, 1]


rows_of_people = st.lists(
    st.tuples(
        st.sampled_from([1, 2, 30, None]),
        st.sampled_from(["x", "y", "", None]),
        st.sampled_from(["a", "b", None]),
        st.sampled_from(["t", "u"]),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=25,
)


def as_table(rows) -> pa.Table:
    columns = list(zip(*rows, strict=True))
    types = [pa.int64(), pa.string(), pa.string(), pa.string(), pa.int64()]
    return pa.table(
        [pa.array(c, t) for c, t in zip(columns, types, strict=True)],
        names=["age", "zip", "s", "t", "who"],
    )


@given(rows_of_people)
def test_counts_equal_a_plain_count_of_rows(rows) -> None:
    schema = sf.Schema(quasi=["age", "zip"], sensitive=["s", "t"])
    counts = sf.read(as_table(rows), schema, threads=1).counts
    found = {}
    for column in range(len(counts)):
        key = (
            *(d.values[c] for d, c in zip(counts.quasi, counts.codes[:, column], strict=True)),
            *(
                a.domain.values[c]
                for a, c in zip(counts.sensitive, counts.values[:, column], strict=True)
            ),
        )
        assert key not in found
        found[key] = counts.n[column]
    expected: dict[object, int] = {}
    for row in rows:
        expected[row[:4]] = expected.get(row[:4], 0) + 1
    assert found == expected


@given(rows_of_people)
def test_the_coded_way_counts_what_the_raw_way_counts(rows) -> None:
    schema = sf.Schema(quasi=["age", "zip"], sensitive=["s", "t"])
    raw = groups_of(sf.read(as_table(rows), schema, threads=1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan_module, "MANY_ROWS", 0)
        patch.setattr(scan_module, "MANY_TUPLES", -1)
        assert groups_of(sf.read(as_table(rows), schema, threads=1)) == raw


@given(rows_of_people, st.sampled_from([1, 3, 25]))
def test_the_sorted_way_counts_what_the_raw_way_counts(rows, looked_at) -> None:
    """Also where the first rows lack values that later ones have."""
    schema = sf.Schema(quasi=["age", "zip"], sensitive=["s"], protect="t")
    rows = list(dict.fromkeys(rows))
    raw = sf.read(as_table(rows), schema, threads=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_numbers, "SORTED_ROWS", 0)
        patch.setattr(row_numbers, "_LOOKED_AT", looked_at)
        patch.setattr(scan_module, "_raw", None)
        patch.setattr(row_numbers, "_UNALIKE", 0.0)
        found = sf.read(as_table(rows), schema, threads=1)
    for name in ("codes", "values", "n"):
        assert (getattr(found.counts, name) == getattr(raw.counts, name)).all()
    assert found.counts.quasi == raw.counts.quasi
    assert found.counts.sensitive == raw.counts.sensitive
    assert found.counts.protect[0] == raw.counts.protect[0]
    assert (found.counts.protect[1] == raw.counts.protect[1]).all()


def test_rows_that_are_mostly_alike_are_grouped_and_not_sorted() -> None:
    table = pa.table({"age": [1, 2] * 10, "s": ["x"] * 20})
    schema = sf.Schema(quasi=["age"], sensitive="s")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_numbers, "SORTED_ROWS", 0)
        patch.setattr(row_numbers, "_row_numbers", None)
        assert sf.read(table, schema).counts.n.tolist() == [10, 10]


@given(rows_of_people)
def test_people_equal_a_plain_gathering_by_person(rows) -> None:
    schema = sf.Schema(quasi=["age", "zip"], sensitive="s", person="who")
    release = as_it_stands(sf.read(as_table(rows), schema, threads=1))
    people: dict[object, dict[int, set[object]]] = {}
    for age, zip_code, value, _, who in rows:
        people.setdefault((age, zip_code), {}).setdefault(who, set()).add(value)
    expected = []
    for having in people.values():
        counts: dict[object, int] = {}
        for values in having.values():
            for value in values:
                label = "(missing)" if value is None else value
                counts[label] = counts.get(label, 0) + 1
        expected.append((len(having), sorted(counts.items(), key=str)))
    found = [
        (int(release.groups.sizes[g]), sorted(release.groups.counts_of(g).items(), key=str))
        for g in range(len(release.groups))
    ]
    assert sorted(found, key=str) == sorted(expected, key=str)


def test_a_policy_says_how_its_table_is_written(tmp_path) -> None:
    """What a draft found out of a file (its missing mark) need not be told again in Python."""
    file = tmp_path / "people.csv"
    file.write_text("age;job\n" + "".join(f"{20 + i};a\n" for i in range(8)) + "?;b\n", "utf-8")
    schema = sf.Schema(quasi=["age"], sensitive="job", domains={"age": "numeric"})
    policy = sf.Policy([sf.KAnonymity(1)], schema=schema, read=Reading(missing={"age": ["?"]}))
    with pytest.raises(sf.SchemaError, match="cannot be read as such"):
        sf.read(file, schema)
    assert sf.read(file, policy).counts.quasi[0].kind == "numeric"
    with pytest.raises(sf.SchemaError, match="the policy has no schema"):
        sf.read(file, sf.Policy([sf.KAnonymity(1)]))


def test_dates_without_a_century_are_neither_kept_nor_generalized(tmp_path: Path) -> None:
    born = [f"{1 + n % 28:02}.{1 + n % 12:02}.{n % 90 + 10}" for n in range(60)]
    file = tmp_path / "people.csv"
    file.write_text("born;ward\n" + "".join(f"{day};{n % 7}\n" for n, day in enumerate(born)))
    kept, both = sf.Schema(["ward"], keep=["born"]), sf.Schema(["born", "ward"])
    with pytest.raises(sf.InputError, match=r"'born': dates .* insist = \['born'\] in the schema"):
        sf.anonymize(sf.read(file, kept), sf.Policy([sf.KAnonymity(5)]))
    for schema in (kept, both):
        with pytest.raises(sf.InputError, match="'born': dates with years of two digits"):
            sf.generalize(sf.read(file, schema), [0] * len(schema.quasi))
    for schema, year in ((kept, 1930), (replace(kept, insist=["born"]), None)):
        released = sf.generalize(sf.read(file, schema, first_year=year), [0])
        assert set(released.to_pandas()["born"]) == set(born)
    file.write_text(file.read_text() + "no date;1\n")  # a column of other texts is kept as ever
    assert len(sf.generalize(sf.read(file, kept), [0]).groups) == 7


def test_dates_are_kept_with_a_century_wherever_they_begin_and_however_they_are_written(
    tmp_path: Path,
) -> None:
    born = [f"{1 + n % 28:02}.{1 + n % 12:02}.{n % 90 + 10}" for n in range(60)]
    file, kept = tmp_path / "people.csv", sf.Schema(["ward"], keep=["born"])
    unsaid = "".join(f"?;{n % 7}\n" for n in range(5000))
    file.write_text(
        f"born;ward\n{unsaid}" + "".join(f"{day};{n % 7}\n" for n, day in enumerate(born))
    )
    with pytest.raises(sf.InputError, match="'born': dates with years of two digits"):
        sf.generalize(sf.read(file, kept, missing=["?"]), [0])
    assert len(sf.generalize(sf.read(file, kept), [0]).groups) == 7  # "?" is a text of its own
    assert len(sf.generalize(sf.read(file, kept, missing=["?"], first_year=1930), [0]).groups) == 7
    packed = "".join(f"{day.replace('.', '')};{n % 7}\n" for n, day in enumerate(born))
    file.write_text(f"born;ward\n{packed}")
    assert (
        len(sf.generalize(sf.read(file, kept), [0]).groups) == 7
    )  # numbers, for all anybody knows
    with pytest.raises(sf.InputError, match="'born': dates with years of two digits"):
        sf.generalize(sf.read(file, kept, dates={"born": "%d%m%y"}), [0])
