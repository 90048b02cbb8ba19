"""Centres: the points that a centroid of numbers or dates may be published as.

A mean or median is rounded like a bound (`boundaries.py`): to the column's declared unit, else to
the ends of its hierarchy's finest level, else to a step of which the column's extent has some
hundred. The nearest point is taken, the next one where exactly one person has that value; only
where both are somebody's own is one of them told. Rounding keeps the order of what is rounded, so
that of two groups with equal centroids the union has the same.

Stands apart: what a column may be published as is the schema's to say, not the anonymizer's; with
`boundaries.py` it would be more than a file should hold.
"""

from __future__ import annotations

import datetime as dt
import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato.numbers import Ints, fraction
from sfumato.schema.boundaries import (
    CALENDAR,
    BoundaryUnit,
    Calendar,
    boundaries_of,
    calendar_floor,
    calendar_longest,
    check_kind,
)
from sfumato.schema.domain import Domain
from sfumato.schema.hierarchy import Levels
from sfumato.schema.region import End, Span, place_of

_STEPS = 100  # at least so many points over the extent of a column without a unit
_Neighbours = tuple[End, End]


@dataclass(frozen=True)
class Centres:
    """The allowed points of a column, and how many people have each value.

    `frames`: where limits name a coarsest level, its labels; a point stays in that of its value.
    """

    domain: Domain
    people: Ints
    points: _Multiples | _Periods | _Listed
    frames: tuple[Span, ...] = ()

    def nearest(self, value: float | dt.date) -> End:
        """The point that tells a mean or median."""
        below, above = self.points.around(value)
        if below == above:  # a point itself: the next ones are as good as each other
            under, over = self.points.beside(below)
            wanted = [below, over, under]
        else:
            place = place_of(value)
            nearer_above = place_of(above) - place <= place - place_of(below)
            wanted = [above, below] if nearer_above else [below, above]
        frame = next((frame for frame in self.frames if frame.contains(value)), None)
        if frame is not None:
            near = (*wanted, *self.points.beside(wanted[0]), frame.low)
            inside = [
                centre
                for centre in near
                if frame.contains(centre) and math.isfinite(place_of(centre))
            ]
            wanted = inside or wanted
        return next((point for point in wanted if not self._one_has(point)), wanted[0])

    def _one_has(self, point: End) -> bool:
        code = self.domain.code(point)
        return code is not None and int(self.people[code]) == 1


def centres_of(levels: Levels, unit: BoundaryUnit | None, people: Ints) -> Centres | None:
    """The points of a bound column; None for categories, which are told as they are."""
    made = _centres(levels, unit, people)
    if made is None or levels.coarsest == levels.height - 1:
        return made
    labels = levels[levels.coarsest].regions
    return replace(made, frames=tuple(label for label in labels if isinstance(label, Span)))


def _centres(levels: Levels, unit: BoundaryUnit | None, people: Ints) -> Centres | None:
    domain = levels.domain
    check_kind(domain, unit)
    if domain.kind not in ("numeric", "date"):
        return None
    if levels.finest or (unit is None and levels.height > 2):
        bounded = boundaries_of(levels, None, people)
        assert bounded is not None
        ends = {place_of(end): end for end in (*bounded.lower, *bounded.upper)}
        finite = sorted(place for place in ends if math.isfinite(place))
        if finite:
            return Centres(domain, people, _Listed([ends[place] for place in finite]))
    places = domain.numbers()[: domain.placed]
    extent = float(places[-1] - places[0]) if len(places) else 0.0
    if domain.kind == "date":
        timed = any(isinstance(value, dt.datetime) for value in domain.values)
        finest: Calendar = "second" if timed else "day"
        return Centres(domain, people, _Periods(_calendar(unit, extent, finest)))
    if unit is not None:
        return Centres(domain, people, _Multiples(fraction(unit)))
    if not 0 < extent < math.inf:
        extent = abs(float(places[0])) if len(places) and math.isfinite(places[0]) else 0.0
    exponent = math.floor(math.log10(extent / _STEPS)) if extent > 0 else 0
    return Centres(domain, people, _Multiples(Fraction(10) ** exponent))


def _calendar(unit: BoundaryUnit | None, days: float, finest: Calendar) -> Calendar:
    """The unit, or the longest of which the extent has enough, but none finer than the data's."""
    if unit is not None:
        return next(named for named in CALENDAR if named == unit)
    # Weeks only where the owner says so: their beginnings are seldom those of months.
    listed = [named for named in CALENDAR[CALENDAR.index(finest) :] if named != "week"]
    wanted = [unit for unit in listed if calendar_longest(unit) / 86_400e6 * _STEPS <= days]
    return wanted[-1] if wanted else finest


class _Multiples:
    """The multiples of a number."""

    def __init__(self, step: Fraction) -> None:
        self._step = step

    def around(self, value: float | dt.date) -> _Neighbours:
        assert not isinstance(value, dt.date)
        exact = Fraction(value) / self._step
        return self._end(math.floor(exact)), self._end(math.ceil(exact))

    def beside(self, point: End) -> _Neighbours:
        assert not isinstance(point, dt.date)
        at = round(Fraction(point) / self._step)
        return self._end(at - 1), self._end(at + 1)

    def _end(self, at: int) -> End:
        exact = at * self._step
        return int(exact) if self._step.denominator == 1 else float(exact)


class _Periods:
    """The beginnings of days, months, ..."""

    def __init__(self, unit: Calendar) -> None:
        self._unit = unit

    def around(self, value: float | dt.date) -> _Neighbours:
        assert isinstance(value, dt.date)
        below = calendar_floor(value, self._unit)
        if place_of(below) == place_of(value):
            return below, below
        return below, calendar_floor(below, self._unit, 1)

    def beside(self, point: End) -> _Neighbours:
        assert isinstance(point, dt.date)
        return calendar_floor(point, self._unit, -1), calendar_floor(point, self._unit, 1)


class _Listed:
    """Some points in their order; beyond the last there is no other."""

    def __init__(self, points: list[End]) -> None:
        self._points = points
        self._places = [place_of(point) for point in points]

    def around(self, value: float | dt.date) -> _Neighbours:
        place = place_of(value)
        below = max(bisect_right(self._places, place) - 1, 0)
        above = min(bisect_left(self._places, place), len(self._places) - 1)
        return self._points[below], self._points[above]

    def beside(self, point: End) -> _Neighbours:
        at = bisect_left(self._places, place_of(point))
        under, over = max(at - 1, 0), min(at + 1, len(self._places) - 1)
        return self._points[under], self._points[over]
