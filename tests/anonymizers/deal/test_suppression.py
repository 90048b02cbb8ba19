"""Deal, where people may be suppressed: whose going saves most, within the limit."""

from __future__ import annotations

from itertools import product
from math import floor
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


@pytest.mark.parametrize(
    ("deal", "require", "beside"),
    [
        (sf.Deal(sweeps=1), sf.SkylinePrivacy([(1, 0, 0, 0.9)]), "skyline-privacy"),
        (sf.Deal(sweeps=1, scheme="bucketized"), sf.DistinctDiversity(2), "buckets"),
    ],
)
def test_that_it_is_not_tried_is_told(deal: sf.Deal, require: Criterion, beside: str) -> None:
    table = table_of(people(1, 60))
    release = deal.run(Task(table, (require,), suppression=0.05))
    assert release.suppressed == 0
    note = f"suppression = 0.05 was not used: deal has none with {beside}"
    assert release.notes.count(note) == 1
    assert note not in deal.run(Task(table, (require,))).notes
