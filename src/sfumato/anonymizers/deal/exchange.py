"""Annealed sweeps, compiled: people move between near groups, or change places with somebody.

Stands apart: it is compiled code, and what moves people is an idea of its own.

Every person in turn looks at the groups of those who are near her on the locality orders, and of
all moves and swaps that keep the rules takes the one that saves most. What is saved is measured on
*soft* widths: in truth a value that two odd people of a group have costs the same as one that
hundreds have, and removing one of the two gains nothing; so a value that h people have counts
1 - gamma^h here, which leads odd people out one by one. Gamma falls to 0, the true width, and with
it the temperature, by which some changes for the worse are taken.

Of ranges and labels only the two ends of a group matter. They are kept with the next ones inside,
so that a change can be weighed without looking at the group; who takes an end away looks again.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from sfumato.anonymizers.deal.cut_tree import NOBODY, span_width
from sfumato.anonymizers.deal.people import SET, DealtColumns, DealtPeople
from sfumato.anonymizers.deal.rules import Int, Rules, holds
from sfumato.numbers import Bools, Codes, Floats, Ints

REACH = 6  # places before and after a person, in every order, whose groups she looks at
RING = 12  # people of a group whom she may change places with, others each time
SOFT = 96  # more people than this have a value as surely as can be
PROPOSED = 6  # changes that a person proposes at most, where nobody tests them one by one


class GroupState(NamedTuple):
    """Groups as sweeps change them.

    `cells`: how many people have each value of a SET. `ends[g, s]`: the lowest code of a span, how
    many have it, the next lowest, and the same from above. `after` and `before` link the people of
    a group to a ring, `head` is where the next look at it begins. `width` is the soft width.
    """

    group: Codes
    size: Ints
    counts: Codes
    cells: Codes
    ends: Codes
    width: Floats
    after: Codes
    before: Codes
    head: Codes


def state_of(group: Codes, people: DealtPeople, columns: DealtColumns) -> GroupState:
    """The state in which everybody is in this group; every group has somebody."""
    total = int(group.max()) + 1
    state = GroupState(
        group.astype(np.int32),
        np.zeros(total, np.int64),
        np.zeros((total, people.width), np.int32),
        np.zeros((total, columns.cells), np.int32),
        np.zeros((total, columns.spans, 6), np.int32),
        np.zeros(total),
        np.zeros(len(group), np.int32),
        np.zeros(len(group), np.int32),
        np.full(total, -1, np.int32),
    )
    state.ends[:, :, [0, 2]] = NOBODY
    state.ends[:, :, [3, 5]] = -1
    _fill(state, people, columns)
    return state


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _count(state: GroupState, people: DealtPeople, g: Int, x: Int, times: Int) -> None:
    """Add a person's values to a group's counts, so many times."""
    v = people.value[x]
    for place in range(people.starts[v], people.starts[v + 1]):
        state.counts[g, people.adds[place]] += times


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _fill(state: GroupState, people: DealtPeople, columns: DealtColumns) -> None:
    for x in range(len(state.group)):
        _join(state, people, columns, x, np.int64(state.group[x]))


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _join(state: GroupState, people: DealtPeople, columns: DealtColumns, x: Int, g: Int) -> None:
    """Put a person into a group."""
    state.group[x] = g
    state.size[g] += 1
    first = state.head[g]
    if first < 0:
        state.head[g] = x
        state.after[x] = x
        state.before[x] = x
    else:
        last = state.before[first]
        state.after[last], state.before[x] = x, last
        state.after[x], state.before[first] = first, x
    _count(state, people, g, x, np.int64(1))
    for j in range(people.places.shape[1]):
        code = np.int64(people.places[x, j])
        if columns.kind[j] == SET:
            state.cells[g, columns.at[j] + code] += 1
        else:
            _widen(state.ends, g, np.int64(columns.span[j]), code)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _widen(ends: Codes, g: Int, s: Int, code: Int) -> None:
    """Take a code into the ends of a span."""
    if code < ends[g, s, 0]:
        ends[g, s, 2] = ends[g, s, 0]
        ends[g, s, 0] = code
        ends[g, s, 1] = 1
    elif code == ends[g, s, 0]:
        ends[g, s, 1] += 1
    elif code < ends[g, s, 2]:
        ends[g, s, 2] = code
    if code > ends[g, s, 3]:
        ends[g, s, 5] = ends[g, s, 3]
        ends[g, s, 3] = code
        ends[g, s, 4] = 1
    elif code == ends[g, s, 3]:
        ends[g, s, 4] += 1
    elif code > ends[g, s, 5]:
        ends[g, s, 5] = code


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _leave(state: GroupState, people: DealtPeople, columns: DealtColumns, x: Int) -> None:
    """Take a person out of her group; one who was alone there changes places with somebody."""
    g = np.int64(state.group[x])
    state.size[g] -= 1
    last, following = state.before[x], state.after[x]
    state.after[last], state.before[following] = following, last
    if state.head[g] == x:
        state.head[g] = following if state.size[g] > 0 else -1
    _count(state, people, g, x, np.int64(-1))
    for j in range(people.places.shape[1]):
        code = np.int64(people.places[x, j])
        if columns.kind[j] == SET:
            state.cells[g, columns.at[j] + code] -= 1
            continue
        ends, span = state.ends, np.int64(columns.span[j])
        lowest, highest = code == ends[g, span, 0], code == ends[g, span, 3]
        if lowest:
            ends[g, span, 1] -= 1
        if highest:
            ends[g, span, 4] -= 1
        last_low = lowest and ends[g, span, 1] == 0
        last_high = highest and ends[g, span, 4] == 0
        if last_low or last_high or code == ends[g, span, 2] or code == ends[g, span, 5]:
            for end in range(3):
                ends[g, span, end] = NOBODY
                ends[g, span, 3 + end] = -1
            y = np.int64(following)
            for _ in range(state.size[g]):
                _widen(ends, g, span, np.int64(people.places[y, j]))
                y = np.int64(state.after[y])


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _soft_width(state: GroupState, columns: DealtColumns, g: Int, gone: Floats) -> float:
    """The width of a group, where `gone[h]` = gamma^h."""
    width = 0.0
    for j in range(len(columns.kind)):
        if columns.kind[j] == SET:
            found = -1.0
            for cell in range(columns.at[j], columns.at[j] + columns.size[j]):
                found += 1.0 - gone[min(state.cells[g, cell], SOFT)]
            width += columns.cost[j] * found
        else:
            span = columns.span[j]
            low, high = np.int64(state.ends[g, span, 0]), np.int64(state.ends[g, span, 3])
            width += span_width(columns, j, low, high)
    return width


@nb.njit(cache=True, nogil=True, error_model="numpy")
def true_cost(state: GroupState, columns: DealtColumns) -> float:
    """People times width, over all groups."""
    gone = np.zeros(SOFT + 1)
    gone[0] = 1.0
    total = 0.0
    for g in range(len(state.size)):
        total += state.size[g] * _soft_width(state, columns, g, gone)
    return total


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _may(
    state: GroupState, people: DealtPeople, rules: Rules, g: Int, gets: Int, gives: Int
) -> bool:
    """Whether a group keeps the rules with one more person and one less (-1: none)."""
    size = state.size[g]
    if gets >= 0:
        size += 1
        _count(state, people, g, gets, np.int64(1))
    if gives >= 0:
        size -= 1
        _count(state, people, g, gives, np.int64(-1))
    fine = holds(state.counts, g, size, rules)
    if gets >= 0:
        _count(state, people, g, gets, np.int64(-1))
    if gives >= 0:
        _count(state, people, g, gives, np.int64(1))
    return fine


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _propose(
    proposals: Ints, deltas: Floats, row: Int, slot: Int, h: Int, y: Int, delta: float
) -> None:
    """Note a change that is better than those before; of many the last ones stay."""
    place = slot % proposals.shape[1]
    proposals[row, place, 0], proposals[row, place, 1] = h, y
    deltas[row, place] = delta


@nb.njit(cache=True, nogil=True, error_model="numpy")
def once_each(gives: Ints, gets: Ints, groups: Int) -> Bools:
    """Of changes in the order in which they are wanted those whose groups none before touches."""
    touched, kept = np.zeros(groups, np.bool_), np.zeros(len(gives), np.bool_)
    for i in range(len(gives)):
        if not touched[gives[i]] and not touched[gets[i]]:
            touched[gives[i]] = touched[gets[i]] = kept[i] = True
    return kept


@nb.njit(cache=True, nogil=True, error_model="numpy")
def change(
    state: GroupState,
    people: DealtPeople,
    columns: DealtColumns,
    gone: Floats,
    movers: Ints,
    groups: Ints,
    partners: Ints,
) -> None:
    """Move people to groups; a partner (-1: none) comes instead."""
    for i in range(len(movers)):
        x, h, y = movers[i], groups[i], partners[i]
        g = np.int64(state.group[x])
        _leave(state, people, columns, x)
        if y >= 0:
            _leave(state, people, columns, y)
            _join(state, people, columns, y, g)
        _join(state, people, columns, x, h)
        state.width[g] = _soft_width(state, columns, g, gone)
        state.width[h] = _soft_width(state, columns, h, gone)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def sweep(
    state: GroupState,
    people: DealtPeople,
    columns: DealtColumns,
    rules: Rules,
    orders: Codes,
    positions: Codes,
    visited: Int,
    gone: Floats,
    bars: Floats,
    begin: Int,
    end: Int,
    proposals: Ints,
    deltas: Floats,
) -> int:
    """Everybody once, along the order `visited`; returns how many changes were made.

    `positions[o, x]` is where order o has person x, `gone[h]` = gamma^h, and `bars` what a change
    may cost at each step. Only the steps from `begin` to `end` are taken, the first of them first.
    Where `proposals` has room nothing is changed: row i gets the group and the partner of the best
    changes of step begin + i by these rules, and `deltas` what they cost.
    """
    gain = np.zeros(SOFT + 1)
    for times in range(SOFT):
        gain[times] = gone[times] - gone[times + 1]
    if begin == 0:
        for group in range(len(state.size)):
            state.width[group] = _soft_width(state, columns, group, gone)
    proposing = len(proposals) > 0
    looked = np.zeros(len(state.size), np.int32)  # the last step at which a group was looked at
    total, many, changes = len(state.group), people.places.shape[1], 0
    nobody = np.int64(-1)
    places, cells, ends = people.places, state.cells, state.ends
    # What x's leaving does to her group, column by column, and her coming to another one: the same
    # for all whom she may change places with.
    goes, comes = np.zeros(many), np.zeros(many)
    low, high = np.zeros(many, np.int64), np.zeros(many, np.int64)
    mine_now, theirs_now = np.zeros(many), np.zeros(many)
    for step in range(begin, end):
        x = np.int64(orders[visited, step])
        g = np.int64(state.group[x])
        size = state.size[g]
        if size < 2:
            continue
        slot = 0
        best, chosen, partner = bars[step] - 1e-12, np.int64(-1), np.int64(-1)
        g_changes, h_changes = 0.0, 0.0
        spared = 0.0
        for j in range(many):
            code = np.int64(places[x, j])
            if columns.kind[j] == SET:
                goes[j] = -columns.cost[j] * gain[min(cells[g, columns.at[j] + code], SOFT) - 1]
                spared += goes[j]
            else:
                s = columns.span[j]
                low[j], high[j] = ends[g, s, 0], ends[g, s, 3]
                mine_now[j] = span_width(columns, j, low[j], high[j])
                if code == low[j] and ends[g, s, 1] == 1:
                    low[j] = ends[g, s, 2]
                if code == high[j] and ends[g, s, 4] == 1:
                    high[j] = ends[g, s, 5]
                spared += span_width(columns, j, low[j], high[j]) - mine_now[j]
        leaves = (size - 1) * spared - state.width[g]
        may_leave = -1  # not known yet
        looked[g] = step + 1
        for o in range(orders.shape[0]):
            here = positions[o, x]
            for near in range(max(0, here - REACH), min(total, here + REACH + 1)):
                h = np.int64(state.group[orders[o, near]])
                if looked[h] == step + 1:
                    continue
                looked[h] = step + 1
                others = state.size[h]
                more = 0.0
                for j in range(many):
                    code = np.int64(places[x, j])
                    if columns.kind[j] == SET:
                        comes[j] = columns.cost[j] * gain[min(cells[h, columns.at[j] + code], SOFT)]
                        more += comes[j]
                    else:
                        s = columns.span[j]
                        first, last = np.int64(ends[h, s, 0]), np.int64(ends[h, s, 3])
                        theirs_now[j] = span_width(columns, j, first, last)
                        more += span_width(columns, j, min(first, code), max(last, code))
                        more -= theirs_now[j]
                delta = leaves + (others + 1) * more + state.width[h]
                if delta < best and may_leave != 0:
                    if may_leave < 0:
                        may_leave = int(_may(state, people, rules, g, nobody, x))
                    if may_leave == 1 and _may(state, people, rules, h, x, nobody):
                        best, chosen, partner = delta, h, nobody
                        g_changes, h_changes = spared, more
                        if proposing:
                            _propose(proposals, deltas, step - begin, slot, h, nobody, delta)
                            slot += 1
                y = np.int64(state.head[h])
                for _ in range(min(RING, others)):
                    mine, theirs = 0.0, 0.0
                    for j in range(many):
                        code, own = np.int64(places[y, j]), np.int64(places[x, j])
                        if code == own:
                            continue
                        if columns.kind[j] == SET:
                            cost, cell = columns.cost[j], columns.at[j] + code
                            mine += goes[j] + cost * gain[min(cells[g, cell], SOFT)]
                            theirs += comes[j] - cost * gain[min(cells[h, cell], SOFT) - 1]
                        else:
                            first, last = min(low[j], code), max(high[j], code)
                            mine += span_width(columns, j, first, last) - mine_now[j]
                            s = columns.span[j]
                            first, last = np.int64(ends[h, s, 0]), np.int64(ends[h, s, 3])
                            if code == first and ends[h, s, 1] == 1:
                                first = np.int64(ends[h, s, 2])
                            if code == last and ends[h, s, 4] == 1:
                                last = np.int64(ends[h, s, 5])
                            first, last = min(first, own), max(last, own)
                            theirs += span_width(columns, j, first, last) - theirs_now[j]
                    delta = size * mine + others * theirs
                    if delta < best and (
                        people.value[x] == people.value[y]
                        or (
                            _may(state, people, rules, g, y, x)
                            and _may(state, people, rules, h, x, y)
                        )
                    ):
                        best, chosen, partner = delta, h, y
                        g_changes, h_changes = mine, theirs
                        if proposing:
                            _propose(proposals, deltas, step - begin, slot, h, y, delta)
                            slot += 1
                    y = np.int64(state.after[y])
                state.head[h] = y
        if chosen < 0 or proposing:
            continue
        changes += 1
        state.width[g] += g_changes
        state.width[chosen] += h_changes
        _leave(state, people, columns, x)
        if partner >= 0:
            _leave(state, people, columns, partner)
            _join(state, people, columns, partner, g)
        _join(state, people, columns, x, chosen)
    return changes


@nb.njit(cache=True, nogil=True, error_model="numpy")
def match_groups(group: Codes, order: Codes, turns: Ints, away: Ints, partner: Codes) -> None:
    """Give each group a partner for this time: somebody of it is near somebody of the other.

    `turns` are the places of the order in the turn in which they are asked, `away` how far each
    looks; `partner[g]` is g where nobody was found.
    """
    for place in turns:
        g = group[order[place]]
        if partner[g] == g and place + away[place] < len(order):
            h = group[order[place + away[place]]]
            if h != g and partner[h] == h:
                partner[g] = h
                partner[h] = g
