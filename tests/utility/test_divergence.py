"""Divergence where arithmetic by hand is possible, and where arrays are large."""

from __future__ import annotations

from math import log2

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.utility import divergence
from sfumato.utility.divergence import Divergence
from sfumato.utility.view import view_of
from tests.utility.releases import (
    Piece,
    bucketized,
    nothing,
    random_rows,
    release_at,
    release_of,
    table_of,
    unchanged,
)

FOUR = table_of(
    (
        (21, "a", "low", "flu"),
        (23, "a", "low", "flu"),
        (21, "c", "low", "hiv"),
        (23, "c", "low", "hiv"),
    )
)


def test_by_hand() -> None:
    # Ages {21, 23} x cities {a, b, c, d, e} x grades {low, mid, high} x {flu, hiv}.
    assert Divergence().cost(view_of(unchanged(FOUR))) == 0
    # Two groups; each spreads two people over two ages: nothing is lost, they are even.
    assert Divergence().cost(view_of(release_at(FOUR, (1, 0, 0)))) == 0
    # One group of two people of each disease over 2 x 3 x 1 combinations: 1/3 expected, not 1.
    assert Divergence().cost(view_of(release_at(FOUR, (1, 1, 0)))) == pytest.approx(log2(3))
    # Four people over 2 x 5 x 3 x 2 cells.
    assert Divergence().cost(view_of(nothing(FOUR))) == pytest.approx(log2(60 / 4))
    # Buckets: who has which disease is a coin's throw.
    assert Divergence().cost(view_of(bucketized(FOUR, [0] * 4))) == pytest.approx(1)


def test_a_suppressed_person_may_lie_in_the_region_of_others() -> None:
    pieces = [Piece(place, 1, None if place == 0 else (1, 1, 0)) for place in range(4)]
    release = release_of(FOUR, pieces)
    assert release.disjoint
    held = int(FOUR.counts.values[0, 0])
    alike = sum(int(FOUR.counts.values[0, place]) == held for place in (1, 2, 3))
    spread = 1 / 60
    truth = [log2(1 / (alike / 6 + spread))] * 2 + [log2(1 / (2 / 6 + spread))] * 2
    assert Divergence().cost(view_of(release)) == pytest.approx(sum(truth) / 4)


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(random_rows(300, seed=3))
    chance = np.random.default_rng(1)
    pieces = [
        Piece(place, int(n), tuple(int(chance.integers(0, h)) for h in (4, 2, 2)))
        for place, n in enumerate(table.counts.n)
    ]
    release = release_of(table, pieces, disjoint=False)
    whole = Divergence().cost(view_of(release))
    monkeypatch.setattr(divergence, "_TABLE_BITS", 64)
    monkeypatch.setattr("sfumato.utility.view._BLOCK_CELLS", 7)
    assert Divergence().cost(view_of(release)) == pytest.approx(whole, rel=1e-12)


def test_a_set_of_values_is_one_value() -> None:
    rows = pa.table({"who": [1, 1, 2], "age": [30, 30, 40], "disease": ["flu", "gout", "flu"]})
    schema = sf.Schema(quasi=["age"], sensitive="disease", person="who")
    table = sf.read(rows, schema)
    assert Divergence().cost(view_of(unchanged(table))) == 0
    # {flu, gout} and {flu}, each spread over two ages.
    assert Divergence().cost(view_of(release_at(table, (1,)))) == pytest.approx(1)
    # Two people over two ages and two sets.
    assert Divergence().cost(view_of(nothing(table))) == pytest.approx(1)


def test_without_a_sensitive_column_only_quasi_identifiers_count() -> None:
    table = sf.read(pa.table({"age": [30, 40, 40, 40]}), sf.Schema(quasi=["age"]))
    assert Divergence().cost(view_of(unchanged(table))) == 0
    expected = 1 / 4 * log2(1 / 2) + 3 / 4 * log2(3 / 2)
    assert Divergence().cost(view_of(release_at(table, (1,)))) == pytest.approx(expected)
