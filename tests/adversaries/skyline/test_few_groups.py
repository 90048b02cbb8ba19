"""The closed forms in NumPy find digit by digit what the compiled ones find."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.adversaries.skyline import few_groups, kernel
from sfumato.adversaries.skyline.breach import SINGLE, nothing
from sfumato.numbers import Ints
from sfumato.release.groups import Groups


def drawn(seed: int) -> tuple[Groups, Ints, Ints]:
    """Groups, some of which lack values, and questions of all sizes about them."""
    chance = np.random.default_rng(seed)
    counts = chance.poisson(chance.choice([0.4, 2, 40]), (60, 6))
    counts[chance.random(60) < 0.1, 1:] = 0
    groups = Groups(counts[counts.sum(axis=1) > 0])
    points = np.column_stack([chance.integers(0, most, 40) for most in (8, 7, 12)])
    points[chance.random(40) < 0.3] *= chance.integers(0, 2, 3)
    return groups, chance.integers(0, 6, 40), points.astype(np.int64)


@pytest.mark.parametrize("seed", range(8))
def test_factors_and_minima_are_those_of_the_compiled_forms(seed: int) -> None:
    groups, targets, points = drawn(seed)
    stored = (groups.indptr, groups.indices, groups.data, groups.sizes)
    for reduce, start, stop in ((True, 0, len(groups)), (False, 3, len(groups) - 2)):
        rows = 1 if reduce else stop - start
        plain, compiled = (np.tile(nothing(len(targets)), (rows, 1, 1)) for _ in range(2))
        few_groups.fill(groups, start, stop, targets, points, plain, reduce)
        kernel.fill(*stored, start, stop, groups.width, targets, points, SINGLE, compiled, reduce)
        assert np.array_equal(plain, compiled)
        if reduce:
            for p, target in enumerate(targets):
                minima = nothing(1)[0]
                kernel.scan(*stored, start, stop, groups.width, target, points[p], SINGLE, minima)
                assert np.array_equal(plain[0, p], minima)


@pytest.mark.parametrize("seed", range(4))
def test_shapes_are_those_of_the_compiled_forms(seed: int) -> None:
    groups, _, _ = drawn(seed)
    stored = (groups.indptr, groups.indices, groups.data, groups.sizes)
    some = np.arange(0, len(groups), 2)
    for target in range(6):
        for most in (0, 1, 3, 6):
            expected = kernel.shapes(*stored, some, target, most)
            assert np.array_equal(few_groups.shapes(groups, some, target, most), expected)


def test_compiled_ones_take_over_when_they_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    groups, _, points = drawn(0)
    monkeypatch.setattr(few_groups, "_spent", 2.0)
    assert not few_groups.fits(groups, points)
    monkeypatch.setattr(few_groups, "_spent", 0.0)  # other tests of this process spent some
    assert few_groups.fits(groups, points)
    assert not few_groups.fits(groups, points * 100)
