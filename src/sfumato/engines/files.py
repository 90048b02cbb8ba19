"""Kinds of files, told by their names; what is wrong with one is told before an engine opens it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pyarrow as pa

from sfumato.errors import InputError

_ENDINGS: dict[Literal["text", "parquet", "arrow"], tuple[str, ...]] = {
    "text": (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
}
KNOWN_FILES = "CSV (.csv, .tsv, .txt, also .gz), Parquet (.parquet, .pq), Arrow (.arrow, .feather)"


def kind_of(path: Path) -> Literal["text", "parquet", "arrow"]:
    """How a file is to be read, or why it cannot be."""
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if path.is_dir():
        raise InputError(
            f"{path} is a folder; give a file: {KNOWN_FILES}, or a folder that holds Parquet files "
            "and nothing else"
        )
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty: expected a header line and rows")
    for kind, endings in _ENDINGS.items():
        if path.name.lower().endswith(endings):
            return kind
    raise InputError(f"{path.name}: unknown kind of file; known: {KNOWN_FILES}")


def read_arrow(path: Path) -> pa.Table:
    """An Arrow file, mapped rather than read."""
    try:
        with pa.memory_map(str(path)) as mapped:
            return pa.ipc.open_file(mapped).read_all()
    except pa.ArrowInvalid:
        raise InputError(f"{path.name} is not an Arrow file") from None
