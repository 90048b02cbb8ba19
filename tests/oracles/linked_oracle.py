"""Who may be behind a pseudonym, by listing every way of giving pseudonyms to people.

People know each other's rows by the cells they are published as. A way is possible if everybody's
pseudonym shows her rows; all possible ways, and all ways of giving its rows to hers that look like
them, are equally likely.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, permutations

Row = tuple[object, str]  # what a row shows, and its value


def beliefs(people: list[list[Row]]) -> tuple[dict, dict, dict]:
    """By (person, pseudonym), (person, value in any row), (person, cell, value of such a row)."""
    pseudonyms = range(len(people))
    linked: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    has: dict[tuple[int, str], Fraction] = defaultdict(Fraction)
    of_row: dict[tuple[int, object, str], Fraction] = defaultdict(Fraction)
    ways = [
        way
        for way in permutations(pseudonyms)
        if all(_cells(people[own]) == _cells(people[other]) for own, other in enumerate(way))
    ]
    each = Fraction(1, len(ways))
    for way in ways:
        for person, pseudonym in enumerate(way):
            linked[person, pseudonym] += each
            for value in {value for _, value in people[pseudonym]}:
                has[person, value] += each
            for cell, many in _cells(people[pseudonym]).items():
                for shown, value in people[pseudonym]:
                    if shown == cell:
                        of_row[person, cell, value] += each / many
    return linked, has, of_row


def candidates(people: list[list[Row]], known: int | str) -> list[int]:
    """Of each person the fewest people who fit, over everything that may be known of her."""
    cells = [_cells(rows) for rows in people]
    fewest = []
    for own in cells:
        listed = sorted(own.elements(), key=repr)
        if known == "all":
            fewest.append(sum(own == other for other in cells))
            continue
        size = min(int(known), len(listed))
        parts = [Counter(part) for part in combinations(listed, size)]
        fewest.append(min(sum(part <= other for other in cells) for part in parts))
    return fewest


Cells = frozenset[int]  # the values of a row that a published one stands for


def fits(rows: list[int], published: list[Cells]) -> bool:
    """Whether somebody's rows, all of them, can be published as these."""
    return len(rows) == len(published) and any(
        all(value in cell for value, cell in zip(order, published, strict=True))
        for order in permutations(rows)
    )


def contains(rows: list[int], known: tuple[Cells, ...]) -> bool:
    """Whether some of somebody's rows can be published as these."""
    return any(
        all(value in cell for value, cell in zip(order, known, strict=True))
        for order in permutations(rows, len(known))
    )


def behind(
    register: list[list[int]], release: list[list[Cells]]
) -> dict[tuple[int, int], Fraction]:
    """How likely each of a register is behind each pseudonym, all ways being alike."""
    ways = [
        way
        for way in permutations(range(len(register)), len(release))
        if all(fits(register[who], rows) for who, rows in zip(way, release, strict=True))
    ]
    chance: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for way in ways:
        for pseudonym, who in enumerate(way):
            chance[who, pseudonym] += Fraction(1, len(ways))
    return chance


def _cells(rows: list[Row]) -> Counter:
    return Counter(cell for cell, _ in rows)
