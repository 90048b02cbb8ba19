"""Comparison: what each of several policies would cost and leave to be found, as plain data.

It is for the owner of the data: it describes releases that were made to be compared, not published.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sfumato.errors import InputError, list_some
from sfumato.files import write_text
from sfumato.policy.model import Policy
from sfumato.progress import phase
from sfumato.report.document import (
    Document,
    Documented,
    PolicyStatus,
)

SweptValue = int | float | bool | str
SweepStatus = Literal["released", "no_safe_release", "not_possible"]


@dataclass(frozen=True)
class RiskAxis:
    """A figure that may be the risk axis: its name in a sentence, its unit, what it means."""

    words: str
    unit: str
    about: str


RISKS: dict[str, RiskAxis] = {
    "mean": RiskAxis(
        "mean prosecutor risk",
        "chance of being found",
        "how likely a person's row is found by somebody who knows that she is in the release; "
        "mean over published people",
    ),
    "highest": RiskAxis(
        "highest prosecutor risk",
        "chance of being found",
        "how likely the least protected person's row is found by somebody who knows that she is "
        "in the release",
    ),
    "belief": RiskAxis(
        "strongest belief",
        "share of one value in a group",
        "the highest share of one sensitive value in a group: how surely it is read off without "
        "finding the row",
    ),
}


@dataclass(frozen=True)
class Figures:
    """What was measured of one release.

    `risks` by the names of RISKS, None where there is nothing to measure; `costs` by utility
    measure, NaN where it does not apply; `verdict` is the audit's.
    """

    groups: int
    people: int
    suppressed: int
    risks: Mapping[str, float | None]
    costs: Mapping[str, float]
    verdict: PolicyStatus

    @property
    def suppressed_share(self) -> float:
        everybody = self.people + self.suppressed
        return self.suppressed / everybody if everybody else 0.0


@dataclass(frozen=True)
class Outcome:
    """One point of the sweep: its settings, its policy, and what came of it.

    `number` is its name: 1, 2, ... in the order of the sweep. Without a release `figures` is None
    and `reason` says why. `pareto`: no other release compared has a lower risk without a higher
    cost, or a lower cost without a higher risk. `as_given`: it is the policy as it stands.
    """

    settings: Mapping[str, SweptValue]
    anonymizer: str
    policy: Policy = field(repr=False)
    figures: Figures | None
    status: SweepStatus = "released"
    reason: str = ""
    pareto: bool = False
    number: int = 0
    as_given: bool = False

    @property
    def label(self) -> str:
        """The settings in one line; an anonymizer needs no further word."""
        return ", ".join(
            str(value) if name == "anonymizer" else f"{name}={value}"
            for name, value in self.settings.items()
        )


@dataclass(frozen=True)
class Fingerprints:
    """By which table and policy points were made: whoever publishes one must have the same."""

    table: str
    policy: str


@dataclass(frozen=True, repr=False)
class Comparison(Documented):
    """Releases of one table by several policies, on a map of risk and cost.

    `risk` and `cost` name the axes; lower is better for both.
    """

    label: str
    people: int
    sweep: Mapping[str, tuple[SweptValue, ...]]
    outcomes: tuple[Outcome, ...]
    risk: str
    cost: str
    about: Mapping[str, str]
    notes: tuple[str, ...] = ()
    seed: int = 0
    made_of: Fingerprints | None = None

    @property
    def pareto(self) -> tuple[Outcome, ...]:
        """The releases worth choosing from."""
        return tuple(outcome for outcome in self.outcomes if outcome.pareto)

    def document(self) -> Document:
        """The map, the figures and what they mean, for the page and for JSON."""
        from sfumato.report.sections.comparison import document

        return document(self)

    def brief(self) -> Document:
        """The figures alone, for a terminal."""
        from sfumato.report.sections.comparison import brief

        return brief(self)

    @phase("writing")
    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write a page (.html) or the figures (.json), whole or not at all."""
        target = Path(path)
        check_kind(target)
        page = target.suffix != ".json"
        text = self.to_html() if page else self.to_json() + "\n"
        write_text(target, text, force=force, kind="map" if page else "comparison")

    def _in_short(self) -> tuple[str, ...]:
        best = list_some((outcome.label for outcome in self.pareto), 3) or "none"
        return (
            f"Comparison: {counted(self)} of {self.label}, {self.people:,} people",
            f"sweep: {', '.join(self.sweep)}; risk: {self.risk}; cost: {self.cost}",
            f"worth choosing from: {best}",
        )


@dataclass(frozen=True)
class TakenFrom:
    """The comparison that a release was taken from: the file that tells of it, and the point."""

    file: str
    number: int
    comparison: Comparison

    @property
    def outcome(self) -> Outcome:
        return self.comparison.outcomes[self.number - 1]

    @property
    def words(self) -> str:
        return f"point {self.number} of {self.file} ({self.outcome.label})"


def check_kind(target: Path, endings: Sequence[str] = (".html", ".htm", ".json")) -> None:
    """Refuse a name whose ending does not say what to write."""
    if target.suffix not in endings:
        raise InputError(
            f"cannot write a comparison as {target.name!r}; use a name ending in "
            f"{' or '.join(ending for ending in endings if ending != '.htm')}"
        )


def position(outcome: Outcome, risk: str, cost: str) -> tuple[float, float] | None:
    """Where an outcome lies on the map; None if it is not on it."""
    if outcome.figures is None or outcome.figures.verdict != "holds":
        return None
    point = outcome.figures.risks[risk], outcome.figures.costs[cost]
    if point[0] is None or math.isnan(point[0]) or math.isnan(point[1]):
        return None
    return point[0], point[1]


def counted(comparison: Comparison) -> str:
    """How many of the points are releases, in words."""
    released = sum(outcome.figures is not None for outcome in comparison.outcomes)
    points = len(comparison.outcomes)
    number = f"{released:,}" if released == points else f"{released:,} of {points:,} possible"
    return f"{number} release{'s' if points != 1 else ''}"
