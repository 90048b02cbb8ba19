"""Boundaries: where a column of numbers or dates may be cut, and what a published bound may be.

A bound that is somebody's own value tells that value. So bounds are chosen before anybody is put
into a group, gap by gap between the values that people have:

- a declared `unit` allows its multiples (for dates: whole days, months, ...);
- otherwise the column's hierarchy allows the ends of its finest level above the values;
- otherwise any number as fine as the data is allowed, and the roundest is taken.

A bound lies strictly between two neighbouring values where the gap allows it, and is then nobody's
own. Between neighbours one unit apart there is no room: the bound is the upper value, and where
exactly one person has it (`own`) searches cut elsewhere if they can and the manifest counts it. A
gap without any allowed bound is never cut: the values around it are one block.
"""

from __future__ import annotations

import datetime as dt
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np

from sfumato.errors import SchemaError, did_you_mean, quoted
from sfumato.numbers import Bools, Codes, Floats, Ints, fraction
from sfumato.schema.domain import Domain
from sfumato.schema.hierarchy import Levels
from sfumato.schema.region import Anything, End, Region, Span, Value, ValueSet, place_of

Calendar = Literal["second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade"]
CALENDAR: tuple[Calendar, ...] = get_args(Calendar)
BoundaryUnit = int | float | str

_DIGITS = 15  # decimal digits that every float has
_OUTSIDE = 20  # the first and last bound lie within this part of the column's extent
_LARGE = 1 << 60
BESIDE = 1 << 30  # added to the last block of a cell that takes in special codes and NULL as well
_NUMPY_UNIT = {"second": "s", "minute": "m", "hour": "h", "day": "D", "month": "M", "year": "Y"}
_LONGEST = {  # microseconds that a calendar unit lasts at most
    "millisecond": 10**3,
    "second": 10**6,
    "minute": 60 * 10**6,
    "hour": 3_600 * 10**6,
    "day": 86_400 * 10**6,
    "week": 7 * 86_400 * 10**6,
    "month": 31 * 86_400 * 10**6,
    "quarter": 92 * 86_400 * 10**6,
    "year": 366 * 86_400 * 10**6,
    "decade": 3_653 * 86_400 * 10**6,
}


@dataclass(frozen=True)
class Boundaries:
    """A column of numbers or dates as blocks of values that no published bound tells apart.

    Block b is told by the bounds `lower[b]` (included) and `upper[b]` (not included); `cuts[b]` is
    the bound between block b and the next, `own[b]` whether exactly one person has that value.
    `block_of[code]` is the block of each value of the domain; special codes and NULL are blocks of
    their own after the last.
    `first` and `last` are where the least and greatest value of a block lie that people have.
    `alone[b]`: the one value of the domain in this block, if it may be told as it is. `declared`:
    the bounds are those of a hierarchy, whoever is in the table. `frames[b]`: where limits name a
    coarsest level, the label of it that the block lies in, and that no cell reaches beyond.
    """

    domain: Domain
    block_of: Codes
    lower: tuple[End, ...]
    upper: tuple[End, ...]
    cuts: tuple[End, ...]
    own: Bools
    first: Floats
    last: Floats
    alone: tuple[Value, ...]
    declared: bool
    frames: tuple[Region, ...] = ()

    def __len__(self) -> int:
        return len(self.lower) + len(self.domain.specials)

    @property
    def values(self) -> int:
        """How many blocks of values there are; special codes and NULL come after them."""
        return len(self.lower)

    def cell(self, low: int, high: int) -> Region:
        """What tells the blocks `low` to `high` as a part of a partition: ends where it was cut.

        Where values are told, a `high` after theirs takes in all special codes and NULL: after all
        blocks of values, or (`BESIDE` more) after those up to `high - BESIDE`.
        """
        if low == 0 and high == len(self) - 1 and not self.frames:
            return Anything()
        if low < self.values <= high:
            cell = self._cut_cell(low, self._reach(high))
            return replace(cell, beside=frozenset(self.domain.specials))
        known = self._simple(low, high)
        return self._cut_cell(low, high) if known is None else known

    def _reach(self, high: int) -> int:
        """The last block of values up to a bound of a cell."""
        return high - BESIDE if high >= BESIDE else min(high, self.values - 1)

    def _cut_cell(self, low: int, high: int) -> Span:
        if self.frames:
            return self._framed_cell(low, high)
        if low == 0 and high == self.values - 1:  # all values: an open cell would read as `*`
            return Span(self.lower[0], self.upper[-1])
        if low == 0:
            return Span(high=self.cuts[high])
        if high == self.values - 1:
            return Span(low=self.cuts[low - 1])
        return Span(self.cuts[low - 1], self.cuts[high])

    def _framed_cell(self, low: int, high: int) -> Span:
        frame = self.frames[low]
        first = low == 0 or self.frames[low - 1] != frame
        last = high == self.values - 1 or self.frames[high + 1] != frame
        if not isinstance(frame, Span):  # of a taxonomy, whose labels list values
            return Span(self.lower[low], self.upper[high])
        if first and last:
            return frame
        begin = frame.low if first else self.cuts[low - 1]
        return Span(begin, frame.high if last else self.cuts[high])

    def hull(self, low: int, high: int, within: tuple[int, int]) -> Region:
        """The narrowest that may be told of the blocks `low` to `high`, inside those `within`.

        An end that is the value of one person gives way outwards, as far as there is room. Where
        somebody has NULL or a special code, few may have a value: the cell is told, which was cut
        among many.
        """
        if low < self.values <= high:
            return self.cell(*within)
        if (known := self._simple(low, high)) is not None:
            return known
        if not self.declared:
            while low > within[0] and self.own[low - 1]:
                low -= 1
            while high < self._reach(within[1]) and self.own[high]:
                high += 1
        return self._between(self.lower[low], self.upper[high])

    def _simple(self, low: int, high: int) -> Region | None:
        if low >= self.values:
            first = low - self.values
            return ValueSet(frozenset(self.domain.specials[first : high - self.values + 1]))
        if low == high and self.alone[low] is not None:
            return ValueSet(frozenset({self.alone[low]}))
        return None

    def _between(self, low: End, high: End) -> Region:
        if math.isinf(place_of(low)) and math.isinf(place_of(high)):
            return Anything()
        return Span(low, high)


def boundaries_of(levels: Levels, unit: BoundaryUnit | None, people: Ints) -> Boundaries | None:
    """The boundaries of a bound column of which `people[code]` people have each value.

    None for columns of categories, which have none.
    """
    domain = levels.domain
    check_kind(domain, unit)
    if domain.kind not in ("numeric", "date"):
        return None
    present = np.flatnonzero(people[: domain.placed])
    if not len(present):
        present = np.arange(domain.placed)
    if not len(present):
        return None
    if levels.finest or (unit is None and levels.height > 2):
        return _of_hierarchy(levels, people, present)
    return _of_grid(domain, grid_of(domain, unit), people, present, unit is None)


def _assembled(
    domain: Domain,
    block_of: Codes,
    ends: tuple[Sequence[End], Sequence[End], Sequence[End]],
    people: Ints,
    present: Ints,
    alone: Sequence[Value],
    *,
    declared: bool,
) -> Boundaries:
    lower, upper, cuts = ends
    places = domain.numbers()
    first, last = np.full(len(lower), np.inf), np.full(len(lower), -np.inf)
    np.minimum.at(first, block_of[present], places[present])
    np.maximum.at(last, block_of[present], places[present])
    own = np.array([_having(domain, people, cut) == 1 for cut in cuts], dtype=bool)
    specials = np.arange(len(domain) - domain.placed, dtype=np.int32)
    block_of = np.append(block_of, specials + np.int32(len(lower)))
    return Boundaries(
        domain,
        block_of,
        tuple(lower),
        tuple(upper),
        tuple(cuts),
        own,
        first,
        last,
        tuple(alone),
        declared,
    )


def _having(domain: Domain, people: Ints, value: End) -> int:
    code = domain.code(value)
    return 0 if code is None else int(people[code])


# -- along a hierarchy -----------------------------------------------------------------------------


def _of_hierarchy(levels: Levels, people: Ints, present: Ints) -> Boundaries:
    """A block for every run of values with one label of the finest level above the values."""
    domain, finest = levels.domain, levels[max(levels.finest, 1)]
    total = domain.placed
    label = finest.codes[:total]
    starts = np.flatnonzero(np.append(True, label[1:] != label[:-1]))
    block_of = (np.cumsum(np.append(True, label[1:] != label[:-1])) - 1).astype(np.int32)
    lower: list[End] = []
    upper: list[End] = []
    for place, start in enumerate(starts.tolist()):
        region = finest.regions[label[start]]
        if isinstance(region, Span):
            lower.append(region.low)
            upper.append(region.high)
            continue
        # A taxonomy of numbers: its values are declared, and a run ends where the next begins.
        ended = place + 1 == len(starts)
        lower.append(_end(domain.values[start]))
        upper.append(math.inf if ended else _end(domain.values[starts[place + 1]]))
    cuts = [
        above if _having(domain, people, above) != 1 else below
        for below, above in zip(upper[:-1], lower[1:], strict=True)
    ]
    alone = [None] * len(lower)
    ends = lower, upper, cuts
    return _assembled(domain, block_of, ends, people, present, alone, declared=True)


def _end(value: Value) -> End:
    assert isinstance(value, int | float | dt.date)
    return value


# -- on a grid of round numbers or calendar units --------------------------------------------------


def _of_grid(domain: Domain, grid: Grid, people: Ints, present: Ints, free: bool) -> Boundaries:
    """A block between any two bounds that the grid allows."""
    places = grid.places[present]
    bounds, allowed = grid.between(places[:-1], places[1:])
    inner = bounds[allowed]
    total = domain.placed
    block_of = np.searchsorted(inner, grid.places[:total], side="right").astype(np.int32)
    cuts = [grid.end(bound) for bound in inner]
    extent = places[-1] - places[0]
    reach = max(extent // _OUTSIDE, 2 * grid.longest)
    least, _ = grid.between(places[:1] - reach, places[:1])
    most, _ = grid.between(places[-1:], places[-1:] + reach)
    shared = people[present[0]] > 1 and grid.holds(places[:1])[0]
    lowest = domain.values[present[0]] if shared else grid.end(least[0])
    lower = [_end(lowest), *cuts]
    upper = [*cuts, grid.end(most[0])]
    alone: list[Value] = [None] * len(lower)
    codes = np.bincount(block_of, minlength=len(lower))
    on_grid = grid.holds(grid.places[:total])
    for code in np.flatnonzero((codes[block_of] == 1) & (people[:total] > 1) & (on_grid | free)):
        alone[block_of[code]] = domain.values[code]
    ends = lower, upper, cuts
    return _assembled(domain, block_of, ends, people, present, alone, declared=False)


class Grid(ABC):
    """Where the bounds of a column may lie.

    `places` are the domain's values (without NULL and special codes) on an axis of whole numbers;
    `longest` is how far two neighbouring points of the grid are apart at most.
    """

    places: Any
    longest: int

    @abstractmethod
    def between(self, low: Any, high: Any) -> tuple[Any, Bools]:
        """For each pair the roundest point strictly between, else `high` if it is one; and whether
        there is any."""

    @abstractmethod
    def holds(self, places: Any) -> Bools:
        """Which places are points of the grid."""

    @abstractmethod
    def end(self, place: Any) -> End:
        """A place as a value of the column."""


def grid_of(domain: Domain, unit: BoundaryUnit | None) -> Grid:
    """The grid of a column's declared unit, or one as fine as its values."""
    values: list[Any] = list(domain.values[: domain.placed])
    return _Calendar(values, unit) if domain.kind == "date" else _Decimals(values, unit)


class _Decimals(Grid):
    """Multiples of a unit. The axis counts in powers of ten as fine as the unit and the values."""

    def __init__(self, values: list[Any], unit: BoundaryUnit | None) -> None:
        step = fraction(unit) if unit is not None else None
        whole = all(isinstance(value, int) for value in values)
        least = 0 if step is None else _decimals(step)
        numbers = np.array(values, dtype=object if whole else np.float64)
        self._scale, self._exact = Fraction(10**least), True
        if whole:
            numbers = numbers * 10**least
            largest = max(abs(int(number)) for number in numbers)
            self.places = numbers if largest > _LARGE else numbers.astype(np.int64)
        else:
            self._scale, self.places, self._exact = _scaled(numbers, least)
        self.longest = 1 if step is None else max(1, int(step * self._scale))

    def between(self, low: Any, high: Any) -> tuple[Any, Bools]:
        cut, allowed = high.copy(), self.holds(high) & np.asarray(high > low, dtype=bool)
        waiting = np.arange(len(high))
        ends = (*low[:1], *low[-1:], *high[:1], *high[-1:])  # both rise
        digits = len(str(max((abs(int(end)) for end in ends), default=0)))
        steps = [m * 10**e for e in range(digits + 1, -1, -1) for m in (5, 2, 1)]
        for step in [*(step for step in steps if step % self.longest == 0), self.longest]:
            if step > _LARGE and low.dtype != object:
                continue
            point = (high[waiting] - 1) // step * step
            here = np.asarray(point > low[waiting], dtype=bool)
            cut[waiting[here]] = point[here]
            allowed[waiting] |= here
            waiting = waiting[~here]
        return cut, allowed

    def holds(self, places: Any) -> Bools:
        return np.asarray(places % self.longest == 0, dtype=bool) & self._exact

    def end(self, place: Any) -> End:
        value = Fraction(int(place)) / self._scale
        return int(value) if value.denominator == 1 else float(value)


def _decimals(number: Fraction) -> int:
    """How many decimals a number has."""
    places = 0
    while (number * 10**places).denominator != 1 and places < 2 * _DIGITS:
        places += 1
    return places


def _scaled(numbers: Floats, least: int) -> tuple[Fraction, Ints, bool]:
    """Numbers in the fewest decimals that tell them all, at most as many as every float has; and
    whether these tell them exactly."""
    finite = np.abs(numbers[np.isfinite(numbers)])
    largest = float(finite.max(initial=1.0))
    most = _DIGITS - math.ceil(math.log10(max(largest, 1e-300)))
    for decimals in range(min(least, most), most + 1):
        scale = 10.0**decimals
        with np.errstate(over="ignore", invalid="ignore"):
            places = np.rint(numbers * scale)
            exact = decimals >= 0 and bool((places / scale == numbers).all())
            if decimals == most or exact:
                # Numbers closer than that stay together; rounding keeps their order.
                limit = float(_LARGE >> 3)
                clipped = np.clip(np.nan_to_num(places, posinf=limit, neginf=-limit), -limit, limit)
                return Fraction(10) ** decimals, clipped.astype(np.int64), exact
    raise AssertionError("unreachable")


class _Calendar(Grid):
    """Whole days, months, ... The axis counts microseconds since 1970."""

    def __init__(self, values: list[Any], unit: BoundaryUnit | None) -> None:
        self.places = np.array(values, dtype="datetime64[us]").astype(np.int64)
        finest = unit
        if finest is None:
            fine = [
                u for u in ("day", "second") if (self.floor(self.places, u) == self.places).all()
            ]
            finest = fine[0] if fine else "millisecond"
        self._finest = str(finest)
        self.longest = _LONGEST[self._finest]
        # Weeks run through all coarser units, whose beginnings are seldom Mondays.
        listed = ["millisecond", *(unit for unit in CALENDAR if unit != "week")]
        self._units = ["week"]
        if self._finest != "week":
            self._units = listed[listed.index(self._finest) :][::-1]

    @staticmethod
    def floor(places: Ints, unit: str) -> Ints:
        if unit == "millisecond":
            return places // 1_000 * 1_000
        stamps = places.astype("datetime64[us]")
        if unit in _NUMPY_UNIT:
            floored = stamps.astype(f"datetime64[{_NUMPY_UNIT[unit]}]")
        elif unit == "week":  # day 0 of NumPy's calendar was a Thursday
            floored = ((stamps.astype("datetime64[D]").astype(np.int64) + 3) // 7 * 7 - 3).astype(
                "datetime64[D]"
            )
        elif unit == "quarter":
            floored = (stamps.astype("datetime64[M]").astype(np.int64) // 3 * 3).astype(
                "datetime64[M]"
            )
        else:
            years = stamps.astype("datetime64[Y]").astype(np.int64) + 1970
            floored = (years // 10 * 10 - 1970).astype("datetime64[Y]")
        return floored.astype("datetime64[us]").astype(np.int64)

    def between(self, low: Any, high: Any) -> tuple[Any, Bools]:
        cut, allowed = high.copy(), self.holds(high)
        waiting = np.arange(len(high))
        for unit in self._units:
            point = self.floor(high[waiting] - 1, unit)
            here = point > low[waiting]
            cut[waiting[here]] = point[here]
            allowed[waiting] |= here
            waiting = waiting[~here]
        return cut, allowed

    def holds(self, places: Any) -> Bools:
        return np.asarray(self.floor(places, self._finest) == places, dtype=bool)

    def end(self, place: Any) -> End:
        stamp: Any = np.int64(place).astype("datetime64[us]").item()
        if not isinstance(stamp, dt.datetime):  # before the year 1, or after 9999
            return math.inf if int(place) > 0 else -math.inf
        return stamp if stamp.time() != dt.time() else stamp.date()


def calendar_floor(date: dt.date, unit: str, later: int = 0) -> dt.date:
    """The beginning of the day, month, ... a date lies in, or of the one after or before it."""
    place = np.array([date], dtype="datetime64[us]").astype(np.int64)
    begin = _Calendar.floor(place, unit)
    if later > 0:  # no unit is shorter than half of the longest of its kind
        begin = _Calendar.floor(begin + _LONGEST[unit], unit)
    elif later < 0:
        begin = _Calendar.floor(begin - 1, unit)
    stamp: Any = begin.astype("datetime64[us]")[0].item()
    if not isinstance(stamp, dt.datetime):  # there is no date before the year 1 or after 9999
        return date
    return stamp if stamp.time() != dt.time() else stamp.date()


def calendar_longest(unit: str) -> int:
    """Microseconds that a calendar unit lasts at most."""
    return _LONGEST[unit]


def check_kind(domain: Domain, unit: BoundaryUnit | None) -> None:
    """Refuse a unit that says nothing about this kind of column."""
    if unit is None:
        return
    if domain.kind not in ("numeric", "date"):
        raise SchemaError(
            f"units: column {domain.name!r} holds neither numbers nor dates, so it has no unit"
        )
    if domain.kind == "date" and not isinstance(unit, str):
        raise SchemaError(
            f"units: column {domain.name!r} holds dates, and {unit!r} is no unit of dates; "
            f"allowed: {', '.join(CALENDAR)}"
        )
    if domain.kind == "numeric" and isinstance(unit, str):
        raise SchemaError(
            f"units: column {domain.name!r} holds numbers, and {unit!r} is no number; give the "
            "smallest step that may be told, such as 1 or 0.01"
        )


def check_unit(column: str, unit: object) -> None:
    """Refuse what can be no unit of any column."""
    if isinstance(unit, str):
        if unit not in CALENDAR:
            raise SchemaError(
                f"units: column {column!r} has {quoted(unit)}; give a number, or of dates "
                f"{did_you_mean(unit, CALENDAR)}"
            )
    elif isinstance(unit, bool) or not isinstance(unit, int | float):
        raise SchemaError(
            f"units: column {column!r} has {quoted(unit)}; give a number such as 1 or 0.01, or of "
            f"dates one of {', '.join(CALENDAR)}"
        )
    elif not (unit > 0 and math.isfinite(unit)):
        raise SchemaError(f"units: column {column!r} has {unit!r}; a unit is larger than 0")
