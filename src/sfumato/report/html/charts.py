"""Charts: what every chart looks like, and the risk-utility map.

A chart is a place on the page and its description as JSON beside it; `templates/draw.js` draws all
of them with Plotly's JavaScript, which a page carries once. Plotly's Python is not needed. What is
told by colour is told by shape too, and every chart has its numbers as a table beside it. Text and
lines take the page's colours, light or dark, from its style sheet.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from sfumato.report.compare_table import cost as cost_text
from sfumato.report.compare_table import percent
from sfumato.report.comparison import RISKS, Comparison, Outcome, position
from sfumato.report.html.labels import place_labels

WIDTH, HEIGHT = 1000, 560  # the size labels are placed for
_MARGIN = {"l": 86, "r": 24, "t": 44, "b": 66}
# Okabe and Ito's colours, told apart by the colour-blind too; and a shape each.
LOOKS = (
    ("#0072B2", "circle"),
    ("#D55E00", "square"),
    ("#009E73", "diamond"),
    ("#CC79A7", "triangle-up"),
    ("#56B4E9", "triangle-down"),
    ("#E69F00", "pentagon"),
)
INK, GRID, LINE = "#1f2328", "#e6e8eb", "#8c959f"
FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif"
# Plotly would offer a button that sends the chart to a server; these pages send nothing anywhere.
CONFIG = {
    "responsive": True,
    "displaylogo": False,
    "showSendToCloud": False,
    "plotlyServerURL": "",
    "modeBarButtons": [["zoom2d", "pan2d", "resetScale2d", "toImage"]],
}
_WIDE = 10  # beyond this ratio of largest to smallest an axis is logarithmic


@dataclass(frozen=True)
class Axis:
    """One axis of the map: what it shows, and where on it a value lies, from 0 to 1."""

    low: float
    high: float
    log: bool

    @classmethod
    def over(cls, values: Sequence[float]) -> Axis:
        least, most = min(values), max(values)
        log = least > 0 and most / least > _WIDE
        if log:
            least, most = math.log10(least), math.log10(most)
        room = 0.1 * (most - least) or 0.1 * abs(most) or 0.1
        low = least - room if log or least < 0 else max(0.0, least - room)
        return cls(low, most + room, log)

    def place(self, value: float) -> float:
        return ((math.log10(value) if self.log else value) - self.low) / (self.high - self.low)


@cache
def plotly_script() -> str:
    """Plotly's own JavaScript, to stand once in a page."""
    return files("plotly").joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8")


def layout(height: int, *, showlegend: bool) -> dict[str, Any]:
    """What the layouts of all charts share."""
    return {
        "height": height,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 13, "color": INK},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "hoverlabel": {"bgcolor": "white", "align": "left", "namelength": -1},
        "showlegend": showlegend,
        "colorway": [colour for colour, _ in LOOKS],
    }


def chart_html(spec: dict[str, Any], place: str) -> str:
    """The place of a chart, and its description for the page's script."""
    # Nothing in a description can end its element or begin another one.
    told = json.dumps(spec, allow_nan=False).replace("<", "\\u003c")
    return (
        f'<div class="chart" id="{place}" data-chart="{place}-data" '
        f'style="height: {spec["layout"]["height"]}px"></div>'
        f'<script type="application/json" id="{place}-data">{told}</script>'
    )


def risk_utility_map(comparison: Comparison) -> str:
    """Every release by risk and cost, a shape per anonymizer, the Pareto front as a staircase."""
    placed = place_outcomes(comparison)
    if not placed:
        return ""
    across = Axis.over([where[0] for _, where in placed])
    up = Axis.over([where[1] for _, where in placed])
    width = WIDTH - _MARGIN["l"] - _MARGIN["r"]
    height = HEIGHT - _MARGIN["t"] - _MARGIN["b"]
    spots = [(across.place(x) * width, up.place(y) * height) for _, (x, y) in placed]
    varied = [name for name, values in comparison.sweep.items() if len(values) > 1]
    risk = RISKS[comparison.risk]
    labels = place_labels([outcome for outcome, _ in placed], spots, varied, (width, height))
    traces = [_front(placed)]
    for look, name in zip(_looks(placed), _names(placed), strict=True):
        traces += _points(placed, labels, name, look)
    look_of_all = layout(HEIGHT, showlegend=True) | {
        "margin": _MARGIN,
        "xaxis": _axis(across, risk.words.capitalize(), risk.unit, share=True),
        "yaxis": _axis(up, f"Cost: {comparison.cost}", "lower is more useful"),
    }
    return chart_html({"data": traces, "layout": look_of_all, "config": CONFIG}, "map")


def place_outcomes(comparison: Comparison) -> list[tuple[Outcome, tuple[float, float]]]:
    """The outcomes that have a place on the map; infinity has none."""
    found = [(o, position(o, comparison.risk, comparison.cost)) for o in comparison.outcomes]
    return [
        (outcome, where)
        for outcome, where in found
        if where is not None and all(math.isfinite(value) for value in where)
    ]


def _names(placed: Sequence[tuple[Outcome, Any]]) -> list[str]:
    return list(dict.fromkeys(outcome.anonymizer for outcome, _ in placed))


def _looks(placed: Sequence[tuple[Outcome, Any]]) -> list[tuple[str, str]]:
    return [LOOKS[place % len(LOOKS)] for place in range(len(_names(placed)))]


def _front(placed: Sequence[tuple[Outcome, tuple[float, float]]]) -> dict[str, Any]:
    front = sorted({where for outcome, where in placed if outcome.pareto})
    return {
        "type": "scatter",
        "x": [x for x, _ in front],
        "y": [y for _, y in front],
        "mode": "lines",
        "line": {"shape": "hv", "color": LINE, "width": 1.5, "dash": "dot"},
        "name": "Pareto front",
        "hoverinfo": "skip",
    }


def _points(
    placed: Sequence[tuple[Outcome, tuple[float, float]]],
    labels: Sequence[tuple[str, str]],
    name: str,
    look: tuple[str, str],
) -> list[dict[str, Any]]:
    colour, shape = look
    mine = [place for place, (outcome, _) in enumerate(placed) if outcome.anonymizer == name]
    points = {
        "type": "scatter",
        "x": [placed[place][1][0] for place in mine],
        "y": [placed[place][1][1] for place in mine],
        "mode": "markers+text",
        "name": escape(name),
        "text": [escape(labels[place][0]) for place in mine],
        "textposition": [labels[place][1] for place in mine],
        "textfont": {"size": 12, "color": INK},
        "hovertext": [_hover(placed[place][0]) for place in mine],
        "hoverinfo": "text",
        "marker": {
            "color": colour,
            "size": 11,
            # Filled on the front, hollow elsewhere: seen without any colour.
            "symbol": [shape if placed[p][0].pareto else f"{shape}-open" for p in mine],
            "line": {"color": colour, "width": 2},
        },
        "cliponaxis": False,
        "legendgroup": escape(name),
        "showlegend": False,
    }
    in_legend = {  # the legend's own mark, filled whatever the first point is
        "type": "scatter",
        "x": [None],
        "y": [None],
        "mode": "markers",
        "name": escape(name),
        "legendgroup": escape(name),
        "marker": {"color": colour, "size": 11, "symbol": shape},
    }
    return [points, in_legend]


def _hover(outcome: Outcome) -> str:
    found = outcome.figures
    assert found is not None
    lines = [f"<b>{escape(outcome.label)}</b>", escape(outcome.anonymizer)]
    if outcome.pareto:
        lines.append("on the Pareto front")
    lines += [f"{kind.words}: {percent(found.risks[name])}" for name, kind in RISKS.items()]
    lines += [f"{name}: {cost_text(value)}" for name, value in found.costs.items()]
    lines.append(f"{found.groups:,} groups, {percent(found.suppressed_share)} suppressed")
    return "<br>".join(lines)


def _axis(axis: Axis, title: str, unit: str, *, share: bool = False) -> dict[str, Any]:
    scale = ", logarithmic" if axis.log else ""
    return {
        "title": {"text": f"{title} ({unit}{scale})", "standoff": 14},
        "type": "log" if axis.log else "linear",
        "range": [axis.low, axis.high],
        "tickformat": "~%" if share else ",~r" if axis.log else None,
        "dtick": "D2" if axis.log else None,
        "gridcolor": GRID,
        "zeroline": False,
        "showline": True,
        "linecolor": LINE,
        "ticks": "outside",
        "tickcolor": LINE,
    }
