"""Skyline knowledge about whole rows, taken literally: every way in which a release's rows can be
its people's, each as likely as the others. Nothing here knows a formula.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from math import prod

from sfumato.adversaries.skyline.grounding import Grounding
from sfumato.release.groups import Groups
from tests.oracles.skyline_oracle import Local, Tiny

LABELS = "ABCDEFGH"
Row = tuple[int, ...]  # somebody's list, repetitions and all


@dataclass(frozen=True)
class WholeRows(Tiny):
    """Groups of rows; `Tiny` knows what can be known, and who becomes how sure by it."""

    rows: tuple[tuple[Row, ...], ...] = ()
    repeated: bool = False

    @classmethod
    def of(cls, rows: list[list[Row]], width: int, *, repeated: bool) -> WholeRows:
        counted = tuple((len(group), (0,) * width) for group in rows)
        return cls(counted, "set", tuple(tuple(group) for group in rows), repeated)

    @cached_property
    def _local(self) -> list[list[Local]]:
        return [
            [tuple(frozenset(row) for row in order) for order in sorted(set(permutations(group)))]
            for group in self.rows
        ]

    @cached_property
    def worlds(self) -> int:
        return prod(len(orders) for orders in self._local)

    @property
    def published(self) -> Groups:
        lists = [[[LABELS[value] for value in row] for row in group] for group in self.rows]
        return Groups.of_lists(lists, LABELS[: self.width], repeated=self.repeated)

    def literally(self, told: Grounding) -> Fraction:
        """How sure somebody is who knows just what a grounding tells, people taken in turn."""
        assert told.target is not None
        sigma, target = LABELS.index(told.value), (told.target, 0)
        used, known = {target}, self.every
        for fact in told.facts:
            known &= self.about_target(target, sigma, LABELS.index(fact))
        for one in self._strangers(told.known, told.people, used):
            known &= self.lacks(one, sigma)
        for one in self._strangers(told.family, told.members, used):
            known &= self.of_family(target, one, sigma)
        chance = self.chance(target, sigma, known)
        assert chance is not None
        return chance

    def _strangers(
        self, group: int | None, number: int, used: set[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """So many people of a group who have no part yet."""
        found = [one for one in self.people if one[0] == group and one not in used][:number]
        assert len(found) == number
        used.update(found)
        return found


def random_rows(source: random.Random) -> WholeRows:
    width, repeated = source.randint(1, 4), source.random() < 0.5
    groups: list[list[tuple[int, ...]]] = []
    for _ in range(source.randint(1, 2)):
        lists = [
            tuple(source.randrange(width) for _ in range(source.choice([0, 1, 1, 2, 3])))
            for _ in range(source.randint(1, 4))
        ]
        groups.append([row if repeated else tuple(sorted(set(row))) for row in lists])
    return WholeRows.of(groups, width, repeated=repeated)
