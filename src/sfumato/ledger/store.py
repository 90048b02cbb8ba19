"""The ledger's file: SQLite, one writer at a time, whole entries or none.

A rollback journal (SQLite's default) rather than a write-ahead log: the ledger stays one file that
can be copied and kept on a shared drive, and entries are few. A writer that is killed leaves its
journal, and whoever opens the file next undoes what was half done. Writers wait for each other.

Stands apart: the file on disk, its lock and its checksums; the ledger is read without it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, ResourceError
from sfumato.files import new_file, note_standing
from sfumato.no_file import other_than_file

VERSION = 2
_MARK = 0x5F0A70  # SQLite's application id of our files
_PATIENCE = 60.0  # seconds a writer waits for another
_TABLES = """
CREATE TABLE releases (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  population TEXT NOT NULL,
  added TEXT NOT NULL,
  scheme TEXT NOT NULL,
  people INTEGER NOT NULL,
  groups INTEGER NOT NULL,
  suppressed INTEGER NOT NULL,
  quasi TEXT NOT NULL,
  sensitive TEXT NOT NULL,
  guarantee TEXT,
  content BLOB NOT NULL,
  checksum TEXT NOT NULL
);
CREATE TABLE state (entries INTEGER NOT NULL, checksum TEXT NOT NULL);
INSERT INTO state VALUES (0, '');
"""
COLUMNS = (
    "name", "population", "added", "scheme", "people", "groups", "suppressed", "quasi",
    "sensitive", "guarantee", "content",
)  # fmt: skip
Row = tuple[Any, ...]  # of the columns above


def read_rows(path: Path) -> list[Row]:
    """The entries in their order, after checking that they are what was written, and all of it."""
    if not path.exists():
        raise InputError(f"{path} does not exist; `sfumato ledger add` makes a ledger")
    _refuse_other(path)
    with _opened(path) as connection:
        return _entries(connection, path)


def change_rows(path: Path, change: Callable[[Sequence[Row]], Sequence[Row]]) -> None:
    """Add or take away entries of the ledger, which is made if there is none: all, or nothing."""
    _make(path)
    with _opened(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        committing = False
        try:
            before = _entries(connection, path)
            _write(connection, before, change(before))
            committing = True
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        finally:
            if committing and not connection.in_transaction:
                note_standing(path, "the change")


def _write(connection: sqlite3.Connection, before: Sequence[Row], rows: Sequence[Row]) -> None:
    """Write what is new; all of it if some went, since a checksum is over all entries before."""
    checksums: list[str] = []
    for row in rows:
        checksums.append(_checksum(checksums[-1] if checksums else "", row))
    kept = len(before) if list(rows[: len(before)]) == list(before) else 0
    if kept < len(before):
        connection.execute("DELETE FROM releases")
    connection.executemany(
        f"INSERT INTO releases ({', '.join(COLUMNS)}, checksum) "
        f"VALUES ({', '.join('?' * (len(COLUMNS) + 1))})",
        [(*row, checksum) for row, checksum in zip(rows, checksums, strict=True)][kept:],
    )
    last = checksums[-1] if checksums else ""
    connection.execute("UPDATE state SET entries = ?, checksum = ?", (len(rows), last))


def _make(path: Path) -> None:
    """An empty ledger that only its owner may read, unless there is one."""
    _refuse_other(path)
    if path.exists():
        return
    if not path.parent.is_dir():
        raise InputError(f"{path.parent} does not exist; make the folder first")
    try:
        with new_file(path, what="ledger") as new, _opened(new) as connection:
            connection.executescript(
                f"BEGIN; {_TABLES} PRAGMA application_id = {_MARK}; "
                f"PRAGMA user_version = {VERSION}; COMMIT;"
            )
    except InputError:
        if not path.exists():  # another process made it meanwhile
            raise


def _refuse_other(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file for the ledger")
    if problem := other_than_file(path):
        raise InputError(f"{path} {problem}")


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        # Not read-only even for reading: an interrupted change must be undone first.
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=_PATIENCE,
            isolation_level=None,
        )
        try:
            connection.execute("PRAGMA synchronous = EXTRA")
            yield connection
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise ResourceError(f"{path} is in use by another process; try again later") from None
        if "unable to open" in str(error) or "readonly" in str(error):
            raise InputError(f"{path} cannot be opened for writing as a ledger") from None
        if "full" in str(error):
            raise ResourceError(f"there is no room for {path}: the disk is full") from None
        raise _damaged(path) from None
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.IntegrityError):
            raise
        raise InputError(
            f"{path} is not a ledger, or is damaged; name another file, or restore it"
        ) from None
    except (OverflowError, ValueError):
        raise _damaged(path) from None


def _entries(connection: sqlite3.Connection, path: Path) -> list[Row]:
    """The entries; refuses a file that is not ours, too new, or not as it was written."""
    if not path.stat().st_size:
        raise InputError(f"{path} is empty, which no ledger ever is; restore it")
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if mark != _MARK:
        raise InputError(f"{path} is a database, but not a ledger; name another file")
    if version > VERSION:
        raise InputError(
            f"{path} was written by a newer Sfumato (ledger format {version}, this one knows "
            f"{VERSION}); update Sfumato to use it"
        )
    if version < VERSION:
        raise InputError(
            f"{path} was written by an older Sfumato (ledger format {version}), without checksums; "
            "make a new ledger and add the releases again"
        )
    # What is wrong is not quoted: it may be somebody's value.
    if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
        raise _damaged(path)
    rows = connection.execute(
        f"SELECT {', '.join(COLUMNS)}, checksum FROM releases ORDER BY id"
    ).fetchall()
    last = ""
    for *row, checksum in rows:
        last = _checksum(last, tuple(row))
        if last != checksum:
            raise _damaged(path)
    if connection.execute("SELECT entries, checksum FROM state").fetchall() != [(len(rows), last)]:
        raise _damaged(path)
    return [tuple(row) for *row, _ in rows]


def _checksum(before: str, row: Row) -> str:
    """Of an entry and all before it: none can be changed, lost or exchanged unnoticed."""
    *told, content = row
    try:
        text = json.dumps([before, *told]).encode()
        return hashlib.sha256(len(text).to_bytes(8, "big") + text + content).hexdigest()
    except TypeError:
        return "damaged"


def _damaged(path: Path) -> InputError:
    return InputError(f"{path} is damaged: it is not what was written; restore it from a copy")
