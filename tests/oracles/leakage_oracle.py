"""Leakage by brute force, from the definitions: explicit rows, loops, fractions.

Nothing here imports sfumato. A row is a tuple of values (None is a value like any other); columns
are positions in it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

Row = tuple[object, ...]
Distribution = dict[object, Fraction]


def shares(values: Sequence[object]) -> Distribution:
    return {value: Fraction(n, len(values)) for value, n in Counter(values).items()}


def value(row: Row, columns: Sequence[int]) -> object:
    return tuple(row[column] for column in columns)


def classes(rows: Sequence[Row], columns: Sequence[int]) -> dict[object, list[Row]]:
    found: dict[object, list[Row]] = {}
    for row in rows:
        found.setdefault(value(row, columns), []).append(row)
    return found


def squared(expected: Distribution, shown: Distribution) -> Fraction:
    every = expected.keys() | shown.keys()
    zero = Fraction(0)
    return sum(((expected.get(v, zero) - shown.get(v, zero)) ** 2 for v in every), zero)


def entropy(distribution: Distribution) -> float:
    return -sum(float(p) * math.log2(p) for p in distribution.values() if p)


def entropy_gap(expected: Distribution, shown: Distribution) -> float:
    return abs(entropy(expected) - entropy(shown))


def measure(
    rows: Sequence[Row],
    known: Sequence[int],
    target: Sequence[int],
    expected: Callable[[object], Distribution] | None = None,
) -> dict[object, tuple[int, Fraction, float]]:
    """For every class: its people, squared distribution leakage, entropy leakage."""
    everybody = shares([value(row, target) for row in rows])
    found = {}
    for cells, members in classes(rows, known).items():
        before = everybody if expected is None else expected(cells)
        now = shares([value(row, target) for row in members])
        found[cells] = (len(members), squared(before, now), entropy_gap(before, now))
    return found


# Further metrics, value by value from their textbook definitions; infinity where they are.


def _pairs(expected: Distribution, shown: Distribution) -> list[tuple[float, float]]:
    every = expected.keys() | shown.keys()
    zero = Fraction(0)
    return [(float(shown.get(v, zero)), float(expected.get(v, zero))) for v in every]


def kullback_leibler(expected: Distribution, shown: Distribution) -> float:
    pairs = [(x, a) for x, a in _pairs(expected, shown) if x]
    return (
        math.inf if any(a == 0 for _, a in pairs) else sum(x * math.log2(x / a) for x, a in pairs)
    )


def jensen_shannon(expected: Distribution, shown: Distribution) -> float:
    every = expected.keys() | shown.keys()
    zero = Fraction(0)
    middle = {v: (expected.get(v, zero) + shown.get(v, zero)) / 2 for v in every}
    return (kullback_leibler(middle, shown) + kullback_leibler(middle, expected)) / 2


def hellinger(expected: Distribution, shown: Distribution) -> float:
    overlap = sum(math.sqrt(x * a) for x, a in _pairs(expected, shown))
    return math.sqrt(max(1 - overlap, 0.0))


def chi_square(expected: Distribution, shown: Distribution) -> float:
    pairs = [(x, a) for x, a in _pairs(expected, shown) if x or a]
    return math.inf if any(a == 0 for _, a in pairs) else sum((x - a) ** 2 / a for x, a in pairs)


def total_variation(expected: Distribution, shown: Distribution) -> float:
    """The largest difference that any set of values makes."""
    pairs = _pairs(expected, shown)
    sets = ([p for at, p in enumerate(pairs) if bits >> at & 1] for bits in range(2 ** len(pairs)))
    return max(abs(sum(x - a for x, a in some)) for some in sets)


METRICS = {
    "kullback-leibler": kullback_leibler,
    "jensen-shannon": jensen_shannon,
    "hellinger": hellinger,
    "chi-square": chi_square,
    "total-variation": total_variation,
}
