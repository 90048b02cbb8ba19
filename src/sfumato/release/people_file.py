"""Who is in which group of a release, kept in private/ for whoever judges it again.

Some criteria ask what could be learnt of a *person* (composition), and what is published does
not say who is in which group. Kept are exact quasi-identifiers, what is published of them, and
how many people have both; no sensitive value. It counts only for the very files it was written
with, whose hashes it holds, and only if it has as many people in every group as they show.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.counts.counts import Counts
from sfumato.errors import InputError
from sfumato.numbers import Codes
from sfumato.release.beside import Inside
from sfumato.release.made import Placement
from sfumato.release.release import Release
from sfumato.release.write.cells import shown_regions, typed
from sfumato.schema.domain import Domain, build_domain
from sfumato.schema.region import Region, Span, text_of

PEOPLE = "people.parquet"
_HEAD = b"sfumato people"
_N = "people"


def write_people(release: Release, private: Path, files: Mapping[str, str]) -> None:
    """Keep who is in which group of a release just made; buckets publish it themselves."""
    placement, regions = release.placement, release.regions.each_region
    if not isinstance(placement, Placement) or regions is None:
        return
    kept = placement.groups >= 0
    tuples, groups, counts = placement.tuples[kept], placement.groups[kept], placement.counts
    columns: dict[str, Any] = {}
    for place, (domain, codes) in enumerate(zip(counts.quasi, counts.codes, strict=True)):
        columns[f"exact {place}"] = typed(domain.values, None).take(pa.array(codes[tuples]))
    for place, name in enumerate(regions.columns):
        declared, codes = release.schema.domains.get(name), regions.codes[place]
        cells = shown_regions(regions.parts[place], codes, declared).to_pylist()
        texts = pa.array([_text(cell) for cell in cells], pa.string())
        columns[f"shown {place}"] = texts.take(pa.array(codes[groups]))
    rows = pa.table({**columns, _N: pa.array(placement.n[kept].astype(np.int64))})
    summed = rows.group_by(list(columns)).aggregate([(_N, "sum")])
    summed = summed.rename_columns([*columns, _N]).sort_by(
        [(name, "ascending") for name in columns]
    )
    head = {"files": dict(files), "columns": [domain.name for domain in counts.quasi]}
    people = summed.replace_schema_metadata({_HEAD: json.dumps(head).encode()})
    pq.write_table(people, private / PEOPLE)


def read_people(
    path: Path,
    release: Release,
    published: Placement,
    files: Mapping[str, str],
    codes_beside: Mapping[str, Sequence[str]],
) -> Inside:
    """Who is in which group of a release that was read back.

    `published`: the tuples that were read; `files` as the manifest lists them; `codes_beside`: the
    special codes of columns.
    """
    rows, head = opened_evidence(path, _HEAD)
    regions = release.regions.require_regions()
    if head.get("files") != dict(files):
        raise InputError(f"{path} was written for other data; restore it, or remove it")
    names = [
        f"{side} {place}" for side in ("exact", "shown") for place in range(len(regions.parts))
    ]
    plain = rows.schema.names == [*names, _N] and pa.types.is_integer(rows.schema.field(_N).type)
    if not plain or head.get("columns") != list(regions.columns):
        raise InputError(f"{path} has other columns than the release; restore it, or remove it")
    group = _groups(rows, published)
    n = rows.column(_N).to_numpy()
    counts_fit = rows.column(_N).null_count == 0 and (n > 0).all() and (group >= 0).all()
    if (
        not counts_fit
        or (
            np.bincount(group, weights=n, minlength=len(release.groups)) != release.groups.sizes
        ).any()
    ):
        raise InputError(f"{path} does not fit the published data; restore it, or remove it")
    domains, codes = [], []
    for place, name in enumerate(regions.columns):
        coded = rows.column(f"exact {place}").combine_chunks().dictionary_encode("encode")
        specials = codes_beside.get(name, ())
        domain, code_of = build_domain(
            name, coded.dictionary, untyped=bool(specials), specials=specials
        )
        domains.append(domain)
        codes.append(code_of[coded.indices.to_numpy()])
        _check_inside(path, domain, codes[-1], regions.parts[place], regions.codes[place][group])
    nothing = np.zeros((0, len(n)), dtype=np.int32)
    counts = Counts(tuple(domains), (), np.vstack(codes).astype(np.int32), nothing, n)
    order = np.argsort(group, kind="stable")
    indptr = np.searchsorted(group[order], np.arange(len(release.groups) + 1)).astype(np.int64)
    return Inside(counts, indptr, order, n[order])


def opened_evidence(path: Path, key: bytes) -> tuple[pa.Table, dict[str, Any]]:
    """What a file of private/ holds, and what it says under `key` that it was written for."""
    try:
        rows = pq.read_table(path)
        rows.validate(full=True)
        head = json.loads((rows.schema.metadata or {})[key])
    except (pa.ArrowException, OSError, KeyError, ValueError, RecursionError):
        head = None
    if not isinstance(head, dict):
        raise InputError(f"{path} is broken; restore it, or remove it")
    return rows, head


def _check_inside(
    path: Path, domain: Domain, exact: Codes, parts: Sequence[Region], part_of: Codes
) -> None:
    """Refuse people who lie outside the ranges that are published of them."""
    for value, place in {*zip(exact.tolist(), part_of.tolist(), strict=True)}:
        if isinstance(parts[place], Span) and not parts[place].contains(domain.values[value]):
            raise InputError(f"{path} does not fit the published data; restore it, or remove it")


def _groups(rows: pa.Table, published: Placement) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The group of each row by what is published of it; -1 where no group shows that."""
    counts = published.counts
    texts_of = [
        [_text(domain.values[code]) for code in row]
        for domain, row in zip(counts.quasi, counts.codes, strict=True)
    ]
    of_cells = dict(zip(zip(*texts_of, strict=True), published.groups.tolist(), strict=True))
    cells = [rows.column(f"shown {place}").to_pylist() for place in range(len(counts.quasi))]
    groups = [of_cells.get(texts, -1) for texts in zip(*cells, strict=True)]
    return np.array(groups, dtype=np.int64)


def _text(cell: Any) -> str | None:
    return None if cell is None else text_of(cell)
