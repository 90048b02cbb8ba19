"""Where the public data files lie: a folder given, or the one SFUMATO_DATA names.

The files are not part of the package. The folder holds `adult/` and `acs2019/`.
"""

from __future__ import annotations

import os
from pathlib import Path

from sfumato.errors import InputError

VARIABLE = "SFUMATO_DATA"


def find_file(path: str | Path | None, name: str) -> Path:
    """The file `name` (such as adult/adult.csv) inside the data folder."""
    folder = _folder(path)
    file = folder / name
    if not file.is_file():
        raise InputError(
            f"{str(folder)!r} does not hold the file {name}; give the folder that does"
        )
    return file


def _folder(path: str | Path | None) -> Path:
    chosen = os.environ.get(VARIABLE) if path is None else path
    if not chosen:
        raise InputError(
            f"no data folder: give its path, or set the environment variable {VARIABLE} to it"
        )
    return Path(chosen).expanduser()
