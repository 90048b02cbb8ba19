"""What a user's program does on a cluster, run as a process of its own; it loses a worker.

Arguments: the master, two tables, the folder for the release of the first, and the worker to kill
while the second is read.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import sfumato as sf

QUASI = ["age", "zip", "sex"]
SCHEMA = sf.Schema(quasi=QUASI, sensitive="disease")
POLICY = sf.Policy(require=[sf.KAnonymity(10), sf.DistinctDiversity(3)], anonymizer=sf.Mondrian())


def main(master: str, first: str, second: str, out: str, worker: str) -> None:
    whole = _run(master, first, Path(out))
    killed: list[dict[str, int]] = []
    threading.Thread(target=_kill_in_mid_run, args=(int(worker), killed), daemon=True).start()
    print(json.dumps({"whole": whole, "broken": _run(master, second), "killed": killed}))


def _run(master: str, table: str, out: Path | None = None) -> dict[str, Any]:
    read = sf.read(table, SCHEMA, engine="spark", master=master, memory="600MB")
    release = sf.anonymize(read, POLICY, seed=1)
    if out is not None:
        release.save(out, format="parquet")
    context: Any = read.engine._session.sparkContext  # type: ignore[attr-defined]
    executors = context._jsc.sc().getExecutorMemoryStatus().size() - 1
    return {"people": read.people, "groups": digest(release), "executors": executors}


def digest(release: sf.Release) -> str:
    """Every group's description and counts, in as many letters."""
    groups, regions = release.groups, release.regions
    counts = groups.dense().tolist()
    told = sorted(f"{regions.describe(group)} {counts[group]}" for group in range(len(groups)))
    return f"{len(told)} {hashlib.sha256(repr(told).encode()).hexdigest()}"


def _kill_in_mid_run(worker: int, killed: list[dict[str, int]]) -> None:
    """Once some tasks of a stage are done and others are not: no worker, no executor any more."""
    from pyspark import SparkContext

    tracker = SparkContext.getOrCreate().statusTracker()
    while not killed:
        time.sleep(0.01)
        for stage in tracker.getActiveStageIds():
            told = tracker.getStageInfo(stage)
            if told is not None and told.numTasks > 8 and 2 <= told.numCompletedTasks < 8:
                for process in [worker, *children(worker)]:
                    os.kill(process, signal.SIGKILL)
                killed.append({"done": told.numCompletedTasks, "of": told.numTasks})
                return


def children(parent: int) -> list[int]:
    """The processes that a process started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(fields[1]) == parent:
            found.append(int(stat.parent.name))
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
