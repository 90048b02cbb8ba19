"""Learner and attacker by enumerating every table a release is compatible with: slow and plain.

A world gives every row its quasi-identifiers. Its probability is that of drawing the rows one after
the other from urns, one urn for each sensitive value and column. Nothing here knows of trees, atoms
or buckets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product

Tuple = tuple[int, ...]
World = tuple[tuple[int, Tuple], ...]  # rows: sensitive value, quasi-identifiers


@dataclass(frozen=True)
class Urns:
    """Prior weights: `alpha[s]`, and `beta[column][s][value]`."""

    alpha: Sequence[Fraction]
    beta: Sequence[Sequence[Sequence[Fraction]]]

    @classmethod
    def even(cls, values: int, sizes: Sequence[int], weight: Fraction = Fraction(1)) -> Urns:
        return cls([weight] * values, [[[weight] * size] * values for size in sizes])

    def chance(self, world: World) -> Fraction:
        """The probability of the rows' quasi-identifiers given their sensitive values."""
        seen: dict[tuple[int, int, int], int] = {}
        drawn: dict[tuple[int, int], int] = {}
        total = Fraction(1)
        for s, row in world:
            for column, value in enumerate(row):
                weights = self.beta[column][s]
                have = weights[value] + seen.get((column, s, value), 0)
                total *= have / (sum(weights) + drawn.get((column, s), 0))
                seen[column, s, value] = seen.get((column, s, value), 0) + 1
                drawn[column, s] = drawn.get((column, s), 0) + 1
        return total

    def next_row(self, world: World, s: int, row: Tuple) -> Fraction:
        """The probability that one more person of the population is (s, row)."""
        mine = [r for t, r in world if t == s]
        total = (self.alpha[s] + len(mine)) / (sum(self.alpha) + len(world))
        for column, value in enumerate(row):
            weights = self.beta[column][s]
            have = weights[value] + sum(r[column] == value for r in mine)
            total *= have / (sum(weights) + len(mine))
        return total


def region_worlds(rows: Sequence[tuple[int, Sequence[Sequence[int]]]]) -> Iterator[World]:
    """Rows with a sensitive value and, for each column, the values its region allows."""
    choices = [[(s, row) for row in product(*allowed)] for s, allowed in rows]
    yield from product(*choices)


def bucket_worlds(buckets: Sequence[tuple[Sequence[int], Sequence[Tuple]]]) -> Iterator[World]:
    """Buckets of sensitive values and of people; every way of dealing counts, equal ones too."""
    dealt = [
        [tuple(zip(order, people, strict=True)) for order in permutations(values)]
        for values, people in buckets
    ]
    for ways in product(*dealt):
        yield tuple(row for way in ways for row in way)


@dataclass
class Beliefs:
    """Unnormalised beliefs about somebody with quasi-identifiers in `seen`: any of these tuples."""

    attacker: list[Fraction]
    learner: list[Fraction]

    def shares(self, which: str) -> list[Fraction]:
        weights: list[Fraction] = getattr(self, which)
        return [weight / sum(weights) for weight in weights]


def enumerate_beliefs(
    worlds: Iterator[World], urns: Urns, asked: Sequence[dict[Tuple, Fraction]]
) -> list[Beliefs]:
    """For each victim, given as P(observation | tuple): what attacker and learner believe."""
    width = len(urns.alpha)
    found = [Beliefs([Fraction(0)] * width, [Fraction(0)] * width) for _ in asked]
    for world in worlds:
        chance = urns.chance(world)
        for victim, beliefs in zip(asked, found, strict=True):
            for s, row in world:
                beliefs.attacker[s] += chance * victim.get(row, 0)
            for row, weight in victim.items():
                for s in range(width):
                    beliefs.learner[s] += chance * weight * urns.next_row(world, s, row)
    return found
