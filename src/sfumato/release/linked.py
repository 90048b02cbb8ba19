"""A release of linked rows: what a pseudonym puts together, by person and by row.

Whatever is published is judged by what is published: the rows and their pseudonyms, whoever cut or
dropped them before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from sfumato.counts.counts import Counts, rank_rows
from sfumato.counts.rows import PersonRows
from sfumato.counts.value_sets import code_sets
from sfumato.engines.base import Scratch
from sfumato.errors import InputError
from sfumato.numbers import Bools, Codes, Floats, Ints, offsets_of
from sfumato.release.beside import SeveralGroups
from sfumato.release.description import PSEUDONYM, Regions, Singletons
from sfumato.release.groups import Groups
from sfumato.release.made import Findings, Made, MadeHere, Placement, ReadFrom, TablePlacement
from sfumato.release.release import Release, kept_notes, missing_weights_notes, weight_notes
from sfumato.release.signatures import Knows, Signatures, signatures_of, too_many_parts
from sfumato.release.summing import group_counts, references
from sfumato.schema.domain import Domain
from sfumato.schema.roles import Schema
from sfumato.table import Table


@dataclass(frozen=True)
class LinkedRows:
    """Row i of the table's rows is published as `regions[i]` with a pseudonym's number.

    Or not, where that is -1. Pseudonyms are numbered 0, 1, 2, ...; `piece` numbers them and,
    besides, whatever is not published: what of somebody's rows would have been put together.
    """

    table: Table
    pseudonym: Ints
    piece: Ints
    regions: Regions

    @classmethod
    def as_they_stand(cls, table: Table, regions: Regions | None = None) -> LinkedRows:
        """All rows, as the table has them; `regions` where its cells are read as such."""
        rows = rows_of(table)
        row_regions = regions or Regions(
            tuple(domain.name for domain in rows.quasi),
            tuple(Singletons(domain) for domain in rows.quasi),
            rows.codes,
        )
        return cls(table, rows.person, rows.person, row_regions)

    @property
    def rows(self) -> PersonRows:
        return rows_of(self.table)

    @cached_property
    def published(self) -> Ints:
        """The places of published rows, pseudonym by pseudonym."""
        order = np.argsort(self.pseudonym, kind="stable")
        return order[np.searchsorted(self.pseudonym[order], 0) :]

    @property
    def published_pseudonym(self) -> Ints:
        """The pseudonym of each of them."""
        return self.pseudonym[self.published]

    def keyed_pseudonyms(self, drawn: Ints) -> list[str]:
        """The keyed pseudonym of each; of one person's several the longest is her first.

        `drawn`: a number of each, in whose order they are that have as many rows.
        """
        keyed = self.table.keyed
        assert keyed is not None
        lengths = np.bincount(self.published_pseudonym)
        person = np.empty(len(lengths), dtype=np.int64)
        person[self.published_pseudonym] = self.rows.person[self.published]
        order = np.lexsort((drawn, -lengths, person))
        nth = np.empty(len(lengths), dtype=np.int64)
        nth[order] = np.arange(len(order)) - np.searchsorted(person[order], person[order])
        return [keyed.nth(*numbers) for numbers in zip(person.tolist(), nth.tolist(), strict=True)]

    def people_behind(self, signature: Codes, signatures: int) -> Floats | None:
        """The summed weights of each signature's people, of which one pseudonym is."""
        if self.rows.weights is None:
            return None
        person = np.empty(len(signature), dtype=np.int64)
        person[self.published_pseudonym] = self.rows.person[self.published]
        summed = np.bincount(signature, self.rows.weights[person], signatures)
        return summed.astype(np.float64)

    def public(self) -> dict[str, int]:
        """What a manifest tells: what of people's rows is not published, or not together."""
        person, published = self.rows.person, self.published
        pieces = np.unique(np.vstack([person[published], self.published_pseudonym]), axis=1)[0]
        left_out = np.unique(person[self.pseudonym < 0])
        return {
            "rows": len(published),
            "rows_not_published": len(person) - len(published),
            "people_of_several_pseudonyms": int((np.bincount(pieces) > 1).sum()),
            "people_published_in_part": int(np.isin(left_out, pieces).sum()),
        }

    def alone_by_kept(self) -> AloneByKept | None:
        """Who is found by what is published of her as it is; None where nothing is."""
        kept, places = self.rows.kept, self.published
        if kept is None:
            return None
        offsets = offsets_of(np.bincount(self.published_pseudonym))
        stands = [*kept.codes[:, places]]
        return AloneByKept(
            _alone(offsets, stands), _alone(offsets, [*stands, *self.regions.codes[:, places]])
        )

    @property
    def some_cut(self) -> bool:
        """Whether anybody's rows stand under several pseudonyms, or are published in part."""
        figures = self.public()
        return (figures["people_of_several_pseudonyms"], figures["people_published_in_part"]) != (
            0,
            0,
        )

    def notes(self) -> tuple[str, ...]:
        """What the owner must know of rows that are not published as they stand."""
        figures = self.public()
        cut, hidden = figures["people_of_several_pseudonyms"], figures["rows_not_published"]
        people = len(np.unique(self.rows.person[self.published]))
        notes = []
        if cut:
            notes.append(
                f"the rows of {cut:,} people were cut into several pseudonyms, which count as one "
                f"person each ({int(self.published_pseudonym[-1]) + 1:,} pseudonyms of {people:,} "
                "people); who knows all of her rows faces each of hers, no two in one group"
            )
            if self.table.schema.knows != "all":
                notes.append(CUT_KNOWS)
        if hidden:
            notes.append(f"{hidden:,} of {len(self.rows):,} rows are not published")
        return tuple(notes)

    def without(self, pseudonyms: Bools) -> LinkedRows:
        """The same but for some pseudonyms, which are not published."""
        number = np.cumsum(~pseudonyms) - 1
        number[pseudonyms] = -1
        kept = np.where(self.pseudonym >= 0, number[self.pseudonym], -1)
        return replace(self, pseudonym=kept)


@dataclass(frozen=True)
class AloneByKept:
    """How many pseudonyms are the only ones with what is kept of all their rows.

    `beside_cells`: with that and what these rows show of quasi-identifiers.
    """

    alone: int
    beside_cells: int

    def public(self) -> dict[str, int]:
        """As a manifest tells it: anybody can count them."""
        return {"alone_by_kept": self.alone, "alone_by_kept_and_cells": self.beside_cells}


def _alone(offsets: Ints, rows: Sequence[Codes]) -> int:
    """How many have a multiset of such rows that nobody else has."""
    number, _ = rank_rows(rows, [int(codes.max(initial=0)) + 1 for codes in rows])
    kind, kinds = code_sets(offsets, number.astype(np.int32), repeated=True)
    return int((np.bincount(kind, minlength=len(kinds)) == 1).sum())


KEPT_BESIDE = (
    "kept values of all rows of a pseudonym stand beside each other: whoever knows some of "
    "somebody's finds her by them, however many people look like her otherwise, and no criterion "
    "bounds that"
)


def _kept_notes(linked: LinkedRows) -> tuple[str, ...]:
    """What it means that columns are published as they are, and who is alone by them."""
    alone = linked.alone_by_kept()
    if alone is None:
        return ()
    people = len(np.unique(linked.published_pseudonym))
    return (
        KEPT_BESIDE,
        f"by the kept values of all their rows {alone.alone:,} of {people:,} people are unlike "
        "anybody else, by these and what the rows show of quasi-identifiers "
        f"{alone.beside_cells:,}",
    )


def pseudonym_column(schema: Schema) -> str:
    """What the column of pseudonyms is called: no other column has its name."""
    name, given = PSEUDONYM, {column for _, column in schema.roles()}
    while name in given:
        name += "_"
    return name


def rows_of(table: Table) -> PersonRows:
    """The rows of a table that was read as linked."""
    if table.rows is None:
        raise InputError("the table was not read with rows = 'linked'; read it so")
    return table.rows


@dataclass(frozen=True)
class LinkedPlacement(TablePlacement):
    """Whose rows became which pseudonym's. Nobody is in a group by one tuple of hers."""

    fits_memory: ClassVar[bool] = True

    linked: LinkedRows

    @property
    def table(self) -> Table:  # type: ignore[override]
        return self.linked.table

    @property
    def suppressed(self) -> int:
        rows = self.linked.rows
        return rows.people - len(np.unique(rows.person[self.linked.published]))

    def in_memory(self, why: str) -> Placement:
        raise InputError(
            f"{why} takes one description of each person, and rows = 'linked' publishes several; "
            "it is not worked out for linked rows"
        )

    def renumbered(self, number: Ints) -> None:
        return None

    def published_values(self, why: str) -> tuple[Ints, Codes, Ints]:
        self.in_memory(why)
        raise AssertionError

    def cells(self, scratch: Scratch) -> str:
        self.in_memory("writing through an engine")
        raise AssertionError

    groups_of_tuples = cells  # what cannot be told for one reason cannot be told for the other


def linked_release(linked: LinkedRows, findings: Findings | None = None, seed: int = 0) -> Release:
    """The release of some rows: by signatures, and by row beside it.

    `findings`: of the anonymizer that made it here.
    """
    table, rows, schema = linked.table, linked.rows, linked.table.schema
    places, pseudonym = linked.published, linked.published_pseudonym
    # Two pseudonyms of one person are two people to whoever counts those who have some rows.
    cut = linked.public()["people_of_several_pseudonyms"]
    knows: Knows = "all" if cut else schema.knows
    signature, kinds, described = signatures_of(linked.regions.take(places), pseudonym, knows)
    everybody = rows.gathered(linked.piece, repeated=schema.several == "multiset")
    piece_of = np.zeros(len(signature), dtype=np.int64)
    piece_of[pseudonym] = linked.piece[places]
    people = everybody.take(piece_of)
    placement, by_row = LinkedPlacement(linked), _by_row(linked, signature, kinds, findings, seed)
    made: Made = ReadFrom() if findings is None else MadeHere(placement, findings, seed)
    group, known = signature.astype(np.int64), references(everybody)
    # Whoever reads the file sees one value a person, whatever was cut.
    one_each = described.one_each
    return Release(
        schema,
        by_row.counted_groups if one_each else _counted(people, group, len(described), known),
        described,
        suppressed=placement.suppressed,
        disjoint=False,
        population=linked.people_behind(signature, len(described)),
        label=table.source.label if findings is None else f"release of {table.source.label}",
        notes=(
            *_kept_notes(linked),
            LINKED_NOTE,
            *_too_many_notes(described),
            *linked.notes(),
            *kept_notes(schema, table.perturbed),
            *weight_notes(schema),
            *(() if cut else missing_weights_notes(schema, placement.suppressed, "suppressed")),
        ),
        made=made,
        by_row=by_row,
    )


@dataclass(frozen=True)
class PublishedRows:
    """The rows that a release of linked rows publishes, pseudonym by pseudonym.

    Row i is that of `pseudonym[i]`, who are 0, 1, 2, ... in order; it shows `regions[i]`, of the
    groups by row `group[i]`, and of attribute a the value `values[a, i]` of `domains[a]`.
    """

    pseudonym: Ints
    group: Ints
    regions: Regions
    domains: tuple[Domain, ...]
    values: Codes


def published_rows(release: Release) -> PublishedRows:
    """Which rows of a release stand together, as anybody sees who reads its file."""
    by_row = release.by_row
    several = None if by_row is None else by_row.several
    source = None if by_row is None else by_row.counted_from
    placement = release.placement
    linked = placement.linked if isinstance(placement, LinkedPlacement) else None
    unknown = InputError(f"{release.label}: which of its rows are one pseudonym's is not known")
    if by_row is None or several is None or several.person is None or several.group is None:
        raise unknown
    if not isinstance(source, Placement):
        raise unknown
    places = np.arange(len(source.groups)) if linked is None else linked.published
    if not np.array_equal(source.groups[places], several.group):
        raise unknown
    counts = source.counts
    return PublishedRows(
        several.person,
        several.group,
        by_row.regions.require_regions().take(several.group),
        tuple(attribute.domain for attribute in counts.sensitive),
        counts.values[:, source.tuples[places]],
    )


def cuts_people(release: Release) -> bool:
    """Whether a pseudonym may show some rows of somebody and not all of hers."""
    if isinstance(release.placement, LinkedPlacement):
        return release.placement.linked.some_cut
    return isinstance(release.made, ReadFrom) and release.made.cut


CUT_KNOWS = (
    "since some people have several pseudonyms, who has some rows cannot be counted once: k and "
    "linkage are judged as if all rows were known"
)


def _too_many_notes(described: Signatures) -> tuple[str, ...]:
    """What is told where too much may be known to be tried."""
    if described.knows == "all" or not too_many_parts(described.sets, described.knows):
        return ()
    return (
        f"there are too many sets of {described.knows} rows to be tried one by one: k and linkage "
        "are judged as if all rows were known, and people are found at most so surely",
    )


LINKED_NOTE = (
    "a pseudonym links rows: groups are people with equal signatures, and what is defined for one "
    "value a person is judged of the value of a row; whether somebody has a value in any of her "
    "rows is what (alpha, k)-anonymity, the skyline and random worlds tell"
)


def _counted(
    counts: Counts, group: Ints, total: int, known: dict[str, Floats]
) -> dict[str, Groups]:
    if not counts.sensitive:
        return {"": group_counts(counts, group, total, None)}
    return {
        attribute.name: group_counts(counts, group, total, place, known[attribute.name])
        for place, attribute in enumerate(counts.sensitive)
    }


def _by_row(
    linked: LinkedRows, signature: Codes, kinds: Codes, findings: Findings | None, seed: int
) -> Release:
    """Rows that look alike in equal signatures; of one signature those that do count together."""
    counts = linked.rows.row_counts()
    table = replace(linked.table, counts=counts, rows=None)
    places, pseudonym = linked.published, linked.published_pseudonym
    keys = np.vstack([signature[pseudonym], kinds])
    group, first = rank_rows(keys, [int(row.max(initial=0)) + 1 for row in keys])
    placed = np.full(len(linked.pseudonym), -1, dtype=np.int64)
    placed[places] = group
    placement = Placement(table, np.arange(len(placed)), placed, counts.n)
    made: Made = ReadFrom(placement) if findings is None else MadeHere(placement, findings, seed)
    return Release(
        table.schema,
        _counted(counts.take(places), group, len(first), references(counts)),
        linked.regions.take(places[first]),
        suppressed=placement.suppressed,
        disjoint=False,
        label=table.source.label,
        made=made,
        several=SeveralGroups(len(signature), pseudonym, group),
    )
