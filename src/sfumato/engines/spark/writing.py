"""Rows written by Spark's machines: all of them have arrived, or it is an error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from sfumato.errors import ResourceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def write_parts(frame: DataFrame, folder: Path) -> list[Path]:
    """Write a frame as Parquet files; the files in the order of its rows."""
    from pyspark.sql import Observation, functions

    seen = Observation()
    counted = frame.observe(seen, functions.count(functions.lit(1)).alias("rows"))
    counted.write.mode("overwrite").option("compression", "snappy").parquet(f"file://{folder}")
    files = sorted(folder.glob("part-*.parquet"))
    arrived = sum(pq.read_metadata(file).num_rows for file in files)
    if arrived != seen.get["rows"]:
        raise ResourceError(
            f"only {arrived:,} of {seen.get['rows']:,} rows have arrived; every machine of a "
            "cluster must see the folder under the same path"
        )
    return files
