"""Rows published one by one: several of them may be one person's, and nothing says which.

Sizes of such groups are distinct people. What is said of their values is judged twice, and the
worse counts. *By row*: how often a value stands in the published rows of a group; somebody who
knows which group one of her rows is in believes this of that row's value, as every assignment of
the published rows to those that are known is equally likely. *By person*: each value of a person
once, however many rows she has with it; twenty rows of one person with flu do not hide that the
four others have HIV. Neither bounds the other.

Stands apart from `groups.py`: groups of any other release know nothing of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sfumato.counts.counts import Case, Counts, TableCounts
from sfumato.errors import InputError
from sfumato.numbers import Codes, Floats, Ints, tallied_offsets
from sfumato.release.beside import Beside, SeveralGroups
from sfumato.release.groups import Groups
from sfumato.schema.domain import Domain


@dataclass(frozen=True)
class PlacedRows:
    """Whose rows are in which group, by which people are counted anew in groups put together.

    A tuple i of `counts` was in group `group[i]` at first, -1: in none; that group is `now[group]`,
    -1: it was left out. `code`: the values of `attribute` by other codes than the table's.
    """

    counts: Counts
    group: Ints
    now: Ints
    attribute: int | None
    code: Codes | None = None

    @property
    def groups(self) -> Ints:
        """The group of each tuple."""
        return _by_number(self.now, self.group)

    def sizes(self, total: int) -> Ints:
        """The distinct people of each group."""
        return self.counts.rows_by_person.count(self.groups, total)

    def cells(self, total: int) -> tuple[Ints, Codes, Ints]:
        """How many people of each group have each value, sparse."""
        assert self.attribute is not None
        group, value, people = self.counts.people_by_value(self.attribute, self.groups, self.code)
        return tallied_offsets(group, total), value, people

    def take(self, kept: Ints, total: int) -> PlacedRows | None:
        """Of some of so many groups; None where one is taken twice: a tuple is in one group."""
        place = np.full(total, -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        if np.count_nonzero(place >= 0) < len(kept):
            return None
        return replace(self, now=_by_number(place, self.now))

    def merge(self, number: Ints) -> PlacedRows:
        """Groups put together: group g becomes part of group `number[g]`."""
        return replace(self, now=_by_number(number, self.now))

    def relabel(self, codes: Ints) -> PlacedRows:
        """With value v at `codes[v]`."""
        known = codes if self.code is None else _by_number(codes, self.code)
        return replace(self, code=known.astype(np.int32))


def _by_number(numbers: Ints, of: Ints | Codes) -> Ints:
    """The number of each, -1 of -1."""
    return np.append(numbers, -1)[of]


@dataclass(frozen=True)
class UnlinkedRows:
    """The same groups by the values of rows, and by those of people.

    `placed` tells whose rows are where, None where groups are only judged, and not put together.
    Where nobody knows whose rows they are, `by_person` is None.
    """

    by_row: Groups
    by_person: Groups | None = None
    placed: PlacedRows | None = None

    def described(self, several: SeveralGroups | None) -> UnlinkedRows:
        """With who is in several groups, for whoever counts people by their values."""

        def with_several(groups: Groups) -> Groups:
            return groups.with_beside(replace(groups.beside, several=several))

        by_person = None if self.by_person is None else with_several(self.by_person)
        return replace(self, by_row=with_several(self.by_row), by_person=by_person)

    def population(self, total: int) -> Floats | None:
        """What people's survey weights add up to in each of so many groups, where it is known."""
        placed = self.placed
        return None if placed is None else placed.counts.population(placed.groups, total)

    @property
    def everybody_stands_for(self) -> float | None:
        """The same of all groups together, everybody once."""
        placed = self.placed
        if placed is None:
            return None
        summed = placed.counts.population(np.minimum(placed.groups, 0), 1)
        return None if summed is None else float(summed[0])

    def readings_of(self, groups: Groups) -> tuple[Groups, ...]:
        """As criteria of one value judge them, with what the people of the groups protect."""
        both = (self.by_row,) if self.by_person is None else (self.by_row, self.by_person)
        protected = groups.protected
        if protected is None:
            return both
        return tuple(
            reading.with_beside(replace(reading.beside, protected=protected)) for reading in both
        )

    def having(self, sizes: Ints) -> Groups | None:
        """Groups of so many people by how many have each value: somebody may have several."""
        own = self.by_person
        if own is None:
            return None
        return _of_sizes(own, sizes, "set", Beside(unlinked=self))

    def take(self, kept: Ints) -> UnlinkedRows:
        return UnlinkedRows(
            self.by_row.take(kept),
            None if self.by_person is None else self.by_person.take(kept),
            None if self.placed is None else self.placed.take(kept, len(self.by_row)),
        )

    def merge(self, number: Ints, total: int) -> UnlinkedRows:
        by_row = self.by_row.merge(number, total)
        if self.by_person is None:
            return UnlinkedRows(by_row)
        if self.placed is None:
            raise InputError(
                "groups of rows published one by one are put together by whose rows are in each, "
                "which is not known once a group was taken twice; take every group once"
            )
        return _counted(by_row, self.placed.merge(number), self.by_person.reference)

    def referring_to(self, reference: Floats) -> UnlinkedRows:
        """With another reference of people's values."""
        own = self.by_person
        if own is None:
            return self
        codes = np.arange(own.width)
        return replace(self, by_person=own.relabel(codes, own.values, own.domain, reference))

    def relabel(
        self, codes: Ints, values: tuple[str, ...], domain: Domain | None, reference: Floats | None
    ) -> UnlinkedRows:
        """By other codes of the same values; `reference` is that of rows."""
        by_person = self.by_person
        if by_person is not None:
            own: Floats | None = None
            if reference is not None:
                own = np.zeros(len(values))
                own[codes[codes >= 0]] = by_person.reference[codes >= 0]
            by_person = by_person.relabel(codes, values, domain, own)
        by_row = self.by_row.relabel(codes, values, domain, reference)
        placed = None if self.placed is None else self.placed.relabel(codes)
        return UnlinkedRows(by_row, by_person, placed)

    def unreferenced(self) -> UnlinkedRows:
        """With their own sums as reference."""
        by_person = None if self.by_person is None else self.by_person.unreferenced()
        return replace(self, by_row=self.by_row.unreferenced(), by_person=by_person)


def _counted(by_row: Groups, placed: PlacedRows, reference: Floats | None) -> UnlinkedRows:
    """With each value of a person once, and distinct people where there are no values."""
    total = len(by_row)
    if placed.attribute is None:
        return UnlinkedRows(by_row, Groups.of_sizes(placed.sizes(total)), placed)
    by_person = _single_valued(placed.cells(total), by_row, reference)
    return UnlinkedRows(by_row, by_person, placed)


def _single_valued(
    cells: tuple[Ints, Codes, Ints], like: Groups, reference: Floats | None
) -> Groups:
    """Groups of these counts, by the values of others."""
    return Groups.from_sparse(
        *cells,
        like.width,
        values=like.values,
        reference=reference,
        domain=like.domain,
        attribute=like.attribute,
        case="single",
    )


def _of_sizes(groups: Groups, sizes: Ints, case: Case, beside: Beside) -> Groups:
    """The same counts of so many people in each group, who may have several values."""
    return Groups.from_sparse(
        groups.indptr,
        groups.indices,
        groups.data,
        groups.width,
        values=groups.values,
        sizes=sizes,
        reference=groups.reference,
        domain=groups.domain,
        attribute=groups.attribute,
        case=case,
        beside=beside,
    )


def with_owners(
    by_row: Groups, counts: Counts, group: Ints, attribute: int | None, whole: Counts
) -> Groups:
    """Groups of distinct people, made of those by row.

    `group` is that of each tuple of `counts`, -1: none; `whole` is the table that values refer to.
    """
    placed = PlacedRows(counts, group, np.arange(len(by_row)), attribute)
    reference = None if attribute is None else people_by_value(whole, attribute)
    return of_people(by_row, placed.sizes(len(by_row)), _counted(by_row, placed, reference))


def people_by_value(counts: Counts, attribute: int) -> Floats:
    """How many people of a table have each value: what priors by person refer to."""
    width = len(counts.sensitive[attribute].domain)
    having = counts.rows_by_person.count(counts.values[attribute], width)
    return having.astype(np.float64)


def people_references(counts: TableCounts) -> dict[str, Floats]:
    """The same of each attribute; none where people have one row each."""
    if not counts.of_rows:
        return {}
    rows = counts.in_memory("telling whose each row is")
    return {
        attribute.name: people_by_value(rows, place)
        for place, attribute in enumerate(counts.sensitive)
    }


def judged_by_both(
    by_row: Groups, valued: tuple[Ints, Codes, Ints], reference: Floats | None, sizes: Ints
) -> Groups:
    """Groups of so many people, as searches judge them: `valued` are their people by value."""
    by_person = _single_valued(valued, by_row, reference)
    return of_people(by_row, sizes, UnlinkedRows(by_row, by_person))


def owners_unknown(by_row: Groups) -> Groups:
    """Groups of rows of which nobody knows whose they are: sizes are of rows."""
    return of_people(by_row, by_row.sizes, UnlinkedRows(by_row))


def of_people(by_row: Groups, sizes: Ints, rows: UnlinkedRows) -> Groups:
    """The groups that are judged: of so many people, whose rows are in one bag."""
    beside = replace(by_row.beside, unlinked=rows)
    if by_row.width == 0:
        return Groups.of_sizes(sizes, beside)
    return _of_sizes(by_row, sizes, "multiset", beside)
