"""Compiled: the splits of large tables at medians, where all that is asked is people and values.

For k and distinct l a node is split by the first column, in the order of `Choice`, whose median is
allowed, and so are its parts: here in one go, each node while it is in the processor's cache. What
no median splits is left to `Choice`, which finds it as if it had come there itself, and so is all
that is not plain: nested columns, specials, other criteria. The splits are the same either way.

Stands apart: compiled, and few searches load it.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from sfumato.anonymizers.base import Task
from sfumato.anonymizers.mondrian.choose_split import Choice
from sfumato.anonymizers.mondrian.partition import Nodes, TupleRows
from sfumato.compiled import kernel
from sfumato.criteria.diversity import DistinctDiversity
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.numbers import Bools, Codes, Floats, Ints

_PARTS = 16  # that a table is cut into one after another, before they are side by side
_DEEP = 1024  # nodes that wait at a time; nobody has seen more than a few dozen

Leaves = tuple[Ints, Ints, Codes, Codes]


def asked(task: Task) -> tuple[int, int] | None:
    """How many people and how many values every group needs; None where more is asked."""
    counts = task.table.counts.in_memory("Mondrian")
    people = values = 1
    for criterion in task.searched:
        if type(criterion) is KAnonymity and not criterion.of_some_columns:
            people = max(people, criterion.k)
        elif type(criterion) is DistinctDiversity and not criterion.joint:
            values = max(values, criterion.l)
        else:
            return None
    plain = counts.owner is None and len(counts.sensitive) == 1
    return (people, values) if plain and counts.sensitive[0].sets is None else None


def split_at_medians(choice: Choice, root: Nodes, people: int, values: int) -> Nodes:
    """The nodes that no median splits, each a run of rows again."""
    columns = choice.columns
    if columns.nested.any() or (columns.last >= 0).any():
        return root
    tables = choice.axes()
    rows = root.rows
    moved = (rows.codes.copy(), rows.n.copy(), rows.values[0].copy(), np.arange(len(rows.n)))
    needs = np.array([people, values, max(2, 2 * choice.safety.least)])
    width = int(rows.values.max(initial=0)) + 1

    def split(node: tuple[Any, ...], small: int) -> Leaves:
        given: tuple[Any, ...] = (*moved, *tables, columns.own, columns.own_at, *node)
        leaves: Leaves = _split(*(*given, small, needs, width))
        return leaves

    small = len(rows.n) // _PARTS
    ends = zip(root.starts.tolist(), root.stops.tolist(), root.low, root.high, strict=True)
    large = [split(node, small) for node in ends]
    parts = [node for leaves in large for node in zip(*leaves, strict=True)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        small_leaves = list(pool.map(lambda node: split(node, 0), parts))
    starts, stops, low, high = (
        np.concatenate(arrays) for arrays in zip(*small_leaves, strict=True)
    )
    codes, n, value, order = moved
    laid_out = TupleRows(
        rows.tuples[:0], codes, n, value[None, :], rows.target[:0], rows.target_width
    )
    by_place = np.argsort(starts)
    return Nodes(
        laid_out,
        root.place.take(order),
        starts[by_place],
        stops[by_place],
        low[by_place],
        high[by_place],
    )


@kernel
def _split(
    codes: Codes,
    n: Ints,
    value: Codes,
    order: Ints,
    below: Floats,
    above: Floats,
    span: Floats,
    reach: Floats,
    weight: Floats,
    own: Bools,
    own_at: Ints,
    start: int,
    stop: int,
    low: Codes,
    high: Codes,
    small: int,
    needs: Ints,
    width: int,
) -> Leaves:
    """Split the rows from `start` to `stop`, whose cell is `low` to `high`; rows are moved.

    Nodes of at most `small` rows are left as they are.
    """
    columns = codes.shape[1]
    spare_codes = np.empty((stop - start, columns), np.int32)
    spare = np.empty((3, stop - start), np.int64)
    ends = np.empty((_DEEP, 2), np.int64)
    cells = np.empty((_DEEP, 2, columns), np.int32)
    room = 64
    leaf_ends, leaf_cells = np.empty((room, 2), np.int64), np.empty((room, 2, columns), np.int32)
    leaves, waiting = 0, 1
    ends[0, 0], ends[0, 1] = start, stop
    for c in range(columns):
        cells[0, 0, c], cells[0, 1, c] = low[c], high[c]
    most = 1
    for c in range(columns):
        most = max(most, reach[c] + 1)
    people = np.zeros(np.int64(most) + 1, np.int64)
    seen, stamp = np.zeros((2, width), np.int64), 0
    least, greatest = np.empty(columns, np.int64), np.empty(columns, np.int64)
    priority, ranking = np.empty(columns, np.float64), np.empty(columns, np.int64)
    while waiting > 0:
        waiting -= 1
        first, last = ends[waiting, 0], ends[waiting, 1]
        everybody = 0
        for row in range(first, last):
            everybody += n[row]
        best_column, best_cut = -1, 0
        if everybody >= needs[2] and last - first > small and waiting + 2 <= _DEEP:
            for c in range(columns):
                least[c] = greatest[c] = codes[first, c]
            for row in range(first, last):
                for c in range(columns):
                    code = codes[row, c]
                    least[c], greatest[c] = min(least[c], code), max(greatest[c], code)
            for c in range(columns):
                wide = 0.0
                if greatest[c] > least[c]:
                    at = own_at[c]
                    wide = (above[at + greatest[c]] - below[at + least[c]]) / span[c]
                    if np.isnan(wide):
                        wide = (greatest[c] - least[c]) / reach[c]
                priority[c] = wide * weight[c]
                place = c
                while place > 0 and priority[ranking[place - 1]] < priority[c]:
                    ranking[place] = ranking[place - 1]
                    place -= 1
                ranking[place] = c
            for attempt in range(columns):
                c = ranking[attempt]
                if least[c] == greatest[c]:
                    continue
                kinds = greatest[c] - least[c] + 1
                if kinds > 8 * (last - first) + 64:
                    break  # few rows of many values: `Choice` sorts them
                for place in range(kinds):
                    people[place] = 0
                for row in range(first, last):
                    people[codes[row, c] - least[c]] += n[row]
                left, best, cut, fewer = 0, np.int64(-1), 0, 0
                for place in range(kinds - 1):
                    left += people[place]
                    away = abs(2 * left - everybody)
                    if own[own_at[c] + least[c] + place]:
                        away += 2 * everybody
                    if best < 0 or away < best:
                        best, cut, fewer = away, least[c] + place, left
                if min(fewer, everybody - fewer) < needs[0]:
                    continue
                stamp += 1
                different_left = different_right = 0
                for row in range(first, last):
                    side = 1 if codes[row, c] > cut else 0
                    if seen[side, value[row]] != stamp:
                        seen[side, value[row]] = stamp
                        different_left += 1 - side
                        different_right += side
                if min(different_left, different_right) >= needs[1]:
                    best_column, best_cut = c, cut
                    break
        if best_column < 0:
            if leaves == room:
                more_ends = np.empty((2 * room, 2), np.int64)
                more_cells = np.empty((2 * room, 2, columns), np.int32)
                for leaf in range(room):
                    for side in range(2):
                        more_ends[leaf, side] = leaf_ends[leaf, side]
                        for c in range(columns):
                            more_cells[leaf, side, c] = leaf_cells[leaf, side, c]
                leaf_ends, leaf_cells, room = more_ends, more_cells, 2 * room
            for side in range(2):
                leaf_ends[leaves, side] = ends[waiting, side]
                for c in range(columns):
                    leaf_cells[leaves, side, c] = cells[waiting, side, c]
            leaves += 1
            continue
        at, aside = first, 0
        for row in range(first, last):  # rows of either side stay in their order
            if codes[row, best_column] <= best_cut:
                for c in range(columns):
                    codes[at, c] = codes[row, c]
                n[at], value[at], order[at] = n[row], value[row], order[row]
                at += 1
            else:
                for c in range(columns):
                    spare_codes[aside, c] = codes[row, c]
                spare[0, aside], spare[1, aside] = n[row], value[row]
                spare[2, aside] = order[row]
                aside += 1
        for row in range(aside):
            for c in range(columns):
                codes[at + row, c] = spare_codes[row, c]
            n[at + row], value[at + row] = spare[0, row], spare[1, row]
            order[at + row] = spare[2, row]
        # The right part takes the place of its node, the left one comes next.
        for side in range(2):
            for c in range(columns):
                cells[waiting + 1, side, c] = cells[waiting, side, c]
        bound = cells[waiting, 1, best_column]
        cells[waiting + 1, 1, best_column] = min(best_cut, bound)
        cells[waiting, 0, best_column] = best_cut + 1
        ends[waiting, 0], ends[waiting, 1] = at, last
        ends[waiting + 1, 0], ends[waiting + 1, 1] = first, at
        waiting += 2
    return (
        leaf_ends[:leaves, 0].copy(),
        leaf_ends[:leaves, 1].copy(),
        leaf_cells[:leaves, 0].copy(),
        leaf_cells[:leaves, 1].copy(),
    )
