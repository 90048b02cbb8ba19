"""Workbooks (.xlsx): one sheet is a table, its cells are read as their texts, its dates as dates.

A sheet has no types, only cells have: a column is what its texts agree on, as in a text file, so
that numbers stored as text are numbers. Read by openpyxl, written by XlsxWriter.
"""

from __future__ import annotations

import datetime as dt
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.engines.files import WholeFile, check_names, shown_name
from sfumato.engines.form import FileForm
from sfumato.errors import InputError, MissingExtra, did_you_mean, list_some, name_some

MOST_ROWS = (1 << 20) - 1  # of a sheet, below its header
_DATES, _MOMENTS = "yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}( \d{2}:\d{2}:\d{2})?$")  # as cells are read
_MOST_ABOVE = 10  # rows as full as the one that names the columns: more are a table's own
_EXACT = 10**15  # whole numbers up to which Excel tells them apart
_FIRST_YEAR = 1900  # of which Excel knows dates
_HOW = "pip install 'sfumato[files]'"


def read_workbook(path: Path, sheet: str | None, header: int | None) -> WholeFile:
    """One sheet of a workbook; `header` is the row that names the columns, the first without it."""
    try:
        import openpyxl
    except ImportError:
        raise MissingExtra(f"Excel files need openpyxl: {_HOW}") from None
    label = shown_name(path)
    try:
        with zipfile.ZipFile(path) as packed:
            parts = [name for name in packed.namelist() if name.startswith("xl/worksheets/")]
            formulas = any(b"<f" in packed.read(name) for name in parts)
        book = openpyxl.load_workbook(path, data_only=True)
        computed = openpyxl.load_workbook(path) if formulas else book
    except Exception:  # it has no one error for what a damaged file may lead it to
        raise InputError(
            f"{label} is damaged, protected, or not an Excel file (.xlsx); write it again"
        ) from None
    name = _chosen(label, book, sheet)
    page = book[name]
    where = label if len(book.sheetnames) == 1 else f"{label}, sheet {name!r}"
    merged = [area for area in page.merged_cells.ranges if area.max_row >= (header or 1)]
    if merged:
        title = header is None and all(area.min_row == 1 for area in merged)
        above = "" if not title else ", or say which row below them names the columns: --header"
        raise InputError(
            f"{where} has merged cells ({list_some(map(str, merged), 3)}), of which nobody can say "
            f"whose they are; split them and fill each cell{above}"
        )
    if formulas:
        _check_computed(where, page, computed[name])
    rows = [list(row) for row in page.iter_rows()]
    return _table(where, rows, header or 1, name)


def _chosen(label: str, book: Any, sheet: str | None) -> str:
    """The sheet that is named, or the only one that holds anything."""
    pages = [page.title for page in book.worksheets]
    if sheet is not None:
        if sheet not in pages:
            raise InputError(f"{label} has no sheet {sheet!r}; {did_you_mean(sheet, pages)}")
        return sheet
    filled = [page.title for page in book.worksheets if page.max_row > 1 or page.max_column > 1]
    if not filled:
        raise InputError(f"{label} is empty: expected a row that names the columns, and rows")
    if len(filled) != 1:
        raise InputError(
            f"{label} has {len(filled)} sheets with cells ({name_some(filled)}); say which one is "
            "the table: --sheet, or sheet under [read]"
        )
    return str(filled[0])


def _check_computed(where: str, page: Any, formulas: Any) -> None:
    open_cells = [
        cell.coordinate
        for row in formulas.iter_rows()
        for cell in row
        if cell.data_type == "f" and page[cell.coordinate].value is None
    ]
    if open_cells:
        raise InputError(
            f"{where}: {len(open_cells):,} formulas have no value yet "
            f"({list_some(open_cells, 3)}); open the file in Excel and save it, so that they are "
            "computed"
        )


def _table(where: str, rows: list[list[Any]], header: int, sheet: str) -> WholeFile:
    def is_blank(row: Iterable[Any]) -> bool:
        return all(cell.value is None or cell.value == "" for cell in row)

    while rows and is_blank(rows[-1]):
        rows.pop()
    if len(rows) <= header - 1 or is_blank(rows[header - 1]):
        raise InputError(
            f"{where}: row {header} is empty, and should name the columns; say which row does: "
            "--header, or header under [read]"
        )
    # A table may begin further right, and a narrow column without a cell is a margin.
    ruled = rows[header - 1 :]
    kept = [place for place, column in enumerate(zip(*ruled, strict=True)) if not is_blank(column)]
    rows = [[row[place] for place in kept] for row in rows]
    names = rows[header - 1]
    width = max(place for place, cell in enumerate(names, start=1) if cell.value not in (None, ""))
    above = [row for row in rows[: header - 1] if not any(is_blank([c]) for c in row[:width])]
    below = rows[header:]
    if len(above) > _MOST_ABOVE or (header > 1 and not below):
        why = (
            f"{len(above)} rows above it fill all columns, so it is one of the table's own"
            if len(above) > _MOST_ABOVE
            else "no row is below it"
        )
        raise InputError(
            f"{where}: row {header} cannot name the columns, for {why}; say which does"
        )
    beside = {cell.column_letter for row in below for cell in row[width:] if not is_blank([cell])}
    nameless = [cell.column_letter for cell in names[:width] if is_blank([cell])]
    if nameless or beside:
        raise InputError(
            f"{where}: row {header} names no column {list_some([*nameless, *sorted(beside)])}, "
            "where cells are; name it, empty it, or say which row names the columns: --header"
        )
    empty = [row[0].row for row in below if is_blank(row[:width])]
    if empty:
        raise InputError(
            f"{where}: row {list_some(empty, 3)} between others is empty; delete it, or what "
            "follows if that is not of the table"
        )
    titles = [_text(cell) or "" for cell in names[:width]]
    check_names(titles, where)
    columns = [[row[place] for row in below] for place in range(width)]
    formats, types, notes = {}, {}, []
    for title, cells in zip(titles, columns, strict=True):
        # Most of them decide, so that no single cell shows in what is written of the others.
        dates = Counter(cell.number_format for cell in cells if isinstance(cell.value, dt.date))
        ((way, having),) = dates.most_common(1) or [("", 0)]
        if 2 * having > dates.total() > 1:
            formats[title] = way
        if 2 * sum(cell.data_type == "n" and not _is_shown(cell) for cell in cells) > len(cells):
            types[title] = pa.float64()
        notes += _column_notes(title, cells)
    arrays = [pa.array([_text(cell) for cell in cells], pa.string()) for cells in columns]
    form = FileForm(format="xlsx", formats=formats, types=types, sheet=sheet)
    return WholeFile(pa.table(arrays, names=titles), form, tuple(notes), untyped=True)


def _column_notes(title: str, cells: list[Any]) -> list[str]:
    notes = []
    written = [cell.value for cell in cells if isinstance(cell.value, str)]
    texts = sum(map(_is_number, written))
    if texts and not any(map(_LEADING_ZERO.match, written)):
        notes.append(
            f"column {title!r}: {texts:,} numbers are stored as text, and read as the others of "
            "the column are"
        )
    errors = [cell.value for cell in cells if cell.data_type == "e"]
    if errors:
        kinds = ", ".join(sorted(set(errors)))
        notes.append(f"column {title!r}: {len(errors):,} cells with {kinds} are read as missing")
    return notes


# A column with one is of codes, and all of it is text.
_LEADING_ZERO = re.compile(r"[+-]?0\d+$")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_shown(cell: Any) -> bool:
    """Whether a number is a date, or shown with zeros before it, as ZIP codes are."""
    return isinstance(cell.value, dt.date) or _digits(cell) > 0


def _digits(cell: Any) -> int:
    """How many digits a number is shown with, zeros before it; 0 if as many as it has."""
    form = cell.number_format
    is_padded = type(cell.value) is int and len(form) > 1 and set(form) == {"0"}
    return len(form) if is_padded else 0


def _text(cell: Any) -> str | None:
    """A cell as a text file would have it; an error of a formula is no value."""
    value = cell.value
    if value is None or value == "" or cell.data_type == "e":
        return None
    if isinstance(value, dt.datetime):
        whole = value.time() == dt.time()
        return value.date().isoformat() if whole else value.isoformat(" ", "seconds")
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).zfill(_digits(cell))


def _as_moment(text: str) -> dt.datetime | str:
    """A date that was read as its text, such as one that is published as it is."""
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        return text


def _with_numbers(values: list[Any], codes: Sequence[str]) -> list[Any]:
    """Numbers, which are texts beside special codes, as such, if the column shows nothing else."""
    texts = {value for value in values if isinstance(value, str)}
    numbers = {text: _as_number(text) for text in texts}
    if any(number is None and text not in codes for text, number in numbers.items()):
        return values
    return [value if (number := numbers.get(value)) is None else number for value in values]


def _as_number(text: str) -> float | None:
    """The number that is read as this text."""
    if not _is_number(text):
        return None
    number = float(text)
    same = str(int(number)) if number.is_integer() else str(number)
    return number if text == same else None


def write_workbook(table: pa.Table, path: Path, form: FileForm) -> None:
    """One published table as a workbook; texts are written as such, whatever they begin with."""
    try:
        import xlsxwriter
    except ImportError:
        raise MissingExtra(f"to write Excel files takes XlsxWriter: {_HOW}") from None
    if table.num_rows > MOST_ROWS:
        raise InputError(
            f"the release has {table.num_rows:,} rows, a sheet of Excel at most {MOST_ROWS:,}; "
            "name another --format: csv or parquet"
        )
    book = xlsxwriter.Workbook(str(path), {"in_memory": True})
    book.set_properties({"created": dt.datetime(1980, 1, 1)})  # no hour of its making
    page = book.add_worksheet(form.sheet or "data")
    for place, field in enumerate(table.schema):
        page.write_string(0, place, field.name)
        default_format = _MOMENTS if pa.types.is_timestamp(field.type) else _DATES
        shape = book.add_format({"num_format": form.formats.get(field.name, default_format)})
        values = table.column(place).to_pylist()
        if field.name in form.codes:
            values = _with_numbers(values, form.codes[field.name])
        for row, value in enumerate(values, start=1):
            if field.name in form.formats and isinstance(value, str) and _DAY.match(value):
                value = _as_moment(value)
            if isinstance(value, bool):
                page.write_boolean(row, place, value)
            elif isinstance(value, str):
                page.write_string(row, place, value)
            elif isinstance(value, dt.date) and value.year < _FIRST_YEAR:
                page.write_string(row, place, value.isoformat())
            elif isinstance(value, dt.date):
                page.write_datetime(row, place, value, shape)
            elif isinstance(value, int) and abs(value) > _EXACT:
                page.write_string(row, place, str(value))
            elif value is not None:
                page.write_number(row, place, value)
    book.close()
