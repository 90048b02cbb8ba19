"""What must hold of learner, attacker and random worlds whatever the release."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from tests.adversaries.relative_threat.tiny_releases import everyone, generalized, victim


@st.composite
def bins(draw: st.DrawFn, size: int) -> list[tuple[int, ...]]:
    """A partition of a column's values: what a global recoding publishes."""
    of = [draw(st.integers(0, size - 1)) for _ in range(size)]
    return [tuple(v for v in range(size) if of[v] == one) for one in sorted(set(of))]


@st.composite
def recoded(draw: st.DrawFn):
    """A release in which every column's regions are pairwise disjoint."""
    sizes = [draw(st.integers(1, 4)) for _ in range(draw(st.integers(1, 3)))]
    width = draw(st.integers(1, 4))
    columns = [draw(bins(size)) for size in sizes]
    groups = {}
    for _ in range(draw(st.integers(1, 5))):
        described = tuple(draw(st.sampled_from(parts)) for parts in columns)
        counts = [draw(st.integers(0, 6)) for _ in range(width)]
        if sum(counts):
            groups[described] = counts
    assume(groups)
    return list(groups.items()), sizes, width


@given(case=recoded(), weight=st.sampled_from([0.5, 1.0, 3.0]))
def test_with_disjoint_bins_and_an_even_prior_the_attacker_is_random_worlds(case, weight) -> None:
    groups, sizes, width = case
    found = sf.relative_threat(generalized(groups, sizes, width), prior=weight)
    for row in everyone(sizes):
        try:
            attacker = found.attacker(victim(row))
        except sf.InputError:
            continue
        assert dict(attacker) == pytest.approx(dict(found.random_worlds(victim(row))), abs=1e-12)


def test_with_an_uneven_prior_they_part() -> None:
    groups = [(((0, 1),), [1, 1]), (((2,),), [1, 0])]
    rows = pa.table({"q0": ["v0000", "v0000", "v0001"], "s": ["s0", "s0", "s1"]})
    outside = sf.read(
        rows,
        sf.Schema(["q0"], "s", domains={"q0": ["v0000", "v0001", "v0002"], "s": ["s0", "s1"]}),
    )
    found = sf.relative_threat(generalized(groups, [3], 2), prior=outside)
    assert found.random_worlds({"q0": "v0000"})["s0"] == pytest.approx(0.5)
    assert found.attacker({"q0": "v0000"})["s0"] > 0.6


@given(case=recoded())
def test_who_knows_nothing_of_the_victim_believes_the_shares_of_the_table(case) -> None:
    groups, sizes, width = case
    found = sf.relative_threat(generalized(groups, sizes, width))
    totals = [sum(counts[s] for _, counts in groups) for s in range(width)]
    shares = [total / sum(totals) for total in totals]
    assert list(found.attacker({}).values()) == pytest.approx(shares, abs=1e-12)
    smoothed = [(total + 1) / (sum(totals) + width) for total in totals]
    assert list(found.learner({}).values()) == pytest.approx(smoothed, abs=1e-12)


@given(case=recoded())
def test_beliefs_average_out_over_the_values_of_a_column(case) -> None:
    """Learning one more column moves beliefs, on average over its values, nowhere."""
    groups, sizes, width = case
    found = sf.relative_threat(generalized(groups, sizes, width))
    nothing = [None] * len(sizes)
    values = np.eye(sizes[0])
    before = found.learnt.learner_of([(1.0, nothing)])[0]
    after = found.learnt.learner_of([(1.0, [value, *nothing[1:]]) for value in values])[0]
    assert after / after.sum() == pytest.approx(before / before.sum(), abs=1e-12)
