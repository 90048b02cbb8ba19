"""Criteria of which nothing is known but whether they hold, asked about many changes at once.

It works on the compiled state of the sweeps, which `deal.py` loads only when it runs.

Compiled sweeps test every change by count rules. A criterion without rules (somebody's own, one of
whole releases) knows `holds` only, which is fast for thousands of groups at once and slow for one.
So people propose changes that are tested by the rules alone, a batch of them; one vectorised call
judges the groups that all proposals would make; and of those that hold the cheapest are made, each
group once. Criteria of whole releases judge the state after the batch, and if it fails half of the
changes, and so on. Whatever is made keeps all of them: no state between holds less.

Where people may be suppressed, those who save most go after each sweep, one of a group, asked about
in the same way; who is in no group proposes to come back, or to take somebody's place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.anonymizers.deal.exchange import PROPOSED, Stretch, savings, sweep
from sfumato.anonymizers.deal.people import DealtColumns, DealtPeople
from sfumato.anonymizers.deal.rules import Rules, holds
from sfumato.anonymizers.deal.state import GroupState, change, once_each, soften
from sfumato.criteria.base import GroupCriterion, ReleaseCriterion
from sfumato.numbers import Bools, Codes, Floats, Ints, taken_rows, tallied_offsets
from sfumato.release.groups import Groups

_CELLS = 1 << 24  # counts that are judged at a time
_FEWEST = 16  # people of a batch, of however few groups


@dataclass(frozen=True)
class BlackBox:
    """The criteria, each with the position of its attribute (None: it reads sizes only).

    `whole` is the table as one group, by attribute; `first` where an attribute's counts begin.
    """

    by_group: tuple[tuple[GroupCriterion, int | None], ...]
    by_release: tuple[tuple[ReleaseCriterion, int | None], ...]
    whole: Mapping[int | None, Groups]
    first: Mapping[int, int]

    def __bool__(self) -> bool:
        return bool(self.by_group or self.by_release)

    def holds(self, counts: Codes, sizes: Ints) -> Bools:
        """Whether each group holds by every criterion that judges groups alone."""
        fine = np.ones(len(sizes), dtype=bool)
        for criterion, place in self.by_group:
            left = np.flatnonzero(fine)
            if len(left):
                fine[left] = criterion.holds(self._groups(place, counts[left], sizes[left]))
        return fine

    def hold_together(self, counts: Codes, sizes: Ints) -> bool:
        """Whether a release of these groups holds by every criterion of whole releases."""
        return all(
            criterion.verdict(self._groups(place, counts, sizes)).holds
            for criterion, place in self.by_release
        )

    def as_many_as_hold(
        self, wanted: Ints, counts_after: Callable[[Ints], tuple[Codes, Ints]]
    ) -> Ints:
        """The first of these changes, half as many again and again until they hold together."""
        while self.by_release and len(wanted) and not self.hold_together(*counts_after(wanted)):
            wanted = wanted[: len(wanted) // 2]
        return wanted

    def _groups(self, place: int | None, counts: Codes, sizes: Ints) -> Groups:
        if place is None:
            return Groups.of_sizes(sizes)
        whole = self.whole[place]
        own = counts[:, self.first[place] : self.first[place] + whole.width]
        rows, columns = np.nonzero(own)
        return Groups.from_sparse(
            tallied_offsets(rows, len(own)),
            columns.astype(np.int32),
            own[rows, columns].astype(np.int64),
            whole.width,
            values=whole.values,
            sizes=sizes,
            reference=whole.reference,
            domain=whole.domain,
            attribute=whole.attribute,
            case=whole.case,
        )


def counts_of(people: DealtPeople, group: Codes, total: int) -> tuple[Codes, Ints]:
    """How often each value occurs in each of `total` groups, and their people; -1: in none."""
    inside = group >= 0
    group = group[inside]
    ends, places = taken_rows(people.starts, people.value[inside])
    cells = np.repeat(group.astype(np.int64), np.diff(ends)) * people.width + people.adds[places]
    counts = np.bincount(cells, minlength=total * people.width).reshape(total, people.width)
    return counts.astype(np.int32), np.bincount(group, minlength=total).astype(np.int64)


def sweep_in_batches(
    box: BlackBox,
    state: GroupState,
    people: DealtPeople,
    columns: DealtColumns,
    rules: Rules,
    orders: Codes,
    positions: Codes,
    visited: int,
    gone: Floats,
    bars: Floats,
    time_left: Callable[[], bool],
    limit: int = 0,
) -> int:
    """Everybody once, as `sweep` does; returns how many changes were made.

    `limit`: how many may be in no group.
    """
    total, groups = len(state.group), len(state.size)
    everywhere, stop = np.zeros(groups, dtype=np.int32), np.zeros(1, dtype=np.bool_)
    soften(state, columns, gone)
    batch = max(min(groups // 2, _CELLS // (2 * PROPOSED * max(people.width, 1))), _FEWEST)
    changes = 0
    for begin in range(0, total, batch):
        end = min(begin + batch, total)
        proposals = np.full((end - begin, PROPOSED, 2), -1, dtype=np.int64)
        deltas = np.full((end - begin, PROPOSED), np.inf)
        sweep(
            state,
            people,
            columns,
            rules,
            orders,
            positions,
            gone,
            Stretch(
                orders[visited, begin:end],
                bars[begin:end],
                everywhere,
                0,
                0,
                0.0,
                stop,
                proposals,
                deltas,
            ),
        )
        rows, slots = np.nonzero(deltas < np.inf)
        movers = orders[visited, begin + rows].astype(np.int64)
        made = _Proposed(
            movers,
            state.group[movers].astype(np.int64),
            proposals[rows, slots, 0],
            proposals[rows, slots, 1],
        ).take(np.argsort(deltas[rows, slots], kind="stable"))
        made = made.take(np.flatnonzero(made.fine(box, state, people)))
        changes += made.done(box, state, people, columns, gone)
        if not time_left():
            break
    return changes + _left_out(box, state, people, columns, rules, gone, limit)


def _left_out(
    box: BlackBox,
    state: GroupState,
    people: DealtPeople,
    columns: DealtColumns,
    rules: Rules,
    gone: Floats,
    limit: int,
) -> int:
    """Suppress those whose going saves most, one of a group, as many as there is room for."""
    room = limit - int(len(state.group) - state.size.sum())
    if room <= 0:
        return 0
    saved = savings(state, people, columns, gone)
    falling = np.argsort(-saved, kind="stable")
    falling = falling[saved[falling] > 1e-9]
    _, first = np.unique(state.group[falling], return_index=True)
    leavers = falling[np.sort(first)]
    nowhere = np.full(len(leavers), len(state.size))
    leaving = _Proposed(
        leavers, state.group[leavers].astype(np.int64), nowhere, np.full(len(leavers), -1)
    )
    counts, sizes = leaving.both_sides(state, people)
    kept = [holds(counts, g, sizes[g], rules) for g in range(len(leavers))]
    leaving = leaving.take(np.flatnonzero(np.array(kept, dtype=bool)))
    leaving = leaving.take(np.flatnonzero(leaving.fine(box, state, people))[:room])
    return leaving.done(box, state, people, columns, gone)


@dataclass(frozen=True)
class _Proposed:
    """Changes: these movers go from groups to others, partners (-1: none) the other way.

    Who is in no group, or goes to none, has the number after the last group.
    """

    movers: Ints
    gives: Ints
    gets: Ints
    partners: Ints

    def take(self, kept: Ints) -> _Proposed:
        return _Proposed(self.movers[kept], self.gives[kept], self.gets[kept], self.partners[kept])

    def fine(self, box: BlackBox, state: GroupState, people: DealtPeople) -> Bools:
        """Whether both groups of each would hold; who has the same values changes nothing."""
        values = people.value
        fine: Bools = (self.partners >= 0) & (values[self.movers] == values[self.partners])
        asked = np.flatnonzero(~fine)
        both_hold = box.holds(*self.take(asked).both_sides(state, people)).reshape(2, -1)
        fine[asked] = both_hold.all(axis=0)
        return fine

    def done(
        self,
        box: BlackBox,
        state: GroupState,
        people: DealtPeople,
        columns: DealtColumns,
        gone: Floats,
    ) -> int:
        """Make as many of them as hold together, each group once; how many."""
        groups = len(state.size)
        moving_people, number = np.unique(self.movers, return_inverse=True)
        alone = groups + number.reshape(-1)  # who is in no group is touched by herself only
        gives = np.where(self.gives < groups, self.gives, alone)
        gets = np.where(self.gets < groups, self.gets, alone)
        apart = self.take(np.flatnonzero(once_each(gives, gets, groups + len(moving_people))))

        def after(kept: Ints) -> tuple[Codes, Ints]:
            return apart.take(kept).applied(state, people)

        made = apart.take(box.as_many_as_hold(np.arange(len(apart.movers)), after))
        change(state, people, columns, gone, made.movers, made.gets, made.partners)
        return len(made.movers)

    def both_sides(self, state: GroupState, people: DealtPeople) -> tuple[Codes, Ints]:
        """Counts and sizes of the groups that give, then of those that get, once it is done; for
        no group those of the first, as it is, which holds."""
        swapped = np.flatnonzero(self.partners >= 0)
        moved, _ = counts_of_each(people, self.movers)
        moved[swapped] -= counts_of_each(people, self.partners[swapped])[0]
        net = (self.partners < 0).astype(np.int64)
        touched = np.concatenate([self.gives, self.gets])
        outside = touched == len(state.size)
        touched = np.where(outside, 0, touched)
        changed, more = np.concatenate([-moved, moved]), np.concatenate([-net, net])
        changed[outside], more[outside] = 0, 0
        return state.counts[touched] + changed, state.size[touched] + more

    def applied(self, state: GroupState, people: DealtPeople) -> tuple[Codes, Ints]:
        """Counts and sizes of all groups once they are made; no group is in two of them."""
        counts, sizes = state.counts.copy(), state.size.copy()
        touched = np.concatenate([self.gives, self.gets])
        inside = touched < len(sizes)
        after, people_after = self.both_sides(state, people)
        counts[touched[inside]], sizes[touched[inside]] = after[inside], people_after[inside]
        return counts, sizes


def counts_of_each(people: DealtPeople, persons: Ints) -> tuple[Codes, Ints]:
    """What each of these people adds to the counts of a group."""
    alone = people._replace(value=people.value[persons])
    return counts_of(alone, np.arange(len(persons), dtype=np.int32), len(persons))
