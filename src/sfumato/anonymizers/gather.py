"""Groups gathered batch by batch into a release, without the tuples they are made of."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.anonymizers.base import Task
from sfumato.counts.counts import Counts, rank_rows
from sfumato.counts.stored import StoredCounts
from sfumato.engines.base import fresh
from sfumato.numbers import Codes, Ints, offsets_of
from sfumato.release.beside import Beside
from sfumato.release.description import Regions
from sfumato.release.groups import Groups
from sfumato.release.made import Findings, MadeHere, StoredPlacement
from sfumato.release.release import Release, standing_notes
from sfumato.release.sparse import Lists
from sfumato.release.summing import group_counts, references
from sfumato.schema.region import Region


class Harvest:
    """The groups of a search so far. What is published row by row goes to the engine at once."""

    def __init__(self, task: Task, stored: StoredCounts) -> None:
        self._task, self._stored = task, stored
        self._references = references(stored)
        self._cells = fresh("cells")
        self._placed = fresh("placed") if task.table.schema.keep else None
        self._parts: list[dict[Region, int]] = [{} for _ in stored.quasi]
        self._codes: list[list[Codes]] = [[] for _ in stored.quasi]
        self._groups: list[list[Groups]] = [[] for _ in stored.sensitive or [None]]
        self._population: list[np.ndarray[tuple[int], np.dtype[np.float64]]] = []
        self._since = self._total = 0

    def add(self, counts: Counts, group: Ints, described: Regions) -> None:
        """More groups: tuple i of `counts` is in group `group[i]` of those described."""
        total = len(described)
        for column, (parts, codes) in enumerate(zip(described.parts, described.codes, strict=True)):
            known = self._parts[column]
            moved = np.array([known.setdefault(part, len(known)) for part in parts], np.int32)
            self._codes[column].append(moved[codes])
        for place, gathered in enumerate(self._groups):
            attribute = place if counts.sensitive else None
            name = counts.sensitive[place].name if counts.sensitive else ""
            known_as = self._references.get(name)
            made = group_counts(counts, group, total, attribute, known_as)
            gathered.append(_smaller(made))
        if counts.weights is not None:
            summed = np.bincount(group, counts.weights, minlength=total)
            self._population.append(summed.astype(np.float64))
        self._since, self._total = self._total, self._total + total
        self._publish(counts, group)

    @property
    def placed(self) -> str | None:
        """The engine's table of every tuple's group, if anybody will ask for it."""
        return self._placed

    @property
    def places(self) -> bool:
        """Whether every tuple's group must be known."""
        return self._placed is not None

    def place(self, counts: Counts, group: Ints) -> None:
        """Remember the groups of tuples, numbered as in the last `add`; if anybody will ask."""
        if self._placed is None:
            return
        told = {f"q{place}": pa.array(row) for place, row in enumerate(counts.codes)}
        told |= {f"s{place}": pa.array(row) for place, row in enumerate(counts.values)}
        numbers = pa.array(group + self._since)
        self._stored.engine.append(self._placed, pa.table({**told, "g": numbers}))

    def _publish(self, counts: Counts, group: Ints) -> None:
        stacked = np.vstack([group.astype(np.int32)[None, :], counts.values])
        number, first = rank_rows(stacked, [int(row.max(initial=0)) + 1 for row in stacked])
        people = np.bincount(number, counts.n, minlength=len(first)).astype(np.int64)
        cells = {"g": pa.array(group[first] + self._since)}
        cells |= {f"s{place}": pa.array(row[first]) for place, row in enumerate(counts.values)}
        self._stored.engine.append(self._cells, pa.table({**cells, "n": pa.array(people)}))

    def release(self, findings: Findings, suppressed: int = 0) -> Release:
        """The release of all groups; their regions must be known to be disjoint."""
        table, stored = self._task.table, self._stored
        codes = np.empty((len(self._codes), self._total), dtype=np.int32)
        for column, listed in enumerate(self._codes):
            np.concatenate(listed, out=codes[column])
            listed.clear()
        regions = Regions(
            tuple(domain.name for domain in stored.quasi), tuple(map(tuple, self._parts)), codes
        )
        names = [attribute.name for attribute in stored.sensitive] or [""]
        made = {name: _joined(parts) for name, parts in zip(names, self._groups, strict=True)}
        self._groups.clear()
        return Release(
            schema=table.schema,
            counted_groups=made,
            regions=regions,
            suppressed=suppressed,
            disjoint=True,
            population=np.concatenate(self._population) if self._population else None,
            label=f"release of {table.source.label}",
            notes=standing_notes(table),
            made=MadeHere(
                StoredPlacement(table, self._cells, self._placed, suppressed),
                findings,
                self._task.seed,
            ),
        )


def _smaller(groups: Groups) -> Groups:
    """Without what can be worked out again: batches are many, and they are kept to the end."""
    for known in ("row", "distinct", "occurrences"):
        groups.__dict__.pop(known, None)
    return groups


def _joined(parts: list[Groups]) -> Groups:
    """Groups of several batches as one; the batches are given up on the way."""
    one = parts[0]
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    indices = np.concatenate([part.indices for part in parts])
    data = np.concatenate([part.data for part in parts])
    sizes = np.concatenate([part.sizes for part in parts])
    protected = None
    if one.protected is not None:
        labels = one.protected[0]
        told = [part.protected[1] for part in parts if part.protected is not None]
        protected = labels, np.concatenate(told)
    lists = None
    if one.lists is not None:
        lists = Lists.joined([part.lists for part in parts if part.lists is not None])
    parts.clear()
    return Groups.from_sparse(
        offsets_of(lengths),
        indices,
        data,
        one.width,
        sizes=sizes,
        reference=one.reference,
        domain=one.domain,
        case=one.case,
        lists=lists,
        beside=Beside(protected=protected),
    )
