"""Who is inside each group: which of a table's distinct tuples, and how many people of each.

Private, like the placement it comes from; a bucketized release publishes it. Criteria that ask what
somebody could learn of a *person* need it, since people of one group differ in what else is known
about them.

And joint targets: several sensitive attributes read as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.counts.counts import Attribute, Counts, rank_rows
from sfumato.errors import InputError, SchemaError, did_you_mean
from sfumato.numbers import Codes
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.release.summing import group_counts
from sfumato.schema.domain import Domain

# Joint targets: several sensitive attributes of a release read as one, value by value together.

BETWEEN = " | "  # between the values of a joint one


def joint_groups(release: Release, names: Sequence[str]) -> Groups:
    """The groups of a release by the values that people have of several attributes together."""
    for name in names:
        if name not in release.schema.sensitive:
            raise SchemaError(
                f"{name!r} is not a sensitive column of this release; "
                f"{did_you_mean(name, release.schema.sensitive)}"
            )
    source = release.counted_from
    if source is None or release.regions.exact:
        raise InputError(
            f"{' and '.join(names)} cannot be judged together: the release tells of each alone"
        )
    source = source.in_memory("judging several columns together")
    counts = source.counts
    attribute, codes = joint_attribute(counts, [counts.attribute(name) for name in names])
    kept = source.groups >= 0
    nobody = np.zeros((0, 0), dtype=np.int32)
    pieces = Counts((), (attribute,), nobody, codes[None, source.tuples[kept]], source.n[kept])
    # A release that refers to published people alone says nothing of suppressed ones here either.
    alone = release.groups_for(names[0])
    whole = alone.reference.sum() > alone.data.sum()
    reference = np.bincount(codes, counts.n, len(attribute.domain)).astype(np.float64)
    groups = group_counts(
        pieces, source.groups[kept], len(release.regions), 0, reference if whole else None
    )
    return release.described(groups)


def joint_attribute(counts: Counts, places: Sequence[int]) -> tuple[Attribute, Codes]:
    """Several sensitive attributes as one, and the code of each tuple; a set is one value."""
    several = [counts.sensitive[place] for place in places]
    sizes = [len(one.domain) if one.sets is None else len(one.sets) for one in several]
    number, first = rank_rows(counts.values[list(places)], sizes)
    columns = [
        [label_of(one, int(code)) for code in counts.values[place][first]]
        for one, place in zip(several, places, strict=True)
    ]
    labels = tuple(BETWEEN.join(texts) for texts in zip(*columns, strict=True))
    name = BETWEEN.join(one.name for one in several)
    return Attribute(Domain(name, "categorical", labels)), number.astype(np.int32)


def label_of(attribute: Attribute, code: int) -> str:
    """A value as it is shown; a set with all its members."""
    if attribute.sets is None:
        return attribute.domain.labels[code]
    sets = attribute.sets
    members = sets.members[sets.offsets[code] : sets.offsets[code + 1]]
    return "{" + ", ".join(attribute.domain.labels[member] for member in members) + "}"


def with_inside(release: Release, groups: Groups) -> Groups:
    """Groups of a release with who is inside them.

    Where that is not known, regions say where people may be; centroids do not, and are left out.
    """
    known = replace(groups.beside, inside=release.inside())
    if known.inside is None and release.regions.centroids:
        known = replace(known, regions=None)
    return groups.with_beside(known)
