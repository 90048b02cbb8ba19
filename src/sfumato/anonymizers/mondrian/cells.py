"""Cells of Mondrian's partition: how columns are cut, what parts are bounded by, what is published.

Groups publish one of three things. "cell": the cut cells themselves; they say nothing about who is
absent inside them. "tight": the narrowest ranges or sets of the group's own values that may be
told. "hierarchy": the finest hierarchy label that covers them. Bounds of numbers and dates are
those of `schema/boundaries.py`: such a column is searched in its blocks, so that people are parted
by the bound that is published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymizers.mondrian import steps
from sfumato.anonymizers.mondrian.frames import frames_of, within_frames
from sfumato.counts.counts import TableCounts
from sfumato.numbers import Bools, Codes, Ints, distinct
from sfumato.release.description import Regions
from sfumato.schema.boundaries import BESIDE, Boundaries, boundaries_of
from sfumato.schema.domain import Domain
from sfumato.schema.hierarchy import Levels
from sfumato.schema.recipes import Masking
from sfumato.schema.region import Anything, Region, ValueSet
from sfumato.schema.roles import Schema

if TYPE_CHECKING:  # nodes are made of cells
    from sfumato.anonymizers.mondrian.partition import Nodes


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
    last: Codes  # the last code of a value, where specials come after it; else -1 (`splits.py`)
    own: Bools  # whether a cut after this code is told by the value of one person
    own_at: Ints  # where each column's begin
    frames: tuple[Codes | None, ...]  # of each code, what limits do not let a group reach beyond
    halved: Bools  # only `*` is forbidden: frames are halves, and others will do

    @classmethod
    def of(
        cls, schema: Schema, levels: tuple[Levels, ...], counts: TableCounts, style: str
    ) -> Columns:
        """`style`: how groups are described; labels of a hierarchy tell no cut, so any will do."""
        nested, at, tables, filled = [], [], [], 0
        people = [counts.people_by_code(column) for column in range(len(levels))]
        columns: list[Boundaries | None] = []
        for column, hierarchy in enumerate(levels):
            along = _splits_along_hierarchy(schema, hierarchy)
            nested.append(len(hierarchy.domain) if along else 0)
            at.append(filled)
            if along:
                # Whoever shares a label of the finest level that is allowed is never parted.
                tables += [
                    hierarchy[max(level, hierarchy.finest)].codes
                    for level in range(hierarchy.height)
                ]
                filled += len(hierarchy.domain) * hierarchy.height
            unit = schema.units.get(hierarchy.domain.name)
            bounded = None
            if unit is not None or (not along and style != "hierarchy"):
                bounded = boundaries_of(hierarchy, unit, people[column])
                bounded = bounded if along else within_frames(bounded, hierarchy)
            columns.append(None if along or style == "hierarchy" else bounded)
        flat = np.concatenate(tables) if tables else np.zeros(0, dtype=np.int32)
        sizes = [
            len(hierarchy.domain) if bounded is None else len(bounded)
            for hierarchy, bounded in zip(levels, columns, strict=True)
        ]
        specials = np.array(
            [
                0 if along else len(hierarchy.domain.specials)
                for hierarchy, along in zip(levels, nested, strict=True)
            ]
        )
        frames = [
            frames_of(hierarchy, bounded, people[column], halve=not along)
            if style != "hierarchy"
            else frames_of(hierarchy, None, None, halve=False)
            for column, (hierarchy, bounded, along) in enumerate(
                zip(levels, columns, nested, strict=True)
            )
        ]
        own = [
            np.zeros(size, dtype=bool)
            if bounded is None
            else np.concatenate([bounded.own, np.zeros(size - len(bounded.own), dtype=bool)])
            for size, bounded in zip(sizes, columns, strict=True)
        ]
        return cls(
            levels,
            tuple(columns),
            np.array(sizes, dtype=np.int32),
            np.array(nested, dtype=np.int32),
            flat.astype(np.int32),
            np.array(at, dtype=np.int64),
            np.where(specials > 0, np.array(sizes) - 1 - specials, -1).astype(np.int32),
            np.concatenate(own),
            np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64),
            tuple(frames),
            np.array(
                [
                    bool(
                        hierarchy.allowed
                        and hierarchy.allowed.freely
                        and style != "hierarchy"
                        and not along
                    )
                    for hierarchy, along in zip(levels, nested, strict=True)
                ]
            ),
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


def _splits_along_hierarchy(schema: Schema, levels: Levels) -> bool:
    """Numbers, dates and declared orders are cut between values; the rest follows its tree.

    A column of codes without any hierarchy is cut in the order of its codes.
    """
    domain = levels.domain
    recipe = schema.hierarchies.get(domain.name)
    if recipe is not None and (domain.kind == "categorical" or isinstance(recipe, Masking)):
        return True
    allowed = levels.allowed
    if allowed is None or allowed.freely:
        return False
    # Cuts keep to limits where the labels these are about are runs of values, and no values.
    if allowed.coarsest == 0 or allowed.finest == levels.height - 1:
        return True
    on_axis = domain.kind in ("numeric", "date")
    return (allowed.finest > 0 and not on_axis) or not (
        _in_runs(levels, allowed.finest) and _in_runs(levels, allowed.coarsest)
    )


def _in_runs(levels: Levels, level: int) -> bool:
    """Whether the values of each label stand side by side."""
    codes = levels[level].codes
    return int(np.count_nonzero(np.diff(codes))) + 1 == len(levels[level].regions)


# -- the cells of the parts a node falls into ------------------------------------------------------


def narrowed(
    columns: Columns,
    batch: Nodes,
    nodes: Ints,
    column: Codes,
    cut: Codes,
    parts: Codes,
    order: Ints,
    begins: Ints,
    *,
    strict: bool,
) -> tuple[Codes, Codes]:
    """Cells of all parts: node `nodes[i]` falls into `parts[i]` by `cut[i]` of `column[i]`.

    A part holds the rows `order[begins[p]:begins[p + 1]]` of the batch. A cell that was cut takes
    in specials where somebody in it has one (`splits.py` says how its upper bound tells that).
    """
    # Below all is by part. A part begins with its node's cell, and only in the column of the split
    # is it narrowed: by label where columns are nested (any row of the part has it, so the first),
    # else by the cut. A cut makes two parts side by side: `left`, and right of it the next.
    of_node = np.repeat(np.arange(len(nodes)), parts)
    low, high = batch.low[nodes[of_node]], batch.high[nodes[of_node]]
    nodes_split = cut[of_node] != steps.NONE
    split_column = column[of_node]
    first = batch.rows.codes[order[begins[:-1]], split_column]
    left = np.append(True, of_node[1:] != of_node[:-1])
    for axis in range(len(columns)):
        here = np.flatnonzero(nodes_split & (split_column == axis))
        if not len(here):
            continue
        if columns.nested[axis]:
            level = cut[of_node[here]]
            base = columns.at[axis] + level.astype(np.int64) * int(columns.nested[axis])
            low[here, axis], high[here, axis] = level, columns.labels[base + first[here]]
            continue
        last = int(columns.last[axis])
        where, end = cut[of_node], int(columns.sizes[axis]) - 1
        if last >= 0:
            # Where nobody has a value, specials are parted from each other.
            apart = here[(where[here] > last) & (where[here] < BESIDE)]
            after, before = apart[~left[apart]], apart[left[apart]]
            low[before, axis] = np.maximum(low[before, axis], last + 1)
            low[after, axis], high[before, axis] = where[after] + 1, where[before]
            high[after, axis] = np.minimum(high[after, axis], end)
            here = np.setdiff1d(here, apart, assume_unique=True)
            where = values_up_to(where)
            high[here, axis] = np.minimum(values_up_to(high[here, axis]), last)
        right = here[~left[here]]  # the left part of the same node is the one before
        # A clean cut puts equal values on one side, so that the bound parts them. In relaxed mode
        # people of one value may be on both sides, and only what they have can bound the parts;
        # specials are cut off in strict mode and in relaxed mode alike.
        clean = right if strict else right[where[right] == last]
        low[clean, axis] = where[clean] + 1
        high[clean - 1, axis] = np.minimum(where[clean], high[clean - 1, axis])
        halved = np.setdiff1d(right, clean, assume_unique=True)
        if len(halved):
            codes = batch.rows.codes[order, axis]
            valued = codes if last < 0 else np.where(codes > last, -1, codes)
            least = np.minimum.reduceat(codes, begins[:-1])
            most = np.maximum.reduceat(valued, begins[:-1])
            # The right part begins where the left one ends, which may be in its last value.
            low[halved, axis] = np.minimum(least[halved], most[halved - 1] + 1)
            high[halved - 1, axis] = most[halved - 1]
        if last >= 0:
            # Whoever lacks a value stands beside the values of her part, or alone.
            codes = batch.rows.codes[order, axis]
            lacking = here[np.maximum.reduceat(codes, begins[:-1])[here] > last]
            reached = high[lacking, axis]
            high[lacking, axis] = np.where(reached == last, end, reached + BESIDE)
            off = right[where[right] == last]
            low[off, axis], high[off, axis] = last + 1, end
    return low, high


def values_up_to(bounds: Codes) -> Codes:
    """The last code of a value that each bound takes in."""
    taken = np.where(bounds >= BESIDE, bounds - BESIDE, bounds)
    return np.asarray(taken, dtype=np.int32)


# -- what is published of groups -------------------------------------------------------------------


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

    How a bound takes in specials is said in `splits.py`.
    """
    parts: list[tuple[Region, ...]] = []
    codes = np.empty((len(columns), len(low)), dtype=np.int32)
    for column, hierarchy in enumerate(columns.levels):
        size = 2 * BESIDE
        bounded = columns.boundaries[column]
        pairs = low[:, column].astype(np.int64) * size + high[:, column]
        cells, codes[column] = np.unique(pairs, return_inverse=True)
        pair = zip(*(part.tolist() for part in np.divmod(cells, size)), strict=True)
        if columns.nested[column]:
            parts.append(tuple(hierarchy[level].regions[label] for level, label in pair))
        elif bounded is not None:
            parts.append(tuple(bounded.cell(first, last) for first, last in pair))
        else:
            star = columns.frames[column] is None
            parts.append(tuple(code_range(hierarchy.domain, *ends, star=star) for ends in pair))
    return Regions(
        tuple(hierarchy.domain.name for hierarchy in columns.levels), tuple(parts), codes
    )


def code_range(domain: Domain, low: int, high: int, *, star: bool = True) -> Region:
    """The cell of a column of categories between two codes, both included.

    A bound may take in the specials beside some codes (`splits.py`).
    """
    if low == 0 and high == len(domain) - 1 and star:
        return Anything()
    values = domain.values[low : steps.up_to(high) + 1]
    return ValueSet(frozenset(values) | set(domain.specials if high >= BESIDE else ()))


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
    for column, hierarchy in enumerate(columns.levels):
        bounded = columns.boundaries[column]
        if bounded is not None:
            cells = low[:, column], high[:, column]
            hulls, out[column] = _hulls(bounded, codes[order, column], begins, *cells)
            parts.append(hulls)
            continue
        if hierarchy.finest:  # of values that no finer label tells apart only labels may be told
            labels, out[column] = _labels(hierarchy, codes[order, column], begins)
            parts.append(labels)
            continue
        having = codes[order, column].astype(np.int64)
        size = max(len(hierarchy.domain), 1)
        present = distinct(group * size + having)
        of_group, code = np.divmod(present, size)
        starts = np.searchsorted(of_group, np.arange(total + 1))
        index: dict[Region, int] = {}
        region: Region
        for g in range(total):
            own = code[starts[g] : starts[g + 1]]
            values = [hierarchy.domain.values[value] for value in own]
            if columns.last[column] >= 0 and len(values) > 1 and values[-1] is None:
                # Few may have a value: the cell is told, which was cut among many.
                star = columns.frames[column] is None
                ends = int(low[g, column]), int(high[g, column])
                region = code_range(hierarchy.domain, *ends, star=star)
            else:
                region = ValueSet(frozenset(values))
            out[column, g] = index.setdefault(region, len(index))
        parts.append(tuple(index))
    return Regions(tuple(hierarchy.domain.name for hierarchy in columns.levels), tuple(parts), out)


def _hulls(
    bounded: Boundaries, blocks: Codes, begins: Ints, low: Codes, high: Codes
) -> tuple[tuple[Region, ...], Ints]:
    """The narrowest ranges that may be told of each group's blocks, and which group has which."""
    least = np.minimum.reduceat(blocks, begins[:-1])
    most = np.maximum.reduceat(blocks, begins[:-1])
    kinds, kind_of = np.unique(np.stack([least, most, low, high]), axis=1, return_inverse=True)
    index: dict[Region, int] = {}
    number = np.array(
        [
            index.setdefault(bounded.hull(a, b, (first, last)), len(index))
            for a, b, first, last in kinds.T.tolist()
        ]
    )
    return tuple(index), number[kind_of.reshape(-1)]


def hierarchy_regions(columns: Columns, codes: Codes, order: Ints, begins: Ints) -> Regions:
    """The finest label of each column's hierarchy that covers the group's values."""
    parts: list[tuple[Region, ...]] = []
    out = np.empty((len(columns), len(begins) - 1), dtype=np.int32)
    for column, hierarchy in enumerate(columns.levels):
        labels, out[column] = _labels(hierarchy, codes[order, column], begins)
        parts.append(labels)
    return Regions(tuple(hierarchy.domain.name for hierarchy in columns.levels), tuple(parts), out)


def _labels(hierarchy: Levels, codes: Codes, begins: Ints) -> tuple[tuple[Region, ...], Ints]:
    """The finest label within the limits that covers each group's values; `*` where none does."""
    level = np.full(len(begins) - 1, hierarchy.height - 1)
    label = np.zeros(len(begins) - 1, dtype=np.int64)
    # The finest has the last word.
    for height in range(hierarchy.coarsest, hierarchy.finest - 1, -1):
        having = hierarchy[height].codes[codes]
        least = np.minimum.reduceat(having, begins[:-1])
        fits = least == np.maximum.reduceat(having, begins[:-1])
        level[fits], label[fits] = height, least[fits]
    size = len(hierarchy.domain) + 1
    labels, part_of = np.unique(level * size + label, return_inverse=True)
    return tuple(hierarchy[place // size].regions[place % size] for place in labels), part_of
