"""Where one number a tuple fits in memory and codes do not: the same counts and kinds."""

from __future__ import annotations

import contextlib
import tracemalloc
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.counts import row_numbers, scan, stored
from sfumato.counts.columns import KeyColumn
from sfumato.counts.stored import Kinds, StoredCounts, TooManyKinds
from sfumato.engines import base
from sfumato.schema.domain import Domain
from tests.anonymizers.mondrian_tables import TABLES, small_table
from tests.examples import few
from tests.table.beyond_memory import SCHEMAS, beyond, patients, same


@pytest.mark.parametrize("kind", ["plain", "nobody sensitive"])
@pytest.mark.parametrize("at_once", [1, 7, 10_000])
@pytest.mark.parametrize("looked_at", [1, 300])
def test_rows_that_are_sorted_are_kept_as_they_are_counted_in_memory(
    kind: str, at_once: int, looked_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal ones stay together, however few go to the engine at once."""
    schema, table = sf.Schema(**SCHEMAS[kind]), pa.table(patients(4))  # type: ignore[arg-type]
    expected = sf.read(table, schema).counts.in_memory("this test")
    monkeypatch.setattr(stored, "COPIES", 10**9)  # as if every tuple took a gigabyte
    monkeypatch.setattr(row_numbers, "SORTED_ROWS", 0)
    monkeypatch.setattr(row_numbers, "_UNALIKE", 0.0)
    monkeypatch.setattr(row_numbers, "_LOOKED_AT", looked_at)
    monkeypatch.setattr(base, "_BLOCK", at_once)
    monkeypatch.setattr(scan, "store", None)  # nothing is grouped
    kept = sf.read(table, schema).counts
    assert isinstance(kept, StoredCounts)
    assert len(kept) == len(expected)
    same(kept.within().compact(), expected)


def test_tuples_are_grouped_where_numbers_do_not_fit_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schema, table = sf.Schema(**SCHEMAS["plain"]), pa.table(patients(4))  # type: ignore[arg-type]
    expected = sf.read(table, schema).counts.in_memory("this test")
    monkeypatch.setattr(stored, "COPIES", 10**9)
    monkeypatch.setattr(row_numbers, "SORTED_ROWS", 0)
    monkeypatch.setattr(row_numbers, "_UNALIKE", 0.0)
    monkeypatch.setattr(scan, "NUMBER_BYTES", 10**9)
    monkeypatch.setattr(scan, "count_sorted", None)
    kept = sf.read(table, schema, memory="60MB").counts
    assert isinstance(kept, StoredCounts)
    same(kept.within().compact(), expected)


class _Counting:
    """An engine that is told of tuples and keeps none."""

    memory, embedded, tuples = 0, True, 0

    def append(self, name: str, table: pa.Table) -> None:
        self.tuples += table.num_rows

    def yield_memory(self) -> contextlib.nullcontext[None]:
        return contextlib.nullcontext()


def test_tuples_that_go_to_the_engine_take_no_memory_beside_their_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(base, "_BLOCK", 1 << 12)
    values = tuple(map(str, range(1000)))
    column = KeyColumn(Domain("a", "categorical", values), np.arange(1000, dtype=np.int32))
    numbers = np.sort(np.random.default_rng(1).integers(0, 10**6, 400_000))
    engine: Any = _Counting()
    schema = sf.Schema(quasi=["a"], sensitive="b")
    tracemalloc.start()
    try:
        row_numbers._kept(engine, schema, [column, column], numbers)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert engine.tuples == len(np.unique(numbers))
    assert peak < 6 * len(numbers)


def told(kinds: Kinds) -> tuple[Any, ...]:
    """All that kinds say, whatever the order in which the groups' tuples stand."""
    columns = [*kinds.counts.codes, *kinds.counts.values, kinds.counts.n]
    if kinds.counts.protect is not None:
        columns.append(kinds.counts.protect[1])
    if kinds.counts.weights is not None:
        columns.append(kinds.counts.weights)
    people = sorted(zip(kinds.of.tolist(), *(row.tolist() for row in columns), strict=True))
    keys = [int(key) for key in kinds.key.to_pylist()]
    return kinds.codes.tolist(), kinds.multiplicity.tolist(), keys, people


@settings(max_examples=few(60))
@given(number=st.integers(0, TABLES - 1), several=st.booleans())
def test_kinds_are_those_that_the_engine_finds(number: int, several: bool) -> None:
    counts = beyond(small_table(number, several=several), 10_000).counts
    assert isinstance(counts, StoredCounts)
    assert counts._content() is not None
    assert told(counts.kinds()) == told(counts.kinds(counts.group_key()))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sensitive", [[], ["ill"], ["ill", "pay"]])
def test_kinds_of_what_is_to_be_protected_and_of_nothing_sensitive(
    seed: int, sensitive: list[str]
) -> None:
    schema = sf.Schema(quasi=["age", "job"], sensitive=sensitive, protect="hide")
    counts = beyond(sf.read(pa.table(patients(seed)), schema), 10_000).counts
    assert counts._content() is not None
    assert told(counts.kinds()) == told(counts.kinds(counts.group_key()))


def test_kinds_of_a_table_with_weights_are_found_by_the_engine() -> None:
    schema = sf.Schema(**SCHEMAS["two"])  # type: ignore[arg-type]
    counts = beyond(sf.read(pa.table(patients(1)), schema), 10_000).counts
    assert counts._content() is None
    assert told(counts.kinds()) == told(counts.kinds(counts.group_key()))


def test_kinds_of_more_combinations_than_a_number_tells_are_found_by_the_engine() -> None:
    chance = np.random.default_rng(1)
    columns = {f"c{place}": chance.permutation(60) for place in range(12)}
    schema = sf.Schema([*columns], "ill")
    table = sf.read(pa.table({**columns, "ill": ["x", "y", "z"] * 20}), schema)
    counts = beyond(table, 10_000).counts
    assert counts._content() is None
    assert counts.kinds().multiplicity.sum() == 60


def test_kinds_that_one_sum_does_not_tell_apart_are_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Numbers of chance that happen to add up to the same are drawn again."""
    counts = beyond(sf.read(pa.table(patients(2)), _GROUPED), 10_000).counts
    expected = told(counts.kinds(counts.group_key()))
    draws: list[int] = []

    def drawn(size: int) -> bytes:
        draws.append(size)
        if len(draws) == 1:  # the first sums are all the same, the others are not
            return bytes(size // 2) + np.random.default_rng(1).bytes(size // 2)
        return np.random.default_rng(2).bytes(size)

    monkeypatch.setattr(stored, "secrets", SimpleNamespace(token_bytes=drawn))
    assert told(counts.kinds()) == expected
    assert len(draws) == 2


_GROUPED = sf.Schema(quasi=["age", "job"], sensitive="ill")


def test_more_kinds_than_fit_are_refused_either_way(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = beyond(sf.read(pa.table(patients(2)), _GROUPED), 10_000).counts
    monkeypatch.setattr(stored, "_TUPLE", 1 << 40)
    for by_numbers in (80, 1 << 50):
        monkeypatch.setattr(stored, "_SORTED_TUPLE", by_numbers)
        with pytest.raises(TooManyKinds, match=r"different groups of .* tuples, too many"):
            counts.kinds()


def test_kinds_that_differ_only_in_what_stands_together_may_be_told_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No criterion reads two columns of such a table together, and the engine tells fewer kinds.

    A table of which these fit is not refused.
    """
    people = pa.table(
        {
            "age": [1, 1, 2, 2],
            "ill": ["flu", "gout", "flu", "gout"],
            "pay": ["high", "low", "low", "high"],
        }
    )
    counts = beyond(sf.read(people, sf.Schema(["age"], ["ill", "pay"])), 10_000).counts
    assert counts.kinds().multiplicity.tolist() == [1, 1]
    monkeypatch.setattr(stored, "_TUPLE", counts.engine.memory // 3)
    assert counts.kinds().multiplicity.tolist() == [2]
    monkeypatch.setattr(stored, "_MOST_PEOPLE", 4)  # of whom the engine tells nothing
    with pytest.raises(TooManyKinds):
        counts.kinds()


def test_kinds_by_numbers_take_no_more_memory_than_was_asked_for() -> None:
    """Nearly everybody is alone, as nearly every tuple of a large table is."""
    chance = np.random.default_rng(3)
    total = 200_000
    people = pa.table(
        {
            "a": chance.integers(0, 500, total),
            "b": chance.integers(0, 500, total),
            "ill": chance.integers(0, 9, total),
        }
    )
    counts = beyond(sf.read(people, sf.Schema(["a", "b"], "ill")), total).counts
    expected = counts.kinds()
    tracemalloc.start()
    try:
        found = counts.kinds()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert told(found) == told(expected)
    assert peak < stored._SORTED_TUPLE * len(counts)
