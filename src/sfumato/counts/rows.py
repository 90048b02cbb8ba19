"""Rows as codes, each with whose it is: for releases whose rows a pseudonym links.

Only there are counts not enough: which rows are one person's is what such a release publishes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sfumato.counts.columns import (
    Coding,
    check_lists,
    check_people,
    domain_of,
    has_lists,
    keys,
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
class PersonRows:
    """Row i is that of `person[i]`, who are 0, 1, 2, ... in order; nobody's name is in it.

    `codes` has one row per quasi-identifier, `values` one per sensitive attribute; `weights` are
    survey weights and `protect` the codes of what is protected, one a person.
    """

    quasi: tuple[Domain, ...]
    sensitive: tuple[Attribute, ...]
    person: Ints
    codes: Codes
    values: Codes
    weights: Floats | None = None
    protect: tuple[Domain, Codes] | None = None

    def __len__(self) -> int:
        return len(self.person)

    @property
    def people(self) -> int:
        return int(self.person[-1]) + 1 if len(self.person) else 0

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
    """Roles that have no meaning yet where rows are linked."""
    for role in ("keep", "count"):
        if getattr(schema, role):
            raise SchemaError(
                f"{role} and rows = 'linked' do not go together: a pseudonym links "
                f"quasi-identifiers and sensitive values only; leave {role} out"
            )
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
    for name in schema.sensitive:
        if has_lists(source, schema, name):
            raise InputError(
                f"column {name!r} holds several values a row, and rows = 'linked' takes one a row; "
                "give every value a row of its own"
            )
    if source.rows == 0:
        raise InputError(f"{source.label} holds 0 rows; there is nobody to protect in it")
    if bytes_for(source.rows, len(schema.judged) + 1) > engine.memory:
        raise ResourceError(
            f"{source.label} is larger than memory, and which rows are one person's is worked out "
            "in memory; raise the memory limit"
        )
    brought: list[str] = []
    columns, joins, where = join_codes(engine, source, schema, brought, coding, large=False)
    names = {name: f"c{place}" for place, name in enumerate(keys(schema))}
    person = source.column(str(schema.person))
    listed = [named(f"DENSE_RANK() OVER (ORDER BY {person})", "person")]
    listed += [named(where[name], called) for name, called in names.items()]
    if schema.weight is not None:
        listed.append(named(weight_of(source, schema.weight, ""), "w"))
    order = ", ".join(("person", *names.values()))
    rows = engine.fetch(f"{select(listed, joins)} ORDER BY {order}")
    for table in brought:
        engine.drop(table)

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
