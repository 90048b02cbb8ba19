"""A bucketized release read back: exact QI tuples here, sensitive values there, a group id in both.

Who is in which group is public and exact (`Buckets`); which of its group's values a person has is
what is hidden. Both files must tell the same groups with the same number of people: where they do
not, somebody is missing from one, and every count drawn from the pair would be wrong.

Unless people have several values each, or none: then a group publishes a bag of values, whosever
they are (Chen, LeFevre, Ramakrishnan, VLDB 2007), and only the first file counts people. That is so
where a manifest says so, and where the schema declares several values and a group has more or fewer
than people. Numbers that merely differ declare nothing: a file that lost rows looks the same, and
people believed to have several values are judged more gently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

import numpy as np

from sfumato.counts.counts import Counts
from sfumato.counts.scan import scan
from sfumato.engines.base import Engine, Source
from sfumato.errors import InputError, name_some
from sfumato.numbers import Ints, offsets_of, sums_by
from sfumato.release.build import count_release
from sfumato.release.description import BucketIds, Buckets
from sfumato.release.groups import Groups
from sfumato.release.made import Placement, ReadFrom
from sfumato.release.noisy import COUNT
from sfumato.release.read.source import as_published, open_release
from sfumato.release.release import Release, standing_notes
from sfumato.release.sparse import summed
from sfumato.release.summing import spread
from sfumato.schema.domain import Domain
from sfumato.schema.roles import Schema
from sfumato.table import Table


def read_pair(
    engine: Engine,
    listed: object,
    values: object,
    schema: Schema,
    group: str,
    *,
    bags: bool = False,
) -> Release:
    """Read the two files of a bucketized release; `bags`: it is known to publish such."""
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
    if COUNT in more.without_role:
        raise InputError(
            f"{buckets.label} has a column {COUNT!r} without a role; if it says how often a "
            f"value occurs, name it as count in the schema, else rename it"
        )
    why = "reading a bucketized release"
    tuples = scan(engine, lists, _counted(exact, lists, schema.count)).in_memory(why)
    values_schema = as_published(engine, buckets, _counted(values_schema, buckets, schema.count))
    counts = scan(engine, buckets, values_schema).in_memory(why)
    members, group_of = _match(tuples, counts, lists, buckets)
    people = sums_by(tuples.codes[0], tuples.n, len(members))
    having = sums_by(group_of, counts.n, len(members))
    published = replace(
        schema,
        identifiers=(),
        keep=exact.keep,
        weight=exact.weight,
        publish_weight=schema.publish_weight if exact.weight else None,
        protect=None,
    )
    table = Table(published, counts, {}, buckets, engine)
    declared = set(schema.lists) >= set(schema.sensitive) or schema.several == "multiset"
    if bags or (declared and (having != people).any()):
        release = _of_bags(table, counts, group_of, people, members)
    else:
        _check_sizes(tuples.quasi[0], people, having, lists, buckets)
        release = count_release(Placement.whole_tuples(table, group_of), members)
    population = None
    if tuples.weights is not None:
        weights = np.bincount(tuples.codes[0], weights=tuples.weights, minlength=len(members))
        population = weights.astype(np.float64)
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


def _of_bags(
    table: Table, counts: Counts, group_of: Ints, people: Ints, members: Buckets
) -> Release:
    """The release of groups with so many people each, and the values of all of them together."""
    names = [attribute.name for attribute in counts.sensitive]
    if len(names) > 1:
        raise InputError(
            f"groups have more or fewer values than people, and a row has a value each of "
            f"{name_some(names)}; a group's bag of values is read of one sensitive column, so name "
            "one of them"
        )
    (attribute,) = counts.sensitive
    if attribute.sets is not None and (np.diff(attribute.sets.offsets) != 1).any():
        raise InputError(
            f"column {attribute.name!r}: groups have more or fewer rows than people, and rows list "
            "several values or none, which shows whose stand together; give every person a row, an "
            "empty one where she has no value, or every value a row of its own"
        )
    row, value, n = spread(attribute, counts.values[0], group_of, counts.n)
    width = len(attribute.domain)
    groups = Groups.from_sparse(
        *summed(row, value, n, len(people), width),
        width,
        sizes=people,
        domain=attribute.domain,
        case=table.schema.several,
    )
    if groups.case == "set" and (groups.largest > people).any():
        raise InputError(
            f"column {attribute.name!r}: a value occurs more often than its group has people, so "
            "somebody has it twice; say several = 'multiset' in the schema if that counts"
        )
    note = (
        f"{attribute.name}: groups publish a bag of values ({int(n.sum()):,} of "
        f"{int(people.sum()):,} people), each person's a {groups.case}; who has several, and which "
        "together, is hidden"
    )
    return Release(
        table.schema,
        {attribute.name: groups},
        members,
        disjoint=members.disjoint(),
        notes=(*standing_notes(table), note),
    )


def _check_sizes(ids: Domain, people: Ints, having: Ints, lists: Source, buckets: Source) -> None:
    """Refuse groups of which somebody is missing from the second file."""
    if (having == 0).any():
        _refuse_alone([ids.labels[g] for g in np.flatnonzero(having == 0)], ids, lists, buckets)
    wrong = np.flatnonzero(people != having)
    if len(wrong):
        first = int(wrong[0])
        raise InputError(
            f"{len(wrong)} group(s) differ in size, first {ids.name} = {ids.labels[first]!r}: "
            f"{people[first]:,} people in {lists.label}, {having[first]:,} in {buckets.label}; "
            "every person must be in both files; where people may have several values or none, "
            "declare the column in the schema's lists"
        )


def _refuse_alone(alone: list[str], ids: Domain, here: Source, there: Source) -> NoReturn:
    raise InputError(
        f"{len(alone)} group(s) are in {here.label} but not in {there.label}: {name_some(alone)}; "
        f"both files must have every group of {ids.name!r}"
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
    columns = {*quasi, *sensitive}
    return Schema(
        quasi=quasi,
        sensitive=sensitive,
        hierarchies={n: recipe for n, recipe in schema.hierarchies.items() if n in columns},
        # Group ids are names, whatever they look like.
        domains={**{n: d for n, d in schema.domains.items() if n in columns}, group: "categorical"},
        levels={n: level for n, level in schema.levels.items() if n in columns},
        lists={n: form for n, form in schema.lists.items() if n in columns},
        several=schema.several,
        nulls=schema.nulls,
    )


def _counted(schema: Schema, source: Source, count: str | None) -> Schema:
    """With the count column, where this file has it."""
    return replace(schema, count=count if count in source.types else None)


def _match(tuples: Counts, counts: Counts, lists: Source, buckets: Source) -> tuple[Buckets, Ints]:
    """The members of each group, and the group of each sensitive tuple."""
    ids, bucket_ids = tuples.quasi[0], counts.quasi[0]
    for domain, source in ((ids, lists), (bucket_ids, buckets)):
        if domain.has_null:
            raise InputError(
                f"{source.label} has rows without a group id in {ids.name!r}; give every row one"
            )
    alone = [str(value) for value in bucket_ids.values if ids.code(value) is None]
    if alone:
        _refuse_alone(alone, ids, buckets, lists)
    place = np.array([ids.code(value) for value in bucket_ids.values], dtype=np.int64)
    group_of = place[counts.codes[0]]
    order = np.lexsort(tuples.codes[::-1])
    sizes = np.bincount(tuples.codes[0], minlength=len(ids))
    members = Buckets(
        domains=tuples.quasi[1:],
        indptr=offsets_of(sizes),
        codes=np.ascontiguousarray(tuples.codes[1:, order]),
        n=tuples.n[order],
        weights=None if tuples.weights is None else tuples.weights[order],
        numbered=BucketIds(ids.name, np.array(ids.labels)),
    )
    return members, group_of
