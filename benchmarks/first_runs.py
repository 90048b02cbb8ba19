"""First runs: what compiling costs whoever starts a command for the first time.

    python benchmarks/first_runs.py [--people 10000] [--only anonymize]

Each command runs in a process of its own, first with an empty cache of compiled code and then with
the one that it filled, the best of three. Seconds by the clock; those of processors, and how many
functions were compiled, are told beside them. The kernels that took longest are told at the end.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from results import tell

# Runs the command and tells, at its end, how long each function took to compile without those that
# it calls.
WATCHED = """
import atexit, collections, sys, time
from numba.core import event
open_, own = [], collections.Counter()
class Compiled(event.Listener):
    def on_start(self, one):
        open_.append([time.thread_time(), 0.0])
    def on_end(self, one):
        began, inside = open_.pop()
        whole = time.thread_time() - began
        function = one.data["dispatcher"].py_func
        own[f"{function.__module__}.{function.__name__}"] += whole - inside
        if open_:
            open_[-1][1] += whole
event.register("numba:compile", Compiled())
def tell():
    for name, seconds in own.most_common():
        print(f"compiled {seconds:.3f} {name}", file=sys.stderr)
atexit.register(tell)
"""
# What only tests install, and Numba imports where it is there, no user waits for.
RUN = "import sys; sys.modules['coverage'] = None; from sfumato.cli.entry import run; run()"
FIRST = {"anonymize": 6.0}  # goals in seconds, of first runs; others 8
WARM = 1.5
# Where the seconds go of commands that miss their goal, from profiles of them.
IMPORTS = "about half a second are imports of Python, NumPy, Arrow and DuckDB"
MISSED = {
    "attack relative": "half are imports, Numba's as well; chains of all people are run until they "
    "agree",
    "init": "the draft is tried on 1,000 people by a short search of `deal`, which takes .6 s of "
    "processors, and Numba .2 s before that",
    "price": "16 releases of 10,000 people are searched, .07 s each, and one after the other told",
}


def run(command: list[str], cache: Path, *, watched: bool = False) -> tuple[float, float, str]:
    """Seconds by the clock, of processors, and what was said on stderr."""
    program = [sys.executable, "-c", (WATCHED if watched else "") + RUN, *command]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    told = subprocess.run(
        program,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
    )
    taken = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if told.returncode > 1:
        raise SystemExit(f"{command[0]} failed: {told.stderr.strip().splitlines()[-1]}")
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return taken, busy, told.stderr


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--only", default="", help="commands that begin so")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        run(["demo", "--out", str(home / "demo"), "--people", str(asked.people)], home / "made")
        table, policy = (str(home / "demo" / "input" / n) for n in ("census.csv", "policy.toml"))
        release = str(home / "demo" / "release")
        known = ["--policy", policy]
        commands = {
            "anonymize": ["anonymize", table, *known, "--out", str(home / "release"), "--force"],
            "audit": ["audit", release, *known],
            "attack intersect": [
                *("attack", "intersect", release, release, "--targets", table, *known)
            ],
            "attack relative": ["attack", "relative", release, "--table", table, *known],
            "skyline": ["skyline", release, *known, "--value", "Influenza"],
            "characterize": ["characterize", table, *known],
            "init": ["init", table, "--out", str(home / "draft.toml"), "--force"],
            "price": ["price", table, *known],
        }
        longest: dict[str, float] = {}
        for name, command in commands.items():
            if not name.startswith(asked.only):
                continue
            cache = home / f"cache-{name.replace(' ', '-')}"
            first, busy, said = run(command, cache, watched=True)
            warm = [run(command, cache) for _ in range(3)]
            compiled = [line.split() for line in said.splitlines() if line.startswith("compiled ")]
            for _, seconds, function in compiled:
                longest[function] = max(float(seconds), longest.get(function, 0.0))
            beside = f"{busy:.1f} s of processors, {len(compiled)} functions compiled"
            why_missed = f"{MISSED.get(name, IMPORTS)}; the rest is compiling"
            first_goal = FIRST.get(name, 8.0)
            tell(f"first {name}", first, at_most=first_goal, why=beside, missed=why_missed)
            again, busy = min(one[0] for one in warm), min(one[1] for one in warm)
            why_missed, beside = MISSED.get(name, IMPORTS), f"{busy:.1f} s of processors"
            tell(f"warm {name}", again, at_most=WARM, why=beside, missed=why_missed)
        print("longest to compile, seconds without what they call:")
        for function in sorted(longest, key=lambda one: -longest[one])[:15]:
            print(f"  {longest[function]:6.2f}  {function}")


if __name__ == "__main__":
    main()
