"""The data files of a release: tables made in memory, or rows that the engine writes itself."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from sfumato.errors import InputError, SfumatoError, quoted
from sfumato.release.made import Randomised
from sfumato.release.release import Release
from sfumato.release.write.by_engine import EngineRows, engine_rows, is_for_engine
from sfumato.release.write.cells import check_readable
from sfumato.release.write.publish import tables_of

PARTS = "data"  # the folder of the parts, where one file would not do
_CSV = pa_csv.WriteOptions(quoting_style="needed")
_ROWS = 1 << 16  # that a text file is written by


class Data(Protocol):
    """What is to be handed out, ready to be written."""

    @property
    def columns(self) -> list[pa.Field]: ...

    def write(self, public: Path, format: str) -> None:
        """Write the files into a folder that is there."""
        ...


@contextlib.contextmanager
def data_of(release: Release, seed: int | None, lists: Mapping[str, str]) -> Iterator[Data]:
    """The data of a release; refuses what cannot be published before anything is written."""
    _check_regions(release)
    # An empty text of a list lists nothing, in a CSV file too.
    may_be_empty = (*release.schema.keep, *release.schema.lists)
    if is_for_engine(release):
        with engine_rows(release, lists) as rows:
            yield _ByEngine(rows, may_be_empty)
    else:
        yield _InMemory(tables_of(release, seed, lists), may_be_empty)


class _InMemory:
    def __init__(self, tables: Mapping[str, pa.Table], may_be_empty: Collection[str]) -> None:
        self._tables, self._may_be_empty = tables, may_be_empty

    @property
    def columns(self) -> list[pa.Field]:
        return [field for table in self._tables.values() for field in table.schema]

    def write(self, public: Path, format: str) -> None:
        for name, table in self._tables.items():
            if format == "csv":
                _check_text(table, self._may_be_empty)
            write_table(table, public / f"{name}.{format}")


class _ByEngine:
    def __init__(self, rows: EngineRows, may_be_empty: Collection[str]) -> None:
        self._rows, self._may_be_empty = rows, may_be_empty

    @property
    def columns(self) -> list[pa.Field]:
        return list(self._rows.schema)

    def write(self, public: Path, format: str) -> None:
        # Beside public/, which nothing of the engine's own shall ever reach.
        scratch = public.with_name("rows").absolute()
        scratch.mkdir(mode=0o700)
        with self._rows.beside():
            self._rows.engine.write(self._rows.select, scratch)
        parts = self._parts(scratch)
        if format == "csv":
            self._write_text(parts, public / "data.csv")
        elif len(parts) == 1:
            self._publish(parts[0], public / "data.parquet")
        else:
            (public / PARTS).mkdir()
            for number, part in enumerate(parts):
                self._publish(part, public / PARTS / f"part-{number:05}.parquet")
        shutil.rmtree(scratch)

    def _parts(self, folder: Path) -> list[Path]:
        """The files that hold rows, in their order."""
        found = sorted(folder.rglob("*.parquet"))
        sizes = [pq.read_metadata(part).num_rows for part in found]
        if not found or sum(sizes) != self._rows.people:
            raise SfumatoError(
                f"the engine wrote {sum(sizes):,} rows for {self._rows.people:,} people; nothing "
                "was published"
            )
        filled = [part for part, size in zip(found, sizes, strict=True) if size]
        return filled or found[:1]

    def _publish(self, part: Path, target: Path) -> None:
        """A part as it is, or once more where the engine could not give columns their names."""
        names = self._rows.schema.names
        with pq.ParquetFile(part) as file:
            schema = file.schema_arrow.remove_metadata()
            renamed = schema.names != names
            if renamed:
                fields = [one.with_name(name) for one, name in zip(schema, names, strict=True)]
                schema = pa.schema(fields)
                with pq.ParquetWriter(target, schema, store_schema=False) as writer:
                    for number in range(file.num_row_groups):
                        rows = file.read_row_group(number)
                        writer.write_table(pa.table(rows.columns, schema=schema))
        if not renamed:
            part.rename(target)

    def _write_text(self, parts: list[Path], path: Path) -> None:
        """Parquet files as one text file, batch by batch."""
        with pa_csv.CSVWriter(path, self._rows.schema, write_options=_CSV) as writer:
            for part in parts:
                with pq.ParquetFile(part) as file:
                    for batch in file.iter_batches(_ROWS):
                        rows = self._rows.typed(pa.Table.from_batches([batch]))
                        _check_text(rows, self._may_be_empty)
                        writer.write_table(rows)


def _check_regions(release: Release) -> None:
    """Refuse descriptions that would not be read again as what was judged; buckets have none."""
    points = release.regions.centroids
    if isinstance(release.made, Randomised):
        for axis in release.made.table.axes:
            check_readable(axis.name, axis.parts, np.arange(len(axis)))
    elif (regions := release.regions.each_region) is not None:
        for name, parts, codes in zip(regions.columns, regions.parts, regions.codes, strict=True):
            check_readable(name, parts, codes, points=points)


def write_table(table: pa.Table, path: Path) -> None:
    """One published table; neither format carries an index, an order or a program's name."""
    if path.suffix == ".parquet":
        pq.write_table(table.replace_schema_metadata(None), path, store_schema=False)
        return
    pa_csv.write_csv(table, path, _CSV)


def _check_text(table: pa.Table, may_be_empty: Collection[str]) -> None:
    """Refuse what would not be read again from a text file as what was judged.

    A file with NUL is taken for no text file, and a header has one line and a name for each column
    (`engines/textfile.py`). An empty text is read as a missing value: what was
    judged as two values would be published as one, but for columns that `may_be_empty`.
    """
    for name, column in zip(table.schema.names, table.columns, strict=True):
        problem = "has NUL (U+0000) in its name" if "\0" in name else None
        if {"\n", "\r"} & set(name):
            problem = "has a line break in its name"
        elif not name.strip():
            problem = "has nothing but spaces for a name"
        if problem is None and pa.types.is_string(column.type):
            if pc.any(pc.match_substring(column, "\0")).as_py():
                problem = "holds texts with NUL (U+0000)"
            elif name not in may_be_empty and pc.any(pc.equal(column, "")).as_py():
                problem = "holds texts of no character, which are not missing"
        if problem is not None:
            raise InputError(
                f"column {quoted(name)} {problem}, and a CSV file cannot say so; change the data, "
                "or publish Parquet"
            )
