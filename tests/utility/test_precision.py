"""Precision counts steps of the hierarchy, and says so when there are none to count."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sfumato.release.build import build_release
from sfumato.release.description import Regions
from sfumato.release.release import Release, as_it_stands
from sfumato.schema.region import Region, Span, ValueSet
from sfumato.utility.precision import Precision
from sfumato.utility.view import view_of
from tests.utility.releases import random_rows, release_at, small_rows, table_of, unchanged


def cost(release: Release) -> float:
    return Precision().cost(view_of(release))


def with_age(release: Release, region: Region) -> Release:
    """The release with every age published as this region."""
    assert isinstance(release.regions, Regions)
    assert release.placement is not None
    _, *others = release.regions.parts
    codes = release.regions.codes.copy()
    codes[0] = 0
    regions = Regions(release.regions.columns, ((region,), *others), codes)
    return build_release(release.placement, regions, release.made.findings)


def test_each_step_costs_its_share_of_the_height() -> None:
    table = table_of(((21, "a", "low", "flu"), (24, "a", "low", "flu")))
    # Heights of age, city, grade: 4, 2 and 1 steps.
    assert cost(release_at(table, (1, 0, 0))) == pytest.approx(1 / 4 / 3)
    assert cost(release_at(table, (3, 1, 0))) == pytest.approx((3 / 4 + 1 / 2) / 3)
    assert cost(release_at(table, (4, 2, 1))) == 1


def test_a_label_on_several_levels_counts_as_the_lowest() -> None:
    table = table_of(((70, None, "low", "flu"),))  # `>=50` and NULL stay as they are on the way up
    assert cost(release_at(table, (3, 1, 0))) == pytest.approx((1 / 4 + 0) / 3)


def test_a_region_that_is_no_label_has_no_precision() -> None:
    table = table_of(small_rows(7))
    release = unchanged(table)
    assert math.isnan(cost(with_age(release, Span(20, 71))))
    assert math.isnan(cost(with_age(release, ValueSet(frozenset({21, 23})))))


def test_a_label_nobody_shows_does_not_matter() -> None:
    release = unchanged(table_of(random_rows(20)))
    assert isinstance(release.regions, Regions)
    ages, *others = release.regions.parts
    more = Regions(release.regions.columns, ((*ages, Span(1, 2)), *others), release.regions.codes)
    assert cost(replace(release, regions=more)) == 0


def test_values_published_as_they_are_cost_nothing() -> None:
    table = table_of(random_rows(30))
    release = unchanged(table)
    assert release.placement is not None
    group, first = table.counts.group_of
    described = as_it_stands(table).regions  # regions made when asked for, one per value
    assert len(described) == len(first)
    placement = replace(release.placement, groups=group.astype(np.int64))
    same = build_release(placement, described, release.made.findings)
    assert cost(same) == 0


def test_one_measure_serves_tables_in_turn() -> None:
    measure = Precision()
    one, other = table_of(random_rows(30)), table_of(small_rows(11))
    for table in (one, other, one):
        view = view_of(release_at(table, (2, 1, 0)))
        assert measure.cost(view) == Precision().cost(view)
