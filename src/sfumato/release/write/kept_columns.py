"""The kept columns of the people of a release: fetched from the rows, matched by their tuples.

Only columns with the role `keep` need the rows again; everything else is in the counts. People with
equal quasi-identifiers and sensitive values are interchangeable, so their kept values are dealt out
to them at random.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.counts.columns import encode, is_list, keys
from sfumato.counts.counts import rank_rows
from sfumato.engines.sql import named, select
from sfumato.errors import SchemaError
from sfumato.numbers import Ints, tallied_offsets
from sfumato.table.load import Table


def check_keep(table: Table) -> None:
    """Refuse kept columns that have no single value for each person."""
    schema = table.schema
    by_person = schema.person is not None and not table.source.one_each
    if schema.keep and (by_person or schema.count is not None):
        raise SchemaError(
            "keep needs one row a person: with person or count there is no single value to "
            "publish; drop keep, or give the column a role"
        )
    lists = [name for name in schema.keep if is_list(table.source, name)]
    if lists:
        raise SchemaError(
            f"keep: column {lists[0]!r} holds lists; only sensitive columns may hold several "
            "values, drop it from keep"
        )


def rows_of_people(
    table: Table, tuples: Ints, shuffle: np.random.Generator
) -> dict[str, pa.ChunkedArray]:
    """For each kept column, the value of each person (given by the tuple she belongs to)."""
    schema = table.schema
    if not schema.keep:
        return {}
    check_keep(table)
    source = table.source
    listed = [named(source.column(name), f"k{place}") for place, name in enumerate(keys(schema))]
    listed += [named(source.column(name), f"x{place}") for place, name in enumerate(schema.keep)]
    rows = table.engine.fetch(select(listed, source.name))
    coded = [
        encode(name, rows.column(f"k{place}").combine_chunks(), source, schema)
        for place, name in enumerate(keys(schema))
    ]
    counts = table.counts.in_memory("publishing kept columns row by row")
    extra = [] if counts.protect is None else [counts.protect[1][None, :]]
    known = np.vstack([counts.codes, counts.values, *extra])
    both = np.hstack([known, np.vstack([column.codes for column in coded])])
    number, _ = rank_rows(both, [int(row.max(initial=0)) + 1 for row in both])
    tuple_of = np.empty(int(number.max()) + 1, dtype=np.int64)
    tuple_of[number[: len(counts)]] = np.arange(len(counts))
    of_row = tuple_of[number[len(counts) :]]
    # Deal rows to people: both sorted by tuple, rows in random order within a tuple.
    mixed = shuffle.permutation(len(of_row))
    dealt = mixed[np.argsort(of_row[mixed], kind="stable")]
    first = tallied_offsets(of_row, len(counts))
    by_tuple = np.argsort(tuples, kind="stable")
    ordered = tuples[by_tuple]
    nth = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    chosen = np.empty(len(tuples), dtype=np.int64)
    chosen[by_tuple] = dealt[first[ordered] + nth]
    return {
        name: rows.column(f"x{place}").take(pa.array(chosen))
        for place, name in enumerate(schema.keep)
    }
