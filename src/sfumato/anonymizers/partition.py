"""Mondrian's search: a partition that is refined batch by batch, each batch level by level.

Large nodes are split first; as soon as nodes are small they are put into batches that fit the
processor's cache and finished there. Nodes are independent for group-scope criteria, so batching
changes nothing; for release-scope criteria the order of batches is part of the definition.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from sfumato.anonymizers import splits
from sfumato.anonymizers.cells import Columns
from sfumato.anonymizers.choice import Choice
from sfumato.anonymizers.rows import BATCH, Nodes, Rows, batches
from sfumato.counts.contingency import Ints
from sfumato.progress import Ticker
from sfumato.schema.domain import Codes

_ALONE = 100_000  # rows below which a second thread costs more than it brings


class Partition:
    """The state of a Mondrian search."""

    def __init__(self, choice: Choice, rows: Rows, *, strict: bool) -> None:
        self.choice, self.rows, self._strict = choice, rows, strict
        self.columns: Columns = choice.columns
        self._done: list[tuple[Ints, Ints, Codes, Codes]] = []
        self.splits = 0

    def split_all(self) -> None:
        """Split until no allowed split remains."""
        total = len(self.rows.n)
        root_low = np.zeros((1, len(self.columns)), dtype=np.int32)
        root_high = np.array([[len(one.domain) - 1 for one in self.columns.levels]], dtype=np.int32)
        for column, one in enumerate(self.columns.levels):
            if self.columns.nested[column]:
                root_low[0, column], root_high[0, column] = one.height - 1, 0
        everything = Nodes(
            self.rows, np.arange(total), np.array([0]), np.array([total]), root_low, root_high
        )
        waiting = [everything]
        threads = nb.get_num_threads()
        with Ticker("splitting groups", total) as ticker:
            while waiting:
                batch = waiting.pop()
                while len(batch):
                    before = len(batch.place)
                    nb.set_num_threads(1 if before < _ALONE else threads)
                    batch = self._refine(batch)
                    ticker.add(before - len(batch.place))
                    if len(batch) > 1 and len(batch.place) > BATCH:
                        waiting += list(batches(batch))[::-1]
                        break
        nb.set_num_threads(threads)

    def _refine(self, batch: Nodes) -> Nodes:
        """Split every node of a batch that can be split; the others are finished."""
        column, cut, part, parts = self.choice.choose(batch)
        order, begins, _ = splits.gather(part, parts, batch.starts, batch.stops, batch.rows.n)
        split = parts > 1
        self.splits += int(split.sum())
        of_node = np.repeat(np.arange(len(batch)), parts)
        low, high = batch.low[of_node], batch.high[of_node]
        self._narrow(batch, order, begins, of_node, column, cut, low, high)
        final = ~split[of_node]
        rows = batch.place[order]
        lengths = np.diff(begins)
        keep = np.repeat(final, lengths)
        self._done.append((rows[keep], lengths[final], low[final], high[final]))
        live = order[~keep]
        stops = np.cumsum(lengths[~final])
        return Nodes(
            batch.rows.take(live),
            batch.place[live],
            stops - lengths[~final],
            stops,
            low[~final],
            high[~final],
        )

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
                least = np.minimum.reduceat(codes, begins[:-1])[here]
                most = np.maximum.reduceat(codes, begins[:-1])[here]
                right = np.concatenate([[False], of_node[1:] == of_node[:-1]])[here]
                low[here[right], one] = least[right]
                high[here[~right], one] = most[~right]

    def finished(self) -> tuple[Ints, Ints, Codes, Codes]:
        """The groups: rows in order, where each begins, and the cell of each."""
        order = np.concatenate([rows for rows, *_ in self._done])
        lengths = np.concatenate([lengths for _, lengths, *_ in self._done])
        low = np.concatenate([low for *_, low, _ in self._done])
        high = np.concatenate([high for *_, high in self._done])
        begins = np.concatenate([[0], np.cumsum(lengths)])
        return order, begins, low, high
