"""Changes to a policy's text that leave all else as it stands, comments included.

A comment right above a table or a key is about it, and goes when it goes. What a change was to do
is compared with what it did before the text is given back: a policy may be written in ways that
are not foreseen here, and a page must not spoil one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sfumato.errors import PolicyError
from sfumato.policy.toml_text import toml_value

Path = tuple[str | int, ...]  # of a table or a key, with the place in an array of tables
Content = dict[str, object]


@dataclass(frozen=True)
class _Part:
    """A header, or a key with its value, and the lines above it that say nothing to a parser."""

    path: Path
    lines: tuple[str, ...]
    above: tuple[str, ...] = ()
    is_header: bool = False

    @property
    def without_comment(self) -> tuple[str, ...]:
        """What stays of the lines above when the part goes: all but the comment next to it."""
        kept = list(self.above)
        while kept and kept[-1].lstrip().startswith("#"):
            kept.pop()
        while kept and not kept[-1].strip():
            kept.pop()
        return tuple(kept)


def said_in(text: str, table: str) -> Content:
    """What a table of a policy's text says, as it is written."""
    try:
        said = tomllib.loads(text).get(table, {})
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        raise PolicyError("the policy is not valid TOML; correct it first") from None
    return said if isinstance(said, dict) else {}


def key_text(name: str) -> str:
    """A key as TOML has it: bare, or quoted."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


class PolicyText:
    """A policy's text in its parts, to be changed."""

    def __init__(self, text: str) -> None:
        try:
            self._before = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError, ValueError):
            raise PolicyError("the policy is not valid TOML; correct it first") from None
        self._expected: Content = tomllib.loads(text)
        self._parts, self._tail = _split(text)

    def content(self) -> Content:
        """What it says, as it was given."""
        return self._before

    def remove(self, *path: str | int) -> None:
        """Take out a key or a table with all below it; nothing happens where there is none."""
        if not _take(self._expected, path):
            return
        self._open(path)
        kept: list[_Part] = []
        rest: tuple[str, ...] = ()
        for part in self._parts:
            if part.path[: len(path)] == path:
                rest += part.without_comment
            else:
                kept.append(replace(part, above=rest + part.above))
                rest = ()
        self._parts, self._tail = _renumbered(kept, path), [*rest, *self._tail]
        self._parts = [part for part in self._parts if not self._is_idle(part)]

    def _is_idle(self, header: _Part) -> bool:
        """A header that nothing is left of, and that says nothing by itself."""
        if not header.is_header or isinstance(header.path[-1], int):
            return False
        return not any(
            one is not header and one.path[: len(header.path)] == header.path for one in self._parts
        ) and not _emptied(self._expected, header.path)

    def set(
        self, *path: str, value: object, lines: Sequence[str] = (), note: Sequence[str] = ()
    ) -> None:
        """Give a key a value; `lines` spell it, if not `toml_value`; `note` is put above it."""
        *table, key = path
        self._open(path)
        _put(self._expected, path, value)
        written = tuple(lines) or (f"{key_text(key)} = {toml_value(value)}",)
        for place, part in enumerate(self._parts):
            if part.path == path and not part.is_header:
                above = (*part.without_comment, "", *note) if note else part.above
                self._parts[place] = replace(part, lines=written, above=above)
                return
        self._add(tuple(table), _Part(path, written, ("", *note) if note else ()))

    def set_table(
        self, *path: str, entries: Mapping[str, object], note: Sequence[str] = ()
    ) -> None:
        """Write a table anew."""
        self.remove(*path)
        _put(self._expected, path, entries)
        self._open(path)
        header = "[" + ".".join(map(key_text, path)) + "]"
        parts = [_Part(path, (header,), ("", *note), is_header=True)]
        parts += [
            _Part((*path, key), (f"{key_text(key)} = {toml_value(value)}",))
            for key, value in entries.items()
        ]
        near = [n for n, part in enumerate(self._parts) if part.path[:1] == path[:1]]
        at = near[-1] + 1 if near else len(self._parts)
        self._parts[at:at] = parts

    def append(self, *path: str, entries: Mapping[str, object], note: Sequence[str] = ()) -> None:
        """Add a table to an array of tables."""
        listed = self._expected.setdefault(path[0], [])
        assert isinstance(listed, list)
        number = len(listed)
        listed.append(_as_read(entries))
        parts = [_Part((*path, number), (f"[[{path[0]}]]",), ("", *note), is_header=True)]
        parts += [
            _Part((*path, number, key), (f"{key_text(key)} = {toml_value(value)}",))
            for key, value in entries.items()
        ]
        near = [n for n, part in enumerate(self._parts) if part.path[:1] == path[:1]]
        at = near[-1] + 1 if near else len(self._parts)
        self._parts[at:at] = parts

    def text(self) -> str:
        """The text; a PolicyError where the change did not do what it was to do."""
        lines = [line for part in self._parts for line in (*part.above, *part.lines)]
        text = "\n".join([*lines, *self._tail]).strip("\n") + "\n"
        try:
            done = tomllib.loads(text) == self._expected
        except tomllib.TOMLDecodeError:
            done = False
        if not done:
            raise PolicyError(
                "the policy is written in a way that cannot be changed from here; change the text "
                "itself, or write its tables one by one as [schema] and [schema.hierarchies.NAME]"
            )
        return re.sub(r"\n{3,}", "\n\n", text)

    def _open(self, path: Path) -> None:
        """Write inline tables on the way to a key as tables of their own."""
        while (place := self._inline(path)) is not None:
            part = self._parts[place]
            value = next(iter(tomllib.loads(_bare(part.lines)).values()))
            if not isinstance(value, dict):
                return
            names = [str(step) for step in part.path]
            header = "[" + ".".join(map(key_text, names)) + "]"
            opened = [_Part(part.path, (header,), ("",), is_header=True)]
            opened += [
                _Part((*part.path, key), (f"{key_text(key)} = {toml_value(one)}",))
                for key, one in value.items()
            ]
            rest = self._parts[place + 1 :]
            until = next((n for n, one in enumerate(rest) if one.is_header), len(rest))
            self._parts[place:] = [*rest[:until], *opened, *rest[until:]]

    def _inline(self, path: Path) -> int | None:
        """The place of a key whose value must be, or hold, the table of another key."""
        return next(
            (
                place
                for place, part in enumerate(self._parts)
                if not part.is_header
                and len(part.path) < len(path)
                and part.path == path[: len(part.path)]
            ),
            None,
        )

    def _add(self, table: Path, part: _Part) -> None:
        """Put a key at the end of its table, which is made if there is none."""
        at = None
        within: Path = ()
        for place, one in enumerate(self._parts):
            if one.is_header:
                within = one.path
            if within == table:
                at = place + 1
        if at is None and table:
            header = "[" + ".".join(key_text(str(step)) for step in table) + "]"
            near = [n for n, one in enumerate(self._parts) if one.path[:1] == table[:1]]
            place = near[-1] + 1 if near else len(self._parts)
            # Before all others: what has no table of its own would else belong to the last one.
            self._parts[place:place] = [_Part(table, (header,), ("",), is_header=True), part]
            return
        self._parts.insert(at or 0, part)


def _bare(lines: Sequence[str]) -> str:
    """A statement with a key of one step, whatever its key is."""
    text = "\n".join(lines)
    return "x " + text[_key_end(text) :]


def _key_end(text: str) -> int:
    """Where the key of a statement ends and its equals sign stands."""
    for sign in re.finditer("=", text):
        try:
            tomllib.loads(text[: sign.start()] + "= 0")
        except tomllib.TOMLDecodeError:
            continue
        return sign.start()
    raise PolicyError("the policy has a line that is no key with a value")


def _split(text: str) -> tuple[list[_Part], list[str]]:
    parts: list[_Part] = []
    above: list[str] = []
    table: Path = ()
    places: dict[Path, int] = {}  # of arrays of tables: the last one
    lines = iter(text.splitlines())
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            above.append(line)
            continue
        if line.lstrip().startswith("["):
            table = _header(line, places)
            parts.append(_Part(table, (line,), tuple(above), is_header=True))
        else:
            statement = _statement(line, lines)
            keys = tomllib.loads("\n".join(statement)[: _key_end("\n".join(statement))] + "= 0")
            parts.append(_Part((*table, *_chain(keys)), tuple(statement), tuple(above)))
        above = []
    return parts, above


def _statement(first: str, lines: Iterator[str]) -> list[str]:
    """The lines of a key and its value."""
    statement = [first]
    while True:
        try:
            tomllib.loads("\n".join(statement))
        except tomllib.TOMLDecodeError:
            statement.append(next(lines))
            continue
        return statement


def _header(line: str, places: dict[Path, int]) -> Path:
    content = tomllib.loads(line)
    names = list(_chain(content))
    is_array = line.lstrip().startswith("[[")
    path: Path = ()
    for step, name in enumerate(names):
        path = (*path, name)
        last = step == len(names) - 1
        if last and is_array:
            places[path] = places.get(path, -1) + 1
        if path in places:
            path = (*path, places[path])
    return path


def _chain(content: object) -> Iterator[str]:
    """The keys of tables that hold one key each."""
    while isinstance(content, dict) and content:
        ((key, content),) = content.items()
        yield key
        if isinstance(content, list):
            content = content[0]


def _renumbered(parts: Sequence[_Part], gone: Path) -> list[_Part]:
    """Later tables of an array move up where one of them went."""
    if not gone or not isinstance(gone[-1], int):
        return list(parts)
    array, number = gone[:-1], gone[-1]

    def moved(path: Path) -> Path:
        place = path[len(array)] if path[: len(array)] == array and len(path) > len(array) else None
        if isinstance(place, int) and place > number:
            return (*array, place - 1, *path[len(array) + 1 :])
        return path

    return [replace(part, path=moved(part.path)) for part in parts]


def _take(content: object, path: Path) -> bool:
    """Take a key out of what a policy says; False where it is not there."""
    *way, last = path
    tables: list[tuple[object, str | int]] = []
    for step in way:
        tables.append((content, step))
        content = _inside(content, step)
    if isinstance(content, list) and isinstance(last, int) and last < len(content):
        content.pop(last)
    elif isinstance(content, dict) and last in content:
        del content[last]
    else:
        return False
    for table, step in reversed(tables):  # a table that nothing is left of goes with it
        if _inside(table, step) in ({}, []) and isinstance(table, dict):
            del table[step]
    return True


def _emptied(content: object, path: Path) -> bool:
    for step in path:
        content = _inside(content, step)
    return content is not None


def _inside(content: object, step: str | int) -> object:
    if isinstance(content, dict):
        return content.get(step)
    if isinstance(content, list) and isinstance(step, int) and step < len(content):
        return content[step]
    return None


def _put(content: Content, path: Sequence[str], value: object) -> None:
    *way, last = path
    for step in way:
        inner = content.setdefault(step, {})
        assert isinstance(inner, dict)
        content = inner
    content[last] = _as_read(value)


def _as_read(value: object) -> object:
    """A value as a parser gives it."""
    return tomllib.loads(f"x = {toml_value(value)}")["x"]
