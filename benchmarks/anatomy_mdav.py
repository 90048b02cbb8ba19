"""Anatomy and microaggregation of a census, against plain readings of the same papers.

Prints seconds and ratios; every figure of a ratio is measured in this run on the same table.

    python benchmarks/anatomy_mdav.py [--people 30000] [--large 1000000]

The first call in the process (compiling, or loading what was compiled) has a row of its own; all
others are warm, best of 3. Plain Anatomy: the paper's loop over lists in Python, values only. Plain
MDAV: NumPy over all remaining people in every step, the same clusters.
"""

from __future__ import annotations

import argparse
import heapq
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from results import tell

import sfumato as sf
from sfumato.anonymizers.anatomy import Anatomy
from sfumato.anonymizers.base import Anonymizer, Task
from sfumato.anonymizers.kernel import mdav
from sfumato.anonymizers.microaggregation import Microaggregation
from sfumato.datasets.census import census, census_schema

L, K, COLUMNS = 4, 5, 8


def best(run: Callable[[], object], times: int = 3) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def plain_anatomy(values: list[int], l: int, seed: int = 0) -> list[list[int]]:  # noqa: E741
    """One person from each of the l largest classes at a time, then the residue."""
    rng = np.random.default_rng(seed)
    classes: dict[int, list[int]] = {}
    for person in rng.permutation(len(values)).tolist():
        classes.setdefault(values[person], []).append(person)
    largest = [(-len(people), value) for value, people in classes.items()]
    heapq.heapify(largest)
    buckets = []
    while len(largest) >= l:
        drawn = [heapq.heappop(largest) for _ in range(l)]
        buckets.append([classes[value].pop() for _, value in drawn])
        for size, value in drawn:
            if size < -1:
                heapq.heappush(largest, (size + 1, value))
    for _, value in largest:
        for person in classes[value]:
            fits = (b for b in buckets if all(values[other] != value for other in b))
            next(fits).append(person)
    return buckets


def plain_mdav(points: npt.NDArray[np.float64], k: int) -> npt.NDArray[np.int64]:
    """The textbook loop: every step computes the distances of all who are left."""
    left = np.arange(points.shape[1])
    cluster = np.full(points.shape[1], -1)
    made = 0

    def distances(place: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return ((points[:, left] - place[:, None]) ** 2).sum(axis=0)

    while len(left) >= 2 * k:
        twice = len(left) >= 3 * k
        place = points[:, left[distances(points[:, left].mean(axis=1)).argmax()]]
        for _ in range(2 if twice else 1):
            away = distances(place)
            opposite = points[:, left[away.argmax()]]
            near = np.argpartition(away, k - 1)[:k]
            cluster[left[near]] = made
            made += 1
            left = np.delete(left, near)
            place = opposite
    cluster[left] = made
    return cluster


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=30_000)
    parser.add_argument("--large", type=int, default=1_000_000)
    arguments = parser.parse_args()
    people = arguments.people
    table = sf.read(census(people), census_schema())

    def once(anonymizer: Anonymizer, *require: object, of: sf.Table = table) -> object:
        return anonymizer.run(Task(of, require))  # type: ignore[arg-type]

    tell("Anatomy, first call in this process", best(lambda: once(Anatomy(L)), 1))
    ours = best(lambda: once(Anatomy(L), sf.DistinctDiversity(L)))
    values = np.repeat(table.counts.values[0], table.counts.n).tolist()
    theirs = best(lambda: plain_anatomy(values, L))
    work = f"Anatomy l = {L}, {people:,} people, released and judged"
    tell(work, ours, other=theirs, against="the paper's loop, buckets only", at_least=1)

    tell("microaggregation, first call in this process", best(lambda: once(Microaggregation(K)), 1))
    whole = best(lambda: once(Microaggregation(K), sf.KAnonymity(K)))
    diverse = best(lambda: once(Microaggregation(K), sf.DistinctDiversity(3)))
    tell(f"microaggregation k = {K}, released and judged", whole, at_most=1)
    tell(f"microaggregation k = {K} with distinct-3", diverse)
    points = np.random.default_rng(0).standard_normal((COLUMNS, people))
    ours, theirs = best(lambda: mdav(points, K)), best(lambda: plain_mdav(points, K), 1)
    same = np.array_equal(mdav(points, K), plain_mdav(points, K))
    assert same, "the clusters differ"
    work = f"MDAV k = {K}, {people:,} people, {COLUMNS} columns"
    tell(work, ours, other=theirs, against="MDAV in NumPy", at_least=1)

    if arguments.large:
        large = sf.read(census(arguments.large), census_schema())
        taken = best(lambda: once(Anatomy(3), of=large))
        tell(f"Anatomy l = 3, {arguments.large:,} people", taken)


if __name__ == "__main__":
    main()
