"""Criteria that refer to the whole table, of a release that tells of published people alone.

Whoever has public/ alone knows how many people were suppressed and not what they have, which may be
what nobody published has. Such a criterion holds if it does whatever they have, and asks so by a
few tables that are the worst:

- all of them have the same value, each value in turn, or one of their own: a figure that is
  quasi-convex in the table's distribution (distances, gains, what she believed by a prior of one
  size) is nowhere larger than at one of these corners;
- each has a value of her own, or they even out what is there: entropy is nowhere larger, and a
  prior that takes every value for alike has the more values;
- they fill the rarer values up to each value in turn, which has nobody more: so small the least
  stubbornness may be that gives every value a weight of 1, and it counts beside the largest one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from sfumato.criteria.verdict import Verdict
from sfumato.errors import SfumatoError
from sfumato.numbers import Floats
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.schema.region import MISSING, text_of

if TYPE_CHECKING:
    from sfumato.criteria.base import Criterion

MAY_BREAK = "what the suppressed people have may break it"
_MOST_COUNTS = 50_000_000  # that are looked at, over all tables
_MOST_PEOPLE = 100_000  # who may each have a value of their own


@dataclass(frozen=True)
class MissingPeople:
    """How many of the table are not published; `closed`: they can have published values alone."""

    people: int
    closed: bool = False

    @classmethod
    def of(cls, release: Release, groups: Groups) -> MissingPeople:
        """Those of a release, as far as its schema lists all values of the column."""
        declared = release.schema.domains.get(groups.attribute or "")
        if declared is None or isinstance(declared, str):
            return cls(release.suppressed)
        possible = {text_of(value) for value in declared}
        possible |= {MISSING} if release.schema.nulls == "value" else set()
        return cls(release.suppressed, possible == set(groups.values) and _all_occur(groups))

    def share(self, groups: Groups) -> float:
        """Their share of the table."""
        return self.people / (self.people + float(groups.reference.sum()))

    def unseen(self, groups: Groups) -> Iterator[Groups]:
        """All have a value that nobody published has."""
        if not self.closed:
            yield _with_others(groups, np.array([float(self.people)]))

    def of_one_value(self, groups: Groups) -> Iterator[Groups]:
        """All have the same value, one that somebody published has: each in turn."""
        for value in range(groups.width):
            yield _referring(groups, _added(groups.reference, value, self.people))

    def mixed(self, groups: Groups) -> Iterator[Groups]:
        """As many values as there can be, as even as can be."""
        if self.closed:
            yield _referring(groups, _filled(groups.reference, np.inf, self.people)[0])
        else:
            yield _with_others(groups, np.ones(self.people))

    def levels(self, groups: Groups) -> Iterator[Groups]:
        """Rarer values are filled up to each value; the rest have another one than this."""
        for value in range(groups.width):
            level = float(groups.reference[value])
            whole, rest = _filled(groups.reference, level, self.people)
            for other in {0, 1, int(np.argmax(whole))} - {value}:
                if other < groups.width:
                    yield _referring(groups, _added(whole, other, rest))

    def tables(self, groups: Groups, *, every_size: bool = False) -> Iterator[Groups]:
        """The worst that they may have, of a figure as the module says; `every_size`: of a prior
        that counts with any smaller stubbornness, too."""
        yield from chain(self.unseen(groups), self.mixed(groups), self.of_one_value(groups))
        if every_size:
            yield from self.levels(groups)

    def too_many(self, groups: Groups) -> bool:
        """Whether it takes too long to look at all of these."""
        counted = len(groups.data) + groups.width
        return self.people > _MOST_PEOPLE or (4 * groups.width + 2) * counted > _MOST_COUNTS


def _all_occur(groups: Groups) -> bool:
    return bool((groups.reference > 0).all())


def _added(whole: Floats, value: int, people: float) -> Floats:
    added = whole.astype(np.float64)
    added[value] += people
    return added


def _filled(whole: Floats, level: float, people: float) -> tuple[Floats, float]:
    """The rarest values raised as evenly as whole people can, to a level; and who is left over."""
    filled, left = whole.astype(np.float64), int(people)
    order = np.argsort(filled, kind="stable")
    for many in range(1, len(filled) + 1):
        reached = filled[order[0]]
        goal = min(level, filled[order[many]] if many < len(filled) else np.inf)
        if goal <= reached:
            if goal >= level:
                break
            continue
        if (goal - reached) * many > left:  # whole people, so some values may get one more
            share, one_more = divmod(left, many)
            filled[order[:many]] += share
            filled[order[:one_more]] += 1
            return filled, 0.0
        filled[order[:many]] = goal
        left -= int((goal - reached) * many)
    return filled, float(left)


def _referring(groups: Groups, whole: Floats) -> Groups:
    return groups.relabel(np.arange(groups.width), tuple(groups.values), groups.domain, whole)


def _with_others(groups: Groups, others: Floats) -> Groups:
    """The same people beside so many who have each of further values."""
    unseen = "?" * (1 + max(map(len, groups.values), default=0))  # no value is so long
    values = (*groups.values, *(f"{unseen}{number}" for number in range(len(others))))
    whole = np.concatenate([groups.reference, others])
    return groups.relabel(np.arange(groups.width), values, None, whole)


def holds_of(criterion: Criterion, groups: Groups) -> bool:
    """Whether it holds; what cannot be asked does not."""
    try:
        return criterion.verdict(groups).holds
    except SfumatoError:
        return False


def whoever_is_missing(
    criterion: Criterion, verdict: Verdict, release: Release, groups: Groups
) -> Verdict:
    """The verdict, unless what the suppressed people have, who are unknown, may decide it."""
    unknown = release.whole_unknown and release.suppressed
    if not (unknown and criterion.reads_reference and verdict.holds):
        return verdict
    if criterion.holds_whatever_missing(groups, MissingPeople.of(release, groups)):
        return verdict
    return replace(verdict.with_note(MAY_BREAK), status="cannot_judge")


def holds_of_all(
    criterion: Criterion, groups: Groups, missing: MissingPeople, *, every_size: bool = False
) -> bool:
    """Whether it holds by each of the worst tables of `MissingPeople`; in doubt it does not."""
    if missing.too_many(groups):
        return False
    tables = missing.tables(groups, every_size=every_size)
    return all(map(partial(holds_of, criterion), tables))
