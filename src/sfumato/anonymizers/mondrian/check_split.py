"""Whether parts of a partition are safe: group criteria at once, release criteria in turn."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.anonymizers.base import Task
from sfumato.anonymizers.mondrian import steps
from sfumato.anonymizers.mondrian.partition import Nodes, Split, TupleRows
from sfumato.counts.counts import Counts, Sets
from sfumato.criteria.base import Criterion, ReleaseCriterion, Verdict
from sfumato.criteria.splits import CandidateSplits
from sfumato.numbers import Bools, Codes, Ints, offsets_of
from sfumato.release.beside import Inside
from sfumato.release.description import Regions
from sfumato.release.groups import Groups
from sfumato.release.sparse import Lists
from sfumato.release.summing import protected_by, references
from sfumato.release.unlinked import judged_by_both, people_references
from sfumato.schema.domain import Domain

_CELLS = 1 << 22  # counts of candidate cuts that are held at a time

# The regions that the parts of a candidate split would publish.
Describe = Callable[[Nodes, Split], Regions]


@dataclass
class Judged:
    """A release-scope criterion about one attribute, and how far the search has taken it."""

    criterion: ReleaseCriterion
    attribute: int | None
    state: Any


class Safety:
    """Judges candidate splits by the criteria of one task; `rows` are tuples of `counts`."""

    def __init__(self, task: Task, counts: Counts, rows: TupleRows, describe: Describe) -> None:
        self.task, self._describe = task, describe
        self._counts, self._tuples = counts, rows.tuples
        self._references = references(task.table.counts)
        self._by_person = people_references(task.table.counts)
        self._needs = frozenset().union(*(criterion.needs for criterion in task.searched))
        self._in_turn: list[Judged] = []
        self.least = max((criterion.fewest_people for criterion in task.searched), default=1)

    def over(self, counts: Counts, rows: TupleRows) -> Safety:
        """The same judge over other tuples of the table; what was accepted so far stays so."""
        judge = copy.copy(self)
        judge._counts, judge._tuples = counts, rows.tuples
        return judge

    @property
    def in_turn(self) -> bool:
        """Whether splits must be judged one after another."""
        return bool(self.task.by_release)

    def _groups(
        self,
        batch: Nodes,
        split: Split,
        attribute: int | None,
        sizes: Ints | None = None,
    ) -> Groups:
        """The parts of a split; where people have several rows, of so many, if that is known."""
        people, several = split.people, batch.companions
        if several is not None:
            people = several.people(split) if sizes is None else sizes
        if attribute is None:
            return Groups.of_sizes(people)
        where = split.order, split.begins, batch.rows.values[attribute], batch.rows.n
        cells = steps.cells(*where, *self._values(attribute))
        lists = None
        if (sets := self._counts.sensitive[attribute].lists) is not None:
            lists = Lists(*steps.cells(*where, *_codes_alone(sets)), sets)
        if several is None:
            return self._made(attribute, *cells, people, lists)
        by_row = self._made(attribute, *cells, split.people, None)
        width = len(self._counts.sensitive[attribute].domain)
        valued = several.by_value(split, batch.rows.values[attribute], cells, width)
        reference = self._by_person[self._counts.sensitive[attribute].name]
        return judged_by_both(by_row, valued, reference, people)

    def _values(self, attribute: int) -> tuple[Ints, Codes, int]:
        """What the compiled code must know of an attribute: its sets, if any, and its width."""
        described = self._counts.sensitive[attribute]
        if described.sets is None:
            return _codes_alone(described.domain)
        return described.sets.offsets, described.sets.members, len(described.domain)

    def _most_values(self, attribute: int, rows: int) -> int:
        """At most so many values and lists are in a node of so many rows."""
        described = self._counts.sensitive[attribute]
        lists = 0 if described.lists is None else len(described.lists)
        return max(len(described.domain), min(rows, lists))

    def _made(
        self,
        attribute: int,
        indptr: Ints,
        indices: Codes,
        data: Ints,
        people: Ints,
        lists: Lists | None,
    ) -> Groups:
        described = self._counts.sensitive[attribute]
        return Groups.from_sparse(
            indptr,
            indices,
            data,
            len(described.domain),
            sizes=people,
            reference=self._references[described.name],
            domain=described.domain,
            case=described.case,
            lists=lists,
        )

    def _parts(
        self, batch: Nodes, split: Split, attribute: int | None, sizes: Ints | None = None
    ) -> Groups:
        """The parts of every candidate, with whatever the criteria need to know of them."""
        groups = self._groups(batch, split, attribute, sizes)
        counts, beside = self._counts, groups.beside
        if "protect" in self._needs and counts.protect is not None:
            group, total, tuples = self._members(batch, split)
            named = counts.protect[0], counts.protect[1][tuples]
            beside = replace(beside, protected=protected_by(named, group, total))
        if "members" in self._needs:
            _, _, tuples = self._members(batch, split)
            inside = Inside(counts, split.begins, tuples, batch.rows.n[split.order])
            beside = replace(beside, inside=inside)
        if "regions" not in self._needs:
            return groups.with_beside(beside)
        population = None
        if counts.weighted:
            group, total, tuples = self._members(batch, split)
            population = counts.population(group, total, tuples, batch.rows.n[split.order])
        regions = self._describe(batch, split)
        return groups.with_beside(replace(beside, regions=regions, population=population))

    def _parts_once(self, batch: Nodes, split: Split) -> Callable[[int | None], Groups]:
        """The parts by an attribute, or by none, which several criteria ask for."""
        made: dict[int | None, Groups] = {}

        def parts(attribute: int | None) -> Groups:
            if attribute not in made:
                sizes = next((groups.sizes for groups in made.values()), None)
                made[attribute] = self._parts(batch, split, attribute, sizes)
            return made[attribute]

        return parts

    def _members(self, batch: Nodes, split: Split) -> tuple[Ints, int, Ints]:
        """The part of each row, the number of parts, and the table's tuple behind each row."""
        total = len(split.begins) - 1
        group = np.repeat(np.arange(total), np.diff(split.begins))
        return group, total, self._tuples[batch.place[split.order]]

    def allowed(self, batch: Nodes, split: Split) -> Bools:
        """Which of the candidate splits leave every part safe."""
        allowed = split.parts > 1
        first = offsets_of(split.parts)
        parts = self._parts_once(batch, split)
        for criterion in sorted(self.task.by_group, key=lambda c: c.reads_values):
            for attribute in self.task.about(criterion):
                if not allowed.any():
                    return allowed
                holds = criterion.holds(parts(attribute if criterion.reads_values else None))
                allowed &= np.logical_and.reduceat(holds, first[:-1])
        if self._in_turn and allowed.any():
            whole = split.undone()
            weighed = [
                judged.criterion.candidates(
                    judged.state,
                    self._groups(batch, whole, judged.attribute),
                    parts(judged.attribute),
                    first,
                )
                for judged in self._in_turn
            ]
            for candidates in weighed:
                allowed &= candidates.hopeful
            for at in np.flatnonzero(allowed).tolist():
                allowed[at] = self._take(weighed, at)
        return allowed

    def hopeful(self, batch: Nodes, nodes: Ints, column: Codes, cut: Codes, last: Codes) -> Bools:
        """Which cuts are not ruled out by what their two sides hold; a column's cuts ascending.

        `last`: the last code of a value, by column (`splits.py`).
        Much faster than trying each: one sweep over a node's rows tells the sides of all its cuts.
        """
        fine = np.ones(len(nodes), dtype=bool)
        if self._needs or not any(criterion.reads_values for criterion in self.task.searched):
            return fine
        # Both sides of a cut show no more than its node: so many values, and lists, as people.
        longest = int((batch.stops - batch.starts).max(initial=1))
        widest = max(self._most_values(place, longest) for place in range(len(batch.rows.values)))
        step = max(1, _CELLS // (2 * widest))
        for start in range(0, len(nodes), step):
            block = slice(start, start + step)
            fine[block] = self._hopeful(batch, nodes[block], column[block], cut[block], last)
        return fine

    def _hopeful(self, batch: Nodes, nodes: Ints, column: Codes, cut: Codes, last: Codes) -> Bools:
        rows, first = batch.rows, np.arange(0, 2 * len(nodes) + 1, 2)
        fine = np.ones(len(nodes), dtype=bool)
        made: dict[int, Groups] = {}

        def parts(attribute: int) -> Groups:
            if attribute not in made:
                where = (rows.codes, rows.n, batch.starts, batch.stops, nodes, column, cut)
                value, lists = rows.values[attribute], None
                both_sides = steps.sides(*where, value, *self._values(attribute), last)
                if (sets := self._counts.sensitive[attribute].lists) is not None:
                    lists = Lists(*steps.sides(*where, value, *_codes_alone(sets), last)[:3], sets)
                made[attribute] = self._made(attribute, *both_sides, lists)
            return made[attribute]

        for criterion in self.task.by_group:
            if criterion.reads_values:
                for attribute in self.task.about(criterion):
                    assert attribute is not None  # there are values to read
                    holds = criterion.holds(parts(attribute))
                    fine &= np.logical_and.reduceat(holds, first[:-1])
        for judged in self._in_turn:
            if judged.attribute is not None:
                wholes = self._wholes(batch, nodes, judged.attribute)
                made_of = parts(judged.attribute)
                weighed = judged.criterion.candidates(judged.state, wholes, made_of, first)
                fine &= weighed.hopeful
        return fine

    def _wholes(self, batch: Nodes, nodes: Ints, attribute: int) -> Groups:
        """The nodes themselves, one for each candidate."""
        distinct, place = np.unique(nodes, return_inverse=True)
        return self._groups(batch, Split.whole(batch, distinct), attribute).take(place)

    def _take(self, weighed: list[CandidateSplits], at: int) -> bool:
        """Make one split if every release-scope criterion, in its present state, allows it."""
        pairs = list(zip(self._in_turn, weighed, strict=True))
        if not all(candidates.allows(judged.state, at) for judged, candidates in pairs):
            return False
        for judged, candidates in pairs:
            judged.state = candidates.take(judged.state, at)
        return True

    def unsafe_root(self, everybody: Nodes) -> Iterator[tuple[Criterion, Verdict]]:
        """The criteria that a search's first groups violate; also starts the states.

        That is the one group of everybody, or those that limits keep apart.
        """
        whole = Split.whole(everybody, np.arange(len(everybody)))
        parts = self._parts_once(everybody, whole)
        for criterion in self.task.searched:
            for attribute in self.task.about(criterion):
                key = attribute if criterion.reads_values else None
                verdict = criterion.verdict(parts(key))
                # What merging cannot spoil, splitting cannot mend; else a finer release may hold.
                hopeless = self.task.merge_closed(criterion) or verdict.measured is None
                if not verdict.holds and (hopeless or verdict.beyond_mending):
                    yield criterion, verdict
        for release_wide in self.task.by_release:
            for attribute in self.task.about(release_wide):
                state = release_wide.start(parts(attribute))
                self._in_turn.append(Judged(release_wide, attribute, state))


def _codes_alone(counted: Domain | Sets) -> tuple[Ints, Codes, int]:
    """What the compiled code must know where every code counts by itself."""
    return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32), len(counted)
