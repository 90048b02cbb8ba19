"""Every combination of columns against every other column, over the bare GROUP BY of all columns.

    python benchmarks/leakage.py [--rows 10000000] [--data FOLDER]

Adult: 9 columns, all combinations up to 4 of them against every other column, from the table in
memory (bound 3 s, warm). Synthetic rows in Parquet, 8 columns of 2 to 73 values that depend on
each other, combinations up to 3 against every other column: reading and counting the file and
characterizing it, over one bare GROUP BY of all eight columns by DuckDB, fetched to Arrow, in the
same process. Warm, alternating, best of 3; first calls, with compilation, are told apart.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from results import tell

import sfumato as sf
from sfumato.datasets.public_files import adult

SIZES = {
    "age": 73,
    "sex": 2,
    "race": 5,
    "marital": 7,
    "education": 16,
    "region": 50,
    "work": 7,
    "occupation": 14,
}
COLUMNS = list(SIZES)
TIMES = 3


def make(path: Path, rows: int, seed: int = 11) -> None:
    """People whose schooling, marriage, work and occupation depend on age, sex and each other."""
    rng = np.random.default_rng(seed)
    labels = {name: np.array([f"{name} {at:02d}" for at in range(n)]) for name, n in SIZES.items()}
    writer = None
    for start in range(0, rows, 1_000_000):
        n = min(1_000_000, rows - start)
        age = (73 * rng.beta(1.6, 2.2, n)).astype(np.int64)
        sex = rng.integers(0, 2, n)
        region = np.minimum(rng.zipf(1.3, n) - 1, 49)
        race = np.minimum(rng.geometric(0.6, n) - 1 + (region % 7 == 0), 4)
        education = np.clip(rng.normal(9 - age / 40, 2.2, n), 0, 15).astype(np.int64)
        marital = np.clip(rng.normal(age / 22, 0.9, n), 0, 6).astype(np.int64)
        work = np.minimum(rng.geometric(0.55, n) - 1 + (age > 60), 6)
        occupation = np.clip(rng.normal(education * 0.8 + sex, 1.6, n), 0, 13).astype(np.int64)
        found = (age, sex, race, marital, education, region, work, occupation)
        table = pa.table(
            {name: labels[name][codes] for name, codes in zip(COLUMNS, found, strict=True)}
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def read(path: Path) -> sf.Table:
    return sf.read(path, sf.Schema(quasi=COLUMNS[:-1], sensitive=COLUMNS[-1]))


def group_by(path: Path) -> pa.Table:
    columns = ", ".join(COLUMNS)
    return duckdb.sql(
        f"SELECT {columns}, count(*) AS n FROM read_parquet('{path}') GROUP BY {columns}"
    ).to_arrow_table()


def timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def on_adult(folder: Path) -> None:
    table = sf.read(*adult(folder))
    names = [*table.schema.quasi, *table.schema.sensitive]

    def every() -> sf.Characterization:
        return sf.characterize(table, 4, "*", columns=names)

    first = timed(every)
    best = min(timed(every) for _ in range(TIMES))
    print(f"Adult, 9 columns up to 4      {len(every().findings):12,} combinations and targets")
    print(f"  first call                  {first:12.3f} s")
    tell("characterize Adult, 9 columns up to 4", best, at_most=3)


def on_rows(rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        make(path, rows)
        first = timed(lambda: sf.characterize(read(path), 3, "*", columns=COLUMNS))
        bare, reading, whole, alone = [], [], [], []
        for _ in range(TIMES):
            bare.append(timed(lambda: group_by(path)))
            start = time.perf_counter()
            table = read(path)
            reading.append(time.perf_counter() - start)
            found = sf.characterize(table, 3, "*", columns=COLUMNS)
            whole.append(time.perf_counter() - start)
            alone.append(whole[-1] - reading[-1])
    print(f"rows                          {rows:12,}  ({len(table.counts):,} distinct tuples)")
    print(f"combinations and targets      {len(found.findings):12,}")
    print(f"  reading and counting        {min(reading):12.3f} s")
    print(f"  characterizing              {min(alone):12.3f} s")
    print(f"  first call                  {first:12.3f} s")
    work = f"read and characterize, {rows:,} rows"
    tell(work, min(whole), other=min(bare), against="bare GROUP BY", at_most=5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--data", type=Path, default=os.environ.get("SFUMATO_DATA"))
    given = parser.parse_args()
    if given.data is not None:
        on_adult(Path(given.data))
    else:
        print("Adult: no --data folder and no SFUMATO_DATA, left out")
    on_rows(given.rows)


if __name__ == "__main__":
    main()
