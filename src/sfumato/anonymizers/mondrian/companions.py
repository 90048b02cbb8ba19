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
    def of(cls, by_person: RowsByPerson, root: Nodes) -> Companions:
        """Of what a search begins with, whose rows are all tuples of a table in some order."""
        everybody = np.array([0, len(by_person.tuples)])
        person = rows_of(by_person.indptr).astype(np.int32)
        row = _placed(root.place, len(root.place)).take(by_person.tuples)
        if len(root) == 1:  # which has all rows of all people
            many = np.diff(by_person.indptr)
            several = np.repeat(many > 1, many)
            if several.all():
                return cls(everybody, row, person)
            return cls(np.array([0, several.sum()]), row[several], person[several])
        node = np.repeat(np.arange(len(root), dtype=np.int32), root.stops - root.starts)
        parts = np.array([len(root)], dtype=np.int32)
        kept = np.arange(len(root), dtype=np.int32)
        return cls(*steps.companions(node.take(row), row, parts, kept, everybody, person))

    def carried(self, part: Codes, parts: Codes, kept: Codes, moved: Ints) -> Companions:
        """Of the nodes that the parts of all nodes become: `kept` is a part's node, -1: it is done.

        `moved` are the rows of those nodes, one node after another.
        """
        # Rows of one person lie anywhere: looked up all at once, they are found in a fraction of
        # the time that one after another takes.
        to = _placed(moved, len(part)).take(self.row)
        where = self.begins, self.person
        return Companions(*steps.companions(part.take(self.row), to, parts, kept, *where))

    def between(self, first: int, last: int, begin: int) -> Companions:
        """Of some consecutive nodes, whose rows begin there."""
        low, high = self.begins[first], self.begins[last]
        begins = self.begins[first : last + 1] - low
        return Companions(begins, self.row[low:high] - np.int32(begin), self.person[low:high])

    def people(self, split: Split) -> Ints:
        """The distinct people of each part of a split."""
        total = len(split.people)
        cells = np.arange(total + 1), np.zeros(total, dtype=np.int32)
        return split.people - self._repeated(split, split.part, *cells, 1)

    def by_value(
        self, split: Split, value: Codes, cells: tuple[Ints, Codes, Ints], width: int
    ) -> tuple[Ints, Codes, Ints]:
        """The same by value: `value` is that of each row, `cells` are the rows of each part."""
        indptr, indices, rows = cells
        narrow = int(split.parts.max(initial=1)) * width <= np.iinfo(np.int32).max
        slot = split.part * (np.int32 if narrow else np.int64)(width) + value
        return indptr, indices, rows - self._repeated(split, slot, indptr, indices, width)

    def _repeated(
        self, split: Split, slot: Codes | Ints, indptr: Ints, indices: Codes, width: int
    ) -> Ints:
        """How many rows of each cell are not the first of their person there.

        `slot` is the part of each row, times `width`, and its value.
        """
        cells = indptr, indices, width
        where = self.begins, self.person
        return steps.repeated(slot.take(self.row), split.parts, split.nodes, *cells, *where)


def _placed(rows: Ints, total: int) -> Codes:
    """Where each of so many rows stands among these; anything where it does not."""
    place = np.empty(total, dtype=np.int32)
    place[rows] = np.arange(len(rows), dtype=np.int32)
    return place
