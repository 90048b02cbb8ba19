"""From an engine's rows to Counts, in one grouping query.

Two ways, same result. *Raw*: group by the values as they stand and encode the compact result; the
domains come out of the same scan. *Coded*: fetch each column's distinct values, join their codes
inside the SELECT and group by one packed integer; needed when distinct tuples number in the
millions (raw text keys take three times the memory) and when rows must first be gathered by
person. The choice is by expected distinct tuples; no table of encoded rows is ever written.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.counts.coded import count_coded
from sfumato.counts.columns import Column, check_lists, encode, key_of, keys, measures
from sfumato.counts.contingency import Attribute, Counts, Ints
from sfumato.counts.people import check_people
from sfumato.engines.base import Engine, Source
from sfumato.engines.sql import named, quote, select
from sfumato.errors import InputError
from sfumato.schema.domain import Codes
from sfumato.schema.roles import Schema

MANY_ROWS = 4_000_000
MANY_TUPLES = 1_000_000


def scan(engine: Engine, source: Source, schema: Schema) -> Counts:
    """Count the people of a registered source by their QIs and sensitive values."""
    check_people(engine, source, schema)
    check_lists(source, schema)
    by_person = schema.person is not None and not source.one_each
    if by_person or _many_tuples(engine, source, schema):
        columns, table, spanning = count_coded(engine, source, schema)
    else:
        columns, table, spanning = _raw(engine, source, schema)
    n = table.column("n").to_numpy().astype(np.int64, copy=False)
    weights = table.column("w").to_numpy().astype(np.float64) if schema.weight else None
    counts = _assemble(schema, columns, n, weights, spanning)
    if counts.people == 0:
        raise InputError(f"{source.label} holds 0 rows; there is nobody to protect in it")
    return counts


def _many_tuples(engine: Engine, source: Source, schema: Schema) -> bool:
    if source.rows < MANY_ROWS:
        return False
    listed = ", ".join(quote(column) for column in keys(schema))
    estimate = engine.fetch(
        select([named(f"approx_count_distinct(hash({listed}))", "tuples")], source.name)
    )
    return int(estimate.column(0)[0].as_py()) > MANY_TUPLES


def _raw(engine: Engine, source: Source, schema: Schema) -> tuple[dict[str, Column], pa.Table, int]:
    listed = [key_of(engine, source, schema, column) for column in keys(schema)]
    named_keys = [named(expression, f"k{place}") for place, expression in enumerate(listed)]
    table = engine.fetch(
        select([*named_keys, *measures(source, schema)], source.name, group=listed)
    )
    columns = {
        name: encode(name, table.column(f"k{place}").combine_chunks(), source, schema)
        for place, name in enumerate(keys(schema))
    }
    return columns, table, 0


def _assemble(
    schema: Schema,
    columns: dict[str, Column],
    n: Ints,
    weights: npt.NDArray[np.float64] | None,
    spanning: int,
) -> Counts:
    def stack(names: tuple[str, ...]) -> Codes:
        rows = [columns[name].codes for name in names]
        return np.vstack(rows) if rows else np.zeros((0, len(n)), dtype=np.int32)

    quasi, sensitive = tuple(schema.quasi), tuple(schema.sensitive)
    repeated = schema.several == "multiset"
    counts = Counts(
        quasi=tuple(columns[name].domain for name in quasi),
        sensitive=tuple(
            Attribute(columns[name].domain, columns[name].sets, repeated) for name in sensitive
        ),
        codes=stack(quasi),
        values=stack(sensitive),
        n=n,
        weights=weights,
        protect=(columns[schema.protect].domain, columns[schema.protect].codes)
        if schema.protect
        else None,
        spanning=spanning,
    )
    kept = counts.n > 0  # a pre-aggregated row of 0 people describes nobody
    if not kept.all():
        counts = counts.take(np.flatnonzero(kept))
    return counts.compact()
