"""Examples of everything that regions of one column tell apart.

A domain such that any value whatever lies in the same regions as one of its values: the ends of
ranges, something between and beyond them, every word that is named, a text for every mask and for
every two masks that meet, a word that is none of these, and NULL where some region contains it.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from sfumato.errors import InputError, ResourceError
from sfumato.schema.domain import Domain, Kind
from sfumato.schema.region import End, Mask, Region, Span, Value, ValueSet, place_of

_OTHER = "\uffff"  # a sign that stands in no value
_MOST_MASKS = 2_000


def examples(name: str, regions: Sequence[Region]) -> Domain:
    """Values of which one lies wherever any value may lie."""
    named = {value for one in regions if isinstance(one, ValueSet) for value in one.values}
    spans = [one for one in regions if isinstance(one, Span)]
    masks = {one.pattern for one in regions if isinstance(one, Mask)}
    ends: list[End] = [end for one in spans for end in (one.low, one.high)]
    ends += [value for value in named if _on_axis(value)]  # type: ignore[misc]
    finite = [end for end in ends if math.isfinite(place_of(end))]
    if masks and spans:
        raise InputError(
            f"column {name!r} is masked in one release and a range in another, so what they have "
            "in common cannot be gone through; give the people, or a population"
        )
    numbers = _between([end for end in finite if not isinstance(end, dt.date)])
    dates = _between_dates([end for end in finite if isinstance(end, dt.date)])
    words: list[Value] = [value for value in named if value is not None and not _on_axis(value)]
    if not (numbers or dates) or words or masks:
        words += [pattern.replace("*", _OTHER) for pattern in sorted(_meets(name, masks))]
        words.append(_OTHER)
    values: list[Value] = [*numbers, *dates, *dict.fromkeys(words)]
    kind: Kind = "categorical"
    if not words and not (numbers and dates):
        kind = "numeric" if numbers else "date"
    missing = [None] if any(one.contains(None) for one in regions) else []
    return Domain(name, kind, (*values, *missing))


def _on_axis(value: Value) -> bool:
    return isinstance(value, int | float | dt.date) and not isinstance(value, bool)


def _between(ends: Iterable[End]) -> list[float]:
    """The places of the ends, one between each two, and one beyond either.

    Whether all values are whole is not known, so there is always something between.
    """
    shown = sorted({place_of(end) for end in ends})
    if not shown:
        return []
    middles = [(low + high) / 2 for low, high in pairwise(shown)]
    return sorted([shown[0] - 1, *shown, *middles, shown[-1] + 1])


def _between_dates(ends: Sequence[dt.date]) -> list[Value]:
    """The same for dates; what lies between them may have a time of day."""
    start = dt.datetime(1, 1, 1)
    days: dict[float, dt.date] = {
        place: start + dt.timedelta(days=place - 1) for place in _between(ends)
    }
    days |= {place_of(end): end for end in ends}
    return [days[place] for place in sorted(days)]


def _meets(name: str, masks: set[str]) -> set[str]:
    """The masks, and what any of them have in common."""
    found, new = set(masks), set(masks)
    while new:
        met = {both for one in new for other in found if (both := _meet(one, other)) is not None}
        new = met - found
        found |= new
        if len(found) > _MOST_MASKS:
            raise ResourceError(
                f"column {name!r}: its masks meet in more than {_MOST_MASKS:,} ways; give the "
                "people, or a population"
            )
    return found


def _meet(one: str, other: str) -> str | None:
    if len(one) != len(other):
        return None
    signs = []
    for a, b in zip(one, other, strict=True):
        if a != b and "*" not in (a, b):
            return None
        signs.append(b if a == "*" else a)
    return "".join(signs)
