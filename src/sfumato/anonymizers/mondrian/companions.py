"""Mondrian where people have several rows: who has more than one in a node.

Only she makes the people of a node fewer than its rows, and those of a value fewer than its rows.
Splits part her rows, so that soon hardly anybody has two in one node: what is carried along from
level to level, and counted for each candidate split, grows short long before nodes do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymizers.mondrian import steps
from sfumato.counts.owners import RowsByPerson
from sfumato.numbers import Codes, Ints, rows_of

if TYPE_CHECKING:
    from sfumato.anonymizers.mondrian.partition import Nodes, Split


@dataclass(frozen=True)
class Companions:
    """Rows of nodes whose person has others in the same node, from `begins[node]` on.

    `row` is a row of the batch, which is a tuple: where several of hers are of one tuple it stands
    there as often. Those of one `person` stand together.
    """

    begins: Ints
    row: Codes
    person: Codes

    @classmethod
    def of(cls, held: RowsByPerson, root: Nodes) -> Companions:
        """Of what a search begins with, whose rows are all tuples of a table in some order."""
        everybody = np.array([0, len(held.tuples)])
        person = rows_of(held.indptr).astype(np.int32)
        nodes = np.repeat(np.arange(len(root)), root.stops - root.starts)
        part, place = np.empty((2, len(root.place)), dtype=np.int32)
        part[root.place], place[root.place] = nodes, np.arange(len(nodes))
        parts = np.array([len(root)], dtype=np.int32)
        kept = np.arange(len(root), dtype=np.int32)
        return cls(*steps.companions(part, place, parts, kept, everybody, held.tuples, person))

    def carried(self, part: Codes, parts: Codes, kept: Codes, moved: Ints) -> Companions:
        """Of the nodes that the parts of all nodes become: `kept` is a part's node, -1: it is done.

        `moved` are the rows of those nodes, one node after another.
        """
        place = np.empty(len(part), dtype=np.int32)
        place[moved] = np.arange(len(moved), dtype=np.int32)
        where = self.begins, self.row, self.person
        return Companions(*steps.companions(part, place, parts, kept, *where))

    def between(self, first: int, last: int, begin: int) -> Companions:
        """Of some consecutive nodes, whose rows begin there."""
        low, high = self.begins[first], self.begins[last]
        begins = self.begins[first : last + 1] - low
        return Companions(begins, self.row[low:high] - np.int32(begin), self.person[low:high])

    def people(self, split: Split) -> Ints:
        """The distinct people of each part of a split."""
        total = len(split.people)
        nothing = np.zeros(len(split.part), dtype=np.int32)
        each = np.arange(total + 1), np.zeros(total, dtype=np.int32)
        return split.people - self._repeated(split, nothing, *each, 1)

    def by_value(
        self, split: Split, value: Codes, cells: tuple[Ints, Codes, Ints], width: int
    ) -> tuple[Ints, Codes, Ints]:
        """The same by value: `value` is that of each row, `cells` are the rows of each part."""
        indptr, indices, rows = cells
        return indptr, indices, rows - self._repeated(split, value, indptr, indices, width)

    def _repeated(
        self, split: Split, value: Codes, indptr: Ints, indices: Codes, width: int
    ) -> Ints:
        """How many rows of each cell are not the first of their person there."""
        where = self.begins, self.row, self.person
        return steps.repeated(
            split.part, split.parts, split.nodes, value, indptr, indices, width, *where
        )
