"""The coded way of counting: codes joined inside the SELECT, grouped by one packed integer."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sfumato.counts.columns import Column, encode_distinct, gather, key_of, keys, measures
from sfumato.counts.contingency import Ints
from sfumato.counts.people import weight_of
from sfumato.engines.base import Engine, Source
from sfumato.engines.sql import named, quote, select
from sfumato.schema.domain import Codes
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
    columns: dict[str, Column] = {}
    joins = relation
    for place, name in enumerate(where):
        key = key_of(engine, source, schema, name, relation)
        raw = engine.fetch(select([named(key, "v")], relation, group=[key])).column(0)
        columns[name] = encode_distinct(name, raw.combine_chunks(), source, schema)
        codes = pa.array(columns[name].codes, pa.int32())
        # Names that no column of the rows they are joined to will have.
        engine.put(f"codes_{place}", pa.table({"sfumato_value": raw, "sfumato_code": codes}))
        joins += f" JOIN codes_{place} ON {key} IS NOT DISTINCT FROM codes_{place}.sfumato_value"
        where[name] = f"codes_{place}.sfumato_code"
    if schema.person is not None and not source.one_each:
        return _by_person(engine, source, schema, joins, columns, where)
    packing = Packing.of({name: max(columns[name].size, 1) for name in where})
    packed = packing.expressions(where)
    table = engine.fetch(
        select([*_numbered(packed), *measures(source, schema)], joins, group=packed)
    )
    codes_of = packing.unpack(table)
    coded = {name: replace(columns[name], codes=codes_of[name]) for name in where}
    return coded, table, 0


def _numbered(packed: list[str]) -> list[str]:
    return [named(text, f"p{place}") for place, text in enumerate(packed)]


def _by_person(
    engine: Engine,
    source: Source,
    schema: Schema,
    joins: str,
    columns: dict[str, Column],
    where: dict[str, str],
) -> tuple[dict[str, Column], pa.Table, int]:
    """Gather each person's rows with equal QIs first: one person, a set of values."""
    person = quote(str(schema.person))
    plain = {name: code for name, code in where.items() if name not in schema.sensitive}
    packing = Packing.of({name: max(columns[name].size, 1) for name in plain})
    packed = packing.expressions(plain)
    inner = [named(person, "person"), *_numbered(packed)]
    repeated = schema.several == "multiset"
    for place, name in enumerate(schema.sensitive):
        inner.append(named(engine.set_of_rows(where[name], repeated=repeated), f"s{place}"))
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
    codes_of = packing.unpack(table)
    coded = {name: replace(columns[name], codes=codes) for name, codes in codes_of.items()}
    for place, name in enumerate(schema.sensitive):
        lists = table.column(f"s{place}").combine_chunks()
        coded[name] = gather(columns[name], lists, repeated=repeated)
    return coded, table, int(total)
