"""What the release costs in usefulness, where the original table is at hand."""

from __future__ import annotations

from sfumato.report.exhibit import Section
from sfumato.report.model import Report
from sfumato.report.sheet import Sheet
from sfumato.utility import UTILITIES, utility_named
from sfumato.utility.view import view_of

ALWAYS = ("loss", "query-error")
_MOST_TUPLES = 1_000_000  # above, only what the policy itself asks for: queries take seconds there


def costs_of(report: Report) -> dict[str, float]:
    """Loss, query error and the policy's own measure; NaN where one does not apply."""
    evidence = report.evidence
    if evidence is None or evidence.release.origin is None or report.audience == "public":
        return {}
    asked = evidence.policy.utility if evidence.policy is not None else ALWAYS[0]
    table = evidence.release.origin.table
    small = len(table.counts) <= _MOST_TUPLES
    names = dict.fromkeys((asked, *(ALWAYS if small else ())))
    if table.held is not None:  # everybody's own values are not in memory to compare with
        names = {name: None for name in names if not UTILITIES[name].reads_tuples}
    view = view_of(evidence.release)
    return {name: utility_named(name).cost(view) for name in names}


def section(report: Report) -> Section | None:
    """One row a measure."""
    if report.audience == "public":
        return None
    title = "What it costs"
    if not report.costs:
        return Section(
            title,
            "Not measured: that needs the original table. The report that anonymize writes has "
            "it, and compare measures several releases.",
        )
    rows = tuple((name, cost, UTILITIES[name].about) for name, cost in report.costs.items())
    return Section(
        title,
        "What the release has lost against the original table; lower is more useful. Other "
        "measures, classification among them, are measured by compare.",
        (Sheet(("measure", "cost", "what it means"), rows),),
    )
