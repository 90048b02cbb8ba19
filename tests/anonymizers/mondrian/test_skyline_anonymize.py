"""SkylineAnonymize: Mondrian under a skyline is safe and minimal, of single values and of lists."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.criteria.skyline_search import Present, Questions, begin, weigh
from sfumato.release.groups import Groups
from tests.anonymizers.skyline_tables import ILL, POINTS, safe, small_table
from tests.examples import few
from tests.oracles.mondrian_oracle import all_splits, everybody, people_of


@settings(max_examples=few(120))
@given(
    seed=st.integers(0, 200),
    points=st.sampled_from(POINTS),
    several=st.sampled_from(["", "set", "multiset"]),
)
def test_releases_are_safe_and_no_allowed_split_remains(
    seed: int, points: Any, several: str
) -> None:
    table, case = small_table(seed, several=several), "lists" if several else "single"
    criterion = sf.SkylinePrivacy(points)
    if not safe([everybody(table)], points, len(ILL), case):
        with pytest.raises(sf.NoSafeRelease, match="skyline"):
            Mondrian().run(Task(table, (criterion,)))
        return
    groups = people_of(Mondrian().run(Task(table, (criterion,))))
    assert safe(groups, points, len(ILL), case)
    for at, group in enumerate(groups):
        for parts in all_splits(table, group, [criterion]):
            split = [*groups[:at], *parts, *groups[at + 1 :]]
            assert not safe(split, points, len(ILL), case)


def test_something_is_split_in_every_case() -> None:
    """The tests above would pass if nothing were ever split."""
    for several in ("", "set", "multiset"):
        made = []
        for seed in range(30):
            table = small_table(seed, several=several)
            try:
                release = Mondrian().run(Task(table, (sf.SkylinePrivacy([(0, 1, 0, 0.9)]),)))
            except sf.NoSafeRelease:
                continue
            made.append(len(release.groups))
        assert max(made) > 2


def test_merging_harms_values_in_a_bag_but_not_whole_lists() -> None:
    """One person with B and C, three with one A: at (2, 0, 0) apart 1/3, together 16/43 or 1/3."""
    rows = {"x": [1, 2, 2, 2], "ill": [["B", "C"], ["A"], [], []]}
    schema = sf.Schema(quasi=["x"], sensitive="ill")
    table = sf.read(pa.table(rows), schema)
    criterion = sf.SkylinePrivacy([(2, 0, 0, 0.35)], value="A")
    bag = Groups([[1, 1, 1]], ["A", "B", "C"], [4])
    assert sf.breach_probability(bag, "A", 2, 0, 0, "set") == pytest.approx(16 / 43)
    assert not criterion.verdict(bag).holds
    assert criterion.verdict(Groups([[0, 1, 1], [1, 0, 0]], ["A", "B", "C"], [1, 3])).holds
    release = Mondrian().run(Task(table, (criterion,)))
    assert len(release.groups) == 2
    assert sf.audit(release, [criterion]).holds
    with pytest.raises(sf.NoSafeRelease, match="skyline"):
        Mondrian().run(Task(table, (sf.SkylinePrivacy([(2, 0, 0, 0.3)], value="A"),)))


def test_batches_change_nothing_that_is_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.anonymizers.mondrian.partition.BATCH", 20)
    chance = Random(1)
    people = {
        "age": [chance.randint(20, 80) for _ in range(600)],
        "town": [chance.randint(1, 9) for _ in range(600)],
        "ill": [chance.choice(ILL) for _ in range(600)],
    }
    table = sf.read(pa.table(people), sf.Schema(quasi=["age", "town"], sensitive="ill"))
    points = [(1, 4, 2, 0.8)]
    first, again = (Mondrian().run(Task(table, (sf.SkylinePrivacy(points),))) for _ in range(2))
    assert first.to_arrow() == again.to_arrow()
    groups = people_of(first)
    assert len(groups) > 5
    assert safe(groups, points, len(ILL), "single")
    for at, group in enumerate(groups):
        for parts in all_splits(table, group, [sf.SkylinePrivacy(points)]):
            assert not safe([*groups[:at], *parts, *groups[at + 1 :]], points, len(ILL), "single")


def test_several_attributes_and_criteria_are_kept_together() -> None:
    chance = Random(2)
    people = {
        "age": [chance.randint(20, 80) for _ in range(400)],
        "ill": [chance.choice(ILL) for _ in range(400)],
        "pay": [chance.choice(["low", "mid", "high"]) for _ in range(400)],
    }
    table = sf.read(pa.table(people), sf.Schema(quasi=["age"], sensitive=["ill", "pay"]))
    require = [
        sf.KAnonymity(7),
        sf.SkylinePrivacy([(1, 2, 1, 0.9)], sensitive="ill"),
        sf.SkylinePrivacy([(0, 6, 0, 0.8)], sensitive="pay"),
    ]
    release = Mondrian().run(Task(table, tuple(require)))
    assert sf.audit(release, require).holds
    assert len(release.groups) > 3


@settings(max_examples=few(40))
@given(data=st.data())
def test_present_groups_are_forgotten_when_they_are_split(data: st.DataObject) -> None:
    """The minima without a parent, by hand, after any number of replacements."""
    draw = data.draw
    number = st.sampled_from([0.0, 0.5, 1.0, 2.0, float("inf")])
    vector = st.lists(number, min_size=5, max_size=5)
    now = [np.array([draw(vector)]) for _ in range(draw(st.integers(1, 3)))]
    present = Present(np.stack(now))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(now) - 1))
        rest = [*now[:at], *now[at + 1 :]]
        expected = np.min(rest, axis=0) if rest else np.full((1, 5), np.inf)
        assert (present.without(now[at]) == expected).all()
        children = [np.array([draw(vector)]) for _ in range(draw(st.integers(1, 3)))]
        present.replace(now[at], np.stack(children))
        now = [*rest, *children]


def test_the_fifth_minimum_is_kept_for_itself() -> None:
    """Fig. 6 prints A5 = min{A4, ...}: the family's own minimum would be lost, which is unsafe."""
    asked = Questions(np.array([0]), np.array([[0, 0, 1]]), (Fraction(1),), "single", closed=True)
    before = Groups([[1, 9]], ["s", "o"])
    state = begin(asked, before)
    # In the second part everybody but one has s, so a family member of s is nearly sure.
    parts = Groups([[1, 4], [4, 1]], ["s", "o"])
    weighed = weigh(asked, state, before, parts, np.array([0, 2]))
    assert isinstance(state, np.ndarray)
    kept = weighed.take(state, 0)
    assert isinstance(kept, np.ndarray)
    # V(1, 0) of a group of five with four s is 1/5; of the other it is 4/5.
    assert kept[0, 4] == pytest.approx(0.2)


def test_what_other_groups_leave_is_not_forgotten() -> None:
    """A split of harmless groups must not wash out the minimum of a group that is as it was."""
    asked = Questions(np.array([0]), np.array([[0, 1, 1]]), (Fraction(1),), "single", closed=True)
    before = Groups([[3, 2], [10, 90]], ["s", "o"])
    state = begin(asked, before)
    assert isinstance(state, np.ndarray)
    whole = Groups([[10, 90]], ["s", "o"])
    parts = Groups([[5, 45], [5, 45]], ["s", "o"])
    kept = weigh(asked, state, whole, parts, np.array([0, 2])).take(state, 0)
    after = begin(asked, Groups([[3, 2], [5, 45], [5, 45]], ["s", "o"]))
    assert isinstance(kept, np.ndarray)
    assert isinstance(after, np.ndarray)
    assert kept.tolist() == after.tolist()


def test_values_that_are_not_protected_are_named_in_what_is_promised() -> None:
    asked = sf.SkylinePrivacy([(0, 0, 0, 0.5)], value={"flu": []})
    assert asked.required.endswith("; flu not protected")
    many = sf.SkylinePrivacy([(l, 5 - l, 0, 0.5) for l in range(6)])  # noqa: E741
    assert all(f"({l}, {5 - l}, 0)" in many.required for l in range(6))  # noqa: E741
