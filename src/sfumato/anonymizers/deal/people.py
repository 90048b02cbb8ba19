"""People and columns as the search sees them: codes on an order, and what widening a column costs.

What is minimised is what is published: the mean widening of everybody's values, by the weights of
columns. Three kinds of columns follow from how a column is told. A SET costs by how many values a
group has. A RANGE (a number or date) costs by its extent, between blocks of values that no
published bound tells apart. A LABEL costs what the finest label of the hierarchy covers; with
values in the order of the tree that is the lowest common label of the first and the last, so it is
a range with other widths.

Somebody without a value is told by herself; beside others everything is told, `*`. A column that
follows its hierarchy has NULL among its values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sfumato.anonymizers.anatomy import list_members
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.mondrian.cells import Columns as MondrianColumns
from sfumato.anonymizers.mondrian.cells import describe
from sfumato.anonymizers.mondrian.frames import frame_cells
from sfumato.counts.counts import Counts, rank_rows
from sfumato.numbers import Codes, Floats, Ints, offsets_of
from sfumato.release.description import Description
from sfumato.schema.boundaries import Boundaries
from sfumato.schema.domain import Domain
from sfumato.schema.hierarchy import Levels
from sfumato.schema.region import cover
from sfumato.table import Table

SET, RANGE, LABEL = 0, 1, 2
MOST_LABELS = 512  # of a level at which they are counted by group
_APART = 1e3  # what a group costs in which people are that limits keep apart: never worth it
_FAR = 1e9  # where specials lie beside numbers: any range to them is as wide as can be


class DealtColumns(NamedTuple):
    """What groups cost, column by column, as compiled code reads it.

    `cost`: of one more value of a SET, the most that a RANGE can cost. A SET has a histogram of
    `size` cells from `at` on. The code c of a RANGE begins at `low[at + c]` and ends at
    `high[at + c]`; `labels[at + level * size + c]` is the label of a LABEL's code, `widths` what it
    costs, `levels` how many there are. `span` numbers the columns that are no SET, else -1.

    Rungs are the levels of a LABEL at which it can be counted who has another label than most:
    column j has the rungs from `rung_at[j]` to `rung_at[j + 1]`. Row r of `rungs`: its level, its
    first cell and its labels; `rung_cost` is what a group costs more that has several of them.
    """

    kind: Codes
    at: Ints
    size: Ints
    cost: Floats
    span: Codes
    low: Floats
    high: Floats
    levels: Ints
    labels: Codes
    widths: Floats
    rung_at: Ints
    rungs: Ints
    rung_cost: Floats
    whole: float  # what somebody costs of whom nothing is told
    cells: int
    spans: int
    most: int  # codes that a column has at most


class DealtPeople(NamedTuple):
    """Everybody: codes by column, and what she adds to her group's counts.

    `value` numbers what people have in all sensitive attributes that rules read: value v adds one
    to the columns `adds[starts[v]:starts[v + 1]]` of `width` columns of counts.
    """

    places: Codes
    value: Codes
    starts: Ints
    adds: Codes
    width: int


@dataclass(frozen=True)
class Dealt:
    """A table laid out for dealing, and how groups of it are published."""

    table: Table
    counts: Counts
    tuples: Ints  # the tuple of each person
    people: DealtPeople
    columns: DealtColumns
    first: Mapping[int, int]  # where an attribute's counts begin among the columns of counts
    style: str
    bucketized: bool
    _published: MondrianColumns
    frame: Ints  # of each person: whom limits keep apart from others, numbered

    @classmethod
    def of(
        cls,
        task: Task,
        style: str,
        attributes: Sequence[int],
        why: str,
        *,
        bucketized: bool = False,
    ) -> Dealt:
        """`attributes`: those whose values rules read; `why`: who needs every person in memory."""
        table, weights = task.table, task.column_weights.tolist()
        counts = table.counts.in_memory(why)
        levels = tuple(table.levels[domain.name] for domain in counts.quasi)
        published = MondrianColumns.of(table.schema, levels, counts, style)
        tuples = np.repeat(np.arange(len(counts)), counts.n)
        laid = _Layout()
        rows, apart = [], list[Codes]()
        for column, column_levels in enumerate(levels):
            weight = weights[column]
            codes = published.searched(column, counts.codes[column])
            if style == "hierarchy" or (
                column_levels.finest and published.boundaries[column] is None
            ):
                order = laid.label(column_levels, counts.by_code(column), weight)
            elif (bounded := published.boundaries[column]) is not None:
                order = laid.range(bounded, weight)
            else:
                order = laid.set(column_levels.domain, counts.by_code(column), weight)
            rows.append(order[codes])
            if laid.last == SET and published.last[column] >= 0:
                rows.append(laid.missing(column_levels.domain, weight)[codes])
            frames = published.frames[column]
            if frames is not None and not published.halved[column]:
                rows.append(laid.apart(frames)[codes])
                apart.append(frames[codes])
        places = np.ascontiguousarray(np.stack(rows, axis=1)[tuples], dtype=np.int32)
        value, starts, adds, first = value_columns(counts, attributes)
        people = DealtPeople(places, value[tuples], starts, adds, sum_width(counts, attributes))
        frame = np.zeros(len(counts), dtype=np.int64)
        if apart:
            frame, _ = rank_rows(
                np.stack(apart), [int(frame_codes.max(initial=0)) + 1 for frame_codes in apart]
            )
        return cls(
            table,
            counts,
            tuples,
            people,
            laid.done(),
            first,
            style,
            bucketized,
            published,
            frame[tuples],
        )

    def __len__(self) -> int:
        return len(self.tuples)

    def describe(self, order: Ints, begins: Ints) -> Description:
        """What groups publish: group g has the people `order[begins[g]:begins[g + 1]]`."""
        if self.bucketized:
            bucket = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
            return list_members(self.counts, self.tuples[order], bucket)[0]
        columns = self._published
        codes = [columns.searched(c, row) for c, row in enumerate(self.counts.codes)]
        stacked = np.stack(codes, axis=1)
        # Nothing but limits bounds a group: an end that is one person's own may give way so far.
        low, high = frame_cells(columns, stacked[self.tuples[order[begins[:-1]]]], halves=False)
        return describe(self.style, columns, stacked, self.tuples[order], begins, low, high)


class _Layout:
    """Columns as they are laid one after another."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, int, int, float, int, int]] = []
        self._low: list[Floats] = [np.zeros(0)]
        self._high: list[Floats] = [np.zeros(0)]
        self._labels: list[Codes] = [np.zeros(0, dtype=np.int32)]
        self._widths: list[Floats] = [np.zeros(0)]
        self._rungs: list[tuple[int, int, int]] = []
        self._rung_at: list[int] = [0]
        self._rung_cost: list[float] = []
        self._cells = self._ends = self._labelled = self._spans = 0
        self._whole = 0.0

    def set(self, domain: Domain, having: Ints, weight: float) -> Codes:
        """The place of each code: the most frequent first, unless its order is declared."""
        size = len(domain)
        cost = weight / (size - 1) if size > 1 else 0.0
        self._column(SET, self._cells, size, cost, -1, 0)
        self._cells += size
        self._whole += weight
        place = np.arange(size, dtype=np.int32)
        if domain.kind == "categorical":
            place[np.argsort(-having, kind="stable")] = np.arange(size, dtype=np.int32)
        return place

    @property
    def last(self) -> int:
        """The kind of the column that was laid last."""
        return self._rows[-1][0]

    def missing(self, domain: Domain, weight: float) -> Codes:
        """Beside a SET: that somebody lacks a value whom others have hides the column."""
        self._span(RANGE, self._ends, 2, weight, 0)
        self._low.append(np.array([0.0, _FAR]))
        self._high.append(np.array([0.0, _FAR]))
        self._ends += 2
        return (np.arange(len(domain)) >= domain.placed).astype(np.int32)

    def apart(self, frames: Codes) -> Codes:
        """Beside a column with limits: nobody is to be dealt to those whom they keep apart."""
        size = int(frames.max(initial=0)) + 1
        self._span(RANGE, self._ends, size, _APART, 0)
        place = (np.arange(size) * _FAR).astype(np.float64)
        self._low.append(place)
        self._high.append(place)
        self._ends += size
        return frames

    def range(self, bounded: Boundaries, weight: float) -> Codes:
        domain, size = bounded.domain, len(bounded)
        many = domain.placed
        axis = np.arange(many) / max(len(domain) - 1, 1)
        numbers = domain.numbers()[:many]
        if many > 1 and 0 < numbers[-1] - numbers[0] < np.inf:
            axis = (numbers - numbers[0]) / (numbers[-1] - numbers[0])
        # Beyond all values, each as far from the next as one value is.
        low = _FAR + np.arange(size) / max(len(domain) - 1, 1)
        high = low.copy()
        blocks = bounded.block_of[:many]
        low[: bounded.values], high[: bounded.values] = np.inf, -np.inf
        np.minimum.at(low, blocks, axis)
        np.maximum.at(high, blocks, axis)
        self._span(RANGE, self._ends, size, weight, 0)
        self._whole += weight
        self._low.append(low * weight)
        self._high.append(high * weight)
        self._ends += size
        return np.arange(size, dtype=np.int32)

    def label(self, levels: Levels, having: Ints, weight: float) -> Codes:
        """Codes in the order of the tree, so that a label covers a run of them."""
        size = len(levels.domain)
        within = [levels[max(level, levels.finest)] for level in range(levels.height)]
        tree = [level.codes for level in within]
        order = np.lexsort(tree)
        place = np.empty(size, dtype=np.int32)
        place[order] = np.arange(size, dtype=np.int32)
        mean = []
        for level in within:
            wide = cover(levels.domain, level.regions).widening()[level.codes] * weight
            self._labels.append(level.codes[order])
            self._widths.append(wide[order])
            mean.append(float(wide @ having) / max(int(having.sum()), 1))
        reached = 0.0
        for number, level in enumerate(within[:-1]):
            labels = int(level.codes.max()) + 1
            if 1 < labels <= MOST_LABELS:
                self._rungs.append((number, self._cells, labels))
                self._rung_cost.append(mean[number + 1] - reached)
                self._cells += labels
                reached = mean[number + 1]
        self._span(LABEL, self._labelled, size, weight, levels.height)
        self._labelled += size * levels.height
        self._whole += weight
        return place

    def _column(self, kind: int, at: int, size: int, cost: float, span: int, levels: int) -> None:
        self._rows.append((kind, at, size, cost, span, levels))
        self._rung_at.append(len(self._rungs))

    def _span(self, kind: int, at: int, size: int, cost: float, levels: int) -> None:
        self._column(kind, at, size, cost, self._spans, levels)
        self._spans += 1

    def done(self) -> DealtColumns:
        kind, at, size, cost, span, levels = (
            np.array(column) for column in zip(*self._rows, strict=True)
        )
        return DealtColumns(
            kind.astype(np.int32),
            at.astype(np.int64),
            size.astype(np.int64),
            cost.astype(np.float64),
            span.astype(np.int32),
            np.concatenate(self._low),
            np.concatenate(self._high),
            levels.astype(np.int64),
            np.concatenate(self._labels).astype(np.int32),
            np.concatenate(self._widths),
            np.array(self._rung_at, dtype=np.int64),
            np.array(self._rungs, dtype=np.int64).reshape(-1, 3),
            np.array(self._rung_cost, dtype=np.float64),
            self._whole,
            self._cells,
            self._spans,
            int(size.max()),
        )


def sum_width(counts: Counts, attributes: Sequence[int]) -> int:
    """How many columns the counts of these attributes have together."""
    return sum(len(counts.sensitive[attribute].domain) for attribute in attributes)


def value_columns(
    counts: Counts, attributes: Sequence[int]
) -> tuple[Codes, Ints, Codes, dict[int, int]]:
    """Each tuple's value in all attributes together, what each adds, and where attributes begin."""
    first: dict[int, int] = {}
    if not attributes:
        return np.zeros(len(counts), np.int32), np.zeros(2, np.int64), np.zeros(0, np.int32), first
    at = 0
    for attribute in attributes:
        first[attribute] = at
        at += len(counts.sensitive[attribute].domain)
    rows = counts.values[list(attributes)]
    distinct, value = np.unique(rows, axis=1, return_inverse=True)
    listed = []
    for combination in distinct.T.tolist():
        adds: list[int] = []
        for attribute, code in zip(attributes, combination, strict=True):
            sets = counts.sensitive[attribute].sets
            members = [code] if sets is None else _members(sets.offsets, sets.members, code)
            adds += [first[attribute] + member for member in members]
        listed.append(adds)
    starts = offsets_of([len(adds) for adds in listed])
    flat = np.array([column for adds in listed for column in adds], dtype=np.int32)
    return value.reshape(-1).astype(np.int32), starts, flat, first


def _members(offsets: Ints, members: Codes, code: int) -> list[int]:
    listed: list[int] = members[offsets[code] : offsets[code + 1]].tolist()
    return listed
