"""The knowledge skyline: how much somebody may know before a release gives a value away (Chen,
LeFevre, Ramakrishnan: Privacy Skyline, VLDB 2007).

All maximal safe (l, k, m) at one confidence: whoever knows no more than one of these points stays
below it, and any more, on any axis, takes her to it. More knowledge never makes her less sure, so
the safe points below a value of l form a staircase in k and m, and that of l + 1 lies inside it:
one walk along each finds them all with a number of checks that grows with L (K + M).

Single values bound every axis. With several values per person no number of facts about the target
settles it, so l may be unbounded; the walk stops at the number of other values there are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from sfumato.adversaries.skyline.breach import (
    Case,
    case_of,
    check_confidence,
    code_of,
    groups_of,
    safe,
)
from sfumato.adversaries.skyline.shapes import deciding
from sfumato.release.groups import Groups
from sfumato.release.release import Release

Axis = Literal["l", "k", "m"]
AXES: tuple[Axis, ...] = ("l", "k", "m")
MOST = 1_000  # people she may know; beyond that the walk does not look


@dataclass(frozen=True)
class KnowledgeSkyline:
    """The maximal safe points of one value at one confidence.

    `bounds` are the largest l, k and m that could be safe by themselves (-1: none); None for a
    value nobody has. `unbounded` axes: any number is as safe as the one given. `cut` axes were not
    followed beyond the limit of the walk.
    """

    value: str
    attribute: str | None
    confidence: float
    case: Case
    points: tuple[tuple[int, int, int], ...]
    bounds: tuple[int, int, int] | None
    unbounded: tuple[Axis, ...] = ()
    cut: tuple[Axis, ...] = ()

    @property
    def status(self) -> Literal["all_safe", "none_safe", "some_safe"]:
        """Whether anything must be known before the value is given away, and whether that helps."""
        if self.bounds is None:
            return "all_safe"
        return "some_safe" if self.points else "none_safe"

    @property
    def sentence(self) -> str:
        """What the skyline says."""
        sure = f"{100 * self.confidence:g}% sure"
        if self.bounds is None:
            return f"Nobody has {self.value!r}: no knowledge makes anybody sure of it."
        if not self.points:
            return f"The release alone makes somebody {sure} that a person has {self.value!r}."
        told = (
            f"Whoever knows no more than one of these points stays below {sure} of {self.value!r}"
        )
        notes = [
            f"no number of facts about the target changes that where {axis} is {self.bounds[0]}"
            for axis in self.unbounded
        ]
        notes += [f"{axis} was followed up to {MOST:,} only" for axis in self.cut]
        return "; ".join([told, *notes]) + "."

    def to_dict(self) -> dict[str, Any]:
        """The skyline for JSON."""
        return {
            "value": self.value,
            "sensitive": self.attribute,
            "confidence": self.confidence,
            "case": self.case,
            "status": self.status,
            "points": [dict(zip(AXES, point, strict=True)) for point in self.points],
            "bounds": None if self.bounds is None else dict(zip(AXES, self.bounds, strict=True)),
            "unbounded": list(self.unbounded),
            "cut": list(self.cut),
            "about": self.sentence,
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)


def knowledge_skyline(
    groups: Groups | Release,
    value: str,
    confidence: float | Fraction,
    case: Case | None = None,
    *,
    sensitive: str | None = None,
) -> KnowledgeSkyline:
    """All maximal (l, k, m) at which nobody becomes `confidence` sure that somebody has `value`."""
    found = groups_of(groups, sensitive)
    given = case_of(found, case)
    target, limit = code_of(found, value), check_confidence(confidence)
    small = deciding(found, target, given)
    described = (value, found.attribute, float(confidence), given)
    if len(small) == 0:
        return KnowledgeSkyline(*described, (), None, AXES)
    values = len(np.unique(found.indices)) - 1
    bounds = _bounds(small, values, given)
    reach = (min(bounds[0], small.width - 1), min(bounds[1], MOST), min(bounds[2], MOST))

    def is_safe(point: tuple[int, int, int]) -> bool:
        return bool(safe(small, [0], [point], [limit], given)[1][0])

    points = _walk(is_safe, reach)
    # Facts beyond the values that occur beside this one change nothing.
    top = reach[0] if given == "single" else bounds[0]
    told = [(top if facts == reach[0] else facts, k, m) for facts, k, m in points]
    free = given != "single" and any(point[0] == top for point in told)
    cut = [axis for axis, bound in zip(AXES[1:], bounds[1:], strict=True) if bound > MOST]
    return KnowledgeSkyline(
        *described, tuple(sorted(told)), bounds, ("l",) if free else (), tuple(cut)
    )


def _bounds(small: Groups, values: int, case: Case) -> tuple[int, int, int]:
    """The largest l, k and m that could be safe; -1 where not even none."""
    having = small.data[small.indptr[:-1]]  # the target value comes first in every shape
    if case == "multiset":
        people = int(small.sizes.min()) - 2
    else:
        people = int((small.sizes - having).min()) - 1
    facts = int(small.distinct.min()) - 2 if case == "single" else values
    return facts, max(people, -1), max(people, -1)


def _walk(is_safe: Any, reach: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    """The staircase of each l from the largest down, each beginning from the one above."""
    found: list[tuple[int, int, int]] = []
    above = [-1] * (reach[1] + 1)
    for facts in range(reach[0], -1, -1):
        here = [-1] * (reach[1] + 1)
        m = reach[2]
        for k in range(reach[1] + 1):
            while m > above[k] and not is_safe((facts, k, m)):
                m -= 1
            if m < 0:
                break
            here[k] = m
        for k, height in enumerate(here):
            after = here[k + 1] if k + 1 < len(here) else -1
            if height > after and height > above[k]:
                found.append((facts, k, height))
        above = here
    return found
