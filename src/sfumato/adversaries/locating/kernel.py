"""Which boxes is a point in, and which centroids are nearest? Two k-d trees, compiled.

Each group is a box of classes (`boxes.py`), a run of them in every column. A node of the
tree cuts one column in two; a box that the cut crosses goes to both sides, so a point walks down a
single path and tests only the boxes of one leaf. Mondrian's cells and the groups of a lattice node
always have a cut that crosses nothing, so few are copied and paths are short. Where boxes overlap,
cuts that would copy too many are not made: a tree never holds more than a fixed multiple of them.

Compiled; its compiler loads slowly and most commands need none of it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sfumato.compiled import inner, kernel, sort_numbers, with_room
from sfumato.numbers import Codes, Floats, Ints, ShortCodes, fraction, offsets_of

# The nearest centroids of a point, all ties included: a k-d tree, compiled.
#
# Distances are Euclidean over columns of given scales. The compiled search returns every centroid
# within a hair of the nearest; which of those are really equally near is decided in fractions,
# since a tie that rounding hides would put a person into one group where she may be in two.

CENTROID_LEAF = 16
_HAIR = 1e-9
_CENTROID_NODE = 4  # column or -1, left and right or first and last


def nearest(centroids: Floats, points: Floats, scale: Floats) -> tuple[Ints, Ints]:
    """The centroids nearest to each point, `candidates[indptr[i]:indptr[i + 1]]`, ascending.

    Both have a row per column, `scale` a number per column.
    """
    if centroids.shape[1] == 0 or centroids.shape[0] == 0:
        all_centroids = np.arange(centroids.shape[1])
        total = points.shape[1]
        return np.arange(total + 1) * len(all_centroids), np.tile(all_centroids, total)
    middle = np.ascontiguousarray(centroids)
    nodes, cuts, order = _build(middle / scale[:, None])
    indptr, candidates = _search(
        nodes, cuts, order, middle, np.ascontiguousarray(points, np.float64), scale
    )
    return _ties(indptr, candidates, middle, points, scale)


@kernel
def _build(places: Floats) -> tuple[Ints, Floats, Ints]:
    """Nodes cut the widest column at the middle; a leaf has few centroids."""
    total = places.shape[1]
    order = np.arange(total)
    nodes = np.empty((2 * total + 1, _CENTROID_NODE), np.int64)
    cuts = np.zeros(2 * total + 1)
    spans = [(0, total)]
    used, at = 1, 0
    while at < len(spans):
        start, stop = spans[at]
        column, widest = -1, 0.0
        if stop - start > CENTROID_LEAF:
            for c in range(places.shape[0]):
                coordinates = places[c][order[start:stop]]
                width = coordinates.max() - coordinates.min()
                if width > widest:
                    column, widest = c, width
        nodes[at, 0] = column
        if column < 0:
            nodes[at, 1], nodes[at, 2], nodes[at, 3] = 0, start, stop
        else:
            coordinates = places[column][order[start:stop]]
            for place, centroid in enumerate(order[start:stop][np.argsort(coordinates)]):
                order[start + place] = centroid
            middle = (start + stop) // 2
            cuts[at] = places[column, order[middle]]
            nodes[at, 2], nodes[at, 3] = used, used + 1
            used += 2
            spans.append((start, middle))
            spans.append((middle, stop))
        at += 1
    return nodes[:used], cuts[:used], order


@inner
def _distance(centroids: Floats, at: int, point: Floats, scale: Floats) -> float:
    total = 0.0
    for c in range(len(point)):
        gap = (point[c] - centroids[c, at]) / scale[c]
        total += gap * gap
    return total


@kernel
def _search(
    nodes: Ints, cuts: Floats, order: Ints, centroids: Floats, points: Floats, scale: Floats
) -> tuple[Ints, Ints]:
    """All centroids within a hair of the nearest."""
    total = points.shape[1]
    indptr = np.zeros(total + 1, np.int64)
    candidates = np.empty(max(total, 16), np.int64)
    filled = 0
    point = np.empty(points.shape[0])
    near = np.empty(centroids.shape[1], np.int64)
    far = np.empty(centroids.shape[1])
    stack = np.empty(256, np.int64)
    bound = np.empty(256)
    for i in range(total):
        for c in range(len(point)):
            point[c] = points[c, i]
        best, kept, top = np.inf, 0, 1
        stack[0], bound[0] = 0, 0.0
        while top:
            top -= 1
            node, least = stack[top], bound[top]
            if least > best * (1 + _HAIR):
                continue
            column = nodes[node, 0]
            if column < 0:
                for place in range(nodes[node, 2], nodes[node, 3]):
                    d = _distance(centroids, order[place], point, scale)
                    if d <= best * (1 + _HAIR):
                        best = min(best, d)
                        near[kept], far[kept] = order[place], d
                        kept += 1
                continue
            gap = point[column] / scale[column] - cuts[node]
            closer = nodes[node, 2] if gap < 0 else nodes[node, 3]
            farther = nodes[node, 3] if gap < 0 else nodes[node, 2]
            stack[top], bound[top] = farther, max(least, gap * gap * (1 - _HAIR))
            stack[top + 1], bound[top + 1] = closer, least
            top += 2
        if filled + kept > len(candidates):
            candidates = with_room(candidates, np.int64(0), np.int64(filled), np.int64(kept))
        start = filled
        for j in range(kept):
            if far[j] <= best * (1 + _HAIR):
                candidates[filled] = near[j]
                filled += 1
        sort_numbers(candidates[start:filled])
        indptr[i + 1] = filled
    return indptr, candidates[:filled].copy()


def _ties(
    indptr: Ints, candidates: Ints, centroids: Floats, points: Floats, scale: Floats
) -> tuple[Ints, Ints]:
    """Keep only those that are nearest in exact arithmetic."""
    kept = np.ones(len(candidates), dtype=bool)
    squares = [fraction(s) ** 2 for s in scale.tolist()]
    known: dict[bytes, list[bool]] = {}
    for i in _doubtful(indptr, candidates, centroids, points).tolist():
        start, stop = indptr[i], indptr[i + 1]
        here = np.concatenate([points[:, [i]], centroids[:, candidates[start:stop]]], axis=1)
        key = here.tobytes()
        if key not in known:
            known[key] = _exact(here, squares)
        kept[start:stop] = known[key]
    left = offsets_of(kept)[indptr]
    return left, candidates[kept]


def _doubtful(indptr: Ints, candidates: Ints, centroids: Floats, points: Floats) -> Ints:
    """The points with several candidates that are not mirror images, equally near by any scale."""
    many = np.diff(indptr)
    several = np.flatnonzero(many > 1)
    if len(several) == 0:
        return several
    pairs = np.flatnonzero(np.repeat(many > 1, many))
    point = np.repeat(several, many[several])
    gaps = np.abs(centroids[:, candidates[pairs]] - points[:, point])
    begins = np.cumsum(many[several]) - many[several]
    first = np.repeat(begins, many[several])
    mirrored = (gaps == gaps[:, first]).all(axis=0)
    return several[~np.logical_and.reduceat(mirrored, begins)]


def _exact(here: Floats, squares: list[Fraction]) -> list[bool]:
    """Which of the centroids (all columns but the first) are nearest to the first column."""
    exact = [[fraction(number) for number in row] for row in here.tolist()]
    distances = [
        sum((row[j] - row[0]) ** 2 / square for row, square in zip(exact, squares, strict=True))
        for j in range(1, here.shape[1])
    ]
    return [distance == min(distances) for distance in distances]


LEAF = 8  # boxes that are tested one by one rather than cut further
COPIES = 16  # how many times as many boxes a tree may hold as there are
_NODE = 4  # column or -1, then cut, left, right, or first and last item


@inner
def _place_of(number: int, listed: Ints, start: int, stop: int) -> int:
    """Where a number stands, or would, among those listed from start to stop, ascending."""
    while start < stop:
        middle = (start + stop) // 2
        if listed[middle] < number:
            start = middle + 1
        else:
            stop = middle
    return start


@inner
def _best_cut(
    published: ShortCodes, low: Ints, high: Ints, items: Codes, begins: Ints, ends: Ints
) -> tuple[int, int, int, int]:
    """The column and class to cut at, how many boxes that copies, and how many its larger side has.

    Left of a cut is whatever begins before its class, right what does not end before it. Moving a
    cut up to where the next box begins only ever sheds copies, so no other cut is tried. The best
    has the smallest larger side, copies counted on top; column -1 if none helps.
    """
    n = len(items)
    best, column, place, copies, most = n, -1, 0, 0, n
    for c in range(published.shape[1]):
        first, last = low[published[items[0], c]], high[published[items[0], c]]
        for i in items:
            first = min(first, low[published[i, c]])
            last = max(last, high[published[i, c]])
        width = last - first + 1
        if width > 8 * n:  # few boxes far apart
            lows, highs = np.empty(n, np.int64), np.empty(n, np.int64)
            for at in range(n):
                lows[at], highs[at] = low[published[items[at], c]], high[published[items[at], c]]
            sort_numbers(lows)
            sort_numbers(highs)
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
            begins[low[published[i, c]] - first] += 1
            ends[high[published[i, c]] - first] += 1
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


def build(published: ShortCodes, low: Ints, high: Ints) -> tuple[Ints, Codes]:
    """The tree over boxes, box g being `low[p]..high[p]` of p = `published[g, c]` in each column c.

    Its nodes, and the boxes of its leaves.
    """
    widest = min(8 * len(published), int(high.max(initial=0))) + 2
    nodes, items = _build_boxes(published, low, high, widest)
    return nodes.reshape(-1, _NODE), items


@kernel
def _build_boxes(published: ShortCodes, low: Ints, high: Ints, widest: int) -> tuple[Ints, Codes]:
    total = published.shape[0]
    begins, ends = np.zeros(widest, np.int64), np.zeros(widest, np.int64)
    nodes, used = np.empty(64 * _NODE, np.int64), 1
    items, filled, stored = np.empty(max(total, 1), np.int32), 0, total
    # Nodes wait in the order they were made, so that the allowance for copies is shared evenly. The
    # boxes of those that wait stand one run after another, and a node tells which run is its own;
    # `gone` boxes of nodes that no longer wait are not there any more.
    waiting, queued, gone = np.empty(2 * total + 1, np.int32), total, 0
    for box in range(total):
        waiting[box] = box
    nodes[2], nodes[3] = 0, total
    at = 0
    while at < used:
        node = at * _NODE
        begin, n = nodes[node + 2], nodes[node + 3] - nodes[node + 2]
        column, place, copies = -1, 0, 0
        if n > LEAF:
            node_boxes = waiting[begin - gone : begin - gone + n]
            column, place, copies, larger = _best_cut(
                published, low, high, node_boxes, begins, ends
            )
            crowded = stored + copies > COPIES * total + 1024
            if column >= 0 and (larger > n - n // 8 or (copies > 0 and crowded)):
                column = -1
        if column < 0:
            if filled + n > len(items):
                items = with_room(items, np.int64(0), np.int64(filled), n)
            for slot in range(n):
                items[filled + slot] = waiting[begin - gone + slot]
            nodes[node], nodes[node + 1] = -1, 0
            nodes[node + 2], nodes[node + 3] = filled, filled + n
            filled += n
        else:
            stored += copies
            if queued - gone + n + copies > len(waiting):
                waiting = with_room(waiting, begin - gone, queued - gone, n + copies)
                gone = begin
            if (used + 2) * _NODE > len(nodes):
                nodes = with_room(nodes, np.int64(0), np.int64(used * _NODE), np.int64(2 * _NODE))
            nodes[node], nodes[node + 1] = column, place
            nodes[node + 2], nodes[node + 3] = used, used + 1
            for side in range(2):
                child = used * _NODE
                nodes[child + 2] = queued
                for slot in range(begin - gone, begin - gone + n):
                    box = waiting[slot]
                    part = published[box, column]
                    if high[part] >= place if side else low[part] < place:
                        waiting[queued - gone] = box
                        queued += 1
                nodes[child + 3] = queued
                used += 1
        at += 1
    return nodes[: used * _NODE].copy(), items[:filled].copy()


@inner
def _contains(
    published: ShortCodes,
    low: Ints,
    high: Ints,
    gap: Ints,
    offsets: Ints,
    listed: Ints,
    box: int,
    point: Ints,
) -> bool:
    for c in range(len(point)):
        part = published[box, c]
        if point[c] < low[part] or point[c] > high[part]:
            return False
        if gap[part] >= 0:
            start, stop = offsets[gap[part]], offsets[gap[part] + 1]
            place = _place_of(point[c], listed, start, stop)
            if place == stop or listed[place] != point[c]:
                return False
    return True


@kernel
def search(
    nodes: Ints,
    items: Codes,
    published: ShortCodes,
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
    filled = 0
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
            if filled + stop - start > len(boxes):
                boxes = with_room(boxes, np.int64(0), np.int64(filled), stop - start)
            for place in range(start, stop):
                if _contains(published, low, high, gap, offsets, listed, items[place], point):
                    boxes[filled] = items[place]
                    filled += 1
        indptr[i + 1] = filled
    return indptr, boxes[:filled].copy()


@kernel
def people_containing(
    offsets: Ints,
    members: Codes,
    kind_offsets: Ints,
    kind_members: Codes,
    people: Ints,
    listed: Ints,
    kinds: Ints,
) -> Ints:
    """How many people have a set that contains each of these; members of sets ascend.

    `kinds[listed[p]:listed[p + 1]]` are the sets of people that hold p.
    """
    people_found = np.zeros(len(offsets) - 1, np.int64)
    for wanted_set in range(len(people_found)):
        rarest = members[offsets[wanted_set]]
        for at in range(offsets[wanted_set], offsets[wanted_set + 1]):
            if listed[members[at] + 1] - listed[members[at]] < listed[rarest + 1] - listed[rarest]:
                rarest = members[at]
        for place in range(listed[rarest], listed[rarest + 1]):
            kind = kinds[place]
            at, end = kind_offsets[kind], kind_offsets[kind + 1]
            inside = True
            for wanted in range(offsets[wanted_set], offsets[wanted_set + 1]):
                while at < end and kind_members[at] < members[wanted]:
                    at += 1
                if at == end or kind_members[at] != members[wanted]:
                    inside = False
                    break
            if inside:
                people_found[wanted_set] += people[kind]
    return people_found
