"""From an engine's rows to Counts, in one grouping query.

Three ways, same result. *Raw*: group by the values as they stand and encode the compact result;
the domains come out of the same scan. *Coded* (`store`): fetch each column's distinct values,
join their codes inside the SELECT and group by these; needed when distinct tuples number in the
millions (raw text keys take three times the memory), when rows must first be gathered by person,
and when the counts themselves may not fit in memory. *Sorted* (`row_numbers`): where nearly every
row is a tuple of its own, grouping saves nothing, and a number a row fits where tuples do not. The
choice is by expected distinct tuples; no table of encoded rows is ever written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

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
    number_in,
    refuse_changed,
    weight_of,
)
from sfumato.counts.counts import Attribute, Counts, TableCounts, begin_runs, rank_rows
from sfumato.counts.row_numbers import (
    NUMBER_BITS,
    NUMBER_BYTES,
    Digit,
    by_distinct,
    count_sorted,
    is_plain,
    join_numbers,
    join_table,
    taken_apart,
    values_of,
)
from sfumato.counts.stored import SMALL, StoredCounts, bytes_for
from sfumato.engines.base import Engine, Source, fresh, named, quote, select
from sfumato.errors import InputError, ResourceError
from sfumato.numbers import Codes, Ints
from sfumato.schema.roles import Schema

MANY_ROWS = 4_000_000
MANY_TUPLES = 1_000_000


def scan(engine: Engine, source: Source, schema: Schema, coding: Coding = domain_of) -> TableCounts:
    """Count the people of a registered source by their QIs and sensitive values.

    `coding` makes codes of a column's distinct cells and is asked once a column. Counts that do not
    fit in memory stay with the engine (`StoredCounts`).
    """
    check_people(engine, source, schema)
    check_lists(source, schema)
    if schema.rows == "unlinked" and schema.person is not None:
        return _rows_of_people(engine, source, schema, coding)
    exceeds_memory = bytes_for(source.rows, len(keys(schema))) > engine.memory
    large = exceeds_memory or source.rows >= MANY_ROWS
    by_person = schema.person is not None and not source.one_each
    counts: TableCounts | None = None
    if source.rows * NUMBER_BYTES <= engine.memory and is_plain(source, schema):
        counts = count_sorted(engine, source, schema, coding)
    if counts is not None:
        pass
    elif (
        by_person
        or exceeds_memory
        or (large and _tuples_about(engine, source, schema) > MANY_TUPLES)
    ):
        stored = store(engine, source, schema, coding, large=large)
        counts = stored
        if stored.fits:
            counts = stored.whole()
            engine.drop(stored.name)
    else:
        counts = _raw(engine, source, schema, coding)
    refuse_nobody(source, counts.people)
    if schema.count is None and not by_person:
        refuse_changed(source, counts.people)
    return counts


def refuse_nobody(source: Source, people: int) -> None:
    if people == 0:
        raise InputError(f"{source.label} holds 0 rows; there is nobody to protect in it")


def may_fit(engine: Engine, source: Source, schema: Schema) -> bool:
    """Whether a scan is likely to give counts that fit in memory."""
    columns = len(keys(schema))
    if bytes_for(source.rows, columns) <= engine.memory:
        return True
    return bytes_for(_tuples_about(engine, source, schema), columns) <= engine.memory


def _rows_of_people(engine: Engine, source: Source, schema: Schema, coding: Coding) -> Counts:
    """The rows by what they hold, and whose each is: people are told apart by a number."""
    for name in schema.sensitive:
        if has_lists(source, schema, name):
            raise InputError(
                f"column {name!r} holds several values a row, and rows = 'unlinked' takes one: a "
                "row's list is neither the value of a row nor all that a person has; give every "
                "value a row of its own"
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
    joins, cells = _key_cells(engine, source, schema, brought, coding, large=large, kept=False)
    person = source.column(str(schema.person))
    if not _is_int64(source.types[str(schema.person)]):
        joins, person = _people_numbered(engine, joins, person, brought, large=large)
    columns = [column for column, _ in cells.values()]
    sizes = [column.size for column in columns]
    digits = [digit for _, digit in cells.values()]
    packed, spaces = prod(sizes) < 1 << NUMBER_BITS, sizes
    if packed:
        joins, number = join_numbers(engine, joins, digits, brought)
        listed, spaces = [number], [prod(sizes)]
    else:
        listed = []
        for digit in digits:
            joins, code = join_table(engine, joins, [digit], brought)
            listed.append(code)
    listed = [named(number, f"v{place}") for place, number in enumerate(listed)]
    listed.append(named(person, "person"))
    if schema.weight is not None:
        listed.append(named(number_in(source, schema.weight), "w"))
    rows = engine.fetch(select(listed, joins))
    for table in brought:
        engine.drop(table)
    refuse_changed(source, rows.num_rows)
    numbers = [rows.column(f"v{place}").to_numpy() for place in range(len(spaces))]
    owner, people = _numbered(rows.column("person").to_numpy())
    weights = None
    if schema.weight is not None:
        weights = rows.column("w").to_numpy()
        remedy = "weights; a survey weight is a person's"
        weights = same_on_all_rows(
            owner, weights, people, f"weight column {schema.weight!r}", remedy
        )
    if packed and spaces[0] * people < 1 << NUMBER_BITS:
        tuple_of, first = numbers[0], None
    else:
        tuple_of, first = rank_rows(numbers, spaces)
    # One sort brings the rows of a tuple together and gives them an order of its own, whatever
    # that of the table is.
    tuples, owner = np.divmod(np.sort(tuple_of * people + owner), people)
    begins = np.flatnonzero(begin_runs(tuples))
    distinct = [tuples[begins]] if first is None else [column[first] for column in numbers]
    if packed:
        digits_as_codes = [np.arange(size, dtype=np.int32) for size in sizes]
        codes = taken_apart(distinct[0], digits_as_codes, sizes)
    else:
        codes = np.array(distinct, dtype=np.int32)
    quasi, judged, protect = len(schema.quasi), len(schema.judged), None
    if schema.protect is not None:
        protect = columns[judged].domain, codes[judged]
        labels = np.repeat(codes[judged], np.diff(begins, append=len(tuples)))
        remedy = "labels; what is protected is a person's"
        same_on_all_rows(owner, labels, people, f"protect column {schema.protect!r}", remedy)
    return Counts(
        quasi=tuple(column.domain for column in columns[:quasi]),
        sensitive=tuple(Attribute(column.domain) for column in columns[quasi:judged]),
        codes=codes[:quasi],
        values=codes[quasi:judged],
        protect=protect,
        n=np.diff(begins, append=len(tuples)),
        weights=weights,
        extra_memberships=len(tuples) - people,
        owner=owner.astype(np.int32),
    )


def same_on_all_rows(
    owner: Ints, values: npt.NDArray[Any], people: int, column: str, remedy: str
) -> npt.NDArray[Any]:
    """What all rows of each person say, which must be the same."""
    by_person = np.zeros(people, dtype=values.dtype)
    by_person[owner] = values
    if apart := len(np.unique(owner[by_person[owner] != values])):
        raise InputError(
            f"{column}: {apart:,} people have rows of several {remedy}, give each person one"
        )
    return by_person


def _people_numbered(
    engine: Engine, joins: str, person: str, brought: list[str], *, large: bool
) -> tuple[str, str]:
    """SQL of the rows with a number for whose each is, and where that is: names stay there."""
    numbers = fresh("people")
    distinct = select([named(person, "sfumato_person")], joins, group=[person])
    number = named("ROW_NUMBER() OVER (ORDER BY sfumato_person) - 1", "sfumato_number")
    engine.materialize(
        numbers, select(["sfumato_person", number], f"({distinct}) AS people"), large=large
    )
    brought.append(numbers)
    joined = f"{joins} JOIN {numbers} ON {person} = {numbers}.sfumato_person"
    return joined, f"{numbers}.sfumato_number"


def _is_int64(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind)) and kind != pa.uint64()


def _numbered(people: npt.NDArray[np.integer[Any]]) -> tuple[Ints, int]:
    """Whose each row is by a number, in the order of people's own ones, and how many they are."""
    least = int(people.min())
    space = int(people.max()) - least + 1
    if space > 16 * len(people):
        _, number = np.unique(people, return_inverse=True)
        return number.astype(np.int64, copy=False), int(number.max()) + 1
    places = people.astype(np.int64, copy=False) - least
    used = np.zeros(space, dtype=np.bool_)
    used[places] = True
    number = np.cumsum(used, dtype=np.int64) - 1
    return number[places], int(number[-1]) + 1


def _tuples_about(engine: Engine, source: Source, schema: Schema) -> int:
    listed = ", ".join(source.column(column) for column in keys(schema))
    estimate = engine.fetch(
        select([named(f"approx_count_distinct(hash({listed}))", "tuples")], source.name)
    )
    return int(estimate.column(0)[0].as_py())


def _raw(engine: Engine, source: Source, schema: Schema, coding: Coding) -> Counts:
    listed = [key_of(engine, source, schema, column) for column in keys(schema)]
    named_keys = [named(expression, f"k{place}") for place, expression in enumerate(listed)]
    table = engine.fetch(
        select([*named_keys, *measures(source, schema)], source.name, group=listed)
    )
    with ThreadPoolExecutor() as pool:
        cells = list(pool.map(by_distinct, (table.column(f"k{at}") for at in range(len(listed)))))
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
    joins, cells = _key_cells(engine, source, schema, brought, coding, large=large, kept=False)
    columns = {name: column for name, (column, _) in cells.items()}
    called = {name: f"q{place}" for place, name in enumerate(schema.quasi)}
    called |= {name: f"s{place}" for place, name in enumerate(schema.sensitive)}
    if schema.protect:
        called[schema.protect] = "p"
    extra, people, listed = 0, "", []
    summed = measures(source, schema)
    by_person = schema.person is not None and not source.one_each
    tuples = None
    if not (by_person or engine.embedded):
        tuples = _grouped_by_number(engine, joins, cells, called, summed, brought)
    if tuples is None:
        where: dict[str, str] = {}
        for name, (_, digit) in cells.items():
            joins, where[name] = join_table(engine, joins, [digit], brought)
        if by_person:
            joins, where, people = _by_person(
                engine, source, schema, joins, columns, where, brought, large=large
            )
            counted = f"SELECT COUNT(*) - COUNT(DISTINCT person) AS s FROM {people}"
            extra = int(engine.fetch(counted).column(0)[0].as_py())
            summed = [named("CAST(COUNT(*) AS BIGINT)", "n")]
            summed += [named("SUM(w)", "w")] if schema.weight is not None else []
        group = [f"CAST({where[name]} AS {code_type(columns[name])})" for name in called]
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


def code_type(column: KeyColumn) -> str:
    """SQL: the smallest type that holds the codes of a column."""
    return "SMALLINT" if column.size <= SMALL else "INT"


def _grouped_by_number(
    engine: Engine,
    relation: str,
    cells: Mapping[str, tuple[KeyColumn, Digit]],
    called: Mapping[str, str],
    summed: list[str],
    brought: list[str],
) -> str | None:
    """SQL of the distinct tuples, grouped by one number each; None where they are too many.

    To engines that bring rows together over a network one number is less to carry and to compare
    than a code for each column.
    """
    bits = {name: max((column.size - 1).bit_length(), 1) for name, (column, _) in cells.items()}
    if sum(bits.values()) > NUMBER_BITS:
        return None
    digits = [replace(digit, size=1 << bits[name]) for name, (_, digit) in cells.items()]
    joins, number = join_numbers(engine, relation, digits, brought)
    grouped = select([named(number, "v"), *summed], joins, group=[number])
    listed, shift = [], sum(bits.values())
    for name, (column, _) in cells.items():
        shift -= bits[name]
        code = f"(v >> {shift}) & {(1 << bits[name]) - 1}"
        listed.append(named(f"CAST({code} AS {code_type(column)})", called[name]))
    sums = ["n", *(["w"] if len(summed) > 1 else [])]
    return f"{select([*listed, *sums], f'({grouped}) AS numbered')} WHERE v IS NOT NULL"


def join_codes(
    engine: Engine,
    source: Source,
    schema: Schema,
    brought: list[str],
    coding: Coding = domain_of,
    *,
    large: bool,
    kept: bool = False,
    uncoded: Collection[str] = (),
) -> tuple[dict[str, KeyColumn], str, dict[str, str]]:
    """The key columns' domains, SQL of the rows with their codes, and where each code is.

    `kept`: the rows have the kept columns too. `uncoded` columns stand there as they are: their
    values are too many to come here. `brought` gets the names of tables made for this.
    """
    joins, cells = _key_cells(
        engine, source, schema, brought, coding, large=large, kept=kept, uncoded=uncoded
    )
    columns: dict[str, KeyColumn] = {}
    where: dict[str, str] = {}
    for name, (column, digit) in cells.items():
        columns[name] = column
        joins, where[name] = join_table(engine, joins, [digit], brought)
    return columns, joins, where


def _key_cells(
    engine: Engine,
    source: Source,
    schema: Schema,
    brought: list[str],
    coding: Coding,
    *,
    large: bool,
    kept: bool,
    uncoded: Collection[str] = (),
) -> tuple[str, dict[str, tuple[KeyColumn, Digit]]]:
    """The relation that holds the rows; of each key column its domain, and its cells by code."""
    relation = source.name
    names = [name for name in keys(schema) if name not in uncoded]
    if source.untyped:  # parse a text file once, not once a column
        relation = fresh("parsed")
        brought.append(relation)
        left_out = ("identifiers",) if kept else ("identifiers", "keep")
        needed = [name for role, name in schema.roles() if role not in left_out]
        parsed = select([source.column(name) for name in needed], source.name)
        engine.materialize(relation, parsed, large=large)
    listed = [key_of(engine, source, schema, name, relation) for name in names]
    cells: dict[str, tuple[KeyColumn, Digit]] = {}
    for name, key, raw in zip(names, listed, values_of(engine, relation, listed), strict=True):
        column = encode_distinct(name, raw, source, schema, coding)
        cells[name] = column, Digit(key, raw, column.codes, column.size)
    return relation, cells


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
        digit = Digit(key, lists, columns[name].codes, columns[name].size)
        gathered, by_name[name] = join_table(engine, gathered, [digit], brought)
    return gathered, by_name, people
