"""Centroids beside regions and lists: an attack on any mix is its definition, person by person."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.locating.locate import locate
from sfumato.adversaries.locating.targets import read_targets
from tests.adversaries.composition.random_releases import (
    COLUMNS,
    EVERYBODY,
    SCALE,
    bucketized,
    generalized,
    microaggregated,
)
from tests.adversaries.releases import release
from tests.examples import few
from tests.oracles.composition_oracle import by_pairs, learn

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "composition.json").read_text())


@given(
    first=microaggregated(),
    second=st.one_of(microaggregated(), generalized(), bucketized()),
    third=st.one_of(st.none(), generalized()),
)
@settings(max_examples=few(60))
def test_any_mix_is_attacked_as_defined(
    first: sf.Release, second: sf.Release, third: sf.Release | None
) -> None:
    releases = [one for one in (first, second, third) if one is not None]
    shown = [
        {label for g in range(len(one.groups)) for label in one.groups.counts_of(g)}
        for one in releases
    ]
    if any(not (mine & theirs) for mine in shown for theirs in shown):
        return  # refused, and tested elsewhere
    found = sf.intersection_attack(releases, EVERYBODY, scale=SCALE).targets.to_pylist()
    for person, row in zip(EVERYBODY, found, strict=True):
        expected = learn(releases, person, scale=SCALE)
        assert tuple(row["before"]) == expected.before
        assert tuple(sorted(row["values"])) == expected.values
        posterior = dict(zip(row["values"], row["posterior"], strict=True))
        assert posterior == pytest.approx({k: float(p) for k, p in expected.posterior.items()})
        if None not in expected.before:
            pairs = by_pairs(releases, person, SCALE)
            assert posterior == pytest.approx({k: float(p) for k, p in pairs.items()})


@pytest.mark.parametrize(("name", "x"), [("centroid_34", 34), ("centroid_35_tie", 35)])
def test_the_nearest_centroids_of_the_golden_cases(name: str, x: int) -> None:
    points = release(
        COLUMNS,
        [
            ((30.0, 2.0), {"a": 2, "b": 1}),
            ((40.0, 2.0), {"b": 2, "c": 1}),
            ((60.0, 5.0), {"d": 3}),
        ],
        scheme="microaggregated",
    )
    found = locate(points, read_targets([{"x": x, "y": 2}], COLUMNS), {"x": 10.0, "y": 1.0})
    assert found.groups.tolist() == GOLDEN[name]["located"]
