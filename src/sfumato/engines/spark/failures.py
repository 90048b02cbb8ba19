"""What Spark complains of, in our words: its own quote rows, on the screen and in its logs."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator

from sfumato.engines.base import refused
from sfumato.errors import InputError, ResourceError, SfumatoError

# PySpark logs what it raises, values included, before we can say it better.
_LOUD = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "py4j")
_NO_MEMORY = ("OutOfMemory", "maxResultSize", "UNABLE_TO_ACQUIRE_MEMORY", "OUT_OF_MEMORY")
_NO_SPACE = ("No space left on device", "Disk quota exceeded")
_NOT_FOUND = ("PATH_NOT_FOUND", "FILE_NOT_EXIST", "FileNotFoundException")
_HELD_FOR_ONE = ("COLUMN_ALREADY_EXISTS", "AMBIGUOUS_REFERENCE", "Found duplicate field(s)")
_UNREADABLE = (
    "FAILED_READ_FILE",
    "CANNOT_READ_FILE_FOOTER",
    "UNABLE_TO_INFER_SCHEMA",
    "is not a Parquet file",
    "INCONSISTENT_BEHAVIOR_CROSS_VERSION.READ_ANCIENT_DATETIME",
)
_OF_NO_TYPE = ("PARQUET_TYPE", "UNSUPPORTED_TIME_TYPE", "FOR_ARROW_CONVERSION", "EXCEEDS_MAX_PREC")
_SPLIT = ("MALFORMED_RECORD_IN_PARSING", "MALFORMED_CSV_RECORD", "TextParsingException")
_GONE = ("stopped SparkContext", "SparkContext was shut down", "SparkContext has been shutdown")


class Unsplit(InputError):
    """A line of a text file does not have the fields of its header."""


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Within, PySpark neither logs nor warns."""
    loud = [logging.getLogger(name) for name in _LOUD]
    before = [logger.disabled for logger in loud]
    for logger in loud:
        logger.disabled = True
    try:
        with warnings.catch_warnings():
            # About versions of other libraries; nothing a user of ours could act on.
            warnings.filterwarnings("ignore", module=r"pyspark\.")
            yield
    finally:
        for logger, silent in zip(loud, before, strict=True):
            logger.disabled = silent


@contextlib.contextmanager
def translated(label: str, sql: str) -> Iterator[None]:
    """Whatever Spark raises within comes out as one line; `label` names the sources read."""
    with quiet():
        try:
            yield
        except SfumatoError:
            raise
        except Exception as error:
            raise _in_our_words(error, label, sql) from None


def _in_our_words(error: Exception, label: str, sql: str) -> SfumatoError:
    text = str(error)

    def tells(signs: tuple[str, ...]) -> bool:
        return any(sign in text for sign in signs)

    if tells(_NO_MEMORY):
        return ResourceError(
            "Spark ran out of memory: raise the memory limit, on a cluster spark.executor.memory"
        )
    if tells(_NO_SPACE):
        return ResourceError("Spark found no space left on a disk: free some, or spill elsewhere")
    if type(error).__name__ == "Py4JNetworkError" or isinstance(error, OSError) or tells(_GONE):
        return ResourceError(
            "Spark has ended in mid-work: its memory may have run out, or somebody stopped it"
        )
    if tells(_SPLIT):
        return Unsplit(
            f"{label}: a line cannot be split into the fields of its header; correct the line or "
            "quote fields that hold the delimiter"
        )
    if tells(_NOT_FOUND):
        return InputError(
            f"Spark does not find {label}; every machine of a cluster must see it under one path"
        )
    if tells(_HELD_FOR_ONE):
        return InputError(
            f"{label} has columns whose names differ only in case, which Spark holds for one; "
            "rename them, or use the engine duckdb"
        )
    if tells(_OF_NO_TYPE):
        return InputError(
            f"{label} has a column of a type that Spark does not read (such as nanoseconds, "
            "decimals of more than 38 digits); convert the column to text, or use the engine duckdb"
        )
    if tells(_UNREADABLE):
        return InputError(f"{label} cannot be read as the file its name says it is")
    told = getattr(error, "getCondition", lambda: None)()
    return refused("Spark", told or type(error).__name__, label, sql)
