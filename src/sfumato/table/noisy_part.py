"""A file of a randomised release, read without its manifest, would pass for a table of people.

Its counts are noisy and some of its cells are nobody's; only the manifest beside it says so. Such a
file is therefore not read alone, by any reader.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from sfumato.engines.files import checked_path
from sfumato.errors import InputError

MANIFEST = "manifest.json"


def refuse_noisy_part(*sources: object) -> None:
    """Refuse files that a manifest beside them lists as those of a randomised release."""
    for source in sources:
        if not isinstance(source, str | Path):
            continue
        path = checked_path(source)
        linked = Path(os.path.realpath(path))  # a link may stand elsewhere
        for file in dict.fromkeys((path, linked)):
            if _listed(file):
                raise InputError(
                    f"{path} is part of a randomised release, and its counts are noisy; give the "
                    f"folder {_folder(file)} instead, so that its guarantee is read with it"
                )


def _listed(file: Path) -> bool:
    try:
        if not (file.parent / MANIFEST).is_file():  # a pipe of that name would never end
            return False
        told = json.loads((file.parent / MANIFEST).read_text(encoding="utf-8"))
        noisy = told["scheme"] == "randomised" or "guarantee" in told
        return bool(noisy and file.name in told["files"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False  # no manifest of ours


def _folder(file: Path) -> Path:
    return file.parent.parent if file.parent.name == "public" else file.parent
