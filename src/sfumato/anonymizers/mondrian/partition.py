"""Mondrian's search: rows, nodes that are runs of rows, and the partition that they are refined to.

Large nodes are split first; as soon as nodes are small they are put into batches that fit the
processor's cache and finished there, side by side on the cores there are. Nodes are independent for
group-scope criteria, so batching changes nothing; for release-scope criteria batches go in turn,
and their order is part of the definition.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato.anonymizers.mondrian import steps
from sfumato.anonymizers.mondrian.cells import Columns, narrowed
from sfumato.anonymizers.mondrian.companions import Companions
from sfumato.anonymizers.mondrian.frames import framed
from sfumato.counts.counts import Counts, TableCounts
from sfumato.errors import PolicyError
from sfumato.numbers import Codes, Ints, offsets_of, run_places, taken_rows
from sfumato.progress import Ticker

if TYPE_CHECKING:  # splits are chosen of what is defined here
    from sfumato.anonymizers.mondrian.choose_split import Choice

BATCH = 1 << 18  # rows that fit the cache together


@dataclass(frozen=True)
class TupleRows:
    """The tuples to be partitioned, rows by columns: codes, people, sensitive values, target."""

    tuples: Ints
    codes: Codes
    n: Ints
    values: Codes
    target: Codes
    target_width: int

    @classmethod
    def of(cls, counts: Counts, columns: Columns, target: str | None, *, whole: bool) -> TupleRows:
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

    def take(self, order: Ints) -> TupleRows:
        """Some of the rows, without what the search does not look at."""
        codes, n, values = steps.moved(order, self.codes, self.n, self.values)
        return TupleRows(
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
        return "s", sensitive.index(target), attribute.codes
    raise PolicyError(
        f"mondrian: target {target!r} is neither quasi nor sensitive; allowed: "
        f"{', '.join([*names, *sensitive])}"
    )


@dataclass
class Nodes:
    """A batch: its rows (positions in the whole, `place`), its nodes and the cell of each node."""

    rows: TupleRows
    place: Ints
    starts: Ints
    stops: Ints
    low: Codes
    high: Codes
    companions: Companions | None = None  # where people have several rows

    def __len__(self) -> int:
        return len(self.starts)


def everybody(columns: Columns, rows: TupleRows) -> Nodes:
    """What a search begins with: one node, or those that the schema's limits keep apart."""
    order, begins, low, high = framed(columns, rows.codes, rows.n)
    ordered = rows if len(begins) == 2 else rows.take(order)
    return Nodes(ordered, order, begins[:-1], begins[1:], low, high)


@dataclass(frozen=True)
class Split:
    """A candidate split of some nodes of a batch, one for each: by what, and who would be where.

    Parts are numbered through: first those of the first node, from left to right, then the next's.
    """

    nodes: Ints  # which nodes of the batch
    column: Codes  # by which column each is split
    cut: Codes  # after which code or, of a nested column, at which level; NONE: not at all
    part: Codes  # of every row of the batch: the part of its own node that it falls into
    parts: Codes  # into how many parts each node falls
    order: Ints  # the nodes' rows in the order of parts ...
    begins: Ints  # ... where those of each part begin, and where the last end
    people: Ints  # how many people each part holds; rows, where they have several

    @classmethod
    def whole(cls, batch: Nodes, nodes: Ints) -> Split:
        """Nodes that are not split at all."""
        order, begins = rows_in(batch, nodes), offsets_of((batch.stops - batch.starts)[nodes])
        return cls(
            nodes=nodes,
            column=np.zeros(len(nodes), dtype=np.int32),
            cut=np.full(len(nodes), steps.NONE, dtype=np.int32),
            part=np.zeros(len(batch.rows.n), dtype=np.int32),
            parts=np.ones(len(nodes), dtype=np.int32),
            order=order,
            begins=begins,
            people=np.add.reduceat(batch.rows.n[order], begins[:-1]),
        )

    def undone(self) -> Split:
        """The same nodes before they are split, rows in the order of parts."""
        first = offsets_of(self.parts)
        return replace(
            self,
            part=np.zeros_like(self.part),
            parts=np.ones_like(self.parts),
            begins=self.begins[first],
            people=np.add.reduceat(self.people, first[:-1]),
        )


def rows_in(batch: Nodes, nodes: Ints) -> Ints:
    """The rows of some nodes of a batch."""
    return run_places(batch.starts[nodes], batch.stops[nodes] - batch.starts[nodes])


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
            batch.companions and batch.companions.between(first, last, int(begin)),
        )


@dataclass(frozen=True)
class Done:
    """Finished groups: their rows one group after another, its length, and its cell."""

    rows: Ints
    lengths: Ints
    low: Codes
    high: Codes


class Partition:
    """The state of a Mondrian search."""

    def __init__(self, choice: Choice, everybody: Nodes, *, strict: bool) -> None:
        self.choice, self._everybody, self._strict = choice, everybody, strict
        self.columns: Columns = choice.columns
        self._done: list[Done] = []

    def split_all(self) -> None:
        """Split until no allowed split remains."""
        total = len(self._everybody.rows.n)
        waiting = [self._everybody]
        if len(self._everybody) > 1 and total > BATCH and not self.choice.safety.in_turn:
            waiting = list(batches(self._everybody))[::-1]
        # Release-scope criteria accept one split after another, so their batches go in turn.
        workers = 1 if self.choice.safety.in_turn else os.cpu_count() or 1
        running: set[Future[tuple[list[Done], list[Nodes]]]] = set()
        with Ticker("splitting groups", total) as ticker, ThreadPoolExecutor(workers) as pool:
            while waiting or running:
                while waiting and len(running) < workers:
                    running.add(pool.submit(self._finish, waiting.pop()))
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    done, more = future.result()
                    self._done += done
                    waiting += more[::-1]
                    ticker.add(sum(len(leaf.rows) for leaf in done))

    def _finish(self, batch: Nodes) -> tuple[list[Done], list[Nodes]]:
        """Split a batch to its end, or until it is better cut into smaller ones."""
        done = []
        while len(batch):
            batch, ended = self._refine(batch)
            done.append(ended)
            if len(batch) > 1 and len(batch.place) > BATCH:
                return done, list(batches(batch))
        return done, []

    def _refine(self, batch: Nodes) -> tuple[Nodes, Done]:
        """Split every node of a batch that can be split; the others are finished."""
        column, cut, part, parts = self.choice.choose(batch)
        order, begins, _ = steps.gather(part, parts, batch.starts, batch.stops, batch.rows.n)
        nodes = np.arange(len(batch))
        low, high = narrowed(
            self.columns, batch, nodes, column, cut, parts, order, begins, strict=self._strict
        )
        # A node of one part was not split, and is a group; the parts of others are nodes from here
        # on, of rows that are laid out anew so that each is a run again.
        final = np.repeat(parts == 1, parts)  # of each part, then of each row in the order of parts
        lengths = np.diff(begins)
        keep = np.repeat(final, lengths)
        done = Done(batch.place.take(order[keep]), lengths[final], low[final], high[final])
        live = order[~keep]
        stops = np.cumsum(lengths[~final])
        companions = batch.companions
        if companions is not None:
            kept = np.where(final, -1, np.cumsum(~final) - 1).astype(np.int32)
            companions = companions.carried(part, parts, kept, live)
        left = Nodes(
            batch.rows.take(live),
            batch.place.take(live),
            stops - lengths[~final],
            stops,
            low[~final],
            high[~final],
            companions,
        )
        return left, done

    def finished(self) -> tuple[Ints, Ints, Codes, Codes]:
        """The groups: rows in order, where each begins, and the cell of each.

        Groups are numbered by their first row, whoever was done first.
        """
        rows = np.concatenate([leaf.rows for leaf in self._done])
        lengths = np.concatenate([leaf.lengths for leaf in self._done])
        low = np.concatenate([leaf.low for leaf in self._done])
        high = np.concatenate([leaf.high for leaf in self._done])
        begins = offsets_of(lengths)
        # Batches end in any order, and within a group rows are in the order of its last split: the
        # least row is what a group has whoever finished it.
        ranked = np.argsort(np.minimum.reduceat(rows, begins[:-1]))
        ends, places = taken_rows(begins, ranked)
        return rows.take(places), ends, low[ranked], high[ranked]
