"""DuckDB's failures in our words; its own may quote a row and are never passed on.

Stands apart: what went wrong is told in one place, and the engine is read without it.
"""

from __future__ import annotations

import re

import duckdb

from sfumato.engines.base import refused
from sfumato.errors import InputError, ResourceError, SfumatoError

_DISK = re.compile(r"No space left|[Cc]ould not write|File too large|[Dd]isk quota|Cannot write")


def translated(error: duckdb.Error, label: str, sql: str) -> SfumatoError:
    """What to raise; `label` is what to call the file that a query read."""
    text = str(error)
    if isinstance(error, duckdb.OutOfMemoryException):
        return ResourceError(
            "out of memory: raise the memory limit, or give a spill folder with more free space"
        )
    if _DISK.search(text):
        return ResourceError(
            "the disk is full, or a file may not grow any more: free some space, or give a folder "
            "with more of it (spill, or another place for the output)"
        )
    line = re.search(r"Line: (\d+)", text)
    if line is not None:
        fields = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
        why = f"has {fields[2]} fields, the header {fields[1]}" if fields else "cannot be split"
        if "unterminated quote" in text:
            why = "has a quotation mark that is never closed"
        if "unicode" in text or "utf-8" in text:
            why = "is not UTF-8 text, as those before it are; say its encoding, or"
            return InputError(f"{label}, line {line[1]} {why} correct the line")
        return InputError(
            f"{label}, line {line[1]} {why}; correct the line or quote fields that hold the "
            "delimiter"
        )
    if isinstance(error, duckdb.IOException) and not re.search(r"\bsource_\d+\b|read_", sql):
        return ResourceError(
            "a file of what spilled, or of the output, could not be written or read back; look at "
            "the disk, or give another spill folder"
        )
    if isinstance(error, duckdb.IOException | duckdb.InvalidInputException):
        hint = ""
        if "read_csv" in sql or "CSV" in text:
            hint = ", perhaps because some of its lines end in CRLF and some in LF; write it again"
        return InputError(f"{label} cannot be read as the file its name says it is{hint}")
    return refused("the engine", type(error).__name__, label, sql)
