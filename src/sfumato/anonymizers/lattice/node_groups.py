"""The groups of a lattice node as criteria see them, and what they would publish."""

from __future__ import annotations

import numpy as np

from sfumato.counts.counts import Attribute
from sfumato.counts.roll_up import Rolled
from sfumato.criteria.base import Bools
from sfumato.release.groups import Floats, Groups
from sfumato.release.lists import Lists
from sfumato.release.membership import Inside
from sfumato.release.regions import Regions
from sfumato.release.summing import protected_by


def sized_groups(node: Rolled) -> Groups:
    """Sizes alone, for criteria that read no values."""
    empty = np.zeros(len(node) + 1, dtype=np.int64)
    nothing = np.zeros(0, dtype=np.int32)
    groups = Groups.from_sparse(empty, nothing, empty[:0], 0, sizes=node.sizes)
    groups.times = node.times
    return groups


def valued_groups(node: Rolled, place: int, attribute: Attribute, reference: Floats) -> Groups:
    """By the values of the sensitive attribute at this place."""
    cells, lists = node.cells[place], None
    if attribute.sets is not None:
        assert cells.lists is not None
        by_list = cells.lists
        lists = Lists(by_list.indptr, by_list.indices, by_list.data, attribute.sets)
    groups = Groups.from_sparse(
        cells.indptr,
        cells.indices,
        cells.data,
        cells.width,
        sizes=node.sizes,
        reference=reference,
        domain=attribute.domain,
        case=attribute.case,
        lists=lists,
    )
    groups.times = node.times
    return groups


def with_needs(node: Rolled, groups: Groups, needs: frozenset[str]) -> Groups:
    """With what criteria need beyond counts: regions, weights, members, protection."""
    if not needs:
        return groups
    counts = node.counts
    assert counts is not None
    in_base, _ = counts.group_of
    of_tuple = node.of_base()[in_base].astype(np.int64)
    if "protect" in needs:
        groups.protected = protected_by(counts.protect, of_tuple, len(node))
    if "members" in needs:
        order = np.argsort(of_tuple, kind="stable")
        begins = np.searchsorted(of_tuple[order], np.arange(len(node) + 1))
        groups.inside = Inside(counts, begins, order, counts.n[order])
    if "regions" not in needs:
        return groups
    population = None
    if counts.weights is not None:
        summed = np.bincount(of_tuple, counts.weights, minlength=len(node))
        population = summed.astype(np.float64)
    return groups.described(node_regions(node, np.ones(len(node), dtype=bool)), population)


def node_regions(node: Rolled, kept: Bools) -> Regions:
    """What the kept groups publish."""
    levels = node.steps.levels
    return Regions(
        columns=tuple(one.domain.name for one in levels),
        parts=tuple(one[level].regions for one, level in zip(levels, node.levels, strict=True)),
        codes=node.codes()[:, kept],
    )
