"""Whether parts of a partition are safe: group criteria at once, release criteria in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.anonymizers import splits
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.rows import Nodes, Rows, Split
from sfumato.counts.contingency import Ints
from sfumato.criteria.base import Bools, Criterion, ReleaseCriterion
from sfumato.release.build import references
from sfumato.release.groups import Groups
from sfumato.release.regions import Regions
from sfumato.release.summing import protected_by

# The regions that the parts of a candidate split would publish.
Describe = Callable[[Nodes, Split], Regions]


@dataclass
class Judged:
    """A release-scope criterion about one attribute, and how far the search has taken it."""

    criterion: ReleaseCriterion
    attribute: int | None
    state: Any


class Safety:
    """Judges candidate splits by the criteria of one task; `rows` are those of everybody."""

    def __init__(self, task: Task, rows: Rows, describe: Describe) -> None:
        self.task, self._tuples, self._describe = task, rows.tuples, describe
        self._references = references(task.table.counts)
        self._needs = frozenset().union(*(criterion.needs for criterion in task.require))
        self._in_turn: list[Judged] = []
        self.least = max((criterion.fewest_people for criterion in task.require), default=1)

    @property
    def in_turn(self) -> bool:
        """Whether splits must be judged one after another."""
        return bool(self.task.by_release)

    def _groups(
        self, batch: Nodes, order: Ints, begins: Ints, people: Ints, attribute: int | None
    ) -> Groups:
        if attribute is None:
            empty = np.zeros(len(people) + 1, dtype=np.int64)
            return Groups.from_sparse(empty, empty[:0].astype(np.int32), empty[:0], 0, sizes=people)
        described = self.task.table.counts.sensitive[attribute]
        sets = described.sets
        offsets = np.zeros(0, dtype=np.int64) if sets is None else sets.offsets
        members = np.zeros(0, dtype=np.int32) if sets is None else sets.members
        width = len(described.domain)
        rows = batch.rows
        indptr, indices, data = splits.cells(
            order, begins, rows.values[attribute], rows.n, offsets, members, width
        )
        return Groups.from_sparse(
            indptr,
            indices,
            data,
            width,
            sizes=people,
            reference=self._references[described.name],
            domain=described.domain,
        )

    def _parts(self, batch: Nodes, split: Split, attribute: int | None) -> Groups:
        """The parts of every candidate, with whatever the criteria need to know of them."""
        groups = self._groups(batch, split.order, split.begins, split.people, attribute)
        counts = self.task.table.counts
        if "protect" in self._needs and counts.protect is not None:
            group, total, tuples = self._members(batch, split)
            named = counts.protect[0], counts.protect[1][tuples]
            groups.protected = protected_by(named, group, total)
        if "regions" not in self._needs:
            return groups
        population = None
        if counts.weights is not None:
            group, total, tuples = self._members(batch, split)
            share = batch.rows.n[split.order] / counts.n[tuples]
            behind = np.bincount(group, counts.weights[tuples] * share, minlength=total)
            population = behind.astype(np.float64)
        return groups.described(self._describe(batch, split), population)

    def _members(self, batch: Nodes, split: Split) -> tuple[Ints, int, Ints]:
        """The part of each row, the number of parts, and the table's tuple behind each row."""
        total = len(split.begins) - 1
        group = np.repeat(np.arange(total), np.diff(split.begins))
        return group, total, self._tuples[batch.place[split.order]]

    def allowed(self, batch: Nodes, split: Split) -> Bools:
        """Which of the candidate splits leave every part safe."""
        allowed = split.parts > 1
        first = np.concatenate([[0], np.cumsum(split.parts)])
        made: dict[int | None, Groups] = {}

        def parts(attribute: int | None) -> Groups:
            if attribute not in made:
                made[attribute] = self._parts(batch, split, attribute)
            return made[attribute]

        for criterion in sorted(self.task.by_group, key=lambda c: c.reads_values):
            for attribute in self.task.about(criterion):
                if not allowed.any():
                    return allowed
                holds = criterion.holds(parts(attribute if criterion.reads_values else None))
                allowed &= np.logical_and.reduceat(holds, first[:-1])
        if self._in_turn and allowed.any():
            whole = split.begins[first]
            people = np.add.reduceat(split.people, first[:-1])
            weighed = [
                judged.criterion.candidates(
                    judged.state,
                    self._groups(batch, split.order, whole, people, judged.attribute),
                    parts(judged.attribute),
                    first,
                )
                for judged in self._in_turn
            ]
            for candidates in weighed:
                allowed &= candidates.hopeful
            for at in np.flatnonzero(allowed):
                allowed[at] = self._take(weighed, int(at))
        return allowed

    def _take(self, weighed: list[Any], at: int) -> bool:
        """Make one split if every release-scope criterion, in its present state, allows it."""
        states = []
        for judged, candidates in zip(self._in_turn, weighed, strict=True):
            state = candidates.take(judged.state, at)
            if state is None:
                return False
            states.append(state)
        for judged, state in zip(self._in_turn, states, strict=True):
            judged.state = state
        return True

    def unsafe_root(self, everybody: Nodes) -> Iterator[tuple[Criterion, float | None, str]]:
        """The criteria that the one group of everybody violates; also starts the states."""
        rows = everybody.rows
        total = len(rows.n)
        none = np.full(1, splits.NONE, dtype=np.int32)
        one = np.ones(1, dtype=np.int32)
        whole = Split(
            nodes=np.zeros(1, dtype=np.int64),
            column=one - 1,
            cut=none,
            part=np.zeros(total, dtype=np.int32),
            parts=one,
            order=np.arange(total),
            begins=np.array([0, total]),
            people=rows.n.sum(keepdims=True),
        )
        for criterion in self.task.require:
            if isinstance(criterion, ReleaseCriterion) and criterion.at_end:
                continue
            for attribute in self.task.about(criterion):
                key = attribute if criterion.reads_values else None
                verdict = criterion.verdict(self._parts(everybody, whole, key))
                # What merging cannot spoil, splitting cannot mend; else a finer release may hold.
                if not verdict.holds and (criterion.merge_closed or verdict.measured is None):
                    yield criterion, verdict.measured, verdict.note
        for release_wide in self.task.by_release:
            for attribute in self.task.about(release_wide):
                root = self._parts(everybody, whole, attribute)
                self._in_turn.append(Judged(release_wide, attribute, release_wide.start(root)))
