"""What all charts share: colours and shapes, axes, and values as Plotly takes them.

Text and lines take the page's colours, light or dark, from its style sheet. Infinity and what does
not apply have no place on an axis and are left out of the picture; they are in the tables beside
it. Labels come from data: Plotly reads some HTML in texts, so each is escaped, and long ones are
cut on axes only, never when pointed at.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from sfumato.report.document import CellNumber, Chart, plain

# Okabe and Ito's colours, told apart by the colour-blind too; and a shape each.
LOOKS = (
    ("#0072B2", "circle"),
    ("#D55E00", "square"),
    ("#009E73", "diamond"),
    ("#CC79A7", "triangle-up"),
    ("#56B4E9", "triangle-down"),
    ("#E69F00", "pentagon"),
)
INK, _GRID, RULE = "#1f2328", "#e6e8eb", "#8c959f"
_FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif"
# Plotly would offer a button that sends the chart to a server; these pages send nothing anywhere.
CONFIG = {
    "responsive": True,
    "displaylogo": False,
    "showSendToCloud": False,
    "plotlyServerURL": "",
    "modeBarButtons": [["zoom2d", "pan2d", "resetScale2d", "toImage"]],
}
LONG = 26  # letters of a label on an axis, or in a legend
_WHOLE = 15  # whole numbers on an axis that are all marked


def layout(height: int, *, showlegend: bool) -> dict[str, Any]:
    """What the layouts of all charts share."""
    return {
        "height": height,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": _FONT, "size": 13, "color": INK},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "hoverlabel": {"bgcolor": "white", "align": "left", "namelength": -1},
        "showlegend": showlegend,
        "colorway": [colour for colour, _ in LOOKS],
    }


def axis_of(chart: Chart, axis: str, named: list[str]) -> dict[str, Any]:
    log = chart.log_x if axis == "x" else chart.log_y
    title = chart.x if axis == "x" else chart.y
    look: dict[str, Any] = {
        "title": {"text": escape(title) + (" (log scale)" if log else ""), "standoff": 14},
        "gridcolor": _GRID,
        "zeroline": False,
        "showline": True,
        "linecolor": RULE,
        "ticks": "outside",
        "tickcolor": RULE,
        "automargin": True,
    }
    if named:
        # Never guessed: a text that looks like a number or a date is a text.
        # Bars that lie have room for what they say.
        most = 2 * LONG if axis == "y" and chart.kind == "bars" else LONG
        texts = [escape(short(text, most)) for text in named]
        places = [escape(text) for text in named]
        look |= {"type": "category", "categoryorder": "array", "categoryarray": places}
        return look | {"tickmode": "array", "tickvals": places, "ticktext": texts}
    if axis in chart.bare:
        return look | {"type": "linear", "showticklabels": False, "ticks": "", "showgrid": False}
    if axis in chart.percent:
        look["tickformat"] = "~%"
        look["rangemode"] = "tozero"
    if log:
        positive = [value for value in along(chart, axis) if value > 0]
        ratio = max(positive) / min(positive) if positive else 1.0
        # Powers of ten alone; on a shorter axis 2 and 5 between them, then every digit.
        dtick = 1 if ratio > 1000 else "D2" if ratio > 10 else "D1"
        tick_format = "~%" if axis in chart.percent else ",~r"
        return look | {"type": "log", "dtick": dtick, "tickformat": tick_format}
    look |= {"type": "linear", "separatethousands": True, "exponentformat": "none"}
    return look | whole_steps(chart, axis)


def texts_along(chart: Chart, axis: str) -> list[str]:
    """The texts along an axis that has no numbers, in the order in which they come."""
    values = [value for line in chart.series for value in getattr(line, axis)]
    if not any(isinstance(value, str) for value in values):
        return []
    return list(dict.fromkeys(str(value) for value in values if value is not None))


def along(chart: Chart, axis: str) -> list[Any]:
    """All that has a place along an axis."""
    values = [value for line in chart.series for value in places_of(getattr(line, axis))]
    return [value for value in values if value is not None]


def whole_steps(chart: Chart, axis: str) -> dict[str, Any]:
    """Marks at whole numbers where there are few and nothing else."""
    values = along(chart, axis)
    whole = values and all(isinstance(value, int) for value in values)
    # Counted from 0, where bars begin whatever the least value is.
    return {"dtick": 1} if whole and max(values) - min(0, *values) <= _WHOLE else {}


def short(text: str, most: int = LONG) -> str:
    """A text cut to what fits beside an axis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def places_of(values: Iterable[CellNumber] | None) -> list[CellNumber]:
    """Coordinates as Plotly takes them: texts escaped, what has no place left out."""
    places: list[CellNumber] = []
    for value in values or ():
        item = plain(value)
        if isinstance(value, str):
            item = escape(value)
        elif isinstance(item, str):  # endless
            item = None
        places.append(item)
    return places
