"""The contract of an anonymizer: from a table and criteria to a release that satisfies them.

Whatever an anonymizer returns holds by every criterion it was given; it raises `NoSafeRelease`
rather than return anything else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from sfumato.counts.counts import Counts, rank_rows
from sfumato.counts.stored import StoredCounts
from sfumato.criteria.base import Criterion, GroupCriterion, ReleaseCriterion, Verdict, judge
from sfumato.criteria.together import JudgedTogether
from sfumato.engines.base import fresh
from sfumato.errors import NoSafeRelease, PolicyError, quoted
from sfumato.numbers import Codes, Floats, Ints, offsets_of, sums_by
from sfumato.release.beside import Beside
from sfumato.release.description import Regions
from sfumato.release.groups import Groups
from sfumato.release.made import Findings, MadeHere, StoredPlacement
from sfumato.release.release import Release, standing_notes
from sfumato.release.sparse import Lists
from sfumato.release.summing import group_counts, references
from sfumato.schema.region import Region
from sfumato.table import Table
from sfumato.utility.base import Utility
from sfumato.utility.loss import Loss


def check_suppression(given: object) -> None:
    """The share of people who may be left out: a number from 0 to 1."""
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if not number or not 0 <= given <= 1:  # type: ignore[operator]
        raise PolicyError(
            f"suppression = {quoted(given)} is not allowed; it must be a share from 0 to 1"
        )


@dataclass(frozen=True)
class Task:
    """What is to be anonymized, and by which criteria."""

    table: Table
    criteria: tuple[Criterion, ...]
    utility: Utility = field(default_factory=Loss)
    suppression: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_suppression(self.suppression)
        if not isinstance(self.seed, int) or isinstance(self.seed, bool) or self.seed < 0:
            raise PolicyError(
                f"seed = {quoted(self.seed)} is not allowed; use a whole number, 0 or more"
            )
        _ = self.require  # a criterion that cannot be searched for at all is refused at once

    @cached_property
    def require(self) -> tuple[Criterion, ...]:
        """The criteria as they are searched for, each knowing the table."""
        return tuple(criterion.bind(self.table.counts) for criterion in self.criteria)

    @property
    def column_weights(self) -> Floats:
        """How much the width of each quasi-identifier counts, 1 on average."""
        return self.utility.column_weights(len(self.table.counts.quasi))

    @property
    def by_group(self) -> tuple[GroupCriterion, ...]:
        return tuple(c for c in self.require if isinstance(c, GroupCriterion))

    @property
    def by_release(self) -> tuple[ReleaseCriterion, ...]:
        return tuple(c for c in self.searched if isinstance(c, ReleaseCriterion))

    @property
    def searched(self) -> tuple[Criterion, ...]:
        """Those a search can carry along; the others are judged when it is done."""
        return (*self.by_group, *(c for c in self.require if _carried(c)))

    @property
    def at_end(self) -> tuple[ReleaseCriterion, ...]:
        """Those a search cannot carry along: it makes releases, and they choose among them."""
        return tuple(c for c in self.require if isinstance(c, ReleaseCriterion) and c.at_end)

    def merge_closed(self, criterion: Criterion) -> bool:
        """Whether groups that hold, merged, hold, as this table is counted.

        Values by person are no mixture: whoever is in both groups counts once in their union.
        """
        return criterion.merge_closed and not self._by_person(criterion)

    def upward_closed(self, criterion: Criterion) -> bool:
        """Whether a group that holds, merged with anything, holds, as this table is counted."""
        return criterion.upward_closed and not self._by_person(criterion)

    def coarsening_closed(self, criterion: Criterion) -> bool:
        """Whether it holds at every coarser node of a lattice, where it does and all are kept."""
        return isinstance(criterion, JudgedTogether) or self.merge_closed(criterion)

    def _by_person(self, criterion: Criterion) -> bool:
        return self.table.counts.of_rows and criterion.reads_values

    def about(self, criterion: Criterion) -> tuple[int | None, ...]:
        """The positions of the sensitive attributes a criterion is about."""
        counts = self.table.counts
        if not criterion.reads_values or not counts.sensitive:
            return (0 if counts.sensitive else None,)
        if criterion.sensitive is not None:
            return (counts.attribute(criterion.sensitive),)
        return tuple(range(len(counts.sensitive)))


def _carried(criterion: Criterion) -> bool:
    return isinstance(criterion, ReleaseCriterion) and not criterion.at_end


@dataclass(frozen=True)
class Anonymizer(ABC):
    """A way of making releases; `suppresses`: it may leave people out, up to the task's limit."""

    name: ClassVar[str]
    suppresses: ClassVar[bool] = False

    @abstractmethod
    def run(self, task: Task) -> Release:
        """The most useful release this way finds; every criterion holds on it."""

    def refuses_rows(self) -> str:
        """Why it cannot publish several rows of a person one by one; empty where it can."""
        return f"{self.name} does not; use lattice or mondrian"

    def within(self, seconds: float) -> Self:
        """The same with at most so many seconds; itself where it has no such parameter."""
        own = [declared for declared in fields(self) if declared.name == "seconds"]
        given: dict[str, Any] = {
            declared.name: min(getattr(self, declared.name), seconds) for declared in own
        }
        return replace(self, **given)

    def briefly(self) -> Anonymizer:
        """A short search of this sort, one of many that are compared: as much work for each.

        One that stops by the clock would find more where the machine is less busy.
        """
        return self


def check_release(release: Release, task: Task) -> Release:
    """The last word before a release is returned: judge it as anybody would."""
    return Finished(task).first_safe([release])


class Finished:
    """Judges finished releases, the most useful first, and remembers the nearest miss."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.judged = 0
        self._nearest: tuple[Criterion, Verdict] | None = None

    def first_safe(self, releases: Iterable[Release]) -> Release:
        """The first on which every criterion holds."""
        for release in releases:
            if self.holds(release):
                return release
        raise self.refusal()

    def holds(self, release: Release) -> bool:
        """Whether every criterion holds; an error where no other release could do better."""
        failing = self._failing(release)
        self.judged += 1
        if failing is None:
            return True
        criterion, verdict = failing
        if verdict.measured is None or verdict.beyond_mending:
            raise refused(criterion, verdict)
        if self._nearest is None or _nearer(failing, self._nearest):
            self._nearest = failing
        return False

    def _failing(self, release: Release) -> tuple[Criterion, Verdict] | None:
        for criterion in self._task.require:
            verdict = judge(criterion, release)
            if not verdict.holds:
                return criterion, verdict
        return None

    def refusal(self) -> NoSafeRelease:
        """Why none of them will do."""
        if self._nearest is None:
            return NoSafeRelease("no release was found that keeps the limits of all columns")
        criterion, verdict = self._nearest
        if criterion not in self._task.at_end:
            return refused(criterion, verdict)
        came = (
            "the one release that was judged came to"
            if self.judged == 1
            else f"the nearest of {self.judged:,} releases that were judged came to"
        )
        advice = verdict.advice or USUAL_ADVICE
        return no_safe_release(criterion, verdict.measured, verdict.note, advice, came)


def _nearer(candidate: tuple[Criterion, Verdict], incumbent: tuple[Criterion, Verdict]) -> bool:
    """Whether one came nearer to the same bound."""
    (criterion, verdict), (before, nearest) = candidate, incumbent
    if criterion != before or verdict.measured is None or nearest.measured is None:
        return False
    if verdict.sense in ("at_most", "below"):
        return verdict.measured < nearest.measured
    return verdict.measured > nearest.measured


USUAL_ADVICE = "loosen that bound, or coarsen what is published"
FRAMES_FAIL = (
    "people whom limits keep apart fail already: allow coarser levels, let lattice or deal "
    "suppress them, or loosen that bound"
)
# Everybody together is the coarsest there is, so coarser columns are no way out.
EVERYBODY_FAILS = "everybody together fails already: loosen that bound"


def no_safe_release(
    criterion: Criterion,
    nearest: float | None,
    why: str = "",
    advice: str = USUAL_ADVICE,
    came: str = "the nearest any release came is",
) -> NoSafeRelease:
    """Which criterion stands in the way, how near one came, what to change."""
    detail = f" ({why})" if why else ""
    # Where merging may harm, a partition that nobody tried may still be safe.
    verb = "satisfies" if criterion.merge_closed else "was found that satisfies"
    if nearest is None:
        return NoSafeRelease(
            f"no release satisfies {criterion.name}, required {criterion.required}: it cannot be "
            f"judged here{detail}; drop it, or require another criterion of that column"
        )
    return NoSafeRelease(
        f"no release {verb} {criterion.name}, required {criterion.required}; {came} "
        f"{nearest:.6g}{detail}; {advice}"
    )


def refused(criterion: Criterion, verdict: Verdict, *advice: str) -> NoSafeRelease:
    """The same for a verdict; one that nothing can mend gets no advice that would not help."""
    if verdict.beyond_mending:
        return NoSafeRelease(
            f"no release satisfies {criterion.name}, required {criterion.required}: {verdict.note}"
        )
    advised = (verdict.advice,) if verdict.advice else advice
    return no_safe_release(criterion, verdict.measured, verdict.note, *advised)


# Groups gathered batch by batch into a release, without the tuples they are made of.


class Harvest:
    """The groups of a search so far. What is published row by row goes to the engine at once."""

    def __init__(self, task: Task, stored: StoredCounts) -> None:
        self._task, self._stored = task, stored
        self._references = references(stored)
        self._cells = fresh("cells")
        self._placed = fresh("placed") if task.table.schema.kept else None
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
        columns = {f"q{place}": pa.array(row) for place, row in enumerate(counts.codes)}
        columns |= {f"s{place}": pa.array(row) for place, row in enumerate(counts.values)}
        numbers = pa.array(group + self._since)
        self._stored.engine.append(self._placed, pa.table({**columns, "g": numbers}))

    def _publish(self, counts: Counts, group: Ints) -> None:
        stacked = np.vstack([group.astype(np.int32)[None, :], counts.values])
        number, first = rank_rows(stacked, [int(row.max(initial=0)) + 1 for row in stacked])
        people = sums_by(number, counts.n, len(first))
        cells = {"g": pa.array(group[first] + self._since)}
        cells |= {f"s{place}": pa.array(row[first]) for place, row in enumerate(counts.values)}
        self._stored.engine.append(self._cells, pa.table({**cells, "n": pa.array(people)}))

    def release(
        self, findings: Findings, suppressed: int = 0, *, disjoint: bool | None = True
    ) -> Release:
        """The release of all groups; those that publish the same become one. `disjoint`: what is
        known of their regions, None where that is to be found out."""
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
        population = np.concatenate(self._population) if self._population else None
        number, first = regions.equal_descriptions()
        if len(first) < self._total:
            regions = regions.take(first)
            made = {name: groups.merge(number, len(first)) for name, groups in made.items()}
            if population is not None:
                population = np.bincount(number, population).astype(np.float64)
            self._renumber(number)
        return Release(
            schema=table.schema,
            counted_groups=made,
            regions=regions,
            suppressed=suppressed,
            disjoint=regions.disjoint() if disjoint is None else disjoint,
            population=population,
            label=f"release of {table.source.label}",
            notes=standing_notes(table),
            made=MadeHere(
                StoredPlacement(table, self._cells, self._placed, suppressed),
                findings,
                self._task.seed,
            ),
        )

    def _renumber(self, number: Ints) -> None:
        """Group g is part of group `number[g]`, also where the engine keeps them."""
        engine, becomes = self._stored.engine, fresh("becomes")
        engine.append(becomes, pa.table({"g": np.arange(len(number)), "h": number}))
        values = ", ".join(f"s{place}" for place in range(len(self._stored.sensitive)))
        by_group = f"h AS g{', ' * bool(values)}{values}"
        cells, self._cells = self._cells, fresh("cells")
        engine.materialize(
            self._cells,
            f"SELECT {by_group}, CAST(SUM(n) AS BIGINT) AS n FROM {cells} JOIN {becomes} USING (g) "
            f"GROUP BY h{', ' * bool(values)}{values}",
            large=True,
        )
        if self._placed is not None:
            placed, self._placed = self._placed, fresh("placed")
            columns = [f"q{place}" for place in range(len(self._stored.quasi))]
            columns += [f"s{place}" for place in range(len(self._stored.sensitive))]
            engine.materialize(
                self._placed,
                f"SELECT {', '.join(columns)}, h AS g FROM {placed} JOIN {becomes} USING (g)",
                large=True,
            )
            engine.drop(placed)
        engine.drop(cells)
        engine.drop(becomes)


def _smaller(groups: Groups) -> Groups:
    """Without what can be worked out again: batches are many, and they are kept to the end."""
    for known in ("row", "distinct", "occurrences"):
        groups.__dict__.pop(known, None)
    return groups


def _joined(parts: list[Groups]) -> Groups:
    """Groups of several batches as one; the batches are given up on the way."""
    first = parts[0]
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    indices = np.concatenate([part.indices for part in parts])
    data = np.concatenate([part.data for part in parts])
    sizes = np.concatenate([part.sizes for part in parts])
    protected = None
    if first.protected is not None:
        labels = first.protected[0]
        codes = [part.protected[1] for part in parts if part.protected is not None]
        protected = labels, np.concatenate(codes)
    lists = None
    if first.lists is not None:
        lists = Lists.joined([part.lists for part in parts if part.lists is not None])
    parts.clear()
    return Groups.from_sparse(
        offsets_of(lengths),
        indices,
        data,
        first.width,
        sizes=sizes,
        reference=first.reference,
        domain=first.domain,
        case=first.case,
        lists=lists,
        beside=Beside(protected=protected),
    )
