"""Kinds of files, told by their names; what is wrong with one is told before an engine opens it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import pyarrow as pa

from sfumato.errors import InputError, quoted
from sfumato.no_file import other_than_file

_ENDINGS: dict[Literal["text", "parquet", "arrow"], tuple[str, ...]] = {
    "text": (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
}
_MAPPED = 1 << 28  # bytes beyond which an Arrow file is mapped rather than read
KNOWN_FILES = "CSV (.csv, .tsv, .txt, also .gz), Parquet (.parquet, .pq), Arrow (.arrow, .feather)"


def shown_path(path: Path) -> str:
    """The same of a whole path."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def shown_name(path: Path) -> str:
    """A file's name as it may be shown, also where its bytes are no text."""
    return os.fsencode(path.name).decode("utf-8", "backslashreplace")


def is_packed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")


def kind_of(path: Path) -> Literal["text", "parquet", "arrow"]:
    """How a file is to be read, or why it cannot be."""
    if not path.exists():
        raise InputError(f"{shown_path(path)} does not exist")
    if path.is_dir():
        raise InputError(
            f"{shown_name(path)} is a folder; give a file: {KNOWN_FILES}; for a folder of Parquet "
            "files that are one table, say so: --partitioned, or partitioned=True"
        )
    if problem := other_than_file(path):
        raise InputError(f"{shown_name(path)} {problem}")
    if path.stat().st_size == 0:
        raise InputError(f"{shown_name(path)} is empty: expected a header line and rows")
    for kind, endings in _ENDINGS.items():
        if path.name.lower().endswith(endings):
            return kind
    raise InputError(f"{shown_name(path)}: unknown kind of file; known: {KNOWN_FILES}")


def is_data(name: str) -> bool:
    """Whether a file of this name would be read as a table."""
    return any(name.lower().endswith(endings) for endings in _ENDINGS.values())


def is_text(path: Path) -> bool:
    """Whether a file that is there is to be read as delimited text."""
    return path.is_file() and path.stat().st_size > 0 and kind_of(path) == "text"


def read_arrow(path: Path) -> pa.Table:
    """An Arrow file, read (a large one is mapped), and looked through.

    Arrow believes what a file says of its offsets, lengths and dictionaries; of a damaged one that
    leads it outside the file, and the process with it. So does a mapped one that is cut while it
    is in use.
    """
    try:
        if path.stat().st_size > _MAPPED:
            content = pa.memory_map(os.fsencode(path))
        else:
            content = pa.BufferReader(path.read_bytes())
        with content:
            table = pa.ipc.open_file(content).read_all()
        table.validate(full=True)
        list(table.schema.names)  # texts, too, are believed until they are looked at
    except (pa.ArrowException, OSError, MemoryError, UnicodeError):
        raise InputError(
            f"{shown_name(path)} is damaged, or not an Arrow file; write it again"
        ) from None
    return table


def checked_path(given: str | Path) -> Path:
    """A path that the system can be asked about."""
    try:
        written = os.fsencode(given)
    except UnicodeEncodeError:
        written = b"\0"
    if not written or b"\0" in written:
        raise InputError(f"{quoted(str(given))} cannot be the name of a file")
    return Path(given)
