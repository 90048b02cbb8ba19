"""The report's page."""

from __future__ import annotations

from sfumato.report.headline import KEPT, glance, headline
from sfumato.report.html.charts import plotly_script
from sfumato.report.html.page import fill
from sfumato.report.html.sections import drawn_sections
from sfumato.report.model import Report
from sfumato.report.sheet import shown
from sfumato.report.worth import closing_words


def report_page(report: Report) -> str:
    """A page that needs nothing but a browser; private, unless the report is public."""
    sections = drawn_sections(report.sections)
    return fill(
        "report.html",
        report=report,
        summary=report.summary,
        headline=headline(report),
        warnings=[] if report.audience == "public" else closing_words(report),
        glance={name: _tile(name, value) for name, value in glance(report).items()},
        sections=sections,
        public=report.audience == "public",
        mark_private=False,  # the page says so of all of it
        script=plotly_script() if any(section["figures"] for section in sections) else "",
    )


def _tile(name: str, value: object) -> str:
    return f"{value:.1%}" if name == KEPT else shown(value)
