"""What the steps of Mondrian's search ask of its rows: by NumPy where rows are few.

Compiling takes whoever starts for the first time longer than all of a small search, and loading
what was compiled as long as the search itself. So every function here works by NumPy, and where
rows are many its compiled twin of the same name does (`splits.py`, `cuts.py`, which say what a node
is, how columns are cut and what a bound is). Both give the same, bit by bit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar, cast

import numpy as np

from sfumato.numbers import (
    Bools,
    Codes,
    Ints,
    distinct,
    in_order,
    offsets_of,
    rows_of,
    run_places,
    sums_by,
    tallied_offsets,
)
from sfumato.schema.boundaries import BESIDE

NONE = -1
FEW = 20_000  # rows, about as many as NumPy partitions in the time that Numba takes to be loaded

Step = TypeVar("Step", bound=Callable[..., Any])


def compiled_for_many(module: str) -> Callable[[Step], Step]:
    """Where rows, which are given first, are many, or it is loaded, the compiled twin works."""
    compiled = f"{__package__}.{module}"

    def decorate(by_numpy: Step) -> Step:
        @wraps(by_numpy)
        def either(*given: Any) -> Any:
            if len(given[0]) <= FEW and compiled not in sys.modules:
                return by_numpy(*given)
            return getattr(import_module(compiled), by_numpy.__name__)(*given)

        return cast(Step, either)

    return decorate


def takes_specials(bound: int) -> bool:
    """Whether a bound takes in the specials beside some codes of values."""
    return bound >= BESIDE


def up_to(bound: int) -> int:
    """The last code of a value that a bound takes in."""
    return bound - BESIDE if bound >= BESIDE else bound


def moved(order: Ints, codes: Codes, n: Ints, values: Codes) -> tuple[Codes, Ints, Codes]:
    """Rows in a new order, all their columns."""
    return codes.take(order, axis=0), n.take(order), values.take(order, axis=1)


def halves(
    codes: Codes, starts: Ints, stops: Ints, column: Codes, cut: Codes, last: Codes
) -> Codes:
    """Relaxed cuts: the part (0 or 1) of each row so that equal values may fall apart.

    Rows hold one person each. People with a special go where the cut says; the others are halved.
    Part of a row that lies in no given node: 0. Never compiled: a sort that keeps equal ones in
    order takes longer to compile than all else that is.
    """
    part = np.zeros(codes.shape[0], np.int32)
    lengths = stops - starts
    rows, node = _rows(starts, stops)
    code, end = codes[rows, column[node]], last[column]
    order = np.lexsort((code, node))
    special = (code > end[node]) & (end[node] >= 0)
    valued = lengths - np.bincount(node[special], minlength=len(starts))
    place = np.arange(len(rows)) - (np.cumsum(lengths) - lengths)[node]
    right = np.where(place < valued[node], place >= (valued // 2)[node], cut[node] < BESIDE)
    part[rows[order]] = right
    return part


def _rows(starts: Ints, stops: Ints) -> tuple[Ints, Ints]:
    """The rows of some nodes, and the place of each row's node among them."""
    lengths = stops - starts
    return run_places(starts, lengths), np.repeat(np.arange(len(starts)), lengths)


def _kinds(group: Ints, code: Codes | Ints, n: Ints) -> tuple[Ints, Ints, Ints]:
    """The distinct codes of each group, ascending, and how many people have each."""
    width = int(code.max(initial=0)) + 1
    key = group * width + code
    order = in_order(key)
    kind = key[order]
    first = np.flatnonzero(np.diff(kind, prepend=-1))
    people = np.add.reduceat(n[order], first) if len(first) else np.zeros(0, np.int64)
    return kind[first] // width, kind[first] % width, people


def _summed_before(group: Ints, numbers: Ints) -> Ints:
    """Of each entry, the sum of those before it in its group; a group's entries stand together."""
    running = offsets_of(numbers)[:-1]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    lengths = np.diff(np.append(first, len(group)))
    return running - np.repeat(running[first], lengths)


def _told_best(own: Bools, at: Ints, below: Ints, above: Ints) -> Ints:
    """Of all cuts between two codes, the first that is not told by the value of one person."""
    place = np.where(own, len(own) + int(above.max(initial=0)), np.arange(len(own)))
    following = np.minimum.accumulate(place[::-1])[::-1]  # the first such cut from each on
    cut = following[at + below] - at
    return np.where(cut < above, cut, below)


@compiled_for_many("splits")
def extents(
    codes: Codes,
    n: Ints,
    starts: Ints,
    stops: Ints,
    nested: Codes,
    labels: Codes,
    at: Ints,
    tops: Codes,
    last: Codes,
) -> tuple[Codes, Codes, Ints]:
    """Per node and column: what its people span, and how many have a special beside values."""
    total, columns = len(starts), codes.shape[1]
    missing = np.zeros((total, columns), np.int64)
    low, high = np.empty((total, columns), np.int32), np.empty((total, columns), np.int32)
    rows, node = _rows(starts, stops)
    begins = offsets_of(stops - starts)[:-1]
    for column in range(columns):
        code = codes[rows, column]
        least, most = np.minimum.reduceat(code, begins), np.maximum.reduceat(code, begins)
        if nested[column] == 0:
            special = code > last[column]
            if last[column] >= 0 and special.any():
                valued = least <= last[column]
                most_valued = np.maximum.reduceat(np.where(special, -1, code), begins)
                missing[:, column] = np.where(valued, sums_by(node, special * n[rows], total), 0)
                most = np.where(valued, most_valued, most)
            low[:, column], high[:, column] = least, most
            continue
        level, parted = tops[:, column].astype(np.int64), np.zeros(total, dtype=bool)
        for finer in range(int(level.max(initial=0)) - 1, -1, -1):
            label = labels[at[column] + finer * nested[column] + code]
            equal = np.minimum.reduceat(label, begins) == np.maximum.reduceat(label, begins)
            here = (level == finer + 1) & ~parted
            parted |= here & ~equal
            level -= here & equal
        low[:, column] = np.where(parted, level - 1, NONE)
        high[:, column] = labels[at[column] + level * nested[column] + codes[starts, column]]
    return low, high, missing


@compiled_for_many("splits")
def medians(
    codes: Codes,
    n: Ints,
    starts: Ints,
    stops: Ints,
    column: Codes,
    low: Codes,
    high: Codes,
    own: Bools,
    own_at: Ints,
) -> tuple[Codes, Ints]:
    """The cut nearest to half of the people, and how many its smaller side has."""
    cuts, smaller = np.full(len(starts), NONE, np.int32), np.zeros(len(starts), np.int64)
    wide = np.flatnonzero(low < high)
    rows, node = _rows(starts[wide], stops[wide])
    code = codes[rows, column[wide][node]]
    counted = code <= high[wide][node]
    of, below, people = _kinds(node[counted], code[counted], n[rows[counted]])
    everybody = sums_by(of, people, len(wide))[of]
    left = _summed_before(of, people) + people
    cut = np.flatnonzero(of[1:] == of[:-1])  # between a code and the next of the same node
    of, everybody, left, above = of[cut], everybody[cut], left[cut], below[cut + 1]
    begin = own_at[column[wide][of]]
    where = _told_best(own, begin, below[cut], above)
    away = np.abs(2 * left - everybody) + 2 * everybody * own[begin + where]
    order = np.lexsort((away, of))
    best = order[np.flatnonzero(np.diff(of[order], prepend=-1))]
    cuts[wide[of[best]]] = where[best]
    smaller[wide[of[best]]] = np.minimum(left, everybody - left)[best]
    return cuts, smaller


@compiled_for_many("splits")
def assign(
    codes: Codes,
    starts: Ints,
    stops: Ints,
    column: Codes,
    cut: Codes,
    nested: Codes,
    labels: Codes,
    at: Ints,
    last: Codes,
) -> tuple[Codes, Codes]:
    """The part each row would fall into, and how many parts each node would have."""
    part, parts = np.zeros(codes.shape[0], np.int32), np.ones(len(starts), np.int32)
    along = nested[column] > 0
    ordered = np.flatnonzero((cut != NONE) & ~along)
    rows, node = _rows(starts[ordered], stops[ordered])
    axis, bound = column[ordered][node], cut[ordered][node]
    code, beside = codes[rows, axis], bound >= BESIDE
    part[rows] = (code > bound - BESIDE * beside) & ~(beside & (code > last[axis]))
    parts[ordered] = 2
    fallen = np.flatnonzero((cut != NONE) & along)
    rows, node = _rows(starts[fallen], stops[fallen])
    axis = column[fallen]
    base = at[axis] + cut[fallen].astype(np.int64) * nested[axis]
    width = int(nested.max(initial=0)) + 1
    # Parts are numbered by label, not by row, so that the order of rows shows nowhere.
    key = node * width + labels[base[node] + codes[rows, axis[node]]]
    kind = distinct(key)
    first = np.searchsorted(kind, np.arange(len(fallen) + 1) * width)
    part[rows] = np.searchsorted(kind, key) - first[:-1][node]
    parts[fallen] = np.diff(first)
    return part, parts


@compiled_for_many("splits")
def gather(
    part: Codes, parts: Codes, starts: Ints, stops: Ints, n: Ints
) -> tuple[Ints, Ints, Ints]:
    """Rows ordered by node and part, where each part begins in that order, and its people."""
    rows, node = _rows(starts, stops)
    first = offsets_of(parts)
    key, total = first[node] + part[rows], int(first[-1])
    begins = offsets_of(np.bincount(key, minlength=total))
    return rows[in_order(key)], begins, sums_by(key, n[rows], total)


@compiled_for_many("splits")
def cells(
    order: Ints, begins: Ints, value: Codes, n: Ints, offsets: Ints, members: Codes, width: int
) -> tuple[Ints, Codes, Ints]:
    """The sensitive counts of each part, sparse. A row's value is a set of `members` if given."""
    total = len(begins) - 1
    part = np.repeat(np.arange(total), np.diff(begins))
    entry, code = _values(value[order], offsets, members)
    key = part[entry] * width + code
    sorting = in_order(key)
    first = np.flatnonzero(np.diff(key[sorting], prepend=-1))
    data = np.zeros(0, np.int64)
    if len(first):
        data = np.add.reduceat(n[order[entry[sorting]]], first)
    met = sorting[first]  # where a value is met first in its part: so they are listed
    listed = np.argsort(met)
    indptr = offsets_of(np.bincount(part[entry[met]], minlength=total))
    return indptr, code[met[listed]].astype(np.int32, copy=False), data[listed]


def _values(value: Codes, offsets: Ints, members: Codes) -> tuple[Ints, Codes]:
    """The values of rows, each with its row: one each, or the members of each row's set."""
    if len(offsets) == 0:
        return np.arange(len(value)), value
    lengths = offsets[value + 1] - offsets[value]
    return np.repeat(np.arange(len(value)), lengths), members[run_places(offsets[value], lengths)]


@compiled_for_many("cuts")
def all_cuts(
    codes: Codes,
    n: Ints,
    starts: Ints,
    stops: Ints,
    nested: Codes,
    least: int,
    warranted: int,
    tried: Codes,
    last: Codes,
    own: Bools,
    own_at: Ints,
) -> tuple[Ints, Codes, Codes, Ints]:
    """Every other cut of ordered columns that leaves `least` people on both sides."""
    rows, node = _rows(starts, stops)
    everybody = sums_by(node, n[rows], len(starts))
    large = everybody[node] >= 2 * least
    rows, node = rows[large], node[large]
    made = [np.zeros((5, 0), np.int64)]
    for column in np.flatnonzero(nested == 0).tolist():
        of, below, people = _kinds(node, codes[rows, column], n[rows])
        special = below > last[column]
        mixed = np.zeros((2, len(starts)), dtype=bool)  # whether a node has values, has specials
        mixed[special.astype(np.int8), of] = True
        beside = (mixed[0] & mixed[1])[of]
        among = ~(beside & special)
        of, below, people, beside = of[among], below[among], people[among], beside[among]
        having = sums_by(of, people, len(starts))[of]
        left = _summed_before(of, people) + people
        cut = np.flatnonzero(of[1:] == of[:-1])
        of, having, left, beside = of[cut], having[cut], left[cut], beside[cut]
        begin = np.full(len(of), own_at[column])
        code = _told_best(own, begin, below[cut], below[cut + 1])
        away = np.abs(2 * left - having) + 2 * having * own[begin + code]
        needed = np.where(beside, warranted, least)
        fine = (code != tried[of, column]) & (left >= needed) & (having - left >= needed)
        for side, chosen in enumerate((fine, fine & beside)):
            where = code[chosen] + side * BESIDE
            column_and_side = np.full((2, len(where)), [[column], [side]])
            made.append(np.stack([of[chosen], *column_and_side, where, away[chosen]]))
    cuts = np.concatenate(made, axis=1)
    cuts = cuts[:, np.lexsort((cuts[3], cuts[2], cuts[1], cuts[0]))]
    return cuts[0], cuts[1].astype(np.int32), cuts[3].astype(np.int32), cuts[4]


@compiled_for_many("cuts")
def sides(
    codes: Codes,
    n: Ints,
    starts: Ints,
    stops: Ints,
    node: Ints,
    column: Codes,
    cut: Codes,
    value: Codes,
    offsets: Ints,
    members: Codes,
    width: int,
    ends: Codes,
) -> tuple[Ints, Codes, Ints, Ints]:
    """The sensitive counts of both sides of every cut, sparse, and the people of each side."""
    beside = cut >= BESIDE
    new = np.ones(len(node), dtype=bool)  # cuts of one node and column, a sweep over its rows
    new[1:] = (np.diff(node) != 0) | (np.diff(column) != 0) | (beside[1:] != beside[:-1])
    first = np.flatnonzero(new)
    many = np.diff(np.append(first, len(node)))
    rows, sweep = _rows(starts[node[first]], stops[node[first]])
    # The first cut of its sweep that has a row on its left; after the last one: none has.
    axis = column[first][sweep]
    code = codes[rows, axis].astype(np.int64)
    code[beside[first][sweep] & (code > ends[axis])] = -1
    reach = int(max(code.max(initial=0), (cut - BESIDE * beside).max(initial=0))) + 2
    bounds = np.repeat(np.arange(len(first)), many) * reach + cut - BESIDE * beside + 1
    turn = np.searchsorted(bounds, sweep * reach + code + 1) - first[sweep]
    left = np.zeros(len(node), np.int64)
    on_left = turn < many[sweep]
    np.add.at(left, (first[sweep] + turn)[on_left], n[rows[on_left]])
    of_cut = np.cumsum(new) - 1
    left += _summed_before(of_cut, left)
    people = np.stack([left, sums_by(sweep, n[rows], len(first))[of_cut] - left], axis=1).ravel()
    # The values that are met in a sweep, ascending, and of each how many people a cut has left.
    entry, met = _values(value[rows], offsets, members)
    of, met_code, whole = _kinds(sweep[entry], met, n[rows[entry]])
    begin = offsets_of(many[of])  # of each such value, one entry for every cut
    kind = np.searchsorted(of * width + met_code, sweep[entry] * width + met)
    entry_left = on_left[entry]
    counted = np.zeros(begin[-1], np.int64)
    where = begin[kind[entry_left]] + turn[entry[entry_left]]
    np.add.at(counted, where, n[rows[entry[entry_left]]])
    of_kind = np.repeat(np.arange(len(of)), many[of])
    counted += _summed_before(of_kind, counted)
    at = first[of[of_kind]] + np.arange(len(counted)) - begin[of_kind]
    having = np.concatenate([counted, whole[of_kind] - counted])
    side, listed = np.concatenate([2 * at, 2 * at + 1]), np.tile(met_code[of_kind], 2)
    order = np.flatnonzero(having)
    order = order[np.lexsort((listed[order], side[order]))]
    indptr = offsets_of(np.bincount(side[order], minlength=2 * len(node)))
    return indptr, listed[order].astype(np.int32), having[order], people


@compiled_for_many("splits")
def companions(
    part: Codes, place: Codes, parts: Codes, kept: Codes, begins: Ints, person: Codes
) -> tuple[Ints, Codes, Codes]:
    """Rows of which the person has others in the same part, by the node that a part becomes."""
    total = int(kept.max(initial=-1)) + 1
    node = kept[offsets_of(parts)[rows_of(begins)] + part].astype(np.int64)
    key = np.where(node < 0, -1, node * (int(person.max(initial=0)) + 1) + person)
    _, number, many = np.unique(key, return_inverse=True, return_counts=True)
    several = np.flatnonzero((many[number] > 1) & (node >= 0))
    several = several[in_order(key[several])]
    return tallied_offsets(node[several], total), place[several], person[several]


@compiled_for_many("splits")
def repeated(
    slot: Codes | Ints,
    parts: Codes,
    nodes: Ints,
    indptr: Ints,
    indices: Codes,
    width: int,
    begins: Ints,
    person: Codes,
) -> Ints:
    """How many rows of each cell of a part and a value are not the first of their person there."""
    entries, node = _rows(begins[nodes], begins[nodes + 1])
    cell = offsets_of(parts)[node] * width + slot[entries]
    key = cell * (int(person.max(initial=0)) + 1) + person[entries]
    first = np.unique(key, return_index=True)[1]
    again = np.delete(cell, first)
    listed = rows_of(indptr) * width + indices
    order = np.argsort(listed)
    repeated_cells = order[np.searchsorted(listed, again, sorter=order)]
    return np.bincount(repeated_cells, minlength=len(indices)).astype(np.int64)
