"""Compiled: groups of a coarser node from those of a finer one, and sums over a few columns.

Sums go to an array by address where the product of the columns' sizes is small, otherwise through a
hash table.

Importing Numba is slow, and an audit needs none of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.compiled import inner, kernel, sort_numbers
from sfumato.numbers import Codes, Ints

PeopleArray = npt.NDArray[Any]  # whole people (int64), or expected ones (float64)
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
    classes = 0
    for i in range(total):
        digit = (keys[i] // stride) % size
        key = keys[i] + (mapping[digit] - digit) * stride
        slot = _slot(key, mask)
        while slot_key[slot] != -1 and slot_key[slot] != key:
            slot = (slot + 1) & mask
        if slot_key[slot] == -1:
            slot_key[slot] = key
            slot_number[slot] = classes
            out_keys[classes] = key
            classes += 1
        g = slot_number[slot]
        out_sizes[g] += sizes[i]
        number[i] = g
    return out_keys[:classes].copy(), out_sizes[:classes].copy(), number


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


@kernel
def rows_by_person(n: Ints, owner: Codes, people: int) -> tuple[Ints, Codes]:
    """Where each person's rows begin, and the tuple of each, ascending; `owner`: rows by tuple."""
    indptr = np.zeros(people + 1, np.int64)
    for person in owner:
        indptr[person + 1] += 1
    for person in range(people):
        indptr[person + 1] += indptr[person]
    place = indptr[:-1].copy()
    tuples = np.empty(len(owner), np.int32)
    row = 0
    for i in range(len(n)):
        for _ in range(n[i]):
            person = owner[row]
            tuples[place[person]] = i
            place[person] += 1
            row += 1
    return indptr, tuples


@kernel
def count_people(indptr: Ints, group: Codes, groups: int) -> Ints:
    """The distinct people of each group; `group` is that of each row, -1: none."""
    people = np.zeros(groups, np.int64)
    last = np.full(groups, -1, np.int32)  # who was met in a group last
    for person in range(len(indptr) - 1):
        for row in range(indptr[person], indptr[person + 1]):
            g = group[row]
            if g >= 0 and last[g] != person:
                last[g] = person
                people[g] += 1
    return people


@kernel
def groups_of_people(indptr: Ints, group: Codes, groups: int) -> tuple[Ints, Ints]:
    """Where each person's groups begin, and these, ascending and each once."""
    people = len(indptr) - 1
    offsets = np.zeros(people + 1, np.int64)
    listed = np.empty(len(group), np.int64)
    last = np.full(groups, -1, np.int32)
    filled = 0
    for person in range(people):
        begin, ascending = filled, True
        for row in range(indptr[person], indptr[person + 1]):
            g = group[row]
            if g >= 0 and last[g] != person:
                last[g] = person
                ascending &= filled == begin or listed[filled - 1] < g
                listed[filled] = g
                filled += 1
        if not ascending:
            sort_numbers(listed[begin:filled])
        offsets[person + 1] = filled
    return offsets, listed[:filled].copy()


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
    sums = np.zeros(starts[-1], np.int64)
    for g in range(len(keys)):
        if not kept[g]:
            continue
        for column in range(len(strides)):
            label = (keys[g] // strides[column]) % sizes[column]
            sums[starts[column] + label] += people[g]
    return sums


# -- marginals: sums over some columns -------------------------------------------------------------


@kernel
def cells_by_address(
    codes: Codes, rows: Ints, sizes: Ints, n: PeopleArray, space: int
) -> tuple[Codes, PeopleArray]:
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
    classes = 0
    for i in range(codes.shape[1]):
        key = 0
        for j in range(len(rows)):
            key = key * sizes[j] + codes[rows[j], i]
        if seen[key] < 0:
            seen[key] = classes
            first[classes] = i
            classes += 1
        number[i] = seen[key]
    return number, first[:classes].copy()


@kernel
def classes_by_hash(codes: Codes, rows: Ints, sizes: Ints, exact: bool) -> tuple[Codes, Ints]:
    """Classes in order of first appearance. Unless `exact`, equal keys may be different codes."""
    bits = 12
    mask = (1 << bits) - 1
    slots = np.full(mask + 1, -1, np.int32)
    keys = np.empty(mask + 1, np.int64)
    first = np.empty(mask + 1, np.int64)
    number = np.empty(codes.shape[1], np.int32)
    classes = 0
    for i in range(codes.shape[1]):
        if 2 * classes > mask:
            bits += 2
            mask = (1 << bits) - 1
            slots = np.full(mask + 1, -1, np.int32)
            more_keys = np.empty(mask + 1, np.int64)
            more_first = np.empty(mask + 1, np.int64)
            for g in range(classes):
                more_keys[g], more_first[g] = keys[g], first[g]
            keys, first = more_keys, more_first
            for g in range(classes):
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
            slots[slot] = classes
            keys[classes], first[classes] = key, i
            classes += 1
        number[i] = slots[slot]
    return number, first[:classes].copy()


@inner
def _same_codes(codes: Codes, rows: Ints, first: int, second: int) -> bool:
    for row in rows:  # noqa: SIM110, compiled code knows no generators
        if codes[row, first] != codes[row, second]:
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
    codes: Codes, rows: Ints, sizes: Ints, n: PeopleArray, exact: bool
) -> tuple[Codes, PeopleArray]:
    """Cells in order of first appearance."""
    number, first = classes_by_hash(codes, rows, sizes, exact)
    people = np.zeros(len(first), n.dtype)
    for i in range(len(number)):
        people[number[i]] += n[i]
    return taken(codes, rows, first), people


@inner
def _sort_class(values: Codes, n: PeopleArray) -> None:
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
    number: Codes, values: Codes, n: PeopleArray, classes: int
) -> tuple[Ints, Codes, PeopleArray, PeopleArray]:
    """Where each class begins, its values ascending with their people, and all its people."""
    cells = len(number)
    indptr = np.zeros(classes + 1, np.int64)
    for i in range(cells):
        indptr[number[i] + 1] += 1
    for g in range(classes):
        indptr[g + 1] += indptr[g]
    free = indptr[:-1].copy()
    sorted_values, counted = np.empty(cells, np.int32), np.empty(cells, n.dtype)
    people = np.zeros(classes, n.dtype)
    # A counting sort by class; cells in the order of their codes need no other.
    for i in range(cells):
        g = number[i]
        at = free[g]
        sorted_values[at], counted[at] = values[i], n[i]
        people[g] += n[i]
        free[g] = at + 1
    for g in range(classes):
        for at in range(indptr[g] + 1, indptr[g + 1]):
            if sorted_values[at - 1] > sorted_values[at]:
                _sort_class(
                    sorted_values[indptr[g] : indptr[g + 1]], counted[indptr[g] : indptr[g + 1]]
                )
                break
    return indptr, sorted_values, counted, people
