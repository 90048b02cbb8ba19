"""The rows a draft is made from: all of them, or of a large table a share chosen by hashing.

Hashing the whole row chooses the same rows on every run, in any order, on any number of threads.
Equal rows are chosen together, so a chosen table is kept compact: every distinct row once, with
the number `n` of rows it stands for. Few distinct rows need no choice at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from sfumato.engines.base import Engine, Source
from sfumato.engines.sql import named, select
from sfumato.errors import InputError

TABLE = "draft_sample"
CELLS = 20_000_000  # more than these are not kept in memory


@dataclass(frozen=True)
class Sample:
    """Columns c0, c1, ... and n of the table `TABLE`; `one_in` is 1 when nobody is left out."""

    engine: Engine
    source: Source
    columns: tuple[str, ...]
    rows: int
    distinct: tuple[int, ...]  # estimates, of the whole table
    one_in: int = 1

    @property
    def _row_hash(self) -> str:
        return f"hash({', '.join(f'c{place}' for place in range(len(self.columns)))})"

    def fetch(self, expressions: list[str], *, group: list[str], one_in: int = 1) -> pa.Table:
        """Select from the sample, from every `one_in`-th row of it by hash."""
        kept = TABLE
        if one_in > 1:
            kept += f" WHERE {self._row_hash} % {self.one_in * one_in} = 0"
        return self.engine.fetch(select(expressions, kept, group=group))


def take(engine: Engine, source: Source, rows: int) -> Sample:
    """Keep a table's rows, or a share of them that has about `rows` distinct ones."""
    if rows < 1:
        raise InputError(f"rows = {rows} is not allowed; use 1 or more")
    columns = tuple(name for name in source.types if name)  # no policy could name the others
    if not columns:
        raise InputError(f"{source.label} has no column with a name")
    most = max(1, min(rows, CELLS // len(columns)))
    listed = [named(source.column(name), f"c{place}") for place, name in enumerate(columns)]
    if source.rows <= most:  # of a text file an estimate: good enough for a limit of memory
        engine.materialize(TABLE, select([*listed, named("CAST(1 AS BIGINT)", "n")], source.name))
        total, _, distinct = _sizes(engine, TABLE, [f"c{place}" for place in range(len(columns))])
        return _checked(Sample(engine, source, columns, total, distinct))
    quoted = [source.column(name) for name in columns]
    total, different, distinct = _sizes(engine, source.name, quoted)
    one_in = max(1, -(-different // most))
    kept = f"{source.name} WHERE hash({', '.join(quoted)}) % {one_in} = 0"
    counted = named("CAST(COUNT(*) AS BIGINT)", "n")
    engine.materialize(TABLE, select([*listed, counted], kept, group=quoted))
    return _checked(Sample(engine, source, columns, total, distinct, one_in))


def _sizes(engine: Engine, table: str, columns: list[str]) -> tuple[int, int, tuple[int, ...]]:
    """Rows, about how many distinct ones, and about how many distinct values of each column."""
    estimates = [f"approx_count_distinct({column})" for column in columns]
    whole = f"approx_count_distinct(hash({', '.join(columns)}))"
    found = engine.fetch(select(["COUNT(*)", whole, *estimates], table))
    total, different, *distinct = (int(column[0].as_py()) for column in found.columns)
    return total, different, tuple(distinct)


def _checked(sample: Sample) -> Sample:
    if sample.rows == 0:
        raise InputError(f"{sample.source.label} holds 0 rows; there is nobody to protect in it")
    return sample
