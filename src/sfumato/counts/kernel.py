"""Compiled: groups of a coarser node from those of a finer one, and sums over a few columns.

Sums go to an array by address where the product of the columns' sizes is small, otherwise through a
hash table.

Stands apart: importing Numba is slow, and an audit needs none of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.compiled import inner, kernel
from sfumato.numbers import Codes, Ints

People = npt.NDArray[Any]  # whole people (int64), or expected ones (float64)
_FEW = 64  # cells that are sorted by insertion alone


@inner
def _slot(key: np.int64, mask: int) -> np.int64:
    # Fibonacci hashing spreads keys that differ only in high digits.
    return ((key * np.int64(-7046029254386353131)) >> 20) & mask


@kernel
def merge(
    keys: Ints, sizes: Ints, stride: int, size: int, mapping: Codes
) -> tuple[Ints, Ints, Codes]:
    """New keys after mapping one digit, groups merged in order of first appearance."""
    total = len(keys)
    bits = 4
    while (1 << bits) < 2 * total:
        bits += 1
    mask = (1 << bits) - 1
    slot_key = np.full(mask + 1, -1, np.int64)
    slot_number = np.empty(mask + 1, np.int32)
    out_keys = np.empty(total, np.int64)
    out_sizes = np.zeros(total, np.int64)
    number = np.empty(total, np.int32)
    found = 0
    for i in range(total):
        digit = (keys[i] // stride) % size
        key = keys[i] + (mapping[digit] - digit) * stride
        slot = _slot(key, mask)
        while slot_key[slot] != -1 and slot_key[slot] != key:
            slot = (slot + 1) & mask
        if slot_key[slot] == -1:
            slot_key[slot] = key
            slot_number[slot] = found
            out_keys[found] = key
            found += 1
        g = slot_number[slot]
        out_sizes[g] += sizes[i]
        number[i] = g
    return out_keys[:found].copy(), out_sizes[:found].copy(), number


@kernel
def gather(number: Codes, total: int) -> tuple[Codes, Ints]:
    """The finer groups ordered by the group they became, and where each begins."""
    starts = np.zeros(total + 1, np.int64)
    for g in number:
        starts[g + 1] += 1
    for g in range(total):
        starts[g + 1] += starts[g]
    place = starts[:-1].copy()
    order = np.empty(len(number), np.int32)
    for i in range(len(number)):
        g = number[i]
        order[place[g]] = i
        place[g] += 1
    return order, starts


@kernel
def merge_cells(
    order: Codes, starts: Ints, indptr: Ints, indices: Codes, data: Ints, width: int
) -> tuple[Ints, Codes, Ints]:
    """Sum the sparse rows of the finer groups that became one."""
    total = len(starts) - 1
    out_indptr = np.zeros(total + 1, np.int64)
    out_indices = np.empty(len(indices), np.int32)
    out_data = np.empty(len(indices), np.int64)
    place = np.full(width, -1, np.int64)
    filled = 0
    for g in range(total):
        begin = filled
        for at in range(starts[g], starts[g + 1]):
            i = order[at]
            for cell in range(indptr[i], indptr[i + 1]):
                value = indices[cell]
                if place[value] < begin:
                    place[value] = filled
                    out_indices[filled] = value
                    out_data[filled] = 0
                    filled += 1
                out_data[place[value]] += data[cell]
        out_indptr[g + 1] = filled
    return out_indptr, out_indices[:filled].copy(), out_data[:filled].copy()


@inner
def _mask(entries: int, total: int) -> int:
    """Where distinct people among so many entries are looked up: in a few places by hash, which
    stay in the processor's cache; -1: each of the `total` has a place of her own, if that is less.
    """
    places = 16
    while places < 2 * entries:
        places *= 2
    return places - 1 if places < total else -1


@inner
def _looked_up(most: int, total: int) -> tuple[Codes, Codes]:
    """Room for groups of at most so many entries: the group a place was last used by, and whom."""
    mask = _mask(most, total)
    places = total if mask < 0 else mask + 1
    return np.full(places, -1, np.int32), np.empty(places, np.int32)


@inner
def _is_new(person: int, group: int, mask: int, marks: Codes, who: Codes) -> bool:
    """Whether a person is met for the first time in a group, whose number no earlier one had."""
    if mask < 0:
        met = marks[person] == group
        marks[person] = group
        return not met
    slot = _slot(np.int64(person), mask)
    while marks[slot] == group:
        if who[slot] == person:
            return False
        slot = (slot + 1) & mask
    marks[slot] = group
    who[slot] = person
    return True


@kernel
def merge_owners(
    order: npt.NDArray[Any], starts: Ints, indptr: Ints, people: Codes, total: int
) -> tuple[Ints, Codes]:
    """The distinct people, of `total`, of the finer groups that became one."""
    groups, most = len(starts) - 1, 0
    ends = np.zeros(groups + 1, np.int64)
    for g in range(groups):
        ends[g + 1] = ends[g]
        for at in range(starts[g], starts[g + 1]):
            ends[g + 1] += indptr[order[at] + 1] - indptr[order[at]]
        most = max(most, ends[g + 1] - ends[g])
    out_indptr = np.zeros(groups + 1, np.int64)
    out = np.empty(ends[groups], np.int32)
    marks, who = _looked_up(most, total)
    filled = 0
    for g in range(groups):
        mask = _mask(ends[g + 1] - ends[g], total)
        for at in range(starts[g], starts[g + 1]):
            i = order[at]
            for place in range(indptr[i], indptr[i + 1]):
                if _is_new(people[place], g, mask, marks, who):
                    out[filled] = people[place]
                    filled += 1
        out_indptr[g + 1] = filled
    return out_indptr, out[:filled].copy()


@kernel
def count_owners(
    order: Ints, starts: Ints, rows: Ints, indptr: Ints, people: Codes, total: int
) -> Ints:
    """How many distinct people those groups have, of so many `rows` each."""
    sizes = np.zeros(len(rows), np.int64)
    marks, who = _looked_up(rows.max(), total)
    for g in range(len(rows)):
        mask = _mask(rows[g], total)
        for at in range(starts[g], starts[g + 1]):
            i = order[at]
            for place in range(indptr[i], indptr[i + 1]):
                sizes[g] += _is_new(people[place], g, mask, marks, who)
    return sizes


@kernel
def count_owners_by_value(
    order: Ints,
    starts: Ints,
    value: Codes,
    cell_indptr: Ints,
    cell_value: Codes,
    cell_rows: Ints,
    indptr: Ints,
    people: Codes,
    total: int,
    width: int,
) -> Ints:
    """How many distinct people each cell has: a group's rows of one value, of whom so many are.

    `value` is that of each entry of `order`.
    """
    found = np.ones(len(cell_rows), np.int64)  # of whoever has one row
    most = longest = 0
    for g in range(len(starts) - 1):
        longest = max(longest, starts[g + 1] - starts[g])
    for rows in cell_rows:
        most = max(most, rows)
    marks, who = _looked_up(most, total)
    free = np.zeros(width + 1, np.int64)
    sorted_by_value = np.empty(longest, np.int64)
    for g in range(len(starts) - 1):
        first, last, several = cell_indptr[g], cell_indptr[g + 1], False
        for cell in range(first, last):
            several |= cell_rows[cell] > 1
        if not several:
            continue
        # Finer groups in the order of cells.
        for cell in range(first, last):
            free[cell_value[cell]] = 0
        for at in range(starts[g], starts[g + 1]):
            free[value[at]] += 1
        begin = 0
        for cell in range(first, last):
            many = free[cell_value[cell]]
            free[cell_value[cell]] = begin
            begin += many
        for at in range(starts[g], starts[g + 1]):
            sorted_by_value[free[value[at]]] = order[at]
            free[value[at]] += 1
        begin = 0
        for cell in range(first, last):
            end = free[cell_value[cell]]
            if cell_rows[cell] > 1:
                found[cell] = 0
                mask = _mask(cell_rows[cell], total)
                for at in range(begin, end):
                    i = sorted_by_value[at]
                    for place in range(indptr[i], indptr[i + 1]):
                        found[cell] += _is_new(people[place], cell, mask, marks, who)
            begin = end
    return found


@kernel
def count_values(
    indptr: Ints, pairs: Codes, value_of: Codes, width: int
) -> tuple[Ints, Codes, Ints]:
    """How many pairs of each group have each value, sparse."""
    groups = len(indptr) - 1
    out_indptr = np.zeros(groups + 1, np.int64)
    indices = np.empty(len(pairs), np.int32)
    data = np.empty(len(pairs), np.int64)
    place = np.full(width, -1, np.int64)
    filled = 0
    for g in range(groups):
        begin = filled
        for at in range(indptr[g], indptr[g + 1]):
            value = value_of[pairs[at]]
            if place[value] < begin:
                place[value] = filled
                indices[filled] = value
                data[filled] = 0
                filled += 1
            data[place[value]] += 1
        out_indptr[g + 1] = filled
    return out_indptr, indices[:filled].copy(), data[:filled].copy()


@kernel
def margins(
    keys: Ints,
    people: Ints,
    kept: npt.NDArray[np.bool_],
    strides: Ints,
    sizes: Ints,
    starts: Ints,
) -> Ints:
    """Whole numbers, so that the sum does not depend on the order of groups."""
    found = np.zeros(starts[-1], np.int64)
    for g in range(len(keys)):
        if not kept[g]:
            continue
        for column in range(len(strides)):
            label = (keys[g] // strides[column]) % sizes[column]
            found[starts[column] + label] += people[g]
    return found


# -- marginals: sums over some columns -------------------------------------------------------------


@kernel
def cells_by_address(
    codes: Codes, rows: Ints, sizes: Ints, n: People, space: int
) -> tuple[Codes, People]:
    """Cells in the order of their codes, summed by address."""
    sums = np.zeros(space, n.dtype)
    filled = 0
    for i in range(codes.shape[1]):
        key = 0
        for j in range(len(rows)):
            key = key * sizes[j] + codes[rows[j], i]
        if sums[key] == 0:
            filled += 1
        sums[key] += n[i]
    out = np.empty((len(rows), filled), np.int32)
    people = np.empty(filled, n.dtype)
    place = 0
    for key in range(space):
        if sums[key] == 0:
            continue
        people[place] = sums[key]
        rest = key
        for j in range(len(rows) - 1, -1, -1):
            out[j, place] = rest % sizes[j]
            rest //= sizes[j]
        place += 1
    return out, people


@kernel
def classes_by_address(codes: Codes, rows: Ints, sizes: Ints, space: int) -> tuple[Codes, Ints]:
    """Classes in order of first appearance, found by address."""
    seen = np.full(space, -1, np.int32)
    number = np.empty(codes.shape[1], np.int32)
    first = np.empty(min(space, codes.shape[1]), np.int64)
    found = 0
    for i in range(codes.shape[1]):
        key = 0
        for j in range(len(rows)):
            key = key * sizes[j] + codes[rows[j], i]
        if seen[key] < 0:
            seen[key] = found
            first[found] = i
            found += 1
        number[i] = seen[key]
    return number, first[:found].copy()


@kernel
def classes_by_hash(codes: Codes, rows: Ints, sizes: Ints, exact: bool) -> tuple[Codes, Ints]:
    """Classes in order of first appearance. Unless `exact`, equal keys may be different codes."""
    bits = 12
    mask = (1 << bits) - 1
    slots = np.full(mask + 1, -1, np.int32)
    keys = np.empty(mask + 1, np.int64)
    first = np.empty(mask + 1, np.int64)
    number = np.empty(codes.shape[1], np.int32)
    found = 0
    for i in range(codes.shape[1]):
        if 2 * found > mask:
            bits += 2
            mask = (1 << bits) - 1
            slots = np.full(mask + 1, -1, np.int32)
            more_keys = np.empty(mask + 1, np.int64)
            more_first = np.empty(mask + 1, np.int64)
            for g in range(found):
                more_keys[g], more_first[g] = keys[g], first[g]
            keys, first = more_keys, more_first
            for g in range(found):
                slot = _slot(keys[g], mask)
                while slots[slot] >= 0:
                    slot = (slot + 1) & mask
                slots[slot] = g
        key = np.int64(0)
        for j in range(len(rows)):
            key = key * sizes[j] + codes[rows[j], i]
        slot = _slot(key, mask)
        while slots[slot] >= 0:
            g = slots[slot]
            if keys[g] == key and (exact or _same_codes(codes, rows, i, first[g])):
                break
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot] = found
            keys[found], first[found] = key, i
            found += 1
        number[i] = slots[slot]
    return number, first[:found].copy()


@inner
def _same_codes(codes: Codes, rows: Ints, one: int, other: int) -> bool:
    for row in rows:  # noqa: SIM110, compiled code knows no generators
        if codes[row, one] != codes[row, other]:
            return False
    return True


@kernel
def taken(codes: Codes, rows: Ints, places: Ints) -> Codes:
    """Some rows of some cells."""
    out = np.empty((len(rows), len(places)), np.int32)
    for j in range(len(rows)):
        for g in range(len(places)):
            out[j, g] = codes[rows[j], places[g]]
    return out


@kernel
def cells_by_hash(
    codes: Codes, rows: Ints, sizes: Ints, n: People, exact: bool
) -> tuple[Codes, People]:
    """Cells in order of first appearance."""
    number, first = classes_by_hash(codes, rows, sizes, exact)
    people = np.zeros(len(first), n.dtype)
    for i in range(len(number)):
        people[number[i]] += n[i]
    return taken(codes, rows, first), people


@inner
def _sort_class(values: Codes, n: People) -> None:
    """Put the cells of one class into the order of their values (Shell's sort).

    NumPy's takes longer to compile than all else that a first characterization needs.
    """
    gap = 1 if len(values) <= _FEW else len(values) // 2
    while gap > 0:
        for i in range(gap, len(values)):
            value, people = values[i], n[i]
            at = i
            while at >= gap and values[at - gap] > value:
                values[at], n[at] = values[at - gap], n[at - gap]
                at -= gap
            values[at], n[at] = value, people
        gap = 1 if gap == 2 else gap * 5 // 11


@kernel
def by_value_of_classes(
    number: Codes, values: Codes, n: People, classes: int
) -> tuple[Ints, Codes, People, People]:
    """Where each class begins, its values ascending with their people, and all its people."""
    cells = len(number)
    indptr = np.zeros(classes + 1, np.int64)
    for i in range(cells):
        indptr[number[i] + 1] += 1
    for g in range(classes):
        indptr[g + 1] += indptr[g]
    free = indptr[:-1].copy()
    shown, counted = np.empty(cells, np.int32), np.empty(cells, n.dtype)
    people = np.zeros(classes, n.dtype)
    # A counting sort by class; cells in the order of their codes need no other.
    for i in range(cells):
        g = number[i]
        at = free[g]
        shown[at], counted[at] = values[i], n[i]
        people[g] += n[i]
        free[g] = at + 1
    for g in range(classes):
        for at in range(indptr[g] + 1, indptr[g + 1]):
            if shown[at - 1] > shown[at]:
                _sort_class(shown[indptr[g] : indptr[g + 1]], counted[indptr[g] : indptr[g + 1]])
                break
    return indptr, shown, counted, people
