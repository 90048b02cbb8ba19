"""`sf.Ledger`: every release that went out, so that the next one can be judged together with them.

Private. It holds what an attacker who collected all releases would hold, no more: enough to attack
a new release with them, and a place where the promises of randomised releases add up.

Its file is SQLite: one writer at a time, whole entries or none.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.adversaries.locating.targets import UNKNOWN
from sfumato.errors import InputError, ResourceError, did_you_mean, other_than_file, quoted
from sfumato.files import new_file, note_standing
from sfumato.ledger.content import pack, unpack
from sfumato.ledger.spent import Spent, add_up
from sfumato.notebook import Displayed
from sfumato.progress import phase
from sfumato.release.guarantee import Guarantee
from sfumato.release.release import Release

if TYPE_CHECKING:
    from sfumato.adversaries.base import Counting
    from sfumato.ledger.finding import Check
    from sfumato.table import Table

# The ledger's file: SQLite, one writer at a time, whole entries or none.
#
# A rollback journal (SQLite's default) rather than a write-ahead log: the ledger stays one file
# that can be copied and kept on a shared drive, and entries are few. A writer that is killed
# leaves its journal, and whoever opens the file next undoes what was half done. Writers wait for
# each other.

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
LedgerRow = tuple[Any, ...]  # of the columns above


def read_rows(path: Path) -> list[LedgerRow]:
    """The entries in their order, after checking that they are what was written, and all of it."""
    if not path.exists():
        raise InputError(f"{path} does not exist; `sfumato ledger add` makes a ledger")
    _refuse_other(path)
    with _opened(path) as connection:
        return _entries(connection, path)


def change_rows(path: Path, change: Callable[[Sequence[LedgerRow]], Sequence[LedgerRow]]) -> None:
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


def _write(
    connection: sqlite3.Connection, before: Sequence[LedgerRow], rows: Sequence[LedgerRow]
) -> None:
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
        with new_file(path, kind="ledger") as new, _opened(new) as connection:
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


def _entries(connection: sqlite3.Connection, path: Path) -> list[LedgerRow]:
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


def _checksum(before: str, row: LedgerRow) -> str:
    """Of an entry and all before it: none can be changed, lost or exchanged unnoticed."""
    *plain, content = row
    try:
        text = json.dumps([before, *plain]).encode()
        return hashlib.sha256(len(text).to_bytes(8, "big") + text + content).hexdigest()
    except TypeError:
        return "damaged"


def _damaged(path: Path) -> InputError:
    return InputError(f"{path} is damaged: it is not what was written; restore it from a copy")


EVERYBODY = "everybody"
_PLAIN = ("name", "about", "added", "scheme", "people", "groups", "suppressed")


@dataclass(frozen=True)
class LedgerEntry:
    """One release of the ledger, without its content."""

    name: str
    about: str
    added: str
    scheme: str
    people: int
    groups: int
    suppressed: int
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    guarantee: Guarantee | None = None

    def to_dict(self) -> dict[str, object]:
        """The entry for JSON."""
        guarantee = None if self.guarantee is None else self.guarantee.public()
        return {**self.__dict__, "guarantee": guarantee}


@dataclass(frozen=True, repr=False)
class Ledger(Displayed):
    """The releases published so far, in a private file."""

    path: Path

    def __init__(self, path: str | Path) -> None:
        object.__setattr__(self, "path", Path(path))

    def _in_short(self) -> tuple[str, ...]:
        return (f"Ledger in {self.path}",)

    def add(
        self,
        release: Release,
        name: str,
        about: str = EVERYBODY,
        guarantee: Guarantee | None = None,
    ) -> LedgerEntry:
        """Keep a release under a name of its own.

        `about` names the people it is about; promises add up over releases of the same.
        `guarantee` is what a randomised release promises, if it does not say so itself.
        """
        for option, given in (("name", name), ("about", about)):
            if not isinstance(given, str) or not given.strip():
                raise InputError(f"{option} = {quoted(given)} is not allowed; give it a name")
        release.refuse_wildcards()
        promised = release.guarantee if guarantee is None else guarantee
        if release.regions.noisy and promised is None:
            raise InputError(
                f"{release.label} is randomised but promises nothing; give its guarantee"
            )
        if not release.regions.noisy and promised is not None:
            raise InputError(
                f"{release.label} is {release.scheme}; only a randomised release has a guarantee"
            )
        content = pack(release, promised)
        entry = LedgerEntry(
            name.strip(),
            about.strip(),
            datetime.now(UTC).isoformat(timespec="seconds"),
            release.scheme,
            release.people,
            len(release.groups),
            release.suppressed,
            tuple(release.regions.columns),
            tuple(release.schema.sensitive),
            promised,
        )
        row = (
            *(getattr(entry, column) for column in _PLAIN),
            json.dumps(entry.quasi),
            json.dumps(entry.sensitive),
            None if promised is None else json.dumps(promised.public()),
            content,
        )
        try:
            change_rows(self.path, lambda rows: [*self._refuse_same(rows, row), row])
        except sqlite3.IntegrityError:
            raise InputError(
                f"{self.path} already has a release named {entry.name!r}; choose another name"
            ) from None
        return entry

    def _refuse_same(self, rows: Sequence[LedgerRow], new: LedgerRow) -> Sequence[LedgerRow]:
        """What went out once is not given away twice."""
        for row in rows:
            if (row[1], row[-1]) == (new[1], new[-1]) and row[0] != new[0]:
                raise InputError(
                    f"{self.path} already has this very release, as {row[0]!r}; nothing is added"
                )
        return rows

    def remove(self, name: str) -> LedgerEntry:
        """Forget a release that was added by mistake; what really went out belongs in here."""
        entries = {entry.name: entry for entry, _ in self._rows()}
        if name not in entries:
            raise InputError(
                f"{self.path} has no release named {quoted(name)}; {did_you_mean(name, entries)}"
            )
        change_rows(self.path, lambda rows: [row for row in rows if row[0] != name])
        return entries[name]

    def list(self, about: str | None = None) -> tuple[LedgerEntry, ...]:
        """The releases in the order they were added; of one population, if it is named."""
        entries = tuple(entry for entry, _ in self._rows())
        chosen = tuple(entry for entry in entries if about in (None, entry.about))
        if about is not None and not chosen:
            names = ", ".join(sorted({repr(entry.about) for entry in entries})) or "none"
            raise InputError(f"{self.path} has no release about {about!r}; populations: {names}")
        return chosen

    def releases(self, about: str | None = None) -> tuple[Release, ...]:
        """The releases themselves, as an attacker holds them, labelled with their names."""
        chosen = {entry.name for entry in self.list(about)}
        return tuple(
            unpack(content, entry.name) for entry, content in self._rows() if entry.name in chosen
        )

    def fingerprint(self, names: Sequence[str]) -> str:
        """The SHA-256 of what these releases hold, to tell later whether they are the same."""
        contents = {entry.name: content for entry, content in self._rows()}
        digests = [
            f"{name} {sha256(contents[name]).hexdigest()}" for name in names if name in contents
        ]
        return sha256("\n".join(digests).encode()).hexdigest()

    def spent(self, about: str | None = None, new: Release | None = None) -> tuple[Spent, ...]:
        """What the promises of randomised releases add up to, by population or of one of them.

        `new` counts as if it were added, about that population.
        """
        promised = [(entry.about, entry.guarantee) for entry in self.list(about)]
        if new is not None:
            promised.append((about or EVERYBODY, new.guarantee))
        return add_up(promised)

    @phase("judging")
    def check(
        self,
        new: Release,
        targets: object = None,
        *,
        population: object = None,
        table: Table | None = None,
        about: str | None = None,
        share: float = 0.0,
        confidence: float = 1.0,
        sensitive: str | None = None,
        counting: Counting = "all",
        drop: int = 0,
        unknown: str = UNKNOWN,
    ) -> Check:
        """What a new release adds up to with those of the ledger.

        It holds if at most a `share` of people have their value known with this confidence or
        more. The people are `targets` (those the releases share); or the people the new release
        was made of, if it still knows them or `table` tells them; or those of a `population` table;
        or else every combination of values its groups allow. Where a pseudonym links people's rows
        they are those it was made of, or it cannot be judged. Of targets and a population, columns
        that are not there and cells that say `unknown` are not known, and whoever they are not
        known of may be in every group that fits the rest. `about` names the population whose
        releases count.
        `counting`: "all" who are known so well, or those the new release "added" to whom the
        earlier ones expose by themselves. `drop`: only those of whom all together leave at least
        so many values fewer than any one release (1: the paper's vulnerable population).
        """
        from sfumato.ledger.check import check_release

        new.refuse_wildcards()
        checked = check_release(
            new,
            self.releases(about),
            targets,
            population=population,
            table=table,
            share=share,
            confidence=confidence,
            sensitive=sensitive,
            counting=counting,
            drop=drop,
            unknown=unknown,
        )
        return replace(checked, spent=self.spent(about, new))

    def _rows(self) -> Sequence[tuple[LedgerEntry, bytes]]:
        rows = read_rows(self.path)
        try:
            return [(_entry(row), row[-1]) for row in rows]
        except (ValueError, TypeError):
            raise InputError(f"{self.path} is damaged; restore it from a copy") from None


def _entry(row: tuple[Any, ...]) -> LedgerEntry:
    plain = dict(zip(_PLAIN, row, strict=False))
    quasi, sensitive, guarantee = row[len(_PLAIN) : len(_PLAIN) + 3]
    return LedgerEntry(
        **plain,
        quasi=tuple(json.loads(quasi)),
        sensitive=tuple(json.loads(sensitive)),
        guarantee=None if guarantee is None else Guarantee.read(json.loads(guarantee)),
    )
