"""A delimited text file before anything parses it: delimiter, header, encoding.

The delimiter is decided here from the first lines, not by an engine's sniffer: sniffers skip
lines and pad rows to make a file fit, and a row dropped silently is a person left out of k.
"""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from pathlib import Path

from sfumato.engines.files import is_packed, shown_name
from sfumato.errors import InputError, name_some

DELIMITERS = (",", ";", "\t", "|")
_LOOK = 200  # lines that decide the delimiter


@dataclass(frozen=True)
class TextFile:
    """How to read a delimited file; `rows` is estimated from the length of the first lines."""

    path: Path
    delimiter: str
    columns: tuple[str, ...]
    rows: int


def inspect_text(path: Path, delimiter: str | None = None) -> TextFile:
    """Find the delimiter and the header, or say what is wrong with the file."""
    lines = _first_lines(path)
    if not any(line.strip() for line in lines):
        raise InputError(f"{shown_name(path)} is empty: expected a header line and rows")
    if delimiter is not None and len(delimiter) != 1:
        raise InputError(f"delimiter {delimiter!r} must be one character, such as ',' or ';'")
    chosen = delimiter or _decide(lines)
    header = next(csv.reader(lines, delimiter=chosen))
    if delimiter is not None and len(header) == 1 and (other := _decide(lines)) != delimiter:
        found = len(next(csv.reader(lines, delimiter=other)))
        if found > 1:
            raise InputError(
                f"{shown_name(path)} has a single column when split at {delimiter!r}, but {found} "
                f"at {other!r}; use that delimiter or leave it out"
            )
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise InputError(
            f"{shown_name(path)} names {name_some(twice)} more than once; rename the columns"
        )
    blank = [str(place) for place, name in enumerate(header, start=1) if not name.strip()]
    if blank:
        raise InputError(f"{shown_name(path)}: column {', '.join(blank)} of the header has no name")
    mean = sum(len(line.encode()) for line in lines) / len(lines)
    packed = 5 if is_packed(path) else 1
    return TextFile(path, chosen, tuple(header), int(path.stat().st_size * packed / mean))


def _first_lines(path: Path) -> list[str]:
    opener = gzip.open if is_packed(path) else open
    lines: list[str] = []
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as stream:
            for line in stream:
                lines.append(line)
                if len(lines) >= _LOOK:
                    break
    except UnicodeDecodeError:
        raise InputError(
            f"{shown_name(path)} is not UTF-8 text; convert it to UTF-8 first"
        ) from None
    except (OSError, EOFError) as error:
        raise InputError(f"{shown_name(path)} cannot be read: {type(error).__name__}") from None
    if any("\0" in line for line in lines):
        raise InputError(f"{shown_name(path)} is not a text file; give CSV, Parquet or Arrow")
    return lines


def _decide(lines: list[str]) -> str:
    """The delimiter on which most lines agree with the header about the number of fields."""

    def fit(delimiter: str) -> tuple[int, int]:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        return (sum(width == widths[0] for width in widths) if widths[0] > 1 else 0, widths[0])

    return max(DELIMITERS, key=fit)
