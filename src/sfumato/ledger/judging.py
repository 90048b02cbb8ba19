"""Judging a new release with earlier ones: how many people all of them together expose.

Three ways, by what is known of people: those the new release was made of, each in her own group;
people who are given, located as an adversary does; or, where nobody is known, every combination of
values its groups allow, which gives the least and the most that may be exposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import numpy as np

from sfumato.adversaries.composition.exposure import (
    Counting,
    Exposure,
    Watched,
    expose,
    exposed_already,
    exposed_by_regions,
)
from sfumato.adversaries.composition.shared_values import share_values
from sfumato.adversaries.composition.summary import values_left
from sfumato.adversaries.locating.locate import Located, locate
from sfumato.adversaries.locating.targets import read_targets
from sfumato.errors import InputError, ResourceError, quoted
from sfumato.ledger.check import Basis, Check, Finding
from sfumato.numbers import Bools, Ints
from sfumato.release.groups import Groups
from sfumato.release.membership import inside_of, with_inside
from sfumato.release.release import Release
from sfumato.table.load import Table


def check_release(
    new: Release,
    earlier: Sequence[Release],
    targets: object = None,
    *,
    population: Table | None = None,
    share: float = 0.0,
    confidence: float = 1.0,
    sensitive: str | None = None,
    counting: Counting = "all",
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
    if new.scheme == "randomised":
        notes.append("counts of the new release are noisy; its promise bounds what it gives away")
    if not earlier:
        notes.append("nothing was released before, so the new release is judged by itself")
    noisy = [one.label for one in earlier if one.scheme == "randomised"]
    if noisy:
        notes.append(f"randomised, bounded by their promise: {', '.join(noisy)}")
    exact = [one for one in earlier if one.scheme != "randomised"]
    chosen = [] if new.scheme == "randomised" else _attributes(new, sensitive)
    given = targets if targets is not None else population
    basis: Basis = "combinations"
    if given is not None:
        basis = "targets" if targets is not None else "population"
    elif inside_of(new) is not None:
        basis = "people"
    findings = []
    for name in chosen:
        related = [one for one in exact if name in one.by_attribute]
        unrelated = [one.label for one in exact if name not in one.by_attribute]
        if unrelated:
            notes.append(f"tell nothing about {name!r}: {', '.join(unrelated)}")
        findings.append(_finding(new, related, name, given, most, counting))
    return Check(
        new.label,
        tuple(one.label for one in earlier),
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
    given: object,
    most: int,
    counting: Counting,
) -> Finding:
    """The people exposed by a new release and earlier ones: of at most `most` values left."""
    for one in earlier:
        share_values([new, one], name)  # refuses what cannot be compared at all
    if given is not None:
        return _of_targets(new, earlier, name, given, most)
    groups = with_inside(new, new.groups_for(name))
    if groups.inside is not None:
        return _of_people(groups, earlier, name, most)
    try:
        return _of_regions(groups, earlier, name, most, counting)
    except (InputError, ResourceError) as error:
        people = int(groups.sizes.sum())
        alone = int(groups.sizes[groups.distinct <= most].sum())
        added = None if counting == "all" else (0, people)
        told = str(error)
        return Finding(name, people, alone, None, (alone, people), (), reason=told, added=added)


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
        int(inside.n.sum()),
        int(groups.sizes[groups.distinct <= most].sum()),
        watched.exposed_before(groups, most),
        (together, together),
        tuple((one.label, exposed(one)) for one in earlier),
        added=(added, added),
    )


def _of_targets(
    new: Release, earlier: Sequence[Release], name: str, given: object, most: int
) -> Finding:
    """People who are given: located in the new release as an adversary locates them."""
    columns = [*new.regions.columns]
    for release in earlier:
        columns += [column for column in release.regions.columns if column not in columns]
    people = read_targets(given, columns)
    groups, found = new.groups_for(name), locate(new, people)
    per_case = np.bincount(people.case, weights=people.people, minlength=people.cases)
    here = np.flatnonzero(np.diff(found.indptr))
    indptr, codes = _shown(groups, found, here)
    one_each = np.arange(len(here) + 1)

    def exposed(exposure: Exposure) -> Bools:
        found: Bools = exposure.fewest(indptr, codes, one_each, here) <= most
        return found

    def counted(chosen: Bools) -> int:
        return int(per_case[here[chosen]].sum())

    exposure = expose(groups, earlier, people)
    known = exposure.alone() <= most
    now = exposed(exposure)
    together, added = counted(now), counted(now & ~exposed_already(exposure, most)[here])
    return Finding(
        name,
        int(per_case[here].sum()),
        int(per_case[here[np.diff(indptr) <= most]].sum()),
        int(per_case[here[known[here]]].sum()),
        (together, together),
        tuple((one.label, counted(exposed(expose(groups, [one], people)))) for one in earlier),
        int(per_case.sum() - per_case[here].sum()),
        added=(added, added),
    )


def _shown(groups: Groups, found: Located, here: Ints) -> tuple[Ints, Ints]:
    """The values that the groups of each case show, each once."""
    mine = found.take(here)
    case = np.repeat(np.arange(len(here)), np.diff(mine.indptr))
    many = groups.distinct[mine.groups]
    stored = np.repeat(groups.indptr[mine.groups] - (np.cumsum(many) - many), many)
    stored += np.arange(len(stored))
    keys = np.unique(np.repeat(case, many) * groups.width + groups.indices[stored])
    owner, codes = np.divmod(keys, groups.width)
    return np.searchsorted(owner, np.arange(len(here) + 1)).astype(np.int64), codes


def _of_regions(
    groups: Groups, earlier: Sequence[Release], name: str, most: int, counting: Counting
) -> Finding:
    """Nobody's values are known: every combination the groups allow."""

    def exposed(releases: Sequence[Release], counting: Counting = "all") -> tuple[int, int]:
        found = exposed_by_regions(groups, releases, most, counting)
        return int(found.sure.sum()), int(found.possible.sum())

    return Finding(
        name,
        int(groups.sizes.sum()),
        int(groups.sizes[groups.distinct <= most].sum()),
        None,
        exposed(earlier),
        tuple((one.label, exposed([one])[1]) for one in earlier),
        added=None if counting == "all" else exposed(earlier, "added"),
    )
