"""The coded way of counting: codes joined inside the SELECT, grouped by one packed integer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.counts.columns import Column, code_sets, domain_of, is_list, keys, measures
from sfumato.counts.contingency import Ints
from sfumato.counts.people import weight_of
from sfumato.engines.base import Engine, Source
from sfumato.engines.sql import named, quote, select
from sfumato.errors import InputError
from sfumato.schema.domain import Codes, Domain
from sfumato.schema.roles import Schema

_KEY_SPACE = 1 << 62


@dataclass(frozen=True)
class Packing:
    """Several code columns packed into as few BIGINTs as hold them, and the way back."""

    batches: tuple[tuple[str, ...], ...]
    sizes: dict[str, int]

    @classmethod
    def of(cls, sizes: dict[str, int]) -> Packing:
        batches: list[list[str]] = [[]]
        space = 1
        for name, size in sizes.items():
            if space * size >= _KEY_SPACE:
                batches.append([])
                space = 1
            batches[-1].append(name)
            space *= size
        return cls(tuple(tuple(batch) for batch in batches), sizes)

    def expressions(self, code_of: dict[str, str]) -> list[str]:
        texts = []
        for batch in self.batches:
            text = "CAST(0 AS BIGINT)"
            for name in batch:
                text = f"({text} * {self.sizes[name]} + {code_of[name]})"
            texts.append(text)
        return texts

    def unpack(self, table: pa.Table) -> dict[str, Codes]:
        """Codes by name from the columns p0, p1, ..."""
        codes: dict[str, Codes] = {}
        for place, batch in enumerate(self.batches):
            rest: Ints = table.column(f"p{place}").to_numpy()
            for name in reversed(batch):
                rest, code = np.divmod(rest, self.sizes[name])
                codes[name] = code.astype(np.int32)
        return codes


def count_coded(
    engine: Engine, source: Source, schema: Schema
) -> tuple[dict[str, Column], pa.Table, int]:
    relation, where = source.name, dict.fromkeys(keys(schema), "")
    if source.untyped:  # parse a text file once, not once a column
        relation = "parsed"
        needed = [name for role, name in schema.roles() if role not in ("identifiers", "keep")]
        engine.materialize(relation, select([quote(name) for name in needed], source.name))
    domains: dict[str, Domain] = {}
    joins = relation
    for place, name in enumerate(where):
        if is_list(source, name):
            raise InputError(
                f"column {name!r} is a list, which cannot be combined with person= nor with "
                "millions of distinct tuples; unnest it to one row per value with a person column"
            )
        column = quote(name)
        raw = engine.fetch(select([named(column, "v")], relation, group=[column])).column(0)
        domains[name], codes = domain_of(name, raw.combine_chunks(), source, schema)
        engine.put(f"codes_{place}", pa.table({"v": raw, "c": pa.array(codes, pa.int32())}))
        joins += (
            f" JOIN codes_{place} ON {quote(relation)}.{column} "
            f"IS NOT DISTINCT FROM codes_{place}.v"
        )
        where[name] = f"codes_{place}.c"
    if schema.person is not None:
        return _by_person(engine, source, schema, joins, domains, where)
    packing = Packing.of({name: max(len(domains[name]), 1) for name in where})
    packed = packing.expressions(where)
    table = engine.fetch(
        select([*_numbered(packed), *measures(source, schema)], joins, group=packed)
    )
    codes_of = packing.unpack(table)
    return {name: Column(domains[name], codes_of[name]) for name in where}, table, 0


def _numbered(packed: list[str]) -> list[str]:
    return [named(text, f"p{place}") for place, text in enumerate(packed)]


def _by_person(
    engine: Engine,
    source: Source,
    schema: Schema,
    joins: str,
    domains: dict[str, Domain],
    where: dict[str, str],
) -> tuple[dict[str, Column], pa.Table, int]:
    """Gather each person's rows with equal QIs first: one person, a set of values."""
    person = quote(str(schema.person))
    plain = {name: code for name, code in where.items() if name not in schema.sensitive}
    packing = Packing.of({name: max(len(domains[name]), 1) for name in plain})
    packed = packing.expressions(plain)
    inner = [named(person, "person"), *_numbered(packed)]
    for place, name in enumerate(schema.sensitive):
        inner.append(named(engine.set_of_rows(where[name]), f"s{place}"))
    if schema.weight is not None:
        inner.append(named(weight_of(source, schema.weight, "MAX"), "w"))
    engine.materialize("people", select(inner, joins, group=[person, *packed]))
    total = (
        engine.fetch("SELECT COUNT(*) - COUNT(DISTINCT person) AS spanning FROM people")
        .column(0)[0]
        .as_py()
    )
    group = [f"p{place}" for place in range(len(packed))]
    group += [f"s{place}" for place in range(len(schema.sensitive))]
    measures = [named("CAST(COUNT(*) AS BIGINT)", "n")]
    if schema.weight is not None:
        measures.append(named("SUM(w)", "w"))
    table = engine.fetch(select([*group, *measures], "people", group=group))
    columns = {name: Column(domains[name], codes) for name, codes in packing.unpack(table).items()}
    for place, name in enumerate(schema.sensitive):
        columns[name] = code_sets(domains[name], table.column(f"s{place}").to_pylist())
    return columns, table, int(total)
