"""A table in parts: a folder of Parquet files, as engines on clusters write them."""

from __future__ import annotations

from pathlib import Path


def parts_of(folder: Path) -> list[Path]:
    """The Parquet files of a folder that holds nothing else; none if it holds anything else.

    Hidden files and those with a leading underscore are notes that engines leave for themselves.
    A release's own public/ holds a manifest, which says how its data may be read: it is no table.
    """
    listed = sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_")))
    if all(path.suffix == ".parquet" and path.is_file() for path in listed):
        return listed
    return []
