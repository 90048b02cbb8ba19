"""From Mondrian's partition to what is published of each group, in one of three ways.

"cell": the cut cells themselves; they say nothing about who is absent inside them. "tight": the
narrowest ranges or sets of the group's own values that may be told. "hierarchy": the finest
hierarchy label that covers them. Bounds of numbers and dates are those of `schema/boundaries.py`:
such a column is searched in its blocks, so that people are parted by the bound that is published.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.counts.counts import TableCounts
from sfumato.numbers import Bools, Codes, Ints
from sfumato.release.regions import Regions
from sfumato.schema.boundaries import Boundaries, boundaries_of
from sfumato.schema.domain import Domain
from sfumato.schema.hierarchy import Levels
from sfumato.schema.recipes import Masking
from sfumato.schema.region import Anything, Region, ValueSet
from sfumato.schema.roles import Schema


@dataclass(frozen=True)
class Columns:
    """How each quasi-identifier is split: ordered by its codes, or nested along its hierarchy.

    The codes of an ordered column of numbers or dates are those of its blocks, if it has any.
    """

    levels: tuple[Levels, ...]
    boundaries: tuple[Boundaries | None, ...]
    sizes: Codes  # codes of each column in the search
    nested: Codes  # the domain size of a nested column, 0 for an ordered one
    labels: Codes  # labels of nested columns, level by level
    at: Ints  # where each column's labels begin
    last: Codes  # the last code before NULL, where NULL is no neighbour of values; else -1
    own: Bools  # whether a cut after this code is told by the value of one person
    own_at: Ints  # where each column's begin

    @classmethod
    def of(
        cls, schema: Schema, levels: tuple[Levels, ...], counts: TableCounts, style: str
    ) -> Columns:
        """`style`: how groups are described; labels of a hierarchy tell no cut, so any will do."""
        nested, at, tables, filled = [], [], [], 0
        found: list[Boundaries | None] = []
        for column, one in enumerate(levels):
            along = _splits_along_hierarchy(schema, one.domain)
            nested.append(len(one.domain) if along else 0)
            at.append(filled)
            if along:
                tables += [level.codes for level in one.levels]
                filled += len(one.domain) * one.height
            unit = schema.units.get(one.domain.name)
            bounded = None
            if unit is not None or (not along and style != "hierarchy"):
                bounded = boundaries_of(one, unit, counts.by_code(column))
            found.append(None if along or style == "hierarchy" else bounded)
        flat = np.concatenate(tables) if tables else np.zeros(0, dtype=np.int32)
        sizes = [
            len(one.domain) if bounded is None else len(bounded)
            for one, bounded in zip(levels, found, strict=True)
        ]
        apart = [
            one.domain.has_null and one.domain.kind in ("numeric", "date") and not along
            for one, along in zip(levels, nested, strict=True)
        ]
        own = [
            np.zeros(size, dtype=bool)
            if bounded is None
            else np.concatenate([bounded.own, np.zeros(size - len(bounded.own), dtype=bool)])
            for size, bounded in zip(sizes, found, strict=True)
        ]
        return cls(
            levels,
            tuple(found),
            np.array(sizes, dtype=np.int32),
            np.array(nested, dtype=np.int32),
            flat.astype(np.int32),
            np.array(at, dtype=np.int64),
            np.where(apart, np.array(sizes) - 2, -1).astype(np.int32),
            np.concatenate(own),
            np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64),
        )

    def __len__(self) -> int:
        return len(self.levels)

    def searched(self, column: int, codes: Codes) -> Codes:
        """The codes of a column's values as the search knows them."""
        bounded = self.boundaries[column]
        return codes if bounded is None else bounded.block_of[codes]

    def last_value(self, column: int, code: int) -> int:
        """The last code of the domain up to a code of the search."""
        bounded = self.boundaries[column]
        if bounded is None:
            return code
        return int(np.searchsorted(bounded.block_of, code, side="right")) - 1


def _splits_along_hierarchy(schema: Schema, domain: Domain) -> bool:
    """Numbers, dates and declared orders are cut between values; the rest follows its tree.

    A column of codes without any hierarchy is cut in the order of its codes.
    """
    if domain.name not in schema.hierarchies:
        return False
    return domain.kind == "categorical" or isinstance(schema.hierarchies[domain.name], Masking)


def describe(
    style: str, columns: Columns, codes: Codes, order: Ints, begins: Ints, low: Codes, high: Codes
) -> Regions:
    """What groups publish: group g has the rows `order[begins[g]:begins[g + 1]]` and a cell."""
    if style == "cell":
        return cell_regions(columns, low, high)
    if style == "tight":
        return tight_regions(columns, codes, order, begins, low, high)
    return hierarchy_regions(columns, codes, order, begins)


def cell_regions(columns: Columns, low: Codes, high: Codes) -> Regions:
    """`low`, `high`: code bounds of an ordered column's cell; level and label of a nested one's.

    How a bound takes in NULL is said in `splits.py`.
    """
    parts: list[tuple[Region, ...]] = []
    codes = np.empty((len(columns), len(low)), dtype=np.int32)
    for column, one in enumerate(columns.levels):
        size = 2 * max(len(one.domain), one.height) + 2
        bounded = columns.boundaries[column]
        pairs = low[:, column].astype(np.int64) * size + high[:, column]
        distinct, codes[column] = np.unique(pairs, return_inverse=True)
        pair = zip(*(part.tolist() for part in np.divmod(distinct, size)), strict=True)
        if columns.nested[column]:
            parts.append(tuple(one[level].regions[label] for level, label in pair))
        elif bounded is not None:
            parts.append(tuple(bounded.cell(first, last) for first, last in pair))
        else:
            parts.append(tuple(code_range(one.domain, first, last) for first, last in pair))
    return Regions(tuple(one.domain.name for one in columns.levels), tuple(parts), codes)


def code_range(domain: Domain, low: int, high: int) -> Region:
    """The cell of a column of categories between two codes, both included."""
    if low == 0 and high == len(domain) - 1:
        return Anything()
    return ValueSet(frozenset(domain.values[low : high + 1]))


def tight_regions(
    columns: Columns, codes: Codes, order: Ints, begins: Ints, low: Codes, high: Codes
) -> Regions:
    """The ranges (numbers, dates) or sets of each group's own values, as narrow as may be told.

    Group g holds the rows `order[begins[g]:begins[g + 1]]` of `codes` (rows by columns).
    """
    total = len(begins) - 1
    group = np.repeat(np.arange(total), np.diff(begins))
    parts: list[tuple[Region, ...]] = []
    out = np.empty((len(columns), total), dtype=np.int32)
    for column, one in enumerate(columns.levels):
        bounded = columns.boundaries[column]
        if bounded is not None:
            cells = low[:, column], high[:, column]
            hulls, out[column] = _hulls(bounded, codes[order, column], begins, *cells)
            parts.append(hulls)
            continue
        having = codes[order, column].astype(np.int64)
        size = max(len(one.domain), 1)
        present = np.unique(group * size + having)
        of_group, code = np.divmod(present, size)
        starts = np.searchsorted(of_group, np.arange(total + 1))
        index: dict[Region, int] = {}
        for g in range(total):
            values = [one.domain.values[own] for own in code[starts[g] : starts[g + 1]]]
            region = ValueSet(frozenset(values))
            out[column, g] = index.setdefault(region, len(index))
        parts.append(tuple(index))
    return Regions(tuple(one.domain.name for one in columns.levels), tuple(parts), out)


def _hulls(
    bounded: Boundaries, blocks: Codes, begins: Ints, low: Codes, high: Codes
) -> tuple[tuple[Region, ...], Ints]:
    """The narrowest ranges that may be told of each group's blocks, and which group has which."""
    least = np.minimum.reduceat(blocks, begins[:-1])
    most = np.maximum.reduceat(blocks, begins[:-1])
    kinds, which = np.unique(np.stack([least, most, low, high]), axis=1, return_inverse=True)
    index: dict[Region, int] = {}
    number = np.array(
        [
            index.setdefault(bounded.hull(a, b, (first, last)), len(index))
            for a, b, first, last in kinds.T.tolist()
        ]
    )
    return tuple(index), number[which.reshape(-1)]


def hierarchy_regions(columns: Columns, codes: Codes, order: Ints, begins: Ints) -> Regions:
    """The finest label of each column's hierarchy that covers the group's values."""
    parts: list[tuple[Region, ...]] = []
    out = np.empty((len(columns), len(begins) - 1), dtype=np.int32)
    for column, one in enumerate(columns.levels):
        level = np.full(len(begins) - 1, one.height - 1)
        label = np.zeros(len(begins) - 1, dtype=np.int64)
        for height in range(one.height - 1, -1, -1):  # the finest that fits has the last word
            having = one[height].codes[codes[order, column]]
            least = np.minimum.reduceat(having, begins[:-1])
            fits = least == np.maximum.reduceat(having, begins[:-1])
            level[fits], label[fits] = height, least[fits]
        size = len(one.domain) + 1
        distinct, out[column] = np.unique(level * size + label, return_inverse=True)
        parts.append(tuple(one[place // size].regions[place % size] for place in distinct))
    return Regions(tuple(one.domain.name for one in columns.levels), tuple(parts), out)
