"""The lattice search on Adult against judging every node, and from a cold start.

Prints ratios; every figure of a ratio is measured in this run on the same table.

    python benchmarks/lattice.py [--data DIR]

Adult's 30,162 records, all eight other columns quasi-identifiers: 4,320 nodes. k = 5 alone and with
one more criterion, 2 % suppression, loss. Exhaustive: our own evaluation of every node (counts
rolled up, nothing inferred), same process. Warm, best of 3; the making of the judge counts in both.
The cold start is a process of its own: import, read, search, release; the compile cache is filled.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.anonymizers.lattice.nodes import Judge, Node
    from sfumato.counts.roll_up import Rolled

SHARED = Path(__file__).parents[2] / "shared" / "data"
SUPPRESSION = 0.02
BUDGET = 1_000_000


def best(run: Callable[[], object], times: int = 3) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def cold(folder: Path) -> None:
    import sfumato as sf
    from sfumato.anonymizers.lattice.lattice import Lattice
    from sfumato.datasets.public_files import adult
    from sfumato.workflow.anonymize import anonymize

    table = sf.read(*adult(folder))
    anonymize(table, sf.Policy([sf.KAnonymity(5)], Lattice(), "loss", SUPPRESSION))


def judge_all(judge: Judge) -> list[Node]:
    """Judge every node, inferring nothing: what the search is compared with."""
    nodes: list[Node] = []

    def visit(table: Rolled, column: int) -> None:
        for level in range(judge.heights[column]):
            table = table.up(column, level)
            if column + 1 < len(judge.heights):
                visit(table, column + 1)
            else:
                nodes.append(judge.judge(table, thoroughly=True))

    visit(judge.base, 0)
    return nodes


def compare(folder: Path) -> None:
    import sfumato as sf
    from sfumato.anonymizers.base import Task
    from sfumato.anonymizers.lattice.lattice import search_lattice
    from sfumato.anonymizers.lattice.nodes import Judge
    from sfumato.criteria.base import Criterion
    from sfumato.datasets.public_files import adult

    table = sf.read(*adult(folder))
    added: list[tuple[str, tuple[Criterion, ...], float]] = [
        ("k=5", (), 1 / 3),
        ("distinct-3", (sf.DistinctDiversity(3),), 2 / 3),
        ("entropy-3", (sf.EntropyDiversity(3),), 2 / 3),
        ("recursive-(3,3)", (sf.RecursiveDiversity(3, 3),), 2 / 3),
        ("0.2-closeness", (sf.TCloseness(0.2),), 2 / 3),
    ]
    print(f"{'':<18}{'search':>9}{'all':>10}{'ratio':>8}{'bound':>8}{'judged':>8}  best node")
    for label, more, bound in added:
        task = Task(table, (sf.KAnonymity(5), *more), suppression=SUPPRESSION)
        found = search_lattice(Judge(task), BUDGET)  # also compiles, or loads what was compiled
        safe = [node for node in judge_all(Judge(task)) if node.satisfied]
        cheapest: Node | None = min(safe, key=lambda node: node.cost, default=None)
        assert (found.best and found.best.levels) == (cheapest and cheapest.levels)
        ours = best(lambda task=task: search_lattice(Judge(task), BUDGET))  # type: ignore[misc]
        every = best(lambda task=task: judge_all(Judge(task)))  # type: ignore[misc]
        print(
            f"{label:<18}{ours:7.3f} s{every:8.3f} s{ours / every:8.2f}{bound:8.2f}"
            f"{len(found.nodes):8,}  {found.best and found.best.levels}"
        )
    print(f"{prod(found.heights):,} nodes; advisory .25 s for k, .5 s with another criterion")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("SFUMATO_DATA", SHARED))
    parser.add_argument("--cold", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.cold:
        cold(Path(arguments.data))
        return
    compare(Path(arguments.data))
    command = [sys.executable, __file__, "--cold", "--data", str(arguments.data)]
    taken = best(lambda: subprocess.run(command, check=True))
    print(f"cold process, k=5, filled compile cache {taken:7.2f} s    (advisory 2.5 s)")


if __name__ == "__main__":
    main()
