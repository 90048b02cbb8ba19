"""The search: several starts, then rounds of re-cutting pairs of groups and annealed sweeps.

Stands apart: it imports the compiled kernels, which `deal.py` loads only when it runs.

Starts (`ground.py`) are cut trees, and the groups of another anonymizer. Each is tried for a little
while, and the two best are improved side by side; of many people a sample tries the trees, and the
best one is grown of everybody and improved by all threads.
Chains know nothing of each other and draw their own chance, so that what is found does not depend
on which of them is faster. Whatever is seen with the least true cost is kept: soft sweeps may
raise it.

Sweeps go by stretches of a locality order whose groups do not overlap, and pairs are cut anew by
portions; both on as many threads as there are. How people are split does not depend on these.

Where people may be suppressed, that begins when the rest has been searched, from its best groups
and from trees without some people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import pairwise

import numpy as np

from sfumato.anonymizers.deal.black_box import counts_of, sweep_in_batches
from sfumato.anonymizers.deal.cut_tree import match_groups
from sfumato.anonymizers.deal.exchange import NO_PROPOSALS, Stretch, savings, sweep
from sfumato.anonymizers.deal.ground import Clock, SearchGround, Start, numbered
from sfumato.anonymizers.deal.state import SOFT, GroupState, soften, state_of, true_cost
from sfumato.numbers import Codes, Floats, Ints

GAMMA = 0.85
TEMPERATURE = 0.35  # times the mean width of a group at the beginning
RECUTS, _BETWEEN = (
    4,
    2,
)  # before a round, and sweeps between them within, more where they gain little
_TRIED, _TRIED_RECUTS = 3, 2  # of a start that is tried
FULL, _AGAIN = 64, 16  # sweeps of the first round, and of others as long as they gain
_WARM = 0.4  # how warm these others begin
_RECUTTING = 1 / 30  # of the time that is left may be spent on one re-cutting
_COOLED = 0.85  # from this part of the sweeps on, widths are the true ones
_GAIN = 1e-3  # the last sweeps end when one gains less than this share
_NEAR = 4  # groups with people so near on an order may be cut anew together
_CHAINS = 2
_CHAINS_OF_FEW = 6
_STARTING = 0.25  # of the time may be spent on starts
# People of a stretch, at least, and stretches, at most: who are near on another order than that of
# the stretches are often apart on this one, the more often the more stretches there are.
_STRETCH, _STRETCHES = 13_000, 4


class Chain:
    """One line of improvement; `best` and `cost` are the best groups it has seen."""

    def __init__(self, ground: SearchGround, group: Codes, seed: Sequence[int]) -> None:
        self._ground, self._chance = ground, np.random.default_rng(list(seed))
        self._state = self._state_of(group)
        self.best, self.cost = group, self._true_cost()
        self.number = seed[-1]
        self.sweeps = self.changes = 0
        self._pace = self._recutting = 0.0  # seconds that a sweep takes, and cutting pairs anew

    @property
    def rank(self) -> tuple[float, int]:
        """Which of two is better: whatever thread ends first, the same of equals."""
        return self.cost, self.number

    def try_out(self) -> Chain:
        """A first look at how far it may come."""
        if self._ground.clock.left > 0:
            self._recut(_TRIED_RECUTS)
            self._anneal(_TRIED)
        return self

    def improve(self) -> Chain:
        """Rounds of sweeps that cool down, re-cutting between, then sweeps by true widths only."""
        clock, first = self._ground.clock, True
        planned = FULL if clock.sweeps is None else clock.sweeps
        while clock.left > self._pace and planned > 0 and self.cost > 0:
            before = self.cost
            self._recut(RECUTS)
            self._anneal(min(FULL, planned), 1.0 if first else _WARM)
            planned -= FULL
            first = False
            if planned <= 0 and clock.sweeps is None and self.cost < before * (1 - 5 * _GAIN):
                planned = _AGAIN  # it still gains: another round
        if clock.left > RECUTS * self._pace:
            self._recut(RECUTS)
        reached = np.inf
        while clock.left > 0:
            self._sweep(0.0, 0.0)
            before, reached = reached, self._true_cost()
            if not reached < before * (1 - _GAIN):  # also where there is nothing left to gain
                break
        return self

    def _anneal(self, sweeps: int, warmest: float = 1.0) -> None:
        """Cool down within so many sweeps, or in the time that is left if that is less."""
        clock, temperature = self._ground.clock, TEMPERATURE * self.cost / len(self._state.group)
        allowed, between, since = clock.left, _BETWEEN, 0
        for number in range(sweeps):
            left = clock.left
            if left <= 0:
                return
            spent = (allowed - left) / allowed if allowed < np.inf else 0.0
            warm = warmest * max(0.0, 1.0 - max(number / sweeps, spent) / _COOLED)
            self._sweep(GAMMA * warm, temperature * warm)
            since += 1
            if since == between and number < sweeps - 1:
                before, since = self._true_cost(), 0
                self._recut(1)
                between = _BETWEEN if self._true_cost() < before * (1 - _GAIN) else 2 * between

    def _sweep(self, gamma: float, temperature: float) -> None:
        ground, total, began = self._ground, len(self._state.group), self._ground.clock.now
        dealt, state = ground.dealt, self._state
        gone = gamma ** np.arange(SOFT + 1.0)
        gone[-1] = 0.0
        bars = temperature * self._chance.exponential(1.0, total)
        shared = (
            state,
            dealt.people,
            dealt.columns,
            ground.bounds,
            ground.orders,
            ground.positions,
        )
        if ground.box:
            visited, box = self.sweeps % len(ground.orders), ground.box
            clock, limit = ground.clock, ground.limit
            made = sweep_in_batches(
                box, *shared, visited, gone, bars, lambda: clock.left > 0, limit
            )
        else:
            soften(state, dealt.columns, gone)
            run = partial(sweep, *shared, gone)
            stretches = self._stretches(bars, self._price(gone))
            stretches.sort(key=lambda stretch: -len(stretch.visits))  # the longest begin first
            made = sum(
                job.result() for job in [ground.pool.submit(run, stretch) for stretch in stretches]
            )
        self.changes += made
        self.sweeps += 1
        self._keep()
        if ground.clock.sweeps is None:
            self._pace = ground.clock.now - began

    def _stretches(self, bars: Floats, price: float) -> list[Stretch]:
        """Everybody by the stretch of a locality order in which her group lies, on the average.

        Stretches have as many people each, but for the first and the last, which share one: where
        they end differs from sweep to sweep, and so does the order.
        """
        ground, group = self._ground, self._state.group
        visited = self.sweeps % len(ground.orders)
        line, place = ground.orders[visited], ground.positions[visited]
        total, outside = len(group), len(self._state.size)
        many = stretches_of(total)
        size = self._state.size
        mean = np.bincount(group, place, minlength=outside + 1)[:outside] / size
        shift = self._chance.random() if many > 1 else 0.0
        along, part = np.argsort(mean, kind="stable"), np.zeros(outside, dtype=np.int32)
        before = np.cumsum(size[along]) - size[along]
        part[along] = (before * (many / size.sum()) + shift).astype(np.int32)
        own = np.where(group == outside, (place * (many / total) + shift).astype(np.int32), 0)
        inside = group < outside
        own[inside] = part[group[inside]]
        visits = line[np.argsort(own[line], kind="stable")]
        parts = many + (many > 1)
        ends = np.searchsorted(own[visits], np.arange(parts + 1))
        room = ground.limit - int(total - size.sum())
        return [
            Stretch(
                visits[first:last],
                bars[first:last],
                part,
                number,
                (room + number) // parts,
                price,
                ground.clock.stop,
                *NO_PROPOSALS,
            )
            for number, (first, last) in enumerate(pairwise(ends.tolist()))
        ]

    def _price(self, gone: Floats) -> float:
        """What is asked for suppressing somebody: as much as those would save for whom there is
        room, so that it goes to those who save most, whoever has her turn first."""
        ground, state = self._ground, self._state
        if ground.limit == 0:
            return 0.0
        saved = savings(state, ground.dealt.people, ground.dealt.columns, gone)
        room = ground.limit - int(len(state.group) - state.size.sum())
        rank = min(max(room, ground.limit // 4, 1), len(saved))
        return max(float(np.partition(saved, -rank)[-rank]), 0.0)

    def _recut(self, times: int) -> None:
        """Pool pairs of near groups, cut each pair anew, and keep what is cheaper."""
        group, clock = self._groups(), self._ground.clock
        for _ in range(times):
            if clock.left <= self._recutting / _RECUTTING:
                break
            began = clock.now
            group = self._cut_anew(group)
            if clock.sweeps is None:
                self._recutting = clock.now - began
        self._state = self._state_of(group)
        self._keep()

    def _cut_anew(self, group: Codes) -> Codes:
        ground, total = self._ground, int(group.max()) + 1
        line = ground.orders[self._chance.integers(len(ground.orders))]
        partner, turns = np.arange(total, dtype=np.int32), self._chance.permutation(len(group))
        match_groups(group, line, turns, self._chance.integers(1, _NEAR + 1, len(group)), partner)
        # Everybody by pair (a group without a partner is one by itself), then along an order.
        first, pair = ground.orders[0], np.minimum(partner, np.arange(total))
        first = first[group[first] >= 0]
        members = first[np.argsort(pair[group[first]], kind="stable")]
        begins = _runs(pair[group[members]])
        apart = members[np.argsort(group[members], kind="stable")]
        now = ground.costs(apart, _runs(group[apart]))
        leading = pair[group[members[begins[:-1]]]]
        before = now[leading] + np.where(partner[leading] != leading, now[partner[leading]], 0.0)
        made = members.copy()
        rules = ground.bounds
        if ground.box:
            rules = ground.stand_ins[self._chance.integers(len(ground.stand_ins))]
        parts = ground.cut_cells(made, begins, rules)
        of_pair = np.searchsorted(begins, parts[:-1], side="right") - 1
        then = np.bincount(of_pair, ground.costs(made, parts), minlength=len(begins) - 1)
        cheaper = then < before - 1e-9
        if ground.box:
            cheaper &= ground.all_hold(made, parts, of_pair, len(begins) - 1)

        def cut(pairs: Ints) -> Codes:
            better = members[np.repeat(np.isin(np.arange(len(then)), pairs), np.diff(begins))]
            moved = group.copy()
            moved[better] = numbered(made, parts, len(group))[better] + total
            kept = moved >= 0
            moved[kept] = np.unique(moved[kept], return_inverse=True)[1].reshape(-1)
            return moved

        def counts_after(pairs: Ints) -> tuple[Codes, Ints]:
            moved = cut(pairs)
            return counts_of(ground.dealt.people, moved, int(moved.max()) + 1)

        pairs = np.flatnonzero(cheaper)
        pairs = pairs[np.argsort((then - before)[pairs], kind="stable")]
        return cut(ground.box.as_many_as_hold(pairs, counts_after))

    def _groups(self) -> Codes:
        """Everybody's group; -1: in none."""
        group = self._state.group
        return np.where(group < len(self._state.size), group, np.int32(-1))

    def _state_of(self, group: Codes) -> GroupState:
        return state_of(group, self._ground.dealt.people, self._ground.dealt.columns)

    def _true_cost(self) -> float:
        return float(true_cost(self._state, self._ground.dealt.columns))

    def _keep(self) -> None:
        cost = self._true_cost()
        if cost < self.cost - 1e-9:
            self.cost, self.best = cost, self._groups()


def stretches_of(people: int) -> int:
    """How many stretches so many people are swept in, on however many threads."""
    return min(max(people // _STRETCH, 1), _STRETCHES)


def search(
    ground: SearchGround,
    seed: Sequence[int],
    started: Sequence[Start],
    tell: Callable[[float], None],
) -> list[Chain]:
    """The chains that were run to the end, the best first. `tell` hears the least cost so far.

    An interrupt ends the search where it is; what was found stays.
    """
    chains: list[Chain] = []
    clock = ground.clock
    few = _CHAINS_OF_FEW if ground.few else _CHAINS
    with ThreadPoolExecutor(_CHAINS) as pool:
        try:
            # Of many people a sample tries the trees; from groups that are there all have to start.
            if ground.many and not ground.limit and len(started) > 1:
                tried: list[Chain] = []
                _try_out(ground.sample(), seed, started, tried, pool, lambda _: None)
                tried.sort(key=lambda chain: chain.rank)
                started = [started[tried[0].number if tried else 0]]  # none: no time is left
            _try_out(ground, seed, started, chains, pool, tell)
            chains.sort(key=lambda chain: chain.rank)
            kept = chains[: few if ground.box or stretches_of(len(ground.dealt)) == 1 else 1]
            _heard([pool.submit(_improve, chain) for chain in kept], chains, clock, tell)
        except KeyboardInterrupt:
            clock.interrupted = True
            clock.stop[0] = True
    if not chains:  # interrupted before: a tree that is not cut any further
        chains.append(Chain(ground, started[0](ground), (*seed, 0)))
    return sorted(chains, key=lambda chain: chain.rank)


def _try_out(
    ground: SearchGround,
    seed: Sequence[int],
    started: Sequence[Start],
    chains: list[Chain],
    pool: ThreadPoolExecutor,
    tell: Callable[[float], None],
) -> None:
    """Begin chains and try each for a while; one alone need not be."""
    clock, allowed, took = ground.clock, ground.clock.left, 0.0

    def start(number: int) -> Chain | None:
        if clock.left < (1 - _STARTING) * allowed + took:
            return None
        chain = Chain(ground, started[number](ground), (*seed, number))
        chains.append(chain)
        return chain if len(started) == 1 else chain.try_out()

    _heard([pool.submit(start, 0)], chains, clock, tell)
    took = allowed - clock.left if clock.sweeps is None else 0.0  # as long as another will
    later = [pool.submit(start, number) for number in range(1, len(started))]
    _heard(later, chains, clock, tell)


def _improve(chain: Chain) -> Chain | None:
    return chain.improve()


def _heard(
    running: Sequence[Future[Chain | None]],
    chains: Sequence[Chain],
    clock: Clock,
    tell: Callable[[float], None],
) -> None:
    """Wait for chains, and tell how far they are; looking at the clock stops what runs on."""
    left = set(running)
    while left:
        ended, left = wait(left, timeout=min(max(clock.left, 0.01), 0.25))
        for future in ended:
            future.result()
        if chains:
            tell(min(chain.cost for chain in chains))


def _runs(sorted_keys: Codes) -> Ints:
    """Where each run of equal keys begins, and where the last ends."""
    changed = np.flatnonzero(np.append(True, sorted_keys[1:] != sorted_keys[:-1]))
    return np.append(changed, len(sorted_keys)).astype(np.int64)
