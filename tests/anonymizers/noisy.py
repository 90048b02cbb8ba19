"""A small table whose every value is declared, and ways to change one person of it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pyarrow as pa

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.noise import Noise
from sfumato.release.release import Release

CITIES, DISEASES = ("ulm", "bonn", "kiel"), ("flu", "cold", "gout", "hiv")
Person = tuple[int | None, str | None, str | None]


def schema(**changes: Any) -> sf.Schema:
    roles: dict[str, Any] = {
        "quasi": ["age", "city"],
        "sensitive": "disease",
        "hierarchies": {
            "age": sf.intervals([10, 20], bottom=20, top=60),
            "city": sf.taxonomy({"ulm": "south", "bonn": "north", "kiel": "north"}),
        },
        "domains": {"disease": list(DISEASES)},
    }
    return sf.Schema(**{**roles, **changes})


def people(count: int = 300, seed: int = 0) -> list[Person]:
    """Nobody has hiv, nobody is missing anything, nobody is under 20."""
    chance = Random(seed)
    return [
        (chance.randrange(20, 70), chance.choice(CITIES), chance.choice(DISEASES[:3]))
        for _ in range(count)
    ]


def read(rows: Sequence[Person], **changes: Any) -> sf.Table:
    age, city, disease = zip(*rows, strict=True)
    source = pa.table({"age": pa.array(age, pa.int64()), "city": city, "disease": disease})
    return sf.read(source, schema(**changes))


LEVELS = {"age": 1, "city": 1}


def noise(epsilon: float = 1.0, **options: Any) -> Noise:
    return Noise(epsilon, **{"levels": LEVELS, **options})


def release(table: sf.Table, anonymizer: Noise, seed: int = 0) -> Release:
    bound = sf.DifferentialPrivacy(
        anonymizer.epsilon, anonymizer.delta, neighbours=anonymizer.neighbours
    )
    return anonymizer.run(Task(table, (bound,), seed=seed))


def cells(made: Release) -> list[tuple[Any, ...]]:
    """The published cells in their order, without how many people are in each."""
    return [tuple(row.values()) for row in made.to_arrow().drop(["count"]).to_pylist()]
