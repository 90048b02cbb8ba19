"""Hierarchies of dates: to the day, week, month, quarter, year and decade.

Weeks are those of ISO 8601, from Monday to Sunday. A week may lie in two months, so beside weeks
the coarser periods are made of whole weeks, each in the month of its Thursday, and are published by
their dates, `[2024-04-29, 2024-06-03)`: the name of a month would say something else.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from sfumato.errors import SchemaError, did_you_mean, forms_of, quoted
from sfumato.schema.domain import Domain
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.region import Region, Span, Value, text_of

Period = Literal["day", "week", "month", "quarter", "year", "decade"]
PERIODS: tuple[Period, ...] = get_args(Period)
DEFAULT_PERIODS: tuple[Period, ...] = ("month", "quarter", "year", "decade")
_DAY = dt.timedelta(days=1)


@dataclass(frozen=True)
class Dates(Hierarchy):
    """Dates to the periods named; values outside top and bottom, which are years, together."""

    kind: ClassVar[str] = "dates"
    units: tuple[Period, ...] = DEFAULT_PERIODS
    top: int | None = None
    bottom: int | None = None

    def __post_init__(self) -> None:
        for unit in self.units:
            if not isinstance(unit, str) or unit not in PERIODS:
                raise SchemaError(
                    f"dates: unknown unit {quoted(unit)}; {did_you_mean(unit, PERIODS)}"
                )
        for name, year in (("top", self.top), ("bottom", self.bottom)):
            if year is not None and (not isinstance(year, int) or not 1 <= year <= 9999):
                raise SchemaError(f"dates: {name} = {quoted(year)} must be a year")
        positions = [PERIODS.index(unit) for unit in self.units]
        if not positions or positions != sorted(set(positions)):
            raise SchemaError(f"dates: units must go from fine to coarse: {', '.join(PERIODS)}")
        if "week" in self.units and (self.top is not None or self.bottom is not None):
            raise SchemaError(
                "dates: top and bottom are years, which begin inside a week; leave out week, or "
                "top and bottom"
            )

    def regions(self, domain: Domain) -> list[list[Region]]:
        values = [value for value in domain.values if value is not None]
        dates = [value for value in values if isinstance(value, dt.date)]
        if len(dates) < len(values):
            odd = [text_of(value) for value in values if not isinstance(value, dt.date)]
            raise SchemaError(
                f"column {domain.name!r}: dates() needs dates such as 2024-05-31, found "
                f"{forms_of(odd)}; say how they are written with dates in [read], or use "
                "another hierarchy"
            )
        return [[self._period(date, unit) for date in dates] for unit in self.units]

    def level_names(self) -> Sequence[str]:
        return self.units

    def landmarks(self) -> Sequence[Value]:
        if self.top is None or self.bottom is None:
            return ()
        first, last = dt.date(self.bottom, 1, 1), dt.date(self.top, 1, 1)
        before = [dt.date(self.bottom - 1, 12, 31)] if self.bottom > dt.MINYEAR else []
        days = (dt.date.fromordinal(day) for day in range(first.toordinal(), last.toordinal()))
        begins = [day for day in days if self.units[0] == "day" or day.day == 1]
        return [*before, *begins, last]

    def _period(self, date: dt.date, unit: Period) -> Region:
        if self.top is not None and date.year >= self.top:
            return Span(low=dt.date(self.top, 1, 1))
        if self.bottom is not None and date.year < self.bottom:
            return Span(high=dt.date(self.bottom, 1, 1))
        return _of_whole_weeks(date, unit) if "week" in self.units else period(date, unit)


def period(date: dt.date, unit: Period) -> Span:
    """The day, week, month, quarter, year or decade a date lies in."""
    year, month = date.year, date.month
    if unit == "day":
        day = dt.date(year, month, date.day)
        return Span(day, day + _DAY) if day < dt.date.max else Span(low=day)
    if unit == "week":
        iso = date.isocalendar()
        return _weeks(_monday(date), 1, f"{iso.year:04d}-W{iso.week:02d}")
    if unit == "month":
        return _months(year, month, 1, f"{year:04d}-{month:02d}")
    if unit == "quarter":
        quarter = (month + 2) // 3
        return _months(year, 3 * quarter - 2, 3, f"{year:04d}-Q{quarter}")
    if unit == "year":
        return _months(year, 1, 12, f"{year:04d}")
    decade = year // 10 * 10
    return _months(decade, 1, 120, f"{decade:04d}s")


def _months(year: int, month: int, count: int, label: str) -> Span:
    end = year * 12 + month - 1 + count
    if end // 12 > dt.MAXYEAR:
        return Span(low=dt.date(year, month, 1), label=label)
    return Span(dt.date(max(year, 1), month, 1), dt.date(end // 12, end % 12 + 1, 1), label=label)


def _monday(date: dt.date) -> dt.date:
    day = dt.date(date.year, date.month, date.day)
    return day - day.weekday() * _DAY


def _weeks(monday: dt.date, count: int, label: str | None) -> Span:
    last = dt.date.max.toordinal()
    if monday.toordinal() + 7 * count > last:
        return Span(low=monday, label=label)
    return Span(monday, monday + 7 * count * _DAY, label=label)


def _of_whole_weeks(date: dt.date, unit: Period) -> Span:
    """The weeks whose Thursdays lie in the period of this week's."""
    if unit in ("day", "week"):
        return period(date, unit)
    thursdays = period(_monday(date) + 3 * _DAY, unit)
    assert isinstance(thursdays.low, dt.date)
    # The first Thursday from a day on is in the week of the day three later.
    begin = _monday(thursdays.low + 3 * _DAY)
    if not isinstance(thursdays.high, dt.date):
        return Span(low=begin)
    return Span(begin, _monday(thursdays.high + 3 * _DAY))


def dates(
    *units: Period | Sequence[Period], top: int | None = None, bottom: int | None = None
) -> Dates:
    """Month, quarter, year, decade, or those named, one by one or as a list; also day and week.

    `top` and `bottom` are years.
    """
    named: list[Any] = []
    for unit in units:
        named += unit if isinstance(unit, list | tuple) else [unit]
    return Dates(tuple(named) or DEFAULT_PERIODS, top, bottom)
