"""Tables larger than memory: every command under a memory limit, and how its cost grows with rows.

    python benchmarks/scale.py --folder DIR [--rows 1000000 10000000 100000000] [--memory 2GB]

Audit, Mondrian (two policies), a lattice, deal, Anatomy, `characterize`, writing, and of a release
query error, and linkage with everybody as the register. Ten times the rows may take at most eleven
times as long. Steps run in processes of their own, so that peak memory (resident set) is theirs. A
step that would take longer than LONGEST, at ten times what a tenth of the rows took, is left out,
and its last row says so; one that is refused tells why. The floor of the audit is a bare GROUP BY
of the same file by quasi-identifiers and sensitive column under the same limit, its result counted,
not fetched (which would not fit).

The files (about 5 bytes a row) are made in the folder and stay there, and so do the releases by
Mondrian, a lattice and Anatomy, which `scale_commands.py` asks the commands about. 10 million rows
take some minutes altogether; 100 million, which are for `--rows`, about 10 GB of disk and some
minutes a step.
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
from collections.abc import Callable
from functools import partial
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
LONGEST = 500  # seconds that a step may be expected to take
DEALT = "its search takes the time it is given; what grows is cutting the table into cells"
STORED = "fewer rows fit into the limit and are held in memory, more are stored and read from disk"
LOOKED_UP = f"{STORED}; ten times the groups no longer lie in a processor's cache"
ORDERED = "nearly all of it orders everybody, and beyond the limit that is done on disk"
WRITTEN = "two thirds of it encode Parquet; what is sorted before lies on disk beyond the limit"
MISSED = {  # why cost grows more than rows, as profiles have shown it
    "query error of the release": STORED,
    "linkage with a register": LOOKED_UP,
    "bare GROUP BY": "the floor's own: beyond the limit DuckDB groups on disk",
    "Mondrian, k and l": "ten times the rows are split three levels deeper, each over all of them",
    "Anatomy, l = 3": ORDERED,
    "writing the release": WRITTEN,
    "writing its two tables": f"as writing the release, of which a profile said: {WRITTEN}",
}
AUDITED = (
    "fewer rows: a new process also loads code, .5 s; more: tuples are kept on disk for whatever "
    "is asked next, where the floor stores nothing"
)


def made_of(path: Path, anonymizer: str) -> Path:
    """The folder of the release that an anonymizer makes of a file."""
    return path.with_name(f"{path.stem}-{anonymizer}")


class StepFailed(Exception):
    """A step ended with an error: what else is measured stays."""


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
    made.save(made_of(path, "mondrian"), format="parquet", force=True)
    watch.lap("writing the release")
    utility_named("query-error").cost(view_of(made))
    watch.lap("query error of the release")
    linkage(made, population=table)
    watch.lap("linkage with a register")


def lattice(path: Path, memory: str, spill: Path, watch: Watch) -> None:
    table = sf.read(path, FEWER, memory=memory, spill=spill)
    watch.lap("reading")
    made = sf.anonymize(table, sf.Policy(KL, sf.Lattice(), suppression=0.05), seed=1)
    watch.lap("lattice of 72 nodes")
    made.save(made_of(path, "lattice"), format="parquet", force=True)


def anatomy(path: Path, memory: str, spill: Path, watch: Watch) -> None:
    table = sf.read(path, FEWER, memory=memory, spill=spill)
    watch.lap("reading")
    made = sf.anonymize(table, sf.Policy([sf.DistinctDiversity(3)], sf.Anatomy(3)), seed=1)
    watch.lap("Anatomy, l = 3")
    made.save(made_of(path, "anatomy"), format="parquet", force=True)
    watch.lap("writing its two tables")


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
    for step in (floor, audit, skyline, release, lattice, deal, anatomy, characterize)
}


def run(step: str, path: Path, memory: str) -> None:
    """One step, told as JSON with its peak memory."""
    with tempfile.TemporaryDirectory(dir=path.parent) as spill:
        watch, refused = Watch(), ""
        try:
            STEPS[step](path, memory, Path(spill), watch)
        except sf.ResourceError as error:
            watch.lap(f"{step}, refused")
            refused = str(error)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": watch.seconds, "peak": peak, "refused": refused}))


def in_a_process(step: str, path: Path, memory: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--step", step, "--file", str(path), "--memory", memory]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise StepFailed(f"{step} on {path.name} failed: {answer.stderr.strip()[-500:]}")
    found: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return found


def named(rows: int) -> str:
    return f"{rows // 1_000_000}M rows" if rows >= 1_000_000 else f"{rows:,} rows"


class Growth:
    """What steps took by the number of rows, each work by its name."""

    def __init__(self, sizes: list[int]) -> None:
        self.sizes = sizes
        self.taken: dict[int, dict[str, float]] = {rows: {} for rows in sizes}
        self._steps: dict[str, float] = {}  # what each step took of fewer rows, altogether
        self._beside: dict[str, str] = {}  # of a step that ends here: refused, left out
        self._step_of: dict[str, str] = {}  # of each work
        self._failed: list[str] = []

    def measure(self, step: str, rows: int, run: Callable[[], dict[str, Any]]) -> None:
        """Run a step, unless fewer rows took so long that it is left out or were refused."""
        before = self.sizes[max(self.sizes.index(rows) - 1, 0)]
        expected = self._steps.get(step, 0.0) * rows / before
        if step in self._beside or expected > LONGEST:
            left_out = f"{named(rows)} were left out, as they may take longer than {LONGEST} s"
            self._beside.setdefault(step, left_out)
            print(f"{named(rows):>9}  {step}: {self._beside[step]}", flush=True)
            return
        try:
            found = run()
        except StepFailed as error:
            self._beside[step] = f"{named(rows)} failed"
            self._failed.append(str(error))
            print(f"{named(rows):>9}  {error}", flush=True)
            return
        listed = ", ".join(f"{work} {one:.1f} s" for work, one in found["seconds"].items())
        processor = f"; {found['processor']:.1f} s of processors" if "processor" in found else ""
        peak = f"peak {found['peak'] / 1e9:.2f} GB"
        print(f"{named(rows):>9}  {step}: {listed}; {peak}{processor}", flush=True)
        self._steps[step] = sum(found["seconds"].values())
        self.taken[rows] |= found["seconds"]
        self._step_of |= dict.fromkeys(found["seconds"], step)
        if found["refused"]:
            self._beside[step] = f"refused: {found['refused']}"
            print(f"           {self._beside[step]}", flush=True)
            work = list(found["seconds"])[-1]
            tell(f"{work}, {named(rows)}", found["seconds"][work], why=self._beside[step])
            self.taken[rows].pop(work)

    def tell(self, whys: dict[str, str]) -> None:
        """A row for each work and each step from a size to the next; why one that grows too much
        does is told where a profile has shown it. Ends with an error where a step did."""
        for few, many in pairwise(self.sizes):
            for work, seconds in self.taken[many].items():
                if work in ("connecting", "reading") or work not in self.taken[few]:
                    continue
                ended = many == max(rows for rows in self.sizes if work in self.taken[rows])
                left_out = self._beside.get(self._step_of[work], "") if ended else ""
                tell(
                    f"{work}, {named(many)}",
                    seconds,
                    other=self.taken[few][work],
                    against=named(few),
                    at_most=GROWTH * many / few,
                    why="; ".join(filter(None, (whys.get(work, ""), left_out))),
                    missed=MISSED.get(work, ""),
                )
        if self._failed:
            raise SystemExit("; ".join(self._failed))


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
    growth = Growth(given.rows)
    for rows in given.rows:
        path = people.write(given.folder / f"people-{rows}.parquet", rows)
        for step in given.steps:
            growth.measure(step, rows, partial(in_a_process, step, path, given.memory))
    for rows, taken in growth.taken.items():
        if "bare GROUP BY" in taken and "read and audit" in taken:
            tell(
                f"read and audit under {given.memory}, {named(rows)}",
                taken["read and audit"],
                other=taken["bare GROUP BY"],
                against="bare GROUP BY",
                at_most=3,
                missed=AUDITED,
            )
    growth.tell({"deal within 10 s": DEALT})


if __name__ == "__main__":
    main()
