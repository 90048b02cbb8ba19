"""Special uniques: who is alone by few columns (SUDA; Elliot, Manning and Ford 2002).

Somebody who knows a few facts about her target (age, village, number of children) finds her row for
sure if nobody else has that combination of values. A *minimal sample unique* (MSU) of a record is a
set of columns by which it is alone, while it is not by any of them left out. The fewer columns one
needs and the more there are, the likelier the record is alone in the population, too: it is a
*special* unique, and no accident of the sample.

**Score.** Of Q columns, an MSU of k adds (Q - k)(Q - k - 1)...(Q - M + 1), a factor for each size
from k up to M - 1, M being the largest size that is looked for: the ways to add columns one by one
up to that size. The score of a record is the sum over its MSUs. With M = Q this is (Q - k)!, what
sdcMicro computes (`original_scores = TRUE`); it has no M.

**Contributions.** A column's share of all scores is what the MSUs that contain it add, divided by
the sum of all scores; a value's the same over the records that have it. Shares add up to more than
1, since an MSU counts for each of its columns.

**DIS-SUDA.** With the sampling fraction f, U records alone by all columns and P records in pairs,
a match that is alone in the sample is right with the chance D = U f / (U f + P (1 - f)) (Skinner
and Elliot 2002). Scores spread it over records, as sdcMicro does: with q = 1 + (8 - Q) / 20 and A
the sum of score^-q over records that have one, a record's is 1 / (1 + U (1 / D - 1) / (A score^q)).
The exponent is SUDA's own calibration; take it for an order among records, not for a chance.

**Search** (Manning, Haglin and Keane 2008 found the same by recursion over values). Sets of columns
by size: whoever is alone by a set less one of its columns is alone by the set, is not minimal there
and in nobody's way, and is left out. Of the others those who are alone now are minimal. So each
set is one counting of the people that are left, and sets of a size go side by side.

NULL is a value like any other here; sdcMicro's `missing` is none.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import combinations
from math import comb, prod

import numpy as np

from sfumato.adversaries.base import BeliefChange, Threat, moved
from sfumato.counts.counts import rank_rows
from sfumato.errors import InputError, ResourceError, did_you_mean, expect, quoted
from sfumato.numbers import Codes, Floats, Ints, sums_by
from sfumato.progress import Ticker, phase
from sfumato.release.beside import Headcount
from sfumato.release.groups import Groups
from sfumato.release.release import Release, as_it_stands
from sfumato.schema.region import Region
from sfumato.table import Table

BY_FEW_COLUMNS = "prosecutor, by few columns"
MOST_SETS = 200_000  # combinations of columns that are counted
_MOST_BITS = 1 << 33  # held at once: a bit for each description and set of one size


@dataclass(frozen=True)
class UniqueBy:
    """How many people are alone by these columns, and not by any of them left out."""

    columns: tuple[str, ...]
    people: int


@dataclass(frozen=True)
class ValueShare:
    """What the records with one value of a column add to all scores, by that column."""

    column: str
    value: str
    share: float


@dataclass(frozen=True)
class SpecialUniques:
    """The minimal sample uniques of a table or release, up to a size.

    `by_size[k - 1]` MSUs have k columns. `combinations` are those with any, most people first;
    `shares` what each column contributes. `unique` people are alone by all columns together, so
    many as `special` have an MSU of up to `size` columns.

    Private, by description (group of people who cannot be told apart): `score`, `fewest` columns of
    an MSU (0: there is none), how `many` MSUs; `added` by each column (a row) to each score;
    `disclosure`, the DIS-SUDA score where a sampling fraction is known.
    """

    label: str
    people: int
    columns: tuple[str, ...]
    size: int
    unique: int
    special: int
    by_size: tuple[int, ...]
    combinations: tuple[UniqueBy, ...]
    shares: dict[str, float]
    sampling_fraction: float | None
    score: Floats = field(repr=False, compare=False)
    fewest: Ints = field(repr=False, compare=False)
    many: Ints = field(repr=False, compare=False)
    added: Floats = field(repr=False, compare=False)
    disclosure: Floats | None = field(repr=False, compare=False)
    _parts: tuple[Sequence[Region], ...] = field(repr=False, compare=False)
    _codes: Codes = field(repr=False, compare=False)

    def values(self, most: int = 10) -> tuple[ValueShare, ...]:
        """The values that contribute most (private)."""
        total = float(self.score.sum())
        if not total:
            return ()
        shares = [
            ValueShare(name, parts[code].text, float(share) / total)
            for name, parts, codes, added in zip(
                self.columns, self._parts, self._codes, self.added, strict=True
            )
            for code, share in enumerate(np.bincount(codes, weights=added, minlength=len(parts)))
            if share
        ]
        return tuple(sorted(shares, key=lambda part: (-part.share, part.column, part.value))[:most])

    def threats(self) -> list[Threat]:
        """What who knows any few columns of her target finds."""
        alone = int((self.fewest > 0).sum())
        return [
            Threat(
                BY_FEW_COLUMNS,
                f"any {self.size} quasi-identifiers of the target, who is in the release",
                f"which row is the target's: for sure for {alone:,} people",
                people=Headcount(alone),
                belief=BeliefChange(1 / self.people, 1.0 if alone else 1 / self.people),
            )
        ]


@phase("attacking")
def special_uniques(
    subject: Table | Release,
    size: int = 3,
    *,
    columns: Sequence[str] | None = None,
    sampling_fraction: float | None = None,
) -> SpecialUniques:
    """The minimal sample uniques of up to `size` columns, and every record's SUDA score.

    `columns` are quasi-identifiers, by default all of them. `sampling_fraction`, the share of the
    population that is in the table, gives DIS-SUDA scores besides.
    """
    expect("subject", subject, (Release, Table), "a Table or a Release")
    release = as_it_stands(subject) if isinstance(subject, Table) else subject
    people = people_by_description(release)
    chosen = _chosen(people.columns, columns)
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise InputError(f"size = {quoted(size)} is not allowed; use a whole number above 0")
    fraction = sampling_fraction
    number = isinstance(fraction, int | float) and not isinstance(fraction, bool)
    if fraction is not None and not (number and 0 < fraction <= 1):
        raise InputError(
            f"sampling_fraction = {quoted(fraction)} is not allowed; it must be a share above "
            "0 and at most 1"
        )
    return people.search([people.columns.index(name) for name in chosen], size, fraction)


def fewest_alike(groups: Groups, sets: Iterable[Sequence[str]]) -> Ints:
    """By how few people each group is shared at the worst, of who sees one of these sets.

    Groups that show the same there are one. Give all groups of a release, with what they publish.
    """
    regions, several = groups.regions, groups.several
    assert regions is not None
    fewest = np.full(len(groups), np.iinfo(np.int64).max)
    for columns in sets:
        places = [regions.columns.index(name) for name in columns]
        widths = [len(regions.parts[place]) for place in places]
        number, first = rank_rows(regions.codes[places], widths)
        people = sums_by(number, groups.own_people, len(first))
        if several is not None and several.person is not None and several.group is not None:
            # Whoever is in several of the groups that look alike is one person.
            pairs = np.stack([several.person, number[several.group]])
            once, times = np.unique(pairs, axis=1, return_counts=True)
            people -= sums_by(once[1], times - 1, len(first))
        fewest = np.minimum(fewest, people[number])
    return fewest


def largest_sets(columns: Sequence[str], sets: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """The sets that are part of no other one: who hides among k people in these does in the others.

    Each in the order of the columns.
    """
    ordered = {tuple(name for name in columns if name in names) for names in sets}
    return [
        names for names in sorted(ordered) if not any(set(names) < set(other) for other in ordered)
    ]


@dataclass(frozen=True)
class FewColumns:
    """A prosecutor who sees one of these sets of columns of her target, whichever it is."""

    sets: tuple[tuple[str, ...], ...]

    @property
    def name(self) -> str:
        return BY_FEW_COLUMNS

    def attack(self, release: Release, groups: Groups | None = None) -> FoundByFew:
        return FoundByFew(self, release.indistinguishable if groups is None else groups)


@dataclass(frozen=True)
class FoundByFew:
    """Whose row she finds, and how surely."""

    adversary: FewColumns
    groups: Groups

    def threats(self) -> list[Threat]:
        sets = self.adversary.sets
        largest = max(len(names) for names in sets)
        knows = (
            f"{', '.join(sets[0])} of the target"
            if len(sets) == 1
            else (f"one of {len(sets):,} sets of up to {largest} columns of the target")
        )
        fewest = fewest_alike(self.groups, sets)
        blind = 1 / self.groups.people()
        risk = 1 / fewest
        alone = self.groups.headcount(fewest == 1)
        return [
            Threat(
                BY_FEW_COLUMNS,
                f"{knows}, who is in the release",
                f"which row is the target's: for sure for {alone} people",
                people=self.groups.headcount(moved(np.full(len(risk), blind), risk)),
                belief=BeliefChange(blind, float(risk.max())),
            )
        ]


@dataclass(frozen=True)
class DescribedPeople:
    """`n[i]` people show `codes[:, i]`, each column's codes standing for its `parts`."""

    label: str
    columns: tuple[str, ...]
    parts: tuple[Sequence[Region], ...]
    codes: Codes
    n: Ints

    def search(
        self, chosen: Sequence[int], size: int, sampling_fraction: float | None = None
    ) -> SpecialUniques:
        """All MSUs of up to `size` of the chosen columns, and what follows from them."""
        width, size = len(chosen), min(size, len(chosen))
        codes = np.ascontiguousarray(self.codes[chosen])
        parts = tuple(self.parts[column] for column in chosen)
        names = tuple(self.columns[column] for column in chosen)
        score, many = np.zeros(len(self.n)), np.zeros(len(self.n), dtype=np.int64)
        fewest, added = np.zeros_like(many), np.zeros((width, len(self.n)))
        listed, by_size = list[UniqueBy](), [0] * size
        for columns, rows in minimal_uniques(codes, [len(part) for part in parts], self.n, size):
            weight = float(prod(width - at for at in range(len(columns), size)))
            score[rows] += weight
            many[rows] += 1
            for column in columns:
                added[column, rows] += weight
            fewest[rows[fewest[rows] == 0]] = len(columns)
            by_size[len(columns) - 1] += len(rows)
            listed.append(UniqueBy(tuple(names[column] for column in columns), len(rows)))
        whole = self.by(chosen)
        unique, pairs = int((whole == 1).sum()), 2 * int((whole == 2).sum())
        total = float(score.sum())
        disclosure = None
        if sampling_fraction is not None:
            disclosure = _disclosure(score, width, unique, pairs, sampling_fraction)
        return SpecialUniques(
            self.label,
            int(self.n.sum()),
            names,
            size,
            unique,
            int((fewest > 0).sum()),
            tuple(by_size),
            tuple(
                sorted(
                    listed, key=lambda combination: (-combination.people, len(combination.columns))
                )
            ),
            {
                name: float(row.sum()) / total if total else 0.0
                for name, row in zip(names, added, strict=True)
            },
            sampling_fraction,
            score,
            fewest,
            many,
            added,
            disclosure,
            parts,
            codes,
        )

    def by(self, columns: Sequence[int]) -> Ints:
        """How many people show each of the distinct descriptions by these columns."""
        number, first = self.numbers(columns)
        return sums_by(number, self.n, len(first))

    def numbers(self, columns: Sequence[int]) -> tuple[Ints, Ints]:
        """Each description's number among those that differ in these columns, and one of each."""
        return rank_rows(self.codes[list(columns)], [len(self.parts[column]) for column in columns])


def people_by_description(release: Release) -> DescribedPeople:
    """Who shows what in a release; refuses where descriptions do not tell people apart."""
    if release.regions.noisy:
        raise InputError("counts of a randomised release are noisy: nobody is alone in it for sure")
    release.refuse_wildcards()
    groups = release.indistinguishable
    if groups.multiplicity is not None:
        raise ResourceError(
            "special uniques need the description of every group, and the table is larger than "
            "memory; raise the memory limit"
        )
    if groups.regions is None or groups.beside.unlinked is not None or groups.several is not None:
        raise InputError(
            "special uniques are asked of one row a person, and people have several here; keep one "
            "row each"
        )
    if not len(groups):
        raise InputError(f"{release.label} has no group; there is nobody to tell apart")
    regions = groups.regions
    return DescribedPeople(
        release.label, regions.columns, regions.parts, regions.codes, groups.sizes
    )


def minimal_uniques(
    codes: Codes, sizes: Sequence[int], people: Ints, size: int
) -> list[tuple[tuple[int, ...], Codes]]:
    """Every set of up to `size` columns with the descriptions of which it is an MSU, small first.

    `people[i]` show `codes[:, i]`, of `sizes` values by column.
    """
    if not (people == 1).any():
        return []  # nobody is alone by all columns, and no compiled code need be loaded
    from sfumato.adversaries.linkage.kernel import alone, mark

    width, total = codes.shape
    sets = sum(comb(width, at) for at in range(1, size + 1))
    words = (total + 63) // 64
    if sets > MOST_SETS or max(comb(width, at) for at in range(1, size + 1)) * total > _MOST_BITS:
        raise ResourceError(
            f"{width} columns have {sets:,} combinations of up to {size}, too many to count for "
            f"{total:,} descriptions; ask for a smaller size, or for fewer columns"
        )
    domain, codes = np.array(sizes, dtype=np.int64), codes.astype(np.int32, copy=False)
    # Who cannot be alone is in others' way, unless nobody is left who can.
    known: dict[tuple[int, ...], np.ndarray[tuple[int], np.dtype[np.uint64]]] = {
        (): np.zeros(words, dtype=np.uint64)
    }
    listed: list[tuple[tuple[int, ...], Codes]] = []

    def told_apart(columns: tuple[int, ...]) -> tuple[tuple[int, ...], Codes]:
        before = np.zeros(words, dtype=np.uint64)
        for left_out in range(len(columns)):
            before |= known[columns[:left_out] + columns[left_out + 1 :]]
        rows = alone(codes, domain, np.array(columns, dtype=np.int64), people, before)
        mark(before, rows)
        reached[columns] = before
        return columns, rows

    with Ticker("combinations", sets) as ticker, ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for at in range(1, size + 1):
            reached: dict[tuple[int, ...], np.ndarray[tuple[int], np.dtype[np.uint64]]] = {}
            for columns, rows in pool.map(told_apart, combinations(range(width), at)):
                if len(rows):
                    listed.append((columns, rows))
                ticker.add(1)
            known = reached
    return listed


def _chosen(names: tuple[str, ...], asked: Sequence[str] | None) -> tuple[str, ...]:
    if asked is None:
        return names
    if not isinstance(asked, list | tuple) or not asked:
        raise InputError("columns must be a list of one or more quasi-identifiers")
    for name in asked:
        if name not in names:
            raise InputError(
                f"columns: {quoted(name)} is no quasi-identifier; {did_you_mean(name, names)}"
            )
    return tuple(dict.fromkeys(asked))


def _disclosure(score: Floats, width: int, unique: int, pairs: int, fraction: float) -> Floats:
    """DIS-SUDA, as the module tells; 0 for who has no MSU."""
    special = score > 0
    result = np.zeros(len(score))
    if not special.any():
        return result
    right = unique * fraction / (unique * fraction + pairs * (1 - fraction))
    power = score[special] ** (1 + (8 - width) / 20)
    result[special] = 1 / (1 + unique * (1 / right - 1) / (power * (1 / power).sum()))
    return result
