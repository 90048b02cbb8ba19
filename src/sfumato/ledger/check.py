"""What a new release adds up to with earlier ones: how many people are known too well by all of it.

The verdict and what it rests on; `judging.py` finds it. The adversary holds every release. A person
counts as exposed if some choice of earlier releases she may be in leaves so few values that one of
them is known with the given confidence (`adversaries/composition/exposure.py`). Randomised releases
are left out here: what they give away is bounded by their promise, whatever else is released, and
adds up in the ledger's accounting.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from sfumato.adversaries.composition.attack import NAME
from sfumato.adversaries.composition.exposed import Counting
from sfumato.adversaries.threat import Threat
from sfumato.ledger.accounting import Spent

Basis = Literal["targets", "people", "population", "combinations"]
Status = Literal["holds", "violated", "could_not_judge"]


@dataclass(frozen=True)
class Finding:
    """About one sensitive attribute: people exposed, of `people` judged.

    `alone` by the new release by itself, `before` by the earlier ones by themselves (None where
    people are not known), `together` by all of them: at least and at most. `by_release` tells what
    the new release adds up to with each earlier one. `added`: of those exposed together whom the
    earlier releases do not expose by themselves, at least and at most; None where that was not
    asked. `not_located` people were not found in the new release and are not among those judged.
    """

    attribute: str
    people: int
    alone: int
    before: int | None
    together: tuple[int, int]
    by_release: tuple[tuple[str, int], ...]
    not_located: int = 0
    reason: str = ""
    added: tuple[int, int] | None = None

    def counted(self, counting: Counting) -> tuple[int, int]:
        """The people a bound is about: all who are exposed, or those the new release added."""
        if counting == "all":
            return self.together
        assert self.added is not None
        return self.added


@dataclass(frozen=True)
class Check:
    """The verdict on a new release, and what it rests on.

    `counting`: the bound is on "all" who are exposed, or on those the new release "added".
    `spent`: what the promises of randomised releases add up to, the new one among them.
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

    @property
    def status(self) -> Status:
        statuses = [self._status(finding) for finding in self.findings]
        if "violated" in statuses:
            return "violated"
        fine = bool(statuses) and all(status == "holds" for status in statuses)
        return "holds" if fine else "could_not_judge"

    @property
    def holds(self) -> bool:
        return self.status == "holds"

    def _status(self, finding: Finding) -> Status:
        if not finding.people:
            return "could_not_judge"
        limit = Fraction(str(self.share)) * finding.people
        least, most = finding.counted(self.counting)
        if least > limit:
            return "violated"
        return "holds" if most <= limit else "could_not_judge"

    def threats(self) -> list[Threat]:
        also = f", and {len(self.earlier) + 1} releases" if self.earlier else ""
        knows = f"the target's quasi-identifiers{also}"
        return [
            Threat(
                NAME,
                knows,
                f"{one.attribute}: with confidence {self.confidence:g} or more of "
                f"{_range(one.together)} of {one.people:,} people ({one.alone:,} by the new "
                "release alone)",
                one.attribute,
                one.together[1],
            )
            for one in self.findings
            if not one.reason
        ]

    def to_dict(self) -> dict[str, Any]:
        """The check for JSON."""
        return {
            "release": self.label,
            "earlier": list(self.earlier),
            "basis": self.basis,
            "required": {
                "share": self.share,
                "confidence": self.confidence,
                "counting": self.counting,
            },
            "status": self.status,
            "findings": [
                {
                    **one.__dict__,
                    "together": _ends(one.together),
                    "added": None if one.added is None else _ends(one.added),
                    "by_release": dict(one.by_release),
                    "status": self._status(one),
                }
                for one in self.findings
            ],
            "notes": list(self.notes),
            "spent": [one.to_dict() for one in self.spent],
        }


def _ends(people: tuple[int, int]) -> dict[str, int]:
    return {"at_least": people[0], "at_most": people[1]}


def _range(people: tuple[int, int]) -> str:
    low, high = people
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
