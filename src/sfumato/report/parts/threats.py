"""The threat matrix: every adversary we know, weak to strong, and what the policy says to her."""

from __future__ import annotations

from sfumato.report.exhibit import Section
from sfumato.report.figure import Figure, Series
from sfumato.report.ladder import ThreatRow, matrix
from sfumato.report.model import Report
from sfumato.report.sheet import Sheet

_COLUMNS = ("adversary", "knows", "would learn", "people", "worst case", "bounded by", "status")


def section(report: Report) -> Section:
    """One row an adversary, and a picture of the worst cases."""
    rows = matrix(report)
    sheet = Sheet(
        _COLUMNS,
        tuple(
            (
                row.adversary,
                row.knows,
                row.learns,
                row.people,
                row.worst,
                ", ".join(row.covered) or "no criterion",
                row.status.replace("_", " "),
            )
            for row in rows
        ),
    )
    measured = [row for row in rows if row.worst is not None]
    return Section(
        "Who could learn what",
        "Adversaries from weak to strong. People: how many she would learn something about. "
        "Worst case: what she would believe of the person she learns most about, as a chance from "
        "0 to 1. What was not measured is not shown safe.",
        (sheet,),
        (_picture(measured),) if measured else (),
    )


def _picture(rows: list[ThreatRow]) -> Figure:
    """Her worst case, and whether the policy bounds her."""
    best: dict[str, ThreatRow] = {}
    for row in rows:
        if row.adversary not in best or (row.worst or 0) > (best[row.adversary].worst or 0):
            best[row.adversary] = row
    bounded = [row for row in best.values() if row.covered]
    free = [row for row in best.values() if not row.covered]
    named = (("bounded by the policy", bounded), ("bounded by no criterion", free))
    told = ", ".join(f"{row.adversary} {row.worst:.2g}" for row in best.values())
    return Figure(
        "The worst case of each adversary",
        "points",
        "belief about the person who is worst off",
        "adversary",
        tuple(
            Series(name, [row.worst for row in some], [row.adversary for row in some])
            for name, some in named
            if some
        ),
        percent="x",
        alt=f"Weak to strong: {told}. {len(bounded)} of {len(best)} are bounded by the policy.",
    )
