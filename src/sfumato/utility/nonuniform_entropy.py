"""Non-uniform entropy (De Waal, Willenborg 1999; Gionis, Tassa 2009): bits a reader must guess.

A reader who knows how common each value is in the table and sees a region must still guess which
of the covered values the person has: -log2(people with her value / people with a covered value)
bits. The mean over people and quasi-identifiers, in bits per cell; 0 for an unchanged table. A
suppressed person is one whose every region is the whole domain.

Unlike loss it weighs values by their people: widening a common value by rare ones costs little.
Not applicable (NaN) to centroids and noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log2
from typing import ClassVar

import numpy as np

from sfumato.counts.counts import TableCounts
from sfumato.numbers import Floats
from sfumato.utility.base import Remembered, Utility
from sfumato.utility.view import View, dot

_ROUNDING = 1e-12  # sums of the same terms in another order differ by less


@dataclass(frozen=True)
class NonUniformEntropy(Utility):
    """The mean number of bits per published value that a reader must guess."""

    name: ClassVar[str] = "non-uniform-entropy"
    about: ClassVar[str] = (
        "mean bits per value that a reader who knows the column must guess; "
        "suppressed = the whole column"
    )

    _columns: Remembered[list[Floats]] = field(
        default_factory=Remembered, init=False, repr=False, compare=False
    )

    def cost(self, view: View) -> float:
        if view.people == 0 or not view.covering:
            return float("nan")
        columns = self._columns.of(view.counts, make=lambda: _people_by_value(view.counts))
        bits = _hidden_bits(view, columns) if view.exact else _bits(view, columns)
        return sum(bits) / max(len(columns) * view.people, 1)


def _people_by_value(counts: TableCounts) -> list[Floats]:
    return [counts.by_code(column).astype(np.float64) for column in range(len(counts.quasi))]


def _bits(view: View, columns: list[Floats]) -> list[float]:
    """By column, summed over people: log2(people the region covers) - log2(people with the value).

    A suppressed person's region covers everybody.
    """
    # A region nobody's value lies in is shown by no group.
    covered = [
        np.log2(np.maximum(view.coverage(place).totals(people), 1.0))
        for place, people in enumerate(columns)
    ]
    by_column = []
    for seen, people in zip(view.totals(covered), columns, strict=True):
        present = people[people > 0]
        known = dot(np.log2(present), present)
        bits = seen + view.suppressed * log2(view.people) - known
        by_column.append(bits if bits > _ROUNDING * known else 0.0)
    return by_column


def _hidden_bits(view: View, columns: list[Floats]) -> list[float]:
    """The same where quasi-identifiers are published exactly: only the suppressed are guessed."""
    gone = view.pieces.groups < 0
    tuples, n = view.pieces.tuples[gone], view.pieces.n[gone].astype(np.float64)
    hidden = view.suppressed * log2(view.people)
    return [
        max(0.0, hidden - dot(np.log2(people[view.tuples.codes[place, tuples]]), n))
        for place, people in enumerate(columns)
    ]
