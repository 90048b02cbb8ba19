"""Spark, as a session of the user's or one that we start: only counts come to this process."""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from sfumato.engines.base import CellCombinations, LookedUp, Source, fresh, select, select_first
from sfumato.engines.files import Parts, shown_name
from sfumato.engines.memory import in_bytes, machine_memory
from sfumato.engines.reading import Reading
from sfumato.engines.spark.dialect import is_plain, to_spark, translate, write_parts
from sfumato.engines.spark.look_up import MOST, hashes_of_values, look_up, padded
from sfumato.engines.spark.part_files import PartFiles
from sfumato.engines.spark.session import Unsplit, translated
from sfumato.engines.spark.sources import Opened, open_source, read_by_duckdb
from sfumato.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_AT_ONCE = 1 << 16  # copies of a row that are made in one go


class Spark:
    """A door to one session; what it keeps there are temporary views of names of its own.

    `memory` is what Python on this machine may take for what it fetches, and the memory of the
    driver where we start it ourselves; `master` and `spill` are for a session that we start.
    """

    embedded = False

    def __init__(
        self,
        reading: Reading | None = None,
        *,
        session: SparkSession | None = None,
    ) -> None:
        self._reading = reading = reading or Reading()
        memory, spill = reading.memory, reading.spill
        if reading.decimal not in (None, "."):
            raise InputError(
                f"decimal {reading.decimal!r} is not read by Spark; write numbers with a point, or "
                "use the engine duckdb"
            )
        forms = reading.stated_forms
        if forms.exact and (forms.missing or forms.dates or forms.decimals or forms.codes):
            raise InputError(
                "the release is written with dates, numbers, marks or codes of its table's own, "
                "which Spark does not read; use the engine duckdb"
            )
        # Half for us, half for Java: a driver on this machine takes as much again.
        self.memory = machine_memory() // 2 if memory is None else in_bytes(memory)
        if session is None:
            from sfumato.engines.spark.session import open_session

            session = open_session(reading.master, self.memory, Path(spill) if spill else None)
        self._session = session
        self._prefix = f"sfumato_{secrets.token_hex(4)}"
        self._tables: dict[str, str] = {}  # views by the names that SQL has for them
        self._kept: dict[str, list[DataFrame]] = {}  # parts of views that Spark keeps
        self._files = PartFiles(session, Path(spill) if spill else None)
        self._opened: dict[str, Opened] = {}
        self._marks = itertools.count()
        forget = weakref.finalize(self, _forget, session, self._tables, self._kept)
        forget.atexit = False  # the session ends then, and all of this with it
        weakref.finalize(self, self._files.close)

    def register(self, source: object, needed: tuple[str, ...] | None = None) -> Source:
        with translated(_label(source), "the table's columns"):
            opened = open_source(self._session, source, needed, self._reading)
            frame = self._own(opened.frame)
            name = f"{self._prefix}_source_{len(self._opened) + 1}"
            types = dict.fromkeys(opened.names, pa.string())
            if not opened.untyped and opened.names:
                schema = frame.limit(0).toArrow().schema
                types = dict(zip(opened.names, schema.types, strict=True))
            frame.createOrReplaceTempView(name)
            self._tables[name] = name
            self._opened[name] = opened
            rows = opened.rows
            if rows is None:
                rows = frame.count()
        return Source(
            name,
            opened.label,
            types,
            rows,
            untyped=opened.untyped,
            others=opened.others,
            form=opened.form,
            notes=opened.notes,
        )

    def materialize(self, name: str, select: str, *, large: bool = False) -> None:
        with self._spoken(select):
            frame = self._frame(select)
            _keep(frame, large=large)
        self.drop(name)
        # What is kept goes with the view: under Connect a frame is a query that is looked up anew
        # when it is let go, and what it was made of may be dropped by then.
        self._view(name, frame)

    def append(self, name: str, table: pa.Table) -> None:
        if self._files.seen_by_spark:
            with translated("the table", f"a table of {table.num_rows} rows"):
                whole = self._own(self._files.append(name, table))
            self._view(name, whole)
            return
        before = self._kept.get(name, [])
        with translated("the table", f"a table of {table.num_rows} rows"):
            more = self._own(to_spark(self._session, table))
            _keep(more, large=True)
            whole = functools.reduce(lambda left, right: left.union(right), [*before, more])
        self._view(name, self._own(whole), [*before, more])

    def drop(self, name: str) -> None:
        view, kept = self._tables.pop(name, None), self._kept.pop(name, ())
        with translated("the table", f"to drop {name}"):
            if view is not None:
                self._session.catalog.dropTempView(view)
            for frame in kept:
                frame.unpersist()
        self._files.drop(name)

    def put(self, name: str, table: pa.Table) -> None:
        with translated("the table", f"a table of {table.num_rows} rows"):
            frame = self._own(to_spark(self._session, table))
        self.drop(name)
        self._view(name, frame)

    def fetch(self, select: str, *, in_order: bool = False) -> pa.Table:
        if in_order:
            raise InputError("Spark's rows have no numbers; read the table with engine duckdb")
        with self._spoken(select):
            return self._frame(select).toArrow()

    def first_rows(self, source: Source, columns: Sequence[str], most: int) -> pa.Table:
        types = {name: source.types[name] for name in columns}
        rows = self._opened[source.name].first_rows(types, most)
        if rows is not None:
            return rows.rename_columns([f"k{at}" for at in range(len(columns))])
        return self.fetch(select_first(source, columns, most))

    def yield_memory(self) -> contextlib.nullcontext[None]:
        return contextlib.nullcontext()  # Spark's memory is never ours

    def write(self, select: str, folder: Path) -> None:
        part = Path(tempfile.mkdtemp(prefix=".part-", dir=folder))
        try:
            with self._spoken(select):
                written = write_parts(self._frame(select), part)
            # Spark's names tell of the run, and it adds marks and checksums of its own.
            for number, file in enumerate(written):
                file.rename(folder / f"part-{number:05d}.parquet")
        finally:
            shutil.rmtree(part, ignore_errors=True)

    # -- fragments ---------------------------------------------------------------------------

    def repeated(self, relation: str, n: str) -> str:
        # In portions: a list of all copies of a row might not fit in memory.
        portions = f"sequence(0, CAST(({n} - 1) DIV {_AT_ONCE} AS INT))"
        first = f"CAST(sfumato_at AS BIGINT) * {_AT_ONCE}"
        portion = f"sequence({first}, LEAST({first} + {_AT_ONCE}, CAST({n} AS BIGINT)) - 1)"
        return (
            f"(SELECT * FROM {relation} "
            f"LATERAL VIEW explode(CASE WHEN {n} > 0 THEN {portions} END) AS sfumato_at "
            f"LATERAL VIEW explode({portion}) AS sfumato_copy) AS copies"
        )

    def label_of(self, table: str, code: str) -> None:
        return None  # a small table is joined where the rows are, and they are sorted after

    def look_up(
        self, relation: str, cells: Sequence[CellCombinations], carried: Sequence[str] = ()
    ) -> LookedUp | None:
        name = fresh("values")
        self.put(name, padded(cells))
        hashes = self.fetch(select(["place", *hashes_of_values(cells)], name))
        self.drop(name)
        return look_up(relation, cells, carried, hashes)

    def looks_up(self, kinds: Sequence[pa.DataType], combinations: int) -> bool:
        return combinations <= MOST and all(map(is_plain, kinds))

    def set_of_rows(self, column: str, *, repeated: bool = False) -> str:
        # collect_list leaves NULL out, but a missing value is a value: each goes in a wrapper.
        wrapped = f"collect_list(named_struct('v', {column}))"
        return self.set_of_list(f"transform({wrapped}, one -> one.v)", repeated=repeated)

    def set_of_list(self, column: str, *, repeated: bool = False) -> str:
        return f"sort_array({column})" if repeated else f"sort_array(array_distinct({column}))"

    def or_empty(self, column: str) -> str:
        return f"COALESCE({column}, array())"

    # -- the session -------------------------------------------------------------------------

    def _frame(self, select: str) -> DataFrame:
        return self._session.sql(translate(select, self._tables))

    def _own(self, frame: DataFrame) -> DataFrame:
        """A frame that is no other's.

        When a view is dropped, Spark forgets what it keeps of any frame with the same plan, even
        if the user wants it kept. A condition that says nothing makes the plan another.
        """
        return frame.where(f"'{self._prefix}_{next(self._marks)}' <> ''")

    def _view(self, name: str, frame: DataFrame, kept: Sequence[DataFrame] = ()) -> None:
        self._tables[name] = f"{self._prefix}_{name}"
        self._kept[name] = list(kept)
        with translated("the table", f"to keep {name}"):
            frame.createOrReplaceTempView(self._tables[name])

    @contextlib.contextmanager
    def _spoken(self, sql: str) -> Iterator[None]:
        """What goes wrong within, in our words, blamed on the sources that a query reads."""
        read = [self._opened[name] for name in re.findall(r"\w+", sql) if name in self._opened]
        label = " or ".join(dict.fromkeys(opened.label for opened in read)) or "the table"
        try:
            with translated(label, sql):
                yield
        except Unsplit:
            for opened in read:
                if opened.file is not None:
                    read_by_duckdb(opened.file)  # names the line
            raise


def _label(source: object) -> str:
    if isinstance(source, Parts):
        return source.label
    return shown_name(Path(source)) if isinstance(source, str | Path) else "the table"


def _keep(frame: DataFrame, *, large: bool) -> None:
    """Have Spark keep a frame's rows."""
    from pyspark import StorageLevel

    frame.persist(StorageLevel.DISK_ONLY if large else StorageLevel.MEMORY_AND_DISK)
    frame.count()  # now, for what it is made of may be dropped soon


def _forget(
    session: SparkSession, tables: dict[str, str], kept: dict[str, list[DataFrame]]
) -> None:
    """What an engine kept in a session goes with it; the session may be gone itself."""
    with contextlib.suppress(Exception):
        for view in tables.values():
            session.catalog.dropTempView(view)
        for frames in kept.values():
            for frame in frames:
                frame.unpersist()
