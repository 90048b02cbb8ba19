"""The data files of a release: tables made in memory, or rows that the engine writes itself."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from sfumato.errors import SfumatoError
from sfumato.release.release import Release
from sfumato.release.write.by_engine import EngineRows, engine_rows, is_for_engine
from sfumato.release.write.publish import tables_of

PARTS = "data"  # the folder of the parts, where one file would not do
_CSV = pa_csv.WriteOptions(quoting_style="needed")
_ROWS = 1 << 16  # that a text file is written by


class Data(Protocol):
    """What is to be handed out, ready to be written."""

    @property
    def columns(self) -> list[pa.Field]: ...

    def write(self, public: Path, form: str) -> None:
        """Write the files into a folder that is there."""
        ...


@contextlib.contextmanager
def data_of(release: Release, seed: int | None, lists: Mapping[str, str]) -> Iterator[Data]:
    """The data of a release; refuses what cannot be published before anything is written."""
    if is_for_engine(release):
        with engine_rows(release, lists) as rows:
            yield _ByEngine(rows)
    else:
        yield _InMemory(tables_of(release, seed, lists))


class _InMemory:
    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self._tables = tables

    @property
    def columns(self) -> list[pa.Field]:
        return [field for table in self._tables.values() for field in table.schema]

    def write(self, public: Path, form: str) -> None:
        for name, table in self._tables.items():
            write_table(table, public / f"{name}.{form}")


class _ByEngine:
    def __init__(self, rows: EngineRows) -> None:
        self._rows = rows

    @property
    def columns(self) -> list[pa.Field]:
        return list(self._rows.schema)

    def write(self, public: Path, form: str) -> None:
        # Beside public/, which nothing of the engine's own shall ever reach.
        scratch = public.with_name("rows").absolute()
        scratch.mkdir(mode=0o700)
        with self._rows.beside():
            self._rows.engine.write(self._rows.select, scratch)
        parts = self._parts(scratch)
        if form == "csv":
            self._write_text(parts, public / "data.csv")
        elif len(parts) == 1:
            parts[0].rename(public / "data.parquet")
        else:
            (public / PARTS).mkdir()
            for number, part in enumerate(parts):
                part.rename(public / PARTS / f"part-{number:05}.parquet")
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

    def _write_text(self, parts: list[Path], path: Path) -> None:
        """Parquet files as one text file, batch by batch."""
        with pa_csv.CSVWriter(path, self._rows.schema, write_options=_CSV) as writer:
            for part in parts:
                with pq.ParquetFile(part) as file:
                    for batch in file.iter_batches(_ROWS):
                        writer.write_table(self._rows.typed(pa.Table.from_batches([batch])))


def write_table(table: pa.Table, path: Path) -> None:
    """One published table; neither format carries an index, an order or a program's name."""
    if path.suffix == ".parquet":
        pq.write_table(table.replace_schema_metadata(None), path, store_schema=False)
        return
    pa_csv.write_csv(table, path, _CSV)
