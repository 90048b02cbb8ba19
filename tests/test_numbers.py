"""Rows of different lengths against lists of lists, decimals against the text they were."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.numbers import (
    Ragged,
    fraction,
    offsets_of,
    rows_of,
    run_places,
    sums_by_row,
    taken_rows,
    tallied_offsets,
)

ROWS = st.lists(st.lists(st.integers(-9, 9), max_size=4), min_size=1, max_size=6)


@given(ROWS, st.data())
def test_rows_are_those_of_lists_of_lists(rows: list[list[int]], data: st.DataObject) -> None:
    ragged = Ragged.of(rows)
    asked = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8))
    taken = ragged.take(np.array(asked, dtype=np.int64))
    assert [taken[i].tolist() for i in range(len(taken))] == [rows[i] for i in asked]
    offsets, places = taken_rows(ragged.offsets, np.array(asked, dtype=np.int64))
    assert offsets.tolist() == taken.offsets.tolist()
    assert ragged.values[places].tolist() == taken.values.tolist()
    assert [len(row) for row in rows] == ragged.lengths.tolist()
    assert ragged.rows.tolist() == [i for i, row in enumerate(rows) for _ in row]
    assert sums_by_row(ragged.values, ragged.offsets).tolist() == [sum(row) for row in rows]
    odd = sums_by_row(ragged.values % 2 == 1, ragged.offsets)
    assert odd.tolist() == [sum(n % 2 for n in row) for row in rows]
    assert tallied_offsets(ragged.rows, len(rows)).tolist() == ragged.offsets.tolist()


@pytest.mark.parametrize("lengths", [[], [0], np.array([2.0, 0.0, 1.0]), np.array([True, False])])
def test_offsets_are_whole_numbers_whatever_the_lengths_are_written_as(lengths: object) -> None:
    offsets = offsets_of(lengths)  # type: ignore[arg-type]
    assert offsets.dtype == np.int64
    assert offsets.tolist() == [0, *np.cumsum(np.asarray(lengths, dtype=np.int64)).tolist()]
    assert len(rows_of(offsets)) == offsets[-1]
    assert len(run_places(offsets[:-1], np.diff(offsets))) == offsets[-1]


def test_a_decimal_is_the_fraction_somebody_wrote() -> None:
    written = [0.2, "0.2", Fraction(1, 5), Decimal("0.2"), np.float64(0.2)]
    assert [fraction(number) for number in written] == [Fraction(1, 5)] * 5  # type: ignore[arg-type]


def test_an_array_s_whole_number_becomes_one_without_bounds() -> None:
    found = fraction(np.int64(2**62))
    assert type(found.numerator) is int
    assert found * 4 == 2**64
