"""Points of a privacy skyline as a data owner writes them, and certainties of many on one scale."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from sfumato.adversaries.skyline.acquaintance import certainties
from sfumato.adversaries.skyline.breach import Bounds, breach, check_point
from sfumato.criteria.skyline_search import Questions
from sfumato.criteria.steps import SHARES, Ladder, Way
from sfumato.errors import InputError, PolicyError, quoted
from sfumato.numbers import Bools, Floats, fraction, shortest
from sfumato.release.groups import Groups

# Certainties of many points on one scale, group by group, for the measure of `SkylinePrivacy`.


class Scale:
    """Puts certainties of points with different confidences on the scale of the strictest."""

    def __init__(self, asked: Questions, strictest: float) -> None:
        self.asked, self.strictest = asked, strictest
        self.limits = np.array([float(confidence) for confidence in asked.confidences])

    def of(self, certainty: Floats) -> Floats:
        """On the same side of the strictest confidence as they were of their own."""
        scaled = certainty * (self.strictest / self.limits)
        below = np.minimum(scaled, np.nextafter(self.strictest, 0))
        return np.where(certainty < self.limits, below, np.maximum(scaled, self.strictest))

    def by_group(
        self, groups: Groups, least: Bounds, release_certainty: Floats
    ) -> tuple[Floats, Bools, dict[KnowledgePoint, Bools]]:
        """How sure she can become of a target in each group, whatever she knows of other groups;
        where that is an upper bound only; and in which groups she can, by each of several points.

        `release_certainty` was decided for the release; it holds of the groups that decide it.
        """
        asked, out, most = self.asked, np.zeros(len(groups)), breach(least.least)
        at_most = np.zeros(len(groups), dtype=bool)
        by_point = self._by_point()
        exposed = {point: np.zeros(len(groups), dtype=bool) for point in by_point}
        targets, points = asked.targets, asked.points
        for block, sure, reached in certainties(groups, targets, points, asked.case, least):
            decided = self.of(
                np.where(sure >= most, release_certainty, np.minimum(sure, release_certainty))
            )
            out[block] = decided.max(axis=1, initial=0.0)
            for point, columns in by_point.items():
                exposed[point][block] = (decided[:, columns] >= self.strictest).any(axis=1)
            if reached is not sure:
                worst = decided >= out[block][:, None]
                at_most[block] = ~(worst & (reached == sure)).any(axis=1)
        return out, at_most, exposed

    def _by_point(self) -> dict[KnowledgePoint, list[int]]:
        """The columns of each point; none where there is one point alone."""
        columns = defaultdict[KnowledgePoint, list[int]](list)
        for column, (known, c) in enumerate(
            zip(self.asked.points.tolist(), self.limits.tolist(), strict=True)
        ):
            columns[KnowledgePoint(known[0], known[1], known[2], c)].append(column)
        return columns if len(columns) > 1 else {}


# Points of a privacy skyline as a data owner writes them: (l, k, m) of knowledge, c of confidence.
#
# A point that asks for less knowledge and allows more confidence than another is implied by it.


class KnowledgePoint(NamedTuple):
    """An adversary who knows (l, k, m) must stay below confidence c."""

    l: int  # noqa: E741  # the paper's names
    k: int
    m: int
    c: float

    @property
    def known(self) -> tuple[int, int, int]:
        return self.l, self.k, self.m

    @property
    def confidence(self) -> Fraction:
        """The decimal somebody wrote, exactly."""
        return fraction(self.c)

    def dominates(self, other: KnowledgePoint) -> bool:
        """Whether keeping this point keeps the other."""
        more = all(
            own_facts >= other_facts
            for own_facts, other_facts in zip(self.known, other.known, strict=True)
        )
        return more and self.confidence <= other.confidence

    def __str__(self) -> str:
        return f"({self.l}, {self.k}, {self.m}) below {shortest(self.c)}"

    def step(self, way: Way) -> KnowledgePoint:
        """The next usual confidence; the same where there is none."""
        rung = Ladder("c", (1, 0.95, *SHARES)).next(self.c, way)
        return self if rung is None else self._replace(c=rung)

    def fact(self, way: Way) -> KnowledgePoint:
        """One fact less of each kind, or one more of those that she has (of her target if none)."""
        if way == "looser":
            less = [max(count - 1, 0) for count in self.known]
            return KnowledgePoint(less[0], less[1], less[2], self.c)
        if not any(self.known):
            return self._replace(l=1)
        more = [count + 1 if count else 0 for count in self.known]
        return KnowledgePoint(more[0], more[1], more[2], self.c)


def points_of(criterion: str, name: str, given: Any) -> tuple[KnowledgePoint, ...]:
    """A list of (l, k, m, c), each a list of four or a table of those keys."""
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise PolicyError(f"{criterion}: {name} = {quoted(given)} is not allowed; {_FORM}")
    return tuple(_point(criterion, name, entry) for entry in given)


_FORM = "it must be a list of points, each [l, k, m, c] or { l = 0, k = 1, m = 0, c = 0.5 }"


def _point(criterion: str, name: str, entry: Any) -> KnowledgePoint:
    if isinstance(entry, Mapping) and set(entry) == set(KnowledgePoint._fields):
        entry = [entry[field] for field in KnowledgePoint._fields]
    if isinstance(entry, str | Mapping) or not isinstance(entry, Sequence) or len(entry) != 4:
        raise PolicyError(f"{criterion}: {name} has {entry!r}; {_FORM}")
    *known, confidence = entry
    try:
        check_point(known)
    except InputError as error:
        raise PolicyError(f"{criterion}: {name} has a point with {error}") from None
    number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
    if not number or not 0 < confidence <= 1:
        raise PolicyError(
            f"{criterion}: {name} has a point with c = {confidence!r}; it must be a number above 0 "
            "and at most 1"
        )
    return KnowledgePoint(int(known[0]), int(known[1]), int(known[2]), confidence)


def undominated(
    points: Sequence[KnowledgePoint],
) -> tuple[tuple[KnowledgePoint, ...], tuple[tuple[KnowledgePoint, KnowledgePoint], ...]]:
    """The points that count, and those dropped, each with one that implies it."""
    kept: list[KnowledgePoint] = []
    for point in points:
        if not any(other.dominates(point) for other in kept):
            kept = [other for other in kept if not point.dominates(other)] + [point]
    dropped = [
        (point, next(other for other in kept if other.dominates(point)))
        for point in dict.fromkeys(points)
        if point not in kept
    ]
    return tuple(kept), tuple(dropped)
