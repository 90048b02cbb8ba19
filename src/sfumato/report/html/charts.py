"""Charts: all of Plotly is here. A chart is HTML for a page that carries Plotly's JavaScript once.

What is told by colour is told by shape too, and every chart has its numbers as a table beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
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
INK, GRID, FONT = "#1f2328", "#e6e8eb", "system-ui, -apple-system, 'Segoe UI', sans-serif"
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


def plotly_script() -> str:
    """Plotly's own JavaScript, to stand once in a page."""
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    script: str = get_plotlyjs()
    return script


def risk_utility_map(comparison: Comparison) -> str:
    """Every release by risk and cost, a shape per anonymizer, the Pareto front as a staircase."""
    import plotly.graph_objects as go  # type: ignore[import-untyped]

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
    figure = go.Figure()
    _draw_front(figure, placed)
    for look, name in zip(_looks(placed), _names(placed), strict=True):
        _draw_points(figure, placed, labels, name, look)
    figure.update_layout(
        height=HEIGHT,
        margin=_MARGIN,
        paper_bgcolor="white",
        plot_bgcolor="white",
        font={"family": FONT, "size": 13, "color": INK},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        hoverlabel={"bgcolor": "white", "align": "left"},
    )
    figure.update_xaxes(**_axis(across, risk.words.capitalize(), risk.unit, share=True))
    figure.update_yaxes(**_axis(up, f"Cost: {comparison.cost}", "lower is more useful"))
    html: str = figure.to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id="map",
        config=CONFIG,
    )
    return html


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


def _draw_front(figure: Any, placed: Sequence[tuple[Outcome, tuple[float, float]]]) -> None:
    front = sorted({where for outcome, where in placed if outcome.pareto})
    figure.add_scatter(
        x=[x for x, _ in front],
        y=[y for _, y in front],
        mode="lines",
        line={"shape": "hv", "color": "#57606a", "width": 1.5, "dash": "dot"},
        name="Pareto front",
        hoverinfo="skip",
    )


def _draw_points(
    figure: Any,
    placed: Sequence[tuple[Outcome, tuple[float, float]]],
    labels: Sequence[tuple[str, str]],
    name: str,
    look: tuple[str, str],
) -> None:
    colour, shape = look
    mine = [place for place, (outcome, _) in enumerate(placed) if outcome.anonymizer == name]
    figure.add_scatter(
        x=[placed[place][1][0] for place in mine],
        y=[placed[place][1][1] for place in mine],
        mode="markers+text",
        name=name,
        text=[escape(labels[place][0]) for place in mine],
        textposition=[labels[place][1] for place in mine],
        textfont={"size": 12, "color": INK},
        hovertext=[_hover(placed[place][0]) for place in mine],
        hoverinfo="text",
        marker={
            "color": colour,
            "size": 11,
            # Filled on the front, hollow elsewhere: seen without any colour.
            "symbol": [shape if placed[p][0].pareto else f"{shape}-open" for p in mine],
            "line": {"color": colour, "width": 2},
        },
        cliponaxis=False,
        legendgroup=name,
        showlegend=False,
    )
    figure.add_scatter(  # the legend's own mark, filled whatever the first point is
        x=[None],
        y=[None],
        mode="markers",
        name=name,
        legendgroup=name,
        marker={"color": colour, "size": 11, "symbol": shape},
    )


def _hover(outcome: Outcome) -> str:
    found = outcome.figures
    assert found is not None
    lines = [f"<b>{escape(outcome.label)}</b>", outcome.anonymizer]
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
        "linecolor": "#8c959f",
        "ticks": "outside",
        "tickcolor": "#8c959f",
    }
