"""`sf.perturb`: a table whose sensitive and kept columns are perturbed, before anybody counts it.

Rows are perturbed and counted anew, so that groups, criteria, the file and whoever reads it back
all tell of the same values: those that are published. Everything that releases are
judged by works on counts, and here alone rows are changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from secrets import randbits

import numpy as np
import pyarrow as pa

from sfumato.counts.columns import CodedValues, has_lists
from sfumato.counts.households import members_of_households
from sfumato.counts.rows import count_people
from sfumato.counts.stored import bytes_for
from sfumato.engines.base import Source, fresh, named, select
from sfumato.errors import (
    InputError,
    PolicyError,
    ResourceError,
    SchemaError,
    did_you_mean,
    expect,
    quoted,
)
from sfumato.perturbation.base import Changed, NumberPerturbation, Perturbation, texts_of
from sfumato.perturbation.chance import RankSwap
from sfumato.perturbation.pseudonyms import KeyedPeople, KeyedPseudonym, PseudonymKey
from sfumato.release.linked import pseudonym_column
from sfumato.schema.roles import Schema
from sfumato.table import Table, levels_of


def perturb(
    table: Table, perturbations: Mapping[str, Perturbation], *, seed: int | None = None
) -> Table:
    """The table with some of its sensitive and kept columns perturbed.

    `anonymize` does it by itself for what the policy names. Columns that are perturbed already, in
    the same way, are left as they are: two draws of one value tell more than one.
    """
    expect("table", table, Table, "a Table, as sf.read makes one")
    check_perturbations(perturbations, table.schema)
    todo = {
        name: perturbation
        for name, perturbation in perturbations.items()
        if name not in table.perturbed
    }
    for name in perturbations.keys() - todo.keys():
        if table.perturbed[name].kind != perturbations[name].kind:
            raise InputError(
                f"column {name!r} is perturbed already, by {table.perturbed[name].kind}"
            )
    if not todo:
        return table
    _check_rows(table, todo)
    if seed is not None and (type(seed) is not int or seed < 0):
        raise InputError(f"seed = {quoted(seed)} is not allowed; use a whole number, 0 or more")
    drawn = randbits(63) if seed is None else seed
    names, rows = _rows(table)
    perturbed: dict[str, Perturbation] = {}
    done: dict[str, Changed] = {}
    for name, perturbation in todo.items():
        place = names.index(name)
        own = _whole(rows.column(place))
        chance = _draws(drawn, name, perturbation, own)
        cells, perturbed[name] = perturbation.apply(name, own, chance)
        done[name] = Changed.between(own, cells)
        rows = rows.set_column(place, f"c{place}", cells)
    return replace(_recounted(table, names, rows, perturbed), changed={**table.changed, **done})


def _draws(
    seed: int, column: str, perturbation: Perturbation, own: pa.Array
) -> np.random.Generator:
    """Draws for one column, what is done to it, and its values.

    Were they the same for two scales of noise, or for two years, who has both releases would
    subtract one from the other and have people's own numbers. And who guesses a seed, which may be
    a small number, has to know the whole column as well.
    """
    settings = json.loads(json.dumps(perturbation.public(), sort_keys=True), parse_int=float)
    seed_text = json.dumps([seed, column, settings, texts_of(own)])
    return np.random.default_rng(int.from_bytes(hashlib.sha256(seed_text.encode()).digest()))


def with_pseudonyms(table: Table, kept: PseudonymKey) -> Table:
    """The table with keyed pseudonyms in the place of the identifiers that are to stay linkable.

    Only here such a column becomes one that may be published.
    """
    schema = table.schema
    if not schema.pseudonyms or table.keyed is not None:
        return table
    check_in_memory(table, "pseudonyms")
    if table.rows is not None:
        return _with_keyed_people(table, kept)
    names, rows = _rows(table)
    key = kept.key()
    keyed = KeyedPseudonym.of(key, kept.length)
    for name in schema.pseudonyms:
        place = names.index(name)
        cells = keyed.cells(name, _whole(rows.column(place)), key)
        present = cells.drop_null()
        if len(present.unique()) < len(present):
            raise SchemaError(
                f"pseudonyms: identifiers of column {name!r} stand on several rows, which their "
                "pseudonym would link; say person and rows = 'linked', or leave it out"
            )
        rows = rows.set_column(place, f"c{place}", cells)
    published_schema = replace(schema, pseudonyms=(), keep=(*schema.keep, *schema.pseudonyms))
    perturbed = dict.fromkeys(schema.pseudonyms, keyed)
    made = _recounted(replace(table, schema=published_schema), names, rows, perturbed)
    return replace(made, key=key if kept.file is None else None)


def _with_keyed_people(table: Table, kept: PseudonymKey) -> Table:
    """The table whose linked rows get keyed pseudonyms instead of random numbers."""
    column = str(table.schema.person)
    person = named(table.source.column(column), "whose")
    people_query = select([person], table.source.name, group=["whose"])
    listed = f"{people_query} ORDER BY whose"
    people = _whole(table.engine.fetch(listed).column(0))  # in the order of their numbers
    key = kept.key()
    return replace(
        table,
        perturbed={
            **table.perturbed,
            pseudonym_column(table.schema): KeyedPseudonym.of(key, kept.length),
        },
        keyed=KeyedPeople.of(column, people, key, kept.length),
        key=key if kept.file is None else None,
    )


def _rows(table: Table) -> tuple[list[str], pa.Table]:
    """The columns that have a role, and the rows as they stand in the file."""
    source = table.source
    roles = {name for role, name in table.schema.roles() if role != "identifiers"}
    names = [name for name in source.types if name in roles]
    listed = [named(source.column(name), f"c{place}") for place, name in enumerate(names)]
    return names, table.engine.fetch(select(listed, source.name), in_order=True)


def _recounted(
    table: Table, names: list[str], rows: pa.Table, perturbed: Mapping[str, Perturbation]
) -> Table:
    """The table with these rows, counted anew."""
    schema, engine = table.schema, table.engine
    relation = fresh("perturbed")
    engine.put(relation, rows)
    changed = _as_source(table.source, relation, names, rows, perturbed)
    linked, counts = count_people(engine, changed, schema, CodedValues())
    return replace(
        table,
        counts=counts,
        levels=levels_of(schema, counts),
        source=changed,
        file=None,
        rows=linked,
        households=members_of_households(engine, changed, schema, counts, CodedValues()),
        perturbed={**table.perturbed, **perturbed},
    )


def _whole(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole


def _as_source(
    source: Source, relation: str, names: list[str], rows: pa.Table, changed: Mapping[str, object]
) -> Source:
    """The changed rows as a source; numbers of a text file have a type now."""
    types = {name: rows.column(place).type for place, name in enumerate(names)}
    typed = {
        name for name in changed if source.is_untyped(name) and not pa.types.is_string(types[name])
    }
    typed |= {
        name for name in changed if not source.is_untyped(name) and pa.types.is_string(types[name])
    } & source.apart
    return replace(
        source,
        name=relation,
        types=types,
        rows=rows.num_rows,
        apart=frozenset(source.apart & set(names)) ^ frozenset(typed),
        others=tuple(
            dict.fromkeys([*(name for name in source.types if name not in types), *source.others])
        ),
    )


def check_perturbations(perturbations: object, schema: Schema | None) -> None:
    """Refuse what is no perturbation, or of a column that may not have one."""
    if not isinstance(perturbations, Mapping):
        raise PolicyError(f"perturb = {quoted(perturbations)} is not allowed; give it by column")
    for name, perturbation in perturbations.items():
        if not isinstance(perturbation, Perturbation):
            raise PolicyError(
                f"perturb: column {name!r} has {quoted(perturbation)}; use sf.Rounding, "
                "sf.TopBottomCoding, sf.ColumnMicroaggregation, sf.AddedNoise, sf.Pram or "
                "sf.RankSwap"
            )
        if schema is None:
            continue
        if name in schema.quasi:
            raise PolicyError(
                f"perturb: column {name!r} is a quasi-identifier, which is coarsened; perturbed "
                "are sensitive and kept columns"
            )
        allowed = (*schema.sensitive, *schema.keep)
        if name not in allowed:
            raise PolicyError(
                f"perturb: column {name!r} is neither sensitive nor kept; "
                f"{did_you_mean(name, allowed)}"
            )
        listed = not isinstance(schema.domains.get(name, ""), str)
        if (
            listed
            and isinstance(perturbation, NumberPerturbation)
            and not isinstance(perturbation, RankSwap)
        ):
            raise PolicyError(
                f"perturb: the values of column {name!r} are listed in domains, and "
                f"{perturbation.kind} publishes others; declare it 'numeric' there"
            )
        if perturbation.by_chance and name in schema.levels:
            raise PolicyError(
                f"perturb: column {name!r} is published at a level of its hierarchy, and "
                f"{perturbation.kind} is undone by value; leave out its level (noise has a step)"
            )


def _check_rows(table: Table, todo: Mapping[str, Perturbation]) -> None:
    """Refuse tables whose rows cannot be changed one by one, or not without giving more away."""
    schema, source, engine = table.schema, table.source, table.engine
    check_in_memory(table, "perturb")
    for name, perturbation in todo.items():
        if name in source.codes and isinstance(perturbation, NumberPerturbation):
            raise InputError(
                f"perturb: column {name!r} has codes beside its numbers, and these are no numbers "
                "to be changed; list them in missing instead of codes, or choose another column"
            )
        if has_lists(source, schema, name):
            raise SchemaError(
                f"perturb: column {name!r} holds lists; it is to hold one value a row"
            )
    kind = next(
        (perturbation.kind for perturbation in todo.values() if not perturbation.by_value), None
    )
    if kind is None:
        return
    if schema.count is not None:
        raise SchemaError(f"perturb: {kind} takes one row a person, and count says otherwise")
    if schema.person is not None and not source.one_each:
        person = source.column(schema.person)
        several = engine.fetch(
            select([f"COUNT(*) - COUNT(DISTINCT {person}) AS x"], source.name)
        ).column(0)[0]
        if several.as_py():
            raise SchemaError(
                f"perturb: {kind} takes one row a person, and some have several: several draws "
                "about one person average out; use rounding or top-bottom-coding"
            )


def check_in_memory(table: Table, task: str) -> None:
    """Refuse tables whose rows we cannot take into memory to change them."""
    source, engine = table.source, table.engine
    if not engine.embedded:
        raise InputError(
            f"{task}: rows are changed in memory, and not by an engine of its own; read the table "
            "with engine 'duckdb'"
        )
    if bytes_for(source.rows, len(source.types)) > engine.memory:
        raise ResourceError(
            f"{task}: {source.label} is larger than memory, and rows are changed there; raise the "
            "memory limit, or use a part of the rows"
        )
