"""A delimited text file before anything parses it: delimiter, header, encoding.

The delimiter is decided here from the first lines, not by an engine's sniffer: sniffers skip
lines and pad rows to make a file fit, and a row dropped silently is a person left out of k.
"""

from __future__ import annotations

import csv
import io
import os
import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sfumato.engines.encoding import TextEncoding, decoded, encoding_of, is_utf8_text
from sfumato.engines.files import (
    is_text,
    kind_of,
    packing_of,
    shown_name,
    text_ending_of,
    unpacked,
    unreadable,
)
from sfumato.engines.form import FileForm
from sfumato.engines.notations import is_iso
from sfumato.engines.reading import Reading
from sfumato.errors import InputError, list_some

DELIMITERS = (",", ";", "\t", "|")
_LOOK = 200  # lines that decide the delimiter
_LONGEST = 1 << 21  # characters of a line: no engine reads longer ones, and some drop the last
_HEAD = 1 << 25  # characters that are looked at for it: no line of people is longer


@dataclass(frozen=True)
class TextFile:
    """How to read a delimited file; `rows` is estimated from the length of the first lines.

    `head`: some of its first rows, which may be cut short or too long.
    """

    path: Path
    columns: tuple[str, ...]
    rows: int
    form: FileForm
    encoding: TextEncoding
    head: tuple[tuple[str, ...], ...]

    @property
    def delimiter(self) -> str:
        return self.form.delimiter

    def has_iso_dates(self, column: str) -> bool:
        """Whether the first cells of a column are dates as everybody reads them."""
        place = self.columns.index(column)
        cells = [row[place] for row in self.head if len(row) > place and row[place]]
        return bool(cells) and is_iso(cells)


def inspect_text(path: Path, delimiter: str | None = None, encoding: str | None = None) -> TextFile:
    """Find the encoding, the delimiter and the header, or say what is wrong with the file.

    A file without a header has somebody's row in its place: no message quotes the header.
    """
    label = shown_name(path)
    text_encoding = encoding_of(path, encoding)
    lines = _first_lines(path, text_encoding)
    if not any(line.strip() for line in lines):
        raise InputError(f"{label} is empty: expected a header line and rows")
    if delimiter is not None and len(delimiter) != 1:
        raise InputError(f"delimiter {delimiter!r} must be one character, such as ',' or ';'")
    chosen = delimiter or _decide(lines)
    header = _header(lines, chosen)
    if not header or re.fullmatch(r"sep=.?", lines[0].strip()):
        raise InputError(
            f"{label}: the first line {'is empty' if not header else 'only names the delimiter'}, "
            "and should name the columns; delete it"
        )
    if delimiter is not None and len(header) == 1 and (likely := _decide(lines)) != delimiter:
        columns = len(_header(lines, likely))
        if columns > 1:
            raise InputError(
                f"{label} has a single column when split at {delimiter!r}, but {columns} at "
                f"{likely!r}; use that delimiter or leave it out"
            )
    twice = [at for at, name in enumerate(header, start=1) if name in header[: at - 1]]
    if twice:
        raise InputError(
            f"{label}: column {list_some(twice)} of the header has the name of another before it; "
            "the first line must name the columns, each differently"
        )
    blank = [at for at, name in enumerate(header, start=1) if not name.strip()]
    if blank:
        raise InputError(
            f"{label}: column {list_some(blank)} of the header has no name; give it one, or delete "
            "the column: a line that ends with the delimiter has one more"
        )
    broken = [at for at, name in enumerate(header, start=1) if set(name) & {"\n", "\r"}]
    if broken:
        raise InputError(
            f"{label}: column {list_some(broken)} of the header goes over several lines; is there "
            "a quotation mark that is never closed?"
        )
    mean = sum(len(line.encode(text_encoding.codec, "ignore")) for line in lines) / len(lines)
    packed = 5 if packing_of(path) else 1
    rows = int(path.stat().st_size * packed / mean)
    head = tuple(map(tuple, list(_rows(lines, chosen))[1:]))
    form = FileForm(
        packing=packing_of(path),
        text_ending=text_ending_of(path),
        delimiter=chosen,
        encoding=text_encoding.name,
        line_end=_line_end(lines[0]),
    )
    return TextFile(path, tuple(header), rows, form, text_encoding, head)


def reading_of_another(
    table_reading: Reading, files: Sequence[Path], columns: Collection[str]
) -> Reading:
    """What was said of how a table is written, as far as it may be so of other files, too.

    A text is taken at this word only if it has these `columns` then.
    """
    likely = table_reading
    try:
        kinds = {kind_of(path) for path in files if path.is_file()}
        if "workbook" not in kinds:
            likely = replace(likely, sheet=None, header=None)
        if not any(map(is_text, files)):
            typed = kinds - {"workbook"}
            return replace(likely, codes=None) if typed else likely  # its labels tell them
        if likely.encoding is not None and any(map(is_utf8_text, files)):
            likely = replace(likely, encoding=None)  # which is plain to see, and not the table's
        texts = [inspect_text(path, likely.delimiter, likely.encoding) for path in files]
    except InputError:
        return Reading()
    if any(set(columns) - set(text.columns) for text in texts):
        return Reading()
    if isinstance(likely.dates, Mapping):
        plain = {name for text in texts for name in text.columns if text.has_iso_dates(name)}
        dates = {name: form for name, form in likely.dates.items() if name not in plain}
        likely = replace(likely, dates=dates)
    return likely.of_columns({name for text in texts for name in text.columns})


def _line_end(line: str) -> str:
    return next((end for end in ("\r\n", "\r") if line.endswith(end)), "\n")


def check_header(file: TextFile) -> None:
    """Refuse a file whose first line looks like somebody's row rather than names of columns."""
    rows = [row for row in file.head if row]
    again = sum(
        _looks_like(name, [row[place] for row in rows if len(row) > place])
        for place, name in enumerate(file.columns)
    )
    numbers = sum(_is_figure(name) for name in file.columns)
    if again or 2 * numbers > len(file.columns):
        why = (
            f"{again} of its {len(file.columns)} fields are like those of the column below"
            if again
            else f"{numbers} of its {len(file.columns)} fields are numbers or dates"
        )
        raise InputError(
            f"{shown_name(file.path)}: the first line looks like a row, not like names of columns "
            f"({why}); put a line with the columns' names before it, or if it does name them say "
            "so: --header 1 (header = 1)"
        )


def _looks_like(name: str, below: list[str]) -> bool:
    """Whether a name is a value of its column, or a long number of the shape that most have."""
    if name in below:
        return True
    shape = re.sub(r"\d", "9", name)
    same_shape = sum(re.sub(r"\d", "9", value) == shape for value in below)
    return _is_figure(name) and shape.count("9") > 4 and 2 * same_shape > len(below)


def _is_figure(text: str) -> bool:
    return bool(text) and not any(sign.isalpha() for sign in text)


def _first_lines(path: Path, encoding: TextEncoding) -> list[str]:
    label = shown_name(path)
    lines: list[str] = []
    left = _HEAD
    try:
        with unpacked(path) as file:
            file.read(len(encoding.mark))
            stream = io.TextIOWrapper(file, encoding=encoding.codec, newline="")
            while len(lines) < _LOOK and left > 0 and (line := stream.readline(left)):
                lines.append(line)
                left -= len(line)
    except UnicodeDecodeError:
        for _ in decoded(path, encoding):  # which line it is, the reader of lines does not know
            pass
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from None
    if any("\0" in line for line in lines):
        raise InputError(f"{label} is not a text file; give CSV, Parquet or Arrow")
    long = [str(at) for at, line in enumerate(lines, start=1) if len(line) > _LONGEST]
    if not packing_of(path) and path.stat().st_size > 4 * _LONGEST:
        with path.open("rb") as file:
            file.seek(-4 * _LONGEST, os.SEEK_END)
            end = file.read().rstrip(b"\r\n\0")
        long += [] if b"\n" in end or b"\r" in end else ["the last"]
    if long:
        raise InputError(
            f"{label}: line {long[0]} has more than {_LONGEST:,} characters, longer than any row "
            "of people; is there a line break missing?"
        )
    return lines if left > 0 else lines[:-1]


def _header(lines: list[str], delimiter: str) -> list[str]:
    return next(_rows(lines, delimiter))


def _rows(lines: list[str], delimiter: str) -> Iterator[list[str]]:
    """Lines as rows; a field may be as long as the file."""
    before = csv.field_size_limit(2 * _HEAD)
    try:
        yield from csv.reader(lines, delimiter=delimiter)
    finally:
        csv.field_size_limit(before)


def _decide(lines: list[str]) -> str:
    """The delimiter on which most lines agree with the header about the number of fields."""

    def fit(delimiter: str) -> tuple[int, int]:
        widths = [len(row) for row in _rows(lines, delimiter) if row]
        return (sum(width == widths[0] for width in widths) if widths[0] > 1 else 0, widths[0])

    return max(DELIMITERS, key=fit)
