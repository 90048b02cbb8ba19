"""MDAV as the paper tells it, in plain Python: sort everybody again and again."""

from __future__ import annotations

from collections.abc import Sequence

Point = Sequence[float]


def around(place: Point, points: Sequence[Point], left: Sequence[int]) -> list[int]:
    """Who is left, the nearest to a place first; equals in order of their number."""

    def distance(person: int) -> tuple[float, int]:
        squared = 0.0
        for a, b in zip(points[person], place, strict=True):
            squared += (a - b) * (a - b)
        return squared, person

    return sorted(left, key=distance)


def mean(points: Sequence[Point], left: Sequence[int]) -> list[float]:
    return [sum(points[person][c] for person in left) / len(left) for c in range(len(points[0]))]


def mdav_oracle(points: Sequence[Point], k: int) -> list[list[int]]:
    """The clusters, in the order in which they are made."""
    left = list(range(len(points)))
    clusters: list[list[int]] = []

    def make(place: Point) -> None:
        cluster = around(place, points, left)[:k]
        clusters.append(cluster)
        for person in cluster:
            left.remove(person)

    while len(left) >= 3 * k:
        extreme = around(mean(points, left), points, left)[-1]
        opposite = around(points[extreme], points, left)[-1]
        make(points[extreme])
        make(points[opposite])
    if len(left) >= 2 * k:
        make(points[around(mean(points, left), points, left)[-1]])
    clusters.append(left)
    return clusters
