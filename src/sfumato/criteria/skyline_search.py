"""The skyline inside a search (the paper's Fig. 6, SkylineAnonymize): splits weighed and taken.

The breach probability of a release follows from five minima over its groups for each question
asked (`adversaries.skyline.breach`). Single values: a split never raises a minimum, so the running
minima are all there is to remember, and a split that is refused once is refused for ever. The
paper's line "A5 = min{A4, ...}" must read min{A5, ...}; as printed it is unsafe. Whole lists are
like single values as long as every group's factors are exact. Several values per person in one bag,
and lists whose factors may be bounds: the minima of the group that is split must be forgotten,
since merging may be worse than splitting, so the factors of every present group are remembered.

Odds within 1e-9 of the bound are refused.

What a search carries from split to split; the criterion alone is read without it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.adversaries.skyline.breach import (
    NEAR,
    AnyCase,
    factor_bounds,
    minima,
    odds,
    odds_at,
)
from sfumato.numbers import Bools, Floats, Ints
from sfumato.release.groups import Groups

_SAME = 1e-12  # factors of the same counts agree to this


@dataclass(frozen=True)
class Questions:
    """P columns: a target value's code, (l, k, m) and a confidence each; what a value is.

    `closed`: merging groups never lowers a factor.
    """

    targets: Ints
    points: Ints
    confidences: tuple[Fraction, ...]
    case: AnyCase
    closed: bool

    def factors(self, groups: Groups) -> Floats:
        return factor_bounds(groups, self.targets, self.points, self.case).least

    def safe(self, least: Floats) -> Bools:
        """Whether every question is answered safely, from minima [..., P, 5]."""
        return np.asarray((odds(least) > self._bounds).all(axis=-1))

    @property
    def _bounds(self) -> Floats:
        return np.array([float(odds_at(c)) for c in self.confidences]) * (1 + NEAR)


class Present:
    """The factors of every group there is now, and the two smallest of each.

    Two, because the minimum without one group is the smallest or, if that is the group's own, the
    second smallest.
    """

    def __init__(self, factors: Floats) -> None:
        self._shape = factors.shape[1:]
        self._rows = factors.reshape(len(factors), -1).copy()
        self._used = len(factors)
        self._where: dict[bytes, list[int]] = defaultdict(list)
        for place, row in enumerate(self._rows):
            self._where[row.tobytes()].append(place)
        self._two = np.full((2, self._rows.shape[1]), np.inf)
        self._rank(np.arange(self._rows.shape[1]))

    def without(self, parent: Floats) -> Floats:
        """The minima over all groups but one with the parent's factors."""
        is_parent = parent.reshape(-1) <= self._two[0] * (1 + _SAME)
        least: Floats = np.where(is_parent, self._two[1], self._two[0]).reshape(self._shape)
        return least

    def replace(self, parent: Floats, children: Floats) -> None:
        """One group becomes several."""
        gone = parent.reshape(-1)
        place = self._place(gone)
        flat = children.reshape(len(children), -1)
        while self._used + len(flat) > len(self._rows):
            more = np.full_like(self._rows, np.inf)
            self._rows = np.concatenate([self._rows, more])
        # The first child takes the parent's place, the others new ones.
        places = [place, *range(self._used, self._used + len(flat) - 1)]
        self._rows[places] = flat
        for at, row in zip(places, flat, strict=True):
            self._where[row.tobytes()].append(at)
        self._used += len(flat) - 1
        limit = self._two[1] * (1 + _SAME)
        self._rank(np.flatnonzero((gone <= limit) | (flat.min(axis=0) <= limit)))

    def _place(self, gone: Floats) -> int:
        """Where a group with these factors stands; any of several equal ones."""
        known = self._where[gone.tobytes()]
        if known:
            return known.pop()
        # The same counts in another order may differ in the last bit.
        rows = self._rows[: self._used]
        with np.errstate(invalid="ignore"):  # infinity is as far as can be from anything finite
            apart = np.where(rows == gone, 0.0, np.abs(rows - gone)).max(axis=1)
        place = int(np.nanargmin(apart))
        self._where[self._rows[place].tobytes()].remove(place)
        return place

    def _rank(self, columns: Ints) -> None:
        rows = self._rows[: self._used, columns]
        if self._used > 1:
            self._two[:, columns] = np.partition(rows, 1, axis=0)[:2]
        else:
            self._two[0, columns] = rows[0]


@dataclass(frozen=True)
class RunningMinima:
    """Candidate splits where merging never lowers a factor, by the minima over their parts."""

    questions: Questions
    least: Floats
    hopeful: Bools

    def allows(self, state: object, at: int) -> bool:
        assert isinstance(state, np.ndarray)
        return bool(self.questions.safe(np.minimum(state, self.least[at])))

    def take(self, state: object, at: int) -> Floats:
        assert isinstance(state, np.ndarray)
        moved: Floats = np.minimum(state, self.least[at])
        return moved


@dataclass(frozen=True)
class Replacements:
    """Candidate splits where it may: each takes its parent's factors out of the minima."""

    questions: Questions
    parents: Floats
    children: Floats
    least: Floats
    first: Ints
    hopeful: Bools

    def allows(self, state: object, at: int) -> bool:
        assert isinstance(state, Present)
        moved = np.minimum(state.without(self.parents[at]), self.least[at])
        return bool(self.questions.safe(moved))

    def take(self, state: object, at: int) -> Present:
        assert isinstance(state, Present)
        state.replace(self.parents[at], self.children[self.first[at] : self.first[at + 1]])
        return state


def begin(questions: Questions, groups: Groups) -> Floats | Present:
    """The state of a search that begins with these groups."""
    if questions.closed:
        return minima(groups, questions.targets, questions.points, questions.case)
    return Present(questions.factors(groups))


def weigh(
    questions: Questions, state: object, parents: Groups, children: Groups, first: Ints
) -> RunningMinima | Replacements:
    """Weigh candidate splits: parent i would become the children first[i] to first[i + 1]."""
    made = questions.factors(children)
    least = np.minimum.reduceat(made, first[:-1], axis=0)
    if isinstance(state, Present):
        before = questions.factors(parents)
        kept = np.stack([state.without(parent) for parent in before])
        hopeful = questions.safe(np.minimum(kept, least))
        return Replacements(questions, before, made, least, first, hopeful)
    assert isinstance(state, np.ndarray)
    return RunningMinima(questions, least, questions.safe(np.minimum(state, least)))
