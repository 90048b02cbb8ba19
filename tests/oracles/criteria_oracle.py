"""Criteria by brute force, from the definitions in print: explicit rows, loops, exact fractions.

Nothing here imports sfumato. A table is a list of (group, value) rows; groups and values are
0, 1, 2, ... What the table as a whole looks like is a list of weights, one per value. Thresholds
are fractions. The earth mover's distance is found as what it is, a cheapest transport.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

Rows = list[tuple[int, int]]
Ground = list[list[Fraction]]


def classes(rows: Rows) -> list[list[int]]:
    """The values of each group's members, groups in order."""
    return [[value for g, value in rows if g == group] for group in sorted({g for g, _ in rows})]


def frequencies(members: Sequence[int]) -> dict[int, int]:
    return {value: list(members).count(value) for value in set(members)}


def distribution(members: Sequence[int], width: int) -> list[Fraction]:
    return [Fraction(list(members).count(value), len(members)) for value in range(width)]


def normalized(weights: Sequence[int]) -> list[Fraction]:
    return [Fraction(weight, sum(weights)) for weight in weights]


# -- k-anonymity, (alpha, k)-anonymity ------------------------------------------------------------


def k_anonymous(members: Sequence[int], k: int) -> bool:
    return len(members) >= k


def largest_share(members: Sequence[int]) -> Fraction:
    return max(Fraction(n, len(members)) for n in frequencies(members).values())


def alpha_k(members: Sequence[int], alpha: Fraction, k: int) -> bool:
    return len(members) >= k and largest_share(members) <= alpha


# -- l-diversity ----------------------------------------------------------------------------------


def distinct_values(members: Sequence[int]) -> int:
    return len(set(members))


def effective_values(members: Sequence[int]) -> float:
    """exp of the entropy."""
    shares = [n / len(members) for n in frequencies(members).values()]
    return math.exp(-sum(share * math.log(share) for share in shares))


def entropy_diverse(members: Sequence[int], least: Fraction) -> bool:
    """H >= log l, as N^N >= l^N * prod n_i^n_i."""
    size = len(members)
    product = 1
    for n in frequencies(members).values():
        product *= n**n
    return Fraction(size) ** size >= least**size * product


def recursive_ratio(members: Sequence[int], l: int) -> Fraction | None:  # noqa: E741
    """r1 / (r_l + ... + r_m); None stands for infinity."""
    ranked = sorted(frequencies(members).values(), reverse=True)
    tail = sum(ranked[l - 1 :])
    return Fraction(ranked[0], tail) if tail else None


def recursive_diverse(members: Sequence[int], c: Fraction, l: int) -> bool:  # noqa: E741
    ranked = sorted(frequencies(members).values(), reverse=True)
    return ranked[0] < c * sum(ranked[l - 1 :])


# -- t-closeness ----------------------------------------------------------------------------------


def equal_ground(width: int) -> Ground:
    return [[Fraction(i != j) for j in range(width)] for i in range(width)]


def ordered_ground(weights: Sequence[int]) -> Ground:
    """|i - j| / (m - 1) over the m values that occur, in their order."""
    occurring = [value for value, weight in enumerate(weights) if weight]
    place = {value: position for position, value in enumerate(occurring)}
    span = max(len(occurring) - 1, 1)
    return [
        [
            Fraction(abs(place[i] - place[j]), span) if i in place and j in place else Fraction(0)
            for j in range(len(weights))
        ]
        for i in range(len(weights))
    ]


def tree_ground(paths: Sequence[Sequence[str]]) -> Ground:
    """Level of the lowest common ancestor over the height.

    A path holds a value's label on level 0 (itself), 1, 2, ...; the last is the same for all. The
    root is the lowest level on which all values are together.
    """
    height = min(
        level for level in range(len(paths[0])) if len({path[level] for path in paths}) == 1
    )

    def meet(one: Sequence[str], other: Sequence[str]) -> int:
        return min(level for level in range(len(one)) if one[level] == other[level])

    return [[Fraction(meet(one, two), max(height, 1)) for two in paths] for one in paths]


def earth_mover(group: Sequence[Fraction], table: Sequence[Fraction], ground: Ground) -> Fraction:
    """The cheapest transport from one distribution to the other, in whole units.

    Successive shortest paths: supplies and demands are made whole by their common denominator,
    costs likewise, and every unit goes the cheapest way the residual graph still has.
    """
    width = len(group)
    units = math.lcm(*(share.denominator for share in (*group, *table)))
    price = math.lcm(*(cost.denominator for row in ground for cost in row))
    source, sink = 2 * width, 2 * width + 1
    room: dict[tuple[int, int], int] = {}
    cost: dict[tuple[int, int], int] = {}

    def pipe(start: int, end: int, capacity: int, each: int) -> None:
        room[start, end], room[end, start] = capacity, 0
        cost[start, end], cost[end, start] = each, -each

    for i in range(width):
        pipe(source, i, int(group[i] * units), 0)
        pipe(width + i, sink, int(table[i] * units), 0)
        for j in range(width):
            pipe(i, width + j, units, int(ground[i][j] * price))
    work = 0
    while True:
        path = _cheapest(source, sink, room, cost)
        if path is None:
            break
        flow = min(room[edge] for edge in path)
        for start, end in path:
            room[start, end] -= flow
            room[end, start] += flow
            work += flow * cost[start, end]
    assert all(room[source, i] == 0 for i in range(width)), "not everything was moved"
    return Fraction(work, units * price)


def _cheapest(
    source: int, sink: int, room: dict[tuple[int, int], int], cost: dict[tuple[int, int], int]
) -> list[tuple[int, int]] | None:
    """Bellman and Ford: the cheapest path with room left, as a list of edges."""
    reached: dict[int, int] = {source: 0}
    before: dict[int, int] = {}
    changed = True
    while changed:
        changed = False
        for (start, end), left in room.items():
            if left and start in reached:
                length = reached[start] + cost[start, end]
                if end not in reached or length < reached[end]:
                    reached[end], before[end], changed = length, start, True
    if sink not in reached:
        return None
    path, place = [], sink
    while place != source:
        path.append((before[place], place))
        place = before[place]
    return path


# -- beta-likeness, delta-disclosure --------------------------------------------------------------


def likeness_gain(members: Sequence[int], weights: Sequence[int]) -> Fraction | None:
    """max over values that gain of (p - q) / q, 0 when none does; None stands for infinity."""
    worst = Fraction(0)
    for p, q in zip(distribution(members, len(weights)), normalized(weights), strict=True):
        if p > q:
            if q == 0:
                return None
            worst = max(worst, (p - q) / q)
    return worst


def beta_like(
    members: Sequence[int], weights: Sequence[int], beta: Fraction, *, enhanced: bool
) -> bool:
    """Every value that gains does so by at most beta, or (enhanced) min(beta, -ln q)."""
    for p, q in zip(distribution(members, len(weights)), normalized(weights), strict=True):
        if p > q:
            if q == 0 or (p - q) / q > beta:
                return False
            if enhanced and float((p - q) / q) > -math.log(q):
                return False
    return True


def least_enhanced_beta(members: Sequence[int], weights: Sequence[int]) -> Fraction | None:
    """The smallest beta that holds in the enhanced form; None if none does."""
    gain = likeness_gain(members, weights)
    return gain if gain is not None and beta_like(members, weights, gain, enhanced=True) else None


def disclosure(members: Sequence[int], weights: Sequence[int]) -> float:
    """max over the reference's values of |ln(p / q)|; infinite where one of both is missing."""
    worst = 0.0
    for p, q in zip(distribution(members, len(weights)), normalized(weights), strict=True):
        if (p == 0) != (q == 0):
            return math.inf
        if p:
            worst = max(worst, abs(math.log(p / q)))
    return worst
