"""Which engine reads a table: the one that is named, or the one its rows are in already."""

from __future__ import annotations

from typing import Any

from sfumato.engines.base import Engine
from sfumato.engines.reading import Reading
from sfumato.errors import InputError


def is_spark_frame(source: object) -> bool:
    """Whether a thing is a Spark frame, asked without importing Spark."""
    kind = type(source)
    return kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame"


def open_engine(source: Any, reading: Reading) -> Engine:
    """The engine for a source of rows, with the settings that it knows."""
    at_spark = is_spark_frame(source)
    master, threads = reading.master, reading.threads
    if (reading.engine or ("spark" if at_spark else "duckdb")) == "duckdb":
        if master is not None:
            raise InputError(f"master {master!r} is Spark's; choose the engine spark with it")
        from sfumato.engines.duckdb import DuckDB

        return DuckDB(reading)
    if threads is not None:
        raise InputError(f"threads is DuckDB's; for Spark write master 'local[{threads}]'")
    if at_spark and (master is not None or reading.spill is not None):
        given = "master" if master is not None else "spill"
        raise InputError(f"{given} is for a session that we start; a Spark frame brings its own")
    from sfumato.engines.spark import Spark

    session = source.sparkSession if at_spark else None
    return Spark(reading, session=session)
