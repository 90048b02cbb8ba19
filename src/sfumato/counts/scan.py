"""From an engine's rows to Counts, in one grouping query.

Two ways, same result. *Raw*: group by the values as they stand and encode the compact result; the
domains come out of the same scan. *Coded* (`holding.py`): fetch each column's distinct values, join
their codes inside the SELECT and group by these; needed when distinct tuples number in the millions
(raw text keys take three times the memory), when rows must first be gathered by person, and when
the counts themselves may not fit in memory. The choice is by expected distinct tuples; no table of
encoded rows is ever written.
"""

from __future__ import annotations

import numpy as np

from sfumato.counts.columns import check_lists, encode, key_of, keys, measures
from sfumato.counts.count_by_code import hold
from sfumato.counts.counts import Attribute, Counts
from sfumato.counts.people import check_people
from sfumato.counts.stored import bytes_for, fits
from sfumato.engines.base import Engine, Source
from sfumato.engines.sql import named, select
from sfumato.errors import InputError
from sfumato.numbers import Codes
from sfumato.schema.roles import Schema

MANY_ROWS = 4_000_000
MANY_TUPLES = 1_000_000


def scan(engine: Engine, source: Source, schema: Schema) -> Counts:
    """Count the people of a registered source by their QIs and sensitive values.

    Counts that do not fit in memory stay with the engine (`Held`).
    """
    check_people(engine, source, schema)
    check_lists(source, schema)
    beyond = bytes_for(source.rows, len(keys(schema))) > engine.memory
    large = beyond or source.rows >= MANY_ROWS
    by_person = schema.person is not None and not source.one_each
    if by_person or beyond or (large and _many_tuples(engine, source, schema)):
        held = hold(engine, source, schema, large=large)
        counts: Counts = held
        if fits(held):
            counts = held.whole()
            engine.drop(held.name)
    else:
        counts = _raw(engine, source, schema)
    if counts.people == 0:
        raise InputError(f"{source.label} holds 0 rows; there is nobody to protect in it")
    return counts


def _many_tuples(engine: Engine, source: Source, schema: Schema) -> bool:
    listed = ", ".join(source.column(column) for column in keys(schema))
    estimate = engine.fetch(
        select([named(f"approx_count_distinct(hash({listed}))", "tuples")], source.name)
    )
    return int(estimate.column(0)[0].as_py()) > MANY_TUPLES


def _raw(engine: Engine, source: Source, schema: Schema) -> Counts:
    listed = [key_of(engine, source, schema, column) for column in keys(schema)]
    named_keys = [named(expression, f"k{place}") for place, expression in enumerate(listed)]
    table = engine.fetch(
        select([*named_keys, *measures(source, schema)], source.name, group=listed)
    )
    columns = {
        name: encode(name, table.column(f"k{place}").combine_chunks(), source, schema)
        for place, name in enumerate(keys(schema))
    }

    def stack(names: tuple[str, ...]) -> Codes:
        rows = [columns[name].codes for name in names]
        return np.vstack(rows) if rows else np.zeros((0, table.num_rows), dtype=np.int32)

    quasi, sensitive = tuple(schema.quasi), tuple(schema.sensitive)
    repeated = schema.several == "multiset"
    counts = Counts(
        quasi=tuple(columns[name].domain for name in quasi),
        sensitive=tuple(
            Attribute(columns[name].domain, columns[name].sets, repeated) for name in sensitive
        ),
        codes=stack(quasi),
        values=stack(sensitive),
        n=table.column("n").to_numpy().astype(np.int64, copy=False),
        weights=table.column("w").to_numpy().astype(np.float64) if schema.weight else None,
        protect=(columns[schema.protect].domain, columns[schema.protect].codes)
        if schema.protect
        else None,
    )
    kept = counts.n > 0  # a pre-aggregated row of 0 people describes nobody
    if not kept.all():
        counts = counts.take(np.flatnonzero(kept))
    return counts.compact()
