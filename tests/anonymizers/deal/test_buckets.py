"""Deal with buckets: quasi-identifiers as they are, sensitive values by bucket, bounds kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.criteria.base import Criterion
from sfumato.release.description import Buckets
from tests.anonymizers.deal.few_people import ILLS, people, table_of

REQUIRED: list[tuple[Criterion, ...]] = [
    (sf.TCloseness(0.35),),
    (sf.DistinctDiversity(3),),
    (sf.EntropyDiversity(2), sf.BetaLikeness(2)),
    (sf.EpsilonPrivacy(2.5, sf.RealisticAdversary("table", 100)),),
]


@pytest.mark.parametrize("require", REQUIRED)
def test_every_bucket_keeps_the_bounds_and_everybody_is_published_as_she_is(
    require: tuple[Criterion, ...],
) -> None:
    rows = people(3, 90, missing=True)
    table = table_of(rows)
    release = sf.Deal(sweeps=2, scheme="bucketized").run(Task(table, require))
    assert isinstance(release.regions, Buckets)
    assert len(release.groups) > 3
    assert sf.audit(release, require).holds
    counts = table.counts.in_memory("a test")
    everybody = release.regions.codes.repeat(release.regions.n, axis=1)
    expected = counts.codes.repeat(counts.n, axis=1)
    assert sorted(everybody.T.tolist()) == sorted(expected.T.tolist())
    assert (release.groups.dense().sum(axis=0) == counts.by_value(0)).all()


def test_what_is_written_is_judged_the_same_when_it_is_read(tmp_path: Any) -> None:
    table = table_of(people(5, 80))
    require = (sf.TCloseness(0.3), sf.DistinctDiversity(2))
    release = sf.Deal(sweeps=2, scheme="bucketized").run(Task(table, require))
    made = sf.audit(release, require)
    release.save(tmp_path / "out", report=made)
    read = sf.read_release(tmp_path / "out", table.schema)
    again = sf.audit(read, require)
    assert made.holds
    assert again.holds
    assert sorted(read.groups.sizes) == sorted(release.groups.sizes)
    assert [v.measured for v in again.verdicts] == pytest.approx(
        [v.measured for v in made.verdicts]
    )


def test_buckets_are_of_people_who_are_near() -> None:
    """Ages say much about illnesses: buckets of near people keep more of that than random ones."""
    table = table_of(people(7, 200))
    release = sf.Deal(sweeps=4, scheme="bucketized").run(Task(table, (sf.DistinctDiversity(3),)))
    anatomy = sf.Anatomy(3).run(Task(table, ()))

    def spread(made: Any) -> float:
        listed = made.regions
        ages = listed.codes[0]
        owner = np.repeat(np.arange(len(listed)), np.diff(listed.indptr))
        mean = np.bincount(owner, ages * listed.n) / np.bincount(owner, listed.n)
        return float((listed.n * (ages - mean[owner]) ** 2).sum())

    assert spread(release) < 0.5 * spread(anatomy)


def test_people_with_several_values_each_publish_a_bag() -> None:
    lists = [["A"], ["B"], ["C"], [], ["A", "B"], ["C"], [], ["B"]] * 3
    rows = {"age": [20 + n for n in range(24)], "ill": pa.array(lists, pa.list_(pa.string()))}
    bound = sf.SkylinePrivacy([(0, 1, 0, 0.8)], case="set")
    table = sf.read(pa.table(rows), sf.Schema(["age"], "ill"))
    release = sf.Deal(sweeps=1, starts=1, scheme="bucketized").run(Task(table, (bound,)))
    assert (release.groups.case, release.groups.linked) == ("set", False)
    assert sf.audit(release, [bound]).holds


def test_k_is_that_of_exact_values_and_several_sensitive_columns_are_refused() -> None:
    task = Task(table_of(people(1, 40)), (sf.KAnonymity(3), sf.TCloseness(0.3)))
    with pytest.raises(sf.NoSafeRelease, match="deal publishes exact quasi-identifiers"):
        sf.Deal(sweeps=1, scheme="bucketized").run(task)
    rows = [(*row, ILLS[n % 3]) for n, row in enumerate(people(4, 30))]
    names = ("age", "town", "job", "ill", "other")
    columns = {n: list(c) for n, c in zip(names, zip(*rows, strict=True), strict=True)}
    schema = sf.Schema(quasi=["age", "town", "job"], sensitive=["ill", "other"])
    both = Task(sf.read(pa.table(columns), schema), (sf.TCloseness(0.4),))
    with pytest.raises(sf.PolicyError, match="deal needs exactly one sensitive column"):
        sf.Deal(sweeps=1, scheme="bucketized").run(both)
    with pytest.raises(sf.PolicyError, match="scheme"):
        sf.Deal(scheme="buckets")  # type: ignore[arg-type]
