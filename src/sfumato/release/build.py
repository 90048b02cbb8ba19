"""From a placement and descriptions to a Release: groups merged, counted, referenced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeGuard

import numpy as np

from sfumato.counts.counts import Attribute, Counts, rank_rows
from sfumato.errors import InputError, PolicyError, SchemaError, did_you_mean, quoted
from sfumato.numbers import Codes, Ints
from sfumato.release.beside import SeveralGroups
from sfumato.release.description import Description
from sfumato.release.groups import Groups
from sfumato.release.made import Findings, Made, MadeHere, Placement, ReadFrom
from sfumato.release.release import (
    Release,
    missing_weights_notes,
    several_groups,
    standing_notes,
)
from sfumato.release.summing import group_counts, references
from sfumato.release.unlinked import owners_unknown, with_owners
from sfumato.schema.domain import Domain

# -- joint targets: several sensitive attributes of a release read as one, value by value ----------

BETWEEN = " | "  # between the values of a joint one


def checked_joint(subject: str, joint: object, sensitive: str | None) -> tuple[str, ...]:
    """The columns that a criterion takes for one; refused where they cannot be one."""
    names = (joint,) if isinstance(joint, str) else tuple(joint) if _listed(joint) else None
    fine = names == () or (names is not None and len(names) > 1 and len(set(names)) == len(names))
    if names is None or not fine or (names and sensitive is not None):
        raise PolicyError(
            f"{subject}: joint = {quoted(joint)} is not allowed; it must list two or more "
            "different sensitive columns, and sensitive must be left out"
        )
    return names


def _listed(joint: object) -> TypeGuard[Sequence[str]]:
    return isinstance(joint, list | tuple) and all(isinstance(name, str) for name in joint)


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


def lost_together(release: Release) -> str:
    """Why several columns cannot be judged as one beside the whole table; empty where they can."""
    groups = release.groups
    known = isinstance(release.made, ReadFrom) and groups.reference.sum() > groups.data.sum()
    if not known:
        return ""
    return (
        "of suppressed people it is kept what they have of each column, not of several together; "
        "judge the release as it is made"
    )


def joint_attribute(counts: Counts, places: Sequence[int]) -> tuple[Attribute, Codes]:
    """Several sensitive attributes as one, and the code of each tuple; a set is one value."""
    several = [counts.sensitive[place] for place in places]
    sizes = [len(column.domain) if column.sets is None else len(column.sets) for column in several]
    number, first = rank_rows(counts.values[list(places)], sizes)
    columns = [
        [label_of(attribute, int(code)) for code in counts.values[place][first]]
        for attribute, place in zip(several, places, strict=True)
    ]
    labels = tuple(BETWEEN.join(texts) for texts in zip(*columns, strict=True))
    name = BETWEEN.join(column.name for column in several)
    return Attribute(Domain(name, "categorical", labels)), number.astype(np.int32)


def label_of(attribute: Attribute, code: int) -> str:
    """A value as it is shown; a set with all its members."""
    if attribute.sets is None:
        return attribute.domain.labels[code]
    sets = attribute.sets
    members = sets.members[sets.offsets[code] : sets.offsets[code + 1]]
    return "{" + ", ".join(attribute.domain.labels[member] for member in members) + "}"


def with_inside(
    release: Release, groups: Groups, earlier: Sequence[Release] | None = None
) -> Groups:
    """Groups of a release with who is inside them.

    Whoever knows of people but in which groups of `earlier` releases they are is told those who
    stand for others. Where nothing is known, regions say where people may be; centroids do not, and
    are left out.
    """
    inside, made = release.inside(), release.made
    some = made.representatives if isinstance(made, ReadFrom) else None
    if inside is None and some is not None and earlier is not None:
        inside = some.beside(earlier)
    known = replace(groups.beside, inside=inside)
    if known.inside is None and release.regions.centroids:
        known = replace(known, regions=None)
    return groups.with_beside(known)


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
    summed: dict[str, Groups]
    if not pieces.sensitive:
        summed = {"": group_counts(pieces, groups[kept], total, None)}
    else:
        known = references(counts)
        summed = {
            attribute.name: group_counts(pieces, groups[kept], total, place, known[attribute.name])
            for place, attribute in enumerate(pieces.sensitive)
        }
    if counts.owner is None:
        return summed
    single_tuples, group = _each_in_one(counts, placement.tuples[kept], groups[kept])
    places: list[int | None] = list(range(len(counts.sensitive)))
    return {
        name: with_owners(by_row, single_tuples, group, place, counts)
        for (name, by_row), place in zip(summed.items(), places or [None], strict=True)
    }


def _each_in_one(counts: Counts, tuples: Ints, groups: Ints) -> tuple[Counts, Ints]:
    """Tuples that are each in one group at most, and in which, -1: in none.

    Those of the table, unless some are in several groups, as where a blank fits everybody.
    """
    if len(tuples) > len(counts) or np.bincount(tuples).max(initial=0) > 1:
        return counts.take(tuples), groups
    group = np.full(len(counts), -1, dtype=np.int64)
    group[tuples] = groups
    return counts, group


def build_release(
    placement: Placement,
    described: Description,
    findings: Findings,
    *,
    seed: int = 0,
    disjoint: bool | None = None,
) -> Release:
    """The release an anonymizer made; equal published descriptions become one group."""
    release = _counted(
        placement, described, lambda placed: MadeHere(placed, findings, seed), disjoint=disjoint
    )
    if (buckets := release.regions.buckets) is None:
        return release
    return replace(release, regions=buckets.with_ids(release.groups, seed))


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
    counts = placement.counts
    population = counts.population(placement.groups, len(described), placement.tuples, placement.n)
    several, suppressed = _several(placement), placement.suppressed
    notes: tuple[str, ...] = ()
    if counts.owner is not None:
        assert several is not None
        assert several.everybody is not None
        if suppressed:
            notes = (f"{suppressed:,} of {counts.memberships:,} rows are left out",)
        suppressed = counts.people - several.everybody
    left_out = placement.suppressed if counts.owner is not None else suppressed
    left_words = "rows that are left out" if counts.owner is not None else "suppressed"
    notes += missing_weights_notes(table.schema, left_out, left_words)
    return Release(
        schema=table.schema,
        counted_groups=groups_of(placement, placement.groups, len(described)),
        regions=described,
        suppressed=suppressed,
        disjoint=described.disjoint() if disjoint is None else disjoint,
        population=population,
        label=f"release of {table.source.label}",
        notes=(*standing_notes(table), *notes),
        made=made(placement),
        several=several,
    )


def _several(placement: Placement) -> SeveralGroups | None:
    """Who is in several groups, where a tuple is whole in one."""
    if not placement.counts.extra_memberships and placement.counts.owner is None:
        return None
    group = np.full(len(placement.counts), -1, dtype=np.int64)
    group[placement.tuples] = placement.groups
    return several_groups(placement.counts, group)


def with_unknown_owners(release: Release) -> Release:
    """Rows that were published one by one, and nobody here knows whose they are."""
    return replace(
        release,
        counted_groups={
            name: owners_unknown(groups) for name, groups in release.counted_groups.items()
        },
        several=SeveralGroups(None),
        notes=(*release.notes, ROWS_ALONE),
    )


ROWS_ALONE = (
    "rows are published one by one, and several may be one person's: sizes count rows, and nothing "
    "that asks for people can be said to hold"
)
