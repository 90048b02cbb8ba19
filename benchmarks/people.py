"""A synthetic population of any size as Parquet: 8 quasi-identifiers and 9 sensitive values.

Shaped like a census extract: skewed ages, regions, countries and jobs, some correlated, so that the
number of distinct quasi-identifier combinations goes on growing with the rows.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf

CHUNK = 1_000_000
EDUCATION = 16
COUNTRIES = 40
REGIONS = 100
JOBS = 9
QUASI = ("age", "sex", "race", "marital", "education", "workclass", "country", "region")


def schema() -> sf.Schema:
    """Roles only: every column is cut between its values."""
    return sf.Schema(quasi=list(QUASI), sensitive="job")


def write(path: Path, rows: int, seed: int = 0) -> Path:
    """Write the file unless it is there."""
    if path.exists() and pq.ParquetFile(path).metadata.num_rows == rows:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, _chunk(1, np.random.default_rng(seed)).schema) as writer:
        for start in range(0, rows, CHUNK):
            chance = np.random.default_rng([seed, start])
            writer.write_table(_chunk(min(CHUNK, rows - start), chance))
    return path


def _chunk(rows: int, chance: np.random.Generator) -> pa.Table:
    age = 17 + np.minimum(chance.gamma(3.0, 10.0, rows), 73).astype(np.int64)
    education = _skewed(chance, rows, EDUCATION, 0.7)
    # Jobs lean on education, marital status on age; nobody is left without a chance.
    job = np.where(
        chance.random(rows) < 0.5, (education * JOBS) // EDUCATION, _skewed(chance, rows, JOBS, 0.6)
    )
    marital = np.where(chance.random(rows) < 0.6, (age > 30) * 1 + (age > 60) * 1, 0)
    marital = np.where(chance.random(rows) < 0.3, _skewed(chance, rows, 7, 0.5), marital)
    return pa.table(
        {
            "age": pa.array(age),
            "sex": _labels(chance.integers(0, 2, rows), ["F", "M"]),
            "race": _labels(_skewed(chance, rows, 5, 1.2), [f"race {i}" for i in range(5)]),
            "marital": _labels(marital, [f"status {i}" for i in range(7)]),
            "education": pa.array(education),
            "workclass": _labels(_skewed(chance, rows, 8, 0.9), [f"class {i}" for i in range(8)]),
            "country": _labels(
                _skewed(chance, rows, COUNTRIES, 1.5), [f"country {i:02}" for i in range(COUNTRIES)]
            ),
            "region": _labels(
                _skewed(chance, rows, REGIONS, 0.5), [f"R{i:02}" for i in range(REGIONS)]
            ),
            "job": _labels(job, [f"job {i}" for i in range(JOBS)]),
        }
    )


def _skewed(
    chance: np.random.Generator, rows: int, size: int, power: float
) -> npt.NDArray[np.int64]:
    """Zipf-like codes 0..size-1."""
    weights = 1.0 / np.arange(1, size + 1) ** power
    edges = np.cumsum(weights / weights.sum())
    return np.minimum(np.searchsorted(edges, chance.random(rows)), size - 1)


def _labels(codes: npt.NDArray[np.int64], labels: list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), labels).cast(pa.string())


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
