"""What a new release adds up to with earlier ones: how many people are known too well by all of it.

The verdict and what it rests on. The adversary holds every release. A person counts as exposed if
some choice of earlier releases she may be in leaves so few values that one of them is known with
the given confidence (`adversaries/composition/exposure.py`). Randomised releases are left out here:
what they give away is bounded by their promise, whatever else is released, and adds up in the
ledger's accounting.

Randomised releases add up by their guarantees; the others are judged by whom they expose together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal, get_args

import numpy as np

from sfumato.adversaries.base import Counting, Threat
from sfumato.adversaries.composition.attack import NAME
from sfumato.adversaries.composition.exposure import (
    EarlierExposure,
    Exposed,
    Watched,
    expose,
    exposed_already,
    exposed_by_regions,
)
from sfumato.adversaries.composition.intersection import share_values
from sfumato.adversaries.composition.summary import values_left
from sfumato.adversaries.locating.locate import Located, locate
from sfumato.adversaries.locating.targets import (
    UNKNOWN,
    Targets,
    read_targets,
    refuse_published,
    unknown_notes,
)
from sfumato.adversaries.randomised import compose
from sfumato.errors import InputError, ResourceError, quoted
from sfumato.numbers import Bools, Ints, fraction, rows_of, run_places
from sfumato.release.beside import Headcount
from sfumato.release.build import with_inside
from sfumato.release.groups import Groups
from sfumato.release.guarantee import RELATIONS, Guarantee, PrivacyLoss, Relation
from sfumato.release.release import Release

# What randomised releases about one population add up to.
#
# Releases about the same people that promise (eps_i, delta_i) together promise (sum eps_i, sum
# delta_i): basic composition. Of many releases OpenDP tells a smaller epsilon at some delta, which
# is told beside it where OpenDP is installed (`adversaries/randomised.py`). Releases
# without such a promise add nothing to either and are not covered by them: they are counted
# beside.


@dataclass(frozen=True)
class Spent:
    """What a population's releases promise together, by one relation of neighbours.

    `epsilon` and `delta` are the basic sums, None where some release promises nothing by that
    relation. `tighter` is OpenDP's figure, None where there is none, and `note` says why.
    `releases` are randomised, `unprotected` have no such promise at all.
    """

    about: str
    neighbours: Relation
    epsilon: float | None
    delta: float | None
    releases: int
    unprotected: int
    tighter: PrivacyLoss | None = None
    note: str = ""

    @property
    def basic(self) -> PrivacyLoss | None:
        """The sums."""
        if self.epsilon is None or self.delta is None:
            return None
        return PrivacyLoss(self.epsilon, self.delta)

    def to_dict(self) -> dict[str, object]:
        """The sum for JSON."""
        return asdict(self)


Promised = tuple[str, Guarantee | None]  # the population a release is about, and what it promises


def add_up(promised: Sequence[Promised]) -> tuple[Spent, ...]:
    """The sums for each population that has a randomised release."""
    spent = []
    for population in dict.fromkeys(name for name, _ in promised):
        mine = [guarantee for name, guarantee in promised if name == population]
        given = [guarantee for guarantee in mine if guarantee is not None]
        if given:
            unprotected = len(mine) - len(given)
            spent += [_spent(population, given, relation, unprotected) for relation in RELATIONS]
    return tuple(spent)


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
    """About one sensitive attribute: people exposed, of `people` judged, `fewest` at least.

    `alone` by the new release by itself (at most so many where it is not known who is in several of
    its groups), `before` by the earlier ones by themselves (None where
    people are not known), `together` by all of them: at least and at most. `by_release` tells what
    the new release adds up to with each earlier one. `added`: of those exposed together whom the
    earlier releases do not expose by themselves, at least and at most; None where that was not
    asked. `not_located` people were not found in the new release and are not among those judged.
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
        if not finding.people.number:
            return "could_not_judge"
        share = fraction(self.share)
        least, most = finding.counted(self.counting)
        if least > share * finding.people.number:
            return "violated"
        return "holds" if most <= share * finding.fewest else "could_not_judge"

    def threats(self) -> list[Threat]:
        also = f", and {len(self.earlier) + 1} releases" if self.earlier else ""
        knows = f"the target's quasi-identifiers{also}"
        return [
            Threat(
                NAME,
                knows,
                f"{finding.attribute}: with confidence {self.confidence:g} or more of "
                f"{_range(finding.together)} of {finding.people} people ({finding.alone} by the "
                "new release alone)",
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
            },
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


def _ends(people: tuple[int, int]) -> dict[str, int]:
    return {"at_least": people[0], "at_most": people[1]}


def _range(people: tuple[int, int]) -> str:
    low, high = people
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


# Judging a new release with earlier ones: how many people all of them together expose.
#
# Three ways, by what is known of people: those the new release was made of, each in her own group;
# people who are given, located as an adversary does; or, where nobody is known, every combination
# of values its groups allow, which gives the least and the most that may be exposed.


def check_release(
    new: Release,
    earlier: Sequence[Release],
    targets: object = None,
    *,
    population: object = None,
    share: float = 0.0,
    confidence: float = 1.0,
    sensitive: str | None = None,
    counting: Counting = "all",
    unknown: str = UNKNOWN,
) -> Check:
    """Judge a new release together with earlier ones."""
    if counting not in get_args(Counting):
        raise InputError(
            f"counting = {quoted(counting)} is not allowed; use 'all', or 'added' for the people "
            "whom earlier releases do not expose by themselves"
        )
    if not isinstance(share, int | float) or isinstance(share, bool) or not 0 <= share <= 1:
        raise InputError(f"share = {share!r} is not allowed; it is a number from 0 to 1")
    if targets is not None and population is not None:
        raise InputError("give targets or a population, not both")
    most = values_left(confidence)
    notes = []
    if new.regions.noisy:
        notes.append("counts of the new release are noisy; its promise bounds what it gives away")
    if not earlier:
        notes.append("nothing was released before, so the new release is judged by itself")
    noisy = [before.label for before in earlier if before.regions.noisy]
    if noisy:
        notes.append(f"randomised, bounded by their promise: {', '.join(noisy)}")
    exact = [before for before in earlier if not before.regions.noisy]
    chosen = [] if new.regions.noisy else _attributes(new, sensitive)
    given = targets if targets is not None else population
    related = [before for before in exact if any(name in before.by_attribute for name in chosen)]
    people = None if given is None else _people(given, [new, *related], unknown)
    if people is not None:
        notes += unknown_notes(people)
    basis: Basis = "combinations"
    if given is not None:
        basis = "targets" if targets is not None else "population"
    elif new.inside() is not None:
        basis = "people"
    findings = []
    for name in chosen:
        about_it = [before for before in exact if name in before.by_attribute]
        unrelated = [before.label for before in exact if name not in before.by_attribute]
        if unrelated:
            notes.append(f"tell nothing about {name!r}: {', '.join(unrelated)}")
        findings.append(_finding(new, about_it, name, people, most, counting))
    return Check(
        new.label,
        tuple(before.label for before in earlier),
        basis,
        share,
        confidence,
        tuple(findings),
        tuple(notes),
        counting=counting,
    )


def _attributes(new: Release, sensitive: str | None) -> list[str]:
    if sensitive is not None:
        new.groups_for(sensitive)
        return [sensitive]
    return [name for name in new.by_attribute if name]


def _finding(
    new: Release,
    earlier: Sequence[Release],
    name: str,
    people: Targets | None,
    most: int,
    counting: Counting,
) -> Finding:
    """The people exposed by a new release and earlier ones: of at most `most` values left."""
    for before in earlier:
        share_values([new, before], name)  # refuses what cannot be compared at all
    if people is not None:
        return _of_targets(new, earlier, name, people, most)
    groups = with_inside(new, new.groups_for(name))
    if groups.inside is not None:
        return _of_people(groups, earlier, name, most)
    try:
        return _of_regions(groups, earlier, name, most, counting)
    except (InputError, ResourceError) as error:
        by_itself = np.where(groups.distinct <= most, groups.sizes, 0)
        least, everybody = Exposed(by_itself, groups.sizes).people(groups)
        alone = groups.headcount(groups.distinct <= most)
        added = None if counting == "all" else (0, everybody)
        reason = str(error)
        return Finding(
            name,
            groups.headcount(),
            groups.fewest_people,
            alone,
            None,
            (least, everybody),
            (),
            reason=reason,
            added=added,
        )


def _of_people(groups: Groups, earlier: Sequence[Release], name: str, most: int) -> Finding:
    """The people the new release was made of, each in her own group."""
    inside = groups.inside
    assert inside is not None
    counts = inside.counts

    def exposed(release: Release) -> int:
        return int(Watched.of(counts, groups, [release]).exposed(groups, most).sum())

    watched = Watched.of(counts, groups, earlier)
    together = int(watched.exposed(groups, most).sum())
    added = int(watched.exposed(groups, most, "added").sum())
    return Finding(
        name,
        Headcount(int(inside.n.sum())),
        int(inside.n.sum()),
        Headcount(int(groups.sizes[groups.distinct <= most].sum())),
        watched.exposed_before(groups, most),
        (together, together),
        tuple((before.label, exposed(before)) for before in earlier),
        added=(added, added),
    )


def _people(given: object, releases: Sequence[Release], unknown: str) -> Targets:
    """People who are given, by the quasi-identifiers of all releases."""
    columns = tuple(dict.fromkeys(name for one in releases for name in one.regions.columns))
    people = read_targets(given, columns, unknown=unknown)
    refuse_published(people, releases, unknown)
    return people


def _of_targets(
    new: Release, earlier: Sequence[Release], name: str, people: Targets, most: int
) -> Finding:
    """People who are given: located in the new release as an adversary locates them."""
    groups, located = new.groups_for(name), locate(new, people)
    per_case = np.bincount(people.case, weights=people.people, minlength=people.cases)
    here = np.flatnonzero(np.diff(located.indptr))
    indptr, codes = _shown(groups, located, here)
    one_each = np.arange(len(here) + 1)

    def exposed(exposure: EarlierExposure) -> Bools:
        few_left: Bools = exposure.fewest(indptr, codes, one_each, here) <= most
        return few_left

    def counted(chosen: Bools) -> int:
        return int(per_case[here[chosen]].sum())

    exposure = expose(groups, earlier, people)
    known = exposure.alone() <= most
    now = exposed(exposure)
    together, added = counted(now), counted(now & ~exposed_already(exposure, most)[here])
    return Finding(
        name,
        Headcount(int(per_case[here].sum())),
        int(per_case[here].sum()),
        Headcount(int(per_case[here[np.diff(indptr) <= most]].sum())),
        int(per_case[here[known[here]]].sum()),
        (together, together),
        tuple(
            (before.label, counted(exposed(expose(groups, [before], people)))) for before in earlier
        ),
        int(per_case.sum() - per_case[here].sum()),
        added=(added, added),
    )


def _shown(groups: Groups, found: Located, here: Ints) -> tuple[Ints, Ints]:
    """The values that the groups of each case show, each once."""
    mine = found.take(here)
    many = groups.distinct[mine.groups]
    stored = run_places(groups.indptr[mine.groups], many)
    keys = np.unique(np.repeat(rows_of(mine.indptr), many) * groups.width + groups.indices[stored])
    owner, codes = np.divmod(keys, groups.width)
    return np.searchsorted(owner, np.arange(len(here) + 1)).astype(np.int64), codes


def _of_regions(
    groups: Groups, earlier: Sequence[Release], name: str, most: int, counting: Counting
) -> Finding:
    """Nobody's values are known: every combination the groups allow."""

    def exposed(releases: Sequence[Release], counting: Counting = "all") -> tuple[int, int]:
        return exposed_by_regions(groups, releases, most, counting).people(groups)

    return Finding(
        name,
        groups.headcount(),
        groups.fewest_people,
        groups.headcount(groups.distinct <= most),
        None,
        exposed(earlier),
        tuple((before.label, exposed([before])[1]) for before in earlier),
        added=None if counting == "all" else exposed(earlier, "added"),
    )
