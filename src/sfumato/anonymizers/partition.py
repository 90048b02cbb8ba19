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

from sfumato.anonymizers import rows, splits
from sfumato.anonymizers.cells import Columns
from sfumato.anonymizers.choice import Choice
from sfumato.anonymizers.rows import Nodes, Rows
from sfumato.counts.contingency import Ints
from sfumato.progress import Ticker
from sfumato.schema.domain import Codes


@dataclass(frozen=True)
class Done:
    """Finished groups: their rows one group after another, its length, and its cell."""

    rows: Ints
    lengths: Ints
    low: Codes
    high: Codes


class Partition:
    """The state of a Mondrian search."""

    def __init__(self, choice: Choice, given: Rows, *, strict: bool) -> None:
        self.choice, self.rows, self._strict = choice, given, strict
        self.columns: Columns = choice.columns
        self._done: list[Done] = []

    def split_all(self) -> None:
        """Split until no allowed split remains."""
        total = len(self.rows.n)
        root_low = np.zeros((1, len(self.columns)), dtype=np.int32)
        root_high = np.array([[len(one.domain) - 1 for one in self.columns.levels]], dtype=np.int32)
        for column, one in enumerate(self.columns.levels):
            if self.columns.nested[column]:
                root_low[0, column], root_high[0, column] = one.height - 1, 0
        everything = Nodes(
            self.rows,
            np.arange(total, dtype=np.int32),
            np.array([0]),
            np.array([total]),
            root_low,
            root_high,
        )
        waiting = [everything]
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
            if len(batch) > 1 and len(batch.place) > rows.BATCH:
                return done, list(rows.batches(batch))
        return done, []

    def _refine(self, batch: Nodes) -> tuple[Nodes, Done]:
        """Split every node of a batch that can be split; the others are finished."""
        column, cut, part, parts = self.choice.choose(batch)
        order, begins, _ = splits.gather(part, parts, batch.starts, batch.stops, batch.rows.n)
        of_node = np.repeat(np.arange(len(batch)), parts)
        low, high = batch.low[of_node], batch.high[of_node]
        self._narrow(batch, order, begins, of_node, column, cut, low, high)
        final = parts[of_node] == 1
        lengths = np.diff(begins)
        keep = np.repeat(final, lengths)
        done = Done(batch.place[order[keep]], lengths[final], low[final], high[final])
        live = order[~keep]
        stops = np.cumsum(lengths[~final])
        nodes = Nodes(
            batch.rows.take(live),
            batch.place[live],
            stops - lengths[~final],
            stops,
            low[~final],
            high[~final],
        )
        return nodes, done

    def _narrow(
        self,
        batch: Nodes,
        order: Ints,
        begins: Ints,
        of_node: Ints,
        column: Codes,
        cut: Codes,
        low: Codes,
        high: Codes,
    ) -> None:
        """The cells of the parts: bounds of the cut, or the label of the level it fell apart at."""
        nodes_split = cut[of_node] != splits.NONE
        which = column[of_node]
        first = batch.rows.codes[order[begins[:-1]], which]
        for one in range(len(self.columns)):
            here = np.flatnonzero(nodes_split & (which == one))
            if not len(here):
                continue
            if self.columns.nested[one]:
                size = int(self.columns.nested[one])
                level = cut[of_node[here]]
                base = self.columns.at[one] + level.astype(np.int64) * size
                low[here, one], high[here, one] = level, self.columns.labels[base + first[here]]
            elif self._strict:
                right = first[here] > cut[of_node[here]]
                low[here[right], one] = cut[of_node[here[right]]] + 1
                high[here[~right], one] = cut[of_node[here[~right]]]
            else:
                codes = batch.rows.codes[order, one]
                least = np.minimum.reduceat(codes, begins[:-1])
                most = np.maximum.reduceat(codes, begins[:-1])
                right = here[here > 0][of_node[here[here > 0]] == of_node[here[here > 0] - 1]]
                # The right part begins where the left one ends, which may be in its last value.
                low[right, one] = np.minimum(least[right], most[right - 1] + 1)
                high[right - 1, one] = most[right - 1]

    def finished(self) -> tuple[Ints, Ints, Codes, Codes]:
        """The groups: rows in order, where each begins, and the cell of each.

        Groups are numbered by their first row, whoever was done first.
        """
        rows = np.concatenate([one.rows for one in self._done])
        lengths = np.concatenate([one.lengths for one in self._done])
        low = np.concatenate([one.low for one in self._done])
        high = np.concatenate([one.high for one in self._done])
        begins = np.concatenate([[0], np.cumsum(lengths)])
        ranked = np.argsort(np.minimum.reduceat(rows, begins[:-1]))
        moved = lengths[ranked]
        ends = np.cumsum(moved)
        order = rows[np.repeat(begins[ranked] - (ends - moved), moved) + np.arange(len(rows))]
        return order, np.concatenate([[0], ends]), low[ranked], high[ranked]
