"""Every measure against its definition, on tables small enough to go through by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.release.release import Release
from sfumato.utility import utility_named
from sfumato.utility.queries import QueryError
from sfumato.utility.view import view_of
from tests.utility.oracle import Oracle
from tests.utility.releases import RELEASES


def near(number: float) -> object:
    return pytest.approx(number, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    "name",
    [
        "loss",
        "precision",
        "discernibility",
        "average-group-size",
        "non-uniform-entropy",
        "divergence",
    ],
)
@given(release=RELEASES)
def test_a_measure_is_what_its_definition_says(name: str, release: Release) -> None:
    expected = getattr(Oracle(release), name.replace("-", "_"))()
    assert utility_named(name).cost(view_of(release)) == near(expected)


@given(
    release=RELEASES,
    columns=st.integers(1, 4),
    selectivity=st.sampled_from([0.02, 0.2, 1.0]),
    sensitive=st.booleans(),
    seed=st.integers(0, 3),
)
def test_query_error_is_what_its_definition_says(
    release: Release, columns: int, selectivity: float, sensitive: bool, seed: int
) -> None:
    measure = QueryError(8, columns, selectivity, sensitive, sanity=0.3, cap=2.0, seed=seed)
    view = view_of(release)
    queries = list(measure.workload(view.counts).queries)
    expected = Oracle(release).query_error(queries, sanity=0.3, cap=2.0)
    assert measure.cost(view) == near(expected)


@given(release=RELEASES)
def test_the_shortcut_for_disjoint_regions_changes_nothing(release: Release) -> None:
    view = view_of(release)
    assert view.disjoint == release.disjoint
    view.disjoint = False
    measure = utility_named("divergence")
    assert measure.cost(view) == near(measure.cost(view_of(release)))
