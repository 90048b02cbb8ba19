"""Mondrian's search: a partition that is refined batch by batch, each batch level by level.

Large nodes are split first; as soon as nodes are small they are put into batches that fit the
processor's cache and finished there, side by side on the cores there are. Nodes are independent for
group-scope criteria, so batching changes nothing; for release-scope criteria batches go in turn,
and their order is part of the definition.
"""

from __future__ import annotations

import os
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np

from sfumato.anonymizers.mondrian import nodes, splits
from sfumato.anonymizers.mondrian.cell_bounds import narrowed
from sfumato.anonymizers.mondrian.choose_split import Choice
from sfumato.anonymizers.mondrian.nodes import Nodes
from sfumato.anonymizers.mondrian.published_regions import Columns
from sfumato.numbers import Codes, Ints, offsets_of
from sfumato.progress import Ticker


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
                    ticker.add(sum(len(one.rows) for one in done))

    def _finish(self, batch: Nodes) -> tuple[list[Done], list[Nodes]]:
        """Split a batch to its end, or until it is better cut into smaller ones."""
        done = []
        while len(batch):
            batch, ended = self._refine(batch)
            done.append(ended)
            if len(batch) > 1 and len(batch.place) > nodes.BATCH:
                return done, list(nodes.batches(batch))
        return done, []

    def _refine(self, batch: Nodes) -> tuple[Nodes, Done]:
        """Split every node of a batch that can be split; the others are finished."""
        column, cut, part, parts = self.choice.choose(batch)
        order, begins, _ = splits.gather(part, parts, batch.starts, batch.stops, batch.rows.n)
        nodes = np.arange(len(batch))
        low, high = narrowed(
            self.columns, batch, nodes, column, cut, parts, order, begins, strict=self._strict
        )
        final = np.repeat(parts == 1, parts)
        lengths = np.diff(begins)
        keep = np.repeat(final, lengths)
        done = Done(batch.place[order[keep]], lengths[final], low[final], high[final])
        live = order[~keep]
        stops = np.cumsum(lengths[~final])
        left = Nodes(
            batch.rows.take(live),
            batch.place[live],
            stops - lengths[~final],
            stops,
            low[~final],
            high[~final],
        )
        return left, done

    def finished(self) -> tuple[Ints, Ints, Codes, Codes]:
        """The groups: rows in order, where each begins, and the cell of each.

        Groups are numbered by their first row, whoever was done first.
        """
        nodes = np.concatenate([one.rows for one in self._done])
        lengths = np.concatenate([one.lengths for one in self._done])
        low = np.concatenate([one.low for one in self._done])
        high = np.concatenate([one.high for one in self._done])
        begins = offsets_of(lengths)
        ranked = np.argsort(np.minimum.reduceat(nodes, begins[:-1]))
        moved = lengths[ranked]
        ends = np.cumsum(moved)
        order = nodes[np.repeat(begins[ranked] - (ends - moved), moved) + np.arange(len(nodes))]
        return order, np.concatenate([[0], ends]), low[ranked], high[ranked]
