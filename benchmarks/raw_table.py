"""Reading and auditing a raw table in which nearly everybody is alone, against a bare GROUP BY.

    python benchmarks/raw_table.py [--rows 1000000 10000000] [--folder DIR]

What people audit first is the file as it is: of eight quasi-identifiers there are about as many
groups as rows. Bare GROUP BY: DuckDB grouping the same Parquet file by quasi-identifiers and
sensitive column and fetching the result to Arrow, same process, warm, best of 5. The audit has the
eleven criteria of `audit.py` and an adversary's and a skyline's besides. The files stay in the
folder. Best of 5 up to a million rows, beyond best of 2.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import people
from results import tell

import sfumato as sf

CRITERIA = (
    sf.KAnonymity(5),
    sf.AlphaK(0.5, 5),
    sf.DistinctDiversity(3),
    sf.EntropyDiversity(3),
    sf.RecursiveDiversity(3, 3),
    sf.TCloseness(0.3),
    sf.BetaLikeness(2),
    sf.BetaLikeness(2, enhanced=True),
    sf.DeltaDisclosure(2),
    sf.EpsilonPrivacy(3, sf.RealisticAdversary(stubbornness=1e6)),
    sf.SkylinePrivacy([(3, 1000, 10, 1.0)]),
)


def bare(path: Path) -> int:
    keys = ", ".join((*people.QUASI, "job"))
    query = f"SELECT {keys}, COUNT(*) FROM read_parquet('{path}') GROUP BY {keys}"
    return duckdb.connect().sql(query).to_arrow_table().num_rows


def read(path: Path) -> sf.Table:
    return sf.read(path, people.schema())


def judged(path: Path) -> sf.Report:
    return sf.audit(read(path), CRITERIA)


def best(run: Callable[[], object], times: int = 5) -> tuple[float, float]:
    """Seconds by the clock and of all processors, each the least."""
    taken = []
    for _ in range(times):
        start, busy = time.perf_counter(), time.process_time()
        run()
        taken.append((time.perf_counter() - start, time.process_time() - busy))
    return min(one for one, _ in taken), min(one for _, one in taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(tempfile.gettempdir()) / "sfumato-scale"
    parser.add_argument("--folder", type=Path, default=here)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    given = parser.parse_args()
    for rows in given.rows:
        path = people.write(given.folder / f"people-{rows}.parquet", rows)
        tuples, report = bare(path), judged(path)
        times = 5 if rows <= 1_000_000 else 2
        floor, busy_floor = best(lambda path=path: bare(path), times)  # type: ignore[misc]
        reading, _ = best(lambda path=path: read(path), times)  # type: ignore[misc]
        ours, busy = best(lambda path=path: judged(path), times)  # type: ignore[misc]
        print(f"{rows:,} rows, {tuples:,} distinct tuples, {report.summary.groups:,} groups")
        shown = f"{rows // 1_000_000}M" if rows % 1_000_000 == 0 else f"{rows:,}"
        group_by = "bare GROUP BY"
        tell(f"raw table, {shown} rows, read", reading, other=floor, against=group_by, at_most=3)
        tell(f"raw table, {shown} rows, audit", ours, other=floor, against=group_by, at_most=3)
        print(f"  by processors {busy:.2f} s, {busy / busy_floor:.2f} times GROUP BY's", flush=True)


if __name__ == "__main__":
    main()
