"""Advice: what could be changed about a release, and what each change was found to buy. Private.

Everything here was worked out on the release at hand (`workflow/advise.py`), nothing is a rule of
thumb. How it is told is `sections/next_steps.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

How = Literal["one step coarser", "not published"]


@dataclass(frozen=True)
class Trouble:
    """How far a release is from holding: groups and people that violate, criteria that fail."""

    groups: int
    people: int
    failing: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.failing


@dataclass(frozen=True)
class CoarserColumn:
    """One column published less finely, or not at all: what is left of the trouble then.

    `label` is one of the labels the column would show.
    """

    column: str
    how: How
    label: str
    groups: int
    left: Trouble


@dataclass(frozen=True)
class Suppressing:
    """Every violating group not published: whom that costs, and whether the rest holds.

    `allowed` is how many people the policy lets be suppressed, None without a policy. `largest`
    are some of the groups: how each is described, and its people.
    """

    groups: int
    people: int
    everybody: int
    allowed: int | None
    left: Trouble
    largest: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class TightestBound:
    """The tightest bound of one criterion that holds on this release, all else unchanged.

    Found by judging the release by it. `asked` is the policy's value of the parameter.
    """

    criterion: str
    parameter: str
    asked: float
    tightest: float
    holds_now: bool
    about: str | None = None  # the column

    @property
    def named(self) -> str:
        return f"{self.criterion} of {self.about}" if self.about else self.criterion


@dataclass(frozen=True)
class Advice:
    """What can be done about a release.

    `steps` is a way to a release that holds: the best column to coarsen, then the best after it,
    and so on. `silent` says why something was not worked out.
    """

    now: Trouble
    coarsen: tuple[CoarserColumn, ...] = ()
    steps: tuple[CoarserColumn, ...] = ()
    suppress: Suppressing | None = None
    bounds: tuple[TightestBound, ...] = ()
    silent: tuple[str, ...] = ()
