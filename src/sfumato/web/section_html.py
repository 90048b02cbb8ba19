"""Sections of the report as HTML for the workbench's pages, by the report's own macros.

A chart is its description as data beside its place; the page's script draws it with Plotly.
"""

from __future__ import annotations

import secrets
from functools import cache

from jinja2 import Template
from markupsafe import Markup

from sfumato.report.document import Section, Sheet
from sfumato.report.html.page import cells_of, section_parts
from sfumato.report.html.pictures import picture
from sfumato.web.bench import environment


def section_html(section: Section, *, level: int = 2) -> Markup:
    """A section with its words, tables and charts; `level` is that of its heading, 0 for none."""
    parts = section_parts(section, f"chart-{secrets.token_hex(4)}")
    return Markup(_template("section.html").render(section=parts, level=level))


def sheet_html(sheet: Sheet) -> Markup:
    """One table."""
    return section_html(Section("", tables=(sheet,)), level=0)


@cache
def _template(name: str) -> Template:
    made = environment()
    made.globals |= {"cells_of": cells_of, "picture": picture, "explain": _unexplained}
    return made.get_template(name)


def _unexplained(text: str, _where: str = "") -> str:
    """Words of the glossary are explained in reports."""
    return text
