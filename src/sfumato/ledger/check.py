"""What a new release adds up to with earlier ones: how many people are known too well by all of it.

The verdict and what it rests on. The adversary holds every release. A person counts as exposed if
some choice of earlier releases she may be in leaves so few values that one of them is known with
the given confidence (`adversaries/composition/exposure.py`). Randomised releases are left out here:
what they give away is bounded by their promise, whatever else is released, and adds up in the
ledger's accounting.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations as combinations_of
from typing import Literal

import numpy as np

from sfumato.adversaries.base import Counting, KnownTogether, Threat
from sfumato.adversaries.composition.attack import NAME
from sfumato.adversaries.composition.combinations import combinations
from sfumato.adversaries.composition.exposure import (
    EarlierExposure,
    Exposed,
    ExposureRule,
    Watched,
    expose,
    exposed_alone,
    exposed_by_combinations,
)
from sfumato.adversaries.composition.intersection import share_values
from sfumato.adversaries.locating.locate import Located, locate
from sfumato.adversaries.locating.targets import (
    UNKNOWN,
    Targets,
    read_targets,
    refuse_published,
    unknown_notes,
)
from sfumato.errors import InputError, ResourceError
from sfumato.ledger.spent import Spent
from sfumato.numbers import Bools, Ints, fraction, rows_of, run_places, shortest
from sfumato.release.beside import Headcount
from sfumato.release.build import with_inside
from sfumato.release.groups import Groups
from sfumato.release.release import Release

MOST_PAIRED = 24  # earlier releases of which any two are tried together
JOINED = (
    "pseudonyms of one key join the new release to {}: whoever has both has a person's rows "
    "together, which tell more than is worked out here; give the new release a key of its own"
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
    def status(self) -> Status:
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

    def _status(self, finding: Finding) -> Status:
        return _status(
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


def _status(exposed: tuple[int, int], people: int, fewest: int, share: float) -> Status:
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
    drop: int = 0,
    unknown: str = UNKNOWN,
) -> Check:
    """Judge a new release together with earlier ones."""
    if not isinstance(share, int | float) or isinstance(share, bool) or not 0 <= share <= 1:
        raise InputError(f"share = {share!r} is not allowed; it is a number from 0 to 1")
    if targets is not None and population is not None:
        raise InputError("give targets or a population, not both")
    rule = ExposureRule.of(KnownTogether(share, confidence, counting, drop))
    notes = []
    if new.regions.noisy:
        notes.append("counts of the new release are noisy; its promise bounds what it gives away")
    if not earlier:
        notes.append("nothing was released before, so the new release is judged by itself")
    joined = new.joined_with(earlier)
    if joined:
        notes.append(JOINED.format(", ".join(joined)))
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
        findings.append(_finding(new, about_it, name, people, rule, share))
    return Check(
        new.label,
        tuple(before.label for before in earlier),
        basis,
        share,
        confidence,
        tuple(findings),
        tuple(notes),
        counting=counting,
        drop=drop,
        partly_known=0 if people is None else people.partly_known,
        joined=joined,
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
    rule: ExposureRule,
    share: float,
) -> Finding:
    """The people exposed by a new release and earlier ones, and by which of them."""
    for before in earlier:
        share_values([new, before], name)  # refuses what cannot be compared at all
    if people is not None:
        return _of_targets(new, earlier, people, rule, share, name)
    groups = with_inside(new, new.groups_for(name))
    if groups.inside is not None:
        return _of_people(groups, earlier, rule, share, name)
    try:
        return _of_regions(groups, earlier, rule, share, name)
    except (InputError, ResourceError) as error:
        least, everybody = Exposed(exposed_alone(groups, rule), groups.sizes).people(groups)
        return Finding(
            name,
            groups.headcount(),
            groups.fewest_people,
            _alone(groups, rule),
            None,
            (least, everybody),
            (),
            reason=str(error),
            added=None if rule.counting == "all" else (0, everybody),
        )


def _alone(groups: Groups, rule: ExposureRule) -> Headcount:
    """Whom the new release exposes by itself: nobody drops by one release."""
    return Headcount(0) if rule.drop else groups.headcount(groups.distinct <= rule.most)


Counted = Callable[[EarlierExposure, ExposureRule], tuple[int, int]]


def _with_releases(
    finding: Finding,
    earlier: Sequence[Release],
    exposure: EarlierExposure,
    counted: Counted,
    rule: ExposureRule,
    share: float,
) -> Finding:
    """What the new release adds up to with all earlier ones, with each, and which are to blame.

    `counted` tells how many people are exposed, at least and at most, by the new release and what
    is left of the earlier ones.
    """
    everyone = replace(rule, counting="all")
    labels = [before.label for before in earlier]
    found = replace(
        finding,
        together=counted(exposure, everyone),
        by_release=tuple(
            (label, counted(exposure.only([place]), everyone)[1])
            for place, label in enumerate(labels)
        ),
        added=counted(exposure, replace(rule, counting="added")),
    )

    def status(left_out: Collection[int]) -> Status:
        kept = [place for place in range(len(labels)) if place not in left_out]
        exposed = counted(exposure.only(kept), rule)
        return _status(exposed, finding.people.number, finding.fewest, share)

    every = range(len(labels))
    if status(()) != "violated" or status(every) != "holds":
        return found
    for many in (1, 2):
        if many == 2 and len(labels) > MOST_PAIRED:
            break
        blamed = [some for some in combinations_of(every, many) if status(some) == "holds"]
        if blamed:
            named = tuple(tuple(labels[place] for place in some) for some in blamed)
            return replace(found, culprits=named)
    return replace(found, culprits=(tuple(labels),))


def _of_people(
    groups: Groups, earlier: Sequence[Release], rule: ExposureRule, share: float, name: str
) -> Finding:
    """The people the new release was made of, each in her own group."""
    inside = groups.inside
    assert inside is not None
    watched = Watched.of(inside.counts, groups, earlier)
    people = int(inside.n.sum())

    def counted(exposure: EarlierExposure, rule: ExposureRule) -> tuple[int, int]:
        exposed = int(replace(watched, exposure=exposure).exposed(groups, rule).sum())
        return exposed, exposed

    before = watched.exposed_before(groups, rule)
    alone = Headcount(int(exposed_alone(groups, replace(rule, counting="all")).sum()))
    finding = Finding(name, Headcount(people), people, alone, before, (0, 0), ())
    return _with_releases(finding, earlier, watched.exposure, counted, rule, share)


def _people(given: object, releases: Sequence[Release], unknown: str) -> Targets:
    """People who are given, by the quasi-identifiers of all releases."""
    columns = tuple(dict.fromkeys(name for release in releases for name in release.regions.columns))
    people = read_targets(given, columns, unknown=unknown)
    refuse_published(people, releases, unknown)
    return people


def _of_targets(
    new: Release,
    earlier: Sequence[Release],
    people: Targets,
    rule: ExposureRule,
    share: float,
    name: str,
) -> Finding:
    """People who are given: located in the new release as an adversary locates them."""
    groups, located = new.groups_for(name), locate(new, people)
    per_case = np.bincount(people.case, weights=people.people, minlength=people.cases)
    here = np.flatnonzero(np.diff(located.indptr))
    indptr, codes = _shown(groups, located, here)
    one_each = np.arange(len(here) + 1)

    def people_of(chosen: Bools) -> int:
        return int(per_case[here[chosen]].sum())

    def counted(exposure: EarlierExposure, rule: ExposureRule) -> tuple[int, int]:
        exposed = people_of(exposure.exposed(indptr, codes, one_each, here, rule))
        return exposed, exposed

    exposure = expose(groups, earlier, people)
    judged = int(per_case[here].sum())
    alone = people_of(np.diff(indptr) <= rule.most) if not rule.drop else 0
    finding = Finding(
        name,
        Headcount(judged),
        judged,
        Headcount(alone),
        people_of(exposure.exposed_already(rule)[here]),
        (0, 0),
        (),
        int(per_case.sum()) - judged,
    )
    return _with_releases(finding, earlier, exposure, counted, rule, share)


def _shown(groups: Groups, found: Located, here: Ints) -> tuple[Ints, Ints]:
    """The values that the groups of each case show, each once."""
    mine = found.take(here)
    many = groups.distinct[mine.groups]
    stored = run_places(groups.indptr[mine.groups], many)
    keys = np.unique(np.repeat(rows_of(mine.indptr), many) * groups.width + groups.indices[stored])
    owner, codes = np.divmod(keys, groups.width)
    return np.searchsorted(owner, np.arange(len(here) + 1)).astype(np.int64), codes


def _of_regions(
    groups: Groups, earlier: Sequence[Release], rule: ExposureRule, share: float, name: str
) -> Finding:
    """Nobody's values are known: every combination the groups allow."""
    if groups.regions is None:
        raise InputError("the groups do not say whom they hold; give the people, or a population")
    tried = combinations(groups.regions, earlier)

    def counted(exposure: EarlierExposure, rule: ExposureRule) -> tuple[int, int]:
        return exposed_by_combinations(groups, tried, exposure, rule).people(groups)

    finding = Finding(
        name,
        groups.headcount(),
        groups.fewest_people,
        _alone(groups, rule),
        None,
        (0, 0),
        (),
    )
    exposure = expose(groups, earlier, tried.targets)
    found = _with_releases(finding, earlier, exposure, counted, rule, share)
    return found if rule.counting == "added" else replace(found, added=None)
