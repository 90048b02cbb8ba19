"""What every registered utility measure promises. A newcomer is held to it by being registered."""

from __future__ import annotations

import dataclasses
import inspect
import math

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InputError, PolicyError
from sfumato.release.description import of_scheme
from sfumato.release.release import as_it_stands
from sfumato.schema.region import cover
from sfumato.table import Table
from sfumato.utility import UTILITIES, utility_named
from sfumato.utility.base import Utility
from sfumato.utility.view import PeopleByGroup, View, view_of
from tests.examples import few
from tests.utility.releases import (
    HEIGHTS,
    LEVELS,
    TABLES,
    bucketized,
    nothing,
    random_rows,
    release_at,
    small_rows,
    table_of,
    unchanged,
)

MEASURES = [pytest.param(measure, id=name) for name, measure in UTILITIES.items()]
TABLE = table_of((*random_rows(80), (None, None, "low", "flu")))
each = pytest.mark.parametrize("measure", MEASURES)


@each
def test_it_is_named_and_told_in_words(measure: type[Utility]) -> None:
    assert UTILITIES[measure.name] is measure
    assert len(measure.about) > 15
    assert measure.__doc__
    assert (inspect.getmodule(measure).__doc__ or "").count("20") >= 1  # the paper's year


@each
def test_it_is_a_frozen_dataclass_whose_parameters_have_defaults(measure: type[Utility]) -> None:
    assert measure() == utility_named(measure.name) == measure()
    parameters = [field for field in dataclasses.fields(measure) if field.init]
    assert ("seed" in {field.name for field in parameters}) == measure.seeded
    for field in parameters:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(measure(), field.name, field.default)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(PolicyError, match="utility = 'los' is not known; did you mean 'loss'"):
        utility_named("los")


@each
def test_an_unchanged_table_costs_least(measure: type[Utility]) -> None:
    least = measure().cost(view_of(unchanged(TABLE)))
    assert least > 0 if measure.sizes_only else least == 0
    for levels in [(1, 0, 0), (0, 1, 0), (0, 0, 1), (3, 1, 1), (4, 2, 1)]:
        cost = measure().cost(view_of(release_at(TABLE, levels)))
        assert math.isfinite(cost)
        assert cost >= least
    buckets = bucketized(TABLE, [place // 3 for place in range(len(TABLE.counts))])
    assert measure().cost(view_of(buckets)) >= least


@each
def test_no_release_at_all_costs_something_finite(measure: type[Utility]) -> None:
    none = measure().cost(view_of(nothing(TABLE)))
    assert math.isfinite(none)
    assert none > measure().cost(view_of(unchanged(TABLE)))
    buckets = bucketized(TABLE, [-1] * len(TABLE.counts))
    assert measure().cost(view_of(buckets)) == pytest.approx(none)


@each
@settings(max_examples=few(25))
@given(table=TABLES, levels=LEVELS, gone=st.lists(st.integers(0, 40), max_size=3))
def test_it_is_never_negative_and_the_same_every_time(
    measure: type[Utility], table: Table, levels: tuple[int, ...], gone: list[int]
) -> None:
    release = release_at(table, levels, gone)
    one = measure()
    cost = one.cost(view_of(release))
    # A model cannot be tried without somebody to learn from and somebody to try it on.
    if math.isnan(cost):
        assert table.counts.n.sum() == 1
        return
    assert cost >= 0
    assert one.cost(view_of(release)) == measure().cost(view_of(release)) == cost


# What is asked of releases by chance may fall.
@pytest.mark.parametrize("measure", [m for m in MEASURES if not UTILITIES[m.id].seeded])
@given(table=TABLES, finer=LEVELS, steps=LEVELS)
def test_the_cost_never_falls_on_the_way_up(
    measure: type[Utility], table: Table, finer: tuple[int, ...], steps: tuple[int, ...]
) -> None:
    coarser = [
        min(level + step, height - 1)
        for level, step, height in zip(finer, steps, HEIGHTS, strict=True)
    ]
    low, high = (measure().cost(view_of(release_at(table, levels))) for levels in (finer, coarser))
    assert low <= high + 1e-9


@each
def test_a_search_may_share_what_it_knows(measure: type[Utility]) -> None:
    """A View made by a search, with coverages of its own, gives the same number."""
    release = release_at(TABLE, (2, 1, 0), [0, 3])
    own = view_of(release)
    covers = [
        cover(domain, parts)
        for domain, parts in zip(TABLE.counts.quasi, own.regions.parts, strict=True)
    ]
    shared = View(
        own.counts,
        own.levels,
        own.regions,
        own.sizes,
        lambda: PeopleByGroup(own.pieces.tuples, own.pieces.groups, own.pieces.n),
        lambda column: covers[column],
        disjoint=True,
    )
    one = measure()
    other = view_of(release_at(table_of(small_rows(5)), (1, 0, 0)))
    assert one.cost(shared) == pytest.approx(measure().cost(own))
    one.cost(other)  # another table in between
    assert one.cost(shared) == pytest.approx(measure().cost(own))


@each
def test_regions_that_are_not_around_their_people_are_not_measured(
    measure: type[Utility],
) -> None:
    release = release_at(TABLE, (1, 0, 0))
    regions = of_scheme(release.regions, "microaggregated")
    centroids = dataclasses.replace(release, regions=regions)
    cost = measure().cost(view_of(centroids))
    assert math.isfinite(cost) if measure.sizes_only else math.isnan(cost)


@each
def test_several_rows_of_a_person_and_no_sensitive_column(measure: type[Utility]) -> None:
    rows = pa.table({"who": [1, 1, 2, 3, 4], "age": [30, 30, 30, 40, 40], "ill": list("abacb")})
    sets = sf.read(rows, sf.Schema(quasi=["age"], sensitive="ill", person="who"))
    assert measure().cost(view_of(unchanged(sets))) <= measure().cost(
        view_of(release_at(sets, (1,)))
    )
    plain = sf.read(rows, sf.Schema(quasi=["age"]))
    cost = measure().cost(view_of(release_at(plain, (1,))))
    predicts = "target" in {field.name for field in dataclasses.fields(measure)}
    assert math.isnan(cost) if predicts else cost > 0  # there is nothing to predict


def test_a_release_without_its_table_cannot_be_measured() -> None:
    with pytest.raises(InputError, match="needs the original table"):
        view_of(as_it_stands(TABLE))
