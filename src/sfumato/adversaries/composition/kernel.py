"""Intersecting what releases say of a person, compiled: values left, and how much speaks for each.

All releases lie one behind another: group g holds the values `codes[indptr[g]:indptr[g + 1]]` with
the weights beside them, and unit u (a person's place in one release) may be in the groups
`groups[begins[u]:begins[u + 1]]`. `units[j, i]` is the unit of case i in release j.

Beside it the core of `exposure.py`: which earlier releases show a value, and the fewest left.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiled import inner, kernel, sort_numbers, with_room
from sfumato.numbers import Bools, Floats, Ints, SetWords

# The compiled core of `exposure.py`: which earlier releases show a value, and the fewest left.


@kernel
def remember(
    indptr: Ints,
    codes: Ints,
    shows: Bools,
    begins: Ints,
    groups: Ints,
    units: Ints,
    width: int,
    words: int,
) -> tuple[Ints, Ints, SetWords, SetWords]:
    """For each case the values that its groups show, a bit for every release that shows them."""
    releases, cases = units.shape
    ends = np.zeros(cases + 1, np.int64)
    values = np.empty(max(4 * cases, 64), np.int64)
    shown_by = np.zeros((len(values), words), np.uint64)
    located = np.zeros((cases, words), np.uint64)
    bits = np.zeros((width, words), np.uint64)
    touched = np.empty(width, np.int64)
    seen = np.zeros(width, np.bool_)
    filled = 0
    for i in range(cases):
        many = 0
        for j in range(releases):
            u = units[j, i]
            word, bit = j // 64, np.uint64(1) << np.uint64(j % 64)
            if begins[u + 1] > begins[u]:
                located[i, word] |= bit
            for place in range(begins[u], begins[u + 1]):
                for stored in range(indptr[groups[place]], indptr[groups[place] + 1]):
                    if not shows[stored]:
                        continue
                    code = codes[stored]
                    if not seen[code]:
                        seen[code] = True
                        touched[many] = code
                        many += 1
                    bits[code, word] |= bit
        if filled + many > len(values):
            values = with_room(values, np.int64(0), np.int64(filled), many)
            wider = np.zeros((len(values), words), np.uint64)
            for place in range(filled):
                for word in range(words):
                    wider[place, word] = shown_by[place, word]
            shown_by = wider
        listed = touched[:many]
        sort_numbers(listed)
        for place in range(many):
            code = listed[place]
            values[filled] = code
            for word in range(words):
                shown_by[filled, word] = bits[code, word]
                bits[code, word] = np.uint64(0)
            seen[code] = False
            filled += 1
        ends[i + 1] = filled
    return ends, values[:filled].copy(), shown_by[:filled].copy(), located


@inner
def _within(subset: SetWords, superset: SetWords) -> bool:
    """Whether every bit of one is set in the other."""
    missing = np.uint64(0)
    for word in range(len(subset)):
        missing |= subset[word] & ~superset[word]
    return bool(missing == 0)


@kernel
def fewest(
    indptr: Ints,
    codes: Ints,
    begins: Ints,
    members: Ints,
    width: int,
    ends: Ints,
    values: Ints,
    shown_by: SetWords,
    located: SetWords,
) -> tuple[Ints, Bools]:
    """The fewest values left of each member of each group, over all choices of releases; and
    whether that is what all releases leave that locate her."""
    least = np.empty(len(members), np.int64)
    by_all = np.zeros(len(members), np.bool_)
    mark = np.full(width, -1, np.int64)
    common = np.empty(width, np.int64)
    for g in range(len(indptr) - 1):
        values_here = indptr[g + 1] - indptr[g]
        for stored in range(indptr[g], indptr[g + 1]):
            mark[codes[stored]] = g
        for place in range(begins[g], begins[g + 1]):
            i = members[place]
            everywhere, shared = 0, 0
            for known in range(ends[i], ends[i + 1]):
                if mark[values[known]] == g:
                    common[shared] = known
                    shared += 1
                    if _within(located[i], shown_by[known]):
                        everywhere += 1
            if everywhere > 0:
                least[place] = everywhere
                by_all[place] = True
                continue
            # Nobody is in all of them: the choice that leaves the fewest, or the group alone.
            best = values_here
            for choice in range(shared):
                fits = 0
                for other in range(shared):
                    if _within(shown_by[common[choice]], shown_by[common[other]]):
                        fits += 1
                best = min(best, fits)
            least[place] = best
    return least, by_all


@kernel
def left_at_most(
    cases: Ints, own: Ints, width: int, ends: Ints, values: Ints, shown_by: SetWords
) -> Ints:
    """The most values any new release leaves of people of these cases who have these values."""
    most = np.empty(len(cases), np.int64)
    for place in range(len(cases)):
        first, last = ends[cases[place]], ends[cases[place] + 1]
        own_place = -1
        for known in range(first, last):
            if values[known] == own[place]:
                own_place = known
        if own_place < 0:  # no earlier release shows her value: they may all be about others
            most[place] = width
            continue
        fits = 0
        for other in range(first, last):
            if _within(shown_by[own_place], shown_by[other]):
                fits += 1
        most[place] = fits
    return most


@inner
def _pour(
    indptr: Ints,
    codes: Ints,
    weights: Floats,
    groups: Ints,
    start: int,
    stop: int,
    into: Floats,
    touched: Ints,
) -> tuple[int, float]:
    """Sum the weights of some groups; how many values they show, and their total."""
    distinct, total = 0, 0.0
    for place in range(start, stop):
        g = groups[place]
        for stored in range(indptr[g], indptr[g + 1]):
            code, mass = codes[stored], weights[stored]
            if into[code] == 0.0 and mass > 0.0:
                touched[distinct] = code
                distinct += 1
            into[code] += mass
            total += mass
    return distinct, total


@kernel
def intersect(
    indptr: Ints,
    codes: Ints,
    weights: Floats,
    begins: Ints,
    groups: Ints,
    units: Ints,
    tilt: Floats,
) -> tuple[Ints, Ints, Ints, Floats]:
    """For each case: how many values each release leaves (0: not located), and those all leave.

    The values left are `values[ends[i]:ends[i + 1]]`, ascending, with the adversary's posterior;
    `tilt[s]` multiplies it once for every release but the first. Releases that do not locate a
    case are left out of its intersection.
    """
    releases, cases = units.shape
    width = len(tilt)
    before = np.zeros((releases, cases), np.int64)
    ends = np.zeros(cases + 1, np.int64)
    values = np.empty(max(2 * cases, 64), np.int64)
    posterior = np.empty(len(values))
    into = np.zeros((releases, width))
    touched = np.empty((releases, width), np.int64)
    distinct = np.zeros(releases, np.int64)
    filled = 0
    for i in range(cases):
        first, located = -1, 0
        for j in range(releases):
            u = units[j, i]
            distinct[j], _ = _pour(
                indptr, codes, weights, groups, begins[u], begins[u + 1], into[j], touched[j]
            )
            before[j, i] = distinct[j]
            if begins[u + 1] > begins[u]:
                located += 1
                if first < 0 or distinct[j] < distinct[first]:
                    first = j
        start = filled
        if first >= 0:
            if filled + distinct[first] > len(values):
                values = with_room(values, np.int64(0), np.int64(filled), distinct[first])
                posterior = with_room(posterior, np.int64(0), np.int64(filled), distinct[first])
            for place in range(distinct[first]):
                code = touched[first, place]
                everywhere = True
                for j in range(releases):
                    if distinct[j] > 0 and into[j, code] == 0.0:
                        everywhere = False
                        break
                if everywhere:
                    values[filled] = code
                    filled += 1
            sort_numbers(values[start:filled])
            _weigh(values[start:filled], posterior[start:filled], into, distinct, tilt)
        ends[i + 1] = filled
        for j in range(releases):
            for place in range(distinct[j]):
                into[j, touched[j, place]] = 0.0
    return before, ends, values[:filled].copy(), posterior[:filled].copy()


@inner
def _weigh(values: Ints, out: Floats, into: Floats, distinct: Ints, tilt: Floats) -> None:
    """The product over releases, scaled after each so that many releases do not underflow."""
    for place in range(len(values)):
        out[place] = 1.0
    already = False
    for j in range(len(distinct)):
        if distinct[j] == 0:
            continue
        most = 0.0
        for place in range(len(values)):
            out[place] *= into[j, values[place]]
            if already:
                out[place] *= tilt[values[place]]
            most = max(most, out[place])
        already = True
        for place in range(len(values)):
            out[place] /= most
    total = 0.0
    for place in range(len(values)):
        total += out[place]
    for place in range(len(values)):
        out[place] /= total
