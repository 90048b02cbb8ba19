"""Maps: points of two figures with labels beside them, those that stand out filled.

Plotly sets every label where it is told and lets them overlap, so places are chosen here, in the
pixels of a page of the usual width: short, beside their points, never over each other.

Stands apart: geometry alone, no other chart has labels to place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

from sfumato.report.document import Chart, Series
from sfumato.report.html.axes import (
    CONFIG,
    INK,
    LONG,
    LOOKS,
    RULE,
    along,
    axis_of,
    layout,
    places_of,
    short,
)

Spot = tuple[float, float]
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class _Canvas:
    """The pixels labels of a map are placed for."""

    width: int
    height: int
    margin: dict[str, int]

    @property
    def inside(self) -> Spot:
        margin = self.margin
        return (
            self.width - margin["l"] - margin["r"],
            self.height - margin["t"] - margin["b"],
        )


_LETTER, _LINE, _MARKER = 6.6, 15, 7  # pixels: a letter's width, a line's height, half a marker
_SAME_PLACE = 3  # pixels between marks that are taken for one
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


_MANY = 100_000
_WIDE = _Canvas(1000, 560, {"l": 86, "r": 24, "t": 44, "b": 66})
_NARROW = _Canvas(360, 480, {"l": 76, "r": 12, "t": 84, "b": 60})


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
    stairs = _stairs([spot for spot, is_first in zip(spots, first, strict=True) if is_first])
    named = [place for place, text in enumerate(texts) if text]
    for place in sorted(named, key=lambda place: not first[place]):
        here = markers[place]
        other_marks = [box for box in markers if box != here and not _at_one_place(box, here)]
        boxes = {where: _box(spots[place], texts[place], way) for where, way in _PLACES.items()}
        free = [
            where
            for where, box in boxes.items()
            if _inside(box, size)
            and not any(_meet(box, covered) for covered in (*taken, *other_marks))
        ]
        if free:
            clear = [
                where for where in free if not any(_meet(boxes[where], step) for step in stairs)
            ]
            places[place] = (clear or free)[0]
            taken.append(boxes[places[place]])
    return places


def _at_one_place(first: Box, second: Box) -> bool:
    """Whether two marks lie so near that they share a label."""
    return abs(first[0] - second[0]) <= _SAME_PLACE and abs(first[1] - second[1]) <= _SAME_PLACE


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


def _meet(first: Box, second: Box) -> bool:
    return (
        first[0] < second[2]
        and second[0] < first[2]
        and first[1] < second[3]
        and second[1] < first[3]
    )


def map_spec(chart: Chart) -> dict[str, Any]:
    """Points with labels beside them; those that stand out are filled, the others hollow.

    On a phone the first word of a label stands for it, where there is room for that.
    """
    logs = {"x": chart.log_x, "y": chart.log_y}
    bounds = {axis: _scale(along(chart, axis), log=log) for axis, log in logs.items()}
    wide = _labels(chart, bounds, _WIDE, briefly=False)
    narrow = _labels(chart, bounds, _NARROW, briefly=True)
    traces = [_staircase(line) for line in chart.behind]
    for number, series in enumerate(chart.series):
        if number in wide:
            traces += _marks(series, number, wide[number], narrow[number])
    look = layout(_WIDE.height, showlegend=True) | {
        "margin": dict(_WIDE.margin),
        "meta": {"narrow": {"margin": _NARROW.margin, "height": _NARROW.height}},
    }
    for axis, log in logs.items():
        scaled = axis_of(chart, axis, []) | {"range": list(bounds[axis]), "automargin": False}
        if max(along(chart, axis), default=0) >= _MANY:  # 2M: margins here do not grow
            scaled["tickformat"] = "~s"
        look[f"{axis}axis"] = scaled | ({"dtick": "D2"} if log else {})
    return {"data": traces, "layout": look, "config": CONFIG}


def _labels(
    chart: Chart, bounds: dict[str, tuple[float, float]], canvas: _Canvas, *, briefly: bool
) -> dict[int, dict[int, tuple[str, str]]]:
    """Of each series the points that have a place, each with its label and where that stands."""
    # Who is marked chooses first.
    order = sorted(range(len(chart.series)), key=lambda number: not chart.series[number].mark)
    points = [
        (number, at)
        for number in order
        for at, point in enumerate(
            zip(places_of(chart.series[number].x), places_of(chart.series[number].y), strict=True)
        )
        if None not in point
    ]
    width, height = canvas.inside
    spots, texts, first = [], [], []
    for number, at in points:
        series = chart.series[number]
        x = _fraction(series.x[at], bounds["x"], log=chart.log_x)
        y = _fraction(series.y[at], bounds["y"], log=chart.log_y)
        spots.append((x * width, y * height))
        label = "" if series.labels is None else series.labels[at]
        texts.append(label.partition(" ")[0] if briefly else label)
        first.append(series.strong is not None and series.strong[at])
    places = place_labels(texts, first, spots, (width, height))
    labels: dict[int, dict[int, tuple[str, str]]] = {}
    for (number, at), text, place in zip(points, texts, places, strict=True):
        labels.setdefault(number, {})[at] = (text if place else "", place or "top right")
    return labels


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
        "x": places_of(series.x),
        "y": places_of(series.y),
        "mode": "lines",
        "line": {"shape": "hv", "color": RULE, "width": 1.5, "dash": "dot"},
        "name": escape(series.name),
        "hoverinfo": "skip",
    }


def _marks(
    series: Series,
    number: int,
    wide: dict[int, tuple[str, str]],
    narrow: dict[int, tuple[str, str]],
) -> list[dict[str, Any]]:
    """The marks of a series, and its mark in the legend: filled whatever the first point is."""
    colour, shape = LOOKS[number % len(LOOKS)]
    shape, size = (series.mark, 17) if series.mark else (shape, 11)
    x, y = places_of(series.x), places_of(series.y)
    strong = series.strong or [True] * len(series.x)
    texts = series.text or [""] * len(series.x)
    name = escape(short(series.name, 2 * LONG))
    points = {
        "type": "scatter",
        "x": [x[at] for at in wide],
        "y": [y[at] for at in wide],
        "mode": "markers+text",
        "name": name,
        **_beside(series, wide),
        "textfont": {"size": 12, "color": INK},
        "hovertext": [escape(texts[at]).replace("\n", "<br>") for at in wide],
        "hoverinfo": "text",
        "marker": {
            "color": colour,
            "size": size,
            "symbol": [shape if strong[at] else f"{shape}-open" for at in wide],
            "line": {"color": colour, "width": 2},
        },
        "meta": {"narrow": _beside(series, narrow)},
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
        "marker": {"color": colour, "size": size, "symbol": shape},
    }
    return [points, in_legend]


def _beside(series: Series, labels: dict[int, tuple[str, str]]) -> dict[str, list[str]]:
    """What is written beside marks, and where."""
    texts = [escape(text) for text, _ in labels.values()]
    if series.mark:
        texts = [f"<b>{text}</b>" if text else "" for text in texts]
    return {"text": texts, "textposition": [place for _, place in labels.values()]}
