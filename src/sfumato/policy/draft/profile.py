"""What a column holds: its kind, its distinct values and how often each occurs.

The kind is found by the same code that reads the table for an audit, so a draft cannot believe a
column to be something an audit will refuse.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts.columns import is_list
from sfumato.counts.counts import Ints
from sfumato.engines.sql import named
from sfumato.errors import InputError, SfumatoError
from sfumato.policy.draft.sample import Sample
from sfumato.policy.draft.words import Topic, topic_of
from sfumato.schema.domain import Domain, build_domain

What = Literal["numeric", "date", "text", "boolean", "list", "unusable"]
_WHAT: dict[str, What] = {"numeric": "numeric", "date": "date", "categorical": "text"}
_MOST_VALUES = 100_000  # distinct values looked at; of columns with more, those of a share of rows
_LOOKED_AT = 400  # values tested against patterns


@dataclass(frozen=True)
class Profile:
    """One column: `counts` are rows per value of the domain, without NULL.

    `distinct`, `present` (rows with a value) and `missing` speak of the rows the draft is made
    from; `share` is the number of distinct values per row with a value, of the whole table.
    """

    name: str
    place: int
    what: What
    domain: Domain
    counts: Ints
    present: int
    missing: int
    distinct: int
    share: float
    mixed: int = 0  # rows whose value is text, in a column of numbers

    @cached_property
    def topic(self) -> Topic | None:
        return topic_of(self.name)

    @property
    def says(self) -> str:
        return self.topic.says if self.topic else ""

    @cached_property
    def values(self) -> list[Any]:
        return list(self.domain.values[: len(self.counts)])

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
        return self.what == "numeric" and all(float(value).is_integer() for value in self.values)


def profile(sample: Sample) -> list[Profile]:
    """A profile of every column, in the order they stand."""
    return [_column(sample, place, name) for place, name in enumerate(sample.columns)]


def _column(sample: Sample, place: int, name: str) -> Profile:
    column = f"c{place}"
    estimate = sample.distinct[place]
    one_in = max(1, estimate // (_MOST_VALUES * sample.one_in))
    found = sample.fetch(
        [named(column, "v"), named("CAST(SUM(n) AS BIGINT)", "n")], group=[column], one_in=one_in
    )
    raw: pa.Array = found.column("v").combine_chunks()
    n = found.column("n").to_numpy().astype(np.int64)
    empty = raw.is_null().to_numpy(zero_copy_only=False)
    present, missing = int(n[~empty].sum()), int(n[empty].sum())
    distinct = int((~empty).sum())
    if one_in > 1:
        sizes = [
            f"COUNT(DISTINCT {column})",
            f"SUM(CASE WHEN {column} IS NULL THEN 0 ELSE n END)",
            "SUM(n)",
        ]
        told = sample.fetch(sizes, group=[])
        distinct, present, rows = (int(sums[0].as_py()) for sums in told.columns)
        missing = rows - present
    share = distinct / max(present, 1)
    if sample.one_in > 1:
        # Among few of many rows nearly every value is new: ask the estimate of the whole table.
        filled = sample.rows * present / max(present + missing, 1)
        told_apart = distinct >= 0.999 * present  # the estimate may err by a tenth
        share = estimate / max(filled, 1.0)
        share = 1.0 if told_apart and share > 0.85 else min(share, 1.0)
    what, domain, counts, mixed = _read(sample, name, raw, n)
    return Profile(name, place, what, domain, counts, present, missing, distinct, share, mixed)


def _read(sample: Sample, name: str, raw: pa.Array, n: Ints) -> tuple[What, Domain, Ints, int]:
    """The kind and domain an audit would find, and the rows of each value."""
    nothing = Domain(name, "categorical", ()), np.zeros(0, dtype=np.int64), 0
    what: What | None = None
    try:
        if is_list(sample.source, name):
            n = np.repeat(n, pc.fill_null(pc.list_value_length(raw), 0).to_numpy())
            raw, what = pc.list_flatten(raw), "list"
        domain, codes, mixed = _domain(name, raw, n, sample.source.untyped)
    except (SfumatoError, pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError):
        return "unusable", *nothing
    size = len(domain) - domain.has_null
    counts = np.bincount(codes, weights=n, minlength=len(domain)).astype(np.int64)[:size]
    if what is None:
        what = _WHAT[domain.kind] if not pa.types.is_boolean(raw.type) else "boolean"
    return what, domain, counts, mixed


def _domain(
    name: str, raw: pa.Array, n: Ints, untyped: bool
) -> tuple[Domain, np.ndarray[Any, Any], int]:
    try:
        return *build_domain(name, raw, untyped=untyped), 0
    except InputError:
        if not untyped:
            raise
    # Numbers and text in one column of a text file: an audit wants to be told what it is.
    domain, codes = build_domain(name, raw, untyped=untyped, declared="categorical")
    odd = pc.invert(pc.match_substring_regex(raw, r"^[+-]?[0-9.]+([eE][+-]?\d+)?$"))
    return domain, codes, int(n[pc.fill_null(odd, False).to_numpy(zero_copy_only=False)].sum())
