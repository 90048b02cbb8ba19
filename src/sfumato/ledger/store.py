"""The ledger's file: SQLite, one writer at a time, whole entries or none.

A rollback journal (SQLite's default) rather than a write-ahead log: the ledger stays one file that
can be copied and kept on a shared drive, and entries are few. A writer that is killed leaves its
journal, and whoever opens the file next undoes what was half done. Writers wait for each other.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.errors import InputError, ResourceError

VERSION = 1
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
  content BLOB NOT NULL
)
"""


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection | None]:
    """The ledger for looking things up; None if nothing was ever added."""
    if not path.exists():
        raise InputError(f"{path} does not exist; `sfumato ledger add` makes a ledger")
    _refuse_folder(path)
    with _opened(path) as connection:
        yield connection if _checked(connection, path) else None


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """The ledger for one change: everything done inside is kept at the end, or none of it."""
    _make(path)
    with _opened(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            if not _checked(connection, path):
                connection.execute(_TABLES)
                connection.execute(f"PRAGMA application_id = {_MARK}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _make(path: Path) -> None:
    """An empty file that only its owner may read, unless there is one."""
    _refuse_folder(path)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    except FileNotFoundError:
        raise InputError(f"{path.parent} does not exist; make the folder first") from None


def _refuse_folder(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file for the ledger")


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
        raise InputError(f"{path} cannot be opened as a ledger: {error}") from None
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.IntegrityError):
            raise
        raise InputError(
            f"{path} is not a ledger, or is damaged ({error}); name another file, or restore it"
        ) from None


def _checked(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the ledger has been begun; refuses a file that is not ours or is too new."""
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not tables and mark in (0, _MARK):
        return False
    if mark != _MARK:
        raise InputError(f"{path} is a database, but not a ledger; name another file")
    if version > VERSION:
        raise InputError(
            f"{path} was written by a newer Sfumato (ledger format {version}, this one knows "
            f"{VERSION}); update Sfumato to use it"
        )
    return True
