"""What is told of a combination of columns: one finding.

Figures of the leakage of all classes, the worst class with its values, what every person's classes
leak, what a column adds and what coarsening it would buy.

Stands apart: what is told of a combination; how combinations are walked is told elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np

from sfumato.adversaries.leakage.metrics import METRICS
from sfumato.adversaries.leakage.observer import not_covered
from sfumato.counts.marginals import Marginal, OwnedMarginal, StoredMarginal
from sfumato.errors import InputError
from sfumato.numbers import Floats, Ints
from sfumato.report.characterization import (
    DROPPED,
    ColumnCoarsening,
    CombinationFinding,
    Contribution,
    Individuals,
    LeakageSpread,
    WorstClass,
)
from sfumato.schema.hierarchy import Levels
from sfumato.workflow.coded_columns import Labels
from sfumato.workflow.combinations import CombinationPlan, LeakageTarget
from sfumato.workflow.observed_classes import MeasuredClasses, TargetPriors, measure

_DRAWN = 50  # classes a chart can show
_TIE = 1e-12  # leakages that differ by rounding alone


@dataclass(frozen=True)
class Naming:
    """What columns and values are called, joint targets included; the metrics asked for."""

    names: tuple[str, ...]
    labels: tuple[Labels, ...]
    metrics: tuple[str, ...] = ()


def finding(measured: MeasuredClasses, naming: Naming) -> CombinationFinding:
    """The figures of one combination against one target."""
    _check_covered(measured, naming)
    people = measured.people.astype(np.float64)
    distribution = measured.leakage.distribution
    # Classes per value; where there is one class, being in it says nothing.
    several = len(people) > 1
    per_value = np.bincount(measured.counted.values) if several else np.zeros(0, np.int64)
    highest = np.sort(np.partition(distribution, -min(_DRAWN, len(people)))[-_DRAWN:])[::-1]
    return CombinationFinding(
        columns=tuple(naming.names[column] for column in measured.counted.columns),
        target=measured.target.name,
        classes=len(people),
        k=round(float(people.min())),
        unique=_alone(measured),
        distribution=_spread(distribution, measured),
        entropy=_spread(measured.leakage.entropy, measured),
        ruled_out=measured.share(measured.leakage.ruled_out > 0),
        pinned=int((per_value == 1).sum()),
        metrics={name: _spread(_by_metric(name, measured), measured) for name in naming.metrics},
        worst=_worst(measured, per_value, naming),
        per_class=highest,
    )


def _alone(measured: MeasuredClasses) -> float:
    """The share of people who are in a class of their own."""
    alone = measured.people < 1.5  # expected people add up to whole ones but for rounding
    if measured.membership is None:
        return float(alone.sum()) / float(measured.people.sum())
    return measured.share(alone)


def _by_metric(name: str, measured: MeasuredClasses) -> Floats:
    """What each class leaks by a further metric, in the reading where that is most."""
    read = (METRICS[name].of(reading.groups, reading.expected) for reading in measured.readings)
    largest: Floats = np.maximum.reduce(list(read))
    return largest


def _spread(leakage: Floats, measured: MeasuredClasses) -> LeakageSpread:
    return LeakageSpread(
        float(leakage.max()), float(leakage.sum() / len(leakage)), measured.mean(leakage)
    )


def _check_covered(measured: MeasuredClasses, naming: Naming) -> None:
    of = np.minimum.reduce([reading.expected.of for reading in measured.readings])
    if of.min() < 0:
        missing, people = np.flatnonzero(of < 0), measured.people
        largest = int(missing[np.argmax(people[missing])])
        reason = not_covered(
            class_cells(measured, largest, naming),
            round(float(people[largest])),
            len(missing),
            len(people),
        )
        raise InputError(f"{reason}; give it people, or use the prior 'table'")


def class_cells(measured: MeasuredClasses, group: int, naming: Naming) -> dict[str, str]:
    """What a class shows, column by column."""
    return {
        naming.names[column]: naming.labels[column][code]
        for column, code in measured.counted.cells_of(group).items()
    }


def _worst(measured: MeasuredClasses, per_value: Ints, naming: Naming) -> WorstClass:
    """The class that leaks most; of equal ones the one with most people."""
    people, distribution = measured.people, measured.leakage.distribution
    ties = np.flatnonzero(distribution >= distribution.max() - _TIE)
    group = int(ties[np.argmax(people[ties])])
    worse = measured.worse(group)
    groups = worse.groups
    low, high = int(groups.indptr[group]), int(groups.indptr[group + 1])
    values = groups.indices[low:high].astype(np.int64)
    labels = naming.labels[measured.target.column]
    return WorstClass(
        cells=class_cells(measured, group, naming),
        people=round(float(people[group])),
        values=labels,
        expected=worse.expected.rows.of_row(int(worse.expected.of[group]), len(labels)),
        places=values,
        there=groups.share[low:high],
        only_here=tuple(
            labels[value] for value in values.tolist() if len(per_value) and per_value[value] == 1
        ),
    )


# The leakage of every person: the most that the classes she is in leak about her. Private.


class LargestLeakage:
    """Gathers, tuple by tuple of the table, the largest distribution leakage per target.

    Of combinations that leak alike the one with fewer columns is named, then the earlier one in
    the order of the columns: threads finish in any order, and that must not show.
    """

    def __init__(self, base: Marginal, plan: CombinationPlan) -> None:
        self._base, self._targets = base, plan.targets
        asked = {
            tuple(column for column in combination if column != target.column)
            for combination, targets in plan.asked.items()
            for target in targets
        }
        self._combinations = sorted(asked, key=lambda columns: (len(columns), columns))
        self._place = {columns: place for place, columns in enumerate(self._combinations)}
        columns = [target.column for target in plan.targets]
        self._most: dict[int, Floats] = {column: np.full(len(base), -1.0) for column in columns}
        self._by: dict[int, Ints] = {
            column: np.full(len(base), len(asked), dtype=np.int64) for column in columns
        }
        self._lock = Lock()

    def add(self, measured: MeasuredClasses) -> None:
        """Take one more combination into account."""
        columns, target = measured.counted.columns, measured.target
        leaks = measured.leakage.distribution[measured.counted.classes.numbers_of(self._base)]
        place = self._place[columns]
        with self._lock:
            most, by = self._most[target.column], self._by[target.column]
            # Steps of the size of a tie make the comparison the same in whatever order.
            step, best = np.rint(leaks / _TIE), np.rint(most / _TIE)
            by[(step > best) | ((step == best) & (place < by))] = place
            np.maximum(most, leaks, out=most)

    def result(self, naming: Naming, columns: int) -> Individuals:
        """What was gathered, by the table's own columns."""
        base = self._base
        kept = [at for at, column in enumerate(base.columns) if column < columns]
        named = {target.column: target.name for target in self._targets}
        return Individuals(
            columns=tuple(naming.names[base.columns[at]] for at in kept),
            labels=tuple(naming.labels[base.columns[at]] for at in kept),
            codes=base.codes[kept],
            people=base.n.astype(np.float64),
            leakage={named[column]: most for column, most in self._most.items()},
            by={named[column]: by for column, by in self._by.items()},
            combinations=tuple(
                tuple(naming.names[column] for column in columns) for columns in self._combinations
            ),
        )


# What a column adds to the leakage of others, and what coarsening one of them would buy.


def contributions(findings: Sequence[CombinationFinding]) -> tuple[Contribution, ...]:
    """For every target and column: what it leaks alone, and adds on average to others.

    The column that adds most to the leakage people meet comes first.
    """
    by_set = {(finding.target, frozenset(finding.columns)): finding for finding in findings}
    contributed = []
    for target in dict.fromkeys(finding.target for finding in findings):
        about_target = [finding for finding in findings if finding.target == target]
        columns = dict.fromkeys(column for finding in about_target for column in finding.columns)
        by_column = []
        for column in columns:
            pairs = [
                (finding, by_set[target, frozenset(finding.columns) - {column}])
                for finding in about_target
                if column in finding.columns
                and (target, frozenset(finding.columns) - {column}) in by_set
            ]
            alone = by_set.get((target, frozenset({column})))
            by_column.append(
                Contribution(
                    column,
                    target,
                    None if alone is None else alone.distribution.weighted,
                    _mean([w.distribution.weighted - o.distribution.weighted for w, o in pairs]),
                    _mean([with_.unique - without.unique for with_, without in pairs]),
                )
            )
        by_column.sort(
            key=lambda contribution: (
                -(contribution.adds or 0.0),
                -(contribution.alone or 0.0),
                contribution.column,
            )
        )
        contributed += by_column
    return tuple(contributed)


def _mean(gains: list[float]) -> float | None:
    return float(np.mean(gains)) if gains else None


def coarsenings(
    findings: Sequence[CombinationFinding],
    base: Marginal | StoredMarginal | OwnedMarginal,
    levels: Mapping[str, Levels],
    targets: Sequence[LeakageTarget],
    priors: Sequence[TargetPriors],
    naming: Naming,
) -> tuple[ColumnCoarsening, ...]:
    """For every target: its worst combination, with each column in turn one step coarser.

    A step is the next level of the column's hierarchy at which people merge; the column is dropped
    where it has none. Coarser columns come first and dropped ones apart after them: they cost more.
    Among each, the one that leaves the least leakage is first.
    """
    steps = []
    for target in targets:
        about_target = [finding for finding in findings if finding.target == target.name]
        if not about_target:
            continue
        worst = max(
            about_target,
            key=lambda finding: (finding.distribution.weighted, finding.distribution.largest),
        )
        by_set = {frozenset(finding.columns): finding for finding in about_target}
        tried = [
            _step(worst, column, base, levels.get(column), target, priors, naming)
            or _dropped(worst, column, by_set)
            for column in worst.columns
        ]
        kept = [finding for finding in tried if finding is not None]
        kept.sort(
            key=lambda coarsening: (
                coarsening.dropped,
                coarsening.after.distribution.weighted,
                coarsening.after.unique,
                coarsening.column,
            )
        )
        steps += kept
    return tuple(steps)


def _step(
    worst: CombinationFinding,
    column: str,
    base: Marginal | StoredMarginal | OwnedMarginal,
    levels: Levels | None,
    target: LeakageTarget,
    priors: Sequence[TargetPriors],
    naming: Naming,
) -> ColumnCoarsening | None:
    """The worst combination with one column coarser by its hierarchy."""
    place = naming.names.index(column)
    places = tuple(sorted((*(naming.names.index(name) for name in worst.columns), target.column)))
    if levels is None or not all(prior.fixed for prior in priors):
        return None
    cells = base.onto(places)
    present = cells.used(place)
    for number, level in enumerate(levels.levels[1:-1], start=1):
        if len(np.unique(level.codes[present])) == len(present):
            continue
        coarser = cells.coarser(place, level.codes)
        labels = list(naming.labels)
        labels[place] = level.labels
        after = finding(measure(coarser, target, *priors), Naming(naming.names, tuple(labels)))
        to = f"level {number} of {levels.height - 1}"
        return ColumnCoarsening(target.name, worst.columns, column, to, worst, after)
    return None


def _dropped(
    worst: CombinationFinding, column: str, by_set: Mapping[frozenset[str], CombinationFinding]
) -> ColumnCoarsening | None:
    """The worst combination without one column, where that was measured."""
    after = by_set.get(frozenset(worst.columns) - {column})
    if after is None:
        return None
    return ColumnCoarsening(worst.target, worst.columns, column, DROPPED, worst, after)
