"""A standalone cluster on this machine: a master and two workers, one of which may be killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from tests.conftest import QUICK_JAVA, ROOT
from tests.engines.spark.cluster_driver import POLICY, SCHEMA, children, digest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="processes are found in /proc"
)
SOME, MANY = 30_000, 200_000


@dataclass
class Cluster:
    """The master's address and the processes of the workers."""

    master: str
    workers: list[subprocess.Popen[bytes]]


@pytest.fixture(scope="module")
def cluster(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started: list[subprocess.Popen[bytes]] = []
    try:
        master = f"spark://127.0.0.1:{port}"
        place = ["--host", "127.0.0.1", "--webui-port", "0"]
        started.append(start(folder, "master", "Master", *place, "--port", str(port)))
        wait_for(folder / "master.log", "I have been elected leader")
        for name in ("one", "two"):
            sizes = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / name)]
            started.append(start(folder, name, "Worker", *place, *sizes, master))
        for name in ("one", "two"):
            wait_for(folder / f"{name}.log", "Successfully registered with master")
        yield Cluster(master, started[1:])
    finally:
        for process in started:
            for each in [*children(process.pid), process.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
            process.wait(timeout=30)


def start(folder: Path, name: str, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
    import pyspark

    home = Path(pyspark.__file__).parent
    settings = {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
    }
    service = f"org.apache.spark.deploy.{kind.lower()}.{kind}"
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [home / "bin" / "spark-class", service, *arguments],
            env={**os.environ, **settings},
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
        )


def wait_for(log: Path, text: str) -> None:
    deadline = time.monotonic() + 60
    while text not in log.read_text(errors="replace"):
        assert time.monotonic() < deadline, log.read_text(errors="replace")
        time.sleep(0.1)


def people(file: Path, rows: int) -> Path:
    chance = np.random.default_rng(7)

    def some(values: list[Any], skew: float) -> pa.Array:
        chosen = (chance.beta(1, skew, rows) * len(values)).astype(np.int32)
        return pa.array(values).take(pa.array(chosen))

    table = pa.table(
        {
            "age": some(list(range(100)), 1.5),
            "zip": some([f"1{n:03d}" for n in range(400)], 3),
            "sex": some(["F", "M", None], 1),
            "disease": some([f"d{n}" for n in range(9)], 2),
        }
    )
    pq.write_table(table, file, row_group_size=rows // 16)
    return file


def by_duckdb(file: Path) -> sf.Release:
    release = sf.anonymize(sf.read(file, SCHEMA), POLICY, seed=1)
    assert len(release.groups) > 1000
    return release


@dataclass
class Run:
    """What the program told, the tables that it read and the release that it wrote."""

    told: dict[str, Any]
    tables: list[Path]
    out: Path
    worker: subprocess.Popen[bytes]


@pytest.fixture(scope="module")
def run(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("run")
    tables = [people(folder / f"{rows}.parquet", rows) for rows in (SOME, MANY)]
    # Many small tasks, so that there is a mid-run to speak of.
    sizes = {
        "spark.sql.files.maxPartitionBytes": tables[1].stat().st_size // 16,
        "spark.sql.files.openCostInBytes": 0,
        "spark.sql.shuffle.partitions": 4,
        # Compiling each query, on each machine, would take longer than running it.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    small = " ".join(f"--conf {name}={size}" for name, size in sizes.items())
    quick = f"--driver-java-options '{QUICK_JAVA}'"
    quick += f" --conf 'spark.executor.extraJavaOptions={QUICK_JAVA}'"
    driver, worker = Path(__file__).with_name("cluster_driver.py"), cluster.workers[0]
    told = subprocess.run(
        [sys.executable, driver, cluster.master, *tables, folder / "out", str(worker.pid)],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYSPARK_SUBMIT_ARGS": f"{small} {quick} pyspark-shell",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    assert told.stderr == ""
    return Run(json.loads(told.stdout), tables, folder / "out", worker)


def rows_in(out: Path) -> list[Any]:
    """The published rows that are different, and how often each is there."""
    parts = out / "public" / "data"
    found = f"{parts}/*.parquet" if parts.is_dir() else f"{out}/public/data.parquet"
    rows = duckdb.sql(f"SELECT *, COUNT(*) FROM '{found}' GROUP BY ALL").fetchall()
    return sorted(rows, key=repr)


def test_spark_on_a_cluster(run: Run, tmp_path: Path) -> None:
    release = by_duckdb(run.tables[0])
    assert run.told["whole"] == {"people": SOME, "groups": digest(release), "executors": 2}
    release.save(tmp_path / "out", format="parquet")
    assert rows_in(run.out) == rows_in(tmp_path / "out")


def test_spark_loses_a_worker_in_mid_run(run: Run) -> None:
    (killed,) = run.told["killed"]
    assert killed["done"] < killed["of"]
    assert run.worker.wait(timeout=10) == -signal.SIGKILL
    release = by_duckdb(run.tables[1])
    assert run.told["broken"] == {"people": MANY, "groups": digest(release), "executors": 1}
