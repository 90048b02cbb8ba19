"""Draws a `Figure`. What is told by colour is told by shape and dash too.

Infinity and what does not apply have no place on an axis and are left out of the picture; they are
in the tables beside it.
"""

from __future__ import annotations

import math
from html import escape
from typing import Any

from sfumato.report.figure import Figure, Kind, Number, Series
from sfumato.report.html.charts import CONFIG, FONT, GRID, INK, LOOKS

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_PATTERNS = ("", "/", "\\", "x", "-", ".")
_SOLID = ("circle", "square", "diamond", "cross", "circle-open", "square-open")  # those 3-D has
_HEIGHT = {"cloud": 620}
_FEW = 40  # more marks than this are not written on, only named when pointed at


def draw(figure: Figure, place: str) -> str:
    """The chart as HTML for a page that carries Plotly once; `place` is its id there."""
    import plotly.graph_objects as go  # type: ignore[import-untyped]

    drawn = go.Figure()
    for at, series in enumerate(figure.series):
        if figure.kind == "bars":
            _bars(drawn, series, at)
        elif figure.kind == "cloud":
            _cloud(drawn, series, at)
        else:
            _flat(drawn, figure.kind, series, at)
    drawn.update_layout(
        height=_HEIGHT.get(figure.kind, 460),
        margin={"l": 76, "r": 24, "t": 30, "b": 60},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 13, "color": INK},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        hoverlabel={"bgcolor": "white", "align": "left"},
        showlegend=len(figure.series) > 1,
        barmode="group",
    )
    if figure.kind == "cloud":
        axes = {"xaxis": figure.x, "yaxis": figure.y, "zaxis": figure.z}
        drawn.update_scenes(**{name: {"title": {"text": text}} for name, text in axes.items()})
    else:
        drawn.update_xaxes(**_axis(figure.x, log=figure.log_x))
        drawn.update_yaxes(**_axis(figure.y, log=figure.log_y))
    config = dict(CONFIG)
    if figure.kind == "cloud":
        config["modeBarButtons"] = [["zoom3d", "pan3d", "orbitRotation", "resetCameraDefault3d"]]
    html: str = drawn.to_html(full_html=False, include_plotlyjs=False, div_id=place, config=config)
    return html


def _axis(title: str, *, log: bool) -> dict[str, Any]:
    return {
        "title": {"text": escape(title) + (" (logarithmic)" if log else ""), "standoff": 14},
        "type": "log" if log else "-",
        "gridcolor": GRID,
        "zeroline": False,
        "showline": True,
        "linecolor": "#8c959f",
        "ticks": "outside",
        "tickcolor": "#8c959f",
    }


def _finite(values: Any) -> list[Number]:
    return [
        None if isinstance(value, float) and not math.isfinite(value) else value for value in values
    ]


def _named(series: Series) -> dict[str, Any]:
    if series.text is None:
        return {}
    return {"hovertext": [escape(text) for text in series.text], "hoverinfo": "text"}


def _flat(drawn: Any, kind: Kind, series: Series, at: int) -> None:
    colour, shape = LOOKS[at % len(LOOKS)]
    lines = kind != "points"
    written = series.text is not None and not lines and len(series.x) <= _FEW
    drawn.add_scatter(
        x=_finite(series.x),
        y=_finite(series.y),
        name=series.name,
        mode="lines+markers" if lines else "markers+text" if written else "markers",
        line={
            "color": colour,
            "dash": _DASHES[at % len(_DASHES)],
            "shape": "hv" if kind == "steps" else "linear",
        },
        marker={"color": colour, "symbol": shape, "size": 8},
        text=[escape(text) for text in series.text or ()] if written else None,
        textposition="top center" if written else None,
        **_named(series),
    )


def _bars(drawn: Any, series: Series, at: int) -> None:
    colour, _ = LOOKS[at % len(LOOKS)]
    drawn.add_bar(
        x=_finite(series.x),
        y=_finite(series.y),
        name=series.name,
        marker={"color": colour, "pattern": {"shape": _PATTERNS[at % len(_PATTERNS)]}},
        **_named(series),
    )


def _cloud(drawn: Any, series: Series, at: int) -> None:
    colour, _ = LOOKS[at % len(LOOKS)]
    drawn.add_scatter3d(
        x=_finite(series.x),
        y=_finite(series.y),
        z=_finite(series.z),
        name=series.name,
        mode="markers",
        marker={"color": colour, "symbol": _SOLID[at % len(_SOLID)], "size": 5},
        **_named(series),
    )
