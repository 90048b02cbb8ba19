"""Spark on one machine against DuckDB: the same groups, what it takes, and what Spark itself takes.

    python benchmarks/scale_spark.py [--rows 1000000 10000000] [--folder DIR] [--master 'local[2]']

Both read the same Parquet file, in a process that has read a small one before, run Mondrian
(k = 10, l = 3) and must find equal groups: what each publishes, how many people and which values.
Reading is told by the best of three; the first of them, while Java still compiles what it runs, has
a row of its own, and how cost grows is told of the first.
Beside the ratio stands Spark's own floor, in the same session: counting the rows, looking at every
cell of the columns, sending one number a row (a hash of its cells), and a bare GROUP BY by them,
its groups counted, not fetched. A reader on Spark either leaves the grouping to Spark or has it
send a number a row: it takes as long as the lesser of these, and what comes after.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import people
from results import tell
from scale import GROWTH, named

import sfumato as sf
from sfumato.engines.spark.session import open_session

REQUIRE = [sf.KAnonymity(10), sf.DistinctDiversity(3)]
GOAL = 2  # times DuckDB
HEAP = 4 << 30
READINGS = 3
STORED = (
    "a number a row comes here and is sorted either way; tuples that memory does not hold go "
    "back to Spark, those of fewer rows stay here"
)


def digest(release: sf.Release) -> str:
    """A hash of all groups: description and counts, whatever their order."""
    parts = [np.array([region.text for region in column]) for column in release.regions.parts]
    ranks = [np.unique(texts, return_inverse=True) for texts in parts]
    codes = [rank[1][code] for rank, code in zip(ranks, release.regions.codes, strict=True)]
    order = np.lexsort(codes)
    hashed = hashlib.sha256()
    for rank, code in zip(ranks, codes, strict=True):
        hashed.update("\n".join(rank[0].tolist()).encode())
        hashed.update(code[order].astype(np.int32).tobytes())
    groups = release.groups.take(order)
    values = np.lexsort((groups.indices, groups.row))
    for array in (groups.sizes, groups.indptr, groups.indices[values], groups.data[values]):
        hashed.update(array.astype(np.int64).tobytes())
    return hashed.hexdigest()


def read(path: Path, **engine: str) -> tuple[sf.Table, float]:
    """The table, and the seconds of reading it."""
    start = time.perf_counter()
    table = sf.read(path, people.schema(), **engine)  # type: ignore[arg-type]
    return table, time.perf_counter() - start


def run(path: Path, **engine: str) -> tuple[str, list[float], float, int]:
    """The groups, the seconds of each reading and of Mondrian."""
    readings = []
    for _ in range(READINGS):
        table, reading = read(path, **engine)
        readings.append(reading)
    start = time.perf_counter()
    release = sf.anonymize(table, sf.Policy(REQUIRE, sf.Mondrian()), seed=1)
    return digest(release), readings, time.perf_counter() - start, len(release.groups)


def floors(session: Any, path: Path) -> dict[str, float]:
    """Seconds that Spark takes by itself."""
    columns = (*people.QUASI, "job")
    listed, table = ", ".join(columns), f"parquet.`file://{path.absolute()}`"
    cells = ", ".join(f"COUNT({column})" for column in columns)
    queries = {
        "COUNT(*)": f"SELECT COUNT(*) FROM {table}",
        "every cell": f"SELECT {cells} FROM {table}",
        "a number a row": f"SELECT xxhash64({listed}) AS number FROM {table}",
        "GROUP BY": "SELECT COUNT(*) FROM "
        f"(SELECT {listed}, COUNT(*) AS n FROM {table} GROUP BY {listed})",
    }
    taken = {}
    for work, query in queries.items():
        start = time.perf_counter()
        session.sql(query).toArrow()
        taken[work] = time.perf_counter() - start
    return taken


def read_alone(path: Path, **engine: str) -> tuple[tuple[int, int], float]:
    """How many people and tuples there are, and the seconds of reading them."""
    table, reading = read(path, **engine)
    return (table.people, len(table.counts)), reading


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--split", type=int, default=10_000_000, help="rows that are also split")
    parser.add_argument("--master", default="local[2]")
    here = Path(tempfile.gettempdir()) / "sfumato-scale"
    parser.add_argument("--folder", type=Path, default=here)
    given = parser.parse_args()
    start = time.perf_counter()
    session = open_session(given.master, HEAP, None)
    tell("Spark, starting a session", time.perf_counter() - start)
    spark = {"engine": "spark", "master": given.master}
    warm = people.write(given.folder / "warm-spark.parquet", 300_000)
    for engine in ({}, spark):
        run(warm, **engine)
    floors(session, warm)
    taken = []
    for rows in given.rows:
        path = people.write(given.folder / f"people-{rows}.parquet", rows)
        size = named(rows)
        if rows > given.split:
            expected_sizes, reading = read_alone(path)
            sizes, slower = read_alone(path, **spark)
            if sizes != expected_sizes:
                raise SystemExit(f"{size}: Spark's people and tuples are not DuckDB's")
            tell(
                f"reading by Spark, {size}",
                slower,
                other=reading,
                against="by DuckDB",
                why=f"the same {sizes[1]:,} tuples",
            )
            taken.append(slower)
            continue
        expected, readings, _, groups = run(path)
        found, slower_readings, splitting, _ = run(path, **spark)
        reading, slower = min(readings), min(slower_readings)
        if found != expected:
            raise SystemExit(f"{size}: Spark's groups are not DuckDB's")
        print(f"{size}: the same {groups:,} groups; Mondrian after Spark {splitting:.1f} s")
        floor = floors(session, path)
        alone = ", ".join(f"{work} {seconds:.1f} s" for work, seconds in floor.items())
        tell(
            f"reading by Spark, {size}",
            slower,
            other=reading,
            against="by DuckDB",
            at_most=GOAL,
            why=f"Spark by itself: {alone}",
            missed=f"of DuckDB's reading Spark by itself takes {floor['every cell'] / reading:.1f} "
            f"times to look at the cells, {floor['a number a row'] / reading:.1f} times to send a "
            f"number of each row, {floor['GROUP BY'] / reading:.1f} times to group them; opening "
            "the file and planning a query take .2 s, however few the rows are",
        )
        tell(
            f"reading by Spark, {size}, the first time",
            slower_readings[0],
            other=readings[0],
            against="by DuckDB, the first time",
        )
        tell(
            f"reading by Spark, {size}, beside Spark itself",
            slower,
            other=floor["GROUP BY"],
            against="Spark's bare GROUP BY",
            at_most=1,
        )
        taken.append(slower_readings[0])
    for place, (less, more) in enumerate(pairwise(taken)):
        few, many = given.rows[place : place + 2]
        tell(
            f"reading by Spark, {named(many)}",
            more,
            other=less,
            against=named(few),
            at_most=GROWTH * many / few,
            missed=STORED if many > given.split else "",
        )


if __name__ == "__main__":
    main()
