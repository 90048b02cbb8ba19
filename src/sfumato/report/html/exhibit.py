"""The page of an exhibit."""

from __future__ import annotations

from sfumato.report.exhibit import Exhibit
from sfumato.report.html.charts import plotly_script
from sfumato.report.html.page import fill
from sfumato.report.html.sections import drawn_sections


def exhibit_page(exhibit: Exhibit, *, beside_result: bool = False) -> str:
    """Every section of the exhibit, private ones too: callers choose what they pass.

    `beside_result`: whether result.json is written beside it.
    """
    sections = drawn_sections(exhibit.sections)
    return fill(
        "exhibit.html",
        exhibit=exhibit,
        sections=sections,
        private=any(section.private for section in exhibit.sections),
        mark_private=True,
        beside_result=beside_result,
        script=plotly_script() if any(section["figures"] for section in sections) else "",
    )
