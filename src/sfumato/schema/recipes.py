"""Hierarchies by rule (intervals, mask, suppression, dates) and by list (taxonomy)."""

from __future__ import annotations

import csv
import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from sfumato.errors import SchemaError, did_you_mean, forms_of, name_some, other_than_file, quoted
from sfumato.numbers import fraction
from sfumato.schema.domain import Domain
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.region import Anything, Mask, Region, Span, Value, ValueSet, text_of

# Hierarchies by list: a taxonomy gives every value its path of labels towards `*`.


@dataclass(frozen=True)
class Taxonomy(Hierarchy):
    """A tree of labels given value by value: the path from each value towards `*`."""

    kind: ClassVar[str] = "taxonomy"
    paths: Mapping[str, tuple[str, ...]]
    source: str = "taxonomy"

    def __post_init__(self) -> None:
        depths = {len(path) for path in self.paths.values()}
        if not self.paths:
            raise SchemaError(f"{self.source} is empty; give a line 'value;label;...' per value")
        if len(depths) > 1:
            usual = max(depths, key=[len(path) for path in self.paths.values()].count)
            odd = [leaf for leaf, path in self.paths.items() if len(path) != usual]
            raise SchemaError(
                f"{self.source}: paths differ in length (most have {usual} labels, not so "
                f"{name_some(odd)}); repeat a label to fill a level"
            )

        ends = [path[-1] == "*" for path in self.paths.values() if path]
        if any("*" in path[:-1] for path in self.paths.values()) or len(set(ends)) > 1:
            raise SchemaError(
                f"{self.source}: '*' may only stand as the last label, and then of every value"
            )

    def __hash__(self) -> int:
        return hash((self.source, tuple(self.paths.items())))

    def leaves(self) -> Sequence[str]:
        return list(self.paths)

    def regions(self, domain: Domain) -> list[list[Region]]:
        values = [value for value in domain.values if value is not None]
        missing = [text_of(value) for value in values if text_of(value) not in self.paths]
        if missing:
            raise SchemaError(
                f"column {domain.name!r}: {len(missing)} value(s) are not covered by its "
                f"hierarchy: {name_some(sorted(missing))}; add a line for each, or correct the data"
            )
        depth = len(next(iter(self.paths.values())))
        levels: list[list[Region]] = []
        for level in range(depth):
            members: dict[str, set[Value]] = {}
            for value in values:
                members.setdefault(self.paths[text_of(value)][level], set()).add(value)
            sets = {label: self._labelled(label, found) for label, found in members.items()}
            levels.append([sets[self.paths[text_of(value)][level]] for value in values])
        return levels

    def _labelled(self, label: str, found: set[Value]) -> Region:
        return Anything() if label == "*" else ValueSet(frozenset(found), label)


def taxonomy(tree: Mapping[str, str | Sequence[str]] | str | Path) -> Taxonomy:
    """From a file of `value;level1;level2...` lines (`;` or `,`), or a mapping.

    A mapping gives each value its labels from fine to coarse, or each value and label its parent.
    """
    if isinstance(tree, str | Path):
        return _read_taxonomy(Path(tree))
    if not isinstance(tree, Mapping):
        raise SchemaError(
            f"taxonomy = {quoted(tree)} is not allowed; give a mapping from values to labels, or "
            "a file"
        )
    paths: dict[str, tuple[str, ...]] = {}
    for leaf, path in tree.items():
        if not isinstance(path, str | Sequence):
            raise SchemaError(
                f"taxonomy: {quoted(leaf)} has {quoted(path)}; give its label, or its labels from "
                "fine to coarse"
            )
    parents = {text_of(child) for child in tree}
    labels = {text_of(label) for label in tree.values() if isinstance(label, str)}
    for leaf, path in tree.items():
        if isinstance(path, str):
            if text_of(leaf) in labels:
                continue  # an inner label, not a value
            chain = [path]
            while chain[-1] in parents and len(chain) <= len(parents):
                chain.append(text_of(tree[chain[-1]]))
            if len(chain) > len(parents):
                raise SchemaError(f"taxonomy: {chain[0]!r} is its own ancestor; break the circle")
            paths[text_of(leaf)] = tuple(chain)
        else:
            paths[text_of(leaf)] = tuple(text_of(label) for label in path)
    return Taxonomy(paths)


def _read_taxonomy(path: Path) -> Taxonomy:
    where = f"hierarchy file {quoted(path.name)}"
    if problem := "is a folder, not a file" if path.is_dir() else other_than_file(path):
        raise SchemaError(f"{where} {problem}")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise SchemaError(f"{where} does not exist in {str(path.parent)!r}") from None
    except UnicodeDecodeError:
        raise SchemaError(f"{where} is not UTF-8 text; save it as UTF-8") from None
    except (OSError, ValueError) as error:
        raise SchemaError(f"{where} cannot be read: {type(error).__name__}") from None
    lines = [line for line in text.splitlines() if line.strip()]
    delimiter = ";" if any(";" in line for line in lines) else ","
    paths: dict[str, tuple[str, ...]] = {}
    try:
        rows = list(csv.reader(lines, delimiter=delimiter))
    except csv.Error:
        raise SchemaError(
            f"{where} has a label of more than {csv.field_size_limit():,} characters, or a "
            "quotation mark that is never closed"
        ) from None
    for number, row in enumerate(rows, start=1):
        leaf, *labels = (cell.strip() for cell in row)
        if leaf in paths and paths[leaf] != tuple(labels):
            raise SchemaError(f"{where}, line {number}: value {leaf!r} stands there twice")
        paths[leaf] = tuple(labels)
    return Taxonomy(paths, where)


Number = int | float
Unit = Literal["month", "quarter", "year", "decade"]
UNITS: tuple[Unit, ...] = get_args(Unit)
MOST_LANDMARKS = 1_000_000
_MONTHS = range(1, 13)


@dataclass(frozen=True)
class Suppression(Hierarchy):
    """The value, or `*`."""

    kind: ClassVar[str] = "suppression"

    def regions(self, domain: Domain) -> list[list[Region]]:
        return []


@dataclass(frozen=True)
class Intervals(Hierarchy):
    """Numbers to ranges: of growing width, or between given cut points.

    `top` and `bottom` put everything from there on into `>=top` and `<bottom` on every level.
    """

    kind: ClassVar[str] = "intervals"
    widths: tuple[Number, ...] = ()
    cuts: tuple[tuple[Number, ...], ...] = ()
    origin: Number = 0
    top: Number | None = None
    bottom: Number | None = None

    def __post_init__(self) -> None:
        if bool(self.widths) == bool(self.cuts):
            raise SchemaError("intervals needs either widths or cuts, e.g. widths = [5, 10, 20]")
        for width in self.widths:
            if not _is_number(width) or not width > 0:
                raise SchemaError(f"intervals: width {quoted(width)} must be a positive number")
        marks = [("origin", self.origin), ("top", self.top), ("bottom", self.bottom)]
        for name, mark in [*marks, *(("a cut", cut) for cuts in self.cuts for cut in cuts)]:
            if not _is_number(mark) and (mark is not None or name == "origin"):
                raise SchemaError(f"intervals: {name} = {quoted(mark)} must be a number")
        for finer, coarser in zip(self.widths, self.widths[1:], strict=False):
            ratio = fraction(coarser) / fraction(finer)
            if ratio.denominator != 1 or ratio < 2:
                raise SchemaError(
                    f"intervals: width {coarser} is not a multiple of {finer}, so its ranges "
                    "would cut finer ones apart; use widths such as 5, 10, 20, 40"
                )
        for cuts in self.cuts:
            if list(cuts) != sorted(set(cuts)) or not cuts:
                raise SchemaError(f"intervals: cuts {list(cuts)} must rise strictly")
        for fine, coarse in zip(self.cuts, self.cuts[1:], strict=False):
            if not set(coarse) < set(fine):
                raise SchemaError(
                    f"intervals: cuts {list(coarse)} must be some of the cuts {list(fine)} "
                    "of the level before"
                )
        if self.top is not None and self.bottom is not None and self.top <= self.bottom:
            raise SchemaError(f"intervals: top {self.top} must lie above bottom {self.bottom}")

    def regions(self, domain: Domain) -> list[list[Region]]:
        numbers = _numbers(domain, "intervals")
        if self.cuts:
            return [[self._between(number, cuts) for number in numbers] for cuts in self.cuts]
        start = fraction(self.origin)
        above = [fraction(number) - start for number in numbers]
        levels: list[list[Region]] = []
        for width in self.widths:
            step = fraction(width)
            ends: dict[int, tuple[Number, Number]] = {}
            regions = []
            for number, distance in zip(numbers, above, strict=True):
                place = distance // step
                if place not in ends:
                    low = start + place * step
                    ends[place] = _plain(low), _plain(low + step)
                regions.append(self._capped(number, *ends[place]))
            levels.append(regions)
        return levels

    def landmarks(self) -> Sequence[Value]:
        ends = [end for end in (self.bottom, self.top) if end is not None]
        marks = {*ends, *(cut for cuts in self.cuts for cut in cuts)}
        if self.widths:
            if self.top is None or self.bottom is None:
                return ()
            start, step = fraction(self.origin), fraction(self.widths[0])
            first = (fraction(self.bottom) - start) // step + 1
            last = -((start - fraction(self.top)) // step)  # the first one not below top
            if last - first > MOST_LANDMARKS:
                raise SchemaError(
                    f"intervals: more than {MOST_LANDMARKS:,} ranges of width {self.widths[0]} lie "
                    f"between bottom {self.bottom} and top {self.top}; use wider ones"
                )
            marks |= {_plain(start + place * step) for place in range(first, last)}
        return [min(marks) - 1, *sorted(marks)]

    def _between(self, number: Number, cuts: Sequence[Number]) -> Region:
        low = max((cut for cut in cuts if cut <= number), default=-math.inf)
        high = min((cut for cut in cuts if cut > number), default=math.inf)
        return self._capped(number, low, high)

    def _capped(self, number: Number, low: Number, high: Number) -> Region:
        if self.top is not None:
            if number >= self.top:
                return Span(low=self.top)
            high = min(high, self.top)
        if self.bottom is not None:
            if number < self.bottom:
                return Span(high=self.bottom)
            low = max(low, self.bottom)
        return Span(low, high)


@dataclass(frozen=True)
class Masking(Hierarchy):
    """Hide one more character from the right on each level: 13053, 1305*, 130**, ..."""

    kind: ClassVar[str] = "mask"

    def regions(self, domain: Domain) -> list[list[Region]]:
        texts = [text_of(value) for value in domain.values if value is not None]
        longest = max((len(text) for text in texts), default=0)
        return [
            [
                Mask(text[: max(len(text) - hidden, 0)] + "*" * min(hidden, len(text)))
                for text in texts
            ]
            for hidden in range(1, longest)
        ]


@dataclass(frozen=True)
class Dates(Hierarchy):
    """Dates to month, quarter, year and decade; values outside top and bottom together."""

    kind: ClassVar[str] = "dates"
    units: tuple[Unit, ...] = UNITS
    top: int | None = None
    bottom: int | None = None

    def __post_init__(self) -> None:
        for unit in self.units:
            if not isinstance(unit, str) or unit not in UNITS:
                raise SchemaError(
                    f"dates: unknown unit {quoted(unit)}; {did_you_mean(unit, UNITS)}"
                )
        for name, year in (("top", self.top), ("bottom", self.bottom)):
            if year is not None and (not isinstance(year, int) or not 1 <= year <= 9999):
                raise SchemaError(f"dates: {name} = {quoted(year)} must be a year")
        positions = [UNITS.index(unit) for unit in self.units]
        if not positions or positions != sorted(set(positions)):
            raise SchemaError(f"dates: units must go from fine to coarse: {', '.join(UNITS)}")

    def regions(self, domain: Domain) -> list[list[Region]]:
        values = [value for value in domain.values if value is not None]
        dates = [value for value in values if isinstance(value, dt.date)]
        if len(dates) < len(values):
            odd = [text_of(value) for value in values if not isinstance(value, dt.date)]
            raise SchemaError(
                f"column {domain.name!r}: dates() needs dates such as 2024-05-31, found "
                f"{forms_of(odd)}; write them like 2024-05-31, or use another hierarchy"
            )
        return [[self._period(date, unit) for date in dates] for unit in self.units]

    def landmarks(self) -> Sequence[Value]:
        if self.top is None or self.bottom is None:
            return ()
        months = [
            dt.date(year, month, 1) for year in range(self.bottom, self.top) for month in _MONTHS
        ]
        before = [dt.date(self.bottom - 1, 12, 31)] if self.bottom > dt.MINYEAR else []
        return [*before, *months, dt.date(self.top, 1, 1)]

    def _period(self, date: dt.date, unit: Unit) -> Region:
        if self.top is not None and date.year >= self.top:
            return Span(low=dt.date(self.top, 1, 1))
        if self.bottom is not None and date.year < self.bottom:
            return Span(high=dt.date(self.bottom, 1, 1))
        return period(date, unit)


def period(date: dt.date, unit: Unit) -> Span:
    """The month, quarter, year or decade a date lies in."""
    year, month = date.year, date.month
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


def _plain(number: Fraction) -> Number:
    return int(number) if number.denominator == 1 else float(number)


def _numbers(domain: Domain, recipe: str) -> list[Number]:
    values = [value for value in domain.values if value is not None]
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) < len(values):
        odd = [v for v in values if isinstance(v, bool) or not isinstance(v, int | float)]
        raise SchemaError(
            f"column {domain.name!r}: {recipe} needs numbers, found {forms_of(odd)}; "
            "correct them or use taxonomy, mask or suppression"
        )
    return numbers


def _is_number(given: object) -> bool:
    """A finite number of ordinary size."""
    number = isinstance(given, int | float) and not isinstance(given, bool)
    return number and abs(given) < 1e300  # type: ignore[arg-type]


def _check_listed(option: str, given: object) -> None:
    if given is not None and (isinstance(given, str) or not isinstance(given, Sequence)):
        raise SchemaError(f"intervals: {option} = {quoted(given)} is not a list of numbers")


def suppression() -> Suppression:
    """The value, or `*`."""
    return Suppression()


def intervals(
    widths: Sequence[Number] | None = None,
    *,
    cuts: Sequence[Number] | Sequence[Sequence[Number]] | None = None,
    origin: Number = 0,
    top: Number | None = None,
    bottom: Number | None = None,
) -> Intervals:
    """Ranges of growing `widths`, or between `cuts` (one list, or one list a level)."""
    nested: list[tuple[Number, ...]] = []
    _check_listed("cuts", cuts)
    _check_listed("widths", widths)
    if cuts:
        flat = [cut for cut in cuts if isinstance(cut, int | float)]
        nested = (
            [tuple(flat)]
            if flat
            else [tuple(level) for level in cuts if not isinstance(level, int | float)]
        )
    return Intervals(tuple(widths or ()), tuple(nested), origin, top, bottom)


def mask() -> Masking:
    """Hide characters from the right."""
    return Masking()


def dates(
    *units: Unit | Sequence[Unit], top: int | None = None, bottom: int | None = None
) -> Dates:
    """Month, quarter, year, decade, or those named, one by one or as a list.

    `top` and `bottom` are years.
    """
    named: list[Any] = []
    for unit in units:
        named += unit if isinstance(unit, list | tuple) else [unit]
    return Dates(tuple(named) or UNITS, top, bottom)
