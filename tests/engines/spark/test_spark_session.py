"""Sessions: the user's is left as it is; ours starts only where it can, and says why it cannot."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import sfumato as sf
from sfumato.datasets.census import census, census_policy
from sfumato.engines.choose import open_engine
from sfumato.engines.reading import Reading
from sfumato.engines.spark import Spark, session
from sfumato.engines.spark.session import check_java
from sfumato.errors import InputError, MissingExtra, ResourceError, SfumatoError
from tests.program import fake_java, sfumato

TABLE = pa.table({"q": ["x", "x", "y"], "s": ["a", "b", None]})
SCHEMA = sf.Schema(quasi=["q"], sensitive="s", person=None)


@pytest.fixture
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing runs, and nothing may start: whatever is wrong is told before."""

    def start(*_: object) -> None:
        raise AssertionError("a session was started")

    monkeypatch.setattr(session, "_running", lambda: None)
    monkeypatch.setattr("pyspark.java_gateway.launch_gateway", start)


def told_by(environ: dict[str, str]) -> str:
    with pytest.raises(MissingExtra) as told:
        check_java(environ)
    assert "\n" not in str(told.value)
    return str(told.value)


def test_java_is_missing(tmp_path: Path) -> None:
    assert "needs Java 17 or newer, and there is none" in told_by({"PATH": str(tmp_path)})
    assert "has no bin/java" in told_by({"JAVA_HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "11.0.2"),
        ('java version "1.8.0_292"', "8.0"),
        ('openjdk version "16" 2021-03-16', "16"),
    ],
)
def test_java_is_too_old(says: str, version: str, tmp_path: Path) -> None:
    java = fake_java(tmp_path, says)
    expected = f"needs Java 17 or newer; {java} is Java {version}"
    assert expected in told_by({"PATH": str(java.parent)}).replace("//", "/")
    assert expected in told_by({"JAVA_HOME": str(tmp_path), "PATH": os.environ["PATH"]})


def test_java_is_broken_or_fine(tmp_path: Path) -> None:
    java = fake_java(tmp_path / "broken", 'version "17"', code=1)
    assert "does not run" in told_by({"PATH": str(java.parent), "LANG": "C"})
    for version in ("17.0.15", "21.0.2", "25-ea", "26"):
        java = fake_java(tmp_path / version, f'openjdk version "{version}" 2025-04-15')
        assert check_java({"PATH": f"{java.parent}:{os.environ['PATH']}"}) == version.split("-")[0]


def test_wrong_java_is_told_before_anything_starts(
    no_session: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "check_java", lambda: told_error())
    with pytest.raises(MissingExtra, match="too old"):
        Spark(Reading(master="local[2]"))


def told_error() -> None:
    raise MissingExtra("too old")


def test_pyspark_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sfumato\[spark\]'"):
        sf.read(TABLE, SCHEMA, engine="spark")


def test_spill_that_cannot_be_written(no_session: None, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for spill in (file, tmp_path / "nowhere"):
        with pytest.raises(SfumatoError, match="spill"):
            Spark(Reading(master="local[2]", spill=spill))


@pytest.mark.parametrize(
    ("master", "kind", "why"),
    [
        ("local[none]", InputError, "is not known"),
        ("localhost:7077", InputError, "is not known"),
        ("spark://localhost", InputError, "has no port"),
        ("spark://127.0.0.1:9", ResourceError, "no Spark master answers"),
    ],
)
def test_masters(master: str, kind: type[SfumatoError], why: str, no_session: None) -> None:
    with pytest.raises(kind, match=why):
        Spark(Reading(master=master))


def test_engines_are_chosen() -> None:
    for options, why in (
        ({"engine": "sparc"}, "did you mean 'spark'"),
        ({"master": "local[2]"}, "is Spark's; choose the engine spark"),
        ({"engine": "spark", "threads": 2}, "threads 2 is DuckDB's"),
        ({"engine": "spark", "decimal": ","}, "is not read by Spark"),
    ):
        with pytest.raises(InputError, match=why):
            open_engine(TABLE, Reading(**options))


def test_a_frame_brings_its_session(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame(TABLE)
    for options in ({"master": "local[2]"}, {"spill": tmp_path}):
        with pytest.raises(InputError, match="a Spark frame brings its own"):
            sf.read(frame, SCHEMA, **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="runs a Spark session on local"):
        sf.read(TABLE, SCHEMA, engine="spark", master="local[7]")


def test_the_users_session_is_left_as_it_is(spark: Any) -> None:
    frame = spark.createDataFrame(TABLE).cache()
    frame.createOrReplaceTempView("people")  # a name of ours, too
    persisted = spark.sparkContext._jsc.getPersistentRDDs

    def state() -> Any:
        views = spark.sql("SHOW VIEWS").toArrow().column("viewName").to_pylist()
        return dict(spark.conf.getAll), sorted(views), persisted().size()

    frame.count()
    gc.collect()  # what other tests have left
    before = state()
    table = sf.read(frame, sf.Schema(quasi=["q"], sensitive="s"))
    people = sf.read(frame, sf.Schema(quasi=["s"], person="q"))
    assert (table.people, people.people) == (3, 2)
    table.engine.materialize("people", f"SELECT * FROM {table.source.name}")
    q = table.source.column("q")
    counting = f"SELECT {q}, COUNT(*) AS n FROM people GROUP BY {q}"
    table.engine.materialize("large", counting, large=True)
    explained = table.engine.fetch("EXPLAIN SELECT n + 1 AS m FROM large").column(0)[0].as_py()
    assert "InMemoryTableScan" in explained  # kept, not computed again
    kept = persisted().size()
    assert kept >= before[2] + 2
    for _ in range(3):
        table.engine.append("files", TABLE)
    assert persisted().size() == kept  # what Spark finds in files of ours it need not keep
    folder, written = table.engine._files.folders["files"]
    assert (len(list(folder.iterdir())), written) == (3, 3)
    assert table.engine.fetch("SELECT COUNT(*) AS n FROM files").column(0)[0].as_py() == 9
    table.engine._files.seen_by_spark = False  # as on a cluster
    for _ in range(3):
        table.engine.append("more", TABLE)
    assert persisted().size() == kept + 3  # each part once
    del table, people
    gc.collect()
    assert state() == before
    assert not folder.exists()
    assert spark.table("people").count() == 3
    spark.catalog.dropTempView("people")
    frame.unpersist()


def test_an_ended_session_is_told(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Spark(session=spark)
    engine.put("one", TABLE)

    def gone(*_: object) -> None:
        raise ConnectionRefusedError("secret")

    monkeypatch.setattr(engine._session, "sql", gone)
    with pytest.raises(ResourceError, match="has ended in mid-work") as told:
        engine.fetch("SELECT * FROM one")
    assert "secret" not in str(told.value)


def test_ctrl_c_is_no_complaint_about_a_file() -> None:
    """Spark complains of the job that was stopped with us, and its file was to be converted."""

    @session.translated("people.csv", "SELECT 1")
    def ask() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("Job 3 cancelled as part of cancellation of all jobs")

    with pytest.raises(KeyboardInterrupt):
        ask()


def test_nothing_is_logged_of_what_rows_hold(
    spark: Any, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    engine = Spark(session=spark)
    engine.put("one", pa.table({"t": ["a secret"]}))
    with pytest.raises(SfumatoError):
        engine.fetch("SELECT CAST(t AS INT) AS x FROM one")
    written = capfd.readouterr()
    assert "a secret" not in caplog.text + written.out + written.err


OWN = """
import json, sys
import pyarrow as pa
import sfumato as sf
from sfumato.cli.main import run
try:
    run()  # as the command line asks for it
except SystemExit as left:
    print(left.code)
table = pa.table({"q": ["x", "x", "y"], "s": ["a", "b", None]})
again = sf.read(table, sf.Schema(quasi=["q"]), engine="spark")
conf = again.engine._session.sparkContext.getConf()
print(again.people, conf.get("spark.driver.memory"), conf.get("spark.ui.enabled"),
      conf.get("spark.driver.bindAddress"), conf.get("spark.sql.shuffle.partitions"))
"""


def test_a_session_of_ours_tells_what_duckdb_tells_and_leaves_nothing(
    java: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Started by the program in a process of its own: quiet, with the settings it was given."""
    (tmp_path / "spill").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    pa_csv.write_csv(census(2000, seed=3), "census.csv")
    Path("policy.toml").write_text(census_policy())
    order = ["audit", "census.csv", "--policy", "policy.toml", "--json"]
    expected = sfumato(*order)
    ours = ["--engine", "spark", "--master", "local[1]", "--memory", "600MB"]
    ours += ["--spill", str(tmp_path / "spill")]
    strict = ["-W", "error"]
    if metadata.version("pyspark") < "4.2":  # leaves sockets open
        strict += ["-W", "ignore::ResourceWarning"]
    run = subprocess.run(
        [sys.executable, *strict, "-c", OWN, *order, *ours],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stderr == expected.stderr == ""
    *told, code, settings = run.stdout.splitlines()
    assert (code, settings) == (str(expected.returncode), "3 572m false 127.0.0.1 2")
    assert json.loads("\n".join(told)) == json.loads(expected.stdout)
    assert sorted(path.name for path in Path().iterdir()) == ["census.csv", "policy.toml"]
    assert not any((tmp_path / "spill").iterdir())
