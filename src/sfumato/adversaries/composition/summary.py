"""What an intersection attack achieves over all its targets, in figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.adversaries.composition.intersection import IntersectedCases
from sfumato.adversaries.locating.locate import Located
from sfumato.adversaries.locating.targets import Targets
from sfumato.errors import InputError, quoted
from sfumato.numbers import Floats, Ints, fraction, rows_of


@dataclass(frozen=True)
class ReliabilityPoint:
    """The share of people at this confidence or above, and how often the guess about them is right
    (None without the truth)."""

    confidence: float
    share: float
    precision: float | None


@dataclass(frozen=True)
class Summary:
    """Figures over people.

    `located` people were found in every release and have values left; shares and means are over
    them. `not_locatable` could not be found in some release, which is not safety:
    `not_locatable_exposed` of them have a value settled by the releases that do find them.
    `inconsistent` people have no value left, so they are not in all releases. Of `partly_known`
    people not every quasi-identifier is known: every group that fits the rest may be theirs.

    `vulnerable` people have fewer values left than any release alone leaves (the paper's VP);
    `exposed_by_one` those whom one release alone exposes, whom VP misses. `left[s]` people have
    s + 1 values left, `right[s]` is how many of them a guess gets right. `beliefs` tells how many
    are believed to have one value with at least a probability, whatever else is left. `of_rows`:
    targets are rows that are published one by one, and nothing says which are one person's, so
    that all of these count rows.

    By release: `before`, the mean number of values it leaves, `group_size`, the mean people of the
    groups it locates somebody in, and `correctly_located`, the share of people whose own group is
    among the nearest (microaggregated releases just made; else None).
    """

    people: int
    located: int
    not_locatable: int
    not_locatable_exposed: int
    inconsistent: int
    vulnerable: int
    exposed_by_one: int
    left: tuple[int, ...]
    right: tuple[float, ...] | None
    before: tuple[float, ...]
    fewest_before: float
    after: float
    drop: float
    group_size: tuple[float, ...]
    correctly_located: tuple[float | None, ...]
    partly_known: int = 0
    beliefs: tuple[ReliabilityPoint, ...] = ()
    of_rows: bool = False

    @property
    def unit(self) -> str:
        """What is counted."""
        return "rows" if self.of_rows else "people"

    @property
    def exposed(self) -> int:
        """People with one value left: perfect breach."""
        return self.left[0] if self.left else 0

    @property
    def perfect_breach(self) -> float:
        return self.share_at(1)

    @property
    def highest(self) -> float | None:
        """The highest confidence anybody's value is known with."""
        sizes = [size for size, people in enumerate(self.left, start=1) if people]
        return 1 / sizes[0] if sizes else None

    @property
    def precision(self) -> float | None:
        """How often guessing the likeliest value is right; None without the truth."""
        if self.right is None or not self.located:
            return None
        return sum(self.right) / self.located

    def share_at(self, confidence: float) -> float:
        """PVP_c: the share of located people known with at least this confidence."""
        most = values_left(confidence)
        return sum(self.left[:most]) / self.located if self.located else float("nan")

    @property
    def curve(self) -> tuple[ReliabilityPoint, ...]:
        """PVP_c at every confidence somebody is known with, from 1 downwards."""
        points = []
        for size in range(1, len(self.left) + 1):
            if not self.left[size - 1]:
                continue
            people = sum(self.left[:size])
            right = None if self.right is None else sum(self.right[:size]) / people
            points.append(ReliabilityPoint(1 / size, people / self.located, right))
        return tuple(points)


def values_left(confidence: float) -> int:
    """The most values that keep 1 / values at or above a confidence, by the decimal written."""
    number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
    if not number or not 0 < confidence <= 1:
        raise InputError(
            f"confidence = {quoted(confidence)} is not allowed; it is a number above 0 and at most "
            "1"
        )
    return int(1 / fraction(confidence))


def summarize(
    people: Targets,
    cases: IntersectedCases,
    located_by_release: Sequence[Located],
    sizes: Sequence[Ints | Floats],
    right: Floats | None,
    correctly_located: tuple[float | None, ...],
    of_rows: bool = False,
) -> Summary:
    """The figures of an attack; `sizes` are the people of each release's groups."""
    per_case = np.bincount(people.case, weights=people.people, minlength=people.cases)
    by_status = [int(per_case[cases.status == number].sum()) for number in range(3)]
    counted = per_case * (cases.status == 0)
    total = by_status[0]

    def mean(numbers: Ints | Floats) -> float:
        return float(numbers @ counted / total) if total else float("nan")

    left = np.bincount(cases.after, weights=counted).astype(np.int64)[1:]
    by_size: tuple[float, ...] | None = None
    if right is not None:
        rows = cases.status[people.case] == 0
        sums = np.bincount(
            cases.after[people.case[rows]], weights=right[rows] * people.people[rows]
        )
        by_size = tuple(np.append(sums, np.zeros(len(left) + 1))[1 : len(left) + 1].tolist())
    return Summary(
        people=int(people.people.sum()),
        located=total,
        not_locatable=by_status[2],
        not_locatable_exposed=int(per_case[(cases.status == 2) & (cases.after == 1)].sum()),
        inconsistent=by_status[1],
        vulnerable=int(counted[cases.fewest > cases.after].sum()),
        exposed_by_one=int(counted[cases.fewest == 1].sum()),
        left=tuple(left.tolist()),
        right=by_size,
        before=tuple(mean(row) for row in cases.before),
        fewest_before=mean(cases.fewest),
        after=mean(cases.after),
        drop=mean(cases.fewest - cases.after),
        group_size=tuple(
            mean(_sums(group_people[located.groups], located.indptr))
            for located, group_people in zip(located_by_release, sizes, strict=True)
        ),
        correctly_located=correctly_located,
        partly_known=people.partly_known,
        beliefs=_beliefs(people, cases, right),
        of_rows=of_rows,
    )


def _sums(numbers: Ints | Floats, offsets: Ints) -> Floats:
    """The sum of each row; expected counts are no whole numbers."""
    summed = np.bincount(rows_of(offsets), weights=numbers, minlength=len(offsets) - 1)
    return summed.astype(np.float64)


BELIEFS = (1.0, 0.99, 0.95, 0.9, 0.75, 0.5)


def _beliefs(
    people: Targets, cases: IntersectedCases, right: Floats | None
) -> tuple[ReliabilityPoint, ...]:
    """How many are believed to have one value at least so surely, and how often that is right."""
    rows = np.flatnonzero(cases.status[people.case] == 0)
    belief, n = cases.belief[people.case[rows]], people.people[rows]
    points = []
    for least in BELIEFS:
        sure = belief >= least * (1 - 1e-12)
        many = int(n[sure].sum())
        precision = None
        if right is not None and many:
            precision = float(right[rows][sure] @ n[sure] / many)
        points.append(
            ReliabilityPoint(least, many / n.sum() if len(n) else float("nan"), precision)
        )
    return tuple(points)
