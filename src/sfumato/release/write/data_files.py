"""The data files of a release: tables made in memory, or rows that the engine writes itself."""

from __future__ import annotations

import contextlib
import datetime as dt
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from sfumato.counts.columns import is_numeric
from sfumato.engines.encoding import encoded
from sfumato.engines.form import FileForm
from sfumato.engines.labelled import write_labelled
from sfumato.engines.notations import is_iso
from sfumato.engines.workbook import write_workbook
from sfumato.errors import InputError, SfumatoError, quoted
from sfumato.numbers import Codes, Ints, exact
from sfumato.release.made import Randomised
from sfumato.release.release import Release
from sfumato.release.write.by_engine import EngineRows, engine_tables, is_for_engine
from sfumato.release.write.cells import check_readable, occurring, used_values
from sfumato.release.write.publish import tables_of
from sfumato.schema.domain import Domain, build_domain
from sfumato.schema.region import ValueSet
from sfumato.table import Table

OWNED_ROWS = "rows"  # in private/: the published rows with a number of each one's person
PARTS = "data"  # the folder of the parts, where one file would not do
_ROWS = 1 << 16  # that a text file is written by
_FORMULA = r"^(?:[=+@\t\r]|-[^0-9.])"  # what a spreadsheet program would run, if it is let


class Data(Protocol):
    """What is to be handed out, ready to be written."""

    form: FileForm
    formula_cells: Counter[str]  # by column, once they are written

    @property
    def columns(self) -> list[pa.Field]: ...

    def write(self, public: Path) -> None:
        """Write the files into a folder that is there."""
        ...


@contextlib.contextmanager
def data_of(
    release: Release, seed: int | None, lists: Mapping[str, str], form: FileForm
) -> Iterator[Data]:
    """The data of a release; refuses what cannot be published before anything is written."""
    _check_regions(release.by_row or release)
    _check_types(release.by_row or release)
    # An empty text of a list lists nothing, in a CSV file too.
    may_be_empty = (*release.schema.kept, *release.schema.lists)
    if is_for_engine(release):
        with engine_tables(release, lists) as tables:
            yield _ByEngine(tables, release, form, may_be_empty)
    else:
        yield _InMemory(release, tables_of(release, seed, lists), form, may_be_empty)


class _InMemory:
    def __init__(
        self,
        release: Release,
        tables: Mapping[str, pa.Table],
        form: FileForm,
        may_be_empty: Collection[str],
    ) -> None:
        self._may_be_empty = may_be_empty
        self.formula_cells: Counter[str] = Counter()
        came = {} if release.regions.centroids else _types_kept(form)
        self._tables = {}
        for name, table in tables.items():
            numbers = _numbers_again(table, came)
            self._tables[name] = _as_stored(numbers, _stored(release, form, numbers.schema))
        labelled = _with_labels_published(release, form, self._tables.values())
        self.form = labelled.published(
            self.columns,
            points=release.regions.centroids,
            scales=_scales_beside_codes(form, self._tables.values()),
        )

    @property
    def columns(self) -> list[pa.Field]:
        return [field for table in self._tables.values() for field in table.schema]

    def write(self, public: Path) -> None:
        for name, table in self._tables.items():
            if not self.form.is_columnar:
                _check_text(table, self._may_be_empty, self.form)
                self.formula_cells += _formula_cells(table, self.form)
            path = public / f"{name}{self.form.ending}"
            write_table([table], path, table.schema, self.form)


def write_rows(release: Release, rows: pa.Table, folder: Path, form: FileForm) -> None:
    """The owner's copy of rows, written as the published ones are."""
    _InMemory(release, {OWNED_ROWS: rows}, form, release.schema.kept).write(folder)


class _ByEngine:
    def __init__(
        self,
        tables: Mapping[str, EngineRows],
        release: Release,
        form: FileForm,
        may_be_empty: Collection[str],
    ) -> None:
        people = max(rows.people for rows in tables.values())
        if form.format not in ("csv", "parquet", "arrow"):
            raise InputError(
                f"the release has {people:,} rows, too many for memory, and .{form.format} is "
                "written from there; name another --format: csv or parquet"
            )
        self._tables = {
            name: (rows, _stored(release, form, rows.schema)) for name, rows in tables.items()
        }
        self._may_be_empty = may_be_empty
        self.formula_cells: Counter[str] = Counter()
        self.columns = [field for _, columns in self._tables.values() for field in columns]
        self.form = form.published(self.columns, points=release.regions.centroids, scales={})

    def write(self, public: Path) -> None:
        for name, (rows, columns) in self._tables.items():
            # Beside public/, which nothing of the engine's own shall ever reach.
            scratch = public.with_name("rows").absolute()
            scratch.mkdir(mode=0o700)
            with rows.beside():
                rows.engine.write(rows.select, scratch)
            parts = _parts(scratch, rows.people)
            whole = public / f"{name}{self.form.ending}"
            if self.form.format != "parquet" or (len(parts) > 1 and name != PARTS):
                self._write_whole(parts, whole, rows, columns)
            elif len(parts) == 1:
                self._publish(parts[0], whole, rows, columns)
            else:
                (public / PARTS).mkdir()
                for number, part in enumerate(parts):
                    target = public / PARTS / f"part-{number:05}.parquet"
                    self._publish(part, target, rows, columns)
            shutil.rmtree(scratch)

    def _publish(
        self, part: Path, target: Path, rows: EngineRows, columns: Sequence[pa.Field]
    ) -> None:
        """A part as it is, or once more where its columns are to have other names or types."""
        with pq.ParquetFile(part) as file:
            as_wanted = file.schema_arrow.remove_metadata().equals(pa.schema(columns))
        if as_wanted:
            part.rename(target)
        else:
            self._write_whole([part], target, rows, columns)

    def _write_whole(
        self, parts: list[Path], path: Path, rows: EngineRows, columns: Sequence[pa.Field]
    ) -> None:
        """Parquet files as one file, batch by batch."""
        batches = self._batches(parts, rows, columns)
        write_table(batches, path, pa.schema(columns), self.form)

    def _batches(
        self, parts: list[Path], rows: EngineRows, columns: Sequence[pa.Field]
    ) -> Iterator[pa.Table]:
        for part in parts:
            with pq.ParquetFile(part) as file:
                for batch in file.iter_batches(_ROWS):
                    block = _as_stored(rows.typed(pa.Table.from_batches([batch])), columns)
                    if self.form.is_text:
                        _check_text(block, self._may_be_empty, self.form)
                        self.formula_cells += _formula_cells(block, self.form)
                    yield block


def _parts(folder: Path, people: int) -> list[Path]:
    """The files that hold rows, in their order."""
    parts = sorted(folder.rglob("*.parquet"))
    sizes = [pq.read_metadata(part).num_rows for part in parts]
    if not parts or sum(sizes) != people:
        raise SfumatoError(
            f"the engine wrote {sum(sizes):,} rows for {people:,} people; nothing was published"
        )
    filled = [part for part, size in zip(parts, sizes, strict=True) if size]
    return filled or parts[:1]


# Published columns in the types they came in. Types are those that the table's file declares, never
# what suppressed people's values would ask for; cells that are no longer single values are texts.


def _stored(release: Release, form: FileForm, schema: pa.Schema) -> list[pa.Field]:
    """The columns as they are written; a text file has no types, and is given none."""
    came = _types_kept(form)
    points = release.regions.centroids
    return [
        column.with_type(_stored_type(column.type, came.get(column.name), points=points))
        for column in schema
    ]


def _stored_type(published: pa.DataType, came: pa.DataType | None, *, points: bool) -> pa.DataType:
    """The type in which a published column is stored: the one it came in, if that tells as much.

    `points`: numbers may be means, which types of few digits do not hold.
    """
    if pa.types.is_dictionary(published):
        published = published.value_type
    if came is None:
        return published
    is_text = pa.types.is_string(published)
    if pa.types.is_dictionary(came):
        return pa.dictionary(pa.int32(), came.value_type) if is_text else published
    if is_text:
        return came if pa.types.is_large_string(came) else published
    number = pa.types.is_integer(published) or pa.types.is_floating(published)
    if number and (pa.types.is_floating(came) or pa.types.is_decimal(came)):
        return pa.float64() if points else came
    if pa.types.is_integer(published) and pa.types.is_integer(came):
        return came
    if pa.types.is_temporal(published) and (pa.types.is_timestamp(came) or pa.types.is_date(came)):
        whole = pa.types.is_timestamp(published) and pa.types.is_date(came)
        return published if whole else came
    if pa.types.is_list(published) and pa.types.is_list(came):
        inner = _stored_type(published.value_type, came.value_type, points=points)
        return pa.list_(inner)
    return published


def _as_stored(table: pa.Table, columns: Sequence[pa.Field]) -> pa.Table:
    """A table in these types; a dictionary lists only what its column holds."""
    arrays = [
        _cast(array, column.type) for array, column in zip(table.columns, columns, strict=True)
    ]
    return pa.table(arrays, schema=pa.schema([*columns]))


def _cast(array: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_dictionary(array.type):  # it may list what suppressed people have
        array = array.cast(array.type.value_type)
    if pa.types.is_dictionary(wanted):
        return array.cast(wanted.value_type).dictionary_encode().cast(wanted)
    if pa.types.is_decimal(wanted) and pa.types.is_integer(array.type):
        array = array.cast(pa.float64())  # from whole numbers Arrow asks for 19 digits
    return array.cast(wanted)


def _types_kept(form: FileForm) -> dict[str, pa.DataType]:
    """The types that a file of this form can keep; a text has none."""
    if form.is_columnar:
        return dict(form.types)
    return {
        name: kind
        for name, kind in (() if form.is_text else form.types.items())
        if is_numeric(kind) or (pa.types.is_temporal(kind) and getattr(kind, "tz", None) is None)
    }


def _numbers_again(table: pa.Table, came: Mapping[str, pa.DataType]) -> pa.Table:
    """Codes that came as numbers and were judged as categories: numbers, where each is one code."""
    for place, field in enumerate(table.schema):
        kind = came.get(field.name)
        if kind is not None and is_numeric(kind) and pa.types.is_string(field.type):
            with contextlib.suppress(pa.ArrowInvalid):  # some cell is a set, a mask or a range
                table = table.set_column(place, field.name, table.column(place).cast(kind))
    return table


def _scales_beside_codes(form: FileForm, tables: Iterable[pa.Table]) -> dict[str, str]:
    """The type of columns whose cells are numbers or dates but for special codes."""
    scales = {}
    for table in tables:
        for name in set(table.schema.names) & set(form.codes):
            if not pa.types.is_string(table.schema.field(name).type):
                continue
            listed = pc.unique(table.column(name)).to_pylist()
            texts = [text for text in listed if text is not None and text not in form.codes[name]]
            if texts and all(exact(text) is not None for text in texts):
                scales[name] = str(pa.float64())
            elif texts and is_iso(texts):
                scales[name] = str(pa.date32())
    return scales


def _with_labels_published(
    release: Release, form: FileForm, tables: Iterable[pa.Table]
) -> FileForm:
    """Labels of values that somebody is published with, or that the schema declares."""
    values: dict[str, set[object]] = {}
    for table in tables:
        for name in set(table.schema.names) & set(form.value_labels):
            declared = release.schema.domains.get(name, ())
            values[name] = set() if isinstance(declared, str) else set(declared)
            values[name] |= set(pc.unique(table.column(name)).to_pylist())
    return form.labelling(values)


def write_table(rows: Iterable[pa.Table], path: Path, schema: pa.Schema, form: FileForm) -> None:
    """One published file; none carries an index, an order or a program's name."""
    with contextlib.ExitStack() as opened:
        writer: Any
        if form.format == "parquet":
            # Types that Parquet has no name for are told by a schema of their own.
            own_types = any(pa.types.is_dictionary(kind) for kind in schema.types)
            writer = pq.ParquetWriter(path, schema, store_schema=own_types)
        elif form.format == "arrow":
            writer = pa.ipc.new_file(str(path), schema)
        elif not form.is_text:
            write = write_workbook if form.format == "xlsx" else write_labelled
            write(pa.concat_tables(rows), path, form)
            return
        else:
            sink = opened.enter_context(pa.OSFile(str(path), "wb"))
            if form.packing:
                codec = {"gz": "gzip", "zst": "zstd"}[form.packing]
                sink = opened.enter_context(pa.CompressedOutputStream(sink, codec))
            if form.encoding != FileForm.encoding:
                sink = opened.enter_context(encoded(sink, form.encoding))
            marks = {form.missing.get(name, "") for name in schema.names}
            options = pa_csv.WriteOptions(
                quoting_style="needed",
                delimiter=form.delimiter,
                eol=form.line_end,
                null_string=marks.pop() if len(marks) == 1 else "",
            )
            schema = as_texts(schema.empty_table(), form).schema
            writer = pa_csv.CSVWriter(sink, schema, write_options=options)
            rows = (as_texts(block, form) for block in rows)
        opened.enter_context(writer)
        for block in rows:
            writer.write_table(block)


# Cells of a text file in the form of the file that a release is made of.


def as_texts(table: pa.Table, form: FileForm) -> pa.Table:
    """The same with dates, numbers and missing values written as this form has them."""
    several_marks = len({form.missing.get(name, "") for name in table.schema.names}) > 1
    for place, (name, column) in enumerate(zip(table.schema.names, table.columns, strict=True)):
        written = column
        if name in form.dates:
            written = _dates(column, form.dates[name], form.codes.get(name, ()))
        elif name in form.decimals:
            written = pc.replace_substring(column.cast(pa.string()), ".", form.decimals[name])
            if name in form.codes:
                is_code = pc.is_in(column, value_set=pa.array(form.codes[name], column.type))
                written = pc.if_else(is_code, column, written)
        mark = form.missing.get(name, "")
        if mark and pc.any(pc.equal(written.cast(pa.string()), mark)).as_py():
            raise InputError(
                f"column {quoted(name)} would publish a value written like the mark for no value; "
                "name a format, such as csv, to have missing cells left empty"
            )
        if mark and several_marks:
            written = pc.fill_null(written.cast(pa.string()), mark)
        table = table.set_column(place, name, written)
    return table


def _dates(column: pa.ChunkedArray, pattern: str, codes: Sequence[str]) -> pa.ChunkedArray:
    """Dates as texts, each distinct one written once; special codes stay what they are."""
    coded = column.combine_chunks().dictionary_encode()
    texts = []
    for date in coded.dictionary.to_pylist():
        if isinstance(date, str) and date not in codes:  # beside special codes dates are texts
            date = dt.datetime.fromisoformat(date)
        texts.append(date if isinstance(date, str) else date.strftime(pattern))
    return pa.chunked_array([pa.array(texts, pa.string()).take(coded.indices)])


def _check_regions(release: Release) -> None:
    """Refuse descriptions that would not be read again as what was judged; buckets have none."""
    points = release.regions.centroids
    if isinstance(release.made, Randomised):
        for axis in release.made.table.axes:
            specials = release.form.codes.get(axis.name, ())
            check_readable(axis.name, axis.parts, np.arange(len(axis)), specials)
    elif (regions := release.regions.each_region) is not None:
        for name, parts, codes in zip(regions.columns, regions.parts, regions.codes, strict=True):
            check_readable(name, parts, codes, release.form.codes.get(name, ()), points=points)


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
        shown_codes = [code for code in own if code is not None]
        if domain.name in free and len(shown_codes) == len(cells):
            yield domain, np.array(shown_codes)


def _formula_cells(table: pa.Table, form: FileForm) -> Counter[str]:
    """Cells of a text file that spreadsheet programs take for formulas, by column."""
    formulas: Counter[str] = Counter()
    for name, column in zip(table.schema.names, table.columns, strict=True):
        if form.is_text and pa.types.is_string(column.type):
            formulas[name] = pc.sum(pc.match_substring_regex(column, _FORMULA)).as_py() or 0
    return formulas


def _check_text(table: pa.Table, may_be_empty: Collection[str], form: FileForm) -> None:
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
                f"column {quoted(name)} {problem}, and a {form.format.upper()} file cannot say so; "
                "change the data, or publish Parquet"
            )
