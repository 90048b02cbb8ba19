"""Recode and re-aggregate: the groups of a coarser release from those of a finer one, compiled.

A `Rolled` table holds the groups of one lattice node: a packed key of its QI labels, its people,
and its sensitive counts in sparse form. Rolling up one column maps one label of the key and merges
groups whose keys become equal. The sensitive counts are merged only when somebody asks for them:
a node that fails k-anonymity never needs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from sfumato.counts.counts import Counts
from sfumato.errors import ResourceError
from sfumato.numbers import Codes, Ints
from sfumato.schema.hierarchy import Levels


@dataclass(frozen=True)
class SparseCells:
    """Sensitive counts of groups in sparse form; `width` values.

    Where people have several values, `lists` count them by distinct list.
    """

    indptr: Ints
    indices: Codes
    data: Ints
    width: int
    lists: SparseCells | None = None

    def merged(self, order: Codes, starts: Ints) -> SparseCells:
        """Those of coarser groups: group g is made of the finer ones order[starts[g]:...]."""
        from sfumato.counts.kernel import merge_cells

        summed = merge_cells(order, starts, self.indptr, self.indices, self.data, self.width)
        lists = None if self.lists is None else self.lists.merged(order, starts)
        return SparseCells(*summed, self.width, lists)


class Steps:
    """For every column, which label of a coarser level each label of a finer one becomes."""

    def __init__(self, levels: Sequence[Levels]) -> None:
        self.levels = tuple(levels)
        self.heights = tuple(one.height for one in levels)
        self.sizes = tuple(max(len(one.domain), 1) for one in levels)
        space = 1
        strides = []
        for size in self.sizes:
            strides.append(space)
            space *= size
        if space >= 1 << 62:
            raise ResourceError(
                "the quasi-identifiers have more than 4e18 combinations of values, too many for a "
                "lattice search; use fewer columns, coarser domains, or Mondrian"
            )
        self.strides = tuple(strides)
        self.stride_of, self.size_of = np.array(strides), np.array(self.sizes)
        self._maps: dict[tuple[int, int, int], Codes] = {}

    def between(self, column: int, finer: int, coarser: int) -> Codes:
        key = (column, finer, coarser)
        if key not in self._maps:
            low, high = self.levels[column][finer], self.levels[column][coarser]
            mapping = np.zeros(len(low.regions), dtype=np.int32)
            mapping[low.codes] = high.codes
            self._maps[key] = mapping
        return self._maps[key]


@dataclass(frozen=True)
class Rolled:
    """The groups of one node. `finer` is what it was rolled up from, `of_finer` the mapping.

    `counts` are the tuples of the table that it all began with; where equal groups are told once,
    `multiplicity` says how many each stands for.
    """

    steps: Steps
    levels: tuple[int, ...]
    keys: Ints
    sizes: Ints
    finer: Rolled | None = None
    of_finer: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    base: tuple[SparseCells, ...] = ()
    counts: Counts | None = None
    multiplicity: Ints | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def people(self, chosen: npt.NDArray[np.bool_]) -> int:
        """How many people are in the chosen groups."""
        sizes = self.sizes if self.multiplicity is None else self.sizes * self.multiplicity
        return int(sizes[chosen].sum())

    def number(self, chosen: npt.NDArray[np.bool_]) -> int:
        """How many groups are chosen."""
        return int(
            np.count_nonzero(chosen)
            if self.multiplicity is None
            else self.multiplicity[chosen].sum()
        )

    def up(self, column: int, level: int) -> Rolled:
        """Roll one column up to a coarser level."""
        if level == self.levels[column]:
            return self
        from sfumato.counts.kernel import merge

        mapping = self.steps.between(column, self.levels[column], level)
        stride, size = self.steps.strides[column], self.steps.sizes[column]
        keys, sizes, number = merge(self.keys, self.sizes, stride, size, mapping)
        levels = (*self.levels[:column], level, *self.levels[column + 1 :])
        return Rolled(self.steps, levels, keys, sizes, self, number, counts=self.counts)

    def codes(self) -> Codes:
        """The label of each group, column by column."""
        rows = [
            (self.keys // stride) % size
            for stride, size in zip(self.steps.strides, self.steps.sizes, strict=True)
        ]
        return np.array(rows, dtype=np.int32).reshape(len(rows), len(self))

    @cached_property
    def cells(self) -> tuple[SparseCells, ...]:
        """Sensitive counts, one for each attribute."""
        if self.finer is None:
            return self.base
        from sfumato.counts.kernel import gather

        order, starts = gather(self.of_finer, len(self))
        return tuple(cell.merged(order, starts) for cell in self.finer.cells)

    def margins(self, kept: npt.NDArray[np.bool_]) -> Ints:
        """How many kept people have each label, column after column."""
        from sfumato.counts.kernel import margins

        steps = self.steps
        labels = (len(one[at].regions) for one, at in zip(steps.levels, self.levels, strict=True))
        starts = np.array([0, *accumulate(labels)])
        return margins(self.keys, self.sizes, kept, steps.stride_of, steps.size_of, starts)

    def of_base(self) -> Codes:
        """Which group each group of the original table has become part of."""
        if self.finer is None:
            return np.arange(len(self), dtype=np.int32)
        return self.of_finer[self.finer.of_base()]


def lowest(
    counts: Counts, steps: Steps, levels: tuple[int, ...], cells: Sequence[SparseCells]
) -> Rolled:
    """The node that a table's own groups are, whose codes are the labels of these levels."""
    group, first = counts.group_of
    keys = np.zeros(len(first), dtype=np.int64)
    for row, stride in zip(counts.codes[:, first], steps.strides, strict=True):
        keys += row.astype(np.int64) * stride
    sizes = np.bincount(group, weights=counts.n, minlength=len(first)).astype(np.int64)
    return Rolled(steps, levels, keys, sizes, base=tuple(cells), counts=counts)
