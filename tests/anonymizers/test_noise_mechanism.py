"""What is promised is what OpenDP's own measurement map says, by either relation of neighbours."""

from __future__ import annotations

import math
from typing import Any

import pytest

from sfumato.adversaries.randomised import opendp
from sfumato.anonymizers.noise import Drawing, calibrated
from tests.anonymizers.noisy import noise, people, read, release


def by_hand(drawing: Drawing) -> tuple[Any, Any]:
    """The same measurement, built here from the scale that was published; its inputs' type."""
    domains, metrics, make = opendp("domains"), opendp("metrics"), opendp("measurements")
    whole = domains.vector_domain(domains.atom_domain(T="i64"))
    real = domains.vector_domain(domains.atom_domain(T="f64", nan=False))
    if drawing.mechanism == "geometric":
        return make.make_geometric(whole, metrics.l1_distance(T="i64"), drawing.scale), int
    if drawing.mechanism == "laplace":
        return make.make_laplace(real, metrics.l1_distance(T="f64"), drawing.scale), float
    return make.make_gaussian(whole, metrics.l2_distance(T="f64"), drawing.scale), float


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("mechanism", ["geometric", "laplace"])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_pure_epsilon_is_the_maps(epsilon: float, mechanism: Any, relation: Any) -> None:
    drawing = calibrated(mechanism, epsilon, 0.0, relation)
    promised = drawing.guarantee(relation, 0.0, public_total=False, unit="row")
    measurement, kind = by_hand(drawing)
    for neighbours, change in (("add-remove", 1), ("replace-one", 2)):
        loss = promised.under(neighbours)  # type: ignore[arg-type]
        assert loss is not None
        assert loss.epsilon == measurement.map(kind(change))
        assert loss.delta == 0
    assert promised.epsilon <= epsilon
    assert promised.epsilon == pytest.approx(epsilon, rel=1e-9)
    replaced, joined = promised.under("replace-one"), promised.under("add-remove")
    assert replaced is not None
    assert joined is not None
    assert replaced.epsilon == pytest.approx(2 * joined.epsilon)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_gaussian_epsilon_is_the_maps_at_its_delta(relation: Any) -> None:
    drawing = calibrated("gaussian", 0.8, 1e-7, relation)
    promised = drawing.guarantee(relation, 1e-7, public_total=False, unit="row")
    measurement, _ = by_hand(drawing)
    combine = opendp("combinators")
    fixed = combine.make_fix_delta(combine.make_zCDP_to_approxDP(measurement), 1e-7)
    for neighbours, change in (("add-remove", 1.0), ("replace-one", math.nextafter(2**0.5, 2))):
        loss = promised.under(neighbours)  # type: ignore[arg-type]
        assert loss is not None
        assert (loss.epsilon, loss.delta) == fixed.map(change)
        assert loss.rho == measurement.map(change)
    assert promised.epsilon <= 0.8
    assert promised.rho == pytest.approx(
        (2 if relation == "replace-one" else 1) / drawing.scale**2 / 2
    )


def test_openDP_agrees_on_how_far_a_person_moves_the_counts() -> None:
    """Its own histogram: symmetric distance 1 is somebody there or not, 2 is a replacement."""
    domains, metrics, change = opendp("domains"), opendp("metrics"), opendp("transformations")
    histogram = change.make_count_by_categories(
        domains.vector_domain(domains.atom_domain(T="i32")),
        metrics.symmetric_distance(),
        categories=[0, 1, 2],
        null_category=False,
        MO="L1Distance<i64>",
        TOA="i64",
    )
    assert [histogram.map(1), histogram.map(2)] == [1, 2]


def test_whatever_the_map_says_is_what_is_told() -> None:
    class Stub:
        def map(self, change: float) -> float:
            return 0.25 * change

    drawing = Drawing("geometric", 3.0, Stub())
    promised = drawing.guarantee("replace-one", 0.0, public_total=False, unit="person")
    assert (promised.epsilon, promised.other.epsilon) == (0.5, 0.25)
    assert promised.scale == 3.0
    assert promised.unit == "person"


def test_a_public_total_promises_nothing_to_who_joins() -> None:
    table = read(people(20))
    assert release(table, noise(total="public")).guarantee.under("add-remove") is None
    assert release(table, noise()).guarantee.under("add-remove").epsilon == 0.5


def test_accuracy_falls_with_epsilon() -> None:
    near = [calibrated("geometric", e, 0.0, "replace-one").accuracy() for e in (0.1, 1.0, 10.0)]
    assert near == sorted(near, reverse=True)
    assert near[1] == pytest.approx(2 * math.log(20))
