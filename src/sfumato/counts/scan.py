"""From an engine's rows to Counts, in one grouping query.

Three ways, same result. *Raw*: group by the values as they stand and encode the compact result;
the domains come out of the same scan. *Coded* (`store`): fetch each column's distinct values,
join their codes inside the SELECT and group by these; needed when distinct tuples number in the
millions (raw text keys take three times the memory), when rows must first be gathered by person,
and when the counts themselves may not fit in memory. *Sorted*: where nearly every row is a tuple of
its own, grouping saves nothing; the engine makes one number of each row, and sorted numbers are
counted in a fraction of the time. The choice is by expected distinct tuples; no table of encoded
rows is ever written.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import prod

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts.columns import (
    Coding,
    KeyColumn,
    check_lists,
    check_people,
    domain_of,
    encode,
    encode_distinct,
    gather,
    has_lists,
    key_of,
    keys,
    measures,
    weight_of,
)
from sfumato.counts.counts import Attribute, Counts, TableCounts, begin_runs, rank_rows
from sfumato.counts.stored import SMALL, StoredCounts, bytes_for
from sfumato.counts.value_sets import is_list_type
from sfumato.engines.base import Engine, Source, fresh, named, quote, select
from sfumato.errors import InputError, ResourceError
from sfumato.numbers import Codes, Ints
from sfumato.schema.roles import Schema

MANY_ROWS = 4_000_000
MANY_TUPLES = 1_000_000
SORTED_ROWS = 250_000  # from which rows that are nearly all different are sorted, not grouped
_LOOKED_AT = 1 << 16  # rows that tell whether they are, and nearly all values of their columns
_UNALIKE = 0.5  # the share of them that is different, if they are
_AT_ONCE = 1 << 16  # numbers that stay in a processor's cache while they are taken apart
_WIDE = 1 << 62  # numbers that a BIGINT holds


def scan(engine: Engine, source: Source, schema: Schema, coding: Coding = domain_of) -> TableCounts:
    """Count the people of a registered source by their QIs and sensitive values.

    `coding` makes codes of a column's distinct cells and is asked once a column. Counts that do not
    fit in memory stay with the engine (`StoredCounts`).
    """
    check_people(engine, source, schema)
    check_lists(source, schema)
    if schema.rows == "unlinked" and schema.person is not None:
        return _rows_of_people(engine, source, schema, coding)
    beyond = bytes_for(source.rows, len(keys(schema))) > engine.memory
    large = beyond or source.rows >= MANY_ROWS
    by_person = schema.person is not None and not source.one_each
    counts: TableCounts | None = None
    if not beyond and _is_plain(engine, source, schema):
        counts = _sorted_rows(engine, source, schema, coding)
    if counts is not None:
        pass
    elif by_person or beyond or (large and _many_tuples(engine, source, schema)):
        stored = store(engine, source, schema, coding, large=large)
        counts = stored
        if stored.fits:
            counts = stored.whole()
            engine.drop(stored.name)
    else:
        counts = _raw(engine, source, schema, coding)
    if counts.people == 0:
        raise InputError(f"{source.label} holds 0 rows; there is nobody to protect in it")
    return counts


def _rows_of_people(engine: Engine, source: Source, schema: Schema, coding: Coding) -> Counts:
    """The rows by what they hold, and whose each is: people are told apart by a number."""
    for name in schema.sensitive:
        if has_lists(source, schema, name):
            raise InputError(
                f"column {name!r} holds several values a row, and rows = 'unlinked' takes one; "
                "give every value a row of its own"
            )
    if source.one_each:
        raise InputError(
            "facts tells the values of people who have one row each, and rows = 'unlinked' is "
            "about several; leave one of them out"
        )
    if source.rows == 0:
        raise InputError(f"{source.label} holds 0 rows; there is nobody to protect in it")
    if not engine.embedded:
        raise InputError(
            "rows = 'unlinked' is worked out in memory, and not by an engine of its own; read the "
            "table with engine 'duckdb'"
        )
    if bytes_for(source.rows, len(keys(schema)) + 1) > engine.memory:
        raise ResourceError(
            f"{source.label} is larger than memory, and whose rows are in which group is worked "
            "out in memory; raise the memory limit, or use a part of the people"
        )
    brought: list[str] = []
    large = source.rows >= MANY_ROWS
    columns, joins, where = join_codes(engine, source, schema, brought, coding, large=large)
    person, numbers = source.column(str(schema.person)), fresh("people")
    distinct = select([named(person, "sfumato_person")], source.name, group=[person])
    number = named("ROW_NUMBER() OVER (ORDER BY sfumato_person) - 1", "sfumato_number")
    engine.materialize(
        numbers, select(["sfumato_person", number], f"({distinct}) AS people"), large=large
    )
    brought.append(numbers)
    joins += f" JOIN {numbers} ON {person} = {numbers}.sfumato_person"
    listed = [named(f"CAST({where[name]} AS INT)", f"c{place}") for place, name in enumerate(where)]
    listed.append(named(f"CAST({numbers}.sfumato_number AS INT)", "person"))
    rows = engine.fetch(select(listed, joins))
    for table in brought:
        engine.drop(table)
    codes = [rows.column(f"c{place}").to_numpy() for place in range(len(where))]
    stacked = np.array(codes, dtype=np.int32).reshape(len(codes), rows.num_rows)
    tuple_of, first = rank_rows(stacked, [columns[name].size for name in where])
    owner = rows.column("person").to_numpy().astype(np.int64)
    people = int(owner.max()) + 1
    # In an order of its own, whatever that of the rows is.
    in_order = np.sort(tuple_of * people + owner)
    quasi = len(schema.quasi)
    return Counts(
        quasi=tuple(columns[name].domain for name in schema.quasi),
        sensitive=tuple(Attribute(columns[name].domain) for name in schema.sensitive),
        codes=stacked[:quasi, first],
        values=stacked[quasi:, first],
        n=np.bincount(tuple_of, minlength=len(first)).astype(np.int64),
        extra_memberships=len(owner) - people,
        owner=(in_order % people).astype(np.int32),
    )


def _many_tuples(engine: Engine, source: Source, schema: Schema) -> bool:
    listed = ", ".join(source.column(column) for column in keys(schema))
    estimate = engine.fetch(
        select([named(f"approx_count_distinct(hash({listed}))", "tuples")], source.name)
    )
    return int(estimate.column(0)[0].as_py()) > MANY_TUPLES


def _raw(engine: Engine, source: Source, schema: Schema, coding: Coding) -> Counts:
    listed = [key_of(engine, source, schema, column) for column in keys(schema)]
    named_keys = [named(expression, f"k{place}") for place, expression in enumerate(listed)]
    table = engine.fetch(
        select([*named_keys, *measures(source, schema)], source.name, group=listed)
    )
    with ThreadPoolExecutor() as pool:
        cells = list(pool.map(_by_distinct, (table.column(f"k{at}") for at in range(len(listed)))))
    columns = {
        name: encode(name, array, source, schema, coding)
        for name, array in zip(keys(schema), cells, strict=True)
    }

    def stack(names: tuple[str, ...]) -> Codes:
        rows = [columns[name].codes for name in names]
        return np.vstack(rows) if rows else np.zeros((0, table.num_rows), dtype=np.int32)

    quasi, sensitive = tuple(schema.quasi), tuple(schema.sensitive)
    repeated = schema.several == "multiset"
    counts = Counts(
        quasi=tuple(columns[name].domain for name in quasi),
        sensitive=tuple(
            Attribute(columns[name].domain, columns[name].sets, repeated) for name in sensitive
        ),
        codes=stack(quasi),
        values=stack(sensitive),
        n=table.column("n").to_numpy().astype(np.int64, copy=False),
        weights=table.column("w").to_numpy().astype(np.float64) if schema.weight else None,
        protect=(columns[schema.protect].domain, columns[schema.protect].codes)
        if schema.protect
        else None,
    )
    kept = counts.n > 0  # a pre-aggregated row of 0 people describes nobody
    if not kept.all():
        counts = counts.take(np.flatnonzero(kept))
    return counts.compact()


def _by_distinct(cells: pa.ChunkedArray) -> pa.Array:
    """A column's cells by number of their distinct value; lists as they are."""
    array = cells.combine_chunks()
    if pa.types.is_dictionary(array.type) or is_list_type(array.type):
        return array
    return array.dictionary_encode(null_encoding="encode")


# -- the sorted way: one number a row -------------------------------------------------------------
#
# Values are numbered by those of the first rows. A row with another one has no number and does not
# come; if one is missed, the others are asked for and rows are numbered once more.


def _is_plain(engine: Engine, source: Source, schema: Schema) -> bool:
    """Whether rows are people who have one value each, and there are many of them."""
    return (
        engine.embedded
        and source.rows >= SORTED_ROWS
        and not source.untyped
        and schema.person is None
        and schema.count is None
        and schema.weight is None
        and not any(has_lists(source, schema, name) for name in keys(schema))
    )


def _sorted_rows(engine: Engine, source: Source, schema: Schema, coding: Coding) -> Counts | None:
    """The people of rows that are nearly all different; None where they are not."""
    names = keys(schema)
    listed = [named(source.column(name), f"k{at}") for at, name in enumerate(names)]
    some = engine.fetch(f"{select(listed, source.name)} LIMIT {_LOOKED_AT}")
    first = [_by_distinct(column) for column in some.columns]
    sizes = [len(column.dictionary) for column in first]
    _, different = rank_rows([column.indices.to_numpy() for column in first], sizes)
    if len(different) < _UNALIKE * some.num_rows:
        return None
    values = [_in_order(column.dictionary) for column in first]
    numbers = _row_numbers(engine, source, schema, values)
    if numbers is not None and len(numbers) < source.rows:
        values = _with_missed(engine, source, schema, values)
        numbers = _row_numbers(engine, source, schema, values)
    if numbers is None or len(numbers) != source.rows:
        return None
    numbers.sort()
    begins = np.flatnonzero(begin_runs(numbers))
    columns = [
        KeyColumn(*coding(name, raw, source, schema))
        for name, raw in zip(names, values, strict=True)
    ]
    codes = _taken_apart(numbers[begins], [column.codes for column in columns])
    quasi, judged = len(schema.quasi), len(schema.judged)
    counts = Counts(
        quasi=tuple(column.domain for column in columns[:quasi]),
        sensitive=tuple(Attribute(column.domain) for column in columns[quasi:judged]),
        codes=codes[:quasi],
        values=codes[quasi:judged],
        n=np.diff(begins, append=len(numbers)),
        protect=(columns[judged].domain, codes[judged]) if schema.protect else None,
    )
    in_order = all((np.diff(column.codes) > 0).all() for column in columns)
    return counts if in_order else counts.compact()


def _in_order(values: pa.Array) -> pa.Array:
    """As most domains have them, so that tuples come in the order of their codes."""
    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_boolean(kind):
        return values.take(pc.sort_indices(values))
    return values


def _numbered(
    engine: Engine, source: Source, schema: Schema, values: list[pa.Array], brought: list[str]
) -> list[tuple[str, str, str]]:
    """Of each key column: its SQL expression, the table of its values, and the join with that."""
    found = []
    for name, raw in zip(keys(schema), values, strict=True):
        key = key_of(engine, source, schema, name, source.name)
        number = np.arange(len(raw), dtype=np.int32)
        join, _ = _joined(engine, "", key, raw, number, brought)
        found.append((key, brought[-1], join))
    return found


def _row_numbers(
    engine: Engine, source: Source, schema: Schema, values: list[pa.Array]
) -> Ints | None:
    """One number for each row that has none but these values; None where they are too many."""
    if prod(len(raw) for raw in values) >= _WIDE:
        return None
    brought: list[str] = []
    numbered = _numbered(engine, source, schema, values, brought)
    number = "CAST(0 AS BIGINT)"
    for (_, table, _), raw in zip(numbered, values, strict=True):
        number = f"({number}) * {len(raw)} + {table}.sfumato_code"
    joins = source.name + "".join(join for _, _, join in numbered)
    fetched = engine.fetch(select([named(number, "v")], joins)).column(0).to_numpy()
    for table in brought:
        engine.drop(table)
    numbers: Ints = fetched.astype(np.int64, copy=not fetched.flags.writeable)
    return numbers


def _with_missed(
    engine: Engine, source: Source, schema: Schema, values: list[pa.Array]
) -> list[pa.Array]:
    """All values of all columns, of which some are known."""
    brought: list[str] = []
    whole = []
    numbered = _numbered(engine, source, schema, values, brought)
    for (key, table, join), raw in zip(numbered, values, strict=True):
        left = f"{source.name} LEFT{join}"
        missed = engine.fetch(
            f"{select([named(key, 'v')], left)} WHERE {table}.sfumato_code IS NULL GROUP BY {key}"
        )
        both = pa.chunked_array([raw, *missed.column(0).chunks], raw.type)
        whole.append(_in_order(both.combine_chunks()))
    for table in brought:
        engine.drop(table)
    return whole


def _taken_apart(numbers: Ints, codes_of: list[Codes]) -> Codes:
    """The code of each column, by the numbers of rows."""
    codes = np.empty((len(codes_of), len(numbers)), dtype=np.int32)

    def take_apart(start: int) -> None:
        rest = numbers[start : start + _AT_ONCE]
        for place in range(len(codes_of) - 1, -1, -1):
            higher = rest // len(codes_of[place])
            digits = rest - higher * len(codes_of[place])
            codes_of[place].take(digits, out=codes[place, start : start + len(rest)], mode="clip")
            rest = higher

    with ThreadPoolExecutor() as pool:
        list(pool.map(take_apart, range(0, len(numbers), _AT_ONCE)))
    return codes


# -- the coded way: codes joined inside the SELECT, distinct tuples kept by the engine -------------
#
# Each column's distinct values are fetched and coded here; the engine joins the codes to its rows
# and groups by them. No row and no table of encoded rows ever travels, and what is kept is as
# compact as the counts. Rows of one person with equal quasi-identifiers are gathered first.


def store(
    engine: Engine, source: Source, schema: Schema, coding: Coding = domain_of, *, large: bool
) -> StoredCounts:
    """Count the people of a source and leave the counts with the engine."""
    brought: list[str] = []  # tables that are not needed once people are counted
    columns, joins, where = join_codes(engine, source, schema, brought, coding, large=large)
    extra, people = 0, ""
    summed = measures(source, schema)
    if schema.person is not None and not source.one_each:
        joins, where, people = _by_person(
            engine, source, schema, joins, columns, where, brought, large=large
        )
        extra = int(
            engine.fetch(f"SELECT COUNT(*) - COUNT(DISTINCT person) AS s FROM {people}")
            .column(0)[0]
            .as_py()
        )
        summed = [named("CAST(COUNT(*) AS BIGINT)", "n")]
        summed += [named("SUM(w)", "w")] if schema.weight is not None else []
    called = {name: f"q{place}" for place, name in enumerate(schema.quasi)}
    called |= {name: f"s{place}" for place, name in enumerate(schema.sensitive)}
    if schema.protect:
        called[schema.protect] = "p"
    group = [
        f"CAST({where[name]} AS {'SMALLINT' if columns[name].size <= SMALL else 'INT'})"
        for name in called
    ]
    listed = [named(key, called[name]) for name, key in zip(called, group, strict=True)]
    tuples = select([*listed, *summed], joins, group=group)
    name = fresh("tuples")
    # A pre-aggregated row of 0 people describes nobody.
    engine.materialize(name, f"SELECT * FROM ({tuples}) AS counted WHERE n > 0", large=large)
    shared = None
    if extra and bytes_for(2 * extra, len(listed)) <= engine.memory:
        # Nobody's name leaves the engine: people are told apart by a number.
        place = named(f"DENSE_RANK() OVER (ORDER BY {people}.person)", "person")
        several = select(["person"], people, group=["person"]) + " HAVING COUNT(*) > 1"
        order = ", ".join(quote(column) for column in ("person", *called.values()))
        shared = engine.fetch(  # in an order of its own: the same file gives the same sums
            f"{select([place, *listed], joins)} WHERE {people}.person IN ({several}) "
            f"ORDER BY {order}"
        )
    for table in brought:
        engine.drop(table)
    repeated = schema.several == "multiset"
    return StoredCounts(
        engine,
        name,
        tuple(columns[name].domain for name in schema.quasi),
        tuple(
            Attribute(columns[name].domain, columns[name].sets, repeated)
            for name in schema.sensitive
        ),
        labels=columns[schema.protect].domain if schema.protect else None,
        weighted=schema.weight is not None,
        extra_memberships=extra,
        shared=shared,
    )


def join_codes(
    engine: Engine,
    source: Source,
    schema: Schema,
    brought: list[str],
    coding: Coding = domain_of,
    *,
    large: bool,
    kept: bool = False,
) -> tuple[dict[str, KeyColumn], str, dict[str, str]]:
    """The key columns' domains, SQL of the rows with their codes, and where each code is.

    `kept`: the rows have the kept columns too. `brought` gets the names of tables made for this.
    """
    relation, where = source.name, dict.fromkeys(keys(schema), "")
    if source.untyped:  # parse a text file once, not once a column
        relation = fresh("parsed")
        brought.append(relation)
        left_out = ("identifiers",) if kept else ("identifiers", "keep")
        needed = [name for role, name in schema.roles() if role not in left_out]
        parsed = select([source.column(name) for name in needed], source.name)
        engine.materialize(relation, parsed, large=large)
    columns: dict[str, KeyColumn] = {}
    joins = relation
    for name in where:
        key = key_of(engine, source, schema, name, relation)
        raw = engine.fetch(select([named(key, "v")], relation, group=[key])).column(0)
        columns[name] = encode_distinct(name, raw.combine_chunks(), source, schema, coding)
        joins, where[name] = _joined(engine, joins, key, raw, columns[name].codes, brought)
    return columns, joins, where


def _joined(
    engine: Engine,
    joins: str,
    key: str,
    raw: pa.ChunkedArray | pa.Array,
    codes: Codes,
    brought: list[str],
) -> tuple[str, str]:
    """SQL of the rows with one more column's codes, and where the code is."""
    table = fresh("codes")
    brought.append(table)
    # Names that no column of the rows they are joined to will have.
    coded = {"sfumato_value": raw, "sfumato_code": pa.array(codes, pa.int32())}
    engine.put(table, pa.table(coded))
    joins += f" JOIN {table} ON {key} IS NOT DISTINCT FROM {table}.sfumato_value"
    return joins, f"{table}.sfumato_code"


def _by_person(
    engine: Engine,
    source: Source,
    schema: Schema,
    joins: str,
    columns: dict[str, KeyColumn],
    where: dict[str, str],
    brought: list[str],
    *,
    large: bool,
) -> tuple[str, dict[str, str], str]:
    """Gather each person's rows with equal QIs first: one person, a set of values.

    The columns of sensitive attributes become those of the sets that were found. Last comes the
    name of the table of people.
    """
    person = source.column(str(schema.person))
    plain = {name: code for name, code in where.items() if name not in schema.sensitive}
    called = {name: f"k{place}" for place, name in enumerate(plain)}
    inner = [named(person, "person"), *(named(plain[name], called[name]) for name in plain)]
    repeated = schema.several == "multiset"
    for place, name in enumerate(schema.sensitive):
        inner.append(named(engine.set_of_rows(where[name], repeated=repeated), f"l{place}"))
    if schema.weight is not None:
        inner.append(named(weight_of(source, schema.weight, "MAX"), "w"))
    people = fresh("people")
    brought.append(people)
    grouped = select(inner, joins, group=[person, *plain.values()])
    engine.materialize(people, grouped, large=large)
    by_name = {name: f"{people}.{called[name]}" for name in plain}
    gathered = people
    for place, name in enumerate(schema.sensitive):
        key = f"{people}.l{place}"
        raw = engine.fetch(select([named(key, "v")], people, group=[key])).column(0)
        lists = raw.combine_chunks()
        columns[name] = gather(columns[name], lists, repeated=repeated)
        gathered, by_name[name] = _joined(engine, gathered, key, raw, columns[name].codes, brought)
    return gathered, by_name, people
