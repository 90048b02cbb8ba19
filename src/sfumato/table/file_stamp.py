"""Where a file is, and whether it is still as it was when it was read."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import InputError


@dataclass(frozen=True)
class FileStamp:
    """`path` was read when `content` (itself, or what vouches for a folder) had this state."""

    path: Path
    content: Path
    size: int
    changed: int

    @classmethod
    def of(cls, path: str | Path, content: str | Path | None = None) -> FileStamp | None:
        """None where there is no such file."""
        held = Path(os.path.realpath(path if content is None else content))
        if not held.is_file():
            return None
        state = held.stat()
        return cls(Path(os.path.realpath(path)), held, state.st_size, state.st_mtime_ns)

    def sha256(self) -> str | None:
        """Of what was read; None where the file is gone or was changed since."""
        try:
            if FileStamp.of(self.path, self.content) != self:
                return None
            return digest(self.content)
        except OSError:
            return None


def digest(path: Path) -> str:
    """The SHA-256 of a file of any size."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def real_path(path: str | Path) -> Path:
    """Where something is, links followed; one that leads back to itself is nowhere."""
    try:
        return Path(path).resolve()
    except ValueError:
        raise InputError(
            "a name of a file holds signs that no file name can have (NUL, half of a pair); name "
            "the file or folder that is meant"
        ) from None
    except (RuntimeError, OSError):  # before Python 3.13 the one, since then the other if any
        raise InputError(
            f"{path} is, or lies behind, a link that leads back to itself; name the file or folder "
            "that is meant"
        ) from None
