"""Values of a column that no published region tells apart: all of them are one class.

An index over groups need not know values, only their classes: which class somebody's value is
of, and which classes each region covers. Classes are put in an order in which regions cover runs
of them, as far as that goes: numbers and dates in their own order; other columns so that the
values of a region lie together wherever regions are nested or apart, as those of a hierarchy
are. A region that still has gaps lists its classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.numbers import Codes, Ints, Ragged, distinct, tallied_offsets
from sfumato.schema.domain import Domain
from sfumato.schema.region import Region, codes_inside

_NONE = -1


@dataclass(frozen=True)
class ValueClasses:
    """The classes of one column.

    `class_of[code]` is a value's class, -1 if no region contains it. Region p covers the classes
    `low[p]` to `high[p]` (none if low > high), with gaps if `gap[p]` >= 0: then only those listed
    at `listed[offsets[gap[p]]:offsets[gap[p] + 1]]`, ascending.
    """

    class_of: Ints
    low: Ints
    high: Ints
    gap: Ints
    offsets: Ints
    listed: Ints


def value_classes(domain: Domain, parts: Sequence[Region], codes: Codes) -> ValueClasses:
    """The classes of a column by the regions that groups show (`codes`, of parts)."""
    used = np.flatnonzero(np.bincount(codes, minlength=len(parts)))
    runs = {part: _run(values) for part, values in codes_inside(parts, used, domain)}
    if all(isinstance(run, range) for run in runs.values()):
        return _in_order(len(domain), len(parts), runs)  # type: ignore[arg-type]
    return _gathered(len(domain), len(parts), runs)


def _run(values: Sequence[int]) -> range | Ints:
    """The codes a region contains: a range if they are one."""
    if isinstance(values, range):
        return values
    codes = np.unique(np.asarray(values, dtype=np.int64))
    if len(codes) and codes[-1] - codes[0] + 1 > len(codes):
        return codes
    return range(codes[0], codes[-1] + 1) if len(codes) else range(0)


def _in_order(size: int, total: int, runs: dict[int, range]) -> ValueClasses:
    """Every region is a run of codes: classes lie between their ends."""
    part = np.array([p for p, run in runs.items() if len(run)], dtype=np.int64)
    starts = np.array([run.start for run in runs.values() if len(run)], dtype=np.int64)
    stops = np.array([run.stop for run in runs.values() if len(run)], dtype=np.int64)
    marks = np.unique(np.concatenate([[0], starts, stops]))
    marks = marks[marks < size]
    over = np.zeros(size + 1, dtype=np.int64)
    np.add.at(over, starts, 1)
    np.add.at(over, stops, -1)
    covered = np.cumsum(over)[:-1] > 0
    class_of = np.searchsorted(marks, np.arange(size), "right") - 1
    low, high = np.zeros(total, dtype=np.int64), np.full(total, -1, dtype=np.int64)
    low[part], high[part] = class_of[starts], class_of[stops - 1]
    none = np.zeros(0, dtype=np.int64)
    return ValueClasses(
        np.where(covered, class_of, _NONE),
        low,
        high,
        np.full(total, _NONE, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        none,
    )


def _gathered(size: int, total: int, runs: dict[int, range | Ints]) -> ValueClasses:
    """Values by the regions they are in, from the largest to the smallest, as a tree is walked."""
    whole = [p for p, run in runs.items() if len(run) == size]
    others = [p for p, run in runs.items() if 0 < len(run) < size]
    others.sort(key=lambda p: -len(runs[p]))
    value = np.concatenate([np.zeros(0, np.int64), *(np.asarray(runs[p]) for p in others)])
    rank = np.repeat(np.arange(len(others)), [len(runs[p]) for p in others])
    order = np.lexsort((rank, value))
    # Big-endian, so that bytes sort as the numbers do.
    ranks = rank[order].astype(">i4").tobytes()
    ends = 4 * tallied_offsets(value, size)
    keys = [ranks[a:b] for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
    number = {key: place for place, key in enumerate(sorted(set(keys)))}
    class_of = np.array([number[key] for key in keys], dtype=np.int64)
    low, high = np.zeros(total, dtype=np.int64), np.full(total, -1, dtype=np.int64)
    low[whole], high[whole] = 0, len(number) - 1
    gap = np.full(total, _NONE, dtype=np.int64)
    lists: list[Ints] = []
    pairs = distinct(rank * len(number) + class_of[value])
    of_part, classes = np.divmod(pairs, len(number))
    bounds = np.searchsorted(of_part, np.arange(len(others) + 1))
    for place, p in enumerate(others):
        covered = classes[bounds[place] : bounds[place + 1]]
        low[p], high[p] = covered[0], covered[-1]
        if covered[-1] - covered[0] + 1 > len(covered):
            gap[p] = len(lists)
            lists.append(covered)
    if not whole and b"" in number:
        class_of[class_of == number[b""]] = _NONE
    listed = Ragged.of(lists)
    return ValueClasses(class_of, low, high, gap, listed.offsets, listed.values)
