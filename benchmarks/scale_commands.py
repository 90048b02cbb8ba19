"""How the cost of every other command grows with rows: as users start it, a process of its own.

    python benchmarks/scale_commands.py [--folder DIR] [--rows 1000000 10000000] [--memory 2GB]

Releases are audited, attacked and compared; drafts and prices are made, which look at samples.
`scale.py` leaves the files of people and the releases in the folder, and says how reading, searches
and writing grow; what is missing there is made first. The two releases that are intersected, and
that a ledger is asked about, are the same one twice: what is counted is time. Ten times the rows
may take at most eleven times as long; seconds of 30,000 rows, nearly all of them the start of a
process, stand beside. What is refused says so, with what the command said.

Not here: `attack rows`, which needs people with several rows (`several_rows.py` has them), `attack
uniques` (`special_uniques.py`), and `reproduce`, `demo` and `hierarchy`, which read no large table.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import people
from scale import FEWER, KL, Growth, StepFailed, in_a_process, made_of

import sfumato as sf

RUN = "from sfumato.cli.entry import run; run()"
WARM = 30_000
NEEDED = {"mondrian": "release", "lattice": "lattice", "anatomy": "anatomy"}  # steps of scale.py
WORKS = {
    "audit of a release": ("audit", "{mondrian}", "--policy", "{all}", "--memory"),
    "audit of buckets": ("audit", "{anatomy}", "--policy", "{buckets}", "--memory"),
    "skyline": ("skyline", "{mondrian}", "--policy", "{all}", "--value", "job 0", "--memory"),
    "attack relative, exact": (
        *("attack", "relative", "{lattice}", "--table", "{people}"),
        *("--policy", "{few}", "--memory"),
    ),
    "attack intersect": (
        *("attack", "intersect", "{lattice}", "{lattice}", "--targets", "{people}"),
        *("--policy", "{few}", "--memory"),
    ),
    "ledger check": (
        *("ledger", "check", "{ledger}", "{lattice}", "--targets", "{people}"),
        *("--policy", "{few}", "--memory"),
    ),
    "ledger check of its table": (
        *("ledger", "check", "{ledger}", "{lattice}", "--table", "{people}"),
        *("--policy", "{few}", "--memory"),
    ),
    "compare, two lattices": (
        *("compare", "{people}", "--policy", "{few}", "--sweep", "k=10,50", "--memory"),
    ),
    "price": ("price", "{people}", "--policy", "{few}", "--memory"),
    "init": ("init", "{people}", "--out", "{draft}", "--force"),
}


def start(command: list[str]) -> dict[str, Any]:
    """A command, its seconds, peak memory and, if it is refused, what it said."""
    with tempfile.TemporaryFile("w+") as said, Path(os.devnull).open("w") as nowhere:
        began = time.perf_counter()
        program = [sys.executable, "-c", RUN, *command]
        ends = ((nowhere, 1), (said, 2))
        actions = [(os.POSIX_SPAWN_DUP2, file.fileno(), end) for file, end in ends]
        child = os.posix_spawn(sys.executable, program, os.environ, file_actions=actions)
        _, status, used = os.wait4(child, 0)
        seconds = time.perf_counter() - began
        said.seek(0)
        _, _, error = said.read().rpartition("error: ")
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 1, 2, 3) or (code == 2 and "limit" not in error):
        raise StepFailed(f"{' '.join(command[:2])} ended with {code}: {error[-500:]}")
    return {
        "seconds": seconds,
        "processor": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss * 1024,
        "refused": " ".join(error.split()) if code == 2 else "",
    }


def measured(work: str, command: list[str]) -> dict[str, Any]:
    if any(made_by_a_step(word) and not Path(word).exists() for word in command):
        refused = "so was the step of scale.py that makes what it is about"
        return {"seconds": {work: 0.0}, "processor": 0.0, "peak": 0, "refused": refused}
    found = start(command)
    return {**found, "seconds": {work: found["seconds"]}}


def made_by_a_step(word: str) -> bool:
    return word.endswith((*(f"-{anonymizer}" for anonymizer in NEEDED), ".sqlite"))


def prepared(folder: Path, rows: int, memory: str) -> dict[str, str]:
    """What stands in commands: files of so many rows, releases of them, policies, a ledger."""
    path = people.write(folder / f"people-{rows}.parquet", rows)
    for anonymizer, step in NEEDED.items():
        if not made_of(path, anonymizer).exists():
            in_a_process(step, path, memory)
    policies = {
        "all": sf.Policy(KL, sf.Mondrian(), schema=people.schema()),
        "few": sf.Policy(KL, sf.Lattice(), schema=FEWER, suppression=0.05),
        "buckets": sf.Policy([sf.DistinctDiversity(3)], sf.Anatomy(3), schema=FEWER),
    }
    places = {name: folder / f"{name}.toml" for name in (*policies, "draft")}
    for name, policy in policies.items():
        policy.save(places[name])
    places |= {"people": path, "ledger": folder / f"ledger-{rows}.sqlite"}
    places |= {anonymizer: made_of(path, anonymizer) for anonymizer in NEEDED}
    places["ledger"].unlink(missing_ok=True)
    if places["lattice"].exists():
        kept = sf.read_release(places["lattice"], FEWER, memory=memory)
        sf.Ledger(places["ledger"]).add(kept, "2025")
    return {name: str(place) for name, place in places.items()}


def command_of(work: str, places: dict[str, str], memory: str) -> list[str]:
    command = [word.format(**places) for word in WORKS[work]]
    return [*command, memory] if command[-1] == "--memory" else command


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(tempfile.gettempdir()) / "sfumato-scale"
    parser.add_argument("--folder", type=Path, default=here)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--works", nargs="+", choices=WORKS, default=list(WORKS))
    given = parser.parse_args()
    # The first run of a new version compiles; the second tells what starting a process takes.
    few = prepared(given.folder, WARM, given.memory)
    started = {}
    for work in given.works:
        start(command_of(work, few, given.memory))
        started[work] = start(command_of(work, few, given.memory))["seconds"]
    growth = Growth(given.rows)
    for rows in given.rows:
        places = prepared(given.folder, rows, given.memory)
        for work in given.works:
            run = partial(measured, work, command_of(work, places, given.memory))
            growth.measure(work, rows, run)
    growth.tell({work: f"{WARM:,} rows: {seconds:.1f} s" for work, seconds in started.items()})


if __name__ == "__main__":
    main()
