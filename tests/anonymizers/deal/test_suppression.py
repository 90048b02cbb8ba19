"""Deal, where people may be suppressed: whose going saves most, within the limit."""

from __future__ import annotations

from itertools import product
from math import floor, inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.criteria.base import Criterion, GroupCriterion
from tests.anonymizers.deal.few_people import (
    CRITERIA,
    ILLS,
    TOWNS,
    counted_again,
    loss_of,
    optimum,
    people,
    table_of,
)
from tests.criteria.toy_criteria import NoMajority
from tests.examples import few


@settings(max_examples=few(30))
@given(st.integers(0, 10**6), st.integers(8, 40), st.sampled_from(CRITERIA), st.booleans())
def test_what_is_left_holds_against_the_whole_table_and_costs_no_more(
    seed: int, count: int, require: tuple[Criterion, ...], missing: bool
) -> None:
    table = table_of(people(seed, count, missing=missing))
    share = 0.15
    try:
        plain = sf.Deal(sweeps=2).run(Task(table, require, seed=seed))
    except sf.NoSafeRelease:
        plain = None
    try:
        release = sf.Deal(sweeps=2).run(Task(table, require, seed=seed, suppression=share))
    except sf.NoSafeRelease:
        assert plain is None
        return
    assert release.suppressed <= floor(share * count)
    again = counted_again(release, table, "ill")
    assert int(again.sizes.sum()) == count - release.suppressed
    for criterion in require:
        assert isinstance(criterion, GroupCriterion)
        assert criterion.holds(again).all()
    if plain is not None:
        assert loss_of(release) <= loss_of(plain) + 1e-12


def test_few_people_are_suppressed_as_well_as_can_be() -> None:
    """Within a tenth of the best of all partitions of any who may stay, 9 times of 10."""
    kept = [one for one in CRITERIA if all(criterion.merge_closed for criterion in one)]
    seeds, near, tried, fewer = few(10), 0, 0, 0
    for seed, require in product(range(seeds), kept):
        table = table_of([(age * 2, *more) for age, *more in people(seed, 7 + seed % 2)])
        try:
            release = sf.Deal(sweeps=4).run(Task(table, require, seed=seed, suppression=0.25))
        except sf.NoSafeRelease:
            continue
        tried += 1
        limit = floor(0.25 * table.people)
        found, least = loss_of(release), optimum(table, require, limit)
        assert found >= least - 1e-9
        near += found <= 1.1 * least + 1e-9
        fewer += release.suppressed > 0
    assert tried > 3 * seeds
    assert fewer > 0
    assert near >= 0.9 * tried


def rare_illness(count: int) -> list[tuple[Any, ...]]:
    """Two of many have an illness that nobody else has: around them groups must be large."""
    rows = [(n % 40, TOWNS[n % 3], "smith", ILLS[n % 2]) for n in range(count)]
    return [(10, "ulm", "smith", "hiv"), (30, "kiel", "smith", "hiv"), *rows]


def test_those_go_for_whose_sake_groups_are_large() -> None:
    task = Task(table_of(rare_illness(200)), (sf.BetaLikeness(1),))
    allowed = Task(task.table, task.require, suppression=0.01)
    release = sf.Deal(sweeps=4).run(allowed)
    assert "hiv" not in {row["ill"] for row in release.to_arrow().to_pylist()}
    assert release.suppressed == 2
    assert loss_of(release) < 0.5 * loss_of(sf.Deal(sweeps=4).run(task))


def test_a_table_that_breaks_a_bound_is_mended_by_suppressing() -> None:
    """Six of ten have one illness: nobody can be grouped until some of them are gone."""
    rows = [(n, TOWNS[n % 3], "smith", "flu" if n % 10 < 6 else ILLS[1 + n % 3]) for n in range(60)]
    require = (sf.AlphaK(0.5, 3),)
    with pytest.raises(sf.NoSafeRelease):
        sf.Deal(sweeps=2).run(Task(table_of(rows), require))
    release = sf.Deal(sweeps=2).run(Task(table_of(rows), require, suppression=0.3))
    assert sf.audit(release, require).holds
    assert 12 <= release.suppressed <= 18
    assert len(release.groups) > 1


def test_nobody_suppressed_is_told_of(tmp_path: Any) -> None:
    task = Task(table_of(rare_illness(120)), (sf.BetaLikeness(1),), suppression=0.02)
    release = sf.Deal(sweeps=2).run(task)
    report = sf.audit(release, task.require)
    assert report.holds
    release.save(tmp_path / "out", report=report)
    for file in (tmp_path / "out" / "public").iterdir():
        assert b"hiv" not in file.read_bytes(), file.name
    read = sf.read_release(tmp_path / "out", task.table.schema)
    assert read.suppressed == release.suppressed == 2


# -- criteria that are asked about batches of changes ---------------------------------------------


def test_those_go_who_save_most_where_nothing_is_known_but_whether_it_holds() -> None:
    """Within a tenth of the best of all partitions of any who may stay, 8 times of 10."""
    seeds, near, tried, fewer = few(16), 0, 0, 0
    require: tuple[Criterion, ...] = (sf.KAnonymity(2), NoMajority())
    for seed in range(4, 4 + seeds):  # with the first of these somebody should go
        table = table_of([(age * 2, *more) for age, *more in people(seed, 7 + seed % 2)])
        try:
            release = sf.Deal(sweeps=4).run(Task(table, require, seed=seed, suppression=0.25))
        except sf.NoSafeRelease:
            assert optimum(table, require, floor(0.25 * table.people)) == inf
            continue
        assert release.suppressed <= floor(0.25 * table.people)
        assert all(one.holds(counted_again(release, table, "ill")).all() for one in require)
        tried += 1
        found, least = loss_of(release), optimum(table, require, floor(0.25 * table.people))
        assert found >= least - 1e-9
        near += found <= 1.1 * least + 1e-9
        fewer += release.suppressed > 0
    assert tried > seeds // 2
    assert fewer > 0
    assert near >= 0.8 * tried


def test_of_whole_releases_what_is_left_holds_and_is_no_worse() -> None:
    rows = [(n % 50, TOWNS[n % 3], "smith", ILLS[n % 4]) for n in range(120)]
    rows += [(99, "ulm", "baker", "flu"), (98, "kiel", "baker", "gout")]  # far from everybody
    require = (sf.KAnonymity(6), sf.SkylinePrivacy([(1, 0, 0, 0.9)]))
    plain = sf.Deal(sweeps=3).run(Task(table_of(rows), require))
    release = sf.Deal(sweeps=3).run(Task(table_of(rows), require, suppression=0.02))
    assert sf.audit(release, require).holds
    assert 0 < release.suppressed <= 2
    assert loss_of(release) < loss_of(plain)


def test_a_table_that_breaks_what_is_asked_is_mended_by_suppressing() -> None:
    rows = [(n, TOWNS[n % 3], "smith", "flu" if n % 10 < 6 else ILLS[1 + n % 3]) for n in range(60)]
    with pytest.raises(sf.NoSafeRelease):
        sf.Deal(sweeps=2).run(Task(table_of(rows), (NoMajority(),)))
    release = sf.Deal(sweeps=2).run(Task(table_of(rows), (NoMajority(),), suppression=0.3))
    assert sf.audit(release, (NoMajority(),)).holds
    assert 12 <= release.suppressed <= 18
    assert len(release.groups) > 1


# -- buckets --------------------------------------------------------------------------------------


def test_buckets_leave_out_as_few_as_must_be(tmp_path: Any) -> None:
    """Seven of ten have one illness, so that everybody together shows too little."""
    rows = [(n, TOWNS[n % 3], "smith", "flu" if n % 10 < 7 else ILLS[1 + n % 3]) for n in range(90)]
    table, require = table_of(rows), (sf.EntropyDiversity(3),)
    deal = sf.Deal(sweeps=2, scheme="bucketized")
    with pytest.raises(sf.NoSafeRelease):
        deal.run(Task(table, require))
    with pytest.raises(sf.NoSafeRelease):
        deal.run(Task(table, require, suppression=0.1))  # not enough
    release = deal.run(Task(table, require, suppression=0.4))
    report = sf.audit(release, require)
    assert report.holds
    assert 9 < release.suppressed <= 36
    assert release.people + release.suppressed == 90
    whole = table.counts.by_value(0) - release.groups.dense().sum(axis=0)
    assert whole.sum() == whole.max() == release.suppressed  # of the one value that is too frequent
    release.save(tmp_path / "out", report=report)
    read = sf.read_release(tmp_path / "out", table.schema)
    assert read.suppressed == release.suppressed
    assert sf.audit(read, require).holds


def test_buckets_that_hold_leave_nobody_out() -> None:
    table = table_of(people(1, 60))
    task = Task(table, (sf.DistinctDiversity(2),), suppression=0.05)
    assert sf.Deal(sweeps=1, scheme="bucketized").run(task).suppressed == 0
