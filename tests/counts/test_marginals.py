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


@pytest.mark.parametrize("size", SIZES.values(), ids=list(SIZES))
@given(rows=tuples, chosen=columns)
def test_people_of_every_class_by_their_value_of_a_target(size: int, rows, chosen) -> None:
    target, known = chosen[-1], chosen[:-1]
    found = of(rows, [1] * len(rows), size).onto(chosen).by_class(target)
    right: dict[tuple[int, ...], Counter[int]] = {}
    for row in rows:
        right.setdefault(tuple(row[c] for c in known), Counter())[row[target]] += 1
    assert found.columns == tuple(known)
    assert cells(found.classes) == {shown: counted.total() for shown, counted in right.items()}
    for group in range(len(found.people)):
        low, high = found.indptr[group], found.indptr[group + 1]
        values = found.values[low:high].tolist()
        assert values == sorted(values)
        counted = right[tuple(found.cells_of(group).values())]
        assert dict(zip(values, found.n[low:high].tolist(), strict=True)) == counted


@pytest.mark.parametrize("size", SIZES.values(), ids=list(SIZES))
@given(rows=tuples, others=tuples, chosen=columns)
def test_the_cell_that_shows_the_same_is_found(size: int, rows, others, chosen) -> None:
    here = of(rows, [1] * len(rows), size).onto(chosen)
    there = of(others, [1] * len(others), size)
    places = {key: place for place, key in enumerate(cells(here))}
    right = [places.get(tuple(row[c] for c in chosen), -1) for row in others]
    assert here.numbers_of(there).tolist() == right


def test_a_class_of_many_values_is_put_in_order() -> None:
    many = 500
    order = np.random.default_rng(1).permutation(many)
    codes = np.ascontiguousarray(np.vstack([np.zeros(many), order]).astype(np.int32))
    found = Marginal((0, 1), (1 << 20,) * 2, codes, order + 1).by_class(1)
    assert found.values.tolist() == list(range(many))
    assert found.n.tolist() == list(range(1, many + 1))
