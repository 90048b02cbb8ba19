"""The least that must be blanked in a table of few people, by trying everything.

Nothing here imports sfumato. A table is a list of tuples of values, one a person. Two readings of
a blank. By the first it is a value of its own: people are alike who show the same values and the
same blanks. By the other it fits everybody: two people are alike who agree wherever both show
something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product

Rows = Sequence[tuple[object, ...]]
Blank = tuple[bool, ...]
MayBe = Callable[[Sequence[int]], bool]  # whether these people, by number, may be a group


def partitions(people: Sequence[int]) -> Iterator[list[list[int]]]:
    """All ways to put people into groups."""
    if not people:
        yield []
        return
    first, rest = people[0], people[1:]
    for groups in partitions(rest):
        yield [[first], *groups]
        for place in range(len(groups)):
            yield [*groups[:place], [first, *groups[place]], *groups[place + 1 :]]


def group_cost(rows: Rows, group: Sequence[int], weights: Sequence[Fraction]) -> Fraction:
    """Its people times the weights of the columns in which they differ."""
    columns = zip(weights, zip(*(rows[who] for who in group), strict=True), strict=True)
    each = sum((weight for weight, values in columns if len(set(values)) > 1), Fraction(0))
    return len(group) * each


def least_by_partition(rows: Rows, weights: Sequence[Fraction], may_be: MayBe) -> Fraction | None:
    """The least cost of all partitions into groups that may be; None where there is none."""
    costs = [
        sum((group_cost(rows, group, weights) for group in groups), Fraction(0))
        for groups in partitions(range(len(rows)))
        if all(map(may_be, groups))
    ]
    return min(costs, default=None)


def shown(row: tuple[object, ...], blank: Blank) -> tuple[object, ...]:
    return tuple(BLANK if hidden else value for value, hidden in zip(row, blank, strict=True))


BLANK = object()


def alike(one: Sequence[object], other: Sequence[object]) -> bool:
    """Whether two people agree wherever both show something."""
    return all(a == b or a is BLANK or b is BLANK for a, b in zip(one, other, strict=True))


def least_by_cell(
    rows: Rows, weights: Sequence[Fraction], may_be: MayBe, *, fits_everybody: bool
) -> Fraction | None:
    """The same by blanking every set of cells, by either reading of a blank."""
    best: Fraction | None = None
    columns = len(weights)
    for blanks in product(product((False, True), repeat=columns), repeat=len(rows)):
        cost = sum(
            (
                weight
                for blank in blanks
                for weight, hidden in zip(weights, blank, strict=True)
                if hidden
            ),
            Fraction(0),
        )
        if best is not None and cost >= best:
            continue
        cells = [shown(row, blank) for row, blank in zip(rows, blanks, strict=True)]
        together = alike if fits_everybody else (lambda a, b: a == b)
        groups = [
            [who for who, there in enumerate(cells) if together(mine, there)] for mine in cells
        ]
        if all(map(may_be, groups)):
            best = cost
    return best
