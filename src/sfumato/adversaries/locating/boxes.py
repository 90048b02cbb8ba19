"""Which boxes is a point in? A k-d tree over the groups of a release, compiled.

Each group is a box of classes (`alike.py`), a run of them in every column. A node of the tree cuts
one column in two; a box that the cut crosses goes to both sides, so a point walks down a single
path and tests only the boxes of one leaf. Mondrian's cells and the groups of a lattice node always
have a cut that crosses nothing, so few are copied and paths are short. Where boxes overlap, cuts
that would copy too many are not made: a tree never holds more than a fixed multiple of them.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from sfumato.counts.counts import Ints

LEAF = 8  # boxes that are tested one by one rather than cut further
COPIES = 16  # how many times as many boxes a tree may hold as there are
_NODE = 4  # column or -1, then cut, left, right, or first and last item


@nb.njit(cache=True)
def _best_cut(
    low: Ints, high: Ints, items: Ints, begins: Ints, ends: Ints
) -> tuple[int, int, int, int]:
    """The column and class to cut at, how many boxes that copies, and how many its larger side has.

    Left of a cut is whatever begins before its class, right what does not end before it. Moving a
    cut up to where the next box begins only ever sheds copies, so no other cut is tried. The best
    has the smallest larger side, copies counted on top; column -1 if none helps.
    """
    n = len(items)
    best, column, place, copies, most = n, -1, 0, 0, n
    for c in range(low.shape[0]):
        first, last = low[c, items[0]], high[c, items[0]]
        for i in items:
            first = min(first, low[c, i])
            last = max(last, high[c, i])
        width = last - first + 1
        if width > 8 * n:  # few boxes far apart
            lows, highs = np.sort(low[c][items]), np.sort(high[c][items])
            ended = 0
            for begun in range(1, n):
                if lows[begun] == lows[begun - 1]:
                    continue
                while highs[ended] < lows[begun]:
                    ended += 1
                larger, twice = max(begun, n - ended), begun - ended
                if larger + twice < best:
                    best, column, place = larger + twice, c, lows[begun]
                    copies, most = twice, larger
            continue
        begins[:width] = 0
        ends[:width] = 0
        for i in items:
            begins[low[c, i] - first] += 1
            ends[high[c, i] - first] += 1
        begun, ended = 0, 0
        for v in range(1, width):
            begun += begins[v - 1]
            ended += ends[v - 1]
            if begins[v] == 0:
                continue
            larger, twice = max(begun, n - ended), begun - ended
            if larger + twice < best:
                best, column, place, copies, most = larger + twice, c, first + v, twice, larger
    return column, place, copies, most


@nb.njit(cache=True)
def build(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """The tree over boxes `low[c, g]..high[c, g]`: its nodes, and the boxes of its leaves."""
    total = low.shape[1]
    begins, ends = np.zeros(8 * total + 1, np.int64), np.zeros(8 * total + 1, np.int64)
    nodes = np.empty((64, _NODE), np.int64)
    used, filled, held = 1, 0, total
    items = np.empty(max(total, 1), np.int64)
    # Nodes wait in the order they were made, so that the allowance for copies is shared evenly.
    waiting = [np.arange(total)]
    at = 0
    while at < len(waiting):
        mine = waiting[at]
        n = len(mine)
        column, place, copies = -1, 0, 0
        if n > LEAF:
            column, place, copies, larger = _best_cut(low, high, mine, begins, ends)
            crowded = held + copies > COPIES * total + 1024
            if column >= 0 and (larger > n - n // 8 or (copies > 0 and crowded)):
                column = -1
        if column < 0:
            while filled + n > len(items):
                items = np.concatenate((items, np.empty(len(items), np.int64)))
            items[filled : filled + n] = mine
            nodes[at, 0], nodes[at, 1], nodes[at, 2], nodes[at, 3] = -1, 0, filled, filled + n
            filled += n
        else:
            held += copies
            left = mine[low[column][mine] < place]
            right = mine[high[column][mine] >= place]
            while used + 2 > len(nodes):
                nodes = np.concatenate((nodes, np.empty((len(nodes), _NODE), np.int64)))
            nodes[at, 0], nodes[at, 1] = column, place
            nodes[at, 2], nodes[at, 3] = used, used + 1
            used += 2
            waiting.append(left)
            waiting.append(right)
        waiting[at] = mine[:0]
        at += 1
    return nodes[:used], items[:filled]


@nb.njit(cache=True)
def _contains(
    low: Ints,
    high: Ints,
    gap: Ints,
    offsets: Ints,
    listed: Ints,
    box: int,
    point: Ints,
) -> bool:
    for c in range(len(point)):
        if point[c] < low[c, box] or point[c] > high[c, box]:
            return False
        if gap[c, box] >= 0:
            start, stop = offsets[gap[c, box]], offsets[gap[c, box] + 1]
            place = start + np.searchsorted(listed[start:stop], point[c])
            if place == stop or listed[place] != point[c]:
                return False
    return True


@nb.njit(cache=True, nogil=True)
def search(
    nodes: Ints,
    items: Ints,
    low: Ints,
    high: Ints,
    gap: Ints,
    offsets: Ints,
    listed: Ints,
    points: Ints,
) -> tuple[Ints, Ints]:
    """The boxes of each point `points[:, i]`: `boxes[indptr[i]:indptr[i + 1]]`, ascending."""
    total = points.shape[1]
    indptr = np.zeros(total + 1, np.int64)
    boxes = np.empty(max(total, 16), np.int64)
    found = 0
    point = np.empty(points.shape[0], np.int64)
    for i in range(total):
        known = True
        for c in range(len(point)):
            point[c] = points[c, i]
            known = known and point[c] >= 0
        if known:
            node = 0
            while nodes[node, 0] >= 0:
                node = nodes[node, 2 if point[nodes[node, 0]] < nodes[node, 1] else 3]
            start, stop = nodes[node, 2], nodes[node, 3]
            while found + stop - start > len(boxes):
                boxes = np.concatenate((boxes, np.empty(len(boxes), np.int64)))
            for place in range(start, stop):
                if _contains(low, high, gap, offsets, listed, items[place], point):
                    boxes[found] = items[place]
                    found += 1
        indptr[i + 1] = found
    return indptr, boxes[:found].copy()
