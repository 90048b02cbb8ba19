"""Compiled: who is alone by some of the columns, told once for each combination of them.

Stands apart: importing Numba is slow, and linkage needs none of it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.compiled import inner, kernel
from sfumato.numbers import Codes, Ints

Bits = npt.NDArray[np.uint64]  # a bit for each description, 64 a word
_KEYS = 1 << 62  # beyond, keys are numbered anew before another column is packed into them


@inner
def _numbered(keys: Ints, slots: Ints) -> int:
    """Replace keys by 0, 1, 2, ..., equal ones by the same number; how many there are."""
    mask = len(slots) - 1
    first = np.empty(len(keys), np.int64)  # the key that has each number
    distinct = 0
    slots[:] = -1
    for place in range(len(keys)):
        key = keys[place]
        slot = ((key * np.int64(-7046029254386353131)) >> 20) & mask
        while slots[slot] != -1 and first[slots[slot]] != key:
            slot = (slot + 1) & mask
        if slots[slot] == -1:
            slots[slot] = distinct
            first[distinct] = key
            distinct += 1
        keys[place] = slots[slot]
    return distinct


@kernel
def alone(codes: Codes, sizes: Ints, columns: Ints, people: Ints, known: Bits) -> Codes:
    """The descriptions of one person whom these columns tell apart, and who is not `known` to be.

    Whoever is told apart by fewer columns is in nobody's way, and need not be counted.
    """
    total = codes.shape[1]
    open_ = np.empty(total, np.int32)
    many = 0
    for row in range(total):
        if not (known[row >> 6] >> np.uint64(row & 63)) & np.uint64(1):
            open_[many] = row
            many += 1
    keys = np.zeros(many, np.int64)
    bits = 4
    while (1 << bits) < 2 * many:
        bits += 1
    slots = np.empty(1 << bits, np.int64)
    space = 1
    for column in columns:
        if space > _KEYS // max(sizes[column], 1):
            space = _numbered(keys, slots)
        for place in range(many):
            keys[place] = keys[place] * sizes[column] + codes[column, open_[place]]
        space *= max(sizes[column], 1)
    distinct = space
    if space > 4 * many:
        distinct = _numbered(keys, slots)
    counted = np.zeros(distinct, np.int64)
    for place in range(many):
        counted[keys[place]] += people[open_[place]]
    unique = 0
    for place in range(many):
        if counted[keys[place]] == 1:
            open_[unique] = open_[place]
            unique += 1
    return open_[:unique].copy()


@kernel
def mark(known: Bits, rows: Codes) -> None:
    """Set the bits of these descriptions."""
    for row in rows:
        known[row >> 6] |= np.uint64(1) << np.uint64(row & 63)
