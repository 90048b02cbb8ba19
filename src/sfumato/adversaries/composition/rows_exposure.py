"""How few values are left of somebody's rows, where releases publish rows one by one.

A row that stands in several releases is one record with one value. The adversary knows the
quasi-identifiers of her target's rows, and finds each of them in every release. Two readings, and
whoever is exposed by either counts, once:

*Of a row*: what the releases leave of one row, as they leave it of somebody with one row.

*Of rows that say the same*: she knows that some rows of her target say the same (a lasting
disease), and only a value is left that all groups of these rows show, in all releases. With m of
the rows in one group a value must stand there m times. Judged are the rows that do say the same,
for every value that somebody has: all of them, or where fewer rows are known every choice of so
many.

In which earlier releases a row is nobody outside knows. So every choice of rows and releases that
leaves something is taken into account, and the fewest values any of them leaves counts
(`exposure.py`, with a row in a release in the place of a release). Where groups overlap, several
rows of one person may lie in several of them, and which m values those have together is not worked
out: whoever that concerns may be exposed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations
from math import comb
from typing import Literal

import numpy as np

from sfumato.adversaries.composition.exposure import (
    EarlierExposure,
    Exposed,
    ExposureRule,
    locate_in,
    remembered,
)
from sfumato.adversaries.composition.intersection import SharedValues
from sfumato.adversaries.locating.locate import Located
from sfumato.adversaries.locating.targets import targets_of
from sfumato.counts.counts import Counts, Sets
from sfumato.counts.value_sets import code_sets
from sfumato.errors import ResourceError
from sfumato.numbers import (
    Bools,
    Codes,
    Ints,
    distinct,
    in_order,
    offsets_of,
    rows_of,
    sums_by_row,
    taken_rows,
)
from sfumato.release.groups import Groups
from sfumato.release.release import Release

_MOST = 1 << 26  # places of rows in releases that are looked at at once
_MOST_CHOICES = 2_000_000  # of known rows that say the same


@dataclass(frozen=True)
class RowsExposure(EarlierExposure):
    """What earlier releases show of sets of rows: each has `block` bits, one for a row there."""

    block: int = field(default=1, kw_only=True)

    def only(self, releases: Iterable[int]) -> RowsExposure:
        bits = [release * self.block + place for release in releases for place in range(self.block)]
        exposure = super().only(bits)
        return RowsExposure(
            exposure.labels,
            exposure.ends,
            exposure.values,
            exposure.shown_by,
            exposure.located,
            block=self.block,
        )

    @cached_property
    def fewest_by_one(self) -> Ints:
        """The fewest values that one earlier release leaves of all these rows that it has."""
        fewest = np.full(len(self.ends) - 1, len(self.labels), dtype=np.int64)
        case = rows_of(self.ends)
        for first in range(0, 64 * self.located.shape[1], self.block):
            mask = np.zeros(self.located.shape[1], dtype=np.uint64)
            for bit in range(first, min(first + self.block, 64 * len(mask))):
                mask[bit // 64] |= np.uint64(1) << np.uint64(bit % 64)
            here = self.located & mask
            left: Bools = np.logical_and.reduce((self.shown_by & here[case]) == here[case], axis=1)
            many = sums_by_row(left, self.ends)
            there = np.logical_or.reduce(here != 0, axis=1) & (many > 0)
            fewest = np.where(there, np.minimum(fewest, many), fewest)
        return fewest


@dataclass(frozen=True)
class ExposedPeople(Exposed):
    """The same of people with several rows; `everybody`: at least and at most, each once."""

    everybody: tuple[int, int]

    def people(self, groups: Groups) -> tuple[int, int]:
        return self.everybody


@dataclass(frozen=True)
class WatchedRows:
    """A table's rows as earlier releases know them, about one attribute.

    `case` is that of each tuple by its quasi-identifiers. Set p are the rows of one person that
    say the same, `rows[offsets[p]:offsets[p + 1]]`, two or more, and no more than are known unless
    there are too many choices of them; `doubtful`: which of them earlier
    groups that overlap do not settle.
    """

    counts: Counts
    knows: int | Literal["all"]
    case: Ints
    by_row: EarlierExposure
    by_set: RowsExposure
    offsets: Ints
    rows: Ints
    doubtful: Bools

    @classmethod
    def of(
        cls,
        counts: Counts,
        groups: Groups,
        earlier: Sequence[Release],
        knows: int | Literal["all"],
    ) -> WatchedRows:
        """`groups` tell the attribute and its labels, by row; any groups of that table do."""
        people = targets_of(counts)
        case = counts.group_of[0]
        shared, located = locate_in(groups, earlier, people)
        by_row = remembered(shared, located, people.cases)
        names = [attribute.name for attribute in counts.sensitive]
        offsets, rows = _equal_rows(counts, names.index(str(groups.attribute)), knows)
        case_of_row = np.repeat(case, counts.n)[rows]
        by_set, doubtful = _expose_sets(shared, located, offsets, case_of_row)
        return cls(counts, knows, case, by_row, by_set, offsets, rows, doubtful)

    def only(self, releases: Sequence[int]) -> WatchedRows:
        """Beside some of the earlier releases, told by their numbers."""
        return replace(self, by_row=self.by_row.only(releases), by_set=self.by_set.only(releases))

    def exposed(self, groups: Groups, rule: ExposureRule) -> ExposedPeople:
        """The people of each group who are exposed there by one of their rows."""
        published = _PublishedRows(self.counts, groups)
        unlinked = groups.beside.unlinked
        assert unlinked is not None
        read, inside = unlinked.by_row, published.inside
        cases = self.case[inside.tuples]
        by_tuple = self.by_row.exposed(read.indptr, read.indices, inside.indptr, cases, rule)
        surely = by_tuple[published.entry]
        possibly = surely.copy()
        if len(self.offsets) > 1:
            sets, row = self._published_sets(published)
            present = np.unique(sets)
            together = _shown_together(read, np.searchsorted(present, sets), published.group[row])
            one_each = np.arange(len(present) + 1)
            counted = self.by_set.exposed(*together, one_each, present, rule)
            exposed = np.zeros(len(self.offsets) - 1, dtype=bool)
            exposed[present] = counted
            unknown = np.diff(self.offsets) > (np.inf if self.knows == "all" else self.knows)
            surely[row[(exposed & ~unknown)[sets]]] = True
            possibly |= surely
            possibly[row[(exposed | self.doubtful | unknown)[sets]]] = True
        return published.people(surely, possibly)

    def exposed_before(self, groups: Groups, rule: ExposureRule) -> int:
        """The people inside the groups whom the earlier releases expose by themselves."""
        published = _PublishedRows(self.counts, groups)
        already = self.by_row.exposed_already(rule)
        rows = already[self.case[published.inside.tuples]][published.entry]
        if len(self.offsets) > 1:
            sets, row = self._published_sets(published)
            rows[row[self.by_set.exposed_already(rule)[sets]]] = True
        return published.people(rows, rows).everybody[0]

    def _published_sets(self, published: _PublishedRows) -> tuple[Ints, Ints]:
        """The sets that have published rows: of each such row its set, and its place there."""
        place = np.full(int(self.counts.n.sum()), -1, dtype=np.int64)
        place[published.row] = np.arange(len(published.row))
        row = place[self.rows]
        return rows_of(self.offsets)[row >= 0], row[row >= 0]


class _PublishedRows:
    """The rows inside groups one by one: which row of the table, whose, and in which group."""

    def __init__(self, counts: Counts, groups: Groups) -> None:
        inside = groups.inside
        assert inside is not None
        assert counts.owner is not None
        self.inside = inside
        self.row = taken_rows(offsets_of(counts.n), inside.tuples)[1]
        self.entry = np.repeat(np.arange(len(inside.tuples)), counts.n[inside.tuples])
        self.group = rows_of(inside.indptr)[self.entry]
        self.owner: Codes = counts.owner[self.row]
        self._groups = len(groups)

    def people(self, surely: Bools, possibly: Bools) -> ExposedPeople:
        """Who has one of these rows, in each group and at all."""

        def having(rows: Bools) -> tuple[Ints, int]:
            pairs = distinct(self.owner[rows].astype(np.int64) * self._groups + self.group[rows])
            inside = np.bincount(pairs % self._groups, minlength=self._groups)
            return inside.astype(np.int64), len(np.unique(self.owner[rows]))

        (sure, least), (possible, most) = having(surely), having(possibly)
        return ExposedPeople(sure, possible, (least, most))


def _equal_rows(counts: Counts, attribute: int, knows: int | Literal["all"]) -> tuple[Ints, Ints]:
    """The rows of each person that say the same, where there are several; as numbers of rows.

    Where fewer are known, every choice of so many or fewer of them. A row that is believed to be in
    an earlier release, and is not, may leave less beside some rows than beside all of them.
    """
    assert counts.owner is not None
    width = max(len(counts.sensitive[attribute].domain), 1)
    pair = counts.owner.astype(np.int64) * width + np.repeat(counts.values[attribute], counts.n)
    order = in_order(pair)
    many = np.diff(np.flatnonzero(np.diff(pair[order], prepend=-1)), append=len(pair))
    several = (many > 1) & (knows != 1)
    order, sizes = order[np.repeat(several, many)], many[several]
    if knows == "all" or not (sizes > knows).any():
        return offsets_of(sizes), order
    choices = sum(
        sum(comb(size, known) for known in range(2, min(size, knows) + 1))
        for size in sizes.tolist()
    )
    if choices > _MOST_CHOICES:
        return offsets_of(sizes), order  # who knows fewer of them may be exposed: `exposed`
    row_sets = [
        choice
        for rows in np.split(order, np.cumsum(sizes)[:-1])
        for known in range(2, min(len(rows), knows) + 1)
        for choice in combinations(rows.tolist(), known)
    ]
    lengths = np.array([len(choice) for choice in row_sets], dtype=np.int64)
    return offsets_of(lengths), np.array(list(chain.from_iterable(row_sets)), dtype=np.int64)


def _expose_sets(
    shared: SharedValues, located: Sequence[Located], offsets: Ints, case: Ints
) -> tuple[RowsExposure, Bools]:
    """What earlier releases show of sets of rows; and of which sets overlapping groups do not say.

    `case` is that of each row of the sets. In a release a row lies in one of some groups; the
    how-manieth row of its set there it is tells how often these must show a value.
    """
    total, owner = len(offsets) - 1, rows_of(offsets)
    doubtful = np.zeros(total, dtype=bool)
    laid = [
        _Laid.of(shared, place, where, owner, case) for place, where in enumerate(located, start=1)
    ]
    block = max([1, *(int(release_rows.nth.max(initial=0)) + 1 for release_rows in laid)])
    if len(laid) * block * max(total, 1) > _MOST:
        raise ResourceError(
            "people have too many rows that say the same, in too many releases, to judge them "
            "together; say knows = 1 to judge rows one by one"
        )
    indptr: list[Ints] = []
    codes: list[Ints] = []
    units = np.full((max(len(laid), 1) * block, total), -1, dtype=np.int64)
    shapes = 0
    for at, release in enumerate(laid):
        doubtful[release.doubtful] = True
        units[at * block + release.nth, release.owner] = shapes + release.shape
        indptr.append(np.diff(release.indptr))
        codes.append(release.codes)
        shapes += len(release.indptr) - 1
    units[units < 0] = shapes  # the row is not there
    from sfumato.adversaries.composition.kernel import remember  # its compiler loads slowly

    all_codes = np.concatenate([np.zeros(0, np.int64), *codes])
    remembered_sets = remember(
        offsets_of(np.concatenate([np.zeros(0, np.int64), *indptr])),
        all_codes,
        np.ones(len(all_codes), dtype=np.bool_),
        np.append(np.arange(shapes + 1), shapes),
        np.arange(shapes),
        units,
        len(shared.labels),
        -(-len(units) // 64),
    )
    return RowsExposure(shared.labels, *remembered_sets, block=block), doubtful


@dataclass(frozen=True)
class _Laid:
    """The rows of sets that one release locates.

    Row i is of set `owner[i]`, the `nth[i]`-th of it that is there, and shows shape `shape[i]`: the
    values `codes[indptr[shape]:indptr[shape + 1]]`.
    """

    owner: Ints
    nth: Ints
    shape: Ints
    indptr: Ints
    codes: Ints
    doubtful: Ints

    @classmethod
    def of(cls, shared: SharedValues, place: int, where: Located, owner: Ints, case: Ints) -> _Laid:
        """`place`: that of the release among those whose values are shared."""
        number, fits = code_sets(where.indptr, where.groups.astype(np.int32), repeated=False)
        lengths = np.diff(fits.offsets)
        fit = number[case].astype(np.int64)
        there = lengths[fit] > 0
        owner, fit = owner[there], fit[there]
        order = np.lexsort((fit, owner))
        owner, fit = owner[order], fit[order]
        nth = _within_runs(owner)
        rank = _within_runs(owner * max(len(fits), 1) + fit)  # of those that fit the same groups
        other = (np.diff(owner) == 0) & (np.diff(fit) != 0)
        wide = (lengths[fit[1:]] > 1) | (lengths[fit[:-1]] > 1)
        most = int(rank.max(initial=0)) + 1
        shapes, shape = np.unique(fit * most + rank, return_inverse=True)
        indptr, codes = _at_least(shared, place, fits, *np.divmod(shapes, most))
        return cls(owner, nth, shape, indptr, codes, np.unique(owner[1:][other & wide]))


def _at_least(
    shared: SharedValues, place: int, fits: Sets, fit: Ints, rank: Ints
) -> tuple[Ints, Ints]:
    """The values that the groups of each of these sets show together more than `rank` times."""
    groups, numbers, width = shared.groups[place], shared.numbers[place], len(shared.labels)
    indptr, stored = taken_rows(groups.indptr, fits.members.astype(np.int64))
    entry = np.repeat(rows_of(fits.offsets), np.diff(indptr))
    keys, key = np.unique(entry * width + numbers[groups.indices[stored]], return_inverse=True)
    times = np.bincount(key, weights=groups.data[stored], minlength=len(keys))
    of_fit, codes = np.divmod(keys, width)
    begins = np.searchsorted(of_fit, np.arange(len(fits) + 1)).astype(np.int64)
    offsets, places = taken_rows(begins, fit)
    enough = times[places] > np.repeat(rank, np.diff(offsets))
    return offsets_of(sums_by_row(enough, offsets)), codes[places[enough]].astype(np.int64)


def _within_runs(numbers: Ints) -> Ints:
    """The place of each entry in its run of equal numbers."""
    begins = np.flatnonzero(np.diff(numbers, prepend=-1) != 0)
    return np.arange(len(numbers)) - np.repeat(begins, np.diff(np.append(begins, len(numbers))))


def _shown_together(by_row: Groups, sets: Ints, group: Ints) -> tuple[Ints, Ints]:
    """The values that all rows of each set may say together: row i of set `sets[i]` lies in
    `group[i]`, and a value stands in a group as often as the set has rows there."""
    keys, many = np.unique(sets * len(by_row) + group, return_counts=True)
    owner, there = np.divmod(keys, len(by_row))
    indptr, stored = taken_rows(by_row.indptr, there)
    enough = by_row.data[stored] >= np.repeat(many, np.diff(indptr))
    value = np.repeat(owner, np.diff(indptr))[enough] * by_row.width
    value += by_row.indices[stored][enough]
    values, groups = np.unique(value, return_counts=True)
    of_set, codes = np.divmod(values, by_row.width)
    everywhere = groups == np.bincount(owner)[of_set]
    total = int(owner.max(initial=-1)) + 1
    begins = np.searchsorted(of_set[everywhere], np.arange(total + 1)).astype(np.int64)
    return begins, codes[everywhere]
