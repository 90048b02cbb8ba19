"""The privacy skyline of rows that are published one by one: facts about people who have several.

Her target has rows in several groups; she knows where `knows` of them are, and where everybody
else's are. Every assignment of a group's published rows to the rows that lie in it is equally
likely, group by group. (l, k, m) as of several values a person (`breach.py`), asked of any of the
known rows: l values that come with the target value if she has them, k other people none of whose
rows say it, m relatives who, having it in any row, would have given it to her.

With t rows of hers in a group of R rows, s of which say the value, o one of the l values, and c
rows of the k people, the odds against her having it in any row are

    q / (1 - q) * product of (R - s - o)_t / (R - s)_t,   q = product of (R - s - c)_t / (R - c)_t

over her groups, (x)_t = x (x - 1) ... of t factors, times the chance that no relative has it. *By
row*, as for single values, one row of hers is asked about and the k people's values are known:
(R - s - o - c) / s. The worse of both counts; with one row each that is the single form.

Which k people, relatives and l values do most harm is found group by group: the k with the most
rows there, in each group others; relatives beside whatever is known of others. Nobody can know
more, so what is told is an upper bound (`exact`: it is reached). Knowledge that cannot be true
counts as certain.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from sfumato.adversaries.base import ALTERED
from sfumato.adversaries.several_rows import KnownParts, known_parts
from sfumato.adversaries.skyline.breach import NEAR, odds_at
from sfumato.adversaries.skyline.few_groups import shapes_of
from sfumato.errors import InputError, quoted
from sfumato.numbers import Bools, Floats, Ints, rows_of, sums_by
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.release.signatures import Knows

_ONE_BY_ONE = 64  # relatives who are told one by one; more of them are told as the last would be


@dataclass(frozen=True)
class HeldRows:
    """Sets of rows: row j of them lies in `group[j]`, the `rank[j]`th of its set there."""

    offsets: Ints
    group: Ints
    rank: Ints

    @classmethod
    def of(cls, parts: KnownParts) -> HeldRows:
        places = parts.sets.members
        return cls(parts.sets.offsets, parts.group[places], parts.rank[places])

    def in_one_group(self) -> HeldRows:
        """The same where all groups are one."""
        first = np.repeat(self.offsets[:-1], np.diff(self.offsets))
        nowhere = np.zeros_like(self.group)
        return HeldRows(self.offsets, nowhere, np.arange(len(first)) - first)

    @cached_property
    def own(self) -> Ints:
        """Of each row: how many rows its set has in its group."""
        own: Ints = self._pairs[2][self._pairs[1]]
        return own

    @cached_property
    def _pairs(self) -> tuple[Ints, Ints, Ints]:
        width = int(self.group.max(initial=0)) + 1
        pairs, place, many = np.unique(
            rows_of(self.offsets) * width + self.group, return_inverse=True, return_counts=True
        )
        return pairs, place.ravel(), many

    def pairs(self) -> tuple[Ints, Ints, Ints]:
        """Every set and group it has rows in: set, group, and how many."""
        pairs, _, many = self._pairs
        sets, group = np.divmod(pairs, int(self.group.max(initial=0)) + 1)
        return sets, group, many

    def product(self, factors: Floats) -> Floats:
        """Of the factors of the rows of each set."""
        return np.multiply.reduceat(factors, self.offsets[:-1])


@dataclass(frozen=True)
class RowOwners:
    """Everybody's rows, `many[i]` people with the rows of set i, in groups of so many `rows`."""

    owned: HeldRows
    many: Ints
    rows: Ints

    @cached_property
    def _listed(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Group by group who has the most rows first: group, rows, people, people before."""
        sets, group, own = self.owned.pairs()
        order = np.lexsort((-own, group))
        group, own, people = group[order], own[order], self.many[sets[order]]
        before = np.cumsum(people) - people
        first = np.searchsorted(group, group)
        return group, own, people, before - before[first]

    def most(self, people: int) -> Ints:
        """The most rows that so many people have in each group."""
        group, own, many, before = self._listed
        return sums_by(group, own * np.clip(people - before, 0, many), len(self.rows))

    @cached_property
    def fewest(self) -> Ints:
        """The fewest rows that anybody has in each group who has one there."""
        fewest = self.rows.copy()
        np.minimum.at(fewest, self._listed[0], self._listed[1])
        return fewest


@dataclass(frozen=True)
class RowsBreach:
    """How sure she becomes of somebody with a row in each group: at most, by question, [B, P].

    `exact[p]`: facts that there may be make her as sure as the surest of question p.
    """

    certainty: Floats
    exact: Bools

    @property
    def surest(self) -> Floats:
        """Of anybody, by question."""
        surest: Floats = self.certainty.max(axis=0, initial=0.0)
        return surest


@dataclass(frozen=True)
class RowQuestions:
    """What may be asked of people whose rows are published one by one.

    `rows` are the groups by the values of rows, `known` the sets of rows that she may know;
    `whole`: these are everybody's.
    """

    rows: Groups
    people: RowOwners
    known: HeldRows
    whole: bool

    @classmethod
    def of(
        cls, release: Release, groups: Groups, knows: Knows | None = None
    ) -> RowQuestions | None:
        """None where nobody here knows whose rows they are."""
        everybody = known_parts(release, "all")
        unlinked = groups.beside.unlinked
        if everybody is None or unlinked is None:
            return None
        wanted = release.schema.knows if knows is None else knows
        known = everybody if wanted == "all" else known_parts(release, wanted)
        assert known is not None
        rows = unlinked.by_row
        people = RowOwners(HeldRows.of(everybody), everybody.people, rows.sizes)
        return cls(rows, people, HeldRows.of(known), known is everybody)

    def ask(self, code: int, point: Sequence[int]) -> tuple[Floats, bool]:
        """By group, how sure she becomes of a value at most; and whether the surest is reached."""
        return _question(self.rows, self.people, self.known, code, [*point], self.whole)


def is_reached(certainty: Floats, confidence: Fraction) -> Bools:
    """Where somebody may be as sure as that, or so nearly that rounding cannot tell."""
    limit = float(odds_at(confidence))
    with np.errstate(divide="ignore"):
        odds = np.where(certainty > 0, 1 / certainty - 1, np.inf)
    reached: Bools = odds <= limit * (1 + NEAR) + NEAR
    return reached


@dataclass(frozen=True)
class RowsOfValue:
    """The questions about one value, as a walk along its skyline asks them."""

    questions: RowQuestions
    code: int
    confidence: Fraction

    def __len__(self) -> int:
        """In how many groups rows say it."""
        return int(np.count_nonzero(self.questions.rows.indices == self.code))

    @property
    def occurring(self) -> int:
        """Facts beyond the values that occur beside this one change nothing."""
        return len(np.unique(self.questions.rows.indices)) - 1

    def bounds(self, values: int) -> tuple[int, int, int]:
        """The largest l, k and m that are safe by themselves; -1 where not even none."""
        others = int(self.questions.people.many.sum()) - 1
        l, k, m = (  # noqa: E741  # the paper's names
            self._alone(axis, most) for axis, most in enumerate((values, others, others))
        )
        return l, k, m

    def _alone(self, axis: int, most: int) -> int:
        """How far one kind of knowledge may go without the others: more is never safer."""

        def unsafe(known: int) -> bool:
            point = tuple(known if at == axis else 0 for at in range(3))
            certainty = self.questions.ask(self.code, point)[0]
            return bool(is_reached(certainty, self.confidence).any())

        return bisect_left(range(most + 1), True, key=unsafe) - 1

    def safe(self, point: tuple[int, int, int], confidence: Fraction) -> bool:
        """Whether she stays below a confidence, whatever her facts."""
        return not is_reached(self.questions.ask(self.code, point)[0], confidence).any()

    def may_be_safe(self, point: tuple[int, int, int], confidence: Fraction) -> bool:
        """Whether that she does not stay below it is told by a bound alone."""
        return not self.questions.ask(self.code, point)[1]


def judged_rows(release: Release, groups: Groups, case: object = None) -> RowQuestions:
    """What may be asked of a release of rows one by one, by whoever knows whose they are."""
    if groups.beside.altered_by_chance:
        raise InputError(ALTERED)
    if case is not None:
        raise InputError(f"case = {quoted(case)} is asked for, and rows are published one by one")
    questions = RowQuestions.of(release, groups)
    if questions is None:
        raise InputError(
            f"{release.label} publishes rows one by one, and nothing here says which of them are "
            "one person's: give the release's folder with its private side, or its table"
        )
    return questions


def rows_breach(
    release: Release, groups: Groups, targets: Ints, points: Ints, knows: Knows | None = None
) -> RowsBreach | None:
    """P questions (a value's code, a point) of groups whose rows are published one by one.

    None where nobody here knows whose rows they are.
    """
    questions = RowQuestions.of(release, groups, knows)
    if questions is None:
        return None
    answers = [
        questions.ask(int(code), point.tolist())
        for code, point in zip(targets, points, strict=True)
    ]
    certainty = np.array([sure for sure, _ in answers]).reshape(len(answers), len(groups)).T
    return RowsBreach(certainty, np.array([exact for _, exact in answers], dtype=bool))


def before_release(release: Release, groups: Groups, targets: Ints, points: Ints) -> Floats:
    """The same where everybody's rows are one group: what the facts do by themselves."""
    everybody = known_parts(release, "all")
    unlinked = groups.beside.unlinked
    assert everybody is not None
    assert unlinked is not None
    rows = unlinked.by_row.everybody()
    owned = HeldRows.of(everybody).in_one_group()
    people = RowOwners(owned, everybody.people, rows.sizes)
    return np.array(
        [
            _question(rows, people, owned, int(code), point.tolist(), True)[0].max()
            for code, point in zip(targets, points, strict=True)
        ]
    )


def _question(
    rows: Groups, people: RowOwners, known: HeldRows, code: int, point: list[int], whole: bool
) -> tuple[Floats, bool]:
    """By group, how sure she becomes at most, and whether the surest is reached.

    `whole`: `known` are everybody's rows.
    """
    facts, others, family = point
    shapes = shapes_of(rows, np.arange(len(rows)), code, min(facts, rows.width)).astype(np.float64)
    total, saying, known_values = shapes[:, 0], shapes[:, 1], shapes[:, 2:].sum(axis=1)
    k, one_more = people.most(others), people.most(others + 1)
    spared = _relatives(people, total, saying, others, family)
    # One row of hers, by single values.
    beside = np.minimum(k, one_more - people.fewest)
    left = np.maximum(total - saying - known_values - beside, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_row = np.where(saying > 0, 1 / (1 + left / saying * spared), 0.0)
    # Any of those that are known.
    group, rank = known.group, known.rank
    aside = np.minimum(k[group], one_more[group] - known.own) + rank
    none = known.product(_share(total[group] - aside, saying[group]))
    lacking = total[group] - saying[group] - rank
    without = known.product(_share(lacking, known_values[group]))
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.where(none < 1, none / (1 - none) * without * spared, np.inf)
    sure = 1 / (1 + odds)
    by_group = by_row.copy()
    np.maximum.at(by_group, group, np.repeat(sure, np.diff(known.offsets)))
    return by_group, _reached(known, by_row, sure, point, whole)


def _reached(known: HeldRows, by_row: Floats, sure: Floats, point: list[int], whole: bool) -> bool:
    """Whether the surest is no mere bound: facts in one group, none of relatives."""
    facts, others, family = point
    if family:
        return False
    surest = max(by_row.max(initial=0.0), sure.max(initial=0.0))
    one_group = np.maximum.reduceat(known.group, known.offsets[:-1]) == np.minimum.reduceat(
        known.group, known.offsets[:-1]
    )
    exact = (one_group & whole) | (facts == 0 and others == 0)
    return bool(by_row.max(initial=0.0) == surest or (sure[exact] == surest).any())


def _share(rows: Floats, saying: Floats) -> Floats:
    """The chance that a row says none of so many, among so many rows; 0 where there is none."""
    share: Floats = np.divide(
        np.maximum(rows - saying, 0), rows, out=np.zeros_like(rows), where=rows > 0
    )
    return share


def _relatives(people: RowOwners, rows: Floats, saying: Floats, others: int, family: int) -> float:
    """The least chance that none of so many relatives has the value in any row.

    The nth is told beside the target, the k others and those before: at most so many rows aside.
    """
    owned, spared = people.owned, 1.0
    group = owned.group
    for nth in range(min(family, _ONE_BY_ONE)):
        last = family > _ONE_BY_ONE and nth == _ONE_BY_ONE - 1
        beside = others + 1 + (family - 1 if last else nth)
        most, one_more = people.most(beside), people.most(beside + 1)
        aside = np.minimum(most[group], one_more[group] - owned.own) + owned.rank
        least = float(owned.product(_share(rows[group] - aside, saying[group])).min(initial=1.0))
        spared *= least ** (family - nth) if last else least
        if spared == 0:
            break
    return spared
