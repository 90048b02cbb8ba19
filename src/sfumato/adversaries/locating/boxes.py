"""The groups of a release as boxes, and an index over them: which boxes is a tuple in?

In each column of the people who are looked up, values that no region tells apart are a class; a
region is a run of classes, now and then with gaps, and a group a box of such runs. Few people among
few boxes are compared with each; for many, or many times, there is a k-d tree (`kernel.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sfumato.adversaries.locating.value_classes import ValueClasses, value_classes
from sfumato.numbers import Codes, Ints, ShortCodes, rows_of, tallied_offsets
from sfumato.release.description import Regions
from sfumato.schema.domain import Domain

_FEW_PAIRS = 1 << 23  # of people and boxes, which NumPy compares in a tenth of a second
_PATIENCE = 1 << 25  # pairs compared in a process, as a search does: compiled code is worth loading
_SMALL = 1 << 16  # parts that two bytes tell apart


@dataclass(frozen=True)
class Boxes:
    """Groups as boxes of classes: in column c group g, of part p = `published[g, c]`, is
    `low[p]..high[p]`; where `gap[p]` >= 0 only of the classes at
    `listed[offsets[gap]:offsets[gap + 1]]`, ascending.

    There are few such parts p, and millions of groups, each of which is read from one place.
    """

    published: ShortCodes
    low: Ints
    high: Ints
    gap: Ints
    offsets: Ints
    listed: Ints

    def containing(self, points: Ints) -> tuple[Ints, Ints]:
        """Which point `points[:, i]` is in which box: points ascending, and the boxes of each."""
        known = np.all(points >= 0, axis=0).reshape(-1, 1)
        inside = np.repeat(known, len(self.published), axis=1)
        for row, parts in zip(points, self.published.T, strict=True):
            low, high = self.low[parts], self.high[parts]
            # As few bytes a number as do: so many more are compared at once.
            least = np.min_scalar_type(-1 - max(row.max(initial=0), high.max(initial=0)))
            classes = row.astype(least)[:, None]
            inside &= low.astype(least) <= classes
            inside &= classes <= high.astype(least)
        point, box = np.nonzero(inside)
        classes = 1 + max(points.max(initial=0), self.listed.max(initial=0))
        keys = rows_of(self.offsets) * classes + self.listed
        for row, parts in zip(points, self.published.T, strict=True):
            gap = self.gap[parts[box]]
            fits = (gap < 0) | np.isin(gap * classes + row[point], keys)
            point, box = point[fits], box[fits]
        return point, box


@dataclass(frozen=True)
class BoxIndex:
    """Groups as boxes of classes of values. Few people among few boxes are compared with each: the
    k-d tree is for many, or many times, and compiling it takes seconds."""

    compared: ClassVar[int] = 0  # pairs, by all that there were in this process

    _columns: tuple[ValueClasses, ...]
    _fittable: Ints  # the groups that somebody's values may fit, in the order of the boxes
    _boxes: Boxes

    @classmethod
    def of(cls, regions: Regions, domains: Sequence[Domain]) -> BoxIndex:
        """`domains` are those of the people who will be looked up, column by column."""
        columns = tuple(
            value_classes(domain, parts, codes)
            for domain, parts, codes in zip(domains, regions.parts, regions.codes, strict=True)
        )
        # A group one of whose regions nobody's value fits is nobody's.
        fits = [column.low <= column.high for column in columns]
        fittable = np.ones(len(regions), dtype=bool)
        for fitting, codes in zip(fits, regions.codes, strict=True):
            fittable &= fitting[codes]
        groups = np.flatnonzero(fittable)
        small = sum(len(column.low) for column in columns) <= _SMALL  # as a rule: half the memory
        published = np.empty((len(groups), len(columns)), dtype=np.uint16 if small else np.int32)
        gaps, offsets, listed, parts = [], [np.zeros(1, np.int64)], [np.zeros(0, np.int64)], 0
        for place, (column, codes) in enumerate(zip(columns, regions.codes, strict=True)):
            np.add(
                codes if len(groups) == len(codes) else codes[groups],
                parts,
                published[:, place],
                casting="unsafe",  # they are as few as two bytes tell apart
            )
            parts += len(column.low)
            before = sum(len(offset) - 1 for offset in offsets[1:])
            gaps.append(np.where(column.gap >= 0, column.gap + before, -1))
            offsets.append(column.offsets + sum(map(len, listed)))
            listed.append(column.listed)
        low, high = ([getattr(column, end) for column in columns] for end in ("low", "high"))
        boxes = Boxes(
            published,
            np.concatenate([*low, listed[0]]),
            np.concatenate([*high, listed[0]]),
            np.concatenate([*gaps, listed[0]]),
            np.concatenate([offsets[0], *(offset[1:] for offset in offsets[1:])]),
            np.concatenate(listed),
        )
        return cls(columns, groups, boxes)

    @cached_property
    def _tree(self) -> tuple[Ints, Codes]:
        """The tree over boxes, which are put in the order of its leaves on the way.

        Boxes of a leaf are read together, and of millions each would be fetched from afar.
        """
        from sfumato.adversaries.locating import kernel  # its compiler loads slowly

        published = self._boxes.published
        nodes, items = kernel.build(published, self._boxes.low, self._boxes.high)
        place = np.empty(len(published), dtype=np.int32)  # where a box comes first in a leaf
        place[items[::-1]] = np.arange(len(items) - 1, -1, -1, dtype=np.int32)
        order = np.argsort(place)
        place[order] = np.arange(len(order), dtype=np.int32)
        for column in range(published.shape[1]):  # in their place: they are most of the index
            published[:, column] = published[order, column]
        self._fittable[:] = self._fittable[order]
        return nodes, place[items]

    @property
    def size(self) -> int:
        """The bytes it takes, with its tree."""
        return (
            self._boxes.published.nbytes + self._fittable.nbytes + sum(t.nbytes for t in self._tree)
        )

    def compiles(self, people: int) -> bool:
        """Whether so many are looked up by compiled code; then the tree stands, and several threads
        may do so at once."""
        few = people * len(self._fittable) <= _FEW_PAIRS and BoxIndex.compared <= _PATIENCE
        return "_tree" in vars(self) or (not few and bool(self._tree))

    def locate(self, codes: Codes, *, among: int | None = None) -> tuple[Ints, Ints]:
        """The groups whose regions contain each tuple `codes[:, i]`: those of `indptr[i]` to
        `indptr[i + 1]`, ascending. `among`: of so many people in all."""
        points = np.vstack(
            [column.class_of[row] for column, row in zip(self._columns, codes, strict=True)]
        )
        boxes, total = self._boxes, points.shape[1]
        if not self.compiles(among or total):
            BoxIndex.compared += total * len(self._fittable)
            point, box = boxes.containing(points)
            return tallied_offsets(point, total), self._fittable[box]
        from sfumato.adversaries.locating import kernel  # its compiler loads slowly

        indptr, groups = kernel.search(
            *self._tree,
            boxes.published,
            *(boxes.low, boxes.high, boxes.gap, boxes.offsets, boxes.listed),
            np.ascontiguousarray(points),
        )
        return indptr, self._fittable[groups]
