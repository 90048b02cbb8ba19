"""Microaggregation: MDAV against a plain reading of the paper, centroids by hand, criteria kept."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.kernel import mdav, nearest_others
from sfumato.anonymizers.microaggregation import Microaggregation
from sfumato.criteria.base import (
    Criterion,
)
from sfumato.datasets.census import census, census_schema
from sfumato.release.release import Release
from sfumato.release.write.cells import own_values
from tests.criteria.toy_criteria import CertainSizes, ManyGroups
from tests.examples import few
from tests.oracles.mdav_oracle import mdav_oracle


def aggregate(table: sf.Table, k: int, *require: Criterion, seed: int = 0, **more) -> Release:
    return Microaggregation(k, **more).run(Task(table, require, seed=seed))


def one_group(*, ordered: list[str] | None = None, **columns: list[Any]) -> dict[str, str]:
    """What a single group of everybody publishes."""
    domains = {"level": ordered} if ordered else {}
    table = sf.read(pa.table(columns), sf.Schema(quasi=list(columns), domains=domains))
    return aggregate(table, table.people).regions.describe(0)


def clusters_of(cluster: np.ndarray) -> list[list[int]]:
    return [np.flatnonzero(cluster == c).tolist() for c in range(cluster.max() + 1)]


grid = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.tuples(*[st.integers(-3, 3)] * width), min_size=1, max_size=40)
)
places = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.tuples(*[st.floats(-4, 4, width=16)] * width), min_size=1, max_size=40
    )
)


@given(st.one_of(grid, places), st.integers(1, 6))
def test_mdav_is_the_paper_s(points: list[tuple[float, ...]], k: int) -> None:
    if len(points) < k:
        points = points * k
    found = mdav(np.array(points, dtype=np.float64).T, k)
    expected = mdav_oracle(points, k)
    assert clusters_of(found) == [sorted(cluster) for cluster in expected]
    sizes = np.bincount(found)
    assert (sizes[:-1] == k).all()
    assert k <= sizes[-1] < 2 * k


def test_mdav_over_several_blocks_is_the_paper_s() -> None:
    points = np.random.default_rng(3).integers(-6, 7, (3, 5_000)).astype(np.float64)
    found = mdav(points, 500)
    expected = mdav_oracle(points.T.tolist(), 500)
    assert clusters_of(found) == [sorted(cluster) for cluster in expected]


def test_mdav_leaves_its_points_alone() -> None:
    points = np.random.default_rng(0).random((2, 50))
    before = points.copy()
    mdav(points, 5)
    assert (points == before).all()


def test_the_nearest_other_is_never_oneself_and_the_first_of_equals() -> None:
    partner, gap = nearest_others(np.array([[0.0, 3.0, 0.0, 1.5]]), np.array([0, 1, 3]))
    assert partner.tolist() == [2, 3, 0]
    assert gap.tolist() == [0.0, 2.25, 2.25]


@settings(max_examples=few(50))  # each reads a table
@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(20, 24)),
            st.sampled_from(["a", "b", "c"]),
            st.sampled_from(["flu", "cold", "gout"]),
        ),
        min_size=6,
        max_size=40,
    ),
    st.integers(2, 6),
    st.integers(0, 3),
)
def test_everybody_is_in_one_group_of_at_least_k(rows: list[Any], k: int, seed: int) -> None:
    age, place, disease = (list(column) for column in zip(*rows, strict=True))
    table = sf.read(
        pa.table({"age": pa.array(age, pa.int64()), "zip": place, "disease": disease}),
        sf.Schema(quasi=["age", "zip"], sensitive="disease"),
    )
    try:
        release = aggregate(table, k, sf.DistinctDiversity(2), seed=seed)
    except sf.NoSafeRelease as told:
        assert len(set(disease)) == 1
        assert "distinct-diversity" in str(told)  # noqa: PT017 (both outcomes are right)
        return
    assert release.scheme == "microaggregated"
    assert release.suppressed == 0
    placement = release.placement
    assert placement is not None
    summed = np.bincount(placement.tuples, weights=placement.n, minlength=len(table.counts))
    assert (summed == table.counts.n).all()
    sizes = np.bincount(placement.groups, weights=placement.n)
    assert (sizes == release.groups.sizes).all()
    assert sizes.min() >= k
    shown = [tuple(release.regions.describe(g).items()) for g in range(len(release.groups))]
    assert len(set(shown)) == len(shown)
    codes = table.counts.in_memory("this test").codes[0][placement.tuples]
    has_age = np.array([value is not None for value in table.counts.quasi[0].values])[codes]
    aged = np.bincount(placement.groups, weights=placement.n * has_age)
    assert all(
        many > sizes[g] / 2 or release.regions.describe(g)["age"] == "(missing)"
        for g, many in enumerate(aged)
    )
    assert release.disjoint
    assert release.regions.disjoint()
    assert sf.audit(release, [sf.KAnonymity(k), sf.DistinctDiversity(2)]).holds


def test_two_heaps_of_people_are_two_groups() -> None:
    ages = [20, 21, 21, 60, 62, 62]
    table = sf.read(
        pa.table({"age": ages, "disease": list("abcabc")}),
        sf.Schema(quasi=["age"], sensitive="disease"),
    )
    release = aggregate(table, 3, sf.KAnonymity(3))
    assert [release.regions.describe(g) for g in range(2)] == [{"age": "20.7"}, {"age": "61.3"}]
    assert release.groups.counts_of(0) == {"a": 1, "b": 1, "c": 1}
    units = release.made.findings.distances
    assert units is not None
    assert units.centre == {"age": 41.0}  # of the people, whatever is published
    assert units.scale["age"] == pytest.approx(np.std(ages))
    assert units.missing["age"] == pytest.approx(62 + np.std(ages))


def test_numbers_are_published_as_a_mean_to_a_hundredth_of_their_extent() -> None:
    assert one_group(x=[1, 2, 2]) == {"x": "1.67"}
    assert one_group(x=[12, 345, 99_999]) == {"x": "33500"}
    assert one_group(x=[1234567, 1234568]) == {"x": "1234567.5"}
    assert one_group(x=[0.1, 0.2]) == {"x": "0.15"}
    assert one_group(x=[7, 7, 7]) == {"x": "7"}


def test_a_centroid_keeps_to_the_unit_or_to_the_finest_level() -> None:
    month, days = (
        dt.date(2020, 5, 1),
        [dt.date(2020, 4, 2), dt.date(2020, 5, 14), dt.date(2021, 1, 1)],
    )
    columns = {"x": [21, 23, 29], "cost": [3.13, 4.26, 4.31], "born": days}
    schema = sf.Schema(
        quasi=list(columns),
        units={"cost": 0.05},
        hierarchies={"x": sf.intervals([5, 10]), "born": sf.dates("month", "year")},
    )
    release = aggregate(sf.read(pa.table(columns), schema), 3)
    assert release.regions.describe(0) == {"x": "25", "cost": "3.9", "born": month.isoformat()}


def test_a_centroid_is_no_value_of_one_person() -> None:
    assert one_group(x=[20, 21, 22]) == {"x": "21.01"}
    assert one_group(x=[20, 21, 21, 22]) == {"x": "21"}  # two people have it
    day = dt.date(2020, 1, 1)
    days = [day, day + dt.timedelta(days=1), day + dt.timedelta(days=2)]
    assert one_group(born=days) == {"born": "2020-01-02"}  # all days around are somebody's
    assert one_group(born=[*days[:2], dt.date(2024, 5, 5)]) == {"born": "2020-01-03"}
    table = sf.read(pa.table({"x": [1, 2, 3]}), sf.Schema(quasi=["x"], units={"x": 1}))
    release = aggregate(table, 3)
    assert release.regions.describe(0) == {"x": "2"}
    assert own_values(release)["x"].total == 1


def test_ordered_values_are_published_as_a_value_somebody_has() -> None:
    levels = ["none", "school", "college"]
    assert one_group(level=["none", "college", "college"], ordered=levels) == {"level": "college"}
    assert one_group(level=["none", "college"], ordered=levels) == {"level": "none"}


def test_categories_and_truth_values_are_published_as_the_most_frequent() -> None:
    assert one_group(job=["cook", "smith", "smith"]) == {"job": "smith"}
    assert one_group(job=["smith", "cook"]) == {"job": "cook"}  # of equals the first in the domain
    assert one_group(member=[True, False, True]) == {"member": "true"}
    assert one_group(member=[True, False]) == {"member": "false"}


def test_null_is_published_where_half_or_more_have_no_value() -> None:
    day = dt.date(2020, 1, 1)
    levels = ["none", "school"]
    assert one_group(x=[None, 4, 5]) == {"x": "4.5"}
    assert one_group(x=[None, 4]) == {"x": "(missing)"}  # not what one of two people has
    assert one_group(x=[None, None, 4, 4]) == {"x": "(missing)"}
    assert one_group(x=[None, None, 4, 4, 4]) == {"x": "4"}
    assert one_group(x=[None, None, 4]) == {"x": "(missing)"}
    assert one_group(born=[None, day, day]) == {"born": "2020-01-01"}
    assert one_group(born=[None, None, day]) == {"born": "(missing)"}
    assert one_group(born=[None, day]) == {"born": "(missing)"}
    assert one_group(level=[None, "school"], ordered=levels) == {"level": "(missing)"}
    assert one_group(level=[None, None, "none"], ordered=levels) == {"level": "(missing)"}
    assert one_group(job=[None, None, "cook"]) == {"job": "(missing)"}
    assert one_group(job=[None, "cook"]) == {"job": "(missing)"}
    assert one_group(x=[None, None], job=["a", "b"]) == {"x": "(missing)", "job": "a"}


def test_people_without_a_value_lie_beyond_the_largest() -> None:
    table = sf.read(pa.table({"x": [None, None, 1, 2, 9, 10]}), sf.Schema(quasi=["x"]))
    release = aggregate(table, 2)
    shown = {release.regions.describe(g)["x"] for g in range(len(release.groups))}
    assert shown == {"1.5", "9.5", "(missing)"}


def test_one_value_of_several_columns_does_not_matter() -> None:
    table = sf.read(
        pa.table({"x": [1, 2, 8, 9], "y": [0.1] * 4, "z": [None] * 4}),
        sf.Schema(quasi=["x", "y", "z"]),
    )
    release = aggregate(table, 2)
    assert [release.regions.describe(g)["x"] for g in range(2)] == ["1.5", "8.5"]


def test_chosen_columns_decide_who_is_near_and_all_are_published() -> None:
    table = sf.read(
        pa.table({"x": [1, 2, 8, 9], "y": [0, 100, 0, 100]}), sf.Schema(quasi=["x", "y"])
    )
    by_x, by_y = (aggregate(table, 2, columns=name) for name in ("x", ["y"]))
    assert [by_x.regions.describe(g) for g in range(2)] == [
        {"x": "1.5", "y": "50"},
        {"x": "8.5", "y": "50"},
    ]
    assert [by_y.regions.describe(g)["y"] for g in range(2)] == ["0", "100"]
    with pytest.raises(sf.PolicyError, match="'w' is not a quasi-identifier"):
        aggregate(table, 2, columns=["w"])
    with pytest.raises(sf.PolicyError, match="columns is empty"):
        Microaggregation(2, columns=[])


def test_groups_with_equal_centroids_are_one_before_they_are_judged() -> None:
    table = sf.read(
        pa.table({"x": [5] * 12, "s": ["a"] * 6 + ["b"] * 6}), sf.Schema(quasi=["x"], sensitive="s")
    )
    release = aggregate(table, 3, sf.EntropyDiversity(2))
    assert release.groups.sizes.tolist() == [12]


@pytest.fixture(scope="module")
def people() -> sf.Table:
    return sf.read(census(3_000), census_schema())


@pytest.mark.parametrize(
    "require",
    [
        [sf.DistinctDiversity(3)],
        [sf.TCloseness(0.35)],
        [sf.EntropyDiversity(3), sf.KAnonymity(8), sf.BetaLikeness(6)],
        [sf.RecursiveDiversity(2, 3), sf.AlphaK(0.4, 5)],
    ],
    ids=str,
)
def test_further_criteria_are_kept(people: sf.Table, require: list[Criterion]) -> None:
    release = aggregate(people, 5, *require)
    assert len(release.groups) > 1
    assert sf.audit(release, [*require, sf.KAnonymity(5)]).holds
    assert not sf.audit(aggregate(people, 5), require).holds


def test_same_seed_same_release(people: sf.Table) -> None:
    first, again, other = (aggregate(people, 5, seed=seed) for seed in (1, 1, 2))
    assert first.placement is not None
    assert again.placement is not None
    assert (first.regions.codes == again.regions.codes).all()
    assert (first.placement.groups == again.placement.groups).all()
    assert first.regions.codes.shape != other.regions.codes.shape or (
        (first.groups.dense() != other.groups.dense()).any()
    )


def test_every_sensitive_column_is_kept() -> None:
    table = sf.read(census(1_500), census_schema(income=True))
    release = aggregate(table, 4, sf.DistinctDiversity(3))
    assert release.groups_for("disease").distinct.min() >= 3
    assert release.groups_for("income").distinct.min() >= 3


def test_people_with_several_values_count_once() -> None:
    table = sf.read(
        pa.table({"x": [1, 2, 3, 4], "s": [["a"], ["a", "b"], ["b"], ["a"]]}),
        sf.Schema(quasi=["x"], sensitive="s"),
    )
    release = aggregate(table, 2, sf.AlphaK(1.0, 2))
    assert release.groups.sizes.tolist() == [2, 2]


def test_a_counted_table_is_split_into_people() -> None:
    table = sf.read(pa.table({"x": [1, 9], "n": [10, 11]}), sf.Schema(quasi=["x"], count="n"))
    release = aggregate(table, 5)
    assert release.people == 21
    assert Counter(release.groups.sizes.tolist()).keys() <= set(range(5, 22))


def test_impossible_demands_are_told_at_once() -> None:
    table = sf.read(
        pa.table({"x": range(20), "s": ["a"] * 20}), sf.Schema(quasi=["x"], sensitive="s")
    )
    with pytest.raises(sf.NoSafeRelease, match=r"distinct-diversity, required l ≥ 2.*came is 1"):
        aggregate(table, 5, sf.DistinctDiversity(2))
    with pytest.raises(sf.NoSafeRelease, match=r"k ≥ 21.*came is 20"):
        aggregate(table, 21)
    with pytest.raises(sf.NoSafeRelease, match="no order"):
        aggregate(table, 5, sf.TCloseness(0.5, distance="ordered"))


def test_a_criterion_that_merging_breaks_is_kept_or_refused() -> None:
    table = sf.read(pa.table({"x": [1, 2, 3, 10, 11, 12, 30, 31, 32]}), sf.Schema(quasi=["x"]))
    assert aggregate(table, 3, CertainSizes((3,))).groups.sizes.tolist() == [3, 3, 3]
    assert sorted(aggregate(table, 3, CertainSizes((6, 9))).groups.sizes.tolist()) in ([9], [3, 6])
    with pytest.raises(sf.NoSafeRelease, match="certain-sizes"):
        aggregate(table, 3, CertainSizes((4,)))


def test_a_criterion_on_the_whole_release_has_the_last_word() -> None:
    table = sf.read(pa.table({"x": [1, 2, 8, 9]}), sf.Schema(quasi=["x"]))
    assert len(aggregate(table, 2, ManyGroups(2)).groups) == 2
    with pytest.raises(sf.NoSafeRelease, match=r"groups ≥ 3.*came is 2"):
        aggregate(table, 2, ManyGroups(3))


def test_too_many_people_are_refused_in_one_line() -> None:
    table = sf.read(pa.table({"x": [1, 2], "n": [200_000, 1]}), sf.Schema(quasi=["x"], count="n"))
    with pytest.raises(sf.ResourceError, match=r"200,001 people .*use mondrian") as told:
        aggregate(table, 5)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("numbers", [[1.0, float("inf")], [1e308, -1e308], [0.0, 5e-324]])
def test_numbers_without_a_distance_are_refused(numbers: list[float]) -> None:
    with pytest.raises(sf.InputError, match="'x' holds numbers"):
        aggregate(sf.read(pa.table({"x": numbers}), sf.Schema(quasi=["x"])), 2)


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "3"])
def test_k_must_be_a_whole_number(k: object) -> None:
    with pytest.raises(sf.PolicyError, match="microaggregation: k"):
        Microaggregation(k)  # type: ignore[arg-type]
