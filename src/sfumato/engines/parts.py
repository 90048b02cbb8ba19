"""A table in parts: Parquet files in a folder, as engines on clusters write them.

A folder is read only where somebody asks for it: the names of inner folders such as `year=2020`
become columns then, and a folder that merely happens to be called so must never change a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from sfumato.engines.files import shown_name
from sfumato.errors import InputError
from sfumato.no_file import other_than_file

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
