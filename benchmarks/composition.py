"""Intersection attacks: targets a second against anonypyx, and three releases of a million rows.

    python benchmarks/composition.py [--peer PYTHON] [--rows 1000000]

Rows are the embedded synthetic census; QIs age, sex, education, marital, work, disease sensitive.
Small: two Mondrian releases (k = 5) of 20,000 people each who share 5,000, the targets. The peer
runs in its own environment on the same groups in its machine-readable form, on 200 of the targets,
reading not counted, and must find the same values. Large: three Mondrian releases of --rows people
and as many targets, half of whom are in all three. Warm figures are the best of 5 (large: of 2);
the first call, with compilation unless it is cached, is told apart.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from results import tell

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.datasets.census import census
from sfumato.schema.region import codes_inside

QUASI = ["age", "sex", "education", "marital", "work"]
SENSITIVE = "disease"
PEER_TARGETS = 200


def timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def make(rows: pa.Table, people: np.ndarray, anonymizer: object = None) -> sf.Release:
    table = sf.read(rows.take(pa.array(people)), sf.Schema(QUASI, SENSITIVE))
    require = (sf.KAnonymity(5),)
    return (anonymizer or sf.Mondrian()).run(Task(table, require))  # type: ignore[attr-defined]


def peer_frame(release: sf.Release) -> pa.Table:
    """A release as anonypyx reads it: ends of age, a column for every value of the others."""
    assert release.placement is not None
    groups, regions = release.groups, release.regions
    columns: dict[str, object] = {}
    for place, domain in enumerate(release.placement.counts.quasi):
        inside = dict(codes_inside(regions.parts[place], np.unique(regions.codes[place]), domain))
        shown = [np.asarray(inside[code]) for code in regions.codes[place].tolist()]
        if domain.name == "age":
            for end, at in (("min", 0), ("max", -1)):
                columns[f"age_{end}"] = np.array([domain.values[codes[at]] for codes in shown])
            continue
        for code, value in enumerate(domain.values):
            columns[f"{domain.name}_{value}"] = np.array([code in codes for codes in shown])
    wide = {name: np.asarray(values)[groups.row] for name, values in columns.items()}
    labels = np.array(groups.values)[groups.indices]
    return pa.table({**wide, SENSITIVE: labels, "count": groups.data})


def ask_peer(peer: str, releases: list[sf.Release], targets: pa.Table) -> tuple[float, list]:
    """Seconds and values found, for a few targets."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        frames = []
        for place, release in enumerate(releases):
            frames.append(str(folder / f"{place}.parquet"))
            pq.write_table(peer_frame(release), frames[-1])
        domains = {name: sorted(set(targets[name].to_pylist())) for name in QUASI if name != "age"}
        known = {
            "ID": np.arange(targets.num_rows),
            "age_min": targets["age"],
            "age_max": targets["age"],
        }
        for column in pq.read_schema(frames[0]).names:
            quasi, _, value = column.partition("_")
            if quasi in domains:
                known[column] = pa.array([one == value for one in targets[quasi].to_pylist()])
        pq.write_table(pa.table(known), folder / "targets.parquet")
        one_hot = {
            name: [c for c in pq.read_schema(frames[0]).names if c.startswith(f"{name}_")]
            for name in domains
        }
        spec = {
            "releases": frames,
            "targets": str(folder / "targets.parquet"),
            "one_hot_sets": one_hot,
            "intervals": {"age": ["age_min", "age_max"]},
            "sensitive": SENSITIVE,
        }
        (folder / "spec.json").write_text(json.dumps(spec))
        script = Path(__file__).parent / "peers" / "anonypyx_intersect.py"
        run = subprocess.run(
            [peer, str(script), str(folder / "spec.json")],
            capture_output=True,
            text=True,
            check=True,
        )
    seconds, found = run.stdout.strip().splitlines()[-2:]
    return float(seconds), json.loads(found)


def small(peer: str | None) -> None:
    rows = census(35_000, seed=1)
    releases = [
        make(rows, np.arange(20_000)),
        make(rows, np.arange(15_000, 35_000)),
    ]
    targets = rows.slice(15_000, 5_000).select([*QUASI, SENSITIVE])

    def attack() -> sf.IntersectionAttack:
        found = sf.intersection_attack(releases, targets, truth=SENSITIVE)
        assert found.targets.num_rows == targets.num_rows
        return found

    first = timed(attack)
    warm = min(timed(attack) for _ in range(5))
    found = attack()
    groups = " and ".join(f"{len(one.groups):,}" for one in releases)
    print(f"groups                         {groups:>15}")
    print(f"5,000 targets, first call      {first:12.3f} s")
    tell("intersection attack, 5,000 targets, 2 releases", warm, at_most=0.5)
    print(f"perfect breach                 {found.summary.perfect_breach:12.1%}")
    print(f"guesses right                  {found.summary.precision:12.1%}")
    if peer is None:
        return
    few = targets.slice(0, PEER_TARGETS)
    seconds, theirs = ask_peer(peer, releases, few)
    ours = sf.intersection_attack(releases, few).targets["values"].to_pylist()
    assert [sorted(values) for values in ours] == theirs, "the peer finds other values"
    rate = PEER_TARGETS / seconds
    work, theirs_each = "intersection attack, a target", 1 / rate
    tell(work, warm / 5_000, other=theirs_each, against="anonypyx", at_least=500)


def centroids() -> None:
    rows = census(15_000, seed=2)
    releases = [
        make(rows, np.arange(10_000), sf.Microaggregation(5)),
        make(rows, np.arange(5_000, 15_000), sf.Microaggregation(5)),
    ]
    targets = rows.slice(5_000, 5_000).select([*QUASI, SENSITIVE])

    def attack() -> sf.IntersectionAttack:
        return sf.intersection_attack(releases, targets, truth=SENSITIVE)

    first = timed(attack)
    warm = min(timed(attack) for _ in range(5))
    right = attack().summary.correctly_located
    print(f"centroids: first call, warm    {first:12.3f} s {warm:.3f} s (5,000 targets)")
    print(f"centroids: correctly located   {', '.join(f'{one:.1%}' for one in right if one):>12}")


def large(count: int) -> None:
    rows = census(count + count // 2, seed=3).select([*QUASI, SENSITIVE])
    rng = np.random.default_rng(0)
    shared = np.arange(count // 2)
    others = np.arange(count // 2, rows.num_rows)
    releases = [
        make(rows, np.concatenate([shared, rng.choice(others, count - len(shared), replace=False)]))
        for _ in range(3)
    ]
    targets = rows.slice(0, count)

    def attack() -> sf.IntersectionAttack:
        found = sf.intersection_attack(releases, targets, truth=SENSITIVE)
        assert found.targets.num_rows == count
        return found

    seconds = min(timed(attack) for _ in range(2))
    sizes = ", ".join(f"{len(one.groups):,}" for one in releases)
    print(f"{count:,} targets x 3 releases of {count:,} rows ({sizes} groups)")
    tell(f"intersection attack, {count:,} targets, 3 releases", seconds, at_most=30)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", help="a Python with anonypyx installed")
    parser.add_argument("--rows", type=int, default=1_000_000)
    given = parser.parse_args()
    small(given.peer)
    centroids()
    large(given.rows)


if __name__ == "__main__":
    main()
