"""Relative threat: the closed form, and samplers by effective draws per second, in one run.

    python benchmarks/relative.py [--data FOLDER] [--rows 1000000] [--tempered 800,1500,5692]

Exact: learning and measuring a generalized release of 5,692 people, and of a million (synthetic
census, one lattice node, nearly as many distinct people as rows), best of several, warm.

Effective draws per second of processor time (all threads; a shared machine's waiting does not
count), median and least over the same watched people, warm, sampling alone without diagnostics:

- Mondrian, 5,692 people, along hierarchies and in the order of values: counts and slices against
  the paper's per-row Gibbs, vectorised with NumPy over all rows (all columns, as the paper's; and
  the crossing columns alone), on p_A of people's own values.
- Anatomy, l = 4: whole buckets against the paper's Metropolis swaps, both compiled. Ours averages
  chances where theirs averages what was dealt, so what counts is how many independent dealings
  would give the same error of p_A; effective draws of each one's own traces are told beside it.

With --tempered, instead: buckets on which plain chains stay where they began, for so many people
each. Anatomy with l = 6, and people put in buckets of 20 at random, whose values repeat: R-hat,
effective draws of the worst belief watched, round trips of each ensemble, and seconds in all. With
--method tempered no plain chains are tried before.

Without the Adult files the embedded census stands in.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv
from results import tell

import sfumato as sf
from sfumato.adversaries.relative_threat.bucketized import buckets_of
from sfumato.adversaries.relative_threat.chains import ESS, RHAT, judge_traces
from sfumato.adversaries.relative_threat.columns import domains_of
from sfumato.adversaries.relative_threat.exact_posterior import DirichletTree, tree_shape
from sfumato.adversaries.relative_threat.model import DirichletWeights, model_of
from sfumato.adversaries.relative_threat.paper_samplers import RowGibbs, Swaps
from sfumato.adversaries.relative_threat.people import people_of, states_of
from sfumato.adversaries.relative_threat.relative import Method, relative_threat
from sfumato.adversaries.relative_threat.samplers import (
    BucketChains,
    CrossingChains,
    WatchedPeople,
)
from sfumato.datasets.census import census, census_schema
from sfumato.papers.relative import ROWS, _people
from sfumato.release.description import Buckets, Regions

Floats = npt.NDArray[np.float64]
CHAINS = 4
SHARED = Path(__file__).parents[2] / "shared" / "data"
LARGEST_OF_TWENTY = 2_000


def best(run: Callable[[], object], times: int) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def effective(traces: Floats, seconds: float) -> tuple[float, float]:
    """Median and least effective draws per second of processor time."""
    ess = judge_traces(traces)[1]
    ess = ess[np.isfinite(ess)]
    return float(np.median(ess)) / seconds, float(ess.min()) / seconds


def equally_precise(traces: Floats, seconds: float) -> tuple[float, float]:
    """Independent dealings that would tell p_A with the same error, per second: p (1 - p) / MCSE^2.

    The one measure that counts draws and averaged chances alike: both estimate the same p_A.
    """
    p, error = traces.mean(axis=(0, 1)), judge_traces(traces)[2]
    open_ = (error > 0) & (p > 0.01) & (p < 0.99)
    draws = p[open_] * (1 - p[open_]) / error[open_] ** 2
    return float(np.median(draws)) / seconds, float(draws.min()) / seconds


def timed(run: Callable[[], list[Floats]]) -> tuple[list[Floats], float]:
    start = time.process_time()
    found = run()
    return found, time.process_time() - start


def exact(table: sf.Table, rows: int) -> None:
    policy = sf.Policy(
        [sf.KAnonymity(4), sf.DistinctDiversity(3)], anonymizer=sf.Lattice(), suppression=0.02
    )
    release = sf.anonymize(table, policy, seed=0)
    taken = best(lambda: relative_threat(release).measures, 5)
    tell(f"relative threat, exact, {table.people:,} people", taken, at_most=0.3)
    million = sf.read(census(rows), census_schema())
    levels = {"age": 2, "zip": 2, "education": 1, "marital": 1, "work": 1}
    release = sf.generalize(million, levels)
    cases = len(million.counts)
    taken = best(lambda: relative_threat(release).measures, 3)
    print(f"exact, {rows:,} people: {cases:,} cases in {len(release.groups):,} groups")
    tell(f"relative threat, exact, {rows:,} people", taken, at_most=5)


def crossing(table: sf.Table, name: str) -> None:
    policy = sf.Policy([sf.KAnonymity(4), sf.DistinctDiversity(3)], anonymizer=sf.Mondrian())
    release = sf.anonymize(table, policy, seed=0)
    domains, _ = domains_of(release, None)
    values = release.groups.domain
    assert values is not None
    assert isinstance(release.regions, Regions)
    model = model_of(values, release.groups, release.regions, domains, DirichletWeights())
    people = people_of(release, None, states_of(release.groups, (values.name,), table), domains)
    assert people is not None
    cases = WatchedPeople(
        people.codes[:, people.tuples], people.s, people.where.take(people.tuples)
    )
    known = [
        None if (shape := tree_shape(column)) is None else DirichletTree(column, shape, cells)
        for column in model.columns
        for cells in [model.cells(column)]
    ]
    nothing = [None] * len(known)
    watched = np.arange(96)
    found = {}
    for way, kind, learnt, sweeps in (
        ("counts and slices", CrossingChains, known, 1000),
        ("per-row Gibbs", RowGibbs, nothing, 1000),
        ("per-row Gibbs, crossing columns", RowGibbs, known, 1000),
    ):
        sampler = kind(model, learnt, cases, CHAINS, 0)
        sampler.warm_up(250)
        seconds = time.process_time()
        sampler.warm_up(sweeps)
        seconds = time.process_time() - seconds
        traces = sampler.stage(sweeps, 1, watched)
        found[way] = effective(traces[0], seconds)
    crossed = sum(one is None for one in known)
    print(
        f"Mondrian {name}, {len(release.groups):,} groups, {crossed} of {len(known)} columns cross"
    )
    missed = (
        f"{crossed} of {len(known)} columns cross: nobody has a closed form of them, and both "
        "samplers draw them"
    )
    _ratios(found, "counts and slices", "per-row Gibbs", 20, missed)
    others = "per-row Gibbs, crossing columns"
    _ratios(found, "counts and slices", others, 20, missed, again=True)


def _in_order(table: sf.Table) -> sf.Table:
    """The same people without hierarchies: every column is cut between any two values."""
    counts = table.counts
    domains = {domain.name: list(domain.values) for domain in counts.quasi}
    schema = sf.Schema(table.schema.quasi, table.schema.sensitive, domains=domains)
    columns = {
        domain.name: [domain.values[code] for code in np.repeat(row, counts.n)]
        for domain, row in zip(counts.quasi, counts.codes, strict=True)
    }
    labels = counts.sensitive[0].domain.values
    values = [labels[code] for code in np.repeat(counts.values[0], counts.n)]
    return sf.read(pa.table({**columns, counts.sensitive[0].name: values}), schema)


def anatomy(table: sf.Table, size: int) -> None:
    policy = sf.Policy([sf.DistinctDiversity(size)], anonymizer=sf.Anatomy(size))
    release = sf.anonymize(table, policy, seed=0)
    assert isinstance(release.regions, Buckets)
    assert release.groups.domain is not None
    domains, _ = domains_of(release, None)
    buckets = buckets_of(
        release.groups.domain, release.groups, release.regions, domains, DirichletWeights()
    )
    watched = np.arange(64)
    found = {}
    for name, kind, sweeps in (("whole buckets", BucketChains, 1000), ("swaps", Swaps, 8000)):
        sampler = kind(buckets, CHAINS, 0)
        sampler.warm_up(1000)
        traces, seconds = timed(lambda s=sampler, n=sweeps: s.stage(n, 1, watched))  # type: ignore[misc]
        dealt = (sampler.categories() == 0).astype(np.float64)
        found[name] = equally_precise(traces[0], seconds)
        found[f"{name}, value dealt"] = effective(dealt, seconds)
        found[f"{name}, watched p_A"] = effective(traces[0], seconds)
    print(f"Anatomy, l = {size}, {len(release.groups):,} buckets")
    _ratios(found, "whole buckets", "swaps", 15, f"buckets hold {size} people only")
    _ratios(
        *(found, "whole buckets, value dealt", "swaps, value dealt", 15),
        "of what is dealt, without the chances over which p_A is averaged, as the row above counts",
        again=True,
    )


def tempered(table: sf.Table, name: str, release: sf.Release, method: Method) -> None:
    start, processor = time.perf_counter(), time.process_time()
    threat = relative_threat(release, table, method=method)
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    assert threat.diagnostics is not None
    told = threat.diagnostics
    print(f"{name}, {table.people:,} people: {threat.status}, {threat.method['buckets']}")
    print(
        f"  R-hat {told.rhat:.4f}  effective draws {told.ess:,.0f}  {told.sweeps:,} iterations  "
        f"{seconds:,.0f} s ({processor:,.0f} s of processor time)"
    )
    work = f"relative threat, {name}, {table.people:,} people"
    # Without two cores to itself a run takes as long as others let it: half of its processor time.
    tell(work, processor / 2, at_most=600, why=f"half of its processor time: {threat.status}")
    tell(f"{work}: R-hat", told.rhat, at_most=RHAT, unit="", why=told.reason)
    tell(f"{work}: effective draws", told.ess, at_least=ESS, unit="", why=told.reason)
    if told.tempering is not None:
        ladder = told.tempering
        trips = ", ".join(map(str, ladder.round_trips))
        print(f"  {ladder.rungs} rungs down to {ladder.lowest_power:.2f}, round trips {trips}")


def in_buckets(table: sf.Table, size: int) -> sf.Release:
    """People in buckets of so many at random, read as somebody else's release would be."""
    counts = table.counts
    row = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts.n))
    bucket = pa.array(np.arange(len(row)) // size)
    listed = {
        domain.name: pa.array(domain.values).take(pa.array(codes[row]))
        for domain, codes in zip(counts.quasi, counts.codes, strict=True)
    }
    values = pa.array(counts.sensitive[0].domain.values).take(pa.array(counts.values[0][row]))
    with TemporaryDirectory() as folder:
        files = Path(folder) / "listed.csv", Path(folder) / "values.csv"
        csv.write_csv(pa.table({"bucket": bucket, **listed}), files[0])
        csv.write_csv(pa.table({"bucket": bucket, counts.sensitive[0].name: values}), files[1])
        return sf.read_release(files, table.schema, group="bucket")


def _ratios(
    found: dict[str, tuple[float, float]],
    ours: str,
    theirs: str,
    bound: int,
    missed: str,
    *,
    again: bool = False,
) -> None:
    """`again`: the same figures against another denominator, told once already."""
    for name, (median, least) in () if again else found.items():
        print(f"  {name:34} {median:10,.1f} median {least:10,.2f} least   effective draws / s")
    median = found[ours][0] / found[theirs][0]
    least = found[ours][1] / found[theirs][1]
    print(f"  {ours} / {theirs}: {median:.1f} median, {least:.1f} least")
    work = f"relative threat, draws: {ours} / {theirs}"
    told = "effective draws a second, median"
    tell(work, median, at_least=bound, unit="times", why=told, missed=missed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    known = Path(os.environ.get("SFUMATO_DATA", SHARED))
    parser.add_argument("--data", type=Path, default=known if known.is_dir() else None)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--tempered", default="")
    parser.add_argument("--method", choices=("auto", "tempered"), default="auto")
    given = parser.parse_args()
    for people in filter(None, given.tempered.split(",")):
        table = _people(given.data, int(people), 0)
        policy = sf.Policy([sf.DistinctDiversity(6)], anonymizer=sf.Anatomy(6))
        tempered(table, "Anatomy, l = 6", sf.anonymize(table, policy, seed=0), given.method)
        if int(people) <= LARGEST_OF_TWENTY:
            tempered(table, "buckets of 20", in_buckets(table, 20), given.method)
    if given.tempered:
        return
    table = _people(given.data, ROWS, 0)
    size = min(4, int(table.people // np.bincount(table.counts.values[0], table.counts.n).max()))
    first = time.perf_counter()
    relative_threat(sf.generalize(table, [1] * len(table.schema.quasi))).measures  # noqa: B018
    print(f"first call                     {time.perf_counter() - first:10.3f} s")
    exact(table, given.rows)
    crossing(table, "along hierarchies")
    crossing(_in_order(table), "in the order of values")
    anatomy(table, size)


if __name__ == "__main__":
    main()
