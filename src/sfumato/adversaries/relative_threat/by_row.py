"""People with several rows: what learner and attacker are asked for is the value of one row.

The model has one description and one value of each; where people have several rows that is a row.
The attacker knows the quasi-identifiers of one of her target's rows and asks for that row's value;
the learner learns p(s | quasi-identifiers) over rows. Whether somebody has the value in *any* of
her rows is another question, which this does not bound.

Rows published one by one: every row is one of its group's. Rows that a pseudonym links: as all that
is judged by row there, among the rows that look like it in equal signatures, so the attacker is one
who knows all of her target's rows. Which signature is whose is known of a release made here, of a
table as it stands, and of a release that was read if every row fits one kind of published rows
alone (`signatures_of_rows`). Else it is not, nor does she find it who sees people unclearly: then a
row may be of any signature that it fits, and who knows more may learn more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from sfumato.adversaries.locating.locate import locate
from sfumato.adversaries.locating.targets import Targets
from sfumato.adversaries.relative_threat.learnt import LearnerReading
from sfumato.adversaries.relative_threat.people import People
from sfumato.counts.counts import rank_rows
from sfumato.counts.rows import PersonRows
from sfumato.numbers import Ints, distinct, offsets_of, rows_of
from sfumato.release.groups import Groups
from sfumato.release.made import Placement
from sfumato.release.release import Release, same_people
from sfumato.release.signatures import Signatures
from sfumato.schema.domain import Domain
from sfumato.table import Table

OF_ROW = (
    "of a row: the attacker knows the quasi-identifiers of one of her target's rows and asks for "
    "that row's value; whether the target has a value in any of her rows is not bounded by this"
)
OWN_SIGNATURE = (
    "a row is one of those that look like it in equal signatures: the attacker knows all of her "
    "target's rows, and is asked about each"
)
ANY_SIGNATURE = (
    "which signature is whose is not known here, so a row may be of any that it fits: an attacker "
    "who knows all of her target's rows may learn more"
)


@dataclass(frozen=True)
class RowReading:
    """That a row is judged; `own_signature`: of linked rows, whether she knows whose it is."""

    own_signature: bool | None = None

    @property
    def only_less(self) -> bool:
        """Whether somebody who knows more than she does may learn more."""
        return self.own_signature is False

    @property
    def limits(self) -> str:
        """What a threat does not say, in short."""
        more = "; who knows all of her rows may learn more" if self.only_less else ""
        return f"; not whether any row of hers has it{more}"

    @property
    def notes(self) -> tuple[str, ...]:
        if self.own_signature is None:
            return (OF_ROW,)
        return OF_ROW, OWN_SIGNATURE if self.own_signature else ANY_SIGNATURE


@dataclass(frozen=True)
class JudgedUnits:
    """What is judged of a release: its people, or their rows (`of_row`).

    `own`: which group each row of the table is in, where that tells more than its values do.
    `persons`: how many have the rows.
    """

    release: Release
    groups: Groups
    table: Table | None
    of_row: RowReading | None = None
    own: Placement | None = None
    persons: int | None = None

    @property
    def counted(self) -> str:
        return "people" if self.of_row is None else "rows"

    @property
    def notes(self) -> tuple[str, ...]:
        return () if self.of_row is None else self.of_row.notes

    def owned(self, people: People | None) -> People | None:
        """With how many people have these rows."""
        return (
            people if people is None or not self.persons else replace(people, persons=self.persons)
        )


def judged_groups(release: Release, groups: Groups) -> tuple[Release, Groups]:
    """A release and groups of it as they are judged: by row where people have several."""
    if release.by_row is not None:
        rows = release.by_row
        return rows, rows.by_attribute.get(groups.attribute or "", groups)
    unlinked = groups.beside.unlinked
    return release, groups if unlinked is None else unlinked.by_row


def judged_units(
    release: Release, groups: Groups, table: Table | None, *, clear: bool
) -> JudgedUnits:
    """What is judged; `clear`: people are seen as they are."""
    judged, about = judged_groups(release, groups)
    if release.by_row is None:
        several = release.groups.beside.unlinked is not None
        return JudgedUnits(judged, about, table, RowReading() if several else None)
    by_row, source = table_by_row(table), judged.counted_from
    own = None
    known = judged.placement is not None if table is None else _counted_here(table, source)
    if source is not None and known:
        own = source.in_memory("asking what is believed of everybody's rows")
    elif table is not None:
        own = signatures_of_rows(release, table)
    # Without a table only a release that hides nothing tells of everybody, each in her own group.
    reading = RowReading(own_signature=clear and (own is not None or table is None))
    return JudgedUnits(judged, about, by_row, reading, own, release.people)


def _counted_here(table: Table, source: object) -> bool:
    """Whether groups count the rows of this very table."""
    if not isinstance(source, Placement):
        return False
    here = source.table
    return here.source is table.source or same_people(here, table)


def signatures_of_rows(release: Release, table: Table) -> Placement | None:
    """Which group each row of the table is in, of a release that was read; None where none knows.

    Who has n rows, each of which fits one kind of those that people with n rows show, has the
    signature of these kinds, or was left out. Where anybody's rows were cut or dropped that may be
    wrong; so the groups must then count the very values that are published.
    """
    signatures, rows, by_row = release.regions, table.rows, table_by_row(table)
    if not isinstance(signatures, Signatures) or rows is None or by_row is None:
        return None
    judged, sets = release.by_row, signatures.sets
    assert judged is not None
    kinds = len(signatures.rows)
    # Groups by row are the pairs of a signature and a kind of row in it, in this order.
    pairs = distinct(rows_of(sets.offsets) * kinds + sets.members)
    signature, kind = np.divmod(pairs, kinds)
    length, offsets = np.diff(sets.offsets)[signature], offsets_of(np.bincount(rows.person))
    many = np.diff(offsets)[rows.person]
    sizes = [len(domain) for domain in rows.quasi]
    case, first = rank_rows([*rows.codes, many.astype(np.int32)], [*sizes, int(many.max()) + 1])
    none = np.zeros(0, dtype=np.int64)
    located = locate(judged, Targets(rows.quasi, rows.codes[:, first], none, none))
    fitting = rows_of(located.indptr)
    same_length = length[located.groups] == many[first][fitting]
    fits = distinct(fitting[same_length] * kinds + kind[located.groups[same_length]])
    if len(distinct(fits // kinds)) < len(fits):
        return None
    kind_of = np.full(len(first), -1, dtype=np.int64)
    kind_of[fits // kinds] = fits % kinds
    kind_of_row = kind_of[case]
    number = {
        tuple(sorted(sets.members[a:b])): at for at, (a, b) in enumerate(pairwise(sets.offsets))
    }
    by_person = [number.get(tuple(sorted(kind_of_row[a:b])), -1) for a, b in pairwise(offsets)]
    of_row = np.array(by_person, dtype=np.int64)[rows.person]
    group = np.searchsorted(pairs, of_row * kinds + kind_of_row)
    placed = np.where(of_row < 0, -1, group)
    if not _counts_as_published(judged, rows, placed):
        return None
    return Placement(by_row, np.arange(len(placed)), placed, by_row.counts.in_memory("rows").n)


def _counts_as_published(judged: Release, rows: PersonRows, placed: Ints) -> bool:
    """Whether rows that are placed so have the values that each group shows."""
    kept = placed >= 0
    for attribute, values in zip(rows.sensitive, rows.values, strict=True):
        groups = judged.by_attribute[attribute.name]
        code_of = {label: code for code, label in enumerate(groups.values)}
        codes = np.array([code_of.get(label, -1) for label in attribute.domain.labels])
        value = codes[values[kept]]
        cells, many = np.unique(placed[kept] * groups.width + value, return_counts=True)
        published = groups.row * groups.width + groups.indices
        order = np.argsort(published)
        if (value < 0).any() or not np.array_equal(cells, published[order]):
            return False
        if not np.array_equal(many, groups.data[order]):
            return False
    return True


def table_by_row(table: Table | None) -> Table | None:
    """A table every row of which is somebody, where a pseudonym links rows."""
    if table is None or table.rows is None:
        return table
    return replace(table, counts=table.rows.row_counts(), rows=None)


def notes_on(
    units: JudgedUnits, people: People | None, domains: Sequence[Domain], reading: LearnerReading
) -> list[str]:
    """What must be told of whom or what is judged."""
    notes = []
    if people is not None:
        unused = []
        for place, domain in enumerate(domains):
            missing = people.everybody.unused(place)
            if missing:
                unused.append(f"{domain.name} ({missing:,} of {len(domain):,})")
        if unused:
            notes.append(
                f"nobody has some values of {', '.join(unused)}: where regions contain such "
                "values, an attacker who knows the narrower domain learns at least as much as p_A"
            )
        if people.left_out:
            left = f"{people.left_out:,} {units.counted} of the table"
            notes.append(f"{left} are in no group and are not judged")
    else:
        notes.append(
            "p_A takes every value of a region as possible; an attacker who knows which values "
            "nobody has learns at least as much"
        )
    if reading == "conditional":
        notes.append("p_L is E[f(s|r)]; RF is not defined for this reading")
    return notes
