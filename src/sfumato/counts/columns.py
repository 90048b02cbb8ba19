"""Encoding a grouping's key columns: distinct values to domains, values and lists to codes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from sfumato.counts.contingency import Sets
from sfumato.counts.people import people_of, weight_of
from sfumato.engines.base import Source
from sfumato.engines.sql import named
from sfumato.errors import InputError
from sfumato.schema.domain import Codes, Domain, Kind, build_domain
from sfumato.schema.roles import Schema


@dataclass(frozen=True)
class Column:
    """One key column of the grouping: its domain, the code per tuple, its sets if it has any."""

    domain: Domain
    codes: Codes
    sets: Sets | None = None


def keys(schema: Schema) -> tuple[str, ...]:
    """The columns the grouping is over."""
    return (*schema.judged, *((schema.protect,) if schema.protect else ()))


def is_list(source: Source, column: str) -> bool:
    kind = source.types[column]
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def measures(source: Source, schema: Schema) -> list[str]:
    listed = [named(people_of(source, schema), "n")]
    if schema.weight is not None:
        listed.append(named(weight_of(source, schema.weight), "w"))
    return listed


def domain_of(name: str, raw: pa.Array, source: Source, schema: Schema) -> tuple[Domain, Codes]:
    recipe = schema.hierarchies.get(name)
    domain, codes = build_domain(
        name,
        raw,
        untyped=source.untyped,
        declared=schema.domains.get(name),
        extra=recipe.leaves() if recipe is not None else (),
    )
    if domain.has_null and schema.nulls == "error":
        raise InputError(
            f"column {name!r} has missing values, which nulls='error' forbids; fill them in, or "
            "allow them as a value of their own with nulls='value'"
        )
    level = schema.levels.get(name)
    if level is None or recipe is None:
        return domain, codes
    levels = recipe.bind(domain)
    if level >= levels.height:
        raise InputError(
            f"levels: column {name!r} has level {level}, its hierarchy only 0 to "
            f"{levels.height - 1}"
        )
    coarse = levels[level]
    kind: Kind = "ordered" if domain.is_ordered else "categorical"
    labels = list(coarse.labels)
    if domain.has_null and level < levels.height - 1:
        labels = [*labels[:-1]]
        return Domain(name, kind, (*labels, None)), coarse.codes[codes]
    return Domain(name, kind, tuple(labels)), coarse.codes[codes]


def encode(name: str, array: pa.Array, source: Source, schema: Schema) -> Column:
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode(null_encoding="encode")
    domain, code_of = domain_of(name, array.dictionary, source, schema)
    return Column(domain, code_of[array.indices.to_numpy()])


def encode_lists(name: str, array: pa.Array, source: Source, schema: Schema) -> Column:
    """A list column: NULL is the set that holds only "missing"."""
    lists = [[None] if found is None else found for found in array.to_pylist()]
    flat = pa.array([value for found in lists for value in found], type=array.type.value_type)
    distinct = flat.dictionary_encode(null_encoding="encode")
    domain, code_of = domain_of(name, distinct.dictionary, source, schema)
    members = code_of[distinct.indices.to_numpy()]
    ends = np.cumsum([0] + [len(found) for found in lists])
    return code_sets(domain, [members[a:b].tolist() for a, b in pairwise(ends)])


def code_sets(domain: Domain, found: list[list[int]]) -> Column:
    """Number distinct sets; people who all have exactly one value need no sets at all."""
    index: dict[tuple[int, ...], int] = {}
    codes = np.array(
        [index.setdefault(tuple(sorted(set(members))), len(index)) for members in found],
        dtype=np.int32,
    )
    if all(len(members) == 1 for members in index):
        single = np.array([members[0] for members in index], dtype=np.int32)
        return Column(domain, single[codes])
    offsets = np.cumsum([0] + [len(members) for members in index], dtype=np.int64)
    flat = np.array([code for members in index for code in members], dtype=np.int32)
    return Column(domain, codes, Sets(offsets, flat))
