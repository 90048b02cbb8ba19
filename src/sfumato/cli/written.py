"""Tables of private evidence that commands write: only their owner may read them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".parquet", ".json")


def check_private(path: Path, *, force: bool) -> None:
    """Refuse what cannot be written, before any work is done."""
    from sfumato.report.html.page import check_free

    if path.suffix not in ENDINGS:
        raise InputError(
            f"cannot write private evidence as {path.name!r}; use a name ending in "
            f"{' or '.join(ENDINGS)}"
        )
    check_free(path, force=force)


def write_private(table: pa.Table, path: Path) -> None:
    """Written beside and renamed, so that a killed run leaves nothing or all of it."""
    partial = path.with_name(f".{path.name}.part-{os.getpid()}")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600))
        if path.suffix == ".parquet":
            import pyarrow.parquet as pq

            pq.write_table(table, partial)
        else:
            rows = table.to_pylist()
            text = json.dumps(rows, indent=1, ensure_ascii=False, default=str)
            partial.write_text(text + "\n", encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
