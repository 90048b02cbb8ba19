"""What stands under a name and is no file: told before it is opened; a pipe may never answer."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

_KINDS: dict[Callable[[int], bool], str] = {
    stat.S_ISFIFO: "a named pipe",
    stat.S_ISSOCK: "a socket",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
}


def other_than_file(path: str | Path) -> str | None:
    """What is wrong with a thing that is there, but neither a file nor a folder; or None.

    Links are followed: to a file they are as good as the file.
    """
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return None
    found = next((kind for asked, kind in _KINDS.items() if asked(mode)), None)
    return found and f"is {found}, not a file; save what comes from it as a file, and give that"
