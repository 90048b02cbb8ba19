"""Mondrian of people with several rows: distinct people of parts, told by who has rows together.

The oracle counts the people of every part from the rows themselves, level by level.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from sfumato.anonymizers.mondrian import splits, steps
from sfumato.anonymizers.mondrian.companions import Companions
from sfumato.anonymizers.mondrian.partition import Nodes, Split, TupleRows, batches
from sfumato.counts.owners import RowsByPerson
from sfumato.numbers import Codes, Ints, offsets_of

WIDTH = 4


class Owned:
    """Random tuples of rows, whose owners are few enough to have many together."""

    def __init__(self, draw: np.random.Generator) -> None:
        total = int(draw.integers(1, 80))
        self.n = draw.integers(1, 4, total)
        people = int(draw.choice([1, 5, 30, 500]))
        owner = draw.integers(0, people, int(self.n.sum())).astype(np.int32)
        self.rows_of = np.split(owner, np.cumsum(self.n)[:-1])
        self.value = draw.integers(0, WIDTH, total).astype(np.int32)
        self.held = RowsByPerson.of(self.n, owner)

    def root(self, draw: np.random.Generator) -> Nodes:
        """One node, or several that are kept apart, in any order of rows."""
        place = draw.permutation(len(self.n))
        ends = np.flatnonzero(draw.random(len(place) - 1) < draw.choice([0.0, 0.1])) + 1
        rows = TupleRows(
            np.arange(len(place)),
            np.zeros((len(place), 1), np.int32),
            self.n,
            self.value[None, :],
            np.zeros(len(place), np.int32),
            1,
        ).take(place)
        starts, stops = np.append(0, ends), np.append(ends, len(place))
        low = np.zeros((len(starts), 1), np.int32)
        root = Nodes(rows, place, starts, stops, low, low)
        return Nodes(rows, place, starts, stops, low, low, Companions.of(self.held, root))

    def people(self, tuples: Ints) -> set[int]:
        return {int(person) for at in tuples for person in self.rows_of[at]}


def candidate(batch: Nodes, nodes: Ints, draw: np.random.Generator) -> Split:
    """Some nodes, each split by chance into one part or more, none of them empty."""
    part: Codes = np.zeros(len(batch.rows.n), np.int32)
    parts = []
    for node in nodes.tolist():
        length = int(batch.stops[node] - batch.starts[node])
        many = int(draw.integers(1, min(length, 3) + 1))
        inside = np.append(np.arange(many), draw.integers(0, many, length - many))
        part[batch.starts[node] : batch.stops[node]] = draw.permutation(inside)
        parts.append(many)
    made = np.array(parts, np.int32)
    order, begins, people = steps.gather(
        part, made, batch.starts[nodes], batch.stops[nodes], batch.rows.n
    )
    nothing = np.zeros(len(nodes), np.int32)
    return Split(nodes, nothing, nothing, part, made, order, begins, people)


def check(owned: Owned, batch: Nodes, split: Split) -> None:
    """People of every part, and of every value there, are those of its rows."""
    assert batch.companions is not None
    inside = [batch.place[each] for each in np.split(split.order, split.begins[1:-1])]
    found = batch.companions.people(split)
    assert found.tolist() == [len(owned.people(tuples)) for tuples in inside]
    value, alone = batch.rows.values[0], (np.zeros(0, np.int64), np.zeros(0, np.int32), WIDTH)
    cells = steps.cells(split.order, split.begins, value, batch.rows.n, *alone)
    indptr, indices, having = batch.companions.by_value(split, value, cells, WIDTH)
    for at, tuples in enumerate(inside):
        cell = slice(indptr[at], indptr[at + 1])
        told = dict(zip(indices[cell].tolist(), having[cell].tolist(), strict=True))
        shown = {int(owned.value[one]) for one in tuples}
        assert told == {one: len(owned.people(tuples[owned.value[tuples] == one])) for one in shown}


def refined(batch: Nodes, split: Split) -> Nodes:
    """The parts of nodes that fall apart are the next nodes; the others are done."""
    assert batch.companions is not None
    final = np.repeat(split.parts == 1, split.parts)
    lengths = np.diff(split.begins)
    live = split.order[~np.repeat(final, lengths)]
    kept = np.where(final, -1, np.cumsum(~final) - 1).astype(np.int32)
    ends = offsets_of(lengths[~final])
    low = np.zeros((len(ends) - 1, 1), np.int32)
    carried = batch.companions.carried(split.part, split.parts, kept, live)
    return Nodes(batch.rows.take(live), batch.place[live], ends[:-1], ends[1:], low, low, carried)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_people_of_parts_are_those_of_their_rows(
    seed: int, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if compiled:
        monkeypatch.setitem(sys.modules, splits.__name__, splits)
    else:
        monkeypatch.delitem(sys.modules, splits.__name__)
    draw = np.random.default_rng(seed)
    owned = Owned(draw)
    batch = owned.root(draw)
    check(owned, batch, Split.whole(batch, np.arange(len(batch))))
    levels = 0
    while len(batch):
        some = np.flatnonzero(draw.random(len(batch)) < 0.6)
        if len(some):
            tried = candidate(batch, some, draw)
            check(owned, batch, tried)
            check(owned, batch, tried.undone())
        split = candidate(batch, np.arange(len(batch)), draw)
        check(owned, batch, split)
        batch = refined(batch, split)
        levels += 1
    assert levels > 0


def test_batches_take_their_companions_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.anonymizers.mondrian.partition.BATCH", 8)
    draw = np.random.default_rng(7)
    owned = SimpleNamespace(n=np.zeros(0))
    while len(owned.n) < 60:
        owned = Owned(draw)
    batch = owned.root(draw)
    for _ in range(3):
        batch = refined(batch, candidate(batch, np.arange(len(batch)), draw))
    parts = list(batches(batch))
    assert len(parts) > 2
    for part in parts:
        check(owned, part, Split.whole(part, np.arange(len(part))))
