"""Whether parts of a partition are safe: group criteria at once, release criteria in turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sfumato.anonymizers import splits
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.rows import Rows, Split
from sfumato.counts.contingency import Ints
from sfumato.criteria.base import Bools, Criterion
from sfumato.criteria.k_anonymity import AlphaK, KAnonymity
from sfumato.release.build import references
from sfumato.release.groups import Groups


class Safety:
    """Judges candidate splits by the criteria of one task."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._references = references(task.table.counts)
        self._states: list[Any] = []

    @property
    def in_turn(self) -> bool:
        """Whether splits must be judged one after another."""
        return bool(self.task.by_release)

    @property
    def least(self) -> int:
        """No part with fewer people can be safe."""
        sizes = [c.k for c in self.task.require if isinstance(c, KAnonymity | AlphaK)]
        return max(sizes, default=1)

    def _groups(
        self, rows: Rows, order: Ints, begins: Ints, people: Ints, attribute: int | None
    ) -> Groups:
        if attribute is None:
            empty = np.zeros(len(people) + 1, dtype=np.int64)
            return Groups.from_sparse(empty, empty[:0].astype(np.int32), empty[:0], 0, sizes=people)
        described = self.task.table.counts.sensitive[attribute]
        sets = described.sets
        offsets = np.zeros(0, dtype=np.int64) if sets is None else sets.offsets
        members = np.zeros(0, dtype=np.int32) if sets is None else sets.members
        width = len(described.domain)
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

    def allowed(self, rows: Rows, split: Split) -> Bools:
        """Which of the candidate splits leave every part safe."""
        allowed = split.parts > 1
        first = np.concatenate([[0], np.cumsum(split.parts)[:-1]])
        made: dict[int | None, Groups] = {}
        for criterion in sorted(self.task.by_group, key=lambda c: c.reads_values):
            if not allowed.any():
                return allowed
            for attribute in self.task.about(criterion):
                key = attribute if criterion.reads_values else None
                if key not in made:
                    made[key] = self._groups(rows, split.order, split.begins, split.people, key)
                holds = criterion.holds(made[key])
                allowed &= np.logical_and.reduceat(holds, first)
        return self._one_by_one(rows, split, allowed) if self._states else allowed

    def _one_by_one(self, rows: Rows, split: Split, allowed: Bools) -> Bools:
        """Release-scope criteria accept splits in the order of nodes, each knowing the last."""
        first = np.concatenate([[0], np.cumsum(split.parts)])
        for at in np.flatnonzero(allowed):
            begins = split.begins[first[at] : first[at + 1] + 1]
            order = split.order[begins[0] : begins[-1]]
            people = split.people[first[at] : first[at + 1]]
            states = []
            for place, criterion in enumerate(self.task.by_release):
                state = self._states[place]
                for number, attribute in enumerate(self.task.about(criterion)):
                    parts = self._groups(rows, order, begins - begins[0], people, attribute)
                    whole = self._groups(
                        rows,
                        order,
                        np.array([0, len(order)]),
                        people.sum(keepdims=True),
                        attribute,
                    )
                    moved = criterion.split(state[number], whole, parts)
                    if moved is None:
                        allowed[at] = False
                        break
                    state = [*state[:number], moved, *state[number + 1 :]]
                if not allowed[at]:
                    break
                states.append(state)
            if allowed[at]:
                self._states = states
        return allowed

    def unsafe_root(self, rows: Rows) -> Iterator[tuple[Criterion, float | None, str]]:
        """The criteria that the one group of everybody violates; also starts the states."""
        everybody = rows.n.sum(keepdims=True)
        order, begins = np.arange(len(rows.n)), np.array([0, len(rows.n)])
        for criterion in self.task.require:
            for attribute in self.task.about(criterion):
                key = attribute if criterion.reads_values else None
                verdict = criterion.verdict(self._groups(rows, order, begins, everybody, key))
                # What merging cannot spoil, splitting cannot mend; else a finer release may hold.
                if not verdict.holds and (criterion.merge_closed or verdict.measured is None):
                    yield criterion, verdict.measured, verdict.note
        for criterion in self.task.by_release:
            self._states.append(
                [
                    criterion.start(self._groups(rows, order, begins, everybody, attribute))
                    for attribute in self.task.about(criterion)
                ]
            )
