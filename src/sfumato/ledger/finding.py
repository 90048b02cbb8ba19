"""The verdict on a new release beside earlier ones, and what it rests on.

How people are counted for it: `check.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sfumato.adversaries.base import Counting, Threat
from sfumato.adversaries.composition.attack import NAME
from sfumato.ledger.spent import Spent
from sfumato.numbers import fraction, shortest
from sfumato.release.beside import Headcount

Basis = Literal["targets", "people", "population", "combinations"]
FindingStatus = Literal["holds", "violated", "could_not_judge"]


@dataclass(frozen=True)
class Finding:
    """About one sensitive attribute: people exposed, of `people` judged, `fewest` at least.

    `alone` by the new release by itself (at most so many where it is not known who is in several of
    its groups), `before` by the earlier ones by themselves (None where
    people are not known), `together` by all of them: at least and at most. `by_release` tells what
    the new release adds up to with each earlier one. `added`: of those exposed together whom the
    earlier releases do not expose by themselves, at least and at most; None where that was not
    asked. `not_located` people were not found in the new release and are not among those judged.
    `culprits`: where the bound is violated, the earlier releases without which it would hold, one
    alone if that is enough, else two, else all; none where the new release breaks it by itself.
    """

    attribute: str
    people: Headcount
    fewest: int
    alone: Headcount
    before: int | None
    together: tuple[int, int]
    by_release: tuple[tuple[str, int], ...]
    not_located: int = 0
    reason: str = ""
    added: tuple[int, int] | None = None
    culprits: tuple[tuple[str, ...], ...] = ()

    def counted(self, counting: Counting) -> tuple[int, int]:
        """The people a bound is about: all who are exposed, or those the new release added."""
        if counting == "all":
            return self.together
        assert self.added is not None
        return self.added


@dataclass(frozen=True)
class Check:
    """The verdict on a new release, and what it rests on.

    `counting`: the bound is on "all" who are exposed, or on those the new release "added"; `drop`:
    only on those of whom all together leave so many values fewer than any one release.
    `spent`: what the promises of randomised releases add up to, the new one among them.
    `joined`: earlier releases with pseudonyms of the same key, which anybody joins to the new one
    row by row: what that tells is not worked out, so that nothing holds beside them.
    `partly_known`: of so many of the people given not every quasi-identifier is known; whoever
    knows more of them is not judged.
    """

    label: str
    earlier: tuple[str, ...]
    basis: Basis
    share: float
    confidence: float
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    spent: tuple[Spent, ...] = ()
    counting: Counting = "all"
    drop: int = 0
    partly_known: int = 0
    joined: tuple[str, ...] = ()

    @property
    def status(self) -> FindingStatus:
        statuses = [self._status(finding) for finding in self.findings]
        if "violated" in statuses:
            return "violated"
        fine = bool(statuses) and not self.joined and all(status == "holds" for status in statuses)
        return "holds" if fine else "could_not_judge"

    @property
    def holds(self) -> bool:
        return self.status == "holds"

    @property
    def who_counts(self) -> str:
        """What may not be so of more than a share of people."""
        known = f"have their value known with confidence {shortest(self.confidence)} or more"
        narrowed = f"be left with {self.drop} or more values fewer than by any one release"
        parts = [known] if self.confidence else []
        return " and ".join([*parts, narrowed] if self.drop else parts)

    def _status(self, finding: Finding) -> FindingStatus:
        return bound_status(
            finding.counted(self.counting), finding.people.number, finding.fewest, self.share
        )

    def threats(self) -> list[Threat]:
        also = f", and {len(self.earlier) + 1} releases" if self.earlier else ""
        knows = f"the target's quasi-identifiers{also}"
        surely = f"with confidence {self.confidence:g} or more " if self.confidence else ""
        narrowed = f", {self.drop} or more values fewer than by any one" if self.drop else ""
        return [
            Threat(
                NAME,
                knows,
                f"{finding.attribute}: {surely}of {_range(finding.together)} of {finding.people} "
                f"people ({finding.alone} by the new release alone){narrowed}",
                finding.attribute,
                Headcount(finding.together[1], at_most=finding.together[0] < finding.together[1]),
            )
            for finding in self.findings
            if not finding.reason
        ]

    def to_dict(self) -> dict[str, object]:
        """The check for JSON."""
        return {
            "release": self.label,
            "earlier": list(self.earlier),
            "basis": self.basis,
            "required": {
                "share": self.share,
                "confidence": self.confidence,
                "counting": self.counting,
                "drop": self.drop,
            },
            "partly_known": self.partly_known,
            "joined_by_pseudonyms": list(self.joined),
            "status": self.status,
            "findings": [
                {
                    **finding.__dict__,
                    "people": finding.people.number,
                    "people_at_most": finding.people.at_most,
                    "alone": finding.alone.number,
                    "alone_at_most": finding.alone.at_most,
                    "together": _ends(finding.together),
                    "added": None if finding.added is None else _ends(finding.added),
                    "by_release": dict(finding.by_release),
                    "status": self._status(finding),
                }
                for finding in self.findings
            ],
            "notes": list(self.notes),
            "spent": [spending.to_dict() for spending in self.spent],
        }


def bound_status(exposed: tuple[int, int], people: int, fewest: int, share: float) -> FindingStatus:
    """Whether at most a share of people is exposed, of whom there are at least the fewest."""
    if not people:
        return "could_not_judge"
    if exposed[0] > fraction(share) * people:
        return "violated"
    return "holds" if exposed[1] <= fraction(share) * fewest else "could_not_judge"


def _ends(people: tuple[int, int]) -> dict[str, int]:
    return {"at_least": people[0], "at_most": people[1]}


def _range(people: tuple[int, int]) -> str:
    low, high = people
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
