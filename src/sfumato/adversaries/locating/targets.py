"""Targets: the people an adversary looks for, by what she knows of them.

Whatever she holds (a table, a frame, a list of people) becomes codes once, and people with equal
known values are one case: everything after asks about cases, and each row takes its case's answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.counts.counts import Counts, rank_rows
from sfumato.engines.base import name_meant
from sfumato.errors import InputError, name_some
from sfumato.numbers import Codes, Ints, sums_by
from sfumato.schema.domain import Domain, build_domain
from sfumato.table import Table

Truth = str | Sequence[Any] | None


@dataclass(frozen=True)
class Targets:
    """Distinct cases of known values, and the rows that have them.

    `codes[c, i]` is what case i has in column c. Row r is of case `case[r]` and stands for
    `people[r]` people; `truth` holds their sensitive values, row by row, where they are told.
    """

    domains: tuple[Domain, ...]
    codes: Codes
    case: Ints
    people: Ints
    truth: tuple[Domain, Codes] | None = None

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
            raise _lacking(missing, "the people")
        wanted = [self.columns.index(name) for name in columns]
        domains = tuple(self.domains[place] for place in wanted)
        codes = self.codes[wanted]
        if len(wanted) == len(self.domains):
            number = first = np.arange(self.cases)
        else:
            number, first = rank_rows(codes, [len(domain) for domain in domains])
        none = np.zeros(0, dtype=np.int64)
        return Targets(domains, np.ascontiguousarray(codes[:, first]), none, none), number

    def one_by_one(self) -> Targets:
        """The same people, each a row and a case of her own."""
        rows = np.repeat(np.arange(len(self.people)), self.people)
        truth = None if self.truth is None else (self.truth[0], self.truth[1][rows])
        codes = np.ascontiguousarray(self.codes[:, self.case[rows]])
        return Targets(self.domains, codes, np.arange(len(rows)), np.ones_like(rows), truth)


def read_targets(given: object, columns: Sequence[str], truth: Truth = None) -> Targets:
    """Targets from a Table, anything that is an Arrow table or frame, or a list of mappings.

    `truth` names the column of their true values, or lists them in the order of the rows.
    """
    if isinstance(given, Table):
        return _of_table(given, columns, truth)
    rows = _rows(given, columns, truth)
    missing = [name for name in columns if name not in rows.column_names]
    if missing:
        raise _lacking(missing, "the targets")
    coded = [_encode(name, rows.column(name)) for name in columns]
    domains = tuple(domain for domain, _ in coded)
    codes = np.vstack([codes for _, codes in coded])
    case, first = rank_rows(codes, [len(domain) for domain in domains])
    people = np.ones(rows.num_rows, dtype=np.int64)
    return Targets(domains, codes[:, first], case, people, _truth(rows, truth))


def targets_of(counts: Counts, columns: Sequence[str] | None = None) -> Targets:
    """The people of a table's counts, a row for each distinct combination of their QIs."""
    names = [domain.name for domain in counts.quasi]
    wanted = list(range(len(names))) if columns is None else [names.index(n) for n in columns]
    domains = tuple(counts.quasi[place] for place in wanted)
    case, first = rank_rows(counts.codes[wanted], [len(domain) for domain in domains])
    people = sums_by(case, counts.n, len(first))
    codes = np.ascontiguousarray(counts.codes[wanted][:, first])
    return Targets(domains, codes, np.arange(len(first)), people)


def _of_table(table: Table, columns: Sequence[str], truth: Truth) -> Targets:
    counts = table.counts.in_memory("an attack on everybody of a table")
    label = table.source.label
    names = [domain.name for domain in counts.quasi]
    missing = [name for name in columns if name not in names]
    if missing:
        raise _lacking(missing, label)
    if counts.extra_memberships:
        raise InputError(
            f"{label} lists people under several combinations of quasi-identifiers "
            f"({counts.extra_memberships:,} more places than people); keep one row each"
        )
    if truth is None:
        return targets_of(counts, columns)
    if not isinstance(truth, str):
        raise InputError(
            "truth lists values, but a Table has no order of rows; name its sensitive column"
        )
    place = counts.attribute(truth)
    attribute = counts.sensitive[place]
    if attribute.sets is not None:
        raise InputError(
            f"truth: people have several values of {truth!r} each; the attack asks for one"
        )
    wanted = [names.index(name) for name in columns]
    domains = tuple(counts.quasi[number] for number in wanted)
    case, first = rank_rows(counts.codes[wanted], [len(domain) for domain in domains])
    codes = np.ascontiguousarray(counts.codes[wanted][:, first])
    return Targets(domains, codes, case, counts.n, (attribute.domain, counts.values[place]))


def _lacking(missing: Sequence[str], label: str) -> InputError:
    return InputError(
        f"{label}: quasi-identifiers of the releases are not there: {name_some(missing)}; an "
        "adversary locates people by all of them, so give every target a value (or NULL)"
    )


def _rows(given: object, columns: Sequence[str], truth: Truth) -> pa.Table:
    if isinstance(given, pa.Table):
        return given
    if hasattr(given, "__arrow_c_stream__"):
        return pa.table(given)
    if isinstance(given, Mapping):
        given = [given]
    if isinstance(given, Sequence) and all(isinstance(one, Mapping) for one in given):
        wanted = [*columns, *([truth] if isinstance(truth, str) else [])]
        without = {name: sum(name not in one for one in given) for name in wanted}
        short = {name: n for name, n in without.items() if n}
        if short:
            name, n = next(iter(short.items()))
            raise InputError(
                f"{n:,} of {len(given):,} targets have no {name!r}; an adversary locates people "
                "by all quasi-identifiers, so give every target a value (or None)"
            )
        return pa.table({name: _array(name, [one[name] for one in given]) for name in wanted})
    raise InputError(
        f"targets: {type(given).__name__} is not allowed; give a Table, an Arrow table or frame, "
        "or a list of mappings from column to value"
    )


def _array(name: str, values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise InputError(f"targets: column {name!r} mixes kinds of values; use one") from None


def _encode(name: str, column: pa.ChunkedArray) -> tuple[Domain, Codes]:
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # what combining nothing, or very much, returns
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    coded = array.dictionary_encode(null_encoding="encode")
    try:
        # Text that is a number throughout is one: a range contains no text.
        domain, code_of = build_domain(name, coded.dictionary, untyped=True)
    except InputError:
        domain, code_of = build_domain(name, coded.dictionary, untyped=False)
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
        return _encode(truth, rows.column(truth))
    values = list(truth)
    if len(values) != rows.num_rows:
        raise InputError(f"truth: {len(values):,} values for {rows.num_rows:,} targets")
    return _encode("truth", pa.chunked_array([_array("truth", values)]))
