"""The observer (Ren, Li: Privacy-Preserving Characterization and Data Publishing): what a class of
a release tells about its people that was not known before.

She knows how a target attribute T is distributed, over everybody or given what she knows already,
and finds her target's class: the people who show the same cells in some columns Q. She compares.
*Distribution leakage* is the Euclidean distance between the distribution she expected, a, and the
one she reads, x; *entropy leakage* is |H2(a) - H2(x)|, how much more or less sure she is than
before, in bits. Where both are 0 everywhere, the release tells her nothing: perfect privacy.

Neither implies the other: a permutation of a has entropy leakage 0. Against one fixed prior the
largest distribution leakage cannot fall when Q grows; the largest entropy leakage can.

Errata, recomputed: L_D of class 3 in Examples 1 and 3 is sqrt(32)/12, not sqrt(26)/12; the EMD of
Example 3 is 1/6, 1/6, 1/3 (printed is L1) and Example 4's two are swapped; its L_D are .4714 and
.9428, and the first of its two L_E is 1.58496, not .158. `papers/leakage.py` shows printed and
right values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np

from sfumato.adversaries.base import MOST_COUNTS, CatalogueEntry, Moves, Threat
from sfumato.adversaries.leakage import expectation
from sfumato.adversaries.leakage.expectation import (
    NAME,
    OBSERVER,
    Expectation,
    Leakage,
    leakage,
    one_for_all,
    weighted,
)
from sfumato.adversaries.priors import (
    ByClass,
    EarlierRelease,
    FewerColumns,
    OfTable,
    OutsideTable,
    Prior,
    PriorGiven,
    Uniform,
    ValueCounts,
    ValueShares,
    parse_prior,
)
from sfumato.errors import InputError
from sfumato.release.groups import Groups
from sfumato.release.kinds import one_per_kind
from sfumato.release.release import Release

WORDS: dict[type, str] = {
    OfTable: "table",
    Uniform: "uniform",
    ValueShares: "given",
    ValueCounts: "given",
    ByClass: "listed",
    OutsideTable: "outside",
    EarlierRelease: "earlier",
}


@dataclass(frozen=True)
class Observer:
    """What she expects before she reads.

    `prior`: "table" (the whole table's distribution), "uniform", shares or counts by value,
    {"given": columns}, a distribution for each class, an outside Table or an earlier Release.
    """

    prior: PriorGiven = "table"

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", parse_prior(self.prior, OBSERVER))

    @property
    def expects(self) -> Prior:
        """Her prior, in the form it was given."""
        return cast(Prior, self.prior)

    @property
    def name(self) -> str:
        """As the threat matrix names her: who expects something else is somebody else."""
        if isinstance(self.expects, FewerColumns):
            return f"{NAME} who knows {', '.join(self.expects.columns)}"
        of_table = isinstance(self.expects, OfTable)
        return NAME if of_table else f"{NAME}, {WORDS[type(self.expects)]} prior"

    @property
    def fixed(self) -> bool:
        """Whether she expects the same of every class."""
        return isinstance(self.expects, OfTable | Uniform | ValueShares | ValueCounts)

    def expectation(self, groups: Groups) -> Expectation:
        """What she expects of each class."""
        prior = self.expects
        match prior:
            case Uniform():
                return one_for_all(len(groups), weighted([1] * groups.width))
            case ValueShares() | ValueCounts():
                return expectation.in_shares(groups, prior)
            case FewerColumns():
                return expectation.given(groups, prior.columns)
            case ByClass():
                return expectation.listed(groups, prior)
            case OutsideTable():
                return expectation.outside(groups, prior.people)
            case EarlierRelease():
                return expectation.earlier(groups, prior.people)
        return one_for_all(len(groups), weighted(groups.reference))

    def inapplicable(self, groups: Groups) -> str:
        """Why she cannot be asked about these groups; empty when she can."""
        prior = self.expects
        if isinstance(prior, OfTable) and not groups.reference.sum() > 0:
            return "the reference distribution is empty"
        if self.fixed:
            return ""
        if groups.regions is None:
            return "the groups do not publish cells that a prior by class could be matched with"
        if isinstance(prior, FewerColumns):
            if set(prior.columns) >= set(groups.regions.columns):
                return (
                    "the prior is given all quasi-identifiers, so it is what the release itself "
                    "says, and nothing could ever leak"
                )
            return expectation.overlap_reason(groups, prior.columns)
        return ""

    def check_covered(self, groups: Groups) -> None:
        """Refuse a prior that says nothing about some class."""
        if self.fixed:
            return
        missing = np.flatnonzero(self.expectation(groups).of < 0)
        if len(missing):
            assert groups.regions is not None
            largest = int(missing[np.argmax(groups.sizes[missing])])
            reason = not_covered(
                groups.regions.describe(largest),
                int(groups.sizes[largest]),
                len(missing),
                len(groups),
            )
            raise InputError(
                f"{NAME}: {reason}; give it a distribution for each, or use the prior 'table'"
            )

    def attack(self, release: Release, groups: Groups | None = None) -> Observation:
        """What the classes of one attribute tell her."""
        return Observation(self, release.groups if groups is None else groups)

    def __str__(self) -> str:
        """What she expects, in a few words."""
        if isinstance(self.expects, OfTable):
            return "how everybody's values are distributed"
        if isinstance(self.expects, FewerColumns):
            return "how the values are distributed among those who share what she knows"
        scope = "" if self.fixed else ", one for each class"
        return f"a distribution of the values ({WORDS[type(self.expects)]}{scope})"


@dataclass(frozen=True)
class Observation:
    """What one observer reads about one sensitive attribute."""

    observer: Observer
    groups: Groups

    @property
    def inapplicable(self) -> str:
        """Why she can read nothing here; empty when she can."""
        groups = self.groups
        if not len(groups):
            return "no group"
        if groups.width == 0:
            return "there is no sensitive column"
        if not groups.single_valued:
            return "people have several values each; she compares distributions of one"
        return self.observer.inapplicable(groups)

    @cached_property
    def expected(self) -> Expectation:
        return self.observer.expectation(self.groups)

    @cached_property
    def leakage(self) -> Leakage:
        """What every class leaks."""
        return leakage(self.groups, self.expected)

    def threats(self) -> list[Threat]:
        """Her row of the threat matrix."""
        if self.observer.fixed and (kinds := one_per_kind(self.groups)) is not self.groups:
            return replace(self, groups=kinds).threats()
        observer, groups = self.observer, self.groups
        knows = f"the target's quasi-identifiers, and {observer}"
        if reason := self.inapplicable:
            about = groups.attribute
            return [Threat(observer.name, knows, reason, about, status="not_applicable")]
        leaked, moves = self.leakage, Moves(groups)
        moves.see_counts(self.expected.met(groups), groups.share)
        moves.unknown(self.expected.of < 0)
        name = groups.attribute or "the sensitive value"
        learns = (
            f"{name}: distribution off by up to "
            f"{leaked.distribution.max():.3g}, entropy by {leaked.entropy.max():.3g} bits; some "
            f"value ruled out for {groups.headcount(leaked.ruled_out > 0)} people; {moves.words}"
        )
        return [
            Threat(
                observer.name,
                knows,
                learns,
                name,
                moves.people,
                moves.worst,
                surest=moves.surest_moved,
            )
        ]


def _stand_ins(groups: Groups) -> Iterator[Observer]:
    if groups.width and 0 < len(groups.data) <= MOST_COUNTS:
        yield Observer()


ENTRY = CatalogueEntry(
    NAME,
    "Does her group differ from the rest?",
    "the distribution of the sensitive values, and how it differs between groups",
    "how much more (or less) likely a value is in a group than in the table",
    "require distribution-leakage or entropy-leakage in the policy",
    "by itself",
    ("distribution-leakage", "entropy-leakage"),
    stand_ins=_stand_ins,
)


def not_covered(cells: Mapping[str, str], people: int, missing: int, classes: int) -> str:
    """What a prior lacks; the cells of a class of one person may be that person's row."""
    reason = f"the prior does not cover {missing:,} of {classes:,} classes of {', '.join(cells)}"
    if people < 2:
        return f"{reason}, none of which has several people"
    named = ", ".join(f"{column} {cell}" for column, cell in cells.items())
    return f"{reason}, among them {named} ({people:,} people)"
