"""What a new release adds up to with earlier ones: how many people are known too well by all of it.

The verdict and what it rests on; `judging.py` finds it. The adversary holds every release. A person
counts as exposed if some choice of earlier releases she may be in leaves so few values that one of
them is known with the given confidence (`adversaries/composition/exposure.py`). Randomised releases
are left out here: what they give away is bounded by their promise, whatever else is released, and
adds up in the ledger's accounting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

from sfumato.adversaries.composition.attack import NAME
from sfumato.adversaries.composition.exposure import Counting
from sfumato.adversaries.randomised.accounting import compose
from sfumato.adversaries.threat import Threat
from sfumato.release.guarantee import RELATIONS, Guarantee, Loss, Relation
from sfumato.release.several_groups import Headcount

# What randomised releases about one population add up to.
#
# Releases about the same people that promise (eps_i, delta_i) together promise (sum eps_i, sum
# delta_i): basic composition. Of many releases OpenDP tells a smaller epsilon at some delta, which
# is told beside it where OpenDP is installed (`adversaries/randomised/accounting.py`). Releases
# without such a promise add nothing to either and are not covered by them: they are counted
# beside.


@dataclass(frozen=True)
class Spent:
    """What a population's releases promise together, by one relation of neighbours.

    `epsilon` and `delta` are the basic sums, None where some release promises nothing by that
    relation. `tighter` is OpenDP's figure, None where there is none, and `note` says why.
    `releases` are randomised, `unprotected` have no such promise at all.
    """

    population: str
    neighbours: Relation
    epsilon: float | None
    delta: float | None
    releases: int
    unprotected: int
    tighter: Loss | None = None
    note: str = ""

    @property
    def basic(self) -> Loss | None:
        """The sums."""
        if self.epsilon is None or self.delta is None:
            return None
        return Loss(self.epsilon, self.delta)

    def to_dict(self) -> dict[str, Any]:
        """The sum for JSON."""
        return asdict(self)


Promised = tuple[str, Guarantee | None]  # the population a release is about, and what it promises


def add_up(promised: Sequence[Promised]) -> tuple[Spent, ...]:
    """The sums for each population that has a randomised release."""
    found = []
    for population in dict.fromkeys(name for name, _ in promised):
        mine = [guarantee for name, guarantee in promised if name == population]
        given = [guarantee for guarantee in mine if guarantee is not None]
        if given:
            unprotected = len(mine) - len(given)
            found += [_spent(population, given, relation, unprotected) for relation in RELATIONS]
    return tuple(found)


def _spent(
    population: str, given: Sequence[Guarantee], relation: Relation, unprotected: int
) -> Spent:
    together = compose(given, neighbours=relation)
    basic = together.basic if math.isfinite(together.basic.epsilon) else None
    return Spent(
        population,
        relation,
        None if basic is None else basic.epsilon,
        None if basic is None else basic.delta,
        len(given),
        unprotected,
        together.tighter,
        together.why,
    )


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
                Headcount(one.together[1], at_most=one.together[0] < one.together[1]),
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
