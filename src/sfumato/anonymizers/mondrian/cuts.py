"""Compiled: every cut of a node that is no median, what its two sides would hold, and what a split
tells about a target.

Stands apart: compiled code, which `steps.py` loads where rows are many. Few searches come here
(those in which no median is allowed, and those with a target), and together with `splits.py`, which
it builds on, it would be more than a file should hold.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.anonymizers.mondrian import splits
from sfumato.compiled import inner, kernel
from sfumato.numbers import Bools, Codes, Ints


@inner
def by_code(codes: Codes) -> tuple[Ints, Codes, Ints]:
    """Rows ordered by code, the distinct codes, and where each begins; counted where that pays."""
    total, kinds = len(codes), 0
    present, begins = np.empty(total, np.int32), np.empty(total + 1, np.int64)
    low = high = codes[0]
    for row in range(1, total):
        low, high = min(low, codes[row]), max(high, codes[row])
    reach = np.int64(high) - low + 1
    if reach > 8 * total + 64:
        order = splits.sorted_rows(codes)
        for place in range(total):
            code = codes[order[place]]
            if place == 0 or code != present[kinds - 1]:
                present[kinds], begins[kinds] = code, place
                kinds += 1
    else:
        order, free = np.empty(total, np.int64), np.zeros(reach + 1, np.int64)
        for row in range(total):
            free[codes[row] - low + 1] += 1
        for place in range(reach):
            if free[place + 1] > 0:
                present[kinds], begins[kinds] = low + place, free[place]
                kinds += 1
            free[place + 1] += free[place]
        for row in range(total):
            order[free[codes[row] - low]] = row
            free[codes[row] - low] += 1
    begins[kinds] = total
    return order, present[:kinds], begins[: kinds + 1]


@inner
def values_among(present: Codes, last: int) -> int:
    """How many of the codes, ascending, are of values: those up to `last`."""
    kinds = 0
    while kinds < len(present) and present[kinds] <= last:
        kinds += 1
    return kinds


def all_cuts(
    codes: Codes,
    n: Ints,
    starts: Ints,
    stops: Ints,
    nested: Codes,
    least: int,
    warranted: int,
    tried: Codes,
    last: Codes,
    own: Bools,
    own_at: Ints,
) -> tuple[Ints, Codes, Codes, Ints]:
    """Every other cut of ordered columns that leaves `least` people on both sides.

    Returns node, column, cut and how far from half it is, cuts of a column ascending;
    `tried[node, column]` is left out. Where a node has specials beside values, they go right or
    left, and `warranted` people with a value are on both sides.
    """
    cuts = _all_cuts(codes, n, starts, stops, nested, least, warranted, tried, last, own, own_at)
    return cuts[0], cuts[1].astype(np.int32), cuts[2].astype(np.int32), cuts[3]


@kernel
def _all_cuts(
    codes: Codes,
    n: Ints,
    starts: Ints,
    stops: Ints,
    nested: Codes,
    least: int,
    warranted: int,
    tried: Codes,
    last: Codes,
    own: Bools,
    own_at: Ints,
) -> Ints:
    """Node, column, cut and how far from half: a row each."""
    out, filled = np.empty((4, 256), np.int64), 0
    for node in range(len(starts)):
        start, stop = starts[node], stops[node]
        everybody = 0
        for row in range(start, stop):
            everybody += n[row]
        if everybody < 2 * least:
            continue
        for column in range(codes.shape[1]):
            if nested[column] != 0:
                continue
            order, present, begins = by_code(codes[start:stop, column])
            beside = present[0] <= last[column] < present[-1]
            kinds = values_among(present, last[column]) if beside else len(present)
            having, needed = everybody, least
            if beside:
                needed = warranted
                for place in range(begins[kinds], begins[len(present)]):
                    having -= n[start + order[place]]
            for side in range(2 if beside else 1):
                left = 0
                for kind in range(kinds - 1):
                    for place in range(begins[kind], begins[kind + 1]):
                        left += n[start + order[place]]
                    below, above = present[kind], present[kind + 1]
                    code = splits.told_best(own, own_at[column], below, above)
                    away = abs(2 * left - having)
                    if own[own_at[column] + code]:
                        away += 2 * having
                    if code == tried[node, column] or left < needed or having - left < needed:
                        continue
                    if filled == out.shape[1]:
                        wider = np.empty((4, 2 * filled), np.int64)
                        for row in range(4):
                            for place in range(filled):
                                wider[row, place] = out[row, place]
                        out = wider
                    out[0, filled], out[1, filled] = node, column
                    out[2, filled] = code if side == 0 else splits.with_specials(code)
                    out[3, filled] = away
                    filled += 1
    return out[:, :filled]


@kernel
def sides(
    codes: Codes,
    n: Ints,
    starts: Ints,
    stops: Ints,
    node: Ints,
    column: Codes,
    cut: Codes,
    value: Codes,
    offsets: Ints,
    members: Codes,
    width: int,
    ends: Codes,
) -> tuple[Ints, Codes, Ints, Ints]:
    """The sensitive counts of both sides of every cut, sparse, and the people of each side.

    Cut i of node `node[i]` goes between codes up to `cut[i]` and those above; the cuts of a node
    and column stand together, ascending. Left sides are 0, 2, 4, ..., right ones 1, 3, 5, ... One
    sweep over the node's rows serves all cuts of a column. `offsets`, `members`: see splits.cells;
    `ends`: the last code of a value, by column.
    """
    single = len(offsets) == 0
    total = len(node)
    room = most = 0
    for at in range(total):
        if at == 0 or node[at] != node[at - 1]:
            most = 0
            for row in range(starts[node[at]], stops[node[at]]):
                most += 1 if single else offsets[value[row] + 1] - offsets[value[row]]
        room += 2 * (most if most < width else width)
    indptr = np.zeros(2 * total + 1, np.int64)
    indices = np.empty(room, np.int32)
    data = np.empty(room, np.int64)
    people = np.zeros(2 * total, np.int64)
    whole, left = np.zeros(width, np.int64), np.zeros(width, np.int64)
    values_here = np.empty(width, np.int32)  # few of a wide domain's values are in one node
    filled = 0
    first = 0
    while first < total:
        last = first
        end = ends[column[first]]
        specials_left = splits.bound_takes_specials(cut[first])
        while (
            last < total
            and node[last] == node[first]
            and column[last] == column[first]
            and splits.bound_takes_specials(cut[last]) == specials_left
        ):
            last += 1
        start, stop = starts[node[first]], stops[node[first]]
        everybody = many = 0
        for row in range(start, stop):
            everybody += n[row]
            if single:
                whole[value[row]] += n[row]
            else:
                for listed in range(offsets[value[row]], offsets[value[row] + 1]):
                    whole[members[listed]] += n[row]
        for code in range(width):
            if whole[code] > 0:
                values_here[many] = code
                many += 1
        order, present, begins = by_code(codes[start:stop, column[first]])
        on_left = 0
        valued = values_among(present, end)  # the specials are the last that are present
        position = valued - len(present) if specials_left else 0  # from -1 backwards: the specials
        for at in range(first, last):
            bound = splits.bound_up_to(cut[at])
            while position < len(present) and (position < 0 or present[position] <= bound):
                kind = position if position >= 0 else len(present) + position
                for place in range(begins[kind], begins[kind + 1]):
                    row = start + order[place]
                    on_left += n[row]
                    if single:
                        left[value[row]] += n[row]
                    else:
                        for listed in range(offsets[value[row]], offsets[value[row] + 1]):
                            left[members[listed]] += n[row]
                position += 1
            for side in range(2):
                for kind in range(many):
                    code = values_here[kind]
                    having = left[code] if side == 0 else whole[code] - left[code]
                    if having > 0:
                        indices[filled] = code
                        data[filled] = having
                        filled += 1
                indptr[2 * at + side + 1] = filled
                people[2 * at + side] = on_left if side == 0 else everybody - on_left
        for kind in range(many):
            whole[values_here[kind]] = left[values_here[kind]] = 0
        first = last
    return indptr, indices[:filled].copy(), data[:filled].copy(), people


@kernel
def entropy_gain(
    part: Codes, parts: Codes, starts: Ints, stops: Ints, n: Ints, target: Codes, width: int
) -> npt.NDArray[np.float64]:
    """How much a split would tell about a target column, in nats per person."""
    gains = np.zeros(len(starts))
    for node in range(len(starts)):
        if parts[node] < 2:
            gains[node] = -1.0
            continue
        table = np.zeros((parts[node], width))
        for row in range(starts[node], stops[node]):
            table[part[row], target[row]] += n[row]
        everybody = table.sum()
        whole = table.sum(axis=0)
        for value in range(width):
            if whole[value] > 0:
                gains[node] -= whole[value] / everybody * np.log(whole[value] / everybody)
        for side in range(parts[node]):
            people = table[side].sum()
            for value in range(width):
                having = table[side, value]
                if having > 0:
                    gains[node] += having / everybody * np.log(having / people)
    return gains
