"""A bucketized release read back: exact QI tuples here, sensitive values there, a group id in both.

Who is in which group is public and exact (`Buckets`); which of its group's values a person has is
what is hidden. Both files must tell the same groups with the same number of people: where they do
not, somebody is missing from one, and every count drawn from the pair would be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.counts.counts import Counts
from sfumato.counts.scan import scan
from sfumato.engines.base import Engine, Source
from sfumato.errors import InputError, name_some
from sfumato.numbers import Ints, offsets_of, sums_by
from sfumato.release.build import count_release
from sfumato.release.description import Buckets
from sfumato.release.made import Placement, ReadFrom
from sfumato.release.read.source import as_published, open_release
from sfumato.release.release import Release
from sfumato.schema.roles import Schema
from sfumato.table import Table


def read_pair(
    engine: Engine, listed: object, values: object, schema: Schema, group: str
) -> Release:
    """Read the two files of a bucketized release."""
    _check(schema, group)
    exact = _part(schema, group, (group, *schema.quasi), ())
    exact = replace(exact, weight=schema.weight, keep=schema.keep, identifiers=schema.identifiers)
    lists, exact, notes, stray = open_release(engine, listed, exact, group, count=schema.count)
    second = _part(schema, group, (group,), schema.sensitive)
    buckets, values_schema, _, more = open_release(
        engine,
        values,
        replace(second, identifiers=schema.identifiers),
        group,
        count=schema.count,
    )
    if schema.count is not None and schema.count not in {*lists.types, *buckets.types}:
        raise InputError(
            f"column {schema.count!r} (count) is neither in {lists.label} nor in {buckets.label}; "
            "drop the role if a row is one person"
        )
    why = "reading a bucketized release"
    tuples = scan(engine, lists, _counted(exact, lists, schema.count)).in_memory(why)
    values_schema = as_published(engine, buckets, _counted(values_schema, buckets, schema.count))
    counts = scan(engine, buckets, values_schema).in_memory(why)
    members, group_of = _match(tuples, counts, lists, buckets)
    published = replace(schema, identifiers=(), keep=exact.keep, weight=exact.weight, protect=None)
    table = Table(published, counts, {}, buckets, engine)
    release = count_release(Placement.whole_tuples(table, group_of), members)
    population = None
    if tuples.weights is not None:
        summed = np.bincount(tuples.codes[0], weights=tuples.weights, minlength=len(members))
        population = summed.astype(np.float64)
    told_besides = (
        "groups list their people's exact quasi-identifiers; only who has which value is hidden"
    )
    return replace(
        release,
        label=f"{lists.label} and {buckets.label}",
        notes=(*release.notes, *notes, told_besides),
        population=population,
        made=ReadFrom(stray=stray + more),
    )


def _check(schema: Schema, group: str) -> None:
    taken = [role for role, name in schema.roles() if name == group]
    if taken:
        raise InputError(f"group {group!r} is {taken[0]} in the schema; it must have no other role")
    if not schema.sensitive:
        raise InputError("a bucketized release needs a sensitive column; name it in the schema")
    if schema.person is not None:
        raise InputError(
            f"person {schema.person!r} cannot be used with a bucketized pair, whose rows are one "
            "person each; drop the role"
        )


def _part(schema: Schema, group: str, quasi: Sequence[str], sensitive: Sequence[str]) -> Schema:
    """The roles one of the two files has."""
    mine = {*quasi, *sensitive}
    return Schema(
        quasi=quasi,
        sensitive=sensitive,
        hierarchies={n: recipe for n, recipe in schema.hierarchies.items() if n in mine},
        # Group ids are names, whatever they look like.
        domains={**{n: d for n, d in schema.domains.items() if n in mine}, group: "categorical"},
        levels={n: level for n, level in schema.levels.items() if n in mine},
        lists={n: form for n, form in schema.lists.items() if n in mine},
        several=schema.several,
        nulls=schema.nulls,
    )


def _counted(schema: Schema, source: Source, count: str | None) -> Schema:
    """With the count column, where this file has it."""
    return replace(schema, count=count if count in source.types else None)


def _match(tuples: Counts, counts: Counts, lists: Source, buckets: Source) -> tuple[Buckets, Ints]:
    """The members of each group, and the group of each sensitive tuple."""
    ids, others = tuples.quasi[0], counts.quasi[0]
    for domain, source in ((ids, lists), (others, buckets)):
        if domain.has_null:
            raise InputError(
                f"{source.label} has rows without a group id in {ids.name!r}; give every row one"
            )
    for these, those, here, there in (
        (ids, others, lists, buckets),
        (others, ids, buckets, lists),
    ):
        alone = [str(value) for value in these.values if those.code(value) is None]
        if alone:
            raise InputError(
                f"{len(alone)} group(s) are in {here.label} but not in {there.label}: "
                f"{name_some(alone)}; both files must have every group of {ids.name!r}"
            )
    place = np.array([ids.code(value) for value in others.values], dtype=np.int64)
    group_of = place[counts.codes[0]]
    people = sums_by(tuples.codes[0], tuples.n, len(ids))
    having = sums_by(group_of, counts.n, len(ids))
    wrong = np.flatnonzero(people != having)
    if len(wrong):
        first = int(wrong[0])
        raise InputError(
            f"{len(wrong)} group(s) differ in size, first {ids.name} = {ids.labels[first]!r}: "
            f"{people[first]:,} people in {lists.label}, {having[first]:,} in {buckets.label}; "
            "every person must be in both files"
        )
    order = np.lexsort(tuples.codes[::-1])
    sizes = np.bincount(tuples.codes[0], minlength=len(ids))
    members = Buckets(
        domains=tuples.quasi[1:],
        indptr=offsets_of(sizes),
        codes=np.ascontiguousarray(tuples.codes[1:, order]),
        n=tuples.n[order],
        weights=None if tuples.weights is None else tuples.weights[order],
    )
    return members, group_of
