"""Comparison: what each of several policies would cost and leave to be found, as plain data.

It is for the owner of the data: it describes releases that were made to be compared, not published.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sfumato.errors import InputError
from sfumato.files import write_text
from sfumato.policy.model import Policy
from sfumato.progress import phase
from sfumato.report.document import PolicyStatus

if TYPE_CHECKING:
    from sfumato.report.document import Document

Value = int | float | bool | str
Status = Literal["released", "no_safe_release", "not_possible"]


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

    Without a release `figures` is None and `reason` says why. `pareto`: no other release compared
    has a lower risk without a higher cost, or a lower cost without a higher risk.
    """

    settings: Mapping[str, Value]
    anonymizer: str
    policy: Policy = field(repr=False)
    figures: Figures | None
    status: Status = "released"
    reason: str = ""
    pareto: bool = False

    @property
    def label(self) -> str:
        """The settings in one line; an anonymizer needs no further word."""
        return ", ".join(
            str(value) if name == "anonymizer" else f"{name}={value}"
            for name, value in self.settings.items()
        )


@dataclass(frozen=True)
class Comparison:
    """Releases of one table by several policies, on a map of risk and cost.

    `risk` and `cost` name the axes; lower is better for both.
    """

    label: str
    people: int
    sweep: Mapping[str, tuple[Value, ...]]
    outcomes: tuple[Outcome, ...]
    risk: str
    cost: str
    about: Mapping[str, str]
    notes: tuple[str, ...] = ()
    seed: int = 0

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

    def to_json(self) -> str:
        return self.document().to_json()

    def to_html(self) -> str:
        """A page that needs nothing but a browser."""
        return self.document().to_html()

    @phase("writing")
    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write a page (.html) or the figures (.json), whole or not at all."""
        target = Path(path)
        check_kind(target)
        page = target.suffix != ".json"
        text = self.to_html() if page else self.to_json() + "\n"
        write_text(target, text, force=force, what="map" if page else "comparison")

    def __repr__(self) -> str:
        return self.brief().text(120)


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
    found = outcome.figures.risks[risk], outcome.figures.costs[cost]
    if found[0] is None or math.isnan(found[0]) or math.isnan(found[1]):
        return None
    return found[0], found[1]


def pareto_front(points: Sequence[tuple[float, float] | None]) -> list[bool]:
    """Which points no other one dominates (as good in both, better in one); None never is.

    >>> pareto_front([(1, 3), (2, 2), (2, 4), None, (2, 2)])
    [True, True, False, False, True]
    """
    front = [False] * len(points)
    order = sorted((point, place) for place, point in enumerate(points) if point is not None)
    last: tuple[float, float] | None = None
    for point, place in order:  # by risk, then cost: a lower cost than ever, or a twin of the last
        if last is None or point == last or point[1] < last[1]:
            front[place] = True
            last = point
    return front
