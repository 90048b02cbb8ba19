"""How many people of each group are known too well, together with what was released before.

If it is known who is inside a group, each tuple is judged by the earlier releases that locate it,
and the count is exact. If only regions are known, every combination of values they allow is tried:
a group none of whose combinations is exposed has nobody exposed, one all of whose are has
everybody. If not even those are known, only what a group gives away by itself is sure.

Counted are all who are known too well, or only those whom the new release adds: people whom the
earlier releases, by themselves, do not expose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from sfumato.adversaries.composition.combinations import combinations
from sfumato.adversaries.composition.exposure import Bools, Exposure, expose
from sfumato.adversaries.locating.targets import Targets, targets_of
from sfumato.counts.counts import Counts, Ints
from sfumato.release.groups import Groups
from sfumato.release.release import Release

Counting = Literal["all", "added"]


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
    _already: dict[int, Bools] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, counts: Counts, groups: Groups, earlier: Sequence[Release]) -> Watched:
        """`groups` tell the attribute and its labels; any groups of that table do."""
        people = targets_of(counts)
        return cls(counts, counts.group_of[0], people, expose(groups, earlier, people))

    def exposed(self, groups: Groups, most: int, counting: Counting = "all") -> Ints:
        """The people inside each group of whom at most so many values are left.

        This is what a search calls, again and again: linear in the people inside the groups.
        """
        inside = groups.inside
        assert inside is not None
        cases = self.case[inside.tuples]
        left = self.exposure.fewest(groups.indptr, groups.indices, inside.indptr, cases)
        counted = left <= most
        if counting == "added":
            counted &= ~self.exposed_already(most)[cases]
        return _per_group(np.where(counted, inside.n, 0), inside.indptr)

    def exposed_already(self, most: int) -> Bools:
        """The cases whom the earlier releases expose by themselves."""
        if most not in self._already:
            self._already[most] = exposed_already(self.exposure, most)
        return self._already[most]

    def exposed_before(self, groups: Groups, most: int) -> int:
        """The people inside the groups whom the earlier releases expose by themselves."""
        inside = groups.inside
        assert inside is not None
        return int(inside.n[self.exposed_already(most)[self.case[inside.tuples]]].sum())

    def exposed_whatever(self, groups: Groups, most: int) -> int | None:
        """The people inside the groups whom no release can hide; None where values are unknown.

        Fewer than those exposed before: what a group shows may tell that somebody is not one of an
        earlier release's people. Of these, what is left is too little in any group they may be in.
        """
        inside = groups.inside
        assert inside is not None
        names = [attribute.name for attribute in self.counts.sensitive]
        if groups.attribute not in names:  # a release that was read lists people without values
            return None
        own = self.counts.values[names.index(groups.attribute)][inside.tuples]
        left = self.exposure.left_at_most(self.case[inside.tuples], own)
        return int(inside.n[left <= most].sum())


def exposed_already(exposure: Exposure, most: int) -> Bools:
    """The cases of whom earlier releases by themselves leave so few values; they must have them."""
    return exposure.located_anywhere() & (exposure.alone() <= most)


def exposed_by_regions(
    groups: Groups, earlier: Sequence[Release], most: int, counting: Counting = "all"
) -> Exposed:
    """What can be said of groups whose people are not known."""
    alone = exposed_alone(groups, most, counting)
    if groups.regions is None:
        return Exposed(alone, groups.sizes)
    tried = combinations(groups.regions, earlier)
    exposure = expose(groups, earlier, tried.targets)
    left = exposure.fewest(groups.indptr, groups.indices, tried.begins, tried.cases)
    counted = left <= most
    if counting == "added":
        counted &= ~exposed_already(exposure, most)[tried.cases]
    many = np.diff(tried.begins)
    hits = _per_group(counted.astype(np.int64), tried.begins)
    # A group that allows nothing we can think of says nothing about its people.
    sure = np.where((hits == many) & (many > 0), groups.sizes, alone)
    return Exposed(sure, np.where((hits > 0) | (many == 0), groups.sizes, alone))


def exposed_alone(groups: Groups, most: int, counting: Counting) -> Ints:
    """The people whom groups give away by themselves; nobody knows whether that is new."""
    exposed = np.where(groups.distinct <= most, groups.sizes, 0)
    return exposed if counting == "all" else np.zeros_like(exposed)


def _per_group(numbers: Ints, begins: Ints) -> Ints:
    running = np.concatenate([[0], np.cumsum(numbers)])
    summed: Ints = running[begins[1:]] - running[begins[:-1]]
    return summed
