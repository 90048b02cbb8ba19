"""The groups of a release that can decide how sure somebody becomes of one value.

What the closed forms read of a group is its shape: its people n, how many have the value, a, and
its other counts in descending order. Groups without the value never decide; of equal shapes one is
enough; and a shape that another is worse than in every way (no more people, no fewer with the
value, no more left when the same facts are known) is never the least of anything.

Of whole lists it is n, a, and c(l), the fewest lists that l facts leave, for every l (see
`whole_lists`): found once for each group, for the search is the long part.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.adversaries.skyline.breach import NEAR, Case, odds, odds_at
from sfumato.counts.counts import Ints
from sfumato.release.groups import Groups

_CELLS = 1 << 22  # numbers of shapes that are made at a time
_LARGEST = 1 << 31  # products of two counts must fit 64 bits


def deciding(groups: Groups, target: int, case: Case) -> Groups:
    """Groups of the shapes that decide, the target value being their first."""
    from sfumato.adversaries.skyline.passes import shapes

    having = groups.row[groups.indices == target]
    most = int(groups.distinct[having].max(initial=1)) - 1
    step = max(1, _CELLS // (most + 2))
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
        case=case if case != "lists" else None,
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
    # A worse one comes first: fewer people, then more with the value, then larger other counts,
    # or fewer lists left.
    keys = [-shapes[:, column] for column in range(shapes.shape[1] - 1, 0, -1)]
    if case == "lists":
        keys[:-1] = [-key for key in keys[:-1]]
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
    if case == "lists":
        shares = one[2:] <= others[:, 2:]
    elif case == "set":
        # Shares of people, value by value: their products then compare alike.
        shares = one[2:] * others[:, :1] >= others[:, 2:] * one[0]
    else:
        taken, theirs = np.cumsum(one[2:]), np.cumsum(others[:, 2:], axis=1)
        if case == "single":
            taken, theirs = taken - one[0] + one[1], theirs - others[:, :1] + others[:, 1:2]
        shares = taken >= theirs
    return np.asarray(found & shares.all(axis=1))


@dataclass(frozen=True)
class ListShapes:
    """The shapes that decide of whole lists, rows of n, a, c(0), c(1), ...; l beyond is the last.

    `least` by the least that c(l) can be, `reached` by the facts that were found.
    """

    least: Ints
    reached: Ints
    occurring: int  # facts beyond the values that occur beside this one change nothing

    @classmethod
    def of(cls, groups: Groups, target: int, most: int | None = None) -> ListShapes:
        """Of all groups that have the value, up to `most` facts."""
        from sfumato.adversaries.skyline.whole_lists import MOST_LOOKS, spared_lists, stored

        having = groups.row[groups.indices == target]
        values = int(groups.distinct[having].max(initial=1))
        facts = np.arange(values if most is None else min(values, most + 1))
        step = max(1, _CELLS // (len(facts) + 2))
        kept: tuple[list[Ints], list[Ints]] = ([], [])
        for start in range(0, len(having), step):
            some = having[start : start + step]
            least, reached = spared_lists(stored(groups), some, target, facts, MOST_LOOKS)
            # More facts never leave more: what is known of one number bounds the next.
            least[:, 2:] = np.maximum.accumulate(least[:, :1:-1], axis=1)[:, ::-1]
            reached[:, 2:] = np.minimum.accumulate(reached[:, 2:], axis=1)
            for parts, made in zip(kept, (least, reached), strict=True):
                parts.append(_distinct(made))
        nothing = np.empty((0, 2 + len(facts)), np.int64)
        worst = [
            worst_shapes(_distinct(np.concatenate([nothing, *parts])), "lists") for parts in kept
        ]
        return cls(worst[0], worst[1], values - 1)

    def __len__(self) -> int:
        return len(self.least)

    def bounds(self, values: int) -> tuple[int, int, int]:
        """The largest l, k and m that could be safe; -1 where not even none."""
        people = max(int((self.least[:, 0] - self.least[:, 1]).min()) - 1, -1)
        return values, people, people

    def safe(self, point: tuple[int, int, int], confidence: Fraction) -> bool:
        """Whether she stays below a confidence, whatever her facts."""
        return _stays_below(self.least, point, confidence)

    def may_be_safe(self, point: tuple[int, int, int], confidence: Fraction) -> bool:
        """Whether none of the facts that were found take her to it."""
        return _stays_below(self.reached, point, confidence)


def _stays_below(shapes: Ints, point: tuple[int, int, int], confidence: Fraction) -> bool:
    from sfumato.adversaries.skyline.exact import compare_shapes
    from sfumato.adversaries.skyline.whole_lists import shape_factors

    facts, k, m = point
    some = shapes[:, [0, 1, 2 + min(facts, shapes.shape[1] - 3)]]
    found = shape_factors(some, k, m)
    least, bound = found.min(axis=0), odds_at(confidence)
    against, limit = float(odds(least)), float(bound)
    if abs(against - limit) > NEAR * limit:
        return against > limit
    near = {factor: some[found[:, factor] <= least[factor] * (1 + NEAR)] for factor in range(5)}
    sign = compare_shapes(near, k, m, "lists", bound)
    return sign is not None and sign > 0
