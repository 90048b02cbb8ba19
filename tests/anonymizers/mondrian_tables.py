"""Small random tables for Mondrian, and criteria to split them by."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import Any, cast

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.criteria.base import Criterion

COLUMNS: dict[str, tuple[list[Any], pa.DataType]] = {
    "age": ([20, 21, 25, 33, 60, None], pa.int64()),
    "height": ([1.5, 1.75, 2.0], pa.float64()),
    "born": ([dt.date(1980, 5, 1), dt.date(1980, 9, 9), dt.date(1991, 1, 1), None], pa.date32()),
    "grade": (["low", "mid", "high", None], pa.string()),
    "city": (["a", "b", "c", None], pa.string()),
    "job": (["nurse", "doctor", "baker", "smith", None], pa.string()),
    "zip": (["111", "112", "121", "211", None], pa.string()),
    "code": ([11, 12, 21, 35], pa.int64()),
}


HIERARCHIES = {
    "age": sf.intervals([5, 20], top=50),
    "born": sf.dates("year", "decade"),
    "job": sf.taxonomy(
        {"nurse": "care", "doctor": "care", "vet": "care", "baker": "craft", "smith": "craft"}
    ),
    "zip": sf.mask(),
    "code": sf.mask(),
}


DISEASES = ["cold", "flu", "gout", "hiv"]


TABLES = 60


@lru_cache(maxsize=2 * TABLES)
def small_table(
    seed: int, several: bool = False, columns: tuple[str, ...] = tuple(COLUMNS)
) -> sf.Table:
    """Two to four columns of any kind, up to forty people, one sensitive column."""
    chance = Random(seed)
    names = chance.sample(columns, chance.randint(2, 4))
    lean = chance.random()

    def disease() -> Any:
        one = DISEASES[0] if chance.random() < lean else chance.choice(DISEASES)
        return chance.sample(DISEASES, chance.randint(1, 3)) if several else one

    kinds = [
        [chance.choice(COLUMNS[name][0]) for name in names] for _ in range(chance.randint(2, 16))
    ]
    people = [[*kind, disease()] for kind in kinds for _ in range(chance.choice([1, 1, 2, 6]))]
    types = [COLUMNS[name][1] for name in names]
    types.append(pa.list_(pa.string()) if several else pa.string())
    arrays = [pa.array(list(c), t) for c, t in zip(zip(*people, strict=True), types, strict=True)]
    hierarchies = {n: h for n, h in HIERARCHIES.items() if n in names and chance.random() < 0.8}
    schema = sf.Schema(
        quasi=names,
        sensitive="disease",
        hierarchies=hierarchies,
        domains={"disease": DISEASES}
        | ({"grade": ["none", "low", "mid", "high"]} if "grade" in names else {}),
    )
    table = sf.read(pa.table(dict(zip([*names, "disease"], arrays, strict=True))), schema)
    # Nothing here goes back to the rows; a kept connection for each table would pile up.
    return replace(table, engine=cast(Any, None))


CRITERIA: dict[str, list[list[Criterion]]] = {
    "k": [[sf.KAnonymity(k)] for k in (1, 2, 3, 5)],
    "k, distinct l": [
        [sf.KAnonymity(2), sf.DistinctDiversity(2)],
        [sf.KAnonymity(4), sf.DistinctDiversity(3)],
    ],
    "t-closeness": [
        [sf.TCloseness(0.2)],
        [sf.TCloseness(0.4, distance="ordered"), sf.KAnonymity(2)],
        [sf.BetaLikeness(1)],
    ],
    "entropy l": [
        [sf.EntropyDiversity(1.5)],
        [sf.EntropyDiversity(2), sf.RecursiveDiversity(2, 2)],
    ],
    "alpha, k": [[sf.AlphaK(0.6, 2)], [sf.AlphaK(0.8, 3), sf.DistinctDiversity(2)]],
}


def some_order(seed: int) -> Any:
    """Priorities nobody would think of, but always the same."""

    def order(widths: np.ndarray, people: np.ndarray) -> np.ndarray:
        return np.cos(seed + 7 * np.arange(widths.shape[1]) + people[:, None]) - widths

    return order


def some_search(table: sf.Table, draw: int) -> dict[str, Any]:
    """An order of columns: the widest, by gain about some column, or any."""
    names = [domain.name for domain in table.counts.quasi]
    return [
        {},
        {"order": "gain", "target": "disease"},
        {"order": "gain", "target": names[draw % len(names)]},
        {"order": some_order(draw)},
    ][draw % 4]
