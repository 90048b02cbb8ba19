"""Who is in which group of a release, kept in private/ for whoever judges it again.

Some criteria ask what could be learnt of a *person* (composition), and what is published does not
say who is in which group. Kept are exact quasi-identifiers, what is published of them, and how many
people have both; no sensitive value. It counts only for the very files it was written with, whose
hashes it holds, and only if it has as many people in every group as they show.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.counts.counts import Counts
from sfumato.errors import InputError
from sfumato.release.membership import Inside
from sfumato.release.origin import HeldOrigin
from sfumato.release.regions import Regions
from sfumato.release.release import Release
from sfumato.release.write.cells import shown_regions, typed
from sfumato.schema.domain import build_domain
from sfumato.schema.region import text_of

PEOPLE = "people.parquet"
_HEAD = b"sfumato people"
_N = "people"


def write_people(release: Release, private: Path, files: Mapping[str, str]) -> None:
    """Keep who is in which group of a release just made; buckets publish it themselves."""
    origin, regions = release.origin, release.regions
    if origin is None or isinstance(origin, HeldOrigin) or not isinstance(regions, Regions):
        return
    kept = origin.groups >= 0
    tuples, groups, counts = origin.tuples[kept], origin.groups[kept], origin.counts
    columns: dict[str, Any] = {}
    for place, (domain, codes) in enumerate(zip(counts.quasi, counts.codes, strict=True)):
        columns[f"exact {place}"] = typed(domain.values, None).take(pa.array(codes[tuples]))
    for place, name in enumerate(regions.columns):
        declared, codes = release.schema.domains.get(name), regions.codes[place]
        cells = shown_regions(regions.parts[place], codes, declared).to_pylist()
        texts = pa.array([_text(cell) for cell in cells], pa.string())
        columns[f"shown {place}"] = texts.take(pa.array(codes[groups]))
    rows = pa.table({**columns, _N: pa.array(origin.n[kept].astype(np.int64))})
    summed = rows.group_by(list(columns)).aggregate([(_N, "sum")])
    summed = summed.rename_columns([*columns, _N]).sort_by(
        [(name, "ascending") for name in columns]
    )
    head = {"files": dict(files), "columns": [domain.name for domain in counts.quasi]}
    told = summed.replace_schema_metadata({_HEAD: json.dumps(head).encode()})
    pq.write_table(told, private / PEOPLE)


def read_people(path: Path, release: Release, files: Mapping[str, str]) -> Inside:
    """Who is in which group of a release that was read back; `files` as its manifest lists them."""
    try:
        rows = pq.read_table(path)
        head = json.loads((rows.schema.metadata or {})[_HEAD])
    except (pa.ArrowInvalid, KeyError, ValueError):
        raise InputError(f"{path} is broken; restore it, or remove it") from None
    if head["files"] != dict(files):
        raise InputError(f"{path} was written for other data; restore it, or remove it")
    group = _groups(rows, release)
    n = rows.column(_N).to_numpy()
    people = np.bincount(group[group >= 0], weights=n[group >= 0], minlength=len(release.groups))
    if (group < 0).any() or (people != release.groups.sizes).any():
        raise InputError(f"{path} does not fit the published data; restore it, or remove it")
    domains, codes = [], []
    for place, name in enumerate(head["columns"]):
        coded = rows.column(f"exact {place}").combine_chunks().dictionary_encode("encode")
        domain, code_of = build_domain(name, coded.dictionary, untyped=False)
        domains.append(domain)
        codes.append(code_of[coded.indices.to_numpy()])
    nothing = np.zeros((0, len(n)), dtype=np.int32)
    counts = Counts(tuple(domains), (), np.vstack(codes).astype(np.int32), nothing, n)
    order = np.argsort(group, kind="stable")
    indptr = np.searchsorted(group[order], np.arange(len(release.groups) + 1)).astype(np.int64)
    return Inside(counts, indptr, order, n[order])


def _groups(rows: pa.Table, release: Release) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The group of each row by what is published of it; -1 where no group shows that."""
    read = release.counted
    assert read is not None
    counts = read.counts
    shown = [
        [_text(domain.values[code]) for code in row]
        for domain, row in zip(counts.quasi, counts.codes, strict=True)
    ]
    of_cells = dict(zip(zip(*shown, strict=True), read.groups.tolist(), strict=True))
    cells = [rows.column(f"shown {place}").to_pylist() for place in range(len(counts.quasi))]
    found = [of_cells.get(texts, -1) for texts in zip(*cells, strict=True)]
    return np.array(found, dtype=np.int64)


def _text(cell: Any) -> str | None:
    return None if cell is None else text_of(cell)
