"""Noisy counts read as noisy: by enumeration of true tables, and against reading them as exact."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.adversaries.composition.noise_reading import KnownNoise
from sfumato.anonymizers.noise import fit
from sfumato.errors import InputError
from sfumato.release.made import ReadFrom
from tests.adversaries.releases import release

MOST = 40  # true counts that are tried; noise of scale 1 reaches no further


@cache
def pmf(mechanism: str, scale: float, k: int) -> float:
    """The noise of one count, from its definition."""
    if mechanism == "geometric":
        return (math.e ** (1 / scale) - 1) / (math.e ** (1 / scale) + 1) * math.exp(-abs(k) / scale)
    if mechanism == "gaussian":
        total = sum(math.exp(-(j**2) / (2 * scale**2)) for j in range(-200, 201))
        return math.exp(-(k**2) / (2 * scale**2)) / total

    def below(x: float) -> float:
        return math.exp(x / scale) / 2 if x < 0 else 1 - math.exp(-x / scale) / 2

    return below(k + 0.5) - below(k - 0.5)


def likelihood(mechanism: str, scale: float, published: int, true: int, lowered: int) -> float:
    if published:
        return pmf(mechanism, scale, published + lowered - true)
    return sum(pmf(mechanism, scale, y - true) for y in range(lowered - 90, lowered + 1))


def beliefs(mechanism: str, scale: float, cells: list[list[int]], lowered: int) -> list[float]:
    """Every true table of the cells she may be in, each record of which may be his."""
    mass = [0.0] * len(cells[0])
    for row in cells:  # cells are independent: each by itself, every table of it
        weights = [[likelihood(mechanism, scale, c, n, lowered) for n in range(MOST)] for c in row]
        total = math.prod(map(sum, weights))
        for table in product(range(MOST), repeat=len(row)):
            weight = math.prod(w[n] for w, n in zip(weights, table, strict=True)) / total
            for s, n in enumerate(table):
                mass[s] += weight * n
    return mass


def noisy(cells: list[tuple[int, dict[str, int]]], mechanism: str, scale: float) -> sf.Release:
    made = release(
        ["x"], [((x,), counts) for x, counts in cells], values=("a", "b"), scheme="randomised"
    )
    promised = sf.Guarantee(1.0, 0.0, mechanism, scale=scale)
    return replace(made, made=ReadFrom(guarantee=promised))


@pytest.mark.parametrize("mechanism", ["geometric", "laplace", "gaussian"])
def test_beliefs_are_those_of_all_true_tables(mechanism: str) -> None:
    counts = [[3, 0], [1, 2]]
    shown = [
        (x, {k: n for k, n in zip("ab", row, strict=True) if n}) for x, row in enumerate(counts)
    ]
    first = noisy(shown, mechanism, 1.0)
    second = release(["x"], [(((0, 1),), {"a": 1, "b": 3})])
    lowered = KnownNoise(mechanism, 1.0).lowered(np.array(counts))
    attack = sf.intersection_attack(
        [first, second], [{"x": 0}, {"x": 1}, {}], noisy_counts="expected"
    )
    for row, cells in zip(
        attack.targets.to_pylist(), ([counts[0]], [counts[1]], counts), strict=True
    ):
        mass = beliefs(mechanism, 1.0, cells, lowered)
        joint = [mass[0] * 1, mass[1] * 3]
        assert row["values"] == ["a", "b"]  # noise rules nothing out
        assert row["posterior"] == pytest.approx([one / sum(joint) for one in joint], abs=1e-6)
    everybody = sum(sum(beliefs(mechanism, 1.0, [row], lowered)) for row in counts)
    alone = sf.intersection_attack([first, second], [{}, {"x": 0}], noisy_counts="expected")
    here = sum(beliefs(mechanism, 1.0, counts[:1], lowered))
    assert alone.summary.group_size[0] == pytest.approx((everybody + here) / 2, abs=1e-6)
    exact = sf.intersection_attack([first, second], [{"x": 0}])
    assert exact.summary.exposed == 1  # read as exact, b is ruled out for nothing


def test_a_cell_that_shows_nobody_is_a_cell() -> None:
    """Nobody is unlocatable where noise left a cell empty; it tells nothing but that."""
    first = noisy([(0, {"a": 3}), (1, {"b": 2})], "geometric", 1.0)
    grid = sf.Release(first.schema, first.counted_groups, first.regions, made=first.made)
    assert (
        sf.intersection_attack(
            [grid, grid], [{"x": 7}], noisy_counts="expected"
        ).summary.not_locatable
        == 1
    )
    two = release(
        ["x", "y"], [((0, 0), {"a": 3}), ((1, 1), {"b": 2})], values=("a", "b"), scheme="randomised"
    )
    two = replace(two, made=first.made)
    (row,) = sf.intersection_attack(
        [two, two], [{"x": 0, "y": 1}], noisy_counts="expected"
    ).targets.to_pylist()
    assert (row["status"], row["posterior"]) == ("located", pytest.approx([0.5, 0.5]))


@pytest.mark.parametrize("scale", [0.7, 2.0, 6.0])
def test_how_much_counts_were_lowered_is_told_from_the_table(scale: float) -> None:
    rng = np.random.default_rng(3)
    ratio = math.exp(-1 / scale)
    noise = rng.geometric(1 - ratio, 3_000) - rng.geometric(1 - ratio, 3_000)
    true = np.where(np.arange(3_000) % 5 == 0, rng.integers(5, 80, 3_000), 0)
    drawn = true + noise
    published = fit(drawn)
    kept = published > 0
    lowered = float(np.median((drawn - published)[kept]))
    assert abs(KnownNoise("geometric", scale).lowered(published) - lowered) <= 1
    expected = KnownNoise("geometric", scale).expected(published, int(lowered))
    large = true > 20
    # Counts are lowered alike but for one, so that they add up.
    assert abs((expected - true)[large].mean()) <= 1
    assert (published - true)[large].mean() == pytest.approx(-lowered, abs=1)


def test_noise_that_is_not_told_is_refused() -> None:
    first = noisy([(0, {"a": 3}), (1, {"b": 2})], "exponential", 1.0)
    with pytest.raises(InputError, match="does not tell its noise"):
        sf.intersection_attack([first, first], [{"x": 0}], noisy_counts="expected")
    with pytest.raises(InputError, match="noisy_counts = 'true' is not known"):
        sf.intersection_attack([first, first], [{"x": 0}], noisy_counts="true")  # type: ignore[arg-type]


def test_belief_is_counted_where_values_are_not() -> None:
    """A release of ours, made and attacked: nobody is sure, and guesses are as sure as they say."""
    rng = np.random.default_rng(1)
    rows = pa.table({"x": rng.integers(0, 3, 300), "s": rng.choice(["a", "b"], 300, p=[0.9, 0.1])})
    schema = sf.Schema(["x"], "s", domains={"x": [0, 1, 2], "s": ["a", "b"]}, nulls="error")
    made = sf.anonymize(
        sf.read(rows, schema), sf.Policy([sf.DifferentialPrivacy(1.0)], anonymizer=sf.Noise(1.0))
    )
    attack = sf.intersection_attack([made, made], rows, truth="s", noisy_counts="expected")
    assert attack.summary.exposed == 0
    shares = {point.confidence: point.share for point in attack.summary.beliefs}
    assert shares[1.0] == 0
    assert shares[0.5] == 1
    assert "read so: no value is ruled out" in " ".join(attack.notes)
