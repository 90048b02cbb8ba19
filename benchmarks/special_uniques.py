"""Special uniques of a large table against a plain floor: one GROUP BY per combination of columns.

    python benchmarks/special_uniques.py [--rows 50000] [--columns 10] [--size 5]

Skewed columns of 2 to 80 values. The floor counts every combination with DuckDB (the same rows in
memory, all threads) and fetches the combinations' unique cells: what a search without pruning pays
before it looks whose they are and which of them are minimal. First call (compiling, or loading what
was compiled before) and warm, best of 3.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import combinations

import duckdb
import numpy as np
import pyarrow as pa
from results import tell

import sfumato as sf

VALUES = (2, 3, 5, 7, 9, 12, 15, 20, 40, 80)


def made(rows: int, columns: int) -> pa.Table:
    rng = np.random.default_rng(0)
    sizes = [VALUES[place % len(VALUES)] for place in range(columns)]
    drawn = [np.minimum((rng.random(rows) ** 2 * size).astype(int), size - 1) for size in sizes]
    return pa.table({f"c{place}": values for place, values in enumerate(drawn)})


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock, and seconds of all cores."""
    start, used = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - start, time.process_time() - used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--size", type=int, default=5)
    given = parser.parse_args()
    data = made(given.rows, given.columns)
    table = sf.read(data, sf.Schema(quasi=data.column_names))
    first = timed(lambda: sf.special_uniques(table, given.size))
    warm = min(timed(lambda: sf.special_uniques(table, given.size)) for _ in range(3))
    found = sf.special_uniques(table, given.size)

    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT * FROM data")

    def floor() -> None:
        for at in range(1, given.size + 1):
            for columns in combinations(data.column_names, at):
                listed = ", ".join(columns)
                connection.sql(
                    f"SELECT {listed} FROM t GROUP BY {listed} HAVING count(*) = 1"
                ).to_arrow_table()

    plain = min(timed(floor) for _ in range(2))
    sets = sum(1 for at in range(1, given.size + 1) for _ in combinations(range(given.columns), at))
    print(
        f"{given.rows:,} rows, {given.columns} columns, up to {given.size}: {sets:,} combinations"
    )
    print(f"{sum(found.by_size):,} MSUs of {found.special:,} people {found.by_size}")
    what = f"special uniques, {given.rows:,} x {given.columns} up to {given.size}"
    tell(f"{what}, first call", first[0], at_most=20)
    tell(what, warm[0], at_most=20)
    tell(what, warm[0], other=plain[0], against="one GROUP BY per set", at_least=1)


if __name__ == "__main__":
    main()
