"""The cells of the parts a node falls into: bounds of the cut, or the label it fell apart at."""

from __future__ import annotations

import numpy as np

from sfumato.anonymizers.mondrian import splits
from sfumato.anonymizers.mondrian.nodes import Nodes, Rows
from sfumato.anonymizers.mondrian.published_regions import Columns
from sfumato.numbers import Codes, Ints


def outermost(columns: Columns) -> tuple[Codes, Codes]:
    """The cell that holds everybody."""
    low = np.zeros((1, len(columns)), dtype=np.int32)
    high = columns.sizes[None, :] - np.int32(1)
    for column, one in enumerate(columns.levels):
        if columns.nested[column]:
            low[0, column], high[0, column] = one.height - 1, 0
    return low, high


def everybody(columns: Columns, rows: Rows) -> Nodes:
    """The one node a search begins with."""
    low, high = outermost(columns)
    total = len(rows.n)
    place = np.arange(total, dtype=np.int64)
    return Nodes(rows, place, np.array([0]), np.array([total]), low, high)


def narrowed(
    columns: Columns,
    batch: Nodes,
    nodes: Ints,
    column: Codes,
    cut: Codes,
    parts: Codes,
    order: Ints,
    begins: Ints,
    *,
    strict: bool,
) -> tuple[Codes, Codes]:
    """Cells of all parts: node `nodes[i]` falls into `parts[i]` by `cut[i]` of `column[i]`.

    A part holds the rows `order[begins[p]:begins[p + 1]]` of the batch.
    """
    of_node = np.repeat(np.arange(len(nodes)), parts)
    low, high = batch.low[nodes[of_node]], batch.high[nodes[of_node]]
    nodes_split = cut[of_node] != splits.NONE
    which = column[of_node]
    first = batch.rows.codes[order[begins[:-1]], which]
    for one in range(len(columns)):
        here = np.flatnonzero(nodes_split & (which == one))
        if not len(here):
            continue
        if columns.nested[one]:
            level = cut[of_node[here]]
            base = columns.at[one] + level.astype(np.int64) * int(columns.nested[one])
            low[here, one], high[here, one] = level, columns.labels[base + first[here]]
            continue
        if columns.last[one] >= 0:  # nobody here has NULL, or it is cut off now
            values = here[cut[of_node[here]] < columns.last[one]]
            high[values, one] = np.minimum(high[values, one], columns.last[one])
        # NULL is cut off in strict mode and in relaxed mode alike.
        clean = here if strict else here[cut[of_node[here]] == columns.last[one]]
        right = first[clean] > cut[of_node[clean]]
        low[clean[right], one] = cut[of_node[clean[right]]] + 1
        high[clean[~right], one] = cut[of_node[clean[~right]]]
        here = np.setdiff1d(here, clean, assume_unique=True)
        if len(here):
            codes = batch.rows.codes[order, one]
            least = np.minimum.reduceat(codes, begins[:-1])
            most = np.maximum.reduceat(codes, begins[:-1])
            right = here[here > 0][of_node[here[here > 0]] == of_node[here[here > 0] - 1]]
            # The right part begins where the left one ends, which may be in its last value.
            low[right, one] = np.minimum(least[right], most[right - 1] + 1)
            high[right - 1, one] = most[right - 1]
    return low, high
