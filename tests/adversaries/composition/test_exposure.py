"""Exposure to all releases together, against every choice of earlier releases tried in turn."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.composition import combinations as tried
from sfumato.adversaries.composition.combinations import examples
from sfumato.adversaries.composition.exposure import (
    ExposureRule,
    Watched,
    expose,
    exposed_by_regions,
)
from sfumato.adversaries.locating.targets import read_targets
from sfumato.anonymizers.base import Task
from sfumato.errors import InputError, ResourceError
from sfumato.release.beside import Inside
from sfumato.release.build import with_inside
from sfumato.release.description import Buckets, Regions
from sfumato.release.groups import Groups
from sfumato.schema.region import Anything, Mask, Region, Span, ValueSet
from tests.adversaries.releases import EVERYBODY, buckets, generalized, numbers, release, words
from tests.oracles.composition_oracle import groups_of
from tests.oracles.exposure_oracle import VALUES, fewest_left, table_of


@given(
    earlier=st.lists(generalized(), max_size=4),
    mine=st.lists(st.sets(st.sampled_from(VALUES), min_size=1), min_size=1, max_size=3),
)
def test_the_fewest_values_over_all_choices(
    earlier: list[sf.Release], mine: list[set[str]]
) -> None:
    groups = Groups([[label in one for label in VALUES] for one in mine], VALUES, attribute="s")
    people = read_targets(EVERYBODY, ("x", "w"))
    exposure = expose(groups, earlier, people)
    total, many = len(mine), people.cases
    left = exposure.fewest(
        groups.indptr,
        groups.indices,
        np.arange(total + 1) * many,
        np.tile(np.arange(many), total),
    ).reshape(total, many)
    alone = exposure.alone
    for person, case in zip(EVERYBODY, people.case, strict=True):
        for g, one in enumerate(mine):
            assert left[g, case] == fewest_left(one, earlier, person)
        assert alone[case] == fewest_left(set(exposure.labels), earlier, person)


def test_many_earlier_releases() -> None:
    """More than a machine word has bits."""
    groups = Groups([[1, 1, 1, 1]], VALUES, attribute="s")
    wide = release(["x"], [((1,), dict.fromkeys("stuv", 1))])
    narrow = release(["x"], [((1,), {"s": 1, "t": 1})])
    other = release(["x"], [((1,), {"t": 1, "u": 1})])
    people = read_targets([{"x": 1}], ("x",))
    for place in (3, 63, 64, 99):
        earlier = [wide] * 100
        earlier[place] = narrow
        exposure = expose(groups, earlier, people)
        assert exposure.alone.tolist() == [2]
        exposure = expose(groups, [*earlier, other], people)
        assert exposure.alone.tolist() == [1]


def test_an_earlier_release_about_something_else_tells_nothing() -> None:
    groups = Groups([[1, 1]], ("s", "t"), attribute="s")
    other = release(["x"], [((1,), {"s": 1})], sensitive="z")
    assert expose(groups, [other], read_targets([{"x": 1}], ("x",))).alone.tolist() == [2]


def test_a_spelling_that_differs_is_refused() -> None:
    groups = Groups([[1, 1]], ("flu", "TB"), attribute="s")
    other = release(["x"], [((1,), {"Flu": 1, "TB": 1})], label="old")
    with pytest.raises(InputError, match="'s' is spelt differently in the new release and old"):
        expose(groups, [other], read_targets([{"x": 1}], ("x",)))


def test_a_column_that_only_an_earlier_release_has_must_be_known() -> None:
    groups = Groups([[1, 1]], ("s", "t"), attribute="s")
    other = release(["x", "y"], [((1, 1), {"s": 1})])
    with pytest.raises(InputError, match="quasi-identifiers of the releases are not there: 'y'"):
        expose(groups, [other], read_targets([{"x": 1}], ("x",)))


# -- people inside groups ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_people_are_counted_tuple_by_tuple(seed: int) -> None:
    table = table_of(seed)
    earlier = [sf.Mondrian().run(Task(table_of(seed + 1 + j), (sf.KAnonymity(3),))) for j in (0, 1)]
    made = sf.Mondrian().run(Task(table, (sf.KAnonymity(4),)))
    groups = with_inside(made, made.groups)
    for most in (1, 2):
        found = Watched.of(table.counts, groups, earlier).exposed(groups, ExposureRule(most))
        expected = np.zeros(len(groups), dtype=int)
        assert made.placement is not None
        for t, g, n in zip(
            made.placement.tuples, made.placement.groups, made.placement.n, strict=True
        ):
            person = {
                domain.name: domain.values[code]
                for domain, code in zip(table.counts.quasi, table.counts.codes[:, t], strict=True)
            }
            left = fewest_left(set(made.groups.counts_of(g)), earlier, person)
            expected[g] += n * (left <= most)
        assert found.tolist() == expected.tolist()
        assert 0 < found.sum() < table.people


def test_inside_is_who_is_inside() -> None:
    made = buckets(["x"], [([(1,), (2,), (1,)], {"a": 2, "b": 1}), ([(3,)], {"c": 1})])
    inside = made.inside()
    assert inside is not None
    assert (inside.indptr.tolist(), inside.n.tolist()) == ([0, 2, 3], [2, 1, 1])
    first = inside.take(np.array([1, 0]))
    assert (first.tuples.tolist(), first.n.tolist()) == ([2, 0, 1], [1, 2, 1])
    assert inside.together(np.array([0, 2])).indptr.tolist() == [0, 3]
    assert release(["x"], [((1,), {"a": 1})]).inside() is None


def test_groups_carry_who_is_inside_them() -> None:
    made = sf.Mondrian().run(Task(table_of(0), (sf.KAnonymity(10),)))
    groups = with_inside(made, made.groups)
    some = groups.take(np.array([2, 0]))
    assert isinstance(some.inside, Inside)
    assert np.add.reduceat(some.inside.n, some.inside.indptr[:-1]).tolist() == some.sizes.tolist()


# -- nobody known --------------------------------------------------------------------------------


@given(
    new=generalized(most=4),
    earlier=st.lists(generalized(most=3), min_size=1, max_size=2),
    most=st.integers(1, 2),
)
def test_every_combination_is_tried(new: sf.Release, earlier: list[sf.Release], most: int) -> None:
    if any(isinstance(part, Span) for one in (new, *earlier) for part in one.regions.parts[1]):
        return
    found = exposed_by_regions(new.groups, earlier, ExposureRule(most))
    halves = [{"x": x / 4, "w": w} for x in range(-8, 60) for w in (*WORDS, "zz", "b!", "!a", "!!")]
    everybody = [*halves, *({**person, "x": None} for person in halves[:12]), *EVERYBODY]
    for g in range(len(new.groups)):
        here = [person for person in everybody if g in groups_of(new, person, {})]
        hits = [
            fewest_left(set(new.groups.counts_of(g)), earlier, person) <= most for person in here
        ]
        size = int(new.groups.sizes[g])
        if any(hits):
            assert found.possible[g] == size
        if hits and not all(hits):
            assert found.sure[g] < size
        assert found.sure[g] <= found.possible[g] <= size
        if found.possible[g] == 0:
            assert not any(hits)


WORDS = ("aa", "ab", "ba", "bb", "c")


@given(parts=st.one_of(st.lists(numbers, min_size=1), st.lists(words, min_size=1)))
def test_examples_lie_wherever_a_value_may_lie(parts: list[Region]) -> None:
    domain = examples("x", parts)
    inside = {tuple(part.contains(value) for part in parts) for value in domain.values}
    values = [None, *(x / 4 for x in range(-8, 60)), *WORDS, "zz", "b!", "!a", "!!", "!!!"]
    words = any(isinstance(value, str) for value in domain.values)
    for value in values:
        fits = tuple(part.contains(value) for part in parts)
        if any(fits) and (value is None or isinstance(value, str) == words):
            assert fits in inside


def test_examples_of_dates_and_of_masks_that_meet() -> None:
    day = dt.date(2020, 1, 10)
    domain = examples("d", [Span(day, dt.date(2020, 2, 1)), Span(high=day, high_closed=True)])
    assert domain.kind == "date"
    assert day in domain.values
    assert [Span(low=day).contains(value) for value in domain.values] == [False, *[True] * 4]
    assert [Span(high=day).contains(value) for value in domain.values] == [True, *[False] * 4]
    one, other = Mask("1*"), Mask("*2")
    domain = examples("z", [one, other])
    assert any(one.contains(value) and other.contains(value) for value in domain.values)
    with pytest.raises(InputError, match="column 'z' is masked in one release and a range in"):
        examples("z", [Mask("1*"), Span(1, 2)])


def test_too_many_combinations_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tried, "MOST", 3)
    new = release(["x"], [(("*",), {"a": 1, "b": 1})])
    old = release(["x"], [((1,), {"a": 1}), ((2,), {"b": 1}), ((3,), {"b": 1})])
    with pytest.raises(ResourceError, match="at most 3 are tried; give the people"):
        exposed_by_regions(new.groups, [old], ExposureRule(1))
    near = release(["x"], [((1.0,), {"a": 1})], scheme="microaggregated", label="points")
    with pytest.raises(InputError, match="points publishes centroids"):
        exposed_by_regions(new.groups, [near], ExposureRule(1))


def test_columns_and_lists_of_earlier_releases_are_gone_through() -> None:
    new = release(["x"], [(((1, 5),), {"a": 1, "b": 1}), (((6, 9),), {"a": 1, "b": 1})])
    listed = buckets(["x", "sex"], [([(3, "F"), (8, "M")], {"a": 1, "c": 1})])
    found = exposed_by_regions(new.groups, [listed], ExposureRule(1))
    assert found.possible.tolist() == [2, 2]  # 3 F and 8 M
    assert found.sure.tolist() == [0, 0]
    assert isinstance(listed.regions, Buckets)
    assert isinstance(new.regions, Regions)


def test_without_regions_only_what_a_group_tells_itself_is_sure() -> None:
    groups = Groups([[3, 0], [1, 1]], ("a", "b"), attribute="s")
    found = exposed_by_regions(groups, [], ExposureRule(1))
    assert (found.sure.tolist(), found.possible.tolist()) == ([3, 0], [3, 2])
    assert not found.exact
    wide = release(["x"], [(("*",), {"a": 3})])
    assert exposed_by_regions(wide.groups, [], ExposureRule(1)).exact
    assert isinstance(wide.regions.parts[0][0], Anything | ValueSet)
