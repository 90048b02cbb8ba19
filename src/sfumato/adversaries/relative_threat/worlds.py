"""The exact posterior of small bucketized releases: every way of dealing the values, weighed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import factorial, prod

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.relative_threat.bucketized import Bucketized
from sfumato.adversaries.relative_threat.buckets import Buckets
from sfumato.counts.counts import Ints

Floats = npt.NDArray[np.float64]
MOST = 4_096
_ROOM = 1 << 24  # counts of all worlds together


def every_world(buckets: Buckets) -> Bucketized | None:
    """Beliefs from all worlds; None where there are too many of them."""
    groups = buckets.groups
    many = 1
    for g in range(len(groups)):
        counts = groups.data[groups.indptr[g] : groups.indptr[g + 1]].tolist()
        if sum(counts) > 12:
            return None
        many *= factorial(sum(counts)) // prod(factorial(n) for n in counts)
        if many > MOST or many * len(buckets.start) > _ROOM:
            return None
    dealt = [
        _ways(groups.data[groups.indptr[g] : groups.indptr[g + 1]]) for g in range(len(groups))
    ]
    place = buckets.place
    group = np.repeat(np.arange(len(groups)), groups.sizes)
    row = (
        buckets.slot_begins[group]
        + (buckets.member - buckets.member_begins[group]) * groups.distinct[group]
    )
    kept = np.empty((many, len(buckets.start)))
    chances = np.zeros((many, int(buckets.slot_begins[-1])))
    logs = np.zeros(many)
    for number, ways in enumerate(product(*dealt)):
        has = np.concatenate(ways)
        s = groups.indices[groups.indptr[group] + has].astype(np.int64)
        b = buckets.start.copy()
        for person in range(len(has)):
            for at in (place[person] + s[person]).tolist():
                logs[number] += np.log(b[at])
                b[at] += 1
        kept[number] = b
        np.add.at(chances[number], row + has, 1.0)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return Bucketized(buckets, (weights @ chances)[None], kept, 1, weights)


def _ways(counts: Ints) -> list[Ints]:
    """Every way of dealing values with these counts to so many people."""

    def deal(left: list[int], size: int) -> Iterator[list[int]]:
        if size == 0:
            yield []
        for value, n in enumerate(left):
            if n:
                rest = [*left[:value], n - 1, *left[value + 1 :]]
                for others in deal(rest, size - 1):
                    yield [value, *others]

    return [np.array(way, dtype=np.int64) for way in deal(counts.tolist(), int(counts.sum()))]
