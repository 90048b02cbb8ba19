"""What an intersection attack achieves over all its targets, in figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

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
    """SummedFigures over people.

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


@dataclass(frozen=True)
class SummedFigures:
    """What is summed up of people, part by part, to be summarized."""

    people: int
    by_status: Ints
    not_locatable_exposed: int
    vulnerable: int
    exposed_by_one: int
    left: Floats  # people by how many values are left of them
    right: Floats | None  # the same of those a guess gets right
    before: Floats  # by release, as group sizes
    fewest: float
    after: float
    group_size: Floats
    nearest_right: tuple[tuple[float, int] | None, ...]  # by release: of how many, and how many
    partly_known: int
    believed: Floats  # by least belief
    believed_right: Floats | None

    @classmethod
    def of(
        cls,
        people: Targets,
        cases: IntersectedCases,
        located_by_release: Sequence[Located],
        sizes: Sequence[Ints | Floats],
        right: Floats | None,
        nearest_right: Sequence[tuple[float, int] | None],
    ) -> SummedFigures:
        """Of some of the targets; `sizes` are the people of each release's groups."""
        per_case = np.bincount(people.case, weights=people.people, minlength=people.cases)
        counted = per_case * (cases.status == 0)
        left: Floats = np.bincount(cases.after, weights=counted).astype(np.float64)
        right_by_size: Floats | None = None
        if right is not None:
            rows = cases.status[people.case] == 0
            right_people = right[rows] * people.people[rows]
            after = cases.after[people.case[rows]]
            right_by_size = np.bincount(after, right_people, len(left)).astype(np.float64)
        believed, believed_right = _believed(people, cases, right)
        return cls(
            people=int(people.people.sum()),
            by_status=np.array(
                [int(per_case[cases.status == number].sum()) for number in range(3)]
            ),
            not_locatable_exposed=int(per_case[(cases.status == 2) & (cases.after == 1)].sum()),
            vulnerable=int(counted[cases.fewest > cases.after].sum()),
            exposed_by_one=int(counted[cases.fewest == 1].sum()),
            left=left,
            right=right_by_size,
            before=np.array([float(row @ counted) for row in cases.before]),
            fewest=float(cases.fewest @ counted),
            after=float(cases.after @ counted),
            group_size=np.array(
                [
                    float(_sums(group_people[located.groups], located.indptr) @ counted)
                    for located, group_people in zip(located_by_release, sizes, strict=True)
                ]
            ),
            nearest_right=tuple(nearest_right),
            partly_known=people.partly_known,
            believed=believed,
            believed_right=believed_right,
        )

    def __add__(self, other: SummedFigures) -> SummedFigures:
        both = {
            known.name: _added(getattr(self, known.name), getattr(other, known.name))
            for known in fields(SummedFigures)
        }
        return SummedFigures(**both)

    def summary(self, *, of_rows: bool = False) -> Summary:
        total = int(self.by_status[0])

        def mean(summed: float) -> float:
            return float(summed / total) if total else float("nan")

        return Summary(
            people=self.people,
            located=total,
            not_locatable=int(self.by_status[2]),
            not_locatable_exposed=self.not_locatable_exposed,
            inconsistent=int(self.by_status[1]),
            vulnerable=self.vulnerable,
            exposed_by_one=self.exposed_by_one,
            left=tuple(self.left.astype(np.int64)[1:].tolist()),
            right=None if self.right is None else tuple(self.right[1:].tolist()),
            before=tuple(map(mean, self.before.tolist())),
            fewest_before=mean(self.fewest),
            after=mean(self.after),
            drop=mean(self.fewest - self.after),
            group_size=tuple(map(mean, self.group_size.tolist())),
            correctly_located=tuple(
                None if right is None or not right[1] else right[0] / right[1]
                for right in self.nearest_right
            ),
            partly_known=self.partly_known,
            beliefs=self._beliefs(total),
            of_rows=of_rows,
        )

    def _beliefs(self, total: int) -> tuple[ReliabilityPoint, ...]:
        points = []
        for place, least in enumerate(BELIEFS):
            many, precision = int(self.believed[place]), None
            if self.believed_right is not None and many:
                precision = float(self.believed_right[place] / many)
            share = many / total if total else float("nan")
            points.append(ReliabilityPoint(least, share, precision))
        return tuple(points)


def _added(first: Any, second: Any) -> Any:
    """The sum of figures: of arrays of sizes from 0 upwards, the longer one's.

    What cannot be told of some people is not told of all.
    """
    if first is None or second is None:
        return None
    if isinstance(first, tuple):
        return tuple(_added(*pair) for pair in zip(first, second, strict=True))
    if isinstance(first, np.ndarray):
        longest = max(len(first), len(second))
        return sum(np.pad(numbers, (0, longest - len(numbers))) for numbers in (first, second))
    return first + second


def _sums(numbers: Ints | Floats, offsets: Ints) -> Floats:
    """The sum of each row; expected counts are no whole numbers."""
    summed = np.bincount(rows_of(offsets), weights=numbers, minlength=len(offsets) - 1)
    return summed.astype(np.float64)


BELIEFS = (1.0, 0.99, 0.95, 0.9, 0.75, 0.5)


def _believed(
    people: Targets, cases: IntersectedCases, right: Floats | None
) -> tuple[Floats, Floats | None]:
    """How many are believed to have one value at least so surely, and of how many that is right."""
    rows = np.flatnonzero(cases.status[people.case] == 0)
    belief, n = cases.belief[people.case[rows]], people.people[rows]
    many, of_right = np.zeros(len(BELIEFS)), np.zeros(len(BELIEFS))
    for place, least in enumerate(BELIEFS):
        sure = belief >= least * (1 - 1e-12)
        many[place] = n[sure].sum()
        if right is not None:
            of_right[place] = right[rows][sure] @ n[sure]
    return many, None if right is None else of_right
