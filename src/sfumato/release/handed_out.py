"""What a release hands out, column by column: its cells as texts, and what they look like.

Rules about a file (no phone numbers, years only) are about cells, not about groups of people. The
cells of a file that was read are counted by its engine, those of a release made here once they are
what would be written. Nothing here is told to anybody but as a number of cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from sfumato.engines.base import Engine, Source, fresh, literal, named, select
from sfumato.engines.cell_forms import is_string
from sfumato.engines.choose import open_engine
from sfumato.engines.reading import Reading
from sfumato.schema.identifier_forms import FORMS, IdentifierForm
from sfumato.schema.region import MISSING
from sfumato.schema.roles import Schema

if TYPE_CHECKING:
    from sfumato.release.release import Release

LISTED = 100_000  # distinct cells that are looked at one by one
_MANY_ROWS = 1_000_000  # from which cells are kept where they take no memory
LONG = 60  # characters
_WORDS = 4  # of a sentence
_TEXTS = 20  # different ones, below which texts are categories
_OWN = 0.2  # different texts per cell from which they are people's own
_ONCE = 0.01  # the same of texts that stand once
# Counted up to forty, the letters of all alphabets take an engine longer to compile than a table to
# be read; a star after the third does not.
_LETTERS = r"[\p{L}\p{M}]{3,}"
# Of an identifier the whole, its first and its last word, where they are long enough to tell.
_TELLING = (r"^.{4,100}$", f"^{_LETTERS}", f"{_LETTERS}$")
LATER = (
    "the table is larger than memory, and its cells are known when they are written: audit the "
    "folder"
)


@dataclass(frozen=True)
class CellSizes:
    """Cells of a column that say something: how many, how many different ones, and their length.

    `words` and `longest` are those of the different texts: words on average, characters at most.
    `alone` is how many of them stand once.
    """

    cells: int
    distinct: int
    alone: int
    words: float
    longest: int

    @property
    def are_sentences(self) -> bool:
        """Texts of several words, or long ones."""
        return self.words >= _WORDS or (self.longest > LONG and self.words >= 2)

    @property
    def is_free_text(self) -> bool:
        """Sentences, many of which somebody wrote for one person: anything may stand in them."""
        own = self.distinct >= _TEXTS and self.distinct >= _OWN * self.cells
        once = self.alone >= _TEXTS and self.alone >= _ONCE * self.cells
        few = 2 < self.distinct < _TEXTS and self.distinct >= 0.9 * self.cells  # of a small table
        return (own or once or few) and self.are_sentences


@dataclass(frozen=True)
class ColumnCells:
    """A column that is handed out; `role` is what the schema says of it ("" if nothing)."""

    name: str
    role: str
    kind: pa.DataType
    engine: Engine = field(repr=False)
    source: Source = field(repr=False)

    @property
    def is_text(self) -> bool:
        kind = self.kind.value_type if pa.types.is_dictionary(self.kind) else self.kind
        return is_string(kind)

    @property
    def is_binary(self) -> bool:
        return bool(pa.types.is_binary(self.kind) or pa.types.is_large_binary(self.kind))

    @cached_property
    def _texts(self) -> str:
        """The engine's table of different cells that say something: texts v, and how often n."""
        text = f"CAST({self.source.column(self.name)} AS STRING)"
        nothing = ", ".join(map(literal, ("", "*", MISSING)))
        cells_query = select(
            [named(text, "v"), named("COUNT(*)", "n")], self.source.name, group=[text]
        )
        kept, many = fresh("handed_out"), self.source.rows > _MANY_ROWS
        telling_query = f"SELECT v, n FROM ({cells_query}) AS every_cell WHERE v NOT IN ({nothing})"
        self.engine.materialize(kept, telling_query, large=many)
        return kept

    def forget(self) -> None:
        """Drop what the engine keeps of its cells; what was counted stays known."""
        if "_texts" in self.__dict__:
            self.engine.drop(self.__dict__.pop("_texts"))

    @cached_property
    def counts(self) -> CellSizes:
        """How many cells there are, and of what length."""
        spaces = "LENGTH(v) - LENGTH(REPLACE(v, ' ', ''))"
        sizes = self.engine.fetch(
            select(
                [
                    named("CAST(COALESCE(SUM(n), 0) AS BIGINT)", "cells"),
                    named("CAST(COUNT(*) AS BIGINT)", "distinct_cells"),
                    named("CAST(COUNT(CASE WHEN n = 1 THEN 1 END) AS BIGINT)", "alone"),
                    named(f"CAST(COALESCE(AVG({spaces}), 0) AS DOUBLE)", "spaces"),
                    named("CAST(COALESCE(MAX(LENGTH(v)), 0) AS BIGINT)", "longest"),
                ],
                self._texts,
            )
        )
        cells, distinct, alone, between, longest = (column[0].as_py() for column in sizes.columns)
        return CellSizes(cells, distinct, alone, between + 1, longest)

    @cached_property
    def listed(self) -> dict[str, int] | None:
        """The different cells and how often each stands; None where they are too many to list."""
        if self.counts.distinct > LISTED:
            return None
        counted = self.engine.fetch(select(["v", "n"], self._texts))
        return dict(zip(counted.column(0).to_pylist(), counted.column(1).to_pylist(), strict=True))

    def matching(self, pattern: str) -> int:
        """How many cells fit a pattern somewhere."""
        return self._cells_with({"": pattern})[""]

    def naming(self, columns: Sequence[str]) -> int:
        """How many cells hold what other columns of their row do, or its first or last word."""
        if not columns:
            return 0
        text = f"LOWER(CAST({self.source.column(self.name)} AS STRING))"
        parts = [
            f"NULLIF(regexp_extract(LOWER(CAST({self.source.column(name)} AS STRING)), "
            f"{literal(pattern)}, 0), '')"
            for name in columns
            for pattern in _TELLING
        ]
        inside = " OR ".join(f"instr({text}, {part}) > 0" for part in parts)
        cells = named(f"CAST(COUNT(CASE WHEN {inside} THEN 1 END) AS BIGINT)", "cells")
        return int(self.engine.fetch(select([cells], self.source.name)).column(0)[0].as_py())

    @cached_property
    def forms(self) -> dict[str, int]:
        """How many cells hold something of each form, of those that any does."""
        cells_with = self._cells_with({name: form.pattern for name, form in FORMS.items()})
        for name, form in FORMS.items():
            if cells_with[name] and form.check is not None:
                cells_with[name] = self._checked(form, cells_with[name])
        return {name: cells for name, cells in cells_with.items() if cells}

    def _cells_with(self, patterns: Mapping[str, str]) -> dict[str, int]:
        listed = [
            named(
                f"CAST(COALESCE(SUM(CASE WHEN {_fits(pattern)} THEN n ELSE 0 END), 0) AS BIGINT)",
                f"p{place}",
            )
            for place, pattern in enumerate(patterns.values())
        ]
        counted = self.engine.fetch(select(listed, self._texts))
        return {
            name: int(column[0].as_py())
            for name, column in zip(patterns, counted.columns, strict=True)
        }

    def _checked(self, form: IdentifierForm, fitting: int) -> int:
        """The cells among those that fit whose check digits are right; all where they are many."""
        texts = f"{self._texts} WHERE {_fits(form.pattern)} LIMIT {LISTED + 1}"
        fitting_cells = self.engine.fetch(select(["v", "n"], texts))
        if fitting_cells.num_rows > LISTED:
            return fitting
        pairs = zip(
            fitting_cells.column(0).to_pylist(), fitting_cells.column(1).to_pylist(), strict=True
        )
        return sum(n for text, n in pairs if form.found_in(text))


def _fits(pattern: str) -> str:
    """SQL of all engines: a pattern is found in a text; what is found is never empty."""
    return f"regexp_extract(v, {literal(pattern)}, 0) <> ''"


@dataclass(frozen=True)
class HandedOut:
    """The columns of the files that are handed out; `unseen`: others stand there, by name only."""

    columns: tuple[ColumnCells, ...]
    unseen: tuple[str, ...] = ()

    def __add__(self, other: HandedOut) -> HandedOut:
        return HandedOut(self.columns + other.columns, self.unseen + other.unseen)


def columns_of(engine: Engine, source: Source, schema: Schema, *, whole: bool) -> HandedOut:
    """The columns of a source; `whole`: as a file, with those that have no role or name people."""
    from sfumato.release.write.publish import OWNER  # which knows releases

    roles = {name: role for role, name in schema.roles()}
    never = {OWNER} if schema.rows == "unlinked" else set()  # read from its owner's evidence
    columns = [
        ColumnCells(name, roles.get(name, ""), kind, engine, source)
        for name, kind in source.types.items()
        if name not in never and (whole or roles.get(name, "identifiers") != "identifiers")
    ]
    return HandedOut(tuple(columns), source.others if whole else ())


def handed_out(release: Release) -> HandedOut | None:
    """What a release hands out; None where that is not known before it is written."""
    from sfumato.release.made import ReadFrom

    if isinstance(release.made, ReadFrom):
        published = release.made.stray.handed_out
        return published if published.columns else None
    placed = release.placement
    if placed is not None and not placed.fits_memory:
        return None
    written = HandedOut(())
    for table in release.tables().values():
        engine = open_engine(table, Reading())
        written += columns_of(engine, engine.register(table), release.schema, whole=True)
    return written
