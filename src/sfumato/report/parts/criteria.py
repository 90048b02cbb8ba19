"""The criteria: what was required, what was measured, whether it holds."""

from __future__ import annotations

from sfumato.report.exhibit import Section
from sfumato.report.ladder import noisy
from sfumato.report.model import Report
from sfumato.report.sheet import Sheet
from sfumato.report.text import number


def section(report: Report) -> Section:
    """One row a criterion."""
    public = report.audience == "public"
    columns = ("criterion", "about", "required", "measured", "verdict", "what was found")
    rows = [
        (
            verdict.criterion,
            verdict.attribute or ("everybody" if noisy(report) else "group sizes"),
            verdict.required,
            number(verdict.measured, at_most=True) if verdict.at_most else verdict.measured,
            verdict.status.replace("_", " "),
            verdict.note,
        )
        for verdict in report.verdicts
    ]
    last = len(columns) if any(row[-1] for row in rows) else len(columns) - 1
    words = "Every criterion of the policy must hold. Measured is the worst of all groups."
    if public:
        words += " Measured on what is published; decided against the whole table."
    return Section(
        "Criteria",
        words,
        (Sheet(columns[:last], tuple(row[:last] for row in rows)),),
    )
