"""Deal on tables larger than memory: cell by cell, against the whole table's shares.

Mondrian's search cuts the table until its nodes fit; neighbouring nodes make up a cell of as many
people as can be dealt in memory. Nodes are safe, so a cell of them is where merging does no harm,
and it is dealt by itself: within its share of the time and of those who may be suppressed, judged
by the shares that values have in the whole table, and with bounds that may be told there. All
groups together are judged again, and Mondrian's release is returned where it is no worse.

A node too large for a cell that may not be cut stays one group, as Mondrian leaves it. Where cells
cannot be judged by themselves (criteria of whole releases, or of more than counts; people in
several groups) or a person's group must be known by her values (kept columns), all of it does.

Stands apart: what only tables larger than memory need; dealing itself is read without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np

from sfumato.anonymizers.base import Finished, Harvest, Task
from sfumato.anonymizers.deal.deal import INTERRUPTED, Deal, DealFindings, cost_of, no_worse
from sfumato.anonymizers.mondrian.cells import Columns, describe
from sfumato.anonymizers.mondrian.large import SHARE, DescribeGroups, LargeSearch, TreeNode
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.counts.counts import Counts
from sfumato.counts.stored import StoredCounts, bytes_for
from sfumato.criteria.base import GroupCriterion
from sfumato.errors import NoSafeRelease, ResourceError
from sfumato.numbers import Ints
from sfumato.release.made import MadeHere, StoredPlacement
from sfumato.release.release import Release
from sfumato.utility.loss import Loss

_MOST_PEOPLE = 1 << 20  # of a cell: more are dealt more slowly, and hardly better
_CHAINS, _PERSON, _COUNT = 8, 64, 4  # searches at a time; bytes of a person and a count in each


@dataclass(frozen=True)
class CellCounts(Counts):
    """The people of a cell; how frequent codes and values are is told of the whole table."""

    code_frequencies: tuple[Ints, ...] = ()
    value_frequencies: tuple[Ints, ...] = ()

    def by_code(self, column: int) -> Ints:
        return self.code_frequencies[column]

    def by_value(self, attribute: int) -> Ints:
        return self.value_frequencies[attribute]


def deal_by_cells(deal: Deal, task: Task, stored: StoredCounts) -> Release:
    """The best release by cells; Mondrian's where that is no worse, or cells do not apply."""
    if deal.scheme != "generalized":
        raise ResourceError(
            f"{deal.name}: scheme = '{deal.scheme}' works on tables that fit in memory; raise the "
            "memory limit, or use scheme = 'generalized'"
        )
    needs = frozenset[str]().union(*(criterion.needs for criterion in task.searched))
    tight_or_cell = deal.regions == "tight" and "regions" in needs
    cut = Mondrian(regions="cell" if tight_or_cell else deal.regions).run(task)
    reason = next(_reasons_against(task, stored), "")
    if reason:
        return _left_to_mondrian(cut, f"the table is larger than memory and {reason}")
    levels = tuple(task.table.levels[domain.name] for domain in stored.quasi)
    search = _CellSearch(
        deal, task, stored, Columns.of(task.table.schema, levels, stored, deal.regions)
    )
    try:
        dealt = search.release()
    except KeyboardInterrupt:
        return _left_to_mondrian(cut, INTERRUPTED, interrupted=True)
    except NoSafeRelease:  # by a hair: what all nodes keep to, a cell of them keeps to as well
        return _left_to_mondrian(cut, "a cell of the table, which is larger than memory, is unsafe")
    measured = task if task.utility.measures(stored) else replace(task, utility=Loss())
    with stored.engine.yield_memory():
        better = cost_of(measured, dealt) < cost_of(measured, cut)
        if better and Finished(task).holds(dealt):
            _forget(cut, stored)
            return dealt
    _forget(dealt, stored)
    return no_worse(cut, [dealt])


def _reasons_against(task: Task, stored: StoredCounts) -> Iterator[str]:
    """Why cells cannot be dealt one by one."""
    if task.table.schema.kept:
        yield "who of equal people is dealt where tells nobody whose kept values are whose"
    if stored.extra_memberships:
        yield "people are in several groups"
    for criterion in task.require:
        if not isinstance(criterion, GroupCriterion) or criterion.joint:
            yield f"{criterion.name} judges whole releases"
        elif criterion.needs or not criterion.merge_closed:
            yield f"{criterion.name} cannot be judged by the counts of a part of it"


def _left_to_mondrian(cut: Release, why: str, *, interrupted: bool = False) -> Release:
    assert isinstance(cut.made, MadeHere)
    findings = DealFindings(0, interrupted, (), mondrian=True, cells=0, undealt=cut.people)
    notes = (*cut.notes, f"{why}: this is Mondrian's release")
    return replace(cut, made=replace(cut.made, findings=findings), notes=notes)


def _forget(release: Release, stored: StoredCounts) -> None:
    """Drop what the engine keeps of a release that is not returned."""
    if isinstance(release.placement, StoredPlacement):
        stored.engine.drop(release.placement.people)


class _CellSearch(LargeSearch):
    """Mondrian's search down to cells, which are dealt."""

    def __init__(self, deal: Deal, task: Task, stored: StoredCounts, columns: Columns) -> None:
        self._deal, self._task = deal, task
        self._room = _people_of_a_cell(task, stored)
        tuples = self._room * len(stored) // max(stored.memberships, 1)
        described = Mondrian(regions=deal.regions).published(columns)
        super().__init__(task, stored, columns, described, "widest", None, tuples)
        self._code_frequencies = tuple(map(stored.by_code, range(len(stored.quasi))))
        self._value_frequencies = tuple(map(stored.by_value, range(len(stored.sensitive))))
        self._suppressed = self._dealt = 0
        self._disjoint: bool | None = None
        self._findings = DealFindings(0, False, (), cells=0)

    def release(self) -> Release:
        harvest = Harvest(self._task, self._stored)
        self.split_large()
        self.finish(harvest, partial(describe, self._deal.regions, self._columns))
        findings = replace(self._findings, undealt=self._stored.memberships - self._dealt)
        made = harvest.release(findings, self._suppressed, disjoint=self._disjoint)
        notes = (*made.notes, *([INTERRUPTED] if findings.interrupted else []))
        return replace(made, notes=notes)

    def finish_batch(
        self,
        nodes: list[TreeNode],
        fetched: tuple[Counts, Ints],
        harvest: Harvest,
        describe: DescribeGroups,
    ) -> None:
        """Deal the people of these nodes, unless they are too many for the tuples they have."""
        people = fetched[0].memberships
        if self._findings.interrupted or people > 2 * self._room:
            super().finish_batch(nodes, fetched, harvest, describe)
            return
        counts = fetched[0].compact()  # in an order that does not depend on the engine
        cell = CellCounts(
            **{field.name: getattr(counts, field.name) for field in fields(Counts)},
            code_frequencies=self._code_frequencies,
            value_frequencies=self._value_frequencies,
        )
        share = people / self._stored.memberships
        task = replace(self._task, table=replace(self._task.table, counts=cell))
        release = self._deal.within(self._deal.seconds * share).run(task)
        self._add(cell, release, harvest)
        self._dealt += people

    def _add(self, cell: CellCounts, release: Release, harvest: Harvest) -> None:
        assert release.placement is not None
        placed = release.placement.in_memory("dealing")
        kept = np.flatnonzero(placed.groups >= 0)
        tuples, n = placed.tuples[kept], placed.n[kept]
        pieces = replace(cell.take(tuples), n=n)
        if pieces.weights is not None:  # of people with equal values, each stands for as many
            pieces = replace(pieces, weights=pieces.weights * (n / cell.n[tuples]))
        harvest.add(pieces, placed.groups[kept], release.regions.require_regions())
        self._suppressed += release.suppressed
        if not release.disjoint:
            self._disjoint = False
        before, findings = self._findings, DealFindings.of(release.made)
        assert findings is not None
        self._findings = replace(
            before,
            sweeps=before.sweeps + findings.sweeps,
            interrupted=before.interrupted or findings.interrupted,
            unsearched=findings.unsearched,
            cells=before.cells + 1,
        )


def _people_of_a_cell(task: Task, stored: StoredCounts) -> int:
    """How many people can be dealt in our memory: each search counts values by group."""
    listed_domains = [domain for domain in stored.quasi if domain.kind not in ("numeric", "date")]
    counted = sum(
        map(len, [*listed_domains, *(attribute.domain for attribute in stored.sensitive)])
    )
    least = max((criterion.fewest_people for criterion in task.require), default=1)
    person_bytes = bytes_for(1, len(stored.columns)) + _CHAINS * (
        _PERSON + _COUNT * counted // max(least, 1)
    )
    return min(max(int(stored.engine.memory * SHARE) // person_bytes, 1), _MOST_PEOPLE)
