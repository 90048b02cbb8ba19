"""A table larger than memory, read as if it were published unchanged: equal groups told once.

Stands apart: groups of a release as kinds with multiplicities.
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.counts.stored import StoredCounts
from sfumato.release.build import references
from sfumato.release.description import Examples, Regions, Singletons
from sfumato.release.groups import Groups
from sfumato.release.release import Release, standing_notes
from sfumato.release.several_groups import SeveralGroups
from sfumato.release.summing import group_counts
from sfumato.table.load import Table


def kinds_as_they_stand(table: Table, stored: StoredCounts) -> Release:
    """One group of each kind stands for all of its kind (`Groups.multiplicity`).

    Descriptions are those of the one group; nothing can be told of regions, members or weights of
    the others, and what needs these is not judged.
    """
    found = stored.kinds()
    known = references(stored)
    total = len(found.multiplicity)
    made: dict[str, Groups] = {}
    for place, attribute in enumerate(stored.sensitive):
        made[attribute.name] = group_counts(
            found.counts, found.of, total, place, known[attribute.name]
        )
    if not made:
        made[""] = group_counts(found.counts, found.of, total, None)
    made = {
        name: groups.with_beside(replace(groups.beside, multiplicity=found.multiplicity))
        for name, groups in made.items()
    }
    regions = Regions(
        columns=tuple(domain.name for domain in stored.quasi),
        parts=tuple(Singletons(domain) for domain in stored.quasi),
        codes=found.codes,
    )
    notes = [
        "the table is larger than memory: groups that count the same are told once, by one of them"
    ]
    if stored.weighted:
        notes.append("survey weights are not read from a table larger than memory")
    return Release(
        table.schema,
        made,
        Examples(regions),
        label=table.source.label,
        notes=(*standing_notes(table), *notes),
        several=SeveralGroups(stored.people) if stored.extra_memberships else None,
    )
