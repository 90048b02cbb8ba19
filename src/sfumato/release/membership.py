"""Who is inside each group: which of a table's distinct tuples, and how many people of each.

Private, like the origin it comes from; a bucketized release publishes it. Criteria that ask what
somebody could learn of a *person* need it, since people of one group differ in what else is known
about them.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np

from sfumato.counts.counts import Counts
from sfumato.numbers import Ints
from sfumato.release.groups import Groups
from sfumato.release.members import Members
from sfumato.release.release import Release


@dataclass(frozen=True)
class Inside:
    """Group g holds `n[i]` people of tuple `tuples[i]` of `counts`, i from indptr[g] on."""

    counts: Counts
    indptr: Ints
    tuples: Ints
    n: Ints

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def take(self, kept: Ints) -> Inside:
        """Some of the groups, by their positions."""
        many = np.diff(self.indptr)[kept]
        indptr = np.concatenate([[0], np.cumsum(many)])
        place = np.repeat(self.indptr[kept] - indptr[:-1], many) + np.arange(indptr[-1])
        return Inside(self.counts, indptr, self.tuples[place], self.n[place])

    def merge(self, number: Ints, total: int) -> Inside:
        """Groups put together: group g becomes part of group `number[g]` of `total`."""
        order = np.argsort(number, kind="stable")
        first = np.searchsorted(number[order], np.arange(total + 1)).astype(np.int64)
        return self.take(order).together(first)

    def together(self, first: Ints) -> Inside:
        """Runs of groups as one group each: those from first[i] up to first[i + 1]."""
        return Inside(self.counts, self.indptr[first], self.tuples, self.n)


def inside_of(release: Release) -> Inside | None:
    """Who is inside the groups of a release we made, or whose people are known otherwise."""
    if release.inside is not None:
        return release.inside
    if release.origin is not None:
        origin = release.origin
        order = np.argsort(origin.groups, kind="stable")
        order = order[origin.groups[order] >= 0]
        indptr = np.searchsorted(origin.groups[order], np.arange(len(release.groups) + 1))
        return Inside(origin.counts, indptr.astype(np.int64), origin.tuples[order], origin.n[order])
    members = release.regions
    if not isinstance(members, Members):
        return None
    nothing = np.zeros((0, members.codes.shape[1]), dtype=np.int32)
    counts = Counts(members.domains, (), members.codes, nothing, members.n)
    return Inside(counts, members.indptr, np.arange(len(counts)), members.n)


def with_inside(release: Release, groups: Groups) -> Groups:
    """Groups of a release with who is inside them.

    Where that is not known, regions say where people may be; centroids do not, and are left out.
    """
    known = copy.copy(groups)
    known.inside = inside_of(release)
    if known.inside is None and release.scheme == "microaggregated":
        known.regions = None
    return known
