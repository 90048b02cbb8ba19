"""What Mondrian partitions: rows, nodes that are runs of rows, and candidate splits of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sfumato.anonymizers.mondrian import splits
from sfumato.anonymizers.mondrian.published_regions import Columns
from sfumato.counts.counts import Counts, TableCounts
from sfumato.errors import PolicyError
from sfumato.numbers import Codes, Ints

BATCH = 1 << 18  # rows that fit the cache together


@dataclass(frozen=True)
class Rows:
    """The tuples to be partitioned, rows by columns: codes, people, sensitive values, target."""

    tuples: Ints
    codes: Codes
    n: Ints
    values: Codes
    target: Codes
    target_width: int

    @classmethod
    def of(cls, counts: Counts, columns: Columns, target: str | None, *, whole: bool) -> Rows:
        """`whole`: people with equal values stay one row; else each person is one."""
        tuples = np.arange(len(counts))
        n = counts.n
        if not whole:
            tuples = np.repeat(tuples, counts.n)
            n = np.ones(len(tuples), dtype=np.int64)
        kind, place, width = target_of(counts, target)
        values = np.zeros(len(counts), dtype=np.int32)
        if kind is not None:
            values = counts.codes[place] if kind == "q" else counts.values[place]
        codes = np.stack([columns.searched(c, row) for c, row in enumerate(counts.codes)], axis=1)
        return cls(
            tuples,
            np.ascontiguousarray(codes[tuples], dtype=np.int32),
            n,
            np.ascontiguousarray(counts.values[:, tuples]),
            values[tuples],
            width,
        )

    def take(self, order: Ints) -> Rows:
        """Some of the rows, without what the search does not look at."""
        codes, n, values = splits.moved(order, self.codes, self.n, self.values)
        return Rows(
            self.tuples[:0],
            codes,
            n,
            values,
            self.target[order] if self.target_width > 1 else self.target[:0],
            self.target_width,
        )


def target_of(counts: TableCounts, target: str | None) -> tuple[Literal["q", "s"] | None, int, int]:
    """Whether the target column is a quasi-identifier or sensitive, which, of how many codes."""
    names = [domain.name for domain in counts.quasi]
    sensitive = [attribute.name for attribute in counts.sensitive]
    if target is None:
        return None, 0, 1
    if target in names:
        return "q", names.index(target), len(counts.quasi[names.index(target)])
    if target in sensitive:
        attribute = counts.sensitive[sensitive.index(target)]
        width = len(attribute.domain if attribute.sets is None else attribute.sets)
        return "s", sensitive.index(target), width
    raise PolicyError(
        f"mondrian: target {target!r} is neither quasi nor sensitive; allowed: "
        f"{', '.join([*names, *sensitive])}"
    )


@dataclass
class Nodes:
    """A batch: its rows (positions in the whole, `place`), its nodes and the cell of each node."""

    rows: Rows
    place: Ints
    starts: Ints
    stops: Ints
    low: Codes
    high: Codes

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True)
class Split:
    """A candidate split of some nodes of a batch: the parts and what each would hold."""

    nodes: Ints
    column: Codes
    cut: Codes
    part: Codes
    parts: Codes
    order: Ints
    begins: Ints
    people: Ints


def rows_of(batch: Nodes, nodes: Ints) -> Ints:
    """The rows of some nodes of a batch."""
    lengths = batch.stops[nodes] - batch.starts[nodes]
    total = int(lengths.sum())
    begins = np.concatenate([[0], np.cumsum(lengths)[:-1]]) if len(nodes) else np.zeros(0, np.int64)
    return np.arange(total) - np.repeat(begins - batch.starts[nodes], lengths)


def batches(batch: Nodes) -> Iterator[Nodes]:
    """Cut a batch into several of consecutive nodes, about BATCH rows each."""
    goal = np.cumsum(batch.stops - batch.starts) // BATCH
    edges = np.flatnonzero(np.diff(goal)) + 1
    for first, last in zip([0, *edges.tolist()], [*edges.tolist(), len(batch)], strict=True):
        begin, end = batch.starts[first], batch.stops[last - 1]
        order = np.arange(begin, end)
        yield Nodes(
            batch.rows.take(order),
            batch.place[order],
            batch.starts[first:last] - begin,
            batch.stops[first:last] - begin,
            batch.low[first:last],
            batch.high[first:last],
        )
