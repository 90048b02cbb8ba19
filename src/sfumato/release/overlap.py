"""Whether groups of a release overlap: does some combination of QI values fit two of them?

Asking every pair is quadratic in groups. Instead: a column whose distinct regions are pairwise
disjoint (any hierarchy level) only lets groups meet that show the same region there, so groups are
first parted by all such columns together, which alone settles full-domain releases of any size.
Next, groups are parted wherever a cut through some column crosses none of them, again and again:
so Mondrian made its boxes. What cannot be cut is narrowed down column by column, the most telling
column first, following only what still meets.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sfumato.counts.counts import rank_rows
from sfumato.numbers import Codes, Ints
from sfumato.schema.icd10 import CodeFamily, families_of
from sfumato.schema.region import Anything, Mask, Region, Span, ValueSet, overlaps, place_of

Meets = npt.NDArray[np.bool_]
Hulls = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
MOST_PARTS = 5_000  # distinct regions of a column up to which every pair of them is compared
MOST_PAIRS = 1_000_000  # pairs of regions compared one by one
AT_ONCE = 10_000  # pairs of groups compared at once
MOST_WORK = 1_000_000_000  # groups looked at before giving up


def no_overlap(parts: Sequence[Sequence[Region]], codes: Codes) -> bool | None:
    """Whether distinct descriptions never fit the same values; None where that took too long.

    `codes[c, g]` says which of `parts[c]` group g shows; no two groups show the same.
    """
    exact: list[int] = []
    meets: dict[int, Meets] = {}
    for column, regions in enumerate(parts):
        if apart(regions):
            exact.append(column)
        elif (table := _meets(regions)) is not None:
            meets[column] = table
    order = sorted(meets, key=lambda column: _pairs(meets[column], codes[column]))
    left_out = len(exact) + len(order) < len(parts)
    agreeing = _cut(_agreeing_groups(codes, exact), [_hulls(parts[c], codes[c]) for c in order])
    pair = _any_pair(agreeing, [(codes[c], meets[c]) for c in order])
    if pair is False:
        return True
    return None if pair is None or left_out else False


def apart(regions: Sequence[Region]) -> bool:
    """Whether no two of a column's regions share a value; a hint of False where unsure."""
    if any(isinstance(region, Anything) for region in regions):
        return len(regions) == 1
    texts: set[str | None] = set()
    ends: list[tuple[float, float, bool, bool, bool]] = []
    hidden: dict[tuple[int, ...], set[str]] = defaultdict(set)
    families: list[CodeFamily] = []
    for region in regions:
        if isinstance(region, ValueSet):
            own_texts: set[str | None] = {*region.texts, *([None] if None in region.values else [])}
            if texts & own_texts:
                return False
            texts |= own_texts
            for value in region.values:
                if isinstance(value, int | float | dt.date) and not isinstance(value, bool):
                    place = place_of(value)
                    ends.append((place, place, True, True, True))
        elif isinstance(region, Span):
            if texts & region.beside:
                return False
            texts |= region.beside
            low, high = place_of(region.low), place_of(region.high)
            ends.append((low, high, region.low_closed, region.high_closed, False))
        elif isinstance(region, CodeFamily):
            families.append(region)
        elif isinstance(region, Mask):
            stars = (len(region.pattern), *_stars(region.pattern))
            hidden[stars].add(_without(region.pattern, stars[1:]))
    if families and not _families_apart(families, texts):
        return False
    if hidden and any(not point for *_, point in ends):
        return False  # a mask and a range: who knows
    return _ranges_apart(ends) and _masks_apart(hidden, texts)


def _families_apart(families: list[CodeFamily], texts: set[str | None]) -> bool:
    """Whether none holds another or a code that is named; families of two levels may."""
    known = set(families)
    inside = [family.first for family in families] + [text for text in texts if text is not None]
    ancestors = [len(known.intersection(families_of(code) or ())) for code in inside]
    return all(ancestors[place] == 1 for place in range(len(families))) and not any(
        ancestors[len(families) :]
    )


def _ranges_apart(ends: list[tuple[float, float, bool, bool, bool]]) -> bool:
    ends.sort(key=lambda end: (end[0], end[1]))
    reach, included, was_point = -np.inf, False, True
    for low, high, with_low, with_high, point in ends:
        # Two points of one place are values told apart by text already.
        touches = low == reach and with_low and included and not (point and was_point)
        if low < reach or touches:
            return False
        if high > reach or (high == reach and with_high):
            reach, included, was_point = high, with_high, point
    return True


def _masks_apart(hidden: dict[tuple[int, ...], set[str]], texts: set[str | None]) -> bool:
    """Masks of one shape are apart unless equal; of two shapes, by what both of them show."""
    shapes = list(hidden)
    for place, shape in enumerate(shapes):
        length, *stars = shape
        visible = {_without(text, stars) for text in texts if text and len(text) == length}
        if visible & hidden[shape]:
            return False
        for earlier in shapes[:place]:
            if earlier[0] == length:
                hidden_places = sorted({*stars, *earlier[1:]})
                if _visible_texts(shape, hidden, hidden_places) & _visible_texts(
                    earlier, hidden, hidden_places
                ):
                    return False
    return True


def _visible_texts(
    shape: tuple[int, ...], hidden: dict[tuple[int, ...], set[str]], stars: list[int]
) -> set[str]:
    """What masks of a shape show when more is hidden."""
    visible = [place for place in range(shape[0]) if place not in shape[1:]]
    kept = [index for index, place in enumerate(visible) if place not in stars]
    return {"".join(text[index] for index in kept) for text in hidden[shape]}


def _stars(pattern: str) -> tuple[int, ...]:
    return tuple(place for place, sign in enumerate(pattern) if sign == "*")


def _without(text: str, places: Sequence[int]) -> str:
    return "".join(sign for place, sign in enumerate(text) if place not in places)


def _meets(regions: Sequence[Region]) -> Meets | None:
    """Which regions of a column share a value: ranges at once, sets by value, others in pairs."""
    spans = np.array([isinstance(region, Span) for region in regions])
    unordered_places = np.flatnonzero(~spans)
    if len(regions) > MOST_PARTS or len(unordered_places) * len(regions) > MOST_PAIRS:
        return None
    table = np.eye(len(regions), dtype=bool)
    ranges = [region for region in regions if isinstance(region, Span)]
    if ranges:
        low = np.array([place_of(span.low) for span in ranges])
        high = np.array([place_of(span.high) for span in ranges])
        with_low = np.array([span.low_closed for span in ranges])
        with_high = np.array([span.high_closed for span in ranges])
        before = (low[:, None] < high) | ((low[:, None] == high) & with_low[:, None] & with_high)
        meets = before & before.T
        for special in frozenset[str | None]().union(*(span.beside for span in ranges)):
            having = np.array([special in span.beside for span in ranges])
            meets |= having[:, None] & having
        table[np.ix_(spans, spans)] = meets
    having_value: dict[tuple[bool, object], list[int]] = defaultdict(list)
    for unordered in unordered_places.tolist():
        region = regions[unordered]
        if isinstance(region, ValueSet):  # as `overlaps` does: by value or by text
            for value in region.values:
                having_value[False, value].append(unordered)
            for text in region.texts:
                having_value[True, text].append(unordered)
        for place, other in enumerate(regions):
            if not (isinstance(region, ValueSet) and isinstance(other, ValueSet)):
                table[unordered, place] = table[place, unordered] = overlaps(region, other)
    for sharing in having_value.values():
        if len(sharing) > 1:
            table[np.ix_(sharing, sharing)] = True
    np.fill_diagonal(table, True)
    return table


def _pairs(meets: Meets, codes: npt.NDArray[np.int32]) -> float:
    """How many pairs of groups a column leaves together."""
    people = np.bincount(codes, minlength=len(meets)).astype(np.float64)
    return float(people @ meets @ people)


def _agreeing_groups(codes: Codes, columns: list[int]) -> list[Ints]:
    """The groups that agree in these columns, where there are several."""
    kept = codes[columns]
    sizes = [int(row.max(initial=0)) + 1 for row in kept]
    number, first = rank_rows(kept, sizes)
    order = np.argsort(number, kind="stable").astype(np.int64)
    cuts = np.cumsum(np.bincount(number, minlength=len(first)))[:-1]
    return [groups for groups in np.split(order, cuts) if len(groups) > 1]


def _hulls(regions: Sequence[Region], codes: npt.NDArray[np.int32]) -> Hulls | None:
    """Each group's region as a stretch of whole numbers; regions that meet have some in common.

    The missing value lies beyond all others. None for columns without such an order, those with
    masks, or with words or special codes beside ranges.
    """
    if all(isinstance(region, ValueSet) for region in regions):
        texts = [sorted(_texts(region)) for region in regions if isinstance(region, ValueSet)]
        rank = {text: place for place, text in enumerate(sorted({t for ts in texts for t in ts}))}
        low, high = ([rank[ts[end]] for ts in texts] for end in (0, -1))
        return np.array(low)[codes], np.array(high)[codes]
    ends: list[tuple[float, bool, float, bool]] = []
    for region in regions:
        if isinstance(region, Span) and region.beside <= {None}:
            high_end = np.inf if region.beside else place_of(region.high)
            closed = bool(region.beside) or region.high_closed
            ends.append((place_of(region.low), region.low_closed, high_end, closed))
            continue
        values = region.values if isinstance(region, ValueSet) else ()
        places = [np.inf if v is None else place_of(v) for v in values if not isinstance(v, str)]
        if not places or len(places) < len(values):
            return None
        ends.append((min(places), True, max(places), True))
    # Every end twice its rank, one inwards where it is open: then all stretches are closed.
    marks = np.unique([end[0] for end in ends] + [end[2] for end in ends])
    starts = 2 * np.searchsorted(marks, [end[0] for end in ends])
    stops = 2 * np.searchsorted(marks, [end[2] for end in ends])
    starts += ~np.array([end[1] for end in ends])
    stops -= ~np.array([end[3] for end in ends])
    return starts[codes], stops[codes]


def _texts(region: ValueSet) -> set[str]:
    return {*region.texts, *(["\0"] if None in region.values else [])}


def _cut(blocks: list[Ints], hulls: list[Hulls | None]) -> list[Ints]:
    """Part groups wherever a cut through one column crosses none of them."""
    usable = [hull for hull in hulls if hull is not None]
    whole: list[Ints] = []
    while blocks:
        block = blocks.pop()
        if len(block) ** 2 <= AT_ONCE:
            whole.append(block)
            continue
        for starts, stops in usable:
            order = block[np.argsort(starts[block], kind="stable")]
            reach = np.maximum.accumulate(stops[order])
            cuts = np.flatnonzero(starts[order][1:] > reach[:-1]) + 1
            if len(cuts):
                blocks += [part for part in np.split(order, cuts) if len(part) > 1]
                break
        else:
            whole.append(block)
    return whole


def _any_pair(
    agreeing: list[Ints], columns: list[tuple[npt.NDArray[np.int32], Meets]]
) -> bool | None:
    """Whether two groups of one list meet in every column; None after too much work."""
    work = 0
    stack = [(groups, groups, 0) for groups in agreeing]
    while stack:
        # `near` holds the groups that meet `groups` so far, themselves included.
        groups, near, depth = stack.pop()
        work += len(near)
        if work > MOST_WORK:
            return None
        if len(groups) * len(near) <= AT_ONCE or depth == len(columns):
            meeting = np.ones((len(groups), len(near)), dtype=bool)
            for codes, meets in columns[depth:]:
                meeting &= meets[codes[groups][:, None], codes[near]]
            if meeting.sum() > len(groups):
                return True
            continue
        codes, meets = columns[depth]
        here, there = codes[groups], codes[near]
        for part in np.unique(here):
            work += len(near)
            still = near[meets[part][there]]
            if len(still) > 1:
                stack.append((groups[here == part], still, depth + 1))
    return False
