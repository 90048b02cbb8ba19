"""The Dirichlet-multinomial model itself, by enumerating everybody's value: slow and plain.

People's values are drawn one after the other from an unknown distribution about which the
adversary has a Dirichlet prior: Polya's urn. Nothing here knows the paper's formulas.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from itertools import permutations, product


def urn(values: Sequence[int], weights: Sequence[Fraction]) -> Fraction:
    """The probability of drawing these values in this order."""
    now, chance = list(weights), Fraction(1)
    for value in values:
        chance *= now[value] / sum(now)
        now[value] += 1
    return chance


def histogram(values: Sequence[int], width: int) -> tuple[int, ...]:
    return tuple(sum(value == code for value in values) for code in range(width))


def belief(
    weights: Sequence[Fraction],
    people: int,
    about: Collection[int],
    seen: tuple[int, ...],
    friends: Sequence[int],
    *,
    present: bool,
    before: Sequence[int] = (),
) -> Fraction:
    """P(person 0 has a value of the set), given what is published and persons 1..b exactly.

    `present`: the histogram is of all people, else of all but person 0. `before`: values of people
    she saw outside, drawn first.
    """
    width, both, one = len(weights), Fraction(0), Fraction(0)
    for values in product(range(width), repeat=people):
        if values[1 : 1 + len(friends)] != tuple(friends):
            continue
        if histogram(values if present else values[1:], width) != seen:
            continue
        chance = urn([*before, *values], weights)
        both += chance
        one += chance * (values[0] in about)
    return one / both


def friends_of(counts: tuple[int, ...], own: int, known: int) -> Iterator[tuple[int, ...]]:
    """What the b people she knows can be, the target having `own`."""
    others = [code for code, n in enumerate(counts) for _ in range(n - (code == own))]
    yield from {tuple(sorted(some)) for some in permutations(others, known)}


def needed(
    counts: tuple[int, ...],
    weights: Sequence[Fraction],
    about: Collection[int],
    known: int,
    before: Sequence[int] = (),
) -> Fraction | None:
    """The smallest epsilon for one set of values; None is infinity."""
    people, worst = sum(counts), Fraction(1)
    for own, n in enumerate(counts):
        if n == 0:
            continue
        without = tuple(m - (code == own) for code, m in enumerate(counts))
        for friends in friends_of(counts, own, known):
            p_in = belief(weights, people, about, counts, friends, present=True, before=before)
            p_out = belief(weights, people, about, without, friends, present=False, before=before)
            for top, bottom in ((p_in, p_out), (1 - p_out, 1 - p_in)):
                if bottom == 0 and top == 0:
                    continue
                if bottom == 0:
                    return None
                worst = max(worst, top / bottom)
    return worst
