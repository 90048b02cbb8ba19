"""Deal: the most useful groups that keep the criteria, without their having to tile space.

Cutting space (Mondrian) must stop early under criteria on distributions of sensitive values:
people who are near each other share these values, so small cells break the bounds. Here people are
*dealt*: where a cut would break a bound, every sensitive value has its own cut, between where space
puts it and its proportional share, just as far as both sides need; then people move and change
places as long as published widths shrink (`cut_tree.py`, `exchange.py`, `search.py`). Regions may
overlap, and somebody may fit several groups; every judgement takes that into account.

The search tests criteria by their count rules and rounds at the bound; what it finds is published
as Mondrian's tight regions are, and judged by the criteria themselves. A group that fails is merged
with a near one. Mondrian's release is a start and a candidate, so what is returned is never worse
by the policy's utility.

Where the policy lets people be suppressed, those go whose groups are narrowed most, or are large
for their sake alone; bounds refer to the whole table as before. What was found without that is a
candidate as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import floor, inf
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np

from sfumato.anonymizers.anatomy import in_buckets, refuse_exact
from sfumato.anonymizers.base import Anonymizer, Finished, Task
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.counts.counts import Counts
from sfumato.criteria.base import GroupCriterion, ReleaseCriterion, parameter
from sfumato.criteria.closeness import TCloseness
from sfumato.criteria.count_rules import CountRule, fewest
from sfumato.criteria.likeness import BetaLikeness
from sfumato.errors import NoSafeRelease, PolicyError, ResourceError, quoted
from sfumato.numbers import Bools, Codes, fraction
from sfumato.progress import Ticker, tenths
from sfumato.release.groups import Groups
from sfumato.release.made import Findings, MadeHere
from sfumato.release.release import Release, as_it_stands
from sfumato.release.within_limits import keeps_limits
from sfumato.utility.loss import Loss
from sfumato.utility.view import view_of

if TYPE_CHECKING:
    from sfumato.anonymizers.deal.ground import Clock, SearchGround
    from sfumato.anonymizers.deal.people import Dealt
    from sfumato.anonymizers.deal.rules import Rules

MOST_CELLS = 1 << 29  # counts of values by group that are kept at a time
_ENDING, _PER_PERSON = 0.2, 3e-6  # of the time is kept for judging at most; seconds of each person
_WITH = 0.5  # of the time is for suppressing, where people may be
_FEW = 0.05  # a share of groups that may fail and be mended, before a guard is tightened


class Guard(NamedTuple):
    """What stands in for criteria without rules: closeness to the whole table, no value so many
    times as frequent as there, and so many times the fewest people that any criterion asks for."""

    t: float
    beta: float
    times: int


GUARDS = (  # from loose to strict; by closeness and by likeness in turn
    Guard(1.0, inf, 1),
    Guard(1.0, 4.0, 1),
    Guard(0.5, inf, 1),
    Guard(1.0, 2.0, 1),
    Guard(0.4, inf, 2),
    Guard(1.0, 1.5, 1),
    Guard(0.3, inf, 2),
    Guard(1.0, 1.0, 1),
    Guard(0.2, inf, 3),
    Guard(1.0, 0.7, 1),
    Guard(0.15, inf, 4),
    Guard(1.0, 0.5, 2),
    Guard(0.1, inf, 8),
    Guard(1.0, 0.2, 4),
    Guard(0.05, inf, 16),
    Guard(1.0, 0.05, 1),
    Guard(0.0, inf, 1),
)
BRIEF = 2  # sweeps, and starts: not the best there is, but not far from it
NO_TIME = "the time was over before anybody was dealt: this is Mondrian's release"
NO_BETTER = "dealing found nothing better than Mondrian's release, so that is what this is"
INTERRUPTED = "dealing was interrupted: this is the best release it had found"


@dataclass(frozen=True)
class DealFindings(Findings):
    """How long it was dealt, and which criteria could not guide it: they judged at the end.

    `mondrian`: what was dealt is no better than Mondrian's release, and that one was returned.
    `cells`: those a table larger than memory was dealt in; `undealt` people are in none of them.
    """

    anonymizer: ClassVar[str] = "deal"

    sweeps: int
    interrupted: bool
    unsearched: tuple[str, ...]
    mondrian: bool = False
    cells: int = 1
    undealt: int = 0

    @property
    def was_interrupted(self) -> bool:
        return self.interrupted


@dataclass(frozen=True)
class Deal(Anonymizer):
    """Dealing people to groups that need not tile space."""

    name: ClassVar[str] = "deal"
    suppresses: ClassVar[bool] = True

    seconds: float = 30.0
    """How long it may take; a good release is there after a few. It ends earlier where nothing is
    gained; what a time limit cuts short depends on the machine. Example: `seconds = 60.0`.
    """
    sweeps: int | None = None
    """Improve by so many sweeps instead, whatever the clock says; the same seed then gives the same
    release everywhere. Example: `sweeps = 20`.
    """
    regions: Literal["tight", "hierarchy"] = "tight"
    """What is published: the "tight" range of those inside, or labels of the "hierarchy". Example:
    `regions = "hierarchy"`.
    """
    scheme: Literal["generalized", "bucketized"] = "generalized"
    """"generalized"; or "bucketized": quasi-identifiers as they are with the number of a bucket,
    and apart from them each bucket's sensitive values. Example: `scheme = "bucketized"`.
    """
    starts: int = 5
    """How many cut trees to begin with, of five. Example: `starts = 3`."""

    def __post_init__(self) -> None:
        parameter(self.name, "seconds", self.seconds, above=0)
        parameter(self.name, "starts", self.starts, whole=True, least=1)
        if self.sweeps is not None:
            parameter(self.name, "sweeps", self.sweeps, whole=True, least=0)
        known = {"regions": ("tight", "hierarchy"), "scheme": ("generalized", "bucketized")}
        for setting, allowed in known.items():
            if (given := getattr(self, setting)) not in allowed:
                use = " or ".join(allowed)
                raise PolicyError(f"deal: {setting} = {quoted(given)} is not known; use {use}")

    def briefly(self) -> Deal:
        sweeps = BRIEF if self.sweeps is None else min(self.sweeps, BRIEF)
        return replace(self, sweeps=sweeps, starts=min(self.starts, BRIEF))

    def run(self, task: Task) -> Release:
        from sfumato.anonymizers.deal.ground import Clock
        from sfumato.anonymizers.deal.large import deal_by_cells

        def run(_: Counts) -> Release:
            return self._run(task, Clock(self.seconds, self.sweeps))

        stored = partial(deal_by_cells, self, task)
        return task.table.counts.either(in_memory=run, stored=stored)

    def _run(self, task: Task, clock: Clock) -> Release:
        if self.scheme == "bucketized":
            task = in_buckets(self.name, task)
            return Finished(task).first_safe([*self._deal(task, clock, None)][::-1])
        refusal: NoSafeRelease | None = None
        cut: Release | None = None
        try:
            cut = Mondrian(regions=self.regions).run(task)
        except NoSafeRelease as error:
            if not task.suppression and all(criterion.merge_closed for criterion in task.require):
                raise  # what fails for everybody together fails for any groups
            refusal = error
        if cut is not None and task.at_end and clock.left <= 0:
            # Every judgement is an attack of its own, which takes longer than all the rest.
            return no_worse(cut, [], NO_TIME)
        dealt = [release for release in self._deal(task, clock, cut) if keeps_limits(release)]
        made = sorted([*dealt, *([cut] if cut is not None else [])], key=partial(cost_of, task))
        for release in made:
            if release is cut:  # Mondrian has judged it
                return no_worse(cut, dealt)
            if _is_safe(task, release):
                return release
        raise refusal or NoSafeRelease("no release")

    def _deal(self, task: Task, clock: Clock, cut: Release | None) -> Iterator[Release]:
        """The releases of the best groups found, mended where a criterion fails."""
        from sfumato.anonymizers.deal.black_box import BlackBox
        from sfumato.anonymizers.deal.ground import (
            SearchGround,
            starts,
            starts_without,
            trees_without,
            without_most_frequent,
        )
        from sfumato.anonymizers.deal.people import Dealt
        from sfumato.anonymizers.deal.publish import groups_of, mended, published, violators
        from sfumato.anonymizers.deal.search import search

        read = _Reading.of(task)
        bucketized = self.scheme == "bucketized"
        dealt = Dealt.of(task, self.regions, read.attributes, self.name, bucketized=bucketized)
        box = BlackBox(read.asked, read.together, whole_table(task), dealt.first)
        # What stands in for criteria without rules: from small groups far from the whole table, by
        # steps, to large ones near it.
        guards = [partial(read.rules, dealt, guard=guard) for guard in GUARDS]
        stand_ins = [rules(1.0) for rules in reversed(guards)] if box else []
        ground = SearchGround.of(
            dealt, partial(read.rules, dealt), task.seed, clock, box, stand_ins
        )
        limit = floor(fraction(task.suppression) * len(dealt))
        stay: Bools | None = None
        if bucketized:  # they widen nothing: nobody goes unless everybody together breaks a bound
            if limit and not ground.everybody_holds:
                stay = without_most_frequent(replace(ground, limit=limit))
            limit = 0

        cells = len(dealt) // ground.bounds.least * dealt.columns.cells
        if cells > MOST_CELLS:
            raise ResourceError(
                f"{self.name}: so many groups by so many values ({cells:,} counts) are more than "
                "it keeps in memory; give columns of many values a hierarchy and use regions = "
                "'hierarchy', or use mondrian"
            )

        def release_of(group: Codes, sweeps: int) -> Release:
            findings = DealFindings(sweeps, clock.interrupted, read.unsearched)
            return published(dealt, group, task, findings)

        deadline = clock

        def in_time(more: float = 0.0) -> bool:
            return cut is None or deadline.left > -more  # without Mondrian's, any is wanted

        if bucketized:
            whole = release_of(np.zeros(len(dealt), dtype=np.int32), 0)
            refuse_exact(self.name, task, whole)
        if read.unsearched:
            # Whatever the criteria ask that counts cannot say: groups that are larger and nearer to
            # the whole table tell less. The first guard under which a cut tree holds is kept to,
            # the strictest if there is none; few are tried where a whole attack is the judge.
            step = 6 if task.at_end else 2
            for number, rules in enumerate(guards[::step]):
                if not in_time():
                    break
                ground = ground.under(rules, stand_ins[: len(stand_ins) - step * number])
                release = release_of(ground.cut([1.0]), 0)
                if violators(task, release).mean() > _FEW:
                    continue
                release = mended(task, ground, release, in_time, together=False)
                if _is_safe(task, release):
                    yield release
                    break
        if cut is not None and in_time():
            # What comes after the search takes as long as the same of Mondrian's.
            began = clock.now
            _is_safe(task, release_of(groups_of(cut, dealt), 0))
            spent = (3 if limit else 2) * (clock.now - began + _PER_PERSON * len(dealt))
            clock = clock.early(min(spent, _ENDING * self.seconds))
        early = clock.early(_WITH * clock.left if limit and self.sweeps is None else 0.0)
        ground = replace(ground, clock=early)
        started = starts(ground, self.starts)
        if stay is not None:
            ground, started = replace(ground, limit=int((~stay).sum())), trees_without(stay)
        if cut is not None and not read.unsearched and not ground.many:
            started.append(lambda _: groups_of(cut, dealt))
        people, sweeps = len(dealt) * dealt.columns.whole, 0
        with Ticker("dealing", tenths(self.seconds)) as ticker:

            def tell(cost: float) -> None:
                spent = self.seconds - max(clock.left, 0.0) if clock.left < np.inf else 0.0
                ticker.reach(tenths(spent), f"dealing, loss {cost / people:.4f}")

            def searched(ground: SearchGround, number: int) -> tuple[Codes, Release]:
                nonlocal sweeps
                chains = search(ground, (task.seed, number), started, tell)
                sweeps += sum(chain.sweeps for chain in chains)
                clock.interrupted |= ground.clock.interrupted
                release = release_of(chains[0].best, sweeps)
                # What was found is worth as much time again before it is given up.
                late = partial(in_time, self.seconds)
                release = mended(task, ground, release, late, together=True)
                noted = (*release.notes, *([INTERRUPTED] if clock.interrupted else []))
                return chains[0].best, replace(release, notes=noted)

            best, release = searched(ground, 1)
            yield release
            if limit and not clock.interrupted:
                ground = replace(ground, clock=clock, limit=limit)
                started = starts_without(ground, best)
                yield searched(ground, 2)[1]


def _is_safe(task: Task, release: Release) -> bool:
    """Whether every criterion holds. That one cannot be judged here refuses nothing else."""
    try:
        return Finished(task).holds(release)
    except NoSafeRelease:
        return False


def no_worse(cut: Release, dealt: Sequence[Release], why: str = NO_BETTER) -> Release:
    """Mondrian's release, why that, and what was tried besides."""
    tried = DealFindings.of(dealt[-1].made) if dealt else None
    assert isinstance(cut.made, MadeHere)
    findings = replace(tried or DealFindings(0, False, ()), mondrian=True)
    notes = tuple(note for release in dealt[-1:] for note in release.notes)
    kept = dict.fromkeys([*cut.notes, *notes, why])
    return replace(cut, made=replace(cut.made, findings=findings), notes=tuple(kept))


def cost_of(task: Task, release: Release) -> float:
    """By the policy's utility, or by the loss where that has no number."""
    view = view_of(release)
    cost = task.utility.cost(view)
    return cost if np.isfinite(cost) else Loss().cost(view)


@dataclass(frozen=True)
class _Reading:
    """How a search tests the criteria, and the attributes they read.

    Those that know rules are `compiled`; `asked` about batches of groups are those that do not,
    and those of whole releases, where merging does no harm, about all groups `together`. All these
    judge by counts. The others are `unsearched`.
    """

    task: Task
    attributes: tuple[int, ...]
    compiled: tuple[tuple[GroupCriterion, int | None], ...]
    asked: tuple[tuple[GroupCriterion, int | None], ...]
    together: tuple[tuple[ReleaseCriterion, int | None], ...]
    unsearched: tuple[str, ...]

    @classmethod
    def of(cls, task: Task) -> _Reading:
        compiled: list[tuple[GroupCriterion, int | None]] = []
        asked: list[tuple[GroupCriterion, int | None]] = []
        together: list[tuple[ReleaseCriterion, int | None]] = []
        unsearched: list[str] = []
        whole = whole_table(task)
        for criterion in task.require:
            places = task.about(criterion) if criterion.reads_values else (None,)
            groups = [whole[place] for place in places]
            by_counts = not (criterion.needs or criterion.joint)
            linked = any(attribute_groups.lists is not None for attribute_groups in groups)
            if isinstance(criterion, GroupCriterion):
                ruled = all(
                    criterion.count_rules(attribute_groups) is not None
                    for attribute_groups in groups
                )
                if by_counts and ruled:
                    compiled += [(criterion, place) for place in places]
                elif by_counts and not linked:
                    asked += [(criterion, place) for place in places]
                else:
                    unsearched.append(criterion.name)
            elif isinstance(criterion, ReleaseCriterion):
                carried = criterion.merge_closed and not criterion.at_end
                if by_counts and carried and not linked:
                    together += [(criterion, place) for place in places]
                else:
                    unsearched.append(criterion.name)
        read = {place for _, place in (*compiled, *asked, *together) if place is not None}
        if unsearched or asked or together:  # guards look at all values
            attributes = enumerate(task.table.counts.sensitive)
            read |= {place for place, attribute in attributes if attribute.sets is None}
        return cls(
            task,
            tuple(sorted(read)),
            tuple(compiled),
            tuple(asked),
            tuple(together),
            tuple(unsearched),
        )

    def rules(self, dealt: Dealt, share: float, guard: Guard | None = None) -> Rules:
        """All rules, packed; tightened to a share of their room, and with a guard besides."""
        from sfumato.anonymizers.deal.rules import pack

        whole = whole_table(self.task)
        rules: list[tuple[int, CountRule]] = []
        for criterion, place in self.compiled:
            tightened = criterion if share == 1 else criterion.tightened(share, whole[place])
            first = 0 if place is None else dealt.first[place]
            rules += [(first, rule) for rule in tightened.count_rules(whole[place]) or ()]
        if guard is not None:
            least = max(criterion.fewest_people for criterion in self.task.require)
            rules.append((0, fewest(max(least, 2) * guard.times)))
            for place in self.attributes:
                if self.task.table.counts.sensitive[place].sets is None:
                    near = [*TCloseness(guard.t).count_rules(whole[place])]
                    if guard.beta < inf:
                        near += BetaLikeness(guard.beta).count_rules(whole[place])
                    rules += [(dealt.first[place], rule) for rule in near]
        return pack(rules, len(dealt))


def whole_table(task: Task) -> dict[int | None, Groups]:
    """The table as one group, by the position of a sensitive attribute; None: sizes only."""
    counts = task.table.counts
    standing = as_it_stands(task.table)
    whole: dict[int | None, Groups] = {None: standing.groups.everybody()}
    for place, attribute in enumerate(counts.sensitive):
        whole[place] = standing.groups_for(attribute.name).everybody()
    return whole
