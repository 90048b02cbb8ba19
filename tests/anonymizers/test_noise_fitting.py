"""Fitted counts: whole, not negative, of the right total, and the nearest such there are."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.anonymizers.noise import fit

noisy = st.lists(st.integers(-6, 9), min_size=1, max_size=4).map(np.array)


def nearest(values: np.ndarray, total: int) -> int:
    """The least squared distance of any whole non-negative counts with that total, by trying."""
    choices = product(range(total + 1), repeat=len(values))
    return min(int(((np.array(one) - values) ** 2).sum()) for one in choices if sum(one) == total)


@given(values=noisy, total=st.integers(0, 9))
def test_no_other_counts_are_nearer(values: np.ndarray, total: int) -> None:
    found = fit(values, total)
    assert found.sum() == total
    assert (found >= 0).all()
    assert found.dtype == values.dtype
    assert int(((found - values) ** 2).sum()) == nearest(values, total)


@given(values=noisy)
def test_without_a_total_the_noisy_sum_is_kept_or_nobody_is_left(values: np.ndarray) -> None:
    assert fit(values).sum() == max(0, values.sum())


@given(values=st.lists(st.integers(0, 50), min_size=1, max_size=30).map(np.array))
def test_counts_that_fit_already_are_left_alone(values: np.ndarray) -> None:
    assert (fit(values) == values).all()
    assert (fit(values, int(values.sum())) == values).all()


@given(values=noisy, total=st.integers(0, 50))
def test_order_is_kept(values: np.ndarray, total: int) -> None:
    """A larger noisy count never becomes the smaller one."""
    found = fit(values, total)
    for a, b in product(range(len(values)), repeat=2):
        if values[a] > values[b]:
            assert found[a] >= found[b]


def test_it_does_not_invent_people_where_cells_are_empty() -> None:
    """Cutting off at 0 would: a thousand empty cells of noise count upwards only."""
    noise = np.random.default_rng(0).integers(-3, 4, 1000)
    assert abs(int(fit(noise).sum()) - max(0, int(noise.sum()))) == 0
    assert np.maximum(noise, 0).sum() > 700


def test_very_large_counts_do_not_overflow() -> None:
    values = np.array([10**15, -5, 3] * 1000)
    assert fit(values, 10**18).sum() == 10**18


@pytest.mark.parametrize("total", [-4, 0])
def test_no_people_no_counts(total: int) -> None:
    assert fit(np.array([3, -1]), total).sum() == 0
