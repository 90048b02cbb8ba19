"""What a column holds: its kind, its distinct values and how often each occurs.

The kind is found by the same code that reads the table for an audit, so a draft cannot believe a
column to be something an audit will refuse.

Of a large table a share of the rows is looked at, chosen by hashing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts.columns import is_list
from sfumato.engines.base import Engine, Source, named, select
from sfumato.errors import InputError, SfumatoError
from sfumato.numbers import Floats, Ints
from sfumato.policy.draft.words import Topic, topic_of
from sfumato.schema.domain import Domain, build_domain
from sfumato.schema.region import Value

# The rows a draft is made from: all of them, or of a large table a share chosen by hashing.
#
# Hashing the whole row chooses the same rows on every run, in any order, on any number of threads.
# Equal rows are chosen together, so a chosen table is kept compact: every distinct row once, with
# the number `n` of rows it stands for. Few distinct rows need no choice at all.

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
    def table(self) -> str:
        """What the engine calls it."""
        return TABLE

    @property
    def _row_hash(self) -> str:
        return f"hash({', '.join(f'c{place}' for place in range(len(self.columns)))})"

    def fetch(self, expressions: list[str], *, group: list[str], one_in: int = 1) -> pa.Table:
        """Select from the sample, from every `one_in`-th row of it by hash."""
        kept = TABLE
        if one_in > 1:
            kept += f" WHERE {self._row_hash} % {self.one_in * one_in} = 0"
        return self.engine.fetch(select(expressions, kept, group=group))


def take(engine: Engine, source: Source, rows: int, only: str | None = None) -> Sample:
    """Keep a table's rows, or a share of them that has about `rows` distinct ones.

    `only`: of this column alone, which has fewer distinct ones.
    """
    if rows < 1:
        raise InputError(f"rows = {rows} is not allowed; use 1 or more")
    columns = tuple(name for name in source.types if name)  # no policy could name the others
    columns = columns if only is None else (only,)
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
    sizes = engine.fetch(select(["COUNT(*)", whole, *estimates], table))
    total, different, *distinct = (int(column[0].as_py()) for column in sizes.columns)
    return total, different, tuple(distinct)


def _checked(sample: Sample) -> Sample:
    if sample.rows == 0:
        raise InputError(f"{sample.source.label} holds 0 rows; there is nobody to protect in it")
    return sample


ValueKind = Literal["numeric", "date", "text", "boolean", "list", "unusable"]
_KINDS: dict[str, ValueKind] = {"numeric": "numeric", "date": "date", "categorical": "text"}
_MOST_VALUES = 100_000  # distinct values looked at; of columns with more, those of a share of rows
_LOOKED_AT = 400  # values tested against patterns


@dataclass(frozen=True)
class Profile:
    """One column: `counts` are rows per value of the domain, without NULL, `coded` those of each
    code that stands beside numbers or dates.

    `distinct`, `present` (rows with a value) and `missing` speak of the rows the draft is made
    from; `share` is the number of distinct values per row with a value, of the whole table.
    """

    name: str
    place: int
    kind: ValueKind
    domain: Domain
    counts: Ints
    present: int
    missing: int
    distinct: int
    share: float
    mixed: int = 0  # rows whose value is text, in a column of numbers
    coded: tuple[int, ...] = ()

    @cached_property
    def topic(self) -> Topic | None:
        return topic_of(self.name)

    @property
    def says(self) -> str:
        return self.topic.says if self.topic else ""

    @cached_property
    def values(self) -> list[Value]:
        return list(self.domain.values[: len(self.counts)])

    @cached_property
    def numbers(self) -> Floats:
        """Where numbers and dates lie on their axis; of others no number."""
        return self.domain.numbers()[: len(self.counts)]

    @cached_property
    def texts(self) -> list[str]:
        """Some of the values, spread over their order, as text."""
        step = max(1, len(self.values) // _LOOKED_AT)
        return [str(value) for value in self.values[::step][:_LOOKED_AT]]

    @cached_property
    def longest(self) -> int:
        return max((len(text) for text in self.texts), default=0)

    @cached_property
    def integral(self) -> bool:
        """Numbers without fractions, however they are stored."""
        if self.kind != "numeric":
            return False
        numbers = self.numbers
        return bool((np.isfinite(numbers) & (np.floor(numbers) == numbers)).all())


def profile(sample: Sample) -> list[Profile]:
    """A profile of every column, in the order they stand."""
    return [_column(sample, place, name) for place, name in enumerate(sample.columns)]


def _column(sample: Sample, place: int, name: str) -> Profile:
    column = f"c{place}"
    estimate = sample.distinct[place]
    one_in = max(1, estimate // (_MOST_VALUES * sample.one_in))
    values = sample.fetch(
        [named(column, "v"), named("CAST(SUM(n) AS BIGINT)", "n")], group=[column], one_in=one_in
    )
    raw: pa.Array = values.column("v").combine_chunks()
    n = values.column("n").to_numpy().astype(np.int64)
    empty = raw.is_null().to_numpy(zero_copy_only=False)
    present, missing = int(n[~empty].sum()), int(n[empty].sum())
    distinct = int((~empty).sum())
    if one_in > 1:
        sizes = [
            f"COUNT(DISTINCT {column})",
            f"SUM(CASE WHEN {column} IS NULL THEN 0 ELSE n END)",
            "SUM(n)",
        ]
        totals = sample.fetch(sizes, group=[])
        distinct, present, rows = (int(sums[0].as_py()) for sums in totals.columns)
        missing = rows - present
    share = distinct / max(present, 1)
    if sample.one_in > 1:
        # Among few of many rows nearly every value is new: ask the estimate of the whole table.
        filled = sample.rows * present / max(present + missing, 1)
        told_apart = distinct >= 0.999 * present  # the estimate may err by a tenth
        share = estimate / max(filled, 1.0)
        share = 1.0 if told_apart and share > 0.85 else min(share, 1.0)
    kind, domain, rows_of_value, mixed = _read(sample, name, raw, n)
    counts = rows_of_value[: domain.placed]
    coded = tuple(rows_of_value[domain.placed : len(domain) - domain.has_null].tolist())
    return Profile(
        name, place, kind, domain, counts, present, missing, distinct, share, mixed, coded
    )


def _read(sample: Sample, name: str, raw: pa.Array, n: Ints) -> tuple[ValueKind, Domain, Ints, int]:
    """The kind and domain an audit would find, and the rows of each value."""
    nothing = Domain(name, "categorical", ()), np.zeros(0, dtype=np.int64), 0
    kind: ValueKind | None = None
    try:
        if is_list(sample.source, name):
            n = np.repeat(n, pc.fill_null(pc.list_value_length(raw), 0).to_numpy())
            raw, kind = pc.list_flatten(raw), "list"
        domain, codes, mixed = _domain(name, raw, n, sample.source)
    except (SfumatoError, pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError):
        return "unusable", *nothing
    counts = np.bincount(codes, weights=n, minlength=len(domain)).astype(np.int64)
    if kind is None:
        kind = _KINDS[domain.kind] if not pa.types.is_boolean(raw.type) else "boolean"
    return kind, domain, counts, mixed


def _domain(
    name: str, raw: pa.Array, n: Ints, source: Source
) -> tuple[Domain, np.ndarray[Any, Any], int]:
    untyped, specials = source.untyped, source.codes.get(name, ())
    try:
        return *build_domain(name, raw, untyped=untyped, specials=specials), 0
    except InputError:
        if not untyped:
            raise
    # Numbers and text in one column of a text file: an audit wants to be told what it is.
    domain, codes = build_domain(name, raw, untyped=untyped, declared="categorical")
    odd = pc.invert(pc.match_substring_regex(raw, r"^[+-]?[0-9.]+([eE][+-]?\d+)?$"))
    return domain, codes, int(n[pc.fill_null(odd, False).to_numpy(zero_copy_only=False)].sum())
