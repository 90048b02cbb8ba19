"""A document as JSON: its facts and every section, all that is on its page and more.

Infinity is a value and written "inf", what does not apply is null: JSON has no number for either.
A report's keys are those of the schema in `schema/`; its public variant has no worst groups and no
small counts ("<10").
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.report.document import Chart, Document, Section, Series, Sheet, plain

SCHEMA_VERSION = 2  # of reports
SCHEMA = Path(__file__).parent / "schema" / f"report-{SCHEMA_VERSION}.json"


def to_json(document: Document) -> str:
    """Every section that is given, private ones too: callers choose what they pass."""
    return json.dumps(to_dict(document), indent=2, ensure_ascii=False, allow_nan=False)


def to_dict(document: Document) -> dict[str, Any]:
    head: Mapping[str, object] = document.facts
    if not document.on_top:
        head = {
            "exhibit": document.name,
            "title": document.title,
            "about": document.about,
            "facts": document.facts,
        }
    sections = [section_dict(section) for section in document.sections]
    content: dict[str, Any] = cleaned({**head, "sections": sections})
    return content


def section_dict(section: Section) -> dict[str, object]:
    return {
        "title": section.title,
        "words": section.words,
        "tables": [_table(sheet) for sheet in section.tables],
        "charts": [_chart(chart) for chart in section.charts],
    }


def _table(sheet: Sheet) -> dict[str, object]:
    starred = {"starred": sheet.starred, "star": sheet.star} if sheet.starred else {}
    return {
        "title": sheet.title,
        "columns": sheet.columns,
        "rows": sheet.rows,
        "notes": sheet.notes,
        **starred,
    }


def _chart(chart: Chart) -> dict[str, object]:
    axes = (("x", chart.x), ("y", chart.y), ("z", chart.z))
    return {
        "title": chart.title,
        "kind": chart.kind,
        "axes": {name: text for name, text in axes if text},
        "logarithmic": [name for name, on in (("x", chart.log_x), ("y", chart.log_y)) if on],
        "about": chart.alt,
        "series": [_series(one) for one in chart.series],
        **({"behind": [_series(one) for one in chart.behind]} if chart.behind else {}),
    }


def _series(series: Series) -> dict[str, object]:
    names = ("x", "y", "z", "text", "labels", "strong")
    given = {name: getattr(series, name) for name in names}
    return {
        "name": series.name,
        **{name: list(values) for name, values in given.items() if values is not None},
    }


def cleaned(value: object) -> Any:
    """Whatever is told, as JSON can hold it; whole numbers without a fraction."""
    if isinstance(value, Mapping):
        return {str(key): cleaned(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [cleaned(entry) for entry in value]
    value_ = plain(value)
    if isinstance(value_, float) and value_.is_integer() and abs(value_) < 2**53:
        return int(value_)
    return value_
