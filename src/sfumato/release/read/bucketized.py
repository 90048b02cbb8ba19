"""A bucketized release read back: exact QI tuples here, sensitive values there, a group id in both.

Who is in which group is public and exact (`Buckets`); which of its group's values a person has is
what is hidden. Both files must tell the same groups with the same number of people: where they do
not, somebody is missing from one, and every count drawn from the pair would be wrong.

Unless people have several values each, or none: then a group publishes a bag of values, whosever
they are (Chen, LeFevre, Ramakrishnan, VLDB 2007), and only the first file counts people. That is so
where a manifest says so, and where the schema declares several values and a group has more or fewer
than people. Numbers that merely differ declare nothing: a file that lost rows looks the same, and
people believed to have several values are judged more gently.

A pair larger than memory is told by one bucket of each kind (`bucketized_large.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.counts.counts import Counts
from sfumato.counts.scan import may_fit, scan
from sfumato.counts.stored import StoredCounts
from sfumato.engines.base import Engine, Source
from sfumato.errors import InputError
from sfumato.numbers import Ints, offsets_of, sums_by
from sfumato.release.build import count_release
from sfumato.release.description import BucketIds, Buckets
from sfumato.release.made import Placement, ReadFrom
from sfumato.release.noisy import COUNT
from sfumato.release.read.bucket_pair import BucketPair, bag_groups, bag_note
from sfumato.release.read.source import as_published, open_release
from sfumato.release.release import Release, standing_notes
from sfumato.release.summing import spread
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
    exact = _counted(exact, lists, schema.count)
    values_schema = as_published(engine, buckets, _counted(values_schema, buckets, schema.count))
    published = replace(
        schema,
        identifiers=(),
        keep=exact.keep,
        weight=exact.weight,
        publish_weight=schema.publish_weight if exact.weight else None,
        protect=None,
    )
    pair = BucketPair(engine, group, published, lists, exact, buckets, values_schema, bags)
    release = _release_of(pair)
    told_besides = (
        "groups list their people's exact quasi-identifiers; only who has which value is hidden"
    )
    return replace(
        release,
        label=f"{lists.label} and {buckets.label}",
        notes=(*release.notes, *notes, told_besides),
        made=ReadFrom(stray=stray + more),
    )


def _release_of(pair: BucketPair) -> Release:
    """In memory, where both files' counts fit."""
    engine = pair.engine
    if may_fit(engine, pair.lists, pair.exact) and may_fit(engine, pair.buckets, pair.values):
        tuples = scan(engine, pair.lists, pair.exact)
        counts = scan(engine, pair.buckets, pair.values)
        if isinstance(tuples, Counts) and isinstance(counts, Counts):
            return _in_memory(pair, tuples, counts)
        for stored in (tuples, counts):  # more of them than was thought
            if isinstance(stored, StoredCounts):
                engine.drop(stored.name)
    from sfumato.release.read.bucketized_large import read_by_engine

    return read_by_engine(pair)


def _in_memory(pair: BucketPair, tuples: Counts, counts: Counts) -> Release:
    members, group_of = _match(pair, tuples, counts)
    people = sums_by(tuples.codes[0], tuples.n, len(members))
    having = sums_by(group_of, counts.n, len(members))
    _check_people(pair, tuples.quasi[0].labels, people, having)
    table = Table(pair.published, counts, {}, pair.buckets, pair.engine)
    if pair.publishes_bags(differ=bool((having != people).any())):
        release = _of_bags(table, counts, group_of, people, members)
    else:
        _check_sizes(pair, tuples.quasi[0].labels, people, having)
        release = count_release(Placement.whole_tuples(table, group_of), members)
    if tuples.weights is None:
        return release
    weights = np.bincount(tuples.codes[0], weights=tuples.weights, minlength=len(members))
    return replace(release, population=weights.astype(np.float64))


def _of_bags(
    table: Table, counts: Counts, group_of: Ints, people: Ints, members: Buckets
) -> Release:
    """The release of groups with so many people each, and the values of all of them together."""
    cells = spread(counts.sensitive[0], counts.values[0], group_of, counts.n)
    groups = bag_groups(counts.sensitive, cells, people, table.schema.several)
    return Release(
        table.schema,
        {str(groups.attribute): groups},
        members,
        disjoint=members.disjoint(),
        notes=(*standing_notes(table), bag_note(groups)),
    )


def _check_people(pair: BucketPair, ids: Sequence[str], people: Ints, having: Ints) -> None:
    """Refuse groups that hold nobody, because the first file counts 0 people of each of them."""
    for refuse, groups in (
        (pair.refuse_unlisted, (people == 0) & (having > 0)),
        (pair.refuse_without_values, people == 0),
    ):
        if groups.any():
            refuse([ids[g] for g in np.flatnonzero(groups).tolist()])


def _check_sizes(pair: BucketPair, ids: Sequence[str], people: Ints, having: Ints) -> None:
    """Refuse groups of which somebody is missing from the second file."""
    if (having == 0).any():
        pair.refuse_without_values([ids[g] for g in np.flatnonzero(having == 0).tolist()])
    wrong = np.flatnonzero(people != having)
    if len(wrong):
        first = int(wrong[0])
        pair.refuse_sizes(len(wrong), ids[first], int(people[first]), int(having[first]))


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


def _match(pair: BucketPair, tuples: Counts, counts: Counts) -> tuple[Buckets, Ints]:
    """The members of each group, and the group of each sensitive tuple."""
    ids, bucket_ids = tuples.quasi[0], counts.quasi[0]
    for domain, source in ((ids, pair.lists), (bucket_ids, pair.buckets)):
        if domain.has_null:
            pair.refuse_without_id(source)
    alone = [str(value) for value in bucket_ids.values if ids.code(value) is None]
    if alone:
        pair.refuse_unlisted(alone)
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
