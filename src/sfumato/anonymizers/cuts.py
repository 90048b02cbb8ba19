"""Compiled: every cut of a node that is no median, and what a split tells about a target."""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from sfumato.counts.contingency import Ints
from sfumato.schema.domain import Codes


@nb.njit(cache=True, nogil=True)
def all_cuts(
    codes: Codes, n: Ints, starts: Ints, stops: Ints, nested: Codes, least: int, tried: Codes
) -> tuple[Ints, Codes, Codes, Ints]:
    """Every other cut of ordered columns that leaves `least` people on both sides.

    Returns node, column, cut and how far from half it is; `tried[node, column]` is left out.
    """
    node_of = [np.int64(0) for _ in range(0)]
    column_of = [np.int32(0) for _ in range(0)]
    cut_of = [np.int32(0) for _ in range(0)]
    away_of = [np.int64(0) for _ in range(0)]
    for node in range(len(starts)):
        start, stop = starts[node], stops[node]
        everybody = n[start:stop].sum()
        if everybody < 2 * least:
            continue
        for column in range(codes.shape[1]):
            if nested[column] != 0:
                continue
            order = np.argsort(codes[start:stop, column])
            left = 0
            for place in range(len(order) - 1):
                row = start + order[place]
                left += n[row]
                code = codes[row, column]
                if code == codes[start + order[place + 1], column] or code == tried[node, column]:
                    continue
                if left >= least and everybody - left >= least:
                    node_of.append(np.int64(node))
                    column_of.append(code * 0 + np.int32(column))
                    cut_of.append(code)
                    away_of.append(abs(2 * left - everybody))
    return (
        np.array(node_of, np.int64),
        np.array(column_of, np.int32),
        np.array(cut_of, np.int32),
        np.array(away_of, np.int64),
    )


@nb.njit(cache=True, nogil=True)
def entropy_gain(
    part: Codes, parts: Codes, starts: Ints, stops: Ints, n: Ints, target: Codes, width: int
) -> npt.NDArray[np.float64]:
    """How much a split would tell about a target column, in nats per person."""
    gains = np.zeros(len(starts))
    for node in range(len(starts)):
        if parts[node] < 2:
            gains[node] = -1.0
            continue
        table = np.zeros((parts[node], width))
        for row in range(starts[node], stops[node]):
            table[part[row], target[row]] += n[row]
        everybody = table.sum()
        whole = table.sum(axis=0)
        for value in range(width):
            if whole[value] > 0:
                gains[node] -= whole[value] / everybody * np.log(whole[value] / everybody)
        for one in range(parts[node]):
            people = table[one].sum()
            for value in range(width):
                having = table[one, value]
                if having > 0:
                    gains[node] += having / everybody * np.log(having / people)
    return gains
