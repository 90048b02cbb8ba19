"""Groups of a coarser node from those of a finer one, compiled.

Stands apart: importing Numba is slow, and an audit needs none of it.
"""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from sfumato.numbers import Codes, Ints


@nb.njit(cache=True)
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
        # Fibonacci hashing spreads keys that differ only in high digits.
        slot = ((key * np.int64(-7046029254386353131)) >> 20) & mask
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


@nb.njit(cache=True)
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


@nb.njit(cache=True)
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


@nb.njit(cache=True)
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
