"""Sections as the page's templates take them: cells with what they are sorted by, charts drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sfumato.report.exhibit import Section
from sfumato.report.figure import Figure, plain
from sfumato.report.html.draw import draw, drawable
from sfumato.report.sheet import Sheet, is_word, shown

_MOST_NUMBERS = 400  # points of a chart that are also listed below it; the JSON has them all
_LOOKS = {
    "holds": "status-holds",
    "violated": "status-violated",
    "not measured": "status-unsure",
    "not applicable": "status-unsure",
    "not converged": "status-unsure",
    "cannot judge": "status-unsure",
}


@dataclass(frozen=True)
class Cell:
    """A cell of a table: its text, the number it is sorted by, and how it is marked."""

    text: str
    sort: str | None
    look: str


def cells(sheet: Sheet) -> list[list[Cell]]:
    """The cells of a table."""
    return [
        [Cell(shown(cell), _sort(cell), _LOOKS.get(shown(cell), "")) for cell in row]
        for row in sheet.rows
    ]


def _sort(cell: object) -> str | None:
    """A number for the script to sort by, nothing for what does not apply; None: by its text."""
    value = plain(cell)
    if value is None:
        return ""
    if isinstance(value, bool) or is_word(value):
        return None
    if isinstance(value, str):
        return "Infinity" if value == "inf" else "0.5"
    return repr(value)


def drawn_sections(sections: Iterable[Section]) -> list[dict[str, Any]]:
    """Every section with its charts drawn, and a name for links to lead to."""
    return [
        {
            "id": f"section-{at}",
            "title": section.title,
            "words": section.words.split("\n\n") if section.words else [],
            "sheets": section.sheets,
            "private": section.private,
            "figures": [
                {
                    "figure": figure,
                    "html": draw(figure, f"chart-{at}-{no}") if drawable(figure) else "",
                    "numbers": numbers_of(figure),
                }
                for no, figure in enumerate(section.figures)
            ],
        }
        for at, section in enumerate(sections)
    ]


def numbers_of(figure: Figure) -> Sheet | None:
    """The points of a chart as a table; None where they are too many to be read."""
    if not 0 < sum(len(one.x) for one in figure.series) <= _MOST_NUMBERS:
        return None
    first = figure.series[0]
    alike = all(list(one.x) == list(first.x) and one.text is None for one in figure.series)
    if alike and figure.kind != "cloud":
        rows = zip(first.x, *(one.y for one in figure.series), strict=True)
        return Sheet((figure.x, *(one.name for one in figure.series)), tuple(rows))
    columns = ["series", figure.x, figure.y]
    columns += [figure.z] if figure.kind == "cloud" else []
    named = any(one.text is not None for one in figure.series)
    listed = []
    for one in figure.series:
        for at in range(len(one.x)):
            row: list[object] = [one.name, one.x[at], one.y[at]]
            row += [one.z[at]] if one.z is not None else []
            row += [one.text[at] if one.text is not None else ""] if named else []
            listed.append(tuple(row))
    return Sheet((*columns, *(["what it is"] if named else [])), tuple(listed))
