"""Who of a table larger than memory is in which group, as far as releases tell people apart.

Everybody is looked up once, part by part, in the new release and in earlier ones. People who are in
the same group, of the same values, and in the same groups of every earlier release are known alike
by whoever holds these releases; one of them stands for all. They are as many as the releases tell
apart, not as the table has rows, and whatever asks of groups who is inside them is asked of these.

Stands apart: `true_groups.py` knows everybody's own group where everybody's tuple is in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sfumato.adversaries.locating.locate import IndexesOfReleases, locate
from sfumato.adversaries.locating.targets import Targets, targets_of
from sfumato.counts.counts import Counts, rank_rows
from sfumato.counts.stored import StoredCounts
from sfumato.counts.value_sets import code_sets
from sfumato.errors import ResourceError, SfumatoError
from sfumato.numbers import Codes, Ints, sums_by
from sfumato.release.beside import Inside, PeopleAlike
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.release.summing import group_counts

_TUPLE, _RELEASE = 256, 96  # bytes that it takes to look a tuple up, and more in each release
_COPIES = 4  # of those who stand for others, while more come

SEVERAL = "people fit several groups"
OTHERS = "those who fit the groups are not those they count"


def people_alike(
    release: Release, stored: StoredCounts, earlier: Sequence[Release]
) -> PeopleAlike | str:
    """Who is in which group, beside these earlier releases; or why that is not known."""
    if stored.extra_memberships:
        return "people are in several groups, and the table is larger than memory"
    names = [attribute.name for attribute in stored.sensitive]
    if not set(release.by_attribute) <= set(names):
        return OTHERS
    register = [_FoundIn(before) for before in earlier]
    left = [_Uncounted(groups, names.index(name)) for name, groups in release.by_attribute.items()]
    standing: _Standing | None = None
    indexes: IndexesOfReleases = {}
    most, total = stored.engine.memory // 2, len(release.groups)
    step = max(1, most // (_TUPLE + _RELEASE * len(earlier)))
    with stored.engine.yield_memory():
        for part in stored.parts(beside=most):
            for start in range(0, len(part), step):
                counts = part.take(np.arange(start, min(start + step, len(part))))
                people = targets_of(counts)
                located = locate(release, people, indexes=indexes)
                many = np.diff(located.indptr)
                if (many > 1).any():
                    return SEVERAL
                case = counts.group_of[0]
                group = np.where(many == 1, 0, -1)
                group[many == 1] = located.groups
                kept = np.flatnonzero(group[case] >= 0)
                counts, group = counts.take(kept), group[case[kept]]
                if not all(cells.take_away(counts, group, total) for cells in left):
                    return OTHERS
                seen_in = [before.numbers(people)[case[kept]] for before in register]
                seen = np.array(seen_in, dtype=np.int64).reshape(len(register), len(kept))
                here = _Standing(group, seen, counts)
                standing = (here if standing is None else standing.beside(here)).distinct()
                standing.check(most)
            del part  # before the next one comes
    if standing is None or not all(cells.all_counted for cells in left):
        return OTHERS
    return PeopleAlike(standing.inside(total), tuple(earlier))


@dataclass
class _FoundIn:
    """An earlier release, and a number for every set of its groups in which people were found."""

    release: Release
    indexes: IndexesOfReleases = field(default_factory=dict)
    numbered: dict[bytes, int] = field(default_factory=dict)

    def numbers(self, people: Targets) -> Ints:
        """The number of the set of groups that each case may be in."""
        if self.release.regions.noisy:
            return np.zeros(people.cases, dtype=np.int64)
        try:
            located = locate(self.release, people, indexes=self.indexes)
        except SfumatoError:  # whoever judges people beside this release says why it cannot be
            return np.zeros(people.cases, dtype=np.int64)
        number, sets = code_sets(located.indptr, located.groups.astype(np.int32), repeated=False)
        bounds = zip(sets.offsets[:-1].tolist(), sets.offsets[1:].tolist(), strict=True)
        keys = [sets.members[low:high].tobytes() for low, high in bounds]
        own = [self.numbered.setdefault(key, len(self.numbered)) for key in keys]
        return np.array(own, dtype=np.int64)[number]


class _Uncounted:
    """What groups count of an attribute, of which people are taken away as they are found."""

    def __init__(self, groups: Groups, place: int) -> None:
        self._groups, self._place = groups, place
        self._sizes = groups.sizes.copy()
        order = np.argsort(groups.row * groups.width + groups.indices, kind="stable")
        self._cells = (groups.row * groups.width + groups.indices)[order]
        self._left = groups.data[order].copy()

    def take_away(self, counts: Counts, group: Ints, total: int) -> bool:
        """Whether the groups have the values of these people, as many as there were yet."""
        made = group_counts(replace(counts, protect=None), group, total, self._place)
        code = {label: code for code, label in enumerate(self._groups.values)}
        own = np.array([code.get(label, -1) for label in made.values], dtype=np.int64)
        value = own[made.indices]
        cells = made.row * self._groups.width + value
        place = np.searchsorted(self._cells, cells)
        there = (value >= 0) & (place < len(self._cells))
        if not there.all() or (self._cells[place] != cells).any():
            return False
        self._left[place] -= made.data
        self._sizes -= made.sizes
        return bool((self._left >= 0).all() and (self._sizes >= 0).all())

    @property
    def all_counted(self) -> bool:
        return not (self._left.any() or self._sizes.any())


@dataclass(frozen=True)
class _Standing:
    """People by their group, and by the groups of each earlier release that they were found in."""

    group: Ints
    seen_in: Ints  # a row for each earlier release
    counts: Counts

    def beside(self, more: _Standing) -> _Standing:
        counts, others = self.counts, more.counts
        together = replace(
            counts,
            codes=np.hstack([counts.codes, others.codes]),
            values=np.hstack([counts.values, others.values]),
            n=np.append(counts.n, others.n),
            weights=None,
            protect=None,
        )
        return _Standing(
            np.append(self.group, more.group), np.hstack([self.seen_in, more.seen_in]), together
        )

    def distinct(self) -> _Standing:
        """One for all who are alike."""
        counts = self.counts
        rows: list[Ints | Codes] = [self.group, *self.seen_in, *counts.values]
        number, first = rank_rows(rows, [int(row.max(initial=0)) + 1 for row in rows])
        one_each = replace(
            counts,
            codes=counts.codes[:, first],
            values=counts.values[:, first],
            n=sums_by(number, counts.n, len(first)),
            weights=None,
            protect=None,
        )
        return _Standing(self.group[first], self.seen_in[:, first], one_each)

    def check(self, most: int) -> None:
        """Refuse people of so many kinds that they do not fit."""
        columns = len(self.counts.quasi) + len(self.counts.sensitive) + 2 * len(self.seen_in)
        if len(self.group) * (4 * columns + 16) * _COPIES > most:
            raise ResourceError(
                f"the releases tell {len(self.group):,} kinds of people apart, too many for the "
                "memory limit; raise it, or judge fewer releases together"
            )

    def inside(self, total: int) -> Inside:
        order = np.argsort(self.group, kind="stable")
        indptr = np.searchsorted(self.group[order], np.arange(total + 1)).astype(np.int64)
        return Inside(self.counts, indptr, order, self.counts.n[order])
