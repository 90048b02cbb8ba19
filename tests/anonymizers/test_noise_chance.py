"""Noise is really there, of the right scale, and keeps neighbours within e^epsilon.

OpenDP's randomness cannot be seeded, so these tests are experiments. Each compares frequencies with
a margin from Hoeffding's or Dvoretzky, Kiefer and Wolfowitz's inequality, which hold for any sample
size: the chance that a right implementation fails one of them is below 1e-7.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.noise import CellGrid, Drawing, Noise, calibrated, count_cells, fit
from tests.anonymizers.noisy import release

ALARM = 1e-7
Floats = npt.NDArray[np.float64]
REACH, SAMPLES = 400, 20_000


def masses(drawing: Drawing) -> Floats:
    """The probability of each whole number from -REACH to REACH, by the definition."""
    at, scale = np.arange(-REACH, REACH + 1), drawing.scale
    if drawing.mechanism == "gaussian":
        weights = np.exp(-(at**2) / (2 * scale**2))
        return weights / weights.sum()
    if drawing.mechanism == "geometric":
        ratio = math.exp(-1 / scale)
        return (1 - ratio) / (1 + ratio) * ratio ** np.abs(at)
    edges = np.arange(-REACH, REACH + 2) - 0.5  # Laplace noise, rounded
    below = np.where(edges < 0, 0.5 * np.exp(edges / scale), 1 - 0.5 * np.exp(-edges / scale))
    return np.diff(below)


def farthest(noise: npt.NDArray[np.int64], expected: Floats) -> float:
    """The largest difference of the two distribution functions."""
    found = np.bincount(np.clip(noise, -REACH, REACH) + REACH, minlength=2 * REACH + 1)
    return float(np.abs(np.cumsum(found / len(noise)) - np.cumsum(expected)).max())


def margin(samples: int, tries: int = 1) -> float:
    """A share of so many samples is further off than this with a chance below ALARM."""
    return math.sqrt(math.log(2 * tries / ALARM) / (2 * samples))


KINDS = [("geometric", 0.0), ("laplace", 0.0), ("gaussian", 1e-6)]
each = pytest.mark.parametrize(("mechanism", "delta"), KINDS)


@each
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_noise_has_the_distribution_of_its_scale(mechanism: Any, delta, relation: Any) -> None:
    drawing = calibrated(mechanism, 1.0, delta, relation)
    noise = drawing.draw(np.zeros(SAMPLES, dtype=np.int64))
    assert farthest(noise, masses(drawing)) < margin(SAMPLES)


@each
def test_the_experiment_would_see_half_the_noise(mechanism: Any, delta: float) -> None:
    right, weak = (calibrated(mechanism, epsilon, delta, "replace-one") for epsilon in (1.0, 2.0))
    noise = weak.draw(np.zeros(SAMPLES, dtype=np.int64))
    assert farthest(noise, masses(right)) > margin(SAMPLES)


@pytest.mark.parametrize(
    ("mechanism", "relation", "scale"),
    [
        ("geometric", "replace-one", 2.0),
        ("geometric", "add-remove", 1.0),
        ("laplace", "replace-one", 2.0),
        ("laplace", "add-remove", 1.0),
    ],
)
def test_the_scale_is_what_the_textbook_says(mechanism: Any, relation: Any, scale: float) -> None:
    for epsilon in (0.1, 1.0, 3.0):
        found = calibrated(mechanism, epsilon, 0.0, relation).scale
        assert found == pytest.approx(scale / epsilon, rel=1e-12)


def test_the_published_counts_themselves_are_noisy_to_that_extent() -> None:
    """Cells of a thousand people each: nothing is cut off, so published minus true is the noise."""
    ages, values = range(60), range(50)
    rows = [(age, value) for age in ages for value in values]
    source = pa.table(
        {
            "age": [age for age, _ in rows],
            "s": [value for _, value in rows],
            "n": [1000 + age for age, _ in rows],
        }
    )
    schema = sf.Schema(
        "age", "s", count="n", domains={"age": list(ages), "s": list(values)}, nulls="error"
    )
    made = release(sf.read(source, schema), Noise(1.0))
    published = made.to_pandas()
    noise = (published["count"] - 1000 - published["age"]).to_numpy()
    expected = masses(calibrated("geometric", 1.0, 0.0, "replace-one"))
    assert farthest(noise, expected) < margin(len(noise))
    assert farthest(noise, masses(calibrated("geometric", 3.0, 0.0, "replace-one"))) > margin(
        len(noise)
    )
    assert made.guarantee.unit == "person"


# -- two neighbours -------------------------------------------------------------------------------

RUNS = 15_000
SCHEMA = sf.Schema(
    "q", "s", domains={"q": ["x"], "s": ["a", "b"]}, nulls="error", hierarchies={}, keep=[]
)
# Events about (count of a, count of b) as published.
EVENTS = [
    *((lambda n, t=t: n[:, 0] >= t) for t in range(1, 6)),
    *((lambda n, t=t: n[:, 0] == t) for t in range(4)),
    *((lambda n, t=t: n[:, 1] <= t) for t in range(3)),
    *((lambda n, t=t: (n[:, 0] >= t) & (n[:, 1] <= 0)) for t in (1, 2)),
    lambda n: n[:, 0] > n[:, 1],
    lambda n: n.sum(axis=1) == 0,
]


def outcomes(values: list[str], anonymizer: Noise) -> npt.NDArray[np.int64]:
    """What would be published of this tiny table, many times over.

    Noise is drawn for each count apart, so all runs are drawn at once.
    """
    table = sf.read(pa.table({"q": ["x"] * len(values), "s": values}), SCHEMA)
    plan = anonymizer._plan(Task(table, ()))
    raw = count_cells(table, CellGrid.of(table.schema, {}))
    noisy = plan.drawing.draw(np.tile(raw, RUNS)).reshape(RUNS, -1)
    return np.array([fit(one, plan.total) for one in noisy])


def excess(one: npt.NDArray[Any], other: npt.NDArray[Any], epsilon: float) -> float:
    """By how much some event is more frequent than e^epsilon allows, beyond chance; <= 0 is fine.

    p <= e^eps p', and both frequencies are within the margin of p and p'.
    """
    off = margin(RUNS, 4 * len(EVENTS))  # all events, both ways, both frequencies
    return max(
        float(event(a).mean()) - off - math.exp(epsilon) * (float(event(b).mean()) + off)
        for event in EVENTS
        for a, b in ((one, other), (other, one))
    )


@pytest.mark.parametrize("total", ["noisy", "public"])
def test_frequencies_of_neighbours_stay_within_e_to_the_epsilon(total: Any) -> None:
    one, other = (outcomes(values, Noise(0.7, total=total)) for values in (["a"], ["b"]))
    assert excess(one, other, 0.7) <= 0


def test_people_who_join_stay_within_half_the_epsilon() -> None:
    there, gone = (outcomes(values, Noise(0.7)) for values in (["a", "b"], ["b"]))
    assert excess(there, gone, 0.35) <= 0


def test_the_experiment_would_see_a_false_epsilon() -> None:
    one, other = (outcomes(values, Noise(2.5)) for values in (["a"], ["b"]))
    assert excess(one, other, 0.7) > 0


def test_margins_fall_as_samples_grow() -> None:
    sizes = [margin(10**power) for power in range(2, 7)]
    assert all(later < earlier / 3 for earlier, later in pairwise(sizes))
