"""What an engine needs to make the rows of a release: groups and people, as tables for a while.

Groups go there by their places among the descriptions, people by their groups. Where the counts
are in memory so are the people; those of a table larger than memory are with the engine already.

Stands apart: tables of the engine that publishing needs for a while.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.counts.scan import join_codes
from sfumato.counts.stored import fresh
from sfumato.engines.base import Engine
from sfumato.engines.sql import named, select
from sfumato.errors import SchemaError, SfumatoError
from sfumato.release.description import Regions
from sfumato.release.origin import HeldOrigin, Origin
from sfumato.release.write.cells import described_order
from sfumato.table.load import Table

_BLOCK = 1 << 20  # rows that are brought to the engine at once


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

    def _name(self, what: str) -> str:
        self.names.append(fresh(what))
        return self.names[-1]

    def append(self, what: str, blocks: Iterator[pa.Table]) -> str:
        """A large table, brought block by block."""
        name = self._name(what)
        for block in blocks:
            self.engine.append(name, block)
        return name

    def put(self, what: str, table: pa.Table) -> str:
        """A small one."""
        name = self._name(what)
        self.engine.put(name, table)
        return name


def _blocks(total: int) -> Iterator[slice]:
    """At least one: a table begins with its first rows, even if there are none."""
    for start in range(0, max(total, 1), _BLOCK):
        yield slice(start, start + _BLOCK)


def group_blocks(regions: Regions) -> Iterator[pa.Table]:
    """Each group's place among the descriptions, and which region it shows in each column."""
    place = described_order(regions)
    numbers = np.arange(len(regions), dtype=_smallest(len(regions)))
    for block in _blocks(len(regions)):
        shown = {
            f"c{column}": codes[block].astype(_smallest(len(parts)))
            for column, (parts, codes) in enumerate(zip(regions.parts, regions.codes, strict=True))
        }
        here = place[block].astype(numbers.dtype)
        yield pa.table({"g": numbers[block], "place": here, **shown})


def _smallest(size: int) -> npt.DTypeLike:
    """The smallest type for numbers below this: the engine copies and sorts what it is given."""
    return next(one for one in (np.int8, np.int16, np.int32, np.int64) if size <= np.iinfo(one).max)


def _named(letter: str, rows: Sequence[npt.NDArray[np.int32]]) -> dict[str, npt.NDArray[np.int32]]:
    return {f"{letter}{place}": row for place, row in enumerate(rows)}


def cells_of(origin: Origin, scratch: Scratch) -> str:
    """The table of people: their group, sensitive codes and number."""
    if isinstance(origin, HeldOrigin):
        return origin.cells
    values = origin.counts.values

    def blocks() -> Iterator[pa.Table]:
        for block in _blocks(len(origin.groups)):
            told = _named("s", [row[origin.tuples[block]] for row in values])
            yield pa.table({"g": origin.groups[block], **told, "n": origin.n[block]})

    return scratch.append("cells", blocks())


def placed_of(origin: Origin, scratch: Scratch) -> str:
    """The table that tells the group of each tuple."""
    if isinstance(origin, HeldOrigin):
        if origin.placed is None:
            raise SchemaError("keep: nobody's group is known; read the table and anonymize again")
        return origin.placed
    counts = origin.counts
    if len(np.unique(origin.tuples)) < len(origin.tuples):
        raise SchemaError(
            "keep: people with equal values were parted, and through an engine there is no telling "
            "whose kept values are whose; drop keep, or use another anonymizer"
        )

    def blocks() -> Iterator[pa.Table]:
        for block in _blocks(len(origin.groups)):
            told = _named("q", [row[origin.tuples[block]] for row in counts.codes])
            told |= _named("s", [row[origin.tuples[block]] for row in counts.values])
            yield pa.table({**told, "g": origin.groups[block]})

    return scratch.append("placed", blocks())


def people_with_kept(table: Table, placed: str, scratch: Scratch) -> str:
    """SQL: one row a person, with her group, sensitive codes and kept values."""
    schema = table.schema
    _, joins, where = join_codes(
        table.engine, table.source, schema, scratch.names, large=True, kept=True
    )
    keys = [f"q{place}" for place in range(len(schema.quasi))]
    keys += [f"s{place}" for place in range(len(schema.sensitive))]
    listed = [named(where[name], key) for name, key in zip(schema.judged, keys, strict=True)]
    kept = [table.source.column(name) for name in schema.keep]
    listed += [named(column, f"k{place}") for place, column in enumerate(kept)]
    # Tuples may differ in what people want protected, and be the same for us.
    groups = select([*keys, "g"], placed, group=[*keys, "g"])
    same = " AND ".join(f"originals.{key} = told.{key}" for key in keys)
    shown = [f"originals.{key} AS {key}" for key in keys[len(schema.quasi) :]]
    shown += [f"originals.k{place} AS k{place}" for place in range(len(schema.keep))]
    return (
        f"(SELECT {', '.join(['told.g AS g', *shown])} FROM ({select(listed, joins)}) "
        f"AS originals JOIN ({groups}) AS told ON {same}) AS people"
    )
