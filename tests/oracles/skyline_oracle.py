"""Skyline knowledge taken literally: every reconstruction of a tiny release, every grounding.

A world says who has what. Worlds are numbered, and the set of worlds in which a person has a value
is the bits of a number. Nothing here knows the paper's formulas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, permutations, product
from math import comb, factorial, prod
from typing import Literal, TypeVar

Case = Literal["single", "set", "multiset"]
Item = TypeVar("Item")
Local = tuple[frozenset[int], ...]  # what each person of one group has


@dataclass(frozen=True)
class Tiny:
    """Groups as (people, count of each value)."""

    groups: tuple[tuple[int, tuple[int, ...]], ...]
    case: Case

    @property
    def width(self) -> int:
        return len(self.groups[0][1])

    @cached_property
    def people(self) -> list[tuple[int, int]]:
        """Everybody, as (group, place)."""
        return [(g, place) for g, (n, _) in enumerate(self.groups) for place in range(n)]

    @cached_property
    def _local(self) -> list[list[Local]]:
        return [list(_reconstructions(n, counts, self.case)) for n, counts in self.groups]

    @cached_property
    def worlds(self) -> int:
        """How many there are, known without making them: a strategy asks, and takes another."""
        return prod(_number_of_reconstructions(n, counts, self.case) for n, counts in self.groups)

    @cached_property
    def every(self) -> int:
        return (1 << self.worlds) - 1

    @cached_property
    def has(self) -> dict[tuple[tuple[int, int], int], int]:
        """The worlds in which a person has a value."""
        found = {(one, value): 0 for one in self.people for value in range(self.width)}
        number = -1
        for number, world in enumerate(product(*self._local)):
            for group, place in self.people:
                for value in world[group][place]:
                    found[(group, place), value] |= 1 << number
        assert number + 1 == self.worlds
        return found

    def lacks(self, one: tuple[int, int], value: int) -> int:
        return self.every & ~self.has[one, value]

    # -- what can be known ------------------------------------------------------------------------

    def about_target(self, target: tuple[int, int], sigma: int, x: int) -> int:
        """The target does not have x; or, with several values: has x only together with sigma."""
        lacks = self.lacks(target, x)
        return lacks if self.case == "single" else lacks | self.has[target, sigma]

    def about_other(self, one: tuple[int, int], sigma: int) -> list[int]:
        """What can be known about another person: the value; or that it is not sigma."""
        if self.case == "single":
            return [self.has[one, value] for value in range(self.width)]
        return [self.lacks(one, sigma)]

    def of_family(self, target: tuple[int, int], one: tuple[int, int], sigma: int) -> int:
        """If the relative has sigma, so has the target."""
        return self.lacks(one, sigma) | self.has[target, sigma]

    def chance(self, target: tuple[int, int], sigma: int, known: int) -> Fraction | None:
        """How sure somebody is who knows these worlds to be all there are; None: impossible."""
        left = known.bit_count()
        return Fraction((known & self.has[target, sigma]).bit_count(), left) if left else None

    def breach(self, sigma: int, point: tuple[int, int, int]) -> Fraction:
        """The surest anybody becomes by at most (l, k, m) facts; nobody known is of the family."""
        best = Fraction(0)
        for group, (n, _) in enumerate(self.groups):
            if n:  # people of one group are alike: one target each is enough
                best = max(best, self._breach((group, 0), sigma, point))
        return best

    def _breach(self, target: tuple[int, int], sigma: int, point: tuple[int, int, int]) -> Fraction:
        most_l, most_k, most_m = point
        others = [one for one in self.people if one != target]
        values = [x for x in range(self.width) if x != sigma]
        facts = {
            _meet(self.every, [self.about_target(target, sigma, x) for x in chosen])
            for chosen in _at_most(values, most_l)
        }
        about_others = set()
        for family in _at_most(others, most_m):
            related = _meet(self.every, [self.of_family(target, one, sigma) for one in family])
            strangers = [one for one in others if one not in family]
            for chosen in _at_most(strangers, most_k):
                for told in product(*(self.about_other(one, sigma) for one in chosen)):
                    about_others.add(_meet(related, told))
        chances = (
            self.chance(target, sigma, one & two) for one, two in product(facts, about_others)
        )
        return max((chance for chance in chances if chance is not None), default=Fraction(0))


def _meet(every: int, worlds: Sequence[int]) -> int:
    for some in worlds:
        every &= some
    return every


def _at_most(items: Sequence[Item], most: int) -> Iterator[tuple[Item, ...]]:
    for number in range(min(most, len(items)) + 1):
        yield from combinations(items, number)


def _number_of_reconstructions(n: int, counts: Sequence[int], case: Case) -> int:
    if case == "single":
        return factorial(n) // prod(factorial(count) for count in counts)
    return prod(comb(n, count) for count in counts) if case == "set" else n ** sum(counts)


def _reconstructions(n: int, counts: Sequence[int], case: Case) -> Iterator[Local]:
    """Every way in which a group's people can have its values, each as likely as the others."""
    occurrences = [value for value, count in enumerate(counts) for _ in range(count)]
    if case == "single":
        assert len(occurrences) == n
        for order in sorted(set(permutations(occurrences))):
            yield tuple(frozenset({value}) for value in order)
    elif case == "set":
        choices = [combinations(range(n), count) for count in counts]
        for holders in product(*choices):
            yield tuple(
                frozenset(value for value, who in enumerate(holders) if place in who)
                for place in range(n)
            )
    else:
        for holder in product(range(n), repeat=len(occurrences)):
            yield tuple(
                frozenset(v for v, who in zip(occurrences, holder, strict=True) if who == place)
                for place in range(n)
            )
