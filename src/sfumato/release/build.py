"""From a placement and descriptions to a Release: groups merged, counted, referenced."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.counts.counts import Counts
from sfumato.numbers import Ints
from sfumato.release.description import Description
from sfumato.release.groups import Groups
from sfumato.release.made import Findings, Made, MadeHere, Placement, ReadFrom
from sfumato.release.release import Release, several_groups, standing_notes
from sfumato.release.several_groups import SeveralGroups
from sfumato.release.summing import group_counts, references


def groups_of(placement: Placement, groups: Ints, total: int) -> dict[str, Groups]:
    """Counts per attribute of the published groups (`groups` < 0 is suppressed)."""
    kept = groups >= 0
    counts, n = placement.counts, placement.n[kept]
    # Only sensitive values are summed: the codes of millions of tuples need not be copied.
    pieces = Counts(
        quasi=(),
        sensitive=counts.sensitive,
        codes=np.zeros((0, len(n)), dtype=np.int32),
        values=counts.values[:, placement.tuples[kept]],
        n=n,
        protect=counts.protect and (counts.protect[0], counts.protect[1][placement.tuples[kept]]),
    )
    if not pieces.sensitive:
        return {"": group_counts(pieces, groups[kept], total, None)}
    known = references(placement.counts)
    return {
        attribute.name: group_counts(pieces, groups[kept], total, place, known[attribute.name])
        for place, attribute in enumerate(pieces.sensitive)
    }


def build_release(
    placement: Placement,
    described: Description,
    findings: Findings,
    *,
    seed: int = 0,
    disjoint: bool | None = None,
) -> Release:
    """The release an anonymizer made; equal published descriptions become one group."""
    return _counted(
        placement, described, lambda placed: MadeHere(placed, findings, seed), disjoint=disjoint
    )


def count_release(
    placement: Placement, described: Description, *, disjoint: bool | None = None
) -> Release:
    """The release of these groups as somebody reads it, however it was made."""
    return _counted(placement, described, ReadFrom, disjoint=disjoint)


def _counted(
    placement: Placement,
    described: Description,
    made: Callable[[Placement], Made],
    *,
    disjoint: bool | None,
) -> Release:
    if (regions := described.each_region) is not None:
        number, first = regions.equal_descriptions()
        if len(first) < len(described):
            placement = placement.renumbered(number)
            described = described.take(first)
    table = placement.table
    population = None
    counts = placement.counts
    if counts.weights is not None:
        kept = placement.groups >= 0
        share = placement.n[kept] / counts.n[placement.tuples[kept]]
        weights = counts.weights[placement.tuples[kept]] * share
        summed = np.bincount(placement.groups[kept], weights=weights, minlength=len(described))
        population = summed.astype(np.float64)
    return Release(
        schema=table.schema,
        counted_groups=groups_of(placement, placement.groups, len(described)),
        regions=described,
        suppressed=placement.suppressed,
        disjoint=described.disjoint() if disjoint is None else disjoint,
        population=population,
        label=f"release of {table.source.label}",
        notes=standing_notes(table),
        made=made(placement),
        several=_several(placement),
    )


def _several(placement: Placement) -> SeveralGroups | None:
    """Who is in several groups, where a tuple is whole in one."""
    if not placement.counts.extra_memberships:
        return None
    group = np.full(len(placement.counts), -1, dtype=np.int64)
    group[placement.tuples] = placement.groups
    return several_groups(placement.counts, group)
