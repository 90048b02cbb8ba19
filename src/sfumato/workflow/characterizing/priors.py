"""What an observer of columns expects: the priors of a characterization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.adversaries.leakage.expectation import (
    Distributions,
    Expectation,
    one_for_all,
    weighted,
)
from sfumato.adversaries.leakage.observer_priors import kind_of, normal
from sfumato.counts.marginals import ClassCounts, Marginal
from sfumato.errors import InputError, did_you_mean
from sfumato.table.load import Table
from sfumato.workflow.characterizing.combinations import LeakageTarget, Set
from sfumato.workflow.characterizing.ground import Ground, Labels, of_table

GroundPrior = str | Mapping[str, Any] | Table
WHO = "characterize"


def check_prior(prior: GroundPrior) -> Any:
    """A prior in plain form; those by published class belong to the criteria."""
    checked = normal(WHO, prior)
    if kind_of(checked) in ("listed", "release"):
        raise InputError(
            f"{WHO}: a prior for each class fits one combination only; require "
            "distribution-leakage with it, or use 'table', 'uniform', shares, "
            "{'given': columns} or an outside table"
        )
    return checked


def words(prior: Any, ground: Ground) -> str:
    """What she expects, in words."""
    everybody = "the published people are" if ground.public else "everybody is"
    return {
        "table": f"how {everybody} distributed",
        "uniform": "every value alike",
        "shares": "the given shares",
        "given": f"what {', '.join(prior['given'])} tell already"
        if kind_of(prior) == "given"
        else "",
        "table outside": "what an outside table tells of the same class",
    }[kind_of(prior)]


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
        prior: Any,
        ground: Ground,
        base: Marginal,
        targets: Sequence[LeakageTarget],
        known: Set,
    ) -> Priors:
        """The prior that was given, for these targets."""
        kind = kind_of(prior)
        if kind == "given":
            return cls({}, base, known, {})
        if kind == "table outside":
            outside, further = _coded_as(prior, ground, base, targets)
            return cls({}, outside, None, further)
        if kind == "shares" and sum(len(target.members) for target in targets) > 1:
            raise InputError(f"{WHO}: shares by value fit one target of one column; name one")
        if kind == "shares":
            (target,) = targets
            named, unseen = _named(prior, ground, target)
            return cls({target.column: named}, None, None, {target.column: unseen})
        return cls({target.column: _one(kind, base, target) for target in targets}, None, None, {})

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


def _one(kind: str, base: Marginal, target: LeakageTarget) -> Distributions:
    """How a target's values are distributed, alike or as the people shown have them."""
    place = base.columns.index(target.column)
    size = base.sizes[place]
    if kind == "uniform":
        return weighted([1] * size)
    return weighted(np.bincount(base.codes[place], base.n, minlength=size))


def _named(prior: Any, ground: Ground, target: LeakageTarget) -> tuple[Distributions, Labels]:
    """The shares that were given, and the values among them that nobody shown has."""
    labels = list(ground.labels[target.column])
    unseen = ground.unseen.get(target.name, ())
    further = [value for value in prior if value not in labels and value in unseen]
    known = [*labels, *further]
    strange = [value for value in prior if value not in known]
    if strange:
        raise InputError(
            f"{WHO}: prior names {strange[0]!r}, not a value of {target.name!r}; "
            f"{did_you_mean(strange[0], labels)}"
        )
    return weighted([prior.get(label, 0) for label in known]), further


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
