"""Wildcard matching: a suppressed or missing cell is compatible with everything (sdcMicro).

Tools that suppress single cells count so: a record with a missing age may be anybody's, so it
stands beside every record that agrees with it in the columns both show, and every such record
stands beside it. A group's size is then the number of people in all groups compatible with it (the
f_k of sdcMicro), and one person counts in several groups. People are counted by rows all the same:
`WildcardMatching` says how many are published with each group's own description.

Another tool's way of counting; a release is read without it unless somebody asks.
In releases of ours a missing value is a value, and `*` alone a blank.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sfumato.counts.counts import rank_rows
from sfumato.errors import ResourceError
from sfumato.numbers import Codes, Ints, run_places, sums_by
from sfumato.release.build import count_release, groups_of
from sfumato.release.description import Regions
from sfumato.release.made import Placement, ReadFrom, WildcardMatching
from sfumato.release.read.cells import says_nothing
from sfumato.release.release import Release, several_groups
from sfumato.schema.region import ValueSet

MOST_PAIRS = 100_000_000
_NO_VALUE = ValueSet(frozenset({None}))


WILDCARDS = (
    "wildcard matching: a suppressed or missing cell is compatible with everything, so groups "
    "share people"
)


def fitting_everybody(placement: Placement, regions: Regions, *, missing: bool) -> Release | None:
    """A release as it is read where a blank fits everybody; None where no blank joins groups.

    Each group counts the people of all groups compatible with it. `missing`: a missing value is
    a blank too, as in files whose makers blank cells so; in ours it is a value of its own.
    """
    pairs = compatible(regions, missing=missing)
    if len(pairs[0]) == len(regions):
        return None
    pieces, groups = spread(pairs, placement.groups)
    shared = replace(
        placement, tuples=placement.tuples[pieces], groups=groups, n=placement.n[pieces]
    )
    release = count_release(shared, regions, disjoint=False)
    everyone = groups_of(placement, np.zeros_like(placement.groups), 1)
    counted = {
        name: groups.with_beside(replace(groups.beside, everyone=everyone[name]))
        for name, groups in release.by_attribute.items()
    }
    group = np.full(len(placement.counts), -1, dtype=np.int64)
    group[placement.tuples] = placement.groups  # by the groups of their own descriptions
    own = sums_by(placement.groups, placement.n, len(regions))
    made = ReadFrom(shared, WildcardMatching(own))
    several = several_groups(placement.counts, group)
    return replace(release, counted_groups=counted, made=made, several=several)


def compatible(regions: Regions, *, missing: bool = True) -> tuple[Ints, Ints]:
    """All pairs (g, h) of compatible groups, each group with itself included.

    Groups are taken by which columns they leave open: two such sorts need comparing only in the
    columns both show, by one join each.
    """
    wild = np.zeros(regions.codes.shape, dtype=bool)
    for column, parts in enumerate(regions.parts):
        nothing = np.fromiter(
            (says_nothing(part) and (missing or part != _NO_VALUE) for part in parts),
            bool,
            len(parts),
        )
        wild[column] = nothing[regions.codes[column]]
    sorts, number = np.unique(wild, axis=1, return_inverse=True)
    groups = [np.flatnonzero(number.ravel() == sort) for sort in range(sorts.shape[1])]
    left: list[Ints] = []
    right: list[Ints] = []
    for left_sort, left_groups in enumerate(groups):
        for right_sort, right_groups in enumerate(groups):
            telling = np.flatnonzero(~sorts[:, left_sort] & ~sorts[:, right_sort])
            codes = regions.codes[telling][:, np.concatenate([left_groups, right_groups])]
            key = _key(codes, [len(regions.parts[column]) for column in telling])
            here, there = _equal(
                key[: len(left_groups)], key[len(left_groups) :], sum(map(len, left))
            )
            left.append(left_groups[here])
            right.append(right_groups[there])
    return np.concatenate(left), np.concatenate(right)


def _key(codes: Codes, sizes: list[int]) -> Ints:
    """One number per column of codes, equal for equal ones."""
    if math.prod(sizes) >= 1 << 62:
        return rank_rows(codes, sizes)[0]
    key = np.zeros(codes.shape[1], dtype=np.int64)
    for row, size in zip(codes, sizes, strict=True):
        key = key * size + row
    return key


def spread(pairs: tuple[Ints, Ints], group_of: Ints) -> tuple[Ints, Ints]:
    """Each tuple with every group it counts in: the groups compatible with its own."""
    left, right = pairs
    pair, tuples = _equal(right, group_of, 0)
    return tuples, left[pair]


def _equal(left: Ints, right: Ints, already: int) -> tuple[Ints, Ints]:
    """The positions of all equal pairs of two lists of numbers."""
    order = np.argsort(right, kind="stable")
    begin = np.searchsorted(right[order], left, "left")
    count = np.searchsorted(right[order], left, "right") - begin
    if int(count.sum()) + already > MOST_PAIRS:
        raise ResourceError(
            f"matching='wildcard': more than {MOST_PAIRS:,} pairs of groups are compatible; too "
            "many cells are suppressed to count them all, use matching='exact'"
        )
    return np.repeat(np.arange(len(left)), count), order[run_places(begin, count)]
