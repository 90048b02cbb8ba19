"""Every benchmark in one run, gathered into one table: `make bench` writes benchmarks/RESULTS.md.

    python benchmarks/all.py [--peer PYTHON] [--only audit useful] [--long] [--out FILE]

Each script runs in a process of its own, one after another, and tells its rows (results.py): work,
ours, floor or peer, ratio, goal, met or not. A script that fails is a row that says so, a
goal that is missed without its reason is named at the top, and in both cases the run ends with 1;
what was measured before stays. How cost grows is measured on 1 and 10 million rows,
with `--long` also on 100 million. Ratios bind, seconds advise: the machine stands at the top of the
page. Adult and ACS files are taken from SFUMATO_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from results import KEPT, Row, figure

HERE = Path(__file__).parent
PEER = "PEER"  # stands for the Python that has the peers
# With --long; not for a lattice's scans, of which two sizes tell as much.
LONG = ("--rows", "1000000", "10000000", "100000000")
LARGEST = ("scale", "scale_commands", "scale_spark")


@dataclass(frozen=True)
class Chapter:
    """Scripts that answer one question, with their arguments."""

    title: str
    scripts: tuple[tuple[str, ...], ...]


CHAPTERS = (
    Chapter("Reading and judging", (("raw_table",), ("audit", "--peer", PEER), ("linkage",))),
    Chapter("First runs and warm commands", (("first_runs",),)),
    Chapter(
        "Searches",
        (
            ("lattice",),
            ("high_dimensions",),
            ("mondrian", "--peer", PEER),
            ("anatomy_mdav",),
            ("skyline_anonymize",),
            ("several_rows", "--people", "1000000"),
            ("local_suppression",),
        ),
    ),
    Chapter("Usefulness", (("useful", "--peer", PEER),)),
    Chapter(
        "Adversaries",
        (
            ("realistic",),
            ("skyline",),
            ("relative",),
            ("composition", "--peer", PEER),
            ("leakage",),
            ("special_uniques",),
        ),
    ),
    Chapter("Pages", (("report_page",), ("workbench",))),
    Chapter(
        "How cost grows", (("scale",), ("scale_commands",), ("scale_lattice",), ("scale_spark",))
    ),
)


def run(script: tuple[str, ...], peer: str | None) -> tuple[list[Row], float, int]:
    """The rows that a script tells, how long it took, and its exit code."""
    name, *arguments = script
    if PEER in arguments:
        arguments = ["--peer", peer] if peer else []
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "rows"
        kept.touch()
        start = time.perf_counter()
        command = [sys.executable, str(HERE / f"{name}.py"), *arguments]
        ended = subprocess.run(command, env={**os.environ, KEPT: str(kept)}, check=False)
        taken = time.perf_counter() - start
        return [Row(**json.loads(line)) for line in kept.open()], taken, ended.returncode


def machine() -> str:
    """What the figures were measured on, without a name of it."""
    processor = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    libraries = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "numba", "numpy"))
    return (
        f"{os.cpu_count()} cores ({processor}), {memory:.0f} GiB, {platform.system()}, "
        f"Python {platform.python_version()}, {libraries}"
    )


def commit() -> str:
    asked = ["git", "-C", str(HERE), "log", "-1", "--format=%h"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


def table(rows: list[Row]) -> Iterator[str]:
    yield "| work | ours | floor or peer | ratio | goal | |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        other = "" if row.other is None else f"{row.against}: {figure(row.other)} {row.unit}"
        ratio = "" if row.ratio is None else figure(row.ratio)
        verdict = {"met": "met", "NOT MET": "**not met**", "": ""}[row.verdict]
        beside = "; ".join(filter(None, (verdict, row.beside)))
        ours = f"{figure(row.ours)} {row.unit}"
        yield f"| {' | '.join((row.work, ours, other, ratio, row.goal, beside))} |"


def page(told: dict[str, list[Row]], failed: list[str], left_out: list[str], seconds: float) -> str:
    rows = [row for chapter in told.values() for row in chapter]
    asked = [row for row in rows if row.met is not None]
    silent = [row for row in rows if row.unexplained]
    lines = [
        "# Measured",
        "",
        f"`make bench` on {commit()}, {time.strftime('%Y-%m-%d')}, one run of {seconds / 60:.0f} "
        f"minutes: {machine()}.",
        "",
        "With a goal of *at most* the ratio is ours over theirs, with *at least* theirs over ours;",
        "without a floor or peer the goal is about our own figure. Ratios bind, seconds advise.",
        "",
        f"{sum(row.met is True for row in asked)} of {len(asked)} goals are met; why another "
        "is not stands beside it.",
        *(f"\n**No reason is known** why this goal is missed: {row.work}." for row in silent),
        *(f"\n**{name} failed**: rows of it are missing." for name in failed),
        *([f"\nNot in this run: {', '.join(left_out)}."] if left_out else []),
    ]
    for title, chapter in told.items():
        lines += ["", f"## {title}", "", *table(chapter)]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", help="a Python that has the peers (benchmarks/peers)")
    parser.add_argument("--only", nargs="+", default=[], help="scripts to run instead of all")
    parser.add_argument("--long", action="store_true", help="100 million rows too")
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    given = parser.parse_args()
    start = time.perf_counter()
    told: dict[str, list[Row]] = {}
    failed: list[str] = []
    # What was measured stays, also where the run is ended before its end.
    left_out = [script[0] for chapter in CHAPTERS for script in chapter.scripts]
    for chapter in CHAPTERS:
        for script in chapter.scripts:
            if given.only and script[0] not in given.only:
                continue
            if given.long and script[0] in LARGEST:
                script = (*script, *LONG)
            print(f"== {' '.join(script)}", flush=True)
            rows, taken, code = run(script, given.peer)
            print(f"   {taken:.0f} s", flush=True)
            told.setdefault(chapter.title, []).extend(rows)
            left_out.remove(script[0])
            if code:
                failed.append(script[0])
            given.out.write_text(page(told, failed, left_out, time.perf_counter() - start))
    print(given.out)
    silent = any(row.unexplained for chapter in told.values() for row in chapter)
    raise SystemExit(1 if failed or silent else 0)


if __name__ == "__main__":
    main()
