"""People of another release, as far as it tells who they are: who may fit a group, and who must.

A release about the population, or an earlier one, publishes regions instead of values. Somebody
published with a region *must* fit a group whose region contains it, and *may* fit one whose region
it meets. Whoever needs candidates counts those who must fit, the fewest there can be; whoever has
formed an opinion about the people of a group formed it from those who may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sfumato.errors import InputError, name_some
from sfumato.numbers import Ints, run_places
from sfumato.release.description import Regions
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.schema.region import Region, contains_region, overlaps

_AT_ONCE = 1 << 22  # pairs of groups compared at once


def people_surely_inside(regions: Regions, outside: Release) -> Ints:
    """How many people of a release are published with regions inside each group's."""
    theirs = _regions(outside)
    missing = [column for column in regions.columns if column not in theirs.columns]
    if missing:
        raise InputError(
            f"the population {outside.label} lacks quasi-identifiers of the release: "
            f"{name_some(missing)}"
        )
    total = np.zeros(len(regions), dtype=np.int64)
    for group, other in _pairs(regions, theirs, contains_region):
        np.add.at(total, group, outside.groups.sizes[other])
    return total


def people_maybe_inside(regions: Regions, outside: Release, groups: Groups) -> Ints:
    """How many people of an earlier release may fit each group: a row by group, by value.

    `groups` are the earlier release's, about the attribute that is asked for. Columns that it does
    not publish rule nobody out.
    """
    theirs = _regions(outside)
    if not any(column in theirs.columns for column in regions.columns):
        raise InputError(
            f"{outside.label} has none of the quasi-identifiers {name_some(regions.columns)}"
        )
    total = np.zeros(len(regions) * groups.width, dtype=np.int64)
    for group, other in _pairs(regions, theirs, overlaps):
        many = groups.distinct[other]
        stored = run_places(groups.indptr[other], many)
        key = np.repeat(group, many) * groups.width + groups.indices[stored]
        np.add.at(total, key, groups.data[stored].astype(np.int64))
    return total.reshape(len(regions), groups.width)


def _regions(outside: Release) -> Regions:
    outside.refuse_wildcards()
    if outside.regions.exact:
        raise InputError(f"{outside.label} is bucketized and shows no regions to compare")
    return outside.regions.require_regions()


def _pairs(
    ours: Regions, theirs: Regions, fit: Callable[[Region, Region], bool]
) -> Iterator[tuple[Ints, Ints]]:
    """The pairs of groups that fit in every column both have, some of ours at a time."""
    columns = []
    for place, name in enumerate(ours.columns):
        if name in theirs.columns:
            at = theirs.columns.index(name)
            mine, my = np.unique(ours.codes[place], return_inverse=True)
            other, their = np.unique(theirs.codes[at], return_inverse=True)
            parts = [theirs.parts[at][part] for part in other.tolist()]
            fits = [fit(ours.parts[place][one], part) for one in mine.tolist() for part in parts]
            columns.append((np.array(fits, bool).reshape(len(mine), len(other)), my, their))
    step = max(1, _AT_ONCE // max(len(theirs), 1))
    for start in range(0, len(ours), step):
        some = np.arange(start, min(start + step, len(ours)))
        both = np.ones((len(some), len(theirs)), dtype=bool)
        for table, my, their in columns:
            both &= table[my[some][:, None], their]
        group, other = np.nonzero(both)
        yield some[group], other
