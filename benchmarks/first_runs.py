"""First runs: what compiling costs whoever starts a command for the first time.

    python benchmarks/first_runs.py [--people 10000]

Each command runs in a process of its own, first with an empty cache of compiled code and then with
the one that it filled; seconds by the clock and of processors, and how many times as long the first
took as the best of three others. The kernels that took longest to compile are told at the end.
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
RUN = "from sfumato.cli.main import run; run()"


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
    people = str(parser.parse_args().people)
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        run(["demo", "--out", str(home / "demo"), "--people", people], home / "made")
        table, policy = (str(home / "demo" / "input" / n) for n in ("census.csv", "policy.toml"))
        release = str(home / "release")
        known = ["--policy", policy]
        commands = {
            "anonymize (bound 6 s)": ["anonymize", table, *known, "--out", release, "--force"],
            "audit": ["audit", release, *known],
            "attack intersect (bound 8 s)": [
                *("attack", "intersect", release, release, "--targets", table, *known)
            ],
            "attack relative (bound 8 s)": ["attack", "relative", release, "--table", table],
            "init": ["init", table, "--out", str(home / "draft.toml"), "--force"],
        }
        longest: dict[str, float] = {}
        print(f"{'':30}{'first':>8}{'of CPUs':>9}{'warm':>8}{'of CPUs':>9}  first / warm")
        for name, command in commands.items():
            cache = home / f"cache-{len(longest)}-{command[0]}-{command[1][-4:]}"
            first, busy, said = run(command, cache, watched=True)
            warm = [run(command, cache) for _ in range(3)]
            again, busy_again = min(one[0] for one in warm), min(one[1] for one in warm)
            print(
                f"{name:30}{first:8.2f}{busy:9.2f}{again:8.2f}{busy_again:9.2f}"
                f"{busy / busy_again:10.1f} by processors",
                flush=True,
            )
            for line in said.splitlines():
                if line.startswith("compiled "):
                    _, seconds, function = line.split()
                    longest[function] = max(float(seconds), longest.get(function, 0.0))
        print("longest to compile, seconds without what they call:")
        for function in sorted(longest, key=lambda one: -longest[one])[:15]:
            print(f"  {longest[function]:6.2f}  {function}")


if __name__ == "__main__":
    main()
