"""From a table's counts to groups: sum the people of each group by sensitive value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.counts.counts import Attribute, Counts, TableCounts
from sfumato.numbers import Codes, Floats, Ints, run_places, sums_by
from sfumato.release.beside import Beside, Protected
from sfumato.release.groups import Groups
from sfumato.release.sparse import Lists, summed
from sfumato.release.unlinked import with_owners
from sfumato.schema.domain import Domain


def group_counts(
    counts: Counts,
    group: Ints,
    total: int,
    attribute: int | None,
    reference: Floats | None = None,
) -> Groups:
    """Sum a table's counts over `total` groups, for one sensitive attribute (or none)."""
    if counts.owner is not None:
        by_row = group_counts(replace(counts, owner=None), group, total, attribute, reference)
        return with_owners(by_row, counts, group, attribute, counts)
    sizes = sums_by(group, counts.n, total)
    if attribute is None:
        return Groups.of_sizes(sizes)
    described = counts.sensitive[attribute]
    row, code, n = spread(described, counts.values[attribute], group, counts.n)
    width = len(described.domain)
    lists = None
    if described.lists is not None:
        codes = counts.values[attribute]
        lists = Lists.of_people(group, total, codes, counts.n, described.lists)
    return Groups.from_sparse(
        *summed(row, code, n, total, width),
        width,
        sizes=None if described.sets is None else sizes,
        reference=reference,
        domain=described.domain,
        case=described.case,
        lists=lists,
        beside=Beside(protected=protected_by(counts.protect, group, total)),
    )


def protected_by(protect: tuple[Domain, Codes] | None, group: Ints, total: int) -> Protected | None:
    """The labels of the protect column, and whether each group has people of each.

    `protect` holds a label's code for every tuple, `group` the group it is in.
    """
    if protect is None:
        return None
    domain, codes = protect
    present = np.zeros((total, len(domain)), dtype=bool)
    present[group, codes] = True
    return domain.labels, present


def spread(
    attribute: Attribute, codes: npt.NDArray[np.integer[Any]], group: Ints, n: Ints
) -> tuple[Ints, Ints, Ints]:
    """(group, value, people) triples: a person with a set of values counts for each of them."""
    if attribute.sets is None:
        return group, codes.astype(np.int64), n
    offsets = attribute.sets.offsets
    length = np.diff(offsets)[codes]
    return (
        np.repeat(group, length),
        attribute.sets.members[run_places(offsets[codes], length)].astype(np.int64),
        np.repeat(n, length),
    )


def references(counts: TableCounts) -> dict[str, Floats]:
    """Each attribute's counts over the whole table: what priors refer to, whoever is suppressed."""
    weights = {}
    for place, attribute in enumerate(counts.sensitive):
        having, width = counts.by_value(place), len(attribute.domain)
        _, code, n = spread(attribute, np.arange(len(having)), np.arange(len(having)), having)
        weights[attribute.name] = np.bincount(code, n, minlength=width).astype(np.float64)
    return weights
