"""What an observer of some columns expects, and what is told of the combination: one finding.

Figures of the leakage of all classes, the worst class with its values, what every person's classes
leak, what a column adds and what coarsening it would buy.

Stands apart: what is told of a combination; how combinations are walked is told elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import cast

import numpy as np

from sfumato.adversaries.leakage.expectation import (
    Distributions,
    Expectation,
    Leakage,
    leakage,
    one_for_all,
    weighted,
)
from sfumato.adversaries.leakage.metrics import METRICS
from sfumato.adversaries.leakage.observer import not_covered
from sfumato.adversaries.priors import (
    FewerColumns,
    OfTable,
    OutsideTable,
    Prior,
    PriorUse,
    Uniform,
    ValueCounts,
    ValueShares,
    check_values,
)
from sfumato.counts.marginals import ClassCounts, Marginal, StoredMarginal
from sfumato.errors import InputError
from sfumato.numbers import Floats, Ints
from sfumato.release.groups import Groups
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
from sfumato.table import Table
from sfumato.workflow.combinations import (
    CodedColumns,
    CombinationPlan,
    Labels,
    LeakageTarget,
    Set,
    of_table,
)

# What an observer of columns expects: the priors of a characterization.

CHARACTERIZE = PriorUse(
    "characterize",
    (OfTable, Uniform, ValueShares, ValueCounts, FewerColumns, OutsideTable),
    error=InputError,
)
WHO = CHARACTERIZE.who


def words(prior: Prior, coded: CodedColumns) -> str:
    """What she expects, in words."""
    match prior:
        case Uniform():
            return "every value alike"
        case ValueShares() | ValueCounts():
            return "the given shares"
        case FewerColumns():
            return f"what {', '.join(prior.columns)} tell already"
        case OutsideTable():
            return "what an outside table tells of the same class"
    return f"how {'the published people are' if coded.public else 'everybody is'} distributed"


@dataclass(frozen=True)
class TargetPriors:
    """The prior about each target; `outside` are counted people, by the table's own codes."""

    everywhere: Mapping[int, Distributions]
    outside: Marginal | StoredMarginal | None
    known: Set | None
    further: Mapping[int, Labels]
    counted: dict[Set, tuple[Marginal, Distributions]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        prior: Prior,
        coded: CodedColumns,
        base: Marginal | StoredMarginal,
        targets: Sequence[LeakageTarget],
        known: Set,
    ) -> TargetPriors:
        """The prior that was given, for these targets."""
        match prior:
            case FewerColumns():
                return cls({}, base, known, {})
            case OutsideTable():
                outside, further = _coded_as(prior.people, coded, base, targets)
                return cls({}, outside, None, further)
            case ValueShares() | ValueCounts():
                if sum(len(target.members) for target in targets) > 1:
                    raise InputError(
                        f"{WHO}: shares by value fit one target of one column; name one"
                    )
                (target,) = targets
                named, unseen = _named(prior, coded, target)
                return cls({target.column: named}, None, None, {target.column: unseen})
        alike = isinstance(prior, Uniform)
        each = {target.column: _one(base, target, alike=alike) for target in targets}
        return cls(each, None, None, {})

    @property
    def fixed(self) -> bool:
        """Whether she expects the same of every class."""
        return self.outside is None

    def about(self, target: LeakageTarget, counted: ClassCounts) -> Expectation:
        """What is expected of the target in every class."""
        if self.outside is None:
            return one_for_all(len(counted.people), self.everywhere[target.column])
        seen = (*(counted.columns if self.known is None else self.known), target.column)
        if seen not in self.counted:
            outside = self.outside.onto(seen).by_class(target.column)
            rows = Distributions(outside.indptr, outside.values, outside.n)
            self.counted[seen] = outside.classes, rows
        theirs, rows = self.counted[seen]
        return Expectation(theirs.numbers_of(counted.classes), rows)

    def labels(self, labels: tuple[Labels, ...]) -> tuple[Labels, ...]:
        """The values of every column, with those that only an outside table has."""
        return tuple(
            [*own, *self.further.get(place, ())] if place in self.further else own
            for place, own in enumerate(labels)
        )


def _one(base: Marginal | StoredMarginal, target: LeakageTarget, *, alike: bool) -> Distributions:
    """How a target's values are distributed, alike or as the people shown have them."""
    if alike:
        return weighted([1] * base.sizes[base.columns.index(target.column)])
    return weighted(base.people_by(target.column))


def _named(
    prior: ValueShares | ValueCounts, coded: CodedColumns, target: LeakageTarget
) -> tuple[Distributions, Labels]:
    """The shares that were given, and the values among them that nobody shown has."""
    labels = list(coded.labels[target.column])
    unseen = set(coded.unseen.get(target.name, ())) - set(labels)
    further = [value for value in prior.weights if value in unseen]
    known = [*labels, *further]
    check_values(prior, known, target.name, CHARACTERIZE)
    return weighted([float(prior.weights.get(label, 0)) for label in known]), further


def _coded_as(
    table: Table,
    coded: CodedColumns,
    base: Marginal | StoredMarginal,
    targets: Sequence[LeakageTarget],
) -> tuple[Marginal, dict[int, Labels]]:
    """An outside table by the codes of ours; values only it has follow after ours."""
    if coded.public:
        raise InputError(
            f"{WHO}: a release shows cells, an outside table values; require distribution-leakage "
            "with that table as prior instead"
        )
    if any(len(target.members) > 1 for target in targets):
        raise InputError(f"{WHO}: an outside table cannot be the prior of joint targets")
    needed = base.columns
    outside = of_table(table, {coded.names[column] for column in needed})
    theirs = outside.base.in_memory("an outside table as what is expected")
    rows, sizes = [], []
    further: dict[int, Labels] = {}
    for column in needed:
        name, size = coded.names[column], base.sizes[base.columns.index(column)]
        place = outside.place(name)
        code = {label: at for at, label in enumerate(coded.labels[column])}
        mapped = np.array([code.setdefault(text, len(code)) for text in outside.labels[place]])
        rows.append(mapped[theirs.codes[place]])
        sizes.append(max(len(code), size))
        further[column] = list(code)[size:]
    codes = np.ascontiguousarray(np.vstack(rows).astype(np.int32))
    return Marginal(needed, tuple(sizes), codes, theirs.n), further


_SHOWN = 50  # classes a chart can show
_TIE = 1e-12  # leakages that differ by rounding alone


@dataclass(frozen=True)
class Naming:
    """What columns and values are called, joint targets included; the metrics asked for."""

    names: tuple[str, ...]
    labels: tuple[Labels, ...]
    metrics: tuple[str, ...] = ()


@dataclass(frozen=True)
class MeasuredClasses:
    """What a combination of columns leaks about a target: the groups are the classes counted."""

    target: LeakageTarget
    counted: ClassCounts
    groups: Groups
    expected: Expectation
    leakage: Leakage


def measure(cells: Marginal, target: LeakageTarget, priors: TargetPriors) -> MeasuredClasses:
    """The leakage of every class that the cells' other columns make."""
    counted = cells.by_class(target.column)
    groups = Groups.from_sparse(
        counted.indptr,
        counted.values,
        cast(Ints, counted.n),  # of a bucketized release, expected people
        counted.width,
        sizes=cast(Ints, counted.people),
        case="single",
    )
    expected = priors.about(target, counted)
    return MeasuredClasses(target, counted, groups, expected, leakage(groups, expected))


def finding(measured: MeasuredClasses, naming: Naming) -> CombinationFinding:
    """The figures of one combination against one target."""
    _check_covered(measured, naming)
    people = measured.groups.sizes.astype(np.float64)
    everybody = float(people.sum())
    distribution = measured.leakage.distribution
    alone = people < 1.5  # expected people add up to whole ones but for rounding
    # Classes per value; where there is one class, being in it says nothing.
    several = len(people) > 1
    per_value = np.bincount(measured.groups.indices) if several else np.zeros(0, np.int64)
    highest = np.sort(np.partition(distribution, -min(_SHOWN, len(people)))[-_SHOWN:])[::-1]
    return CombinationFinding(
        columns=tuple(naming.names[column] for column in measured.counted.columns),
        target=measured.target.name,
        classes=len(people),
        k=round(float(people.min())),
        unique=float(alone.sum()) / everybody,
        distribution=_spread(distribution, people, everybody),
        entropy=_spread(measured.leakage.entropy, people, everybody),
        ruled_out=float(people[measured.leakage.ruled_out > 0].sum()) / everybody,
        pinned=int((per_value == 1).sum()),
        metrics={
            name: _spread(METRICS[name].of(measured.groups, measured.expected), people, everybody)
            for name in naming.metrics
        },
        worst=_worst(measured, per_value, naming),
        per_class=highest,
    )


def _spread(leakage: Floats, people: Floats, everybody: float) -> LeakageSpread:
    return LeakageSpread(
        float(leakage.max()),
        float(leakage.sum() / len(leakage)),
        float(leakage @ people / everybody),
    )


def _check_covered(measured: MeasuredClasses, naming: Naming) -> None:
    of = measured.expected.of
    if of.min() < 0:
        missing = np.flatnonzero(of < 0)
        people = measured.groups.sizes
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
    groups, distribution = measured.groups, measured.leakage.distribution
    ties = np.flatnonzero(distribution >= distribution.max() - _TIE)
    group = int(ties[np.argmax(groups.sizes[ties])])
    low, high = int(groups.indptr[group]), int(groups.indptr[group + 1])
    values = groups.indices[low:high].astype(np.int64)
    labels = naming.labels[measured.target.column]
    return WorstClass(
        cells=class_cells(measured, group, naming),
        people=round(float(groups.sizes[group])),
        values=labels,
        expected=measured.expected.rows.of_row(int(measured.expected.of[group]), len(labels)),
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
            tuple(column for column in one if column != target.column)
            for one, targets in plan.asked.items()
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
        mine = [finding for finding in findings if finding.target == target]
        columns = dict.fromkeys(column for finding in mine for column in finding.columns)
        by_column = []
        for column in columns:
            pairs = [
                (finding, by_set[target, frozenset(finding.columns) - {column}])
                for finding in mine
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
        by_column.sort(key=lambda one: (-(one.adds or 0.0), -(one.alone or 0.0), one.column))
        contributed += by_column
    return tuple(contributed)


def _mean(gains: list[float]) -> float | None:
    return float(np.mean(gains)) if gains else None


def coarsenings(
    findings: Sequence[CombinationFinding],
    base: Marginal | StoredMarginal,
    levels: Mapping[str, Levels],
    targets: Sequence[LeakageTarget],
    priors: TargetPriors,
    naming: Naming,
) -> tuple[ColumnCoarsening, ...]:
    """For every target: its worst combination, with each column in turn one step coarser.

    A step is the next level of the column's hierarchy at which people merge; the column is dropped
    where it has none. Coarser columns come first and dropped ones apart after them: they cost more.
    Among each, the one that leaves the least leakage is first.
    """
    steps = []
    for target in targets:
        mine = [finding for finding in findings if finding.target == target.name]
        if not mine:
            continue
        worst = max(mine, key=lambda one: (one.distribution.weighted, one.distribution.largest))
        by_set = {frozenset(finding.columns): finding for finding in mine}
        tried = [
            _step(worst, column, base, levels.get(column), target, priors, naming)
            or _dropped(worst, column, by_set)
            for column in worst.columns
        ]
        kept = [finding for finding in tried if finding is not None]
        kept.sort(
            key=lambda one: (
                one.dropped,
                one.after.distribution.weighted,
                one.after.unique,
                one.column,
            )
        )
        steps += kept
    return tuple(steps)


def _step(
    worst: CombinationFinding,
    column: str,
    base: Marginal | StoredMarginal,
    levels: Levels | None,
    target: LeakageTarget,
    priors: TargetPriors,
    naming: Naming,
) -> ColumnCoarsening | None:
    """The worst combination with one column coarser by its hierarchy."""
    place = naming.names.index(column)
    places = tuple(sorted((*(naming.names.index(name) for name in worst.columns), target.column)))
    if levels is None or not priors.fixed:
        return None
    cells = base.onto(places)
    row = cells.columns.index(place)
    present = np.unique(cells.codes[row])
    for number, level in enumerate(levels.levels[1:-1], start=1):
        if len(np.unique(level.codes[present])) == len(present):
            continue
        codes = cells.codes.copy()
        codes[row] = level.codes[codes[row]]
        coarser = Marginal(places, cells.sizes, codes, cells.n).onto(places)
        labels = list(naming.labels)
        labels[place] = level.labels
        after = finding(measure(coarser, target, priors), Naming(naming.names, tuple(labels)))
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
