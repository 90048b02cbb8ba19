"""Tables larger than memory: every command under a memory limit, and how its cost grows with rows.

    python benchmarks/scale.py --folder DIR [--rows 1000000 10000000 100000000] [--memory 2GB]

Audit, Mondrian (two policies), a lattice, deal, `characterize`, writing, and of a release query
error, and linkage with everybody as the register.
Ten times the rows may take at most eleven times as long. Steps
run in processes of their own, so that peak memory (resident set) is theirs. The floor
of the audit is a bare GROUP BY of the same file by quasi-identifiers and sensitive column under the
same limit, its result counted, not fetched (which would not fit).

The files (about 5 bytes a row) are made in the folder and stay there. 10 million rows take some
minutes altogether; 100 million, which are for `--rows`, about 4 GB of disk and some minutes a step.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import people
from results import tell

import sfumato as sf
from sfumato.adversaries.linkage.risks import linkage
from sfumato.utility import utility_named
from sfumato.utility.view import view_of

CRITERIA = (
    sf.KAnonymity(5),
    sf.DistinctDiversity(3),
    sf.TCloseness(0.3),
    sf.EpsilonPrivacy(3, sf.RealisticAdversary(stubbornness=1e6)),
    sf.SkylinePrivacy([(3, 1000, 10, 1.0)]),
)
KL = [sf.KAnonymity(10), sf.DistinctDiversity(3)]
ZONES = {f"R{region:02}": f"zone {region // 10}" for region in range(people.REGIONS)}
FEWER = sf.Schema(
    quasi=["age", "region", "country", "education", "marital"],
    sensitive="job",
    hierarchies={"age": sf.intervals([10]), "region": sf.taxonomy(ZONES)},
)
GROWTH = 1.1  # times as long as so many times the rows, at most
DEALT = "its search takes the time it is given; what grows is cutting the table into cells"
STORED = "fewer rows fit into the limit and are held in memory, more are stored and read from disk"
AUDITED = (
    "fewer rows: a new process also loads code, .5 s; more: tuples are grouped and stored, then "
    "grouped again into kinds of groups, where the floor groups once and stores nothing"
)


class Watch:
    """Seconds of each piece of work, told by its name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._started = time.perf_counter()

    def lap(self, work: str) -> None:
        """What was done since the last lap."""
        now = time.perf_counter()
        self.seconds[work], self._started = now - self._started, now


def floor(path: Path, memory: str, spill: Path, watch: Watch) -> None:
    settings = {
        "memory_limit": memory,
        "temp_directory": str(spill / "floor"),
        "preserve_insertion_order": False,
    }
    columns = ", ".join((*people.QUASI, "job"))
    grouped = f"SELECT {columns}, COUNT(*) AS n FROM read_parquet('{path}') GROUP BY {columns}"
    connection = duckdb.connect(config=settings)
    watch.lap("connecting")
    connection.sql(f"SELECT COUNT(*) FROM ({grouped})").fetchall()
    watch.lap("bare GROUP BY")


def audit(path: Path, memory: str, spill: Path, watch: Watch) -> None:
    sf.audit(sf.read(path, people.schema(), memory=memory, spill=spill), CRITERIA)
    watch.lap("read and audit")


def skyline(path: Path, memory: str, spill: Path, watch: Watch) -> None:
    table = sf.read(path, people.schema(), memory=memory, spill=spill)
    watch.lap("reading")
    sf.anonymize(table, sf.Policy(list(CRITERIA[-1:]), sf.Mondrian()), seed=1)
    watch.lap("Mondrian, skyline")


def release(path: Path, memory: str, spill: Path, watch: Watch) -> None:
    """A release and what is asked of it."""
    table = sf.read(path, people.schema(), memory=memory, spill=spill)
    watch.lap("reading")
    made = sf.anonymize(table, sf.Policy(KL, sf.Mondrian()), seed=1)
    watch.lap("Mondrian, k and l")
    made.save(spill / "release", format="parquet", force=True)
    watch.lap("writing the release")
    utility_named("query-error").cost(view_of(made))
    watch.lap("query error of the release")


def register(path: Path, memory: str, spill: Path, watch: Watch) -> None:
    """Everybody looked up in a release."""
    table = sf.read(path, people.schema(), memory=memory, spill=spill)
    made = sf.anonymize(table, sf.Policy(KL, sf.Mondrian()), seed=1)
    watch.lap("reading")
    linkage(made, population=table)
    watch.lap("linkage with a register")


def lattice(path: Path, memory: str, spill: Path, watch: Watch) -> None:
    table = sf.read(path, FEWER, memory=memory, spill=spill)
    watch.lap("reading")
    sf.anonymize(table, sf.Policy(KL, sf.Lattice(), suppression=0.05), seed=1)
    watch.lap("lattice of 72 nodes")


def deal(path: Path, memory: str, spill: Path, watch: Watch) -> None:
    table = sf.read(path, FEWER, memory=memory, spill=spill)
    watch.lap("reading")
    sf.anonymize(table, sf.Policy(KL, sf.Deal(seconds=10)), seed=1)
    watch.lap("deal within 10 s")


def characterize(path: Path, memory: str, spill: Path, watch: Watch) -> None:
    table = sf.read(path, people.schema(), memory=memory, spill=spill)
    watch.lap("reading")
    sf.characterize(table, max_size=2)
    watch.lap("characterize, pairs")


STEPS = {
    step.__name__: step
    for step in (floor, audit, skyline, release, lattice, deal, characterize, register)
}


def run(step: str, path: Path, memory: str) -> None:
    """One step, told as JSON with its peak memory."""
    with tempfile.TemporaryDirectory(dir=path.parent) as spill:
        watch = Watch()
        STEPS[step](path, memory, Path(spill), watch)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": watch.seconds, "peak": peak}))


def in_a_process(step: str, path: Path, memory: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--step", step, "--file", str(path), "--memory", memory]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise SystemExit(f"{step} on {path.name} failed: {answer.stderr.strip()[-500:]}")
    found: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return found


def named(rows: int) -> str:
    return f"{rows // 1_000_000}M rows" if rows >= 1_000_000 else f"{rows:,} rows"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(tempfile.gettempdir()) / "sfumato-scale"
    parser.add_argument("--folder", type=Path, default=here)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:
        run(given.step, given.file, given.memory)
        return
    free = shutil.disk_usage(given.folder.parent).free
    print(f"memory limit {given.memory}, {free / 1e9:.0f} GB of disk free")
    # Compiled code is loaded from its cache; the first run of a new version compiles it.
    warm = people.write(given.folder / "warm.parquet", 30_000)
    for step in given.steps:
        if step != "floor":
            in_a_process(step, warm, given.memory)
    taken: dict[int, dict[str, float]] = {}
    for rows in given.rows:
        path = people.write(given.folder / f"people-{rows}.parquet", rows)
        taken[rows] = {}
        for step in given.steps:
            found = in_a_process(step, path, given.memory)
            listed = ", ".join(f"{work} {one:.1f} s" for work, one in found["seconds"].items())
            print(f"{named(rows):>9}  {step}: {listed}; peak {found['peak'] / 1e9:.2f} GB")
            taken[rows] |= found["seconds"]
    told = [work for work in taken[given.rows[0]] if work not in ("connecting", "reading")]
    for rows in given.rows:
        if "bare GROUP BY" in told and "read and audit" in told:
            tell(
                f"read and audit under {given.memory}, {named(rows)}",
                taken[rows]["read and audit"],
                other=taken[rows]["bare GROUP BY"],
                against="bare GROUP BY",
                at_most=3,
                missed=AUDITED,
            )
    for few, many in pairwise(given.rows):
        for work in told:
            tell(
                f"{work}, {named(many)}",
                taken[many][work],
                other=taken[few][work],
                against=named(few),
                at_most=GROWTH * many / few,
                why=DEALT if work.startswith("deal") else "",
                missed=STORED,
            )


if __name__ == "__main__":
    main()
