"""What a benchmark tells: some work, ours, a floor or a peer, the ratio, the goal, met or not.

    from results import tell
    tell("audit, 1M rows", 0.78, other=0.28, against="bare GROUP BY", at_most=3)
    tell("lattice, k = 5", 0.05, other=0.284, against="ARX, its header's figure", at_least=5)
    tell("first anonymize", 5.4, at_most=6, why="0 functions compiled", missed="imports take 1 s")

With `at_most` the ratio is ours over theirs, with `at_least` theirs over ours (how many times as
fast we are); without `other` the goal is about our own figure. A row without a goal is only told.
`why` says how a figure is to be read; `missed` why its goal is not met, and is told only then.
Every row is printed at once. Where SFUMATO_BENCH_ROWS names a file, it is also kept there as a line
of JSON: that is how `make bench` (benchmarks/all.py) gathers one table of all scripts.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

KEPT = "SFUMATO_BENCH_ROWS"

# Programs that a benchmark starts keep what Python compiled of them, as installed ones do; else
# each would compile every module that it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    work: str
    ours: float
    other: float | None = None
    against: str = ""
    at_most: float | None = None
    at_least: float | None = None
    unit: str = "s"
    why: str = ""  # how the figure is to be read
    missed: str = ""  # why its goal is not met, where it is not

    @property
    def ratio(self) -> float | None:
        """Ours over theirs, or theirs over ours where the goal is how many times as fast we are."""
        if self.other is None:
            return None
        return self.other / self.ours if self.at_least is not None else self.ours / self.other

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None where there is none."""
        figure = self.ours if self.ratio is None else self.ratio
        if self.at_most is not None:
            return figure <= self.at_most
        return figure >= self.at_least if self.at_least is not None else None

    @property
    def goal(self) -> str:
        """The goal in words."""
        if self.at_most is not None:
            return f"at most {self.at_most:g}"
        return f"at least {self.at_least:g}" if self.at_least is not None else ""

    @property
    def verdict(self) -> str:
        """Met, not met, or nothing where nothing was asked."""
        return {True: "met", False: "NOT MET", None: ""}[self.met]

    @property
    def beside(self) -> str:
        """What stands beside the figures: how to read them, and why a goal is not met."""
        return "; ".join(filter(None, (self.why, self.missed if self.met is False else "")))

    @property
    def unexplained(self) -> bool:
        """Whether a goal is missed and nobody said why."""
        return self.met is False and not self.missed

    def line(self) -> str:
        """For a terminal."""
        other = "" if self.other is None else f"  {self.against} {figure(self.other)} {self.unit}"
        ratio = "" if self.ratio is None else f"  ratio {figure(self.ratio)}"
        goal = f"  ({self.goal}: {self.verdict})" if self.goal else ""
        return f"{self.work:44} {figure(self.ours)} {self.unit}{other}{ratio}{goal}"


def figure(number: float) -> str:
    """Three digits, as people read them."""
    if abs(number) >= 100:
        return f"{number:,.0f}"
    return f"{number:.3g}"


def tell(
    work: str,
    ours: float,
    *,
    other: float | None = None,
    against: str = "",
    at_most: float | None = None,
    at_least: float | None = None,
    unit: str = "s",
    why: str = "",
    missed: str = "",
) -> Row:
    """Print a row, and keep it for the table of all where one is being made."""
    row = Row(work, float(ours), other, against, at_most, at_least, unit, why, missed)
    print(row.line(), flush=True)
    if KEPT in os.environ:
        with Path(os.environ[KEPT]).open("a") as kept:
            kept.write(json.dumps(asdict(row)) + "\n")
    return row
