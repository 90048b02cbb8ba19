"""Deal: what it publishes holds, is never worse than Mondrian, and near the best there is."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, product
from math import log2
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core.compiler_lock import global_compiler_lock

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.deal import cut_tree, exchange
from sfumato.anonymizers.deal.black_box import BlackBox, counts_of, sweep_in_batches
from sfumato.anonymizers.deal.deal import (
    GUARDS,
    NO_BETTER,
    NO_TIME,
    DealFindings,
    _Reading,
    whole_table,
)
from sfumato.anonymizers.deal.ground import Clock, SearchGround, starts
from sfumato.anonymizers.deal.people import Dealt
from sfumato.anonymizers.deal.rules import holds
from sfumato.anonymizers.deal.search import search
from sfumato.anonymizers.deal.state import SOFT, GroupState, soften, state_of, true_cost
from sfumato.criteria.base import (
    Criterion,
    GroupCriterion,
    Verdict,
)
from sfumato.numbers import Floats
from sfumato.release.groups import Groups
from sfumato.release.made import MadeHere
from sfumato.release.release import Release
from sfumato.utility.view import view_of
from tests.anonymizers.deal.few_people import (
    CRITERIA,
    ILLS,
    REGION,
    TOWNS,
    counted_again,
    loss_of,
    optimum,
    people,
    press_ctrl_c,
    table_of,
)
from tests.criteria.toy_criteria import FewGroupsAtTheEnd, NoMajority
from tests.examples import EXAMPLES, few
from tests.oracles.containing import containing

# -- what is returned -----------------------------------------------------------------------------


@settings(max_examples=max(EXAMPLES // 2, 10))
@given(st.integers(0, 10**6), st.integers(8, 40), st.sampled_from(CRITERIA), st.booleans())
def test_it_holds_by_the_published_rows_alone_and_is_never_worse_than_mondrian(
    seed: int, count: int, require: tuple[Criterion, ...], missing: bool
) -> None:
    rows = people(seed, count, missing=missing)
    table = table_of(rows)
    task = Task(table, require, seed=seed)
    try:
        cut = sf.Mondrian(regions="tight").run(task)
    except sf.NoSafeRelease:
        return
    release = sf.Deal(sweeps=2).run(task)
    again = counted_again(release, table, "ill")
    assert int(again.sizes.sum()) == count
    for criterion in require:
        assert isinstance(criterion, GroupCriterion)
        assert criterion.holds(again).all()
    assert loss_of(release) <= loss_of(cut) + 1e-12
    shown = Counter((row["ill"]) for row in release.to_arrow().to_pylist())
    assert shown == Counter(row[3] for row in rows)


def test_everybody_lies_in_the_region_she_is_published_with() -> None:
    table = table_of(people(5, 60, missing=True))
    release = sf.Deal(sweeps=3).run(Task(table, (sf.KAnonymity(3), sf.TCloseness(0.3))))
    counts = table.counts.in_memory("a test")
    assert release.placement is not None
    placed = release.placement.in_memory("a test")
    for tuple_, group in zip(placed.tuples, placed.groups, strict=True):
        person = {
            d.name: d.values[row[tuple_]] for d, row in zip(counts.quasi, counts.codes, strict=True)
        }
        assert group in containing(release.regions, person)
    assert not release.disjoint
    assert not release.regions.disjoint()


def test_it_deals_where_mondrian_must_stop() -> None:
    """Everybody of a town has one illness: no cut of space by town is close to the table."""
    rows = [
        (age, town, "smith", ill)
        for age in range(20, 60, 2)
        for town, ill in zip(TOWNS, ILLS, strict=False)
    ]
    task = Task(table_of(rows), (sf.KAnonymity(3), sf.TCloseness(0.34)))
    found, cut = sf.Deal(sweeps=8).run(task), sf.Mondrian(regions="tight").run(task)
    assert loss_of(found) <= loss_of(cut)
    rows = [
        (age, town, "smith", ILLS[(age // 20 + n) % 4])
        for n, town in enumerate(TOWNS)
        for age in range(80)
    ]
    task = Task(table_of(rows), (sf.KAnonymity(4), sf.TCloseness(0.1)))
    found, cut = sf.Deal(sweeps=8).run(task), sf.Mondrian(regions="tight").run(task)
    assert loss_of(found) < 0.8 * loss_of(cut)


def test_labels_cost_what_they_cover() -> None:
    table = table_of(people(3, 60), hierarchies={"town": REGION, "age": sf.intervals([10, 20])})
    task = Task(table, (sf.KAnonymity(3), sf.EntropyDiversity(2)))
    found = sf.Deal(sweeps=4, regions="hierarchy").run(task)
    shown = {row["town"] for row in found.to_arrow().to_pylist()}
    assert shown <= {*TOWNS, "south", "north", "*"}
    assert loss_of(found) <= loss_of(sf.Mondrian(regions="hierarchy").run(task)) + 1e-12


def test_a_column_of_more_weight_is_kept_finer() -> None:
    table = table_of(people(8, 120))

    def width(weights: dict[str, float]) -> float:
        fitted = sf.Use(weights).measure(table.counts)
        release = sf.Deal(sweeps=8).run(
            Task(table, (sf.KAnonymity(4), sf.TCloseness(0.25)), fitted)
        )
        view = view_of(release)
        return float(view.totals([view.coverage(c).widening() for c in range(3)])[0])

    assert width({"age": 20}) < width({"town": 20, "job": 20})


def test_several_sensitive_columns_are_kept_at_once() -> None:
    rows = [(*row, ILLS[n % 3]) for n, row in enumerate(people(4, 60))]
    names = ("age", "town", "job", "ill", "other")
    columns = {n: list(c) for n, c in zip(names, zip(*rows, strict=True), strict=True)}
    schema = sf.Schema(quasi=["age", "town", "job"], sensitive=["ill", "other"])
    task = Task(sf.read(pa.table(columns), schema), (sf.KAnonymity(3), sf.TCloseness(0.4)))
    release = sf.Deal(sweeps=4).run(task)
    assert sf.audit(release, task.require).holds
    assert len(release.groups) > 1


def test_people_with_several_values_each() -> None:
    rows = people(6, 50)
    columns = {
        "age": [row[0] for row in rows],
        "town": [row[1] for row in rows],
        "ill": [[row[3], ILLS[n % 4]] for n, row in enumerate(rows)],
    }
    table = sf.read(pa.table(columns), sf.Schema(quasi=["age", "town"], sensitive="ill"))
    release = sf.Deal(sweeps=3).run(Task(table, (sf.AlphaK(0.8, 3),)))
    assert sf.audit(release, [sf.AlphaK(0.8, 3)]).holds
    assert len(release.groups) > 3


# -- criteria without rules -----------------------------------------------------------------------


@dataclass(frozen=True)
class Unruly(sf.TCloseness):
    """Closeness that does not tell its rules."""

    def count_rules(self, everybody: Groups) -> None:  # type: ignore[override]
        return None


def unsearched(release: Release) -> tuple[str, ...]:
    assert isinstance(release.made, MadeHere)
    assert isinstance(release.made.findings, DealFindings)
    return release.made.findings.unsearched


def test_a_criterion_of_somebody_s_own_is_searched_by_asking_it() -> None:
    rows = [(age, town, "smith", ILLS[age // 20]) for town in TOWNS for age in range(80)]
    task = Task(table_of(rows), (sf.KAnonymity(2), NoMajority()))
    release = sf.Deal(sweeps=3).run(task)
    assert NoMajority().holds(release.groups).all()
    assert loss_of(release) < 0.8 * loss_of(sf.Mondrian(regions="tight").run(task))
    assert unsearched(release) == ()


def test_asking_comes_near_to_what_rules_find() -> None:
    rows = [
        (age, town, "smith", ILLS[(age // 20 + n) % 4])
        for n, town in enumerate(TOWNS)
        for age in range(80)
    ]
    table = table_of(rows)
    ruled, asked = (
        loss_of(sf.Deal(sweeps=6).run(Task(table, (sf.KAnonymity(4), bound))))
        for bound in (sf.TCloseness(0.15), Unruly(0.15))
    )
    cut = loss_of(sf.Mondrian(regions="tight").run(Task(table, (sf.KAnonymity(4), Unruly(0.15)))))
    assert asked < ruled + 0.3 * (cut - ruled)


FURTHER_METRICS: dict[str, tuple[float, Callable[[Floats, Floats], float]]] = {
    "kullback-leibler": (
        0.2,
        lambda x, a: sum(p * log2(p / q) for p, q in zip(x, a, strict=True) if p),
    ),
    "jensen-shannon": (
        0.05,
        lambda x, a: sum(
            (p and p * log2(2 * p / (p + q))) / 2 + q * log2(2 * q / (p + q)) / 2
            for p, q in zip(x, a, strict=True)
        ),
    ),
    "hellinger": (0.2, lambda x, a: float((((x**0.5 - a**0.5) ** 2).sum() / 2) ** 0.5)),
    "chi-square": (0.25, lambda x, a: float(((x - a) ** 2 / a).sum())),
}


@pytest.mark.parametrize("metric", FURTHER_METRICS)
def test_leakage_by_metrics_without_rules_is_searched_by_asking(metric: str) -> None:
    bound, distance = FURTHER_METRICS[metric]
    rows = [(age, town, "smith", ILLS[age // 15]) for town in TOWNS for age in range(60)]
    table = table_of(rows)
    criterion = sf.DistributionLeakage(bound, metric=metric)
    task = Task(table, (sf.KAnonymity(2), criterion))
    assert [asked for asked, _ in _Reading.of(task).asked] == [criterion]
    release = sf.Deal(sweeps=2).run(task)
    counts = counted_again(release, table, "ill").dense()
    expected = counts.sum(axis=0) / counts.sum()
    shares = counts / counts.sum(axis=1, keepdims=True)
    assert max(distance(group, expected) for group in shares) <= bound + 1e-12
    assert loss_of(release) < 0.8 * loss_of(sf.Mondrian(regions="tight").run(task))


@pytest.mark.parametrize(("seed", "limit"), [(0, 0), (1, 0), (2, 0), (1, 6), (2, 6)])
def test_every_change_that_is_asked_about_keeps_every_criterion(seed: int, limit: int) -> None:
    table = table_of(people(seed, 60))
    task = Task(table, (sf.KAnonymity(3), NoMajority(), sf.SkylinePrivacy([(1, 0, 1, 0.8)])))
    read = _Reading.of(task)
    assert [criterion.name for criterion, _ in read.asked] == ["no-majority"]
    assert [criterion.name for criterion, _ in read.together] == ["skyline-privacy"]
    dealt = Dealt.of(task, "tight", read.attributes, "a test")
    box = BlackBox(read.asked, read.together, whole_table(task), dealt.first)
    stand_ins = [read.rules(dealt, 1.0, guard) for guard in reversed(GUARDS)]
    ground = SearchGround.of(dealt, partial(read.rules, dealt), seed, Clock(1, 1), box, stand_ins)
    group = ground.cut([1.0])
    for gamma in (0.85, 0.0):
        state = state_of(group, dealt.people, dealt.columns)
        gone = gamma ** np.arange(SOFT + 1.0)
        bars = np.random.default_rng(seed).exponential(0.1, 60)
        shared = (dealt.people, dealt.columns, ground.bounds, ground.orders, ground.positions)
        for visited in range(2):  # the second time, who is in no group has her turn as well
            sweep_in_batches(box, state, *shared, visited, gone, bars, lambda: True, limit)
        inside = np.where(state.group < len(state.size), state.group, -1)
        assert (inside < 0).sum() <= limit
        fresh = state_of(inside, dealt.people, dealt.columns)
        for name in ("size", "counts", "cells", "ends"):
            assert (getattr(state, name) == getattr(fresh, name)).all(), name
        counts, sizes = counts_of(dealt.people, inside, len(state.size))
        assert (counts == state.counts).all()
        assert box.holds(counts, sizes).all()
        assert box.hold_together(counts, sizes)
        group = inside


def test_what_only_the_whole_release_shows_is_mended_by_merging() -> None:
    table = table_of(people(2, 80))
    task = Task(table, (sf.KAnonymity(2), FewGroupsAtTheEnd(9)))
    release = sf.Deal(sweeps=2).run(task)
    assert 1 < len(release.groups) <= 9
    assert loss_of(release) <= loss_of(sf.Mondrian(regions="tight").run(task)) + 1e-12
    assert unsearched(release) == ("few-groups",)


def test_a_criterion_of_whole_releases_is_carried_in_every_change() -> None:
    rows = [(age, town, "smith", ILLS[age // 20]) for town in TOWNS for age in range(80)]
    require = (sf.KAnonymity(2), sf.SkylinePrivacy([(1, 1, 1, 0.9)]))
    task = Task(table_of(rows), require)
    release = sf.Deal(sweeps=2).run(task)
    assert sf.audit(release, task.require).holds
    assert loss_of(release) < loss_of(sf.Mondrian(regions="tight").run(task))
    assert unsearched(release) == ()


def never_worse(task: Task) -> Release:
    release = sf.Deal(sweeps=2).run(task)
    assert sf.audit(release, task.require).holds
    assert loss_of(release) <= loss_of(sf.Mondrian(regions="tight").run(task)) + 1e-12
    return release


def test_lists_of_values_are_kept_under_k_and_skyline() -> None:
    rows = people(6, 60)
    columns = {
        "age": [row[0] for row in rows],
        "town": [row[1] for row in rows],
        "ill": [[row[3], ILLS[n % 4]] for n, row in enumerate(rows)],
    }
    table = sf.read(pa.table(columns), sf.Schema(quasi=["age", "town"], sensitive="ill"))
    never_worse(Task(table, (sf.KAnonymity(3), sf.SkylinePrivacy([(1, 0, 0, 0.95)]))))


def test_what_earlier_releases_tell_is_bounded_too() -> None:
    table = table_of(people(4, 60))
    earlier = sf.Mondrian(regions="tight").run(Task(table, (sf.KAnonymity(4),)))
    release = never_worse(Task(table, (sf.KAnonymity(3), sf.CompositionBound(0.1, 1, [earlier]))))
    assert len(release.groups) > 5
    assert unsearched(release) == ("composition",)


# -- near the best there is -----------------------------------------------------------------------


def test_few_people_are_dealt_as_well_as_can_be() -> None:
    """Within a tenth of the best of all partitions, 95 times of 100."""
    kept = [one for one in CRITERIA if all(criterion.merge_closed for criterion in one)]
    seeds, near, tried = few(15), 0, 0
    for seed, require in product(range(seeds), kept):
        table = table_of([(age * 2, *more) for age, *more in people(seed, 7 + seed % 2)])
        try:
            release = sf.Deal(sweeps=4).run(Task(table, require, seed=seed))
        except sf.NoSafeRelease:
            continue
        tried += 1
        found, least = loss_of(release), optimum(table, require)
        assert found >= least - 1e-9
        near += found <= 1.1 * least + 1e-9
    assert tried > 3 * seeds
    assert near >= 0.95 * tried


# -- the compiled parts ---------------------------------------------------------------------------


def ground_of(
    table: sf.Table,
    require: tuple[Criterion, ...],
    style: str = "tight",
    threads: int | None = None,
) -> SearchGround:
    task = Task(table, require)
    read = _Reading.of(task)
    dealt = Dealt.of(task, style, read.attributes, "a test")
    box = BlackBox(read.asked, read.together, {}, dealt.first)
    return SearchGround.of(dealt, partial(read.rules, dealt), 1, Clock(1, 1), box, (), threads)


@settings(max_examples=max(EXAMPLES // 2, 10))
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.5, 0.85]),
    st.sampled_from(["tight", "hierarchy"]),
    st.sampled_from([0, 4]),
)
def test_what_a_sweep_keeps_track_of_is_what_its_groups_are(
    seed: int, gamma: float, style: str, limit: int
) -> None:
    rows = people(seed, 60, missing=True)
    table = table_of(rows, hierarchies={"town": REGION, "age": sf.intervals([10, 20])})
    require = (sf.KAnonymity(3), sf.TCloseness(0.4)) if seed % 2 else (sf.BetaLikeness(2),)
    ground = ground_of(table, require, style)
    dealt = ground.dealt
    state = state_of(ground.cut([1.0]), dealt.people, dealt.columns)
    gone = gamma ** np.arange(SOFT + 1.0)
    gone[-1] = 0.0
    before = float(state.size @ softly(state, gone, dealt))
    for visited in range(2):
        swept(state, ground, visited, gone, limit)
    outside = state.group == len(state.size)
    assert outside.sum() <= limit
    fresh = state_of(np.where(outside, -1, state.group), dealt.people, dealt.columns)
    for name in ("size", "counts", "cells", "ends", "tops"):
        assert (getattr(state, name) == getattr(fresh, name)).all(), name
    widths = softly(fresh, gone, dealt)
    np.testing.assert_allclose(state.width, widths, atol=1e-9)
    absent = float(outside.sum()) * dealt.columns.whole
    assert float(fresh.size @ widths) + absent <= before + 1e-9
    for g, size in enumerate(fresh.size):  # the rings go through everybody of a group once
        x, seen = int(state.head[g]), set()
        for _ in range(size):
            seen.add(x)
            assert state.group[x] == g
            x = int(state.after[x])
        assert len(seen) == size


def swept(state: GroupState, ground: SearchGround, visited: int, gone: Any, limit: int = 0) -> None:
    """Everybody once, as one stretch."""
    dealt, people = ground.dealt, len(ground.dealt)
    soften(state, dealt.columns, gone)
    exchange.sweep(
        state,
        dealt.people,
        dealt.columns,
        ground.bounds,
        ground.orders,
        ground.positions,
        gone,
        exchange.Stretch(
            ground.orders[visited],
            np.zeros(people),
            np.zeros(len(state.size), np.int32),
            0,
            limit - int((state.group == len(state.size)).sum()),
            0.0,
            ground.clock.stop,
            *exchange.NO_PROPOSALS,
        ),
    )


def softly(state: GroupState, gone: Any, dealt: Dealt) -> Any:
    fresh = state._replace(width=np.zeros(len(state.size)))
    soften(fresh, dealt.columns, gone)
    return fresh.width


@settings(max_examples=max(EXAMPLES // 2, 10))
@given(st.integers(0, 10**6), st.sampled_from(CRITERIA[:6]), st.sampled_from([0, 5]))
def test_sweeps_without_heat_never_raise_the_true_cost_and_keep_the_rules(
    seed: int, require: tuple[Criterion, ...], limit: int
) -> None:
    table = table_of(people(seed, 50))
    ground = ground_of(table, require)
    dealt, hard = ground.dealt, np.zeros(SOFT + 1)
    hard[0] = 1.0
    state = state_of(ground.cut([0.7, 1.0]), dealt.people, dealt.columns)
    costs = [true_cost(state, dealt.columns)]
    for visited in range(3):
        swept(state, ground, visited, hard, limit)
        costs.append(true_cost(state, dealt.columns))
    assert all(after <= before + 1e-9 for before, after in pairwise(costs))
    held = cut_tree.holds
    for g, size in enumerate(state.size):
        assert held(state.counts, g, int(size), ground.bounds)


# -- settings, limits and interrupts --------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"seconds": 0},
        {"seconds": "long"},
        {"sweeps": -1},
        {"sweeps": 1.5},
        {"regions": "cell"},
    ],
)
def test_settings_that_make_no_sense_are_refused_in_one_line(wrong: dict[str, Any]) -> None:
    with pytest.raises(sf.PolicyError, match="deal") as told:
        sf.Deal(**wrong)
    assert "\n" not in str(told.value)


def test_sweeps_bound_the_search_whatever_the_clock_says() -> None:
    task = Task(table_of(people(1, 80)), (sf.KAnonymity(3), sf.TCloseness(0.3)), seed=4)
    first, again = (sf.Deal(seconds=s, sweeps=3).run(task) for s in (0.001, 1e308))
    assert first.to_arrow().equals(again.to_arrow())


@pytest.mark.parametrize("rows", [[(30, "ulm", "smith", "flu")], [(30, "ulm", "smith", "flu")] * 9])
def test_where_nothing_is_to_be_gained_it_ends(rows: list[tuple[Any, ...]]) -> None:
    release = sf.Deal(sweeps=2).run(Task(table_of(rows), (sf.KAnonymity(1),)))
    assert loss_of(release) == 0
    assert release.people == len(rows)


def test_more_counts_than_memory_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.anonymizers.deal.deal.MOST_CELLS", 100)
    with pytest.raises(sf.ResourceError, match=r"deal.*use mondrian"):
        sf.Deal(sweeps=1).run(Task(table_of(people(1, 80)), (sf.KAnonymity(2),)))


def test_without_time_it_still_returns_what_holds() -> None:
    task = Task(table_of(people(1, 80)), (sf.KAnonymity(3), sf.TCloseness(0.3)))
    release = sf.Deal(seconds=1e-6).run(task)
    assert sf.audit(release, task.require).holds


@dataclass(frozen=True)
class _SlowToJudge(FewGroupsAtTheEnd):
    """Remembers how often it was asked, as if each time took long."""

    asked: ClassVar[list[int]] = []

    def verdict(self, groups: Groups) -> Verdict:
        self.asked.append(len(groups))
        return super().verdict(groups)


def test_without_time_many_people_are_published_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.anonymizers.deal.ground.SAMPLE", 20)
    task = Task(table_of(people(1, 60)), (sf.KAnonymity(3),))
    release = sf.Deal(seconds=1e-6).run(task)
    assert sf.audit(release, task.require).holds
    assert loss_of(release) <= loss_of(sf.Mondrian(regions="tight").run(task)) + 1e-12


def test_without_time_costly_criteria_are_hardly_asked() -> None:
    task = Task(table_of(people(2, 80)), (sf.KAnonymity(2), _SlowToJudge(3)))
    asked = []
    for seconds in (1e-6, 1e3):
        _SlowToJudge.asked.clear()
        release = sf.Deal(seconds=seconds, sweeps=None if seconds < 1 else 2).run(task)
        assert len(release.groups) <= 3
        asked.append(len(_SlowToJudge.asked))
    hasty, patient = asked
    assert hasty < patient


def test_where_time_is_over_mondrian_s_release_is_not_judged_again() -> None:
    """Where a whole attack is the judge, each judgement takes longer than the search."""
    task = Task(table_of(people(2, 80)), (sf.KAnonymity(2), _SlowToJudge(3)))
    _SlowToJudge.asked.clear()
    cut = sf.Mondrian(regions="tight").run(task)
    asked = len(_SlowToJudge.asked)
    release = sf.Deal(seconds=1e-6).run(task)
    assert len(_SlowToJudge.asked) == 2 * asked
    assert loss_of(release) == loss_of(cut)
    assert NO_TIME in release.notes
    assert NO_BETTER not in release.notes


@dataclass(frozen=True)
class _JudgesFew(FewGroupsAtTheEnd):
    """Cannot judge more than so many groups."""

    def verdict(self, groups: Groups) -> Verdict:
        if len(groups) > self.m:
            return Verdict(self.name, "not_applicable", None, self.required)
        return super().verdict(groups)


def test_what_cannot_be_judged_of_dealt_groups_leaves_mondrian_s_release() -> None:
    table = table_of(people(2, 80))
    require: tuple[Criterion, ...] = (sf.KAnonymity(3), sf.TCloseness(0.3))
    cut = sf.Mondrian(regions="tight").run(Task(table, require))
    task = Task(table, (*require, _JudgesFew(len(cut.groups))))
    release = sf.Deal(sweeps=2).run(task)
    assert sf.audit(release, task.require).holds
    assert loss_of(release) <= loss_of(cut)


def test_an_interrupt_keeps_the_best_so_far_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C arrives while chains are improved, which would go on for hours."""
    press_ctrl_c(monkeypatch)
    task = Task(table_of(people(1, 300)), (sf.KAnonymity(3), sf.TCloseness(0.3)))
    release = sf.Deal(sweeps=10**7).run(task)
    assert any("interrupted" in note for note in release.notes)
    assert isinstance(release.made, MadeHere)
    assert isinstance(release.made.findings, DealFindings)
    assert release.made.findings.interrupted
    assert sf.audit(release, task.require).holds


def test_what_is_no_better_than_mondrian_s_release_is_told() -> None:
    task = Task(table_of(people(1, 80)), (sf.KAnonymity(3), sf.TCloseness(0.3)))
    hasty, thorough = sf.Deal(seconds=1e-6).run(task), sf.Deal(sweeps=4).run(task)
    for release, mondrian in ((hasty, True), (thorough, False)):
        assert isinstance(release.made, MadeHere)
        assert isinstance(release.made.findings, DealFindings)
        assert release.made.findings.mondrian is mondrian
        assert (NO_BETTER in release.notes) is mondrian
    assert loss_of(hasty) == loss_of(sf.Mondrian(regions="tight").run(task))


def test_how_many_threads_there_are_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.anonymizers.deal.search._STRETCH", 40)
    monkeypatch.setattr("sfumato.anonymizers.deal.ground._PORTION", 30)
    rows = [*people(2, 299), (900, "ulm", "smith", "flu")]  # who makes her group as wide as can be
    table, require = table_of(rows), (sf.KAnonymity(8), sf.TCloseness(0.35))
    best = []
    for threads, limit in product((1, 2, 5), (0, 9)):
        ground = replace(ground_of(table, require, threads=threads), limit=limit)
        best.append(search(ground, (3, 1), starts(ground, 5), lambda cost: None)[0].best)
    for one in (2, 4):
        assert (best[0] == best[one]).all()
        assert (best[1] == best[one + 1]).all()
    assert 0 < (best[1] < 0).sum() <= 9


def test_of_many_people_a_sample_tries_the_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """One start is left, the same on however many threads, and what comes of it keeps the rules."""
    monkeypatch.setattr("sfumato.anonymizers.deal.search._STRETCH", 60)
    monkeypatch.setattr("sfumato.anonymizers.deal.ground.SAMPLE", 100)
    table, require = table_of(people(2, 300)), (sf.KAnonymity(4), sf.TCloseness(0.35))
    best = []
    for threads in (1, 4):
        ground = ground_of(table, require, threads=threads)
        (chain,) = search(ground, (3, 1), starts(ground, 5), lambda cost: None)
        best.append(chain.best)
        state = state_of(chain.best, ground.dealt.people, ground.dealt.columns)
        assert true_cost(state, ground.dealt.columns) == pytest.approx(chain.cost)
        for g, size in enumerate(state.size.tolist()):
            assert holds(state.counts, np.int64(g), np.int64(size), ground.bounds)
    assert (best[0] == best[1]).all()


def test_a_tree_is_the_same_in_whatever_portions_it_is_grown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ground = ground_of(table_of(people(4, 300)), (sf.KAnonymity(3), sf.TCloseness(0.35)))
    whole = ground.cut((0.7, 1.0))
    monkeypatch.setattr("sfumato.anonymizers.deal.ground._PORTION", 10)
    assert whole.max() > 20
    assert (ground.cut((0.7, 1.0)) == whole).all()


def test_a_policy_may_name_it(tmp_path: Any) -> None:
    policy = sf.Policy([sf.KAnonymity(2)], sf.Deal(seconds=2))
    policy.save(tmp_path / "policy.toml")
    assert sf.Policy.load(tmp_path / "policy.toml").anonymizer == policy.anonymizer


def test_a_dealt_release_is_judged_the_same_when_it_is_read_back(tmp_path: Any) -> None:
    """Regions overlap; whoever reads the folder sees the same groups and the same threats."""
    table = table_of(people(9, 90, missing=True))
    require = (sf.KAnonymity(3), sf.TCloseness(0.3), sf.EntropyDiversity(2))
    release = sf.Deal(sweeps=3).run(Task(table, require))
    assert not release.disjoint
    made = sf.audit(release, require)
    release.save(tmp_path / "out", report=made)
    read = sf.read_release(tmp_path / "out", table.schema)
    assert not read.disjoint
    assert sorted(read.groups.sizes) == sorted(release.groups.sizes)
    again = sf.audit(read, require)
    assert made.holds
    assert again.holds
    assert [v.measured for v in again.verdicts] == pytest.approx(
        [v.measured for v in made.verdicts]
    )


def test_the_clock_stands_still_while_something_is_compiled() -> None:
    """Or loaded; also for who paces sweeps by it: a first run would have time for none."""
    clock = Clock(60.0)
    with global_compiler_lock:
        began = clock.now
        time.sleep(0.3)
        assert clock.now == pytest.approx(began, abs=0.1)
    assert clock.compiling.seconds >= 0.3
