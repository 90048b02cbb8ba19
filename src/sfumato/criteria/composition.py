"""A bound on composition (Ganta, Kasiviswanathan, Smith. KDD 2008): safe beside earlier releases.

The adversary holds what was released before about the same people, by us or by others. She knows
her target's quasi-identifiers, finds him in the earlier releases and in the new one, and keeps the
sensitive values that all of them show. At most a given share of the new release's people may have
so few values left that she knows one of them with the given confidence.

She is given the benefit of the doubt. She is taken to know the target's group in the new release;
in the earlier ones she finds him by his values. In which of those he is she does not know, and
every choice of them that leaves some value counts (`adversaries/composition/exposure.py`): so the
bound is true for everybody, whichever of them they are in. It holds for a release as a whole: whom
it concerns is counted tuple by tuple, people with equal quasi-identifiers alike.

Whom the earlier releases expose by themselves the new one cannot hide, so a bound on everybody may
be out of reach for any release. `counting = "added"` bounds what the new one does: the people whom
it exposes and the earlier ones do not (of the paper's measures, a drop across the confidence).

`drop = 1` counts only whom the combination narrows: people of whom all releases leave fewer values
than any one of them, the paper's vulnerable population; `drop = d` those who lose d values or more.
With `confidence = 0` that is all there is to it, so a share bounds VP; with a confidence it bounds
the vulnerable who end up known so well.

Where rows are published one by one it is judged of rows, and people are counted once: exposed is
who is so by what is left of one of her rows, or of rows of hers that say the same
(`adversaries/composition/rows_exposure.py`). Where a pseudonym links them it is judged by person
and of a row, of people whose rows all releases hold alike (`linked_exposure.py` there). No search
carries that along.

Splitting a group usually exposes more people, but not always: a finer group may show that somebody
cannot be in an earlier release at all. So it is neither merge-closed nor upward-closed.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from decimal import ROUND_CEILING, Context, Decimal
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.adversaries.base import FACTOR, Asked, BeliefChange, Counting, KnownTogether, Threat
from sfumato.adversaries.composition.attack import NAME
from sfumato.adversaries.composition.exposure import (
    Exposed,
    ExposureRule,
    Watched,
    exposed_alone,
    exposed_by_regions,
)
from sfumato.adversaries.composition.intersection import of_one_value
from sfumato.counts.counts import Counts, TableCounts
from sfumato.criteria.base import (
    Measure,
    ReleaseCriterion,
    Ruling,
    Verdict,
    groups_about,
    parameter,
)
from sfumato.criteria.steps import SHARES, Ladder
from sfumato.errors import InputError, PolicyError, ResourceError, quoted
from sfumato.ledger.check import JOINED
from sfumato.ledger.earlier import Earlier, EarlierSource
from sfumato.numbers import Bools, Ints, fraction, shortest
from sfumato.release.beside import Headcount
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.release.signatures import Knows
from sfumato.release.summing import group_counts


@dataclass(frozen=True)
class State:
    """People exposed so far in a search, and how many may be."""

    exposed: int
    limit: int

    def allows(self, change: int) -> bool:
        # Where even the start is too much, a search may still better it.
        return self.exposed + change <= max(self.limit, self.exposed)


@dataclass(frozen=True)
class Weighed:
    """Candidate splits by how many more people each exposes."""

    change: Ints
    state: State

    @property
    def hopeful(self) -> Bools:
        # Splits that expose fewer may be made first.
        relief = np.minimum(self.change, 0).sum()
        room = max(self.state.limit, self.state.exposed) - self.state.exposed
        hopeful: Bools = self.change + np.where(self.change > 0, relief, 0) <= room
        return hopeful

    def allows(self, state: object, at: int) -> bool:
        assert isinstance(state, State)
        return state.allows(int(self.change[at]))

    def take(self, state: object, at: int) -> State:
        assert isinstance(state, State)
        return State(state.exposed + int(self.change[at]), state.limit)


@dataclass(frozen=True)
class CompositionBound(ReleaseCriterion):
    """At most a `share` of people are known with this `confidence` or more, by all releases."""

    name: ClassVar[str] = "composition"
    plain: ClassVar[str] = (
        "by all releases at most {0.share:.1%} of people are known {0.confidence:.0%} surely"
    )
    adversary: ClassVar[str] = NAME
    needs: ClassVar[frozenset[str]] = frozenset({"members"})
    private: ClassVar[bool] = True  # who is in which group is nobody's but the owner's to know
    merge_closed: ClassVar[bool] = False
    upward_closed: ClassVar[bool] = False
    of_rows: ClassVar[bool] = True
    of_signatures: ClassVar[bool] = True
    of_one_value: ClassVar[bool] = True  # what is left is told of one value of each
    # A higher confidence may ask more, too: of those whom earlier releases expose by themselves.
    ladders: ClassVar[tuple[Ladder, ...]] = (Ladder("share", (*SHARES, 0.001, 0)),)

    share: float
    """The largest share of people, from 0 to 1. Example: `share = 0.01`."""
    confidence: float
    """Who is known so surely is exposed, from 0 to 1. Example: `confidence = 0.9`."""
    earlier: Earlier | EarlierSource | Sequence[EarlierSource]
    """What was published before: ledgers and release folders; in Python also releases. Example:
    `earlier = ["ledger.sqlite"]`.
    """
    counting: Counting = "all"
    """"all" who are exposed, or those "added" by the new release to whom earlier ones expose by
    themselves. Example: `counting = "added"`.
    """
    drop: int = 0
    """Count only those of whom all releases leave at least so many values fewer than any one does;
    a confidence of 0 then counts them however many are left. Example: `drop = 2`.
    """

    def __post_init__(self) -> None:
        parameter(self.name, "share", self.share, least=0, most=1)
        try:
            ExposureRule.of(self.together)
        except InputError as error:
            raise PolicyError(f"{self.name}: {error}") from None
        if not isinstance(self.earlier, Earlier):
            try:
                object.__setattr__(self, "earlier", Earlier(self.earlier))
            except InputError as error:
                raise PolicyError(
                    f"{self.name}: earlier = {quoted(self.earlier)}: {error}"
                ) from None

    @property
    def required(self) -> str:
        known = f"known with confidence ≥ {shortest(self.confidence)}" if self.confidence else ""
        narrowed = f"with {self.drop} or more values fewer than by any one" if self.drop else ""
        added = " and not by those alone" if self.counting == "added" else ""
        return (
            f"≤ {shortest(self.share)} of people {' and '.join(filter(None, (known, narrowed)))} "
            f"by this and earlier releases{added}"
        )

    @property
    def together(self) -> KnownTogether:
        return KnownTogether(self.share, self.confidence, self.counting, self.drop)

    @cached_property
    def rule(self) -> ExposureRule:
        """Who counts."""
        return ExposureRule.of(self.together)

    @cached_property
    def before(self) -> tuple[Release, ...]:  # type: ignore[override]
        """The earlier releases; randomised ones are bounded by their promise, not by this."""
        assert isinstance(self.earlier, Earlier)
        try:
            releases = self.earlier.releases
        except InputError as error:
            raise PolicyError(f"{self.name}: earlier: {error}") from None
        return tuple(release for release in releases if not release.regions.noisy)

    @property
    def beside(self) -> str:
        many = len(self.before) or "no"
        return f"{many} earlier release{'s' if len(self.before) > 1 else ''}"

    def bind(self, counts: TableCounts) -> CompositionBound:
        """Locate the table's people in the earlier releases, once for the whole search."""
        # Whoever links rows has several, also where none of hers differ: signatures are judged.
        if counts.of_rows or counts.extra_memberships or counts.several is not None:
            return self._of_rows("all")
        for place, attribute in enumerate(counts.sensitive):
            if self.sensitive in (None, attribute.name) and attribute.sets is None:
                people = counts.in_memory(self.name)
                nobody = np.zeros(len(people), dtype=np.int64)
                try:
                    self._watch(people, group_counts(people, nobody, 1, place))
                except InputError as error:
                    raise PolicyError(f"{self.name}: {error}") from None
        return self

    @cached_property
    def _located(self) -> dict[str | None, Watched]:
        """The people of the last table that was judged, by attribute."""
        return {}

    def _watch(self, counts: Counts, groups: Groups) -> Watched:
        watched = self._located.get(groups.attribute)
        if watched is None or watched.counts is not counts:
            watched = self._located[groups.attribute] = Watched.of(counts, groups, self.before)
        return watched

    @property
    def _asked(self) -> dict[str, Any]:
        return {known.name: getattr(self, known.name) for known in fields(CompositionBound)}

    def _of_rows(self, knows: Knows) -> CompositionBound:
        from sfumato.criteria.composition_of_rows import CompositionOfRows

        return CompositionOfRows(**self._asked, knows=knows)

    def _for(self, release: Release) -> CompositionBound:
        """As it judges a release, which tells how many of somebody's rows are known."""
        from sfumato.criteria.composition_of_rows import CompositionOfLinked

        if release.by_row is not None:
            return CompositionOfLinked(**self._asked, release=release)
        rows = release.groups.beside.unlinked is not None
        return self._of_rows(release.schema.knows) if rows else self

    def exposed(self, groups: Groups, most: int | None = None) -> Exposed:
        """Who has at most so many values left; by default what the confidence comes to."""
        rule = self.rule if most is None else replace(self.rule, most=most)
        if groups.inside is None:
            return exposed_by_regions(groups, self.before, rule)
        people = self._watch(groups.inside.counts, groups).exposed(groups, rule)
        return Exposed(people, people)

    def _limit(self, people: int) -> int:
        """How many of so many people may be exposed."""
        return math.floor(fraction(self.share) * people)

    def measure(self, groups: Groups) -> Measure:
        reason = self.inapplicable(groups)
        if reason:
            raise InputError(f"{self.name} cannot be measured: {reason}")
        return self._measured(groups, self.exposed(groups))

    def _measured(self, groups: Groups, exposed: Exposed) -> Measure:
        """What is surely so where that alone is too much, else what may be so."""
        least, most = exposed.people(groups)
        violated = least > self._limit(groups.people())
        people = exposed.sure if violated else exposed.possible
        # Of people who are not all known the share is at most that of the fewest there may be.
        overall = least / groups.people() if violated else min(1.0, most / groups.fewest_people)
        return Measure(people / groups.sizes, groups.sizes, "at_most", overall=overall)

    def inapplicable(self, groups: Groups) -> str:
        if groups.published is not None:
            return "its groups share people; read the release with matching='exact'"
        return super().inapplicable(of_one_value(groups))

    def verdict(self, groups: Groups) -> Verdict:
        reason = self.inapplicable(groups)
        if reason:
            return self.unjudged("not_applicable", reason, groups)
        note = ""
        try:
            exposed = self.exposed(groups)
        except (InputError, ResourceError) as error:
            exposed, note = self._exposed_alone(groups), str(error)
        sure, possible = exposed.people(groups)
        limit, surely = self._limit(groups.people()), self._limit(groups.fewest_people)
        status: Ruling = "cannot_judge"
        if sure > limit or possible <= surely:
            status = "violated" if sure > limit else "holds"
        exposed_people = (
            f"{sure:,} people" if sure == possible else f"{sure:,} to {possible:,} people"
        )
        if status == "cannot_judge" and not note:
            note = "who is in which group is not known; give the table it was made of (--table)"
        words = f"{exposed_people} of {groups.headcount()}, with {self.beside}"
        beyond_mending = advice = ""
        if self._knows_people(groups) and not note:
            before = self._exposed_before(groups)
            words += self._told_before(before, sure)
            if status == "violated":
                beyond_mending = self._beyond_mending(groups, limit)
                advice = self._advice(before, limit)
        told_of = "; ".join(filter(None, (words, note, beyond_mending)))
        verdict = self.decided(status, self._measured(groups, exposed), groups, told_of)
        return replace(verdict, beyond_mending=beyond_mending, advice=advice)

    def of_release(self, release: Release, groups: Groups) -> Verdict:
        """Never said to hold beside releases whose rows are joined to these by pseudonyms."""
        verdict = self._for(release).verdict(groups)
        joined = release.joined_with(self.before)
        if not verdict.holds or not joined:
            return verdict
        note = f"{verdict.note}; {JOINED.format(', '.join(joined))}"
        return replace(verdict, status="cannot_judge", note=note)

    def _knows_people(self, groups: Groups) -> bool:
        return groups.inside is not None

    def _exposed_alone(self, groups: Groups) -> Exposed:
        """What is sure whatever earlier releases say."""
        alone = exposed_alone(groups, self.rule)
        if groups.owners_unknown:  # somebody has these rows, and perhaps all of them
            alone = np.minimum(alone, 1)
        return Exposed(alone, groups.sizes)

    def _exposed_before(self, groups: Groups) -> int:
        inside = groups.inside
        assert inside is not None
        return self._watch(inside.counts, groups).exposed_before(groups, self.rule)

    def _told_before(self, before: int, sure: int) -> str:
        """How many people the earlier releases expose by themselves, where that may explain it."""
        earlier_releases = "that" if len(self.before) == 1 else "those"
        if self.counting == "added":
            return f", beside {before:,} by {earlier_releases} alone" if before else ""
        return f", {before:,} by {earlier_releases} alone" if sure else ""

    def _advice(self, before: int, limit: int) -> str:
        """What may help where coarser groups hardly do: they hide nobody from earlier releases."""
        if self.counting == "added" or before <= limit:
            return ""
        return (
            "coarsening hardly helps, earlier releases alone exceed it; bound what this one adds "
            'with counting = "added", or loosen that bound'
        )

    def _beyond_mending(self, groups: Groups, limit: int) -> str:
        """Why no release of these people holds, if none does, and what can be asked instead."""
        inside = groups.inside
        assert inside is not None
        if self.counting == "added" or self.drop:
            return ""  # whoever keeps few values by her group alone does not drop
        watched = self._watch(inside.counts, groups)
        lost = watched.exposed_whatever(groups, self.rule.most)
        if lost is None or lost <= limit:
            return ""
        by = "that release" if len(self.before) == 1 else "those releases"
        return (
            f"{lost:,} of them are known that well whatever is published now, since {by} went out: "
            'nothing can mend that; bound what this release adds to it with counting = "added", '
            f"or allow a share of {_share_of(lost, groups.people()):.4g} or more"
        )

    def adversaries(self, release: Release) -> Iterator[Asked]:
        reader = EarlierReader(self._for(release))
        return (Asked(reader, groups) for groups in groups_about(self, release))

    # -- searches -----------------------------------------------------------------------------

    def start(self, groups: Groups) -> State:
        return State(int(self.exposed(groups).possible.sum()), self._limit(groups.fewest_people))

    def split(self, state: object, parent: Groups, children: Groups) -> State | None:
        weighed = self.candidates(state, parent, children, np.array([0, len(children)]))
        return weighed.take(state, 0) if weighed.allows(state, 0) else None

    def candidates(self, state: object, parents: Groups, children: Groups, first: Ints) -> Weighed:
        """Only the children need to know who is inside: a parent holds what they hold."""
        assert isinstance(state, State)
        inside = children.inside
        if inside is None:
            raise InputError(f"{self.name}: a search must tell who is inside the parts of a split")
        watched = self._watch(inside.counts, children)
        whole = parents.with_beside(replace(parents.beside, inside=inside.together(first)))
        after = np.add.reduceat(watched.exposed(children, self.rule), first[:-1])
        return Weighed(after - watched.exposed(whole, self.rule), state)


@dataclass(frozen=True)
class EarlierReader:
    """Somebody who holds the earlier releases that a bound names."""

    bound: CompositionBound

    @property
    def name(self) -> str:
        return NAME

    def attack(self, release: Release, groups: Groups | None = None) -> ReadTogether:
        return ReadTogether(self.bound, release.groups if groups is None else groups)


@dataclass(frozen=True)
class ReadTogether:
    """What a release gives away beside the earlier ones, about one sensitive attribute."""

    bound: CompositionBound
    groups: Groups

    def threats(self) -> list[Threat]:
        bound, groups = self.bound, self.groups
        verdict = bound.verdict(groups)
        knows = f"the target's quasi-identifiers, and {bound.beside}"
        if verdict.per_group is None or not verdict.note:
            return []
        status: Literal["measured", "not_measured"] = "measured"
        if verdict.status == "cannot_judge":
            status = "not_measured"
        surely = f"with confidence {bound.confidence:.4g} or more: " if bound.confidence else ""
        learns = f"{groups.attribute}, {surely}{verdict.note}"
        if status != "measured":
            return [Threat(NAME, knows, learns, groups.attribute, status=status)]
        people, belief = self._moves()
        return [Threat(NAME, knows, learns, groups.attribute, people, belief)]

    def _moves(self) -> tuple[Headcount | None, BeliefChange | None]:
        """From any value alike to those left: how many move far, and the fewest anybody has left.

        Whoever has no more than so many values left is counted for more of them, too.
        """
        groups, width = self.groups, self.groups.width
        if not self.bound.of_one_value:
            return None, None  # how many lists she may have before is nobody's to say
        beliefs = [BeliefChange(1 / width, 1 / left) for left in range(1, width + 1)]
        far = sum(belief.factor > FACTOR for belief in beliefs)

        def exposed(most: int) -> int:
            return int(self.bound.exposed(groups, most).possible.sum())

        try:
            people = self._people(far) if far else Headcount(0)
            fewest = bisect_right(range(1, width), 0, key=exposed)
        except (InputError, ResourceError):
            return None, None  # judged by what this release gives away alone
        return people, beliefs[fewest]

    def _people(self, most: int) -> Headcount:
        """Who has at most so many values left; at most so many people, where that is not known."""
        groups = self.groups
        exposed = self.bound.exposed(groups, most)
        if groups.beside.unlinked is not None:
            least, possible = exposed.people(groups)
            return Headcount(possible, at_most=least < possible)
        possible = int(exposed.possible.sum())
        several = groups.several is not None and possible > 1
        return Headcount(min(possible, groups.people()), at_most=several or not exposed.exact)


def _share_of(people: int, everybody: int) -> float:
    """A share in four digits that allows for so many people: rounded up, never down."""
    context = Context(prec=4, rounding=ROUND_CEILING)
    return float(context.divide(Decimal(people), Decimal(everybody)))
