"""Whose rows: distinct people of groups, however many rows somebody has there."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.counts import owners
from sfumato.counts.owners import RowsByPerson
from sfumato.numbers import in_order


@pytest.fixture(params=["by NumPy", "compiled"])
def counted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are counted by NumPy, many by compiled code; both ways count the same."""
    if request.param == "compiled":
        pytest.importorskip("sfumato.counts.kernel")
    else:
        monkeypatch.setattr(owners, "_compiled", lambda rows: None)


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("total", [1, 9, 40, 5_000])
def test_people_are_counted_once_in_every_group(total: int) -> None:
    rng = np.random.default_rng(total)
    n = rng.integers(1, 4, 200)
    owner = rng.integers(0, total, n.sum()).astype(np.int32)
    group = rng.integers(-1, 6, 200)  # -1: in no group
    held = RowsByPerson.of(n, owner)
    of_row = np.repeat(np.arange(200), n)
    for person in range(held.people):
        hers = held.tuples[held.indptr[person] : held.indptr[person + 1]]
        assert hers.tolist() == of_row[owner == person].tolist()
    pairs = {
        (int(person), int(group[at]))
        for person, at in zip(owner, of_row, strict=True)
        if group[at] >= 0
    }
    people = [sum(place == one for _, place in pairs) for one in range(7)]
    assert held.count(group, 7).tolist() == people
    person, places = held.groups_of(group, 7)
    assert list(zip(person.tolist(), places.tolist(), strict=True)) == sorted(pairs)


@pytest.mark.usefixtures("counted")
def test_nobody_has_no_rows() -> None:
    held = RowsByPerson.of(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32))
    nothing = np.zeros(0, dtype=np.int64)
    assert held.people == 0
    assert held.count(nothing, 2).tolist() == [0, 0]
    assert [len(each) for each in held.groups_of(nothing, 2)] == [0, 0]


def test_places_in_order_are_those_of_a_stable_sort() -> None:
    numbers = np.random.default_rng(1).integers(0, 50, 300)
    for given in (numbers, numbers << 55, numbers[:0], numbers[:1]):
        assert in_order(given).tolist() == np.argsort(given, kind="stable").tolist()
