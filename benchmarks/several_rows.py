"""One million people with five rows each, beside five million people with one row: time and ratio.

    python benchmarks/several_rows.py --people 1000000

Both are anonymized from Parquet by the same policy and way (k = 5, t-closeness), reading included;
first runs compile and are not told. The ratio is the time of rows published one by one
(`rows = "unlinked"`), where distinct people are counted at every node and split, by that of rows
which are people. The least of `--runs` counts; at most 3 is asked.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from results import tell

import sfumato as sf

ROWS_EACH = 5
HIERARCHIES = {"age": sf.intervals([5, 10, 20, 40]), "day": sf.intervals([7, 28, 84, 168])}


def write(path: Path, people: int, seed: int = 0) -> None:
    """Admissions: age lasts, ward, day and diagnosis are the row's."""
    rng = np.random.default_rng(seed)
    rows = people * ROWS_EACH
    person = rng.permutation(np.repeat(np.arange(people), ROWS_EACH))
    pq.write_table(
        pa.table(
            {
                "person": person,
                "age": (20 + (person * 7919) % 70).astype(np.int16),
                "ward": pa.array([f"w{n}" for n in range(12)]).take(
                    pa.array(rng.integers(0, 12, rows))
                ),
                "day": rng.integers(0, 336, rows).astype(np.int16),
                "ill": pa.array([f"d{n}" for n in range(20)]).take(
                    pa.array(np.minimum(rng.geometric(0.2, rows) - 1, 19))
                ),
            }
        ),
        path,
    )


def seconds(path: Path, maker: sf.Lattice | sf.Mondrian, *, unlinked: bool) -> float:
    """From the file to a release that holds."""
    more = {"person": "person", "rows": "unlinked"} if unlinked else {}
    schema = sf.Schema(["age", "ward", "day"], "ill", hierarchies=HIERARCHIES, **more)
    policy = sf.Policy([sf.KAnonymity(5), sf.TCloseness(0.5)], anonymizer=maker)
    started = time.perf_counter()
    release = sf.anonymize(sf.read(path, schema), policy, seed=1)
    taken = time.perf_counter() - started
    assert release.groups.sizes.min() >= 5
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", choices=("lattice", "mondrian"))
    given = parser.parse_args()
    makers = {"lattice": sf.Lattice(), "mondrian": sf.Mondrian()}
    with tempfile.TemporaryDirectory() as folder:
        small, path = Path(folder) / "small.parquet", Path(folder) / "rows.parquet"
        write(small, 500)
        write(path, given.people)
        for name, maker in makers.items():
            if given.only not in (None, name):
                continue
            times = {}
            for unlinked in (False, True):
                seconds(small, maker, unlinked=unlinked)  # compiles
                runs = [seconds(path, maker, unlinked=unlinked) for _ in range(given.runs)]
                times[unlinked] = min(runs)
            tell(
                f"{name}, {given.people:,} people with {ROWS_EACH} rows each",
                times[True],
                other=times[False],
                against=f"{given.people * ROWS_EACH:,} people with one",
                at_most=3,
            )


if __name__ == "__main__":
    main()
