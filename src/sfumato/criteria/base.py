"""The criterion contract: measure a release, decide whether a bound holds, say how tightly.

A criterion has one of two scopes. Scope "group": each group is judged alone, and searches call
`holds(groups) -> bool[B]`. Scope "release": the groups are judged together (skyline, composition),
and a search carries a state through `start` and `split`.

Two closure flags tell searches what they may prune, and are property-tested for every registered
criterion. `merge_closed`: two groups that hold, merged, hold. `upward_closed`: a group that holds,
merged with *anything*, holds. In doubt a criterion does not hold: only the status "holds" counts.

Two methods of scope "group" are for searches that try changes one by one, and may be left out:
`count_rules` says the criterion as inequalities of counts, `tightened` is the same with less room.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.base import Asked, Attack, KnownTogether, Threat
from sfumato.adversaries.locating.people import can_count_register
from sfumato.adversaries.mechanism import NAME as UNDOES
from sfumato.counts.counts import TableCounts
from sfumato.criteria.count_rules import CountRule
from sfumato.criteria.splits import CandidateSplits, OneByOne
from sfumato.criteria.steps import BoundStep as BoundStep
from sfumato.criteria.steps import Ladder, steps_on
from sfumato.criteria.steps import OfPoints as OfPoints
from sfumato.criteria.steps import parameter as parameter
from sfumato.criteria.verdict import AT_END as AT_END
from sfumato.criteria.verdict import EXACT, ONE_ROW, PUBLISHED_ALONE, ROUNDED, UNDONE, UNOWNED
from sfumato.criteria.verdict import Measure as Measure
from sfumato.criteria.verdict import Ruling as Ruling
from sfumato.criteria.verdict import Sense as Sense
from sfumato.criteria.verdict import Verdict as Verdict
from sfumato.criteria.verdict import summarize as summarize
from sfumato.criteria.verdict import worst_of as worst_of
from sfumato.criteria.whole_table import MissingPeople, holds_of_all, whoever_is_missing
from sfumato.errors import InputError, PolicyError
from sfumato.numbers import Bools, Floats
from sfumato.release.build import joint_groups, lost_together, with_inside
from sfumato.release.groups import Groups
from sfumato.release.kinds import kinds_of
from sfumato.release.release import Release
from sfumato.release.write.weights import with_most_weights

if TYPE_CHECKING:
    from sfumato.table import Table


@dataclass(frozen=True, kw_only=True)
class Criterion(ABC):
    """A privacy definition with its parameters."""

    name: ClassVar[str]
    plain: ClassVar[str] = "{0.name} {0.required}"  # what it promises; {0} is the criterion
    scope: ClassVar[Literal["group", "release"]]
    if TYPE_CHECKING:  # at run time the name is free for a criterion that takes her as parameter
        adversary: ClassVar[str]  # whose belief it bounds; ask `against`
    needs: ClassVar[frozenset[str]] = frozenset()
    private: ClassVar[bool] = False  # True: measured on true values, so the figure stays private
    reads_values: ClassVar[bool] = True  # False: only sizes matter, whatever is sensitive
    about_identity: ClassVar[bool] = False  # True: it asks who can be told apart, by QIs alone
    by_all_rows: ClassVar[bool] = False  # True: of linked rows all count, however many are known
    of_noise: ClassVar[bool] = False  # True: it can judge a randomised release, by its guarantee
    of_lists: ClassVar[bool] = False  # True: people's linked rows are judged by `OfLists` besides
    of_several: ClassVar[bool] = False  # True: it can judge people who have several values each
    of_rows: ClassVar[bool] = False  # True: of release scope, and defined for several rows
    reads_reference: ClassVar[bool] = False  # True: it refers to everybody's distribution
    before: ClassVar[Sequence[Release] | None] = None  # earlier ones that it looks people up in
    of_signatures: ClassVar[bool] = False  # True: it judges linked rows by person and by row itself
    joint: ClassVar[Sequence[str]] = ()
    """Sensitive columns that are one attribute together, its values being those that occur; for
    finished releases. Example: `joint = ["disease", "income"]`.
    """
    ladders: ClassVar[tuple[Ladder, ...]] = ()  # sensible values of what it may be asked by
    merge_closed: ClassVar[bool]
    upward_closed: ClassVar[bool]

    sensitive: str | None = None
    """The sensitive column it is about; without it every one is judged, and the worst counts.
    Example: `sensitive = "disease"`.
    """

    @property
    def against(self) -> str:
        """The adversary whose belief this one bounds, as the report's threat matrix names her."""
        return self.adversary

    @property
    def judges_lists(self) -> bool:
        """Whether it bounds what people have in any of several rows, or values."""
        return self.of_several or self.of_lists or self.of_signatures

    def bounds(self, adversary: str) -> bool:
        """Whether what holds here bounds an adversary too, by her name in the threat matrix."""
        return adversary == self.against or (self.survives_undoing and adversary == UNDOES)

    def adversaries(self, release: Release) -> Iterable[Asked]:
        """Those whom this names, for an audit to run on a release; with none, stand-ins run."""
        return ()

    def judge_attacks(self, release: Release, attacks: Sequence[Attack]) -> Verdict | None:
        """The verdict by attacks that were run already, where one is what this bounds."""
        return None

    def asked_with(self, release: Release, table: Table | None) -> Iterable[Asked]:
        """Those whose attack judges this and takes the original table, for who has it."""
        return ()

    @property
    def limit(self) -> float | None:
        """What it allows of the figure that charts of its adversary draw, if they do."""
        return None

    @property
    def together(self) -> KnownTogether | None:
        """What it allows all releases together to give away, if that is what it bounds."""
        return None

    @property
    def population_table(self) -> Table | None:
        """The table of the population that this names, if it does; linkage is measured on it."""
        return None

    def steps(self) -> Sequence[BoundStep]:
        """The same one step looser and tighter; whatever holds by this holds by the looser ones."""
        return tuple(steps_on(self, self.ladders))

    @property
    def fewest_people(self) -> int:
        """No group of fewer people can hold; what searches need not even try."""
        return 1

    @property
    def by_size_alone(self) -> bool:
        """Whether every group of as many people or more holds."""
        return False

    def bind(self, counts: TableCounts) -> Criterion:
        """The criterion as a search uses it, which knows the table before it starts."""
        if self.joint:
            raise PolicyError(f"{self.name}: joint targets {AT_END}")
        return self

    @property
    def reads_weights(self) -> bool:
        """Whether it adds up survey weights, which not every release publishes."""
        return False

    def stays_private(self, release: Release) -> bool:
        """Whether what is measured of a release is its owner's alone to know."""
        own_weights = self.reads_weights and release.schema.publish_weight is None
        return self.private or own_weights

    def check_columns(self, quasi: Sequence[str]) -> None:  # noqa: B027 - most name none
        """Refuse names of quasi-identifiers that are none; a policy asks with its schema's."""

    def of_release(self, release: Release, groups: Groups) -> Verdict:
        """Judge one attribute's groups of a release, for criteria that must see more than these."""
        return self.verdict(groups)

    def holds_whatever_missing(self, groups: Groups, missing: MissingPeople) -> bool:
        """Whether it holds whatever suppressed people have; asked where `reads_reference`."""
        return holds_of_all(self, groups, missing)

    def inapplicable(self, groups: Groups) -> str:
        """Why these groups cannot be judged at all; empty when they can."""
        if len(groups) == 0:
            return "there is no group to judge"
        if not self.reads_values:
            return ""
        if groups.width == 0:
            return "the table has no sensitive column"
        if not groups.single_valued:
            return "people have several values each; this criterion is defined for one"
        return ""

    def readings(self, groups: Groups) -> tuple[Groups, ...]:
        """As this judges them, the worst counts: two of rows published one by one."""
        rows = groups.beside.unlinked
        return (groups,) if rows is None or not self.reads_values else rows.readings_of(groups)

    @property
    def survives_undoing(self) -> bool:
        """Whether a group that holds by published values does so by what is believed of true ones.

        Who undoes what chance did to each value believes a mixture, the same for every group, of
        what it shows: distances shrink, ratios come nearer to 1; how many it shows says nothing.
        """
        return False

    def undefined(self, groups: Groups) -> str:
        """Why these groups cannot be judged at all, in whichever reading."""
        if groups.beside.altered_by_chance and self.reads_values and not self.survives_undoing:
            return UNDONE
        reasons = (self.inapplicable(reading) for reading in self.readings(groups))
        return next((reason for reason in reasons if reason), "")

    def unjudged(self, status: Ruling, why: str, groups: Groups | None = None) -> Verdict:
        """The verdict where there is none to give: nothing measured, and why."""
        attribute = None if groups is None else groups.attribute
        return Verdict(self.name, status, None, self.required, attribute=attribute, note=why)

    def decided(self, status: Ruling, measure: Measure, groups: Groups, note: str) -> Verdict:
        """The verdict on what was measured of these groups."""
        return Verdict(
            self.name,
            status,
            measure.value,
            self.required,
            measure.worst,
            np.asarray(measure.per_group, dtype=np.float64),
            measure.sense,
            groups.attribute if self.reads_values else None,
            note,
            at_most=measure.at_most,
            bounded=measure.bounded,
        )

    @property
    @abstractmethod
    def required(self) -> str:
        """The bound in words and signs, for tables and messages."""

    @property
    def promise(self) -> str:
        """What people are promised where it holds, in plain words."""
        return self.plain.format(self)

    @abstractmethod
    def measure(self, groups: Groups) -> Measure:
        """The tightest bound that would hold, per group and overall."""

    @abstractmethod
    def verdict(self, groups: Groups) -> Verdict:
        """Judge the groups."""

    def __str__(self) -> str:
        return f"{self.name} {self.required}"


@dataclass(frozen=True, kw_only=True)
class GroupCriterion(Criterion):
    """A criterion that judges each group alone."""

    scope: ClassVar[Literal["group", "release"]] = "group"

    @abstractmethod
    def judge(self, groups: Groups) -> tuple[Measure, Bools]:
        """Measure applicable groups and decide for each whether it holds."""

    def may_suppress(self, kept: Groups, suppressed: int) -> bool:
        """Whether all others may be left out beside the groups that are kept: how many is told."""
        return True

    def lost_below(self, groups: Groups, measured: Floats) -> Floats:
        """By group, of how many people at least every partition of it puts into groups that fail.

        `measured` is what this measured of the groups. Searches ask of groups that fail; 0 is true
        of all. Where a group of n people falls short by d(n), and d is convex and grows with n,
        parts fall short by no less together; those that hold do not, and a part of m people falls
        short by m times what the worst person alone would: the others hold that many.
        """
        return np.zeros(len(groups))

    def count_rules(self, everybody: Groups) -> Sequence[CountRule] | None:
        """What must be true of the counts of a group for it to hold, up to rounding at the bound.

        `everybody` is the table as one group. None: it cannot be said so, ask `holds`. All rules
        together must be what `holds` says, of every group of people of that table.
        """
        return None

    def tightened(self, share: float, everybody: Groups) -> Self:
        """The same criterion with only this share of the room between the table and the bound.

        Whatever holds by it holds by this one. Itself where there is nothing to tighten.
        """
        return self

    def explain(self, groups: Groups, measure: Measure, worst: int) -> str:
        """The worst group in plain words, for the verdict's note; searches never ask."""
        return ""

    def _judged(self, groups: Groups) -> tuple[Measure, Bools, tuple[Groups, Measure]]:
        """What is measured by all readings together, and which of them comes to the worst."""
        judged = [(reading, *self.judge(reading)) for reading in self.readings(groups)]
        if len(judged) == 1:
            return judged[0][1], judged[0][2], judged[0][:2]
        measures = [measure for _, measure, _ in judged]
        first = measures[0]
        less = first.sense in ("at_least", "above")
        figures = np.stack([measure.per_group for measure in measures])
        per_group = figures.min(axis=0) if less else figures.max(axis=0)
        parts = {name: part for measure in measures for name, part in measure.parts.items()}
        worse = min(judged, key=lambda case: case[1].value if less else -case[1].value)
        combined = Measure(per_group, groups.sizes, first.sense, parts)
        return combined, np.logical_and.reduce([case[2] for case in judged]), worse[:2]

    def measure(self, groups: Groups) -> Measure:
        if reason := self.undefined(groups):
            raise InputError(f"{self.name} cannot be measured: {reason}")
        return self._judged(groups)[0]

    def holds(self, groups: Groups) -> Bools:
        return self.holds_and_measure(groups)[0]

    def holds_and_measure(self, groups: Groups) -> tuple[Bools, Measure | None]:
        """Which groups hold, and what was measured of them; None where nothing can be."""
        if self.undefined(groups):
            return np.zeros(len(groups), dtype=bool), None
        measure, holds, _ = self._judged(groups)
        return holds, measure

    def verdict(self, groups: Groups) -> Verdict:
        if reason := self.undefined(groups):
            return self.unjudged("not_applicable", reason, groups)
        measure, holds, told_by = self._judged(groups)
        bad, people = groups.number(~holds), groups.headcount(~holds)
        note = f"{bad:,} of {groups.number():,} groups, {people} people" if bad else ""
        parts = ", ".join(f"{name} {value:.4g}" for name, value in measure.parts.items())
        # A criterion of several conditions may fail where this figure looks well.
        worst = measure.worst_of(np.flatnonzero(~holds)) if bad else measure.worst
        words = self.explain(*told_by, worst[0])
        text_ = "; ".join(text for text in (note, parts, words) if text)
        verdict = self.decided("violated" if bad else "holds", measure, groups, text_)
        return replace(verdict, worst=worst)


@dataclass(frozen=True, kw_only=True)
class ReleaseCriterion(Criterion):
    """A criterion that judges all groups together.

    `at_end`: no search can carry it along; it is judged once, on the finished release.
    """

    scope: ClassVar[Literal["group", "release"]] = "release"
    at_end: ClassVar[bool] = False

    @abstractmethod
    def start(self, groups: Groups) -> object:
        """The state of a search that begins with these groups: only this criterion's to read."""

    @abstractmethod
    def split(self, state: object, parent: Groups, children: Groups) -> object | None:
        """The state after one group is replaced by its children; None if that is not allowed."""

    def candidates(
        self, state: object, parents: Groups, children: Groups, first: npt.NDArray[np.int64]
    ) -> CandidateSplits:
        """Weigh many splits, here one by one: parent i would become the children first[i] to
        first[i + 1]."""
        return OneByOne(self, parents, children, first)


def judge(criterion: Criterion, release: Release) -> Verdict:
    """The verdict over the attribute a criterion names, or the worst over all of them."""
    verdict = _judged_as_told(criterion, release)
    if release.whole_unknown and criterion.reads_reference and verdict.measured is not None:
        return verdict.with_note(PUBLISHED_ALONE)
    if verdict.status != "violated" or not criterion.reads_weights:
        return verdict
    most = with_most_weights(release)
    if most is None or _judged_as_told(criterion, most).status == "violated":
        return verdict
    return replace(verdict, status="cannot_judge", note=ROUNDED)


def _judged_as_told(criterion: Criterion, release: Release) -> Verdict:
    if unreadable := _unreadable(criterion, release):
        return unreadable
    judged = _as_judged(criterion, release)
    verdict = worst_of(
        [
            criterion.unjudged("not_applicable", UNDONE, groups)
            if _cannot_undo(criterion, release, groups)
            else _of_release(criterion, judged, groups)
            for groups in groups_about(criterion, release)
        ]
    )
    if judged is not release:
        verdict = replace(verdict, per="row")
        if isinstance(criterion, GroupCriterion) and (lists := asked_of_lists(criterion)):
            verdict = worst_of([verdict, judge(lists, release)])
    elif release.by_row is not None and criterion.about_identity:
        return verdict if criterion.by_all_rows else replace(verdict, per="tuple")
    if verdict.holds and release.groups.owners_unknown:
        known = verdict.measured if (cap := verdict.sense == "at_least") else None
        verdict = replace(verdict, status="cannot_judge", measured=known, at_most=cap, note=UNOWNED)
    if release.regions.exact and criterion.about_identity:
        return replace(verdict.with_note(EXACT), per="tuple")
    return verdict


def asked_of_lists(criterion: GroupCriterion) -> GroupCriterion | None:
    """What is asked besides of all that people have whose rows a pseudonym links."""
    from sfumato.criteria.of_lists import OfLists

    return OfLists.of(criterion) if criterion.of_lists else None


def _of_release(criterion: Criterion, release: Release, groups: Groups) -> Verdict:
    """Judged by kind of group where counts are all that is read."""
    kinds = kinds_of(groups) if by_counts(criterion) else None
    judged = groups if kinds is None else kinds.groups
    verdict = whoever_is_missing(criterion, criterion.of_release(release, judged), release, judged)
    return verdict if kinds is None else verdict.of_all(kinds)


def named_threats(criteria: Iterable[Criterion], release: Release) -> Iterator[Threat]:
    """What those learn whom the criteria name, where they can be asked about this release."""
    for criterion in criteria:
        if not _unreadable(criterion, release):
            judged = _as_judged(criterion, release)
            for adversary, groups in criterion.adversaries(judged):
                if groups.beside.altered_by_chance:
                    continue  # she would take what chance made for true
                for threat in adversary.attack(judged, groups).threats():
                    yield replace(threat, of_row=judged is not release)


def _cannot_undo(criterion: Criterion, release: Release, groups: Groups) -> bool:
    """Whether a criterion would take values for people's own that were altered by chance."""
    by_chance = {name for name, perturbation in release.perturbed.items() if perturbation.by_chance}
    altered = groups.beside.altered_by_chance or bool(by_chance & set(criterion.joint))
    return altered and criterion.reads_values and not criterion.survives_undoing


def _as_judged(criterion: Criterion, release: Release) -> Release:
    """By row, where a pseudonym links rows and a criterion is defined for one value."""
    of_people = criterion.of_several or criterion.of_signatures
    if release.by_row is None or not criterion.reads_values or of_people:
        return release
    return release.by_row


def _unreadable(criterion: Criterion, release: Release) -> Verdict | None:
    """The verdict on a release of which a criterion can read nothing; None where it can."""
    if release.regions.noisy and not criterion.of_noise:
        return criterion.unjudged(
            "not_applicable", "counts are noisy; the release carries its own guarantee"
        )
    if release.groups.beside.unlinked is not None and not _of_rows(criterion):
        return criterion.unjudged("not_applicable", ONE_ROW)
    if release.by_row is not None and not by_signatures(criterion):
        return criterion.unjudged(
            "cannot_judge",
            "it needs one description of each person, and a pseudonym links several rows of hers",
        )
    if criterion.joint and (lost := lost_together(release)):
        return criterion.unjudged("cannot_judge", lost)
    large, register = release.groups.multiplicity is not None, criterion.population_table
    if large and not (by_counts(criterion) or can_count_register(release, register)):
        why = "it needs every group's own description and people, and the table is larger than "
        return criterion.unjudged("cannot_judge", f"{why}memory; raise the memory limit")
    return None


def _of_rows(criterion: Criterion) -> bool:
    """Whether a criterion says what it means where people have several rows."""
    if isinstance(criterion, ReleaseCriterion):
        return criterion.of_rows
    return not criterion.joint and not (criterion.reads_values and criterion.needs - {"protect"})


def by_signatures(criterion: Criterion) -> bool:
    """Whether it can be judged where a pseudonym links several rows of a person."""
    readable = criterion.of_rows or by_counts(criterion)
    return readable or not (criterion.reads_values or criterion.needs)


def by_counts(criterion: Criterion) -> bool:
    """Whether all a criterion reads of a group is what it counts, one attribute at a time."""
    more = isinstance(criterion, ReleaseCriterion) and criterion.at_end and not criterion.of_noise
    return not (more or criterion.joint or criterion.needs - {"protect"})


def groups_about(criterion: Criterion, release: Release) -> list[Groups]:
    """The groups a criterion judges: by its attribute, by each of them, or by several jointly.

    One about identity judges those who cannot be told apart by their quasi-identifiers; one that is
    defined for one value judges the rows that a pseudonym links one by one.
    """
    release = _as_judged(criterion, release)
    if not criterion.reads_values:
        by_signature = release.by_row is not None and criterion.by_all_rows
        apart = criterion.about_identity and not by_signature
        return [release.indistinguishable if apart else release.groups]
    names = list(release.by_attribute) if criterion.sensitive is None else [criterion.sensitive]
    joint = [joint_groups(release.by_row or release, criterion.joint)] if criterion.joint else []
    about = joint or [release.groups_for(name) for name in names]
    if "members" in criterion.needs and release.by_row is None:
        about = [with_inside(release, groups, criterion.before) for groups in about]
    return about
