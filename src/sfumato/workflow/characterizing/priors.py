"""What an observer of columns expects: the priors of a characterization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.adversaries.leakage.expectation import (
    Distributions,
    Expectation,
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
from sfumato.counts.marginals import ClassCounts, Marginal
from sfumato.errors import InputError
from sfumato.table.load import Table
from sfumato.workflow.characterizing.combinations import LeakageTarget, Set
from sfumato.workflow.characterizing.ground import Ground, Labels, of_table

CHARACTERIZE = PriorUse(
    "characterize",
    (OfTable, Uniform, ValueShares, ValueCounts, FewerColumns, OutsideTable),
    error=InputError,
)
WHO = CHARACTERIZE.who


def words(prior: Prior, ground: Ground) -> str:
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
    return f"how {'the published people are' if ground.public else 'everybody is'} distributed"


@dataclass(frozen=True)
class Priors:
    """The prior about each target; `outside` are counted people, by the table's own codes."""

    everywhere: Mapping[int, Distributions]
    outside: Marginal | None
    known: Set | None
    further: Mapping[int, Labels]
    counted: dict[Set, tuple[Marginal, Distributions]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        prior: Prior,
        ground: Ground,
        base: Marginal,
        targets: Sequence[LeakageTarget],
        known: Set,
    ) -> Priors:
        """The prior that was given, for these targets."""
        match prior:
            case FewerColumns():
                return cls({}, base, known, {})
            case OutsideTable():
                outside, further = _coded_as(prior.people, ground, base, targets)
                return cls({}, outside, None, further)
            case ValueShares() | ValueCounts():
                if sum(len(target.members) for target in targets) > 1:
                    raise InputError(
                        f"{WHO}: shares by value fit one target of one column; name one"
                    )
                (target,) = targets
                named, unseen = _named(prior, ground, target)
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
            found = self.outside.onto(seen).by_class(target.column)
            rows = Distributions(found.indptr, found.values, found.n)
            self.counted[seen] = found.classes, rows
        theirs, rows = self.counted[seen]
        return Expectation(theirs.numbers_of(counted.classes), rows)

    def labels(self, labels: tuple[Labels, ...]) -> tuple[Labels, ...]:
        """The values of every column, with those that only an outside table has."""
        return tuple(
            [*own, *self.further.get(place, ())] if place in self.further else own
            for place, own in enumerate(labels)
        )


def _one(base: Marginal, target: LeakageTarget, *, alike: bool) -> Distributions:
    """How a target's values are distributed, alike or as the people shown have them."""
    place = base.columns.index(target.column)
    size = base.sizes[place]
    if alike:
        return weighted([1] * size)
    return weighted(np.bincount(base.codes[place], base.n, minlength=size))


def _named(
    prior: ValueShares | ValueCounts, ground: Ground, target: LeakageTarget
) -> tuple[Distributions, Labels]:
    """The shares that were given, and the values among them that nobody shown has."""
    labels = list(ground.labels[target.column])
    unseen = set(ground.unseen.get(target.name, ())) - set(labels)
    further = [value for value in prior.weights if value in unseen]
    known = [*labels, *further]
    check_values(prior, known, target.name, CHARACTERIZE)
    return weighted([float(prior.weights.get(label, 0)) for label in known]), further


def _coded_as(
    table: Table, ground: Ground, base: Marginal, targets: Sequence[LeakageTarget]
) -> tuple[Marginal, dict[int, Labels]]:
    """An outside table by the codes of ours; values only it has follow after ours."""
    if ground.public:
        raise InputError(
            f"{WHO}: a release shows cells, an outside table values; require distribution-leakage "
            "with that table as prior instead"
        )
    if any(len(target.members) > 1 for target in targets):
        raise InputError(f"{WHO}: an outside table cannot be the prior of joint targets")
    needed = base.columns
    outside = of_table(table, {ground.names[column] for column in needed})
    rows, sizes = [], []
    further: dict[int, Labels] = {}
    for column in needed:
        name, size = ground.names[column], base.sizes[base.columns.index(column)]
        place = outside.place(name)
        code = {label: at for at, label in enumerate(ground.labels[column])}
        mapped = np.array([code.setdefault(text, len(code)) for text in outside.labels[place]])
        rows.append(mapped[outside.base.codes[place]])
        sizes.append(max(len(code), size))
        further[column] = list(code)[size:]
    codes = np.ascontiguousarray(np.vstack(rows).astype(np.int32))
    return Marginal(needed, tuple(sizes), codes, outside.base.n), further
