"""The table of a comparison, as words: what the terminal and the page both show."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.report.comparison import NOT_RELEASED, Comparison, Figures, Outcome

_VERDICTS = {"holds": "holds", "violated": "violated", "could_not_judge": "not judged"}
FRONT = "no other release here is better in risk or cost without being worse in the other"

WORDS = ("anonymizer", "policy")  # columns of words, the others are of figures


@dataclass(frozen=True)
class Row:
    """One outcome. Without a release only the settings are told, and `message` says why."""

    settings: tuple[str, ...]
    figures: tuple[str, ...]
    pareto: bool
    message: str
    label: str


@dataclass(frozen=True)
class Grid:
    """Headings and rows; settings first, figures after them."""

    settings: tuple[str, ...]
    figures: tuple[str, ...]
    rows: tuple[Row, ...]


def grid_of(comparison: Comparison) -> Grid:
    utilities = _utilities(comparison)
    return Grid(
        settings=tuple(comparison.sweep),
        figures=(
            "groups",
            "suppressed",
            "mean risk",
            "highest risk",
            "strongest belief",
            *utilities,
            "policy",
        ),
        rows=tuple(_row(comparison, outcome, utilities) for outcome in comparison.outcomes),
    )


def _utilities(comparison: Comparison) -> tuple[str, ...]:
    measured = [o.figures.costs for o in comparison.outcomes if o.figures is not None]
    return tuple(measured[0]) if measured else (comparison.cost,)


def _row(comparison: Comparison, outcome: Outcome, utilities: tuple[str, ...]) -> Row:
    found = outcome.figures
    blank = (*("–",) * (len(utilities) + 5), NOT_RELEASED.get(outcome.status, ""))
    return Row(
        tuple(_setting(outcome, name) for name in comparison.sweep),
        blank if found is None else _figures(found),
        outcome.pareto,
        "" if found else f"{NOT_RELEASED[outcome.status]}: {outcome.reason}",
        outcome.label,
    )


def _setting(outcome: Outcome, name: str) -> str:
    value = outcome.settings.get(name, "–")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _figures(found: Figures) -> tuple[str, ...]:
    return (
        f"{found.groups:,}",
        percent(found.suppressed_share),
        *(percent(found.risks[name]) for name in ("mean", "highest", "belief")),
        *(cost(value) for value in found.costs.values()),
        _VERDICTS[found.verdict],
    )


def reasons(grid: Grid) -> dict[str, str]:
    """Why points have no release, and which points: one reason may be that of many."""
    found: dict[str, list[str]] = {}
    for row in grid.rows:
        if row.message:
            found.setdefault(row.message, []).append(row.label)
    return {
        message: "; ".join(labels[:4]) + (f"; {len(labels) - 4} more" if len(labels) > 4 else "")
        for message, labels in found.items()
    }


def percent(share: float | None) -> str:
    """A share of 1 in three digits; "n/a" where there is nothing to measure."""
    return "n/a" if share is None or math.isnan(share) else f"{100 * share:.3g}%"


def cost(value: float) -> str:
    """A cost in four digits, whole numbers in full; "n/a" where the measure does not apply."""
    if math.isnan(value):
        return "n/a"
    if math.isinf(value):
        return "inf"
    return f"{value:,.0f}" if value.is_integer() or abs(value) >= 10_000 else f"{value:.4g}"


def counted(comparison: Comparison) -> str:
    """How many of the points are releases, in words."""
    released = sum(outcome.figures is not None for outcome in comparison.outcomes)
    points = len(comparison.outcomes)
    number = f"{released:,}" if released == points else f"{released:,} of {points:,} possible"
    return f"{number} release{'s' if points != 1 else ''}"
