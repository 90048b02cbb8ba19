"""Which cells of a table to blank: exactly for small tables, else greedily, by compiled code.

`BlankableTable` is what can be blanked: the quasi-identifiers at the levels that are published.
`Blanks` are a choice of cells. Small tables are gone through (`exact.py`). Larger ones are searched
by the criteria's count rules (`kernel.py`); criteria that have none are asked about all groups of a
pattern at once, from little blank to much.

Stands apart: choosing cells is one idea, making a release of them (`local_suppression.py`) another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from sfumato.anonymizers.base import Task
from sfumato.anonymizers.deal.deal import whole_table
from sfumato.counts.counts import Counts, rank_rows
from sfumato.criteria.base import GroupCriterion
from sfumato.criteria.count_rules import CountRule
from sfumato.criteria.k_anonymity import KAnonymity, KMap
from sfumato.errors import ResourceError
from sfumato.numbers import Bools, Codes, Floats, Ints, offsets_of, sums_by
from sfumato.progress import Ticker
from sfumato.release.build import groups_of
from sfumato.release.description import Regions
from sfumato.release.made import Placement
from sfumato.schema.region import Anything, Region

NAME = "local-suppression"
MOST_DESCRIPTIONS = 1 << 24  # tuples by patterns that are numbered
MOST_PEOPLE = 2_000_000
MOST_COUNTS = 1 << 28
SWEEPS = 20
_TIE = 1e-6  # of two ways of the same weight, the one with fewer cells
_FORBIDDEN = 1e6  # times what a blank costs that limits do not allow
_ENOUGH = 1e-4  # a share of what is blank, which a sweep must gain for another one


@dataclass(frozen=True)
class Blanks:
    """`n[i]` people of tuple `tuples[i]` are shown with the columns `blank[:, i]` blank."""

    tuples: Ints
    blank: Bools
    n: Ints


@dataclass(frozen=True)
class BlankableTable:
    """The quasi-identifiers of a task's table at the levels in which they are published.

    `codes[c, t]` is the label of tuple t among `parts[c]`; `star[c]` is the place of `*` there.
    """

    task: Task
    levels: Mapping[str, int]
    counts: Counts
    codes: Codes
    parts: tuple[tuple[Region, ...], ...]
    star: Codes

    @classmethod
    def of(cls, task: Task, levels: Mapping[str, int]) -> BlankableTable:
        counts = task.table.counts.in_memory(NAME)
        if counts.memberships > MOST_PEOPLE:
            raise ResourceError(
                f"{NAME} looks at everybody by herself, which takes too long for "
                f"{counts.memberships:,} people (at most {MOST_PEOPLE:,}); use mondrian or lattice"
            )
        rows, parts, stars = [], [], []
        for domain, codes in zip(counts.quasi, counts.codes, strict=True):
            level = task.table.levels[domain.name][levels.get(domain.name, 0)]
            regions: tuple[Region, ...] = level.regions
            if Anything() not in regions:
                regions = (*regions, Anything())
            rows.append(level.codes[codes])
            parts.append(regions)
            stars.append(regions.index(Anything()))
        return cls(
            task,
            {domain.name: levels.get(domain.name, 0) for domain in counts.quasi},
            counts,
            np.array(rows, dtype=np.int32),
            tuple(parts),
            np.array(stars, dtype=np.int32),
        )

    @cached_property
    def weights(self) -> Floats:
        """What a blank cell of each column costs; one that limits forbid, more than all others."""
        weights: Floats = self.task.column_weights + _TIE
        return np.where(self.may_be_blank, weights, weights * _FORBIDDEN)

    @cached_property
    def may_be_blank(self) -> Bools:
        """The columns that limits allow to be `*`."""
        levels = [self.task.table.levels[domain.name] for domain in self.counts.quasi]
        return np.array([level.coarsest == level.height - 1 for level in levels], dtype=bool)

    @cached_property
    def distinct(self) -> tuple[Ints, Ints]:
        """Each tuple's number among those that show the same, and one tuple of each."""
        return rank_rows(self.codes, [len(parts) for parts in self.parts])

    @cached_property
    def open_columns(self) -> list[int]:
        """The columns in which something can be blanked."""
        return [
            column
            for column, (codes, star) in enumerate(zip(self.codes, self.star, strict=True))
            if self.may_be_blank[column] and (codes != star).any() and np.ptp(codes) > 0
        ]

    def describe(self, blanks: Blanks) -> tuple[Placement, Regions]:
        """The groups of whoever shows the same, and what they show."""
        codes = np.where(blanks.blank, self.star[:, None], self.codes[:, blanks.tuples])
        group, first = rank_rows(codes, [len(parts) for parts in self.parts])
        pieces, place = np.unique(blanks.tuples * len(first) + group, return_inverse=True)
        n = sums_by(place.reshape(-1), blanks.n, len(pieces))
        tuples, groups = np.divmod(pieces, len(first))
        names = tuple(domain.name for domain in self.counts.quasi)
        regions = Regions(names, self.parts, np.ascontiguousarray(codes[:, first], dtype=np.int32))
        return Placement(self.task.table, tuples, groups, n), regions

    def blanked(self, blanks: Blanks) -> dict[str, int]:
        """How many cells are blank that were not `*` before, by column."""
        newly = blanks.blank & (self.codes[:, blanks.tuples] != self.star[:, None])
        cells = newly @ blanks.n
        names = [domain.name for domain in self.counts.quasi]
        return dict(zip(names, cells.tolist(), strict=True))

    def whole(self) -> Blanks:
        """Nothing blank."""
        counts = self.counts
        nothing = np.zeros((len(self.parts), len(counts)), dtype=bool)
        return Blanks(np.arange(len(counts)), nothing, counts.n)


def holding(task: Task, placement: Placement, regions: Regions) -> Bools:
    """The groups that hold by every criterion that judges groups alone."""
    by_attribute = groups_of(placement, placement.groups, len(regions))
    fine = np.ones(len(regions), dtype=bool)
    for criterion in task.by_group:
        for place in task.about(criterion):
            name = "" if place is None else task.table.counts.sensitive[place].name
            groups = by_attribute[name]
            if criterion.needs:
                known = replace(groups.beside, regions=regions)
                if placement.counts.weights is not None:
                    share = placement.n / placement.counts.n[placement.tuples]
                    weights = placement.counts.weights[placement.tuples] * share
                    summed = np.bincount(placement.groups, weights, minlength=len(regions))
                    known = replace(known, population=summed.astype(np.float64))
                if "members" in criterion.needs:
                    known = replace(known, inside=placement.inside(len(regions)))
                groups = groups.with_beside(known)
            fine &= criterion.holds(groups)
    return fine


def fewest_blanks(table: BlankableTable) -> tuple[Blanks, bool] | None:
    """A choice of cells, and whether none costs less; None where nobody could be shown at all."""
    from sfumato.anonymizers.blanking.exact import is_small

    if holding(table.task, *table.describe(table.whole())).all():
        return table.whole(), True
    if is_small(table.counts.n):
        cheapest = exactly(table)
        if cheapest is not None and holding(table.task, *table.describe(cheapest)).all():
            return cheapest, True
    greedy = greedily(table)
    return None if greedy is None else (greedy, False)


def exactly(table: BlankableTable) -> Blanks | None:
    """The cheapest choice of all, of a small table."""
    from sfumato.anonymizers.blanking.exact import cheapest_partition

    def may_be(sets: Ints, blank: Bools) -> Bools:
        kind, group = np.nonzero(sets)
        placement = Placement(table.task.table, kind, group, sets[kind, group])
        any_kind = np.argmax(sets > 0, axis=0)
        codes = np.where(blank, table.star[:, None], table.codes[:, any_kind])
        names = tuple(domain.name for domain in table.counts.quasi)
        return holding(table.task, placement, Regions(names, table.parts, codes.astype(np.int32)))

    groups = cheapest_partition(table.counts.n, table.codes, table.weights, may_be)
    if groups is None:
        return None
    from sfumato.anonymizers.blanking.exact import differing

    kind, group = np.nonzero(groups)
    return Blanks(kind, differing(groups, table.codes)[:, group], groups[kind, group])


# -- larger tables -----------------------------------------------------------------------------


def patterns_of(table: BlankableTable) -> Bools:
    """Sets of columns that may be blank (columns of the array), the cheapest first.

    All of them, or as many columns at a time as there is room for, and all columns at once.
    """
    columns, tuples = table.open_columns, len(table.distinct[1])
    most = MOST_DESCRIPTIONS // max(tuples, 1)
    chosen: list[tuple[int, ...]] = []
    for many in range(len(columns) + 1):
        level = list(combinations(columns, many)) if many < 8 or len(columns) <= 20 else []
        if many > 1 and len(chosen) + len(level) > most:
            chosen.append(tuple(columns))
            break
        chosen += level
    if len(chosen) > most:
        raise ResourceError(
            f"{NAME}: {tuples:,} different combinations of values by {len(columns)} columns are "
            "more than it keeps in memory; recode first (levels), or use mondrian"
        )
    blank = np.zeros((len(table.parts), len(chosen)), dtype=bool)
    for place, pattern in enumerate(chosen):
        blank[list(pattern), place] = True
    order = np.lexsort((blank.sum(axis=0), table.weights @ blank))
    return blank[:, order]


@dataclass(frozen=True)
class Descriptions:
    """`of_tuple[t, p]`: what distinct tuple t shows by pattern p, numbered through."""

    patterns: Bools
    of_tuple: Codes
    total: int

    @classmethod
    def of(cls, table: BlankableTable) -> Descriptions:
        patterns = patterns_of(table)
        codes = table.codes[:, table.distinct[1]]
        numbers, total = [], 0
        for blank in patterns.T:
            kept = np.flatnonzero(~blank)
            number, first = rank_rows(codes[kept], [len(table.parts[column]) for column in kept])
            numbers.append((number + total).astype(np.int32))
            total += len(first)
        return cls(patterns, np.ascontiguousarray(np.stack(numbers, axis=1)), total)


def greedily(table: BlankableTable, sweeps: int = SWEEPS) -> Blanks | None:
    """A choice of cells that is good, and not proved to be the best."""
    read = _rules_of(table)
    if read is None:
        return _by_rounds(table)
    blanks = _compiled(table, *read, sweeps)
    return blanks if blanks is not None else _by_rounds(table)


def _rules_of(
    table: BlankableTable,
) -> tuple[Sequence[tuple[int | None, CountRule]], Sequence[int]] | None:
    """What criteria ask of counts, with the attribute it is about; None where some cannot say."""
    task, whole = table.task, whole_table(table.task)
    rules: list[tuple[int | None, CountRule]] = []
    criterion: GroupCriterion
    for required in task.by_group:
        criterion = required
        if isinstance(required, KMap):
            # Whoever fits another description too is not counted, and blanks fit everybody: what
            # is left are the group's own people.
            criterion = KAnonymity(required.k)
        for place in task.about(criterion) if criterion.reads_values else (None,):
            asked = None if criterion.needs else criterion.count_rules(whole[place])
            if asked is None:
                return None
            rules += [(place, rule) for rule in asked]
    attributes = sorted({place for place, _ in rules if place is not None})
    return rules, attributes


def _compiled(
    table: BlankableTable,
    asked: Sequence[tuple[int | None, CountRule]],
    attributes: Sequence[int],
    sweeps: int,
) -> Blanks | None:
    from sfumato.anonymizers.blanking.kernel import (
        Blanked,
        DescriptionIndex,
        Persons,
        blank_cells,
    )
    from sfumato.anonymizers.deal.people import sum_width, value_columns
    from sfumato.anonymizers.deal.rules import pack

    counts, chance = table.counts, np.random.default_rng([table.task.seed, 6])
    descriptions = Descriptions.of(table)
    patterns, of_tuple, total = (
        descriptions.patterns,
        descriptions.of_tuple,
        descriptions.total,
    )
    people = counts.memberships
    tuples = len(of_tuple)
    number = table.distinct[0]
    kind = np.repeat(np.arange(len(counts)), counts.n)
    own = number[kind].astype(np.int32)
    mixed = chance.permutation(people)
    by_tuple = mixed[np.argsort(own[mixed], kind="stable")].astype(np.int32)
    value, adds_at, adds, first = value_columns(counts, attributes)
    rules = pack([(0 if at is None else first[at], rule) for at, rule in asked], people)
    rows = max(tuples, people // rules.least) + 4
    width = sum_width(counts, attributes)
    if rows * max(width, 1) > MOST_COUNTS:
        raise ResourceError(
            f"{NAME}: so many groups by so many values ({rows * width:,} counts) are more than it "
            "keeps in memory; recode first (levels), or use mondrian"
        )
    order = np.argsort(of_tuple.ravel(), kind="stable")
    index = DescriptionIndex(
        of_tuple,
        offsets_of(np.bincount(of_tuple.ravel(), minlength=total)),
        (order // patterns.shape[1]).astype(np.int32),
        table.weights @ patterns,
        offsets_of(np.bincount(own, minlength=tuples)),
        by_tuple,
    )
    persons = Persons(own, value[kind], adds_at, adds)
    state = Blanked(
        np.full(people, -1, dtype=np.int32),
        np.zeros(total, dtype=np.int32),
        np.full(total, -1, dtype=np.int32),
        np.zeros((rows, width), dtype=np.int32),
        np.arange(rows, dtype=np.int32),
        np.array([rows], dtype=np.int64),
        np.zeros(people + 4, dtype=np.int32),
        np.zeros(people + 4, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )
    waiting = np.zeros(total, dtype=np.int32)
    with Ticker("blanking cells", sweeps + 1) as ticker:
        for sweep in range(sweeps + 1):
            line = chance.permutation(people).astype(np.int32)
            tried = np.zeros(total, dtype=np.bool_)
            left_or_gained = blank_cells(state, index, persons, rules, waiting, line, tried)
            spent = float(index.cost[state.pattern].sum())
            if sweep == 0 and left_or_gained > 0:
                return None  # somebody is left over
            if sweep > 0 and left_or_gained <= _ENOUGH * spent:
                break
            ticker.add(1)
    pieces, place = np.unique(kind * patterns.shape[1] + state.pattern, return_inverse=True)
    n = np.bincount(place.reshape(-1), minlength=len(pieces)).astype(np.int64)
    kinds, pattern = np.divmod(pieces, patterns.shape[1])
    return Blanks(kinds, patterns[:, pattern], n)


def _by_rounds(table: BlankableTable) -> Blanks | None:
    """By what criteria say of all groups of a pattern at once: from little blank to much.

    Whoever is left when all is blank that may be takes the costliest groups along, as many as
    it needs of those who then show the same.
    """
    descriptions = Descriptions.of(table)
    patterns, number, counts = descriptions.patterns, table.distinct[0], table.counts
    chosen = np.full(len(counts), -1, dtype=np.int64)
    for place, blank in enumerate(patterns.T):
        left = np.flatnonzero(chosen < 0)
        if len(left) == 0:
            break
        safe = _safe_tuples(table, left, descriptions.of_tuple[number[left], place], blank)
        chosen[left[safe]] = place
    last = patterns.shape[1] - 1
    coarsest = descriptions.of_tuple[number, last]  # one for everybody, unless limits forbid blanks
    taken = 1
    while (chosen < 0).any():
        left = np.flatnonzero((chosen < 0) | (chosen == last))
        safe = _safe_tuples(table, left, coarsest[left], patterns[:, last])
        chosen[left[safe]] = last
        if safe.all():
            break
        beside = np.isin(coarsest, coarsest[left[~safe]]) & (chosen >= 0) & (chosen < last)
        if not beside.any():
            return None
        groups = [
            np.flatnonzero(shown_so & (descriptions.of_tuple[number, place] == d))
            for place in range(last - 1, -1, -1)
            if (shown_so := beside & (chosen == place)).any()
            for d in np.unique(descriptions.of_tuple[number[shown_so], place])[:taken]
        ][:taken]
        for group in groups:
            chosen[group] = -1
        taken *= 2
    return Blanks(np.arange(len(counts)), patterns[:, chosen], counts.n)


def _safe_tuples(table: BlankableTable, tuples: Ints, group: Codes | Ints, blank: Bools) -> Bools:
    """Which of these tuples are in a group that holds, with these columns blank."""
    _, first, dense = np.unique(group, return_index=True, return_inverse=True)
    dense = dense.reshape(-1)
    placement = Placement(table.task.table, tuples, dense, table.counts.n[tuples])
    codes = np.where(blank[:, None], table.star[:, None], table.codes[:, tuples[first]])
    names = tuple(domain.name for domain in table.counts.quasi)
    regions = Regions(names, table.parts, codes.astype(np.int32))
    return holding(table.task, placement, regions)[dense]
