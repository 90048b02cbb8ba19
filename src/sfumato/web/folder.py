"""The files that pages may see: tables below the folder the workbench was started in.

A name is a path relative to that folder; nothing outside it has one, whatever links lead there.
Uploads go to the project's own folder, whole or not at all.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import InputError, quoted
from sfumato.files import MARK, new_file

_DEEP, _MANY = 4, 500  # folders below each other and files that are listed
_LONGEST = 120  # characters of an uploaded file's name
UPLOADS = "data"  # where they go, in the project folder


class TooLarge(Exception):
    """An upload is larger than it may be."""


@dataclass(frozen=True)
class FoundFile:
    """A table that may be chosen: the name pages know it by, and its bytes."""

    name: str
    size: int
    uploaded: bool = False


class Folder:
    """A folder whose tables may be chosen, and the project's uploads."""

    def __init__(self, root: Path, project: Path) -> None:
        self.root = root.resolve()
        self.project = project.resolve()

    @property
    def uploads(self) -> Path:
        return self.project / UPLOADS

    def tables(self) -> list[FoundFile]:
        """Tables of the kinds we read: uploads first, then what lies in the folder."""
        from sfumato.engines.files import is_data

        files = []
        for path in (*self._walk(self.uploads, 1), *self._walk(self.root, _DEEP)):
            if is_data(path.name) and (size := self._size(path)) is not None:
                files.append(FoundFile(self.name_of(path), size, self.uploads in path.parents))
            if len(files) >= _MANY:
                break
        return files

    def releases(self) -> list[str]:
        """Release folders of ours below the folder, by name; not those of the project."""
        names = []
        for path in self._walk(self.root, _DEEP, folders=True):
            mark = path / MARK
            try:
                known = json.loads(mark.read_text(encoding="utf-8")) if mark.is_file() else {}
            except (OSError, ValueError):
                continue
            if isinstance(known, dict) and known.get("kind") == "release":
                names.append(self.name_of(path))
        return names[:_MANY]

    def resolve(self, name: str) -> Path:
        """The file or folder of that name; refused if it lies elsewhere, by `..` or by a link."""
        strange = InputError(f"{quoted(name)} is no file below the folder that was opened")
        if not name or "\0" in name or any("\ud800" <= sign <= "\udfff" for sign in name):
            raise strange
        try:
            path = (self.root / name).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            raise strange from None
        if path.is_relative_to(self.uploads) and path != self.uploads:
            return path
        if not path.is_relative_to(self.root) or path.is_relative_to(self.project):
            raise strange
        if not (path.is_file() or path.is_dir()):  # a pipe may never answer
            raise strange
        return path

    def resolve_table(self, name: str) -> Path:
        """The file of that name, if it is a table of a kind we read and nothing hides it."""
        from sfumato.engines.files import is_data

        path = self.resolve(name)
        uploaded = path.is_relative_to(self.uploads)
        within = path.relative_to(self.uploads) if uploaded else Path(name)
        hidden = any(part.startswith(".") for part in within.parts)
        if hidden or not path.is_file() or not is_data(within.name):
            raise InputError(f"{quoted(name)} is no table that may be chosen here")
        return path

    def name_of(self, path: Path) -> str:
        """The name that pages and commands know a file by."""
        return path.relative_to(self.root).as_posix() if self.root in path.parents else str(path)

    async def upload(self, name: str, pieces: AsyncIterator[bytes], limit: int) -> str:
        """Keep what is sent as a new file of about that name; nothing is ever replaced."""
        self.uploads.mkdir(mode=0o700, exist_ok=True)
        target = self._free(plain_name(name))
        size = 0
        with new_file(target, kind="upload") as new, new.open("wb") as out:
            async for piece in pieces:
                size += len(piece)
                if size > limit:
                    raise TooLarge
                out.write(piece)
            if size == 0:
                raise InputError(f"{target.name} is empty; choose another file")
        return self.name_of(target)

    def _free(self, name: str) -> Path:
        stem, dot, ending = name.partition(".")
        for number in range(1, 1000):
            target = self.uploads / (name if number == 1 else f"{stem}-{number}{dot}{ending}")
            if not os.path.lexists(target):
                return target
        raise InputError(f"{name} was uploaded too often; delete some of them")

    def _walk(self, top: Path, deep: int, *, folders: bool = False) -> Iterator[Path]:
        """Files and links to any below, or folders; nothing hidden, not the project."""
        try:
            with os.scandir(top) as listed:
                entries = sorted(listed, key=lambda entry: entry.name.casefold())
        except OSError:
            return
        inner = []
        for entry in entries:
            if entry.name.startswith(".") or not _is_text(entry.name):
                continue
            path = Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                if path != self.project:
                    inner.append(path)
            elif not folders and (entry.is_symlink() or entry.is_file()):
                yield path
        for path in inner:
            if folders:
                yield path
            if deep > 1:
                yield from self._walk(path, deep - 1, folders=folders)

    def _size(self, path: Path) -> int | None:
        """Of a file that may be chosen; None if it leads out, or cannot be read."""
        try:
            real = self.resolve(self.name_of(path))
            return real.stat().st_size if os.access(real, os.R_OK) else None
        except (InputError, OSError):
            return None


def plain_name(name: str) -> str:
    """A file's name that means nothing but itself, on every system."""
    last = unicodedata.normalize("NFC", name).replace("\\", "/").rpartition("/")[2]
    kept = re.sub(r"[^\w. +()=-]+", "_", last).strip(" ._")
    stem, dot, ending = kept.partition(".")
    stem = stem.strip() or "table"
    if stem.startswith("-"):
        stem = f"_{stem}"
    return f"{stem[:_LONGEST]}{dot}{ending[:20]}" if ending else stem[:_LONGEST]


def _is_text(name: str) -> bool:
    return not any("\ud800" <= sign <= "\udfff" for sign in name)
