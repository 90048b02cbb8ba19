"""Who of a table larger than memory is in which group: judged by those whom releases tell apart."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.adversaries.composition import alike_people
from sfumato.adversaries.composition.true_groups import with_people_of
from sfumato.counts import stored
from sfumato.errors import ResourceError
from sfumato.ledger.check import check_release
from sfumato.policy.model import Policy
from sfumato.release.made import ReadFrom
from sfumato.release.release import Release
from tests.table.beyond_memory import SCHEMA, beyond, rows

MAKERS: list[Any] = [
    sf.Mondrian(),
    sf.Lattice(),
    sf.Microaggregation(4),
    sf.Mondrian(scheme="bucketized"),
]


def made(table: sf.Table, maker: Any, k: int, folder: Path, name: str) -> Release:
    """A release of the table, as somebody reads it who has the files alone."""
    buckets = maker == sf.Mondrian(scheme="bucketized")
    require = [sf.DistinctDiversity(2)] if buckets else [sf.KAnonymity(k)]
    release = sf.anonymize(table, Policy(require, maker, suppression=0.1), seed=1)
    return sf.read_release(release.save(folder / name, codebook=False) / "public")


SENSITIVE = replace(SCHEMA, sensitive=("ill",))


def releases(seed: int, folder: Path) -> tuple[sf.Table, Release, list[Release]]:
    """A table, a release of it, and earlier ones of most of its people or of others."""
    chance = np.random.default_rng(seed)
    people = rows(seed, 160)
    table = sf.read(people, SENSITIVE)
    new = made(table, sf.Mondrian() if seed % 2 else sf.Lattice(), 3 + seed % 3, folder, "new")
    earlier = []
    for number in range(int(chance.integers(0, 4))):
        some = people.take(pa.array(np.flatnonzero(chance.random(len(people)) < 0.8)))
        maker = MAKERS[int(chance.integers(len(MAKERS)))]
        k = int(chance.integers(2, 6))
        earlier.append(made(sf.read(some, SENSITIVE), maker, k, folder, f"before {number}"))
    return table, new, earlier


RULES: list[dict[str, Any]] = [
    {"confidence": 1},
    {"confidence": 0.5, "share": 0.1},
    {"confidence": 0.5, "counting": "added"},
    {"confidence": 0, "drop": 1, "share": 0.2},
]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("most", [2, 30, 10_000])
def test_everybody_is_judged_as_in_memory(seed: int, most: int, tmp_path: Path) -> None:
    table, new, earlier = releases(seed, tmp_path)
    large = beyond(table, most)
    for rule in RULES:
        small = check_release(new, earlier, table=table, **rule)
        assert small.basis == "people"
        assert check_release(new, earlier, table=large, **rule) == small
        share = {"share": 0.05, **rule}
        bound = sf.CompositionBound(earlier=earlier, **share)
        ours, theirs = (
            json.loads(sf.audit(new, [bound], table=one).to_json()) for one in (large, table)
        )
        assert ours["verdicts"] == theirs["verdicts"]
        assert ours["threats"] == theirs["threats"]
        assert ours["notes"] == theirs["notes"]


@pytest.fixture(autouse=True)
def kinds_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is for two tuples here, and those whom releases tell apart are more."""
    monkeypatch.setattr(alike_people, "_COPIES", 0)


def alike(release: Release) -> Any:
    assert isinstance(release.made, ReadFrom)
    assert release.made.representatives is not None
    return release.made.representatives


def test_few_stand_for_all(tmp_path: Path) -> None:
    table, new, _ = releases(1, tmp_path)
    known = with_people_of(new, beyond(table, 5))
    inside = alike(known).inside
    assert len(inside.counts) <= 3 * len(new.groups)  # a value each
    assert inside.n.sum() == new.people
    assert known.inside() is None  # whoever asks for everybody's own tuple has it not
    some = np.array([2, 0])
    assert alike(replace(known, made=known.made.take(some, len(new.groups)))).inside.n.sum() == (
        new.groups.sizes[some].sum()
    )
    merged = known.made.merge(np.zeros(len(new.groups), dtype=np.int64), 1)
    assert isinstance(merged, ReadFrom)
    assert merged.representatives is not None
    assert len(merged.representatives.inside) == 1


def test_other_people_are_told_of(tmp_path: Path) -> None:
    _, new, _ = releases(1, tmp_path)
    others = sf.read(rows(99, 160), SENSITIVE)
    fewer = sf.read(rows(1, 160).slice(3), SENSITIVE)
    more = sf.read(pa.concat_tables([rows(1, 160), rows(1, 1)]), SENSITIVE)
    for other in (others, fewer, more):
        small, large = (with_people_of(new, one) for one in (other, beyond(other, 5)))
        assert small.notes[-1].endswith("those who fit the groups are not those they count")
        assert large.notes == small.notes
    unheard = sf.Schema(quasi=["age", "zip", "sex"], sensitive="pay")
    large = with_people_of(new, beyond(sf.read(rows(1, 160), unheard), 5))
    assert large.notes[-1].endswith("not those they count")


def test_earlier_releases_that_were_not_looked_up_are_not_judged(tmp_path: Path) -> None:
    table, new, _ = releases(1, tmp_path)
    before = made(table, sf.Mondrian(), 5, tmp_path, "again")
    known = with_people_of(new, beyond(table, 5))
    assert alike(known).beside([]) is not None
    assert alike(known).beside([before]) is None


def test_releases_of_other_columns_are_told_of_as_in_memory(tmp_path: Path) -> None:
    table, new, _ = releases(1, tmp_path)
    strange = sf.read(rows(1, 160), sf.Schema(quasi=["age", "pay"], sensitive="ill"))
    before = sf.generalize(strange, (0, 0), [sf.KAnonymity(1)])
    bound = sf.CompositionBound(0.1, 1, earlier=[before])
    ours, theirs = (
        json.loads(sf.audit(new, [bound], table=one).to_json())["verdicts"]
        for one in (beyond(table, 5), table)
    )
    assert ours == theirs
    said = []
    for one in (table, beyond(table, 5)):
        with pytest.raises(sf.InputError) as caught:
            check_release(new, [before], table=one)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_buckets_larger_than_memory_tell_nobody_by_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = sf.read(rows(1, 160), SENSITIVE)
    made(table, sf.Mondrian(scheme="bucketized"), 2, tmp_path, "buckets")
    monkeypatch.setattr(stored, "COPIES", 10**9)
    large = sf.read_release(tmp_path / "buckets" / "public")
    known = with_people_of(large, beyond(table, 5))
    assert known.notes[-1].endswith("larger than memory, and tells one group of each kind")


def test_too_many_kinds_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, new, _ = releases(1, tmp_path)
    monkeypatch.setattr(alike_people, "_COPIES", 10**9)
    with pytest.raises(ResourceError, match="kinds of people apart, too many for the memory limit"):
        with_people_of(new, beyond(table, 5))
