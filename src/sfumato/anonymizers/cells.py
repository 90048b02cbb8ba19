"""From Mondrian's partition to what is published of each group, in one of three ways.

"cell": the cut cells themselves; they say nothing about who is absent inside them. "tight": the
ranges or sets of the group's own values. "hierarchy": the finest hierarchy label that covers them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.counts.contingency import Ints
from sfumato.release.regions import Regions
from sfumato.schema.domain import Codes, Domain
from sfumato.schema.hierarchy import Levels
from sfumato.schema.recipes import Masking
from sfumato.schema.region import Anything, Region, Span, ValueSet
from sfumato.schema.roles import Schema


@dataclass(frozen=True)
class Columns:
    """How each quasi-identifier is split: ordered by its codes, or nested along its hierarchy."""

    levels: tuple[Levels, ...]
    nested: Codes  # the domain size of a nested column, 0 for an ordered one
    labels: Codes  # labels of nested columns, level by level
    at: Ints  # where each column's labels begin

    @classmethod
    def of(cls, schema: Schema, levels: tuple[Levels, ...]) -> Columns:
        nested, at, tables, filled = [], [], [], 0
        for one in levels:
            along = _splits_along_hierarchy(schema, one.domain)
            nested.append(len(one.domain) if along else 0)
            at.append(filled)
            if along:
                tables += [level.codes for level in one.levels]
                filled += len(one.domain) * one.height
        flat = np.concatenate(tables) if tables else np.zeros(0, dtype=np.int32)
        return cls(
            levels,
            np.array(nested, dtype=np.int32),
            flat.astype(np.int32),
            np.array(at, dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.levels)


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
        return tight_regions(columns, codes, order, begins)
    return hierarchy_regions(columns, codes, order, begins)


def cell_regions(columns: Columns, low: Codes, high: Codes) -> Regions:
    """`low`, `high`: code bounds of an ordered column's cell; level and label of a nested one's."""
    parts: list[tuple[Region, ...]] = []
    codes = np.empty((len(columns), len(low)), dtype=np.int32)
    for column, one in enumerate(columns.levels):
        size = max(len(one.domain), one.height) + 1
        pairs = low[:, column].astype(np.int64) * size + high[:, column]
        distinct, codes[column] = np.unique(pairs, return_inverse=True)
        pair = zip(*(part.tolist() for part in np.divmod(distinct, size)), strict=True)
        if columns.nested[column]:
            parts.append(tuple(one[level].regions[label] for level, label in pair))
        else:
            parts.append(tuple(code_range(one.domain, first, last) for first, last in pair))
    return Regions(tuple(one.domain.name for one in columns.levels), tuple(parts), codes)


def code_range(domain: Domain, low: int, high: int) -> Region:
    """The cell of an ordered column between two codes, both included."""
    values, size = domain.values, len(domain)
    if low == 0 and high == size - 1:
        return Anything()
    if low == high:
        return ValueSet(frozenset({values[low]}))
    last = size - 1 - domain.has_null
    if domain.kind not in ("numeric", "date") or high > last:
        return ValueSet(frozenset(values[low : high + 1]))
    if low == 0 and high == last:  # everybody but NULL: an open cell would read as `*`
        return Span(values[0], values[last], high_closed=True)  # type: ignore[arg-type]
    if low == 0:
        return Span(high=values[high + 1])  # type: ignore[arg-type]
    if high == last:
        return Span(low=values[low])  # type: ignore[arg-type]
    return Span(values[low], values[high + 1])  # type: ignore[arg-type]


def tight_regions(columns: Columns, codes: Codes, order: Ints, begins: Ints) -> Regions:
    """The ranges (numbers, dates) or sets of each group's own values.

    Group g holds the rows `order[begins[g]:begins[g + 1]]` of `codes` (rows by columns).
    """
    total = len(begins) - 1
    group = np.repeat(np.arange(total), np.diff(begins))
    parts: list[tuple[Region, ...]] = []
    out = np.empty((len(columns), total), dtype=np.int32)
    for column, one in enumerate(columns.levels):
        having = codes[order, column].astype(np.int64)
        size = max(len(one.domain), 1)
        present = np.unique(group * size + having)
        of_group, code = np.divmod(present, size)
        starts = np.searchsorted(of_group, np.arange(total + 1))
        index: dict[Region, int] = {}
        for g in range(total):
            region = _tight(one.domain, code[starts[g] : starts[g + 1]])
            out[column, g] = index.setdefault(region, len(index))
        parts.append(tuple(index))
    return Regions(tuple(one.domain.name for one in columns.levels), tuple(parts), out)


def _tight(domain: Domain, codes: Ints) -> Region:
    values = [domain.values[code] for code in codes]
    scaled = domain.kind in ("numeric", "date") and values[-1] is not None
    if scaled and len(values) > 1:
        return Span(values[0], values[-1], high_closed=True)
    return ValueSet(frozenset(values))


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
