"""Mondrian against anonypy on Adult, and on ten million synthetic rows.

Prints ratios; every figure of a ratio is measured in this run on the same rows.

    python benchmarks/mondrian.py [--rows 30000] [--large 10000000] [--data DIR] [--peer PYTHON]

Adult: eight quasi-identifiers without hierarchies (anonypy knows none), k = 5. Reading counts for
neither; what anonypy returns are its published rows, so ours is the release, judged, and its rows.
The large table is partitioned in a process of its own whose peak memory is read from the operating
system: eight quasi-identifiers, k = 10 and distinct l = 3, first and second (warm) run.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

SHARED = Path(__file__).parents[2] / "shared" / "data"
K, L = 10, 3
SIZES = {
    "age": 80,
    "town": 40,
    "job": 12,
    "school": 8,
    "children": 6,
    "status": 5,
    "sex": 2,
    "car": 2,
}


def best(run: Callable[[], object], times: int = 3) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def make(path: Path, rows: int, seed: int = 7) -> None:
    """Eight columns of skewed numbers, twelve sensitive values; 10M rows are 5.9M tuples."""
    rng = np.random.default_rng(seed)
    writer = None
    for start in range(0, rows, 1_000_000):
        n = min(1_000_000, rows - start)
        columns = {name: (rng.beta(2.8, 5.6, n) * size).astype(int) for name, size in SIZES.items()}
        columns["disease"] = rng.geometric(0.25, n).clip(1, 12)
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def large(path: Path) -> None:
    """Read and partition; print what the parent wants to know."""
    import sfumato as sf
    from sfumato.anonymizers.base import Task
    from sfumato.anonymizers.mondrian.mondrian import Mondrian

    start = time.perf_counter()
    table = sf.read(path, sf.Schema(quasi=list(SIZES), sensitive="disease"))
    read = time.perf_counter() - start
    reading = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    task = Task(table, (sf.KAnonymity(K), sf.DistinctDiversity(L)))
    first = best(lambda: Mondrian().run(task), 1)
    warm = best(lambda: Mondrian().run(task), 2)
    groups = len(Mondrian().run(task).groups)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"{len(table.counts):,} distinct tuples, {groups:,} groups")
    print(f"read                     {read:8.2f} s, peak {reading:.2f} GiB")
    print(f"first run                {first:8.2f} s")
    print(f"second run, warm         {warm:8.2f} s    (advisory 4 s)")
    print(f"peak memory              {peak:8.2f} GiB")


def adults(folder: Path, rows: int, python: str | None) -> None:
    import sfumato as sf
    from sfumato.anonymizers.base import Task
    from sfumato.anonymizers.mondrian.mondrian import Mondrian
    from sfumato.datasets.public_files import ADULT_QUASI as QUASI
    from sfumato.datasets.public_files import ADULT_SENSITIVE as SENSITIVE
    from sfumato.datasets.public_files import adult
    from sfumato.release.release import Release

    file, schema = adult(folder)
    frame = pc.read_csv(file, parse_options=pc.ParseOptions(delimiter=";"))[:rows]
    plain = sf.read(frame, sf.Schema(quasi=QUASI, sensitive=SENSITIVE))
    nested = sf.read(frame, schema)

    def once(table: sf.Table) -> Release:
        release = Mondrian().run(Task(table, (sf.KAnonymity(5),)))
        release.tables()
        return release

    start = time.perf_counter()
    groups = len(once(plain).groups)
    print(f"first run in this process{time.perf_counter() - start:9.3f} s")
    ours, along = best(lambda: once(plain)), best(lambda: once(nested))
    print(f"Mondrian k=5, {len(frame):,} rows {ours:8.3f} s    {groups:,} groups")
    print(f"along hierarchies        {along:9.3f} s    {len(once(nested).groups):,} groups")
    if python:
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary) / "adult.parquet"
            pq.write_table(frame, path)
            script = Path(__file__).parent / "peers" / "anonypy_mondrian.py"
            out = subprocess.run(
                [python, str(script), str(path), "5", SENSITIVE, *QUASI],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.split()
        theirs = float(out[-1])
        print(f"anonypy                  {theirs:9.1f} s    {int(out[-2]):,} groups")
        print(f"anonypy / ours           {theirs / ours:9.0f}      (bound 200)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--large", type=int, default=10_000_000)
    parser.add_argument("--data", type=Path, default=os.environ.get("SFUMATO_DATA", SHARED))
    parser.add_argument("--peer", help="a Python that has anonypy")
    parser.add_argument("--peak", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak:
        large(arguments.peak)
        return
    adults(Path(arguments.data), arguments.rows, arguments.peer)
    if arguments.large:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "large.parquet"
            make(path, arguments.large)
            print(f"{arguments.large:,} synthetic rows, k={K} and distinct l={L}:", flush=True)
            subprocess.run([sys.executable, __file__, "--peak", str(path)], check=True)


if __name__ == "__main__":
    main()
