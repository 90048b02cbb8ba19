"""What the leakage paper claims of its measures, and where it needs care, as properties."""

from __future__ import annotations

import math
from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from tests.examples import few
from tests.oracles.tables import group_counts

NAMES = ("a", "b", "c", "s")
rows_ = st.lists(
    st.tuples(*[st.sampled_from(["x", "y", None])] * 3, st.sampled_from("uvw")),
    min_size=1,
    max_size=15,
)


def merged(*groups: tuple[int, ...]) -> list[int]:
    return [sum(counts) for counts in zip(*groups, strict=True)]


@given(st.integers(1, 5).flatmap(lambda w: st.lists(group_counts(w), min_size=2, max_size=5)))
def test_merging_never_raises_the_largest_distribution_leakage(groups) -> None:
    reference = merged(*groups)
    apart = sf.DistributionLeakage(0.5).measure(sf.Groups(groups, reference=reference))
    for one, other in combinations(groups, 2):
        together = sf.Groups([merged(one, other)], reference=reference)
        value = sf.DistributionLeakage(0.5).measure(together).value
        pair = sf.Groups([one, other], reference=reference)
        assert value <= sf.DistributionLeakage(0.5).measure(pair).value + 1e-12
        assert value <= apart.value + 1e-12


@settings(max_examples=few(40))
@given(rows_)
def test_the_largest_and_the_average_distribution_leakage_cannot_fall_when_more_is_known(
    rows,
) -> None:
    columns = [pa.array([row[at] for row in rows], pa.string()) for at in range(4)]
    schema = sf.Schema(quasi=["a", "b", "c"], sensitive="s")
    found = sf.characterize(sf.read(pa.table(columns, names=NAMES), schema, threads=1), 3)
    by = {frozenset(one.columns): one for one in found.findings}
    for fewer, one in by.items():
        for more, other in by.items():
            if fewer < more:
                assert one.distribution.largest <= other.distribution.largest + 1e-12
                assert one.distribution.weighted <= other.distribution.weighted + 1e-12


def test_the_largest_entropy_leakage_can_fall_when_more_is_known() -> None:
    """Expected is (7/8, 1/8), H = .54. One class (4, 4) has a bit: .46 off.

    Split to (3, 1) and (1, 3) both have .81 bits, .27 off: knowing more, she is nearer to what she
    expected in entropy, though further from it in distribution.
    """
    expected = [7, 1]
    together = sf.Groups([[4, 4]], reference=expected)
    apart = sf.Groups([[3, 1], [1, 3]], reference=expected)
    entropy, distribution = sf.EntropyLeakage(0.3), sf.DistributionLeakage(1)
    assert entropy.measure(apart).value < entropy.measure(together).value
    assert entropy.holds(apart).all()
    assert not entropy.holds(together).any()  # so it is not closed under merging
    assert distribution.measure(apart).value > distribution.measure(together).value


@given(group_counts(4), st.permutations(range(4)))
def test_a_permutation_has_entropy_leakage_zero_and_moves_the_distribution(counts, order) -> None:
    moved = [counts[place] for place in order]
    groups = sf.Groups([moved], reference=counts)
    assert sf.EntropyLeakage(0).verdict(groups).holds
    assert sf.DistributionLeakage(0).verdict(groups).holds == (tuple(moved) == counts)


@given(group_counts(4))
def test_against_uniform_it_is_the_spread_of_the_shares(counts) -> None:
    shares = [n / sum(counts) for n in counts]
    deviation = math.sqrt(sum((share - 1 / 4) ** 2 for share in shares) / 4)
    measured = sf.DistributionLeakage(1, prior="uniform").measure(sf.Groups([counts])).value
    assert measured == pytest.approx(deviation * math.sqrt(4), abs=1e-12)


@given(st.lists(group_counts(3), min_size=1, max_size=4))
def test_perfect_privacy_is_where_both_are_zero(groups) -> None:
    both = sf.Groups(groups)
    whole = [n / sum(merged(*groups)) for n in merged(*groups)]
    same = all(
        [n * sum(merged(*groups)) for n in counts] == [m * sum(counts) for m in merged(*groups)]
        for counts in groups
    )
    zero = sf.DistributionLeakage(0).verdict(both).holds
    assert zero == same
    assert not zero or sf.EntropyLeakage(0).verdict(both).holds
    assert sum(whole) == pytest.approx(1)
