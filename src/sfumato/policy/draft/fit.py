"""A hierarchy that fits a column: how its values may be coarsened, proposed from their range."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.policy.draft.guess import MANY, are_codes
from sfumato.policy.draft.patterns import is_code, is_foreign_date
from sfumato.policy.draft.profile import Profile
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.recipes import Dates, Intervals, Masking, Number, Suppression, Unit

FEW = 3  # categories that need no taxonomy
TAIL = 0.005  # the share of people the highest (lowest) label should hold at least
_ROWS_PER_VALUE = 5  # values held by fewer people on average are not written into a policy


@dataclass(frozen=True)
class Fit:
    """What the policy says of a column's values; `values` are categories to make a tree of."""

    hierarchy: Hierarchy | None
    why: str = ""
    declared: str | None = None
    level: int | None = None
    values: tuple[str, ...] = ()


def plain() -> Fit:
    """What always works: every value a category, or `*`."""
    return Fit(Suppression(), "the value or *", "categorical")


def fit_quasi(found: Profile) -> Fit:
    """How a quasi-identifier may be coarsened."""
    topic = found.topic.name if found.topic else ""
    codes = are_codes(found)
    declared = "categorical" if codes or found.mixed else None
    if topic == "zip code" and any(c.isdigit() for text in found.texts for c in text):
        return Fit(Masking(), "13053, 1305*, 130**: neighbouring codes share their beginning")
    if found.what == "numeric" and not codes:
        ranges = _ranges(found, 15)
        return Fit(ranges, _told(ranges)) if ranges else Fit(Suppression(), "the number or *")
    if found.what == "date":
        spans = _spans(found)
        return Fit(spans, f"a date, then its {', '.join(spans.units)}")
    if found.what == "text" and is_foreign_date(found.texts):
        return Fit(
            Suppression(), "the date or *; written 2024-05-31 it could become a month or year"
        )
    if found.distinct > 12 and not found.mixed and is_code(found.texts):
        return Fit(Masking(), "codes of one length: their tail is hidden step by step", declared)
    if found.distinct <= FEW:
        return Fit(Suppression(), "there is no half-way between so few values and *", declared)
    listed: tuple[str, ...] = ()
    often = found.present >= _ROWS_PER_VALUE * found.distinct
    if found.distinct <= MANY and often and found.longest <= MANY:
        listed = tuple(sorted(found.domain.labels[: len(found.counts)], key=_in_order))
    return Fit(Suppression(), "the value or *, until you sort its values", declared, None, listed)


def _in_order(label: str) -> tuple[float, str]:
    return (float(label), "") if label.isdecimal() else (math.inf, label)


def fit_sensitive(found: Profile) -> Fit:
    """At which detail a sensitive column is judged and published."""
    if found.what == "list":
        return Fit(None)
    if found.what == "numeric" and not are_codes(found):
        ranges = _ranges(found, 12)
        if ranges is not None:
            ranges = replace(ranges, widths=ranges.widths[:2])
            return Fit(ranges, f"judged and published in {_told(ranges)}", None, 1)
    return Fit(None, "", "categorical" if found.mixed or are_codes(found) else None)


def _told(ranges: Intervals) -> str:
    tails = [f"from {ranges.top} on together"] if ranges.top is not None else []
    if ranges.bottom is not None:
        tails.append(f"below {ranges.bottom} together")
    widths = ", ".join(f"{width}" for width in ranges.widths)
    return f"ranges of {widths}" + (f"; {' and '.join(tails)}, as they are few" if tails else "")


def _ranges(found: Profile, parts: int) -> Intervals | None:
    """About `parts` ranges over the bulk of the values, doubling; sparse tails in one label."""
    numbers = np.array([float(value) for value in found.values])
    if not np.isfinite(numbers).all():
        return None
    upto = np.cumsum(found.counts) / found.counts.sum()
    tail = _tail(found)
    low, high = _at(numbers, upto, tail), _at(numbers, upto, 1 - tail)
    if low == high:
        low, high = float(numbers[0]), float(numbers[-1])
    width = _round((high - low) / parts)
    if found.topic and found.topic.name == "age" and high - low > 20:
        width = 5
    if found.integral:
        width = max(width, 2)
    widths = [width]
    while len(widths) < 4 and widths[-1] * 2.5 < high - low:
        widths.append(widths[-1] * 2)
    top, bottom = _tails(numbers, low, high, width)
    return Intervals(tuple(_clean(width) for width in widths), top=top, bottom=bottom)


def _tail(found: Profile) -> float:
    """The share of people a tail must hold: five at least, of a small table more than `TAIL`."""
    return min(max(TAIL, 5 / max(int(found.counts.sum()), 1)), 0.05)


def _at(numbers: np.ndarray[Any, Any], upto: np.ndarray[Any, Any], share: float) -> float:
    return float(numbers[min(int(np.searchsorted(upto, share)), len(numbers) - 1)])


def _tails(
    numbers: np.ndarray[Any, Any], low: float, high: float, width: float
) -> tuple[Number | None, Number | None]:
    """Where the last range that still holds enough people begins, and the first ends."""
    top = math.floor(high / width) * width
    bottom = math.ceil(low / width) * width
    sparse_top = numbers[-1] >= top + width and top > numbers[0]
    sparse_bottom = numbers[0] < bottom - width and bottom < numbers[-1]
    if sparse_top and sparse_bottom and top <= bottom:
        return None, None
    return (_clean(top) if sparse_top else None, _clean(bottom) if sparse_bottom else None)


def _round(width: float) -> float:
    """The nearest of ..., 1, 2, 5, 10, 20, 50, ..."""
    if width <= 0:
        return 1
    power = math.floor(math.log10(width))
    steps = [mantissa * 10.0 ** (power + more) for more in (0, 1) for mantissa in (1, 2, 5)]
    return min(steps, key=lambda step: abs(math.log(step / width)))


def _clean(number: float) -> Number:
    """Whole numbers as such, others without the dust of binary fractions."""
    rounded = float(f"{number:.10g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def _spans(found: Profile) -> Dates:
    days = [value for value in found.values if isinstance(value, dt.date)]
    years = np.array([day.year for day in days])
    units: tuple[Unit, ...] = ("month", "quarter", "year")
    if years[-1] - years[0] < 15:
        return Dates(units)
    upto = np.cumsum(found.counts) / found.counts.sum()
    tail = _tail(found)
    first, last = int(_at(years, upto, tail)), int(_at(years, upto, 1 - tail))
    bottom = first + 1 if years[0] < first else None
    top = last if years[-1] > last else None
    if bottom is not None and top is not None and top <= bottom:
        bottom = top = None
    return Dates((*units, "decade"), top, bottom)
