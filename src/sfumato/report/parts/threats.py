"""The threat matrix: every adversary we know, weak to strong, and what the policy says to her."""

from __future__ import annotations

from sfumato.adversaries.threat import FACTOR, NEARLY_SURE, BeliefChange, chance
from sfumato.report.exhibit import Section
from sfumato.report.figure import Figure, Series
from sfumato.report.ladder import BEYOND, ThreatRow, about_of, matrix, noisy
from sfumato.report.model import Report
from sfumato.report.sheet import Sheet

_COLUMNS = (
    "adversary",
    "knows",
    "about",
    "before → after",
    "people",
    "would learn",
    "bounded by",
    "status",
)


def section(report: Report) -> Section:
    """One row an adversary, and a picture of the worst cases."""
    rows = matrix(report)
    sheet = Sheet(
        _COLUMNS,
        tuple(
            (
                row.adversary,
                row.knows,
                about_of(row),
                None if row.belief is None else str(row.belief),
                row.people_told,
                row.learns,
                ", ".join(row.covered) or "no criterion",
                row.status.replace("_", " "),
            )
            for row in rows
        ),
    )
    measured = [row for row in rows if row.belief is not None]
    words = (
        "Adversaries from weak to strong. Before and after: what she believes without the release "
        "and with it, of the person and the value for which that moves most. People: for how many "
        f"it moves by more than a factor {FACTOR:g}, counting how much larger the belief or how "
        f"much smaller the doubt becomes (less doubt than {chance(NEARLY_SURE)} is not told "
        "apart). What was not measured is not shown safe."
    )
    return Section(
        "Who could learn what",
        words if noisy(report) else f"{words}\n\n{BEYOND}",
        (sheet,),
        (_picture(measured),) if measured else (),
    )


def _picture(rows: list[ThreatRow]) -> Figure:
    """The belief of each that moves farthest: before, after, bounded by the policy or not."""
    best: dict[str, tuple[ThreatRow, BeliefChange]] = {}
    for row in rows:
        assert row.belief is not None
        known = best.get(row.adversary)
        if known is None or (row.belief.factor, row.belief.after) > (
            known[1].factor,
            known[1].after,
        ):
            best[row.adversary] = row, row.belief
    moves = list(best.values())
    bounded = [one for one in moves if one[0].covered]
    named = (
        ("before the release", [(row, belief.before) for row, belief in moves]),
        ("after, bounded by the policy", [(row, belief.after) for row, belief in bounded]),
        (
            "after, bounded by no criterion",
            [(row, belief.after) for row, belief in moves if not row.covered],
        ),
    )
    told = ", ".join(f"{row.adversary} {belief}" for row, belief in moves)
    return Figure(
        "Where each adversary's belief moves most",
        "points",
        "belief about the person for whom it moves most",
        "adversary",
        tuple(
            Series(name, [belief for _, belief in some], [row.adversary for row, _ in some])
            for name, some in named
            if some
        ),
        percent="x",
        alt=f"Weak to strong: {told}. {len(bounded)} of {len(best)} are bounded by the policy.",
    )
