"""A small table as if it were larger than memory: its counts in an engine, a few tuples fit."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.counts.counts import Counts
from sfumato.counts.stored import StoredCounts, bytes_for
from sfumato.engines.base import Engine, fresh
from sfumato.engines.duckdb import DuckDB
from sfumato.engines.reading import Reading
from sfumato.release.release import Release
from tests.oracles.mondrian_oracle import Group, everybody, lies_inside, regions_of


def rows(seed: int = 1, total: int = 400) -> pa.Table:
    """People of three quasi-identifiers and two sensitive columns."""
    chance = np.random.default_rng(seed)
    return pa.table(
        {
            "age": chance.integers(20, 32, total),
            "zip": pa.array(np.array([f"{a}{b}" for a in "12" for b in "123"])).take(
                pa.array(chance.integers(0, 6, total))
            ),
            "sex": pa.array(np.array(["F", "M"])[chance.integers(0, 2, total)]),
            "ill": pa.array(
                np.array(["flu", "gout", "cold"])[np.minimum(chance.geometric(0.5, total), 3) - 1]
            ),
            "pay": chance.integers(0, 3, total),
        }
    )


SCHEMA = sf.Schema(
    quasi=["age", "zip", "sex"],
    sensitive=["ill", "pay"],
    hierarchies={"age": sf.intervals([4]), "zip": sf.mask()},
)


def beyond(table: sf.Table, most: int = 3, engine: Engine | None = None) -> sf.Table:
    """The same table, of which no more than `most` tuples may be in memory at a time."""
    counts = table.counts
    columns = {f"q{place}": pa.array(row) for place, row in enumerate(counts.codes)}
    columns |= {f"s{place}": pa.array(row) for place, row in enumerate(counts.values)}
    if counts.protect is not None:
        columns["p"] = pa.array(counts.protect[1])
    columns["n"] = pa.array(counts.n)
    if counts.weights is not None:
        columns["w"] = pa.array(counts.weights)
    door: Any = engine or DuckDB(Reading(threads=1))
    name = fresh("tuples")
    door.append(name, pa.table(columns))
    held = StoredCounts(
        door,
        name,
        counts.quasi,
        counts.sensitive,
        labels=counts.protect[0] if counts.protect is not None else None,
        weighted=counts.weights is not None,
        extra_memberships=counts.extra_memberships,
    )
    # Half of what we may take is for a batch of tuples.
    door.memory = 2 * most * bytes_for(1, len(held.columns))
    return replace(table, counts=held, engine=door)


def told(release: Release) -> Counter[Any]:
    """What a release publishes and counts, group by group, whatever their order."""
    return Counter(
        (
            tuple(sorted(release.regions.describe(group).items())),
            int(release.groups.sizes[group]),
            tuple(
                (name, tuple(sorted(groups.counts_of(group).items())))
                for name, groups in release.by_attribute.items()
            ),
        )
        for group in range(len(release.groups))
    )


def placed(release: Release, table: sf.Table) -> list[Group]:
    """Who is in which group, by what the groups publish: strict cells are disjoint."""
    regions = [regions_of(release, group) for group in range(len(release.groups))]
    groups: list[Group] = [[] for _ in regions]
    for person in everybody(table):
        (at,) = [g for g, cell in enumerate(regions) if lies_inside(table, person, cell)]
        groups[at].append(person)
    return groups


def patients(seed: int) -> dict[str, Any]:
    """People of several rows each, with lists, weights, counts and missing cells."""
    chance = Random(seed)
    total = 300
    return {
        "who": [f"p{chance.randint(1, 120)}" for _ in range(total)],
        "age": [chance.choice([20, 21, 35, None]) for _ in range(total)],
        "job": [chance.choice(["nurse", "smith", "", "o'neil", 'a "b"']) for _ in range(total)],
        "ill": [chance.choice(["flu", "gout", None]) for _ in range(total)],
        "pay": [chance.choice([1.5, 2.0, -0.0]) for _ in range(total)],
        "had": [
            chance.choice([None, [], ["x"], ["y", "x"], ["x", None], ["x", "x"]])
            for _ in range(total)
        ],
        "w": [chance.randint(1, 9) / 2 for _ in range(total)],
        "c": [chance.randint(0, 3) for _ in range(total)],
        "hide": [chance.choice(["flu", None]) for _ in range(total)],
    }


SCHEMAS = {
    "plain": {"quasi": ["age", "job"], "sensitive": "ill"},
    "nobody sensitive": {"quasi": ["age", "job"]},
    "two": {"quasi": ["age"], "sensitive": ["ill", "pay"], "weight": "w"},
    "counted": {"quasi": ["job", "age"], "sensitive": "ill", "count": "c", "protect": "hide"},
    "lists": {"quasi": ["job"], "sensitive": ["had", "ill"]},
    "multisets": {"quasi": ["job"], "sensitive": ["had"], "several": "multiset"},
    "people": {"quasi": ["age"], "sensitive": ["ill", "had"], "person": "who", "weight": "w"},
    "people, multisets": {
        "quasi": ["age"],
        "sensitive": "ill",
        "person": "who",
        "several": "multiset",
    },
}


def same(one: Counts, other: Counts) -> None:
    """Equal tuple by tuple, in the same order."""
    assert one.quasi == other.quasi
    assert [a.domain for a in one.sensitive] == [a.domain for a in other.sensitive]
    for mine, theirs in zip(one.sensitive, other.sensitive, strict=True):
        assert (mine.sets is None) == (theirs.sets is None)
        if mine.sets is not None and theirs.sets is not None:
            assert mine.sets.members.tolist() == theirs.sets.members.tolist()
            assert mine.sets.offsets.tolist() == theirs.sets.offsets.tolist()
        assert mine.case == theirs.case
    assert one.codes.tolist() == other.codes.tolist()
    assert one.values.tolist() == other.values.tolist()
    assert one.n.tolist() == other.n.tolist()
    assert one.extra_memberships == other.extra_memberships
    if one.weights is not None:
        assert one.weights == pytest.approx(other.weights)
    if one.protect is not None:
        assert other.protect is not None
        assert one.protect[1].tolist() == other.protect[1].tolist()
