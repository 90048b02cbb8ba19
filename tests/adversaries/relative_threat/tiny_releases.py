"""Small releases for the oracle: regions or buckets given as plain lists of codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np

import sfumato as sf
from sfumato.release.description import Buckets, Regions
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.schema.domain import Domain
from sfumato.schema.region import ValueSet
from tests.oracles.relative_oracle import Tuple

# A group: for each column the codes its region allows, and the count of each sensitive value.
Group = tuple[Sequence[Sequence[int]], Sequence[int]]
# A bucket: sensitive values, and the exact tuples of its people.
Bucket = tuple[Sequence[int], Sequence[Tuple]]


def schema_of(sizes: Sequence[int]) -> sf.Schema:
    names = [f"q{place}" for place in range(len(sizes))]
    return sf.Schema(
        quasi=names,
        sensitive="s",
        domains={name: values(size) for name, size in zip(names, sizes, strict=True)},
    )


def values(size: int) -> list[str]:
    return [f"v{code:04d}" for code in range(size)]


def generalized(groups: Sequence[Group], sizes: Sequence[int], width: int) -> Release:
    schema = schema_of(sizes)
    parts, codes = [], []
    for column, size in enumerate(sizes):
        index: dict[ValueSet, int] = {}
        labels = values(size)
        shown = [ValueSet(frozenset(labels[c] for c in allowed[column])) for allowed, _ in groups]
        codes.append([index.setdefault(region, len(index)) for region in shown])
        parts.append(tuple(index))
    regions = Regions(tuple(schema.quasi), tuple(parts), np.array(codes, dtype=np.int32))
    counts = Groups([counts for _, counts in groups], sensitive(width), attribute="s")
    return Release(schema, {"s": counts}, regions, disjoint=False)


def bucketized(buckets: Sequence[Bucket], sizes: Sequence[int], width: int) -> Release:
    schema = schema_of(sizes)
    domains = tuple(
        Domain(name, "ordered", tuple(values(size)))
        for name, size in zip(schema.quasi, sizes, strict=True)
    )
    indptr, codes, n = [0], [], []
    for _, people in buckets:
        for row, many in sorted(Counter(people).items()):
            codes.append(row)
            n.append(many)
        indptr.append(len(codes))
    members = Buckets(
        domains,
        np.array(indptr, dtype=np.int64),
        np.ascontiguousarray(np.array(codes, dtype=np.int32).T),
        np.array(n, dtype=np.int64),
    )
    counts = [[list(dealt).count(s) for s in range(width)] for dealt, _ in buckets]
    groups = Groups(counts, sensitive(width), attribute="s")
    return Release(schema, {"s": groups}, members, disjoint=False)


def sensitive(width: int) -> list[str]:
    return [f"s{code}" for code in range(width)]


def rows_of(groups: Sequence[Group]) -> list[tuple[int, Sequence[Sequence[int]]]]:
    return [
        (s, allowed) for allowed, counts in groups for s, n in enumerate(counts) for _ in range(n)
    ]


def everyone(sizes: Sequence[int]) -> list[Tuple]:
    return list(product(*(range(size) for size in sizes)))


def victim(row: Tuple) -> dict[str, str]:
    return {f"q{place}": f"v{code:04d}" for place, code in enumerate(row)}
