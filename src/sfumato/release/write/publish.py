"""What a release looks like when it is handed out: tables without any trace of their making.

No identifiers, no row index, no column without a role, no original of a suppressed cell; rows in a
seeded random order, or sorted by what they show where the engine makes them (`by_engine.py`). A
bucketized release is two tables: exact quasi-identifiers with a group id, and the sensitive values
of each group, sorted. Group ids are numbers that say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.counts.counts import rank_rows
from sfumato.counts.value_sets import code_sets
from sfumato.errors import SchemaError
from sfumato.numbers import Ints, offsets_of, taken_rows
from sfumato.release.description import GROUP_ID, Buckets
from sfumato.release.linked import LinkedPlacement, LinkedRows, pseudonym_column
from sfumato.release.made import Placement, Randomised
from sfumato.release.noisy import COUNT, NoisyTable
from sfumato.release.release import Release
from sfumato.release.signatures import signatures_of
from sfumato.release.write.by_engine import engine_tables, made_to_publish
from sfumato.release.write.cells import (
    described_order,
    rows_of_people,
    shown_regions,
    shown_values,
    typed,
    used_values,
)
from sfumato.release.write.weights import mean_weights

OWNER = "whose row"  # of rows with a number for each one's person, which are never handed out


def rows_with_owners(release: Release, seed: int | None = None) -> pa.Table:
    """The published rows and a number of each one's person, for the owner's evidence.

    Survey weights, if they are published, are people's own there: a group's mean tells nobody's.
    What people protect is there and nowhere else. Where a pseudonym links rows it says whose they
    are, and there is no other number.
    """
    if release.by_row is None and OWNER in (name for _, name in release.schema.roles()):
        raise SchemaError(f"column {OWNER!r} has the name of the owners of rows; rename it")
    return tables_of(release, seed, owners=True)["data"]


def tables_of(
    release: Release,
    seed: int | None = None,
    lists: Mapping[str, str] | None = None,
    *,
    owners: bool = False,
) -> dict[str, pa.Table]:
    """The tables to hand out: {"data": ...}, or {"quasi": ..., "sensitive": ...} for buckets.

    `lists`: the columns whose several values are to be written as one text, and how. `owners`: with
    whose each row is, which is not to be handed out.
    """
    if isinstance(release.made, Randomised):
        return {"data": _noisy(release.made.table, seed)}
    made = made_to_publish(release)
    placement = made.placement
    if isinstance(placement, LinkedPlacement):
        drawn = made.seed if seed is None else seed
        return {"data": _linked(release, placement.linked, drawn, owners=owners)}
    if not isinstance(placement, Placement):
        with engine_tables(release, lists) as tables:
            return {name: rows.fetch() for name, rows in tables.items()}
    shuffle = np.random.default_rng(made.seed if seed is None else seed)
    if release.regions.buckets is not None:
        return _bucketized(release, release.regions.buckets, placement, shuffle)
    regions = release.regions.require_regions()
    people = _people(placement)
    counts = placement.counts
    kept = rows_of_people(placement.table, people.tuples, shuffle)
    value_codes = [counts.values[place][people.tuples] for place in range(len(counts.sensitive))]
    rank = described_order(regions)
    order = _shuffled([*_ranks(kept), *value_codes, rank[people.groups]], shuffle)
    columns: dict[str, Any] = {}
    declared = release.schema.domains
    for name, parts, codes in zip(regions.columns, regions.parts, regions.codes, strict=True):
        cells = shown_regions(parts, codes, declared.get(name))
        columns[name] = cells.take(pa.array(codes[people.groups[order]]))
    for place, attribute in enumerate(counts.sensitive):
        used = release.groups_for(attribute.name).indices
        form = (lists or {}).get(attribute.name)
        cells = shown_values(attribute, used, form, declared.get(attribute.name))
        columns[attribute.name] = cells.take(pa.array(value_codes[place][order]))
    for name, values in kept.items():
        columns[name] = values.take(pa.array(order))
    columns |= _weights(release, people.groups[order])
    if owners:
        assert counts.owner is not None
        placed = placement.tuples[placement.groups >= 0]
        places = taken_rows(offsets_of(counts.n), placed)[1]
        owner = counts.owner[places][order]
        columns[OWNER] = pa.array(owner)
        if counts.weights is not None and release.schema.weight in columns:
            columns[release.schema.weight] = pa.array(counts.weights[owner])
        if counts.protect is not None:
            protected, labels = counts.protect
            label = labels[np.repeat(placed, counts.n[placed])][order]
            columns[str(release.schema.protect)] = typed(protected.values, None).take(
                pa.array(label)
            )
    return {"data": pa.table(columns)}


def _weights(release: Release, groups: Ints) -> dict[str, pa.Array]:
    """The column of survey weights, if it is published by groups: the group's of each row."""
    schema = release.schema
    if schema.weight is None or schema.publish_weight != "group":
        return {}
    return {schema.weight: pa.array(mean_weights(release)[groups])}


def _linked(release: Release, linked: LinkedRows, seed: int, *, owners: bool) -> pa.Table:
    """Rows with pseudonyms: random numbers, which a new release draws anew, or keyed ones.

    `owners`: with what people protect, which is not to be handed out.
    """
    shuffle = np.random.default_rng(seed)
    places, pseudonym = linked.published, linked.published_pseudonym
    regions, rows = linked.regions.take(places), linked.rows
    value_codes = [codes[places] for codes in rows.values]
    # Pseudonyms are drawn for signatures with their values, in an order that is no table's.
    cells = rank_rows(regions.codes, [len(parts) for parts in regions.parts])[0]
    kept = None if rows.kept is None else rows.kept.take(places)
    stacked = [cells, *value_codes, *(() if kept is None else kept.codes)]
    content, _ = rank_rows(np.vstack(stacked), [int(row.max(initial=0)) + 1 for row in stacked])
    offsets = offsets_of(np.bincount(pseudonym))
    signature, _ = code_sets(offsets, content.astype(np.int32), repeated=True)
    sorted_people = np.argsort(signature, kind="stable")
    number = np.empty(len(signature), dtype=np.int64)
    number[sorted_people] = shuffle.permutation(len(signature)) + 1
    given = pa.array(np.arange(len(signature) + 1))
    if linked.table.keyed is not None:
        keyed = linked.keyed_pseudonyms(number)
        number = np.unique(keyed, return_inverse=True)[1].astype(np.int64)
        given = pa.array(sorted(keyed), pa.string())
    order = _shuffled([content, number[pseudonym]], shuffle)
    declared = release.schema.domains
    columns: dict[str, Any] = {
        pseudonym_column(release.schema): given.take(pa.array(number[pseudonym[order]]))
    }
    for name, parts, codes in zip(regions.columns, regions.parts, regions.codes, strict=True):
        cells_shown = shown_regions(parts, codes, declared.get(name))
        columns[name] = cells_shown.take(pa.array(codes[order]))
    for attribute, values in zip(rows.sensitive, value_codes, strict=True):
        shown_cells = shown_values(attribute, values, None, declared.get(attribute.name))
        columns[attribute.name] = shown_cells.take(pa.array(values[order]))
    columns |= {} if kept is None else kept.take(order).columns()
    signature_of = signatures_of(regions, pseudonym)[0]  # numbered as the release's groups are
    columns |= _weights(release, signature_of[pseudonym[order]].astype(np.int64))
    protect = rows.protected_by(rows.person[places[order]]) if owners else None
    if protect is not None:
        labels = typed(protect[0].values, None)
        columns[str(release.schema.protect)] = labels.take(pa.array(protect[1]))
    return pa.table(columns)


def _noisy(noisy: NoisyTable, seed: int | None) -> pa.Table:
    """Every cell with its count, those of nobody too, or as many rows as each cell counts."""
    cells = np.unravel_index(np.arange(len(noisy.counts)), [len(axis) for axis in noisy.axes])
    counted = {COUNT: pa.array(noisy.counts)} if noisy.form == "counts" else {}
    order = np.arange(len(noisy.counts))
    if noisy.form == "rows":
        shuffle = np.random.default_rng(noisy.seed if seed is None else seed)
        order = shuffle.permutation(np.repeat(order, noisy.counts))
    columns = {
        axis.name: shown_regions(axis.parts, np.arange(len(axis)), None).take(
            pa.array(places[order])
        )
        for axis, places in zip(noisy.axes, cells, strict=True)
    }
    return pa.table({**columns, **counted})


def _shuffled(keys: list[Any], shuffle: np.random.Generator) -> Ints:
    """A random order of rows that were first sorted by what is published of them, and no more.

    Whoever guesses the seed and undoes the shuffle is left with the published rows, sorted.
    """
    by_content = np.lexsort(keys)
    return by_content[shuffle.permutation(len(by_content))]


def _ranks(kept: dict[str, pa.ChunkedArray]) -> list[Ints]:
    """The kept columns as numbers that sort like their texts."""
    ranks = []
    for values in kept.values():
        coded = values.cast(pa.string()).combine_chunks().dictionary_encode("encode")
        texts = [text if text is not None else "" for text in coded.dictionary.to_pylist()]
        ranks.append(np.argsort(np.argsort(texts, kind="stable"))[coded.indices.to_numpy()])
    return ranks


class _PublishedPeople:
    """One entry per published person: her tuple and her group."""

    def __init__(self, tuples: Ints, groups: Ints) -> None:
        self.tuples, self.groups = tuples, groups


def _people(placement: Placement) -> _PublishedPeople:
    kept = placement.groups >= 0
    n = placement.n[kept]
    return _PublishedPeople(
        np.repeat(placement.tuples[kept], n), np.repeat(placement.groups[kept], n)
    )


def _bucketized(
    release: Release, members: Buckets, placement: Placement, shuffle: np.random.Generator
) -> dict[str, pa.Table]:
    people = _people(placement)
    declared = release.schema.domains
    kept = rows_of_people(placement.table, people.tuples, shuffle)
    assert members.numbered is not None
    number = members.numbered.ids
    exact = [codes[people.tuples] for codes in placement.counts.codes]
    order = _shuffled([*_ranks(kept), *exact, number[people.groups]], shuffle)
    quasi: dict[str, Any] = {GROUP_ID: pa.array(number[people.groups[order]])}
    for domain, codes in zip(members.domains, placement.counts.codes, strict=True):
        own = codes[people.tuples[order]]
        values = typed(used_values(domain, own), declared.get(domain.name))
        quasi[domain.name] = values.take(pa.array(own))
    for name, values in kept.items():
        quasi[name] = values.take(pa.array(order))
    quasi |= _weights(release, people.groups[order])
    (attribute,) = placement.counts.sensitive
    groups = release.groups_for(attribute.name)
    ids = number[groups.row]
    ranked = np.lexsort((groups.indices, ids))
    values = typed(used_values(attribute.domain, groups.indices), declared.get(attribute.name))
    sensitive = {
        GROUP_ID: pa.array(ids[ranked]),
        attribute.name: values.take(pa.array(groups.indices[ranked])),
        "count": pa.array(groups.data[ranked]),
    }
    return {"quasi": pa.table(quasi), "sensitive": pa.table(sensitive)}
