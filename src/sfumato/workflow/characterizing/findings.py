"""From the leakage of every class to one finding: figures, and the worst class with its values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.adversaries.leakage.class_leakage import ClassLeakage, OnePrior, PriorByClass
from sfumato.adversaries.leakage.observer import not_covered
from sfumato.counts.counts import Ints
from sfumato.errors import InputError
from sfumato.release.groups import Floats
from sfumato.report.characterization import Finding, Spread, WorstClass
from sfumato.workflow.characterizing.combinations import Target
from sfumato.workflow.characterizing.ground import Labels

_SHOWN = 50  # classes a chart can show
_TIE = 1e-12


@dataclass(frozen=True)
class Naming:
    """What columns and values are called, joint targets included."""

    names: tuple[str, ...]
    labels: tuple[Labels, ...]


def finding(
    measured: ClassLeakage, prior: OnePrior | PriorByClass, target: Target, naming: Naming
) -> Finding:
    """The figures of one combination against one target."""
    _check_covered(measured, naming)
    people = measured.people
    everybody = float(people.sum())
    distribution = measured.found.distribution
    alone = people < 1.5  # expected people add up to whole ones but for rounding
    # Classes per value; where there is one class, being in it says nothing.
    per_value = np.bincount(measured.values) if len(people) > 1 else np.zeros(0, np.int64)
    shown = np.sort(np.partition(distribution, -min(_SHOWN, len(people)))[-_SHOWN:])[::-1]
    return Finding(
        columns=tuple(naming.names[column] for column in measured.columns),
        target=target.name,
        classes=len(people),
        k=round(float(people.min())),
        unique=float(alone.sum()) / everybody,
        distribution=_spread(distribution, people),
        entropy=_spread(measured.found.entropy, people),
        ruled_out=float(people[measured.found.ruled_out > 0].sum()) / everybody,
        pinned=int((per_value == 1).sum()),
        worst=_worst(measured, prior, distribution, per_value, naming),
        per_class=shown,
    )


def _spread(leakage: Floats, people: Floats) -> Spread:
    return Spread(
        float(leakage.max()),
        float(leakage.mean()),
        float(leakage @ people / people.sum()),
    )


def _check_covered(measured: ClassLeakage, naming: Naming) -> None:
    missing = np.flatnonzero(~measured.covered)
    if len(missing):
        largest = int(missing[np.argmax(measured.people[missing])])
        told = not_covered(
            _cells(measured, largest, naming),
            round(float(measured.people[largest])),
            len(missing),
            len(measured.covered),
        )
        raise InputError(f"{told}; give it people, or use the prior 'table'")


def _cells(measured: ClassLeakage, group: int, naming: Naming) -> dict[str, str]:
    """What a class shows, column by column."""
    cell = measured.first[group]
    return {
        naming.names[column]: naming.labels[column][int(row[cell])]
        for column, row in zip(measured.cells.columns, measured.cells.codes, strict=True)
        if column != measured.target
    }


def _worst(
    measured: ClassLeakage,
    prior: OnePrior | PriorByClass,
    distribution: Floats,
    per_value: Ints,
    naming: Naming,
) -> WorstClass:
    """The class that leaks most; of equal ones the one with most people."""
    ties = np.flatnonzero(distribution >= distribution.max() - _TIE)
    group = int(ties[np.argmax(measured.people[ties])])
    inside = np.flatnonzero(measured.of == group)
    values = measured.values[inside].astype(np.int64)
    order = np.argsort(values)
    inside, values = inside[order], values[order]
    labels = naming.labels[measured.target]
    return WorstClass(
        cells=_cells(measured, group, naming),
        people=round(float(measured.people[group])),
        values=labels,
        expected=_expected(measured, prior, group, len(labels)),
        places=values,
        there=measured.cells.n[inside] / measured.people[group],
        only_here=tuple(
            labels[value] for value in values.tolist() if len(per_value) and per_value[value] == 1
        ),
    )


def _expected(
    measured: ClassLeakage, prior: OnePrior | PriorByClass, group: int, width: int
) -> Floats:
    """What was expected of one class: the share of every value of the target."""
    if isinstance(prior, OnePrior):
        return prior.shares
    outside = prior.outside
    cell = measured.first[group]
    fits = np.ones(len(outside), dtype=bool)
    for column, row in zip(outside.columns, outside.codes, strict=True):
        if column != measured.target:
            fits &= row == measured.cells.codes[measured.cells.columns.index(column), cell]
    shares = np.zeros(width)
    values = outside.codes[outside.columns.index(measured.target), fits]
    shares[values] = outside.n[fits] / outside.n[fits].sum()
    return shares
