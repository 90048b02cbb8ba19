"""A published file larger than memory: equal groups told once, as of a table that stands as it is.

Groups are told apart by their texts, so two texts of one region cannot be put together here.

Stands apart: releases larger than memory; reading the others does not need it.
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.counts.stored import StoredCounts
from sfumato.errors import ResourceError
from sfumato.release.description import Examples, Regions
from sfumato.release.read.cells import Cells, shown_parts
from sfumato.release.release import Release, as_it_stands
from sfumato.table.load import Table


def large_release(
    table: Table, stored: StoredCounts, columns: list[Cells], *, wildcard: bool
) -> tuple[Release, int]:
    """The release, and how many of its people are published with nothing told of them."""
    several = [cells.twice for cells in columns if cells.twice is not None]
    if wildcard or several:
        why = f"a region written as {' and as '.join(map(repr, several[0]))}" if several else ""
        raise ResourceError(
            f"{table.source.label} is larger than memory, and {why or 'wildcard matching'} puts "
            "groups together, which is done in memory; raise the memory limit"
        )
    release = as_it_stands(table)
    shown = release.regions
    assert isinstance(shown, Examples)
    regions = Regions(
        shown.columns,
        tuple(cells.parts for cells in columns),
        shown_parts(columns, shown.shown.codes),
    )
    hidden = [
        f"q{place} IN ({', '.join(map(str, cells.hidden)) or 'NULL'})"
        for place, cells in enumerate(columns)
    ]
    # Whether groups overlap is asked of all of them; here is one of each kind.
    told = replace(release, regions=Examples(regions), disjoint=False)
    return told, stored.totals(" AND ".join(hidden)).memberships
