"""Tables of private evidence: nobody but their owner can read them, not even while written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.files import new_file

if TYPE_CHECKING:
    import pyarrow as pa


def write_table(table: pa.Table, target: Path, *, force: bool = False) -> None:
    """A private table, by its ending: .parquet, .csv, or .json as a list of rows."""
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq

    with new_file(target, force=force, what="table") as partial:
        if target.suffix == ".parquet":
            pq.write_table(table, partial)
        elif target.suffix == ".csv":
            pa_csv.write_csv(table, partial)
        else:
            rows = json.dumps(table.to_pylist(), indent=1, ensure_ascii=False, default=str)
            partial.write_text(rows + "\n", encoding="utf-8")
