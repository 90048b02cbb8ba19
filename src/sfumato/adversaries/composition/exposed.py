"""How many people of each group are known too well, together with what was released before.

If it is known who is inside a group, each tuple is judged by the earlier releases that locate it,
and the count is exact. If only regions are known, every combination of values they allow is tried:
a group none of whose combinations is exposed has nobody exposed, one all of whose are has
everybody. If not even those are known, only what a group gives away by itself is sure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.adversaries.composition.combinations import combinations
from sfumato.adversaries.composition.exposure import Exposure, expose
from sfumato.adversaries.composition.targets import Targets, targets_of
from sfumato.counts.contingency import Counts, Ints
from sfumato.release.groups import Groups
from sfumato.release.release import Release


@dataclass(frozen=True)
class Exposed:
    """People of each group who are surely exposed, and those who possibly are."""

    sure: Ints
    possible: Ints

    @property
    def exact(self) -> bool:
        return bool((self.sure == self.possible).all())


@dataclass(frozen=True)
class Watched:
    """A table's people as earlier releases know them, about one attribute."""

    counts: Counts
    case: Ints
    people: Targets
    exposure: Exposure

    @classmethod
    def of(cls, counts: Counts, groups: Groups, earlier: Sequence[Release]) -> Watched:
        """`groups` tell the attribute and its labels; any groups of that table do."""
        people = targets_of(counts)
        return cls(counts, counts.group_of[0], people, expose(groups, earlier, people))

    def exposed(self, groups: Groups, most: int) -> Ints:
        """The people inside each group of whom at most so many values are left.

        This is what a search calls, again and again: linear in the people inside the groups.
        """
        inside = groups.inside
        assert inside is not None
        left = self.exposure.fewest(
            groups.indptr, groups.indices, inside.indptr, self.case[inside.tuples]
        )
        return _per_group(np.where(left <= most, inside.n, 0), inside.indptr)

    def exposed_before(self, groups: Groups, most: int) -> int:
        """The people inside the groups whom the earlier releases expose by themselves."""
        inside = groups.inside
        assert inside is not None
        known = self.exposure.alone() <= most
        return int(inside.n[known[self.case[inside.tuples]]].sum())


def exposed_by_regions(groups: Groups, earlier: Sequence[Release], most: int) -> Exposed:
    """What can be said of groups whose people are not known."""
    alone = np.where(groups.distinct <= most, groups.sizes, 0)
    if groups.regions is None:
        return Exposed(alone, groups.sizes)
    tried = combinations(groups.regions, earlier)
    exposure = expose(groups, earlier, tried.targets)
    left = exposure.fewest(groups.indptr, groups.indices, tried.begins, tried.cases)
    many = np.diff(tried.begins)
    hits = _per_group((left <= most).astype(np.int64), tried.begins)
    # A group that allows nothing we can think of says nothing about its people.
    sure = np.where((hits == many) & (many > 0), groups.sizes, alone)
    return Exposed(sure, np.where((hits > 0) | (many == 0), groups.sizes, alone))


def _per_group(numbers: Ints, begins: Ints) -> Ints:
    running = np.concatenate([[0], np.cumsum(numbers)])
    summed: Ints = running[begins[1:]] - running[begins[:-1]]
    return summed
