"""k over some columns at a time: judged on what is published, searched by every anonymizer."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.base import judge
from sfumato.release.release import Release, as_it_stands
from tests.adversaries.releases import release
from tests.examples import few

NAMES = ["a", "b", "c"]
Rows = list[tuple[int, ...]]
ROWS = st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=2, max_size=14)


def table(rows: Rows) -> sf.Table:
    columns = {name: [row[place] for row in rows] for place, name in enumerate(NAMES)}
    halves = {name: sf.intervals([2]) for name in NAMES}
    return sf.read(pa.table(columns), sf.Schema(quasi=NAMES, hierarchies=halves))


def fewest(published: list[tuple[str, ...]], sets: list[tuple[int, ...]]) -> int:
    """The fewest rows that show the same in any of the sets."""
    return min(
        min(Counter(tuple(row[place] for place in places) for row in published).values())
        for places in sets
    )


def published(made: Release) -> list[tuple[str, ...]]:
    described = [tuple(made.regions.describe(group).values()) for group in range(len(made.groups))]
    return [
        row for row, n in zip(described, made.groups.sizes.tolist(), strict=True) for _ in range(n)
    ]


ASKED = {
    "columns": ({"columns": ["c", "a"]}, [(0, 2)]),
    "sets": ({"sets": [["a"], ["a", "b"], ["c"]]}, [(0,), (0, 1), (2,)]),
    "up to one": ({"up_to": 1}, [(0,), (1,), (2,)]),
    "up to two": (
        {"up_to": 2},
        [places for at in (1, 2) for places in combinations(range(3), at)],
    ),
    "up to more": (
        {"up_to": 9},
        [places for at in (1, 2, 3) for places in combinations(range(3), at)],
    ),
}
each_asked = pytest.mark.parametrize(("keys", "sets"), ASKED.values(), ids=list(ASKED))


@each_asked
@settings(max_examples=few(60), deadline=None)
@given(rows=ROWS)
def test_k_over_some_columns_is_that_of_the_published_rows(
    keys: dict[str, object], sets: list[tuple[int, ...]], rows: Rows
) -> None:
    made = as_it_stands(table(rows))
    verdict = judge(sf.KAnonymity(2, **keys), made)  # type: ignore[arg-type]
    assert verdict.measured == fewest(published(made), sets)
    assert verdict.holds == (verdict.measured >= 2)


def test_groups_that_show_the_same_there_are_one() -> None:
    made = release(
        ["a", "b"],
        [(((0, 4), 1), {"x": 1}), (((0, 4), 2), {"x": 2}), (((5, 9), 1), {"x": 3})],
    )
    assert judge(sf.KAnonymity(3, columns=["a"]), made).holds
    assert judge(sf.KAnonymity(2, columns=["b"]), made).measured == 2
    assert judge(sf.KAnonymity(2), made).measured == 1


def test_somebody_in_several_groups_is_one_person() -> None:
    """Both rows of the same person look alike by zip: she is alone there, not two."""
    data = pa.table({"age": [1, 2, 3], "zip": ["x", "x", "y"], "who": ["p", "p", "q"]})
    made = as_it_stands(sf.read(data, sf.Schema(quasi=["age", "zip"], person="who")))
    assert judge(sf.KAnonymity(2, columns=["zip"]), made).measured == 1


MAKERS = {"lattice": sf.Lattice(), "mondrian": sf.Mondrian()}


@pytest.mark.parametrize("maker", MAKERS.values(), ids=list(MAKERS))
@settings(max_examples=few(30), deadline=None)
@given(rows=ROWS, k=st.integers(2, 4))
def test_releases_that_are_searched_for_hold(maker: sf.Lattice, rows: Rows, k: int) -> None:
    policy = sf.Policy([sf.KAnonymity(k, up_to=1)], maker)
    if len(rows) < k:
        with pytest.raises(sf.NoSafeRelease):
            sf.anonymize(table(rows), policy, seed=1)
        return
    made = sf.anonymize(table(rows), policy, seed=1)
    assert fewest(published(made), [(0,), (1,), (2,)]) >= k


@settings(max_examples=few(30), deadline=None)
@given(rows=ROWS, k=st.integers(2, 3))
def test_the_lattice_finds_the_best_there_is(rows: Rows, k: int) -> None:
    """By every node of the lattice, judged one by one."""
    source = table(rows)
    safe = {
        levels
        for levels in [(a, b, c) for a in range(3) for b in range(3) for c in range(3)]
        if fewest(
            published(sf.generalize(source, dict(zip(NAMES, levels, strict=True)))),
            [(0, 1), (0, 2), (1, 2)],
        )
        >= k
    }
    policy = sf.Policy([sf.KAnonymity(k, up_to=2)], sf.Lattice(), utility="precision")
    if not safe:
        with pytest.raises(sf.NoSafeRelease):
            sf.anonymize(source, policy)
        return
    best = sf.anonymize(source, policy)
    levels = best.made.findings.levels  # type: ignore[union-attr]
    assert sum(levels.values()) == min(map(sum, safe))


@settings(max_examples=few(60), deadline=None)
@given(rows=ROWS, size=st.integers(1, 3))
def test_no_special_uniques_is_k_of_two_over_so_many_columns(rows: Rows, size: int) -> None:
    made = as_it_stands(table(rows))
    verdict = judge(sf.NoSpecialUniques(size), made)
    assert verdict.holds == judge(sf.KAnonymity(2, up_to=size), made).holds
    found = sf.special_uniques(made, size)
    needed = [int(number) for number in found.fewest if number]
    assert verdict.measured == (min(needed) if needed else float("inf"))
    release_ = sf.anonymize(table(rows), sf.Policy([sf.NoSpecialUniques(size)], sf.Lattice()))
    assert sf.special_uniques(release_, size).special == 0


def test_a_column_that_is_none_is_named() -> None:
    for judged in (
        lambda rule: sf.audit(table([(1, 2, 3)]), [rule]),
        lambda rule: sf.anonymize(table([(1, 2, 3)]), sf.Policy([rule], sf.Lattice())),
    ):
        with pytest.raises(sf.PolicyError, match="'bb', which is no quasi-identifier"):
            judged(sf.KAnonymity(2, columns=["a", "bb"]))


def test_policies_say_it_and_are_saved(tmp_path) -> None:
    text = (
        '[schema]\nquasi = ["a", "b", "c"]\n\n'
        '[[require]]\nkind = "k-anonymity"\nk = 3\nsets = [["a", "b"], ["c"]]\n\n'
        '[[require]]\nkind = "k-anonymity"\nk = 5\nup_to = 2\n\n'
        '[[require]]\nkind = "special-uniques"\nsize = 2\n'
    )
    path = tmp_path / "policy.toml"
    path.write_text(text)
    policy = sf.Policy.load(path)
    assert policy.require == (
        sf.KAnonymity(3, sets=[["a", "b"], ["c"]]),
        sf.KAnonymity(5, up_to=2),
        sf.NoSpecialUniques(2),
    )
    again = tmp_path / "again.toml"
    policy.save(again)
    assert sf.Policy.load(again).require == policy.require


def test_the_threat_matrix_tells_of_whoever_sees_few_columns() -> None:
    report = sf.audit(
        table([(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1)]), [sf.KAnonymity(2, up_to=1)]
    )
    (threat,) = (one for one in report.threats if one.adversary == "prosecutor, by few columns")
    assert threat.covered == ("k-anonymity",)
    assert threat.belief is not None
    assert threat.belief.after == 0.5
    (prosecutor,) = (one for one in report.threats if one.adversary == "prosecutor")
    assert prosecutor.covered == ()
