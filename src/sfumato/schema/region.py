"""What a published cell says about the values behind it: a set, an interval, a mask, anything.

A region is read by an adversary who knows somebody's true value and asks "could this person be
behind this cell?". `contains` answers that; `overlaps` says whether some value fits two cells.
Where two kinds cannot be compared, `overlaps` answers yes: the careful side for every caller,
since overlapping cells only ever mean more candidates to consider. `codes_inside` says which codes
of a column's domain lie in which cell, for everybody who counts them.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sfumato.numbers import Floats, Ints
from sfumato.schema.icd10 import CodeFamily, families_of

if TYPE_CHECKING:
    from sfumato.schema.domain import Domain

Value = str | int | float | bool | dt.date | None
End = int | float | dt.date
MISSING = "(missing)"
OR = " or "


def place_of(end: End) -> float:
    """Where a number or date lies on its axis; a date to the microsecond."""
    if isinstance(end, dt.datetime):
        return (
            end.replace(tzinfo=None).toordinal()
            + end.hour / 24
            + (end.minute * 60 + end.second + end.microsecond / 1e6) / 86_400
        )
    return float(end.toordinal()) if isinstance(end, dt.date) else end


def text_of(value: object) -> str:
    """The one text form of a value, the same for 5, 5.0 and "5"."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        return value.date().isoformat()
    return str(value)


DECIMAL = r"^[+-]?\d+(\.\d+)?$"
COMPARED = "^[<>≤≥=]+ *([0-9])"  # `<18` stands before `18-24`, `>=65` behind `45-64`
PADDED = 18  # digits of a number inside a text that count for its place


@lru_cache(maxsize=1 << 16)  # the same few texts are sorted in cell after cell
def reading_key(text: str) -> tuple[float, str, str]:
    """Sorts texts as people read them: numbers by size and before words, 9th before 10th."""
    number = float(text) if re.fullmatch(DECIMAL[1:-1], text, re.ASCII) else math.inf
    bare = re.sub(COMPARED, r"\1", text)
    padded = re.sub(r"[0-9]+", lambda run: run[0].zfill(PADDED)[-PADDED:], bare)
    return number, padded, text


@dataclass(frozen=True)
class Anything:
    """The suppressed cell `*`: every value fits."""

    def contains(self, value: Value) -> bool:
        return True

    @property
    def text(self) -> str:
        return "*"


@dataclass(frozen=True)
class ValueSet:
    """A finite set of values, published as the value itself, a hierarchy label or `{a, b}`."""

    values: frozenset[Value]
    label: str | None = None

    def contains(self, value: Value) -> bool:
        # By text where not by value: a zip code may be a number in one file and text in another.
        return value in self.values or (value is not None and text_of(value) in self.texts)

    @cached_property
    def texts(self) -> frozenset[str]:
        """The values but NULL, as text."""
        return frozenset(text_of(value) for value in self.values if value is not None)

    @property
    def text(self) -> str:
        if len(self.values) == 1:
            text = text_of(next(iter(self.values)))
            if self.label not in (None, text):
                return str(self.label)
            # A value that would be read as a set is published as a set of one.
            seen = text.strip()
            return f"{{{_member(text)}}}" if seen[:1] == "{" and seen[-1:] == "}" else text
        return self._listed if self.label is None else self.label

    @cached_property
    def _listed(self) -> str:
        members = sorted(map(text_of, self.values), key=reading_key)
        return "{" + ", ".join(map(_member, members)) + "}"


def _member(text: str) -> str:
    """A value inside `{a, b}`, quoted where it holds what separates members."""
    if text and text == text.strip() and not any(sign in text for sign in ',{}"*'):
        return text
    return '"' + text.replace('"', '""') + '"'


@dataclass(frozen=True)
class Span:
    """An interval of numbers or dates, published as `[20, 30)`, `<18`, `>=90` or by a label.

    beside: or it is one of these special codes, or missing (None), published as
    `[20, 30) or (missing)` and `[20, 30) or {N, -9}`; a label names the interval alone.
    """

    low: End = -math.inf
    high: End = math.inf
    low_closed: bool = True
    high_closed: bool = False
    label: str | None = None
    beside: frozenset[str | None] = frozenset()

    def contains(self, value: Value) -> bool:
        if value is None or isinstance(value, str):
            return value in self.beside
        if not isinstance(value, int | float | dt.date) or isinstance(value, bool):
            return False
        place, low, high = place_of(value), place_of(self.low), place_of(self.high)
        dated = any(isinstance(end, dt.date) for end in (self.low, self.high))
        if isinstance(value, dt.date) != dated and not (math.isinf(low) and math.isinf(high)):
            return False
        above = place > low or (self.low_closed and place == low)
        return above and (place < high or (self.high_closed and place == high))

    @property
    def text(self) -> str:
        interval = self._interval
        if not self.beside or interval == "*":
            return interval
        return f"{interval}{OR}{ValueSet(frozenset[Value](self.beside)).text}"

    @property
    def _interval(self) -> str:
        if self.label is not None:
            return self.label
        no_low, no_high = math.isinf(place_of(self.low)), math.isinf(place_of(self.high))
        if no_low and no_high:
            return "*"
        if no_low:
            return f"<{'=' if self.high_closed else ''}{text_of(self.high)}"
        if no_high:
            return f">{'=' if self.low_closed else ''}{text_of(self.low)}"
        left, right = "[" if self.low_closed else "(", "]" if self.high_closed else ")"
        return f"{left}{text_of(self.low)}, {text_of(self.high)}{right}"


@dataclass(frozen=True)
class Mask:
    """A text with its tail hidden, published as `130**`; on a number, its decimal text."""

    pattern: str

    def contains(self, value: Value) -> bool:
        if value is None:
            return False
        text = text_of(value)
        return len(text) == len(self.pattern) and all(
            hidden in ("*", character) for hidden, character in zip(self.pattern, text, strict=True)
        )

    @property
    def text(self) -> str:
        return self.pattern


Region = Anything | ValueSet | Span | Mask | CodeFamily


def overlaps(first: Region, second: Region) -> bool:
    """Whether some value fits both regions; yes when that cannot be decided."""
    if isinstance(first, ValueSet):
        return any(second.contains(value) for value in first.values)
    if isinstance(second, ValueSet):
        return any(first.contains(value) for value in second.values)
    if isinstance(first, Span) and isinstance(second, Span):
        if first.beside & second.beside:
            return True
        low = max(first.low, second.low, key=place_of)
        high = min(first.high, second.high, key=place_of)
        if place_of(low) < place_of(high):
            return True
        # A single shared point counts only when both intervals include it.
        return low == high and all(span.contains(low) for span in (first, second))
    if isinstance(first, Mask) and isinstance(second, Mask):
        return len(first.pattern) == len(second.pattern) and all(
            a == b or "*" in (a, b) for a, b in zip(first.pattern, second.pattern, strict=True)
        )
    if isinstance(first, CodeFamily) and isinstance(second, CodeFamily):  # of one tree
        return first.contains(second.first) or second.contains(first.first)
    return True


def contains_region(outer: Region, inner: Region) -> bool:
    """Whether every value that fits the inner fits the outer; no where that cannot be decided."""
    if isinstance(outer, Anything) or meaning(outer) == meaning(inner):
        return True
    if isinstance(inner, ValueSet):
        return all(outer.contains(value) for value in inner.values)
    if isinstance(outer, Span) and isinstance(inner, Span):
        dated = [any(isinstance(end, dt.date) for end in (s.low, s.high)) for s in (outer, inner)]
        low, inner_low = place_of(outer.low), place_of(inner.low)
        high, inner_high = place_of(outer.high), place_of(inner.high)
        begins = low < inner_low or (low == inner_low and outer.low_closed >= inner.low_closed)
        ends = high > inner_high or (high == inner_high and outer.high_closed >= inner.high_closed)
        return begins and ends and dated[0] == dated[1] and outer.beside >= inner.beside
    if isinstance(outer, Mask) and isinstance(inner, Mask):
        return len(outer.pattern) == len(inner.pattern) and all(
            a in ("*", b) for a, b in zip(outer.pattern, inner.pattern, strict=True)
        )
    if isinstance(outer, CodeFamily) and isinstance(inner, CodeFamily):
        finer_first = families_of(inner.first) or ()
        return outer in finer_first[finer_first.index(inner) :]
    return False


def meaning(region: Region) -> Hashable:
    """What a region says, whatever notation says it: equal for `[20, 30)` and `[20, 30[`."""
    if isinstance(region, ValueSet):
        return region.texts, None in region.values
    if isinstance(region, Span):
        low, high = place_of(region.low), place_of(region.high)
        if low == high and region.low_closed and region.high_closed:
            specials = frozenset(text_of(value) for value in region.beside if value is not None)
            return frozenset({text_of(region.low)}) | specials, None in region.beside
        dated = isinstance(region.low, dt.date) or isinstance(region.high, dt.date)
        return (
            dated,
            low,
            high,
            region.low_closed or math.isinf(low),
            region.high_closed and not math.isinf(high),
            region.beside,
        )
    return region.text


# -- which codes of a column's domain lie in a region ----------------------------------------------

_EXACT = 2**53  # whole numbers up to here are the same as floats
_MANY = 8  # spans for which laying out the axis pays


def codes_inside(
    parts: Sequence[Region], used: npt.NDArray[np.integer[Any]], domain: Domain
) -> list[tuple[int, Sequence[int]]]:
    """The codes, ascending, of the values that each used region contains.

    Values meet by their canonical text; a range where codes are one.
    """
    masks = _Masks()
    inside: dict[int, Sequence[int]] = {}
    spans = []
    present = domain.placed
    for number in used.tolist():
        part = parts[number]
        if isinstance(part, Mask):
            masks.add(number, part)
        elif isinstance(part, Anything):
            inside[number] = range(len(domain))
        elif isinstance(part, ValueSet):
            codes = {domain.code(value) for value in part.values}
            inside[number] = sorted(code for code in codes if code is not None)
        elif domain.kind in ("numeric", "date"):
            spans.append(number)
        else:
            fits = [code for code, value in enumerate(domain.values) if part.contains(value)]
            inside[number] = fits
    axis = domain.numbers()[:present] if len(spans) >= _MANY else None
    if axis is not None and (np.abs(axis) > _EXACT).any():
        axis = None
    for number in spans:
        part = parts[number]
        assert isinstance(part, Span)
        run = _run_on_axis(part, axis, domain)
        if run is None:
            run = _run(part, domain.values[:present])
        beside = [
            code for code, special in enumerate(domain.specials, present) if special in part.beside
        ]
        inside[number] = [*run, *beside] if beside else run
    listed = [(number, inside[number]) for number in used.tolist() if number in inside]
    return listed + masks.codes_inside(domain)


def _run(span: Span, values: Sequence[Value]) -> range:
    """The places of the values, which ascend, that lie in an interval."""
    above = Span(low=span.low, low_closed=span.low_closed)
    below = Span(high=span.high, high_closed=span.high_closed)
    low = bisect_left(values, True, key=above.contains)
    return range(low, bisect_left(values, True, lo=low, key=lambda v: not below.contains(v)))


def _run_on_axis(span: Span, axis: npt.NDArray[np.float64] | None, domain: Domain) -> range | None:
    """The same by numbers alone, where they are exact; None where they are not."""
    low, high = place_of(span.low), place_of(span.high)
    ends = [end for end in (span.low, span.high) if not math.isinf(place_of(end))]
    if axis is None or any(
        isinstance(end, dt.date) != (domain.kind == "date") or abs(place_of(end)) > _EXACT
        for end in ends
    ):
        return None
    start = int(np.searchsorted(axis, low, "left" if span.low_closed else "right"))
    stop = int(np.searchsorted(axis, high, "right" if span.high_closed else "left"))
    return range(start, max(start, stop))


class _Masks:
    """Masks of a column by what they show, so that a value finds its masks by look-up."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[int, tuple[int, ...]], dict[str, list[int]]] = {}
        self._numbers: list[int] = []

    def add(self, number: int, mask: Mask) -> None:
        seen = tuple(place for place, sign in enumerate(mask.pattern) if sign != "*")
        shape = self._shapes.setdefault((len(mask.pattern), seen), defaultdict(list))
        shape["".join(mask.pattern[place] for place in seen)].append(number)
        self._numbers.append(number)

    def codes_inside(self, domain: Domain) -> list[tuple[int, Sequence[int]]]:
        """The codes of the values each mask contains."""
        inside: dict[int, list[int]] = {number: [] for number in self._numbers}
        for code, text in enumerate(domain.labels[: len(domain) - domain.has_null]):
            for (length, seen), masks in self._shapes.items():
                if length == len(text):
                    for number in masks.get("".join(text[place] for place in seen), ()):
                        inside[number].append(code)
        return list(inside.items())


# Coverage: which values of a column's domain each published region stands for.
#
# Utility measures ask how far a value was widened and how much room a region leaves; both are
# questions about domain values, answered once per distinct region, never per group or row. Most
# regions cover a contiguous run of codes; those that do not list theirs.


@dataclass(frozen=True)
class Coverage:
    """For each region: its first and last covered code, how many, and the codes if with gaps."""

    domain: Domain
    first: Ints
    last: Ints
    count: Ints
    gaps: Mapping[int, Ints]

    def codes(self, part: int) -> Ints:
        if part in self.gaps:
            return self.gaps[part]
        return np.arange(self.first[part], self.last[part] + 1)

    def totals(self, weights: Floats) -> Floats:
        """The summed weight of the codes each region covers."""
        running = np.concatenate([[0.0], np.cumsum(weights)])
        sums: Floats = running[self.last + 1] - running[self.first]
        for part, codes in self.gaps.items():
            sums[part] = weights[codes].sum()
        return sums

    def widening(self) -> Floats:
        """How far each region is from a single value: 0 one value, 1 the whole domain.

        Numbers and dates by the extent of the covered values over the domain's; others by their
        number. Special codes and NULL beside numbers are values more: of `size` values in all and
        p numbers, a region of extent e and s of them is widened by (e * (p - 1) + s) / (size - 1),
        between 2 values of many and all.
        """
        return self._widening

    @cached_property
    def _widening(self) -> Floats:
        # Kept: a lattice search asks thousands of times for the same few regions.
        size = len(self.domain)
        if size <= 1:
            return np.zeros(len(self.count))
        by_number = (self.count - 1) / (size - 1)
        if self.domain.kind not in ("numeric", "date"):
            return by_number
        numbers = self.domain.numbers()
        present = numbers[~np.isnan(numbers)]
        if len(present) < 2:
            return by_number
        whole = float(present[-1]) - float(present[0])
        if not 0 < whole < np.inf:  # moments too close to be told apart on the axis, or infinity
            return by_number
        greatest, specials = self.last.copy(), np.zeros(len(self.last))
        for part in np.flatnonzero(self.last >= len(present)).tolist():
            codes = self.codes(part)
            inside = int(np.searchsorted(codes, len(present)))
            greatest[part] = codes[inside - 1] if inside else self.first[part]
            specials[part] = len(codes) - inside
        alone = self.first >= len(present)  # nothing but special codes
        extent = np.where(alone, 0.0, numbers[greatest] - numbers[self.first]) / whole
        beside = (extent * (len(present) - 1) + specials - alone) / (size - 1)
        extent = np.where(specials > 0, beside, extent)
        return np.where(self.count == size, 1.0, extent)


def cover(domain: Domain, parts: Sequence[Region]) -> Coverage:
    """Which codes each region covers; a region that covers none counts as covering all."""
    size = len(domain)
    first, last = np.zeros(len(parts), np.int64), np.full(len(parts), size - 1, np.int64)
    count = np.full(len(parts), size, np.int64)
    gaps: dict[int, Ints] = {}
    for place, codes in codes_inside(parts, np.arange(len(parts)), domain):
        if len(codes) == 0:
            continue
        first[place], last[place], count[place] = codes[0], codes[-1], len(codes)
        if codes[-1] - codes[0] + 1 != len(codes):
            gaps[place] = np.asarray(codes, dtype=np.int64)
    return Coverage(domain, first, last, count, gaps)
