"""Draws charts. What is told by colour is told by shape, dash or pattern too.

A chart is a place on the page and its description as JSON beside it; `templates/draw.js` draws all
of them with Plotly's JavaScript, which a page carries once. Text and lines take the page's colours,
light or dark, from its style sheet. Infinity and what does not apply have no place on an axis and
are left out of the picture; they are in the tables beside it. Labels come from data: Plotly reads
some HTML in texts, so each is escaped, and long ones are cut on axes only, never when pointed at.

Labels of a map are placed here, short and never over each other.

Stands apart: charts as Plotly figures; the page is written without Plotly where there is none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import Any

from sfumato.report.document import Chart, Kind, Number, Series, plain

# Labels of points on a map: short, beside their points, never over each other.
#
# Plotly sets every label where it is told and lets them overlap, so places are chosen here, in the
# pixels of a page of the usual width. Apart from drawing, because it is geometry alone.

_LETTER, _LINE, _MARKER = 6.6, 15, 7  # pixels: a letter's width, a line's height, half a marker
_SAME = 3  # pixels between marks that are taken for one
_PLACES = {  # where a label may stand, best first: direction from its point
    "top right": (1, 1),
    "bottom left": (-1, -1),
    "middle right": (1, 0),
    "top center": (0, 1),
    "bottom center": (0, -1),
    "middle left": (-1, 0),
    "bottom right": (1, -1),
    "top left": (-1, 1),
}

Spot = tuple[float, float]
Box = tuple[float, float, float, float]


def place_labels(
    texts: Sequence[str], first: Sequence[bool], spots: Sequence[Spot], size: Spot
) -> list[str]:
    """A place for the label of each point; "" where it would cover another label or a point.

    `spots` are pixels from the lower left of a map of `size`. Points that are `first` choose first,
    and no label stands on the staircase through them if it can be helped.
    """
    places = [""] * len(texts)
    taken: list[Box] = []
    markers = [(x - _MARKER, y - _MARKER, x + _MARKER, y + _MARKER) for x, y in spots]
    stairs = _stairs([spot for spot, one in zip(spots, first, strict=True) if one])
    named = [place for place, text in enumerate(texts) if text]
    for place in sorted(named, key=lambda place: not first[place]):
        here = markers[place]
        others = [box for box in markers if box != here and not _at_one_place(box, here)]
        boxes = {where: _box(spots[place], texts[place], way) for where, way in _PLACES.items()}
        free = [
            where
            for where, box in boxes.items()
            if _inside(box, size) and not any(_meet(box, other) for other in (*taken, *others))
        ]
        if free:
            clear = [one for one in free if not any(_meet(boxes[one], step) for step in stairs)]
            places[place] = (clear or free)[0]
            taken.append(boxes[places[place]])
    return places


def _at_one_place(one: Box, other: Box) -> bool:
    """Whether two marks lie so near that they share a label."""
    return abs(one[0] - other[0]) <= _SAME and abs(one[1] - other[1]) <= _SAME


def _stairs(spots: Sequence[Spot]) -> list[Box]:
    """The pixels of the front's line: right from each point, then down to the next."""
    steps: list[Box] = []
    for (x, y), (right, below) in pairwise(sorted(spots)):
        steps += [(x, y - 1, right, y + 1), (right - 1, below, right + 1, y)]
    return steps


def _box(spot: Spot, text: str, direction: tuple[int, int]) -> Box:
    """The pixels a label takes, from its lower left to its upper right corner."""
    wide = _LETTER * len(text)
    x = spot[0] + direction[0] * (_MARKER + wide / 2)
    y = spot[1] + direction[1] * (_MARKER + _LINE / 2)
    return x - wide / 2, y - _LINE / 2, x + wide / 2, y + _LINE / 2


def _inside(box: Box, size: Spot) -> bool:
    return box[0] >= 0 and box[1] >= 0 and box[2] <= size[0] and box[3] <= size[1]


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


# Okabe and Ito's colours, told apart by the colour-blind too; and a shape each.
_LOOKS = (
    ("#0072B2", "circle"),
    ("#D55E00", "square"),
    ("#009E73", "diamond"),
    ("#CC79A7", "triangle-up"),
    ("#56B4E9", "triangle-down"),
    ("#E69F00", "pentagon"),
)
_INK, _GRID, _LINE_draw = "#1f2328", "#e6e8eb", "#8c959f"
_FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif"
# Plotly would offer a button that sends the chart to a server; these pages send nothing anywhere.
_CONFIG = {
    "responsive": True,
    "displaylogo": False,
    "showSendToCloud": False,
    "plotlyServerURL": "",
    "modeBarButtons": [["zoom2d", "pan2d", "resetScale2d", "toImage"]],
}
_MAP = (1000, 560)  # pixels: the size labels of a map are placed for
_MAP_MARGIN = {"l": 86, "r": 24, "t": 44, "b": 66}
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_PATTERNS = ("", "/", "\\", "x", "-", ".")
_SOLID = ("circle", "square", "diamond", "cross", "circle-open", "square-open")  # those 3-D has
_MARKED = 60  # points of a line that are marked; of more the line alone is seen better
_FEW = 40  # more marks than this are not written on, only named when pointed at
_LONG = 26  # letters of a label on an axis, or in a legend
_ROW, _FRAME, _TALLEST = 30, 150, 1200  # pixels: a named row, what is around all of them, the most
_WHOLE = 15  # whole numbers on an axis that are all marked
_MIDDLE = "#7d8590"  # a grey to be read on white and on black: 3-D scenes cannot follow the theme


def drawable(chart: Chart) -> bool:
    """Whether anything of a chart has a place on its axes."""
    places = "xyz" if chart.kind == "cloud" else "xy"
    return any(
        None not in point
        for one in chart.series
        for point in zip(*(_places(getattr(one, axis)) for axis in places), strict=True)
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


def _layout(height: int, *, showlegend: bool) -> dict[str, Any]:
    """What the layouts of all charts share."""
    return {
        "height": height,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": _FONT, "size": 13, "color": _INK},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "hoverlabel": {"bgcolor": "white", "align": "left", "namelength": -1},
        "showlegend": showlegend,
        "colorway": [colour for colour, _ in _LOOKS],
    }


def spec(chart: Chart) -> dict[str, Any]:
    """What Plotly is told: traces, layout, configuration."""
    if chart.kind == "map":
        return _map(chart)
    traces = [_behind(series) for series in chart.behind]
    traces += [_trace(chart.kind, series, at) for at, series in enumerate(chart.series)]
    if chart.kind == "points" and _named(chart, "y"):
        for trace in traces:  # several marks may lie at one place: one must see through them
            trace["marker"]["symbol"] = trace["marker"]["symbol"].removesuffix("-open") + "-open"
            trace["marker"]["line"] = {"width": 2.2}
    look = _layout(_height(chart), showlegend=len(chart.series) > 1)
    look["margin"] = {"l": 76, "r": 24, "t": 30, "b": 60}
    config = dict(_CONFIG)
    if chart.kind == "cloud":
        config["modeBarButtons"] = [["zoom3d", "pan3d", "orbitRotation", "resetCameraDefault3d"]]
        look |= {"scene": _scene(chart), "margin": {"l": 0, "r": 0, "t": 30, "b": 0}}
        return {"data": traces, "layout": look, "config": config}
    named_x, named_y = _named(chart, "x"), _named(chart, "y")
    if (named_x or named_y) and chart.ticks:
        ordered = [str(tick) for tick in chart.ticks]
        named_x, named_y = (ordered, named_y) if named_x else (named_x, ordered)
    look["xaxis"] = _axis(chart, "x", named_x)
    look["yaxis"] = _axis(chart, "y", named_y)
    if named_y:
        look["yaxis"]["autorange"] = "reversed"
    if chart.ticks and not named_x and not named_y:
        look["xaxis"] |= {"tickmode": "array", "tickvals": list(chart.ticks)}
    look["barmode"] = "overlay" if _apart(chart) else "group"
    return {"data": traces, "layout": look, "config": config}


def _trace(kind: Kind, series: Series, at: int) -> dict[str, Any]:
    if kind == "bars":
        return _bars(series, at)
    return _cloud(series, at) if kind == "cloud" else _flat(kind, series, at)


def _scene(chart: Chart) -> dict[str, Any]:
    """The three axes, seen from far enough to have all corners in the picture."""
    scene: dict[str, Any] = {
        f"{axis}axis": {
            "title": {"text": escape(title)},
            "color": _MIDDLE,
            "gridcolor": _MIDDLE,
            **_steps(chart, axis),
        }
        for axis, title in (("x", chart.x), ("y", chart.y), ("z", chart.z))
    }
    camera = {"eye": {"x": 1.8, "y": 1.8, "z": 1.0}, "center": {"x": 0, "y": 0, "z": -0.15}}
    return scene | {"camera": camera}


def _height(chart: Chart) -> int:
    if chart.kind == "cloud":
        return 620
    rows = len(_named(chart, "y"))
    return min(_TALLEST, _FRAME + _ROW * rows) if rows else 460


def _named(chart: Chart, axis: str) -> list[str]:
    """The texts along an axis that has no numbers, in the order in which they come."""
    values = [value for one in chart.series for value in getattr(one, axis)]
    if not any(isinstance(value, str) for value in values):
        return []
    return list(dict.fromkeys(str(value) for value in values if value is not None))


def _along(chart: Chart, axis: str) -> list[Any]:
    """All that has a place along an axis."""
    values = [value for one in chart.series for value in _places(getattr(one, axis))]
    return [value for value in values if value is not None]


def _steps(chart: Chart, axis: str) -> dict[str, Any]:
    """Marks at whole numbers where there are few and nothing else."""
    values = _along(chart, axis)
    whole = values and all(isinstance(value, int) for value in values)
    # Counted from 0, where bars begin whatever the least value is.
    return {"dtick": 1} if whole and max(values) - min(0, *values) <= _WHOLE else {}


def _apart(chart: Chart) -> bool:
    """Whether no two series have a bar at the same place, so that each may have its full width."""
    axis = "y" if _named(chart, "y") else "x"
    places = [value for one in chart.series for value in getattr(one, axis)]
    return len(set(places)) == len(places)


def _axis(chart: Chart, axis: str, named: list[str]) -> dict[str, Any]:
    log = chart.log_x if axis == "x" else chart.log_y
    title = chart.x if axis == "x" else chart.y
    look: dict[str, Any] = {
        "title": {"text": escape(title) + (" (logarithmic)" if log else ""), "standoff": 14},
        "gridcolor": _GRID,
        "zeroline": False,
        "showline": True,
        "linecolor": _LINE_draw,
        "ticks": "outside",
        "tickcolor": _LINE_draw,
        "automargin": True,
    }
    if named:
        # Never guessed: a text that looks like a number or a date is a text.
        # Bars that lie have room for what they say.
        most = 2 * _LONG if axis == "y" and chart.kind == "bars" else _LONG
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
        positive = [value for value in _along(chart, axis) if value > 0]
        ratio = max(positive) / min(positive) if positive else 1.0
        # Powers of ten alone; on a shorter axis 2 and 5 between them, then every digit.
        dtick = 1 if ratio > 1000 else "D2" if ratio > 10 else "D1"
        tick_format = "~%" if axis in chart.percent else ",~r"
        return look | {"type": "log", "dtick": dtick, "tickformat": tick_format}
    look |= {"type": "linear", "separatethousands": True, "exponentformat": "none"}
    return look | _steps(chart, axis)


def short(text: str, most: int = _LONG) -> str:
    """A text cut to what fits beside an axis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _places(values: Iterable[Number] | None) -> list[Number]:
    """Coordinates as Plotly takes them: texts escaped, what has no place left out."""
    places: list[Number] = []
    for value in values or ():
        item = plain(value)
        if isinstance(value, str):
            item = escape(value)
        elif isinstance(item, str):  # endless
            item = None
        places.append(item)
    return places


def _shared(series: Series) -> dict[str, Any]:
    """What every trace has: its place, its name, and what it says when pointed at."""
    trace: dict[str, Any] = {
        "x": _places(series.x),
        "y": _places(series.y),
        "name": escape(short(series.name, 2 * _LONG)),
    }
    if series.text is not None:
        trace |= {"hovertext": [escape(text) for text in series.text], "hoverinfo": "text"}
    return trace


def _flat(kind: Kind, series: Series, at: int) -> dict[str, Any]:
    colour, shape = _LOOKS[at % len(_LOOKS)]
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
        "line": {"color": _LINE_draw, "width": 0.7},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _bars(series: Series, at: int) -> dict[str, Any]:
    colour, _ = _LOOKS[at % len(_LOOKS)]
    lying = any(isinstance(place, str) for place in series.y)
    return _shared(series) | {
        "type": "bar",
        "orientation": "h" if lying else "v",
        "marker": {"color": colour, "pattern": {"shape": _PATTERNS[at % len(_PATTERNS)]}},
    }


def _cloud(series: Series, at: int) -> dict[str, Any]:
    colour, _ = _LOOKS[at % len(_LOOKS)]
    symbol = _SOLID[at % len(_SOLID)]
    return _shared(series) | {
        "type": "scatter3d",
        "z": _places(series.z),
        "mode": "markers",
        "marker": {"color": colour, "symbol": symbol, "size": 5},
    }


# -- maps ------------------------------------------------------------------------------------------


def _map(chart: Chart) -> dict[str, Any]:
    """Points with labels beside them; those that stand out are filled, the others hollow."""
    logs = {"x": chart.log_x, "y": chart.log_y}
    bounds = {axis: _scale(_along(chart, axis), log=log) for axis, log in logs.items()}
    width = _MAP[0] - _MAP_MARGIN["l"] - _MAP_MARGIN["r"]
    height = _MAP[1] - _MAP_MARGIN["t"] - _MAP_MARGIN["b"]
    points = [
        (one, at)
        for one in chart.series
        for at, point in enumerate(zip(_places(one.x), _places(one.y), strict=True))
        if None not in point
    ]
    spots = [
        (
            _fraction(one.x[at], bounds["x"], log=logs["x"]) * width,
            _fraction(one.y[at], bounds["y"], log=logs["y"]) * height,
        )
        for one, at in points
    ]
    texts = ["" if one.labels is None else one.labels[at] for one, at in points]
    strong = [one.strong is not None and one.strong[at] for one, at in points]
    where = place_labels(texts, strong, spots, (width, height))
    texts = [text if there else "" for text, there in zip(texts, where, strict=True)]
    traces = [_staircase(one) for one in chart.behind]
    for number, series in enumerate(chart.series):
        mine = [place for place, (one, _) in enumerate(points) if one is series]
        if mine:
            labels = [(texts[place], where[place]) for place in mine]
            traces += _marks(series, [points[place][1] for place in mine], labels, number)
    look = _layout(_MAP[1], showlegend=True) | {"margin": _MAP_MARGIN}
    for axis, log in logs.items():
        layout = _axis(chart, axis, []) | {"range": list(bounds[axis]), "automargin": False}
        look[f"{axis}axis"] = layout | ({"dtick": "D2"} if log else {})
    return {"data": traces, "layout": look, "config": _CONFIG}


def _scale(values: Sequence[float], *, log: bool) -> tuple[float, float]:
    """Where an axis begins and ends, with some room on both sides."""
    least, most = min(values), max(values)
    if log:
        least, most = math.log10(least), math.log10(most)
    room = 0.1 * (most - least) or 0.1 * abs(most) or 0.1
    return (least - room if log or least < 0 else max(0.0, least - room)), most + room


def _fraction(value: Any, bounds: tuple[float, float], *, log: bool) -> float:
    """Where on its axis a value lies, from 0 to 1."""
    return ((math.log10(value) if log else value) - bounds[0]) / (bounds[1] - bounds[0])


def _staircase(series: Series) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": _places(series.x),
        "y": _places(series.y),
        "mode": "lines",
        "line": {"shape": "hv", "color": _LINE_draw, "width": 1.5, "dash": "dot"},
        "name": escape(series.name),
        "hoverinfo": "skip",
    }


def _marks(
    series: Series, chosen: Sequence[int], labels: Sequence[tuple[str, str]], number: int
) -> list[dict[str, Any]]:
    """The marks of a series, and its mark in the legend: filled whatever the first point is."""
    colour, shape = _LOOKS[number % len(_LOOKS)]
    x, y = _places(series.x), _places(series.y)
    strong = series.strong or [True] * len(series.x)
    texts = series.text or [""] * len(series.x)
    name = escape(short(series.name, 2 * _LONG))
    points = {
        "type": "scatter",
        "x": [x[at] for at in chosen],
        "y": [y[at] for at in chosen],
        "mode": "markers+text",
        "name": name,
        "text": [escape(text) for text, _ in labels],
        "textposition": [where or "top right" for _, where in labels],
        "textfont": {"size": 12, "color": _INK},
        "hovertext": [escape(texts[at]).replace("\n", "<br>") for at in chosen],
        "hoverinfo": "text",
        "marker": {
            "color": colour,
            "size": 11,
            "symbol": [shape if strong[at] else f"{shape}-open" for at in chosen],
            "line": {"color": colour, "width": 2},
        },
        "cliponaxis": False,
        "legendgroup": name,
        "showlegend": False,
    }
    in_legend = {
        "type": "scatter",
        "x": [None],
        "y": [None],
        "mode": "markers",
        "name": name,
        "legendgroup": name,
        "marker": {"color": colour, "size": 11, "symbol": shape},
    }
    return [points, in_legend]
