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
