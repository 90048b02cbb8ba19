"""Frames: what the limits of columns let no group reach beyond (`schema/limits.py`).

A search begins with one cell for every combination of labels of the coarsest levels, instead of
one for everybody. Blocks of numbers and dates end where such labels end. A column that must only
not be told as `*` is halved.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.counts.counts import rank_rows
from sfumato.errors import SchemaError
from sfumato.numbers import Codes, Ints, offsets_of
from sfumato.schema.boundaries import Boundaries
from sfumato.schema.hierarchy import Levels
from sfumato.schema.region import Span, place_of

if TYPE_CHECKING:  # columns know their frames
    from sfumato.anonymizers.mondrian.cells import Columns


def frames_of(
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


def within_frames(made: Boundaries | None, levels: Levels) -> Boundaries | None:
    """With blocks that keep to the labels of the coarsest level that limits allow, if any do."""
    if made is None or levels.allowed is None or levels.allowed.freely:
        return made
    if levels.coarsest == levels.height - 1:
        return made
    level, blocks = levels[levels.coarsest], made.block_of[: levels.domain.placed]
    edges = np.searchsorted(blocks, np.arange(len(made.lower) + 1))
    label = level.codes[edges[:-1]]
    if (label != level.codes[edges[1:] - 1]).any():
        raise SchemaError(
            f"limits: column {levels.domain.name!r} may be published at level {levels.coarsest} at "
            "most, whose bounds its unit does not allow; give a smaller unit, or a coarser level"
        )
    frames = [level.regions[number] for number in label.tolist()]
    lower, upper, cuts = list(made.lower), list(made.upper), list(made.cuts)
    for block, frame in enumerate(frames):
        if isinstance(frame, Span):
            lower[block] = max(lower[block], frame.low, key=place_of)
            upper[block] = min(upper[block], frame.high, key=place_of)
            if block and frames[block - 1] != frame:
                cuts[block - 1] = frame.low
    return replace(
        made, lower=tuple(lower), upper=tuple(upper), cuts=tuple(cuts), frames=tuple(frames)
    )


def frame_cells(columns: Columns, codes: Codes, *, halves: bool) -> tuple[Codes, Codes]:
    """The cell that everybody may be in who is in a group with each of these rows of codes.

    `halves`: also where others than those of all people would do.
    """
    total = len(codes)
    low = np.zeros((total, len(columns)), dtype=np.int32)
    high = np.repeat(columns.sizes[None, :] - np.int32(1), total, axis=0)
    for column, (hierarchy, frames) in enumerate(zip(columns.levels, columns.frames, strict=True)):
        if columns.nested[column]:
            label = hierarchy[hierarchy.coarsest].codes[codes[:, column]]
            low[:, column], high[:, column] = hierarchy.coarsest, label
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
        number, _ = rank_rows(np.stack(apart), [int(frame.max(initial=0)) + 1 for frame in apart])
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
    ends = offsets_of([len(inside) for inside in rows])
    lows, highs = zip(*cells, strict=True)
    return np.concatenate(rows), ends, np.array(lows), np.array(highs)
