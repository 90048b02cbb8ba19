"""One audit with every criterion of the spine, against a bare GROUP BY and against pycanon.

Prints ratios; every figure of a ratio is measured in this run on the same file.

    python benchmarks/audit.py [--rows 1000000] [--large 10000000] [--peer PYTHON]

Bare GROUP BY: DuckDB grouping the same Parquet file by QIs and sensitive column and fetching the
result to Arrow, same process, warm, best of 5. The large table is audited in a process of its own
whose peak memory is read from the operating system.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from results import tell

QUASI = ["age", "zip", "education", "marital"]
SENSITIVE = "salary"


def make(path: Path, rows: int, seed: int = 7) -> None:
    """A table of about 18,000 distinct QI combinations and ten sensitive values, in Parquet."""
    rng = np.random.default_rng(seed)
    writer = None
    for start in range(0, rows, 1_000_000):
        n = min(1_000_000, rows - start)
        age = rng.integers(30, 60, n)
        zips = np.array([f"130{code:02d}" for code in range(10)])
        education = np.array([f"education level {code}" for code in range(10)])
        marital = np.array([f"marital status {code}" for code in range(6)])
        shift = age // 10
        salary = (rng.geometric(0.25, n) + shift).clip(1, 10) * 1_000
        table = pa.table(
            {
                "age": age,
                "zip": zips[rng.integers(0, 10, n)],
                "education": education[rng.integers(0, 10, n)],
                "marital": marital[rng.integers(0, 6, n)],
                "salary": salary,
                "unused": rng.random(n),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def criteria() -> list[object]:
    import sfumato as sf

    return [
        sf.KAnonymity(5),
        sf.AlphaK(0.5, 5),
        sf.DistinctDiversity(3),
        sf.EntropyDiversity(3),
        sf.RecursiveDiversity(3, 3),
        sf.TCloseness(0.3),
        sf.TCloseness(0.3, distance="ordered"),
        sf.TCloseness(0.3, distance=sf.intervals([2_000, 4_000])),
        sf.BetaLikeness(2),
        sf.BetaLikeness(2, enhanced=True),
        sf.DeltaDisclosure(2),
    ]


def our_audit(path: Path) -> object:
    import sfumato as sf

    table = sf.read(path, sf.Schema(quasi=QUASI, sensitive=SENSITIVE))
    return sf.audit(table, criteria())  # type: ignore[arg-type]


def bare(path: Path) -> int:
    import duckdb

    keys = ", ".join([*QUASI, SENSITIVE])
    connection = duckdb.connect()
    query = f"SELECT {keys}, COUNT(*) FROM read_parquet('{path}') GROUP BY {keys}"
    return connection.sql(query).to_arrow_table().num_rows


def best(run: Callable[[], object], times: int = 5) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def peer(path: Path, python: str) -> float:
    """pycanon computing k, l, t and beta one by one on the same rows, reading not counted."""
    script = Path(__file__).parent / "peers" / "pycanon_audit.py"
    out = subprocess.run(
        [python, str(script), str(path), SENSITIVE, *QUASI],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(out.stdout.split()[-1])


def cold_starts(folder: Path) -> None:
    """The command line from a cold start: help, and the audit of a 30,000-row CSV."""
    import pyarrow.csv as pa_csv

    from sfumato.datasets.census import census, census_policy

    pa_csv.write_csv(census(30_000), folder / "census.csv")
    (folder / "policy.toml").write_text(census_policy())
    program = [sys.executable, "-c", "from sfumato.cli.main import run; run()"]
    audit = [*program, "audit", str(folder / "census.csv"), "--policy", str(folder / "policy.toml")]
    empty = best(lambda: subprocess.run([sys.executable, "-c", ""], check=True))
    helped = best(lambda: subprocess.run([*program, "--help"], capture_output=True, check=True))
    audited = best(lambda: subprocess.run(audit, capture_output=True, check=False), 3)
    tell("sfumato --help, a new process", helped, at_most=0.3)
    tell("python -c '', a new process", empty)
    imports = "about half a second are imports of Python, NumPy, Arrow and DuckDB"
    work = "audit of 30,000 rows of CSV, a new process"
    tell(work, audited, at_most=1.5, missed=imports)


def peak_of_large(path: Path) -> None:
    start = time.perf_counter()
    our_audit(path)
    taken = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"{taken:.2f} {peak:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--large", type=int, default=10_000_000)
    parser.add_argument("--peer", help="a Python that has pycanon (it pins older libraries)")
    parser.add_argument("--peak", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak:
        peak_of_large(arguments.peak)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        make(path, arguments.rows)
        start = time.perf_counter()
        report = our_audit(path)
        print(f"first audit in this process {time.perf_counter() - start:8.3f} s")
        print(f"groups                      {report.summary.groups:8,}")  # type: ignore[attr-defined]
        tuples = bare(path)
        ours, floor = best(lambda: our_audit(path)), best(lambda: bare(path))
        print(f"distinct tuples             {tuples:8,}")
        work = f"audit, 11 criteria, {arguments.rows:,} rows"
        tell(work, ours, other=floor, against="bare GROUP BY", at_most=3)
        if arguments.peer:
            theirs = peer(path, arguments.peer)
            tell(work, ours, other=theirs, against="pycanon: k, l, t, beta", at_least=100)
        cold_starts(Path(folder))
        if arguments.large:
            large = Path(folder) / "large.parquet"
            make(large, arguments.large)
            out = subprocess.run(
                [sys.executable, __file__, "--peak", str(large)],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.split()
            tell(f"audit of {arguments.large:,} rows, a new process", float(out[0]))
            tell("its peak memory", float(out[1]), at_most=2, unit="GiB")


if __name__ == "__main__":
    main()
