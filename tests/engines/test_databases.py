"""A database that one table is done with may serve the next: empty, and with nobody's limits."""

from __future__ import annotations

import contextlib
import gc
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.engines import duckdb as engine_module
from sfumato.engines.duckdb import DuckDB
from sfumato.engines.reading import Reading
from sfumato.errors import ResourceError

SECRETS = pa.table({"code": [0, 1], "label": ["secret", "other"]})


def everything_in(engine: DuckDB) -> dict[str, list[object]]:
    """All that somebody could still find in a database."""
    asked = {
        "databases": "SELECT database_name FROM duckdb_databases() WHERE NOT internal",
        "tables": "SELECT table_name FROM duckdb_tables()",
        "views": "SELECT view_name FROM duckdb_views() WHERE NOT internal",
        "variables": "SELECT name FROM duckdb_variables()",
    }
    found = {what: engine.fetch(select).column(0).to_pylist() for what, select in asked.items()}
    return {what: sorted(names) for what, names in found.items()}


def setting(engine: DuckDB, name: str) -> str:
    return str(engine.fetch(f"SELECT current_setting('{name}')").column(0)[0].as_py())


def filled() -> DuckDB:
    engine = DuckDB()
    engine.register(SECRETS)
    engine.put("labels", SECRETS)
    engine.label_of("labels", "0")
    engine.materialize("small", "SELECT 'secret' AS s")
    engine.materialize("large", "SELECT 'secret' AS s", large=True)
    engine.append("more", SECRETS)
    return engine


def test_nothing_of_an_earlier_table_is_left() -> None:
    gc.collect()
    new = everything_in(DuckDB(Reading(threads=1)))
    engine = filled()
    folder = Path(setting(engine, "temp_directory"))
    assert everything_in(engine)["tables"] == ["large", "more", "small"]
    del engine
    gc.collect()
    assert not folder.exists()
    later = DuckDB()
    assert everything_in(later) == new
    assert Path(setting(later, "temp_directory")).is_dir()


def test_two_at_a_time_have_two_databases() -> None:
    one, two = filled(), DuckDB()
    assert everything_in(two)["tables"] == []
    assert everything_in(one)["tables"] == ["large", "more", "small"]


def test_limits_stay_with_the_table_they_were_given_for(tmp_path: Path) -> None:
    gc.collect()
    usual = [setting(DuckDB(), name) for name in ("memory_limit", "threads")]
    DuckDB(Reading(memory="300MB", threads=1, spill=tmp_path))
    gc.collect()
    assert [setting(DuckDB(), name) for name in ("memory_limit", "threads")] == usual


def test_one_that_has_spilled_is_not_taken_again() -> None:
    gc.collect()
    engine = DuckDB()
    folder = Path(setting(engine, "temp_directory"))
    engine.fetch("SET memory_limit = '40MB'")  # in place of more rows than the machine holds
    engine.materialize("many", "SELECT range AS n, hash(range) AS h FROM range(4000000)")
    assert any(folder.iterdir())
    del engine
    gc.collect()
    assert not folder.exists()
    later = DuckDB()
    assert Path(setting(later, "temp_directory")).is_dir()
    assert setting(later, "memory_limit") != "38.1 MiB"


class Interrupted:
    """A database that is interrupted while it is being cleared, as DuckDB tells it."""

    def __init__(self, told: BaseException) -> None:
        self.told, self.closed = told, False

    def execute(self, sql: str) -> None:
        raise self.told

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("told", [RuntimeError("Query interrupted"), KeyboardInterrupt()])
def test_nothing_is_left_by_whoever_interrupts_the_clearing(
    tmp_path: Path, told: BaseException
) -> None:
    folder = tmp_path / "spill"
    folder.mkdir()
    (folder / "kept.duckdb").write_text("somebody's data")
    database, connection = Interrupted(told), duckdb.connect()
    raises = pytest.raises(KeyboardInterrupt)
    with raises if isinstance(told, KeyboardInterrupt) else contextlib.nullcontext():
        engine_module._clear(database, connection, folder, None, reuse=True)
        assert database.closed  # and serves no other table
    assert not folder.exists()


def test_one_thread_writes_what_takes_several_too_much_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which takes tens of millions of rows, so the first try is made to fail here."""
    engine, tried = DuckDB(Reading(threads=3)), []
    run = engine._run

    def fails_with_several(sql: str) -> None:
        if sql.startswith("COPY"):
            tried.append(setting(engine, "threads"))
            if tried[-1] != "1":
                raise ResourceError("out of memory")
        run(sql)

    monkeypatch.setattr(engine, "_run", fails_with_several)
    engine.write("SELECT range AS place FROM range(9) ORDER BY place", tmp_path)
    assert tried == ["3", "1"]
    assert pq.read_table(tmp_path / "data.parquet").column("place").to_pylist() == [*range(9)]
    assert setting(engine, "threads") == "3"
