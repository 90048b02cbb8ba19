"""Counts over a few columns at a time: every combination of columns from one scan.

A `Marginal` holds the distinct values of some columns and how many people have each. The widest one
is the compact table itself; a narrower one is summed up from any wider one that has its columns.
Cells are kept sparse, and columns may have any number of values (`kernel.py` sums them). With one
of its columns as the target it is the people of each class by their value: the sparse counts that
groups have.

Where the compact table does not fit in memory the widest one stays with the engine
(`StoredMarginal`), which sums up as many columns as are asked for at a time. Where people have
several rows, cells say whose they are (`OwnedMarginal`), so that nobody counts twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from threading import Lock
from typing import Literal

import numpy as np

from sfumato.counts.kernel import (
    PeopleArray,
    by_value_of_classes,
    cells_by_address,
    cells_by_hash,
    classes_by_address,
    classes_by_hash,
    taken,
)
from sfumato.counts.stored import StoredCounts
from sfumato.engines.base import fresh, select
from sfumato.errors import ResourceError
from sfumato.numbers import Codes, Ints

_SMALL, _LARGE = 1 << 16, 1 << 24  # spaces always and never summed by address
_KEYS = 1 << 62  # beyond, packed keys may meet by chance


@dataclass(frozen=True)
class Marginal:
    """Cell i shows `codes[:, i]` and has `n[i]` people, whole unless they are expected ones.

    `columns` are positions in the table, `sizes` how many values each column has.
    """

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    codes: Codes
    n: PeopleArray

    def __len__(self) -> int:
        return len(self.n)

    def onto(self, columns: Sequence[int]) -> Marginal:
        """The same people by fewer columns."""
        rows, sizes = self._rows(columns)
        space = prod(sizes)
        scale = np.array(sizes, dtype=np.int64)
        if self._by_address(space):
            codes, n = cells_by_address(self.codes, rows, scale, self.n, space)
        else:
            codes, n = cells_by_hash(self.codes, rows, scale, self.n, space < _KEYS)
        return Marginal(tuple(columns), sizes, codes, n)

    def among(self, columns: Sequence[int]) -> Marginal:
        """As much of it as these columns need."""
        return self if len(columns) == len(self.columns) else self.onto(columns)

    def with_joint(self, column: int, members: Sequence[int]) -> tuple[Marginal, Codes]:
        """With one more column, the combination of some; and what its codes stand for."""
        number, first = self.classes(members)
        rows, _ = self._rows(members)
        wider = Marginal(
            (*self.columns, column),
            (*self.sizes, len(first)),
            np.vstack([self.codes, number]),
            self.n,
        )
        return wider, self.codes[rows][:, first]

    def people_by(self, column: int) -> PeopleArray:
        """How many people have each value of a column."""
        at = self.columns.index(column)
        counted: PeopleArray = np.bincount(self.codes[at], self.n, minlength=self.sizes[at])
        return counted

    def in_memory(self, why: str) -> Marginal:
        """Every cell."""
        return self

    def classes(self, columns: Sequence[int]) -> tuple[Codes, Ints]:
        """Each cell's class by some of its columns, and the first cell of each class."""
        rows, sizes = self._rows(columns)
        space = prod(sizes)
        scale = np.array(sizes, dtype=np.int64)
        if self._by_address(space):
            return classes_by_address(self.codes, rows, scale, space)
        return classes_by_hash(self.codes, rows, scale, space < _KEYS)

    def used(self, column: int) -> Ints:
        """The codes of a column that somebody has, ascending."""
        return np.unique(self.codes[self.columns.index(column)]).astype(np.int64)

    def coarser(self, column: int, code_of: Codes) -> Marginal:
        """The same people with other codes of a column: each of its codes becomes `code_of` it."""
        codes, row = self.codes.copy(), self.columns.index(column)
        codes[row] = code_of[codes[row]]
        return replace(self, codes=codes).onto(self.columns)

    def by_class(self, target: int) -> ClassCounts:
        """The people of every class, which all other columns make, by their value of the target."""
        columns = tuple(column for column in self.columns if column != target)
        number, first = self.classes(columns)
        at = self.columns.index(target)
        counted = by_value_of_classes(number, self.codes[at], self.n, len(first))
        return ClassCounts(*counted, self.sizes[at], self, columns, first)

    def numbers_of(self, other: Marginal) -> Ints:
        """For every cell of another the one here that shows the same in these columns; -1: none."""
        rows, sizes = other._rows(self.columns)
        sizes = tuple(max(pair) for pair in zip(self.sizes, sizes, strict=True))
        codes = np.hstack([self.codes, other.codes[rows]])
        stacked = Marginal(self.columns, sizes, codes, np.ones(codes.shape[1], dtype=np.int64))
        # Cells here are distinct and come first, so they are numbered as they stand.
        number = stacked.classes(self.columns)[0][len(self) :].astype(np.int64)
        return np.where(number < len(self), number, -1)

    def _rows(self, columns: Sequence[int]) -> tuple[Ints, tuple[int, ...]]:
        rows = [self.columns.index(column) for column in columns]
        return np.array(rows, dtype=np.int64), tuple(self.sizes[row] for row in rows)

    def _by_address(self, space: int) -> bool:
        return space <= min(_LARGE, max(_SMALL, 16 * len(self)))


OWNER = -1  # the column of an `OwnedMarginal` that says whose rows they are


@dataclass(frozen=True)
class OwnedMarginal:
    """Rows by some columns, of people who may have several: `cells` have one column more, `OWNER`.

    Each person stands in a cell once, with as many as her rows there, and still does in whatever is
    summed up from it. `known`: a pseudonym links rows, of which so many are known of a person.
    """

    cells: Marginal
    known: int | Literal["all"] | None = None

    @classmethod
    def of(
        cls, rows: Marginal, owner: Codes, known: int | Literal["all"] | None = None
    ) -> OwnedMarginal:
        """Of rows one by one, and whose each is: 0, 1, 2, ..."""
        codes = np.ascontiguousarray(np.vstack([rows.codes, owner.astype(np.int32)[None, :]]))
        columns = (*rows.columns, OWNER)
        people = int(owner.max(initial=-1)) + 1
        return cls(Marginal(columns, (*rows.sizes, people), codes, rows.n).onto(columns), known)

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(column for column in self.cells.columns if column != OWNER)

    @property
    def sizes(self) -> tuple[int, ...]:
        named = zip(self.cells.columns, self.cells.sizes, strict=True)
        return tuple(size for column, size in named if column != OWNER)

    @property
    def owner(self) -> Codes:
        """Whose rows each cell has."""
        owner: Codes = self.cells.codes[self.cells.columns.index(OWNER)]
        return owner

    @cached_property
    def by_row(self) -> Marginal:
        """The rows by what they show."""
        return self.cells.onto(self.columns)

    @cached_property
    def by_person(self) -> Marginal:
        """The distinct people who have such a row; the same cells in the same order."""
        return replace(self.cells, n=np.ones(len(self.cells), dtype=np.int64)).onto(self.columns)

    def onto(self, columns: Sequence[int]) -> OwnedMarginal:
        """The same rows by fewer columns."""
        return replace(self, cells=self.cells.onto((*columns, OWNER)))

    def among(self, columns: Sequence[int]) -> OwnedMarginal:
        """As much of it as these columns need."""
        return self if len(columns) == len(self.columns) else self.onto(columns)

    def with_joint(self, column: int, members: Sequence[int]) -> tuple[OwnedMarginal, Codes]:
        """With one more column, the combination of some; and what its codes stand for."""
        wider, codes = self.cells.with_joint(column, members)
        return replace(self, cells=wider), codes

    def used(self, column: int) -> Ints:
        """The codes of a column that somebody has, ascending."""
        return self.cells.used(column)

    def coarser(self, column: int, code_of: Codes) -> OwnedMarginal:
        """The same rows with other codes of a column."""
        return replace(self, cells=self.cells.coarser(column, code_of))

    def in_memory(self, why: str) -> Marginal:
        """Every cell with its distinct people."""
        return self.by_person


@dataclass(frozen=True)
class OwnedReading:
    """People with several rows, each row counted or each person once."""

    owned: OwnedMarginal
    once: bool

    @property
    def columns(self) -> tuple[int, ...]:
        return self.owned.columns

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.owned.sizes

    def onto(self, columns: Sequence[int]) -> Marginal:
        """By fewer columns."""
        narrower = self.owned.onto(columns)
        return narrower.by_person if self.once else narrower.by_row

    def people_by(self, column: int) -> PeopleArray:
        """How many have each value of a column."""
        return self.onto((column,)).people_by(column)


_CELL = 48  # bytes that a cell takes beside its codes while it is measured


@dataclass(frozen=True, eq=False)
class StoredMarginal:
    """The widest one of a table larger than memory: its columns are summed up when asked for.

    `joints`: columns that are combinations of others, as the cells that those make.
    """

    stored: StoredCounts
    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    joints: dict[int, Marginal] = field(default_factory=dict)
    _one_at_a_time: Lock = field(default_factory=Lock, repr=False)

    def onto(self, columns: Sequence[int]) -> Marginal:
        """The people by some columns, in memory; an error that says what to do if they do not
        fit there."""
        plain = [column for column in columns if column not in self.joints]
        hidden = [
            m for column in columns if column in self.joints for m in self.joints[column].columns
        ]
        cells = self._summed(sorted({*plain, *hidden}))
        for joint in (column for column in columns if column in self.joints):
            number = self.joints[joint].numbers_of(cells)
            cells = Marginal(
                (*cells.columns, joint),
                (*cells.sizes, len(self.joints[joint])),
                np.vstack([cells.codes, number.astype(np.int32)]),
                cells.n,
            )
        return cells if cells.columns == tuple(columns) else cells.onto(columns)

    def _summed(self, columns: Sequence[int]) -> Marginal:
        stored, names = self.stored, self.stored.columns
        wanted = [names[column] for column in columns]
        engine, name = stored.engine, fresh("marginal")
        with self._one_at_a_time:
            sums = ["CAST(SUM(n) AS BIGINT) AS n"]
            engine.materialize(name, select([*wanted, *sums], stored.name, group=wanted))
            try:
                (cells,) = engine.fetch(f"SELECT COUNT(*) AS c FROM {name}").column("c").to_pylist()
                if cells * (4 * len(wanted) + _CELL) > engine.memory:
                    raise ResourceError(
                        f"{len(wanted)} columns have {cells:,} different combinations of values, "
                        "too many for the memory limit; raise it, lower max_size, or name fewer "
                        "columns"
                    )
                listed = ", ".join(wanted)
                counted = engine.fetch(f"SELECT * FROM {name} ORDER BY {listed}", in_order=True)
            finally:
                engine.drop(name)
        codes = np.vstack([counted.column(name).to_numpy().astype(np.int32) for name in wanted])
        sizes = tuple(self._size(column) for column in columns)
        n = counted.column("n").to_numpy().astype(np.int64)
        return Marginal(tuple(columns), sizes, np.ascontiguousarray(codes), n)

    def _size(self, column: int) -> int:
        return self.sizes[self.columns.index(column)]

    def among(self, columns: Sequence[int]) -> StoredMarginal:
        """As much of it as these columns need: nothing is summed up before it is asked for."""
        sizes = tuple(self._size(column) for column in columns)
        return replace(self, columns=tuple(columns), sizes=sizes)

    def with_joint(self, column: int, members: Sequence[int]) -> tuple[StoredMarginal, Codes]:
        """With one more column, the combination of some; and what its codes stand for."""
        cells = self.onto(sorted(members))
        rows, _ = cells._rows(members)
        wider = replace(
            self,
            columns=(*self.columns, column),
            sizes=(*self.sizes, len(cells)),
            joints={**self.joints, column: cells},
        )
        return wider, cells.codes[rows]

    def people_by(self, column: int) -> PeopleArray:
        """How many people have each value of a column."""
        return self.onto((column,)).people_by(column)

    def in_memory(self, why: str) -> Marginal:
        """Every cell: an error that says what to do."""
        counts = self.stored.in_memory(why)
        raise AssertionError(counts)  # a stored table is never in memory


@dataclass(frozen=True)
class ClassCounts:
    """The people of some classes by their value of a target: the sparse counts of groups.

    `n[indptr[g]:indptr[g + 1]]` people of class g have those of `width` `values`, ascending;
    `people[g]` are in it, and it shows what cell `first[g]` shows in the `columns`.
    """

    indptr: Ints
    values: Codes
    n: PeopleArray
    people: PeopleArray
    width: int
    cells: Marginal
    columns: tuple[int, ...]
    first: Ints

    @cached_property
    def classes(self) -> Marginal:
        """The classes, as the cells that their columns alone make."""
        rows, sizes = self.cells._rows(self.columns)
        return Marginal(self.columns, sizes, taken(self.cells.codes, rows, self.first), self.people)

    def cells_of(self, group: int) -> dict[int, int]:
        """What a class shows, column by column."""
        at = self.first[group]
        codes = dict(zip(self.cells.columns, self.cells.codes[:, at].tolist(), strict=True))
        return {column: codes[column] for column in self.columns}
