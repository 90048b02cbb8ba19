"""The Dirichlet-multinomial model itself, by enumerating everybody's value: slow and plain.

People's values are drawn one after the other from an unknown distribution about which the
adversary has a Dirichlet prior: Polya's urn. Nothing here knows the paper's formulas.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import Any


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
    ruled_out: Collection[int] = (),
) -> Fraction:
    """P(person 0 has a value of the set), given what is published and persons 1..b exactly.

    `present`: the histogram is of all people, else of all but person 0. `before`: values of people
    she saw outside, drawn first. `ruled_out`: values that person 0 is known not to have.
    """
    width, both, one = len(weights), Fraction(0), Fraction(0)
    for values in product(range(width), repeat=people):
        if values[1 : 1 + len(friends)] != tuple(friends) or values[0] in ruled_out:
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
    ruled_out: Collection[int] = (),
) -> Fraction | None:
    """The smallest epsilon for one set of values; None is infinity.

    `ruled_out`: values the target is known not to have, so nobody who has one is a target.
    """
    people, worst = sum(counts), Fraction(1)
    asked = {"before": before, "ruled_out": ruled_out}
    for own, n in enumerate(counts):
        if n == 0 or own in ruled_out:
            continue
        without = tuple(m - (code == own) for code, m in enumerate(counts))
        for friends in friends_of(counts, own, known):
            p_in = belief(weights, people, about, counts, friends, present=True, **asked)
            p_out = belief(weights, people, about, without, friends, present=False, **asked)
            for top, bottom in ((p_in, p_out), (1 - p_out, 1 - p_in)):
                if bottom == 0 and top == 0:
                    continue
                if bottom == 0:
                    return None
                worst = max(worst, top / bottom)
    return worst


# Priors that differ from cell to cell: an urn for every cell, or (infinite) draws from its shares.


def chance_by_cell(
    values: Sequence[int], cells: Sequence[int], priors: Sequence[Sequence[Fraction]], endless: bool
) -> Fraction:
    """The probability that these people, each of a cell, have these values."""
    chance = Fraction(1)
    for cell, weights in enumerate(priors):
        mine = [value for value, own in zip(values, cells, strict=True) if own == cell]
        if not endless:
            chance *= urn(mine, weights)
            continue
        for value in mine:
            chance *= weights[value] / sum(weights)
    return chance


def needed_by_cell(
    counts: tuple[int, ...],
    cells: Sequence[int],
    priors: Sequence[Sequence[Fraction]],
    sets: Sequence[Collection[int]],
    *,
    endless: bool = False,
) -> Fraction | None:
    """The smallest epsilon of a group for these sets: any of its people may have any of its values.

    Values beyond the counts are values only she knows of: nobody in the group has them.
    """
    width = len(priors[0])
    shown = (*counts, *[0] * (width - len(counts)))
    worst = Fraction(1)
    for person in range(len(cells)):
        order = [cells[person], *cells[:person], *cells[person + 1 :]]  # the target first
        everybody = [
            (values, chance_by_cell(values, order, priors, endless))
            for values in product(range(width), repeat=len(cells))
        ]

        def believed(seen: tuple[int, ...], about: Collection[int], *, present: bool) -> Any:
            fits = [
                (values[0] in about, chance)
                for values, chance in everybody  # noqa: B023
                if histogram(values if present else values[1:], width) == seen
            ]
            total = sum((chance for _, chance in fits), Fraction(0))
            if not total:
                return None
            return sum((chance for inside, chance in fits if inside), Fraction(0)) / total

        for own, n in enumerate(shown):
            if not n:
                continue
            without = tuple(m - (code == own) for code, m in enumerate(shown))
            for about in sets:
                p_in = believed(shown, about, present=True)
                p_out = believed(without, about, present=False)
                if p_in is None or p_out is None:
                    return None
                for top, bottom in ((p_in, p_out), (1 - p_out, 1 - p_in)):
                    if bottom == 0 and top > 0:
                        return None
                    worst = max(worst, top / bottom if bottom else worst)
    return worst
