"""A release on disk: it leaks nothing by its form, reads back, and a kill leaves no half."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import files
from sfumato.anonymizers import Anatomy, Lattice, Microaggregation, Mondrian
from sfumato.datasets.census import census, census_schema
from sfumato.policy.model import Policy
from sfumato.release.release import Release
from sfumato.release.write import data_files, folder
from sfumato.workflow.anonymize import anonymize
from tests.examples import few
from tests.release.contents import content

MAKERS = {
    "lattice": (Lattice(), 0.1),
    "mondrian": (Mondrian(), 0.0),
    "tight": (Mondrian(regions="tight"), 0.0),
    "hierarchy": (Mondrian(regions="hierarchy"), 0.0),
    "relaxed": (Mondrian(strict=False), 0.0),
    "anatomy": (Anatomy(2), 0.0),
    "microaggregation": (Microaggregation(3), 0.0),
}


@pytest.fixture(scope="module")
def table() -> sf.Table:
    return sf.read(census(600, seed=1), census_schema())


def made(table: sf.Table, maker: str, seed: int = 7) -> tuple[Release, Policy]:
    anonymizer, suppression = MAKERS[maker]
    # Buckets promise no k: exact quasi-identifiers are published beside them.
    require = sf.DistinctDiversity(2) if maker == "anatomy" else sf.KAnonymity(2)
    policy = Policy([require], anonymizer, suppression=suppression, schema=table.schema)
    return anonymize(table, policy, seed=seed), policy


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("maker", MAKERS)
def test_what_is_read_back_is_what_was_published(table, tmp_path: Path, maker, form) -> None:
    release, policy = made(table, maker)
    report = sf.audit(release, policy)
    release.save(tmp_path / "out", report=report, policy=policy, format=form)
    again = sf.read_release(tmp_path / "out", table.schema)
    assert content(again) == content(release)
    assert again.scheme == release.scheme
    assert again.suppressed == release.suppressed
    for name, groups in release.by_attribute.items():
        back = again.groups_for(name)
        kept = {v: w for v, w in zip(groups.values, groups.reference, strict=True) if w}
        assert {v: w for v, w in zip(back.values, back.reference, strict=True) if w} == kept
    assert sf.audit(again, policy).holds
    assert Policy.load(tmp_path / "out" / "private" / "policy.toml").require == policy.require


def test_without_private_the_published_counts_stand_in_and_it_is_said(table, tmp_path) -> None:
    release, _ = made(table, "lattice")
    assert release.suppressed > 0
    release.save(tmp_path / "out")
    again = sf.read_release(tmp_path / "out" / "public", table.schema)
    assert again.suppressed == release.suppressed
    (tmp_path / "out" / "private" / "reference.json").unlink()
    alone = sf.read_release(tmp_path / "out", table.schema)
    assert alone.groups.reference.sum() == release.people
    assert any("stands in" in note for note in alone.notes)


@pytest.mark.parametrize("maker", MAKERS)
def test_public_files_carry_no_identifier_seed_or_trace_of_the_private_side(
    table, tmp_path: Path, maker
) -> None:
    release, policy = made(table, maker, seed=987654321)
    release.save(tmp_path / "out", report=sf.audit(release, policy), policy=policy)
    files = {path.name: path.read_bytes() for path in (tmp_path / "out" / "public").iterdir()}
    public = b"".join(files.values())
    for secret in (b"987654321", b"P00", b"income"):
        assert secret not in public, secret
    for name, written in files.items():  # pages speak of the worst case, and tell of none
        assert name.endswith(".html") or b"worst" not in written
    manifest = json.loads((tmp_path / "out" / "public" / "manifest.json").read_text())
    assert "seed" not in json.dumps(manifest)
    columns = {column["name"] for column in manifest["columns"]}
    assert columns <= {*table.schema.quasi, *table.schema.sensitive, "group_id", "count"}


def test_the_order_of_rows_comes_from_the_seed_alone(table) -> None:
    policy = Policy([sf.KAnonymity(3)], Mondrian())
    rows = census(600, seed=1)
    turned = sf.read(rows.take(pa.array(range(599, -1, -1))), census_schema())
    one = anonymize(table, policy, seed=5).to_arrow()
    assert anonymize(turned, policy, seed=5).to_arrow() == one
    other = anonymize(table, policy, seed=6).to_arrow()
    assert other != one
    assert Counter(map(str, other.to_pylist())) == Counter(map(str, one.to_pylist()))


def test_nothing_of_a_suppressed_person_is_published() -> None:
    rows = pa.table({"age": [30, 30, 30, 77], "s": ["a", "b", "a", "rare"]})
    schema = sf.Schema(quasi=["age"], sensitive="s", hierarchies={"age": sf.intervals([5])})
    policy = Policy([sf.KAnonymity(2)], Lattice(), suppression=0.25)
    release = anonymize(sf.read(rows, schema), policy)
    assert release.suppressed == 1
    text = str(release.to_arrow().to_pylist())
    assert "77" not in text
    assert "rare" not in text


def test_kept_columns_stay_with_a_person_of_the_same_values() -> None:
    rows = pa.table(
        {
            "age": [30, 31, 30, 31],
            "s": ["a", "b", "c", "d"],
            "ward": ["ward a", "ward b", "ward c", None],
            "diary": ["secret"] * 4,
        }
    )
    schema = sf.Schema(quasi=["age"], sensitive="s", keep=["ward"])
    release = anonymize(sf.read(rows, schema), Policy([sf.KAnonymity(4)], Mondrian()), seed=3)
    found = {row["s"]: row["ward"] for row in release.to_arrow().to_pylist()}
    assert found == {"a": "ward a", "b": "ward b", "c": "ward c", "d": None}
    assert "diary" not in release.to_arrow().column_names


def test_sets_are_lists_in_parquet_and_texts_in_csv(tmp_path: Path) -> None:
    rows = pa.table({"age": [30, 31, 30], "s": [["x", "y"], ["x"], []]})
    table = sf.read(rows, sf.Schema(quasi=["age"], sensitive="s"))
    release = anonymize(table, Policy([sf.KAnonymity(3)], Mondrian()))
    release.save(tmp_path / "csv")
    lines = (tmp_path / "csv" / "public" / "data.csv").read_text().splitlines()
    assert sorted(lines[1:]) == ['"*","[""x"", ""y""]"', '"*","[""x""]"', '"*","[]"']
    assert content(sf.read_release(tmp_path / "csv", table.schema)) == content(release)
    release.save(tmp_path / "parquet", format="parquet")
    published = pq.read_table(tmp_path / "parquet" / "public" / "data.parquet")
    assert sorted(map(str, published["s"].to_pylist())) == ["['x', 'y']", "['x']", "[]"]
    assert content(sf.read_release(tmp_path / "parquet", table.schema)) == content(release)


def test_the_manifest_tells_nothing_of_suppressed_people(tmp_path: Path) -> None:
    """Its figures are what anybody can measure on the published data, whoever was left out."""
    schema = sf.Schema(quasi=["age"], sensitive="s", hierarchies={"age": sf.intervals([5])})
    policy = Policy(
        [sf.KAnonymity(2), sf.TCloseness(1.0)], Lattice(), suppression=0.3, schema=schema
    )
    told = []
    for secret in ("a", "b"):
        rows = pa.table({"age": [30, 30, 40, 40, 77], "s": ["a", "b", "a", "a", secret]})
        release = anonymize(sf.read(rows, schema), policy, seed=1)
        assert release.suppressed == 1
        out = release.save(tmp_path / secret, report=sf.audit(release, policy), policy=policy)
        told.append((out / "public" / "manifest.json").read_bytes())
        assert (out / "private").stat().st_mode & 0o077 == 0
    assert told[0] == told[1]


@pytest.mark.parametrize("one", ["30", "10.5", "2020-01-31", "unknown", "007"])
@pytest.mark.parametrize("column", ["income", "age"])
def test_the_words_of_suppressed_people_do_not_make_a_type(
    tmp_path: Path, column: str, one: str
) -> None:
    """A text file's column is one of words if one cell is: told or not, it is one person's."""
    rows = [("30", str(20 + place % 2)) for place in range(20)]
    rows.append((one, "20") if column == "age" else ("77", one))
    data = tmp_path / "people.csv"
    data.write_text("age,income\n" + "".join(f"{age},{income}\n" for age, income in rows))

    def saved(**declared: str) -> list[str]:
        schema = sf.Schema(
            quasi=["age"],
            sensitive="income",
            hierarchies={"age": sf.suppression()},
            domains=declared,
        )
        release = sf.generalize(sf.read(data, schema), [0], [sf.KAnonymity(5)], suppression=0.1)
        assert release.suppressed == (1 if column == "income" or one != "30" else 0)
        out = tmp_path / "-".join(["out", *declared])
        release.save(out)
        manifest = json.loads((out / "public" / "manifest.json").read_text())
        return [entry["type"] for entry in manifest["columns"]]

    if one in ("30", "10.5"):
        assert saved() == ["int64", "int64"]
        return
    with pytest.raises(sf.InputError, match=f"column '{column}' holds words, but only of people"):
        saved()
    assert saved(**{column: "categorical"})[column == "income"] == "string"


def test_the_manifest_of_centroids_has_no_scale(table, tmp_path: Path) -> None:
    release, _ = made(table, "microaggregation")
    out = release.save(tmp_path / "out")
    assert "scale" not in (out / "public" / "manifest.json").read_text()
    assert "scale" in (out / "private" / "run.json").read_text()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("public/manifest.json", "[]"),
        ("public/manifest.json", "{"),
        ("private/reference.json", "7"),
    ],
)
def test_a_broken_side_file_is_one_line(table, tmp_path: Path, name, content) -> None:
    release, _ = made(table, "mondrian")
    out = release.save(tmp_path / "out")
    (out / name).write_text(content)
    with pytest.raises(sf.InputError, match=r"manifest of a release|is broken|was changed") as told:
        sf.read_release(out, table.schema)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "many", [10**400, 1e308, -1, True, "many", None, [1]], ids=lambda one: repr(one)[:6]
)
def test_a_reference_that_counts_no_people_is_one_line(table, tmp_path: Path, many: object) -> None:
    out = made(table, "mondrian")[0].save(tmp_path / "out")
    (out / "private" / "manifest.sha256").unlink()
    reference = json.loads((out / "private" / "reference.json").read_text())
    for weights in reference.values():
        weights[next(iter(weights))] = many
    (out / "private" / "reference.json").write_text(json.dumps(reference))
    with pytest.raises(sf.InputError, match=r"reference\.json does not fit the published data"):
        sf.read_release(out, table.schema)


def test_what_there_are_no_sums_of_is_told(table, tmp_path: Path) -> None:
    release, policy = made(table, "lattice")
    release.save(tmp_path / "out", policy=policy)
    known = tmp_path / "out" / "private" / "manifest.sha256"

    def told() -> list[str]:
        notes = sf.audit(sf.read_release(tmp_path / "out"), policy).notes
        return [note for note in notes if note.startswith("not checked")]

    assert told() == []
    lines = known.read_text().splitlines()
    known.write_text("".join(f"{line}\n" for line in lines if "reference" not in line))
    (note,) = told()
    assert "reference.json" in note
    assert "manifest.json" not in note
    known.unlink()
    (note,) = told()
    assert "manifest.json" in note
    assert "private/manifest.sha256 is missing" in note
    shutil.rmtree(tmp_path / "out" / "private")  # what somebody has who was given public/ alone
    assert told() == []


def test_a_folder_that_exists_is_refused_and_force_replaces_it(table, tmp_path: Path) -> None:
    release, policy = made(table, "mondrian")
    release.save(tmp_path / "out")
    mine = tmp_path / "out" / "mine.txt"
    mine.write_text("x")
    with pytest.raises(sf.InputError, match="exists"):
        release.save(tmp_path / "out")
    with pytest.raises(sf.InputError, match=r"holds more than was written to it: 'mine\.txt'"):
        release.save(tmp_path / "out", force=True)
    assert mine.exists()
    mine.unlink()
    release.save(tmp_path / "out", report=sf.audit(release, policy), policy=policy, force=True)
    private = list((tmp_path / "out" / "private").iterdir())
    assert len(private) == 8
    assert {path.stat().st_mode & 0o777 for path in private} == {0o600}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_file_that_was_changed_is_not_the_release_of_its_manifest(table, tmp_path) -> None:
    release, _ = made(table, "mondrian")
    release.save(tmp_path / "out")
    data = tmp_path / "out" / "public" / "data.csv"
    data.write_text(data.read_text().replace("Influenza", "Measles", 1))
    with pytest.raises(sf.InputError, match="is not the file its manifest was written for"):
        sf.read_release(tmp_path / "out", table.schema)


def test_a_release_that_was_read_cannot_be_written_again(table, tmp_path: Path) -> None:
    release, _ = made(table, "mondrian")
    release.save(tmp_path / "out")
    with pytest.raises(sf.InputError, match="only a release that anonymize made"):
        sf.read_release(tmp_path / "out", table.schema).save(tmp_path / "again")


STOPS = {"write_table": data_files, "_manifest": folder, "_sync": files}


def saved_in_a_fork(release: Release, out: Path, where: str) -> tuple[int, int]:
    """A process that saves a release and stops after a step: its number, where it says so."""
    heard, said = os.pipe()
    child = os.fork()
    if child:
        os.close(said)
        return child, heard
    gc.disable()  # what other tests left is not cleared up in a fork that lacks its threads
    step = getattr(STOPS[where], where)

    def stopped(*arguments: object) -> object:
        result = step(*arguments)
        os.write(said, b"here")
        time.sleep(60)
        return result

    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        setattr(STOPS[where], where, stopped)
        release.save(out, force=True)
    finally:
        os._exit(1)


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("where", STOPS)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_leaves_nothing_or_the_release_that_was_there(
    tmp_path: Path, table, where: str, how: signal.Signals, existing: bool
) -> None:
    out = tmp_path / "out"
    if existing:
        made(table, "mondrian")[0].save(out)
        before = sorted(path.read_bytes() for path in out.rglob("*") if path.is_file())
    child, heard = saved_in_a_fork(made(table, "lattice")[0], out, where)
    try:
        assert os.read(heard, 4) == b"here"
    finally:
        os.close(heard)
        os.kill(child, how)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == (-how if how == signal.SIGKILL else 1)
    if existing:
        assert sorted(p.read_bytes() for p in out.rglob("*") if p.is_file()) == before
    else:
        assert not out.exists()


cells = st.tuples(
    st.sampled_from([1, 2, 3, 17, 30, None]),
    st.sampled_from(["13053", "13068", "14850", None]),
    st.sampled_from(["cat", "lion", "dog"]),
    st.sampled_from(["x", "y", "z", None]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=few(30))
@given(st.lists(cells, min_size=4, max_size=30), st.sampled_from(sorted(MAKERS)), st.booleans())
def test_any_small_release_reads_back_as_published(tmp_path_factory, rows, maker, csv) -> None:
    columns = list(zip(*rows, strict=True))
    types = [pa.int64(), pa.string(), pa.string(), pa.string()]
    data = pa.table(
        [pa.array(c, t) for c, t in zip(columns, types, strict=True)],
        names=["age", "zip", "pet", "s"],
    )
    schema = sf.Schema(
        quasi=["age", "zip", "pet"],
        sensitive="s",
        hierarchies={
            "age": sf.intervals([5, 10], top=20),
            "zip": sf.mask(),
            "pet": sf.taxonomy({"cat": ["feline"], "lion": ["feline"], "dog": ["canine"]}),
        },
    )
    try:
        release, policy = made(sf.read(data, schema, threads=1), maker)
    except sf.NoSafeRelease:
        return
    out = tmp_path_factory.mktemp("release") / "out"
    release.save(out, report=sf.audit(release, policy), format="csv" if csv else "parquet")
    again = sf.read_release(out, schema)
    assert content(again) == content(release)
