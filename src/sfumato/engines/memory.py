"""How much memory there is, and where what does not fit may go."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from sfumato.errors import InputError, ResourceError, quoted

_UNITS = {"K": 1, "M": 2, "G": 3, "T": 4}
_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
_MOST, _DIGITS = 1 << 60, 20  # beyond, nobody means a size
_SHARE = 0.8  # of the machine's memory, where no limit is given


def in_bytes(memory: str) -> int:
    """A size as written by people: 512MB, 2GB, 2g, 1.5 GiB."""
    from fractions import Fraction  # loaded where there is something to compute, as below

    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT])(i?)B?", memory.strip(), re.IGNORECASE)
    size = 0
    if match is not None:
        unit = (1024 if match[3] else 1000) ** _UNITS[match[2].upper()]
        size = int(Fraction(match[1]) * unit) if len(match[1]) < _DIGITS else 0
    if not 0 < size < _MOST:
        raise InputError(f"memory {quoted(memory)} is not a size; write it like '512MB' or '2GB'")
    return size


def machine_memory() -> int:
    """What may be taken where no limit is given: most of the machine's memory."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        total = 8 << 30
    for limit in _LIMITS:  # a container may be given less than its machine has
        with contextlib.suppress(OSError, ValueError):
            total = min(total, int(limit.read_text()))
    return int(total * _SHARE)


def check_spill(folder: Path) -> None:
    """Refuse a folder that cannot take what does not fit in memory."""
    if not folder.is_dir():
        raise InputError(f"spill: {folder} is not a folder; give one that is there")
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=folder) as trial:
            trial.write(b"sfumato")
    except OSError:
        raise ResourceError(f"spill: {folder} cannot be written to; give another folder") from None


def own_folder(home: Path) -> Path:
    """A new folder that nobody else can read: what spills is people's data."""
    import tempfile

    try:
        return Path(tempfile.mkdtemp(prefix=f"sfumato-{os.getpid()}-", dir=home))
    except OSError:
        raise ResourceError(
            f"{home} cannot be written to; give a spill folder for what does not fit in memory"
        ) from None
