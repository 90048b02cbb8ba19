"""Which engines there are, each registered once, and which of them reads a table.

It is the one that is named, or the one its rows are in already. Nothing is imported for an engine
that is not opened: the command line asks for their names only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sfumato.errors import InputError

if TYPE_CHECKING:
    from sfumato.engines.base import Engine
    from sfumato.engines.reading import Reading


def _never(_source: object) -> bool:
    return False


@dataclass(frozen=True)
class EngineEntry:
    """One engine of the registry: the one place that says what it is called and what it heeds.

    `name` is what options and policies call it, `title` what messages do. `opened` makes it, with
    how to read and the source of rows it is opened for. `instead` says what to write for a setting
    that only other engines heed, as text to be formatted with its value. `holds` tells whether a
    source's rows are in it already.
    """

    name: str
    title: str
    opened: Callable[[Reading, Any], Engine]
    instead: Mapping[str, str] = field(default_factory=dict)
    holds: Callable[[object], bool] = _never


def _duckdb(reading: Reading, _source: object) -> Engine:
    from sfumato.engines.duckdb import DuckDB

    return DuckDB(reading)


def is_spark_frame(source: object) -> bool:
    """Whether a thing is a Spark frame, asked without importing Spark."""
    kind = type(source)
    return kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame"


def _spark(reading: Reading, source: Any) -> Engine:
    at_spark = is_spark_frame(source)
    if at_spark and (reading.master is not None or reading.spill is not None):
        given = "master" if reading.master is not None else "spill"
        raise InputError(f"{given} is for a session that we start; a Spark frame brings its own")
    from sfumato.engines.spark import Spark

    return Spark(reading, session=source.sparkSession if at_spark else None)


# The first is the one for rows that are in no engine yet.
ENGINES: dict[str, EngineEntry] = {
    entry.name: entry
    for entry in (
        EngineEntry("duckdb", "DuckDB", _duckdb),
        EngineEntry(
            "spark",
            "Spark",
            _spark,
            {"threads": "for Spark write master 'local[{}]'"},
            is_spark_frame,
        ),
    )
}


def engines_told() -> str:
    """Their names, for an option's help."""
    first, *rest = ENGINES
    *more, last = [f"{first} (the default)", *rest]
    return f"{', '.join(more)} or {last}"


def open_engine(source: object, reading: Reading) -> Engine:
    """The engine for a source of rows, with the settings that it knows."""
    holding = next((name for name, engine in ENGINES.items() if engine.holds(source)), None)
    entry = ENGINES[reading.engine or holding or next(iter(ENGINES))]
    for setting, owners in reading.particular().items():
        if entry.name not in owners:
            given, owner = getattr(reading, setting), ENGINES[owners[0]]
            advice = entry.instead.get(setting, f"choose the engine {owner.name} with it")
            raise InputError(f"{setting} {given!r} is {owner.title}'s; {advice.format(given)}")
    return entry.opened(reading, source)
