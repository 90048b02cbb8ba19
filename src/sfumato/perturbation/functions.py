"""Perturbations that are functions of the value: top and bottom coding, rounding, microaggregation.

Equal values stay equal and every published value stands for one set of true ones, so groups that
are diverse, or close to everybody, by what is published are so by what people have: two published
values are two true ones, and nobody sees anything within a published value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sfumato.errors import InputError, PolicyError, quoted
from sfumato.numbers import Floats, Ints, offsets_of, shortest
from sfumato.perturbation.base import NumberPerturbation, decimals_of, finite, positive


@dataclass(frozen=True)
class TopBottomCoding(NumberPerturbation):
    """Numbers above `top` are published as it, those below `bottom` as that."""

    kind: ClassVar[str] = "top-bottom-coding"
    by_value: ClassVar[bool] = True

    top: float | None = None
    """Numbers above are published as it. Example: `top = 90`."""
    bottom: float | None = None
    """Numbers below are published as it. Example: `bottom = 18`."""

    def __post_init__(self) -> None:
        if self.top is None and self.bottom is None:
            raise PolicyError(f"{self.kind}: give top, bottom or both")
        for name in ("top", "bottom"):
            if getattr(self, name) is not None:
                finite(self.kind, name, getattr(self, name))
        if self.top is not None and self.bottom is not None and self.bottom >= self.top:
            raise PolicyError(
                f"{self.kind}: bottom = {shortest(self.bottom)} is not below top = "
                f"{shortest(self.top)}"
            )

    def changed(
        self, numbers: Floats, decimals: int, chance: np.random.Generator
    ) -> tuple[Floats, Self, int]:
        ends = [end for end in (self.top, self.bottom) if end is not None]
        decimals = max(decimals, *map(decimals_of, ends), 0)
        low = -np.inf if self.bottom is None else self.bottom
        high = np.inf if self.top is None else self.top
        return np.clip(numbers, low, high), self, decimals

    @property
    def words(self) -> str:
        ends = []
        if self.top is not None:
            end = shortest(self.top)
            ends.append(f"numbers above {end} are published as {end}")
        if self.bottom is not None:
            end = shortest(self.bottom)
            ends.append(f"numbers below {end} are published as {end}")
        return " and ".join(ends)

    @property
    def for_recipients(self) -> str:
        return "take its ends for so much or more (or less); medians between are kept, means not"


@dataclass(frozen=True)
class Rounding(NumberPerturbation):
    """Numbers are published as the nearest multiple of `to`; of two the even one."""

    kind: ClassVar[str] = "rounding"
    by_value: ClassVar[bool] = True

    to: float
    """The step, above 0. Example: `to = 100`."""

    def __post_init__(self) -> None:
        positive(self.kind, "to", self.to)

    def changed(
        self, numbers: Floats, decimals: int, chance: np.random.Generator
    ) -> tuple[Floats, Self, int]:
        return np.rint(numbers / self.to) * self.to, self, decimals_of(self.to)

    @property
    def words(self) -> str:
        return f"numbers are published as the nearest multiple of {shortest(self.to)}"

    @property
    def for_recipients(self) -> str:
        return f"each number is known to {shortest(self.to / 2)} either way"


@dataclass(frozen=True)
class ColumnMicroaggregation(NumberPerturbation):
    """Numbers are published as the mean of a run of neighbours that at least `k` people have.

    Runs of values, not of people: whoever has the same number is published with the same mean. Of
    all ways to cut the sorted values into such runs it is the one that loses least (the sum of
    squares within them; Hansen and Mukherjee 2003, with equal values kept together). Means are told
    to as many decimals as the numbers have, so that they tell no sum to the last digit.
    """

    kind: ClassVar[str] = "microaggregation"

    k: int
    """How many people, 2 or more. Example: `k = 5`."""

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 2:
            raise PolicyError(f"{self.kind}: k = {quoted(self.k)} is not allowed; use 2, 3, 4, ...")

    def changed(
        self, numbers: Floats, decimals: int, chance: np.random.Generator
    ) -> tuple[Floats, Self, int]:
        if len(numbers) < self.k:
            raise InputError(
                f"{self.kind}: k = {self.k}, and only {len(numbers):,} people have a number in the "
                "column"
            )
        values, place, people = np.unique(numbers, return_inverse=True, return_counts=True)
        run = _runs(values, people.astype(np.int64), self.k)
        sums = np.bincount(run, weights=values * people)
        means = sums / np.bincount(run, weights=people.astype(np.float64))
        return means[run[place]], self, decimals

    @property
    def words(self) -> str:
        return (
            f"numbers are published as the mean of neighbouring ones that at least {self.k} people "
            "have"
        )

    @property
    def for_recipients(self) -> str:
        return "the mean over everybody in the table is kept, up to rounding; its spread is smaller"


def _runs(values: Floats, people: Ints, k: int) -> Ints:
    """The run of each sorted value, so that the sum of squares within runs is least.

    A run that could be cut into two is never better whole, so only those that cannot are tried.
    """
    centred = values - values.mean()
    before = offsets_of(people)
    sums = np.concatenate([[0.0], np.cumsum(centred * people)])
    squares = np.concatenate([[0.0], np.cumsum(centred**2 * people)])
    total = len(values)
    least = np.full(total + 1, np.inf)
    least[0] = 0.0
    begins = np.zeros(total + 1, dtype=np.int64)
    for end in range(1, total + 1):
        if before[end] < k:
            continue
        latest = int(np.searchsorted(before, before[end] - k, side="right")) - 1
        earliest = int(np.searchsorted(before, before[latest] - k, side="right"))
        starts = np.arange(earliest, latest + 1)
        lost = squares[end] - squares[starts]
        lost -= (sums[end] - sums[starts]) ** 2 / (before[end] - before[starts])
        cost = least[starts] + lost
        best = int(np.argmin(cost))
        least[end], begins[end] = cost[best], starts[best]
    run = np.zeros(total, dtype=np.int64)
    end, number = total, 0
    while end > 0:
        run[begins[end] : end] = number
        end, number = int(begins[end]), number + 1
    return number - 1 - run
