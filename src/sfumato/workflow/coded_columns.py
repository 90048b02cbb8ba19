"""What is characterized: whatever it came from, one compact table of coded columns.

A table shows its values, a release the cells it publishes. Where people have several rows it is
rows, with whose they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sfumato.adversaries.leakage.expectation import overlap_reason
from sfumato.counts.counts import Attribute, Counts, TableCounts
from sfumato.counts.kernel import PeopleArray
from sfumato.counts.marginals import Marginal, OwnedMarginal, StoredMarginal
from sfumato.counts.rows import PersonRows, count_people
from sfumato.counts.stored import StoredCounts
from sfumato.engines.base import Source
from sfumato.errors import InputError, did_you_mean, expect
from sfumato.numbers import Codes, Ints, offsets_of, rows_of, run_places, taken_rows
from sfumato.release.build import label_of
from sfumato.release.description import Buckets, Regions
from sfumato.release.linked import LinkedPlacement
from sfumato.release.made import TablePlacement
from sfumato.release.release import Release, standing_notes
from sfumato.release.signatures import Knows, Signatures
from sfumato.schema.hierarchy import Levels
from sfumato.schema.region import Region
from sfumato.schema.roles import Schema
from sfumato.table import Table

Labels = Sequence[str]


@dataclass(frozen=True)
class CodedColumns:
    """Columns and the people by their values.

    `quasi` and `sensitive` are the columns with those roles; `left_out` says of other columns why
    they are not here. `levels` are the hierarchies of a table's columns. `public`: it is, or would
    be, handed out. `unseen`: values of a column that nobody shown has; an observer may expect them.
    `ordered`: columns whose values stand in an order.
    """

    names: tuple[str, ...]
    labels: tuple[Labels, ...]
    base: Marginal | StoredMarginal | OwnedMarginal
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    label: str
    people: int
    notes: tuple[str, ...]
    public: bool
    levels: Mapping[str, Levels] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    unseen: Mapping[str, Labels] = field(default_factory=dict)
    ordered: frozenset[str] = frozenset()

    def place(self, name: str) -> int:
        """The position of a column."""
        if name in self.left_out:
            raise InputError(f"column {name!r} {self.left_out[name]}")
        if name not in self.names:
            raise InputError(
                f"column {name!r} is not in {self.label} or has no role; "
                f"{did_you_mean(name, self.names)}"
            )
        return self.names.index(name)


def of_table(table: Table, wanted: Collection[str]) -> CodedColumns:
    """The columns of a table; kept ones if they are wanted."""
    schema = table.schema
    kept = tuple(name for name in schema.keep if name in wanted)
    rows, counted = table.rows, table.counts
    if kept:
        kept_still = tuple(name for name in schema.keep if name not in kept)
        wider = replace(schema, sensitive=(*schema.sensitive, *kept), keep=kept_still)
        rows, counted = count_people(table.engine, table.source, wider)
    counts: TableCounts = counted
    attributes = counts.sensitive if rows is None else rows.sensitive
    labels: list[Labels] = [domain.labels for domain in counts.quasi]
    labels += sensitive_labels(attributes)
    names = (*schema.quasi, *(attribute.name for attribute in attributes))
    return CodedColumns(
        names=names,
        labels=tuple(labels),
        base=_everybody(counts, labels)
        if rows is None
        else _owned(
            [*rows.codes, *rows.values], labels, rows.person.astype(np.int32), schema.knows
        ),
        quasi=tuple(schema.quasi),
        sensitive=tuple(schema.sensitive),
        label=table.source.label,
        people=counts.people,
        notes=(*standing_notes(table), *_several_rows(schema)),
        public=False,
        levels=table.levels,
        left_out=left_out(schema, table.source, (*names, *schema.keep)),
        ordered=frozenset(
            domain.name
            for domain in (
                *counts.quasi,
                *(attribute.domain for attribute in attributes if attribute.sets is None),
            )
            if domain.is_ordered
        ),
    )


def _everybody(
    counts: TableCounts, labels: Sequence[Labels]
) -> Marginal | StoredMarginal | OwnedMarginal:
    """The tuples of a table by all its columns, wherever they are counted."""

    def here(counts: Counts) -> Marginal | StoredMarginal | OwnedMarginal:
        if counts.owner is None:
            return marginal([*counts.codes, *counts.values], labels, counts.n)
        rows = [np.repeat(codes, counts.n) for codes in (*counts.codes, *counts.values)]
        return _owned(rows, labels, counts.owner)

    def there(stored: StoredCounts) -> Marginal | StoredMarginal | OwnedMarginal:
        return StoredMarginal(stored, tuple(range(len(labels))), tuple(map(len, labels)))

    return counts.either(in_memory=here, stored=there)


def left_out(schema: Schema, source: Source, names: Collection[str]) -> dict[str, str]:
    """Why other columns of the policy and of a file are not among these.

    Of a frame only columns with a role are held: of its others nothing is known.
    """
    roles = {name: role for role, name in schema.roles()}
    return {
        name: f"has the role {roles[name]!r} in the policy and is not measured; use keep instead"
        if name in roles
        else "has no role in the policy; give it one (keep, to measure it only)"
        for name in {**roles, **source.types}
        if name not in names
    }


def sensitive_labels(attributes: Sequence[Attribute]) -> list[Labels]:
    """Labels of the sensitive attributes; a set of values is one value."""
    return [
        attribute.domain.labels
        if attribute.sets is None
        else [label_of(attribute, code) for code in range(attribute.codes)]
        for attribute in attributes
    ]


def marginal(rows: Sequence[Codes], labels: Sequence[Labels], n: PeopleArray) -> Marginal:
    """The tuples; some may stand twice, since several tuples of a table may show the same."""
    columns = tuple(range(len(rows)))
    sizes = tuple(len(label) for label in labels)
    codes = np.ascontiguousarray(np.vstack([row.astype(np.int32, copy=False) for row in rows]))
    assert all(row.max(initial=-1) < size for row, size in zip(codes, sizes, strict=True))
    return Marginal(columns, sizes, codes, n)


def _owned(
    rows: Sequence[Codes], labels: Sequence[Labels], owner: Codes, known: Knows | None = None
) -> OwnedMarginal:
    """Rows one by one, each with whose it is; `known`: how many are, where a pseudonym links."""
    people = np.ones(len(owner), dtype=np.int64)
    return OwnedMarginal.of(marginal(rows, labels, people), owner, known)


def _linked(rows: PersonRows, labels: Sequence[Labels], known: Knows) -> OwnedMarginal:
    """Rows of a table that a pseudonym is to link."""
    return _owned([*rows.codes, *rows.values], labels, rows.person.astype(np.int32), known)


def _several_rows(schema: Schema) -> tuple[str, ...]:
    """How people with several rows are counted."""
    if schema.rows == "linked":
        return (
            "people are known by their signatures: all that their rows show in the columns, or so "
            "much of it as knows says; a class is the rows that show the same, of people with "
            "equal signatures. What it leaks is judged of these rows, and of all that these people "
            "have; the more is told, and people are taken by the class of theirs that is worst",
        )
    if schema.rows != "unlinked":
        return ()
    return (
        "people have several rows: a class is the rows that show the same, and its people are "
        "distinct ones; what it leaks is judged by row and by person, and the more is told; shares "
        "and means of people take each by the class of hers that is worst",
    )


# What a release shows of its people: the cells it publishes, and nothing of anybody suppressed.
#
# A release that was made here, or whose private side is there, knows more than its readers do:
# values that only suppressed people have, and how the whole table is distributed. What a reader
# could subtract from the published counts would be those people's values, so neither enters:
# values are those that are published, and what everybody has is what the published people have.
#
# A bucketized release shows exact quasi-identifiers and, apart from them, the sensitive values of
# each bucket: whoever has a tuple has each value of the bucket with its share, so people are
# expected people there.

_KEPT = (
    "is published as it is; of a release, quasi-identifiers and sensitive columns are measured: "
    "characterize the table, or read the published file with this column as a sensitive one"
)


class _Texts(Sequence[str]):
    """The cells of a column, written out when asked for."""

    def __init__(self, parts: Sequence[Region]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, place):  # type: ignore[no-untyped-def]
        return self._parts[place].text


class _ChosenLabels(Sequence[str]):
    """Some of a column's labels, by their places."""

    def __init__(self, labels: Labels, places: Ints) -> None:
        self._labels, self._places = labels, places.tolist()

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, place):  # type: ignore[no-untyped-def]
        return self._labels[self._places[place]]

    def __repr__(self) -> str:
        return repr(tuple(self))


def coded_columns(subject: Table | Release, wanted: Collection[str]) -> CodedColumns:
    """The columns of a table or release; kept columns of a table if they are wanted."""
    expect("subject", subject, (Release, Table), "a Table or a Release")
    if isinstance(subject, Table):
        return of_table(subject, wanted)
    if subject.regions.noisy:
        raise InputError("counts of a randomised release are noisy; characterize the table instead")
    subject.refuse_wildcards()
    if len(subject.groups) == 0:
        raise InputError(f"{subject.label} has no group; there is nothing to characterize")
    if subject.groups.owners_unknown:
        raise InputError(
            f"{subject.label}: nobody here knows whose rows they are, so its people cannot be "
            "counted; give the folder with its private side, or characterize the table"
        )
    if subject.regions.buckets is not None:
        return _of_buckets(subject, subject.regions.buckets)
    if subject.by_row is not None:
        return _of_linked(subject, subject.by_row)
    return _of_regions(subject, subject.regions.require_regions())


def check_apart(release: Release, columns: Sequence[str]) -> None:
    """Refuse to group by cells that overlap without being equal, as the criteria do."""
    known = [name for name in columns if name in release.regions.columns]
    if known and not release.regions.exact:
        reason = overlap_reason((release.by_row or release).groups, known)
        if reason:
            raise InputError(f"the prior given {', '.join(known)} is not applicable: {reason}")


def _of_linked(release: Release, by_row: Release) -> CodedColumns:
    """Published rows, each with the pseudonym that anybody sees."""
    placement, several, placed = release.placement, by_row.several, by_row.counted_from
    if isinstance(placement, LinkedPlacement):
        places, owner = placement.linked.published, placement.linked.published_pseudonym
        regions, rows = placement.linked.regions.take(places), placement.linked.rows
        attributes, values = rows.sensitive, rows.values[:, places]
    else:  # read back: its rows are in the order of their pseudonyms
        assert placed is not None
        assert several is not None
        assert several.person is not None
        assert several.group is not None
        counts = placed.in_memory("characterizing a release").counts
        regions, owner = by_row.regions.require_regions().take(several.group), several.person
        attributes, values = counts.sensitive, counts.values
    names = tuple(attribute.name for attribute in attributes)
    known = release.regions.knows if isinstance(release.regions, Signatures) else "all"
    return _ground(
        release,
        (*regions.columns, *names),
        names,
        [*regions.codes, *values],
        [*(_Texts(parts) for parts in regions.parts), *sensitive_labels(attributes)],
        np.ones(len(owner), dtype=np.int64),
        _several_rows(release.schema),
        owner.astype(np.int32),
        known,
    )


def _of_regions(release: Release, regions: Regions) -> CodedColumns:
    source = release.counted_from
    owner: Codes | None = None
    cells: list[Labels] = [_Texts(parts) for parts in regions.parts]
    if source is not None and release.schema.rows == "unlinked":
        group, values, owner = _rows_of_people(source)
        n: Ints = np.ones(len(group), dtype=np.int64)
        sensitive, labels = list(values), sensitive_labels(source.table.counts.sensitive)
        names = tuple(attribute.name for attribute in source.table.counts.sensitive)
    elif source is not None:
        group, values, n = source.published_values("characterizing a release")
        sensitive, labels = list(values), sensitive_labels(source.table.counts.sensitive)
        names = tuple(attribute.name for attribute in source.table.counts.sensitive)
    else:
        groups = release.groups
        names = tuple(release.by_attribute) if groups.width else ()
        if len(names) > 1 or not groups.single_valued:
            raise InputError("this release tells of each sensitive column alone; read it anew")
        group, n = groups.row, groups.data
        sensitive, labels = [groups.indices], [groups.values]
        if not names:
            group, n, sensitive, labels = np.arange(len(groups)), groups.sizes, [], []
    region_of = [row[group] for row in regions.codes]
    overlapping = [name for name in regions.columns if overlap_reason(release.groups, [name])]
    notes: tuple[str, ...] = ()
    if overlapping:
        notes = (
            f"cells of {', '.join(overlapping)} overlap without being equal: a class is the people "
            "who show the same cells, and whoever fits several of them may be in another",
        )
    return _ground(
        release,
        (*regions.columns, *names),
        names,
        [*region_of, *sensitive],
        [*cells, *labels],
        n,
        (*notes, *_several_rows(release.schema)),
        owner,
    )


def _rows_of_people(source: TablePlacement) -> tuple[Ints, Codes, Codes]:
    """The published rows one by one: their groups, sensitive codes, and whose they are."""
    placed = source.in_memory("telling whose rows are where")
    counts = placed.counts
    assert counts.owner is not None
    kept = np.flatnonzero(placed.groups >= 0)
    owner = counts.owner[taken_rows(offsets_of(counts.n), placed.tuples[kept])[1]]
    tuples = np.repeat(placed.tuples[kept], placed.n[kept])
    return np.repeat(placed.groups[kept], placed.n[kept]), counts.values[:, tuples], owner


def _of_buckets(release: Release, members: Buckets) -> CodedColumns:
    groups = release.groups
    if len(release.by_attribute) != 1 or not groups.single_valued or groups.width == 0:
        raise InputError("a bucketized release must have one sensitive column of one value each")
    length = np.diff(groups.indptr)
    bucket = rows_of(members.indptr)
    # Every tuple of a bucket with every value of it: the tuple's people times the value's share.
    times = length[bucket]
    tuples = np.repeat(np.arange(len(bucket)), times)
    place = run_places(groups.indptr[bucket], times)
    (name,) = release.by_attribute
    return _ground(
        release,
        (*members.columns, name),
        (name,),
        [*members.codes[:, tuples], groups.indices[place]],
        [*(domain.labels for domain in members.domains), groups.values],
        members.n[tuples] * groups.share[place],
        ("a bucket does not say who has which value: people are expected ones, by shares",),
    )


def _ground(
    release: Release,
    names: tuple[str, ...],
    sensitive: tuple[str, ...],
    rows: Sequence[Codes],
    labels: Sequence[Labels],
    n: PeopleArray,
    notes: tuple[str, ...],
    owner: Codes | None = None,
    known: Knows | None = None,
) -> CodedColumns:
    """The published people by the values that are published, each column's coded anew."""
    used, coded = zip(*(np.unique(row, return_inverse=True) for row in rows), strict=True)
    kept = [_ChosenLabels(label, places) for label, places in zip(labels, used, strict=True)]
    source = release.counted_from
    values_of = {
        name: groups if groups.beside.unlinked is None else groups.beside.unlinked.by_row
        for name, groups in release.by_attribute.items()
    }
    return CodedColumns(
        names=names,
        labels=tuple(kept),
        base=marginal(coded, kept, n) if owner is None else _owned(coded, kept, owner, known),
        quasi=names[: len(names) - len(sensitive)],
        sensitive=sensitive,
        label=release.label,
        people=_people(release, source),
        notes=(*release.notes, *_suppressed(release), *notes),
        public=True,
        left_out={
            **({} if source is None else left_out(release.schema, source.table.source, names)),
            **dict.fromkeys(release.schema.keep, _KEPT),
        },
        unseen={
            name: sorted(set(groups.values) - set(kept[names.index(name)]))
            for name, groups in values_of.items()
            if name in sensitive and groups.single_valued
        },
        ordered=frozenset(
            name
            for name, groups in values_of.items()
            if groups.single_valued and groups.domain is not None and groups.domain.is_ordered
        ),
    )


def _people(release: Release, source: TablePlacement | None) -> int:
    """Published people; one who is in several groups counts once, as far as that is known."""
    return release.people if source is None else min(release.people, source.table.counts.people)


def _suppressed(release: Release) -> tuple[str, ...]:
    source = release.counted_from
    if release.schema.rows == "unlinked" and source is not None and source.suppressed:
        return (
            f"{source.suppressed:,} suppressed rows are in no class, and what is expected is how "
            "the published ones are distributed",
        )
    if not release.suppressed:
        return ()
    return (
        f"{release.suppressed:,} suppressed people are in no class, and what is expected is how "
        "the published people are distributed",
    )
