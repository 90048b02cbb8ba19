"""Whose rows: distinct people of coarser groups, however many rows somebody has there."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from sfumato.counts.owners import Owners
from sfumato.numbers import in_order, offsets_of


@pytest.mark.parametrize("total", [2, 9, 40, 100_000])  # few are looked up by number, many by hash
def test_people_are_counted_once_in_groups_that_become_one(total: int) -> None:
    rng = np.random.default_rng(total)
    n = rng.integers(1, 4, 200)
    owner = rng.integers(0, total, n.sum()).astype(np.int32)
    value = rng.integers(0, 5, 200).astype(np.int32)
    finer = Owners(offsets_of(n), owner, total)
    rows = np.split(owner, np.cumsum(n)[:-1])
    order = rng.permutation(200)
    starts = np.array([0, 1, 3, 40, 41, 200])
    groups = [order[first:last] for first, last in pairwise(starts)]
    people = [{int(one) for i in group for one in rows[i]} for group in groups]
    of_rows = np.array([n[group].sum() for group in groups])
    assert finer.sizes_of(order, starts, of_rows).tolist() == [len(each) for each in people]
    merged = finer.merged(order, starts)
    found = np.split(merged.people, merged.indptr[1:-1])
    assert [sorted(each.tolist()) for each in found] == [sorted(each) for each in people]

    by_value = [[(int(value[i]), int(one)) for i in group for one in rows[i]] for group in groups]
    shown = [list(dict.fromkeys(kind for kind, _ in pairs)) for pairs in by_value]
    cells = [
        (kind, [one for other, one in pairs if other == kind])
        for kinds, pairs in zip(shown, by_value, strict=True)
        for kind in kinds
    ]
    indptr = offsets_of([len(kinds) for kinds in shown])
    indices = np.array([kind for kind, _ in cells], dtype=np.int32)
    having = np.array([len(each) for _, each in cells])
    counted = finer.by_value(order, starts, value[order], (indptr, indices, having), 5)
    assert counted[2].tolist() == [len({*each}) for _, each in cells]


def test_places_in_order_are_those_of_a_stable_sort() -> None:
    numbers = np.random.default_rng(1).integers(0, 50, 300)
    for given in (numbers, numbers << 55, numbers[:0], numbers[:1]):
        assert in_order(given).tolist() == np.argsort(given, kind="stable").tolist()
