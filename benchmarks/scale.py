"""Tables larger than memory: audit, Mondrian and writing under a memory limit, as rows grow.

Every step runs in a process of its own, so that its peak memory (resident set) is its own. The
floor of the audit is a bare GROUP BY of the same file by quasi-identifiers and sensitive column
under the same limit, its result counted, not fetched (which would not fit).

    python benchmarks/scale.py --folder DIR [--rows 1000000 10000000 100000000] [--memory 2GB]

The files (about 5 bytes a row) are made in the folder and stay there. 100 million rows take about
4 GB of disk and some minutes a step.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
import people

import sfumato as sf

STEPS = ("floor", "audit", "skyline", "kl")
CRITERIA = (
    sf.KAnonymity(5),
    sf.DistinctDiversity(3),
    sf.TCloseness(0.3),
    sf.EpsilonPrivacy(3, sf.RealisticAdversary(stubbornness=1e6)),
    sf.SkylinePrivacy([(3, 1000, 10, 1.0)]),
)
REQUIRE: dict[str, list[Any]] = {
    "skyline": [sf.SkylinePrivacy([(3, 1000, 10, 1.0)])],
    "kl": [sf.KAnonymity(10), sf.DistinctDiversity(3)],
}


def floor(path: Path, memory: str, spill: Path) -> dict[str, Any]:
    connection = duckdb.connect(
        config={
            "memory_limit": memory,
            "temp_directory": str(spill / "floor"),
            "preserve_insertion_order": False,
        }
    )
    columns = ", ".join((*people.QUASI, "job"))
    grouped = f"SELECT {columns}, COUNT(*) AS n FROM read_parquet('{path}') GROUP BY {columns}"
    start = time.perf_counter()
    ((tuples,),) = connection.sql(f"SELECT COUNT(*) FROM ({grouped})").fetchall()
    return {"seconds": time.perf_counter() - start, "tuples": tuples}


def read(path: Path, memory: str, spill: Path) -> tuple[sf.Table, float]:
    start = time.perf_counter()
    table = sf.read(path, people.schema(), memory=memory, spill=spill)
    return table, time.perf_counter() - start


def audit(path: Path, memory: str, spill: Path) -> dict[str, Any]:
    table, reading = read(path, memory, spill)
    start = time.perf_counter()
    report = sf.audit(table, CRITERIA)
    judged = time.perf_counter() - start
    return {
        "seconds": reading + judged,
        "reading": reading,
        "groups": report.summary.groups,
        "held": not table.counts.fits_memory,
    }


def anonymize(step: str, path: Path, memory: str, spill: Path) -> dict[str, Any]:
    table, reading = read(path, memory, spill)
    start = time.perf_counter()
    release = sf.anonymize(table, sf.Policy(REQUIRE[step], sf.Mondrian()), seed=1)
    made = time.perf_counter() - start
    start = time.perf_counter()
    release.save(spill / f"{step}-release", format="parquet", force=True)
    return {
        "seconds": made,
        "reading": reading,
        "writing": time.perf_counter() - start,
        "groups": len(release.groups),
        "held": not table.counts.fits_memory,
    }


def run(step: str, path: Path, memory: str) -> None:
    """One step, told as JSON with its peak memory."""
    with tempfile.TemporaryDirectory(dir=path.parent) as spill:
        work = Path(spill)
        if step == "floor":
            found = floor(path, memory, work)
        elif step == "audit":
            found = audit(path, memory, work)
        else:
            found = anonymize(step, path, memory, work)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({**found, "peak": peak}))


def in_a_process(step: str, path: Path, memory: str) -> dict[str, Any]:
    told = subprocess.run(
        [sys.executable, __file__, "--step", step, "--file", str(path), "--memory", memory],
        capture_output=True,
        text=True,
        check=False,
    )
    if told.returncode:
        raise SystemExit(f"{step} on {path.name} failed: {told.stderr.strip().splitlines()[-1]}")
    found: dict[str, Any] = json.loads(told.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(tempfile.gettempdir()) / "sfumato-scale"
    parser.add_argument("--folder", type=Path, default=here)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--step", choices=STEPS)
    parser.add_argument("--file", type=Path)
    given = parser.parse_args()
    if given.step:
        run(given.step, given.file, given.memory)
        return
    free = shutil.disk_usage(given.folder.parent).free
    print(f"memory limit {given.memory}, {free / 1e9:.0f} GB of disk free")
    # Compiled code is loaded from its cache; the first run of a new version compiles it.
    warm = people.write(given.folder / "warm.parquet", 10_000)
    for step in STEPS[1:]:
        in_a_process(step, warm, given.memory)
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for rows in given.rows:
        path = people.write(given.folder / f"people-{rows}.parquet", rows)
        for step in STEPS:
            found[step, rows] = one = in_a_process(step, path, given.memory)
            more = ", ".join(
                f"{name} {one[name]:,.1f} s" for name in ("reading", "writing") if name in one
            )
            size = one.get("tuples") or one["groups"]
            print(
                f"{rows:>11,} rows  {step:8} {one['seconds']:7.1f} s  peak "
                f"{one['peak'] / 1e9:4.2f} GB  {size:>11,} "
                f"{'tuples' if 'tuples' in one else 'groups'}"
                f"{'  beyond memory' if one.get('held') else ''}  {more}",
                flush=True,
            )
        ratio = found["audit", rows]["seconds"] / found["floor", rows]["seconds"]
        print(f"{rows:>11,} rows  audit (reading included) / bare GROUP BY: {ratio:.2f}  (bound 3)")
    for few, many in zip(given.rows, given.rows[1:], strict=False):
        for step in STEPS:
            times = found[step, many]["seconds"] / found[step, few]["seconds"]
            print(f"{step}: {many / few:g} x the rows took {times:.1f} x the time")


if __name__ == "__main__":
    main()
