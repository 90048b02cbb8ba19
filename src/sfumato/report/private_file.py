"""Files of private evidence: nobody but their owner can read them, not even while written."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp
from typing import TYPE_CHECKING

from sfumato.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


@contextmanager
def owner_only(target: Path) -> Iterator[Path]:
    """A file of its own beside the target, 0600 from the start, that takes its place in the end.

    A killed run leaves nothing or all of it, and two runs do not write to one file.
    """
    try:
        handle, name = mkstemp(prefix=f".{target.name}.part-", dir=target.parent)
        os.close(handle)
        partial = Path(name)
        try:
            yield partial
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {type(error).__name__}") from None


def write_text(text: str, target: Path) -> None:
    """A private page or text."""
    with owner_only(target) as partial:
        partial.write_text(text, encoding="utf-8")


def write_table(table: pa.Table, target: Path) -> None:
    """A private table, by its ending: .parquet, .csv, or .json as a list of rows."""
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq

    with owner_only(target) as partial:
        if target.suffix == ".parquet":
            pq.write_table(table, partial)
        elif target.suffix == ".csv":
            pa_csv.write_csv(table, partial)
        else:
            rows = json.dumps(table.to_pylist(), indent=1, ensure_ascii=False, default=str)
            partial.write_text(rows + "\n", encoding="utf-8")
