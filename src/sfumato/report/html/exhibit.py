"""The page of an exhibit."""

from __future__ import annotations

from sfumato.report.exhibit import Exhibit
from sfumato.report.html.charts import plotly_script
from sfumato.report.html.draw import draw
from sfumato.report.html.page import fill


def exhibit_page(exhibit: Exhibit) -> str:
    """Every section of the exhibit, private ones too: callers choose what they pass."""
    sections = [
        {
            "title": section.title,
            "words": section.words.split("\n\n") if section.words else [],
            "sheets": section.sheets,
            "private": section.private,
            "figures": [
                {"title": figure.title, "alt": figure.alt, "html": draw(figure, f"chart-{at}-{no}")}
                for no, figure in enumerate(section.figures)
            ],
        }
        for at, section in enumerate(exhibit.sections)
    ]
    drawn = any(section["figures"] for section in sections)
    return fill(
        "exhibit.html",
        exhibit=exhibit,
        sections=sections,
        private=any(section.private for section in exhibit.sections),
        script=plotly_script() if drawn else "",
    )
