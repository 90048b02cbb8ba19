"""The release of one node of a table larger than memory: groups here, people with the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.anonymizers.gather import Harvest
from sfumato.anonymizers.lattice.large_judge import HeldJudge
from sfumato.anonymizers.lattice.node_groups import node_regions
from sfumato.counts.node_tables import NodeTable
from sfumato.counts.stored import fresh
from sfumato.errors import ResourceError
from sfumato.release.release import Release

Levels = tuple[int, ...]
_COPIES = 3  # groups are kept, joined, and judged


def held_release(judge: HeldJudge, levels: Levels, search: dict[str, Any]) -> Release:
    """The good groups of a node, part by part; the rest is suppressed."""
    tables = judge.tables
    table, harvest = tables.at(levels), Harvest(judge.task, tables.finest.held)
    labels, groups, cells, suppressed = fresh("groups"), 0, 0, 0
    with judge.engine.aside():
        for node in judge.parts(table):
            bad, _, _ = judge.bad_groups(node, thoroughly=True)
            suppressed += node.people(bad)
            if bad.all():
                continue
            assert node.counts is not None
            group = judge.group_of_tuple(node, ~bad)
            kept = np.flatnonzero(group >= 0)
            described = node_regions(node, ~bad)
            _check_room(judge, table, groups + len(described), cells + len(kept))
            harvest.add(node.counts.take(kept), group[kept], described)
            if harvest.places:
                told = {f"q{place}": pa.array(row) for place, row in enumerate(described.codes)}
                told["g"] = pa.array(np.arange(groups, groups + len(described)))
                judge.engine.append(labels, pa.table(told))
            groups, cells = groups + len(described), cells + len(kept)
    if harvest.placed is not None:
        tables.place(levels, labels, harvest.placed)
        judge.engine.drop(labels)
    return harvest.release(search, suppressed)


def _check_room(judge: HeldJudge, table: NodeTable, groups: int, cells: int) -> None:
    """Refuse a node whose groups are too many even without the people in them."""
    held = table.held
    needed = cells * 12 * max(len(held.sensitive), 1) + groups * (4 * len(held.quasi) + 32)
    if needed * _COPIES > judge.engine.memory:
        names = zip(held.quasi, table.levels, strict=True)
        levels = ", ".join(f"{domain.name} {level}" for domain, level in names)
        raise ResourceError(
            f"the release of node ({levels}) has {groups:,} groups or more, too many for the "
            "memory limit; raise it, or give coarser hierarchies"
        )
