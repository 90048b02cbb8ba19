"""Splits of nodes that do not fit in memory, chosen from histograms.

To choose a split it is enough to know, column by column, how many people of a node have each value
of the column together with each sensitive value: extents, medians, what both sides of a cut hold.
So every node stands here with one run of rows for each column, in which the other columns are
silent, and the very code that chooses splits of rows chooses these.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.anonymizers.mondrian.choose_split import Choice, Spread
from sfumato.anonymizers.mondrian.nodes import Nodes, Rows
from sfumato.anonymizers.mondrian.published_regions import Columns
from sfumato.counts.counts import Counts
from sfumato.counts.stored import StoredCounts
from sfumato.numbers import Codes, Ints


class HistogramChoice(Choice):
    """Chooses among nodes that have a run of rows for each column, in the order of columns."""

    def runs(self, nodes: Ints, which: Codes) -> Ints:
        return nodes * len(self.columns) + which

    def every_run(self, nodes: Ints) -> Ints:
        width = len(self.columns)
        return np.repeat(nodes * width, width) + np.tile(np.arange(width), len(nodes))

    def owner(self, runs: Ints) -> Ints:
        return runs // len(self.columns)

    def spread(self, batch: Nodes) -> Spread:
        found = super().spread(batch)
        width = len(self.columns)
        shape = (len(batch) // width, width, width)
        own = np.arange(width)
        return Spread(
            found.low.reshape(shape)[:, own, own],
            found.high.reshape(shape)[:, own, own],
            found.tops.reshape(shape)[:, own, own],
            found.missing.reshape(shape)[:, own, own],
        )


def batch_of(
    stored: StoredCounts,
    found: pa.Table,
    columns: Columns,
    low: Codes,
    high: Codes,
    target_width: int,
) -> tuple[Counts, Nodes, Ints]:
    """Nodes 0, 1, ... with the cells `low`, `high` from their histograms; and tuples per row."""
    width = len(columns)
    codes = np.zeros((found.num_rows, width), dtype=np.int32)
    which = np.zeros(found.num_rows, dtype=np.int64)
    for column in range(width):
        shown = found.column(f"q{column}").combine_chunks()
        here = np.flatnonzero(shown.is_valid().to_numpy(zero_copy_only=False))
        codes[here, column] = columns.searched(column, shown.drop_null().to_numpy())
        which[here] = column
    counts = stored.made_of(found.drop_columns([f"q{column}" for column in range(width)]))
    run = found.column("node").to_numpy().astype(np.int64) * width + which
    # In the order of codes and values, whatever order the engine found them in.
    keys = [counts.n, *counts.values[::-1], codes[np.arange(len(run)), which], run]
    order = np.lexsort(keys)
    counts = counts.take(order)
    total = len(low) * width
    begins = np.searchsorted(run[order], np.arange(total + 1))
    target = np.zeros(0, dtype=np.int32)
    if "target" in found.schema.names:
        target = found.column("target").to_numpy().astype(np.int32)[order]
    rows = Rows(
        np.arange(len(order)),
        np.ascontiguousarray(codes[order]),
        counts.n,
        counts.values,
        target,
        target_width,
    )
    nodes = Nodes(
        rows,
        np.arange(len(order)),
        begins[:-1],
        begins[1:],
        np.repeat(low, width, axis=0),
        np.repeat(high, width, axis=0),
    )
    return counts, nodes, found.column("t").to_numpy().astype(np.int64)[order]
