"""What releases of linked rows leave of somebody, by trying every value for each of her rows.

A *world* gives each row of the target a value, of all values there are. A release allows it if one
of its pseudonyms shows just these looks with just these values; how often, is in how many ways its
rows can be laid on hers. Nothing is built up from what a release shows: all worlds are tried.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import chain, combinations, permutations, product
from typing import NamedTuple

Row = tuple[str, int, str, str]  # whose, age, ward, ill
Levels = tuple[int, int]
World = tuple[str, ...]
WIDTHS = (1, 10, 20)


def people_of(rows: list[Row]) -> dict[str, list[Row]]:
    people: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        people[row[0]].append(row)
    return dict(people)


def look(row: Row, levels: Levels) -> tuple[int, str]:
    return row[1] // WIDTHS[levels[0]], row[2] if levels[1] == 0 else "*"


class Shown(NamedTuple):
    """A release: of each pseudonym what its rows look like, with their values."""

    levels: Levels
    pseudonyms: list[Counter]
    people: frozenset[str]  # who is published, which nobody outside knows

    @classmethod
    def of(cls, rows: list[Row], levels: Levels, k: int = 1) -> Shown:
        looks = {
            name: Counter(look(row, levels) for row in own) for name, own in people_of(rows).items()
        }
        kept = [name for name in looks if list(looks.values()).count(looks[name]) >= k]
        shown = [
            Counter((look(row, levels), row[3]) for row in people_of(rows)[name]) for name in kept
        ]
        return cls(levels, shown, frozenset(kept))

    def times(self, mine: list[Row], world: World) -> int:
        """In how many ways rows of a pseudonym lie on hers so that they have these values."""
        told = [(look(row, self.levels), value) for row, value in zip(mine, world, strict=True)]
        alike = Counter(told)
        same = sum(pseudonym == alike for pseudonym in self.pseudonyms)
        return same * sum(
            [told[at] for at in order] == told for order in permutations(range(len(told)))
        )

    def worlds(self, mine: list[Row], values: str) -> dict[World, int]:
        told = {world: self.times(mine, world) for world in product(values, repeat=len(mine))}
        return {world: times for world, times in told.items() if times}


def respects(worlds: set[World]) -> list[int]:
    """How many lists of values there are, and how many values of each row."""
    lists = {tuple(sorted(world)) for world in worlds}
    return [len(lists), *(len(set(column)) for column in zip(*worlds, strict=True))]


def left_by_any_choice(own: set[World], others: list[set[World]]) -> list[int]:
    """In each respect the fewest that any choice of the others leaves, if it leaves anything."""
    chosen = chain.from_iterable(combinations(others, n) for n in range(len(others) + 1))
    told = [respects(left) for choice in chosen if (left := set.intersection(own, *choice))]
    return [min(column) for column in zip(*told, strict=True)]


class LeftOfOne(NamedTuple):
    """Of one respect: beside the earlier ones, by those alone, and the fewest by any release."""

    together: int
    before: int | None
    by_one: int
    by_one_before: int

    def exposed(self, most: int, drop: int, counting: str) -> bool:
        now = self.together <= most and self.by_one - self.together >= drop
        return now and not (counting == "added" and self.exposed_before(most, drop))

    def exposed_before(self, most: int, drop: int) -> bool:
        if self.before is None:
            return False
        return self.before <= most and self.by_one_before - self.before >= drop


def left_of(mine: list[Row], values: str, new: Shown, earlier: list[Shown]) -> list[LeftOfOne]:
    """What is left of somebody of the new release, in each respect."""
    own = set(new.worlds(mine, values))
    there = [worlds for before in earlier if (worlds := set(before.worlds(mine, values)))]
    together = left_by_any_choice(own, there)
    fewest_alone: list[list[int]] = []
    for n in range(1, len(there) + 1):
        for choice in combinations(there, n):
            if left := set.intersection(*choice):
                fewest_alone.append(respects(left))
    alone = [min(column) for column in zip(*fewest_alone, strict=True)] or [None] * len(together)
    by_each = [min(column) for column in zip(*map(respects, there), strict=True)]
    consistent = bool(there) and bool(set.intersection(own, *there))
    told = []
    for at, of_new in enumerate(respects(own)):
        earlier_fewest = by_each[at] if there else 0
        by_one = min(of_new, earlier_fewest) if consistent else of_new
        told.append(LeftOfOne(together[at], alone[at], by_one, earlier_fewest))
    return told


def beliefs(mine: list[Row], values: str, releases: list[Shown]) -> dict[World, Fraction]:
    """How likely each world is to whoever takes them for alike beforehand, and releases for
    independent: the product of what each release says of it."""
    told = [release.worlds(mine, values) for release in releases]
    weights = {
        world: Fraction(1)
        for world in product(values, repeat=len(mine))
        if all(world in worlds for worlds in told)
    }
    for worlds in told:
        weights = {
            world: weight * Fraction(worlds[world], sum(worlds.values()))
            for world, weight in weights.items()
        }
    total = sum(weights.values())
    return {world: weight / total for world, weight in weights.items()}
