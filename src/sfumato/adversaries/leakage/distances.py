"""How far two distributions lie apart, by seven measures (the leakage paper's Figure 1).

Each takes distributions as rows, and what was expected of all of them. Divergences are in bits and
tell what is gained over what was expected; a value that was not expected at all makes the gain
infinite. The earth mover's distance takes the values in their order, next to each other 1 / (m - 1)
apart; with all values equally far it is half of L1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.release.groups import Floats

Distance = Callable[[Floats, Floats], Floats]


def l1(rows: Floats, expected: Floats) -> Floats:
    return _floats(np.abs(rows - expected).sum(axis=1))


def euclidean(rows: Floats, expected: Floats) -> Floats:
    """Distribution leakage."""
    return _floats(np.sqrt(((rows - expected) ** 2).sum(axis=1)))


def kullback_leibler(rows: Floats, expected: Floats) -> Floats:
    return _gain(rows, np.broadcast_to(expected, rows.shape))


def jensen_shannon(rows: Floats, expected: Floats) -> Floats:
    middle = (rows + expected) / 2
    return (_gain(rows, middle) + _gain(np.broadcast_to(expected, rows.shape), middle)) / 2


def hellinger(rows: Floats, expected: Floats) -> Floats:
    return _floats(np.sqrt(((np.sqrt(rows) - np.sqrt(expected)) ** 2).sum(axis=1) / 2))


def earth_mover(rows: Floats, expected: Floats) -> Floats:
    moved = np.abs(np.cumsum(rows - expected, axis=1))[:, :-1]
    return _floats(moved.sum(axis=1) / max(rows.shape[1] - 1, 1))


def entropy_distance(rows: Floats, expected: Floats) -> Floats:
    """Entropy leakage."""
    return _floats(np.abs(_entropy(rows) - _entropy(expected[None, :])))


DISTANCES: dict[str, Distance] = {
    "L1": l1,
    "Euclidean": euclidean,
    "Kullback-Leibler": kullback_leibler,
    "Jensen-Shannon": jensen_shannon,
    "Hellinger": hellinger,
    "earth mover": earth_mover,
    "entropy": entropy_distance,
}


def _entropy(rows: Floats) -> Floats:
    logs = np.log2(np.where(rows > 0, rows, 1.0))
    return _floats(-(rows * logs).sum(axis=1))


def _gain(rows: Floats, expected: Floats) -> Floats:
    """The information gained, in bits; infinite where something impossible happened."""
    there = rows > 0
    with np.errstate(divide="ignore"):
        logs = np.log2(np.where(there, rows, 1.0)) - np.log2(np.where(there, expected, 1.0))
    return _floats((rows * logs).sum(axis=1, where=there))


def _floats(numbers: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Floats:
    return np.asarray(numbers, dtype=np.float64)
