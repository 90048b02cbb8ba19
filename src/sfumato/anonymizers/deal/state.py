"""Groups as sweeps change them, compiled: who is where, counts, values, ends, what they cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.anonymizers.deal.cut_tree import NOBODY, span_width
from sfumato.anonymizers.deal.people import LABEL, SET, DealtColumns, DealtPeople
from sfumato.compiled import Int, by_address, inner, kernel
from sfumato.numbers import Bools, Codes, Floats, Ints

SOFT = 96  # more people than this have a value as surely as can be


@by_address
class GroupState(NamedTuple):
    """Groups as sweeps change them; who is in none has their number for a group.

    `cells`: how many people have each value of a SET, each label of a rung. `tops[g, r]`: how many
    have the most frequent label of a rung, and how many labels so many people have. `ends[g, s]`:
    the lowest code of a span, how many have it, the next lowest, and the same from above. `after`
    and `before` link the people of a group to a ring, `head` is where the next look at it begins.
    `width` is the soft width.
    """

    group: Codes
    size: Ints
    counts: Codes
    cells: Codes
    tops: Codes
    ends: Codes
    width: Floats
    after: Codes
    before: Codes
    head: Codes


def state_of(group: Codes, people: DealtPeople, columns: DealtColumns) -> GroupState:
    """The state in which everybody is in this group, -1: in none; every group has somebody."""
    total = int(group.max()) + 1
    state = GroupState(
        np.where(group < 0, total, group).astype(np.int32),
        np.zeros(total, np.int64),
        np.zeros((total, people.width), np.int32),
        np.zeros((total, columns.cells), np.int32),
        np.zeros((total, len(columns.rungs), 2), np.int32),
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


@inner
def count(state: GroupState, people: DealtPeople, g: Int, x: Int, times: Int) -> None:
    """Add a person's values to a group's counts, so many times."""
    v = people.value[x]
    for place in range(people.starts[v], people.starts[v + 1]):
        state.counts[g, people.adds[place]] += times


@kernel
def _fill(state: GroupState, people: DealtPeople, columns: DealtColumns) -> None:
    for x in range(len(state.group)):
        if state.group[x] < len(state.size):
            join(state, people, columns, x, np.int64(state.group[x]))


@inner
def join(state: GroupState, people: DealtPeople, columns: DealtColumns, x: Int, g: Int) -> None:
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
    count(state, people, g, x, np.int64(1))
    for j in range(people.places.shape[1]):
        code = np.int64(people.places[x, j])
        if columns.kind[j] == SET:
            state.cells[g, columns.at[j] + code] += 1
            continue
        _widen(state.ends, g, np.int64(columns.span[j]), code)
        for r in range(columns.rung_at[j], columns.rung_at[j + 1]):
            cell, tops = rung_cell(columns, j, r, code), state.tops
            state.cells[g, cell] += 1
            if state.cells[g, cell] > tops[g, r, 0]:
                tops[g, r, 0], tops[g, r, 1] = state.cells[g, cell], 1
            elif state.cells[g, cell] == tops[g, r, 0]:
                tops[g, r, 1] += 1


@inner
def rung_cell(columns: DealtColumns, j: Int, r: Int, code: Int) -> np.int64:
    """The cell that counts a code's label at a rung."""
    label = columns.labels[columns.at[j] + columns.rungs[r, 0] * columns.size[j] + code]
    return np.int64(columns.rungs[r, 1] + label)


@inner
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


@inner
def leave(state: GroupState, people: DealtPeople, columns: DealtColumns, x: Int) -> None:
    """Take a person out of her group; one who was alone there changes places with somebody."""
    g = np.int64(state.group[x])
    state.size[g] -= 1
    last, following = state.before[x], state.after[x]
    state.after[last], state.before[following] = following, last
    if state.head[g] == x:
        state.head[g] = following if state.size[g] > 0 else -1
    count(state, people, g, x, np.int64(-1))
    for j in range(people.places.shape[1]):
        code = np.int64(people.places[x, j])
        if columns.kind[j] == SET:
            state.cells[g, columns.at[j] + code] -= 1
            continue
        for r in range(columns.rung_at[j], columns.rung_at[j + 1]):
            cell, tops = rung_cell(columns, j, r, code), state.tops
            state.cells[g, cell] -= 1
            if state.cells[g, cell] + 1 == tops[g, r, 0]:
                tops[g, r, 1] -= 1
                if tops[g, r, 1] == 0:
                    tops[g, r, 0] -= 1
                    first = columns.rungs[r, 1]
                    for place in range(first, first + columns.rungs[r, 2]):
                        tops[g, r, 1] += state.cells[g, place] == tops[g, r, 0]
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


@inner
def soft_width(state: GroupState, columns: DealtColumns, g: Int, gone: Floats) -> float:
    """The width of a group, where `gone[h]` = gamma^h."""
    width = 0.0
    for j in range(len(columns.kind)):
        if columns.kind[j] == SET:
            further = -1.0
            for cell in range(columns.at[j], columns.at[j] + columns.size[j]):
                further += 1.0 - gone[min(state.cells[g, cell], SOFT)]
            width += columns.cost[j] * further
        elif columns.kind[j] == LABEL and gone[1] > 0:
            for r in range(columns.rung_at[j], columns.rung_at[j + 1]):
                odd = min(state.size[g] - state.tops[g, r, 0], SOFT)
                width += columns.rung_cost[r] * (1.0 - gone[odd])
        else:
            span = columns.span[j]
            low, high = np.int64(state.ends[g, span, 0]), np.int64(state.ends[g, span, 3])
            width += span_width(columns, j, low, high)
    return width


@kernel
def _measure(state: GroupState, columns: DealtColumns, gone: Floats, widths: Floats) -> None:
    for g in range(len(widths)):
        widths[g] = soft_width(state, columns, g, gone)


def true_cost(state: GroupState, columns: DealtColumns) -> float:
    """People times width, over all groups and those who are in none."""
    widths, gone = np.zeros(len(state.size)), np.zeros(SOFT + 1)
    gone[0] = 1.0
    _measure(state, columns, gone, widths)
    absent = len(state.group) - int(state.size.sum())
    # One after the other: numpy.sum rounds otherwise, and of two equal groupings the first is kept.
    return float(np.cumsum(np.append(state.size * widths, absent * columns.whole))[-1])


def soften(state: GroupState, columns: DealtColumns, gone: Floats) -> None:
    """The widths of all groups as `gone` has them: before a sweep."""
    _measure(state, columns, gone, state.width)


@kernel
def change(
    state: GroupState,
    people: DealtPeople,
    columns: DealtColumns,
    gone: Floats,
    movers: Ints,
    groups: Ints,
    partners: Ints,
) -> None:
    """Move people to groups; a partner (-1: none) comes instead. Who is in no group, or comes to
    none, has the number after the last one."""
    outside = len(state.size)
    for i in range(len(movers)):
        x, h, y = movers[i], groups[i], partners[i]
        g = np.int64(state.group[x])
        if g < outside:
            leave(state, people, columns, x)
        if y >= 0:
            leave(state, people, columns, y)
            if g < outside:
                join(state, people, columns, y, g)
            else:
                state.group[y] = outside
        if h < outside:
            join(state, people, columns, x, h)
            state.width[h] = soft_width(state, columns, h, gone)
        else:
            state.group[x] = outside
        if g < outside:
            state.width[g] = soft_width(state, columns, g, gone)


@kernel
def once_each(gives: Ints, gets: Ints, groups: Int) -> Bools:
    """Of changes in the order in which they are wanted those whose groups none before touches."""
    touched, kept = np.zeros(groups, np.bool_), np.zeros(len(gives), np.bool_)
    for i in range(len(gives)):
        if not touched[gives[i]] and not touched[gets[i]]:
            touched[gives[i]] = touched[gets[i]] = kept[i] = True
    return kept
