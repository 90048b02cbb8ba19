"""Smaller tables, by which something is tried: some of the people, or all without a column.

Whoever is drawn is drawn with all of her rows and, where a column says who lives together, with
everybody who lives with her: half a person's rows, or of a household, are found by less than all of
them are. Survey weights are raised, so that a sample stands for as many people.

A release of the table without a column becomes one of the whole table, in which everybody shows
`*` there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.counts.counts import Counts, TableCounts, rank_rows
from sfumato.counts.households import Members
from sfumato.counts.rows import PersonRows
from sfumato.errors import InputError
from sfumato.numbers import Codes, Ints, distinct, offsets_of, rows_of
from sfumato.release.description import Regions
from sfumato.release.linked import LinkedRows
from sfumato.release.made import Placement
from sfumato.schema.region import Anything
from sfumato.table import Table


def sample_of(table: Table, people: int, seed: int) -> Table:
    """Some people of a table, every one equally likely; the table itself where it has no more.

    Of households as many are drawn as have so many people together, but at least one.
    """
    counts, members = table.counts, table.households
    if counts.fits_memory and table.people <= people:
        return table
    chance = np.random.default_rng(seed)
    if table.rows is not None:
        return _of_linked(table, table.rows, people, chance)
    if isinstance(counts, Counts) and counts.owner is not None:
        return replace(
            table, counts=_with_all_their_rows(counts, counts.owner, members, people, chance)
        )
    if members is None:
        many = min(people, counts.memberships)
        return replace(table, counts=_drawn_by_tuple(counts, many, chance))
    drawn = _some_people(distinct(members.person), members, people, chance)
    kept = np.isin(members.person, drawn)
    together = replace(members, person=members.person[kept], codes=members.codes[:, kept])
    return replace(table, counts=_by_their_codes(counts, together, chance), households=together)


def _some_people(
    everybody: Ints, members: Members | None, people: int, chance: np.random.Generator
) -> Ints:
    """The numbers of some people, with all who live with them."""
    if members is None:
        return chance.choice(everybody, min(people, len(everybody)), replace=False)
    household = members.household[everybody]
    sizes = np.bincount(household)
    order = chance.permutation(np.flatnonzero(sizes))
    many = np.searchsorted(np.cumsum(sizes[order]), people, side="right")
    return everybody[np.isin(household, order[: max(int(many), 1)])]


def _of_linked(table: Table, rows: PersonRows, people: int, chance: np.random.Generator) -> Table:
    """So many of the people whose rows a pseudonym is to link."""
    drawn = np.sort(_some_people(np.arange(rows.people), table.households, people, chance))
    kept = np.isin(rows.person, drawn)
    person = np.searchsorted(drawn, rows.person[kept])
    weights, members = rows.weights, table.households
    if weights is not None:
        weights = weights[drawn] * (rows.people / len(drawn))
    if members is not None:  # row for row beside the others, as they are read
        members = Members(person, members.codes[:, kept], members.household[drawn])
    some = replace(
        rows,
        person=person,
        codes=rows.codes[:, kept],
        values=rows.values[:, kept],
        weights=weights,
        protect=rows.protected_by(drawn),
        kept=None if rows.kept is None else rows.kept.take(np.flatnonzero(kept)),
    )
    counts = some.counts(repeated=table.schema.several == "multiset")
    return replace(table, rows=some, counts=counts, households=members)


def _with_all_their_rows(
    counts: Counts,
    owner: Codes,
    members: Members | None,
    people: int,
    chance: np.random.Generator,
) -> Counts:
    """So many of the people whose rows are published one by one; they keep their numbers."""
    everybody = np.unique(owner).astype(np.int64)
    drawn = _some_people(everybody, members, people, chance)
    kept = np.isin(owner, drawn)
    n = np.bincount(rows_of(offsets_of(counts.n))[kept], minlength=len(counts))
    weights = counts.weights
    if weights is not None:
        weights = weights * (len(everybody) / len(drawn))
    whole = replace(counts, n=n, owner=owner[kept], weights=weights)
    return whole.take(np.flatnonzero(n))


def _drawn_by_tuple(counts: TableCounts, many: int, chance: np.random.Generator) -> Counts:
    """So many people who have one row each, or rows that are gathered."""
    total = counts.memberships
    chosen = np.sort(chance.choice(total, many, replace=False))
    before = 0
    parts = []
    for part in counts.parts():
        ends = before + np.cumsum(part.n)
        here = chosen[(chosen >= before) & (chosen < ends[-1])]
        drawn = np.bincount(np.searchsorted(ends, here, side="right"), minlength=len(part))
        parts.append(_fewer(part, drawn, total / many))
        before = int(ends[-1])
    return _together(parts)


def _by_their_codes(counts: TableCounts, members: Members, chance: np.random.Generator) -> Counts:
    """These members of households, of whom counts know the quasi-identifiers only.

    Which of the values that people with equal ones have is whose is drawn: that who lives together
    is alike in them is not kept, and no figure asks it.
    """
    people = np.unique(np.vstack([members.person[None, :], members.codes]), axis=1)[1:]
    parts = []
    for part in counts.parts():
        codes = np.hstack([part.codes, people])
        kind, first = rank_rows(codes, [len(domain) for domain in part.quasi])
        wanted = np.bincount(kind[len(part) :], minlength=len(first))
        tuples = rows_of(offsets_of(part.n))
        kind_of = kind[tuples]
        order = np.lexsort((chance.random(len(tuples)), kind_of))
        begins = np.searchsorted(kind_of[order], np.arange(len(first)))
        chosen = order[np.arange(len(order)) - begins[kind_of[order]] < wanted[kind_of[order]]]
        drawn = np.bincount(tuples[chosen], minlength=len(part))
        parts.append(_fewer(part, drawn, 1.0))
    sample = _together(parts)
    if sample.weights is None:
        return sample
    return replace(sample, weights=sample.weights * (counts.memberships / sample.memberships))


def _fewer(part: Counts, drawn: Ints, raised: float) -> Counts:
    """So many people of each tuple, whose survey weights are raised."""
    weights = part.weights
    if weights is not None:
        weights = weights * (drawn / part.n) * raised
    return replace(part, n=drawn, weights=weights).take(np.flatnonzero(drawn))


def _together(parts: Sequence[Counts]) -> Counts:
    first = parts[0]
    if len(parts) == 1:
        return first
    return replace(
        first,
        codes=np.hstack([part.codes for part in parts]),
        values=np.hstack([part.values for part in parts]),
        n=np.concatenate([part.n for part in parts]),
        weights=None
        if first.weights is None
        else np.concatenate([part.weights for part in parts if part.weights is not None]),
        protect=None
        if first.protect is None
        else (first.protect[0], np.concatenate([p.protect[1] for p in parts if p.protect])),
    ).compact()


# -- without a column ------------------------------------------------------------------------------


def without_column(table: Table, column: str) -> Table:
    """A table without a quasi-identifier."""
    place = table.schema.quasi.index(column)
    if len(table.schema.quasi) == 1:
        raise InputError(f"{column} is the only quasi-identifier: nothing would be left to tell")
    rows, members = table.rows, table.households
    counts: Counts
    if rows is None:
        counts = _merged(table.counts.in_memory("pricing"), place).compact()
    else:
        quasi = (*rows.quasi[:place], *rows.quasi[place + 1 :])
        rows = _in_order(replace(rows, quasi=quasi, codes=np.delete(rows.codes, place, axis=0)))
        counts = rows.counts(repeated=table.schema.several == "multiset")
    if members is not None:
        members = replace(members, codes=np.delete(members.codes, place, axis=0))
    return replace(
        table,
        schema=table.schema.without(column),
        counts=counts,
        levels={name: levels for name, levels in table.levels.items() if name != column},
        file=None,
        rows=rows,
        households=members,
    )


def _in_order(rows: PersonRows) -> PersonRows:
    """Somebody's rows in the order in which they are read."""
    order = np.lexsort((*rows.values[::-1], *rows.codes[::-1], rows.person))
    return rows.in_order(order)


def _merged(counts: Counts, place: int) -> Counts:
    quasi = (*counts.quasi[:place], *counts.quasi[place + 1 :])
    return replace(counts, quasi=quasi, codes=np.delete(counts.codes, place, axis=0))


def everybody_alike(regions: Regions, column: str) -> Regions:
    """The same descriptions with `*` in a column."""
    place = regions.columns.index(column)
    codes = regions.codes.copy()
    codes[place] = 0
    parts = (*regions.parts[:place], (Anything(),), *regions.parts[place + 1 :])
    return replace(regions, parts=parts, codes=codes)


def with_column_hidden(regions: Regions, table: Table, column: str) -> Regions:
    """Descriptions that lack a column of a table's, with `*` there."""
    place = table.schema.quasi.index(column)
    return Regions(
        tuple(table.schema.quasi),
        (*regions.parts[:place], (Anything(),), *regions.parts[place:]),
        np.insert(regions.codes, place, 0, axis=0),
    )


def among_finer(placed: Placement, table: Table, column: str) -> Placement:
    """Who is where of a table without a column, told of the tuples of the table with it.

    People of one coarser tuple are alike but for what was left out; any of them may be anywhere.
    """
    counts = table.counts.in_memory("pricing")
    merged = _merged(counts, table.schema.quasi.index(column))
    extra = [] if merged.protect is None else [merged.protect[1][None, :]]
    rows = np.vstack([merged.codes, merged.values, *extra])
    number, _ = rank_rows(rows, [int(row.max(initial=0)) + 1 for row in rows])
    finer = np.argsort(number, kind="stable")
    coarser = np.argsort(placed.tuples, kind="stable")
    ends, bounds = np.cumsum(counts.n[finer]), np.cumsum(placed.n[coarser])
    edges = np.union1d(ends, bounds)
    pieces = np.diff(edges, prepend=0)
    last = edges - 1  # the last person of each piece
    return Placement(
        table,
        finer[np.searchsorted(ends, last, side="right")],
        placed.groups[coarser[np.searchsorted(bounds, last, side="right")]],
        pieces,
    )


def among_finer_rows(linked: LinkedRows, table: Table, rows: PersonRows, column: str) -> LinkedRows:
    """The same of linked rows: a person's rows that differ in nothing else are any of each other.

    `rows` are those of the table with the column.
    """
    place = table.schema.quasi.index(column)
    codes = np.delete(rows.codes, place, axis=0)
    narrow = linked.rows
    here = np.lexsort((*rows.values, *codes, rows.person))
    there = np.lexsort((*narrow.values, *narrow.codes, narrow.person))
    back = np.empty_like(there)
    back[here] = there
    regions = with_column_hidden(linked.regions.take(back), table, column)
    return LinkedRows(table, linked.pseudonym[back], linked.piece[back], regions)
