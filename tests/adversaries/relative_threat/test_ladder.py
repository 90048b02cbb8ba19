"""Rungs swept four at a time deal as often as a dealing is likely, to the power of each rung."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest

from sfumato.adversaries.relative_threat.bucketized import BucketModel, buckets_of
from sfumato.adversaries.relative_threat.columns import domains_of
from sfumato.adversaries.relative_threat.ladder_kernel import LANES, PowerTrace, lane_steps
from sfumato.adversaries.relative_threat.model import DirichletWeights
from sfumato.adversaries.relative_threat.tempering import TemperedChains
from sfumato.schema.domain import Domain
from tests.adversaries.relative_threat.tiny_releases import bucketized

SWEEPS = 3_000


def model(buckets: list, columns: int, size: int, weight: float) -> BucketModel:
    release = bucketized(buckets, [size] * columns, 3)
    domains, _ = domains_of(release, None)
    values = Domain("s", "categorical", release.groups.values)
    prior = DirichletWeights(weight)
    assert release.regions.buckets is not None
    return buckets_of(values, release.groups, release.regions.buckets, domains, prior)


# Weights of usual size, and some whose product over twelve columns is 1e-144: floats hold it, but
# not what is beside it.
CASES = {
    "usual": (
        [((0, 1), ((0, 0), (1, 1)))] * 3 + [((0, 1, 2), ((0, 0), (1, 1), (2, 2)))],
        2,
        3,
        1.0,
        0.6,
    ),
    "tiny": (
        [((s,), ((s,) * 12,)) for s in range(3)]
        + [((0, 1, 2), ((3,) * 6 + (4,) * 6, (0,) * 6 + (1,) * 6, (2,) * 6 + (0,) * 6))],
        12,
        5,
        1e-12,
        1.0,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_replicas_in_lanes_are_where_the_power_of_their_rung_says(case: str) -> None:
    *given, highest = CASES[case]
    buckets = model(*given)
    powers = highest - np.arange(5) / 10  # four in lanes, the last alone
    sizes = buckets.groups.sizes.tolist()
    ways = [sum(dealt, ()) for dealt in product(*(permutations(range(size)) for size in sizes))]
    all_ways = buckets.ladder(np.ones(len(ways)), np.array(ways), [0])
    logs = buckets.weight_table.logs[all_ways.at].sum(axis=1)
    sampler = TemperedChains(buckets, 4, 0)
    ladder = buckets.ladder(powers, np.tile(ways[0], (len(powers), 1)), [1])
    at = np.empty((SWEEPS, len(powers), len(buckets.start)), dtype=np.int32)
    trace = PowerTrace(1, np.empty((SWEEPS, len(powers))), at)
    sampler._run_ladder(ladder, (0, SWEEPS), (0, len(powers)), 1, trace=trace)
    for rung, power in enumerate(powers.tolist()):
        chances = np.exp(power * (logs - logs.max()))
        truth: Counter[bytes] = Counter()
        for row, chance in zip(all_ways.at, chances / chances.sum(), strict=True):
            truth[row.tobytes()] += chance
        seen = Counter(row.tobytes() for row in at[:, rung])
        assert set(seen) <= set(truth)
        off = 0.5 * sum(abs(seen[state] / SWEEPS - p) for state, p in truth.items())
        noise = 0.5 * sum((p / SWEEPS) ** 0.5 for p in truth.values())
        assert off < 3 * noise + 1e-9
    told = buckets.weight_table.logs[ladder.at].sum(axis=1)
    assert trace.log_chances[-1] == pytest.approx(told)
    anew = buckets.ladder(powers, ladder.has, [0])
    assert (anew.at == ladder.at).all()
    assert (anew.weight == ladder.weight).all()


def test_a_lane_does_not_see_its_neighbours() -> None:
    """One rung has the same dealings beside whichever others: only its own random numbers count."""
    buckets, found = model(*CASES["usual"][:-1]), []
    sampler = TemperedChains(buckets, 4, 0)
    for others in (0.3, 0.9):
        powers = np.array([0.7, others, others, others])
        ladder = buckets.ladder(powers, np.zeros((LANES, 9), dtype=np.int64) + _FIRST, [5])
        sampler._run_ladder(ladder, (0, 50), (0, LANES), 1)
        found.append(ladder.has[0].tolist())
    assert found[0] == found[1]


_FIRST = np.array([0, 1] * 3 + [0, 1, 2])


def test_the_steps_of_a_set_follow_each_other() -> None:
    steps = lane_steps(3)
    assert steps.people.tolist() == [0, 1, 1, 2, 1, 2, 2, 3]
    assert steps.begins.tolist() == [0, 0, 1, 5, 17]
    assert steps.steps[1:5].tolist() == [[0, 0], [0, 2], [2, 1], [1, 3]]
