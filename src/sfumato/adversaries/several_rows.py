"""Several rows: the intersection attack inside one release.

A release publishes people's rows one by one. The adversary knows the quasi-identifiers of some of
her target's rows, or of all, finds the groups they lie in, and puts together what those say.

*Whose rows.* She has a list of everybody with the quasi-identifiers of all rows. Whoever has no row
in one of these groups is not the one she looks for, nor is who has fewer rows there than she has:
candidates are the distinct people whose rows contain those she knows. Groups of k people each may
leave the target alone.

*What they have.* Every assignment of a group's published rows to the rows that lie in it is equally
likely, group by group. So with m rows of hers in a group of R rows, of which R(s) say s, all m say
s with probability R(s)(R(s) - 1)... / R(R - 1)..., and none with (R - R(s))... / R(R - 1)....
*The same*: what she believes who knows that all rows of her target say the same (somebody's sex, a
chronic disease): only a value that every group has enough of is left. *Any*: that some row says s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from sfumato.adversaries.base import (
    MOST_COUNTS,
    BeliefChange,
    CatalogueEntry,
    Threat,
    farthest,
    moved,
)
from sfumato.counts.counts import Sets
from sfumato.counts.value_sets import code_sets
from sfumato.errors import InputError, quoted
from sfumato.numbers import Bools, Floats, Ints, offsets_of, rows_of
from sfumato.release.beside import Headcount
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.release.signatures import Knows

NAME = "several rows"
SAME = f"{NAME}, the same in all"
ANY = f"{NAME}, in any of them"
TOO_MANY = "there are too many sets of so few rows; say knows = 'all'"
_MOST_PARTS = 200_000  # sets of rows that may be known; beyond, she is taken to know all rows
_MOST_LOOKS = (
    1 << 28
)  # at people who may be the one; beyond, only those with equal rows are counted
_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class KnownParts:
    """What may be known of people: `sets` of places, who fits each, and whose they are.

    A place is a group and the how-manieth row of one person in it, so that a set of places contains
    another one if its rows do. `candidates[i]` distinct people fit `sets[i]`; `at_least`: so many
    or more. `all_rows`: there are too many sets of as few rows as she knows, and she is taken to
    know all, so that no more people fit, and nothing is said of her belief. Part `part[j]` may be
    known of the `people[j]` people of kind j, who have equal rows.
    """

    sets: Sets
    group: Ints  # of each place
    rank: Ints
    candidates: Ints
    at_least: bool
    all_rows: bool
    part: Ints
    kind: Ints
    people: Ints
    persons: Ints  # the numbers of people who have published rows
    kind_of: Ints  # the kind of each

    @property
    def risks(self) -> Floats:
        """By kind, how surely somebody is found by the worst of what may be known of her."""
        risks = np.zeros(len(self.people))
        np.maximum.at(risks, self.kind, 1 / self.candidates[self.part])
        return risks

    def people_where(self, parts: Bools) -> int:
        """How many people there are of whom she may know one of these."""
        return int(self.people[np.unique(self.kind[parts[self.part]])].sum())

    def most_of_a_group(self, rows: Ints) -> float:
        """The largest share that known rows of one person have of a group of so many rows."""
        return float(((self.rank + 1) / rows[self.group])[self.sets.members].max(initial=0.0))

    def by_group(self, figures: Floats | Ints, groups: int, worst: np.ufunc) -> Floats:
        """The worst figure of parts in each group."""
        worst_by_group = np.full(groups, np.inf if worst is np.minimum else -np.inf)
        lengths = np.diff(self.sets.offsets)
        worst.at(worst_by_group, self.group[self.sets.members], np.repeat(figures, lengths))
        return worst_by_group


def known_parts(release: Release, knows: Knows) -> KnownParts | None:
    """What she may know of the people of a release; None where nobody knows whose rows they are."""
    source = release.counted_from
    if source is None:
        return None
    rows = source.in_memory("telling whose rows are where").owned_rows
    if rows is None:
        return None
    person, group = rows.person, rows.group
    order = np.lexsort((group, person))
    person, group = person[order], group[order]
    fresh = np.ones(len(person), dtype=bool)
    fresh[1:] = (person[1:] != person[:-1]) | (group[1:] != group[:-1])
    begins = np.flatnonzero(fresh)
    rank = np.arange(len(person)) - np.repeat(begins, np.diff(np.append(begins, len(person))))
    most = int(rank.max(initial=0)) + 1
    places, place = np.unique(group * most + rank, return_inverse=True)
    nth_person = np.cumsum(np.diff(person, prepend=-1) != 0) - 1
    offsets = offsets_of(np.bincount(nth_person))
    kind_of, kinds = code_sets(offsets, place.astype(np.int32), repeated=True)
    people = np.bincount(kind_of, minlength=len(kinds)).astype(np.int64)
    sets, part, kind = _parts(kinds, places, most, knows)
    candidates, at_least = _candidates(sets, kinds, people, len(places))
    fewer = knows != "all" and bool((np.diff(kinds.offsets) > knows).any())
    all_rows = fewer and sets is kinds
    at_least = at_least or all_rows
    return KnownParts(
        sets,
        places // most,
        places % most,
        candidates,
        at_least,
        all_rows,
        part,
        kind,
        people,
        np.unique(person),
        kind_of.astype(np.int64),
    )


def _parts(kinds: Sets, places: Ints, most: int, knows: Knows) -> tuple[Sets, Ints, Ints]:
    """The sets of rows that may be known, and of which kinds of people."""
    lengths = np.diff(kinds.offsets)
    all_kinds = np.arange(len(kinds))
    if knows == "all" or not (lengths > knows).any():
        return kinds, all_kinds, all_kinds
    if sum(comb(int(length), min(knows, int(length))) for length in lengths) > _MOST_PARTS:
        return kinds, all_kinds, all_kinds
    number: dict[tuple[int, ...], int] = {}
    part, kind = [], []
    code = {int(place): at for at, place in enumerate(places)}
    for at in range(len(kinds)):
        rows = (places[kinds.members[kinds.offsets[at] : kinds.offsets[at + 1]]] // most).tolist()
        for known_groups in sorted(set(combinations(sorted(rows), min(knows, len(rows))))):
            ranked = (
                group * most + known_groups[:nth].count(group)
                for nth, group in enumerate(known_groups)
            )
            known = tuple(sorted(code[value] for value in ranked))
            part.append(number.setdefault(known, len(number)))
            kind.append(at)
    members = np.array([place for known in number for place in known], dtype=np.int32)
    sets = Sets(offsets_of([len(known) for known in number]), members)
    return sets, np.array(part, dtype=np.int64), np.array(kind, dtype=np.int64)


def _candidates(sets: Sets, kinds: Sets, people: Ints, places: int) -> tuple[Ints, bool]:
    """How many people's rows contain each set; and whether it is only known as at least so many."""
    from sfumato.adversaries.locating.kernel import people_containing

    owner = rows_of(kinds.offsets)
    order = np.argsort(kinds.members, kind="stable")
    listed = np.searchsorted(kinds.members[order], np.arange(places + 1)).astype(np.int64)
    fewest = np.minimum.reduceat(np.diff(listed)[sets.members], sets.offsets[:-1])
    if int(fewest.sum()) > _MOST_LOOKS and sets is kinds:
        return people, True
    people_by_set = people_containing(
        sets.offsets, sets.members, kinds.offsets, kinds.members, people, listed, owner[order]
    )
    return people_by_set, False


@dataclass(frozen=True)
class RowsReader:
    """Somebody who knows several of her target's rows; `knows`: as the schema says, unless told."""

    knows: Knows | None = None

    def __post_init__(self) -> None:
        knows = self.knows
        whole = isinstance(knows, int) and not isinstance(knows, bool) and knows >= 1
        if not (knows is None or whole or (isinstance(knows, str) and knows == "all")):
            raise InputError(f"knows = {quoted(knows)} is not allowed; use 1, 2, 3, ... or 'all'")

    @property
    def name(self) -> str:
        return NAME

    def attack(self, release: Release, groups: Groups | None = None) -> RowsRead:
        about = release.groups if groups is None else groups
        knows = release.schema.knows if self.knows is None else self.knows
        if release.groups.beside.unlinked is None and release.schema.rows == "linked":
            raise InputError(
                f"{release.label}: a pseudonym links each person's rows, so nobody need find out "
                "which are whose; linkage, in audit, tells whom somebody finds who knows some of "
                "them"
            )
        if release.groups.beside.unlinked is None:
            raise InputError(
                f"{release.label}: rows are not published one by one; say person and rows = "
                "'unlinked' in the schema where people have several"
            )
        rows = len(release.groups.published_rows)
        small = self.knows is not None or int(release.groups.published_rows.sum()) <= MOST_COUNTS
        parts = known_parts(release, knows) if small and rows else None
        return RowsRead(release, about, knows, parts)


@dataclass(frozen=True)
class RowsRead:
    """What she makes of it; `parts` is None where whose rows are where is not known."""

    release: Release
    groups: Groups
    knows: Knows
    parts: KnownParts | None

    @cached_property
    def by_row(self) -> Groups:
        rows = self.groups.beside.unlinked
        return self.groups if rows is None else rows.by_row

    @property
    def words(self) -> str:
        many = "all of the target's rows" if self.knows == "all" else f"{self.knows} of the rows"
        return f"the quasi-identifiers of {many}, and of everybody else's"

    def beliefs(self) -> Iterator[tuple[slice, Floats, Floats]]:
        """For some of the parts: that all their rows say the same value, that any of them does.

        Where no value can be that of all rows, nothing is believed of any.
        """
        parts = self.parts
        assert parts is not None
        offsets, width = parts.sets.offsets, self.by_row.width
        start = 0
        while start < len(parts.sets):
            most = offsets[start] + max(1, _AT_ONCE // max(width, 1))
            stop = max(start + 1, int(np.searchsorted(offsets, most, side="right")) - 1)
            members = parts.sets.members[offsets[start] : offsets[stop]]
            used, place = np.unique(parts.group[members], return_inverse=True)
            saying = self.by_row.take(used).dense(0, len(used)).astype(np.float64)[place]
            rows = self.by_row.sizes[used].astype(np.float64)[place][:, None]
            dealt = parts.rank[members][:, None]  # rows of hers before this one
            first = offsets[start:stop] - offsets[start]
            left = rows - dealt
            agreeing = np.multiply.reduceat(np.maximum(saying - dealt, 0) / left, first, axis=0)
            none = np.multiply.reduceat(np.maximum(left - saying, 0) / left, first, axis=0)
            yield slice(start, stop), _normalized(agreeing), 1 - none
            start = stop

    def before(self, rows: int) -> tuple[Floats, Floats]:
        """The same where everybody's rows are one group, of so many known rows."""
        total = self.by_row.by_value()
        drawn = np.arange(rows, dtype=np.float64)[:, None]
        left = np.maximum(total.sum() - drawn, 1)
        agreeing = np.prod(np.maximum(total - drawn, 0) / left, axis=0)
        none = np.prod(np.maximum(total.sum() - total - drawn, 0) / left, axis=0)
        return _normalized(agreeing[None, :])[0], 1 - none

    @cached_property
    def strongest(self) -> Floats:
        """For each part her strongest belief in a value that all its rows share."""
        assert self.parts is not None
        strongest = np.zeros(len(self.parts.sets))
        for part_numbers, agreeing, _ in self.beliefs():
            strongest[part_numbers] = agreeing.max(axis=1, initial=0.0)
        return strongest

    def threats(self) -> list[Threat]:
        about = self.groups.attribute
        if self.parts is None:
            why = "not measured: nobody here knows whose rows they are, or there are too many"
            return [Threat(NAME, self.words, why, status="not_measured")]
        threats = [self._of_owners(self.parts)]
        if self.by_row.width and about is not None:
            threats += self._values(self.parts, about)
        return threats

    def _of_owners(self, parts: KnownParts) -> Threat:
        people = self.release.people
        risk = 1 / parts.candidates
        far = moved(np.full(len(risk), 1 / people), risk)
        alone = Headcount(parts.people_where(parts.candidates == 1), at_most=parts.at_least)
        learns = (
            f"whose rows they are: at least {parts.candidates.min():,} people have rows in all of "
            f"the groups, {alone} people are the only one; a row there is one of these with "
            f"a chance of up to {parts.most_of_a_group(self.by_row.sizes):.0%}"
        )
        belief = BeliefChange(1 / people, float(risk.max()), at_most=parts.at_least)
        headcount = Headcount(parts.people_where(far), at_most=parts.at_least)
        return Threat(NAME, self.words, learns, None, headcount, belief)

    def _values(self, parts: KnownParts, about: str) -> list[Threat]:
        if parts.all_rows:  # who knows fewer may be surer
            why = f"not measured: {TOO_MANY}"
            return [Threat(n, self.words, why, about, status="not_measured") for n in (SAME, ANY)]
        lengths = np.diff(parts.sets.offsets)
        most = int(lengths.max())
        before = [self.before(rows) for rows in range(1, most + 1)]
        far = [np.zeros(len(parts.sets), dtype=bool) for _ in range(2)]
        worst: list[BeliefChange | None] = [None, None]
        codes = np.arange(self.by_row.width)
        for part_numbers, *after in self.beliefs():
            for reading, believed in enumerate(after):
                prior = np.stack([before[rows - 1][reading] for rows in lengths[part_numbers]])
                far[reading][part_numbers] = moved(prior, believed).any(axis=1)
                labels = np.tile(codes, len(believed))
                change = farthest(prior.ravel(), believed.ravel(), labels, self.by_row.values)
                known = worst[reading]
                if change and (known is None or change.factor > known.factor):
                    worst[reading] = change
        words = ("a value that is the same in all these rows", "a value that any of them has")
        return [
            Threat(
                name,
                self.words,
                f"{about}: {word}; moved more than twice for {parts.people_where(moves):,} people",
                about,
                Headcount(parts.people_where(moves)),
                change,
            )
            for name, word, moves, change in zip((SAME, ANY), words, far, worst, strict=True)
        ]


def _normalized(weights: Floats) -> Floats:
    total = weights.sum(axis=1, keepdims=True)
    shares: Floats = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return shares


ENTRY = CatalogueEntry(
    NAME,
    "Could several of her rows name her?",
    "the quasi-identifiers of several of the target's rows, and of everybody else's",
    "whose rows they are, and values that the target has in some or in all of them",
    "anonymize with rows = 'unlinked'",
    "by itself",
    ("several-rows",),
    about="whose rows",
    releases="rows",
    stand_ins=lambda _: (RowsReader(),),
)
