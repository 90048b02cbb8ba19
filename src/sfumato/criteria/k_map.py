"""k-map (Sweeney 2002; El Emam and Dankar 2008): k people of the population behind every group.

The adversary does not know whether her target is in the release. She has a register of the
population it was drawn from and looks for the people who fit a group. If at least k of them do
everywhere, she cannot narrow anybody's row down to fewer than k names, even if the group itself
has a single row. Weaker than k-anonymity, which protects whoever is known to be in the release.

Everything hangs on the population being the right one: it must contain the release, and an
adversary who knows more about who was sampled has fewer candidates.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from sfumato.adversaries.linkage.published_people import people_surely_inside
from sfumato.adversaries.linkage.risks import JOURNALIST
from sfumato.adversaries.locating.population import Candidates, count_behind
from sfumato.criteria.base import GroupCriterion, Measure, parameter, summarize
from sfumato.errors import PolicyError, quoted
from sfumato.numbers import Bools
from sfumato.release.groups import Groups
from sfumato.release.release import Release, same_people
from sfumato.table.load import Table

WEIGHTS: Literal["weights"] = "weights"


@dataclass(frozen=True)
class KMap(GroupCriterion):
    """Every group fits at least k people of the population.

    `population` is a table of it with the release's quasi-identifiers; or a release about it, whose
    people count where all that is published of them lies in the group; or "weights": what each
    group's survey weights add up to. A group always fits its own people, whatever the population
    or the weights say; where those say less, the verdict tells of it.
    """

    name: ClassVar[str] = "k-map"
    adversary: ClassVar[str] = JOURNALIST
    needs: ClassVar[frozenset[str]] = frozenset({"regions"})
    merge_closed: ClassVar[bool] = True
    upward_closed: ClassVar[bool] = True
    reads_values: ClassVar[bool] = False
    about_identity: ClassVar[bool] = True

    k: int
    population: Table | Release | Literal["weights"] = field(hash=False)

    def __post_init__(self) -> None:
        parameter(self.name, "k", self.k, whole=True, least=1)
        weights = isinstance(self.population, str) and self.population == WEIGHTS
        if not isinstance(self.population, Table | Release) and not weights:
            raise PolicyError(
                f"{self.name}: population = {quoted(self.population)} is not allowed; it must be a "
                "table of the population, or 'weights' to add up survey weights"
            )
        if isinstance(self.population, Release) and not self.population.regions.generalizes:
            raise PolicyError(
                f"{self.name}: population: {self.population.label} is {self.population.scheme}; a "
                "release can stand for the population only if it is generalized"
            )

    def __eq__(self, other: object) -> bool:
        """Equal bounds by the same population: the same object, or the same file."""
        if not isinstance(other, KMap):
            return NotImplemented
        same = self.population == WEIGHTS == other.population
        same = same or same_people(self.population, other.population)
        return same and (self.k, self.sensitive) == (other.k, other.sensitive)

    @property
    def required(self) -> str:
        return f"k ≥ {self.k} in the population"

    @property
    def population_table(self) -> Table | None:
        return self.population if isinstance(self.population, Table) else None

    def inapplicable(self, groups: Groups) -> str:
        reason = super().inapplicable(groups)
        if reason:
            return reason
        if isinstance(self.population, Table | Release):
            if groups.regions is None:
                return "the groups do not publish regions that a population could be matched with"
        elif groups.population is None:
            return "the table has no survey weights; name its weight column or give a population"
        return ""

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        if isinstance(self.population, Table):
            assert groups.regions is not None
            behind = count_behind(groups.regions, self.population)
            found = Candidates.of(behind, groups.own_people)
        elif isinstance(self.population, Release):
            assert groups.regions is not None
            surely = people_surely_inside(groups.regions, self.population)
            found = Candidates.of(surely, groups.own_people)
        else:
            assert groups.population is not None
            found = Candidates.of(groups.population, groups.own_people)
        parts = {}
        if found.uncovered:
            parts["groups the population does not contain"] = float(found.uncovered)
        return summarize(groups, found.people, "at_least", parts), found.people >= self.k
