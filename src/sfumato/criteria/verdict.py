"""What a criterion found and decided: Measure and Verdict, and which of several verdicts counts.

It is all that whoever reads a judgement needs of the contract of criteria.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.base import Threat
from sfumato.criteria.steps import worst_places
from sfumato.notebook import Displayed
from sfumato.numbers import Bools, told_beside
from sfumato.release.groups import Groups
from sfumato.release.kinds import GroupKinds

Sense = Literal["at_least", "above", "at_most", "below"]
Ruling = Literal["holds", "violated", "not_applicable", "not_converged", "cannot_judge"]
WORST = 5  # how many of the worst groups a verdict names
AT_END = (
    "can be judged on a finished release only: take it out of the policy of the search, and audit "
    "the release by it"
)
ONE_ROW = (
    "it is defined for people who have one row each, and here they have several, one by one; link "
    "them (rows = 'linked') or gather them, and require several-rows of unlinked ones"
)
UNOWNED = "rows are published one by one, and nothing here says which of them are one person's"
UNDONE = (
    "values are altered by chance, and counting them says nothing of people's own; require "
    "t-closeness (equal), beta-likeness or delta-disclosure of it, which hold for who undoes it"
)
EXACT = "exact quasi-identifiers are published: people are told apart by them, not by buckets"
PUBLISHED_ALONE = (
    "judged against the values that are published; those of suppressed people are not known"
)
ROUNDED = "published weights are rounded, and what they may have lost decides it"


@dataclass(frozen=True)
class Measure:
    """What a criterion found: the worst value, the value of each group, the worst groups.

    `sense` says how the value must lie to the required bound. `overall` is the value of all groups
    together, where it is not that of the worst one. `bounded` says of each group whether
    its value is an upper bound only ("at most"); None: none is. `parts` holds further figures a
    criterion of several conditions measures. Searches look at truth values only, so the worst
    groups are found when somebody asks.
    """

    per_group: npt.NDArray[Any]
    sizes: npt.NDArray[np.int64]
    sense: Sense
    parts: Mapping[str, float] = field(default_factory=dict)
    bounded: Bools | None = None
    overall: float | None = None

    @cached_property
    def worst(self) -> tuple[int, ...]:
        """The smallest values where more is safer, else the largest; the worst one first."""
        return self.worst_of(np.arange(len(self.sizes)))

    def worst_of(self, groups: npt.NDArray[np.int64]) -> tuple[int, ...]:
        """The worst among some of the groups."""
        values = self.per_group[groups]
        badness = values if self.sense in ("at_most", "below") else -values
        places = worst_places(badness, self.sizes[groups], min(WORST, len(groups)))
        return tuple(int(groups[place]) for place in places)

    @property
    def value(self) -> float:
        if self.overall is not None:
            return self.overall
        return float(self.per_group[self.worst[0]]) if self.worst else float("nan")

    @property
    def at_most(self) -> bool:
        """Whether the worst value is an upper bound only: no group is known to have it."""
        return self.bounded is not None and bool(self.bounded[self.per_group == self.value].all())


@dataclass(frozen=True, repr=False)
class Verdict(Displayed):
    """Does the criterion hold, how tightly, and which groups are worst (private).

    `beyond_mending`: why no release of the same people can hold, and what to ask instead; `advice`:
    what may help, where coarsening would not. `per`: what `worst` and `per_group` go through, the
    release's groups or the exact tuples that a bucketized release lists. `at_most`: what is
    measured is an upper bound; what exceeds it counts as violated. `bounded` says so of each group.
    Where a pseudonym links rows, "tuple" is what is known of people, and "row" a row of theirs.
    `of_row`: of people with several rows, one-by-one or linked, only the value of a row is judged.
    """

    criterion: str
    status: Ruling
    measured: float | None
    required: str
    worst: tuple[int, ...] = ()
    per_group: npt.NDArray[np.float64] | None = None
    sense: Sense | None = None
    attribute: str | None = None
    note: str = ""
    threats: tuple[Threat, ...] = ()  # what the adversary it ran would learn
    beyond_mending: str = ""
    advice: str = ""
    per: Literal["group", "tuple", "row"] = "group"
    at_most: bool = False
    bounded: Bools | None = None
    of_row: bool = False

    @property
    def about(self) -> str:
        """The column that is judged, and whether of a row; empty where none is."""
        return f"{self.attribute or ''}{' of a row' * self.of_row}"

    @property
    def holds(self) -> bool:
        return self.status == "holds"

    def with_note(self, words: str) -> Verdict:
        """The same, telling this besides."""
        return replace(self, note="; ".join(filter(None, (self.note, words))))

    def without_groups(self) -> Verdict:
        """The same, telling of no group: those that were judged are not the release's own."""
        return replace(self, worst=(), per_group=None, bounded=None)

    def of_all(self, kinds: GroupKinds) -> Verdict:
        """The verdict on all groups, of one that was found of one group of each kind."""
        if self.per_group is None:
            return self
        figures, sizes = self.per_group, kinds.groups.sizes
        less = self.sense in ("at_least", "above")
        # Whoever is among the worst is of one of the worst kinds.
        worst = sorted(
            (
                (figures[kind] if less else -figures[kind], -int(sizes[kind]), group)
                for kind in self.worst
                for group in kinds.first_of(kind, WORST).tolist()
            ),
        )
        return replace(
            self,
            worst=tuple(group for _, _, group in worst[:WORST]),
            # `take` is ten times as fast as an index.
            per_group=figures.take(kinds.of),
            bounded=None if self.bounded is None else self.bounded.take(kinds.of),
        )

    def _in_short(self) -> tuple[str, ...]:
        about = f" of {self.about}" if self.about else ""
        measured = "" if self.measured is None else ", measured " + "at most " * self.at_most
        if self.measured is not None:
            measured += told_beside(self.measured, self.required, 6)
        status = self.status.replace("_", " ")
        return (f"{self.criterion}{about}: {status}, required {self.required}{measured}",)


def summarize(
    groups: Groups,
    per_group: npt.NDArray[Any],
    sense: Sense,
    parts: Mapping[str, float] | None = None,
    bounded: Bools | None = None,
) -> Measure:
    """What was measured, group by group."""
    return Measure(per_group, groups.sizes, sense, parts or {}, bounded)


# From worst to best: a violation anywhere decides, then whatever could not be judged.
_ORDER = ("violated", "cannot_judge", "not_converged", "not_applicable", "holds")


def worst_of(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict that counts: a violation before anything unjudged, then the tightest."""
    return min(verdicts, key=lambda verdict: (_ORDER.index(verdict.status), _slack(verdict)))


def _slack(verdict: Verdict) -> float:
    """How much room a verdict leaves, so that the tightest attribute is the one reported."""
    if verdict.measured is None:
        return 0.0
    return verdict.measured if verdict.sense in ("at_least", "above") else -verdict.measured
