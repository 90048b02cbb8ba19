"""How few values does a new release leave of a person, given what was released before?

Whoever is in a group with the values V, and whom earlier releases locate, has her value in V and in
what every earlier release that she is in shows of her. In which of them she is, nobody outside
knows; so every choice of earlier releases that leaves something is taken into account, and the
fewest values any of them leaves is what she must be judged by. Where her value is in all of them,
that is the plain intersection; where the intersection is empty ("inconsistent": nobody is in all)
it is still a true bound for everybody who may be there.

Let T(v) be the earlier releases that show v of her. The choices that leave v are those within T(v),
and the whole of T(v) leaves the fewest: so the answer is the least, over v in V, of the number of
u in V with T(u) containing T(v). No choice needs to be tried.

Where nobody knows the people, every combination of values that a group's regions allow is tried.
What searches and verdicts ask is how many people of each group are known too well (`Watched`).

Her *drop* is how many values fewer are left than the one release leaves that leaves fewest, the new
one or one of the earlier: what only the combination does. Whoever drops by 1 or more is one of the
paper's vulnerable population. Where nothing is left by all releases that locate her, some of them
are about others; which ones nobody knows, so her drop is told from her group in the new release
alone, which it cannot exceed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import get_args

import numpy as np

from sfumato.adversaries.base import Counting, KnownTogether
from sfumato.adversaries.composition.combinations import Combinations, combinations
from sfumato.adversaries.composition.intersection import (
    SharedValues,
    common_attribute,
    match_values,
    of_one_value,
    stack,
)
from sfumato.adversaries.composition.summary import values_left
from sfumato.adversaries.locating.locate import ColumnScales, IndexesOfReleases, Located, locate
from sfumato.adversaries.locating.targets import Targets, targets_of
from sfumato.counts.counts import Counts
from sfumato.errors import InputError, quoted
from sfumato.numbers import Bools, Codes, Ints, SetWords, offsets_of, sums_by_row
from sfumato.release.groups import Groups
from sfumato.release.release import Release


@dataclass(frozen=True)
class ExposureRule:
    """Who counts as exposed: at most `most` values are left of her, and she drops by `drop`.

    `counting`: all of them, or those the new release "added" to whom the earlier ones expose by
    themselves.
    """

    most: int
    counting: Counting = "all"
    drop: int = 0

    @classmethod
    def of(cls, bound: KnownTogether) -> ExposureRule:
        """By a confidence; one of 0 asks for a drop, however many values are left."""
        if bound.counting not in get_args(Counting):
            raise InputError(
                f"counting = {quoted(bound.counting)} is not allowed; use 'all', or 'added' for "
                "the people whom earlier releases do not expose by themselves"
            )
        drop = bound.drop
        if not isinstance(drop, int) or isinstance(drop, bool) or drop < 0:
            raise InputError(
                f"drop = {quoted(drop)} is not allowed; it is a whole number: so many values fewer "
                "than any one release leaves, 1 for all who lose any"
            )
        anyhow = drop > 0 and not isinstance(bound.confidence, bool) and bound.confidence == 0
        most = np.iinfo(np.int64).max if anyhow else values_left(bound.confidence)
        return cls(most, bound.counting, drop)


@dataclass(frozen=True)
class EarlierExposure:
    """What earlier releases show of each case, ready for any group of a new one.

    Of case i they show the values `values[ends[i]:ends[i + 1]]`, each in the releases whose bits
    are set beside it; `located[i]` are the releases that locate her at all. Values are numbered as
    the new release numbers them, those it does not know come after.
    """

    labels: tuple[str, ...]
    ends: Ints
    values: Ints
    shown_by: SetWords
    located: SetWords
    _already: dict[ExposureRule, Bools] = field(default_factory=dict, repr=False, compare=False)

    def fewest(self, indptr: Ints, codes: Ints | Codes, begins: Ints, cases: Ints) -> Ints:
        """The fewest values left of each member.

        Group g shows the values `codes[indptr[g]:indptr[g + 1]]` and has the members
        `cases[begins[g]:begins[g + 1]]`.
        """
        return self._left(indptr, codes, begins, cases)[0]

    def exposed(
        self, indptr: Ints, codes: Ints | Codes, begins: Ints, cases: Ints, rule: ExposureRule
    ) -> Bools:
        """Which members are exposed by this rule, of all or of those who were not before."""
        left, by_all = self._left(indptr, codes, begins, cases)
        counted: Bools = left <= rule.most
        if rule.drop:
            group = np.repeat(np.diff(indptr), np.diff(begins))
            by_one = np.where(by_all, np.minimum(group, self.fewest_by_one[cases]), group)
            counted &= by_one - left >= rule.drop
        if rule.counting == "added":
            counted &= ~self.exposed_already(rule)[cases]
        return counted

    def exposed_already(self, rule: ExposureRule) -> Bools:
        """The cases whom the earlier releases expose by themselves; they must have them."""
        if rule not in self._already:
            exposed: Bools = self.located_anywhere() & (self.alone <= rule.most)
            if rule.drop:
                exposed &= self.fewest_by_one - self.alone >= rule.drop
            self._already[rule] = exposed
        return self._already[rule]

    @cached_property
    def fewest_by_one(self) -> Ints:
        """The fewest values that one earlier release leaves of each case; all, if none has her."""
        fewest = np.full(len(self.ends) - 1, len(self.labels), dtype=np.int64)
        for release in range(64 * self.located.shape[1]):
            word, bit = release // 64, np.uint64(1) << np.uint64(release % 64)
            there = (self.located[:, word] & bit) != 0
            if there.any():
                left = sums_by_row((self.shown_by[:, word] & bit) != 0, self.ends)
                fewest = np.where(there, np.minimum(fewest, left), fewest)
        return fewest

    def only(self, releases: Iterable[int]) -> EarlierExposure:
        """What some of the earlier releases show, told by their numbers."""
        mask = np.zeros(self.located.shape[1], dtype=np.uint64)
        for release in releases:
            mask[release // 64] |= np.uint64(1) << np.uint64(release % 64)
        shown_by = self.shown_by & mask
        kept: Bools = np.logical_or.reduce(shown_by != 0, axis=1)
        ends = offsets_of(sums_by_row(kept, self.ends))
        return EarlierExposure(
            self.labels, ends, self.values[kept], shown_by[kept], self.located & mask
        )

    def _left(
        self, indptr: Ints, codes: Ints | Codes, begins: Ints, cases: Ints
    ) -> tuple[Ints, Bools]:
        """The fewest values left of each member, and whether all that locate her leave them."""
        from sfumato.adversaries.composition.kernel import fewest  # its compiler loads slowly

        return fewest(
            np.asarray(indptr, dtype=np.int64),
            np.asarray(codes, dtype=np.int64),
            np.asarray(begins, dtype=np.int64),
            np.asarray(cases, dtype=np.int64),
            len(self.labels),
            self.ends,
            self.values,
            self.shown_by,
            self.located,
        )

    @cached_property
    def alone(self) -> Ints:
        """The fewest values the earlier releases leave of each case by themselves."""
        cases = len(self.ends) - 1
        values = np.arange(len(self.labels))
        return self.fewest(
            np.array([0, len(values)]), values, np.array([0, cases]), np.arange(cases)
        )

    def located_anywhere(self) -> Bools:
        """The cases that some earlier release locates."""
        anywhere: Bools = np.logical_or.reduce(self.located != 0, axis=1)
        return anywhere

    def left_at_most(self, cases: Ints, own: Ints) -> Ints:
        """The most values that any new release leaves of people of these cases and own values.

        Whatever group somebody is published in shows her own value v, so what is left of her is at
        most the u with T(u) containing T(v), over all values u there are.
        """
        from sfumato.adversaries.composition.kernel import left_at_most  # its compiler is slow

        return left_at_most(
            np.asarray(cases, dtype=np.int64),
            np.asarray(own, dtype=np.int64),
            len(self.labels),
            self.ends,
            self.values,
            self.shown_by,
        )


def expose(
    new: Groups,
    earlier: Sequence[Release],
    people: Targets,
    *,
    label: str = "the new release",
    scale: ColumnScales | None = None,
    indexes: IndexesOfReleases | None = None,
) -> EarlierExposure:
    """Locate people in the earlier releases, about the attribute of the new groups.

    An earlier release without that attribute tells nothing about it and is left out. `indexes`: as
    `locate` takes them.
    """
    return remembered(*locate_in(new, earlier, people, label, scale, indexes), people.cases)


def locate_in(
    new: Groups,
    earlier: Sequence[Release],
    people: Targets,
    label: str = "the new release",
    scale: ColumnScales | None = None,
    indexes: IndexesOfReleases | None = None,
) -> tuple[SharedValues, list[Located]]:
    """The values of the new groups and of the earlier releases about them, and where people are."""
    chosen = [release for release in earlier if _about(new.attribute, release) is not None]
    sources = [
        (release.label, of_one_value(release.groups_for(_about(new.attribute, release) or "")))
        for release in chosen
    ]
    for release in chosen:
        if release.by_row is not None:
            raise InputError(
                f"{release.label}: a pseudonym links people's rows, and which of somebody's rows "
                "it holds is not known here"
            )
    for name, groups in sources:
        if not groups.single_valued:
            raise InputError(
                f"{name}: people have several values of {groups.attribute!r} each; composition "
                "is judged for one value a person"
            )
    shared = match_values(new.attribute or "", [(label, new), *sources])
    return shared, [locate(release, people, scale, indexes) for release in chosen]


def _about(attribute: str | None, release: Release) -> str | None:
    """The column of an earlier release that is about the same attribute, if it has one."""
    if attribute is None:
        return common_attribute([release])
    return attribute if attribute in release.by_attribute else None


def remembered(
    shared: SharedValues, located_by_release: Sequence[Located], cases: int
) -> EarlierExposure:
    """What the earlier releases show of each case; `shared` has the new groups first."""
    from sfumato.adversaries.composition.kernel import remember  # its compiler loads slowly

    words = max(1, -(-len(located_by_release) // 64))
    if not located_by_release:
        none = np.zeros(0, dtype=np.int64)
        located = np.zeros((cases, words), dtype=np.uint64)
        return EarlierExposure(
            shared.labels, np.zeros(cases + 1, np.int64), none, located[:0], located
        )
    before = SharedValues(
        shared.attribute, shared.labels, shared.numbers[1:], shared.groups[1:], ()
    )
    laid = stack(before, located_by_release)
    shows = np.concatenate([group.data for group in before.groups]) > 0
    ends, values, shown_by, located = remember(
        laid.indptr,
        laid.codes,
        shows,
        laid.begins,
        laid.groups,
        laid.units,
        len(shared.labels),
        words,
    )
    return EarlierExposure(shared.labels, ends, values, shown_by, located)


# How many people of each group are known too well, together with what was released before.
#
# If it is known who is inside a group, each tuple is judged by the earlier releases that locate
# it, and the count is exact. If only regions are known, every combination of values they allow is
# tried: a group none of whose combinations is exposed has nobody exposed, one all of whose are has
# everybody. If not even those are known, only what a group gives away by itself is sure.
#
# Counted are all who are known too well, or only those whom the new release adds: people whom the
# earlier releases, by themselves, do not expose.


@dataclass(frozen=True)
class Exposed:
    """People of each group who are surely exposed, and those who possibly are."""

    sure: Ints
    possible: Ints

    @property
    def exact(self) -> bool:
        return bool((self.sure == self.possible).all())

    def people(self, groups: Groups) -> tuple[int, int]:
        """At least and at most how many of all groups; one who is in several counts once."""
        sure, possible = int(self.sure.sum()), int(self.possible.sum())
        if groups.several is None:
            return sure, possible
        whole = groups.headcount(self.sure >= groups.sizes)
        least = int(self.sure.max(initial=0))
        return (
            least if whole.at_most else max(least, whole.number),
            min(possible, groups.people(self.possible > 0)),
        )


@dataclass(frozen=True)
class Watched:
    """A table's people as earlier releases know them, about one attribute."""

    counts: Counts
    case: Ints
    people: Targets
    exposure: EarlierExposure

    @classmethod
    def of(cls, counts: Counts, groups: Groups, earlier: Sequence[Release]) -> Watched:
        """`groups` tell the attribute and its labels; any groups of that table do."""
        people = targets_of(counts)
        return cls(counts, counts.group_of[0], people, expose(groups, earlier, people))

    def exposed(self, groups: Groups, rule: ExposureRule) -> Ints:
        """The people inside each group who are exposed.

        This is what a search calls, again and again: linear in the people inside the groups.
        """
        inside = groups.inside
        assert inside is not None
        cases = self.case[inside.tuples]
        counted = self.exposure.exposed(groups.indptr, groups.indices, inside.indptr, cases, rule)
        return sums_by_row(np.where(counted, inside.n, 0), inside.indptr)

    def exposed_before(self, groups: Groups, rule: ExposureRule) -> int:
        """The people inside the groups whom the earlier releases expose by themselves."""
        inside = groups.inside
        assert inside is not None
        already = self.exposure.exposed_already(rule)
        return int(inside.n[already[self.case[inside.tuples]]].sum())

    def exposed_whatever(self, groups: Groups, most: int) -> int | None:
        """The people inside the groups whom no release can hide; None where values are unknown.

        Fewer than those exposed before: what a group shows may tell that somebody is not one of an
        earlier release's people. Of these, what is left is too little in any group they may be in.
        """
        inside = groups.inside
        assert inside is not None
        names = [attribute.name for attribute in self.counts.sensitive]
        if groups.attribute not in names:  # a release that was read lists people without values
            return None
        own = self.counts.values[names.index(groups.attribute)][inside.tuples]
        left = self.exposure.left_at_most(self.case[inside.tuples], own)
        return int(inside.n[left <= most].sum())


def exposed_by_regions(groups: Groups, earlier: Sequence[Release], rule: ExposureRule) -> Exposed:
    """What can be said of groups whose people are not known."""
    if groups.regions is None:
        return Exposed(exposed_alone(groups, rule), groups.sizes)
    tried = combinations(groups.regions, earlier)
    return exposed_by_combinations(groups, tried, expose(groups, earlier, tried.targets), rule)


def exposed_by_combinations(
    groups: Groups, tried: Combinations, exposure: EarlierExposure, rule: ExposureRule
) -> Exposed:
    """The same by every combination their regions allow, as earlier releases show it."""
    alone = exposed_alone(groups, rule)
    counted = exposure.exposed(groups.indptr, groups.indices, tried.begins, tried.cases, rule)
    many = np.diff(tried.begins)
    hits = sums_by_row(counted, tried.begins)
    # A group that allows nothing we can think of says nothing about its people.
    sure = np.where((hits == many) & (many > 0), groups.sizes, alone)
    return Exposed(sure, np.where((hits > 0) | (many == 0), groups.sizes, alone))


def exposed_alone(groups: Groups, rule: ExposureRule) -> Ints:
    """The people whom groups give away by themselves; nobody knows whether that is new."""
    exposed = np.where(groups.distinct <= rule.most, groups.sizes, 0)
    return exposed if rule.counting == "all" and not rule.drop else np.zeros_like(exposed)
