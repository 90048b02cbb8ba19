"""What an engine must offer: a few verbs, no row ever handed to Python one by one.

And the portable SQL that all of them run, built by pure functions.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sfumato.engines.form import FileForm
from sfumato.errors import InputError, SfumatoError, nearest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

# Portable SQL, as text: one dialect for DuckDB and Spark, built by pure functions.


def quote(name: str) -> str:
    """A column or table name as it must stand in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text constant."""
    return "'" + text.replace("'", "''") + "'"


def select(columns: Sequence[str], source: str, *, group: Sequence[str] = ()) -> str:
    """SELECT columns FROM source [GROUP BY ...]."""
    text = f"SELECT {', '.join(columns)} FROM {source}"
    return f"{text} GROUP BY {', '.join(group)}" if group else text


def named(expression: str, name: str) -> str:
    return f"{expression} AS {quote(name)}"


def select_first(source: Source, columns: Sequence[str], most: int) -> str:
    """SQL of some rows of a source: cells called k0, k1, ..."""
    listed = [named(source.column(name), f"k{at}") for at, name in enumerate(columns)]
    return f"{select(listed, source.name)} LIMIT {most}"


_numbers = itertools.count(1)
_BLOCK = 1 << 20  # rows that are brought to an engine at once
_VERY_NEAR = 0.8  # how like another name a misspelt one is, and hardly any value


@dataclass(frozen=True)
class Source:
    """A registered source of rows.

    In SQL its columns are c0, c1, ... in the order of `types`, whatever their names: engines hold
    names for equal that differ in case, and a column must never be taken for another. `column`
    gives that of a name.

    `untyped` says that every column is text whose type nobody has stated (a text file);
    `types` are Arrow's, for the columns in the order they stand; `rows` is their number, for a
    text file an estimate from its size. Of the columns `apart`, which come from a second table or
    were published beside codes, the contrary of `untyped` is true. `one_each`: every row is known
    to be another person. `others`: columns that stand there besides and were not asked for.
    `form`: how it is written; `decimals` the sign of columns whose numbers were not plain, and
    `as_stands` what the engine calls its cells before their texts were read.
    `doubts`: columns that are texts because what they mean is not plain, and what to say of them.
    `undated` are those of dates of which nobody said in which hundred years they lie.
    `codes`: what stands among the numbers or dates of a column and is none.
    `notes`: what must be said of how it was read.
    """

    name: str
    label: str
    types: dict[str, pa.DataType]
    rows: int
    untyped: bool = False
    apart: frozenset[str] = frozenset()
    one_each: bool = False
    others: tuple[str, ...] = ()
    form: FileForm = field(default_factory=FileForm)
    decimals: Mapping[str, str] = field(default_factory=dict)
    as_stands: str = ""
    doubts: Mapping[str, str] = field(default_factory=dict)
    undated: frozenset[str] = frozenset()
    codes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @cached_property
    def _places(self) -> dict[str, str]:
        return {name: f"c{place}" for place, name in enumerate(self.types)}

    def column(self, name: str) -> str:
        """A column as it stands in SQL, told by its exact name."""
        return self._places[name]

    def is_untyped(self, column: str) -> bool:
        """Whether a column is text whose type nobody has stated."""
        return self.untyped != (column in self.apart)


def missing_column(source: Source, name: str, role: str) -> InputError:
    """What to say of a column that is not there.

    The names of a source may be somebody's row: a file without a header, or one whose first row is
    glued to it, as such or as a frame made of it. So of its names only one is told that is nearly
    the one asked for.
    """
    hint = name_meant(name, (*source.types, *source.others))
    return InputError(f"column {name!r} ({role}) is not in {source.label}; {hint}")


def check_columns_named(source: Source, named_columns: Iterable[tuple[str, str]]) -> None:
    """Refuse what an option says of a column that is not there, told as (option, column)."""
    for option, name in named_columns:
        if name not in (*source.types, *source.others):
            raise missing_column(source, name, option)


def name_meant(wanted: str, columns: Sequence[str]) -> str:
    """A trailing hint for a column that is not there: one of nearly that name, or their number.

    A name that holds all of the wanted one and more may have somebody's value glued to it, and is
    told by its place.
    """
    near = nearest(wanted, columns, _VERY_NEAR)
    if near is not None:
        plain, near_plain = wanted.strip().casefold(), near.strip().casefold()
        if plain == near_plain or plain not in near_plain:
            return f"did you mean {near!r}?"
        place = columns.index(near) + 1
        return f"did you mean its column {place}, whose name is that and some signs more?"
    return (
        f"none of its {len(columns)} column(s) has nearly that name; the first line of a text file "
        "must name the columns"
    )


def near_name(wanted: str, names: Sequence[str]) -> str | None:
    """The one of these names that may well mean it: misspelt, or with more or fewer words."""
    words = _words(wanted)
    for name in names:
        name_words = _words(name)
        glued = len(wanted) > 2 and "".join(name_words).startswith("".join(words))
        if (
            words
            and name_words
            and (glued or {*words} <= {*name_words} or {*name_words} <= {*words})
        ):
            return name
    return nearest(wanted, names, _VERY_NEAR)


def _words(name: str) -> list[str]:
    """In their order: zip and code of zipCode, ZIP_CODE and "Zip code"."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[\W_]+", apart.casefold()) if word]


def refused(engine: str, reason: str, label: str, sql: str) -> SfumatoError:
    """A query that an engine would not run; its text is for whoever looks for our mistake."""
    sentence = f"{engine} refused to read {label} ({reason}); convert it to another kind of file"
    if os.environ.get("SFUMATO_DEBUG"):
        return SfumatoError(f"{sentence}: {sql}")
    return SfumatoError(sentence)


@dataclass(frozen=True)
class CellCombinations:
    """What cells of some SQL expressions (`keys`) may stand side by side, and the code of each.

    The values of every expression are listed in the order of the combinations.
    """

    keys: tuple[str, ...]
    values: tuple[pa.Array, ...]
    codes: npt.NDArray[np.integer]


@dataclass(frozen=True)
class LookedUp:
    """SQL of rows with the codes of their cells, right where `known` holds: elsewhere is none."""

    relation: str
    codes: list[str]
    known: str


class Engine(Protocol):
    """The one door through which SQL reaches rows.

    `memory` is how many bytes we ourselves may take for what we fetch from it; `embedded` says
    whether it works in this process, so that rows made here cost no way to it and back.
    """

    memory: int
    embedded: bool

    def register(self, source: object, needed: tuple[str, ...] | None = None) -> Source:
        """Make a file, frame or relation available under a name; `needed` columns suffice."""
        ...

    def materialize(self, name: str, select: str, *, large: bool = False) -> None:
        """Keep a query's result as a table; a `large` one where it takes no memory."""
        ...

    def append(self, name: str, table: pa.Table) -> None:
        """Add rows to a large table of that name, which begins with the first of them."""
        ...

    def drop(self, name: str) -> None:
        """Forget a table that was kept."""
        ...

    def fetch(self, select: str, *, in_order: bool = False) -> pa.Table:
        """Run a query and bring its (compact) result; `in_order`: rows as they stand in a file."""
        ...

    def first_rows(self, source: Source, columns: Sequence[str], most: int) -> pa.Table:
        """Cells of some rows of a source, called k0, k1, ...: as many as are quickly at hand.

        What they hold is a guess of what there is, to be confirmed by a query.
        """
        ...

    def yield_memory(self) -> AbstractContextManager[None]:
        """Within, the engine holds back, so that we may take `memory` bytes ourselves."""
        ...

    def put(self, name: str, table: pa.Table) -> None:
        """Bring a small table to the engine."""
        ...

    def write(self, select: str, folder: Path) -> None:
        """Write a query's rows as Parquet files into a folder that is there, in their order."""
        ...

    def repeated(self, relation: str, n: str) -> str:
        """SQL of a FROM clause: every row of a relation as often as its column `n` says.

        Its copies are numbered from 0 (`sfumato_copy`).
        """
        ...

    def label_of(self, table: str, code: str) -> str | None:
        """SQL expression: what a small table (code 0, 1, ..., label) says of a code.

        None where that takes a join, after which rows would have lost their order.
        """
        ...

    def look_up(
        self, relation: str, cells: Sequence[CellCombinations], carried: Sequence[str] = ()
    ) -> LookedUp | None:
        """The codes of cells that it `looks_up`, all at once; None if they must be joined.

        The relation that comes has all columns of this one, and what is `carried` along, as named.
        """
        ...

    def looks_up(self, kinds: Sequence[pa.DataType], combinations: int) -> bool:
        """Whether the code of cells side by side is found faster than by a join.

        They are of these types, and one of so many combinations.
        """
        ...

    def set_of_rows(self, column: str, *, repeated: bool = False) -> str:
        """SQL aggregate: the values of a column as one sorted list, NULL kept as a value.

        `repeated`: as often as they occur, otherwise once. Lists are where dialects part ways,
        hence three fragments of their own.
        """
        ...

    def set_of_list(self, column: str, *, repeated: bool = False) -> str:
        """SQL expression: a list column as a sorted list, NULL inside kept; NULL stays NULL."""
        ...

    def or_empty(self, column: str) -> str:
        """SQL expression: a list column with the empty list for NULL."""
        ...


def fresh(name: str) -> str:
    """A name for a table of the engine's that no other table has."""
    return f"{name}_{next(_numbers)}"


def row_blocks(total: int) -> Iterator[slice]:
    """At least one: a table begins with its first rows, even if there are none."""
    for start in range(0, max(total, 1), _BLOCK):
        yield slice(start, start + _BLOCK)


class Scratch:
    """Tables that an engine needs for a while."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.names: list[str] = []

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        for name in self.names:
            # What went wrong before is what there is to tell.
            with contextlib.suppress(SfumatoError):
                self.engine.drop(name)

    def _name(self, content: str) -> str:
        self.names.append(fresh(content))
        return self.names[-1]

    def append(self, content: str, blocks: Iterator[pa.Table]) -> str:
        """A large table, brought block by block."""
        name = self._name(content)
        for block in blocks:
            self.engine.append(name, block)
        return name

    def put(self, content: str, table: pa.Table) -> str:
        """A small one."""
        name = self._name(content)
        self.engine.put(name, table)
        return name
