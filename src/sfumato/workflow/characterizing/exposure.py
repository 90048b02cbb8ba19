"""The leakage of every person: the most that the classes she is in leak about her. Private."""

from __future__ import annotations

from threading import Lock

import numpy as np

from sfumato.adversaries.leakage.class_leakage import ClassLeakage
from sfumato.counts.counts import Ints
from sfumato.counts.marginals import Marginal
from sfumato.release.groups import Floats
from sfumato.report.characterization import Individuals
from sfumato.workflow.characterizing.combinations import Plan, Target
from sfumato.workflow.characterizing.findings import Naming

_TIE = 1e-12  # leakages that differ by rounding alone


class Exposure:
    """Gathers, tuple by tuple of the table, the largest distribution leakage per target.

    Of combinations that leak alike the one with fewer columns is named, then the earlier one in
    the order of the columns: threads finish in any order, and that must not show.
    """

    def __init__(self, base: Marginal, plan: Plan) -> None:
        self._base, self._targets = base, plan.targets
        asked = {
            tuple(column for column in one if column != target.column)
            for one, targets in plan.asked.items()
            for target in targets
        }
        self._combinations = sorted(asked, key=lambda columns: (len(columns), columns))
        self._place = {columns: place for place, columns in enumerate(self._combinations)}
        columns = [target.column for target in plan.targets]
        self._most: dict[int, Floats] = {one: np.full(len(base), -1.0) for one in columns}
        self._by: dict[int, Ints] = {
            one: np.full(len(base), len(asked), dtype=np.int64) for one in columns
        }
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
            people=base.n,
            leakage={named[column]: most for column, most in self._most.items()},
            by={named[column]: by for column, by in self._by.items()},
            combinations=tuple(
                tuple(naming.names[column] for column in columns) for columns in self._combinations
            ),
        )
