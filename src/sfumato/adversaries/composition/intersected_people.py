"""Targets and what releases leave of them: all at once, or some of a table larger than memory.

How often a guess is right, how beliefs move, and the private table that tells it row by row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.adversaries.base import BeliefChange, farther, farthest, moved
from sfumato.adversaries.composition.intersection import STATUS, IntersectedCases, SharedValues
from sfumato.adversaries.locating.targets import Targets
from sfumato.numbers import Floats, offsets_of


@dataclass(frozen=True)
class IntersectedPeople:
    """Some of the targets, what is left of them, and whether guesses about them are right."""

    people: Targets
    cases: IntersectedCases
    right: Floats | None


@dataclass(frozen=True)
class MovedBeliefs:
    """How many people beliefs are moved of, and the belief that moves most."""

    people: int = 0
    farthest: BeliefChange | None = None

    @classmethod
    def of(
        cls, parts: Iterable[IntersectedPeople], prior: Floats, labels: tuple[str, ...]
    ) -> MovedBeliefs:
        summed = cls()
        for part in parts:
            summed = summed.beside(cls._of_part(part, prior, labels))
        return summed

    @classmethod
    def _of_part(
        cls, part: IntersectedPeople, prior: Floats, labels: tuple[str, ...]
    ) -> MovedBeliefs:
        people, cases = part.people, part.cases
        located = np.repeat(cases.status == 0, cases.after)
        case = np.repeat(np.arange(len(cases.after)), cases.after)[located]
        codes = cases.values[located]
        before, after = prior[codes], cases.posterior[located]
        per_case = np.bincount(people.case, weights=people.people, minlength=len(cases.after))
        far = np.unique(case[moved(before, after)])
        return cls(int(per_case[far].sum()), farthest(before, after, codes, labels))

    def beside(self, other: MovedBeliefs) -> MovedBeliefs:
        return MovedBeliefs(self.people + other.people, farther(self.farthest, other.farthest))


def right_guesses(people: Targets, cases: IntersectedCases, shared: SharedValues) -> Floats | None:
    """The chance that guessing the likeliest value is right, for each row; NaN without a guess."""
    if people.truth is None:
        return None
    domain, codes = people.truth
    numbers = np.array([shared.of.get(label, -1) for label in domain.labels], dtype=np.int64)
    true = numbers[codes]
    width = len(shared.labels) + 1
    case = np.repeat(np.arange(len(cases.after)), cases.after)
    guesses = np.bincount(case, weights=cases.likeliest, minlength=len(cases.after))
    keys = case[cases.likeliest] * width + cases.values[cases.likeliest]
    asked = people.case * width + np.where(true < 0, width - 1, true)
    hit = np.zeros(len(asked), dtype=bool)
    if len(keys):
        place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        hit = keys[place] == asked
    with np.errstate(invalid="ignore", divide="ignore"):
        chance = np.where(hit, 1.0, 0.0) / guesses[people.case]
    return np.where(guesses[people.case] > 0, chance, np.nan)


# The private table of an intersection attack: what is learnt about each target, row by row.


def table_of(part: IntersectedPeople, labels: tuple[str, ...]) -> pa.Table:
    """One row for each row of the targets."""
    people, cases, right = part.people, part.cases, part.right
    row = people.case
    texts = pa.array(labels, pa.string())
    ends = pa.array(cases.ends, pa.int32())
    left = cases.after > 0
    guess = np.zeros(len(left), dtype=np.int64)
    likely = np.flatnonzero(cases.likeliest)[::-1]
    case = np.repeat(np.arange(len(left)), cases.after)
    guess[case[likely]] = cases.values[likely]  # of equals the first
    somewhere = cases.there.any(axis=0)
    before = pa.FixedSizeListArray.from_arrays(
        pa.array(cases.before.T.ravel(), pa.int32(), mask=~cases.there.T.ravel()),
        len(cases.there),
    )
    by_case = pa.table(
        {
            "target": pa.StructArray.from_arrays(
                [_known_values(people, column) for column in range(len(people.domains))],
                names=list(people.columns),
            ),
            "unknown": _unknown_names(people),
            "status": pa.array(STATUS).take(pa.array(cases.status)),
            "values": pa.ListArray.from_arrays(ends, texts.take(pa.array(cases.values))),
            "before": before,
            "after": pa.array(cases.after, mask=~somewhere),
            "drop": pa.array(cases.fewest - cases.after, mask=~somewhere),
            "confidence": pa.array(1 / np.maximum(cases.after, 1), mask=~left),
            "posterior": pa.ListArray.from_arrays(ends, pa.array(cases.posterior)),
            "guess": texts.take(pa.array(guess, mask=~left)),
            "belief": pa.array(cases.belief, mask=~left),
        }
    )
    given = len(row) == people.cases and bool((row == np.arange(len(row))).all())
    rows = by_case if given else by_case.take(pa.array(row))
    rows = rows.add_column(1, "people", pa.array(people.people))
    chance = np.full(len(row), np.nan) if right is None else right
    return rows.append_column("right", pa.array(chance, mask=np.isnan(chance)))


def _known_values(people: Targets, column: int) -> pa.Array:
    """What each case has in a column; NULL where that is missing, or not known."""
    codes = people.codes[column]
    mask = None if people.known is None else ~people.known[column]
    return pa.array(list(people.domains[column].values)).take(pa.array(codes, mask=mask))


def _unknown_names(people: Targets) -> pa.Array:
    """The columns that are not known of each case."""
    unknown = np.zeros((people.cases, len(people.domains)), dtype=bool)
    if people.known is not None:
        unknown = ~people.known.T
    names = pa.array(people.columns, pa.string())
    return pa.ListArray.from_arrays(
        pa.array(offsets_of(unknown.sum(axis=1)), pa.int32()),
        names.take(pa.array(np.nonzero(unknown)[1])),
    )
