"""People who are in several groups: one whose rows differ in their quasi-identifiers.

Sizes count her in each of her groups, and so they must: in each she hides among so many. Whoever
tells how many *people* something concerns counts her once, if it concerns her in any of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.numbers import Bools, Floats, Ints


@dataclass(frozen=True)
class Headcount:
    """How many people; `at_most`: so many or fewer, since who is in several groups is not known."""

    number: int
    at_most: bool = False

    def __str__(self) -> str:
        return f"{'at most ' if self.at_most else ''}{self.number:,}"


@dataclass(frozen=True)
class SeveralGroups:
    """Who is in several groups: `person[i]` is in group `group[i]`, persons in order.

    `everybody` is how many people there are. Where only that is known both lists are None; where
    not even that is, because some of the groups were left out, it is None too.
    """

    everybody: int | None
    person: Ints | None = None
    group: Ints | None = None

    @property
    def listed(self) -> bool:
        """Whether it is known who is in several groups, not only how many people there are."""
        return self.person is not None

    def count(self, people: Ints, chosen: Bools | None) -> Headcount:
        """Distinct people of the chosen groups, of which each has so many, or of all of them."""
        places = int((people if chosen is None else people[chosen]).sum())
        if self.person is not None and self.group is not None:
            here = self.person if chosen is None else self.person[chosen[self.group]]
            return Headcount(places - len(here) + len(np.unique(here)))
        if self.everybody is None:
            return Headcount(places, at_most=places > 0)
        if chosen is None or chosen.all():
            return Headcount(self.everybody)
        return Headcount(min(places, self.everybody), at_most=places > 1)

    def lesser(self, per_group: Floats) -> float:
        """The sum over people of all but the largest of their groups' figures."""
        assert self.person is not None
        assert self.group is not None
        if not len(self.person):
            return 0.0
        figures = per_group[self.group]
        first = np.flatnonzero(np.diff(self.person, prepend=-1))
        return float(figures.sum() - np.maximum.reduceat(figures, first).sum())

    def take(self, kept: Ints, total: int) -> SeveralGroups:
        """Some of so many groups, by their positions."""
        if self.person is None or self.group is None:
            return self if len(kept) == total else SeveralGroups(None)
        place = np.full(total, -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        here = place[self.group]
        return SeveralGroups(None, self.person[here >= 0], here[here >= 0])

    def merge(self, number: Ints) -> SeveralGroups:
        """Groups put together: group g becomes part of group `number[g]`."""
        group = None if self.group is None else number[self.group]
        return SeveralGroups(self.everybody, self.person, group)
