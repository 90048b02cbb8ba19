"""The leakage of every person: the most that the classes she is in leak about her. Private."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np

from sfumato.adversaries.class_leakage import ClassLeakage
from sfumato.counts.contingency import Ints
from sfumato.counts.marginals import Marginal
from sfumato.release.groups import Floats
from sfumato.report.characterization import Individuals
from sfumato.workflow.characterizing.combinations import Target
from sfumato.workflow.characterizing.findings import Naming


class Exposure:
    """Gathers, tuple by tuple of the table, the largest distribution leakage per target."""

    def __init__(self, base: Marginal, targets: Sequence[Target]) -> None:
        self._base, self._targets = base, targets
        self._most: dict[int, Floats] = {t.column: np.zeros(len(base)) for t in targets}
        self._by: dict[int, Ints] = {t.column: np.full(len(base), -1) for t in targets}
        self._combinations: list[tuple[int, ...]] = []
        self._lock = Lock()

    def add(self, measured: ClassLeakage, target: Target) -> None:
        """Take one more combination into account."""
        columns = measured.columns
        cells, base = measured.cells, self._base
        ours = cells.codes[[cells.columns.index(column) for column in columns]][:, measured.first]
        people = base.codes[[base.columns.index(column) for column in columns]]
        sizes = tuple(cells.sizes[cells.columns.index(column)] for column in columns)
        codes = np.ascontiguousarray(np.hstack([ours, people]))
        both = Marginal(columns, sizes, codes, np.ones(codes.shape[1]))
        # One cell of each class comes first, so classes keep their numbers.
        group = both.classes(columns)[0][len(measured.first) :]
        leaks = measured.found.distribution[group]
        with self._lock:
            number = len(self._combinations)
            self._combinations.append(columns)
            more = leaks > self._most[target.column]
            fresh = more | (self._by[target.column] < 0)
            self._most[target.column][fresh] = leaks[fresh]
            self._by[target.column][fresh] = number

    def result(self, naming: Naming, columns: int) -> Individuals:
        """What was gathered, by the table's own columns."""
        base = self._base
        kept = [at for at, column in enumerate(base.columns) if column < columns]
        named = {target.column: target.name for target in self._targets}
        return Individuals(
            columns=tuple(naming.names[base.columns[at]] for at in kept),
            labels=tuple(naming.labels[base.columns[at]] for at in kept),
            codes=base.codes[kept],
            people=base.n,
            leakage={named[column]: most for column, most in self._most.items()},
            by={named[column]: by for column, by in self._by.items()},
            combinations=tuple(
                tuple(naming.names[column] for column in columns) for columns in self._combinations
            ),
        )
