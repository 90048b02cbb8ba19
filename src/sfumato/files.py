"""Files and folders of ours: written whole or not at all, and nothing of anybody's replaced.

The only place that decides what may be overwritten. Everything is made in a room of its own beside
its place: a folder of a random name that only its owner may enter, locked while its run lives. In
the end it takes its place in one step. Without `force` that step fails if anything stands there,
even something that came a moment ago. With it, what stands there must be a folder of ours: one with
our mark, which lists what was written, and with nothing else in it. Old and new are exchanged, and
the old one is looked at once more, out of everybody's reach, before it is deleted. A killed run
leaves old or new, whole, and at most its room, which the next run clears away.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import stat
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from sfumato.errors import InputError, ResourceError, name_some
from sfumato.version import own_version

MARK = ".sfumato.json"  # what makes a folder ours
SCHEMA = 1  # of the mark
PRIVATE = "private"  # folders of this name are their owner's alone
_ROOM = ".sfumato-room.json"  # what makes a room ours; locked while its run lives
_NEW, _OLD, _PLACING = "new", "old", "placing"
_LARGEST_MARK = 1 << 26
_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


class LeftBehind(UserWarning):
    """Something of ours could not be deleted and still stands somewhere."""


@dataclass(frozen=True)
class Standing:
    """Something that this process has put in its place, and how to speak of it."""

    path: Path
    name: str


_placed: list[tuple[Standing, Callable[[], bool]]] = []


def moment() -> int:
    """A moment to ask from what has been written since."""
    return len(_placed)


def standing(since: int = 0) -> list[Standing]:
    """What this process has written, as far as it stands: also after an interrupt midway."""
    return [placed for placed, is_there in _placed[since:] if is_there()]


def note_standing(path: Path, name: str) -> None:
    """Tell of something that was written by other means, such as a database."""
    _placed.append((Standing(path, name), lambda: True))


# -- what may be written --------------------------------------------------------------------------


def check_new_folder(target: Path, *, force: bool, kind: str = "release") -> None:
    """Refuse a folder that cannot be written, or would replace something; before any work.

    What a killed run left there is put in order first.
    """
    if not target.name or target.name == "..":
        raise InputError(f"{target} has no name of its own; give another folder")
    if any("\ud800" <= sign <= "\udfff" for sign in str(target)):
        raise InputError(f"{target} is no name in UTF-8; give another folder")
    _clear_leftovers(target)
    there = _stat(target)
    if there is not None:
        _check_replaceable(target, there, force=force, kind=kind)
    home = next(folder for folder in target.absolute().parents if folder.exists())
    if not home.is_dir() or not os.access(home, os.W_OK | os.X_OK):
        raise InputError(f"{home} cannot be written to; give another folder")


def _check_replaceable(target: Path, status: os.stat_result, *, force: bool, kind: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise InputError(f"{target} is a symbolic link; name the folder itself, or another one")
    if not stat.S_ISDIR(status.st_mode):
        raise InputError(f"{target} is a file, not a folder; give another folder")
    if not force:
        raise InputError(f"{target} exists; give another name, or --force to replace it")
    problem = _not_ours(target, kind)
    if problem is not None:
        raise InputError(f"{target} {problem}")


def check_new_file(target: Path, *, force: bool) -> None:
    """Refuse a file that cannot be written, or would replace something; before any work."""
    _clear_leftovers(target)
    there = _stat(target)
    if there is not None:
        if stat.S_ISDIR(there.st_mode) or target.is_dir():
            raise InputError(f"{target} is a folder; give the name of a file in it")
        if not stat.S_ISREG(there.st_mode):
            raise InputError(f"{target} is a link or a device, not a plain file; give another name")
        if not force:
            raise InputError(f"{target} exists; give another name, or --force to replace it")
    if not target.parent.is_dir():
        raise InputError(f"{target.parent} is no folder; make it first")


def _stat(path: Path) -> os.stat_result | None:
    """Of the thing itself, not of what it links to; None if there is nothing."""
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{str(path)!r} cannot be looked at: {error.args[-1]}") from None


def _not_ours(folder: Path, kind: str) -> str | None:
    """Why a folder may not be deleted; None if all that is in it was written by us."""
    try:
        entries = sorted(_entries(folder))
        if not entries:
            return None
        mark = _read_mark(folder / MARK)
    except OSError as error:
        return f"cannot be looked into: {error.strerror}; give another folder"
    except ValueError:
        names = name_some(sorted({PurePosixPath(name).parts[0] for name in entries}))
        return (
            f"was not written by Sfumato: it has no {MARK} of ours, and holds {names}; --force "
            "replaces only what was, give another folder"
        )
    if mark["schema"] != SCHEMA:
        return "was written by another version of Sfumato; move it away, or give another folder"
    if mark["kind"] != kind:
        return f"is no {kind} but a {mark['kind']}; move it away, or give another folder"
    listed = {MARK, *mark["files"]}
    listed |= {str(parent) for name in mark["files"] for parent in PurePosixPath(name).parents}
    foreign = [name for name in entries if name not in listed or (folder / name).is_symlink()]
    reason = f"holds more than was written to it: {name_some(foreign)}; move that away, or give "
    return f"{reason}another folder" if foreign else None


def _entries(folder: Path) -> Iterator[str]:
    """Everything in a folder, however deep, by its path inside; links are not followed."""

    def refuse(error: OSError) -> None:
        raise error

    for at, folders, files in os.walk(folder, onerror=refuse):
        for name in (*folders, *files):
            yield (Path(at) / name).relative_to(folder).as_posix()


def _read_mark(path: Path) -> dict[str, Any]:
    """The mark of a folder; ValueError if it is none of ours."""
    there = _stat(path)
    if there is None or not stat.S_ISREG(there.st_mode) or there.st_size > _LARGEST_MARK:
        raise ValueError("no mark")
    try:
        mark = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError("no mark") from None
    match mark:
        case {"sfumato": str(), "schema": int(), "kind": str(), "files": [*names]}:
            if all(isinstance(name, str) for name in names):
                return dict(mark)
    raise ValueError("no mark")


# -- writing --------------------------------------------------------------------------------------


@contextlib.contextmanager
def new_folder(target: str | Path, *, force: bool = False, kind: str = "release") -> Iterator[Path]:
    """A folder to fill, which becomes `target` in the end, or is gone.

    What lies in folders named private becomes readable by its owner alone.
    """
    target = Path(target)
    check_new_folder(target, force=force, kind=kind)
    with _plain_words(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    with _room(target, kind) as room:
        with _plain_words(target, room.folder):
            room.new.mkdir()
            yield room.new
            files = sorted(name for name in _entries(room.new) if not (room.new / name).is_dir())
            mark = {"sfumato": own_version(), "schema": SCHEMA, "kind": kind, "files": files}
            (room.new / MARK).write_text(json.dumps(mark, indent=1) + "\n", encoding="utf-8")
            for private in [path for path in room.new.rglob(PRIVATE) if path.is_dir()]:
                _owner_only(private)
            _sync(room.new)
        room.place(lambda: check_new_folder(target, force=force, kind=kind))


@contextlib.contextmanager
def new_file(
    target: str | Path, *, force: bool = False, private: bool = True, kind: str = "file"
) -> Iterator[Path]:
    """The name of a file to write, which becomes `target` in the end, or is gone.

    Nobody but its owner can read a private one, not even while it is written.
    """
    target = Path(target)
    check_new_file(target, force=force)
    with _room(target, kind) as room:
        with _plain_words(target, room.folder):
            os.close(os.open(room.new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            yield room.new
            room.new.chmod(0o600 if private else _usual_mode(room.folder))
            _sync(room.new)
        room.place(lambda: check_new_file(target, force=force))


def write_text(
    target: str | Path, text: str, *, force: bool = False, private: bool = True, kind: str = "file"
) -> None:
    """Write a text file, whole or not at all."""
    with new_file(target, force=force, private=private, kind=kind) as new:
        new.write_text(text, encoding="utf-8")


class _Room:
    """A folder of its own beside the place of what is being written."""

    def __init__(self, folder: Path, target: Path, kind: str) -> None:
        self.folder, self.target, self.kind = folder, target, kind

    @property
    def new(self) -> Path:
        """What is being written."""
        return self.folder / _NEW

    def place(self, check: Callable[[], None]) -> None:
        """Put what was made in its place; `check` refuses what may not be replaced."""
        made = _identity(self.new)
        # Noted before it is done: an interrupt may fall in between, and is_there tells the truth.
        standing_here = Standing(self.target, f"the {self.kind}")
        _placed.append((standing_here, lambda: _identity(self.target) == made))
        with _plain_words(self.target, self.folder):
            try:
                _move_to_free_place(self.new, self.target)
            except FileExistsError:
                check()
                if self.new.is_dir():
                    self._exchange()
                else:
                    self.new.replace(self.target)
            _sync_one(self.target.parent)

    def _exchange(self) -> None:
        (self.folder / _PLACING).touch()
        aside = self.new
        exchanged = _rename(self.new, self.target, _EXCHANGE)
        if not exchanged:
            aside = self.folder / _OLD
            self.target.rename(aside)
            self.new.rename(self.target)
        # Something may have come between the first look and the exchange.
        problem = _not_ours(aside, self.kind)
        if problem is None:
            return
        if exchanged:
            _rename(self.new, self.target, _EXCHANGE)
        else:
            self.target.rename(self.new)
            aside.rename(self.target)
        raise InputError(f"{self.target} {problem}")


@contextlib.contextmanager
def _room(target: Path, kind: str) -> Iterator[_Room]:
    """A room for writing something, which is gone afterwards."""
    with _plain_words(target):
        folder, lock = _open_room(target, kind)
    try:
        yield _Room(folder, target, kind)
    finally:
        if not _clear(folder, target, kind):
            warnings.warn(
                f"{folder} could not be deleted and may hold private data; delete it",
                LeftBehind,
                stacklevel=4,
            )
        os.close(lock)


def _open_room(target: Path, kind: str) -> tuple[Path, int]:
    """A new room, and the file in it that is locked as long as this run lives."""
    for _ in range(100):
        folder = target.with_name(f".{target.name[:64]}.part-{os.urandom(8).hex()}")
        folder.mkdir(mode=0o700)  # fails if there is anything of that name
        with contextlib.suppress(FileNotFoundError):  # another run took it for a leftover
            flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | _NO_FOLLOW
            lock = os.open(folder / _ROOM, flags, 0o600)
            if _lock(lock) is not False and _identity(folder / _ROOM) == _identity(lock):
                os.write(lock, json.dumps({"sfumato": own_version(), "kind": kind}).encode())
                return folder, lock
            os.close(lock)
    raise ResourceError(f"{target} cannot be written: no folder beside it stays ours")


def _clear_leftovers(target: Path) -> None:
    """Delete the rooms of runs that were killed, and bring back what they left in them."""
    named = re.compile(re.escape(f".{target.name[:64]}.part-") + "[0-9a-f]{16}")
    owner = getattr(os, "geteuid", lambda: None)()
    try:
        with os.scandir(target.parent) as entries:
            rooms = [Path(entry.path) for entry in entries if named.fullmatch(entry.name)]
    except (OSError, ValueError):
        return  # whoever writes there is told why not
    for room in rooms:
        there = _stat(room)
        if there is None or not stat.S_ISDIR(there.st_mode) or owner not in (None, there.st_uid):
            continue
        try:
            lock = os.open(room / _ROOM, os.O_RDWR | _NO_FOLLOW)
        except OSError:
            with contextlib.suppress(OSError):
                room.rmdir()  # only an empty one: killed before it was locked
            continue
        try:
            if _lock(lock) and _identity(room / _ROOM) == _identity(lock):
                _clear(room, target, _kind_of(lock))
        finally:
            os.close(lock)


def _kind_of(lock: int) -> str:
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return str(json.loads(os.read(lock, 1 << 12))["kind"])
    return ""  # killed before it was told


def _clear(room: Path, target: Path, kind: str) -> bool:
    """Delete a room and what was made in it; nothing else, and what was half replaced goes back."""
    with contextlib.suppress(OSError):
        if (room / _PLACING).exists():
            if (room / _OLD).exists() and _stat(target) is None:
                _move_to_free_place(room / _OLD, target)
            folders = [folder for folder in (room / _NEW, room / _OLD) if folder.is_dir()]
            if any(_not_ours(folder, kind) is not None for folder in folders):
                return False
        for path in sorted(room.iterdir(), key=lambda path: path.name == _ROOM):  # the mark last
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        room.rmdir()
    return _stat(room) is None


# -- what the system does -------------------------------------------------------------------------

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NO_REPLACE, _EXCHANGE = 1, 2  # flags of renameat2
_AT_CWD = -100
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


@cache
def _renameat2() -> Any:
    """Linux's rename that can refuse to replace, or exchange; None where there is none."""
    import ctypes  # most runs write nothing

    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return None
    path, number = ctypes.c_char_p, ctypes.c_int
    function.argtypes = [number, path, number, path, ctypes.c_uint]
    return function, ctypes.get_errno


def _rename(source: Path, target: Path, flag: int) -> bool:
    """Rename by one of the flags; False if the system cannot."""
    if (there := _renameat2()) is None:
        return False
    rename, last_error = there
    if rename(_AT_CWD, os.fsencode(source), _AT_CWD, os.fsencode(target), flag) == 0:
        return True
    if (number := last_error()) in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(source), None, str(target))


def _move_to_free_place(new: Path, target: Path) -> None:
    """Rename to a name that nothing has; FileExistsError otherwise."""
    if _rename(new, target, _NO_REPLACE):
        return
    if not new.is_dir():
        os.link(new, target)
        new.unlink()
        return
    target.mkdir()  # fails if anything is there; an empty folder alone can be renamed over
    try:
        new.rename(target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise FileExistsError(errno.EEXIST, "something came there", str(target)) from None
        target.rmdir()
        raise


def _lock(handle: int) -> bool | None:
    """Lock a file; False if another process holds it, None where files cannot be locked."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def _identity(file: Path | int) -> tuple[int, int] | None:
    """Which file a name or a handle is of; None if of none."""
    status = os.fstat(file) if isinstance(file, int) else _stat(file)
    return None if status is None else (status.st_dev, status.st_ino)


def _owner_only(folder: Path) -> None:
    """Let nobody but the owner read what is in a folder."""
    folder.chmod(0o700)
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)


def _usual_mode(room: Path) -> int:
    """The mode that files get here unless told otherwise."""
    probe = room / "probe"
    probe.touch()
    mode = stat.S_IMODE(probe.stat().st_mode)
    probe.unlink()
    return mode


def _sync(top: Path) -> None:
    """Bring everything to the disk: what is deepest first, folders after what they hold."""
    if top.is_dir():
        for path in sorted(top.rglob("*"), key=lambda path: -len(path.parts)):
            _sync_one(path)
    _sync_one(top)


def _sync_one(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:  # Windows does not open folders
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF):  # some systems cannot sync folders
            raise
    finally:
        os.close(handle)


class _Full(ResourceError):
    """There is no room on the disk."""


class _Failed(InputError):
    """Something else is in the way."""


@contextlib.contextmanager
def _plain_words(target: Path, within: Path | None = None) -> Iterator[None]:
    """Failures to write in our words, told of the target: nobody knows the names in a room."""
    try:
        yield
    except (_Full, _Failed, OSError) as error:
        full = isinstance(error, _Full) or "No space left" in str(error)
        if full or (isinstance(error, OSError) and error.errno in _FULL):
            raise _Full(
                f"there is no room for {target}: the disk is full, or a file may not grow any "
                "more; free some space, or write elsewhere"
            ) from None
        why = str(error).rpartition(": ")[2]
        if isinstance(error, OSError):
            named = None if error.filename is None else Path(os.fsdecode(error.filename))
            if within is not None and (named is None or within not in named.parents):
                raise
            why = error.strerror or type(error).__name__
        raise _Failed(f"{target} cannot be written: {why}") from None
