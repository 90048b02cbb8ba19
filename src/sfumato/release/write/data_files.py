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
from sfumato.numbers import Codes, Ints
from sfumato.release.made import Randomised
from sfumato.release.release import Release
from sfumato.release.write.by_engine import EngineRows, engine_rows, is_for_engine
from sfumato.release.write.cells import check_readable, occurring, used_values
from sfumato.release.write.publish import tables_of
from sfumato.schema.domain import Domain, build_domain
from sfumato.schema.region import ValueSet
from sfumato.table import Table

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
    _check_types(release)
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
        parts = sorted(folder.rglob("*.parquet"))
        sizes = [pq.read_metadata(part).num_rows for part in parts]
        if not parts or sum(sizes) != self._rows.people:
            raise SfumatoError(
                f"the engine wrote {sum(sizes):,} rows for {self._rows.people:,} people; nothing "
                "was published"
            )
        filled = [part for part, size in zip(parts, sizes, strict=True) if size]
        return filled or parts[:1]

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


def _check_types(release: Release) -> None:
    """Refuse words that only suppressed people have beside everybody's numbers or dates.

    A text file has no types: its column is one of words, and published as such, because of them.
    """
    placement = release.placement
    if placement is None or not release.suppressed or not placement.table.source.untyped:
        return
    for domain, used in _shown_codes(release, placement.table):
        if domain.kind != "categorical" or domain.name in release.schema.domains:
            continue
        texts = [text for text in used_values(domain, used) if text is not None]
        alone = build_domain(domain.name, pa.array(texts, pa.string()), untyped=True)[0]
        if alone.kind != "categorical":
            raise InputError(
                f"column {quoted(domain.name)} holds words, but only of people who are suppressed: "
                "published as words, the others' numbers or dates would tell of them; declare the "
                "column in domains as 'categorical', or change the data"
            )


def _shown_codes(release: Release, table: Table) -> Iterator[tuple[Domain, Ints | Codes]]:
    """The columns whose values are published as they are, and the codes that are published."""
    known = table.schema.hierarchies  # whose labels are published, or whose leaves are words
    for attribute in table.counts.sensitive:
        if attribute.name not in known:
            yield attribute.domain, release.groups_for(attribute.name).indices
    if release.regions.buckets is not None:
        yield from zip(release.regions.buckets.domains, release.regions.buckets.codes, strict=True)
    regions = release.regions.each_region
    if regions is None:
        return
    # A taxonomy's words are its own, whoever is in the table.
    free = [name for name in regions.columns if name not in known or not list(known[name].leaves())]
    for domain, parts, codes in zip(table.counts.quasi, regions.parts, regions.codes, strict=True):
        cells = [parts[place] for place in occurring(codes, len(parts))]
        plain = [cell.values for cell in cells if isinstance(cell, ValueSet) and not cell.label]
        own = [domain.code(next(iter(values))) for values in plain if len(values) == 1]
        told = [code for code in own if code is not None]
        if domain.name in free and len(told) == len(cells):
            yield domain, np.array(told)


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
