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

    A part holds the rows `order[begins[p]:begins[p + 1]]` of the batch. A cell that was cut takes
    in NULL where somebody in it has it (`splits.py` says how its upper bound tells that).
    """
    of_node = np.repeat(np.arange(len(nodes)), parts)
    low, high = batch.low[nodes[of_node]], batch.high[nodes[of_node]]
    nodes_split = cut[of_node] != splits.NONE
    which = column[of_node]
    first = batch.rows.codes[order[begins[:-1]], which]
    left = np.append(True, of_node[1:] != of_node[:-1])
    for one in range(len(columns)):
        here = np.flatnonzero(nodes_split & (which == one))
        if not len(here):
            continue
        if columns.nested[one]:
            level = cut[of_node[here]]
            base = columns.at[one] + level.astype(np.int64) * int(columns.nested[one])
            low[here, one], high[here, one] = level, columns.labels[base + first[here]]
            continue
        last, codes = int(columns.last[one]), batch.rows.codes[order, one]
        where = cut[of_node]
        if last >= 0:
            where = values_up_to(where, last)
            high[here, one] = np.minimum(values_up_to(high[here, one], last), last)
        right = here[~left[here]]
        # NULL is cut off in strict mode and in relaxed mode alike.
        clean = right if strict else right[where[right] == last]
        low[clean, one] = where[clean] + 1
        high[clean - 1, one] = np.minimum(where[clean], high[clean - 1, one])
        halved = np.setdiff1d(right, clean, assume_unique=True)
        if len(halved):
            valued = codes if last < 0 else np.where(codes > last, -1, codes)
            least = np.minimum.reduceat(codes, begins[:-1])
            most = np.maximum.reduceat(valued, begins[:-1])
            # The right part begins where the left one ends, which may be in its last value.
            low[halved, one] = np.minimum(least[halved], most[halved - 1] + 1)
            high[halved - 1, one] = most[halved - 1]
        if last >= 0:
            lacking = here[np.maximum.reduceat(codes, begins[:-1])[here] > last]
            reached = high[lacking, one]
            beside = splits.with_null(reached, last)
            high[lacking, one] = np.where(reached == last, last + 1, beside)
            off = right[where[right] == last]
            low[off, one] = high[off, one] = last + 1
    return low, high


def values_up_to(bounds: Codes, last: int) -> Codes:
    """The last code of a value that each bound takes in, of a column with NULL."""
    taken = np.where(bounds > last + 1, bounds - last - 2, bounds)
    return np.asarray(taken, dtype=np.int32)
