"""Splits at medians in one go are those that a search level by level finds, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.mondrian import medians, mondrian
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.release.release import Release


def people(seed: int, rows: int) -> sf.Table:
    """Numbers with gaps, few grades, words and days; of some people there are several."""
    chance = np.random.default_rng(seed)
    days = np.datetime64("2020-01-01") + chance.integers(0, 900, rows)
    columns: dict[str, Any] = {
        "age": (chance.beta(2, 5, rows) * 80).astype(int),
        "pay": chance.integers(0, 40, rows) ** 2 * 100,
        "grade": chance.choice(["low", "mid", "high"], rows),
        "word": chance.choice(["a", "b", "c", "d", "e"], rows),
        "day": pa.array(days.astype("datetime64[D]")),
        "ill": chance.choice(["x", "y", "z"], rows, p=[0.7, 0.2, 0.1]),
    }
    twice = np.append(np.arange(rows), chance.integers(0, rows, rows // 3))
    schema = sf.Schema(
        quasi=["age", "pay", "grade", "word", "day"],
        sensitive="ill",
        domains={"grade": ["low", "mid", "high"]},
    )
    return sf.read(pa.table(columns).take(pa.array(twice)), schema)


def published(release: Release) -> tuple[object, ...]:
    assert release.placement is not None
    groups, regions, placed = release.groups, release.regions, release.placement
    arrays = (regions.codes, groups.indptr, groups.indices, groups.data)
    arrays = (*arrays, placed.tuples, placed.groups, placed.n)
    return (regions.parts, *(array.tobytes() for array in arrays))


CRITERIA = {
    "k": [sf.KAnonymity(3)],
    "k and l": [sf.KAnonymity(4), sf.DistinctDiversity(2)],
    "l above k": [sf.KAnonymity(2), sf.DistinctDiversity(3)],
}


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize(("seed", "rows"), [(1, 30), (2, 400), (3, 2000)])
def test_the_release_is_that_of_a_search_level_by_level(
    name: str, seed: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Task(people(seed, rows), tuple(CRITERIA[name]), seed=7)
    level_by_level = Mondrian().run(task)
    asked: list[int] = []
    split = medians.split_at_medians

    def watched(*given: Any) -> Any:
        nodes = split(*given)
        asked.append(len(nodes))
        return nodes

    monkeypatch.setattr(mondrian, "MANY_ROWS", 0)
    monkeypatch.setattr(medians, "split_at_medians", watched)
    in_one_go = Mondrian().run(task)
    assert asked
    assert asked[0] > 1
    assert published(in_one_go) == published(level_by_level)


def test_what_asks_for_more_is_left_to_the_search() -> None:
    table = people(1, 30)
    for criterion in (sf.EntropyDiversity(2), sf.TCloseness(0.5), sf.KAnonymity(2, up_to=2)):
        assert medians.asked(Task(table, (sf.KAnonymity(2), criterion))) is None
    assert medians.asked(Task(table, (sf.KAnonymity(5), sf.DistinctDiversity(2)))) == (5, 2)
