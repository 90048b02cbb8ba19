"""Households: who lives together. Whoever finds one member of a household finds them all.

Counts do not say it, so the people of a table that names households are read once more: each row's
person, her household and her quasi-identifiers. Nobody's name and no household's id are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.counts.columns import Coding, refuse_look_alikes
from sfumato.counts.counts import TableCounts
from sfumato.counts.scan import join_codes
from sfumato.counts.stored import bytes_for
from sfumato.engines.base import Engine, Source, named, select
from sfumato.errors import InputError
from sfumato.numbers import Codes, Ints
from sfumato.schema.roles import Schema


@dataclass(frozen=True)
class Members:
    """Row i is of `person[i]`, in order, with the quasi-identifiers `codes[:, i]`.

    `household` is that of each person; households and people are numbered 0, 1, 2, ...
    """

    person: Ints
    codes: Codes
    household: Ints


def members_of_households(
    engine: Engine, source: Source, schema: Schema, counts: TableCounts, coding: Coding
) -> Members | None:
    """Whose household each person's is; None where none are named, or rows do not fit in memory.

    `counts` are those of the same rows, with codes that `coding` makes.
    """
    if schema.household is None:
        return None
    home = source.column(schema.household)
    _refuse_missing(engine, source, home, schema.household)
    refuse_look_alikes(engine, source, schema.household, "household")
    if bytes_for(source.rows, len(schema.quasi) + 2) > engine.memory:
        return None
    brought: list[str] = []
    columns, joins, where = join_codes(engine, source, schema, brought, coding, large=False)
    listed = [named(f"DENSE_RANK() OVER (ORDER BY {home})", "household")]
    if schema.person is not None:
        person = source.column(schema.person)
        listed.append(named(f"DENSE_RANK() OVER (ORDER BY {person})", "person"))
    listed += [named(where[name], f"q{place}") for place, name in enumerate(schema.quasi)]
    rows = engine.fetch(select(listed, joins))
    for table in brought:
        engine.drop(table)
    assert tuple(columns[name].domain for name in schema.quasi) == counts.quasi
    household = rows.column("household").to_numpy().astype(np.int64) - 1
    codes = np.vstack(
        [rows.column(f"q{place}").to_numpy().astype(np.int32) for place in range(len(schema.quasi))]
    )
    if schema.person is None:
        return Members(np.arange(len(household)), codes, household)
    owner = rows.column("person").to_numpy().astype(np.int64) - 1
    order = np.lexsort((*codes[::-1], owner))
    owner, codes, household = owner[order], codes[:, order], household[order]
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    apart = household != household[first][owner]
    if apart.any():
        raise InputError(
            f"household column {schema.household!r}: {len(np.unique(owner[apart])):,} people have "
            "rows of several households; give each person one"
        )
    return Members(owner, codes, household[first])


def _refuse_missing(engine: Engine, source: Source, home: str, name: str) -> None:
    missing = engine.fetch(select([named(f"COUNT(*) - COUNT({home})", "m")], source.name))
    number = missing.column(0)[0].as_py()
    if number:
        raise InputError(
            f"household column {name!r} is missing in {number:,} row(s); give every row its "
            "household, somebody who lives alone one of her own"
        )
