"""The ground of a search: people, rules, locality orders, and the groups that chains start from.

Starts are cut trees under criteria with more or less room left (`tightened`): a tree that keeps to
tighter bounds first stops at larger cells, which then have room to be cut again. Where people may
be suppressed, trees also start without those around whom groups must be largest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise, product

import numba as nb
import numpy as np

from sfumato.anonymizers.deal.black_box import BlackBox, counts_of
from sfumato.anonymizers.deal.cut_tree import (
    THETAS,
    CuttingRoom,
    cut_tree,
    marks,
    sort_by_place,
    weigh,
)
from sfumato.anonymizers.deal.exchange import savings
from sfumato.anonymizers.deal.people import Dealt
from sfumato.anonymizers.deal.rules import Rules, holds
from sfumato.anonymizers.deal.state import SOFT, soften, state_of
from sfumato.numbers import Bools, Codes, Floats, Ints
from sfumato.progress import Compiling

# Shares of their room that criteria are tightened to, one after another, and the order that decides
# ties in the tree: which of them leads furthest differs from criterion to criterion.
STARTS: tuple[tuple[tuple[float, ...], int], ...] = (
    ((1.0,), 0),
    ((0.7, 0.85, 1.0), 1),
    ((0.5, 0.75, 1.0), 0),
    ((0.9, 1.0), 1),
    ((1.0,), 2),
)
ORDERS = 6
SAMPLE = 10_000
_FEW, _VERY_FEW = 100, 20
_LOTS, _DRAWN = 3, 300  # starts by lot, and partitions drawn for each
_MANY = 300_000  # of so many people half as many orders are enough, and memory is dear
_PORTION = 2_000  # people whose pairs of groups are cut anew by one thread at a time


@dataclass
class Clock:
    """How much may be done: by the clock, or by the number of sweeps whatever the clock says.

    Compiled code looks at `stop`, which `left` sets when time is over. Compiling it, once an
    installation, does not count, nor does loading it, once a process.
    """

    seconds: float
    sweeps: int | None = None
    compiling: Compiling = field(default_factory=Compiling)
    started: float = field(default_factory=time.monotonic)
    interrupted: bool = False
    stop: Bools = field(default_factory=lambda: np.zeros(1, dtype=np.bool_))

    @property
    def left(self) -> float:
        """Seconds that are left; none as soon as somebody interrupted it."""
        if self.sweeps is not None and not self.interrupted:
            return np.inf
        left = 0.0 if self.interrupted else self.started + self.seconds - self.now
        self.stop[0] |= left <= 0
        return left

    @property
    def now(self) -> float:
        """The machine's clock, which stands still while something is compiled or loaded."""
        return time.monotonic() - self.compiling.seconds

    def early(self, spared: float) -> Clock:
        """A clock that stops so many seconds before this one."""
        return replace(self, seconds=self.seconds - spared, stop=np.zeros(1, dtype=np.bool_))


@dataclass(frozen=True)
class SearchGround:
    """What all chains share: people, rules by how much room they leave, and locality orders.

    `orders` are lines of people along which near ones are near, `positions` where each stands.
    `limit`: how many may be suppressed. `pool` runs what can be done at the same time. Where a
    `box` of criteria knows no rules, `stand_ins` has rules for cut trees, from strict to loose: a
    cell is cut as far down as all its parts hold.
    """

    dealt: Dealt
    rules: Callable[[float], Rules]
    bounds: Rules
    orders: Codes
    positions: Codes
    clock: Clock
    pool: ThreadPoolExecutor
    box: BlackBox
    stand_ins: tuple[Rules, ...] = ()
    limit: int = 0

    @classmethod
    def of(
        cls,
        dealt: Dealt,
        rules: Callable[[float], Rules],
        seed: int,
        clock: Clock,
        box: BlackBox,
        stand_ins: Sequence[Rules] = (),
        threads: int | None = None,
    ) -> SearchGround:
        chance = np.random.default_rng([seed, 0])
        total, columns = len(dealt), len(dealt.columns.kind)
        pool = ThreadPoolExecutor(threads or nb.get_num_threads())
        lines, waiting = [], []
        for number in range(ORDERS if total < _MANY else ORDERS // 2):
            # Ties by chance: the table has those who look alike sorted by their sensitive values.
            members = chance.permutation(total).astype(np.int32)
            lean = np.exp(chance.normal(0.0, 0.7 if number else 0.0, columns))
            waiting.append(pool.submit(_sort_line, members, dealt, lean))
            lines.append(members)
        for future in waiting:
            future.result()
        orders = np.array(lines, dtype=np.int32)
        positions = np.empty_like(orders)
        for line, places in zip(orders, positions, strict=True):
            places[line] = np.arange(total, dtype=np.int32)
        return cls(dealt, rules, rules(1.0), orders, positions, clock, pool, box, tuple(stand_ins))

    def sample(self) -> SearchGround:
        """Some of these people, drawn by lot, under the same rules and by the same clock."""
        people, total = self.dealt.people, len(self.dealt)
        chosen = np.sort(np.random.default_rng(total).permutation(total)[:SAMPLE])
        drawn_people = people._replace(places=people.places[chosen], value=people.value[chosen])
        frame = self.dealt.frame[chosen]
        dealt = replace(
            self.dealt, tuples=self.dealt.tuples[chosen], people=drawn_people, frame=frame
        )
        return SearchGround.of(dealt, self.rules, 0, self.clock, self.box)

    @property
    def many(self) -> bool:
        """Whether people are so many that starts are tried on a sample."""
        return len(self.dealt) > 2 * SAMPLE and not self.box

    @property
    def few(self) -> bool:
        """Whether people are so few that trying more costs next to nothing."""
        return len(self.dealt) <= _FEW

    @property
    def everybody_holds(self) -> bool:
        """Whether all people together keep the rules, and the criteria that know none."""
        people = self.dealt.people
        return _holds(np.bincount(people.value, minlength=len(people.starts) - 1), self)

    def under(self, rules: Callable[[float], Rules], stand_ins: Sequence[Rules]) -> SearchGround:
        """The same people under other rules."""
        return replace(self, rules=rules, bounds=rules(1.0), stand_ins=tuple(stand_ins))

    def cut(self, schedule: Sequence[float], order: int = 0, kept: Bools | None = None) -> Codes:
        """The groups of a cut tree that keeps to tighter bounds first; -1: who is not kept."""
        members = self.orders[order].copy()
        if kept is not None:
            members = members[kept[members]]
        # Cells begin with whom limits keep apart.
        frame = self.dealt.frame[members]
        members = members[np.argsort(frame, kind="stable")]
        begins = np.unique(
            np.append(np.searchsorted(np.sort(frame), np.unique(frame)), len(members))
        )
        if self.box:
            # Stand-ins of one sort, of the other, or of both, and not all of them: which leads
            # furthest depends on what the criteria are like.
            sort = order % 3
            step = max(len(schedule), 2 if sort else 1)
            sparse = self.stand_ins[::-step] if sort < 2 else self.stand_ins[-2::-2]
            for rules in sparse[::-1]:
                begins = self._cut_where_it_holds(members, begins, rules)
            return numbered(members, begins, len(self.dealt))
        for share in schedule:
            begins = self.cut_cells(
                members, begins, self.bounds if share == 1 else self.rules(share)
            )
        return numbered(members, begins, len(self.dealt))

    def _cut_where_it_holds(self, members: Codes, begins: Ints, rules: Rules) -> Ints:
        """Cut those cells further of which all parts hold; the largest cells first."""
        made = members.copy()
        parts = self.cut_cells(made, begins, rules)
        of_cell = np.searchsorted(begins, parts[:-1], side="right") - 1
        cells = np.flatnonzero(self.all_hold(made, parts, of_cell, len(begins) - 1))
        cells = cells[np.argsort(-np.diff(begins)[cells], kind="stable")]

        def further(cut: Ints) -> tuple[Codes, Ints]:
            cutting = np.isin(np.arange(len(begins) - 1), cut)
            mixed = np.where(np.repeat(cutting, np.diff(begins)), made, members)
            return mixed, np.union1d(begins, parts[:-1][cutting[of_cell]])

        def counts_after(cut: Ints) -> tuple[Codes, Ints]:
            mixed, cut_begins = further(cut)
            group = numbered(mixed, cut_begins, len(self.dealt))
            return counts_of(self.dealt.people, group, len(cut_begins) - 1)

        members[:], begins = further(self.box.as_many_as_hold(cells, counts_after))
        return begins

    def all_hold(self, members: Codes, parts: Ints, of_cell: Ints, cells: int) -> Bools:
        """Whether all parts of each cell hold by the criteria that know no rules."""
        if not self.box.by_group:
            return np.ones(cells, dtype=bool)
        safe = self.box.holds(
            *counts_of(self.dealt.people, numbered(members, parts, len(self.dealt)), len(parts) - 1)
        )
        fine: Bools = np.bincount(of_cell[~safe], minlength=cells) == 0
        return fine

    def cut_cells(self, members: Codes, begins: Ints, rules: Rules) -> Ints:
        """Cut cells further; `members` is rearranged within them.

        Large cells first, and then all by portions, at the same time.
        """
        begun = np.zeros(len(members) + 1, dtype=np.bool_)
        begun[-1] = True
        begun[begins] = True
        whole = np.zeros(
            len(members), dtype=np.bool_
        )  # by its first place: a cell that cannot be cut
        while True:
            sizes = np.diff(begins)
            large = np.flatnonzero((sizes > 2 * _PORTION) & ~whole[begins[:-1]])
            if not len(large):
                break
            self._run(
                partial(self._cut, members, begun, rules, begins[cell : cell + 2], sizes[cell] // 2)
                for cell in large.tolist()
            )
            before, begins = begins, np.flatnonzero(begun)
            kept = begins[np.searchsorted(begins, before[large]) + 1] == before[large + 1]
            whole[before[large[kept]]] = True
        self._run(
            partial(self._cut, members, begun, rules, begins[first : last + 1], 0)
            for first, last in pairwise(_parts(np.diff(begins), _PORTION).tolist())
        )
        return np.flatnonzero(begun)

    def _run(self, jobs: Iterable[Callable[[], None]]) -> None:
        for running in [self.pool.submit(job) for job in jobs]:
            running.result()

    def _cut(self, members: Codes, begun: Bools, rules: Rules, begins: Ints, small: int) -> None:
        start, stop = begins[0], begins[-1]
        cut_tree(
            members[start:stop],
            begins - start,
            self.dealt.people,
            self.dealt.columns,
            rules,
            THETAS,
            np.int64(small),
            begun[start:stop],
            self.clock.stop,
            CuttingRoom.of(stop - start, self.dealt.people, self.dealt.columns),
        )

    def costs(self, members: Codes, begins: Ints) -> Floats:
        """People times width of groups that are runs of `members`."""
        group_costs = np.zeros(len(begins) - 1)
        people, columns = self.dealt.people, self.dealt.columns
        weigh(members, begins, people, columns, marks(columns), group_costs)
        return group_costs


def _sort_line(members: Codes, dealt: Dealt, lean: Floats) -> None:
    """One order; room is made when its turn comes, so that few are there at a time."""
    room = CuttingRoom.of(len(members), dealt.people, dealt.columns)
    sort_by_place(members, dealt.people, dealt.columns, lean, room)


Start = Callable[[SearchGround], Codes]


def trees_without(stay: Bools) -> list[Start]:
    """Cut trees of those who stay."""
    return [_tree(schedule, 0, stay) for schedule in ((1.0,), (0.7, 0.85, 1.0))]


def starts(ground: SearchGround, most: int) -> list[Start]:
    """Cut trees of everybody, at most so many of five. If all are wanted, of few people along every
    order, since there each counts; of very few also partitions drawn by lot, which no cut of shares
    leads to."""
    listed, all_wanted = list(STARTS[:most]), most >= len(STARTS)
    if all_wanted and ground.few:
        schedules = dict.fromkeys(schedule for schedule, _ in STARTS)
        listed += [start for start in product(schedules, range(ORDERS)) if start not in STARTS]
    made: list[Start] = [_tree(schedule, order) for schedule, order in listed]
    if all_wanted and len(ground.dealt) <= _VERY_FEW:
        made += [partial(_drawn, number) for number in range(_LOTS)]
    return made


def _tree(schedule: Sequence[float], order: int, kept: Bools | None = None) -> Start:
    return lambda ground: ground.cut(schedule, order, kept)


def _drawn(number: int, ground: SearchGround) -> Codes:
    """The cheapest of many random partitions that hold; everybody together if none does."""
    people, total = ground.dealt.people, len(ground.dealt)
    chance = np.random.default_rng([total, number])
    best, least = np.zeros(total, dtype=np.int32), np.inf
    for _ in range(_DRAWN):
        many = int(chance.integers(2, max(total // ground.bounds.least, 2) + 1))
        lots = chance.integers(0, many, total)
        drawn = np.unique(lots, return_inverse=True)[1].reshape(-1).astype(np.int32)
        members = np.argsort(drawn, kind="stable").astype(np.int32)
        begins = np.searchsorted(drawn[members], np.arange(drawn.max() + 2))
        cost = float(ground.costs(members, begins).sum())
        counts, sizes = counts_of(people, drawn, len(begins) - 1)
        if (
            cost < least
            and all(holds(counts, g, size, ground.bounds) for g, size in enumerate(sizes.tolist()))
            and ground.box.holds(counts, sizes).all()
            and ground.box.hold_together(counts, sizes)
        ):
            best, least = drawn, cost
    return best


def starts_without(ground: SearchGround, group: Codes) -> list[Start]:
    """These groups, and cut trees of all but some whom the limit allows to suppress: those whose
    going would narrow these groups most; those who have the rarest values; and if everybody
    together breaks a rule, enough of those who have the most frequent. Whom limits keep apart and
    who break a rule go."""
    dealt, people, total = ground.dealt, ground.dealt.people, len(ground.dealt)
    state, hard = state_of(group, people, dealt.columns), np.zeros(SOFT + 1)
    hard[0] = 1.0
    soften(state, dealt.columns, hard)
    saved = savings(state, people, dealt.columns, hard)
    falling, kept = np.argsort(-saved, kind="stable"), list[Bools]()
    for many in sorted({ground.limit, (ground.limit + 1) // 2}):
        kept.append(np.ones(total, dtype=np.bool_))
        kept[-1][falling[:many]] = False
    having = np.bincount(people.value, minlength=len(people.starts) - 1)
    rising = np.argsort(having, kind="stable")
    many = int(np.searchsorted(np.cumsum(having[rising]), ground.limit, side="right"))
    for rare in sorted({many, (many + 1) // 2} - {0}):
        fewer = having.copy()
        fewer[rising[:rare]] = 0
        kept.append(_first_of_each(fewer, ground))
    stay = None if ground.everybody_holds else without_most_frequent(ground)
    if stay is not None:
        kept.append(stay)
    fits = np.ones(total, dtype=np.bool_)
    for frame in np.unique(dealt.frame).tolist() if dealt.frame.any() else ():
        here = dealt.frame == frame
        alone = np.bincount(people.value[here], minlength=len(having))
        fits[here] = _holds(alone, ground)
    if not fits.all():
        kept = [fits, *(stay & fits for stay in kept)]
    trees = [
        tree
        for stay in kept
        if total - stay.sum() <= ground.limit
        and _holds(np.bincount(people.value[stay], minlength=len(having)), ground)
        for tree in trees_without(stay)
    ]
    return trees if trees and not fits.all() else [lambda _: group, *trees]


def without_most_frequent(ground: SearchGround) -> Bools | None:
    """Who stays if about as few as possible go of those who have the most frequent values, so that
    the others together keep the rules; None where that is more than the limit allows."""
    value = ground.dealt.people.value
    having = np.bincount(value, minlength=len(ground.dealt.people.starts) - 1)
    highest = int(having.max())
    for most in range(highest - 1, 0, -max(highest // 100, 1)):
        fewer = np.minimum(having, most)
        if len(value) - fewer.sum() > ground.limit:
            break
        if _holds(fewer, ground):
            return _first_of_each(fewer, ground)
    return None


def _holds(having: Ints, ground: SearchGround) -> bool:
    """Whether so many people of each value, together, keep rules and criteria without rules."""
    people, size = ground.dealt.people, np.array([having.sum()])
    counts = np.zeros((1, people.width), dtype=np.int32)
    times = np.repeat(having, np.diff(people.starts))
    np.add.at(counts[0], people.adds, times)
    return (
        bool(holds(counts, np.int64(0), np.int64(size[0]), ground.bounds))
        and bool(ground.box.holds(counts, size).all())
        and ground.box.hold_together(counts, size)
    )


def _first_of_each(keep: Ints, ground: SearchGround) -> Bools:
    """So many people of each value, the first ones along an order."""
    line, value = ground.orders[0], ground.dealt.people.value
    by_value = line[np.argsort(value[line], kind="stable")]
    begins = np.searchsorted(value[by_value], np.arange(len(keep)))
    kept = np.zeros(len(line), dtype=np.bool_)
    kept[by_value] = np.arange(len(line)) - begins[value[by_value]] < keep[value[by_value]]
    return kept


def _parts(sizes: Ints, people: int) -> Ints:
    """Where portions of about so many people begin among cells of these sizes, and the end."""
    portion = (np.cumsum(sizes) - sizes) // people
    return np.append(np.flatnonzero(np.diff(portion, prepend=-1)), len(sizes))


def numbered(members: Codes, begins: Ints, total: int) -> Codes:
    """Each person's group, of groups that are runs of `members`; -1: who is in none."""
    group = np.full(total, -1, dtype=np.int32)
    group[members] = np.repeat(np.arange(len(begins) - 1, dtype=np.int32), np.diff(begins))
    return group
