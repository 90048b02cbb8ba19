"""What a new release adds up to with earlier ones: how many people are known too well by all of it.

The adversary holds every release. A person counts as exposed if
some choice of earlier releases she may be in leaves so few values that one of them is known with
the given confidence (`adversaries/composition/exposure.py`). Randomised releases are left out here:
what they give away is bounded by their promise, whatever else is released, and adds up in the
ledger's accounting.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations as combinations_of
from typing import Literal

import numpy as np

from sfumato.adversaries.base import ALTERED, Counting, KnownTogether
from sfumato.adversaries.composition.combinations import combinations
from sfumato.adversaries.composition.exposure import (
    Exposed,
    ExposureRule,
    Watched,
    expose,
    exposed_alone,
    exposed_by_combinations,
)
from sfumato.adversaries.composition.intersection import of_one_value, share_values
from sfumato.adversaries.composition.linked_exposure import (
    WatchedSignatures,
    exposed_by_signature,
)
from sfumato.adversaries.composition.rows_exposure import WatchedRows
from sfumato.adversaries.composition.true_groups import with_people_of
from sfumato.adversaries.locating.target_parts import TargetParts
from sfumato.adversaries.locating.targets import UNKNOWN
from sfumato.errors import InputError, ResourceError, expect
from sfumato.ledger.finding import Basis, Check, Finding, FindingStatus, bound_status
from sfumato.ledger.given_people import LocatedParts, people_given
from sfumato.numbers import Ints
from sfumato.release.beside import Headcount
from sfumato.release.build import with_inside
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.table import Table

MOST_PAIRED = 24  # earlier releases of which any two are tried together
JOINED = (
    "pseudonyms of one key join the new release to {}: whoever has both has a person's rows "
    "together, which tell more than is worked out here; give the new release a key of its own"
)


# Judging a new release with earlier ones: how many people all of them together expose.
#
# Three ways, by what is known of people: those the new release was made of, each in her own group;
# people who are given, located as an adversary does; or, where nobody is known, every combination
# of values its groups allow, which gives the least and the most that may be exposed. Where a
# pseudonym links rows, it is the first way or none.


def check_release(
    new: Release,
    earlier: Sequence[Release],
    targets: object = None,
    *,
    population: object = None,
    table: Table | None = None,
    share: float = 0.0,
    confidence: float = 1.0,
    sensitive: str | None = None,
    counting: Counting = "all",
    drop: int = 0,
    unknown: str = UNKNOWN,
) -> Check:
    """Judge a new release, which was made of `table`, together with earlier ones."""
    if not isinstance(share, int | float) or isinstance(share, bool) or not 0 <= share <= 1:
        raise InputError(f"share = {share!r} is not allowed; it is a number from 0 to 1")
    if targets is not None and population is not None:
        raise InputError("give targets or a population, not both")
    if table is not None and (targets is not None or population is not None):
        raise InputError("give the table the new release was made of, or other people, not both")
    expect("table", table, (Table, type(None)), "a Table")
    rule = ExposureRule.of(KnownTogether(share, confidence, counting, drop))
    if table is not None:
        own_notes = new.notes
        new = with_people_of(new, table, earlier)
        notes = list(new.notes[len(own_notes) :])
    else:
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
    if given is not None and new.by_row is not None:
        raise InputError(_LINKED_GIVEN)
    related = [
        before
        for before in exact
        if before.by_row is None and any(name in before.by_attribute for name in chosen)
    ]
    if isinstance(given, Table) and given.counts.of_rows:
        raise InputError(_ROWS_GIVEN)
    people = None if given is None else people_given(given, [new, *related], unknown)
    if people is not None:
        notes += people.notes
    basis: Basis = "combinations"
    if given is not None:
        basis = "targets" if targets is not None else "population"
    elif new.by_row is not None or with_inside(new, new.groups, earlier).inside is not None:
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
    people: TargetParts | None,
    rule: ExposureRule,
    share: float,
) -> Finding:
    """The people exposed by a new release and earlier ones, and by which of them."""
    if new.by_row is not None:
        return _of_linked(new, earlier, rule, share, name)
    not_comparable = ""
    for before in earlier:
        if before.by_row is not None:
            not_comparable = _LINKED_BESIDE.format(before.label)
        elif of_one_value(before.groups_for(name)).beside.altered_by_chance:
            not_comparable = f"{before.label}: {name!r}: {ALTERED}"
        else:
            share_values([new, before], name)  # refuses what cannot be compared at all
    if not_comparable:
        share_values([new], name)
        return _unjudged(new.groups_for(name), rule, name, not_comparable)
    if people is not None and new.groups.beside.unlinked is not None:
        raise InputError(_ROWS_GIVEN)
    if people is not None:
        return _of_targets(new, earlier, people, rule, share, name)
    groups = with_inside(new, new.groups_for(name), earlier)
    if groups.beside.unlinked is not None:
        return _of_rows(groups, earlier, rule, share, name, new.schema.knows)
    if groups.inside is not None:
        return _of_people(groups, earlier, rule, share, name)
    try:
        if groups.regions is None:
            new.regions.require_regions()  # says what to do where they are only too many
        return _of_regions(groups, earlier, rule, share, name)
    except (InputError, ResourceError) as error:
        return _unjudged(groups, rule, name, str(error))


def _unjudged(groups: Groups, rule: ExposureRule, name: str, reason: str) -> Finding:
    """What is sure whatever earlier releases say, which cannot be judged for a reason."""
    sure, alone = exposed_alone(groups, rule), _alone(groups, rule)
    if groups.owners_unknown:  # somebody has these rows, and perhaps all of them
        sure, alone = np.minimum(sure, 1), replace(alone, at_most=alone.number > 1)
    return _surely(groups, rule, name, sure, alone, reason)


def _surely(
    groups: Groups, rule: ExposureRule, name: str, sure: Ints, alone: Headcount, reason: str
) -> Finding:
    """The same, where so many people of each group are surely exposed."""
    least, everybody = Exposed(sure, groups.sizes).people(groups)
    return Finding(
        name,
        groups.headcount(),
        groups.fewest_people,
        alone,
        None,
        (least, everybody),
        (),
        reason=reason,
        added=None if rule.counting == "all" else (0, everybody),
    )


def _alone(groups: Groups, rule: ExposureRule) -> Headcount:
    """Whom the new release exposes by itself: nobody drops by one release."""
    return Headcount(0) if rule.drop else groups.headcount(groups.distinct <= rule.most)


CountExposed = Callable[[Collection[int], ExposureRule], tuple[int, int]]


def _with_releases(
    finding: Finding,
    earlier: Sequence[Release],
    counted: CountExposed,
    rule: ExposureRule,
    share: float,
) -> Finding:
    """What the new release adds up to with all earlier ones, with each, and which are to blame.

    `counted` tells how many people are exposed, at least and at most, by the new release and some
    of the earlier ones, told by their numbers.
    """
    places = range(len(earlier))
    everyone = replace(rule, counting="all")
    labels = [before.label for before in earlier]
    complete = replace(
        finding,
        together=counted(places, everyone),
        by_release=tuple(
            (label, counted([place], everyone)[1]) for place, label in enumerate(labels)
        ),
        added=counted(places, replace(rule, counting="added")),
    )

    def status(left_out: Collection[int]) -> FindingStatus:
        exposed = counted([place for place in places if place not in left_out], rule)
        return bound_status(exposed, finding.people.number, finding.fewest, share)

    if status(()) != "violated" or status(places) != "holds":
        return complete
    for many in (1, 2):
        if many == 2 and len(labels) > MOST_PAIRED:
            break
        blamed = [
            left_out for left_out in combinations_of(places, many) if status(left_out) == "holds"
        ]
        if blamed:
            named = tuple(tuple(labels[place] for place in left_out) for left_out in blamed)
            return replace(complete, culprits=named)
    return replace(complete, culprits=(tuple(labels),))


def _of_people(
    groups: Groups, earlier: Sequence[Release], rule: ExposureRule, share: float, name: str
) -> Finding:
    """The people the new release was made of, each in her own group."""
    inside = groups.inside
    assert inside is not None
    watched = Watched.of(inside.counts, groups, earlier)
    people = int(inside.n.sum())

    def counted(beside: Collection[int], rule: ExposureRule) -> tuple[int, int]:
        exposure = watched.exposure.only(beside)
        exposed = int(replace(watched, exposure=exposure).exposed(groups, rule).sum())
        return exposed, exposed

    before = watched.exposed_before(groups, rule)
    alone = Headcount(int(exposed_alone(groups, replace(rule, counting="all")).sum()))
    finding = Finding(name, Headcount(people), people, alone, before, (0, 0), ())
    return _with_releases(finding, earlier, counted, rule, share)


def _of_rows(
    groups: Groups,
    earlier: Sequence[Release],
    rule: ExposureRule,
    share: float,
    name: str,
    knows: int | Literal["all"],
) -> Finding:
    """The people whose rows the new release publishes one by one, each counted once."""
    inside, people = groups.inside, groups.headcount()
    if inside is None or inside.counts.owner is None:
        return Finding(
            name,
            people,
            groups.fewest_people,
            Headcount(people.number, at_most=True),
            None,
            (0, people.number),
            (),
            reason="rows are published one by one, and whose are in which group is not known here; "
            "check the release before it is saved, or audit it with its table (composition)",
            added=(0, people.number),
        )
    watched = WatchedRows.of(inside.counts, of_one_value(groups), earlier, knows)

    def counted(beside: Collection[int], rule: ExposureRule) -> tuple[int, int]:
        return watched.only(sorted(beside)).exposed(groups, rule).people(groups)

    everyone = replace(rule, counting="all")
    alone = (0, 0) if rule.drop else counted((), everyone)
    finding = Finding(
        name,
        people,
        people.number,
        Headcount(alone[1], at_most=alone[0] < alone[1]),
        watched.exposed_before(groups, rule),
        (0, 0),
        (),
    )
    return _with_releases(finding, earlier, counted, rule, share)


def _of_linked(
    new: Release, earlier: Sequence[Release], rule: ExposureRule, share: float, name: str
) -> Finding:
    """The people whose rows a pseudonym links, each by all of hers."""
    groups = new.groups_for(name)
    by_itself = exposed_by_signature(new, name, replace(rule, counting="all"))
    alone = Headcount(by_itself.people(groups)[0])
    try:
        watched = WatchedSignatures.of(new, name, earlier)
    except (InputError, ResourceError) as error:
        sure = exposed_by_signature(new, name, rule).sure
        return _surely(groups, rule, name, sure, alone, str(error))

    @cache
    def beside_some(beside: tuple[int, ...]) -> WatchedSignatures:
        return watched.only(beside)

    def counted(beside: Collection[int], rule: ExposureRule) -> tuple[int, int]:
        return beside_some(tuple(sorted(beside))).exposed(rule).people(groups)

    people, before = groups.headcount(), watched.exposed_before(rule)
    finding = Finding(name, people, groups.fewest_people, alone, before, (0, 0), ())
    return _with_releases(finding, earlier, counted, rule, share)


_ROWS_GIVEN = (
    "where people have several rows (rows = 'unlinked') a release is judged by the people it was "
    "made of; leave targets and population out, and check it before it is saved, or audit it with "
    "its table (composition)"
)
_LINKED_GIVEN = (
    "people of linked rows are found by all of theirs, so a release of them is judged by the table "
    "it was made of; leave targets and population out, and give that (--table)"
)
_LINKED_BESIDE = (
    "a pseudonym links people's rows in {0}, and which of somebody's rows it holds, which decides "
    "what finds her there, is known only of a new release that links the same"
)


def _of_targets(
    new: Release,
    earlier: Sequence[Release],
    people: TargetParts,
    rule: ExposureRule,
    share: float,
    name: str,
) -> Finding:
    """People who are given: located in the new release as an adversary locates them."""
    exposed = LocatedParts(people, new, earlier, name).exposed(rule)
    everybody, judged, alone, before = exposed.figures.tolist()
    finding = Finding(
        name, Headcount(judged), judged, Headcount(alone), before, (0, 0), (), everybody - judged
    )
    return _with_releases(finding, earlier, exposed.counted, rule, share)


def _of_regions(
    groups: Groups, earlier: Sequence[Release], rule: ExposureRule, share: float, name: str
) -> Finding:
    """Nobody's values are known: every combination the groups allow."""
    if groups.regions is None:
        raise InputError("the groups do not say whom they hold; give the people, or a population")
    tried = combinations(groups.regions, earlier)

    exposure = expose(groups, earlier, tried.targets)

    def counted(beside: Collection[int], rule: ExposureRule) -> tuple[int, int]:
        return exposed_by_combinations(groups, tried, exposure.only(beside), rule).people(groups)

    finding = Finding(
        name,
        groups.headcount(),
        groups.fewest_people,
        _alone(groups, rule),
        None,
        (0, 0),
        (),
    )
    complete = _with_releases(finding, earlier, counted, rule, share)
    return complete if rule.counting == "added" else replace(complete, added=None)
