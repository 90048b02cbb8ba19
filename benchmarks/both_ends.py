"""The same work at two ends of the history, turn by turn in one go: what did a change cost?

    python benchmarks/both_ends.py [REVISION] [--rounds 7] [--rows 1000000] [--data DIR]

REVISION is the earlier end, by default the last commit before the house was moved into rooms; the
later end is the working tree. Each end is a process of its own that imports its own source and
compiles into its own cache; both read the same files. After one run that is not counted (imports,
compilation) they take turns, the first of a turn changing, so that whatever else the machine does
meets both alike. Told are the least times and their ratio, later / earlier; 1.10 is the limit that
the move of the house was given. The ratio of processor time says less about waiting, and is the one
to look at where others use the machine. Only names that both ends have are used here.

The work: reading and judging a Parquet file of --rows rows by eleven criteria; the lattice on Adult
(on the embedded census without --data or SFUMATO_DATA) at k = 5 and 2 % suppression; Mondrian on
100,000 people at k = 10, l = 3; breach probabilities of 5 points for 20 values on 50,000 groups;
the intersection attack on two releases of 60,000 people who share 20,000; `sfumato --help` in a
process of its own. A few minutes the first time, when both ends compile; about one after that.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from results import tell

ROOT = Path(__file__).parents[1]
BEFORE_THE_MOVE = "90740599ae093e09b571a726b51292b84e36556a"
LIMIT = 1.10
QUASI, SENSITIVE = ["age", "sex", "education", "marital", "work"], "disease"
POINTS = [(0, 0, 0), (3, 10, 10), (10, 10, 10), (2, 5, 3), (1, 20, 2)]
Work = Callable[[], object]


# -- at one end: each gives what is to be timed, made ready ---------------------------------------


def audit(folder: Path) -> Work:
    from audit import our_audit

    return lambda: our_audit(folder / "audit.parquet")


def lattice(folder: Path) -> Work:
    import sfumato as sf

    policy = sf.Policy([sf.KAnonymity(5)], sf.Lattice(), "loss", 0.02)
    if os.environ.get("SFUMATO_DATA"):
        try:
            loaders = import_module("sfumato.datasets.public_files")
        except ModuleNotFoundError:  # where it stood earlier
            loaders = import_module("sfumato.datasets.adult")
        table = sf.read(*loaders.adult())
    else:
        from sfumato.datasets.census import census_schema

        table = sf.read(folder / "census.parquet", census_schema())
    return lambda: sf.anonymize(table, policy, seed=1)


def mondrian(folder: Path) -> Work:
    import sfumato as sf

    table = sf.read(folder / "census.parquet", sf.Schema(QUASI, SENSITIVE))
    policy = sf.Policy([sf.KAnonymity(10), sf.DistinctDiversity(3)], sf.Mondrian())
    return lambda: sf.anonymize(table, policy, seed=1)


def skyline(_: Path) -> Work:
    import sfumato as sf

    dense = np.random.default_rng(3).multinomial(100, [1 / 20] * 20, size=50_000)
    groups = sf.Groups(dense)
    return lambda: [
        sf.breach_probability(groups, str(value), *point) for value in range(20) for point in POINTS
    ]


def intersection(folder: Path) -> Work:
    import sfumato as sf

    policy = sf.Policy([sf.KAnonymity(5)], sf.Mondrian())
    schema = sf.Schema(QUASI, SENSITIVE)
    made = [
        sf.anonymize(sf.read(folder / f"part{part}.parquet", schema), policy, seed=1)
        for part in (0, 1)
    ]
    people = sf.read(folder / "shared.parquet", sf.Schema(QUASI))
    return lambda: sf.intersection_attack(made, people)


def start(_: Path) -> Work:
    program = "from sfumato.cli.main import run; run()"
    words = [sys.executable, "-c", program, "--help"]
    return lambda: subprocess.run(words, check=True, capture_output=True)


WORKS: dict[str, Callable[[Path], Work]] = {
    work.__name__: work for work in (audit, lattice, mondrian, skyline, intersection, start)
}


def processor_time() -> float:
    """Of this process, all its threads, and the processes that it waited for."""
    return time.process_time() + sum(os.times()[2:4])


def serve(folder: Path) -> None:
    """Answer the name of a work by the seconds that it took, by the clock and of processors.

    It is made ready, and run once, before the first.
    """
    ready: dict[str, Work] = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in ready:
            ready[name] = WORKS[name](folder)
            ready[name]()
        begun = time.perf_counter(), processor_time()
        ready[name]()
        took = time.perf_counter() - begun[0], processor_time() - begun[1]
        print(json.dumps(took), flush=True)


# -- both ends ------------------------------------------------------------------------------------


class End:
    """One end of the history, in a process of its own."""

    def __init__(self, source: Path, cache: Path, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve", folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(cache)},
        )

    def seconds(self, name: str) -> list[float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{name}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"{name} failed at one end; its message is above")
        seconds: list[float] = json.loads(answer)
        return seconds

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def source_of(revision: str) -> Path:
    """The source of a revision, where it is found again: compiled code is kept by its path."""
    asked = ["git", "-C", ROOT, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise SystemExit(f"{revision} is not in this repository's history; name another revision")
    commit = answer.stdout.strip()
    folder = ROOT / ".numba_cache" / "ends" / commit
    if not folder.exists():
        packed = ["git", "-C", ROOT, "archive", commit, "src"]
        kept = subprocess.run(packed, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=BytesIO(kept)) as archive:
            archive.extractall(folder, filter="data")
    return folder


def make_files(folder: Path, rows: int) -> None:
    """What both ends read."""
    import pyarrow.parquet as pq
    from audit import make

    from sfumato.datasets.census import census

    make(folder / "audit.parquet", rows)
    people = census(100_000, seed=5)
    pq.write_table(people, folder / "census.parquet")
    for part, first in enumerate((0, 40_000)):
        pq.write_table(people.slice(first, 60_000), folder / f"part{part}.parquet")
    pq.write_table(people.slice(40_000, 20_000).select(QUASI), folder / "shared.parquet")


def compare(revision: str, names: list[str], rounds: int, rows: int) -> None:
    earlier = source_of(revision)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        make_files(folder, rows)
        cache = Path(os.environ.get("NUMBA_CACHE_DIR", ROOT / ".numba_cache" / "dev"))
        ends = [
            End(earlier / "src", earlier / "compiled", folder),
            End(ROOT / "src", cache, folder),
        ]
        print(f"least of {rounds} runs, by turns", flush=True)
        for name in names:
            taken: list[list[list[float]]] = [[], []]
            for turn in range(rounds):
                for end in (0, 1) if turn % 2 else (1, 0):
                    taken[end].append(ends[end].seconds(name))
            (before, cpu_before), (after, cpu_after) = (np.min(times, axis=0) for times in taken)
            tell(
                f"{name}, both ends of the move",
                after,
                other=before,
                against="before the move",
                at_most=LIMIT,
                why=f"of processor seconds {cpu_after / cpu_before:.2f}",
            )
        for end in ends:
            end.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("revision", nargs="?", default=BEFORE_THE_MOVE)
    parser.add_argument("--only", nargs="+", choices=WORKS, default=list(WORKS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    given: Any = parser.parse_args()
    if given.serve is not None:
        serve(given.serve)
        return
    if given.data is not None:
        os.environ["SFUMATO_DATA"] = str(given.data.resolve())
    compare(given.revision, given.only, given.rounds, given.rows)


if __name__ == "__main__":
    main()
