"""The groups of a release that can decide how sure somebody becomes of one value.

What the closed forms read of a group is its shape: its people n, how many have the value, a, and
its other counts in descending order. Groups without the value never decide; of equal shapes one is
enough; and a shape that another is worse than in every way (no more people, no fewer with the
value, no more left when the same facts are known) is never the least of anything.
"""

from __future__ import annotations

import numpy as np

from sfumato.adversaries.skyline.breach import Case
from sfumato.counts.contingency import Ints
from sfumato.release.groups import Groups

_LARGEST = 1 << 31  # products of two counts must fit 64 bits


def deciding(groups: Groups, target: int, case: Case) -> Groups:
    """Groups of the shapes that decide, the target value being their first."""
    from sfumato.adversaries.skyline.passes import shapes

    having = groups.row[groups.indices == target]
    most = int(groups.distinct[having].max(initial=1)) - 1
    step = max(1, (1 << 22) // (most + 2))
    parts = [
        _distinct(
            shapes(
                groups.indptr,
                groups.indices,
                groups.data,
                groups.sizes,
                having[start : start + step],
                target,
                most,
            )
        )
        for start in range(0, len(having), step)
    ]
    found = _distinct(np.concatenate(parts)) if parts else np.empty((0, 2 + most), np.int64)
    kept = worst_shapes(found, case)
    rows, columns = np.nonzero(kept[:, 1:])
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(kept)))])
    return Groups.from_sparse(
        indptr.astype(np.int64),
        columns.astype(np.int32),
        kept[:, 1:][rows, columns],
        most + 1,
        sizes=np.ascontiguousarray(kept[:, 0]),
        case=None if case == "linked" else case,
    )


def _distinct(rows: Ints) -> Ints:
    """The different rows. By their bytes: a column each is slow where rows have thousands."""
    if len(rows) < 2:
        return rows
    rows = np.ascontiguousarray(rows)
    whole = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    return rows[np.unique(whole, return_index=True)[1]]


def worst_shapes(shapes: Ints, case: Case) -> Ints:
    """The shapes that no other one is worse than."""
    if len(shapes) < 2:
        return shapes
    # A worse one comes first: fewer people, then more with the value, then larger other counts.
    keys = [-shapes[:, column] for column in range(shapes.shape[1] - 1, 0, -1)]
    left = shapes[np.lexsort((*keys, shapes[:, 0]))]
    if int(left[:, 0].max()) > _LARGEST:
        return left
    kept: list[Ints] = []
    while len(left):
        first, left = left[0], left[1:]
        kept.append(first)
        left = left[~_worse(first, left, case)]
    return np.stack(kept)


def _worse(one: Ints, others: Ints, case: Case) -> Ints:
    """Which of the others never have a factor below this one's."""
    found = (one[0] <= others[:, 0]) & (one[1] >= others[:, 1])
    if case == "set":
        # Shares of people, value by value: their products then compare alike.
        shares = one[2:] * others[:, :1] >= others[:, 2:] * one[0]
    else:
        taken, theirs = np.cumsum(one[2:]), np.cumsum(others[:, 2:], axis=1)
        if case in ("single", "linked"):
            taken, theirs = taken - one[0] + one[1], theirs - others[:, :1] + others[:, 1:2]
        shares = taken >= theirs
    return np.asarray(found & shares.all(axis=1))
