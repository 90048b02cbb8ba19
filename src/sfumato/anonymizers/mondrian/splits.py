"""Compiled kernels of Mondrian: where nodes can be split, and what their parts would hold.

Stands apart: compiled code, which `steps.py` loads where rows are many; of few it does the same by
NumPy. It holds no lock of the interpreter, so that batches of nodes can be worked on side by side.
`cuts.py` is the rest of it.

A node is a run `start:stop` of rows, a row being one distinct tuple with n people. Columns are of
two kinds: ordered ones are cut between two codes, nested ones fall apart along their hierarchy at
the first level that separates the node's people.

In an ordered column the specials (NULL, special codes) are no neighbours of the largest value: they
are the codes after `last[column]`, the last of a value (-1: a column without any, or a nested one).
A cut at the code c of a value puts all of them on the right; the bound `with_specials(c)` puts them
on the left, beside the codes up to c. Where nobody has a value they are cut as values are.
"""

from __future__ import annotations

import numpy as np

from sfumato.anonymizers.mondrian.steps import NONE, takes_specials, up_to
from sfumato.compiled import inner, kernel
from sfumato.numbers import Bools, Codes, Ints
from sfumato.schema.boundaries import BESIDE


@inner
def with_specials(code: int) -> int:
    """The bound that takes in the specials beside the codes up to this one."""
    return code + BESIDE


bound_takes_specials, bound_up_to = inner(takes_specials), inner(up_to)  # for compiled code


@kernel
def extents(
    codes: Codes,
    n: Ints,
    starts: Ints,
    stops: Ints,
    nested: Codes,
    labels: Codes,
    at: Ints,
    tops: Codes,
    last: Codes,
) -> tuple[Codes, Codes, Ints]:
    """Per node and column: least and greatest code, or for a nested column the level at which its
    people first part (-1: nowhere) and the label they still share above it; and how many people
    have a special where others have a value. Those do not count for the codes.

    `labels[at[c] + level * size + code]` is the label of a code of nested column c.
    """
    total, columns = len(starts), codes.shape[1]
    missing = np.zeros((total, columns), np.int64)
    low = np.empty((total, columns), np.int32)
    high = np.empty((total, columns), np.int32)
    for node in range(total):
        start, stop = starts[node], stops[node]
        for column in range(columns):
            if nested[column] == 0:
                least = greatest = codes[start, column]
                if last[column] < 0:
                    for row in range(start + 1, stop):
                        code = codes[row, column]
                        least = min(least, code)
                        greatest = max(greatest, code)
                else:
                    end = last[column]
                    for row in range(start, stop):
                        code = codes[row, column]
                        if code > end:
                            missing[node, column] += n[row]
                        if least > end or code <= end:
                            least = min(least, code)
                            greatest = code if greatest > end >= code else max(greatest, code)
                    if least > end:  # of everybody
                        missing[node, column] = 0
                low[node, column], high[node, column] = least, greatest
                continue
            size = nested[column]
            level = tops[node, column]
            first = codes[start, column]
            parted = False
            while level > 0 and not parted:
                base = at[column] + (level - 1) * size
                shared = labels[base + first]
                for row in range(start + 1, stop):
                    if labels[base + codes[row, column]] != shared:
                        parted = True
                        break
                if not parted:
                    level -= 1
            low[node, column] = level - 1 if parted else NONE
            high[node, column] = labels[at[column] + level * size + first]
    return low, high, missing


@kernel
def medians(
    codes: Codes,
    n: Ints,
    starts: Ints,
    stops: Ints,
    column: Codes,
    low: Codes,
    high: Codes,
    own: Bools,
    own_at: Ints,
) -> tuple[Codes, Ints]:
    """The cut nearest to half of the people: codes up to it go left. Equal values stay together.

    Only people with a code up to `high` count, those with a value. Cuts that are told by the value
    of one person (`own`) come after all others. Also returned: how many of those people the smaller
    side of each cut has.
    """
    total = len(starts)
    cuts = np.full(total, NONE, np.int32)
    smaller = np.zeros(total, np.int64)
    for node in range(total):
        start, stop, axis = starts[node], stops[node], column[node]
        if low[node] >= high[node]:
            continue
        reach = high[node] - low[node] + 1
        if reach <= 8 * (stop - start) + 64:
            people = np.zeros(reach, np.int64)
            for row in range(start, stop):
                if codes[row, axis] <= high[node]:
                    people[codes[row, axis] - low[node]] += n[row]
            everybody = 0
            for place in range(reach):
                everybody += people[place]
            left = 0
            best = np.int64(-1)
            for place in range(reach - 1):
                left += people[place]
                away = abs(2 * left - everybody)
                if own[own_at[axis] + low[node] + place]:
                    away += 2 * everybody
                if best < 0 or away < best:
                    best = away
                    cuts[node] = low[node] + place
                    smaller[node] = min(left, everybody - left)
        else:
            order = sorted_rows(codes[start:stop, axis])
            everybody = counted = 0
            for row in range(start, stop):
                if codes[row, axis] <= high[node]:
                    everybody += n[row]
                    counted += 1
            left = 0
            best = np.int64(-1)
            for place in range(counted - 1):
                row = start + order[place]
                left += n[row]
                above = codes[start + order[place + 1], axis]
                if codes[row, axis] == above:
                    continue
                cut = told_best(own, own_at[axis], codes[row, axis], above)
                away = abs(2 * left - everybody)
                if own[own_at[axis] + cut]:
                    away += 2 * everybody
                if best < 0 or away < best:
                    best = away
                    cuts[node] = cut
                    smaller[node] = min(left, everybody - left)
    return cuts, smaller


@inner
def sorted_rows(codes: Codes) -> Ints:
    """Rows in order of their codes, those of one code in any order (Shell's sort).

    Compiling NumPy's takes as long as all else does in the functions that call this.
    """
    total = len(codes)
    order = np.empty(total, np.int64)
    for row in range(total):
        order[row] = row
    gap = total // 2
    while gap > 0:
        for place in range(gap, total):
            row, at = order[place], place
            while at >= gap and codes[order[at - gap]] > codes[row]:
                order[at] = order[at - gap]
                at -= gap
            order[at] = row
        gap = 1 if gap == 2 else gap * 5 // 11
    return order


@inner
def told_best(own: Bools, at: int, below: int, above: int) -> int:
    """Of all cuts between two codes, the first that is not told by the value of one person."""
    for cut in range(below, above):
        if not own[at + cut]:
            return cut
    return below


@kernel
def assign(
    codes: Codes,
    starts: Ints,
    stops: Ints,
    column: Codes,
    cut: Codes,
    nested: Codes,
    labels: Codes,
    at: Ints,
    last: Codes,
) -> tuple[Codes, Codes]:
    """The part each row would fall into, and how many parts each node would have.

    For a nested column `cut` is the level at which it falls apart.
    """
    part = np.zeros(codes.shape[0], np.int32)
    parts = np.zeros(len(starts), np.int32)
    for node in range(len(starts)):
        start, stop, axis = starts[node], stops[node], column[node]
        if cut[node] == NONE:
            parts[node] = 1
            continue
        if nested[axis] == 0:
            end = last[axis]
            bound = bound_up_to(cut[node])
            for row in range(start, stop):
                part[row] = 1 if codes[row, axis] > bound else 0
            if bound_takes_specials(cut[node]):
                for row in range(start, stop):
                    if codes[row, axis] > end:
                        part[row] = 0
            parts[node] = 2
            continue
        size = nested[axis]
        base = at[axis] + cut[node] * size
        number = np.full(size, NONE, np.int32)
        # Parts are numbered by label, not by row, so that the order of rows shows nowhere.
        for row in range(start, stop):
            number[labels[base + codes[row, axis]]] = 0
        part_count = 0
        for label in range(size):
            if number[label] == 0:
                number[label] = part_count
                part_count += 1
        for row in range(start, stop):
            part[row] = number[labels[base + codes[row, axis]]]
        parts[node] = part_count
    return part, parts


@kernel
def gather(
    part: Codes, parts: Codes, starts: Ints, stops: Ints, n: Ints
) -> tuple[Ints, Ints, Ints]:
    """Rows ordered by node and part, where each part begins in that order, and its people."""
    rows = 0
    for node in range(len(starts)):
        rows += stops[node] - starts[node]
    total = 0
    for node in range(len(starts)):
        total += parts[node]
    order = np.empty(rows, np.int64)
    begins = np.zeros(total + 1, np.int64)
    people = np.zeros(total, np.int64)
    first, filled = 0, 0
    for node in range(len(starts)):
        start, stop = starts[node], stops[node]
        for row in range(start, stop):
            begins[first + part[row] + 1] += 1
            people[first + part[row]] += n[row]
        begins[first] = filled
        for number in range(parts[node]):
            begins[first + number + 1] += begins[first + number]
        place = begins[first : first + parts[node]].copy()
        for row in range(start, stop):
            order[place[part[row]]] = row
            place[part[row]] += 1
        filled += stop - start
        first += parts[node]
    return order, begins, people


@kernel
def cells(
    order: Ints, begins: Ints, value: Codes, n: Ints, offsets: Ints, members: Codes, width: int
) -> tuple[Ints, Codes, Ints]:
    """The sensitive counts of each part, sparse. A row's value is a set of `members` if given."""
    total = len(begins) - 1
    single = len(offsets) == 0
    room = 0
    for part in range(total):
        listed = begins[part + 1] - begins[part]
        if not single:
            listed = 0
            for place in range(begins[part], begins[part + 1]):
                code = value[order[place]]
                listed += offsets[code + 1] - offsets[code]
        room += min(listed, width)
    indptr = np.zeros(total + 1, np.int64)
    indices = np.empty(room, np.int32)
    data = np.empty(room, np.int64)
    seen = np.full(width, NONE, np.int64)  # where a value stands in the current part
    filled = 0
    for part in range(total):
        begin = filled
        for place in range(begins[part], begins[part + 1]):
            row = order[place]
            low, high = 0, 1
            if not single:
                low, high = offsets[value[row]], offsets[value[row] + 1]
            for listed in range(low, high):
                code = value[row] if single else members[listed]
                if seen[code] < begin:
                    seen[code] = filled
                    indices[filled] = code
                    data[filled] = 0
                    filled += 1
                data[seen[code]] += n[row]
        indptr[part + 1] = filled
    return indptr, indices[:filled], data[:filled]


# -- people who have several rows in a node (`companions.py`) --------------------------------------


@kernel
def companions(
    part: Codes, place: Codes, parts: Codes, kept: Codes, begins: Ints, person: Codes
) -> tuple[Ints, Codes, Codes]:
    """Rows of which the person has others in the same part, by the node that a part becomes.

    `kept` is that node, -1: none; `part` is the part of each of the rows, `place` where it goes.
    """
    total = most = 0
    for node in kept:
        total = max(total, node + 1)
    for many in parts:
        most = max(most, many)
    ends = np.zeros(total + 1, np.int64)
    here = np.zeros(most, np.int64)  # rows of a person in each part
    out_row, out_person = np.empty(0, np.int32), np.empty(0, np.int32)
    for filling in range(2):
        if filling:
            for node in range(total):
                ends[node + 1] += ends[node]
            out_row, out_person = np.empty(ends[total], np.int32), np.empty(ends[total], np.int32)
            filled = ends[:-1].copy()
        first_part = 0
        for node in range(len(parts)):
            begin, last = begins[node], begins[node + 1]
            while begin < last:
                end = begin
                while end < last and person[end] == person[begin]:
                    here[part[end]] += 1
                    end += 1
                for entry in range(begin, end):
                    where = part[entry]
                    to = kept[first_part + where]
                    if here[where] < 2 or to < 0:
                        continue
                    if filling:
                        out_row[filled[to]] = place[entry]
                        out_person[filled[to]] = person[entry]
                        filled[to] += 1
                    else:
                        ends[to + 1] += 1
                for entry in range(begin, end):
                    here[part[entry]] = 0
                begin = end
            first_part += parts[node]
    return ends, out_row, out_person


@kernel
def repeated(
    slot: Codes | Ints,
    parts: Codes,
    nodes: Ints,
    indptr: Ints,
    indices: Codes,
    width: int,
    begins: Ints,
    person: Codes,
) -> Ints:
    """How many rows of each cell of a part and a value are not the first of their person there.

    `slot` is the part of each row, times `width`, and its value.
    """
    again = np.zeros(len(indices), np.int64)
    most = 1
    for many in parts:
        most = max(most, many)
    cell_of = np.empty(most * width, np.int64)
    met = np.zeros(most * width, np.int64)  # whose row was met in a cell last, people by number
    owner = first_part = 0
    for at in range(len(nodes)):
        begin, end = begins[nodes[at]], begins[nodes[at] + 1]
        if begin < end:
            for part in range(parts[at]):
                for cell in range(indptr[first_part + part], indptr[first_part + part + 1]):
                    cell_of[part * width + indices[cell]] = cell
        for entry in range(begin, end):
            if entry == begin or person[entry] != person[entry - 1]:
                owner += 1
            at_slot = slot[entry]
            if met[at_slot] == owner:
                again[cell_of[at_slot]] += 1
            met[at_slot] = owner
        first_part += parts[at]
    return again
