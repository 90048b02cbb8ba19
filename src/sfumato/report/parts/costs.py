"""What the release costs in usefulness, where the original table is at hand."""

from __future__ import annotations

from sfumato.errors import SfumatoError
from sfumato.release.release import Release
from sfumato.report.exhibit import Section
from sfumato.report.ladder import noisy
from sfumato.report.model import Report
from sfumato.report.sheet import Sheet
from sfumato.report.worth import closing_words
from sfumato.table.load import Table
from sfumato.utility import UTILITIES, utility_named
from sfumato.utility.view import view_of, view_with_table

ALWAYS = ("loss", "query-error")
_MOST_TUPLES = 1_000_000  # above, only what the policy itself asks for: queries take seconds there


def costs_of(report: Report) -> dict[str, float]:
    """Loss, query error and the policy's own measure; NaN where one does not apply."""
    evidence = report.evidence
    if evidence is None or report.audience == "public" or noisy(report):
        return {}
    if evidence.release.origin is None:
        return {} if evidence.table is None else _beside(evidence.release, evidence.table)
    asked = evidence.policy.utility if evidence.policy is not None else ALWAYS[0]
    table = evidence.release.origin.table
    small = len(table.counts) <= _MOST_TUPLES
    names = dict.fromkeys((asked, *(ALWAYS if small else ())))
    if table.held is not None:  # everybody's own values are not in memory to compare with
        names = {name: None for name in names if not UTILITIES[name].reads_tuples}
    view = view_of(evidence.release)
    return {name: utility_named(name).cost(view) for name in names}


def _beside(release: Release, table: Table) -> dict[str, float]:
    """What can be told of a release that was read and its table; nothing where they do not fit."""
    try:
        return {ALWAYS[0]: utility_named(ALWAYS[0]).cost(view_with_table(release, table))}
    except SfumatoError:
        return {}


def section(report: Report) -> Section | None:
    """One row a measure, and a warning where little is left."""
    if report.audience == "public" or report.raw:
        return None
    title = "What it costs"
    if noisy(report):
        return Section(
            title,
            "Not measured: nothing of the table is left in noisy counts to compare it with. The "
            "notes tell how far noise moves a count.",
        )
    warning = "".join(f"{words}\n\n" for words in closing_words(report))
    if not report.costs:
        return Section(
            title,
            f"{warning}Not measured: that needs the original table. The report that anonymize "
            "writes has it, and compare measures several releases.",
        )
    rows = tuple((name, cost, UTILITIES[name].about) for name, cost in report.costs.items())
    return Section(
        title,
        f"{warning}What the release has lost against the original table; lower is more useful. "
        "Other measures, classification among them, are measured by compare.",
        (Sheet(("measure", "cost", "what it means"), rows),),
    )
