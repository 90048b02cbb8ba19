"""Cells of Mondrian's partition: how columns are cut, what parts are bounded by, what is published.

Groups publish one of three things. "cell": the cut cells themselves; they say nothing about who is
absent inside them. "tight": the narrowest ranges or sets of the group's own values that may be
told. "hierarchy": the finest hierarchy label that covers them. Bounds of numbers and dates are
those of `schema/boundaries.py`: such a column is searched in its blocks, so that people are parted
by the bound that is published.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymizers.mondrian import splits
from sfumato.counts.counts import TableCounts, rank_rows
from sfumato.errors import SchemaError
from sfumato.numbers import Bools, Codes, Ints, offsets_of
from sfumato.release.description import Regions
from sfumato.schema.boundaries import BESIDE, Boundaries, boundaries_of
from sfumato.schema.domain import Domain
from sfumato.schema.hierarchy import Levels
from sfumato.schema.recipes import Masking
from sfumato.schema.region import Anything, Region, Span, ValueSet, place_of
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
        columns: list[Boundaries | None] = []
        for column, one in enumerate(levels):
            along = _splits_along_hierarchy(schema, one)
            nested.append(len(one.domain) if along else 0)
            at.append(filled)
            if along:
                # Whoever shares a label of the finest level that is allowed is never parted.
                tables += [one[max(level, one.finest)].codes for level in range(one.height)]
                filled += len(one.domain) * one.height
            unit = schema.units.get(one.domain.name)
            bounded = None
            if unit is not None or (not along and style != "hierarchy"):
                bounded = boundaries_of(one, unit, counts.people_by_code(column))
                bounded = bounded if along else _within_frames(bounded, one)
            columns.append(None if along or style == "hierarchy" else bounded)
        flat = np.concatenate(tables) if tables else np.zeros(0, dtype=np.int32)
        sizes = [
            len(one.domain) if bounded is None else len(bounded)
            for one, bounded in zip(levels, columns, strict=True)
        ]
        specials = np.array(
            [
                0 if along else len(one.domain.specials)
                for one, along in zip(levels, nested, strict=True)
            ]
        )
        frames = [
            _frames(one, bounded, counts.people_by_code(column), halve=not along)
            if style != "hierarchy"
            else _frames(one, None, None, halve=False)
            for column, (one, bounded, along) in enumerate(
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
                    bool(one.allowed and one.allowed.freely and style != "hierarchy" and not along)
                    for one, along in zip(levels, nested, strict=True)
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
    told = domain.kind in ("numeric", "date")
    return (allowed.finest > 0 and not told) or not (
        _in_runs(levels, allowed.finest) and _in_runs(levels, allowed.coarsest)
    )


def _in_runs(levels: Levels, level: int) -> bool:
    """Whether the values of each label stand side by side."""
    codes = levels[level].codes
    return int(np.count_nonzero(np.diff(codes))) + 1 == len(levels[level].regions)


# -- the cells that a search begins with, and those of the parts a node falls into -----------------


def _frames(
    levels: Levels, bounded: Boundaries | None, people: Ints | None, *, halve: bool
) -> Codes | None:
    """Of each code of the search, the number of the label that limits keep a group in.

    Where only `*` is forbidden and cuts are free, those are the halves of the people.
    """
    allowed = levels.allowed
    if allowed is None or levels.coarsest == levels.height - 1:
        return None
    label = levels[levels.coarsest].codes
    searched = np.arange(len(label), dtype=np.int32) if bounded is None else bounded.block_of
    if allowed.freely and halve and people is not None:
        valued = levels.domain.placed
        size = int(searched[:valued].max(initial=-1)) + 1
        having = np.bincount(searched[:valued], people[:valued], minlength=size)
        before = np.cumsum(having)
        within = np.flatnonzero((before > 0) & (before < before[-1]))
        if not len(within):
            return None
        cut = within[np.argmin(np.abs(2 * before[within] - before[-1]))]
        label = (searched > cut).astype(np.int32)  # specials come after all values
    frames = np.zeros(int(searched.max(initial=-1)) + 1, dtype=np.int32)
    frames[searched] = label
    return frames


def _within_frames(made: Boundaries | None, levels: Levels) -> Boundaries | None:
    """With blocks that keep to the labels of the coarsest level that limits allow, if any do."""
    if made is None or levels.allowed is None or levels.allowed.freely:
        return made
    if levels.coarsest == levels.height - 1:
        return made
    level, frames = levels[levels.coarsest], list[Region]()
    for block in range(len(made.lower)):
        labels = set(level.codes[np.flatnonzero(made.block_of == block)].tolist())
        if len(labels) > 1:
            raise SchemaError(
                f"limits: column {levels.domain.name!r} may be published at level "
                f"{levels.coarsest} at most, whose bounds its unit does not allow; give a smaller "
                "unit, or a coarser level"
            )
        frames.append(level.regions[labels.pop()])
    lower, upper, cuts = list(made.lower), list(made.upper), list(made.cuts)
    for block, frame in enumerate(frames):
        if isinstance(frame, Span):
            lower[block] = max(lower[block], frame.low, key=place_of)
            upper[block] = min(upper[block], frame.high, key=place_of)
            if block and frames[block - 1] != frame:
                cuts[block - 1] = frame.low
    ends = {"lower": tuple(lower), "upper": tuple(upper), "cuts": tuple(cuts)}
    return replace(made, **ends, frames=tuple(frames))


def frame_cells(columns: Columns, codes: Codes, *, halves: bool) -> tuple[Codes, Codes]:
    """The cell that everybody may be in who is in a group with each of these rows of codes.

    `halves`: also where others than those of all people would do.
    """
    total = len(codes)
    low = np.zeros((total, len(columns)), dtype=np.int32)
    high = np.repeat(columns.sizes[None, :] - np.int32(1), total, axis=0)
    for column, (one, frames) in enumerate(zip(columns.levels, columns.frames, strict=True)):
        if columns.nested[column]:
            label = one[one.coarsest].codes[codes[:, column]]
            low[:, column], high[:, column] = one.coarsest, label
        elif frames is not None and (halves or not columns.halved[column]):
            frame, places = frames[codes[:, column]], np.arange(len(frames), dtype=np.int32)
            first = np.full(int(frames.max()) + 1, len(frames), dtype=np.int32)
            last = np.zeros_like(first)
            np.minimum.at(first, frames, places)
            np.maximum.at(last, frames, places)
            low[:, column], high[:, column] = first[frame], last[frame]
    return low, high


def framed(columns: Columns, codes: Codes, n: Ints) -> tuple[Ints, Ints, Codes, Codes]:
    """Rows in the order of what limits keep apart, where each such part begins, and its cell.

    Parts that would be published as `*` all the same are halved at their own median.
    """
    apart = [
        frames[codes[:, c]]
        for c, frames in enumerate(columns.frames)
        if frames is not None and not columns.halved[c]
    ]
    order = np.arange(len(codes), dtype=np.int64)
    begins = np.array([0, len(codes)])
    if apart:
        number, _ = rank_rows(np.stack(apart), [int(one.max(initial=0)) + 1 for one in apart])
        order = np.argsort(number, kind="stable")
        begins = np.searchsorted(number[order], np.arange(int(number.max(initial=0)) + 2))
    low, high = frame_cells(columns, codes[order[begins[:-1]]], halves=False)
    # Few values first: they leave least choice.
    for column in sorted(np.flatnonzero(columns.halved).tolist(), key=columns.sizes.__getitem__):
        last = int(columns.last[column])
        order, begins, low, high = _halve(column, last, codes, n, order, begins, low, high)
    for column in np.flatnonzero(columns.halved & (columns.last >= 0)).tolist():
        # A cell takes in specials where somebody in it has one, and no values where all do.
        here, last = codes[order, column], int(columns.last[column])
        lacking = np.maximum.reduceat(here, begins[:-1]) > last
        alone = np.minimum.reduceat(here, begins[:-1]) > last
        high[~lacking, column] = np.minimum(high[~lacking, column], last)
        low[alone, column] = np.maximum(low[alone, column], last + 1)
    return order, begins, low, high


def _halve(
    column: int,
    last: int,
    codes: Codes,
    n: Ints,
    order: Ints,
    begins: Ints,
    low: Codes,
    high: Codes,
) -> tuple[Ints, Ints, Codes, Codes]:
    """Every part cut in two between codes of a column, as near to half of its people as can be.

    `last`: of a value, where specials come after it; these stay together, unless all have one.
    """
    rows: list[Ints] = []
    cells: list[tuple[Codes, Codes]] = []
    for part in range(len(begins) - 1):
        inside = order[begins[part] : begins[part + 1]]
        inside = inside[np.argsort(codes[inside, column], kind="stable")]
        here, people = codes[inside, column], np.cumsum(n[inside])
        steps = np.flatnonzero(np.diff(here))
        if here[0] <= last:
            steps = steps[here[steps] <= last]
        lower, upper = high[part].copy(), low[part].copy()
        if len(steps):
            at = int(steps[np.argmin(np.abs(2 * people[steps] - people[-1]))])
            lower[column], upper[column] = here[at], here[at] + 1
            rows += [inside[: at + 1], inside[at + 1 :]]
            cells += [(low[part], lower), (upper, high[part])]
        else:
            lower[column] = upper[column] = here[0]
            rows.append(inside)
            cells.append((upper, lower))
    ends = offsets_of([len(one) for one in rows])
    return np.concatenate(rows), ends, *(np.array(side) for side in zip(*cells, strict=True))


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
    nodes_split = cut[of_node] != splits.NONE
    which = column[of_node]
    first = batch.rows.codes[order[begins[:-1]], which]
    left = np.append(True, of_node[1:] != of_node[:-1])
    for one in range(len(columns)):
        here = np.flatnonzero(nodes_split & (which == one))
        if not len(here):
            continue
        if columns.nested[one]:
            level = cut[of_node[here]]
            base = columns.at[one] + level.astype(np.int64) * int(columns.nested[one])
            low[here, one], high[here, one] = level, columns.labels[base + first[here]]
            continue
        last, codes = int(columns.last[one]), batch.rows.codes[order, one]
        where, end = cut[of_node], int(columns.sizes[one]) - 1
        if last >= 0:
            # Where nobody has a value, specials are parted from each other.
            apart = here[(where[here] > last) & (where[here] < BESIDE)]
            after, before = apart[~left[apart]], apart[left[apart]]
            low[before, one] = np.maximum(low[before, one], last + 1)
            low[after, one], high[before, one] = where[after] + 1, where[before]
            high[after, one] = np.minimum(high[after, one], end)
            here = np.setdiff1d(here, apart, assume_unique=True)
            where = values_up_to(where)
            high[here, one] = np.minimum(values_up_to(high[here, one]), last)
        right = here[~left[here]]  # the left part of the same node is the one before
        # A clean cut puts equal values on one side, so that the bound parts them. In relaxed mode
        # people of one value may be on both sides, and only what they have can bound the parts;
        # specials are cut off in strict mode and in relaxed mode alike.
        clean = right if strict else right[where[right] == last]
        low[clean, one] = where[clean] + 1
        high[clean - 1, one] = np.minimum(where[clean], high[clean - 1, one])
        halved = np.setdiff1d(right, clean, assume_unique=True)
        if len(halved):
            valued = codes if last < 0 else np.where(codes > last, -1, codes)
            least = np.minimum.reduceat(codes, begins[:-1])
            most = np.maximum.reduceat(valued, begins[:-1])
            # The right part begins where the left one ends, which may be in its last value.
            low[halved, one] = np.minimum(least[halved], most[halved - 1] + 1)
            high[halved - 1, one] = most[halved - 1]
        if last >= 0:
            # Whoever lacks a value stands beside the values of her part, or alone.
            lacking = here[np.maximum.reduceat(codes, begins[:-1])[here] > last]
            reached = high[lacking, one]
            high[lacking, one] = np.where(reached == last, end, reached + BESIDE)
            off = right[where[right] == last]
            low[off, one], high[off, one] = last + 1, end
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
    for column, one in enumerate(columns.levels):
        size = 2 * BESIDE
        bounded = columns.boundaries[column]
        pairs = low[:, column].astype(np.int64) * size + high[:, column]
        distinct, codes[column] = np.unique(pairs, return_inverse=True)
        pair = zip(*(part.tolist() for part in np.divmod(distinct, size)), strict=True)
        if columns.nested[column]:
            parts.append(tuple(one[level].regions[label] for level, label in pair))
        elif bounded is not None:
            parts.append(tuple(bounded.cell(first, last) for first, last in pair))
        else:
            star = columns.frames[column] is None
            parts.append(tuple(code_range(one.domain, *ends, star=star) for ends in pair))
    return Regions(tuple(one.domain.name for one in columns.levels), tuple(parts), codes)


def code_range(domain: Domain, low: int, high: int, *, star: bool = True) -> Region:
    """The cell of a column of categories between two codes, both included.

    A bound may take in the specials beside some codes (`splits.py`).
    """
    if low == 0 and high == len(domain) - 1 and star:
        return Anything()
    values = domain.values[low : splits.up_to(high) + 1]
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
    for column, one in enumerate(columns.levels):
        bounded = columns.boundaries[column]
        if bounded is not None:
            cells = low[:, column], high[:, column]
            hulls, out[column] = _hulls(bounded, codes[order, column], begins, *cells)
            parts.append(hulls)
            continue
        if one.finest:  # of values that no finer label tells apart only labels may be told
            labels, out[column] = _labels(one, codes[order, column], begins)
            parts.append(labels)
            continue
        having = codes[order, column].astype(np.int64)
        size = max(len(one.domain), 1)
        present = np.unique(group * size + having)
        of_group, code = np.divmod(present, size)
        starts = np.searchsorted(of_group, np.arange(total + 1))
        index: dict[Region, int] = {}
        region: Region
        for g in range(total):
            own = code[starts[g] : starts[g + 1]]
            values = [one.domain.values[value] for value in own]
            if columns.last[column] >= 0 and len(values) > 1 and values[-1] is None:
                # Few may have a value: the cell is told, which was cut among many.
                star = columns.frames[column] is None
                ends = int(low[g, column]), int(high[g, column])
                region = code_range(one.domain, *ends, star=star)
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
        labels, out[column] = _labels(one, codes[order, column], begins)
        parts.append(labels)
    return Regions(tuple(one.domain.name for one in columns.levels), tuple(parts), out)


def _labels(one: Levels, codes: Codes, begins: Ints) -> tuple[tuple[Region, ...], Ints]:
    """The finest label within the limits that covers each group's values; `*` where none does."""
    level = np.full(len(begins) - 1, one.height - 1)
    label = np.zeros(len(begins) - 1, dtype=np.int64)
    for height in range(one.coarsest, one.finest - 1, -1):  # the finest has the last word
        having = one[height].codes[codes]
        least = np.minimum.reduceat(having, begins[:-1])
        fits = least == np.maximum.reduceat(having, begins[:-1])
        level[fits], label[fits] = height, least[fits]
    size = len(one.domain) + 1
    distinct, which = np.unique(level * size + label, return_inverse=True)
    return tuple(one[place // size].regions[place % size] for place in distinct), which
