"""Whose rows: distinct people of groups in which somebody has several rows.

Where rows are published one by one, five rows of one person are not five people, in no group and
in no union of groups: whenever groups are put together, people must be counted anew. That is done
person by person: each row of hers says which group it lies in, and in a group where she was met
before she is not counted again. One pass over all rows tells the people of all groups, whatever
these are (cells of a group and a value, codes of a column), and nothing is sorted or hashed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.numbers import Codes, Ints, distinct, in_order, rows_of, tallied_offsets

FEW = 20_000  # rows that NumPy counts in the time that Numba takes to be loaded
_KERNEL = "sfumato.counts.kernel"
_ID = np.int32


@dataclass(frozen=True)
class RowsByPerson:
    """Person p has rows in `tuples[indptr[p]:indptr[p + 1]]`, ascending, an entry for each row."""

    indptr: Ints
    tuples: Codes

    @classmethod
    def of(cls, n: Ints, owner: Codes) -> RowsByPerson:
        """Of tuples of so many rows each; `owner` is whose each row is, rows by tuple."""
        people = int(owner.max(initial=-1)) + 1
        if (compiled := _compiled(len(owner))) is not None:
            return cls(*compiled.rows_by_person(n, owner, people))
        tuples = np.repeat(np.arange(len(n), dtype=_ID), n)
        return cls(tallied_offsets(owner, people), tuples[in_order(owner)])

    @property
    def people(self) -> int:
        """People are numbered below this."""
        return len(self.indptr) - 1

    def count(self, group: npt.NDArray[np.integer[Any]], groups: int) -> Ints:
        """The distinct people of each of so many groups; `group` is each tuple's, -1: none."""
        if (compiled := _compiled(len(self.tuples))) is not None:
            counted: Ints = compiled.count_people(self.indptr, self._of_rows(group), groups)
            return counted
        _, listed = self.groups_of(group, groups)
        return np.bincount(listed, minlength=groups).astype(np.int64)

    def groups_of(self, group: npt.NDArray[np.integer[Any]], groups: int) -> tuple[Ints, Ints]:
        """The groups of each person: pairs of a person and a group, in order and each once."""
        if (compiled := _compiled(len(self.tuples))) is not None:
            offsets, listed = compiled.groups_of_people(self.indptr, self._of_rows(group), groups)
            return rows_of(offsets), listed
        of_row = self._of_rows(group).astype(np.int64)
        placed = of_row >= 0
        person = rows_of(self.indptr)[placed]
        width = max(groups, 1)
        people, group_of_pair = np.divmod(distinct(person * width + of_row[placed]), width)
        return people, group_of_pair

    def _of_rows(self, group: npt.NDArray[np.integer[Any]]) -> Codes:
        """The group of each row. A person's tuples lie anywhere: they are looked up all at once,
        since a processor that waits for each in turn takes several times as long."""
        return group.astype(_ID, copy=False).take(self.tuples)


def _compiled(rows: int) -> Any:
    """The compiled functions, where rows are many or they are loaded; else None."""
    if rows <= FEW and _KERNEL not in sys.modules:
        return None
    from sfumato.counts import kernel

    return kernel
