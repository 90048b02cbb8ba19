"""Draws charts. What is told by colour is told by shape, dash or pattern too.

A chart is a place on the page and its description as JSON beside it; `templates/draw.js` draws all
of them with Plotly's JavaScript, which a page carries once.

Stands apart: charts as Plotly figures; the page is written without Plotly where there is none.
"""

from __future__ import annotations

import json
from html import escape
from typing import Any

from sfumato.report.document import Chart, ChartKind, Series
from sfumato.report.html.axes import (
    CONFIG,
    LONG,
    LOOKS,
    RULE,
    axis_of,
    layout,
    places_of,
    short,
    texts_along,
    whole_steps,
)
from sfumato.report.html.maps import map_spec

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_PATTERNS = ("", "/", "\\", "x", "-", ".")
_SOLID = ("circle", "square", "diamond", "cross", "circle-open", "square-open")  # those 3-D has
_MARKED = 60  # points of a line that are marked; of more the line alone is seen better
_FEW = 40  # more marks than this are not written on, only named when pointed at
_ROW, _FRAME, _TALLEST = 30, 150, 1200  # pixels: a named row, what is around all of them, the most
_BRIGHT = ("#56B4E9", "#FF8A50", "#35C99B", "#E5A3C8", "#A6D8F5", "#F5C04A")  # on black
_MIDDLE = "#7d8590"  # a grey to be read on white and on black: 3-D scenes cannot follow the theme


def drawable(chart: Chart) -> bool:
    """Whether anything of a chart has a place on its axes."""
    places = "xyz" if chart.kind == "cloud" else "xy"
    return any(
        None not in point
        for line in chart.series
        for point in zip(*(places_of(getattr(line, axis)) for axis in places), strict=True)
    )


def draw(chart: Chart, place: str) -> str:
    """The chart as HTML for a page that carries Plotly once; `place` is its id there."""
    return _placed(spec(chart), place)


def _placed(spec: dict[str, Any], place: str) -> str:
    """The place of a chart, and its description for the page's script."""
    # Nothing in a description can end its element or begin another one.
    figure = json.dumps(spec, allow_nan=False).replace("<", "\\u003c")
    return (
        f'<div class="chart" id="{place}" data-chart="{place}-data" '
        f'style="height: {spec["layout"]["height"]}px"></div>'
        f'<script type="application/json" id="{place}-data">{figure}</script>'
    )


def spec(chart: Chart) -> dict[str, Any]:
    """What Plotly is told: traces, layout, configuration."""
    if chart.kind == "map":
        return map_spec(chart)
    traces = [_behind(series) for series in chart.behind]
    coloured = list(dict.fromkeys(line.of or line.name for line in chart.series))
    traces += [
        _trace(
            chart.kind, series, coloured.index(series.of) if series.of else at, _place(chart, at)
        )
        for at, series in enumerate(chart.series)
    ]
    if chart.kind == "points" and texts_along(chart, "y"):
        for trace in traces:  # several marks may lie at one place: one must see through them
            trace["marker"]["symbol"] = trace["marker"]["symbol"].removesuffix("-open") + "-open"
            trace["marker"]["line"] = {"width": 2.2}
    look = layout(
        _height(chart), showlegend=sum(trace.get("showlegend", True) for trace in traces) > 1
    )
    look["margin"] = {"l": 76, "r": 24, "t": 30, "b": 60}
    config = dict(CONFIG)
    if chart.kind == "cloud":
        config["modeBarButtons"] = [["zoom3d", "pan3d", "orbitRotation", "resetCameraDefault3d"]]
        look |= {"scene": _scene(chart), "margin": {"l": 0, "r": 0, "t": 30, "b": 0}}
        return {"data": traces, "layout": look, "config": config}
    named_x, named_y = texts_along(chart, "x"), texts_along(chart, "y")
    if (named_x or named_y) and chart.ticks:
        ordered = [str(tick) for tick in chart.ticks]
        named_x, named_y = (ordered, named_y) if named_x else (named_x, ordered)
    look["xaxis"] = axis_of(chart, "x", named_x)
    look["yaxis"] = axis_of(chart, "y", named_y)
    if named_y:
        look["yaxis"]["autorange"] = "reversed"
    if chart.ticks and not named_x and not named_y:
        look["xaxis"] |= {"tickmode": "array", "tickvals": list(chart.ticks)}
    look["barmode"] = "overlay" if _apart(chart) else "group"
    return {"data": traces, "layout": look, "config": config}


def _place(chart: Chart, at: int) -> int:
    """Which dash a line has: its place, among those that share its colour if it shares one."""
    of = chart.series[at].of
    return sum(line.of == of for line in chart.series[:at]) if of else at


def _trace(kind: ChartKind, series: Series, at: int, dash: int) -> dict[str, Any]:
    if kind == "bars":
        return _bars(series, at)
    return _cloud(series, at) if kind == "cloud" else _flat(kind, series, at, dash)


def _scene(chart: Chart) -> dict[str, Any]:
    """The three axes, seen from far enough to have all corners in the picture."""
    scene: dict[str, Any] = {
        f"{axis}axis": {
            "title": {"text": escape(title)},
            "color": _MIDDLE,
            "gridcolor": _MIDDLE,
            **whole_steps(chart, axis),
        }
        for axis, title in (("x", chart.x), ("y", chart.y), ("z", chart.z))
    }
    camera = {"eye": {"x": 1.8, "y": 1.8, "z": 1.0}, "center": {"x": 0, "y": 0, "z": -0.15}}
    return scene | {"camera": camera}


def _height(chart: Chart) -> int:
    if chart.kind == "cloud":
        return 620
    rows = len(texts_along(chart, "y"))
    return min(_TALLEST, _FRAME + _ROW * rows) if rows else 460


def _apart(chart: Chart) -> bool:
    """Whether no two series have a bar at the same place, so that each may have its full width."""
    axis = "y" if texts_along(chart, "y") else "x"
    places = [value for line in chart.series for value in getattr(line, axis)]
    return len(set(places)) == len(places)


def _shared(series: Series) -> dict[str, Any]:
    """What every trace has: its place, its name, and what it says when pointed at."""
    trace: dict[str, Any] = {
        "x": places_of(series.x),
        "y": places_of(series.y),
        "name": escape(short(series.name, 2 * LONG)),
    }
    if series.text is not None:
        trace |= {"hovertext": [escape(text) for text in series.text], "hoverinfo": "text"}
    return trace


def _flat(kind: ChartKind, series: Series, at: int, dash: int) -> dict[str, Any]:
    colour, shape = LOOKS[at % len(LOOKS)]
    shape = series.mark or shape
    lines = kind != "points"
    written = not lines and _written(series)
    marks = "markers+text" if written else "markers"
    if lines:  # a bound is a line alone
        bound = len(series.y) > 1 and len(set(series.y)) == 1
        marks = "lines" if bound or len(series.x) > _MARKED else "lines+markers"
    trace = _shared(series) | {
        "type": "scatter",
        "mode": marks,
        "line": {
            "color": colour,
            "dash": _DASHES[dash % len(_DASHES)],
            "shape": "hv" if kind == "steps" else "linear",
        },
        "marker": {"color": colour, "symbol": shape, "size": 14 if series.mark else 9},
        "cliponaxis": False,
    }
    if written:
        texts = [escape(text) for text in series.text or ()]
        trace |= {"text": texts, "textposition": "top center"}
    return trace


def _written(series: Series) -> bool:
    """Whether the marks are few, and their names short enough to stand beside them."""
    texts = series.text or ()
    return 0 < len(texts) <= _FEW and all(len(text) <= LONG for text in texts)


def _behind(series: Series) -> dict[str, Any]:
    many = None in series.x  # the steps of a lattice, say; a single line has a name
    return {
        "type": "scatter",
        "mode": "lines",
        "x": places_of(series.x),
        "y": places_of(series.y),
        "name": escape(series.name),
        "line": {"color": RULE, "width": 0.7} if many else {"color": RULE, "dash": "dash"},
        "hoverinfo": "skip",
        "showlegend": not many,
    }


def _bars(series: Series, at: int) -> dict[str, Any]:
    colour, _ = LOOKS[at % len(LOOKS)]
    lying = any(isinstance(place, str) for place in series.y)
    return _shared(series) | {
        "type": "bar",
        "orientation": "h" if lying else "v",
        "marker": {"color": colour, "pattern": {"shape": _PATTERNS[at % len(_PATTERNS)]}},
    }


def _cloud(series: Series, at: int) -> dict[str, Any]:
    colour, _ = LOOKS[at % len(LOOKS)]
    symbol = _SOLID[at % len(_SOLID)]
    return _shared(series) | {
        "type": "scatter3d",
        "z": places_of(series.z),
        "mode": "markers",
        "marker": {"color": colour, "symbol": symbol, "size": 5},
        "meta": {"dark": _BRIGHT[at % len(_BRIGHT)]},  # WebGL takes no colour from a style sheet
    }
