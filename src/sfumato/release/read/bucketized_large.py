"""A bucketized release larger than memory, read back by the engine: one bucket of each kind.

The engine numbers the buckets by the ids of both files and checks that these tell the same groups
with as many people. It groups the second file by bucket, then by what buckets hold, and only one
bucket of each kind comes here, with the number of its likes. The first file stays with the engine,
as the distinct tuples of everybody: they tell how many people are alike (k is theirs), and whom a
register finds. Who of them is in which bucket is asked of nobody.

Where groups publish bags of values a bucket holds, besides those, its people: they are entered as
one value more, so that buckets with as many values of as many people are of one kind.

Stands apart: what only releases larger than memory need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sfumato.counts.columns import KeyColumn, check_lists, check_people, people_of, refuse_changed
from sfumato.counts.counts import Attribute
from sfumato.counts.scan import code_type, join_codes, refuse_nobody, store
from sfumato.counts.stored import Kinds, StoredCounts
from sfumato.engines.base import Engine, Scratch, Source, fresh, named, select
from sfumato.errors import InputError, ResourceError
from sfumato.numbers import sums_by
from sfumato.release.beside import Beside
from sfumato.release.description import BucketIds, StoredBuckets
from sfumato.release.groups import Groups
from sfumato.release.read.bucket_pair import BucketPair, bag_groups, bag_note, check_bags
from sfumato.release.release import Release, standing_notes
from sfumato.release.summing import group_counts, references, spread
from sfumato.schema.domain import MOST_CATEGORIES, Domain, build_domain
from sfumato.schema.roles import Schema
from sfumato.table import Table

_NAMED = 5  # ids that an error names


def read_by_engine(pair: BucketPair) -> Release:
    """The release of a pair, neither file of which comes to memory."""
    engine = pair.engine
    for source, schema in ((pair.lists, pair.exact), (pair.buckets, pair.values)):
        check_people(engine, source, schema)
        check_lists(source, schema)
        _check_ids(pair, source, schema)
    with Scratch(engine) as scratch:
        ids = _numbered_buckets(pair, scratch)
        differ = _checked(pair, ids)
        columns, contents = _contents(pair, ids, scratch)
        sensitive = tuple(
            Attribute(column.domain, column.sets, pair.published.several == "multiset")
            for column in columns
        )
        values = StoredCounts(engine, contents, (), sensitive)
        bags = pair.publishes_bags(differ=differ is not None)
        if bags:
            made, kinds = _of_bags(pair, values, ids, scratch)
        else:
            if differ is not None:
                raise differ
            made, kinds = _of_values(values)
        table = Table(pair.published, values, {}, pair.buckets, engine)
        notes = [*standing_notes(table)]
        notes += [bag_note(groups) for groups in made.values() if bags]
        called = _ids_of(pair, kinds, ids)
    without_ids = _without(pair.exact, pair.group, pair.published.quasi)
    listed = store(engine, pair.lists, without_ids, large=True)
    if pair.exact.count is None:
        refuse_changed(pair.lists, listed.people)
    notes.append("the release is larger than memory: buckets with equal values are told once")
    if listed.weighted:
        notes.append("survey weights are not read from a release larger than memory")
    return Release(
        pair.published,
        made,
        StoredBuckets(listed, called),
        disjoint=False,
        notes=tuple(notes),
    )


def _without(schema: Schema, group: str, quasi: Sequence[str]) -> Schema:
    """The schema of a file whose ids of groups are nobody's quasi-identifier."""
    domains = {name: domain for name, domain in schema.domains.items() if name != group}
    return replace(schema, quasi=quasi, domains=domains)


# -- the buckets of both files ---------------------------------------------------------------------


def _key_of(pair: BucketPair, source: Source) -> str:
    """SQL: the id of a row's bucket, as a text where the two files do not hold like numbers."""
    column = source.column(pair.group)
    here, there = (file.types[pair.group] for file in (pair.lists, pair.buckets))
    return column if here == there and pa.types.is_integer(here) else _text_of(column)


def _text_of(key: str) -> str:
    return f"concat_ws('', {key})"


def _check_ids(pair: BucketPair, source: Source, schema: Schema) -> None:
    kind = source.types[pair.group]
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    texts = str(kind) in ("string", "large_string", "string_view")
    if not (texts or pa.types.is_integer(kind)):
        raise ResourceError(
            f"{source.label} is larger than memory, and the group ids in {pair.group!r} are of "
            f"type {kind}; write them as texts or whole numbers, or raise the memory limit"
        )
    missing = named(f"COUNT(*) - COUNT({source.column(pair.group)})", "missing")
    rows = pair.engine.fetch(select([missing, named(people_of(source, schema), "n")], source.name))
    refuse_nobody(source, rows.column("n")[0].as_py() or 0)
    if rows.column("missing")[0].as_py():
        pair.refuse_without_id(source)


def _numbered_buckets(pair: BucketPair, scratch: Scratch) -> str:
    """The engine's table of buckets: id, g (their number, in the order of ids), people and held
    (values), NULL where a file does not have it."""
    engine = pair.engine
    here, there = (
        select([named(key, "id"), named(people_of(source, schema), "n")], source.name, group=[key])
        for source, schema in ((pair.lists, pair.exact), (pair.buckets, pair.values))
        for key in [_key_of(pair, source)]
    )
    both = select(
        [
            named("COALESCE(here.id, there.id)", "id"),
            named("here.n", "people"),
            named("there.n", "held"),
        ],
        f"({here}) AS here FULL OUTER JOIN ({there}) AS there ON here.id = there.id",
    )
    unordered = _kept(engine, scratch, "unordered", both)
    number, source = f"ROW_NUMBER() OVER (ORDER BY {_text_of('id')}) - 1", unordered
    if int(engine.fetch(f"SELECT COUNT(*) AS g FROM {unordered}").column("g")[0].as_py()) <= (
        MOST_CATEGORIES
    ):  # in the order in which people read them, as in memory
        called = engine.fetch(select(["id"], unordered)).column("id").combine_chunks()
        _, codes = build_domain(pair.group, called, untyped=False, declared="categorical")
        order = scratch.put("order", pa.table({"listed": called, "place": codes.astype(np.int64)}))
        number, source = "place", f"{unordered} JOIN {order} ON id = listed"
    listed = ["id", "people", "held", named(f"CAST({number} AS BIGINT)", "g")]
    return _kept(engine, scratch, "buckets", select(listed, source))


def _kept(engine: Engine, scratch: Scratch, content: str, query: str) -> str:
    name = fresh(content)
    scratch.names.append(name)
    engine.materialize(name, query, large=True)
    return name


def _checked(pair: BucketPair, ids: str) -> InputError | None:
    """Refuses groups without people; what is wrong where people have one value each, or None."""
    unlisted, first = _first_of(pair, ids, "people IS NULL OR people = 0 AND held > 0")
    if unlisted:
        pair.refuse_unlisted(first.column("id").to_pylist(), unlisted)
    nobody, first = _first_of(pair, ids, "people = 0")
    if nobody:
        pair.refuse_without_values(first.column("id").to_pylist(), nobody)
    differ: InputError | None = None
    try:
        empty, first = _first_of(pair, ids, "COALESCE(held, 0) = 0")
        if empty:
            pair.refuse_without_values(first.column("id").to_pylist(), empty)
        wrong, first = _first_of(pair, ids, "people <> held")
        if wrong:
            worst, people, values = (first.column(c)[0].as_py() for c in ("id", "people", "held"))
            pair.refuse_sizes(wrong, worst, people, values)
    except InputError as error:
        differ = error
    return differ


def _first_of(pair: BucketPair, ids: str, where: str) -> tuple[int, pa.Table]:
    """How many buckets a condition is true of, and the first few of them."""
    counted = pair.engine.fetch(f"SELECT COUNT(*) AS g FROM {ids} WHERE {where}")
    many = int(counted.column("g")[0].as_py())
    if not many:
        return 0, counted
    text = named(_text_of("id"), "id")
    rows = f"{select(['g', text, 'people', 'held'], ids)} WHERE {where}"
    return many, pair.engine.fetch(f"{rows} ORDER BY g LIMIT {_NAMED}")


def _ids_of(pair: BucketPair, kinds: Kinds, ids: str) -> BucketIds:
    """What one bucket of each kind is called."""
    engine = pair.engine
    with Scratch(engine) as scratch:
        first = scratch.put("first", pa.table({"k": kinds.key}))
        called = select(["g", named(_text_of("id"), "id")], f"{ids} JOIN {first} ON g = k")
        texts = engine.fetch(called).sort_by("g")
    return BucketIds(pair.group, np.array(texts.column("id").to_pylist()))


# -- what they hold --------------------------------------------------------------------------------


def _contents(pair: BucketPair, ids: str, scratch: Scratch) -> tuple[list[KeyColumn], str]:
    """The sensitive columns, and the engine's table of what buckets hold: g, s0, s1, ... and n."""
    engine, source, schema = pair.engine, pair.buckets, pair.values
    brought: list[str] = []
    columns, joins, where = join_codes(
        engine, source, schema, brought, large=True, uncoded=(pair.group,)
    )
    scratch.names += brought
    codes = [f"CAST({where[name]} AS {code_type(columns[name])})" for name in schema.sensitive]
    grouped = select(
        [
            named(f"{ids}.g", "g"),
            *(named(code, f"s{place}") for place, code in enumerate(codes)),
            named(people_of(source, schema), "n"),
        ],
        f"{joins} JOIN {ids} ON {_key_of(pair, source)} = {ids}.id",
        group=[f"{ids}.g", *codes],
    )
    # A pre-aggregated row of 0 people describes nobody.
    contents = _kept(engine, scratch, "contents", f"SELECT * FROM ({grouped}) AS held WHERE n > 0")
    return [columns[name] for name in schema.sensitive], contents


def _of_values(values: StoredCounts) -> tuple[dict[str, Groups], Kinds]:
    """The buckets of each kind, where everybody has a value of each column, or a list of them."""
    kinds = values.kinds("g")
    total, known = len(kinds.multiplicity), references(values)
    made = {
        attribute.name: _standing_for_many(
            group_counts(kinds.counts, kinds.of, total, place, known[attribute.name]), kinds
        )
        for place, attribute in enumerate(values.sensitive)
    }
    return made, kinds


def _of_bags(
    pair: BucketPair, values: StoredCounts, ids: str, scratch: Scratch
) -> tuple[dict[str, Groups], Kinds]:
    """The same of bags of values, of as many people as the first file tells."""
    attribute = check_bags(values.sensitive)
    people_code = attribute.codes
    codes = tuple(str(code) for code in range(people_code + 1))
    entered = select(["g", named(f"CAST({people_code} AS INT)", "s0"), named("people", "n")], ids)
    both = f"{select(['g', 's0', 'n'], values.name)} UNION ALL {entered}"
    name = _kept(pair.engine, scratch, "bags", both)
    coded = Attribute(Domain(attribute.name, "categorical", codes))
    kinds = replace(values, name=name, sensitive=(coded,)).kinds("g")
    value, n, total = kinds.counts.values[0], kinds.counts.n, len(kinds.multiplicity)
    is_people = value == people_code
    people = sums_by(kinds.of[is_people], n[is_people], total)
    rest = ~is_people
    cells = spread(attribute, value[rest], kinds.of[rest], n[rest])
    groups = bag_groups(values.sensitive, cells, people, pair.published.several)
    return {attribute.name: _standing_for_many(groups, kinds)}, kinds


def _standing_for_many(groups: Groups, kinds: Kinds) -> Groups:
    return groups.with_beside(Beside(multiplicity=kinds.multiplicity))
