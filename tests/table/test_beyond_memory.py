"""Reading a table whose counts do not fit: the engine keeps them, and they are the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.counts import stored
from sfumato.engines.duckdb import DuckDB
from sfumato.engines.reading import Reading
from sfumato.errors import InputError, ResourceError
from tests.table.beyond_memory import SCHEMAS, beyond, patients, same


@pytest.fixture
def nothing_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every tuple took a gigabyte."""
    monkeypatch.setattr(stored, "COPIES", 10**9)


@pytest.mark.parametrize("kind", SCHEMAS)
@pytest.mark.parametrize("seed", range(3))
def test_stored_counts_are_those_of_memory(
    kind: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = sf.Schema(**SCHEMAS[kind])  # type: ignore[arg-type]
    table = pa.table(patients(seed))
    expected = sf.read(table, schema)
    assert expected.counts.fits_memory
    monkeypatch.setattr(stored, "COPIES", 10**9)
    found = sf.read(table, schema)
    assert not found.counts.fits_memory
    assert found.people == expected.people
    assert len(found.counts) == len(expected.counts)
    same(found.counts.within().compact(), expected.counts)
    for place in range(len(schema.quasi)):
        assert found.counts.by_code(place).tolist() == expected.counts.by_code(place).tolist()
    for place in range(len(schema.sensitive)):
        assert found.counts.by_value(place).tolist() == expected.counts.by_value(place).tolist()


def test_a_text_file_too(tmp_path: Path, nothing_fits: None) -> None:
    (tmp_path / "a.csv").write_text("age,ill\n20,flu\n20,\n30,gout\n20,flu\n")
    table = sf.read(tmp_path / "a.csv", sf.Schema(quasi=["age"], sensitive="ill"), memory="1GB")
    assert not table.counts.fits_memory
    assert table.people == 4
    assert len(table.counts) == 3
    assert "3 distinct tuples" in repr(table)


def test_every_tuple_is_asked_for_by_name(
    nothing_fits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = sf.read(pa.table(patients(1)), sf.Schema(**SCHEMAS["counted"]))  # type: ignore[arg-type]
    with pytest.raises(ResourceError, match=r"^weighing needs all .* distinct tuples of the table"):
        table.counts.in_memory("weighing")
    for given_away in ("codes", "values", "n", "weights", "protect", "group_of"):
        assert not hasattr(table.counts, given_away)
    monkeypatch.undo()
    small = sf.read(pa.table(patients(1)), sf.Schema(**SCHEMAS["counted"]))  # type: ignore[arg-type]
    assert small.counts.in_memory("weighing") is small.counts


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("most", [1, 7, 50, 10_000])
def test_parts_hold_every_group_whole(name: str, most: int) -> None:
    table = sf.read(pa.table(patients(2)), sf.Schema(**SCHEMAS[name]))  # type: ignore[arg-type]
    expected = table.counts.in_memory("this test")
    assert [id(part) for part in expected.parts()] == [id(expected)]
    larger = beyond(table, most)
    larger.engine.memory //= 2
    parts = list(larger.counts.parts())
    assert (len(parts) == 1) == (most >= len(expected))
    seen: Counter[tuple[int, ...]] = Counter()
    for part in parts:
        seen.update(set(map(tuple, part.codes.T.tolist())))
    assert set(seen.values()) == {1}  # no group is in two parts
    joined = replace(
        parts[0],
        codes=np.hstack([part.codes for part in parts]),
        values=np.hstack([part.values for part in parts]),
        n=np.concatenate([part.n for part in parts]),
        weights=None
        if expected.weights is None
        else np.concatenate([part.weights for part in parts]),  # type: ignore[misc]
        protect=None
        if expected.protect is None
        else (expected.protect[0], np.concatenate([part.protect[1] for part in parts])),  # type: ignore[index]
    )
    same(joined.compact(), expected)


def test_parts_of_more_combinations_than_a_whole_number_holds() -> None:
    chance = np.random.default_rng(1)
    columns = {f"c{place}": chance.permutation(60) for place in range(12)}
    table = sf.read(
        pa.table({**columns, "ill": ["x", "y", "z"] * 20}), sf.Schema([*columns], "ill")
    )
    expected = table.counts.in_memory("this test")
    assert 60**12 > 2**63
    parts = list(beyond(table, 7).counts.parts())
    assert len(parts) > 1
    people = [tuple(person) for part in parts for person in part.codes.T.tolist()]
    assert sorted(people) == sorted(map(tuple, expected.codes.T.tolist()))
    assert sum(int(part.n.sum()) for part in parts) == 60


@pytest.mark.parametrize("anonymizer", [sf.Mondrian(scheme="bucketized"), sf.Microaggregation(2)])
def test_what_works_in_memory_only_says_so(anonymizer: Any, nothing_fits: None) -> None:
    table = sf.read(pa.table({"age": [1, 2, 3, 4], "ill": list("abab")}), _SCHEMA)
    with pytest.raises(ResourceError, match="in memory"):
        sf.anonymize(table, sf.Policy([sf.KAnonymity(2)], anonymizer=anonymizer))


_SCHEMA = sf.Schema(quasi=["age"], sensitive="ill")


def test_a_limit_is_kept_by_spilling(tmp_path: Path) -> None:
    """Two million tuples of 60 bytes do not fit in 60 MB, and are counted all the same."""
    chance = np.random.default_rng(1)
    total = 400_000
    columns = {f"q{i}": chance.integers(0, 1000, total) for i in range(3)}
    pq.write_table(pa.table({**columns, "ill": chance.integers(0, 4, total)}), tmp_path / "a.pq")
    schema = sf.Schema(quasi=["q0", "q1", "q2"], sensitive="ill")
    spill = tmp_path / "spill"
    spill.mkdir()
    table = sf.read(tmp_path / "a.pq", schema, memory="60MB", spill=spill)
    assert not table.counts.fits_memory
    assert table.people == total
    assert list(spill.iterdir())  # what is kept lies there
    assert all(path.stat().st_mode & 0o077 == 0 for path in spill.iterdir())
    report = sf.audit(table, [sf.KAnonymity(2)])
    assert report.summary.people == total
    del table, report
    import gc

    gc.collect()
    assert not list(spill.iterdir())  # and nothing stays


def test_a_spill_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a folder"):
        DuckDB(Reading(spill=tmp_path / "nowhere"))
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is not a folder"):
        DuckDB(Reading(spill=tmp_path / "file"))
    with pytest.raises(ResourceError, match="cannot be written to"):
        DuckDB(Reading(spill=Path("/proc")))


@pytest.mark.parametrize("memory", ["2", "2 gigabytes", "0MB", "-1GB", "GB"])
def test_a_memory_limit_that_is_none(memory: str) -> None:
    with pytest.raises(InputError, match="is not a size"):
        DuckDB(Reading(memory=memory))


def test_what_spills_is_readable_by_nobody_else(tmp_path: Path) -> None:
    """Also where the engine spills before anything large is kept."""
    engine = DuckDB(Reading(memory="60MB", spill=tmp_path))
    engine.materialize("rows", "SELECT range AS a, hash(range) AS b FROM range(12000000)")
    (folder,) = tmp_path.iterdir()
    assert list(folder.iterdir())  # it has spilled
    assert folder.stat().st_mode & 0o077 == 0
