"""The codes of cells by their hashes, where a join would ask a table for every column of every row.

Spark hashes a cell faster than it looks one up. Of a column with few distinct values, or of
neighbouring columns with few combinations, some bits of their hashes differ among all of them and
are the place of each in a list, where the hash stands with the code inside: `entry ^ hash` is the
code of what the entry was made for, and any number of 64 bits for another. One that is longer than
codes are tells cells that have none.

Hashes begin with a secret number, so that nobody's value can be made to pass for another. That one
without a code is taken for one that has one has a chance of 2**bits / 2**64, where codes have at
most 16 bits: among a million values below 2**-28. A missing cell leaves a hash as it is: another
secret stands between neighbours, or (missing, x) and (x, missing) would be one.

All that Java compiles for one table serves the next with these columns and values: the secrets are
those of this process, and bits are shifted where arithmetic would look for overflow in every step.

Stands apart: the SQL and its argument; the engine only says which cells are found so.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.engines.base import CellCombinations, LookedUp, named, select
from sfumato.numbers import Ints

MOST = 256  # combinations whose hashes are listed; of more, a table is joined
_MOST_BITS = 16  # of a hash that are a place in the list
_HASH_BITS = 64
_SEED, _BETWEEN = secrets.randbits(62), secrets.randbits(62)


@dataclass(frozen=True)
class _HashList:
    """Hashes with their codes, each where its bits from `shift` on say."""

    listed: Ints
    shift: int

    def code(self, hashed: str) -> str:
        """SQL of the code behind a hash, some number of 64 bits if there is none."""
        entries = f"from_json('{self.listed.tolist()}', 'array<bigint>')"
        place = f"shiftrightunsigned({hashed}, {self.shift}) & {len(self.listed) - 1}"
        return f"{entries}[CAST({place} AS INT)] ^ {hashed}"


def hash_of(keys: Sequence[str]) -> str:
    return f"xxhash64({_SEED}L, {f', {_BETWEEN}L, '.join(keys)})"


def padded(cells: Sequence[CellCombinations]) -> pa.Table:
    """All combinations side by side, to be hashed at once."""
    longest = max(len(combinations.codes) for combinations in cells)
    columns: dict[str, pa.Array] = {"place": pa.array(range(longest), pa.int32())}
    for at, combinations in enumerate(cells):
        missing = longest - len(combinations.codes)
        for name, values in zip(_value_names(at, combinations), combinations.values, strict=True):
            columns[name] = pa.concat_arrays([values, pa.nulls(missing, values.type)])
    return pa.table(columns)


def hashes_of_values(cells: Sequence[CellCombinations]) -> list[str]:
    """SQL of the hashes of all that stands in a table that was `padded`."""
    return [
        named(hash_of(_value_names(at, combinations)), f"h{at}")
        for at, combinations in enumerate(cells)
    ]


def _value_names(at: int, combinations: CellCombinations) -> list[str]:
    return [f"v{at}_{place}" for place in range(len(combinations.keys))]


def look_up(
    relation: str, cells: Sequence[CellCombinations], carried: Sequence[str], hashes: pa.Table
) -> LookedUp | None:
    """SQL of the rows with the code of each combination; None if hashes do not tell them apart."""
    hashes = hashes.sort_by("place")
    hashed, behind, codes, excess = [], [], [], []
    for at, combinations in enumerate(cells):
        of_values = hashes.column(f"h{at}").to_numpy()[: len(combinations.codes)]
        entries = _entries(of_values, combinations.codes)
        if entries is None:
            return None
        hashed.append(named(hash_of(combinations.keys), f"sfumato_hash{at}"))
        codes.append(f"sfumato_found{at}")
        behind.append(named(entries.code(f"sfumato_hash{at}"), codes[at]))
        excess.append(
            f"shiftrightunsigned({codes[at]}, {int(combinations.codes.max()).bit_length()})"
        )
    # Each step for itself, or a hash is worked out wherever it is read.
    inner = f"({select(['*', *carried, *hashed], relation)}) AS hashed"
    known = f"({' | '.join(excess)}) = 0"
    return LookedUp(f"({select(['*', *behind], inner)}) AS found", codes, known)


def _entries(hashes: Ints, codes: npt.NDArray[np.integer]) -> _HashList | None:
    """The shortest list in which each hash has a place of its own."""
    unsigned = hashes.view(np.uint64)
    for bits in range(max(len(hashes) - 1, 1).bit_length(), _MOST_BITS + 1):
        for shift in range(_HASH_BITS - bits + 1):
            places = (unsigned >> np.uint64(shift)) & np.uint64((1 << bits) - 1)
            if len(np.unique(places)) == len(places):
                listed = np.zeros(1 << bits, dtype=np.int64)
                listed[places.astype(np.int64)] = hashes ^ codes.astype(np.int64)
                return _HashList(listed, shift)
    return None
