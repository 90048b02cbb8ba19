"""Rows as codes, each with whose it is: for releases whose rows a pseudonym links.

Only there are counts not enough: which rows are one person's is what such a release publishes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sfumato.counts.columns import (
    Coding,
    check_lists,
    check_people,
    domain_of,
    has_lists,
    keys,
    refuse_changed,
    refuse_kept_lists,
    weight_of,
)
from sfumato.counts.counts import Attribute, Counts, SeveralTuples, TableCounts, rank_rows
from sfumato.counts.scan import join_codes, same_on_all_rows, scan
from sfumato.counts.stored import bytes_for
from sfumato.counts.value_sets import code_sets
from sfumato.engines.base import Engine, Source, named, select
from sfumato.errors import InputError, ResourceError, SchemaError
from sfumato.numbers import Codes, Floats, Ints, offsets_of
from sfumato.schema.domain import Domain
from sfumato.schema.roles import Schema


@dataclass(frozen=True)
class KeptCells:
    """What rows have in columns that are published as they are, by name.

    `codes` has one row per column; a code is the place of a cell among the column's distinct
    `cells`, which stand in the order of their texts: theirs in the table is nobody's to know.
    """

    names: tuple[str, ...]
    cells: tuple[pa.Array, ...]
    codes: Codes

    @classmethod
    def of(cls, columns: Mapping[str, pa.ChunkedArray]) -> KeptCells:
        """Of columns as they were read."""
        cells, codes = [], []
        for column in columns.values():
            plain = column
            if pa.types.is_dictionary(column.type):
                plain = column.cast(column.type.value_type)
            coded = plain.combine_chunks().dictionary_encode("encode")
            texts = coded.dictionary.cast(pa.string()).to_pylist()
            missing_first = [(text is not None, text or "") for text in texts]
            order = sorted(range(len(texts)), key=missing_first.__getitem__)
            code_of = np.empty(len(order), dtype=np.int32)
            code_of[order] = np.arange(len(order), dtype=np.int32)
            cells.append(coded.dictionary.take(pa.array(order, pa.int64())))
            codes.append(code_of[coded.indices.to_numpy()])
        return cls(tuple(columns), tuple(cells), np.vstack(codes))

    def take(self, rows: Ints) -> KeptCells:
        """Of some rows, by their positions."""
        return replace(self, codes=self.codes[:, rows])

    def columns(self) -> dict[str, pa.Array]:
        """The cells of all rows, by column."""
        return {
            name: cells.take(pa.array(codes))
            for name, cells, codes in zip(self.names, self.cells, self.codes, strict=True)
        }


@dataclass(frozen=True)
class PersonRows:
    """Row i is that of `person[i]`, who are 0, 1, 2, ... in order; nobody's name is in it.

    `codes` has one row per quasi-identifier, `values` one per sensitive attribute; `weights` are
    survey weights and `protect` the codes of what is protected, one a person. `kept` is what is
    published as it is.
    """

    quasi: tuple[Domain, ...]
    sensitive: tuple[Attribute, ...]
    person: Ints
    codes: Codes
    values: Codes
    weights: Floats | None = None
    protect: tuple[Domain, Codes] | None = None
    kept: KeptCells | None = None

    def __len__(self) -> int:
        return len(self.person)

    @property
    def people(self) -> int:
        return int(self.person[-1]) + 1 if len(self.person) else 0

    def in_order(self, order: Ints) -> PersonRows:
        """The same rows in another order in which everybody's stand where they stood."""
        return replace(
            self,
            codes=self.codes[:, order],
            values=self.values[:, order],
            kept=None if self.kept is None else self.kept.take(order),
        )

    def row_counts(self) -> Counts:
        """Every row as if it were somebody."""
        people = np.ones(len(self), dtype=np.int64)
        protect = self.protected_by(self.person)
        return Counts(self.quasi, self.sensitive, self.codes, self.values, people, protect=protect)

    def protected_by(self, people: Ints) -> tuple[Domain, Codes] | None:
        """What each of some people protects."""
        return None if self.protect is None else (self.protect[0], self.protect[1][people])

    def counts(self, *, repeated: bool) -> Counts:
        """People by their quasi-identifiers, in each of several; rows with equal ones are gathered.

        `repeated`: a value that somebody has twice counts twice.
        """
        keys = np.vstack([self.person[None, :], self.codes])
        place, first = rank_rows(keys, [int(row.max(initial=0)) + 1 for row in keys])
        lists = self.gathered(place, repeated=repeated)
        several = SeveralTuples(self.person[first], np.arange(len(first)))
        gathered = replace(
            lists,
            quasi=self.quasi,
            codes=self.codes[:, first],
            several=several,
            extra_memberships=len(first) - self.people,
        )
        return gathered.compact()

    def gathered(self, owner: Ints, *, repeated: bool) -> Counts:
        """The values of all rows of each owner, one tuple each, and no more."""
        order = np.argsort(owner, kind="stable")
        offsets = offsets_of(np.bincount(owner))
        several = bool((np.diff(offsets) != 1).any())
        total = len(offsets) - 1
        attributes: list[Attribute] = []
        values: Codes = np.zeros((len(self.values), total), dtype=np.int32)
        for place, (attribute, codes) in enumerate(zip(self.sensitive, self.values, strict=True)):
            coded, sets = codes[order], None
            if several:
                coded, sets = code_sets(offsets, coded, repeated=repeated)
            values[place] = coded
            attributes.append(Attribute(attribute.domain, sets, repeated and several))
        nothing = np.zeros((0, total), dtype=np.int32)
        return Counts((), tuple(attributes), nothing, values, np.ones(total, dtype=np.int64))


def refuse_roles(schema: Schema) -> None:
    """Refuse weights of one's own, which find whom a pseudonym hides."""
    if schema.publish_weight == "keep":
        raise SchemaError(
            "publish_weight = 'keep' and rows = 'linked' do not go together; use 'group', and "
            "everybody has the mean weight of those with equal rows"
        )


def person_rows(
    engine: Engine, source: Source, schema: Schema, coding: Coding = domain_of
) -> PersonRows:
    """All rows of a source in memory, person by person, those of one in the order of their codes.

    `coding` makes codes of a column's distinct cells.
    """
    check_people(engine, source, schema)
    check_lists(source, schema)
    refuse_roles(schema)
    refuse_kept_lists(source, schema.keep)
    for name in schema.sensitive:
        if has_lists(source, schema, name):
            raise InputError(
                f"column {name!r} holds several values a row, and rows = 'linked' takes one a row; "
                "give every value a row of its own"
            )
    if source.rows == 0:
        raise InputError(f"{source.label} holds 0 rows; there is nobody to protect in it")
    if bytes_for(source.rows, len(schema.judged) + len(schema.keep) + 1) > engine.memory:
        raise ResourceError(
            f"{source.label} is larger than memory, and which rows are one person's is worked out "
            "in memory; raise the memory limit"
        )
    brought: list[str] = []
    columns, joins, where = join_codes(
        engine, source, schema, brought, coding, large=False, kept=bool(schema.keep)
    )
    names = {name: f"c{place}" for place, name in enumerate(keys(schema))}
    person = source.column(str(schema.person))
    listed = [named(f"DENSE_RANK() OVER (ORDER BY {person})", "person")]
    listed += [named(where[name], called) for name, called in names.items()]
    if schema.weight is not None:
        listed.append(named(weight_of(source, schema.weight, ""), "w"))
    kept = {name: f"x{place}" for place, name in enumerate(schema.keep)}
    listed += [named(source.column(name), called) for name, called in kept.items()]
    order = ", ".join(("person", *names.values(), *kept.values()))
    rows = engine.fetch(f"{select(listed, joins)} ORDER BY {order}")
    for table in brought:
        engine.drop(table)
    refuse_changed(source, rows.num_rows)

    def stack(chosen: tuple[str, ...]) -> Codes:
        cells = [rows.column(names[name]).to_numpy().astype(np.int32) for name in chosen]
        return np.vstack(cells) if cells else np.zeros((0, rows.num_rows), dtype=np.int32)

    owner = rows.column("person").to_numpy().astype(np.int64) - 1
    weights, protect = None, None
    if schema.weight is not None:
        weights = _weights(owner, rows.column("w").to_numpy().astype(np.float64), schema.weight)
    if schema.protect is not None:
        (labels,) = stack((schema.protect,))
        subject = f"protect column {schema.protect!r}"
        remedy = "labels; what is protected is a person's"
        of_person = same_on_all_rows(owner, labels, int(owner[-1]) + 1, subject, remedy)
        protect = columns[schema.protect].domain, of_person
    quasi, sensitive = tuple(schema.quasi), tuple(schema.sensitive)
    return PersonRows(
        tuple(columns[name].domain for name in quasi),
        tuple(Attribute(columns[name].domain) for name in sensitive),
        owner,
        stack(quasi),
        stack(sensitive),
        weights,
        protect,
        KeptCells.of({name: rows.column(called) for name, called in kept.items()})
        if kept
        else None,
    )


def _weights(person: Ints, weight: Floats, column: str) -> Floats:
    """The weight of each person, which is that of all of her rows."""
    first = np.flatnonzero(np.diff(person, prepend=-1))
    differs = len(np.unique(person[weight != weight[first][person]]))
    if differs:
        raise InputError(
            f"weight column {column!r}: {differs:,} people have different weights on their rows; a "
            "survey weight is a person's, so give each the same on all of her rows"
        )
    return weight[first]


def count_people(
    engine: Engine, source: Source, schema: Schema, coding: Coding = domain_of
) -> tuple[PersonRows | None, TableCounts]:
    """The people of a source and, where a pseudonym is to link them, their rows."""
    if schema.rows != "linked":
        return None, scan(engine, source, schema, coding)
    rows = person_rows(engine, source, schema, coding)
    return rows, rows.counts(repeated=schema.several == "multiset")
