"""A release is written the way its table came, and reads back as what was published."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import sfumato as sf

ROWS = 40
SCHEMA = sf.Schema(
    quasi=["age", "town"], sensitive="illness", hierarchies={"age": sf.intervals([10, 20])}
)


def people(*, rare: str = "Aachen") -> pa.Table:
    """Forty people, all but one of whom live in two towns."""
    towns = ["Bonn", "Köln"] * (ROWS // 2)
    towns[0] = rare
    return pa.table(
        {
            "age": pa.array([20 + row // 4 for row in range(ROWS)], pa.int16()),
            "town": pa.array(towns).dictionary_encode(),
            "illness": pa.array([("flu", "cold", "gout")[row % 3] for row in range(ROWS)]),
        }
    )


def published(source: Path, out: Path, schema: sf.Schema = SCHEMA, **levels: int) -> Path:
    """The one data file of a release that generalizes some columns of a file."""
    table = sf.read(source, schema)
    release = sf.generalize(table, levels, require=[sf.KAnonymity(2)], suppression=0.5)
    release.save(out)
    read = sf.read_release(out, schema)
    assert read.people == release.people
    assert sorted(read.groups.sizes.tolist()) == sorted(release.groups.sizes.tolist())
    (name,) = json.loads((out / "public" / "manifest.json").read_text())["files"]
    return out / "public" / name


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
@pytest.mark.parametrize("ending", ["csv", "tsv", "txt"])
def test_a_text_file_keeps_its_delimiter_and_its_name(
    tmp_path: Path, delimiter: str, packing: str, ending: str
) -> None:
    plain = people()
    plain = plain.set_column(1, "town", plain.column("town").cast(pa.string()))
    source = tmp_path / f"people.csv.{ending}{packing}"
    with pa.output_stream(str(source), compression="detect" if packing else None) as sink:
        pa_csv.write_csv(plain, sink, pa_csv.WriteOptions(delimiter=delimiter))
    data = published(source, tmp_path / "out", age=1)
    assert data.name == f"data.{ending}{packing}"
    with pa.input_stream(str(data), compression="detect" if packing else None) as stream:
        first, *others = stream.read().decode("utf-8").splitlines()
    assert first.split(delimiter) == ['"age"', '"town"', '"illness"']
    assert '"[20, 30)"' in {line.split(delimiter + '"')[0] for line in others}


def test_a_format_that_is_named_is_written_plainly(tmp_path: Path) -> None:
    source = tmp_path / "people.csv"
    source.write_text("age;town;illness\n" + "20;Bonn;flu\n20;Bonn;cold\n" * 3)
    release = sf.generalize(sf.read(source, SCHEMA), {})
    release.save(tmp_path / "out", format="csv")
    assert "20," in (tmp_path / "out" / "public" / "data.csv").read_text()
    with pytest.raises(sf.InputError, match="format 'csvv' is not known; did you mean 'csv'"):
        release.save(tmp_path / "other", format="csvv")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_columns_of_single_values_keep_their_types(tmp_path: Path, ending: str) -> None:
    moments = pa.timestamp("us", "Europe/Berlin")
    noon = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
    table = pa.table(
        {
            **{name: people().column(name) for name in ("age", "town")},
            "insured": pa.array([row % 2 == 0 for row in range(ROWS)]),
            "cost": pa.array([Decimal(row % 2) / 4 for row in range(ROWS)], pa.decimal128(9, 2)),
            "seen": pa.array([noon + dt.timedelta(row % 2) for row in range(ROWS)], moments),
            "weight": pa.array([float(row % 2) for row in range(ROWS)], pa.float32()),
            "illness": pa.array([[row % 3] for row in range(ROWS)], pa.list_(pa.int8())),
        }
    )
    schema = sf.Schema(
        quasi=["age", "town", "insured", "cost", "seen", "weight"],
        sensitive="illness",
        hierarchies={"age": sf.intervals([10, 20])},
    )
    source = tmp_path / f"people.{ending}"
    if ending == "parquet":
        pq.write_table(table, source)
    else:
        with pa.ipc.new_file(source, table.schema) as writer:
            writer.write_table(table)
    data = published(source, tmp_path / "out", schema, age=1)
    read = pq.read_table(data) if ending == "parquet" else pa.ipc.open_file(data).read_all()
    kinds = dict(zip(read.schema.names, read.schema.types, strict=True))
    came = dict(zip(table.schema.names, table.schema.types, strict=True))
    assert kinds == {**came, "age": pa.string()}
    assert read.column("cost").to_pylist().count(Decimal("0.25")) == ROWS // 2
    assert set(read.column("seen").to_pylist()) == set(table.column("seen").to_pylist())


@pytest.mark.parametrize("role", ["quasi", "keep"])
def test_categories_of_suppressed_people_are_not_in_the_file(tmp_path: Path, role: str) -> None:
    source = tmp_path / "people.parquet"
    pq.write_table(people(rare="Wuppertal"), source)
    schema = SCHEMA
    if role == "keep":
        table = people(rare="Wuppertal").append_column("home", people(rare="Wuppertal")["town"])
        pq.write_table(table, source)
        schema = sf.Schema(
            quasi=["age", "town"],
            sensitive="illness",
            keep=["home"],
            hierarchies=SCHEMA.hierarchies,
        )
    data = published(source, tmp_path / "out", schema, age=1)
    assert b"Wuppertal" in source.read_bytes()
    assert b"Wuppertal" not in data.read_bytes()
    categories = pq.read_table(data).column("town").combine_chunks().dictionary
    assert set(categories.to_pylist()) == {"Bonn", "Köln"}


def test_a_manifest_that_tells_of_no_form_of_ours_is_refused(tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "people.parquet")
    published(tmp_path / "people.parquet", tmp_path / "out", age=2)
    path = tmp_path / "out" / "public" / "manifest.json"
    content = json.loads(path.read_text())
    (tmp_path / "out" / "private" / "manifest.sha256").unlink()
    for form in ([], "csv", {"format": 3}, {"format": "docx"}, {"format": "csv", "dates": 1}):
        path.write_text(json.dumps({**content, "form": form}))
        with pytest.raises(sf.InputError, match="tells of no form of ours"):
            sf.read_release(tmp_path / "out")
