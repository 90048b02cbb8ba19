"""Targets: the people an adversary looks for, by what she knows of them.

Whatever she holds (a table, a frame, a list of people) becomes codes once, and people with equal
known values are one case: everything after asks about cases, and each row takes its case's answer.

She need not know everything. A column that is not there is unknown of everybody, a cell that says
so (`unknown`) of that person. Unknown is not missing: a missing value (NULL) is a value like any
other, known to be missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts.columns import domain_of, values_in
from sfumato.counts.counts import Counts, rank_rows
from sfumato.counts.leaves import leaves_as_table
from sfumato.engines.base import (
    Engine,
    Source,
    literal,
    missing_column,
    name_meant,
    named,
    near_name,
    select,
)
from sfumato.engines.choose import open_engine
from sfumato.engines.reading import Reading
from sfumato.errors import InputError, SfumatoError, name_some
from sfumato.numbers import Bools, Codes, Ints, sums_by
from sfumato.release.release import Release
from sfumato.release.signatures import Signatures
from sfumato.schema.domain import Domain, guess_domain
from sfumato.schema.region import ValueSet
from sfumato.schema.roles import Schema
from sfumato.table import Table, load_table

UNKNOWN = "unknown"  # the text of a cell of which nothing is known
Truth = str | Sequence[Any] | None


@dataclass(frozen=True)
class Targets:
    """Distinct cases of known values, and the rows that have them.

    `codes[c, i]` is what case i has in column c, if `known[c, i]` (None: everything is known). Row
    r is of case `case[r]` and stands for `people[r]` people; `truth` holds their sensitive values,
    row by row, where they are told.
    """

    domains: tuple[Domain, ...]
    codes: Codes
    case: Ints
    people: Ints
    truth: tuple[Domain, Codes] | None = None
    known: Bools | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(domain.name for domain in self.domains)

    @property
    def cases(self) -> int:
        return int(self.codes.shape[1])

    def of(self, columns: Sequence[str]) -> tuple[Targets, Ints]:
        """The cases by some of the columns, without rows, and which of them each case is."""
        missing = [name for name in columns if name not in self.columns]
        if missing:
            raise InputError(
                "the people: quasi-identifiers of the releases are not there: "
                f"{name_some(missing)}; whoever is to be judged needs a value of each (or NULL)"
            )
        wanted = [self.columns.index(name) for name in columns]
        domains = tuple(self.domains[place] for place in wanted)
        codes, known = self.codes[wanted], None if self.known is None else self.known[wanted]
        if len(wanted) == len(self.domains):
            number = first = np.arange(self.cases)
        else:
            number, first = _rank(domains, codes, known)
        none = np.zeros(0, dtype=np.int64)
        return _targets(domains, codes[:, first], none, none, known=_taken(known, first)), number

    def one_by_one(self) -> Targets:
        """The same people, each a row and a case of her own."""
        rows = np.repeat(np.arange(len(self.people)), self.people)
        cases = self.case[rows]
        truth = None if self.truth is None else (self.truth[0], self.truth[1][rows])
        return _targets(
            self.domains,
            self.codes[:, cases],
            np.arange(len(rows)),
            np.ones_like(rows),
            truth,
            _taken(self.known, cases),
        )

    def unknown_columns(self) -> dict[str, int]:
        """Of how many people each column is unknown, where it is of anybody."""
        if self.known is None:
            return {}
        of_rows = (~self.known)[:, self.case] @ self.people
        return {name: int(n) for name, n in zip(self.columns, of_rows, strict=True) if n}

    @property
    def partly_known(self) -> int:
        """People of whom not everything is known."""
        if self.known is None:
            return 0
        partly: Bools = np.logical_or.reduce(~self.known, axis=0)
        return int(self.people[partly[self.case]].sum())


def _taken(known: Bools | None, cases: Ints) -> Bools | None:
    return None if known is None else known[:, cases]


def _targets(
    domains: tuple[Domain, ...],
    codes: Codes,
    case: Ints,
    people: Ints,
    truth: tuple[Domain, Codes] | None = None,
    known: Bools | None = None,
) -> Targets:
    if known is not None and known.all():
        known = None  # who knows everything is looked up the quick way
    return Targets(domains, np.ascontiguousarray(codes), case, people, truth, known)


def _rank(domains: Sequence[Domain], codes: Codes, known: Bools | None) -> tuple[Ints, Ints]:
    """Each row's case, and a row of each."""
    sizes = [max(len(domain), 1) for domain in domains]
    if known is None:
        return rank_rows(codes, sizes)
    return rank_rows(np.vstack([codes, known]), [*sizes, *[2] * len(sizes)])


# -- from what is given ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _TargetColumn:
    """A column of the targets, row by row; an unknown cell has the code 0."""

    domain: Domain
    codes: Codes
    known: Bools

    @classmethod
    def nothing(cls, name: str, rows: int) -> _TargetColumn:
        """A column that nobody knows anything of."""
        codes = np.zeros(rows, dtype=np.int32)
        return cls(Domain(name, "categorical", ()), codes, np.zeros(rows, dtype=bool))

    @classmethod
    def coded(cls, domain: Domain, codes: Codes, unknown: str) -> _TargetColumn:
        """Values that are coded already: one of them may say that nothing is known."""
        marked = domain.code(unknown)
        known = np.ones(len(codes), dtype=bool) if marked is None else codes != marked
        return cls(domain, np.where(known, codes, 0).astype(np.int32), known)

    @classmethod
    def of(cls, name: str, column: pa.ChunkedArray, unknown: str) -> _TargetColumn:
        """Cells as they were given."""
        array = _plain(column)
        known = np.ones(len(array), dtype=bool)
        if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
            marked = pc.fill_null(pc.equal(array, unknown), False)
            known = ~marked.to_numpy(zero_copy_only=False)
            array = pc.if_else(marked, None, array)
        domain, codes = _encode(name, array)
        return cls(domain, np.where(known, codes, 0).astype(np.int32), known)


def read_targets(
    given: object, columns: Sequence[str], truth: Truth = None, unknown: str = UNKNOWN
) -> Targets:
    """Targets from a Table, anything that is an Arrow table or frame, or a list of mappings.

    `truth` names the column of their true values, or lists them in the order of the rows. Columns
    that are not there are unknown, and so are cells with the text `unknown`. Of people
    with several rows a Table gives each, in the order of their owners.
    """
    if isinstance(given, Table):
        return _of_table(given, columns, truth, unknown)
    rows = _rows(given, columns, truth, unknown)
    _refuse_strangers(columns, rows.column_names, "the targets", truth)
    cells = [
        _TargetColumn.of(name, rows.column(name), unknown)
        if name in rows.column_names
        else _TargetColumn.nothing(name, rows.num_rows)
        for name in columns
    ]
    return _gathered(cells, np.ones(rows.num_rows, dtype=np.int64), _truth(rows, truth))


def _gathered(
    cells: Sequence[_TargetColumn], people: Ints, truth: tuple[Domain, Codes] | None
) -> Targets:
    domains = tuple(column.domain for column in cells)
    codes = np.vstack([column.codes for column in cells])
    known = np.vstack([column.known for column in cells])
    case, first = _rank(domains, codes, None if known.all() else known)
    return _targets(domains, codes[:, first], case, people, truth, known[:, first])


def targets_of(counts: Counts, columns: Sequence[str] | None = None) -> Targets:
    """The people of a table's counts, a row for each distinct combination of their QIs."""
    names = [domain.name for domain in counts.quasi]
    wanted = [names.index(name) for name in (names if columns is None else columns)]
    domains, codes = tuple(counts.quasi[place] for place in wanted), counts.codes[wanted]
    case, first = rank_rows(codes, [len(domain) for domain in domains])
    people = sums_by(case, counts.n, len(first))
    return Targets(domains, codes[:, first].copy(), np.arange(len(first)), people)


def _of_table(table: Table, columns: Sequence[str], truth: Truth, unknown: str) -> Targets:
    check_table(table, columns, truth)
    counts = table.counts.in_memory("an attack on everybody of a table at once")
    return targets_of_counts(counts, columns, truth, unknown)


def check_table(table: Table, columns: Sequence[str], truth: Truth) -> None:
    """Refuse what tells nothing of people who are looked for by these columns."""
    counts, label = table.counts, table.source.label
    _refuse_strangers(columns, [domain.name for domain in counts.quasi], label, truth)
    if counts.extra_memberships and not counts.of_rows:
        raise InputError(
            f"{label} lists people under several combinations of quasi-identifiers "
            f"({counts.extra_memberships:,} more places than people); keep one row each"
        )
    if truth is None:
        return
    if not isinstance(truth, str):
        raise InputError(
            "truth lists values, but a Table has no order of rows; name its sensitive column"
        )
    if counts.sensitive[counts.attribute(truth)].sets is not None:
        raise InputError(
            f"truth: people have several values of {truth!r} each; the attack asks for one"
        )


def targets_of_counts(
    counts: Counts, columns: Sequence[str], truth: Truth, unknown: str
) -> Targets:
    """The people of a table that `check_table` has let pass, or some of them."""
    names = [domain.name for domain in counts.quasi]
    if several := counts.owner is not None:
        counts = counts.row_by_row()
    cells = [
        _TargetColumn.coded(
            counts.quasi[names.index(name)], counts.codes[names.index(name)], unknown
        )
        if name in names
        else _TargetColumn.nothing(name, len(counts))
        for name in columns
    ]
    if truth is None:
        rows = _gathered(cells, counts.n, None)
        if several:
            return rows
        people = sums_by(rows.case, counts.n, rows.cases)
        return _targets(rows.domains, rows.codes, np.arange(rows.cases), people, None, rows.known)
    place = counts.attribute(str(truth))
    return _gathered(cells, counts.n, (counts.sensitive[place].domain, counts.values[place]))


def _refuse_strangers(
    columns: Sequence[str], names: Sequence[str], label: str, truth: Truth
) -> None:
    """Of people of whom no quasi-identifier is known nothing can be asked."""
    if not any(name in names for name in columns):
        raise InputError(
            f"{label}: no quasi-identifier of the releases is there ({name_some(columns)}), so "
            "nobody can be looked for; give at least one of them"
        )
    _refuse_misspelt(columns, names, label, truth)


def _refuse_misspelt(
    columns: Sequence[str], names: Sequence[str], label: str, truth: Truth
) -> None:
    """A column that is not there is unknown, unless an unused one has nearly its name: a misspelt
    one would else make people look safer than they are."""
    unused = [name for name in names if name not in columns and name != truth]
    for wanted in columns:
        near = None if wanted in names else near_name(wanted, unused)
        if near is None:
            continue
        # A name that goes on may have somebody's value glued to it, and is not told.
        longer = (
            wanted.casefold() != near.strip().casefold() and wanted.casefold() in near.casefold()
        )
        meant = "the one whose name is that and some signs more" if longer else repr(near)
        raise InputError(
            f"column {wanted!r} (quasi) is not in {label}; did you mean {meant}? If that is "
            f"another, leave it out, or add a column {wanted!r} whose cells say unknown"
        )


def refuse_published(targets: Targets, releases: Sequence[Release], unknown: str) -> None:
    """Refuse a mark of what is unknown that a release publishes as a value, or nearly that."""
    for domain in targets.domains:
        about = [release for release in releases if domain.name in release.regions.columns]
        for text in _nearly(unknown, domain.values):
            if not any(_publishes(release, domain.name, text) for release in about):
                raise _misspelt_mark(domain.name, text, unknown)
    for name in targets.unknown_columns():
        for release in releases:
            if name in release.regions.columns and _publishes(release, name, unknown):
                raise InputError(
                    f"{release.label} publishes {unknown!r} as a value of {name!r}, so a cell that "
                    "says so may mean it; write another text where nothing is known, and name it: "
                    "unknown='?' (--unknown '?')"
                )


def _nearly(unknown: str, values: Iterable[object]) -> list[str]:
    """Texts that are the mark of what is unknown but for case and spaces."""
    plain = unknown.strip().casefold()
    texts = [value for value in values if isinstance(value, str) and value != unknown]
    return [text for text in texts if text.strip().casefold() == plain]


def _misspelt_mark(name: str, text: str, unknown: str) -> InputError:
    return InputError(
        f"targets: column {name!r} says {text!r}; write {unknown!r} where nothing is known, or "
        f"name that text: unknown={text!r} (--unknown {text!r})"
    )


def _publishes(release: Release, name: str, text: str) -> bool:
    regions = release.regions
    place = regions.columns.index(name)
    if regions.buckets is not None:
        return regions.buckets.domains[place].code(text) is not None
    described = regions.rows if isinstance(regions, Signatures) else regions.require_regions()
    published = (
        described.parts[place][code] for code in np.unique(described.codes[place]).tolist()
    )
    return any(isinstance(part, ValueSet) and text in part.texts for part in published)


def _rows(given: object, columns: Sequence[str], truth: Truth, unknown: str) -> pa.Table:
    if isinstance(given, pa.Table):
        return given
    if hasattr(given, "__arrow_c_stream__"):
        return pa.table(given)
    if isinstance(given, Mapping):
        given = [given]
    if isinstance(given, Sequence) and all(isinstance(row, Mapping) for row in given):
        without = sum(truth not in person for person in given) if isinstance(truth, str) else 0
        if without:
            raise InputError(f"{without:,} of {len(given):,} targets have no {truth!r}, the truth")
        keys = list(dict.fromkeys(name for person in given for name in person))
        _refuse_misspelt(columns, keys, "the targets", truth)
        columns = [name for name in columns if name in keys]
        cells = {name: _cells(name, given, unknown) for name in columns}
        if isinstance(truth, str):
            cells[truth] = _array(truth, [person[truth] for person in given])
        return pa.table(cells)
    raise InputError(
        f"targets: {type(given).__name__} is not allowed; give a Table, an Arrow table or frame, "
        "or a list of mappings from column to value"
    )


def _cells(name: str, people: Sequence[Mapping[str, Any]], unknown: str) -> pa.Array:
    """A column of mappings; where some do not know it, as texts with the mark of that."""
    values = [person.get(name, unknown) for person in people]
    marked = [isinstance(value, str) and value == unknown for value in values]
    if not any(marked):
        return _array(name, values)
    known = [None if mark else value for value, mark in zip(values, marked, strict=True)]
    texts = _array(name, known).cast(pa.string())
    return pc.if_else(pa.array(marked), unknown, texts)


def _array(name: str, values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise InputError(f"targets: column {name!r} mixes kinds of values; use one") from None


def _plain(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # what combining nothing, or very much, returns
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _encode(name: str, array: pa.Array) -> tuple[Domain, Codes]:
    coded = array.dictionary_encode(null_encoding="encode")
    domain, code_of = guess_domain(name, coded.dictionary)
    return domain, code_of[coded.indices.to_numpy()]


def _truth(rows: pa.Table, truth: Truth) -> tuple[Domain, Codes] | None:
    if truth is None:
        return None
    if isinstance(truth, str):
        if truth not in rows.column_names:
            raise InputError(
                f"truth: column {truth!r} is not in the targets; "
                f"{name_meant(truth, rows.column_names)}"
            )
        return _encode(truth, _plain(rows.column(truth)))
    values = list(truth)
    if len(values) != rows.num_rows:
        raise InputError(f"truth: {len(values):,} values for {rows.num_rows:,} targets")
    return _encode("truth", _array("truth", values))


# -- from a file -----------------------------------------------------------------------------------


def targets_in_file(
    path: Path,
    columns: Sequence[str],
    schema: Schema,
    reading: Reading,
    truth: str | None = None,
    unknown: str = UNKNOWN,
) -> Table | pa.Table:
    """The people of a file by these quasi-identifiers, as far as it has them.

    Where everything is known it is a Table, counted as any; else its rows, as they are written.
    People whose rows a pseudonym links are told by all of these and by their values: a Table.
    """
    door = open_engine(path, reading)
    source = door.register(path, (*columns, *(() if truth is None else (truth,))))
    if schema.rows == "linked":
        there_too = {*source.types, *source.others}
        values = [name for name in schema.sensitive if name in there_too]
        return load_table(path, schema.of_register(columns, values), reading)
    there = [name for name in columns if name in source.types]
    if not there:
        raise missing_column(source, columns[0], "quasi")
    _refuse_misspelt(columns, (*source.types, *source.others), source.label, truth)
    if truth is not None and truth not in source.types:
        raise missing_column(source, truth, "sensitive")
    texts = [name for name in there if pa.types.is_string(source.types[name])]
    marks = [f"{source.column(name)} = {literal(unknown)}" for name in texts]
    marked = marks and door.fetch(f"SELECT 1 FROM {source.name} WHERE {' OR '.join(marks)} LIMIT 1")
    if len(there) == len(columns) and not marked:
        part = schema.part(columns, () if truth is None else (truth,))
        if schema.rows == "unlinked" and schema.person in {*source.types, *source.others}:
            part = replace(part, person=schema.person, rows=schema.rows)
        return load_table(path, part, reading)
    if truth is not None and schema.levels.get(truth):
        raise InputError(
            f"{path.name}: {truth!r} is published in bins, and what is right is told of people of "
            "whom every quasi-identifier is known only; leave the truth out"
        )
    part = leaves_as_table(schema.part(there), source, reading.stated_forms)
    for name in there:
        _refuse_odd_values(door, source, part, name, unknown)
    kept = [*there, *([] if truth is None else [truth])]
    return door.fetch(select([named(source.column(name), name) for name in kept], source.name))


def _refuse_odd_values(
    door: Engine, source: Source, schema: Schema, name: str, unknown: str
) -> None:
    """Refuse what the schema does not allow in a column, as of a table of which all is known."""
    values = values_in(door, source, schema, name)
    if pa.types.is_string(values.type):
        values = values.filter(pc.fill_null(pc.not_equal(values, unknown), True))
    try:
        domain, _ = domain_of(name, values, source, schema)
        if name in schema.hierarchies:
            schema.hierarchies[name].bind(domain)
    except SfumatoError:
        for text in _nearly(unknown, values.to_pylist()):
            raise _misspelt_mark(name, text, unknown) from None
        raise
