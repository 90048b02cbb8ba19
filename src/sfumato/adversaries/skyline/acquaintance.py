"""An acquaintance: somebody who knows (l, k, m) facts, as a row of the threat matrix.

How sure she can become of a target in each group: what she knows may be about people of other
groups too, so the least doubt that relatives anywhere leave counts for every group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from sfumato.adversaries.base import (
    ALTERED,
    MOST_COUNTS,
    BeliefChange,
    CatalogueEntry,
    Moves,
    Threat,
)
from sfumato.adversaries.skyline.breach import (
    AIDED,
    BARE,
    KIN,
    KIN_AIDED,
    NAME,
    NEAR,
    OWN,
    AnyCase,
    Bounds,
    case_of,
    check_confidence,
    check_point,
    code_of,
    factor_bounds,
    groups_of,
    minima_bounds,
    odds,
    safe,
)
from sfumato.adversaries.skyline.unlinked_rows import (
    before_release,
    is_reached,
    judged_rows,
    rows_breach,
)
from sfumato.errors import InputError, quoted
from sfumato.numbers import Floats, Ints
from sfumato.release.beside import Headcount
from sfumato.release.groups import Groups
from sfumato.release.kinds import one_per_kind
from sfumato.release.release import Release

_CELLS = 1 << 20
KnownCounts = tuple[int, int, int]
ONE_EACH: KnownCounts = (1, 1, 1)  # a fact about the target, another person's value, a relative
MOST_VALUES = 100


def certainties(
    groups: Groups, targets: Ints, points: Ints, case: AnyCase, least: Bounds
) -> Iterator[tuple[slice, Floats, Floats]]:
    """For block after block of groups: how sure she becomes of a target there at most, [B, P], and
    at least, by the facts that were found."""
    step = max(1, _CELLS // max(1, len(targets)))
    for start in range(0, len(groups), step):
        stop = min(start + step, len(groups))
        block = factor_bounds(groups, targets, points, case, start, stop)
        most = _certainty(block.least, least.least)
        exact = block.reached is block.least
        yield slice(start, stop), most, most if exact else _certainty(block.reached, least.reached)


def _certainty(block: Floats, least: Floats) -> Floats:
    # Where nobody has the value the odds are infinite, whatever the family tells elsewhere.
    having = np.isfinite(block[..., BARE])
    apart = np.where(having, block[..., BARE], 1) * least[:, KIN_AIDED]
    beside = np.where(having, block[..., AIDED], 1) * least[:, KIN]
    against = np.minimum(block[..., OWN], np.minimum(apart, beside))
    return np.where(having, 1 / (1 + against), 0.0)


def exposed_people(
    groups: Groups | Release,
    value: str,
    points: Sequence[KnownCounts],
    confidence: float | Fraction,
    case: AnyCase | None = None,
    *,
    sensitive: str | None = None,
) -> list[Headcount]:
    """Of how many people somebody can become `confidence` sure that they have `value`, by so many
    facts (l, k, m): a number for each point.

    Everybody of a group counts in which she can, by the facts that tell most. Where it is at most
    known how sure she becomes, at most so many are counted.
    """
    judged, limit = groups_of(groups, sensitive), check_confidence(confidence)
    given: object = points
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InputError(f"points = {quoted(given)} is not allowed; give a list of (l, k, m)")
    if isinstance(groups, Release) and judged.beside.unlinked is not None:
        return _exposed_by_rows(groups, judged, value, points, limit, case)
    form = case_of(judged, case)
    known = np.array([check_point(point) for point in points], dtype=np.int64).reshape(-1, 3)
    codes = np.full(len(known), code_of(judged, value), dtype=np.int64)
    least = minima_bounds(judged, codes, known, form)
    good = safe(judged, codes, known, [limit] * len(known), form, least.least)[1]
    reached = np.zeros((len(known), len(judged)), dtype=bool)
    for block, most, _ in certainties(judged, codes, known, form, least):
        reached[:, block] = (most >= float(limit) * (1 - NEAR)).T & ~good[:, None]
    counted = [judged.headcount(exposed) for exposed in reached]
    bounded = least.at_most
    return [
        Headcount(people.number, at_most=people.at_most or bool(known_as_bound and people.number))
        for people, known_as_bound in zip(counted, bounded, strict=True)
    ]


def _exposed_by_rows(
    release: Release,
    groups: Groups,
    value: str,
    points: Sequence[KnownCounts],
    limit: Fraction,
    case: AnyCase | None,
) -> list[Headcount]:
    """The same of people whose rows are published one by one."""
    questions, code, counted = judged_rows(release, groups, case), code_of(groups, value), []
    for point in points:
        certainty, exact = questions.ask(code, check_point(point))
        people = groups.headcount(is_reached(certainty, limit))
        bounded = people.at_most or (not exact and people.number > 0)
        counted.append(Headcount(people.number, at_most=bounded))
    return counted


@dataclass(frozen=True)
class Acquaintance:
    """Somebody who knows so many facts; she asks about some values by their codes, or about all.

    `case` is that of the groups unless given.
    """

    known: KnownCounts
    values: Sequence[int] | None = None
    case: AnyCase | None = None

    @property
    def name(self) -> str:
        return NAME

    def attack(
        self, release: Release, groups: Groups | None = None
    ) -> Acquainted | AcquaintedWithRows:
        about = release.groups if groups is None else groups
        values = range(about.width) if self.values is None else self.values
        if about.beside.unlinked is not None:
            return AcquaintedWithRows(release, about, self.known, values)
        return Acquainted(about, self.known, values, self.case)


@dataclass(frozen=True)
class Acquainted:
    """What so many facts make of the groups, asked about values by their codes."""

    groups: Groups
    known: KnownCounts
    targets: Sequence[int]
    case: AnyCase | None = None

    def threats(self) -> list[Threat]:
        groups = one_per_kind(self.groups)
        case = case_of(groups, self.case)
        targets = np.asarray(self.targets, dtype=np.int64)
        points = np.tile(np.asarray(self.known, dtype=np.int64), (len(targets), 1))
        least = minima_bounds(groups, targets, points, case)
        before = _without_release(groups, targets, points, case)
        moves, reached = Moves(groups), Moves(groups)
        for block, most, attained in certainties(groups, targets, points, case, least):
            rows = np.repeat(np.arange(block.start, block.stop), len(targets))
            asked = np.tile(targets, block.stop - block.start)
            expected = np.tile(before, block.stop - block.start)
            moves.see(rows, asked, expected, most.ravel())
            if attained is not most:
                reached.see(rows, asked, expected, attained.ravel())
        if case == "lists":
            moves.worst = _bounded(moves.worst, reached.worst)
            moves.surest = _bounded(moves.surest, reached.surest)
            moves.surest_moved = _bounded(moves.surest_moved, reached.surest_moved)
        name = groups.attribute or "the sensitive value"
        learns = f"{name}: {moves.words}"
        return [
            Threat(
                NAME,
                words(self.known, case),
                learns,
                name,
                moves.people,
                moves.worst,
                surest=moves.surest_moved,
            ),
        ]


@dataclass(frozen=True)
class AcquaintedWithRows:
    """What so many facts make of people whose rows are published one by one."""

    release: Release
    groups: Groups
    known: KnownCounts
    targets: Sequence[int]

    def threats(self) -> list[Threat]:
        groups, release = self.groups, self.release
        targets = np.asarray(self.targets, dtype=np.int64)
        points = np.tile(np.asarray(self.known, dtype=np.int64), (len(targets), 1))
        name, knows = groups.attribute or "the sensitive value", words(self.known, "lists")
        breach = rows_breach(release, groups, targets, points)
        if breach is None:
            return [Threat(NAME, knows, f"{name}: {_OWNERS_UNKNOWN}", name, status="not_measured")]
        before = before_release(release, groups, targets, points)
        moves, many = Moves(groups), len(groups)
        rows = np.repeat(np.arange(many), len(targets))
        moves.see(rows, np.tile(targets, many), np.tile(before, many), breach.certainty.ravel())
        if not breach.exact.all():
            moves.worst = _bounded(moves.worst, None)
            moves.surest = _bounded(moves.surest, None)
            moves.surest_moved = _bounded(moves.surest_moved, None)
        learns = f"{name}, in any row: {moves.words}"
        threat = Threat(NAME, knows, learns, name, moves.people, moves.worst)
        return [replace(threat, surest=moves.surest_moved)]


_OWNERS_UNKNOWN = "not measured: nobody here knows whose rows they are"


def _without_release(groups: Groups, targets: Ints, points: Ints, case: AnyCase) -> Floats:
    """How sure so many facts make her where everybody is one group: the facts' own doing."""
    everybody = minima_bounds(groups.everybody(), targets, points, case)
    believed: Floats = 1 / (1 + odds(everybody.reached))
    return believed


def _bounded(change: BeliefChange | None, reached: BeliefChange | None) -> BeliefChange | None:
    """A belief, and whether facts that were found make her believe it."""
    if change is None or (reached is not None and reached.after == change.after):
        return change
    return replace(change, at_most=True)


def words(known: KnownCounts, case: AnyCase) -> str:
    """What she knows, for a table."""
    facts, others, family = known
    parts = ["the target's quasi-identifiers"]
    if facts:
        kind = "does not have" if case == "single" else "has only together with it"
        parts.append(f"{_counted(facts, 'value')} the target {kind}")
    if others:
        kind = "value of" if case == "single" else "lack of it in"
        parts.append(f"the {kind} {_counted(others, 'other person', 'other people')}")
    if family:
        parts.append(f"{_counted(family, 'relative')} who would share it")
    return ", ".join(parts)


def _counted(number: int, singular: str, several: str = "") -> str:
    return f"one {singular}" if number == 1 else f"{number:,} {several or singular + 's'}"


def _stand_ins(groups: Groups) -> Iterator[Acquaintance]:
    counts = len(groups.data)
    if groups.beside.unlinked is not None:  # whose sets of rows are looked at, too
        counts = max(counts, int(groups.published_rows.sum()))
    if 0 < counts <= MOST_COUNTS and groups.width <= MOST_VALUES:
        yield Acquaintance(ONE_EACH)


ENTRY = CatalogueEntry(
    NAME,
    "Could a neighbour work out her value?",
    "facts about the target, about some other people, and who has the same value",
    "the target's sensitive value, as surely as so many facts allow",
    "require skyline-privacy, or run: sfumato skyline RELEASE",
    "when shown",
    ("skyline-privacy",),
    stand_ins=_stand_ins,
    undefined=lambda _, groups: ALTERED if groups.beside.altered_by_chance else "",
    reads_several=True,
)
