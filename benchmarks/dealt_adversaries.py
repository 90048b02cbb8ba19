"""What adversaries make of the dealt and of the Mondrian release of one policy, side by side; and
what somebody learns of either who knows the algorithm and runs it again.

    python benchmarks/dealt_adversaries.py [--data DIR] [--people 1500] [--sweeps 8] [--tables 3]

Side by side: an excerpt of Adult, four quasi-identifiers, occupation sensitive, k = 5 and
0.3-closeness. Learner and attacker (relative threat), who knows (l, k, m) (skyline), the observer
(leakage), who holds an earlier release about the same people (intersection), prosecutor and
journalist with all of Adult as register (linkage).

Who knows the algorithm: tables of a few people whose quasi-identifiers she knows, and how often
each sensitive value occurs. She runs the algorithm on every way to give people these values, with
the seed or, where she does not know it, with several. Those that lead to the release she sees are
all that she still considers possible, and her belief in somebody's value is its share among them.
Beside it: what the file alone tells, the largest share of the value in a group the person fits,
which is what the criterion bounds.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

import sfumato as sf
from sfumato.adversaries.leakage.observer import Observer
from sfumato.adversaries.locating.locate import locate
from sfumato.adversaries.locating.targets import targets_of
from sfumato.anonymizers.base import Anonymizer, Task
from sfumato.criteria.base import Criterion
from sfumato.datasets.public_files import adult
from sfumato.errors import NoSafeRelease
from sfumato.utility.loss import Loss
from sfumato.utility.queries import QueryError
from sfumato.utility.view import view_of

SHARED = Path(__file__).parents[2] / "shared" / "data"
QUASI = ("age", "sex", "marital-status", "workclass")
POLICY = (sf.KAnonymity(5), sf.TCloseness(0.3))
POINTS = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (2, 2, 2))


def side_by_side(folder: Path, people: int, sweeps: int) -> None:
    file, schema = adult(folder)
    everybody = pc.read_csv(file, parse_options=pc.ParseOptions(delimiter=";"))
    roles = sf.Schema(quasi=QUASI, sensitive=schema.sensitive, units={"age": 1})
    register = sf.read(everybody, roles)
    chosen = np.random.default_rng(3).choice(len(everybody), people, replace=False)
    table = sf.read(everybody.take(chosen), roles)
    task = Task(table, POLICY)
    made = {
        "deal": sf.Deal(sweeps=sweeps).run(task),
        "Mondrian, tight": sf.Mondrian(regions="tight").run(task),
        "Mondrian, cells": sf.Mondrian(regions="cell").run(task),
    }
    earlier = sf.Mondrian(regions="tight").run(Task(table, (sf.KAnonymity(8),)))
    figures = {name: dict(measured(r, table, register, earlier)) for name, r in made.items()}
    print(f"Adult, {people:,} people, {', '.join(QUASI)}; occupation; k = 5, 0.3-closeness\n")
    print("| |", " | ".join(figures), "|")
    print("|---" * (len(figures) + 1) + "|")
    for row in next(iter(figures.values())):
        print(f"| {row} |", " | ".join(figures[name][row] for name in figures), "|", flush=True)


def measured(
    release: sf.Release, table: sf.Table, register: sf.Table, earlier: sf.Release
) -> Iterator[tuple[str, str]]:
    view = view_of(release)
    yield "loss (median query error)", f"{Loss().cost(view):.3f} ({QueryError().cost(view):.2f})"
    located = np.diff(locate(release, targets_of(table.counts.in_memory("a benchmark"))).indptr)
    yield "groups (groups a combination fits)", f"{len(release.groups):,} ({np.mean(located):.1f})"
    threat = sf.relative_threat(release, table, seed=1, sweeps=4000)
    found = threat.measures
    yield "learner's right guesses", f"{found.gt_learner:.3f}"
    yield "attacker's right guesses", f"{found.gt_attacker:.3f}"
    yield "relative threat (rgt)", f"{found.rgt:.3f} ± {found.errors.get('rgt', 0):.3f}"
    values = release.groups.values
    for point in POINTS:
        sure = max(float(sf.breach_probability(release.groups, v, *point)) for v in values)
        yield f"skyline: certainty knowing {point}", f"{sure:.2f}"
    leak, sizes = Observer().attack(release).leakage, release.groups.sizes
    far, mean = leak.distribution, np.average(leak.distribution, weights=sizes)
    yield "leakage: distribution, worst (mean)", f"{far.max():.2f} ({mean:.2f})"
    bits = np.average(leak.entropy, weights=sizes)
    yield "leakage: entropy in bits, worst (mean)", f"{leak.entropy.max():.2f} ({bits:.2f})"
    attack = sf.intersection_attack([release, earlier], table, truth=table.schema.sensitive[0])
    summary = attack.summary
    yield "intersection: one value left", f"{summary.share_at(1):.3f}"
    yield "intersection: two or fewer left", f"{summary.share_at(0.5):.3f}"
    yield "intersection: likeliest value is right", f"{summary.precision:.3f}"
    linked = sf.linkage(release, population=register)
    assert linked.prosecutor is not None
    assert linked.journalist is not None
    yield "prosecutor, highest (mean)", _risk(linked.prosecutor.highest, linked.prosecutor.mean)
    yield "journalist, at most (mean)", _risk(linked.journalist.highest, linked.journalist.mean)


def _risk(highest: float, mean: float) -> str:
    return f"{highest:.3f} ({mean:.3f})"


def _fitting(release: sf.Release, person: dict[str, object]) -> list[int]:
    """The groups that somebody may be in."""
    regions = release.regions
    columns = list(zip(regions.columns, regions.parts, regions.codes, strict=True))
    return [
        g
        for g in range(len(release.groups))
        if all(parts[codes[g]].contains(person[name]) for name, parts, codes in columns)
    ]


# -- who knows the algorithm ----------------------------------------------------------------------

WAYS: dict[str, tuple[Anonymizer, int]] = {  # and how many seeds she tries; 1: she knows it
    "deal": (sf.Deal(sweeps=2), 1),
    "deal, seed not known": (sf.Deal(sweeps=2), 8),
    "Mondrian, tight": (sf.Mondrian(regions="tight"), 1),
    "Mondrian, cells": (sf.Mondrian(regions="cell"), 1),
}
PROMISES: dict[str, tuple[tuple[Criterion, ...], Fraction]] = {
    "no value above 1/2": ((sf.AlphaK(0.5, 2),), Fraction(1, 2)),
    "0.25-closeness": ((sf.KAnonymity(2), sf.TCloseness(0.25)), Fraction(3, 4)),
}


def who_knows_the_algorithm(tables: int) -> None:
    print("\nWho knows the algorithm: 8 people, 4 of each value, all 70 ways to have them\n")
    print(
        "| promise | | belief from the file, mean (worst) | who runs it again, mean (worst) "
        "| beyond what is promised | known for sure | loss |"
    )
    print("|---|---|---|---|---|---|---|")
    for promise, (require, bound) in PROMISES.items():
        for way, (anonymizer, seeds) in WAYS.items():
            known = [run_again(table, anonymizer, seeds, require, bound) for table in range(tables)]
            told = np.array([figures for one in known for figures in one])
            mean, worst = told.mean(axis=0), told.max(axis=0)
            print(
                f"| {promise} | {way} | {mean[0]:.3f} ({worst[0]:.2f}) | {mean[1]:.3f} "
                f"({worst[1]:.2f}) | {mean[2]:.1%} | {mean[3]:.1%} | {mean[4]:.3f} |",
                flush=True,
            )


def run_again(
    number: int, anonymizer: Anonymizer, seeds: int, require: Sequence[Criterion], bound: Fraction
) -> list[tuple[float, float, bool, bool, float]]:
    """Of every world and person: belief in her true value by the file, and by whoever runs it
    again; whether that is beyond the bound, and sure; the loss of the release."""
    chance = np.random.default_rng(number)
    ages = np.repeat(chance.choice(np.arange(20, 60, 5), 4), 2).tolist()
    towns = chance.choice(["bonn", "kiel", "ulm"], 8).tolist()
    worlds: dict[object, list[tuple[str, ...]]] = defaultdict(list)
    releases: dict[object, tuple[sf.Release, float]] = {}
    for ill in _ways(("flu", "cold"), (4, 4)):
        rows = pa.table({"age": ages, "town": towns, "ill": list(ill)})
        table = sf.read(rows, sf.Schema(quasi=["age", "town"], sensitive="ill"))
        for seed in range(seeds):
            try:
                release = anonymizer.run(Task(table, tuple(require), seed=seed))
            except NoSafeRelease:
                continue
            key = tuple(sorted(tuple(row.values()) for row in release.to_arrow().to_pylist()))
            worlds[key].append(ill)
            releases.setdefault(key, (release, Loss().cost(view_of(release))))
    found = []
    for key, possible in worlds.items():
        release, loss = releases[key]
        counts = [release.groups.counts_of(g) for g in range(len(release.groups))]
        for person, (age, town) in enumerate(zip(ages, towns, strict=True)):
            fits = _fitting(release, {"age": age, "town": town})
            again = Counter(world[person] for world in possible)
            for world in possible:
                value = world[person]
                shown = max(counts[g].get(value, 0) / sum(counts[g].values()) for g in fits)
                belief = Fraction(again[value], len(possible))
                found.append((shown, float(belief), belief > bound, belief == 1, loss))
    return found


def _ways(values: Sequence[str], many: Sequence[int]) -> Iterator[tuple[str, ...]]:
    """Every way to give people these values, each so often."""
    if not any(many):
        yield ()
    for place, left in enumerate(many):
        if left:
            fewer = [n - (at == place) for at, n in enumerate(many)]
            for rest in _ways(values, fewer):
                yield (values[place], *rest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--people", type=int, default=1500)
    parser.add_argument("--sweeps", type=int, default=8)
    parser.add_argument("--tables", type=int, default=3)
    asked = parser.parse_args()
    if asked.people:
        side_by_side(asked.data, asked.people, asked.sweeps)
    if asked.tables:
        who_knows_the_algorithm(asked.tables)


if __name__ == "__main__":
    main()
