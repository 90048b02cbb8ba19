"""The codes of cells by their hashes, where a join would ask a table for every column of every row.

Spark hashes a cell faster than it looks one up. Of a column with few distinct values some bits of
their hashes differ among all of them and are the place of each in a list, where the hash stands
with the code inside: `entry ^ hash` is the code of the value that the entry was made for, and any
number of 64 bits for another. A number that is no code tells a value that has none.

Hashes begin with a secret number, so that nobody's value can be made to pass for another. That one
without a code is taken for one that has one has a chance of codes / 2**64: among a million values
beside 256 below 2**-35.

Stands apart: the SQL and its argument; the engine only says which cells are found so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as kinds

from sfumato.engines.base import DistinctCells, LookedUp, named, select
from sfumato.numbers import Ints

MOST = 256  # values of a column whose hashes are listed; of more, a table is joined
_MOST_BITS = 16  # of a hash that are a place in the list
_HASH_BITS = 64


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


def is_listed(values: pa.Array) -> bool:
    """Whether cells are few and of a type of which equal ones have equal hashes and no others."""
    kind = values.type
    plain = kinds.is_string(kind) or kinds.is_boolean(kind) or kinds.is_date32(kind)
    return len(values) <= MOST and (plain or kinds.is_signed_integer(kind))


def hash_of(key: str, secret: int) -> str:
    return f"xxhash64({secret}L, {key})"


def padded(cells: Sequence[DistinctCells]) -> pa.Table:
    """The values of some columns side by side, to be hashed at once."""
    longest = max(len(column.values) for column in cells)
    columns: dict[str, pa.Array] = {"place": pa.array(range(longest), pa.int32())}
    for at, column in enumerate(cells):
        missing = pa.nulls(longest - len(column.values), column.values.type)
        columns[f"v{at}"] = pa.concat_arrays([column.values, missing])
    return pa.table(columns)


def look_up(
    relation: str,
    cells: Sequence[DistinctCells],
    carried: Sequence[str],
    hashes: pa.Table,
    secret: int,
) -> LookedUp | None:
    """SQL of the rows with the code of each cell; None if values cannot be told by their hashes."""
    hashes = hashes.sort_by("place")
    hashed, behind, codes, known = [], [], [], []
    for at, column in enumerate(cells):
        of_values = hashes.column(f"h{at}").to_numpy()[: len(column.values)]
        entries = _entries(of_values, column.codes)
        if entries is None:
            return None
        hashed.append(named(hash_of(column.key, secret), f"sfumato_hash{at}"))
        codes.append(f"sfumato_found{at}")
        behind.append(named(entries.code(f"sfumato_hash{at}"), codes[at]))
        known.append(f"{codes[at]} BETWEEN 0 AND {int(column.codes.max())}")
    # Each step for itself, or a hash is worked out wherever it is read.
    inner = f"({select(['*', *carried, *hashed], relation)}) AS hashed"
    return LookedUp(f"({select(['*', *behind], inner)}) AS found", codes, " AND ".join(known))


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
