"""Who lives together among the published people, kept in private/ for whoever judges it again.

Households are not published, and whoever finds one member finds all: what criteria of households
say of a release takes who of a household is in which group. People, households and people with
equal quasi-identifiers are numbers in an order drawn by chance, beside what is published of them;
nobody's name, no household's and no value that is not published is kept. It counts only for the
very files it was written with, whose hashes it holds, and only if it has as many people in every
group as they show.

Of rows published one by one it holds how many rows of each person lie in which groups. Her number
is not the one beside her rows in private/: nobody but by those groups is found there, and people
whose rows lie in the same groups, who are at the same risk, are told apart by nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.errors import InputError
from sfumato.numbers import Ints, rows_of, sums_by, taken_rows, tallied_offsets
from sfumato.release.beside import OwnedRows, PlacedMembers
from sfumato.release.description import Regions
from sfumato.release.made import MadeHere, Placement, ReadFrom
from sfumato.release.people_file import opened_evidence
from sfumato.release.release import Release
from sfumato.release.signatures import Signatures
from sfumato.release.write.cells import shown_regions
from sfumato.schema.region import text_of

HOUSEHOLDS = "households.parquet"
_HEAD = b"sfumato households"
_NUMBERS = ("person", "household", "kind")
_PEOPLE, _ROWS = "people", "rows"  # of a kind in a group; of a person there
_CELLS = "shown"


def placed_members(release: Release) -> PlacedMembers | None:
    """Who lives together, and in which groups they are; None where nobody knows."""
    made = release.made
    if isinstance(made, ReadFrom) and made.households is not None:
        return made.households
    placed = (release.by_row or release).counted_from
    if not isinstance(placed, Placement) or placed.table.households is None:
        return None
    members = placed.table.households
    if (rows := _owned_rows(release)) is not None:
        return PlacedMembers.of_rows(rows, members.household)
    if not isinstance(release.regions, Signatures):
        return PlacedMembers.of(members, placed.inside(len(release.groups)))
    published = np.flatnonzero(placed.groups >= 0)
    kind = release.regions.signature_by_row[placed.groups[published]]
    signature = np.arange(len(release.regions))
    return PlacedMembers(
        members.person[published],
        kind,
        members.household,
        signature,
        signature,
        release.regions.people,
    )


def _owned_rows(release: Release) -> OwnedRows | None:
    placed = release.counted_from
    return placed.owned_rows if isinstance(placed, Placement) else None


def write_households(
    release: Release, private: Path, files: Mapping[str, str], seed: int | None
) -> None:
    """Keep who lives together of a release just made, where its table says so."""
    made = release.made
    if not isinstance(made, MadeHere) or (placed := placed_members(release)) is None:
        return
    person, kind, _ = _distinct(placed.person, placed.kind)
    of_kind, group, pair_of = _distinct(placed.placed, placed.group)
    people = sums_by(pair_of, placed.n, len(group))  # of whatever value
    first = np.searchsorted(of_kind, np.arange(placed.kinds + 1))
    ends, places = taken_rows(first.astype(np.int64), kind)
    member = rows_of(ends)
    chance = np.random.default_rng(made.seed if seed is None else seed)
    person = person[member]
    numbers = (person, placed.household[person], kind[member])
    columns: dict[str, Any] = {
        name: pa.array(_shuffled(number, chance))
        for name, number in zip(_NUMBERS, numbers, strict=True)
    }
    columns[_counted(release)] = pa.array(people[places].astype(np.int64))
    cells_of_group = pa.array(_cells_when_made(release), pa.string())
    columns[_CELLS] = cells_of_group.take(pa.array(group[places]))
    rows = pa.table(columns).sort_by([(name, "ascending") for name in ("person", "kind", _CELLS)])
    head = {_HEAD: json.dumps({"files": dict(files)}).encode()}
    pq.write_table(rows.replace_schema_metadata(head), private / HOUSEHOLDS)


def _counted(release: Release) -> str:
    return _ROWS if release.schema.rows == "unlinked" else _PEOPLE


def _distinct(first: Ints, second: Ints) -> tuple[Ints, Ints, Ints]:
    """The pairs there are, in order, and which of them each is."""
    width = int(second.max(initial=-1)) + 1
    pairs, pair_of = np.unique(first * width + second, return_inverse=True)
    return *np.divmod(pairs, max(width, 1)), pair_of.ravel()


def _shuffled(number: Ints, chance: np.random.Generator) -> Ints:
    """Numbers 0, 1, 2, ... instead, of which nobody can tell in which order they were."""
    values, place = np.unique(number, return_inverse=True)
    return chance.permutation(len(values))[place.ravel()].astype(np.int64)


def read_households(path: Path, release: Release, files: Mapping[str, str]) -> PlacedMembers | None:
    """Who lives together of a release that was read back; None where groups cannot be told apart.

    `files` as the manifest lists them.
    """
    owned = _owned_rows(release)
    cells_of_group = _cells_when_read(release)
    if cells_of_group is None or (owned is None and release.groups.owners_unknown):
        return None
    numbers = (*_NUMBERS, _counted(release))
    rows = _opened(path, files, numbers)
    person, household, kind, n = (rows.column(name).to_numpy() for name in numbers)
    group_of = {text: group for group, text in enumerate(cells_of_group)}
    texts = rows.column(_CELLS).combine_chunks().dictionary_encode()
    known = [group_of.get(text, -1) for text in texts.dictionary.to_pylist()]
    group = np.array(known, dtype=np.int64)[texts.indices.to_numpy()]
    misfit = InputError(f"{path} does not fit the published data; restore it, or remove it")
    for number in (person, household, kind):
        if ((number < 0) | (number >= len(rows))).any():
            raise misfit
    most = len(rows) if owned is None else len(owned.group)
    if (group < 0).any() or ((n <= 0) | (n > most)).any():
        raise misfit
    of_person = np.zeros(int(person.max(initial=-1)) + 1, dtype=np.int64)
    of_person[person] = household
    member, member_kind, _ = _distinct(person, kind)
    placed, placed_group, pair_of = _distinct(kind, group)
    people = np.zeros(len(placed), dtype=np.int64)
    people[pair_of] = n
    if (of_person[person] != household).any() or (people[pair_of] != n).any():
        raise misfit
    read = PlacedMembers(member, member_kind, of_person, placed, placed_group, people)
    if owned is not None:
        if (beside_rows := _beside_rows(read, owned)) is None:
            raise misfit
        return beside_rows
    members = np.bincount(member_kind)  # those of a kind who are suppressed are among them
    if (sums_by(placed_group, people, len(cells_of_group)) != release.groups.sizes).any() or (
        sums_by(placed, people, len(members)) > members
    ).any():
        raise misfit
    return read


def _beside_rows(read: PlacedMembers, owned: OwnedRows) -> PlacedMembers | None:
    """The same of the people whose rows were read: somebody with as many rows in the same groups.

    None if they are not those people.
    """
    if len(np.unique(read.person)) < len(read.person):  # of several kinds
        return None
    ends, places = taken_rows(tallied_offsets(read.placed, read.kinds), read.kind)
    lengths = read.n[places]
    rows = OwnedRows(
        np.repeat(read.person[rows_of(ends)], lengths), np.repeat(read.group[places], lengths)
    )
    if len(rows.group) != len(owned.group):
        return None
    kept = PlacedMembers.of_rows(rows, read.household)
    there = PlacedMembers.of_rows(owned, read.household)
    same = ("placed", "group", "n")  # which rows each kind of people has
    if not all(np.array_equal(getattr(kept, name), getattr(there, name)) for name in same):
        return None
    if not np.array_equal(np.bincount(kept.kind), np.bincount(there.kind)):
        return None
    household = np.zeros(int(there.person.max(initial=-1)) + 1, dtype=np.int64)
    in_order = (np.argsort(members.kind, kind="stable") for members in (there, kept))
    place, from_place = in_order
    household[there.person[place]] = read.household[kept.person[from_place]]
    return replace(there, household=household)


def _opened(path: Path, files: Mapping[str, str], numbers: Sequence[str]) -> pa.Table:
    """What the file holds, if it was written for these files."""
    rows, head = opened_evidence(path, _HEAD)
    if head.get("files") != dict(files):
        raise InputError(f"{path} was written for other data; restore it, or remove it")
    types = [*[(name, pa.int64()) for name in numbers], (_CELLS, pa.string())]
    if not rows.schema.equals(pa.schema(types)) or any(part.null_count for part in rows.columns):
        raise InputError(f"{path} has other columns than it was written with; restore it")
    return rows


# What is published of a group, as one text: the same when it is made and when it is read back.


def _cells_when_made(release: Release) -> list[str]:
    if release.regions.buckets is not None:
        return _bucket_ids(release)
    rows = release.by_row or release
    regions = rows.regions.require_regions()
    return _by_group(release, _cells(regions, rows))


def _cells_when_read(release: Release) -> list[str] | None:
    if release.regions.buckets is not None:
        return _bucket_ids(release)
    placed = (release.by_row or release).counted_from
    if not isinstance(placed, Placement):
        return None
    counts = placed.counts
    groups, first = np.unique(placed.groups, return_index=True)
    tuples = placed.tuples[first[groups >= 0]]
    cells = [
        [_text(domain.values[code]) for code in codes[tuples]]
        for domain, codes in zip(counts.quasi, counts.codes, strict=True)
    ]
    return _by_group(release, cells)


def _cells(regions: Regions, rows: Release) -> list[list[str | None]]:
    """What each column shows of each group."""
    cells = []
    for name, parts, codes in zip(regions.columns, regions.parts, regions.codes, strict=True):
        texts = shown_regions(parts, codes, rows.schema.domains.get(name)).to_pylist()
        cells.append([_text(texts[code]) for code in codes])
    return cells


def _by_group(release: Release, cells: list[list[str | None]]) -> list[str]:
    """One text of a group: its cells, or those of all rows of a signature with how many there are
    of each."""
    texts = [json.dumps(row) for row in zip(*cells, strict=True)]
    described = release.regions
    if not isinstance(described, Signatures):
        return texts
    signatures, start = [], 0
    for low, high in zip(described.sets.offsets[:-1], described.sets.offsets[1:], strict=True):
        times = np.unique(described.sets.members[low:high], return_counts=True)[1]
        rows = zip(texts[start : start + len(times)], times.tolist(), strict=True)
        signatures.append(json.dumps(sorted(rows)))
        start += len(times)
    return signatures


def _bucket_ids(release: Release) -> list[str]:
    buckets = release.regions.buckets
    assert buckets is not None
    assert buckets.numbered is not None
    return [str(number) for number in buckets.numbered.ids.tolist()]


def _text(cell: Any) -> str | None:
    return None if cell is None else text_of(cell)
