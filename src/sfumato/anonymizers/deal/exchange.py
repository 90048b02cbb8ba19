"""Annealed sweeps, compiled: people move between near groups, or change places with somebody.

It is compiled code, and what moves people is an idea of its own.

Every person in turn looks at the groups of those who are near her on the locality orders, and of
all moves and swaps that keep the rules takes the one that saves most. What is saved is measured on
*soft* widths: in truth a value that two odd people of a group have costs the same as one that
hundreds have, and removing one of the two gains nothing; so a value that h people have counts
1 - gamma^h here, which leads odd people out one by one. Likewise a group whose people have several
labels at a level costs 1 - gamma^h of what the next level costs more, if h people have another
label than most. Gamma falls to 0, the true width, and with it the temperature, by which some
changes for the worse are taken.

Of ranges (and labels, where gamma is 0) only the two ends of a group matter. They are kept with the
next ones inside, so that a change can be weighed without looking at the group; who takes an end
away looks again.

Where people may be suppressed, that is one more move: to no group, which costs whatever a person
of whom nothing is told costs, and a price besides while there is little room; somebody of another
group may take her place. Who is in no group takes her turn as well, and may come back or send
somebody else there.

A sweep is made of stretches. People of one stretch change groups of that stretch only, so that
stretches may be swept at the same time, and what comes out does not depend on which is faster.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.anonymizers.deal.cut_tree import span_width
from sfumato.anonymizers.deal.people import LABEL, SET, DealtColumns, DealtPeople
from sfumato.anonymizers.deal.rules import Rules, holds
from sfumato.anonymizers.deal.state import (
    SOFT,
    GroupState,
    count,
    join,
    leave,
    rung_cell,
    soft_width,
)
from sfumato.compiled import Int, by_address, inner, kernel
from sfumato.numbers import Bools, Codes, Floats, Ints

REACH = 6  # places before and after a person, in every order, whose groups she looks at
RING = 12  # people of a group whom she may change places with, others each time
PROPOSED = 6  # changes that a person proposes at most, where nobody tests them one by one
NO_PROPOSALS = (np.zeros((0, 0, 2), dtype=np.int64), np.zeros((0, 0)))  # changes are made at once


@by_address
class SweepingRoom(NamedTuple):
    """What a sweep works in, made by Python (`compiled.py` says why).

    By column what x's leaving does to her group and her coming to another, the same for all whom
    she may change places with: the change of a SET, or the ends of a span without her, and the
    widths that both groups have now. `looked` is the last step at which a group was looked at;
    by value, `g_may` and `h_may` remember what was tested.
    """

    goes: Floats
    comes: Floats
    low: Ints
    high: Ints
    g_now: Floats
    h_now: Floats
    looked: Codes
    g_may: Ints
    h_may: Ints

    @classmethod
    def of(cls, state: GroupState, people: DealtPeople) -> SweepingRoom:
        many, values = people.places.shape[1], len(people.starts) - 1
        return cls(
            goes=np.zeros(many),
            comes=np.zeros(many),
            low=np.zeros(many, dtype=np.int64),
            high=np.zeros(many, dtype=np.int64),
            g_now=np.zeros(many),
            h_now=np.zeros(many),
            looked=np.zeros(len(state.size), dtype=np.int32),
            g_may=np.full(values, -1, dtype=np.int64),
            h_may=np.full(values, -1, dtype=np.int64),
        )


def savings(state: GroupState, people: DealtPeople, columns: DealtColumns, gone: Floats) -> Floats:
    """What suppressing each person would save: her group costs less, she as much as can be."""
    saved = np.zeros(len(state.group))
    _save(state, people, columns, gone, SweepingRoom.of(state, people), saved)
    return saved


@kernel
def _save(
    state: GroupState,
    people: DealtPeople,
    columns: DealtColumns,
    gone: Floats,
    room: SweepingRoom,
    saved: Floats,
) -> None:
    goes, now, low, high = room.goes, room.g_now, room.low, room.high
    for x in range(len(state.group)):
        g = np.int64(state.group[x])
        if g == len(state.size) or state.size[g] < 2:
            continue
        spared = _leaving(state, people, columns, gone, g, x, goes, now, low, high)
        saved[x] = state.width[g] - columns.whole - (state.size[g] - 1) * spared


@inner
def _relabelled(
    state: GroupState,
    columns: DealtColumns,
    gone: Floats,
    g: Int,
    j: Int,
    gives: Int,
    gets: Int,
) -> float:
    """How a LABEL's soft width changes where a code goes and another comes (-1: none)."""
    size, change = state.size[g], 0.0
    then = size - (gives >= 0) + (gets >= 0)
    for r in range(columns.rung_at[j], columns.rung_at[j + 1]):
        top, given, got = state.tops[g, r, 0], np.int64(-1), np.int64(-1)
        odd = size - top
        if gives >= 0:
            given = rung_cell(columns, j, r, gives)
        if gets >= 0:
            got = rung_cell(columns, j, r, gets)
        if given == got:
            break  # and so at every coarser level
        if given >= 0 and state.cells[g, given] == top and state.tops[g, r, 1] == 1:
            top -= 1
        if got >= 0:
            top = max(top, state.cells[g, got] + 1)
        change += columns.rung_cost[r] * (gone[min(odd, SOFT)] - gone[min(then - top, SOFT)])
    return change


@inner
def _leaving(
    state: GroupState,
    people: DealtPeople,
    columns: DealtColumns,
    gone: Floats,
    g: Int,
    x: Int,
    goes: Floats,
    now: Floats,
    low: Ints,
    high: Ints,
) -> float:
    """How the width of g changes without x; by column: the change of a SET, the width that a span
    has, and its ends without her."""
    spared = 0.0
    for j in range(people.places.shape[1]):
        code = np.int64(people.places[x, j])
        if columns.kind[j] == SET:
            having = min(state.cells[g, columns.at[j] + code], SOFT)
            goes[j] = columns.cost[j] * (gone[having] - gone[having - 1])
            spared += goes[j]
        elif columns.kind[j] == LABEL and gone[1] > 0:
            spared += _relabelled(state, columns, gone, g, j, code, np.int64(-1))
        else:
            ends, s = state.ends, columns.span[j]
            low[j], high[j] = ends[g, s, 0], ends[g, s, 3]
            now[j] = span_width(columns, j, low[j], high[j])
            if code == low[j] and ends[g, s, 1] == 1:
                low[j] = ends[g, s, 2]
            if code == high[j] and ends[g, s, 4] == 1:
                high[j] = ends[g, s, 5]
            spared += span_width(columns, j, low[j], high[j]) - now[j]
    return spared


@inner
def _may(
    state: GroupState, people: DealtPeople, rules: Rules, g: Int, gets: Int, gives: Int
) -> bool:
    """Whether a group keeps the rules with one more person and one less (-1: none)."""
    size = state.size[g]
    if gets >= 0:
        size += 1
        count(state, people, g, gets, np.int64(1))
    if gives >= 0:
        size -= 1
        count(state, people, g, gives, np.int64(-1))
    fine = holds(state.counts, g, size, rules)
    if gets >= 0:
        count(state, people, g, gets, np.int64(-1))
    if gives >= 0:
        count(state, people, g, gives, np.int64(1))
    return fine


@inner
def _may_swap(
    state: GroupState,
    people: DealtPeople,
    rules: Rules,
    g: Int,
    gets: Int,
    gives: Int,
    tested: Ints,
    value: Int,
    turn: Int,
) -> bool:
    """The same for a swap of which all but one person's `value` is fixed in this `turn`: by value
    it is tested once."""
    if tested[value] >> 1 != turn:
        tested[value] = turn << 1 | int(_may(state, people, rules, g, gets, gives))
    return bool(tested[value] & 1 == 1)


@by_address
class Stretch(NamedTuple):
    """Whom a sweep visits, in this turn, and what it may do.

    `bars`: what a change may cost at each step. Only groups g with `part[g] == number` are changed.
    `room`: how many may be suppressed here, each for a `price` besides what she costs. As soon as
    `stop[0]` is set it ends. Where `proposals` has room nothing is changed: row i gets the group
    and the partner of the best changes of step i by the rules, and `deltas` what they cost.
    """

    visits: Codes
    bars: Floats
    part: Codes
    number: int
    room: int
    price: float
    stop: Bools
    proposals: Ints
    deltas: Floats


@inner
def _propose(stretch: Stretch, row: Int, slot: Int, h: Int, y: Int, delta: float) -> None:
    """Note a change that is better than those before; of many the last ones stay."""
    place = slot % stretch.proposals.shape[1]
    stretch.proposals[row, place, 0], stretch.proposals[row, place, 1] = h, y
    stretch.deltas[row, place] = delta


def sweep(
    state: GroupState,
    people: DealtPeople,
    columns: DealtColumns,
    rules: Rules,
    orders: Codes,
    positions: Codes,
    gone: Floats,
    stretch: Stretch,
) -> int:
    """Everybody of a stretch once; returns how many changes were made.

    `positions[o, x]` is where order o has person x, `gone[h]` = gamma^h; `soften` went before.
    """
    gain = np.append(gone[:-1] - gone[1:], 0.0)
    room = SweepingRoom.of(state, people)
    changes: int = _sweep(
        state, people, columns, rules, orders, positions, gone, gain, stretch, room
    )
    return changes


@kernel
def _sweep(
    state: GroupState,
    people: DealtPeople,
    columns: DealtColumns,
    rules: Rules,
    orders: Codes,
    positions: Codes,
    gone: Floats,
    gain: Floats,
    stretch: Stretch,
    working: SweepingRoom,
) -> int:
    outside, soft = len(state.size), gone[1] > 0
    total, many, changes = len(state.group), people.places.shape[1], 0
    nobody, room, proposing = np.int64(-1), stretch.room, len(stretch.proposals) > 0
    places, cells, ends = people.places, state.cells, state.ends
    goes, comes, low, high = working.goes, working.comes, working.low, working.high
    g_now, h_now, looked = working.g_now, working.h_now, working.looked
    g_may, h_may, pairs = working.g_may, working.h_may, np.int64(0)
    for step in range(len(stretch.visits)):
        if stretch.stop[0]:
            break
        x = np.int64(stretch.visits[step])
        g = np.int64(state.group[x])
        absent, size, spared, leaves = g == outside, np.int64(0), 0.0, -columns.whole
        if not absent:
            size = state.size[g]
            if size < 2:
                continue
            looked[g] = step + 1
            spared = _leaving(state, people, columns, gone, g, x, goes, g_now, low, high)
            leaves = (size - 1) * spared - state.width[g]
        best, chosen, partner = stretch.bars[step] - 1e-12, np.int64(-1), np.int64(-1)
        g_changes, h_changes, slot, replaced = 0.0, 0.0, 0, False
        may_leave = 1 if absent else -1  # -1: not known yet
        for o in range(orders.shape[0]):
            here = positions[o, x]
            for near in range(max(0, here - REACH), min(total, here + REACH + 1)):
                h = np.int64(state.group[orders[o, near]])
                if h == outside or looked[h] == step + 1 or stretch.part[h] != stretch.number:
                    continue
                looked[h] = step + 1
                pairs += 1
                h_size = state.size[h]
                more = 0.0
                for j in range(many):
                    code = np.int64(places[x, j])
                    if columns.kind[j] == SET:
                        comes[j] = columns.cost[j] * gain[min(cells[h, columns.at[j] + code], SOFT)]
                        more += comes[j]
                    elif soft and columns.kind[j] == LABEL:
                        more += _relabelled(state, columns, gone, h, j, nobody, code)
                    else:
                        s = columns.span[j]
                        first, last = np.int64(ends[h, s, 0]), np.int64(ends[h, s, 3])
                        h_now[j] = span_width(columns, j, first, last)
                        more += span_width(columns, j, min(first, code), max(last, code))
                        more -= h_now[j]
                delta = leaves + (h_size + 1) * more + state.width[h]
                if delta < best and may_leave != 0:
                    if may_leave < 0:
                        may_leave = int(_may(state, people, rules, g, nobody, x))
                    if may_leave == 1 and _may(state, people, rules, h, x, nobody):
                        best, chosen, partner, replaced = delta, h, nobody, False
                        g_changes, h_changes = spared, more
                        if proposing:
                            _propose(stretch, step, slot, h, nobody, delta)
                            slot += 1
                y = np.int64(state.head[h])
                for _ in range(min(RING, h_size)):
                    g_widens, h_widens = 0.0, 0.0
                    for j in range(many):
                        code, own = np.int64(places[y, j]), np.int64(places[x, j])
                        if code == own:
                            continue
                        if columns.kind[j] == SET:
                            cost, cell = columns.cost[j], columns.at[j] + code
                            if not absent:
                                g_widens += goes[j] + cost * gain[min(cells[g, cell], SOFT)]
                            h_widens += comes[j] - cost * gain[min(cells[h, cell], SOFT) - 1]
                        elif soft and columns.kind[j] == LABEL:
                            if not absent:
                                g_widens += _relabelled(state, columns, gone, g, j, own, code)
                            h_widens += _relabelled(state, columns, gone, h, j, code, own)
                        else:
                            if not absent:
                                first, last = min(low[j], code), max(high[j], code)
                                g_widens += span_width(columns, j, first, last) - g_now[j]
                            s = columns.span[j]
                            first, last = np.int64(ends[h, s, 0]), np.int64(ends[h, s, 3])
                            if code == first and ends[h, s, 1] == 1:
                                first = np.int64(ends[h, s, 2])
                            if code == last and ends[h, s, 4] == 1:
                                last = np.int64(ends[h, s, 5])
                            first, last = min(first, own), max(last, own)
                            h_widens += span_width(columns, j, first, last) - h_now[j]
                    delta = size * g_widens + h_size * h_widens
                    v = np.int64(people.value[y])
                    if delta < best and (
                        v == people.value[x]
                        or (
                            (absent or _may_swap(state, people, rules, g, y, x, g_may, v, step))
                            and _may_swap(state, people, rules, h, x, y, h_may, v, pairs)
                        )
                    ):
                        best, chosen, partner, replaced = delta, h, y, False
                        g_changes, h_changes = g_widens, h_widens
                        if proposing:
                            _propose(stretch, step, slot, h, y, delta)
                            slot += 1
                    if room > 0 and not absent:  # y comes instead of x; h is narrower at best
                        delta = size * g_widens - state.width[h] + columns.whole + stretch.price
                        if (
                            delta < min(best, 0.0)
                            and _may_swap(state, people, rules, g, y, x, g_may, v, step)
                            and _may(state, people, rules, h, nobody, y)
                        ):
                            best, chosen, partner, replaced = delta, h, y, True
                            g_changes = g_widens
                    y = np.int64(state.after[y])
                state.head[h] = y
        if room > 0 and not absent and leaves + columns.whole + stretch.price < min(best, 0.0):
            if may_leave < 0:
                may_leave = int(_may(state, people, rules, g, nobody, x))
            if may_leave == 1:
                chosen, partner, g_changes, replaced = np.int64(outside), nobody, spared, False
        if chosen < 0 or proposing:
            continue
        changes += 1
        if absent:
            room += 1 if partner < 0 else 0
        else:
            state.width[g] += g_changes
            leave(state, people, columns, x)
        if chosen == outside or replaced:
            state.group[x] = outside
            room -= 1
            if replaced:
                leave(state, people, columns, partner)
                join(state, people, columns, partner, g)
                state.width[chosen] = soft_width(state, columns, chosen, gone)
            continue
        state.width[chosen] += h_changes
        if partner >= 0:
            leave(state, people, columns, partner)
            if absent:
                state.group[partner] = outside
            else:
                join(state, people, columns, partner, g)
        join(state, people, columns, x, chosen)
    return changes
