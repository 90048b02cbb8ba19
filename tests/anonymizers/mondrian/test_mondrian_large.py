"""Mondrian on tables larger than memory: the same groups, safe, nothing left to split."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers.base import Harvest, Task
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.counts.counts import Counts
from sfumato.counts.stored import StoredCounts
from sfumato.criteria.base import Criterion
from sfumato.errors import ResourceError
from sfumato.numbers import Ints
from sfumato.release.description import Regions
from sfumato.release.made import StoredPlacement
from sfumato.release.release import Release
from tests.anonymizers import skyline_tables as skyline
from tests.anonymizers.mondrian_tables import CRITERIA, TABLES, small_table, some_search
from tests.examples import few
from tests.oracles.mondrian_oracle import all_splits, everybody
from tests.table.beyond_memory import beyond, placed, told


def both(
    table: sf.Table, require: Sequence[Criterion], most: int, **settings: Any
) -> tuple[Release, Release] | None:
    """The release in memory and beyond it; None where there is none, either way."""
    large = Task(beyond(table, most), tuple(require))
    refused = ""
    try:
        expected = Mondrian(**settings).run(Task(table, tuple(require)))
    except sf.NoSafeRelease as error:
        refused = str(error)
    if not refused:
        return expected, Mondrian(**settings).run(large)
    with pytest.raises(sf.NoSafeRelease, match=f"^{re.escape(refused)}$"):
        Mondrian(**settings).run(large)
    return None


@settings(max_examples=few(40))
@given(
    seed=st.integers(0, TABLES - 1),
    require=st.sampled_from([*chain(*CRITERIA.values())]),
    draw=st.integers(0, 15),
    most=st.sampled_from([1, 3, 10]),
    regions=st.sampled_from(["cell", "tight", "hierarchy"]),
)
def test_group_criteria_give_the_same_release(
    seed: int, require: Any, draw: int, most: int, regions: str
) -> None:
    table = small_table(seed)
    made = both(table, require, most, regions=regions, **some_search(table, draw))
    if made is not None:
        expected, found = made
        assert told(found) == told(expected)
        assert (found.groups.reference == expected.groups.reference).all()
        assert found.disjoint == expected.disjoint
        assert found.disjoint or regions == "hierarchy"
        assert found.suppressed == 0


def test_nodes_are_split_in_the_engine_and_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above would pass if all the work were done in one place."""
    fetched: list[str] = []
    for name in ("histograms", "numbered", "totals"):
        original = getattr(StoredCounts, name)

        def watched(self: StoredCounts, *args: Any, _name: str = name, _of: Any = original) -> Any:
            fetched.append(_name)
            return _of(self, *args)

        monkeypatch.setattr(StoredCounts, name, watched)
    chance = Random(1)
    people = {
        "age": [chance.randint(20, 80) for _ in range(400)],
        "town": [chance.randint(1, 9) for _ in range(400)],
        "ill": [chance.choice(["flu", "gout"]) for _ in range(400)],
    }
    table = sf.read(pa.table(people), sf.Schema(quasi=["age", "town"], sensitive="ill"))
    made = both(table, [sf.KAnonymity(3)], 50)
    assert made is not None
    assert told(made[1]) == told(made[0])
    assert fetched.count("histograms") > 2  # the root, and at least two levels
    assert fetched.count("numbered") > 4
    assert fetched.count("totals") == 0
    fetched.clear()
    made = both(table, [sf.KAnonymity(150)], 50)
    assert made is not None
    assert told(made[1]) == told(made[0])
    assert fetched.count("totals") == 2  # groups that may not be split, and do not fit


@settings(max_examples=few(20))
@given(
    seed=st.integers(0, TABLES - 1),
    require=st.sampled_from([[sf.KAnonymity(2)], [sf.AlphaK(0.7, 2)], [sf.AlphaK(0.9, 3)]]),
    most=st.sampled_from([1, 4]),
)
def test_people_with_several_values(seed: int, require: Any, most: int) -> None:
    made = both(small_table(seed, several=True), require, most)
    if made is not None:
        assert told(made[1]) == told(made[0])


@pytest.mark.parametrize("seed", range(15))
def test_two_attributes_weights_protection_and_regions(seed: int) -> None:
    """Whatever criteria need to know of candidate groups."""
    chance = Random(seed)
    people = {
        "age": [chance.choice([20, 30, 40, 50, None]) for _ in range(60)],
        "job": [chance.choice(["nurse", "doctor", "smith"]) for _ in range(60)],
        "ill": [chance.choice("ab") for _ in range(60)],
        "pay": [chance.choice("xyz") for _ in range(60)],
        "w": [chance.randint(1, 30) / 4 for _ in range(60)],
        "hide": [chance.choice(["a", "b", None]) for _ in range(60)],
    }
    schema = sf.Schema(
        quasi=["age", "job"],
        sensitive=["ill", "pay"],
        weight="w",
        protect="hide",
        hierarchies={"job": sf.taxonomy({"nurse": "care", "doctor": "care", "smith": "craft"})},
    )
    table = sf.read(pa.table(people), schema)
    for require in (
        [sf.DistinctDiversity(2), sf.TCloseness(0.4, sensitive="pay")],
        [sf.KMap(20, "weights")],
        [sf.EpsilonPrivacy(3, sf.RealisticAdversary(stubbornness=50), sensitive="ill")],
    ):
        made = both(table, require, 4)
        if made is not None:
            expected, found = made
            assert told(found) == told(expected)
            assert found.population is not None
            assert expected.population is not None
            assert sorted(found.population) == pytest.approx(sorted(expected.population))


@settings(max_examples=few(30))
@given(
    seed=st.integers(0, 200),
    points=st.sampled_from(skyline.POINTS),
    most=st.sampled_from([1, 4, 12]),
)
def test_a_skyline_is_safe_and_no_allowed_split_remains(seed: int, points: Any, most: int) -> None:
    table = skyline.small_table(seed)
    criterion = sf.SkylinePrivacy(points)
    large = beyond(table, most)
    if not skyline.safe([everybody(table)], points, len(skyline.ILL), "single"):
        with pytest.raises(sf.NoSafeRelease, match="skyline"):
            Mondrian().run(Task(large, (criterion,)))
        return
    groups = placed(Mondrian().run(Task(large, (criterion,))), table)
    assert skyline.safe(groups, points, len(skyline.ILL), "single")
    for at, group in enumerate(groups):
        for parts in all_splits(table, group, [criterion]):
            split = [*groups[:at], *parts, *groups[at + 1 :]]
            assert not skyline.safe(split, points, len(skyline.ILL), "single")


@settings(max_examples=few(15))
@given(seed=st.integers(0, 200), points=st.sampled_from(skyline.POINTS))
def test_a_skyline_of_sets_is_safe(seed: int, points: Any) -> None:
    table = skyline.small_table(seed, several="set")
    try:
        release = Mondrian().run(Task(beyond(table, 4), (sf.SkylinePrivacy(points),)))
    except sf.NoSafeRelease:
        return
    assert skyline.safe(placed(release, table), points, len(skyline.ILL), "lists")


def test_sorted_tuples_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.anonymizers.mondrian.large._SORTED", 1)
    sorted_ = 0
    for seed in range(20):
        table = small_table(seed)
        made = both(table, [sf.KAnonymity(2)], 3)
        if made is not None:
            assert told(made[1]) == told(made[0])
            sorted_ += len(made[1].groups) > 3
    assert sorted_ > 5


def test_batches_of_the_partition_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.anonymizers.mondrian.partition.BATCH", 5)
    for seed in range(10):
        table = small_table(seed)
        made = both(table, [sf.KAnonymity(2)], 12)
        if made is not None:
            assert told(made[1]) == told(made[0])


def test_the_engine_keeps_who_is_published_with_what() -> None:
    people = {
        "age": [20, 20, 30, 30, 40, 40, 50, 50],
        "ill": list("abababab"),
        "note": list("stuvwxyz"),
    }
    schema = sf.Schema(quasi=["age"], sensitive="ill", keep=["note"])
    table = beyond(sf.read(pa.table(people), schema), 2)
    release = Mondrian().run(Task(table, (sf.KAnonymity(3),)))
    placement = release.placement
    assert isinstance(placement, StoredPlacement)
    cells = table.engine.fetch(f"SELECT g, s0, n FROM {placement.people} ORDER BY g, s0")
    assert sum(cells["n"].to_pylist()) == 8
    assert len(set(cells["g"].to_pylist())) == len(release.groups)
    tuples = table.engine.fetch(f"SELECT q0, s0, g FROM {placement.placed}")
    assert tuples.num_rows == 8
    with pytest.raises(ResourceError, match=r"^this test needs .* larger than memory"):
        placement.in_memory("this test")
    with pytest.raises(ResourceError, match="telling who is in which group needs"):
        release.inside()


def test_groups_that_show_the_same_labels_are_one_wherever_they_were_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Cuts tell ages apart that are published as `*`, so nodes far apart publish the same."""
    add, added = Harvest.add, list[int]()

    def watched(self: Harvest, counts: Counts, group: Ints, described: Regions) -> None:
        added.append(len(described))
        add(self, counts, group, described)

    monkeypatch.setattr(Harvest, "add", watched)
    chance = Random(2)
    people = {
        "age": [chance.randint(20, 59) for _ in range(120)],
        "sex": [chance.choice("FM") for _ in range(120)],
        "ill": [chance.choice("abc") for _ in range(120)],
        "w": [chance.choice([1.0, 2.5]) for _ in range(120)],
        "ward": [f"w{number}" for number in range(120)],
    }
    schema = sf.Schema(
        quasi=["age", "sex"],
        sensitive="ill",
        weight="w",
        keep=["ward"],
        hierarchies={"age": sf.intervals([30])},
    )
    table = sf.read(pa.table(people), schema)
    made = both(table, [sf.KAnonymity(3)], 20, regions="hierarchy")
    assert made is not None
    expected, found = made
    assert len(added) > 1
    assert 1 < len(found.groups) < sum(added)
    assert told(found) == told(expected)
    assert expected.population is not None
    assert found.population is not None
    assert sorted(found.population) == pytest.approx(sorted(expected.population))
    # What the engine keeps of them is numbered alike.
    placement, groups = found.placement, found.groups
    assert isinstance(placement, StoredPlacement)
    engine = placement.table.engine
    listed = engine.fetch(f"SELECT g, s0, n FROM {placement.people}").to_pylist()
    assert sorted((row["g"], groups.values[row["s0"]], row["n"]) for row in listed) == sorted(
        (group, value, n)
        for group in range(len(groups))
        for value, n in groups.counts_of(group).items()
    )
    tuples = engine.fetch(f"SELECT q0, q1, g FROM {placement.placed}").to_pylist()
    ages, sexes = (table.counts.quasi[column].labels for column in (0, 1))
    for row in tuples:
        shown = found.regions.describe(row["g"])
        age, sex = int(ages[row["q0"]]), sexes[row["q1"]]
        assert shown["sex"] in ("*", sex)
        assert shown["age"] in ("*", str(age), f"[{age // 30 * 30}, {age // 30 * 30 + 30})")


@pytest.mark.parametrize(
    ("settings_", "require", "said"),
    [
        ({"strict": False}, [sf.KAnonymity(2)], "strict = false"),
        ({"regions": "tight"}, [sf.KMap(2, "weights")], "what groups publish"),
    ],
)
def test_what_cannot_be_told_from_histograms_is_refused(
    settings_: Any, require: Any, said: str
) -> None:
    people = {"age": [20, 21, 22, 23], "w": [1.0, 2.0, 3.0, 4.0], "ill": list("abab")}
    schema = sf.Schema(quasi=["age"], sensitive="ill", weight="w")
    table = beyond(sf.read(pa.table(people), schema))
    with pytest.raises(ResourceError, match=said):
        Mondrian(**settings_).run(Task(table, tuple(require)))
