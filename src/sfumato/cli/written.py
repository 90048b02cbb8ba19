"""Tables of private evidence that commands write: only their owner may read them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".parquet", ".json")


def check_private(path: Path, *, force: bool) -> None:
    """Refuse what cannot be written, before any work is done."""
    from sfumato.files import check_new_file

    if path.suffix not in ENDINGS:
        raise InputError(
            f"cannot write private evidence as {path.name!r}; use a name ending in "
            f"{' or '.join(ENDINGS)}"
        )
    check_new_file(path, force=force)


def write_private(table: pa.Table, path: Path, *, force: bool) -> None:
    """The table as its owner's file."""
    from sfumato.report.document import write_table

    write_table(table, path, force=force)
