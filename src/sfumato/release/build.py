"""From an origin and descriptions to a Release: groups merged, counted, referenced."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.counts.counts import Counts
from sfumato.numbers import Ints
from sfumato.release.description import Description
from sfumato.release.groups import Groups
from sfumato.release.origin import Origin
from sfumato.release.release import Release, several_groups, standing_notes
from sfumato.release.several_groups import SeveralGroups
from sfumato.release.summing import group_counts, references


def groups_of(origin: Origin, groups: Ints, total: int) -> dict[str, Groups]:
    """Counts per attribute of the published groups (`groups` < 0 is suppressed)."""
    kept = groups >= 0
    counts, n = origin.counts, origin.n[kept]
    # Only sensitive values are summed: the codes of millions of tuples need not be copied.
    pieces = Counts(
        quasi=(),
        sensitive=counts.sensitive,
        codes=np.zeros((0, len(n)), dtype=np.int32),
        values=counts.values[:, origin.tuples[kept]],
        n=n,
        protect=counts.protect and (counts.protect[0], counts.protect[1][origin.tuples[kept]]),
    )
    if not pieces.sensitive:
        return {"": group_counts(pieces, groups[kept], total, None)}
    known = references(origin.counts)
    return {
        attribute.name: group_counts(pieces, groups[kept], total, place, known[attribute.name])
        for place, attribute in enumerate(pieces.sensitive)
    }


def build_release(
    origin: Origin,
    described: Description,
    *,
    disjoint: bool | None = None,
) -> Release:
    """The release of these groups; equal published descriptions become one group."""
    if (regions := described.each_region) is not None:
        number, first = regions.equal_descriptions()
        if len(first) < len(described):
            moved = np.where(origin.groups >= 0, number[origin.groups], -1)
            origin = replace(origin, groups=moved)
            described = described.take(first)
    table = origin.table
    population = None
    counts = origin.counts
    if counts.weights is not None:
        kept = origin.groups >= 0
        share = origin.n[kept] / counts.n[origin.tuples[kept]]
        weights = counts.weights[origin.tuples[kept]] * share
        summed = np.bincount(origin.groups[kept], weights=weights, minlength=len(described))
        population = summed.astype(np.float64)
    return Release(
        schema=table.schema,
        by_attribute=groups_of(origin, origin.groups, len(described)),
        regions=described,
        suppressed=origin.suppressed,
        disjoint=described.disjoint() if disjoint is None else disjoint,
        population=population,
        label=f"release of {table.source.label}",
        notes=standing_notes(table),
        origin=origin,
        several=_several(origin),
    )


def _several(origin: Origin) -> SeveralGroups | None:
    """Who is in several groups, where a tuple is whole in one."""
    if not origin.counts.extra_memberships:
        return None
    group = np.full(len(origin.counts), -1, dtype=np.int64)
    group[origin.tuples] = origin.groups
    return several_groups(origin.counts, group)
