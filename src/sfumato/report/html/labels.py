"""Labels of points on a map: short, beside their points, never over each other.

Plotly sets every label where it is told and lets them overlap, so places are chosen here, in the
pixels of a page of the usual width. Apart from drawing, because it is geometry alone.

Stands apart: where labels of points can stand without covering each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

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
    found = [""] * len(texts)
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
            found[place] = (clear or free)[0]
            taken.append(boxes[found[place]])
    return found


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
