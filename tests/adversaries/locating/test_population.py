"""People of another release: who may fit a group, and who must, against every person tried."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.adversaries.locating import people as looked_up
from sfumato.adversaries.locating.people import (
    RegionIndex,
    Register,
    count_behind,
    people_maybe_inside,
    people_surely_inside,
)
from sfumato.counts.stored import bytes_for
from tests.oracles.containing import containing
from tests.table.beyond_memory import beyond

SCHEMA = sf.Schema(["age", "sex"], "s", hierarchies={"age": sf.intervals([2, 4, 8])})


def table(seed: int, many: int = 60) -> sf.Table:
    rng = np.random.default_rng(seed)
    columns = {"age": rng.integers(0, 16, many), "sex": rng.choice(["F", "M"], many)}
    return sf.read(pa.table({**columns, "s": rng.choice(list("uvw"), many)}), SCHEMA)


def allowed(release: sf.Release, group: int) -> set[tuple[int, str]]:
    """Every combination of values that fits a group."""
    everybody = [(age, sex) for age in range(16) for sex in "FM"]
    fits = [containing(release.regions, {"age": age, "sex": sex}) for age, sex in everybody]
    return {one for one, groups in zip(everybody, fits, strict=True) if group in groups}


@pytest.mark.parametrize("levels", [(0, 0), (1, 0), (2, 1), (3, 1)])
def test_who_may_fit_and_who_must(levels: tuple[int, int]) -> None:
    ours = sf.generalize(table(1), levels)
    for outside in (
        sf.generalize(table(2), [1, 0]),
        sf.anonymize(table(3), sf.Policy([sf.KAnonymity(5)], anonymizer=sf.Mondrian()), seed=0),
    ):
        groups = outside.groups
        surely = people_surely_inside(ours.regions, outside)
        maybe = people_maybe_inside(ours.regions, outside, groups)
        theirs = [allowed(outside, other) for other in range(len(groups))]
        for g in range(len(ours.groups)):
            mine = allowed(ours, g)
            inside = [h for h, one in enumerate(theirs) if one <= mine]
            # Mondrian's outermost cells have no end, so they are taken to reach beyond.
            assert surely[g] <= groups.sizes[inside].sum()
            if outside.made.findings.anonymizer == "lattice":
                assert surely[g] == groups.sizes[inside].sum()
            meeting = [h for h, one in enumerate(theirs) if one & mine]
            expected = np.zeros(groups.width, dtype=int)
            for h in meeting:
                for value, n in groups.counts_of(h).items():
                    expected[groups.values.index(value)] += n
            assert maybe[g].tolist() == expected.tolist()


def test_finer_regions_of_the_same_hierarchy_are_as_good_as_the_people_themselves() -> None:
    """A release whose regions lie inside the groups tells what its table would."""
    ours, people = sf.generalize(table(1), [2, 1]), table(2)
    published = sf.generalize(people, [1, 0])
    of_table = sf.RealisticAdversary(people, by_region=True).prior(ours.groups)
    of_release = sf.RealisticAdversary(published, by_region=True).prior(ours.groups)
    assert of_table.outside.tolist() == of_release.outside.tolist()
    assert of_table.covered.tolist() == of_release.covered.tolist()
    by_table, by_release = sf.KMap(5, people), sf.KMap(5, published)
    assert by_table.measure(ours.groups).per_group.tolist() == (
        by_release.measure(ours.groups).per_group.tolist()
    )


@pytest.mark.parametrize("anonymizer", [sf.Mondrian(), sf.Deal(sweeps=1), sf.Lattice()])
def test_many_people_are_looked_up_as_few_are(
    anonymizer: sf.Anonymizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a k-d tree of regions that overlap or not: the same pairs with all compared."""
    ours = sf.anonymize(table(4), sf.Policy([sf.KAnonymity(3)], anonymizer=anonymizer), seed=0)
    register = table(5, 300)
    found = []
    for most in (1 << 25, -1):
        monkeypatch.setattr("sfumato.adversaries.locating.boxes._FEW_PAIRS", most)
        monkeypatch.setattr("sfumato.adversaries.locating.boxes.BoxIndex.compared", 0)
        index = RegionIndex.of(ours.regions, register.counts.quasi)
        pairs = [
            (who, place)
            for several, places in index.pairs(register.counts.in_memory("a test").codes)
            for who, place in zip(several.tolist(), places.tolist(), strict=True)
        ]
        behind = [count_behind(ours.regions, register, alone=alone) for alone in (False, True)]
        found.append((sorted(pairs), [people.tolist() for people in behind]))
    assert found[0] == found[1]
    assert len(found[0][0]) > 50


@pytest.mark.parametrize("anonymizer", [sf.Mondrian(), sf.Deal(sweeps=1)])
@pytest.mark.parametrize(("block", "small"), [(1, 1 << 16), (7, 1 << 16), (100, 0)])
def test_people_are_told_in_their_order_however_many_are_looked_up_at_once(
    anonymizer: sf.Anonymizer, block: int, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By several threads, block by block; each with her groups in their order."""
    ours = sf.anonymize(table(4), sf.Policy([sf.KAnonymity(3)], anonymizer=anonymizer), seed=0)
    codes = table(5, 300).counts.in_memory("a test").codes
    compared = RegionIndex.of(ours.regions, table(5, 300).counts.quasi)
    expected = [np.concatenate(column) for column in zip(*compared.pairs(codes), strict=True)]
    monkeypatch.setattr("sfumato.adversaries.locating.boxes._FEW_PAIRS", -1)
    monkeypatch.setattr("sfumato.adversaries.locating.boxes._SMALL", small)
    monkeypatch.setattr(looked_up, "_BLOCK", block)
    monkeypatch.setattr(looked_up, "_AHEAD", 3)
    index = RegionIndex.of(ours.regions, table(5, 300).counts.quasi)
    assert index._boxes._boxes.published.itemsize == (2 if small else 4)
    found = list(index.pairs(codes))
    assert len(found) == -(-codes.shape[1] // block)
    for column, whole in zip(zip(*found, strict=True), expected, strict=True):
        assert np.concatenate(column).tolist() == whole.tolist()
    monkeypatch.undo()  # who has a tree goes on to ask it: its boxes stand in another order
    again = [np.concatenate(column) for column in zip(*index.pairs(codes), strict=True)]
    assert all(one.tolist() == other.tolist() for one, other in zip(again, expected, strict=True))


_FINE = sf.Schema(["a", "b", "c"])


def test_boxes_that_are_compared_together_stand_together() -> None:
    """Groups are in any order; of millions each would be fetched from afar."""
    chance = np.random.default_rng(1)
    people = sf.read(pa.table({name: chance.integers(0, 50, 3000) for name in "abc"}), _FINE)
    ours = sf.anonymize(people, sf.Policy([sf.KAnonymity(3)], sf.Mondrian()), seed=0)
    shuffled = ours.regions.take(chance.permutation(len(ours.groups)))
    index = RegionIndex.of(shuffled, people.counts.quasi)
    _, items = index._boxes._tree
    _, first = np.unique(items, return_index=True)
    assert len(first) == len(ours.groups) > 100
    assert (np.diff(first) > 0).all()


def test_a_register_s_tuples_take_no_more_memory_than_is_reckoned_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chance, names = np.random.default_rng(2), [f"c{place}" for place in range(8)]
    people = {name: chance.integers(0, 50, 100_000) for name in names}
    register = beyond(sf.read(pa.table(people), sf.Schema(quasi=names)), 100_000)
    monkeypatch.setattr(looked_up, "_SORTED", 4096)
    arrow, reckoned = 4 * 8 + 8, bytes_for(1, 8) / looked_up._LIGHT
    tracemalloc.start()
    try:
        parts = Register.of(names, register).parts()
        assert sum(int(n.sum()) for _, n in parts) == 100_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak + arrow * 100_000 < 1.1 * reckoned * 100_000


def test_buckets_show_no_regions() -> None:
    buckets = sf.anonymize(
        table(2), sf.Policy([sf.DistinctDiversity(2)], anonymizer=sf.Anatomy(2)), seed=0
    )
    with pytest.raises(sf.PolicyError, match="only if it is generalized"):
        sf.KMap(5, buckets)
    her = sf.RealisticAdversary(buckets, by_region=True)
    assert "bucketized" in her.inapplicable(sf.generalize(table(1), [1, 0]).groups)
