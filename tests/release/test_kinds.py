"""Groups that count the same are judged once, and whoever asks is told the same."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.release import kinds, sparse
from sfumato.release.groups import Groups
from sfumato.release.kinds import kinds_of
from sfumato.release.release import as_it_stands
from sfumato.release.sparse import SparseCounts

CRITERIA = (
    sf.KAnonymity(2),
    sf.AlphaK(0.5, 2),
    sf.DistinctDiversity(2),
    sf.EntropyDiversity(2),
    sf.RecursiveDiversity(3, 2),
    sf.TCloseness(0.3),
    sf.TCloseness(0.3, distance="ordered"),
    sf.BetaLikeness(2),
    sf.DeltaDisclosure(2),
    sf.EpsilonPrivacy(3, sf.RealisticAdversary(stubbornness=1e6)),
    sf.EpsilonPrivacy(3, sf.RealisticAdversary("table", 100)),
    sf.SkylinePrivacy([(1, 2, 1, 0.9), (0, 1, 0, 0.6)]),
    sf.DistributionLeakage(0.3),
)


def table_of(seed: int, rows: int = 600) -> sf.Table:
    """Most people are alone, some are several who share a value or do not."""
    chance = np.random.default_rng(seed)
    place = np.where(chance.random(rows) < 0.7, np.arange(rows), chance.integers(0, 150, rows))
    columns = {"place": place, "sex": chance.integers(0, 2, rows)}
    ill = pa.array(chance.choice(list("abcd"), rows, p=[0.5, 0.3, 0.15, 0.05]))
    schema = sf.Schema(quasi=["place", "sex"], sensitive="ill", domains={"ill": list("abcd")})
    return sf.read(pa.table({**columns, "ill": ill}), schema)


@pytest.mark.parametrize("seed", range(3))
def test_an_audit_by_kinds_tells_what_one_of_every_group_tells(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = sf.audit(table_of(seed), CRITERIA)
    monkeypatch.setattr(kinds, "_MANY", 1)
    by_kind = sf.audit(table_of(seed), CRITERIA)
    groups = as_it_stands(table_of(seed)).groups
    assert kinds_of(groups) is not None
    for one, other in zip(plain.verdicts, by_kind.verdicts, strict=True):
        assert (one.status, one.measured, one.note) == (other.status, other.measured, other.note)
        assert one.per_group is not None
        assert np.array_equal(one.per_group, other.per_group)
        # Of equally bad groups of one size any five may be told.
        told = [[(one.per_group[g], groups.sizes[g]) for g in each.worst] for each in (one, other)]
        assert told[0] == told[1]
    assert plain.threats == by_kind.threats
    assert plain.linkage == by_kind.linkage
    shown = [json.loads(report.to_json()) for report in (plain, by_kind)]
    assert shown[0]["threats"] == shown[1]["threats"]


def test_the_worst_groups_are_the_first_of_the_worst_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "_MANY", 1)
    counts = [[3, 0], [1, 0], [1, 1], [0, 1], [1, 0], [3, 0], [0, 1], [1, 1]] * 3
    by_kind = kinds_of(groups := Groups(counts))
    assert by_kind is not None
    assert len(by_kind.groups) == 4
    verdict = sf.DistinctDiversity(2).verdict(by_kind.groups).of_all(by_kind)
    assert verdict.note == sf.DistinctDiversity(2).verdict(groups).note
    assert verdict.worst == (0, 5, 8, 13, 16)  # of one value each, the largest first


def test_groups_are_alike_that_count_the_same() -> None:
    chance = np.random.default_rng(5)
    counts = chance.integers(0, 3, (500, 3))
    groups = Groups(counts[counts.sum(axis=1) > 0])
    kind, first = groups.kinds_of_counts
    dense = groups.dense()
    assert np.array_equal(dense[first][kind], dense)
    assert len(np.unique(dense, axis=0)) == len(first)
    assert np.array_equal(first, np.sort(first))


def test_marks_that_are_equal_by_chance_make_no_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = Groups([[1, 0], [0, 1], [1, 0]])
    equal = lambda self, stored: np.zeros(len(self), np.uint64)  # noqa: E731
    monkeypatch.setattr(SparseCounts, "sum_of", equal)
    kind, first = groups.kinds_of_counts
    assert kind.tolist() == first.tolist() == [0, 1, 2]


@pytest.mark.parametrize("at_once", [1, 7, 64])
def test_groups_are_alike_however_many_are_compared_at_once(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = np.random.default_rng(6)
    counts = chance.integers(0, 2, (100, 4)) * chance.integers(1, 3, (100, 4))
    sizes = np.maximum(counts.sum(axis=1), 1)  # some of them are without values
    kind, first = Groups(counts, sizes=sizes).kinds_of_counts
    monkeypatch.setattr(sparse, "_GROUPS_AT_ONCE", at_once)
    again, first_again = Groups(counts, sizes=sizes).kinds_of_counts
    assert np.array_equal(kind, again)
    assert np.array_equal(first, first_again)


def test_kinds_of_many_groups_take_little_memory_beside_them() -> None:
    """Release and engine share the limit: the search for kinds took twice what the groups take."""
    total, each = 200_000, 5
    data = np.random.default_rng(7).integers(1, 4, total * each)
    indices = np.tile(np.arange(each, dtype=np.int32), total)
    groups = Groups.from_sparse(np.arange(total + 1) * each, indices, data, each)
    assert len(groups.kinds_of_counts[1]) == 3**each
    again = Groups.from_sparse(np.arange(total + 1) * each, indices, data, each)
    tracemalloc.start()
    try:
        assert len(again.kinds_of_counts[0]) == total
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 12 * total
    assert peak < 80 * total
