"""Labels of points on a map: short, beside their points, never over each other.

Plotly sets every label where it is told and lets them overlap, so places are chosen here, in the
pixels of a page of the usual width.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from sfumato.report.comparison import Outcome

_LETTER, _LINE, _MARKER = 6.6, 15, 7  # pixels: a letter's width, a line's height, half a marker
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
    outcomes: Sequence[Outcome], spots: Sequence[Spot], varied: Sequence[str], size: Spot
) -> list[tuple[str, str]]:
    """A text and a place for each point; no text where it would cover another or a point.

    `spots` are pixels from the lower left of a map of `size`, `varied` the settings that differ.
    Points of the front choose first. Points at one place share a label.
    """
    together: dict[tuple[int, int], list[int]] = {}
    for place, (x, y) in enumerate(spots):
        together.setdefault((round(x / 2), round(y / 2)), []).append(place)
    found = [("", "top right")] * len(outcomes)
    taken: list[Box] = []
    markers = [(x - _MARKER, y - _MARKER, x + _MARKER, y + _MARKER) for x, y in spots]
    front = _stairs([spot for spot, outcome in zip(spots, outcomes, strict=True) if outcome.pareto])
    for members in sorted(together.values(), key=lambda m: not outcomes[m[0]].pareto):
        text = shared_label([outcomes[place] for place in members], varied)
        others = [box for place, box in enumerate(markers) if place not in members]
        boxes = {where: _box(spots[members[0]], text, way) for where, way in _PLACES.items()}
        free = [
            where
            for where, box in boxes.items()
            if _inside(box, size) and not any(_meet(box, other) for other in (*taken, *others))
        ]
        if free:
            clear = [w for w in free if not any(_meet(boxes[w], step) for step in front)]
            where = (clear or free)[0]
            found[members[0]] = (text, where)
            taken.append(boxes[where])
    return found


def shared_label(outcomes: Sequence[Outcome], varied: Sequence[str]) -> str:
    """Only what differs between points: `k=2/5, l=3` for two of them at one place.

    The anonymizer is told by its shape, and named where points of several lie together.
    """
    kinds = list(dict.fromkeys(outcome.anonymizer for outcome in outcomes))
    texts = list(dict.fromkeys(_short(outcome.settings, varied, kinds) for outcome in outcomes))
    values: dict[str, dict[str, None]] = {}
    for outcome in outcomes:
        for name in varied:
            values.setdefault(name, {})[str(outcome.settings.get(name, ""))] = None
    if len(texts) > 1 and len(texts) == math.prod(len(several) for several in values.values()):
        joined = {n: "/".join(several) for n, several in values.items() if list(several) != [""]}
        return _short(joined, varied, kinds)
    more = f" | {len(texts) - 2} more" if len(texts) > 2 else ""
    return " | ".join(texts[:2]) + more


def _short(settings: Mapping[str, object], varied: Sequence[str], kinds: Sequence[str]) -> str:
    tails = [name.rpartition(".")[2] for name in varied]
    told = []
    for name, value in settings.items():
        if name in varied and name != "anonymizer":
            tail = name.rpartition(".")[2]  # t will do for t-closeness.t where it is the only t
            told.append(f"{tail if tails.count(tail) == 1 else name}={value}")
    if len(kinds) > 1 or not told:
        told.insert(0, str(settings.get("anonymizer", kinds[0])))
    return ", ".join(told)


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
