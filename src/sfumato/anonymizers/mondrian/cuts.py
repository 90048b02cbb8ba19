"""Compiled: every cut of a node that is no median, what its two sides would hold, and what a split
tells about a target.

It stands apart from `splits.py`, which it builds on: few searches come here (those in which no
median is allowed, and those with a target), and both together are more than a file should hold.
"""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from sfumato.anonymizers.mondrian import splits
from sfumato.numbers import Bools, Codes, Ints


@nb.njit(cache=True, nogil=True)
def by_code(codes: Codes) -> tuple[Ints, Codes, Ints]:
    """Rows ordered by code, the distinct codes, and where each begins; counted where that pays."""
    low, high = codes.min(), codes.max()
    reach = np.int64(high) - low + 1
    if reach > 8 * len(codes) + 64:
        order = np.argsort(codes)
        new = np.ones(len(codes), np.bool_)
        for place in range(1, len(codes)):
            new[place] = codes[order[place]] != codes[order[place - 1]]
        begins = np.append(np.flatnonzero(new), len(codes))
        return order, codes[order[begins[:-1]]], begins
    rows = np.zeros(reach + 1, np.int64)
    for row in range(len(codes)):
        rows[codes[row] - low + 1] += 1
    present = np.flatnonzero(rows[1:])
    ends = np.cumsum(rows)
    begins = np.append(ends[present], len(codes))
    free = ends.copy()
    order = np.empty(len(codes), np.int64)
    for row in range(len(codes)):
        order[free[codes[row] - low]] = row
        free[codes[row] - low] += 1
    return order, (present + low).astype(np.int32), begins


@nb.njit(cache=True, nogil=True)
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
    node_of = [np.int64(0) for _ in range(0)]
    column_of = [np.int32(0) for _ in range(0)]
    cut_of = [np.int32(0) for _ in range(0)]
    away_of = [np.int64(0) for _ in range(0)]
    for node in range(len(starts)):
        start, stop = starts[node], stops[node]
        everybody = n[start:stop].sum()
        if everybody < 2 * least:
            continue
        for column in range(codes.shape[1]):
            if nested[column] != 0:
                continue
            order, present, begins = by_code(codes[start:stop, column])
            beside = present[0] <= last[column] < present[-1]
            kinds = np.searchsorted(present, last[column] + 1) if beside else len(present)
            having, needed = everybody, least
            if beside:
                needed = warranted
                for place in range(begins[kinds], begins[len(present)]):
                    having -= n[start + order[place]]
            for side in range(2 if beside else 1):
                left = 0
                for one in range(kinds - 1):
                    for place in range(begins[one], begins[one + 1]):
                        left += n[start + order[place]]
                    below, above = present[one], present[one + 1]
                    code = np.int32(splits.told_best(own, own_at[column], below, above))
                    away = abs(2 * left - having)
                    if own[own_at[column] + code]:
                        away += 2 * having
                    if code != tried[node, column] and left >= needed and having - left >= needed:
                        node_of.append(np.int64(node))
                        column_of.append(code * 0 + np.int32(column))
                        bound = code if side == 0 else splits.with_specials(int(code))
                        cut_of.append(np.int32(bound))
                        away_of.append(away)
    return (
        np.array(node_of, np.int64),
        np.array(column_of, np.int32),
        np.array(cut_of, np.int32),
        np.array(away_of, np.int64),
    )


@nb.njit(cache=True, nogil=True)
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
    filled = 0
    first = 0
    while first < total:
        last = first
        end = ends[column[first]]
        specials_left = splits.takes_specials(cut[first])
        while (
            last < total
            and node[last] == node[first]
            and column[last] == column[first]
            and splits.takes_specials(cut[last]) == specials_left
        ):
            last += 1
        start, stop = starts[node[first]], stops[node[first]]
        for row in range(start, stop):
            if single:
                whole[value[row]] += n[row]
            else:
                for listed in range(offsets[value[row]], offsets[value[row] + 1]):
                    whole[members[listed]] += n[row]
        shown = np.flatnonzero(whole)  # few of a wide domain's values are in one node
        everybody = n[start:stop].sum()
        order, present, begins = by_code(codes[start:stop, column[first]])
        on_left = 0
        valued = np.searchsorted(present, end + 1)  # the specials are the last that are present
        one = valued - len(present) if specials_left else 0  # from -1 backwards: the specials
        for at in range(first, last):
            bound = splits.up_to(cut[at])
            while one < len(present) and (one < 0 or present[one] <= bound):
                kind = one if one >= 0 else len(present) + one
                for place in range(begins[kind], begins[kind + 1]):
                    row = start + order[place]
                    on_left += n[row]
                    if single:
                        left[value[row]] += n[row]
                    else:
                        for listed in range(offsets[value[row]], offsets[value[row] + 1]):
                            left[members[listed]] += n[row]
                one += 1
            for side in range(2):
                for code in shown:
                    having = left[code] if side == 0 else whole[code] - left[code]
                    if having > 0:
                        indices[filled] = code
                        data[filled] = having
                        filled += 1
                indptr[2 * at + side + 1] = filled
                people[2 * at + side] = on_left if side == 0 else everybody - on_left
        whole[shown] = 0
        left[shown] = 0
        first = last
    return indptr, indices[:filled].copy(), data[:filled].copy(), people


@nb.njit(cache=True, nogil=True)
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
        for one in range(parts[node]):
            people = table[one].sum()
            for value in range(width):
                having = table[one, value]
                if having > 0:
                    gains[node] += having / everybody * np.log(having / people)
    return gains
