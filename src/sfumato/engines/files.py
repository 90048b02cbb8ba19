"""Kinds of files, told by their names; what is wrong with one is told before an engine opens it.

A table may be a folder of Parquet files, where somebody asks for that.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

import pyarrow as pa

from sfumato.errors import InputError, other_than_file, quoted

_ENDINGS: dict[Literal["text", "parquet", "arrow"], tuple[str, ...]] = {
    "text": (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
}
_MAPPED = 1 << 28  # bytes beyond which an Arrow file is mapped rather than read
KNOWN_FILES = "CSV (.csv, .tsv, .txt, also .gz), Parquet (.parquet, .pq), Arrow (.arrow, .feather)"


def shown_name(path: Path) -> str:
    """A file's name as it may be shown, also where its bytes are no text."""
    return os.fsencode(path.name).decode("utf-8", "backslashreplace")


def shown_path(path: Path) -> str:
    """The same of a whole path."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


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


# A table in parts: Parquet files in a folder, as engines on clusters write them.
#
# A folder is read only where somebody asks for it: the names of inner folders such as `year=2020`
# become columns then, and a folder that merely happens to be called so must never change a table.

_MISSING = "__HIVE_DEFAULT_PARTITION__"  # how engines write NULL in the name of a folder


@dataclass(frozen=True)
class Parts:
    """The files of one table; with `folder`, the folders between it and them name columns."""

    label: str
    files: tuple[Path, ...]
    folder: Path | None = None


def listed(folder: Path) -> Parts:
    """The Parquet files that stand in a folder of ours, whose manifest lists them."""
    return Parts(shown_name(folder), tuple(sorted(folder.glob("*.parquet"))))


def partitioned(folder: Path) -> Parts:
    """All Parquet files under a folder that holds nothing else, but folders like year=2020.

    Hidden files and those with a leading underscore are notes that engines leave for themselves.
    """
    label = shown_name(folder)
    files: list[Path] = []
    pending = [folder]
    while pending:
        for path in sorted(pending.pop().iterdir()):
            if path.name.startswith((".", "_")):
                continue
            if path.name == "manifest.json":
                raise InputError(f"{label} holds a release; read it as a release, not as a table")
            if path.is_dir():
                if "=" not in path.name:
                    raise InputError(
                        f"{label} has the folder {shown_name(path)!r}; parts of a table are "
                        "Parquet files, or folders like year=2020"
                    )
                pending.append(path)
            elif problem := other_than_file(path):
                raise InputError(f"{label}: {shown_name(path)} {problem}")
            elif path.suffix != ".parquet":
                raise InputError(
                    f"{label} holds {shown_name(path)!r}; a table in parts is Parquet files and "
                    "nothing else"
                )
            else:
                files.append(path)
    if not files:
        raise InputError(f"{label} holds no Parquet file")
    status = [path.stat() for path in files]
    again = len(files) - len({(one.st_dev, one.st_ino) for one in status})
    if again:
        raise InputError(
            f"{label}: {again} of its {len(files)} files are links to others of them, whose people "
            "would be counted twice; remove the links"
        )
    return Parts(label, tuple(sorted(files)), folder)


def partition_values(folder: Path, files: Sequence[Path]) -> list[dict[str, str | None]]:
    """For each file the columns that its folders name, as text."""
    told: list[dict[str, str | None]] = []
    for file in files:
        steps = [step.split("=", 1) for step in file.relative_to(folder).parent.parts]
        try:
            values = {_unquoted(name): _unquoted(value) for name, value in steps}
        except UnicodeError:  # two of them could become one value
            raise InputError(
                f"{shown_name(folder)} has folders whose names are not UTF-8; rename them"
            ) from None
        told.append({n: None if value == _MISSING else value for n, value in values.items()})
        if len(values) < len(steps) or list(told[-1]) != list(told[0]):
            raise InputError(
                f"{shown_name(folder)}: its files do not all stand in folders of the same columns"
            )
    return told


def _unquoted(text: str) -> str:
    """A name without its percent signs; an error where it is no text."""
    plain = unquote(text, errors="strict")
    plain.encode()  # fails for bytes that the file system could not decode
    return plain
