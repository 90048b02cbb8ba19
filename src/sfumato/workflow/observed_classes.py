"""What an observer of some columns expects, and what every class of them leaks.

Classes are those who show the same in the columns. Of people with several rows a class is the rows
that show the same, and it is read twice, as rows published one by one are everywhere: by row, and
each value of a person once. The reading that leaks more counts, class by class; people are counted
once wherever they are. Of linked rows what is known of a person is her signature in the columns,
the multiset of what her rows show there, and classes are of people whose signatures are equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt

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
from sfumato.counts.value_sets import code_sets
from sfumato.errors import InputError
from sfumato.numbers import (
    Bools,
    Codes,
    Floats,
    Ints,
    distinct,
    offsets_of,
    sums_by,
    taken_rows,
    tallied_offsets,
)
from sfumato.release.groups import Groups
from sfumato.release.signatures import Knows, parts_of_signatures
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
    if cells.known is not None:
        return _by_signature(cells, cells.known, target, priors)
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


def _by_signature(
    cells: OwnedMarginal, known: Knows, target: LeakageTarget, priors: Sequence[TargetPriors]
) -> MeasuredClasses:
    """Of linked rows: classes are the rows that show the same, of people with equal signatures.

    By row it is those rows that are read, by person all that people with the signature have. The
    people of a class are the fewest who have as many of its rows as are known.
    """
    columns = tuple(column for column in cells.columns if column != target.column)
    kind, first = cells.cells.classes(columns)
    owner, value = (
        cells.owner.astype(np.int64),
        cells.cells.codes[cells.cells.columns.index(target.column)],
    )
    pairs, place = np.unique(owner * len(first) + kind, return_inverse=True)
    person, kind_of_pair = np.divmod(pairs, len(first))
    rows = sums_by(place, cast(Ints, cells.cells.n), len(pairs))
    offsets = offsets_of(sums_by(person, rows, int(person.max(initial=-1)) + 1))
    members = np.repeat(kind_of_pair, rows).astype(np.int32)
    signature, sets = code_sets(offsets, members, repeated=True)
    people = np.bincount(signature, minlength=len(sets)).astype(np.int64)
    parts = None if known == "all" else parts_of_signatures(sets, known)
    fewest = people if parts is None else parts.fewest(people)

    key = signature[owner] * np.int64(len(first)) + kind
    classes, cell, of_class = np.unique(key, return_index=True, return_inverse=True)
    width, at = cells.sizes[cells.columns.index(target.column)], classes // len(first)
    described = (width, cells.cells, columns, cell.astype(np.int64))
    n = cast(Ints, cells.cells.n)
    by_row = ClassCounts(*_by_value(of_class, value, n, len(classes), width), *described)
    has = distinct(owner * width + value)  # each value of a person once
    ends, values, having, summed = _by_value(
        signature[has // width], has % width, np.ones_like(has), len(sets), width
    )
    indptr, listed = taken_rows(ends, at)
    by_person = ClassCounts(indptr, values[listed], having[listed], summed[at], *described)
    readings = tuple(
        _read(counted, target, prior)
        for counted, prior in zip((by_row, by_person), priors, strict=True)
    )
    place_of_pair = np.searchsorted(classes, signature[person] * len(first) + kind_of_pair)
    return MeasuredClasses(
        target,
        by_row,
        readings,
        fewest[at],
        _larger(*(reading.leakage for reading in readings)),
        (place_of_pair, person.astype(np.int32)),
    )


def _by_value(
    group: npt.NDArray[np.integer[Any]],
    value: npt.NDArray[np.integer[Any]],
    n: Ints,
    groups: int,
    width: int,
) -> tuple[Ints, Codes, Ints, Ints]:
    """The sparse counts of groups by value, and their sums."""
    key, place = np.unique(group.astype(np.int64) * width + value, return_inverse=True)
    of_group, values = np.divmod(key, width)
    counted = sums_by(place, n, len(key))
    sums = sums_by(of_group, counted, groups)
    return tallied_offsets(of_group, groups), values.astype(np.int32), counted, sums


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
