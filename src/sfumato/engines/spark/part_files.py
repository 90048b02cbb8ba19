"""Rows that are brought to Spark part by part, in files where it runs on this machine.

A frame made of a million rows of ours takes seconds, and they stay in the plan of whatever is asked
of it; written as Parquet they are there at once. Machines of a cluster do not see our files: there
the frames stay.

Stands apart: where brought rows lie; what the engine does with them is read without it.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.engines.memory import own_folder
from sfumato.engines.spark.dialect import spark_types
from sfumato.engines.spark.session import is_connect
from sfumato.engines.spark.sources import address
from sfumato.errors import ResourceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class PartFiles:
    """Folders of Parquet files, one for each table, readable by nobody else."""

    def __init__(self, session: SparkSession, spill: Path | None) -> None:
        self._session, self._spill = session, spill
        self.folders: dict[str, tuple[Path, int]] = {}
        master = "" if is_connect(session) else session.sparkContext.master
        self.seen_by_spark = (master or "").startswith("local")

    def append(self, name: str, table: pa.Table) -> DataFrame:
        """All rows of a table, these among them."""
        folder, written = self.folders.get(name) or (self._new_folder(), 0)
        self.folders[name] = folder, written  # first, so that it goes even if this stops half-way
        plain = spark_types(table)
        try:
            pq.write_table(
                plain, folder / f"{written:05d}.parquet", compression="none", use_dictionary=False
            )
        except OSError:
            raise ResourceError(
                "no space is left for what does not fit in memory: free some, or spill elsewhere"
            ) from None
        self.folders[name] = folder, written + 1
        return self._session.read.parquet(address(folder))

    def drop(self, name: str) -> None:
        if name in self.folders:
            shutil.rmtree(self.folders.pop(name)[0], ignore_errors=True)

    def close(self) -> None:
        for name in list(self.folders):
            self.drop(name)

    def _new_folder(self) -> Path:
        return own_folder(self._spill or Path(tempfile.gettempdir()))
