"""KL divergence (Kifer, Gehrke 2006): how far the release's picture is from the table itself.

The table is read as a distribution p over (quasi-identifiers, first sensitive value); a set of
sensitive values counts as one value. A reader of the release makes the estimate q that assumes
nothing beyond it: the people of a group are spread evenly over the QI combinations its region
covers, each with the group's own counts of sensitive values; suppressed people are spread evenly
over everything. In a bucketized release the QIs are exact and the sensitive values of a bucket are
spread over its people. The cost is KL(p || q) in bits per person: 0 for an unchanged table.

For disjoint regions q is the maximum-entropy distribution with the published counts. Where regions
overlap the groups' shares add up, which is what a reader does who takes the groups one by one.
Not applicable (NaN) to centroids, to noise, and to buckets of people with several values each, who
are cells by whole lists here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.locating.people import RegionIndex
from sfumato.counts.counts import Counts
from sfumato.numbers import Codes, Floats, Ints, run_places
from sfumato.utility.base import Remembered, Utility
from sfumato.utility.view import Tally, View, blocks, dot, first_values, first_width, holders, tally

_TABLE_BITS = 1 << 29  # who-covers-what bits held at a time


@dataclass(frozen=True)
class JointCells:
    """The table's distinct (QI combination, sensitive value), with their people."""

    cells: Tally  # a "group" here is a QI combination, numbered as in `of_tuple`
    of_tuple: Ints
    codes: Codes  # the QI codes of each cell

    @property
    def combination(self) -> Ints:
        return self.cells.groups

    @property
    def value(self) -> Ints:
        return np.asarray(self.cells.values, dtype=np.int64)


@dataclass(frozen=True)
class Divergence(Utility):
    """How many bits per person the release's picture of the table is off."""

    name: ClassVar[str] = "divergence"
    about: ClassVar[str] = (
        "bits per person by which the distribution a reader would reconstruct is off (KL)"
    )
    reads_tuples: ClassVar[bool] = True
    by_parts: ClassVar[bool] = True

    _cells: Remembered[JointCells] = field(
        default_factory=Remembered, init=False, repr=False, compare=False
    )

    def cost(self, view: View) -> float:
        if view.people == 0 or not view.covering or view.bags or view.kept_by_engine:
            return float("nan")
        if not view.counts.fits_memory:
            return max(0.0, _by_parts(view) / view.people)
        cells = self._cells.of(view.tuples, make=lambda: cells_of(view.tuples))
        return max(0.0, _bits(cells, expected_people(view, cells)) / view.people)


def _bits(cells: JointCells, expected: Floats) -> float:
    """What these cells add to the divergence."""
    people = cells.cells.n.astype(np.float64)
    return dot(people, np.log2(people / expected))


def _by_parts(view: View) -> float:
    """The same of a table larger than memory: its cells are looked up in the groups' regions."""
    index, volumes = RegionIndex.of(view.regions, view.counts.quasi), _volumes(view)
    # Groups with equal regions are one place, and give what all of them give.
    order = np.argsort(index.place, kind="stable")
    begins = np.searchsorted(index.place[order], np.arange(index.places + 1))
    many, bits = np.diff(begins), 0.0
    for part in view.counts.parts():
        cells = cells_of(part)
        expected = np.full(len(cells.value), _spread_over_all(view, cells))
        first = np.searchsorted(cells.combination, np.arange(int(cells.combination[-1]) + 2))
        codes = cells.codes[:, first[:-1]]
        for combination, at in index.pairs(codes):
            # Every value of a combination that fits a place.
            length = first[combination + 1] - first[combination]
            cell, there = run_places(first[combination], length), np.repeat(at, length)
            place = np.repeat(np.arange(len(cell)), many[there])
            group = order[run_places(begins[there], many[there])]
            given = view.tally.look_up(group, cells.value[cell[place]]) / volumes[group]
            expected += np.bincount(cell[place], weights=given, minlength=len(expected))
        bits += _bits(cells, expected)
    return bits


def _spread_over_all(view: View, cells: JointCells) -> float:
    """What suppressed people give to each cell there may be."""
    room = float(np.prod([float(len(domain)) for domain in view.counts.quasi]))
    return view.suppressed / (room * cells.cells.width)


def cells_of(counts: Counts) -> JointCells:
    """The table's cells, in the order of their codes."""
    number, first = counts.group_of
    cells = tally(number, first_values(counts).astype(np.int64), counts.n, first_width(counts))
    return JointCells(cells, number, counts.codes[:, first[cells.groups]])


def expected_people(view: View, cells: JointCells) -> Floats:
    """How many people a reader of the release would expect in each cell of the table."""
    spread = _spread_over_all(view, cells)
    if view.exact:
        return _by_bucket(view, cells) + spread
    if not view.disjoint:
        return _by_cover(view, cells, np.arange(len(cells.value))) + spread
    return _by_own_group(view, cells) + spread


def _volumes(view: View) -> Floats:
    """How many QI combinations each group's region covers."""
    volumes = np.ones(len(view.sizes))
    for column, codes in enumerate(view.regions.codes):
        volumes *= view.coverage(column).count[codes]
    return volumes


def _by_own_group(view: View, cells: JointCells) -> Floats:
    """Disjoint regions: only a combination's own group covers it.

    A combination that was suppressed altogether may still lie in somebody else's region.
    """
    pieces = view.pieces
    kept = pieces.groups >= 0
    own = np.full(int(cells.combination[-1]) + 1, -1, dtype=np.int64)
    own[cells.of_tuple[pieces.tuples[kept]]] = pieces.groups[kept]
    group = own[cells.combination]
    published = np.flatnonzero(group >= 0)
    expected = np.zeros(len(group))
    people = view.tally.look_up(group[published], cells.value[published])
    expected[published] = people / _volumes(view)[group[published]]
    unseen = np.flatnonzero(group < 0)
    expected[unseen] = _by_cover(view, cells, unseen)
    return expected


def _by_cover(view: View, cells: JointCells, wanted: Ints) -> Floats:
    """Every group whose region covers a cell, and that has its value, gives it a share.

    A row of bits a code says which groups cover it; the AND over columns, and over the groups that
    have the value, says which groups give to a cell.
    """
    expected = np.zeros(len(wanted))
    if len(wanted) == 0 or len(view.sizes) == 0:
        return expected
    volumes = _volumes(view)
    rows = [*cells.codes[:, wanted].astype(np.int64), cells.value[wanted]]
    used = [np.unique(row, return_inverse=True) for row in rows]
    width = sum(len(codes) for codes, _ in used)
    step = max(8, min(len(view.sizes) + 7, _TABLE_BITS // width) // 8 * 8)
    for start in range(0, len(view.sizes), step):
        stop = min(start + step, len(view.sizes))
        tables = [
            _covering(view, column, codes, start, stop) for column, (codes, _) in enumerate(used)
        ]
        for block in blocks(len(wanted), tables[0].shape[1]):
            bits = tables[0][used[0][1][block]]
            for table, (_, place) in zip(tables[1:], used[1:], strict=True):
                bits &= table[place[block]]
            cell, byte = np.nonzero(bits)
            hit, bit = np.nonzero(np.unpackbits(bits[cell, byte][:, None], axis=1))
            cell, group = cell[hit] + block.start, start + byte[hit] * 8 + bit
            given = view.tally.look_up(group, rows[-1][cell]) / volumes[group]
            expected += np.bincount(cell, weights=given, minlength=len(wanted))
    return expected


def _covering(view: View, column: int, codes: Ints, start: int, stop: int) -> npt.NDArray[np.uint8]:
    """For each code, one bit for each group from start to stop: does it cover the code?

    The column after the last QI is the sensitive value: does the group have it?
    """
    if column < len(view.counts.quasi):
        parts = view.regions.codes[column, start:stop].astype(np.int64)
        # Regions repeat over groups: look at each once.
        distinct, place = np.unique(parts, return_inverse=True)
        covers = holders(view.coverage(column), distinct, codes).T
        return np.concatenate(
            [
                np.packbits(covers[block][:, place], axis=1)
                for block in blocks(len(codes), len(place))
            ]
        )
    low, high = np.searchsorted(view.tally.groups, [start, stop])
    values = view.tally.values[low:high]
    place = np.minimum(np.searchsorted(codes, values), len(codes) - 1)
    has = codes[place] == values
    bits = np.zeros((len(codes), (stop - start + 7) // 8), dtype=np.uint8)
    groups = view.tally.groups[low:high][has] - start
    np.bitwise_or.at(bits, (place[has], groups // 8), (128 >> groups % 8).astype(np.uint8))
    return bits


def _by_bucket(view: View, cells: JointCells) -> Floats:
    """Exact QIs: each combination's people in a bucket get the bucket's share of each value."""
    pieces = view.pieces
    kept = pieces.groups >= 0
    listed = tally(
        pieces.groups[kept],
        cells.of_tuple[pieces.tuples[kept]],
        pieces.n[kept],
        int(cells.combination[-1]) + 1,
    )
    # Pair each (bucket, combination) with every cell of that combination.
    first = np.searchsorted(cells.combination, listed.values, "left")
    length = np.searchsorted(cells.combination, listed.values, "right") - first
    pair = np.repeat(np.arange(len(length)), length)
    cell = run_places(first, length)
    bucket = listed.groups[pair]
    given = listed.n[pair] * view.tally.look_up(bucket, cells.value[cell]) / view.sizes[bucket]
    return np.bincount(cell, weights=given, minlength=len(cells.value)).astype(np.float64)
