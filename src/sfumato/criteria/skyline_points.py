"""Points of a privacy skyline as a data owner writes them: (l, k, m) of knowledge, c of confidence.

A point that asks for less knowledge and allows more confidence than another is implied by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from sfumato.adversaries.skyline.breach import check_point
from sfumato.criteria.exact import fraction
from sfumato.errors import InputError, PolicyError, quoted
from sfumato.schema.exact import shortest


class Point(NamedTuple):
    """An adversary who knows (l, k, m) must stay below confidence c."""

    l: int  # noqa: E741  # the paper's names
    k: int
    m: int
    c: float

    @property
    def known(self) -> tuple[int, int, int]:
        return self.l, self.k, self.m

    @property
    def confidence(self) -> Fraction:
        """The decimal somebody wrote, exactly."""
        return fraction(self.c)

    def dominates(self, other: Point) -> bool:
        """Whether keeping this point keeps the other."""
        more = all(mine >= theirs for mine, theirs in zip(self.known, other.known, strict=True))
        return more and self.confidence <= other.confidence

    def __str__(self) -> str:
        return f"({self.l}, {self.k}, {self.m}) below {shortest(self.c)}"


def points_of(criterion: str, name: str, given: Any) -> tuple[Point, ...]:
    """A list of (l, k, m, c), each a list of four or a table of those keys."""
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise PolicyError(f"{criterion}: {name} = {quoted(given)} is not allowed; {_FORM}")
    return tuple(_point(criterion, name, entry) for entry in given)


_FORM = "it must be a list of points, each [l, k, m, c] or { l = 0, k = 1, m = 0, c = 0.5 }"


def _point(criterion: str, name: str, entry: Any) -> Point:
    if isinstance(entry, Mapping) and set(entry) == set(Point._fields):
        entry = [entry[field] for field in Point._fields]
    if isinstance(entry, str | Mapping) or not isinstance(entry, Sequence) or len(entry) != 4:
        raise PolicyError(f"{criterion}: {name} has {entry!r}; {_FORM}")
    *known, confidence = entry
    try:
        check_point(known)
    except InputError as error:
        raise PolicyError(f"{criterion}: {name} has a point with {error}") from None
    number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
    if not number or not 0 < confidence <= 1:
        raise PolicyError(
            f"{criterion}: {name} has a point with c = {confidence!r}; it must be a number above 0 "
            "and at most 1"
        )
    return Point(int(known[0]), int(known[1]), int(known[2]), confidence)


def undominated(
    points: Sequence[Point],
) -> tuple[tuple[Point, ...], tuple[tuple[Point, Point], ...]]:
    """The points that count, and those dropped, each with one that implies it."""
    kept: list[Point] = []
    for point in points:
        if not any(one.dominates(point) for one in kept):
            kept = [one for one in kept if not point.dominates(one)] + [point]
    dropped = [
        (point, next(one for one in kept if one.dominates(point)))
        for point in dict.fromkeys(points)
        if point not in kept
    ]
    return tuple(kept), tuple(dropped)
