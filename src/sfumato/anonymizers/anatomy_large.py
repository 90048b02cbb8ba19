"""Anatomy on tables larger than memory: the engine numbers people, and a number is a bucket.

Everybody stands in a line, value after value, the values in an order that is drawn, the people of a
value in one that is drawn for each person. Whoever is i-th goes to bucket i mod b, where
b = floor(n / l). No value has more than b people, so no two of one value meet; sizes differ by at
most one, as in memory.

Which values go together follows from how many people have each, and from chance; and people of a
value are drawn with equal probability, each by herself, so here too every way of giving a bucket's
values to its people is as likely to have led to the release. Buckets between two places where some
value begins or ends hold the same values: there are no more kinds of them than values and two, and
they are judged by these.

A person's place among those of her value is the order of keys, hashes of the seed, her tuple and
her number among equals, which nobody knows who does not know the seed. The engine ranks keys within
those that begin alike, so that it sorts a small part at a time.

Stands apart: what only tables larger than memory need; Anatomy itself is read without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np
import pyarrow as pa

from sfumato.counts.counts import Counts
from sfumato.counts.stored import StoredCounts
from sfumato.engines.base import Scratch, fresh, named, select
from sfumato.errors import PolicyError, ResourceError
from sfumato.numbers import Ints, offsets_of, rows_of
from sfumato.release.beside import Beside, SeveralGroups
from sfumato.release.description import GROUP_ID, BucketIds, StoredBuckets
from sfumato.release.made import DealtByEngine, Findings, MadeHere
from sfumato.release.release import Release, standing_notes
from sfumato.release.summing import group_counts, references
from sfumato.table import Table

_MOST_BUCKETS = 1 << 31  # two factors below it fit a BIGINT
_BEGINNING = 2  # letters of a key, which is hexadecimal: up to 256 parts of each value
_MOST_PARTS = 1 << 20  # parts of all values, which are counted in memory


@dataclass(frozen=True)
class BucketKinds:
    """Buckets that hold the same values: from `first[k]` to before `first[k + 1]` of `buckets`.

    A bucket of kind k holds `values[offsets[k]:offsets[k + 1]]`, each once.
    """

    buckets: int
    first: Ints
    offsets: Ints
    values: Ints

    @property
    def multiplicity(self) -> Ints:
        return np.diff(np.append(self.first, self.buckets))


def bucket_kinds(line: Ints, classes: Ints, buckets: int) -> BucketKinds:
    """The kinds where `classes[v]` people have value v, and values stand in the order of `line`."""
    begins = offsets_of(classes[line])
    people = int(begins[-1])
    first = np.unique(np.append(0, begins % buckets))
    rounds = -(-(people - first) // buckets)  # people of a bucket of this kind
    offsets = offsets_of(rounds)
    kind = rows_of(offsets)
    place = first[kind] + (np.arange(len(kind)) - offsets[kind]) * buckets
    values = line[np.searchsorted(begins, place, "right") - 1]
    return BucketKinds(buckets, first, offsets, values)


def deal_by_engine(
    name: str,
    table: Table,
    stored: StoredCounts,
    l: int,  # noqa: E741
    seed: int,
    findings: Findings,
) -> Release:
    """Buckets of everybody, where no value has more than one in l people."""
    _check(name, table, stored)
    rng = np.random.default_rng([seed, 2])
    classes, people = stored.by_value(0), stored.memberships
    buckets = people // l
    if buckets >= _MOST_BUCKETS:
        raise ResourceError(f"{name}: {buckets:,} buckets are too many; use a part of the rows")
    line = rng.permutation(len(classes))
    numbering = _Numbering.drawn(rng, buckets)
    kinds = bucket_kinds(line, classes, buckets)
    dealt = _dealt(stored, line, numbering, seed)
    (attribute,) = stored.sensitive
    kind = rows_of(kinds.offsets)
    codes, people_each = np.zeros((0, len(kind)), dtype=np.int32), np.ones_like(kind)
    values = kinds.values[None].astype(np.int32)
    pieces = Counts((), stored.sensitive, codes, values, people_each)
    groups = group_counts(pieces, kind, len(kinds.first), 0, references(stored)[attribute.name])
    groups = groups.with_beside(Beside(multiplicity=kinds.multiplicity))
    return Release(
        table.schema,
        {attribute.name: groups},
        StoredBuckets(stored, BucketIds(GROUP_ID, numbering.ids(kinds.first))),
        disjoint=False,
        label=f"release of {table.source.label}",
        notes=(*standing_notes(table), *_notes(stored)),
        made=MadeHere(DealtByEngine(table, dealt), findings, seed),
        several=SeveralGroups(stored.people) if stored.extra_memberships else None,
    )


def _notes(stored: StoredCounts) -> list[str]:
    kinds = "buckets with equal values are told once, by one of them"
    notes = [f"the table is larger than memory: {kinds}"]
    if stored.weighted:
        notes.append("survey weights are not read from a table larger than memory")
    return notes


def _check(name: str, table: Table, stored: StoredCounts) -> None:
    """Refuse what takes more than numbers of people."""
    schema = table.schema
    if stored.labels is not None:
        why = "what people want protected is counted bucket by bucket in memory"
    elif schema.publish_weight is not None:
        why = "survey weights are summed up bucket by bucket in memory"
    elif schema.kept:
        raise PolicyError(
            f"{name}: the table is larger than memory, and who of equal people is dealt where "
            "tells nobody whose kept values are whose; drop keep, or raise the memory limit"
        )
    else:
        return
    raise ResourceError(f"{name}: the table is larger than memory, and {why}; raise the limit")


@dataclass(frozen=True)
class _Numbering:
    """What buckets are called: 1, 2, ... in an order that says nothing, 1 + (a j + b) mod total."""

    total: int
    factor: int
    shift: int

    @classmethod
    def drawn(cls, rng: np.random.Generator, total: int) -> _Numbering:
        factor = int(rng.integers(1, total + 1))
        while gcd(factor, total) > 1:
            factor = int(rng.integers(1, total + 1))
        return cls(total, factor, int(rng.integers(total)))

    def ids(self, buckets: Ints) -> Ints:
        ids: Ints = 1 + (self.factor * buckets.astype(np.int64) + self.shift) % self.total
        return ids

    def sql(self, place: str) -> str:
        """SQL: the id of the bucket of whoever stands at this place of the line."""
        bucket = f"MOD(CAST({place} AS BIGINT), {self.total})"
        return f"1 + MOD({self.factor} * {bucket} + {self.shift}, {self.total})"


def _dealt(stored: StoredCounts, line: Ints, numbering: _Numbering, seed: int) -> str:
    """The engine's table of everybody with her bucket's id."""
    engine, dealt = stored.engine, fresh("dealt")
    quasi = stored.columns[: len(stored.quasi)]
    text = ", ".join(["'|'", f"'{seed}'", *quasi, "s0", "sfumato_copy"])
    tuples = f"({select([*quasi, 's0', 'n'], stored.name)}) AS tuples"
    keyed = select(
        [*quasi, "s0", named(f"md5(concat_ws({text}))", "k")], engine.repeated(tuples, "n")
    )
    part = f"substr(k, 1, {_letters(len(line))})"
    counted = engine.fetch(
        select(
            ["s0", named(part, "part"), "CAST(COUNT(*) AS BIGINT) AS n"],
            f"({keyed}) AS keyed",
            group=["s0", part],
        )
    )
    value = counted.column("s0").to_numpy().astype(np.int64)
    parts = counted.column("part").to_pylist()
    many = counted.column("n").to_numpy().astype(np.int64)
    standing = np.empty(len(line), dtype=np.int64)
    standing[line] = np.arange(len(line))
    order = np.lexsort((np.array(parts), standing[value]))
    begins = np.empty(len(order), dtype=np.int64)
    begins[order] = offsets_of(many[order])[:-1]
    with Scratch(engine) as scratch:
        places = scratch.put(
            "places",
            pa.table({"v": value.astype(np.int32), "part": parts, "begins": begins}),
        )
        ranked = select(
            [
                *quasi,
                "s0",
                named(part, "part"),
                f"ROW_NUMBER() OVER (PARTITION BY s0, {part} ORDER BY k) AS r",
            ],
            f"({keyed}) AS keyed",
        )
        bucket = numbering.sql(f"({places}.begins + ranked.r - 1)")
        joins = (
            f"({ranked}) AS ranked JOIN {places} "
            f"ON ranked.s0 = {places}.v AND ranked.part = {places}.part"
        )
        columns = [named(f"ranked.{column}", column) for column in (*quasi, "s0")]
        engine.materialize(dealt, select([named(bucket, "g"), *columns], joins), large=True)
    return dealt


def _letters(values: int) -> int:
    """By how many letters of a key people of a value are parted; their order is always the same."""
    letters = _BEGINNING
    while letters and values << 4 * letters > _MOST_PARTS:
        letters -= 1
    return letters
