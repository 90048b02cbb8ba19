"""Draws a `Figure`. What is told by colour is told by shape, dash or pattern too.

Infinity and what does not apply have no place on an axis and are left out of the picture; they are
in the tables beside it. Labels come from data: Plotly reads some HTML in texts, so each is escaped,
and long ones are cut on axes only, never when pointed at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from typing import Any

from sfumato.report.figure import Figure, Kind, Number, Series
from sfumato.report.html.charts import CONFIG, GRID, LINE, LOOKS, chart_html, layout

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_PATTERNS = ("", "/", "\\", "x", "-", ".")
_SOLID = ("circle", "square", "diamond", "cross", "circle-open", "square-open")  # those 3-D has
_MARKED = 60  # points of a line that are marked; of more the line alone is seen better
_FEW = 40  # more marks than this are not written on, only named when pointed at
_LONG = 26  # letters of a label on an axis, or in a legend
_ROW, _FRAME, _TALLEST = 30, 150, 1200  # pixels: a named row, what is around all of them, the most
_WHOLE = 15  # whole numbers on an axis that are all marked
_MIDDLE = "#7d8590"  # a grey to be read on white and on black: 3-D scenes cannot follow the theme


def drawable(figure: Figure) -> bool:
    """Whether anything of a chart has a place on its axes."""
    places = "xyz" if figure.kind == "cloud" else "xy"
    return any(
        None not in point
        for one in figure.series
        for point in zip(*(_places(getattr(one, axis)) for axis in places), strict=True)
    )


def draw(figure: Figure, place: str) -> str:
    """The chart as HTML for a page that carries Plotly once; `place` is its id there."""
    return chart_html(spec(figure), place)


def spec(figure: Figure) -> dict[str, Any]:
    """What Plotly is told: traces, layout, configuration."""
    traces = [_behind(series) for series in figure.behind]
    traces += [_trace(figure.kind, series, at) for at, series in enumerate(figure.series)]
    if figure.kind == "points" and _named(figure, "y"):
        for trace in traces:  # several marks may lie at one place: one must see through them
            trace["marker"]["symbol"] = trace["marker"]["symbol"].removesuffix("-open") + "-open"
            trace["marker"]["line"] = {"width": 2.2}
    look = layout(_height(figure), showlegend=len(figure.series) > 1)
    look["margin"] = {"l": 76, "r": 24, "t": 30, "b": 60}
    config = dict(CONFIG)
    if figure.kind == "cloud":
        config["modeBarButtons"] = [["zoom3d", "pan3d", "orbitRotation", "resetCameraDefault3d"]]
        look |= {"scene": _scene(figure), "margin": {"l": 0, "r": 0, "t": 30, "b": 0}}
        return {"data": traces, "layout": look, "config": config}
    named_x, named_y = _named(figure, "x"), _named(figure, "y")
    if named_x and figure.ticks:
        named_x = [str(tick) for tick in figure.ticks]
    look["xaxis"] = _axis(figure, "x", named_x)
    look["yaxis"] = _axis(figure, "y", named_y)
    if named_y:
        look["yaxis"]["autorange"] = "reversed"
    if figure.ticks and not named_x:
        look["xaxis"] |= {"tickmode": "array", "tickvals": list(figure.ticks)}
    look["barmode"] = "overlay" if _apart(figure) else "group"
    return {"data": traces, "layout": look, "config": config}


def _trace(kind: Kind, series: Series, at: int) -> dict[str, Any]:
    if kind == "bars":
        return _bars(series, at)
    return _cloud(series, at) if kind == "cloud" else _flat(kind, series, at)


def _scene(figure: Figure) -> dict[str, Any]:
    """The three axes, seen from far enough to have all corners in the picture."""
    scene: dict[str, Any] = {
        f"{axis}axis": {
            "title": {"text": escape(title)},
            "color": _MIDDLE,
            "gridcolor": _MIDDLE,
            **_steps(figure, axis),
        }
        for axis, title in (("x", figure.x), ("y", figure.y), ("z", figure.z))
    }
    camera = {"eye": {"x": 1.8, "y": 1.8, "z": 1.0}, "center": {"x": 0, "y": 0, "z": -0.15}}
    return scene | {"camera": camera}


def _height(figure: Figure) -> int:
    if figure.kind == "cloud":
        return 620
    rows = len(_named(figure, "y"))
    return min(_TALLEST, _FRAME + _ROW * rows) if rows else 460


def _named(figure: Figure, axis: str) -> list[str]:
    """The texts along an axis that has no numbers, in the order in which they come."""
    values = [value for one in figure.series for value in getattr(one, axis)]
    if not any(isinstance(value, str) for value in values):
        return []
    return list(dict.fromkeys(str(value) for value in values if value is not None))


def _along(figure: Figure, axis: str) -> list[Any]:
    """All that has a place along an axis."""
    found = [value for one in figure.series for value in _places(getattr(one, axis))]
    return [value for value in found if value is not None]


def _steps(figure: Figure, axis: str) -> dict[str, Any]:
    """Marks at whole numbers where there are few and nothing else."""
    values = _along(figure, axis)
    whole = values and all(isinstance(value, int) for value in values)
    # Counted from 0, where bars begin whatever the least value is.
    return {"dtick": 1} if whole and max(values) - min(0, *values) <= _WHOLE else {}


def _apart(figure: Figure) -> bool:
    """Whether no two series have a bar at the same place, so that each may have its full width."""
    places = [value for one in figure.series for value in one.x]
    return len(set(places)) == len(places)


def _axis(figure: Figure, axis: str, named: list[str]) -> dict[str, Any]:
    log = figure.log_x if axis == "x" else figure.log_y
    title = figure.x if axis == "x" else figure.y
    look: dict[str, Any] = {
        "title": {"text": escape(title) + (" (logarithmic)" if log else ""), "standoff": 14},
        "gridcolor": GRID,
        "zeroline": False,
        "showline": True,
        "linecolor": LINE,
        "ticks": "outside",
        "tickcolor": LINE,
        "automargin": True,
    }
    if named:
        # Never guessed: a text that looks like a number or a date is a text.
        texts = [escape(short(text)) for text in named]
        places = [escape(text) for text in named]
        look |= {"type": "category", "categoryorder": "array", "categoryarray": places}
        return look | {"tickmode": "array", "tickvals": places, "ticktext": texts}
    if axis in figure.bare:
        return look | {"type": "linear", "showticklabels": False, "ticks": "", "showgrid": False}
    if axis in figure.percent:
        look["tickformat"] = "~%"
        look["rangemode"] = "tozero"
    if log:
        found = [value for value in _along(figure, axis) if value > 0]
        ratio = max(found) / min(found) if found else 1.0
        # Powers of ten alone; on a shorter axis 2 and 5 between them, then every digit.
        dtick = 1 if ratio > 1000 else "D2" if ratio > 10 else "D1"
        return look | {"type": "log", "dtick": dtick, "tickformat": ",~r"}
    look |= {"type": "linear", "separatethousands": True, "exponentformat": "none"}
    return look | _steps(figure, axis)


def short(text: str, most: int = _LONG) -> str:
    """A text cut to what fits beside an axis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _places(values: Iterable[Number] | None) -> list[Number]:
    """Coordinates as Plotly takes them: texts escaped, what has no place left out."""
    found: list[Number] = []
    for value in values or ():
        item: Any = value
        if hasattr(item, "item"):  # a number of NumPy
            item = item.item()
        if isinstance(item, str):
            item = escape(item)
        elif isinstance(item, float) and not math.isfinite(item):
            item = None
        found.append(item)
    return found


def _shared(series: Series) -> dict[str, Any]:
    """What every trace has: its place, its name, and what it says when pointed at."""
    found: dict[str, Any] = {
        "x": _places(series.x),
        "y": _places(series.y),
        "name": escape(short(series.name, 2 * _LONG)),
    }
    if series.text is not None:
        found |= {"hovertext": [escape(text) for text in series.text], "hoverinfo": "text"}
    return found


def _flat(kind: Kind, series: Series, at: int) -> dict[str, Any]:
    colour, shape = LOOKS[at % len(LOOKS)]
    shape = series.mark or shape
    lines = kind != "points"
    written = not lines and _written(series)
    marks = "markers+text" if written else "markers"
    if lines:
        marks = "lines+markers" if len(series.x) <= _MARKED else "lines"
    trace = _shared(series) | {
        "type": "scatter",
        "mode": marks,
        "line": {
            "color": colour,
            "dash": _DASHES[at % len(_DASHES)],
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
    return 0 < len(texts) <= _FEW and all(len(text) <= _LONG for text in texts)


def _behind(series: Series) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": _places(series.x),
        "y": _places(series.y),
        "line": {"color": LINE, "width": 0.7},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _bars(series: Series, at: int) -> dict[str, Any]:
    colour, _ = LOOKS[at % len(LOOKS)]
    return _shared(series) | {
        "type": "bar",
        "marker": {"color": colour, "pattern": {"shape": _PATTERNS[at % len(_PATTERNS)]}},
    }


def _cloud(series: Series, at: int) -> dict[str, Any]:
    colour, _ = LOOKS[at % len(LOOKS)]
    symbol = _SOLID[at % len(_SOLID)]
    return _shared(series) | {
        "type": "scatter3d",
        "z": _places(series.z),
        "mode": "markers",
        "marker": {"color": colour, "symbol": symbol, "size": 5},
    }
