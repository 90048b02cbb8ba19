"""The project folder: all that a session of the workbench decides and makes, on disk.

    project.json      the data file, and how it is read
    policy.toml       the policy, as any command reads it
    draft.json        a policy's text that is not saved yet
    price.json        what each promise costs, as it was worked out last
    hierarchies/      value trees the policy names; never changed, only added
    data/             what was uploaded
    tried/N           a release folder, as `sfumato anonymize --out tried/N` writes it
    tried/N.json      what the workbench remembers of it; a release without it does not count
    decisions.json    what was decided, and why
    earlier/          policies that one given at a start took the place of

Every file is written whole or not at all, and only its owner can read the folder. `revision` is the
fingerprint of what can be edited: whoever saves says which one was on the page, and is refused if
it is no longer there, so that a second tab, or an editor, never loses anything.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from sfumato.errors import InputError
from sfumato.files import write_text

FOLDER = "sfumato-project"  # where a project is, unless told otherwise
SCHEMA = 1
_LARGEST = 1 << 24  # bytes of a file of ours that are read
OPENING = "open.html"  # leads the owner's browser in; the token is in no list of processes
_DOOR = "door"  # addresses that were asked for by another `sfumato serve`


class Stale(Exception):
    """What was on the page is no longer what is saved: another tab, or an editor, was faster."""


@dataclass(frozen=True)
class ProjectState:
    """What is saved: the data file by name, how it is read, the policy's text."""

    revision: str
    data: str | None = None
    reading: Mapping[str, object] = field(default_factory=dict)
    policy: str | None = None


@dataclass(frozen=True)
class TriedPoint:
    """A release that was made in this project, and what is remembered of it."""

    number: int
    facts: Mapping[str, Any]


class ProjectFiles:
    """A project folder to look into; only the server writes to it, but for releases."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    @property
    def policy_file(self) -> Path:
        return self.folder / "policy.toml"

    def release_folder(self, point: int) -> Path:
        return self.folder / "tried" / str(point)

    def state(self) -> ProjectState:
        """What is saved now."""
        settings, policy = self._text("project.json"), self._text("policy.toml")
        parsed = _parsed("project.json", settings) if settings is not None else {}
        match parsed:
            case {"data": str() | None as data, "reading": dict(reading)}:
                pass
            case {}:
                data, reading = None, {}
        content = json.dumps([settings, policy]).encode()
        return ProjectState(sha256(content).hexdigest()[:16], data, reading, policy)

    def points(self) -> tuple[TriedPoint, ...]:
        """The releases that were made, the first one first."""
        return tuple(sorted(self._points(), key=lambda point: point.number))

    def data_of(self, point: int | None = None) -> tuple[str | None, Mapping[str, object]]:
        """The file that a release was made of and how it was read; without a point what is now."""
        state, made = self.state(), None if point is None else self.point(point)
        match {} if made is None else made.facts:
            case {"data": str(data), "reading": dict(reading)}:
                return data, reading
        return state.data, state.reading

    def point(self, number: int) -> TriedPoint | None:
        return next((point for point in self._points() if point.number == number), None)

    def _points(self) -> Iterator[TriedPoint]:
        for path in (self.folder / "tried").glob("*.json"):
            if re.fullmatch(r"[1-9]\d{0,8}", path.stem) and path.with_suffix("").is_dir():
                text = self._text(f"tried/{path.name}")
                if text is not None:
                    yield TriedPoint(int(path.stem), _parsed(path.name, text))

    def decisions(self) -> Mapping[str, Any]:
        """What was decided; empty at first."""
        text = self._text("decisions.json")
        return {} if text is None else _parsed("decisions.json", text)

    def kept(self, name: str) -> str | None:
        """What a step keeps in a file of its own; None where there is none."""
        return self._text(name)

    def _text(self, name: str) -> str | None:
        path = self.folder / name
        try:
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from None
        with os.fdopen(handle, "rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise InputError(f"{path} is too large to be a file of ours; move it away")
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise InputError(f"{path} is no text in UTF-8; mend it, or move it away") from None


def _parsed(name: str, text: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise InputError(f"{name} of the project is damaged; mend it, or move it away")
    return parsed


class Project(ProjectFiles):
    """The project folder that this server has open, alone."""

    @classmethod
    def open(cls, folder: Path) -> Project:
        """Make the folder if it is not there, and hold it; InputError if it is somebody's."""
        project = cls(folder)
        try:
            project.folder.mkdir(mode=0o700, exist_ok=True)
        except FileNotFoundError:
            raise InputError(f"{folder.parent} is no folder; make it first") from None
        except FileExistsError:
            raise InputError(f"{folder} is a file, not a folder; give another --project") from None
        except OSError as error:
            raise InputError(f"{folder} cannot be made: {error.strerror}") from None
        settings_file = project.folder / "project.json"
        entries = [entry for entry in project.folder.iterdir() if not entry.name.startswith(".")]
        if entries and not settings_file.is_file():
            raise InputError(
                f"{folder} holds other things and no project of ours; give another --project"
            )
        if project._lock is None:
            raise Taken(project.running())
        project._forget_way_in()
        project.folder.chmod(0o700)
        (project.folder / "tried").mkdir(mode=0o700, exist_ok=True)
        if not settings_file.is_file():
            project._write_settings(None, {})
        return project

    @cached_property
    def _lock(self) -> int | None:
        """The handle of our lock; None if another process has it."""
        flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
        handle = os.open(self.folder / ".lock", flags, 0o600)
        try:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        except (ImportError, OSError):
            pass  # where files cannot be locked, nobody is kept out
        return handle

    def close(self) -> None:
        """Let others have it; what they put there afterwards is theirs."""
        if "_lock" not in self.__dict__:
            return
        self._forget_way_in()
        if self._lock is not None:
            os.close(self._lock)
        del self._lock

    def _forget_way_in(self) -> None:
        """Take away how a server is reached: its port may be another program's by now."""
        for name in (".running.json", f".{_DOOR}", OPENING):
            (self.folder / name).unlink(missing_ok=True)

    # -- what can be edited ------------------------------------------------------------------------

    def choose_data(self, name: str, reading: Mapping[str, object], revision: str) -> ProjectState:
        """Work on this file from now on, read like this."""
        self._expect(revision)
        self._write_settings(name, reading)
        return self.state()

    def save_policy(self, text: str, revision: str) -> ProjectState:
        """Keep the text of a policy, as it is."""
        self._expect(revision)
        self._write("policy.toml", text)
        return self.state()

    def set_policy_aside(self) -> None:
        """Keep a copy of the policy that is there, before another one takes its place."""
        text = self.state().policy
        if text:
            (self.folder / "earlier").mkdir(mode=0o700, exist_ok=True)
            digest = sha256(text.encode()).hexdigest()[:12]
            self._write(f"earlier/policy-{digest}.toml", text)

    def leave_policy(self, revision: str) -> ProjectState:
        """Work without a policy from now on; a copy of the one that is there is kept."""
        self._expect(revision)
        self.set_policy_aside()
        self.policy_file.unlink(missing_ok=True)
        return self.state()

    def add_hierarchy(self, column: str, text: str) -> str:
        """Keep the tree of a column; the name a policy calls it by, which it has for good."""
        plain = re.sub(r"\W+", "-", column).strip("-")[:40] or "column"
        digest = sha256(f"{column}\0{text}".encode()).hexdigest()[:12]
        name = f"hierarchies/{plain}-{digest}.csv"
        (self.folder / "hierarchies").mkdir(mode=0o700, exist_ok=True)
        self._write(name, text)
        return name

    def save_decisions(self, decisions: Mapping[str, object]) -> None:
        """Keep what was decided."""
        self._write("decisions.json", json.dumps(decisions, indent=1, ensure_ascii=False) + "\n")

    def keep(self, name: str, text: str | None) -> None:
        """Keep what a step needs again (prices, a text with a mistake), or nothing any more."""
        if text is not None:
            self._write(name, text)
        else:
            (self.folder / name).unlink(missing_ok=True)

    def _expect(self, revision: str) -> None:
        if self.state().revision != revision:
            raise Stale

    # -- what was made -----------------------------------------------------------------------------

    def next_point(self) -> int:
        """A number that no release has."""
        names = [path.stem for path in (self.folder / "tried").iterdir()]
        return max((int(name) for name in names if name.isdecimal()), default=0) + 1

    def keep_point(self, number: int, facts: Mapping[str, object]) -> None:
        """Remember a release that stands in its folder: from now on it counts."""
        self._write(f"tried/{number}.json", json.dumps(facts, indent=1, ensure_ascii=False) + "\n")

    def _write_settings(self, data: str | None, reading: Mapping[str, object]) -> None:
        settings = {"schema": SCHEMA, "data": data, "reading": dict(reading)}
        self._write("project.json", json.dumps(settings, indent=1, ensure_ascii=False) + "\n")

    def _write(self, name: str, text: str) -> None:
        write_text(self.folder / name, text, force=True, kind="project")

    # -- another way in ----------------------------------------------------------------------------

    def tell_running(self, port: int) -> None:
        """Say where the server is, to a second `sfumato serve` of the same owner."""
        self._write(".running.json", json.dumps({"port": port}))

    def running(self) -> int | None:
        """The port of the server that holds this project."""
        text = self._text(".running.json")
        parsed = {} if text is None else _parsed(".running.json", text)
        port = parsed.get("port")
        return port if isinstance(port, int) else None

    def write_opening(self, address: str) -> Path:
        """A page of the owner's that leads to the address: browsers are opened with that."""
        self._write(
            OPENING,
            '<!DOCTYPE html><meta charset="utf-8"><title>Sfumato</title>'
            f'<meta http-equiv="refresh" content="0; url={address}">'
            f'<p><a href="{address}">Open the workbench</a></p>\n',
        )
        return self.folder / OPENING

    def leave_token(self) -> str:
        """A token that the running server lets in, once: only the owner can write it here."""
        token = secrets.token_urlsafe(32)
        self._write(f".{_DOOR}", token)
        return token

    def admits(self, token: str) -> bool:
        """Whether this token was left; it is gone then."""
        left = self._text(f".{_DOOR}")
        if left is None or not secrets.compare_digest(left.encode(), token.encode()):
            return False
        (self.folder / f".{_DOOR}").unlink(missing_ok=True)
        return True


class Taken(InputError):
    """Another server has the project open, at this port."""

    def __init__(self, port: int | None) -> None:
        super().__init__("another workbench has this project open; close it, or give --project")
        self.port = port
