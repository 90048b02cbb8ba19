"""What an observer of some columns expects, and what every class of them leaks.

Classes are those who show the same in the columns. Of people with several rows a class is the rows
that show the same, and it is read twice, as rows published one by one are everywhere: by row, and
each value of a person once. The reading that leaks more counts, class by class; people are counted
once wherever they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
from sfumato.counts.kernel import PeopleArray
from sfumato.counts.marginals import (
    ClassCounts,
    Marginal,
    OwnedMarginal,
    OwnedReading,
    StoredMarginal,
)
from sfumato.errors import InputError
from sfumato.numbers import Bools, Codes, Floats, Ints
from sfumato.release.groups import Groups
from sfumato.table import Table
from sfumato.workflow.coded_columns import CodedColumns, Labels, of_table
from sfumato.workflow.combinations import LeakageTarget, Set

Read = Marginal | StoredMarginal | OwnedReading  # one reading of everybody

# What an observer of columns expects: the priors of a characterization.

CHARACTERIZE = PriorUse(
    "characterize",
    (OfTable, Uniform, ValueShares, ValueCounts, FewerColumns, OutsideTable),
    error=InputError,
)
USER = CHARACTERIZE.user


def words(prior: Prior, coded: CodedColumns) -> str:
    """What she expects, in words."""
    match prior:
        case Uniform():
            return "every value alike"
        case ValueShares() | ValueCounts():
            return "the given shares"
        case FewerColumns():
            tell = "tells" if len(prior.columns) == 1 else "tell"
            return f"what {', '.join(prior.columns)} {tell} already"
        case OutsideTable():
            return "what an outside table tells of the same class"
    return f"how {'the published people are' if coded.public else 'everybody is'} distributed"


@dataclass(frozen=True)
class TargetPriors:
    """The prior about each target; `outside` are counted people, by the table's own codes."""

    everywhere: Mapping[int, Distributions]
    outside: Read | None
    known: Set | None
    further: Mapping[int, Labels]
    counted: dict[Set, tuple[Marginal, Distributions]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        prior: Prior,
        coded: CodedColumns,
        base: Read,
        targets: Sequence[LeakageTarget],
        known: Set,
    ) -> TargetPriors:
        """The prior that was given, for these targets, where everybody is read so."""
        match prior:
            case FewerColumns():
                return cls({}, base, known, {})
            case OutsideTable():
                outside, further = _coded_as(prior.people, coded, base, targets)
                return cls({}, outside, None, further)
            case ValueShares() | ValueCounts():
                if sum(len(target.members) for target in targets) > 1:
                    raise InputError(
                        f"{USER}: shares by value fit one target of one column; name one"
                    )
                (target,) = targets
                named, unseen = _named(prior, coded, target)
                return cls({target.column: named}, None, None, {target.column: unseen})
        uniform = isinstance(prior, Uniform)
        everywhere = {
            target.column: _distribution(base, target, uniform=uniform) for target in targets
        }
        return cls(everywhere, None, None, {})

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
        outside_classes, rows = self.counted[seen]
        return Expectation(outside_classes.numbers_of(counted.classes), rows)

    def labels(self, labels: tuple[Labels, ...]) -> tuple[Labels, ...]:
        """The values of every column, with those that only an outside table has."""
        return tuple(
            [*own, *self.further.get(place, ())] if place in self.further else own
            for place, own in enumerate(labels)
        )


def _distribution(base: Read, target: LeakageTarget, *, uniform: bool) -> Distributions:
    """How a target's values are distributed, alike or as the people shown have them."""
    if uniform:
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


_OUTSIDE = "an outside table as what is expected"


def _coded_as(
    table: Table,
    coded: CodedColumns,
    base: Read,
    targets: Sequence[LeakageTarget],
) -> tuple[Marginal | OwnedReading, dict[int, Labels]]:
    """An outside table by the codes of ours; values only it has follow after ours."""
    if coded.public:
        raise InputError(
            f"{USER}: a release shows cells, an outside table values; require distribution-leakage "
            "with that table as prior instead"
        )
    if any(len(target.members) > 1 for target in targets):
        raise InputError(f"{USER}: an outside table cannot be the prior of joint targets")
    needed = base.columns
    outside = of_table(table, {coded.names[column] for column in needed})
    several = outside.base if isinstance(outside.base, OwnedMarginal) else None
    outside_cells = several.cells if several else outside.base.in_memory(_OUTSIDE)
    rows, sizes = [], []
    further: dict[int, Labels] = {}
    for column in needed:
        name, size = coded.names[column], base.sizes[base.columns.index(column)]
        place = outside.place(name)
        code = {label: at for at, label in enumerate(coded.labels[column])}
        mapped = np.array([code.setdefault(text, len(code)) for text in outside.labels[place]])
        rows.append(mapped[outside_cells.codes[place]])
        sizes.append(max(len(code), size))
        further[column] = list(code)[size:]
    codes = np.ascontiguousarray(np.vstack(rows).astype(np.int32))
    coded_alike = Marginal(needed, tuple(sizes), codes, outside_cells.n)
    if several is None:
        return coded_alike, further
    by_row = isinstance(base, OwnedReading) and not base.once
    return OwnedReading(OwnedMarginal.of(coded_alike, several.owner), once=not by_row), further


def readings_of(base: Marginal | StoredMarginal | OwnedMarginal) -> tuple[Read, ...]:
    """Everybody, as each reading counts."""
    if isinstance(base, OwnedMarginal):
        return OwnedReading(base, once=False), OwnedReading(base, once=True)
    return (base,)


@dataclass(frozen=True)
class ClassReading:
    """The classes as groups, what was expected of them and what they leak so."""

    groups: Groups
    expected: Expectation
    leakage: Leakage


@dataclass(frozen=True)
class MeasuredClasses:
    """What a combination of columns leaks about a target: the groups are the classes counted.

    `leakage` is the larger one of all readings, `people` those of each class; where people have
    several rows, `membership` tells who is in which: pairs of a class and a person.
    """

    target: LeakageTarget
    counted: ClassCounts
    readings: tuple[ClassReading, ...]
    people: PeopleArray
    leakage: Leakage
    membership: tuple[Ints, Codes] | None = None

    def share(self, where: Bools) -> float:
        """The share of people who are in one of these classes."""
        if self.membership is None:
            return float(self.people[where].sum()) / float(self.people.sum())
        return float(self._largest_by_person(where.astype(np.float64)).mean())

    def mean(self, figures: Floats) -> float:
        """The mean over people of what is told of classes: of each her worst."""
        if self.membership is None:
            people = self.people.astype(np.float64)
            return float(figures @ people / people.sum())
        return float(self._largest_by_person(figures).mean())

    def _largest_by_person(self, figures: Floats) -> Floats:
        """By person, the largest figure of a class of hers."""
        assert self.membership is not None
        of_class, person = self.membership
        largest = np.full(int(person.max()) + 1, -np.inf)
        np.maximum.at(largest, person, figures[of_class])
        return largest[largest > -np.inf]

    def worse(self, group: int) -> ClassReading:
        """The reading by which a class leaks more."""
        return max(self.readings, key=lambda reading: reading.leakage.squared[group])


def measure(
    cells: Marginal | OwnedMarginal, target: LeakageTarget, *priors: TargetPriors
) -> MeasuredClasses:
    """The leakage of every class that the cells' other columns make; a prior for each reading."""
    if isinstance(cells, Marginal):
        counted = cells.by_class(target.column)
        reading = _read(counted, target, *priors)
        return MeasuredClasses(target, counted, (reading,), counted.people, reading.leakage)
    by_reading = [read.by_class(target.column) for read in (cells.by_row, cells.by_person)]
    readings = tuple(
        _read(read, target, prior) for read, prior in zip(by_reading, priors, strict=True)
    )
    classes = by_reading[0].classes
    narrower = cells.onto(classes.columns)
    of_class = classes.numbers_of(narrower.cells)
    return MeasuredClasses(
        target,
        by_reading[0],
        readings,
        np.bincount(of_class, minlength=len(classes)).astype(np.int64),
        _larger(*(reading.leakage for reading in readings)),
        (of_class, narrower.owner),
    )


def _read(counted: ClassCounts, target: LeakageTarget, priors: TargetPriors) -> ClassReading:
    groups = Groups.from_sparse(
        counted.indptr,
        counted.values,
        cast(Ints, counted.n),  # of a bucketized release, expected people
        counted.width,
        sizes=cast(Ints, counted.people),
        case="single",
    )
    expected = priors.about(target, counted)
    return ClassReading(groups, expected, leakage(groups, expected))


def _larger(first: Leakage, second: Leakage) -> Leakage:
    return Leakage(
        np.maximum(first.squared, second.squared),
        np.maximum(first.entropy, second.entropy),
        np.maximum(first.ruled_out, second.ruled_out),
    )
