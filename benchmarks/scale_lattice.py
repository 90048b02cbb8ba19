"""A lattice of 72 nodes on tables larger than memory: passes, not scans, and peak memory.

    python benchmarks/scale_lattice.py [--folder DIR] [--rows 10000000 100000000] [--memory 2GB]

Five columns (3 x 3 x 2 x 2 x 2 levels), k = 10, l = 3, suppression up to 5 %, loss. The data are
scanned when the table is read: once for each key column's values and once to count. The search
reads none of them again, however many nodes it looks at; it reads the compact table of distinct
tuples (told as passes), and smaller tables that the engine rolls up from it. Each number of rows
runs in a process of its own; `--memory` is the limit of all of them.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import people
import pyarrow as pa
from results import tell
from scale import GROWTH, STORED, named

import sfumato as sf
from sfumato.anonymizers.lattice.lattice import LatticeFindings
from sfumato.engines.duckdb import DuckDB

ZONES = {f"R{region:02}": f"zone {region // 10}" for region in range(people.REGIONS)}
SCHEMA = sf.Schema(
    quasi=["age", "region", "country", "education", "marital"],
    sensitive="job",
    hierarchies={"age": sf.intervals([10]), "region": sf.taxonomy(ZONES)},
)
POLICY = sf.Policy([sf.KAnonymity(10), sf.DistinctDiversity(3)], sf.Lattice(), suppression=0.05)


class Scans:
    """Counts the queries that read the data themselves."""

    def __init__(self) -> None:
        self.seen = 0
        materialize, fetch = DuckDB.materialize, DuckDB.fetch

        def watched_materialize(engine: DuckDB, name: str, select: str, **how: bool) -> None:
            self.seen += "source_1" in select
            materialize(engine, name, select, **how)

        def watched_fetch(engine: DuckDB, select: str, **how: bool) -> pa.Table:
            self.seen += "source_1" in select
            return fetch(engine, select, **how)

        DuckDB.materialize, DuckDB.fetch = watched_materialize, watched_fetch  # type: ignore


def run(path: Path, memory: str) -> None:
    """One table, told as JSON."""
    scans = Scans()
    with tempfile.TemporaryDirectory(dir=path.parent) as spill:
        start = time.perf_counter()
        table = sf.read(path, SCHEMA, memory=memory, spill=spill)
        reading, scanned = time.perf_counter() - start, scans.seen
        start = time.perf_counter()
        release = sf.anonymize(table, POLICY, seed=1)
        seconds = time.perf_counter() - start
        findings = LatticeFindings.of(release.made)
        assert findings is not None
        assert findings.search is not None
        found = findings.search
        told = {
            "reading": reading,
            "seconds": seconds,
            "scans": [scanned, scans.seen - scanned],
            "tuples": len(table.counts),
            "held": not table.counts.fits_memory,
            "nodes": prod(found.heights),
            "judged": len(found.nodes),
            "passes": None if found.passes is None else found.passes.finest,
            "rolled": None if found.passes is None else found.passes.rolled,
            "best": found.best.levels,
            "cost": found.best.cost,
            "groups": len(release.groups),
            "suppressed": release.suppressed,
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }
    print(json.dumps(told))


def in_a_process(path: Path, memory: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--file", str(path), "--memory", memory]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    if told.returncode:
        raise SystemExit(f"{path.name} failed: {told.stderr.strip().splitlines()[-1]}")
    found: dict[str, Any] = json.loads(told.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(tempfile.gettempdir()) / "sfumato-scale"
    parser.add_argument("--folder", type=Path, default=here)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.file:
        run(given.file, given.memory)
        return
    # Compiled code is loaded from its cache; the first run of a new version compiles it.
    in_a_process(people.write(given.folder / "warm.parquet", 10_000), given.memory)
    taken, held, nodes = [], [], 0
    for rows in given.rows:
        path = people.write(given.folder / f"people-{rows}.parquet", rows)
        one = in_a_process(path, given.memory)
        taken.append(one["seconds"])
        held.append(one["held"])
        nodes = one["nodes"]
        tell(
            f"lattice of {nodes} nodes: scans of the data while it searches, {named(rows)}",
            one["scans"][1],
            at_most=0,
            unit="scans",
        )
        beyond = (
            f"beyond memory: {one['passes']} passes over it, {one['rolled']} over smaller tables"
            if one["held"]
            else "in memory"
        )
        print(
            f"{rows:>11,} rows  reading {one['reading']:6.1f} s  lattice {one['seconds']:6.1f} s  "
            f"peak {one['peak'] / 1e9:4.2f} GB\n"
            f"    scans of the data: {one['scans'][0]} to read it, {one['scans'][1]} to search\n"
            f"    compact table of {one['tuples']:,} tuples, {beyond}\n"
            f"    {one['judged']} of {one['nodes']} nodes judged, best {tuple(one['best'])}, loss "
            f"{one['cost']:.4f}, {one['groups']:,} groups, {one['suppressed']:,} suppressed",
            flush=True,
        )
    for place, (less, more) in enumerate(pairwise(taken)):
        few, many = given.rows[place : place + 2]
        tell(
            f"lattice of {nodes} nodes, {named(many)}",
            more,
            other=less,
            against=named(few),
            at_most=GROWTH * many / few,
            missed="" if held[place] == held[place + 1] else STORED,
        )


if __name__ == "__main__":
    main()
