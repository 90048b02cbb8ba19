"""delta-presence (Nergiz, Atzori and Clifton 2007): nobody may be told to be in the table, or not.

The adversary holds a register of the population and asks of each person in it: is she in the
release (`adversaries/linkage/presence.py`)? The chance must stay between two bounds for everybody
of the register. The upper one keeps her from being told to be in it; the lower one from being told
not to be, and no register with people whom no group fits can keep that, whatever the groups are.

By the upper bound alone each group is judged by itself: a mixture of groups whose shares keep it
keeps it, so it is merge closed. With a lower bound the people whom no group fits count too, and
groups are judged together. Coarser nodes of a lattice keep both, as the paper shows.

Where a pseudonym links rows it is judged of finished releases, by whole signatures, unless people's
rows were cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.adversaries.base import Asked
from sfumato.adversaries.linkage.presence import (
    NAME,
    Presence,
    PresenceSeeker,
    presence,
    presence_by_signatures,
)
from sfumato.adversaries.locating.people import (
    WEIGHTS,
    Population,
    PopulationPerGroup,
    check_population,
    register_groups,
    same_population,
    unknown_population,
)
from sfumato.adversaries.locating.signature_register import overlaps_apart
from sfumato.counts.counts import TableCounts
from sfumato.criteria.base import Criterion, GroupCriterion, Measure, Verdict, parameter, summarize
from sfumato.criteria.exact import decide, sign
from sfumato.criteria.steps import SHARES, Ladder
from sfumato.criteria.together import Together
from sfumato.errors import PolicyError
from sfumato.numbers import Bools, fraction, shortest
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.table import Table

_OVERLAP = "regions overlap, and how unlikely somebody is in any of several groups is not known"


@dataclass(frozen=True)
class DeltaPresence(GroupCriterion):
    """Everybody of the population is in the release with a chance from `minimum` to `maximum`.

    As of `KMap`, a group's own people are always behind it, whatever the population says.
    """

    name: ClassVar[str] = "delta-presence"
    plain: ClassVar[str] = "that somebody is in it is {0.minimum:.0%} to {0.maximum:.0%} likely"
    adversary: ClassVar[str] = NAME
    needs: ClassVar[frozenset[str]] = frozenset({"regions"})
    upward_closed: ClassVar[bool] = False
    reads_values: ClassVar[bool] = False
    about_identity: ClassVar[bool] = True
    by_all_rows: ClassVar[bool] = True
    of_rows: ClassVar[bool] = True
    ladders: ClassVar[tuple[Ladder, ...]] = (Ladder("maximum", SHARES),)

    minimum: float
    """The smallest chance, from 0 to 1; above 0 it needs a table of the population. Example:
    `minimum = 0.0`.
    """
    maximum: float
    """The largest chance, above 0 and at most 1. Example: `maximum = 0.5`."""
    population: Population = field(hash=False)
    """A table of the population with the quasi-identifiers; or, for the upper bound alone, a
    release about it, or "weights", what each group's survey weights add up to. Example: `population
    = "register.csv"`.
    """

    def __post_init__(self) -> None:
        parameter(self.name, "minimum", self.minimum, least=0, most=1)
        parameter(self.name, "maximum", self.maximum, above=0, most=1)
        if self.minimum > self.maximum:
            raise PolicyError(
                f"{self.name}: minimum = {shortest(self.minimum)} is above maximum = "
                f"{shortest(self.maximum)}"
            )
        check_population(self.name, self.population)
        if self.minimum and not isinstance(self.population, Table):
            raise PolicyError(
                f"{self.name}: minimum = {shortest(self.minimum)} needs a table of the population: "
                "only that tells who fits no group"
            )

    def __eq__(self, other: object) -> bool:
        """Equal bounds by the same population: the same object, or the same file."""
        if not isinstance(other, DeltaPresence):
            return NotImplemented
        own_bounds = (self.minimum, self.maximum, self.sensitive)
        other_bounds = (other.minimum, other.maximum, other.sensitive)
        return own_bounds == other_bounds and same_population(self.population, other.population)

    @property
    def merge_closed(self) -> bool:  # type: ignore[override]
        return not self.minimum

    @property
    def required(self) -> str:
        return f"{shortest(self.minimum)} ≤ presence ≤ {shortest(self.maximum)}"

    @property
    def reads_weights(self) -> bool:
        return self.population == WEIGHTS

    @property
    def population_table(self) -> Table | None:
        return self.population if isinstance(self.population, Table) else None

    def adversaries(self, release: Release) -> Iterator[Asked]:
        yield Asked(PresenceSeeker(self.population), release.indistinguishable)

    def bind(self, counts: TableCounts) -> Criterion:
        return Together(self, self) if self.minimum else super().bind(counts)

    def inapplicable(self, groups: Groups) -> str:
        return super().inapplicable(groups) or unknown_population(self.population, groups)

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        own = groups.own_people
        behind = PopulationPerGroup.behind(groups, self.population, alone=False)
        share = own / behind.people
        _, kind = np.unique(behind.people, return_inverse=True)

        def exact(bound: Fraction, group: int) -> int:
            return sign(int(own[group]) - bound * Fraction(float(behind.people[group])))

        most, least = fraction(self.maximum), fraction(self.minimum)
        share, fine = decide(
            groups, share, self.maximum, "at_most", lambda group: exact(most, group), kind
        )
        _, enough = decide(
            groups, share, self.minimum, "at_least", lambda group: exact(least, group), kind
        )
        parts = {"lowest": float(share.min())} if self.minimum else {}
        if behind.uncovered:
            parts["groups the population does not contain"] = float(behind.uncovered)
        at_most = isinstance(self.population, Release)
        bounded = np.ones(len(groups), dtype=bool) if at_most else None
        return summarize(groups, share, "at_most", parts, bounded), fine & enough

    def verdict(self, groups: Groups) -> Verdict:
        verdict = super().verdict(groups)
        if not self.minimum or verdict.measured is None:
            return verdict
        return self._of_everybody(verdict, presence(groups, self.population))

    def of_release(self, release: Release, groups: Groups) -> Verdict:
        if release.by_row is not None:
            return self._of_signatures(release)
        known = register_groups(release, self.population)
        if known is None:
            return self._of_groups(release, groups)
        return self._of_groups(release, known).without_groups()

    def _of_groups(self, release: Release, groups: Groups) -> Verdict:
        verdict = super().verdict(groups)
        if not isinstance(self.population, Table) or verdict.measured is None:
            return verdict
        overlapping = overlaps_apart(release)
        asked = presence(groups, self.population, release.suppressed, overlapping=overlapping)
        return self._with_everybody(verdict, asked, release, groups, overlapping=overlapping)

    def _of_signatures(self, release: Release) -> Verdict:
        """Of people whose rows a pseudonym links: groups are those of equal signatures."""
        groups, asked = release.groups, presence_by_signatures(release, self.population)
        if asked.reason:
            return self.unjudged("cannot_judge", asked.reason, groups)
        if asked.register is None:
            return super().verdict(groups)
        groups = groups.with_beside(replace(groups.beside, register=asked.register))
        overlapping = overlaps_apart(release)
        verdict = super().verdict(groups)
        return self._with_everybody(verdict, asked, release, groups, overlapping=overlapping)

    def _with_everybody(
        self,
        verdict: Verdict,
        asked: Presence,
        release: Release,
        groups: Groups,
        *,
        overlapping: bool,
    ) -> Verdict:
        """The verdict on groups, with what is so of everybody of a register."""
        if not overlapping:
            return self._of_everybody(verdict, asked, release.suppressed)
        status = "violated" if asked.highest > self.maximum * (1 + 1e-12) else "holds"
        if status == "holds" and self.minimum:
            return self.unjudged("cannot_judge", _OVERLAP, groups)
        measure = Measure(asked.per_group, groups.sizes, "at_most", overall=asked.highest)
        decided = self.decided(status, measure, groups, "")  # type: ignore[arg-type]
        return replace(decided, at_most=True)

    def may_suppress(self, kept: Groups, suppressed: int) -> bool:
        if not isinstance(self.population, Table) or self.inapplicable(kept):
            return True
        return not self._tells(suppressed, presence(kept, self.population, suppressed).outside)

    def _tells(self, suppressed: int, outside: int) -> bool:
        """Whether so many suppressed people are too many of those who fit no group."""
        among = Fraction(min(suppressed, outside), outside) if outside else Fraction(0)
        return among > fraction(self.maximum)

    def _of_everybody(self, verdict: Verdict, asked: Presence, suppressed: int = 0) -> Verdict:
        """The verdict on groups, with whoever of the register fits none of them."""
        sentences = []
        if self.minimum and asked.outside:
            sentences.append(f"{asked.outside:,} people of the population fit no group")
        if self._tells(suppressed, asked.outside):
            sentences.append(
                f"of {asked.outside:,} people who fit no group the suppressed ones are a share of "
                f"{asked.suppressed:.4g}"
            )
        if not sentences:
            return verdict
        measured = max(verdict.measured or 0.0, asked.suppressed)
        note = "; ".join(filter(None, (*sentences, verdict.note)))
        return replace(
            verdict,
            status="violated",
            measured=measured,
            note=note,
            advice="suppress fewer people, coarsen what is published, or loosen that bound",
        )
