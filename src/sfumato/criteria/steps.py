"""Steps: the next sensible bounds of a criterion, looser and tighter, for whoever asks their price.

A criterion lists a ladder of usual values for each parameter that makes it ask less or more. A step
is the same criterion with one parameter on the next rung. Whatever holds by a criterion holds by
every looser step of it, so a parameter whose change may help some groups and harm others has none.

Here too, of all criteria: a number that is checked, and the worst of many groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from sfumato.errors import PolicyError, quoted
from sfumato.numbers import shortest

if TYPE_CHECKING:
    from sfumato.criteria.base import Criterion

Way = Literal["looser", "tighter"]
WAYS: tuple[Way, Way] = ("looser", "tighter")
PEOPLE = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
SHARES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.05, 0.02, 0.01)  # the most allowed
FACTORS = (20, 10, 5, 4, 3, 2.5, 2, 1.5, 1.25, 1.1)  # the most that something may grow by


@dataclass(frozen=True)
class Ladder:
    """Sensible values of a parameter, from the loosest to the tightest."""

    parameter: str
    rungs: tuple[float, ...]

    def next(self, value: float, way: Way) -> float | None:
        """The nearest rung on that side of a value, which need not be a rung; None at the end.

        >>> Ladder("k", (2, 3, 5, 10)).next(7, "looser")
        5
        >>> Ladder("t", (0.5, 0.2, 0.1)).next(0.2, "tighter")
        0.1
        """
        rising = self.rungs[0] < self.rungs[-1]
        above = rising == (way == "tighter")
        further = [rung for rung in self.rungs if (rung > value if above else rung < value)]
        return min(further, key=lambda rung: abs(rung - value), default=None)


@dataclass(frozen=True)
class BoundStep:
    """A criterion one step looser or tighter: what it is then, and what changed in words."""

    criterion: Criterion
    way: Way
    words: str


@runtime_checkable
class OfPoints(Protocol):
    """A criterion whose parameters are points, of which a sweep may set a coordinate."""

    coordinates: ClassVar[tuple[str, ...]]

    def at(self, coordinates: Mapping[str, float]) -> Self:
        """With these coordinates the same in every point."""


def steps_on(criterion: Criterion, ladders: Sequence[Ladder]) -> Iterator[BoundStep]:
    """One rung looser and one tighter on each ladder; a parameter that is not set has none."""
    for ladder in ladders:
        value = getattr(criterion, ladder.parameter)
        for way in WAYS:
            rung = None if value is None else ladder.next(value, way)
            if rung is not None:
                changed: dict[str, Any] = {ladder.parameter: rung}
                words = f"{ladder.parameter} = {shortest(rung)} instead of {shortest(value)}"
                yield BoundStep(replace(criterion, **changed), way, words)


def parameter(
    criterion: str,
    name: str,
    value: object,
    *,
    whole: bool = False,
    least: float = -np.inf,
    above: float = -np.inf,
    most: float = np.inf,
) -> None:
    """Check one number of a criterion, and say what is allowed if it is not."""
    bounds = (("at least", least), ("above", above), ("at most", most))
    limits = [f"{words} {bound:g}" for words, bound in bounds if np.isfinite(bound)]
    kind = int if whole else (int, float)
    number = isinstance(value, kind) and not isinstance(value, bool)
    if number and isinstance(value, int) and abs(value) >= 2**63:  # where compiled integers end
        limits.append("of fewer than 19 digits")
        number = False
    fine = number and np.isfinite(value)  # type: ignore[call-overload]
    if not fine or not (least <= value <= most and value > above):  # type: ignore[operator]
        sort = "a whole number" if whole else "a number"
        raise PolicyError(
            f"{criterion}: {name} = {quoted(value)} is not allowed; it must be {sort} "
            f"{' and '.join(limits)}".rstrip()
        )


def worst_places(badness: npt.NDArray[Any], sizes: npt.NDArray[np.int64], most: int) -> list[int]:
    """The worst groups; of equally bad ones the larger, where more people are concerned."""
    if most == 0:
        return []
    edge = np.partition(badness, len(badness) - most)[len(badness) - most]
    worse = np.flatnonzero(badness > edge)
    ties = np.flatnonzero(badness == edge)
    room = most - len(worse)
    if room < len(ties):
        ties = ties[np.argpartition(-sizes[ties], room - 1)[:room]]
    places: list[int] = np.concatenate([worse, ties]).tolist()
    return sorted(places, key=lambda g: (-badness[g], -int(sizes[g]), g))
