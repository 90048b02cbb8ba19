"""`sf.read_release`: a release made by any tool, read the way an adversary reads it.

Only distinct cell texts are ever parsed; people are counted by the published texts in SQL, as in
every other scan. What is published is a group: rows whose every quasi-identifier is `*` form one
too, which everybody fits. Only what is not in the file is suppressed, and how much that is the file
does not say.

A file larger than memory is read as one group of each kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Unpack

import numpy as np
import pyarrow as pa

from sfumato.counts.columns import CodedValues, domain_of
from sfumato.counts.counts import Counts, rank_rows
from sfumato.counts.households import members_of_households
from sfumato.counts.leaves import leaves_as_published, leaves_as_stated
from sfumato.counts.rows import PersonRows, count_people
from sfumato.counts.stored import StoredCounts
from sfumato.engines.base import Engine, Source
from sfumato.engines.choose import open_engine
from sfumato.engines.files import check_sheet, listed
from sfumato.engines.reading import Reading, ReleaseOptions
from sfumato.errors import InputError, ResourceError, SchemaError, expect
from sfumato.numbers import Codes, sums_by
from sfumato.progress import phase
from sfumato.release.build import count_release, with_unknown_owners
from sfumato.release.description import Examples, Regions, of_scheme
from sfumato.release.linked import LinkedRows, linked_release
from sfumato.release.made import Placement, ReadFrom
from sfumato.release.manifest import Manifest, agreed_schema, load_manifest
from sfumato.release.noisy import nobody
from sfumato.release.overlap import no_overlap
from sfumato.release.read.bucketized import read_pair
from sfumato.release.read.cells import (
    ReadColumn,
    check_points,
    point_schema,
    read_cells,
    reading_notes,
    separators,
    shown_parts,
    two_ways_notes,
)
from sfumato.release.read.folder import (
    check_columns,
    data_file,
    find_manifest,
    no_people,
    one_row_each,
    read_buckets,
    with_manifest,
    with_owners,
    words_as_told,
)
from sfumato.release.read.source import StrayColumns, as_published, open_release, stray_columns
from sfumato.release.read.wildcard import WILDCARDS, fitting_everybody
from sfumato.release.release import Release, as_it_stands
from sfumato.schema.domain import Domain
from sfumato.schema.roles import Schema
from sfumato.table import Table, levels_of, refuse_part, stamps_of

# A published file larger than memory: equal groups told once, as of a table that stands as it is.
#
# Groups are told apart by their texts, so two texts of one region cannot be put together here.


@dataclass(frozen=True)
class CellsRead:
    """The release that cells are, what is to be noted of it, and how many of its people are
    published with nothing told of them."""

    release: Release
    notes: tuple[str, ...]
    hidden: int


def _stored_release(
    table: Table, columns: list[ReadColumn], stored: StoredCounts, *, wildcard: bool
) -> CellsRead:
    several = [cells.twice for cells in columns if cells.twice is not None]
    if wildcard or several:
        why = f"a region written as {' and as '.join(map(repr, several[0]))}" if several else ""
        raise ResourceError(
            f"{table.source.label} is larger than memory, and {why or 'wildcard matching'} puts "
            "groups together, which is done in memory; raise the memory limit"
        )
    release = as_it_stands(table)
    of_kinds = release.regions.regions_at_hand
    assert of_kinds is not None
    regions = Regions(
        of_kinds.columns,
        tuple(cells.parts for cells in columns),
        shown_parts(columns, of_kinds.codes),
    )
    hidden = [
        f"q{place} IN ({', '.join(map(str, cells.hidden)) or 'NULL'})"
        for place, cells in enumerate(columns)
    ]
    # Whether groups overlap is asked of all of them; here is one of each kind.
    return CellsRead(
        replace(release, regions=Examples(regions), disjoint=False),
        ("whether groups overlap is not told; they are taken to overlap",),
        stored.totals(" AND ".join(hidden)).memberships,
    )


def read_release(
    path: object, schema: Schema | None = None, **options: Unpack[ReleaseOptions]
) -> Release:
    """Read a release: one generalized file or frame, or a bucketized pair.

    `delimiter`, `decimal`, `engine`, `memory`, `facts` and their like are those of `sf.read`.

    One file: each quasi-identifier's cell is a value, a label of the column's hierarchy or a
    notation such as `[20, 30)`, `20-29`, `130**`, `{a, b}` or `*` (all in schema/notation.py).
    `separator` is the text between the members of a set (`a~b`), for all columns or by column.

    scheme: how one file was made. "microaggregated": its cells are centroids, one value each, and
    whoever looks for somebody takes the nearest. A folder of ours and a pair tell it themselves.

    A pair (qi_file, sensitive_file) with `group`, the column of group ids in both: the first lists
    exact quasi-identifiers, the second the sensitive values of each group, one row a person or with
    the schema's `count` column.

    A folder that `Release.save` wrote tells scheme and columns itself; a schema may be given.

    matching: who counts as alike. "exact": people whose published descriptions are equal.
    "wildcard": a suppressed or missing cell is compatible with everything, as sdcMicro counts; a
    group's size, weight and sensitive counts are then those of all groups compatible with it. Such
    groups overlap, and whatever would put them together or apart is refused; people are counted by
    rows, and everybody's risk is 1 / the size of the group she is published with. An adversary who
    knows that a cell was suppressed *because* its person stood out may do better than these sizes
    say: the exact reading is the careful one.
    """
    check_sheet(Reading(**options), path if isinstance(path, tuple | list) else (path,))
    return load_release(path, schema, Reading(**options))


@phase("reading")
def load_release(path: object, schema: Schema | None, reading: Reading) -> Release:
    """Read a release as `reading` says."""
    expect("schema", schema, (Schema, type(None)), "a Schema")
    group, facts, separator = reading.group, reading.facts, reading.separator
    wildcard = reading.matching == "wildcard"
    manifest = find_manifest(path, parts=reading.partitioned)
    manifest_read = None if manifest is None else load_manifest(manifest)
    if manifest_read is not None:
        reading = reading.of_form(manifest_read.form)
    schema = schema and leaves_as_stated(schema, reading.stated_forms)
    door = open_engine(path, reading)
    _check_scheme(reading, declared=manifest is not None or isinstance(path, tuple | list))
    if facts is not None and (manifest is not None or isinstance(path, tuple | list)):
        raise InputError(
            "facts belongs to one file about people; a release folder and a bucketized pair hold "
            "their sensitive values themselves, leave it out"
        )
    if manifest_read is not None:
        return _folder(door, manifest_read, schema, wildcard=wildcard)
    refuse_part(*(path if isinstance(path, tuple | list) else (path,)), facts, schema=schema)
    if schema is None:
        raise InputError("a file says nothing about its columns' roles; give a schema")
    if isinstance(path, tuple | list):
        if len(path) != 2 or group is None:
            raise InputError(
                "a bucketized release is a pair (qi_file, sensitive_file) and the column of group "
                "ids: read_release((q, s), schema, group='gid')"
            )
        if wildcard or separator is not None:
            raise InputError(
                "a bucketized release lists exact values; matching='wildcard' and separator are "
                "for generalized files, leave them out"
            )
        return _of_files(read_pair(door, path[0], path[1], schema, group), *path)
    if group is not None:
        raise InputError(
            f"group {group!r} belongs to a bucketized pair; give (qi_file, sensitive_file), or "
            "leave group out"
        )
    centroids = reading.scheme == "microaggregated"
    if centroids:
        schema = point_schema(schema)
    release = _generalized(
        door,
        path,
        schema,
        separators(separator, schema),
        facts,
        wildcard=wildcard,
        values=not centroids,
    )
    if centroids:
        check_points(release.regions.require_regions())
    release = replace(
        release,
        regions=of_scheme(release.regions, "microaggregated" if centroids else "generalized"),
    )
    return _of_files(release, path, facts)


def _of_files(release: Release, *sources: object) -> Release:
    """A release that knows which files it was read from."""
    assert isinstance(release.made, ReadFrom)
    return replace(release, made=replace(release.made, files=stamps_of(*sources)))


def _check_scheme(reading: Reading, *, declared: bool) -> None:
    """`declared`: the release says itself what it is."""
    if reading.scheme != "microaggregated":
        return
    if declared:
        raise InputError(
            "scheme 'microaggregated' is about one file; a release folder and a bucketized pair "
            "tell their own scheme, leave it out"
        )
    if reading.matching == "wildcard":
        raise InputError("matching 'wildcard' is for suppressed cells; centroids have none")


def _folder(
    engine: Engine, manifest: Manifest, schema: Schema | None, *, wildcard: bool
) -> Release:
    """A folder of ours."""
    check_columns(manifest)
    published = agreed_schema(manifest, schema)
    if manifest.scheme == "microaggregated":
        published = words_as_told(manifest, published)
    if manifest.scheme == "bucketized":
        release = read_buckets(engine, manifest, published)
    else:
        file = data_file(manifest)
        data = listed(file) if file.is_dir() else file
        if manifest.scheme == "randomised" and no_people(engine, data, published.count):
            release = nobody(published, file.name)
        else:
            one_each = one_row_each(manifest)
            rows_with_owners, published = with_owners(manifest, published, schema)
            data = rows_with_owners or data
            if manifest.rows == "unlinked":
                one_each = published.person is None
            release = _generalized(
                engine, data, published, {}, wildcard=wildcard, one_each=one_each, in_folder=True
            )
            if manifest.rows == "unlinked" and published.person is None:
                release = with_unknown_owners(release)
    if manifest.scheme == "microaggregated":
        check_points(release.regions.require_regions())
    return with_manifest(release, manifest)


def _generalized(
    engine: Engine,
    source: object,
    schema: Schema,
    separator: Mapping[str, str],
    facts: object = None,
    *,
    wildcard: bool,
    one_each: bool = False,
    in_folder: bool = False,
    values: bool = False,
) -> Release:
    """`values`: where it shows nothing but values, it is a table as it stands."""
    registered, schema, notes, stray = open_release(engine, source, schema, facts=facts)
    schema = leaves_as_published(schema, registered)
    unlinked = schema.rows == "unlinked" and schema.person not in registered.types
    if wildcard and schema.rows == "unlinked":
        raise InputError("matching 'wildcard' takes a row for a person; rows = 'unlinked' does not")
    if unlinked:  # as it should be: the file does not say whose rows they are
        schema = replace(schema, person=None, rows="gathered", knows="all")
        registered = replace(registered, one_each=True)
    registered = replace(registered, one_each=registered.one_each or one_each)
    published = as_published(engine, registered, schema)
    cells = CodedCells(schema, separator, in_folder=in_folder, values=values and not wildcard)
    if schema.rows == "linked" and wildcard:
        raise InputError("matching 'wildcard' is not worked out for linked rows; leave it out")
    linked, counts = count_people(engine, registered, published, cells)
    raw = cells.shows_values
    levels = levels_of(schema, counts) if raw else {}
    two_ways = tuple(cells.values.two_ways) if raw else ()
    table = Table(schema, counts, levels, registered, engine, two_ways=two_ways, rows=linked)
    households = members_of_households(engine, registered, published, counts, cells)
    table = replace(table, households=households)
    if households is not None:
        notes = (*notes, HOUSEHOLDS_SHOWN.format(schema.household))
    if raw:
        release = _standing(table, notes, stray)
    else:
        columns = [cells.read[name] for name in schema.quasi]
        release = _release(table, columns, notes, stray, wildcard=wildcard, in_folder=in_folder)
    return with_unknown_owners(release) if unlinked else release


HOUSEHOLDS_SHOWN = (
    "households are judged as if {!r} were not handed out; if it is, it links people, and is "
    "judged as person with rows = 'linked'"
)


class CodedCells:
    """Codes cells by what their column shows: its values, if it shows nothing else, or its texts.

    `schema` is that of a table. `read` tells which regions the codes of a column show. Without
    `values` all columns are texts.
    """

    def __init__(
        self, schema: Schema, separator: Mapping[str, str], *, in_folder: bool, values: bool
    ) -> None:
        self._schema, self._separator = schema, separator
        self._in_folder, self._by_value = in_folder, values
        self._texts: list[str] = []
        self.values = CodedValues()
        self.read: dict[str, ReadColumn] = {}

    @property
    def shows_values(self) -> bool:
        """Whether all columns do: it is a table as it stands."""
        return not self._texts

    def __call__(
        self, name: str, raw: pa.Array, source: Source, published: Schema
    ) -> tuple[Domain, Codes]:
        texts, codes = domain_of(name, raw, source, published)
        if name not in self._schema.quasi:
            return texts, codes
        cells = read_column(
            texts, source, self._schema, self._separator.get(name), in_folder=self._in_folder
        )
        if self._by_value and cells.plain:
            try:
                values, code_of = self.values(name, raw, source, self._schema)
            except (InputError, SchemaError):
                values, code_of = texts, codes  # no values of a table, but they can be read
            # Texts of one value must be one: as words of a typed file, 5 and 5.0 are two.
            if values is not texts and len(np.unique(code_of)) == len(cells.parts):
                shows = np.zeros(len(values), dtype=np.int32)
                shows[code_of] = cells.code_of[codes]
                self.read[name] = replace(cells, code_of=shows)
                return values, code_of
        self._texts.append(name)
        self.read[name] = cells
        return texts, codes


def read_column(
    domain: Domain, source: Source, schema: Schema, separator: str | None = None, *, in_folder: bool
) -> ReadColumn:
    """What each value of a column shows, written as a cell."""
    return read_cells(
        domain.name,
        [None if value is None else str(value) for value in domain.values],
        schema,
        separator,
        untyped=source.is_untyped(domain.name),
        in_folder=in_folder,
        specials=source.codes.get(domain.name, ()),
    )


def table_as_published(table: Table) -> Release:
    """A table read as if it were handed out: the one way in which raw tables are judged."""
    stray = stray_columns(table.engine, table.source, table.schema, file=table.of_file)
    by_words = [domain for domain in table.counts.quasi if domain.kind not in ("numeric", "date")]
    read = {
        domain.name: read_column(domain, table.source, table.schema, in_folder=False)
        for domain in by_words
    }
    if all(cells.plain and cells.twice is None for cells in read.values()):
        return _standing(table, (), stray)
    columns = [
        read.get(domain.name) or read_column(domain, table.source, table.schema, in_folder=False)
        for domain in table.counts.quasi
    ]
    return _release(table, columns, (), stray)


def _standing(table: Table, notes: tuple[str, ...], stray: StrayColumns) -> Release:
    release = as_it_stands(table)
    assert isinstance(release.made, ReadFrom)
    two_ways = two_ways_notes(table.two_ways)
    return replace(
        release,
        notes=(*release.notes, *notes, *two_ways),
        made=replace(release.made, stray=stray),
    )


def _release(
    table: Table,
    columns: list[ReadColumn],
    notes: tuple[str, ...],
    stray: StrayColumns,
    *,
    wildcard: bool = False,
    in_folder: bool = False,
) -> Release:
    """The release that a table of published cells is."""
    schema, registered = table.schema, table.source
    if table.rows is not None:
        return _linked(table, table.rows, columns, notes, stray, in_folder=in_folder)
    if schema.person is not None and not registered.one_each:
        _refuse_two_notations(schema, columns)
    read = table.counts.either(
        in_memory=partial(
            _release_in_memory, table, columns, wildcard=wildcard, in_folder=in_folder
        ),
        stored=partial(_stored_release, table, columns, wildcard=wildcard),
    )
    made = read.release.made
    assert isinstance(made, ReadFrom)
    return replace(
        read.release,
        label=registered.label,
        notes=(
            *read.release.notes,
            *notes,
            *read.notes,
            *reading_notes(schema.quasi, columns, read.hidden, in_folder=in_folder),
        ),
        made=replace(made, stray=stray),
    )


def _linked(
    table: Table,
    rows: PersonRows,
    columns: list[ReadColumn],
    notes: tuple[str, ...],
    stray: StrayColumns,
    *,
    in_folder: bool,
) -> Release:
    """The release that published rows with pseudonyms are."""
    regions = Regions(
        tuple(table.schema.quasi),
        tuple(cells.parts for cells in columns),
        shown_parts(columns, rows.codes),
    )
    release = linked_release(LinkedRows.as_they_stand(table, regions))
    nothing = [np.isin(row, cells.hidden) for row, cells in zip(rows.codes, columns, strict=True)]
    telling = sums_by(rows.person, (~np.logical_and.reduce(nothing)).astype(np.int64), rows.people)
    hidden = int((telling == 0).sum())
    assert isinstance(release.made, ReadFrom)
    return replace(
        release,
        notes=(
            *release.notes,
            *notes,
            *reading_notes(table.schema.quasi, columns, hidden, in_folder=in_folder),
        ),
        made=replace(release.made, stray=stray),
    )


def _release_in_memory(
    table: Table, columns: list[ReadColumn], counts: Counts, *, wildcard: bool, in_folder: bool
) -> CellsRead:
    """The groups of equal descriptions."""
    nothing_told = [
        np.isin(row, cells.hidden) for row, cells in zip(counts.codes, columns, strict=True)
    ]
    all_hidden = np.logical_and.reduce(nothing_told)
    if counts.owner is None:
        hidden = int(counts.n[all_hidden].sum())
    else:  # somebody's rows count once
        hidden = len(np.unique(counts.owner[np.repeat(all_hidden, counts.n)]))
    codes = shown_parts(columns, counts.codes)
    group, first = rank_rows(codes, [len(cells.parts) for cells in columns])
    regions = Regions(
        tuple(table.schema.quasi),
        tuple(cells.parts for cells in columns),
        np.ascontiguousarray(codes[:, first]),
    )
    placement = Placement.whole_tuples(table, group)
    shared = fitting_everybody(placement, regions, missing=not in_folder) if wildcard else None
    if shared is not None:
        return CellsRead(shared, (WILDCARDS,), hidden)
    disjoint = no_overlap(regions.parts, regions.codes)
    late = ("whether groups overlap took too long to tell; they are taken to overlap",)
    release = count_release(placement, regions, disjoint=bool(disjoint))
    return CellsRead(release, late if disjoint is None else (), hidden)


def _refuse_two_notations(schema: Schema, columns: list[ReadColumn]) -> None:
    """A person's rows are gathered by text; two texts of one region would count her twice."""
    for name, cells in zip(schema.quasi, columns, strict=True):
        if cells.twice is not None:
            first, second = cells.twice
            raise InputError(
                f"column {name!r} writes one region as {first!r} and as {second!r}, which with a "
                "person column could count a person twice; write it one way"
            )
