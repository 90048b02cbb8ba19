"""Rows that the engine makes are the rows that memory makes, in an order that tells nothing."""

from __future__ import annotations

import datetime as dt
import json
import resource
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers import Lattice, Microaggregation, Mondrian
from sfumato.datasets.census import census, census_schema
from sfumato.engines import duckdb as duckdb_module
from sfumato.engines.base import fresh
from sfumato.policy.model import Policy
from sfumato.release.made import StoredPlacement
from sfumato.release.release import Release
from sfumato.schema.region import Span
from sfumato.workflow.anonymize import anonymize
from tests.examples import few
from tests.release.contents import content

MAKERS = {"lattice": (Lattice(), 0.3), "mondrian": (Mondrian(), 0.0)}


def held(release: Release, numbers: np.ndarray | None = None) -> Release:
    """The same release as if its table were larger than memory; its groups numbered anew."""
    placement, regions = release.placement, release.regions
    assert placement is not None
    engine, counts = placement.table.engine, placement.counts
    number = np.arange(len(regions)) if numbers is None else numbers
    group = np.where(placement.groups >= 0, number[placement.groups], -1)
    kept = group >= 0
    shown = {f"s{i}": row[placement.tuples] for i, row in enumerate(counts.values)}
    known = {f"q{i}": row[placement.tuples] for i, row in enumerate(counts.codes)}
    cells = fresh("cells")
    people = pa.table({"g": group, **shown, "n": placement.n}).filter(pa.array(kept))
    engine.append(cells, people.slice(0, 3))
    engine.append(cells, people.slice(3))
    placed = None
    if release.schema.keep:
        placed = fresh("placed")
        engine.append(placed, pa.table({**known, **shown, "g": group}))
    larger = StoredPlacement(placement.table, cells, placed, placement.suppressed)
    moved = np.argsort(number)
    return replace(
        release,
        made=replace(release.made, placement=larger),
        regions=regions.take(moved),
        counted_groups={name: one.take(moved) for name, one in release.by_attribute.items()},
        population=None if release.population is None else release.population[moved],
    )


def made(table: sf.Table, maker: str = "lattice", k: int = 2) -> Release:
    anonymizer, suppression = MAKERS[maker]
    return anonymize(table, Policy([sf.KAnonymity(k)], anonymizer, suppression=suppression), seed=5)


def rows_in(out: Path) -> Counter[str]:
    text = out / "public" / "data.csv"
    if text.exists():
        header, *lines = text.read_text().splitlines()
        return Counter([header, *lines])
    found = sorted((out / "public").rglob("*.parquet"))
    table = pa.concat_tables(pq.read_table(path) for path in found)
    return Counter(map(repr, table.to_pylist()))


def types_in(out: Path) -> list[tuple[str, str]]:
    schema = pq.read_schema(out / "public" / "data.parquet")
    return [(field.name, str(field.type)) for field in schema]


def told(out: Path) -> list[Any]:
    """Everything but the data files, their codebook and digests."""
    manifest = json.loads((out / "public" / "manifest.json").read_text())
    assert sorted([*manifest.pop("files"), *manifest.pop("beside")]) == sorted(
        path.relative_to(out / "public").as_posix()
        for path in (out / "public").rglob("*")
        if path.is_file() and path.name != "manifest.json"
    )
    private = [json.loads(path.read_text()) for path in sorted((out / "private").glob("*.json"))]
    return [manifest, *private]


DAYS = [dt.date(2020, 1, 1), dt.date(2020, 2, 1), dt.date(2021, 5, 5), None]
people = st.tuples(
    st.sampled_from([1, 2, 3, 17, 30, None]),
    st.sampled_from(["13053", "13068", "14850", None]),
    st.sampled_from(DAYS),
    st.sampled_from([True, False]),
    st.sampled_from([["x", "y"], ["y"], ["x", None], [], None]),
    st.sampled_from([1.5, 2.0, None]),
    st.sampled_from(["ward a", "ward b", 'a "quoted", one', None]),
    st.sampled_from([dt.datetime(2020, 1, 1, 3, 4, 5), None]),
    st.sampled_from([1.0, 2.5]),
    st.sampled_from(["all", "none"]),
)
TYPES = {
    "age": pa.int64(),
    "zip": pa.string(),
    "day": pa.date32(),
    "well": pa.bool_(),
    "many": pa.list_(pa.string()),
    "dose": pa.float64(),
    "ward": pa.string(),
    "when": pa.timestamp("us"),
    "weight": pa.float64(),
    "wish": pa.string(),
}


def schema_of(sensitive: list[str], keep: list[str], weight: bool) -> sf.Schema:
    return sf.Schema(
        quasi=["age", "zip", "day", "well"],
        sensitive=sensitive,
        keep=keep,
        weight="weight" if weight else None,
        protect="wish" if weight else None,
        hierarchies={"age": sf.intervals([5, 10], top=20), "zip": sf.mask(), "day": sf.dates()},
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=few(15))
@given(
    st.lists(people, min_size=4, max_size=30),
    st.sampled_from([["many", "dose"], ["dose"], ["many"], []]),
    st.sampled_from([[], ["ward"], ["when", "ward"]]),
    st.sampled_from(sorted(MAKERS)),
    st.booleans(),
    st.booleans(),
)
def test_the_engine_writes_the_rows_that_memory_writes(
    tmp_path_factory, rows, sensitive, keep, maker, weight, csv
) -> None:
    columns = zip(*rows, strict=True)
    data = pa.table(
        {
            name: pa.array(one, kind)
            for (name, kind), one in zip(TYPES.items(), columns, strict=True)
        }
    )
    schema = schema_of(sensitive, keep, weight)
    release = made(sf.read(data, schema, threads=1), maker)
    folder = tmp_path_factory.mktemp("release")
    form = "csv" if csv else "parquet"
    release.save(folder / "memory", format=form)
    larger = held(release)
    larger.save(folder / "engine", format=form)
    assert rows_in(folder / "engine") == rows_in(folder / "memory")
    assert told(folder / "engine") == told(folder / "memory")
    if not csv:
        shown = dict(types_in(folder / "memory"))
        for name, kind in types_in(folder / "engine"):
            assert kind == shown[name] or shown[name] == "null"
    assert content(sf.read_release(folder / "engine")) == content(
        sf.read_release(folder / "memory")
    )
    fetched = larger.to_arrow()
    assert fetched.schema == release.to_arrow().schema
    assert Counter(map(repr, fetched.to_pylist())) == Counter(
        map(repr, release.to_arrow().to_pylist())
    )


KEPT = sf.Schema(
    quasi=["age"], sensitive="s", keep=["ward"], hierarchies={"age": sf.intervals([5])}
)


def hospital(n: int = 60, order: int = 0) -> pa.Table:
    """People, one of whom is like nobody else."""
    chance = np.random.default_rng(3)
    table = pa.table(
        {
            "age": np.append(chance.integers(20, 40, n - 1), 77),
            "s": chance.choice(["a", "b", "c"], n),
            "ward": chance.choice(["x", "y", "z"], n),
        }
    )
    return table.take(pa.array(np.random.default_rng(order).permutation(n)))


@pytest.mark.parametrize("keep", [(), ("ward",)])
def test_the_order_of_rows_tells_neither_the_numbers_of_groups_nor_the_original_order(
    tmp_path: Path, keep
) -> None:
    schema = replace(KEPT, keep=keep)
    written = []
    for order in range(3):
        release = made(sf.read(hospital(order=order), schema), "mondrian", k=3)
        assert len(release.groups) > 3
        number = np.random.default_rng(order).permutation(len(release.groups))
        held(release, number).save(tmp_path / str(order), format="parquet")
        written.append((tmp_path / str(order) / "public" / "data.parquet").read_bytes())
    assert written[0] == written[1] == written[2]


@pytest.mark.parametrize("values", [127, 128, 129, 256])
def test_codes_of_any_number_of_labels(tmp_path: Path, values: int) -> None:
    ages = np.repeat(np.arange(values), 2)
    table = sf.read(pa.table({"age": ages, "s": ages}), sf.Schema(quasi=["age"], sensitive="s"))
    held(sf.generalize(table, {"age": 0})).save(tmp_path / "out", format="parquet")
    found = pq.read_table(tmp_path / "out" / "public" / "data.parquet")
    assert sorted(found["age"].to_pylist()) == ages.tolist()
    assert found["s"] == found["age"]


@pytest.mark.parametrize("keep", [(), ("ward",)])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_labels_too_many_for_a_list_are_joined(tmp_path: Path, monkeypatch, form, keep) -> None:
    release = held(made(sf.read(hospital(), replace(KEPT, keep=keep)), k=3))
    release.save(tmp_path / "listed", format=form)
    monkeypatch.setattr(duckdb_module, "_LISTED", 2)
    release.save(tmp_path / "joined", format=form)
    name = f"public/data.{form}"
    one, other = tmp_path / "listed" / name, tmp_path / "joined" / name
    if form == "csv":
        assert one.read_text() == other.read_text()
    else:
        assert pq.read_table(one).to_pylist() == pq.read_table(other).to_pylist()


@pytest.mark.parametrize(
    ("why", "keep"), [("elsewhere", ("ward",)), ("memory", ()), ("memory", ("ward",))]
)
def test_counts_in_memory_are_written_by_an_engine_that_keeps_columns_or_if_rows_do_not_fit(
    tmp_path: Path, monkeypatch, why: str, keep
) -> None:
    table = sf.read(hospital(), replace(KEPT, keep=keep))
    release = made(table, k=3)
    assert release.suppressed > 0
    release.save(tmp_path / "memory", format="parquet")
    monkeypatch.setattr(
        table.engine, *(("embedded", False) if why != "memory" else ("memory", 999))
    )
    monkeypatch.setattr("sfumato.release.write.publish._people", None)  # no rows in Python
    release.save(tmp_path / "engine", format="parquet")
    assert rows_in(tmp_path / "engine") == rows_in(tmp_path / "memory")
    assert told(tmp_path / "engine") == told(tmp_path / "memory")


def test_a_text_file_keeps_its_kept_columns(tmp_path: Path) -> None:
    pa_csv.write_csv(hospital(), tmp_path / "rows.csv")
    release = made(sf.read(tmp_path / "rows.csv", KEPT), k=3)
    release.save(tmp_path / "memory")
    held(release).save(tmp_path / "engine")
    assert rows_in(tmp_path / "engine") == rows_in(tmp_path / "memory")


# -- parts -----------------------------------------------------------------------------------


@pytest.fixture
def in_parts(monkeypatch) -> None:
    """An engine that writes four files, one of them without rows, and notes for itself."""
    whole = duckdb_module.DuckDB.write

    def write(self: duckdb_module.DuckDB, select: str, folder: Path) -> None:
        whole(self, select, folder)
        rows = pq.read_table(folder / "data.parquet")
        (folder / "data.parquet").unlink()
        for number, (start, stop) in enumerate([(0, 10), (10, 10), (10, 25), (25, len(rows))]):
            part = rows.slice(start, stop - start)
            pq.write_table(part, folder / f"part-{number}-some-run.parquet")
        (folder / "_SUCCESS").touch()

    monkeypatch.setattr(duckdb_module.DuckDB, "write", write)


def test_parts_are_listed_and_read_back(tmp_path: Path, in_parts) -> None:
    release = made(sf.read(hospital(), KEPT), k=3)
    release.save(tmp_path / "memory", format="parquet")
    out = held(release).save(tmp_path / "engine", format="parquet")
    names = [f"data/part-0000{number}.parquet" for number in range(3)]
    assert sorted(json.loads((out / "public" / "manifest.json").read_text())["files"]) == names
    assert sorted(path.name for path in (out / "public").iterdir()) == [
        "codebook.csv",
        "codebook.json",
        "data",
        "manifest.json",
    ]
    assert rows_in(out) == rows_in(tmp_path / "memory")
    again = sf.read_release(out, KEPT)
    assert content(again) == content(release)
    assert again.suppressed == release.suppressed
    assert sf.audit(again, [sf.KAnonymity(3)]).holds


def test_one_text_file_is_made_of_all_parts(tmp_path: Path, in_parts) -> None:
    release = made(sf.read(hospital(), KEPT), k=3)
    release.save(tmp_path / "memory")
    held(release).save(tmp_path / "engine")
    assert rows_in(tmp_path / "engine") == rows_in(tmp_path / "memory")
    assert [path.name for path in tmp_path.iterdir() if path.name[0] == "."] == []


def test_a_part_that_was_changed_or_added_is_refused(tmp_path: Path, in_parts) -> None:
    out = held(made(sf.read(hospital(), KEPT), k=3)).save(tmp_path / "out", format="parquet")
    part = out / "public" / "data" / "part-00001.parquet"
    more = part.with_name("part-00003.parquet")
    more.write_bytes(part.read_bytes())
    with pytest.raises(sf.InputError, match="besides the parts"):
        sf.read_release(out, KEPT)
    more.unlink()
    pq.write_table(pq.read_table(part).slice(1), part)
    with pytest.raises(sf.InputError, match="is not the file its manifest was written for"):
        sf.read_release(out, KEPT)


def test_a_folder_of_parts_is_a_table_and_a_release_folder_is_none(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    rows = hospital()
    pq.write_table(rows.slice(0, 20), parts / "part-0.parquet")
    pq.write_table(rows.slice(20), parts / "part-1.parquet")
    (parts / "_SUCCESS").touch()
    assert sf.read(parts, KEPT, partitioned=True).people == len(rows)
    made(sf.read(parts, KEPT, partitioned=True), k=3).save(tmp_path / "out", format="parquet")
    for folder in (parts, tmp_path / "out" / "public", tmp_path / "out", tmp_path):
        with pytest.raises(sf.InputError, match="is a folder"):
            sf.read(folder, KEPT)


# -- larger than memory ----------------------------------------------------------------------


def test_rows_that_do_not_fit_are_not_fetched(monkeypatch) -> None:
    table = sf.read(hospital(), KEPT)
    release = held(made(table, k=3))
    monkeypatch.setattr(table.engine, "memory", 1000)
    with pytest.raises(sf.ResourceError, match=r"rows, about .* save it to a folder"):
        release.to_arrow()


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_release_larger_than_memory_is_read_back(tmp_path: Path, monkeypatch, form) -> None:
    rows, schema = census(20_000, seed=1), census_schema()
    ages = [None, None, *rows["age"].to_pylist()[2:]]  # told as a range, or missing
    rows = rows.set_column(rows.schema.get_field_index("age"), "age", pa.array(ages))
    release = made(sf.read(rows, schema), "mondrian", k=5)
    shown = release.regions.parts[release.regions.columns.index("age")]
    assert any(isinstance(region, Span) and region.beside for region in shown)
    out = held(release).save(tmp_path / "out", format=form)
    whole = sf.read_release(out, schema)
    monkeypatch.setattr(duckdb_module, "_OWN_SHARE", 0.03)
    large = sf.read_release(out, schema, memory="64MB")
    assert whole.groups.multiplicity is None
    assert large.groups.multiplicity is not None
    assert (large.people, large.groups.number()) == (whole.people, whole.groups.number())
    require = [sf.KAnonymity(5), sf.DistinctDiversity(2), sf.TCloseness(0.9)]
    one, other = (sf.audit(read, require).verdicts for read in (whole, large))
    for this, that in zip(one, other, strict=True):
        assert (this.holds, this.status) == (that.holds, that.status)
        assert this.measured == pytest.approx(that.measured)
    with pytest.raises(sf.ResourceError, match="wildcard matching"):
        sf.read_release(out, schema, matching="wildcard", memory="64MB")


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_ranges_beside_missing_values_come_back(tmp_path: Path, form: str) -> None:
    chance = np.random.default_rng(3)
    days = [dt.date(2020, 1, 1) + dt.timedelta(int(day)) for day in chance.integers(0, 900, 200)]
    rows = {
        "age": [*chance.integers(20, 90, 198).tolist(), None, None],
        "born": [None, None, None, *days[3:]],
        "s": chance.choice(["flu", "cold"], 200).tolist(),
    }
    schema = sf.Schema(quasi=["age", "born"], sensitive="s")
    release = made(sf.read(pa.table(rows), schema), "mondrian", k=10)
    cells = [release.regions.describe(group) for group in range(len(release.groups))]
    for name in schema.quasi:
        assert "*" not in {cell[name] for cell in cells}
        assert any(cell[name].endswith(" or (missing)") for cell in cells)
    release.save(tmp_path / "memory", format=form)
    held(release).save(tmp_path / "engine", format=form)
    for made_by in ("memory", "engine"):
        for source in (tmp_path / made_by, tmp_path / made_by / "public" / f"data.{form}"):
            back = sf.read_release(source, schema)
            assert back.disjoint
            assert content(back) == content(release)


# -- refusals --------------------------------------------------------------------------------


def refused(release: Release, out: Path, kind: type[Exception], match: str) -> None:
    with pytest.raises(kind, match=match):
        release.save(out)
    assert list(out.parent.iterdir()) == []


def test_keep_needs_one_row_a_person(tmp_path: Path) -> None:
    rows = pa.table({"age": [30, 30, 31, 31], "s": list("abab"), "ward": list("xyxy")})
    rows = rows.append_column("who", pa.array([1, 1, 2, 2]))
    release = made(sf.read(rows, replace(KEPT, person="who")), k=2)
    stored = StoredPlacement(release.placement.table, "cells")
    larger = replace(release, made=replace(release.made, placement=stored))
    refused(larger, tmp_path / "out", sf.SchemaError, "keep needs one row a person")


def test_keep_and_people_with_equal_values_who_were_parted(tmp_path: Path, monkeypatch) -> None:
    rows = pa.table({"age": [30] * 6, "s": ["a"] * 6, "ward": list("uvwxyz")})
    table = sf.read(rows, sf.Schema(quasi=["age"], sensitive="s", keep=["ward"]))
    release = anonymize(table, Policy([sf.KAnonymity(2)], Microaggregation(2)))
    placement = release.placement
    parted = replace(
        placement, tuples=np.zeros(2, int), groups=np.zeros(2, int), n=np.full(2, 3, dtype=int)
    )
    monkeypatch.setattr(table.engine, "embedded", False)
    other = replace(release, made=replace(release.made, placement=parted))
    refused(other, tmp_path / "out", sf.SchemaError, "were parted")


def test_rows_that_are_not_the_people_are_not_published(tmp_path: Path) -> None:
    """Whatever the engine did: a person too many or too few is no release."""
    table = sf.read(hospital(), KEPT)
    release = held(made(table, k=3))
    doubled = table.engine.fetch(f"SELECT * FROM {release.placement.placed}")
    table.engine.append(release.placement.placed, doubled.set_column(2, "g", doubled["g"]))
    release.save(tmp_path / "same")  # the same group told twice is one
    shifted = pa.array((doubled["g"].to_numpy() + 1) % len(release.groups))
    table.engine.append(release.placement.placed, doubled.set_column(2, "g", shifted))
    with pytest.raises(sf.SfumatoError, match=r"wrote .* rows for .* people; nothing was publi"):
        release.save(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["same"]


def test_the_engine_keeps_nothing_of_a_writing(tmp_path: Path) -> None:
    table = sf.read(hospital(), replace(KEPT, keep=()))
    release = held(made(table, k=3))
    before = sorted(table.engine.fetch("SHOW TABLES").column(0).to_pylist())
    release.save(tmp_path / "out")
    release.to_arrow()
    assert sorted(table.engine.fetch("SHOW TABLES").column(0).to_pylist()) == before


@pytest.fixture(scope="module")
def large() -> Release:
    """A release of more than a disk below takes, with a text of each person's own."""
    rows = hospital(50_000)
    ward = pa.array([str(number) for number in np.random.default_rng(1).random(len(rows))])
    return made(sf.read(rows.set_column(2, "ward", ward), KEPT), k=3)


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("way", ["engine", "memory"])
def test_a_full_disk_is_one_line_and_leaves_nothing(
    tmp_path: Path, large: Release, way: str, form: str, existing: bool
) -> None:
    out = tmp_path / "out"
    if existing:
        made(sf.read(hospital(), KEPT), k=3).save(out)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    release = held(large) if way == "engine" else large
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000 if form == "csv" else 300_000, usual[1]))
    try:
        with pytest.raises(sf.ResourceError) as told:
            release.save(out, format=form, force=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert "the disk is full, or a file may not grow any more" in str(told.value)
    assert "\n" not in str(told.value)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert [path.name for path in tmp_path.iterdir()] == (["out"] if existing else [])


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_columns_whose_names_differ_only_in_case(tmp_path: Path, form: str) -> None:
    """An engine holds their names for equal; the release has them as they are."""
    data = pa.table({"age": [1, 1, 2, 2], "AGE": ["x", "x", "y", "y"], "Age": ["u", "v"] * 2,
                     "aGe": ["k", "l", "m", "n"], "ß": [1.5] * 4, "SS": [2] * 4})  # fmt: skip
    schema = sf.Schema(quasi=["age", "AGE", "ß", "SS"], sensitive="Age", keep=["aGe"])
    release = made(sf.read(data, schema, threads=1))
    release.save(tmp_path / "memory", format=form)
    held(release).save(tmp_path / "engine", format=form)
    assert rows_in(tmp_path / "engine") == rows_in(tmp_path / "memory")
    if form == "parquet":
        assert types_in(tmp_path / "engine") == types_in(tmp_path / "memory")
    assert told(tmp_path / "engine") == told(tmp_path / "memory")
    assert content(sf.read_release(tmp_path / "engine")) == content(
        sf.read_release(tmp_path / "memory")
    )
    assert held(release).to_arrow().schema.names == release.to_arrow().schema.names
