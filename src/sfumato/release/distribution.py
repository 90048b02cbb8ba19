"""How people are distributed over what is published of a column, beside what they have.

Labels that exclude each other are told as they stand. Ranges that overlap, or are many, are spread
over a few ranges of their axis, each evenly along its length; sets are spread over their members.
So a distribution has a few lines, whatever the release, and says nothing that the labels and the
numbers of people who show them do not say.

Unlike `treatment.py` it knows regions and people, and nothing of releases.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sfumato.numbers import Floats
from sfumato.schema.domain import Domain
from sfumato.schema.region import (
    MISSING,
    Mask,
    Region,
    Span,
    ValueSet,
    codes_inside,
    contains_region,
    overlaps,
    place_of,
    reading_key,
    text_of,
)

MOST_SHARES = 10  # values or ranges that a distribution is told by
OTHER_VALUES = "other values"
NO_VALUE = ValueSet(frozenset({None}))
RegionCounts = Sequence[tuple[Region, float]]  # what cells show, and how many do


@dataclass(frozen=True)
class Share:
    """The share of people with a value, or with one of a range; None where it is not known."""

    label: str
    before: float | None
    after: float | None


@dataclass(frozen=True)
class Had:
    """The values of a column in its table, and how many people have each."""

    domain: Domain
    people: npt.NDArray[np.number]

    @property
    def number(self) -> int:
        """How many values somebody has."""
        return int((self.people > 0).sum())

    def without(self, labels: Container[str]) -> Had:
        """The same but for whoever has these."""
        left = np.array([label not in labels for label in self.domain.labels], dtype=bool)
        return self if left.all() else Had(self.domain, np.where(left, self.people, 0))

    @property
    def present(self) -> int:
        """How many values there may be but NULL, which is the last."""
        return len(self.domain) - self.domain.has_null


def shares_of(published_cells: RegionCounts, had: Had | None = None) -> tuple[Share, ...]:
    """People by what is published of them and, where the table is at hand, by what they have."""
    blank = sum(people for part, people in published_cells if part.text == "*")
    lacking = sum(people for part, people in published_cells if part == NO_VALUE)
    telling = [entry for entry in published_cells if entry[0].text != "*" and entry[0] != NO_VALUE]
    special = _special_codes(telling, had)
    telling = [entry for entry in telling if entry[0].text not in special]
    had = None if had is None else had.without(special)
    rows: list[tuple[str, float, float]] = []
    if telling or (had is not None and had.present):
        bins = _bins(telling, had)
        before = [0.0] * len(bins.labels) if had is None else bins.before(had)
        rows = [
            row
            for row in zip(bins.labels, before, bins.after(telling), strict=True)
            if row[0] != OTHER_VALUES or row[1] or row[2]
        ]
    rows += [(label, *people) for label, people in special.items() if any(people)]
    without = had.people[-1] if had is not None and had.domain.has_null else 0
    if without or lacking:
        rows.append((MISSING, float(without), lacking))
    if blank:
        rows.append(("*", 0.0, blank))
    everybody, published = sum(row[1] for row in rows), sum(row[2] for row in rows)
    return tuple(
        Share(
            label,
            round(before_people / everybody, 6) if had is not None and everybody else None,
            round(after_people / published, 6) if published else None,
        )
        for label, before_people, after_people in rows
    )


def _special_codes(telling: RegionCounts, had: Had | None) -> dict[str, tuple[float, float]]:
    """Words among the numbers or dates of a column, and the people who have and show each."""
    if had is not None and had.domain.kind not in _AXES:
        return {}
    words = {part.text: people for part, people in telling if not _on_axis(part)}
    single = all(
        _on_axis(part) or (isinstance(part, ValueSet) and len(part.values) == 1 and not part.label)
        for part, _ in telling
    )
    if had is None:
        ranged = any(isinstance(part, Span) for part, _ in telling)
        return {text: (0.0, people) for text, people in words.items()} if single and ranged else {}
    people_by_label = dict(zip(had.domain.labels, had.people.tolist(), strict=True))
    codes = [value for value in had.domain.values if isinstance(value, str)]
    return {code: (float(people_by_label[code]), words.get(code, 0.0)) for code in codes}


def decided(cells: RegionCounts) -> list[bool]:
    """Whether each cell says for sure where its person counts, who is counted by these shares."""
    telling = [entry for entry in cells if entry[0].text != "*" and entry[0] != NO_VALUE]
    bins = _bins(telling, None) if telling else None
    return [
        part == NO_VALUE
        or (bins is not None and _is_plain(part) and max(bins.after([(part, 1.0)])) > 1 - 1e-9)
        for part, _ in cells
    ]


def _is_plain(part: Region) -> bool:
    """Whether a cell tells that there is a value, and something of it."""
    beside = isinstance(part, Span) and part.beside
    return part.text != "*" and not beside and not part.contains(None)


@dataclass(frozen=True)
class _LabelBins:
    """Published labels that exclude each other; whoever has none of them comes last.

    `within` tells of every published label the one that it lies in.
    """

    parts: tuple[Region, ...]
    within: Mapping[str, str]

    @property
    def labels(self) -> tuple[str, ...]:
        return (*(part.text for part in self.parts), OTHER_VALUES)

    def after(self, telling: RegionCounts) -> list[float]:
        sums = dict.fromkeys(self.labels, 0.0)
        for part, people in telling:
            sums[self.within.get(part.text, OTHER_VALUES)] += people
        return list(sums.values())

    def before(self, had: Had) -> list[float]:
        sums = [0.0] * len(self.parts)
        for place, codes in codes_inside(self.parts, np.arange(len(self.parts)), had.domain):
            sums[place] = float(had.people[[code for code in codes if code < had.present]].sum())
        return [*sums, float(had.people[: had.present].sum()) - sum(sums)]


@dataclass(frozen=True)
class _RangeBins:
    """Ranges between edges of an axis, the first and the last open.

    `span` is where the axis ends for what is published as open (`<18`).
    """

    edges: tuple[float, ...]
    labels: tuple[str, ...]
    span: tuple[float, float]

    def after(self, telling: RegionCounts) -> list[float]:
        sums = np.zeros(len(self.labels))
        bounds = np.array([-math.inf, *self.edges, math.inf])
        for part, people in telling:
            low, high = np.clip(_ends(part), *self.span).tolist()
            if low == high:
                sums[np.searchsorted(self.edges, low, "right")] += people
            else:
                sums += people * np.diff(np.clip(bounds, low, high)) / (high - low)
        return [float(people) for people in sums]

    def before(self, had: Had) -> list[float]:
        numbers = had.domain.numbers()
        there = ~np.isnan(numbers)
        places = np.searchsorted(self.edges, numbers[there], "right")
        people = had.people[there].astype(np.float64)
        return [float(many) for many in np.bincount(places, people, minlength=len(self.labels))]


@dataclass(frozen=True)
class _MemberBins:
    """Single values, the commonest ones by name; a cell counts for each of its members alike."""

    labels: tuple[str, ...]
    members: dict[str, Sequence[str]]

    def after(self, telling: RegionCounts) -> list[float]:
        sums = dict.fromkeys(self.labels, 0.0)
        for part, people in telling:
            for member in self.members[part.text]:
                label = member if member in sums else OTHER_VALUES
                sums[label] += people / len(self.members[part.text])
        return list(sums.values())

    def before(self, had: Had) -> list[float]:
        sums = dict.fromkeys(self.labels, 0.0)
        for code in np.flatnonzero(had.people[: had.present]).tolist():
            label = had.domain.labels[code]
            sums[label if label in sums else OTHER_VALUES] += float(had.people[code])
        return list(sums.values())


def _bins(telling: RegionCounts, had: Had | None) -> _LabelBins | _RangeBins | _MemberBins:
    """What a column's distribution is told by: its labels, ranges of its axis, or members."""
    parts = [part for part, _ in telling]
    if not parts and had is not None:  # everybody is shown with *
        present = np.flatnonzero(had.people[: had.present]).tolist()
        parts = [ValueSet(frozenset({had.domain.values[code]})) for code in present]
    if all(_on_axis(part) for part in parts) and (had is None or had.domain.kind in _AXES):
        few = len(parts) <= MOST_SHARES and not _meet(parts)
        own = {part.text: part.text for part in parts}
        return _labels(telling, parts, had, own) if few else _ranges(parts)
    wide, within = _outermost(parts)
    if wide:
        return _labels(telling, wide, had, within)
    return _members(telling, parts, had)


_AXES = ("numeric", "date")
_MOST_COMPARED = 60  # regions, each with each


def _meet(parts: Sequence[Region]) -> bool:
    """Whether some value fits two of them, or they are written alike."""
    pairs = ((part, earlier) for place, part in enumerate(parts) for earlier in parts[:place])
    return any(overlaps(part, earlier) or part.text == earlier.text for part, earlier in pairs)


def _outermost(parts: Sequence[Region]) -> tuple[list[Region], dict[str, str]]:
    """Labels that exclude each other, and the one that every label lies in; none if there are none.

    The labels themselves, the widest of them or, of masks, what all of them begin with.
    """
    own = {part.text: part.text for part in parts}
    if len(own) < len(parts):
        return [], {}
    if all(isinstance(part, ValueSet) and len(part.values) == 1 for part in parts):
        return [*parts], own
    if all(isinstance(part, Mask) for part in parts):
        return _beginnings(own)
    if len(parts) > _MOST_COMPARED:
        return [], {}
    wide = [
        part
        for part in parts
        if not any(contains_region(wider, part) for wider in parts if wider is not part)
    ]
    if _meet(wide) or (len(wide) == 1 and len(parts) > 1):
        return [], {}
    within = {
        part.text: next(wider.text for wider in wide if contains_region(wider, part))
        for part in parts
    }
    return wide, within


def _beginnings(masks: Iterable[str]) -> tuple[list[Region], dict[str, str]]:
    """Masks by as many of their first signs as make a few of them."""
    for characters in range(min(len(text.rstrip("*")) for text in masks), 0, -1):
        within = {text: text[:characters].ljust(len(text), "*") for text in masks}
        if len({*within.values()}) <= MOST_SHARES or characters == 1:
            return [Mask(text) for text in dict.fromkeys(within.values())], within
    return [], {}


def _labels(
    telling: RegionCounts, wide: Sequence[Region], had: Had | None, within: Mapping[str, str]
) -> _LabelBins:
    """The labels of the most people."""
    all_bins = _LabelBins(tuple(wide), within)
    many = all_bins.before(had) if not telling and had is not None else all_bins.after(telling)
    places = sorted(range(len(wide)), key=lambda place: -many[place])
    if len(wide) > MOST_SHARES:
        places = places[: MOST_SHARES - 1]
    named = tuple(sorted((wide[place] for place in places), key=_order))
    texts = {part.text for part in named}
    return _LabelBins(
        named, {text: wide_text for text, wide_text in within.items() if wide_text in texts}
    )


def _order(part: Region) -> tuple[float, tuple[float, str, str]]:
    """Numbers and ranges along their axis, words as people read them."""
    return _ends(part)[0] if _on_axis(part) else math.inf, reading_key(part.text)


def _own_ends(part: Region) -> list[object]:
    if isinstance(part, Span):
        return [part.low, part.high]
    return [*part.values] if isinstance(part, ValueSet) else []


def _on_axis(part: Region) -> bool:
    """Whether a cell lies on an axis of numbers or dates."""
    ends = _own_ends(part)
    return (isinstance(part, Span) or len(ends) == 1) and all(
        isinstance(end, int | float | dt.date) and not isinstance(end, bool) for end in ends
    )


def _ends(part: Region) -> tuple[float, float]:
    ends = [place_of(end) for end in _own_ends(part) if isinstance(end, int | float | dt.date)]
    return ends[0], ends[-1]


def _members(telling: RegionCounts, parts: Sequence[Region], had: Had | None) -> _MemberBins:
    """The commonest values by name, and what each cell may stand for: itself, if nobody knows."""
    members: dict[str, Sequence[str]] = {}
    if had is not None:
        listed = codes_inside(parts, np.arange(len(parts)), had.domain)
        labels = had.domain.labels
        members = {parts[place].text: [labels[code] for code in codes] for place, codes in listed}
    for part in parts:
        if not members.get(part.text):
            bare = isinstance(part, ValueSet) and part.label is None
            values = part.values if isinstance(part, ValueSet) and bare else ()
            members[part.text] = sorted(map(text_of, values)) or [part.text]
    all_members = tuple(dict.fromkeys(member for listed in members.values() for member in listed))
    common: Floats = np.array(_MemberBins((*all_members, OTHER_VALUES), members).after(telling))
    if had is not None:
        common = np.array(_MemberBins((*all_members, OTHER_VALUES), members).before(had))
    first = sorted(
        range(len(all_members)), key=lambda place: (-common[place], reading_key(all_members[place]))
    )
    named = sorted((all_members[place] for place in first[: MOST_SHARES - 1]), key=reading_key)
    return _MemberBins((*named, OTHER_VALUES), members)


def _ranges(parts: Sequence[Region]) -> _RangeBins:
    """A few ranges between round numbers, or the first days of years or months."""
    ends = [end for part in parts for end in _ends(part) if not math.isinf(end)]
    low, high = min(ends), max(ends)
    if any(isinstance(end, dt.date) for end in _own_ends(parts[0])):
        edges = _dates(low, high)
        texts = [dt.date.fromordinal(int(edge)).isoformat() for edge in edges]
    else:
        edges = _round_numbers(low, high)
        texts = [f"{edge:.10g}" for edge in edges]
    between = [f"[{low_text}, {high_text})" for low_text, high_text in pairwise(texts)]
    step = (edges[-1] - edges[0]) / max(len(edges) - 1, 1) or 1.0
    labels = (f"<{texts[0]}", *between, f">={texts[-1]}")
    return _RangeBins(tuple(edges), labels, (low - step, high + step))


def _round_numbers(low: float, high: float) -> list[float]:
    wide = (high - low) / (MOST_SHARES - 2)
    if wide <= 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(wide))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= wide * (1 - 1e-9))
    first = math.floor(low / step) + 1
    return [step * place for place in range(first, max(math.ceil(high / step), first + 1))]


def _dates(low: float, high: float) -> list[float]:
    first, last = dt.date.fromordinal(int(low)), dt.date.fromordinal(int(high))
    months = (last.year - first.year) * 12 + last.month - first.month
    if months < MOST_SHARES // 2:
        step = max(1, math.ceil((high - low) / (MOST_SHARES - 2)))
        start = int(low) + step
        return [float(day) for day in range(start, max(int(high), start) + 1, step)]
    wide = months / (MOST_SHARES - 2)
    step = next(
        (months for months in (1, 2, 3, 6, 12) if months >= wide), 12 * math.ceil(wide / 12)
    )
    start = first.year * 12 + first.month - 1
    places = range(start - start % step + step, start + months + 1, step)
    return [float(dt.date(place // 12, place % 12 + 1, 1).toordinal()) for place in places]
