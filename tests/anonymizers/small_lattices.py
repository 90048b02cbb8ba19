"""Small random tables with small lattices, and all sorts of criteria to search them by."""

from __future__ import annotations

import datetime as dt
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.base import (
    Criterion,
)
from tests.criteria.toy_criteria import FewGroups, FewValues, SmallGroups

BUDGET = 1_000_000


COLUMNS: dict[str, tuple[list[Any], pa.DataType]] = {
    "age": ([21, 23, 26, 34, 37, 50, 70, None], pa.int64()),
    "zip": (["11", "12", "21", "22", None], pa.string()),
    "city": (["a", "b", "c", "d", None], pa.string()),
    "sex": (["F", "M", None], pa.string()),
    "born": ([dt.date(1978, 3, 1), dt.date(1979, 9, 9), dt.date(1983, 1, 1), None], pa.date32()),
}


HIERARCHIES = {
    "age": sf.intervals([5, 10], top=50),
    "zip": sf.mask(),
    "city": sf.taxonomy({"a": "x", "b": "y", "c": "x", "d": "y", "e": "x"}),
    "sex": sf.suppression(),
    "born": sf.dates("year", "decade"),
}


DISEASES = ["flu", "gout", "cold", "hiv"]


TABLES = 30


def small_data(seed: int) -> tuple[pa.Table, sf.Schema]:
    """Three or four columns of two to five values, up to forty people, two sensitive columns."""
    chance = Random(seed)
    names = chance.sample(list(COLUMNS), chance.choice([3, 3, 4]))
    if {"age", "born"} <= set(names) and len(names) == 4:
        names.remove("born")  # keeps the lattice under a hundred nodes
    domains = {
        name: chance.sample(COLUMNS[name][0], min(chance.randint(2, 5), len(COLUMNS[name][0])))
        for name in names
    }
    kinds = [
        [
            *(chance.choice(domains[name]) for name in names),
            chance.choice(DISEASES),
            chance.choice("pq"),
        ]
        for _ in range(chance.randint(4, 14))
    ]
    rows = [kind for kind in kinds for _ in range(chance.choice([1, 1, 2, 5]))]
    types = [*(COLUMNS[name][1] for name in names), pa.string(), pa.string()]
    arrays = [pa.array(list(c), t) for c, t in zip(zip(*rows, strict=True), types, strict=True)]
    schema = sf.Schema(
        quasi=names,
        sensitive=["disease", "job"],
        hierarchies={name: HIERARCHIES[name] for name in names},
        domains={"disease": DISEASES},
    )
    return pa.table(dict(zip([*names, "disease", "job"], arrays, strict=True))), schema


UPWARD = [sf.KAnonymity(k) for k in (2, 3, 5)] + [
    sf.DistinctDiversity(2),
    sf.DistinctDiversity(3, sensitive="disease"),
]


MERGING = [
    sf.EntropyDiversity(1.5),
    sf.EntropyDiversity(2, sensitive="disease"),
    sf.RecursiveDiversity(2, 2),
    sf.RecursiveDiversity(3, 3, sensitive="disease"),
    sf.TCloseness(0.3),
    sf.TCloseness(0.25, distance="ordered", sensitive="disease"),
    sf.AlphaK(0.7, 3),
    sf.BetaLikeness(1),
    sf.DeltaDisclosure(1, sensitive="job"),
]


NEITHER: list[Criterion] = [FewValues(2), FewValues(3, sensitive="disease"), SmallGroups(8)]


WHOLE: list[Criterion] = [FewGroups(1), FewGroups(3), FewGroups(6)]


def some(*pools: list[Any]) -> st.SearchStrategy[list[Criterion]]:
    """One criterion of each pool, and perhaps one that is upward closed."""
    drawn = st.tuples(*(st.sampled_from(pool) for pool in pools))
    return st.tuples(drawn, st.lists(st.sampled_from(UPWARD), max_size=1)).map(
        lambda pair: [*pair[0], *pair[1]]
    )


KINDS = {
    "upward closed": some(UPWARD),
    "merge closed": some(MERGING),
    "not closed": some(NEITHER),
    "of the release": some(WHOLE),
    "mixed": some(MERGING, NEITHER) | some(MERGING, WHOLE) | some(MERGING, MERGING),
}
