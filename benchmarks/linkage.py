"""What the linkage section adds to an audit: the same audit with and without it, in one run.

    python benchmarks/linkage.py [--rows 10000000]

Without: the library's own audit with `linkage` replaced by the result of an earlier call, so that
reading, counting, judging and reporting are the same. With: the section as every audit computes it,
and once more with a sampling fraction (three estimators). Warm, best of 9, alternating; reading
the file is part of an audit. A register of the population is measured apart, already read.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from audit import QUASI, SENSITIVE, criteria, make
from results import tell

import sfumato as sf
from sfumato.release.release import as_it_stands


def timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    rows = parser.parse_args().rows
    rules = criteria()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        make(path, rows)

        def audit(**more: object) -> sf.Report:
            table = sf.read(path, sf.Schema(quasi=QUASI, sensitive=SENSITIVE))
            return sf.audit(table, rules, **more)  # type: ignore[arg-type]

        known = audit(sampling_fraction=0.1).linkage

        def without() -> sf.Report:
            with patch("sfumato.workflow.audit.Linker.attack", return_value=known):
                return audit()

        runs: dict[str, Callable[[], object]] = {
            "without": without,
            "with": audit,
            "estimated": lambda: audit(sampling_fraction=0.1),
        }
        taken: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(9):
            for name, run in runs.items():
                taken[name].append(timed(run))
        best = {name: min(times) for name, times in taken.items()}
        table = sf.read(path, sf.Schema(quasi=QUASI, sensitive=SENSITIVE))
        release = as_it_stands(table)
        alone = min(timed(lambda: sf.linkage(release)) for _ in range(5))
        register = min(timed(lambda: sf.linkage(release, population=table)) for _ in range(5))
        print(f"rows                              {rows:12,}")
        print(f"groups                            {len(release.groups):12,}")
        floor = {"other": best["without"], "against": "the audit without it"}
        tell(f"audit with linkage, {rows:,} rows", best["with"], **floor, at_most=1.5)  # type: ignore[arg-type]
        tell("audit with linkage and estimators", best["estimated"], **floor)  # type: ignore[arg-type]
        tell("linkage alone", alone, **floor)  # type: ignore[arg-type]
        tell("linkage with a register", register)


if __name__ == "__main__":
    main()
