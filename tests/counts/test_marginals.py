"""Marginals: equal to counting rows, however columns are coded, summed or rolled up."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.counts.marginals import Marginal

# Small spaces are summed by address; a size of a million forces the hash table, and sizes whose
# product passes 2^62 make packed keys meet.
SIZES = {"by address": 5, "hashed": 1 << 20, "beyond 62 bits": 1 << 31}
WIDTH = 4


def of(rows: list[tuple[int, ...]], n: list[int], size: int) -> Marginal:
    codes = np.array(rows, dtype=np.int32).reshape(len(rows), WIDTH).T
    return Marginal(
        tuple(range(WIDTH)), (size,) * WIDTH, np.ascontiguousarray(codes), np.array(n, dtype=float)
    )


def cells(marginal: Marginal) -> dict[tuple[int, ...], float]:
    keys = [tuple(column) for column in marginal.codes.T.tolist()]
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, marginal.n.tolist(), strict=True))


tuples = st.lists(st.tuples(*[st.integers(0, 4)] * WIDTH), min_size=1, max_size=30)
columns = st.lists(st.integers(0, WIDTH - 1), min_size=1, max_size=WIDTH, unique=True)


@pytest.mark.parametrize("size", SIZES.values(), ids=list(SIZES))
@given(rows=tuples, chosen=columns, data=st.data())
def test_summed_over_any_columns(size: int, rows, chosen: list[int], data) -> None:
    n = data.draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    right: Counter[tuple[int, ...]] = Counter()
    for row, people in zip(rows, n, strict=True):
        right[tuple(row[column] for column in chosen)] += people
    base = of(rows, n, size)
    assert cells(base.onto(chosen)) == right
    # Rolled up in two steps it is the same.
    assert cells(base.onto(sorted({0, 1, *chosen})).onto(chosen)) == right


@pytest.mark.parametrize("size", SIZES.values(), ids=list(SIZES))
@given(rows=tuples, chosen=columns)
def test_classes_are_numbered_by_first_appearance(size: int, rows, chosen: list[int]) -> None:
    number, first = of(rows, [1] * len(rows), size).classes(chosen)
    seen: dict[tuple[int, ...], int] = {}
    for place, row in enumerate(rows):
        key = tuple(row[column] for column in chosen)
        if key not in seen:
            assert first[len(seen)] == place
        assert number[place] == seen.setdefault(key, len(seen))
    assert len(first) == len(seen)


def test_many_distinct_keys_make_the_hash_table_grow() -> None:
    many = 50_000
    codes = np.vstack([np.arange(many), np.arange(many)[::-1] * 7, np.zeros(many)]).astype(np.int32)
    twice = np.ascontiguousarray(np.hstack([codes, codes]))
    for size in (1 << 20, 1 << 31):
        base = Marginal((0, 1, 2), (size,) * 3, twice, np.ones(2 * many))
        found = base.onto((0, 1))
        assert len(found) == many
        assert (found.n == 2).all()
        assert (found.codes == codes[:2]).all()


def test_keys_that_meet_by_chance_are_told_apart() -> None:
    """a 2^31 + b overflows to the same key for codes that differ; they stay two cells."""
    size = 1 << 31
    codes = np.array([[0, 4], [0, 0], [5, 5]], dtype=np.int32)
    base = Marginal((0, 1, 2), (size,) * 3, codes, np.ones(2))
    packed = [(int(a) * size * size + int(b) * size + int(c)) % (1 << 64) for a, b, c in codes.T]
    assert packed[0] == packed[1]
    assert len(base.onto((0, 1, 2))) == 2
