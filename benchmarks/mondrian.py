"""Mondrian against anonypy on Adult, and on ten million synthetic rows.

Prints ratios; every figure of a ratio is measured in this run on the same rows.

    python benchmarks/mondrian.py [--rows 30000] [--large 10000000] [--data DIR] [--folder DIR]
        [--peer PYTHON]

Adult: eight quasi-identifiers without hierarchies (anonypy knows none), k = 5. Reading counts for
neither; what anonypy returns are its published rows, so ours is the release, judged, and its rows.
The large table is partitioned in a process of its own whose peak memory is read from the operating
system: eight quasi-identifiers, k = 10 and distinct l = 3, first and second (warm) run. The floor
of the partition is a bare compiled one of the same codes (`bare_partition.py`), that of reading a
bare GROUP BY of the same columns fetched to Arrow, each in the same process. The file stays in the
folder.
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
from results import tell

SHARED = Path(__file__).parents[2] / "shared" / "data"
K, L = 10, 3
WHY = "seconds advise; every level of the search goes over all rows several times"
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
    import duckdb
    from bare_partition import partition

    import sfumato as sf
    from sfumato.anonymizers.base import Task
    from sfumato.anonymizers.mondrian.mondrian import Mondrian

    keys = ", ".join((*SIZES, "disease"))
    query = f"SELECT {keys}, COUNT(*) FROM read_parquet('{path}') GROUP BY {keys}"
    schema = sf.Schema(quasi=list(SIZES), sensitive="disease")
    grouped = best(lambda: duckdb.connect().sql(query).to_arrow_table(), 2)
    read = best(lambda: sf.read(path, schema), 2)
    table = sf.read(path, schema)
    reading = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    counts = table.counts.in_memory("a bare partition")
    codes = np.ascontiguousarray(counts.codes.T)
    sizes = np.array([len(domain) for domain in counts.quasi], dtype=np.int64)
    tuples = (codes, counts.n, counts.values[0], sizes)
    partition(*(part[:1000] for part in tuples[:3]), sizes, K, L)  # compiles
    groups = partition(*tuples, K, L)
    floor = best(lambda: partition(*tuples, K, L), 2)
    task = Task(table, (sf.KAnonymity(K), sf.DistinctDiversity(L)))
    first = best(lambda: Mondrian().run(task), 1)
    start = time.perf_counter()
    made = len(Mondrian().run(task).groups)
    warm = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    rows = f"{table.people // 1_000_000}M rows"
    tell(f"Mondrian, {rows}, read", read, other=grouped, against="bare GROUP BY", at_most=3)
    tell(f"Mondrian, {rows}, k = {K} and l = {L}", warm, at_most=4, missed=WHY)
    tell(f"Mondrian, {rows}, against its floor", warm, other=floor, against="bare partition")
    print(f"  {len(counts):,} distinct tuples, {made:,} groups (bare: {groups:,}); first run")
    print(f"  {first:.2f} s; peak {reading:.2f} GiB read, {peak:.2f} GiB in all", flush=True)


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
        tell(
            "Mondrian, Adult, k = 5",
            ours,
            other=theirs,
            against="anonypy",
            at_least=200,
            missed="a fifth of a second beside half a minute, half of it in threads: 154, 232 and "
            "692 times were measured on two cores of one kind",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--large", type=int, default=10_000_000)
    parser.add_argument("--data", type=Path, default=os.environ.get("SFUMATO_DATA", SHARED))
    here = Path(tempfile.gettempdir()) / "sfumato-scale"
    parser.add_argument("--folder", type=Path, default=here)
    parser.add_argument("--peer", help="a Python that has anonypy")
    parser.add_argument("--peak", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak:
        large(arguments.peak)
        return
    adults(Path(arguments.data), arguments.rows, arguments.peer)
    if arguments.large:
        path = arguments.folder / f"mondrian-{arguments.large}.parquet"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            make(path.with_suffix(".part"), arguments.large)
            path.with_suffix(".part").rename(path)
        subprocess.run([sys.executable, __file__, "--peak", str(path)], check=True)


if __name__ == "__main__":
    main()
