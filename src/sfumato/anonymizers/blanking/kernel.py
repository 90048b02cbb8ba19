"""Who is shown with which cells blank, compiled: greedy opening of descriptions, then improvement.

A *pattern* is a set of columns that are blank, a *description* what somebody shows with one: the
values of the other columns. Whoever shows one description is a group, and a group must hold by the
count rules. First everybody whose own values are shared by enough people is shown whole. Then
descriptions are opened, the cheapest for each person who is still without one first: for those
people, and for as many *donors* as the rules ask for, who are shown already and give up a cell
more, where their own group can do without them. Last, while that gains: people join a finer
description that is there, finer ones are opened, groups are given up whose people find places
elsewhere for less. No state after a step has a group that fails.

People come in an order drawn by chance, so that among equals it is chance who is blanked.

Stands apart: importing the compiler is slow.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from sfumato.anonymizers.deal.rules import Rules, holds
from sfumato.compiled import Int, by_address, inner, kernel
from sfumato.numbers import Bools, Codes, Floats, Ints

_LEAST_GAIN = 1e-9
_MOST_DONORS = 4096  # people who are looked at for a description that lacks some
_MOST_ASKED = 64  # of whom so many are asked
NOWHERE = -1


@by_address
class DescriptionIndex(NamedTuple):
    """What people may be shown as. `of_tuple[t, p]`: the description of tuple t by pattern p.

    Description d may be shown of the tuples `tuples[starts[d]:starts[d + 1]]`. `cost` is of each
    pattern, from nothing blank upwards. Tuple t is had by `people[people_at[t]:people_at[t + 1]]`.
    """

    of_tuple: Codes
    starts: Ints
    tuples: Codes
    cost: Floats
    people_at: Ints
    people: Codes


@by_address
class Persons(NamedTuple):
    """Everybody's tuple and sensitive values: value v adds one to the columns
    `adds[adds_at[v]:adds_at[v + 1]]` of her group's counts."""

    tuple: Codes
    value: Codes
    adds_at: Ints
    adds: Codes


@by_address
class Blanked(NamedTuple):
    """Everybody's pattern (or nowhere yet) and the groups that follow from it.

    `row[d]` is the row of `counts` that description d has while somebody shows it; `free` and
    `left` are the rows nobody has. `moved`, `before` remember the steps that may be taken back.
    """

    pattern: Codes
    size: Codes
    row: Codes
    counts: Codes
    free: Codes
    left: Ints
    moved: Codes
    before: Codes
    steps: Ints


@inner
def _move(
    state: Blanked, index: DescriptionIndex, persons: Persons, person: Int, pattern: Int
) -> None:
    """Show somebody by another pattern, and remember it."""
    own = np.int64(persons.tuple[person])
    value = persons.value[person]
    old = np.int64(state.pattern[person])
    if old != NOWHERE:
        d = np.int64(index.of_tuple[own, old])
        state.size[d] -= 1
        row = state.row[d]
        for place in range(persons.adds_at[value], persons.adds_at[value + 1]):
            state.counts[row, persons.adds[place]] -= 1
        if state.size[d] == 0:
            state.free[state.left[0]] = row
            state.left[0] += 1
            state.row[d] = NOWHERE
    if pattern != NOWHERE:
        d = np.int64(index.of_tuple[own, pattern])
        if state.size[d] == 0:
            state.left[0] -= 1
            state.row[d] = state.free[state.left[0]]
        state.size[d] += 1
        row = state.row[d]
        for place in range(persons.adds_at[value], persons.adds_at[value + 1]):
            state.counts[row, persons.adds[place]] += 1
    state.pattern[person] = pattern
    step = state.steps[0]
    state.moved[step] = person
    state.before[step] = old
    state.steps[0] = step + 1


@inner
def _take_back(state: Blanked, index: DescriptionIndex, persons: Persons, until: Int) -> None:
    """Undo the steps after the first so many."""
    while state.steps[0] > until:
        last = state.steps[0] - 1
        _move(state, index, persons, np.int64(state.moved[last]), np.int64(state.before[last]))
        state.steps[0] = last


@inner
def _fine(state: Blanked, d: Int, rules: Rules) -> bool:
    """Whether nobody shows a description, or those who do may."""
    if state.size[d] == 0:
        return True
    if state.size[d] < rules.least:
        return False
    return bool(holds(state.counts, np.int64(state.row[d]), np.int64(state.size[d]), rules))


@inner
def _spared(
    state: Blanked,
    index: DescriptionIndex,
    persons: Persons,
    rules: Rules,
    person: Int,
    pattern: Int,
) -> bool:
    """Move somebody if the group she leaves can do without her."""
    old = np.int64(state.pattern[person])
    _move(state, index, persons, person, pattern)
    if old == NOWHERE or _fine(state, np.int64(index.of_tuple[persons.tuple[person], old]), rules):
        return True
    _take_back(state, index, persons, state.steps[0] - 1)
    return False


@inner
def _with_donors(
    state: Blanked,
    index: DescriptionIndex,
    persons: Persons,
    rules: Rules,
    d: Int,
    pattern: Int,
    most: float,
    donors: Codes,
    extra: Floats,
) -> float:
    """What donors cost with whom a description holds, who are moved; infinite if none will do.

    `most` is what they may cost; `donors`, `extra` are room for work.
    """
    many = 0
    for place in range(index.starts[d], index.starts[d + 1]):
        own = np.int64(index.tuples[place])
        for at in range(index.people_at[own], index.people_at[own + 1]):
            person = np.int64(index.people[at])
            now = np.int64(state.pattern[person])
            if now in (NOWHERE, pattern) or many == len(donors):
                continue
            old = np.int64(index.of_tuple[own, now])
            # A group with nobody to spare is not asked one by one.
            if state.size[old] <= rules.least and state.size[old] > 1:
                continue
            donors[many] = person
            extra[many] = index.cost[pattern] - index.cost[now]
            many += 1
        if many == len(donors):
            break
    spent = 0.0
    for _ in range(min(many, _MOST_ASKED + 4 * rules.least)):
        place = 0  # the cheapest who was not asked yet
        for candidate in range(1, many):
            if extra[candidate] < extra[place]:
                place = candidate
        if spent + extra[place] > most:
            break
        if _spared(state, index, persons, rules, np.int64(donors[place]), pattern):
            spent += extra[place]
            if _fine(state, d, rules):
                return float(spent)
        extra[place] = np.inf
    return np.inf


@inner
def _place_everybody(
    state: Blanked, index: DescriptionIndex, persons: Persons, rules: Rules, waiting: Codes
) -> int:
    """Show everybody by the cheapest pattern that is found; returns how many remain nowhere.

    `waiting[d]` is room for how many people without a place might show description d.
    """
    patterns = len(index.cost)
    donors = np.empty(min(_MOST_DONORS, len(persons.tuple)), np.int32)
    extra = np.empty(len(donors))
    for number in range(len(persons.tuple)):
        _move(state, index, persons, number, 0)
        state.steps[0] = 0
    left = 0
    for number in range(len(index.of_tuple)):
        d = np.int64(index.of_tuple[number, 0])
        if _fine(state, d, rules):
            continue
        for at in range(index.people_at[number], index.people_at[number + 1]):
            _move(state, index, persons, np.int64(index.people[at]), NOWHERE)
            state.steps[0] = 0
            left += 1
            for pattern in range(1, patterns):
                waiting[index.of_tuple[number, pattern]] += 1
    heap = [(0.0, 0, np.int64(0))]
    heap.pop()
    following = 1  # the first pattern whose descriptions are not in the heap yet
    while left > 0:
        while following < patterns and (
            len(heap) == 0 or index.cost[following] <= heap[0][0] + _LEAST_GAIN
        ):
            for number in range(len(index.of_tuple)):
                d = np.int64(index.of_tuple[number, following])
                if index.tuples[index.starts[d]] == number and waiting[d] > 0:
                    heappush(heap, (index.cost[following], following, d))
            following += 1
        if len(heap) == 0:
            break
        _, pattern, d = heappop(heap)
        if waiting[d] == 0:
            continue
        newly = 0
        for place in range(index.starts[d], index.starts[d + 1]):
            own = np.int64(index.tuples[place])
            for at in range(index.people_at[own], index.people_at[own + 1]):
                person = np.int64(index.people[at])
                if state.pattern[person] == NOWHERE:
                    _move(state, index, persons, person, pattern)
                    newly += 1
        spent = newly * index.cost[pattern]
        if not _fine(state, d, rules):
            spent += _with_donors(state, index, persons, rules, d, pattern, np.inf, donors, extra)
        per_person = spent / newly
        upcoming = np.inf
        if len(heap) > 0:
            upcoming = heap[0][0]
        if following < patterns:
            upcoming = min(upcoming, index.cost[following])
        if per_person > upcoming + _LEAST_GAIN:
            _take_back(state, index, persons, 0)
            if per_person < np.inf:
                heappush(heap, (per_person, pattern, d))
            continue
        if per_person == np.inf:
            _take_back(state, index, persons, 0)
            continue
        for step in range(state.steps[0]):
            if state.before[step] == NOWHERE:
                own = np.int64(persons.tuple[state.moved[step]])
                for later in range(1, patterns):
                    waiting[index.of_tuple[own, later]] -= 1
                left -= 1
        state.steps[0] = 0
    return left


@inner
def _join(
    state: Blanked,
    index: DescriptionIndex,
    persons: Persons,
    rules: Rules,
    person: Int,
    below: float,
) -> float:
    """Show somebody by the cheapest description that others show; what that saves on `below`."""
    own = np.int64(persons.tuple[person])
    now = np.int64(state.pattern[person])
    for pattern in range(len(index.cost)):
        if index.cost[pattern] >= below - _LEAST_GAIN:
            break
        d = np.int64(index.of_tuple[own, pattern])
        if pattern == now or state.size[d] == 0:
            continue
        before = state.steps[0]
        if _spared(state, index, persons, rules, person, pattern):
            if _fine(state, d, rules):
                return float(below - index.cost[pattern])
            _take_back(state, index, persons, before)
        elif rules.table.shape[0] == 0:
            break  # by sizes alone: her group cannot do without her, wherever she goes
    return 0.0


@inner
def _open(
    state: Blanked,
    index: DescriptionIndex,
    persons: Persons,
    rules: Rules,
    d: Int,
    pattern: Int,
    donors: Codes,
    extra: Floats,
) -> float:
    """Open a description for whoever gains by it; what that saves, nothing where it is no gain."""
    gained = 0.0
    cost = index.cost[pattern]
    for place in range(index.starts[d], index.starts[d + 1]):
        own = np.int64(index.tuples[place])
        for at in range(index.people_at[own], index.people_at[own + 1]):
            person = np.int64(index.people[at])
            saved = index.cost[state.pattern[person]] - cost
            if saved > _LEAST_GAIN and _spared(state, index, persons, rules, person, pattern):
                gained += saved
    if gained > 0 and not _fine(state, d, rules):
        gained -= _with_donors(
            state, index, persons, rules, d, pattern, gained - _LEAST_GAIN, donors, extra
        )
    if gained > _LEAST_GAIN:
        state.steps[0] = 0
        return gained
    _take_back(state, index, persons, 0)
    return 0.0


@inner
def _give_up(
    state: Blanked, index: DescriptionIndex, persons: Persons, rules: Rules, d: Int, pattern: Int
) -> float:
    """Give up a group whose people find places elsewhere for less; what that saves."""
    spent = 0.0
    for place in range(index.starts[d], index.starts[d + 1]):
        own = np.int64(index.tuples[place])
        for at in range(index.people_at[own], index.people_at[own + 1]):
            person = np.int64(index.people[at])
            if state.pattern[person] != pattern:
                continue
            placed = False
            for elsewhere in range(len(index.cost)):
                there = np.int64(index.of_tuple[own, elsewhere])
                if elsewhere == pattern or state.size[there] == 0:
                    continue
                before = state.steps[0]
                _move(state, index, persons, person, elsewhere)
                if _fine(state, there, rules):
                    placed = True
                    spent += index.cost[elsewhere] - index.cost[pattern]
                    break
                _take_back(state, index, persons, before)
            if not placed or spent > len(persons.tuple) * index.cost[-1]:
                _take_back(state, index, persons, 0)
                return 0.0
    if spent < -_LEAST_GAIN:
        state.steps[0] = 0
        return -spent
    _take_back(state, index, persons, 0)
    return 0.0


@inner
def _improve(
    state: Blanked,
    index: DescriptionIndex,
    persons: Persons,
    rules: Rules,
    order: Codes,
    tried: Bools,
) -> float:
    """Everybody in this order once: what is gained by joining, opening and giving up.

    `tried` tells of each description whether that was in vain; it is asked about once.
    """
    gained = 0.0
    donors = np.empty(min(_MOST_DONORS, len(persons.tuple)), np.int32)
    extra = np.empty(len(donors))
    state.steps[0] = 0
    for at in range(len(order)):
        person = np.int64(order[at])
        now = np.int64(state.pattern[person])
        if now == 0:
            continue
        saved = _join(state, index, persons, rules, person, index.cost[now])
        state.steps[0] = 0
        own = np.int64(persons.tuple[person])
        pattern = 0
        while saved == 0.0 and pattern < len(index.cost):
            if index.cost[pattern] >= index.cost[now] - _LEAST_GAIN:
                break
            d = np.int64(index.of_tuple[own, pattern])
            if state.size[d] == 0 and not tried[d]:
                saved = _open(state, index, persons, rules, d, pattern, donors, extra)
                tried[d] = saved == 0.0
            pattern += 1
        d = np.int64(index.of_tuple[own, now])
        if saved == 0.0 and not tried[d]:
            saved = _give_up(state, index, persons, rules, d, now)
            tried[d] = True
        gained += saved
    return gained


@kernel
def blank_cells(
    state: Blanked,
    index: DescriptionIndex,
    persons: Persons,
    rules: Rules,
    waiting: Codes,
    order: Codes,
    tried: Bools,
) -> float:
    """Place everybody, if nobody is anywhere yet, or improve: people who remain nowhere, or what
    was gained. One function, since what takes so many arrays takes long to compile."""
    if state.pattern[0] == NOWHERE:
        return float(_place_everybody(state, index, persons, rules, waiting))
    return float(_improve(state, index, persons, rules, order, tried))
