"""Spark on one machine against DuckDB: the same groups, and what it takes.

    python benchmarks/scale_spark.py [--rows 10000000] [--folder DIR] [--master 'local[2]']

Both read the same Parquet file, run Mondrian (k = 10, l = 3) and audit the table. The groups must
be equal: what each publishes, how many people and which values it has.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from pathlib import Path

import numpy as np
import people

import sfumato as sf

REQUIRE = [sf.KAnonymity(10), sf.DistinctDiversity(3)]


def digest(release: sf.Release) -> str:
    """A hash of all groups: description and counts, whatever their order."""
    parts = [np.array([region.text for region in one]) for one in release.regions.parts]
    ranks = [np.unique(texts, return_inverse=True) for texts in parts]
    codes = [rank[1][code] for rank, code in zip(ranks, release.regions.codes, strict=True)]
    order = np.lexsort(codes)
    told = hashlib.sha256()
    for rank, code in zip(ranks, codes, strict=True):
        told.update("\n".join(rank[0].tolist()).encode())
        told.update(code[order].astype(np.int32).tobytes())
    groups = release.groups.take(order)
    values = np.lexsort((groups.indices, groups.row))
    for array in (groups.sizes, groups.indptr, groups.indices[values], groups.data[values]):
        told.update(array.astype(np.int64).tobytes())
    return told.hexdigest()


def run(path: Path, **engine: str) -> tuple[str, float, float, int]:
    start = time.perf_counter()
    table = sf.read(path, people.schema(), **engine)  # type: ignore[arg-type]
    reading = time.perf_counter() - start
    start = time.perf_counter()
    release = sf.anonymize(table, sf.Policy(REQUIRE, sf.Mondrian()), seed=1)
    return digest(release), reading, time.perf_counter() - start, len(release.groups)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--master", default="local[2]")
    here = Path(tempfile.gettempdir()) / "sfumato-scale"
    parser.add_argument("--folder", type=Path, default=here)
    given = parser.parse_args()
    path = people.write(given.folder / f"people-{given.rows}.parquet", given.rows)
    one, reading, splitting, groups = run(path)
    told = "{:20} reading {:6.1f} s  Mondrian {:6.1f} s  {:,} groups"
    print(told.format("DuckDB", reading, splitting, groups))
    other, slower, again, number = run(path, engine="spark", master=given.master)
    print(told.format(f"Spark {given.master}", slower, again, number))
    print(f"reading by Spark / by DuckDB: {slower / reading:.1f}")
    print("the same groups" if one == other else "THE GROUPS DIFFER")
    if one != other:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
