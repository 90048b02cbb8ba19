"""One number a row, which tells its values in all key columns.

Where nearly every row is a tuple of its own, grouping saves nothing: the engine makes one number of
each row, and sorted numbers are counted in a fraction of the time. Values are numbered by those of
the first rows. A row with another one has no number and does not come; if one is missed, the
others are asked for and rows are numbered once more. Tuples that do not fit in memory go back to
the engine; a number a row does fit where they do not.

Neighbouring columns of few values share a table of codes, one row for each combination: a join
less is a look-up less for every row. Engines that find codes faster than by joins do so.

Stands apart: how rows become numbers; `scan` chooses between this and other ways to count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts.columns import Coding, KeyColumn, has_lists, key_of, keys
from sfumato.counts.counts import Attribute, Counts, TableCounts, begin_runs, rank_rows
from sfumato.counts.stored import SMALL, StoredCounts, bytes_for
from sfumato.counts.value_sets import is_list_type
from sfumato.engines.base import (
    CellCombinations,
    Engine,
    Source,
    fresh,
    named,
    row_blocks,
    select,
)
from sfumato.numbers import Codes, Ints
from sfumato.schema.roles import Schema

NUMBER_BYTES = 24  # that a row takes while its number comes and is sorted
SORTED_ROWS = 250_000  # from which rows that are nearly all different are sorted, not grouped
NUMBER_BITS = 62  # of numbers that a BIGINT holds
_LOOKED_AT = 1 << 16  # rows that tell whether they are, and nearly all values of their columns
_UNALIKE = 0.5  # the share of them that is different, if they are
_SETS_AT_ONCE = 32  # columns of one query's GROUPING SETS: engines have a bit for each
_AT_ONCE = 1 << 16  # numbers that stay in a processor's cache while they are taken apart
_SHARED = 1 << 13  # combinations of values that columns may share a table of codes for
_LONGEST_CODE = 1 << 16  # of what is looked up: the shorter, the surer a row without one is told


@dataclass(frozen=True)
class Digit:
    """A column's place in the number of a row: its cells (an SQL expression) and their digits.

    Digits are all below `size`.
    """

    key: str
    values: pa.Array
    codes: npt.NDArray[np.integer]
    size: int

    def equal(self, value: str) -> str:
        """SQL condition: a row's cell is one of ours; without a missing one, = is less work."""
        if self.values.null_count or pa.types.is_nested(self.values.type):
            return f"{self.key} IS NOT DISTINCT FROM {value}"
        return f"{self.key} = {value}"


def values_of(engine: Engine, relation: str, listed: Sequence[str]) -> list[pa.Array]:
    """The distinct cells of each of some SQL expressions.

    An engine of its own, to which every query is a job that must be planned and sent round, is
    asked for many of them at once.
    """
    if engine.embedded or len(listed) == 1:
        asked = [select([named(key, "v")], relation, group=[key]) for key in listed]
        return [engine.fetch(query).column(0).combine_chunks() for query in asked]
    portions = (listed[at : at + _SETS_AT_ONCE] for at in range(0, len(listed), _SETS_AT_ONCE))
    return [raw for portion in portions for raw in _values_at_once(engine, relation, portion)]


def _values_at_once(engine: Engine, relation: str, listed: Sequence[str]) -> list[pa.Array]:
    places = range(len(listed))
    cells = select([named(key, f"v{at}") for at, key in enumerate(listed)], relation)
    asked_for = [f"v{at}" for at in places]
    # A missing value is one of its column's, or stands for a column of which this row tells none.
    flags = [named(f"CAST(GROUPING(v{at}) AS INT)", f"other{at}") for at in places]
    sets = ", ".join(f"(v{at})" for at in places)
    rows = engine.fetch(
        f"{select([*asked_for, *flags], f'({cells}) AS cells')} GROUP BY GROUPING SETS ({sets})"
    )
    own = (pc.equal(rows.column(f"other{at}"), 0) for at in places)
    return [
        rows.column(f"v{at}").filter(mask).combine_chunks()
        for at, mask in zip(places, own, strict=True)
    ]


def digit_sizes(lengths: Iterable[int]) -> list[int]:
    """The size of each digit of a number: powers of two where they fit, for bits are cheap."""
    sizes = list(lengths)
    rounded = [1 << (size - 1).bit_length() for size in sizes]
    return rounded if prod(rounded) < 1 << NUMBER_BITS else sizes


def join_numbers(
    engine: Engine, relation: str, digits: Sequence[Digit], brought: list[str]
) -> tuple[str, str]:
    """SQL of the rows with their codes, and of the one number that all of them make.

    A row with a cell of no code does not come, or its number is NULL.
    """
    if any(_looked_up(engine, [digit]) for digit in digits):
        numbered = _look_up(engine, relation, digits, brought)
        if numbered is not None:
            return numbered
    parts = []
    for together in _shared(digits):
        relation, code = join_table(engine, relation, together, brought)
        parts.append((code, prod(digit.size for digit in together)))
    return relation, _number(parts)


def _number(parts: Sequence[tuple[str, int]]) -> str:
    """SQL of one number of several codes, each below a size."""
    number = "CAST(0 AS BIGINT)"
    if any(size & (size - 1) for _, size in parts):
        for code, size in parts:
            number = f"({number}) * {size} + {code}"
        return number
    for code, size in parts:
        number = f"(({number}) << {size.bit_length() - 1}) | {code}"
    return number


def _look_up(
    engine: Engine, relation: str, digits: Sequence[Digit], brought: list[str]
) -> tuple[str, str] | None:
    """The same, where the engine looks up codes; tables are joined for the others."""
    listed: list[CellCombinations] = []
    carried, parts = [], []
    for together in _neighbours(digits, lambda together: _looked_up(engine, together)):
        size = prod(digit.size for digit in together)
        if _looked_up(engine, together):
            parts.append(("", size))
            listed.append(_combinations(together))
            continue
        relation, code = join_table(engine, relation, together, brought)
        parts.append((f"sfumato_joined{len(parts)}", size))
        carried.append(named(f"CAST({code} AS BIGINT)", parts[-1][0]))
    looked_up = engine.look_up(relation, listed, carried)
    if looked_up is None:
        return None
    codes = iter(looked_up.codes)
    number = _number([(code or next(codes), size) for code, size in parts])
    return looked_up.relation, f"CASE WHEN {looked_up.known} THEN {number} END"


def _looked_up(engine: Engine, together: Sequence[Digit]) -> bool:
    combinations = prod(len(digit.values) for digit in together)
    short = prod(digit.size for digit in together) <= _LONGEST_CODE
    return short and engine.looks_up([digit.values.type for digit in together], combinations)


def _shared(digits: Sequence[Digit]) -> Iterator[list[Digit]]:
    """Neighbours that share a table of codes."""

    def fit(together: Sequence[Digit]) -> bool:
        return prod(len(digit.values) for digit in together) <= _SHARED

    return _neighbours(digits, fit)


def _neighbours(
    digits: Sequence[Digit], fit: Callable[[Sequence[Digit]], bool]
) -> Iterator[list[Digit]]:
    """Neighbours that fit together, so that the number is that of columns each for itself."""
    together: list[Digit] = []
    for digit in digits:
        if together and not fit([*together, digit]):
            yield together
            together = []
        together.append(digit)
    if together:
        yield together


def _combinations(together: Sequence[Digit]) -> CellCombinations:
    """All cells that some columns may have side by side, by the digits of both."""
    lengths = [len(digit.values) for digit in together]
    # One column at a time: a table may have more columns than an array has dimensions.
    places = [
        np.tile(np.repeat(np.arange(length), prod(lengths[at + 1 :])), prod(lengths[:at]))
        for at, length in enumerate(lengths)
    ]
    codes: Ints = np.zeros(prod(lengths), dtype=np.int64)
    for digit, place in zip(together, places, strict=True):
        codes = codes * digit.size + digit.codes[place]
    values = (
        digit.values.take(pa.array(place)) for digit, place in zip(together, places, strict=True)
    )
    return CellCombinations(tuple(digit.key for digit in together), tuple(values), codes)


def join_table(
    engine: Engine, relation: str, together: Sequence[Digit], brought: list[str]
) -> tuple[str, str]:
    """SQL of the rows with the code of some columns' combination, and where that is."""
    table = fresh("codes")
    brought.append(table)
    combinations = _combinations(together)
    # Names that no column of the rows they are joined to will have.
    coded = {f"sfumato_value{at}": values for at, values in enumerate(combinations.values)}
    equal = [digit.equal(f"{table}.sfumato_value{at}") for at, digit in enumerate(together)]
    kind = pa.int32() if prod(digit.size for digit in together) < 1 << 31 else pa.int64()
    codes = pa.array(combinations.codes).cast(kind)
    engine.put(table, pa.table({**coded, "sfumato_code": codes}))
    return f"{relation} JOIN {table} ON {' AND '.join(equal)}", f"{table}.sfumato_code"


def is_plain(source: Source, schema: Schema) -> bool:
    """Whether rows are people who have one value each, and there are many of them."""
    return (
        source.rows >= SORTED_ROWS
        and not source.untyped
        and schema.person is None
        and schema.count is None
        and schema.weight is None
        and not any(has_lists(source, schema, name) for name in keys(schema))
    )


def count_sorted(
    engine: Engine, source: Source, schema: Schema, coding: Coding
) -> TableCounts | None:
    """The people of rows that are nearly all different; None where they are not."""
    names = keys(schema)
    sample = engine.first_rows(source, names, _LOOKED_AT)
    first = [by_distinct(column) for column in sample.columns]
    sizes = [len(column.dictionary) for column in first]
    _, different = rank_rows([column.indices.to_numpy() for column in first], sizes)
    if len(different) < _UNALIKE * sample.num_rows or not sample.num_rows:
        return None
    values = [_in_order(column.dictionary) for column in first]
    numbers = _row_numbers(engine, source, schema, values)
    if numbers is not None and len(numbers) < source.rows:
        values = _with_missed(engine, source, schema, values)
        numbers = _row_numbers(engine, source, schema, values)
    if numbers is None or len(numbers) != source.rows:
        return None
    numbers.sort()
    columns = [
        KeyColumn(*coding(name, raw, source, schema))
        for name, raw in zip(names, values, strict=True)
    ]
    tuples = int(np.count_nonzero(begin_runs(numbers)))
    if bytes_for(tuples, len(columns)) > engine.memory:
        return _kept(engine, schema, columns, numbers)
    distinct, n = _distinct(numbers)
    del numbers
    codes = _codes_of(distinct, columns)
    quasi, judged = len(schema.quasi), len(schema.judged)
    counts = Counts(
        quasi=tuple(column.domain for column in columns[:quasi]),
        sensitive=tuple(Attribute(column.domain) for column in columns[quasi:judged]),
        codes=codes[:quasi],
        values=codes[quasi:judged],
        n=n,
        protect=(columns[judged].domain, codes[judged]) if schema.protect else None,
    )
    in_order = all((np.diff(column.codes) > 0).all() for column in columns)
    return counts if in_order else counts.compact()


def _distinct(numbers: Ints) -> tuple[Ints, Ints]:
    """Sorted numbers, each once, and how often each occurs."""
    begins = np.flatnonzero(begin_runs(numbers))
    return numbers[begins], np.diff(begins, append=len(numbers))


def _kept(
    engine: Engine, schema: Schema, columns: list[KeyColumn], numbers: Ints
) -> StoredCounts | None:
    """Tuples too many for memory, brought to the engine; None where codes make several equal.

    `numbers` are those of rows, sorted, which are all that is held of every row.
    """
    if any(len(np.unique(column.codes)) < len(column.codes) for column in columns):
        return None
    quasi, judged = len(schema.quasi), len(schema.judged)
    stored = StoredCounts(
        engine,
        fresh("tuples"),
        tuple(column.domain for column in columns[:quasi]),
        tuple(Attribute(column.domain) for column in columns[quasi:judged]),
        labels=columns[judged].domain if schema.protect else None,
    )
    with engine.yield_memory():
        for block in _whole_runs(numbers):
            distinct, n = _distinct(block)
            codes = _codes_of(distinct, columns)
            cells = {
                name: pa.array(row, pa.int16() if column.size <= SMALL else pa.int32())
                for name, row, column in zip(stored.columns, codes, columns, strict=True)
            }
            engine.append(stored.name, pa.table({**cells, "n": pa.array(n)}))
    return stored


def _whole_runs(numbers: Ints) -> Iterator[Ints]:
    """Sorted numbers, some at a time, equal ones together."""
    start = 0
    for block in row_blocks(len(numbers)):
        if block.stop <= start:  # all of it came with what was before
            continue
        stop = min(block.stop, len(numbers))
        if stop:
            stop = int(np.searchsorted(numbers, numbers[stop - 1], "right"))
        yield numbers[start:stop]
        start = stop


def by_distinct(cells: pa.ChunkedArray) -> pa.Array:
    """A column's cells by number of their distinct value; lists as they are."""
    array = cells.combine_chunks()
    if pa.types.is_dictionary(array.type) or is_list_type(array.type):
        return array
    return array.dictionary_encode(null_encoding="encode")


def _in_order(values: pa.Array) -> pa.Array:
    """As most domains have them, so that tuples come in the order of their codes.

    0 and -0 are one value: a row with either was numbered twice, and could make up for one that had
    no number.
    """
    kind = values.type
    if pa.types.is_floating(kind):
        return pc.add(values, pa.scalar(0.0, kind)).unique()
    if pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_boolean(kind):
        return values.take(pc.sort_indices(values))
    return values


def _places(
    engine: Engine, source: Source, schema: Schema, values: Sequence[pa.Array]
) -> list[Digit]:
    """Of each key column its values, numbered as they stand."""
    listed = (key_of(engine, source, schema, name, source.name) for name in keys(schema))
    sizes = digit_sizes(map(len, values))
    return [
        Digit(key, raw, np.arange(len(raw), dtype=np.int32), size)
        for key, raw, size in zip(listed, values, sizes, strict=True)
    ]


def _row_numbers(
    engine: Engine, source: Source, schema: Schema, values: Sequence[pa.Array]
) -> Ints | None:
    """One number for each row that has none but these values; None where they are too many."""
    if prod(len(raw) for raw in values) >= 1 << NUMBER_BITS:
        return None
    brought: list[str] = []
    digits = _places(engine, source, schema, values)
    joins, number = join_numbers(engine, source.name, digits, brought)
    cells = engine.fetch(select([named(number, "v")], joins)).column(0)
    fetched = (cells.drop_null() if cells.null_count else cells).to_numpy()
    for table in brought:
        engine.drop(table)
    numbers: Ints = fetched.astype(np.int64, copy=not fetched.flags.writeable)
    return numbers


def _with_missed(
    engine: Engine, source: Source, schema: Schema, values: Sequence[pa.Array]
) -> list[pa.Array]:
    """All values of all columns, of which some are known."""
    digits = _places(engine, source, schema, values)
    if not engine.embedded:
        return [
            _in_order(raw)
            for raw in values_of(engine, source.name, [digit.key for digit in digits])
        ]
    brought: list[str] = []
    whole = []
    for digit in digits:
        left, code = join_table(engine, f"{source.name} LEFT", [digit], brought)
        missed = engine.fetch(
            f"{select([named(digit.key, 'v')], left)} WHERE {code} IS NULL GROUP BY {digit.key}"
        )
        all_values = pa.chunked_array([digit.values, *missed.column(0).chunks], digit.values.type)
        whole.append(_in_order(all_values.combine_chunks()))
    for table in brought:
        engine.drop(table)
    return whole


def _codes_of(numbers: Ints, columns: Sequence[KeyColumn]) -> Codes:
    """The code of each column, by the numbers of rows that `_row_numbers` made."""
    codes = [column.codes for column in columns]
    return taken_apart(numbers, codes, digit_sizes(map(len, codes)))


def taken_apart(numbers: Ints, codes_of: list[Codes], sizes: Sequence[int]) -> Codes:
    """The code of each column, by the numbers of rows and the sizes of their digits."""
    codes = np.empty((len(codes_of), len(numbers)), dtype=np.int32)

    def take_apart(start: int) -> None:
        rest = numbers[start : start + _AT_ONCE]
        for place in range(len(codes_of) - 1, -1, -1):
            size = sizes[place]
            if size & (size - 1):
                higher = rest // size
                digits = rest - higher * size
            else:
                higher = rest >> (size.bit_length() - 1)
                digits = rest & (size - 1)
            codes_of[place].take(digits, out=codes[place, start : start + len(rest)], mode="clip")
            rest = higher

    with ThreadPoolExecutor() as pool:
        list(pool.map(take_apart, range(0, len(numbers), _AT_ONCE)))
    return codes
