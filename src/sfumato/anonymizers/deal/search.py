"""The search: several starts, then rounds of re-cutting pairs of groups and annealed sweeps.

Stands apart: it imports the compiled kernels, which `deal.py` loads only when it runs.

Starts are cut trees under criteria with more or less room left (`tightened`): a tree that keeps to
tighter bounds first stops at larger cells, which then have room to be cut again; and the groups of
another anonymizer. Each is tried for a little while, and the two best are improved side by side.
Chains know nothing of each other and draw their own chance, so that what is found does not depend
on which of them is faster. Whatever is seen with the least true cost is kept: soft sweeps may
raise it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace

import numpy as np

from sfumato.anonymizers.deal.black_box import BlackBox, counts_of, sweep_in_batches
from sfumato.anonymizers.deal.cut_tree import THETAS, cut_tree, sort_by_place, weigh
from sfumato.anonymizers.deal.exchange import (
    SOFT,
    GroupState,
    match_groups,
    state_of,
    sweep,
    true_cost,
)
from sfumato.anonymizers.deal.people import Dealt
from sfumato.anonymizers.deal.rules import Rules
from sfumato.numbers import Bools, Codes, Floats, Ints

# Shares of their room that criteria are tightened to, one after another, and the order that decides
# ties in the tree: which of them leads furthest differs from criterion to criterion.
STARTS: tuple[tuple[tuple[float, ...], int], ...] = (
    ((1.0,), 0),
    ((0.7, 0.85, 1.0), 1),
    ((1.0,), 2),
    ((0.5, 0.75, 1.0), 0),
    ((0.9, 1.0), 1),
)
ORDERS = 6
_MANY = 300_000  # of so many people half as many orders are enough, and memory is dear
GAMMA, TEMPERATURE = 0.85, 0.1
SWEEPS, RECUTS = 8, 4  # of one round
_TRIED, _TRIED_RECUTS = 3, 2  # of a start that is tried
FULL = 32  # sweeps after which a chain is done, unless it still gains
_COOLED = 0.85  # from this part of the sweeps on, widths are the true ones
_GAIN = 1e-3  # the last sweeps end when one gains less than this share
_NEAR = 4  # groups with people so near on an order may be cut anew together
_CHAINS = 2
_ROUND = 12  # a round takes as long as so many sweeps, about
_STARTING = 0.4  # of the time may be spent on starts
NO_PROPOSALS = (np.zeros((0, 0, 2), dtype=np.int64), np.zeros((0, 0)))  # changes are made at once


@dataclass
class Clock:
    """How much may be done: by the clock, or by the number of sweeps whatever the clock says."""

    seconds: float
    sweeps: int | None = None
    started: float = field(default_factory=time.monotonic)
    stopped: bool = False

    @property
    def left(self) -> float:
        """Seconds that are left; none as soon as somebody stopped it."""
        if self.stopped:
            return 0.0
        return np.inf if self.sweeps is not None else self.started + self.seconds - time.monotonic()


@dataclass(frozen=True)
class SearchGround:
    """What all chains share: people, rules by how much room they leave, and locality orders.

    `orders` are lines of people along which near ones are near, `positions` where each stands.
    Where a `box` of criteria knows no rules, `ladder` has stand-ins for cut trees, from strict to
    loose: a cell is cut as far down as all its parts hold.
    """

    dealt: Dealt
    rules: Callable[[float], Rules]
    bounds: Rules
    orders: Codes
    positions: Codes
    clock: Clock
    box: BlackBox
    ladder: tuple[Rules, ...] = ()

    @classmethod
    def of(
        cls,
        dealt: Dealt,
        rules: Callable[[float], Rules],
        seed: int,
        clock: Clock,
        box: BlackBox,
        ladder: Sequence[Rules] = (),
    ) -> SearchGround:
        chance = np.random.default_rng([seed, 0])
        total, columns = len(dealt), len(dealt.columns.kind)
        lines = []
        for number in range(ORDERS if total < _MANY else ORDERS // 2):
            # Ties by chance: the table has those who look alike sorted by their sensitive values.
            who = chance.permutation(total).astype(np.int32)
            lean = np.exp(chance.normal(0.0, 0.7 if number else 0.0, columns))
            sort_by_place(who, dealt.people, dealt.columns, lean)
            lines.append(who)
        orders = np.array(lines, dtype=np.int32)
        positions = np.empty_like(orders)
        for line, places in zip(orders, positions, strict=True):
            places[line] = np.arange(total, dtype=np.int32)
        return cls(dealt, rules, rules(1.0), orders, positions, clock, box, tuple(ladder))

    def under(self, rules: Callable[[float], Rules], ladder: Sequence[Rules]) -> SearchGround:
        """The same people under other rules."""
        return replace(self, rules=rules, bounds=rules(1.0), ladder=tuple(ladder))

    def cut(self, schedule: Sequence[float], order: int = 0) -> Codes:
        """The groups of a cut tree that keeps to tighter bounds first."""
        who = self.orders[order].copy()
        begins = np.array([0, len(who)], dtype=np.int64)
        if self.box:
            # Stand-ins of one sort, of the other, or of both, and not all of them: which leads
            # furthest depends on what the criteria are like.
            step = max(len(schedule), 2 if order else 1)
            for rules in self.ladder[::-step][::-1] if order < 2 else self.ladder[-2::-2][::-1]:
                begins = self._cut_where_it_holds(who, begins, rules)
            return _numbered(who, begins)
        for share in schedule:
            begins = self.cut_cells(who, begins, self.bounds if share == 1 else self.rules(share))
        return _numbered(who, begins)

    def _cut_where_it_holds(self, who: Codes, begins: Ints, rules: Rules) -> Ints:
        """Cut those cells further of which all parts hold; the largest cells first."""
        made = who.copy()
        parts = self.cut_cells(made, begins, rules)
        of_cell = np.searchsorted(begins, parts[:-1], side="right") - 1
        cells = np.flatnonzero(self.all_hold(made, parts, of_cell, len(begins) - 1))
        cells = cells[np.argsort(-np.diff(begins)[cells], kind="stable")]

        def further(cut: Ints) -> tuple[Codes, Ints]:
            cutting = np.isin(np.arange(len(begins) - 1), cut)
            mixed = np.where(np.repeat(cutting, np.diff(begins)), made, who)
            return mixed, np.union1d(begins, parts[:-1][cutting[of_cell]])

        def counts_after(cut: Ints) -> tuple[Codes, Ints]:
            mixed, found = further(cut)
            return counts_of(self.dealt.people, _numbered(mixed, found), len(found) - 1)

        who[:], begins = further(self.box.as_many_as_hold(cells, counts_after))
        return begins

    def all_hold(self, who: Codes, parts: Ints, of_cell: Ints, cells: int) -> Bools:
        """Whether all parts of each cell hold by the criteria that know no rules."""
        if not self.box.by_group:
            return np.ones(cells, dtype=bool)
        held = self.box.holds(*counts_of(self.dealt.people, _numbered(who, parts), len(parts) - 1))
        fine: Bools = np.bincount(of_cell[~held], minlength=cells) == 0
        return fine

    def cut_cells(self, who: Codes, begins: Ints, rules: Rules) -> Ints:
        """Cut cells further; `who` is rearranged within them."""
        begun = np.zeros(len(who) + 1, dtype=np.bool_)
        begun[-1] = True
        cut_tree(who, begins, self.dealt.people, self.dealt.columns, rules, THETAS, begun)
        return np.flatnonzero(begun)

    def costs(self, who: Codes, begins: Ints) -> Floats:
        """People times width of groups that are runs of `who`."""
        found = np.zeros(len(begins) - 1)
        weigh(who, begins, self.dealt.people, self.dealt.columns, found)
        return found


class Chain:
    """One line of improvement; `best` and `cost` are the best groups it has seen."""

    def __init__(self, ground: SearchGround, group: Codes, seed: Sequence[int]) -> None:
        self._ground, self._chance = ground, np.random.default_rng(list(seed))
        self._state = self._state_of(group)
        self.best, self.cost = group, self._true_cost()
        self.sweeps = self.changes = 0
        self._pace = 0.0  # seconds that a sweep takes

    def try_out(self) -> Chain:
        """A first look at how far it may come."""
        if self._ground.clock.left > 0:
            self._recut(_TRIED_RECUTS)
            self._anneal(_TRIED, GAMMA)
        return self

    def improve(self) -> Chain:
        """Rounds of re-cutting and sweeps that cool down, then sweeps by true widths only."""
        clock, number, before = self._ground.clock, 0, self.cost
        planned = FULL if clock.sweeps is None else clock.sweeps
        while clock.left > self._pace and planned > 0 and self.cost > 0:
            # The last round is as long as there is time: cut short, it would end before it cools.
            short = clock.left < _ROUND * self._pace
            self._recut(0 if short else RECUTS)
            some = min(SWEEPS, planned, max(1, int(min(clock.left / (self._pace or 1), SWEEPS))))
            self._anneal(some, GAMMA * max(1 - 0.15 * number, 0.4))
            planned -= SWEEPS
            number += 1
            if planned <= 0 and clock.sweeps is None and self.cost < before * (1 - 5 * _GAIN):
                planned = SWEEPS  # it still gains: another round
            before = self.cost
        if clock.left > RECUTS * self._pace:
            self._recut(RECUTS)
        reached = np.inf
        while clock.left > self._pace:
            self._sweep(0.0, 0.0)
            before, reached = reached, self._true_cost()
            if not reached < before * (1 - _GAIN):  # also where there is nothing left to gain
                break
        return self

    def _anneal(self, sweeps: int, gamma: float) -> None:
        for number in range(sweeps):
            warm = max(0.0, 1.0 - number / (_COOLED * sweeps))
            self._sweep(gamma * warm, TEMPERATURE * warm)
            if self._ground.clock.left <= 0:
                return

    def _sweep(self, gamma: float, temperature: float) -> None:
        ground, total, began = self._ground, len(self._state.group), time.monotonic()
        gone = gamma ** np.arange(SOFT + 1.0)
        gone[-1] = 0.0
        common = (
            self._state,
            ground.dealt.people,
            ground.dealt.columns,
            ground.bounds,
            ground.orders,
            ground.positions,
            self.sweeps % len(ground.orders),
            gone,
            temperature * self._chance.exponential(1.0, total),
        )
        if ground.box:
            made = sweep_in_batches(ground.box, *common, lambda: ground.clock.left > 0)
        else:
            made = sweep(*common, 0, total, *NO_PROPOSALS)
        self.changes += made
        self.sweeps += 1
        self._keep()
        if ground.clock.sweeps is None:
            self._pace = time.monotonic() - began

    def _recut(self, times: int) -> None:
        """Pool pairs of near groups, cut each pair anew, and keep what is cheaper."""
        group = self._state.group
        for _ in range(times):
            if self._ground.clock.left <= 0:
                break
            group = self._cut_anew(group)
        self._state = self._state_of(group)
        self._keep()

    def _cut_anew(self, group: Codes) -> Codes:
        ground, total = self._ground, int(group.max()) + 1
        line = ground.orders[self._chance.integers(len(ground.orders))]
        partner, turns = np.arange(total, dtype=np.int32), self._chance.permutation(len(group))
        match_groups(group, line, turns, self._chance.integers(1, _NEAR + 1, len(group)), partner)
        # Everybody by pair (a group without a partner is one by itself), then along an order.
        first, pair = ground.orders[0], np.minimum(partner, np.arange(total))[group]
        who = first[np.argsort(pair[first], kind="stable")]
        begins = _runs(pair[who])
        apart = who[np.argsort(group[who], kind="stable")]
        now = ground.costs(apart, _runs(group[apart]))
        one = pair[who[begins[:-1]]]
        before = now[one] + np.where(partner[one] != one, now[partner[one]], 0.0)
        made = who.copy()
        rules = ground.bounds
        if ground.box:
            rules = ground.ladder[self._chance.integers(len(ground.ladder))]
        parts = ground.cut_cells(made, begins, rules)
        of_pair = np.searchsorted(begins, parts[:-1], side="right") - 1
        then = np.bincount(of_pair, ground.costs(made, parts), minlength=len(begins) - 1)
        cheaper = then < before - 1e-9
        cheaper &= ground.all_hold(made, parts, of_pair, len(begins) - 1)

        def cut(pairs: Ints) -> Codes:
            better = who[np.repeat(np.isin(np.arange(len(then)), pairs), np.diff(begins))]
            moved = group.copy()
            moved[better] = _numbered(made, parts)[better] + total
            return np.unique(moved, return_inverse=True)[1].reshape(-1).astype(np.int32)

        def counts_after(pairs: Ints) -> tuple[Codes, Ints]:
            moved = cut(pairs)
            return counts_of(ground.dealt.people, moved, int(moved.max()) + 1)

        pairs = np.flatnonzero(cheaper)
        pairs = pairs[np.argsort((then - before)[pairs], kind="stable")]
        return cut(ground.box.as_many_as_hold(pairs, counts_after))

    def _state_of(self, group: Codes) -> GroupState:
        return state_of(group, self._ground.dealt.people, self._ground.dealt.columns)

    def _true_cost(self) -> float:
        return float(true_cost(self._state, self._ground.dealt.columns))

    def _keep(self) -> None:
        cost = self._true_cost()
        if cost < self.cost - 1e-9:
            self.cost, self.best = cost, self._state.group.copy()


def search(
    ground: SearchGround, seed: int, others: Sequence[Codes], tell: Callable[[float], None]
) -> list[Chain]:
    """The chains that were run to the end, the best first. `tell` hears the least cost so far.

    An interrupt ends the search after the sweeps that are under way; what was found stays.
    """
    chains: list[Chain] = []

    def start(number: int) -> Chain | None:
        clock = ground.clock
        if number and clock.left < (1 - _STARTING) * clock.seconds:
            return None
        known = number - len(STARTS)
        group = others[known] if known >= 0 else ground.cut(*STARTS[number])
        chain = Chain(ground, group, (seed, 1, number))
        chains.append(chain)
        return chain.try_out()

    with ThreadPoolExecutor(_CHAINS) as pool:
        try:
            first = pool.submit(start, 0)
            _heard([first], chains, tell)
            numbers = range(1, len(STARTS) + len(others))
            _heard([pool.submit(start, number) for number in numbers], chains, tell)
            chains.sort(key=lambda chain: chain.cost)
            _heard([pool.submit(_improve, chain) for chain in chains[:_CHAINS]], chains, tell)
        except KeyboardInterrupt:
            ground.clock.stopped = True
    return sorted(chains, key=lambda chain: chain.cost)


def _improve(chain: Chain) -> Chain | None:
    return chain.improve()


def _heard(
    running: Sequence[Future[Chain | None]], chains: Sequence[Chain], tell: Callable[[float], None]
) -> None:
    """Wait for chains, and tell how far they are."""
    left = set(running)
    while left:
        ended, left = wait(left, timeout=0.25)
        for future in ended:
            future.result()
        if chains:
            tell(min(chain.cost for chain in chains))


def _runs(sorted_keys: Codes) -> Ints:
    """Where each run of equal keys begins, and where the last ends."""
    changed = np.flatnonzero(np.append(True, sorted_keys[1:] != sorted_keys[:-1]))
    return np.append(changed, len(sorted_keys)).astype(np.int64)


def _numbered(who: Codes, begins: Ints) -> Codes:
    """Each person's group, of groups that are runs of `who`."""
    group = np.empty(len(who), dtype=np.int32)
    group[who] = np.repeat(np.arange(len(begins) - 1, dtype=np.int32), np.diff(begins))
    return group
