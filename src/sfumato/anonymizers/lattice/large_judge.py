"""Nodes of a table larger than memory: judged from tables that the engine rolls up.

A node whose tuples fit is brought to memory and judged there. One that is too fine is judged part
by part: criteria of scope "group" look at each group alone, and sums over parts are all that the
simple utility measures need. Where criteria judge all groups together, or the engine is elsewhere
and counts should not travel, equal groups are told once (`StoredCounts.kinds`) and judged first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from sfumato.anonymizers.base import Task
from sfumato.anonymizers.gather import Harvest
from sfumato.anonymizers.lattice.nodes import PUBLISHES_NOBODY, Judge, Node, node_regions
from sfumato.counts.node_tables import NodeTable, NodeTables
from sfumato.counts.roll_up import Rolled
from sfumato.counts.stored import StoredCounts, TooManyKinds, fresh
from sfumato.errors import ResourceError
from sfumato.numbers import Bools, Ints
from sfumato.release.release import Release
from sfumato.utility.view import PublishedSums, View, dot

Levels = tuple[int, ...]


class StoredJudge(Judge):
    """Judges nodes of one task's lattice; `tables` are what the engine keeps of them."""

    def __init__(self, task: Task, stored: StoredCounts) -> None:
        for criterion in task.require:
            if "members" in criterion.needs:
                raise ResourceError(
                    f"{criterion.name} needs everybody's own values in memory, and the table is "
                    "larger than memory; raise the memory limit, or use a part of the rows"
                )
        if task.utility.reads_tuples:
            raise ResourceError(
                f"utility {task.utility.name!r} compares releases with everybody's own values, "
                "and the table is larger than memory; raise the memory limit, or name another "
                "utility, such as 'loss'"
            )
        super().__init__(task)
        self.engine = stored.engine
        self.tables = NodeTables(stored, self.steps)

    @contextmanager
    def node(self, levels: Levels) -> Iterator[Rolled]:
        """The groups of one node; equal ones are told once where there are too many."""
        table = self.tables.at(levels)
        if table.counts.fits:
            with self.brought(table) as rolled:
                yield rolled
            return
        kinds = self._kinds(table)
        with self.engine.yield_memory():
            yield kinds

    def close(self) -> None:
        self.tables.close()

    @contextmanager
    def brought(self, table: NodeTable) -> Iterator[Rolled]:
        """All groups of a node that fits, in memory; others can be rolled up from it."""
        with self.engine.yield_memory():
            (counts,) = self.tables.parts(table)
            yield self.rolled(counts, table.levels)

    def parts(self, table: NodeTable) -> Iterator[Rolled]:
        """The groups of a node, part by part; the engine should stand aside meanwhile."""
        for counts in self.tables.parts(table):
            yield self.rolled(counts, table.levels)

    def _kinds(self, table: NodeTable) -> Rolled:
        if "regions" in self.needs:
            raise ResourceError(
                f"node {table.levels} has {len(table):,} distinct tuples, too many for memory, and "
                "some criterion needs every group's own description; raise the memory limit, or "
                "give coarser hierarchies"
            )
        found = self.tables.kinds(table)
        counts = replace(found.counts, codes=found.codes[:, found.of])
        rolled = self.rolled(counts, table.levels)
        _, first = counts.group_of
        return replace(rolled, multiplicity=found.multiplicity[found.of[first]])

    def judge_levels(self, levels: Levels) -> Node:
        table = self.tables.at(levels)
        if table.counts.fits:
            with self.brought(table) as rolled:
                return self.judge(rolled)
        if self.task.by_release or not self.engine.embedded:
            node = self._by_kinds(table)
            if node is not None and not node.satisfied:
                return node
        return self._by_parts(table)

    def _by_kinds(self, table: NodeTable) -> Node | None:
        """Whether a node is safe; None if even one group of each kind is too many to tell."""
        try:
            kinds = self._kinds(table)
        except TooManyKinds:
            if self.task.by_release:
                raise
            return None
        with self.engine.yield_memory():
            return self.outcome(kinds)[0]

    def _by_parts(self, table: NodeTable) -> Node:
        """What `judge` finds, without ever having all groups in memory."""
        checks, kept = self.checks, _Kept()
        # People and groups that go by each check and those before it; the last: by no check.
        people, groups = np.zeros((2, len(checks) + 1), dtype=np.int64)
        with self.engine.yield_memory():
            for part in self.parts(table):
                bad = np.zeros(len(part), dtype=bool)
                for place, (criterion, attribute) in enumerate(checks):
                    bad |= ~self.holds(criterion, part, attribute)
                    people[place] += part.people(bad)
                    groups[place] += part.number(bad)
                    if people[place] > self.limit:
                        checks = checks[: place + 1]  # nobody will ask for the others
                        break
                kept.add(part, ~bad)
        gone = int(people[len(checks) - 1])
        number = kept.all_groups - int(groups[len(checks) - 1])
        if gone > self.limit:
            criterion, _ = checks[-1]
            outcome = self.failure(criterion)
            return Node(table.levels, outcome, number, gone, why=criterion.name)
        if number == 0:
            return Node(table.levels, "fails", number, gone, why=PUBLISHES_NOBODY)
        node = Node(table.levels, "satisfied", number, gone)
        return self.priced(node, self._summed(table.levels, kept))

    def _summed(self, levels: Levels, kept: _Kept) -> View:
        def refuse() -> NoReturn:
            raise ResourceError(
                f"node {levels} has {kept.number:,} groups, too many for memory; raise the memory "
                "limit, name another utility, such as 'loss', or give coarser hierarchies"
            )

        return View(
            self.task.table.counts,
            self.levels,
            refuse,
            PublishedSums(
                kept.number,
                kept.people,
                kept.squares,
                kept.margins,
                [one[level].regions for one, level in zip(self.levels, levels, strict=True)],
            ),
            refuse,
            lambda column: self.coverage(column, levels[column]),
            disjoint=True,
        )


class _Kept:
    """Sums over the published groups of a node, part by part."""

    def __init__(self) -> None:
        self.all_groups = self.number = self.people = 0
        self.squares = 0.0
        self.margins: Ints = np.zeros(1, dtype=np.int64)

    def add(self, part: Rolled, kept: Bools) -> None:
        sizes = part.sizes[kept]
        self.all_groups += len(part)
        self.number += len(sizes)
        self.people += int(sizes.sum())
        self.squares += dot(sizes.astype(np.float64), sizes.astype(np.float64))
        self.margins = self.margins + part.margins(kept)


def judge_of(task: Task) -> Judge:
    """The judge for a table in memory, or for one that is larger."""
    stored = task.table.stored
    return Judge(task) if stored is None else StoredJudge(task, stored)


# The release of one node of a table larger than memory: groups here, people with the engine.

_COPIES = 3  # groups are kept, joined, and judged


def stored_release(judge: StoredJudge, levels: Levels, search: dict[str, Any]) -> Release:
    """The good groups of a node, part by part; the rest is suppressed."""
    tables = judge.tables
    table, harvest = tables.at(levels), Harvest(judge.task, tables.finest.counts)
    labels, groups, cells, suppressed = fresh("groups"), 0, 0, 0
    with judge.engine.yield_memory():
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


def _check_room(judge: StoredJudge, table: NodeTable, groups: int, cells: int) -> None:
    """Refuse a node whose groups are too many even without the people in them."""
    stored = table.counts
    needed = cells * 12 * max(len(stored.sensitive), 1) + groups * (4 * len(stored.quasi) + 32)
    if needed * _COPIES > judge.engine.memory:
        names = zip(stored.quasi, table.levels, strict=True)
        levels = ", ".join(f"{domain.name} {level}" for domain, level in names)
        raise ResourceError(
            f"the release of node ({levels}) has {groups:,} groups or more, too many for the "
            "memory limit; raise it, or give coarser hierarchies"
        )
