"""Who is inside each group: which of a table's distinct tuples, and how many people of each.

Private, like the origin it comes from; a bucketized release publishes it. Criteria that ask what
somebody could learn of a *person* need it, since people of one group differ in what else is known
about them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.counts.counts import Counts
from sfumato.release.beside import Inside
from sfumato.release.groups import Groups
from sfumato.release.release import Release


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
    members = release.regions.buckets
    if members is None:
        return None
    nothing = np.zeros((0, members.codes.shape[1]), dtype=np.int32)
    counts = Counts(members.domains, (), members.codes, nothing, members.n)
    return Inside(counts, members.indptr, np.arange(len(counts)), members.n)


def with_inside(release: Release, groups: Groups) -> Groups:
    """Groups of a release with who is inside them.

    Where that is not known, regions say where people may be; centroids do not, and are left out.
    """
    known = replace(groups.beside, inside=inside_of(release))
    if known.inside is None and release.regions.centroids:
        known = replace(known, regions=None)
    return groups.with_beside(known)
