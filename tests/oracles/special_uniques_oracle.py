"""Special uniques by the definition: every set of columns of every record, looked up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod

Row = Sequence[object]


def minimal_uniques(rows: Sequence[Row], size: int) -> list[list[tuple[int, ...]]]:
    """Of every record the sets of up to `size` columns by which it, and no part of it, is alone."""
    width = len(rows[0])

    def alone(row: Row, columns: tuple[int, ...]) -> bool:
        shown = [row[column] for column in columns]
        return sum([other[column] for column in columns] == shown for other in rows) == 1

    return [
        [
            columns
            for at in range(1, min(size, width) + 1)
            for columns in combinations(range(width), at)
            if alone(row, columns)
            and not any(
                alone(row, fewer) for less in range(1, at) for fewer in combinations(columns, less)
            )
        ]
        for row in rows
    ]


def scores(rows: Sequence[Row], size: int) -> list[int]:
    """SUDA: the sum over MSUs of k columns of (Q - k)(Q - k - 1)...(Q - M + 1)."""
    width = len(rows[0])
    most = min(size, width)
    return [
        sum(prod(width - at for at in range(len(columns), most)) for columns in listed)
        for listed in minimal_uniques(rows, size)
    ]
