"""72 lattice nodes against six realistic adversaries, over the bare GROUP BY of the finest node.

    python benchmarks/realistic.py [--rows 3000000]

Rows are synthetic and ACS-like: age (73 values, ranges of 5, 10, 20, 40, all: 6 levels), marital
status (3 levels), race and sex (2 levels each), salary class sensitive (2 values), in Parquet.
Adversaries as in the paper's Section 4: A_d and A_c (class I, uniform and the table's shape) with
stubbornness 1e6, A_- (class II) with 1e3 and 1e6, A_d and A_c endless (class III). "Everything" is
reading and counting the file, every node rolled up, and the smallest epsilon of every node against
every adversary. Bare GROUP BY: DuckDB grouping the same file by QIs and salary and fetching Arrow,
same process. Both warm, alternating, best of 5; the first call, with compilation, is told apart.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from math import inf
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from results import tell

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.lattice.nodes import Judge
from sfumato.workflow.containment import every_node

QUASI = ["age", "marital", "race", "sex"]
MARITAL = {
    "married": ("ever", "*"),
    "divorced": ("ever", "*"),
    "widowed": ("ever", "*"),
    "never": ("never married", "*"),
}
ADVERSARIES = {
    "A_d 1e6": sf.RealisticAdversary("uniform", 1e6),
    "A_c 1e6": sf.RealisticAdversary("table", 1e6),
    "A_- 1e3": sf.RealisticAdversary(stubbornness=1e3),
    "A_- 1e6": sf.RealisticAdversary(stubbornness=1e6),
    "A_d inf": sf.RealisticAdversary("uniform", inf),
    "A_c inf": sf.RealisticAdversary("table", inf),
}
Levels = tuple[int, ...]


def make(path: Path, rows: int, seed: int = 11) -> None:
    """ACS-like rows: income depends on age, sex and marriage."""
    rng = np.random.default_rng(seed)
    writer = None
    for start in range(0, rows, 1_000_000):
        n = min(1_000_000, rows - start)
        age = (17 + 73 * rng.beta(1.6, 2.2, n)).astype(np.int64)
        sex = rng.integers(0, 2, n)
        marital = rng.choice(4, n, p=[0.5, 0.15, 0.05, 0.3])
        odds = 0.1 + 0.2 * np.exp(-(((age - 48) / 15) ** 2)) + 0.1 * (marital == 0) + 0.1 * sex
        table = pa.table(
            {
                "age": age,
                "marital": np.array(list(MARITAL))[marital],
                "race": np.array(["white", "other"])[(rng.random(n) < 0.25).astype(int)],
                "sex": np.array(["F", "M"])[sex],
                "salary": np.array(["<=50K", ">50K"])[(rng.random(n) < odds).astype(int)],
                "unused": rng.random(n),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def schema() -> sf.Schema:
    return sf.Schema(
        quasi=QUASI,
        sensitive="salary",
        hierarchies={
            "age": sf.intervals([5, 10, 20, 40]),
            "marital": sf.taxonomy({value: path[0] for value, path in MARITAL.items()}),
            "race": sf.suppression(),
            "sex": sf.suppression(),
        },
    )


def everything(path: Path) -> dict[Levels, dict[str, float]]:
    """The smallest epsilon of every node against every adversary."""
    table = sf.read(path, schema())
    criteria = {name: sf.EpsilonPrivacy(2.5, her) for name, her in ADVERSARIES.items()}
    judge = Judge(Task(table, tuple(criteria.values())))
    found: dict[Levels, dict[str, float]] = {}
    for node in every_node(judge):
        groups = judge.groups(node, 0)
        found[node.levels] = {
            name: criterion.measure(groups).value for name, criterion in criteria.items()
        }
    return found


def group_by(path: Path) -> pa.Table:
    columns = ", ".join([*QUASI, "salary"])
    return duckdb.sql(
        f"SELECT {columns}, count(*) AS n FROM read_parquet('{path}') GROUP BY {columns}"
    ).to_arrow_table()


def timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        make(path, rows)
        first = timed(lambda: everything(path))
        bare, ours, reading = [], [], []
        for _ in range(5):
            bare.append(timed(lambda: group_by(path)))
            ours.append(timed(lambda: everything(path)))
            reading.append(timed(lambda: sf.read(path, schema())))
        found = everything(path)
    tell(
        f"epsilon of {len(found):,} nodes, {len(ADVERSARIES)} adversaries, {rows:,} rows",
        min(ours),
        other=min(bare),
        against="bare GROUP BY",
        at_most=3,
        why=f"reading takes {min(reading):.2f} s of it; first call {first:.2f} s",
    )
    print("smallest epsilon, nodes with at least one below 20:")
    print(" " * 14 + "".join(f"{name:>10}" for name in ADVERSARIES))
    for levels, row in found.items():
        if min(row.values()) < 20:
            print(f"{levels!s:14}" + "".join(f"{value:10.3g}" for value in row.values()))


if __name__ == "__main__":
    main()
