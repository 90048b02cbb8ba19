"""Skyline privacy (Chen, LeFevre, Ramakrishnan: Privacy Skyline: Privacy with Multidimensional
Adversarial Knowledge, VLDB 2007).

Nobody who knows l facts about her target, k about other people and m about his family becomes c
sure or surer that the target has a sensitive value: for every target, every such facts, and every
point (l, k, m, c) of the skyline. What she knows, how she reasons: `adversaries.skyline.breach`.
A point that another one implies is dropped, and the verdict says so.

Single values, and lists that are published whole: merging groups never makes anybody surer, so a
table that is unsafe as one group has no safe release. Several values in one bag: merging may harm,
and an unsafe group may have a safe split; so may a group whose lists are so many that what she
believes is known as an upper bound only (the verdict then says "at most"). Rows published one by
one are judged when a release is finished, which knows whose they are. Errata
of Fig. 6: "A5 = min{A4, ...}" must be min{A5, ...}, and the starting group is never checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import floor
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.adversaries.base import Asked
from sfumato.adversaries.skyline.acquaintance import Acquaintance
from sfumato.adversaries.skyline.breach import (
    CASE_WORDS,
    NAME,
    AnyCase,
    case_of,
    check_case,
    check_point,
    minima_bounds,
    odds_at,
    safe,
    unfit_for_facts,
    unknown_value,
)
from sfumato.adversaries.skyline.grounding import ground
from sfumato.adversaries.skyline.unlinked_rows import is_reached, rows_breach
from sfumato.counts.counts import Attribute, TableCounts
from sfumato.criteria.base import (
    Measure,
    ReleaseCriterion,
    Verdict,
    groups_about,
    summarize,
)
from sfumato.criteria.skyline_points import KnowledgePoint, Scale, points_of, undominated
from sfumato.criteria.skyline_search import Present, Questions, begin, weigh
from sfumato.criteria.splits import CandidateSplits
from sfumato.criteria.steps import WAYS, BoundStep
from sfumato.criteria.verdict import UNOWNED
from sfumato.errors import InputError, PolicyError
from sfumato.numbers import Bools, Floats, Ints, shortest
from sfumato.release.groups import Groups
from sfumato.release.release import Release

Values = str | tuple[str, ...] | Mapping[str, tuple[KnowledgePoint, ...]] | None


@dataclass(frozen=True)
class SkylinePrivacy(ReleaseCriterion):
    """Nobody who knows (l, k, m) is c sure of anybody's value, for each point (l, k, m, c)."""

    name: ClassVar[str] = "skyline-privacy"
    plain: ClassVar[str] = "nobody who knows the facts it names is {0.strictest:.0%} sure"
    adversary: ClassVar[str] = NAME
    coordinates: ClassVar[tuple[str, ...]] = KnowledgePoint._fields
    of_several: ClassVar[bool] = True
    of_rows: ClassVar[bool] = True
    upward_closed: ClassVar[bool] = False

    points: Sequence[KnowledgePoint]
    """Each [l, k, m, c], as many facts about her target, about others and about the family and a
    confidence. Example: `points = [[1, 2, 3, 0.9]]`."""
    value: Values = field(default=None, hash=False)
    """Protect this value or these only; or points by value, which then count instead of `points`
    (those may be empty: other values are not protected). Example: `value = "flu"`."""
    case: AnyCase | None = None
    """Judge only releases that publish people's values so: one a person ("single"), several in one
    bag a group ("set", "multiset"), each person's whole ("lists"). Example: `case = "single"`."""

    def __post_init__(self) -> None:
        if self.case is not None:
            try:
                check_case(self.case)
            except InputError as error:
                raise PolicyError(f"{self.name}: {error}") from None
        points = points_of(self.name, "points", self.points)
        given: Any = self.value
        if isinstance(given, Mapping):
            lists = {str(label): points_of(self.name, "value", own) for label, own in given.items()}
            object.__setattr__(self, "value", lists)
        elif given is not None and not isinstance(given, str):
            if not isinstance(given, Sequence) or not given:
                raise PolicyError(
                    f"{self.name}: value = {given!r} is not allowed; it must be a value, a list of "
                    "values, or a table from values to lists of points"
                )
            object.__setattr__(self, "value", tuple(str(label) for label in given))
        object.__setattr__(self, "points", points)
        if not self._lists:
            raise PolicyError(
                f"{self.name}: points = {self.points!r} asks for nothing; add a point"
            )

    @property
    def limit(self) -> float | None:
        return min((point.c for point in self.points), default=None)

    @cached_property
    def _lists(self) -> tuple[tuple[KnowledgePoint, ...], ...]:
        """Every list of points that some value must keep."""
        own = tuple(self.value.values()) if isinstance(self.value, Mapping) else ()
        return tuple(points for points in (tuple(self.points), *own) if points)

    def points_for(self, label: str) -> tuple[KnowledgePoint, ...]:
        """The points a value must keep, none of them implied by another."""
        if isinstance(self.value, Mapping) and label in self.value:
            return undominated(self.value[label])[0]
        listed = (self.value,) if isinstance(self.value, str) else self.value
        return self._default if not isinstance(listed, tuple) or label in listed else ()

    @cached_property
    def _default(self) -> tuple[KnowledgePoint, ...]:
        return undominated(self.points)[0]

    @property
    def strictest(self) -> float:
        """The smallest confidence; what is measured is scaled to it where points differ."""
        return min(point.c for points in self._lists for point in points)

    @property
    def required(self) -> str:
        texts = [
            f"{shortest(point.c)} knowing {point.known}" for point in undominated(self.points)[0]
        ]
        if isinstance(self.value, Mapping):
            texts += [
                f"{shortest(point.c)} knowing {point.known} of {label!r}"
                for label, points in self.value.items()
                for point in undominated(points)[0]
            ]
        only = "" if self.value is None or isinstance(self.value, Mapping) else self.value
        listed = only if isinstance(only, str) else ", ".join(only)
        bound = f"certainty < {', < '.join(texts)}{f' ({listed})' if listed else ''}"
        free = (
            []
            if not isinstance(self.value, Mapping)
            else [v for v in self.value if not self.value[v]]
        )
        bound = f"{bound}; {', '.join(free)} not protected" if free else bound
        return bound if self.case is None else f"{bound}; case {self.case}"

    def at(self, coordinates: Mapping[str, float]) -> Self:
        """With some of l, k, m and c the same in every point."""
        given: Mapping[str, Any] = coordinates
        return self._changed(lambda point: point._replace(**given))

    def steps(self) -> Sequence[BoundStep]:
        """All points by the next confidence, or by one fact less or more of each kind."""
        surer = ("one step surer allowed", "one step less sure allowed")
        facts = ("one fact less of each kind known", "one fact more of each kind known")
        return tuple(
            BoundStep(changed, way, words)
            for change, both_words in ((KnowledgePoint.step, surer), (KnowledgePoint.fact, facts))
            for way, words in zip(WAYS, both_words, strict=True)
            if (changed := self._changed(partial(change, way=way))) != self
        )

    def _changed(self, change: Callable[[KnowledgePoint], KnowledgePoint]) -> Self:
        """With every point changed alike."""
        value = self.value
        if isinstance(value, Mapping):
            value = {label: tuple(map(change, points)) for label, points in value.items()}
        return replace(self, points=tuple(map(change, self.points)), value=value)

    # -- what a search may rely on ----------------------------------------------------------------

    def bind(self, counts: TableCounts) -> SkylineOfTable:
        rows = counts.of_rows
        about = () if rows else counts.sensitive
        about = tuple(a for a in about if self.sensitive in (None, a.name))
        asked = self.points, self.value, self.case
        return SkylineOfTable(*asked, sensitive=self.sensitive, about=about, unlinked=rows)

    @property
    def about(self) -> tuple[Attribute, ...]:
        """The attributes it is about; not known before the table is."""
        return ()

    @cached_property
    def closed(self) -> frozenset[str]:
        """Those of them that merging cannot spoil: of single values, or of lists that can be judged
        exactly; never of values in a bag."""
        return frozenset(attribute.name for attribute in self.about if self._closed(attribute))

    def _closed(self, attribute: Attribute) -> bool:
        if attribute.sets is None:
            return True
        if attribute.lists is None:
            return False
        from sfumato.adversaries.skyline.whole_lists import always_exact

        facts = max(point.l for points in self._lists for point in points)
        return always_exact(attribute.lists, len(attribute.domain), facts)

    @property
    def merge_closed(self) -> bool:  # type: ignore[override]
        """As far as is known: not before the table is."""
        return 0 < len(self.about) == len(self.closed)

    @property
    def fewest_people(self) -> int:
        """Every group has some value, which must outlast what she knows."""
        own = self.value.values() if isinstance(self.value, Mapping) else ()
        listed = isinstance(self.value, str | tuple)
        single = {attribute.case for attribute in self.about} == {"single"}
        if listed or not single or not all((self.points, *own)):
            return 1  # there may be a group without values, or none of whose is asked about
        return min(max(_fewest(point) for point in points) for points in self._lists)

    def inapplicable(self, groups: Groups) -> str:
        if len(groups) == 0:
            return "there is no group to judge"
        if not groups.width:
            return "the table has no sensitive column"
        if groups.beside.unlinked is not None:
            return unfit_for_facts(groups)  # by groups alone: `of_release` knows whose rows
        return "" if self.case is None else _unlike_case(groups, self.case)

    @cached_property
    def _asked(self) -> dict[tuple[str | None, tuple[str, ...], AnyCase], Questions]:
        return {}

    def questions(self, groups: Groups) -> Questions:
        """What is asked of these groups: a column for each value and point."""
        rows = groups.beside.unlinked is not None
        case = "lists" if rows else case_of(groups, self.case)
        key = (groups.attribute, groups.values, case)  # the same for every batch
        if key not in self._asked:
            self._asked[key] = self._ask(groups, case)
        return self._asked[key]

    def _ask(self, groups: Groups, case: AnyCase) -> Questions:
        labels = [self.value] if isinstance(self.value, str) else self.value or ()
        for label in labels:
            if label not in groups.values:
                raise PolicyError(f"{self.name}: value: {unknown_value(groups, label)}")
        asked = [
            (code, point)
            for code, label in enumerate(groups.values)
            for point in self.points_for(label)
        ]
        return Questions(
            np.array([code for code, _ in asked], dtype=np.int64),
            np.array([point.known for _, point in asked], dtype=np.int64).reshape(-1, 3),
            tuple(point.confidence for _, point in asked),
            case,
            case == "single" or groups.attribute in self.closed,
        )

    def known(self, groups: Groups) -> dict[tuple[int, int, int], list[int]]:
        """The knowledge in question, and the codes of the values it is about."""
        asked, values_at = self.questions(groups), dict[tuple[int, int, int], list[int]]()
        for code, point in zip(asked.targets.tolist(), asked.points.tolist(), strict=True):
            values_at.setdefault(check_point(point), []).append(code)
        return values_at

    def adversaries(self, release: Release) -> Iterator[Asked]:
        """Whoever knows as much as a point says, by the values it is about."""
        for groups in groups_about(self, release):
            if groups.beside.unlinked is not None or not self.inapplicable(groups):
                for known, values in self.known(groups).items():
                    yield Asked(Acquaintance(known, tuple(values), self.case), groups)

    def start(self, groups: Groups) -> Floats | Present:
        return begin(self.questions(groups), groups)

    def split(self, state: object, parent: Groups, children: Groups) -> object | None:
        weighed = self.candidates(state, parent, children, np.array([0, len(children)]))
        return weighed.take(state, 0) if weighed.allows(state, 0) else None

    def candidates(
        self, state: object, parents: Groups, children: Groups, first: Ints
    ) -> CandidateSplits:
        return weigh(self.questions(parents), state, parents, children, first)

    # -- judging ----------------------------------------------------------------------------------

    def stays_private(self, release: Release) -> bool:
        return release.groups.beside.unlinked is not None  # by whose rows lie where

    def of_release(self, release: Release, groups: Groups) -> Verdict:
        rows = groups.beside.unlinked
        return self.verdict(groups) if rows is None else self._of_rows(release, groups)

    def _of_rows(self, release: Release, groups: Groups) -> Verdict:
        """Whether everybody stays below the confidence of every point, whatever rows are known."""
        if not len(groups) or not groups.width or groups.beside.altered_by_chance:
            why = self.inapplicable(groups) or unfit_for_facts(groups)
            return self.unjudged("not_applicable", why, groups)
        if self.case is not None:
            why = f"case = {self.case!r} is asked for, and rows are published one by one"
            return self.unjudged("not_applicable", why, groups)
        asked = self.questions(groups)
        breach = rows_breach(release, groups, asked.targets, asked.points)
        if breach is None:
            return self.unjudged("cannot_judge", UNOWNED, groups)
        unsafe = np.zeros(breach.certainty.shape, dtype=bool)
        for place, confidence in enumerate(asked.confidences):
            unsafe[:, place] = is_reached(breach.certainty[:, place], confidence)
        scaled = Scale(asked, self.strictest).of(breach.certainty)
        scaled = np.where(unsafe, np.maximum(scaled, self.strictest), scaled)
        worst = int(np.argmax(scaled.max(axis=0))) if scaled.size else 0
        at_most = bool(scaled.size) and not breach.exact[worst]
        bounded = np.full(len(groups), at_most)
        measure = summarize(groups, scaled.max(axis=1, initial=0.0), "below", bounded=bounded)
        bad, notes = np.asarray(unsafe.any(axis=1)), []
        if number := groups.number(bad):
            people = groups.headcount(bad)
            notes.append(f"{number:,} of {groups.number():,} groups, {people} people")
        if scaled.size:
            value = groups.values[int(asked.targets[worst])]
            notes.append(
                f"who knows {tuple(asked.points[worst].tolist())} becomes "
                f"{'at most ' if at_most else ''}{breach.surest[worst]:.4g} sure that {value!r} "
                "stands in some row of somebody's"
            )
        return self.decided("violated" if number else "holds", measure, groups, "; ".join(notes))

    def measure(self, groups: Groups) -> Measure:
        """How sure she can become of somebody in each group, whatever she knows elsewhere.

        The largest over the groups is the release's breach probability. Points of other
        confidences are scaled to the strictest.
        """
        reason = self.inapplicable(groups)
        if reason:
            raise InputError(f"{self.name} cannot be measured: {reason}")
        return self._judge(groups)[0]

    def _judge(
        self, groups: Groups
    ) -> tuple[Measure, Questions, Floats, Bools, dict[KnowledgePoint, Bools]]:
        asked = self.questions(groups)
        least = minima_bounds(groups, asked.targets, asked.points, asked.case)
        certainty, good = safe(
            groups, asked.targets, asked.points, asked.confidences, asked.case, least.least
        )
        scale = Scale(asked, self.strictest)
        per_group, bounded, exposed = scale.by_group(groups, least, certainty)
        measure = summarize(groups, per_group, "below", bounded=bounded)
        return measure, asked, scale.of(certainty), good, exposed

    def verdict(self, groups: Groups) -> Verdict:
        reason = self.inapplicable(groups)
        if reason:
            return self.unjudged("not_applicable", reason, groups)
        measure, asked, scaled, good, exposed = self._judge(groups)
        bad = measure.per_group >= self.strictest
        people, number = groups.headcount(bad), groups.number(bad)
        sentences = [f"{number:,} of {groups.number():,} groups, {people} people"] if number else []
        if number:
            sentences += [
                f"{groups.headcount(reached)} people not {point}"
                for point, reached in exposed.items()
            ]
        if len(scaled):
            worst = int(np.argmax(scaled))
            point = check_point(asked.points[worst].tolist())
            grounding = ground(groups, int(asked.targets[worst]), point, asked.case)
            # Who is worst off is told by the verdict's `worst`, which not everybody may see.
            grounds = grounding.in_words(
                lambda group: f"{'the worst' if group == grounding.target else 'another'} group"
            )
            sentences.append(grounds.rstrip("."))
        sentences += [
            f"{point} is implied by {other}"
            for points in self._lists
            for point, other in undominated(points)[1]
        ]
        return self.decided(
            "holds" if good.all() else "violated", measure, groups, "; ".join(sentences)
        )


@dataclass(frozen=True)
class SkylineOfTable(SkylinePrivacy):
    """The same in a search, which knows the attributes of its table."""

    about: tuple[Attribute, ...] = field(default=(), kw_only=True, repr=False, compare=False)
    unlinked: bool = field(default=False, kw_only=True, repr=False, compare=False)

    @property
    def at_end(self) -> bool:  # type: ignore[override]
        """Where rows are published one by one: whose lie where is known of a whole release."""
        return self.unlinked


def _fewest(point: KnowledgePoint) -> int:
    """The smallest n with n - 1 - l - k above the odds, and somebody left beside the family."""
    spare = floor(odds_at(point.confidence)) + 1
    return 1 + max(point.l + point.k + spare, point.k + point.m + 1 if point.m else 0)


def _unlike_case(groups: Groups, case: AnyCase) -> str:
    """Why groups do not publish people's values in this form; empty where they do.

    Sets and multisets are two forms: of a set whoever has a value has it once, and somebody who
    knows that is surer than the count of multisets tells.
    """
    own = case_of(groups)
    if own == case:
        return ""
    remedy = "; buckets do: anatomy, or scheme = 'bucketized'" if own == "lists" else ""
    if {own, case} == {"set", "multiset"}:
        remedy = f"; ask for case = {own!r}, or say several = {case!r} in the schema"
    return f"it publishes {CASE_WORDS[own]}, not {CASE_WORDS[case]} (case {case!r}){remedy}"
