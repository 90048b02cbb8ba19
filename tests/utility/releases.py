"""Small releases for tests: any people at any level of any column, in any bucket, or nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import sfumato as sf
from sfumato.release.build import build_release
from sfumato.release.description import Buckets, Regions
from sfumato.release.made import Findings, Placement
from sfumato.release.release import Release
from sfumato.schema.region import Region
from sfumato.table import Table

Row = tuple[int | None, str | None, str, str]
COLUMNS = ("age", "city", "grade", "disease")
HEIGHTS = (5, 3, 2)  # of the three quasi-identifiers

SCHEMA = sf.Schema(
    quasi=["age", "city", "grade"],
    sensitive="disease",
    hierarchies={
        "age": sf.intervals([5, 10, 20], top=50),
        # The labels cover values that do not stand side by side; e is never seen.
        "city": sf.taxonomy({"a": "x", "b": "y", "c": "x", "d": "y", "e": "x"}),
    },
    domains={"grade": ["low", "mid", "high"]},
)


@lru_cache(maxsize=64)
def table_of(rows: tuple[Row, ...], schema: sf.Schema = SCHEMA) -> Table:
    kinds = (pa.int64(), pa.string(), pa.string(), pa.string())
    columns = zip(*rows, strict=True)
    arrays = [
        pa.array(list(column), type=kind) for column, kind in zip(columns, kinds, strict=True)
    ]
    table = sf.read(pa.table(dict(zip(COLUMNS, arrays, strict=True))), schema)
    # Nothing here goes back to the rows; a kept connection for each table would pile up.
    return replace(table, engine=cast(Any, None))


def small_rows(seed: int) -> tuple[Row, ...]:
    """Up to twelve kinds of people, some of them several times, some values missing."""
    chance = Random(seed)
    kinds: list[Row] = [
        (
            chance.choice([21, 23, 26, 34, 37, 50, 70, None]),
            chance.choice(["a", "b", "c", "d", None]),
            chance.choice(["low", "high"]),
            chance.choice(["flu", "gout", "hiv"]),
        )
        for _ in range(1 + seed % 12)
    ]
    return tuple(row for row in kinds for _ in range(chance.choice([1, 1, 1, 3])))


# Reading a table takes longer than measuring a hundred releases of it: few tables, many releases.
TABLES = st.integers(0, 35).map(lambda seed: table_of(small_rows(seed)))


def random_rows(people: int, seed: int = 0) -> tuple[Row, ...]:
    """Enough people for shares to mean something; the disease leans on age and city."""
    chance = np.random.default_rng(seed)
    rows: list[Row] = []
    for _ in range(people):
        age = int(chance.integers(20, 75))
        city = str(chance.choice(["a", "b", "c", "d"]))
        likely = "hiv" if age > 45 else "gout" if city in "ab" else "flu"
        disease = likely if chance.random() < 0.8 else str(chance.choice(["flu", "gout", "hiv"]))
        rows.append((age, city, str(chance.choice(["low", "mid", "high"])), disease))
    return tuple(rows)


@dataclass(frozen=True)
class Piece:
    """`n` people of a table's tuple, published at these levels; None: suppressed."""

    tuple: int
    n: int
    levels: tuple[int, ...] | None


@dataclass(frozen=True)
class ByHand(Findings):
    """Releases made up here, by no anonymizer of the registry."""

    anonymizer: ClassVar[str] = "by hand"


def release_of(table: Table, pieces: Sequence[Piece], disjoint: bool | None = None) -> Release:
    """Everybody described by her own labels at the levels of her piece; regions may overlap."""
    counts = table.counts
    levels = [table.levels[domain.name] for domain in counts.quasi]
    parts: list[dict[Region, int]] = [{} for _ in levels]
    shown: list[list[int]] = []
    groups = []
    for piece in pieces:
        if piece.levels is None:
            groups.append(-1)
            continue
        labels = []
        for column, (one, level) in enumerate(zip(levels, piece.levels, strict=True)):
            label = one[min(level, one.height - 1)]  # a column of NULLs has no steps between
            region = label.regions[label.codes[counts.codes[column, piece.tuple]]]
            labels.append(parts[column].setdefault(region, len(parts[column])))
        groups.append(len(shown))
        shown.append(labels)
    codes = np.array(shown, dtype=np.int32).reshape(len(shown), len(levels)).T
    regions = Regions(
        tuple(domain.name for domain in counts.quasi), tuple(tuple(p) for p in parts), codes
    )
    placement = Placement(
        table,
        np.array([piece.tuple for piece in pieces], dtype=np.int64),
        np.array(groups, dtype=np.int64),
        np.array([piece.n for piece in pieces], dtype=np.int64),
    )
    return build_release(placement, regions, ByHand(), disjoint=disjoint)


def release_at(table: Table, levels: Sequence[int], suppress: Sequence[int] = ()) -> Release:
    """One lattice node; `suppress` names tuples of the table whose people are left out."""
    counts = table.counts
    return release_of(
        table,
        [
            Piece(place, int(counts.n[place]), None if place in suppress else tuple(levels))
            for place in range(len(counts))
        ],
    )


def unchanged(table: Table) -> Release:
    return release_at(table, [0] * len(table.counts.quasi))


def nothing(table: Table) -> Release:
    """Everybody suppressed."""
    return release_at(table, [0] * len(table.counts.quasi), range(len(table.counts)))


def bucketized(table: Table, bucket_of: Sequence[int], n: Sequence[int] | None = None) -> Release:
    """Each tuple in a bucket, -1 for none; with `n`, tuples are given twice: n people, the rest."""
    counts = table.counts
    tuples, people = np.arange(len(counts)), counts.n
    if n is not None:
        tuples = np.concatenate([tuples, tuples])
        people = np.concatenate([np.array(n), counts.n - np.array(n)])
    chosen = np.array(bucket_of, dtype=np.int64)
    real = people > 0
    tuples, people, chosen = tuples[real], people[real], chosen[real]
    used = np.unique(chosen[chosen >= 0])
    group = np.where(chosen >= 0, np.searchsorted(used, chosen), -1)
    order = np.lexsort((tuples, group))
    tuples, people, group = tuples[order], people[order], group[order]
    inside = group >= 0
    members = Buckets(
        counts.quasi,
        np.searchsorted(group[inside], np.arange(len(used) + 1)),
        counts.codes[:, tuples[inside]],
        people[inside],
    )
    return build_release(Placement(table, tuples, group, people), members, ByHand())


LEVELS = st.tuples(*[st.integers(0, height - 1) for height in HEIGHTS])


@st.composite
def lattice_releases(draw: st.DrawFn) -> Release:
    """One node, perhaps with some tuples suppressed: groups may lose some of their people."""
    table = draw(TABLES)
    gone = draw(st.lists(st.integers(0, len(table.counts) - 1), max_size=3))
    return release_at(table, draw(LEVELS), gone)


@st.composite
def local_releases(draw: st.DrawFn) -> Release:
    """Every tuple at levels of its own, its people perhaps parted; regions overlap."""
    table = draw(TABLES)
    pieces = []
    for place, n in enumerate(table.counts.n.tolist()):
        cut = draw(st.integers(0, n))
        for people in (cut, n - cut):
            if people:
                pieces.append(Piece(place, people, draw(st.none() | LEVELS)))
    return release_of(table, pieces)


@st.composite
def bucket_releases(draw: st.DrawFn) -> Release:
    """Buckets of any people, some of them nowhere."""
    table = draw(TABLES)
    counts = table.counts
    n = [draw(st.integers(0, int(most))) for most in counts.n]
    buckets = st.integers(-1, 3)
    return bucketized(table, [draw(buckets) for _ in range(2 * len(counts))], n)


RELEASES = lattice_releases() | local_releases() | bucket_releases()
