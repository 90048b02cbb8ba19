"""k-anonymity (Sweeney 2002) and (alpha, k)-anonymity (Wong et al. 2006).

The adversary knows somebody's QIs and that she is in the table, and looks for her row. With k or
more people in every group she cannot narrow it down to fewer than k. That says nothing about what
those k people have in common, which is why (alpha, k) also bounds how frequent one sensitive value
may be in a group: every value's share is at most alpha.

A bucketized release publishes exact QIs, so its k is that of the exact tuples, however large its
buckets; alpha is judged on the buckets, which is what they are for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from sfumato.adversaries.linkage.risks import PROSECUTOR, WHOSE_ROW
from sfumato.adversaries.random_worlds import NAME as RANDOM_WORLDS
from sfumato.criteria.base import EXACT, GroupCriterion, Measure, Verdict, parameter, summarize
from sfumato.criteria.exact import decide, sign
from sfumato.numbers import Bools, fraction
from sfumato.release.groups import Groups
from sfumato.schema.exact import shortest

if TYPE_CHECKING:
    from sfumato.release.release import Release


@dataclass(frozen=True)
class KAnonymity(GroupCriterion):
    """Every group has at least k people."""

    name: ClassVar[str] = "k-anonymity"
    adversary: ClassVar[str] = PROSECUTOR
    merge_closed: ClassVar[bool] = True
    upward_closed: ClassVar[bool] = True
    reads_values: ClassVar[bool] = False
    about_identity: ClassVar[bool] = True

    k: int

    def __post_init__(self) -> None:
        parameter(self.name, "k", self.k, whole=True, least=1)

    @property
    def required(self) -> str:
        return f"k ≥ {self.k}"

    @property
    def fewest_people(self) -> int:
        return self.k

    def bounds(self, adversary: str) -> bool:
        """A journalist is weaker; a marketer is right as often as prosecutors are on average."""
        return adversary in WHOSE_ROW

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        return summarize(groups, groups.sizes, "at_least"), groups.sizes >= self.k


@dataclass(frozen=True)
class AlphaK(GroupCriterion):
    """Every group has at least k people and no value is had by more than a share alpha of them.

    Defined for several values per person too: the share is of people, not of occurrences.
    """

    name: ClassVar[str] = "alpha-k-anonymity"
    adversary: ClassVar[str] = RANDOM_WORLDS
    of_several: ClassVar[bool] = True
    merge_closed: ClassVar[bool] = True
    upward_closed: ClassVar[bool] = False

    alpha: float
    k: int

    def __post_init__(self) -> None:
        parameter(self.name, "alpha", self.alpha, above=0, most=1)
        parameter(self.name, "k", self.k, whole=True, least=1)

    @property
    def required(self) -> str:
        return f"alpha ≤ {shortest(self.alpha)}, k ≥ {self.k}"

    @property
    def fewest_people(self) -> int:
        return self.k

    def inapplicable(self, groups: Groups) -> str:
        reason = super().inapplicable(groups)
        return "" if reason and groups.width and len(groups) else reason

    def of_release(self, release: Release, groups: Groups) -> Verdict:
        if not release.regions.exact:
            return self.verdict(groups)
        shares = replace(self, k=1).verdict(groups)
        people = KAnonymity(self.k).verdict(release.indistinguishable)
        if shares.measured is None or people.measured is None:
            return replace(shares, required=self.required)
        smallest = f"at least {people.measured:g} people share exact quasi-identifiers; {EXACT}"
        told = (shares.note, "" if people.holds else people.note, smallest)
        return replace(
            shares,
            status="holds" if shares.holds and people.holds else "violated",
            required=self.required,
            note="; ".join(filter(None, told)),
        )

    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        alpha = fraction(self.alpha)
        share = groups.largest / groups.sizes
        share, fine = decide(
            groups,
            share,
            self.alpha,
            "at_most",
            lambda g: sign(int(groups.largest[g]) - alpha * int(groups.sizes[g])),
        )
        holds = fine & (groups.sizes >= self.k)
        parts = {"smallest group": float(groups.sizes.min())}
        return summarize(groups, share, "at_most", parts), holds
