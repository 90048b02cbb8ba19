"""Changes to a policy's text that leave all else as it stands, comments included.

tomlkit tells where each key and each header stands; a part that goes or comes is cut out of the
text or put into it there, since tomlkit itself takes a comment for the table above it, and would
drop it with that one. A comment right above a table or a key is about it, and goes when it goes.
What a change was to do is compared with what it did before the text is given back: a policy may be
written in ways that are not foreseen here, and a page must not spoil one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sfumato.errors import MissingExtra, PolicyError
from sfumato.policy.toml_text import toml_value

try:
    import tomlkit
    from tomlkit.container import Container
    from tomlkit.exceptions import TOMLKitError
    from tomlkit.items import AoT, Array, InlineTable, Item, Table
except ImportError:
    raise MissingExtra(
        "changing a policy's text needs tomlkit: pip install 'sfumato[web]'"
    ) from None

Path = tuple[str | int, ...]  # of a table or a key, with the place in an array of tables
Content = dict[str, object]
# Around a part of the text; neither may stand in TOML.
_BEGIN, _END = "\x02", "\x03"
_COMMENT_ABOVE = r"(?m)(?:^[ \t]*#[^\n]*\n)*"


def said_in(text: str, table: str) -> Content:
    """What a table of a policy's text says, as it is written."""
    content = _loaded(text).get(table, {})
    return content if isinstance(content, dict) else {}


def _loaded(text: str) -> Content:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        raise PolicyError("the policy is not valid TOML; correct it first") from None


def _refused() -> PolicyError:
    return PolicyError(
        "the policy is written in a way that cannot be changed from here; change the text "
        "itself, or write its tables one by one as [schema] and [schema.hierarchies.NAME]"
    )


class PolicyText:
    """A policy's text, to be changed."""

    def __init__(self, text: str) -> None:
        self._before = _loaded(text)
        self._expected = _loaded(text)
        self._text = text.replace("\r\n", "\n").strip("\n") + "\n"

    def content(self) -> Content:
        """What it says, as it was given."""
        return self._before

    def said(self, *path: str | int) -> object:
        """What it says by now of a key or a table; None where it says nothing."""
        return _at(self._expected, path)

    def remove(self, *path: str | int) -> None:
        """Take out a key or a table with all below it; nothing happens where there is none."""
        gone = _drop(self._expected, path)
        if gone is None:
            return
        document = self._parsed()
        if _is_in_braces(document, gone):
            _drop(document, gone)
            self._text = tomlkit.dumps(document)
            return
        for piece in _pieces(_items_at(document, gone)):
            piece.trivia.indent = _BEGIN + piece.trivia.indent
            piece.trivia.trail += _END
        marked = tomlkit.dumps(document)
        cut = re.sub(f"{_COMMENT_ABOVE}{_BEGIN}[^{_END}]*{_END}", _BEGIN, marked)
        self._text = _closed(cut)

    def set(
        self,
        *path: str | int,
        value: object,
        note: Sequence[str] = (),
        a_line_each: bool = False,
    ) -> None:
        """Give a key a value; `note` is put above it, `a_line_each` spreads a list over lines."""
        *way, key = path
        table = tuple(way)
        is_new = self.said(*path) is None
        if is_new and table and self.said(*table) is None:
            self.set_table(*map(str, table), entries={str(key): value}, note=note)
            return
        _put(self._expected, path, _as_read(value))
        document = self._parsed()
        written = _written(_as_read(value), a_line_each)
        above = _BEGIN + "".join(f"{line}\n" for line in ("", *note)) if note else ""
        last = _last(_own_pieces(document, table)) if is_new else None
        if is_new and not table and last is None:
            self._text = _closed(f"{above}{_key(key)} = {written.as_string()}\n{self._text}")
        elif last is not None and not _is_in_braces(document, path):
            last.trivia.trail += f"{above}{_key(key)} = {written.as_string()}\n"
            self._text = _closed(tomlkit.dumps(document))
        else:
            self._write(document, path, written, above)

    def _write(self, document: Any, path: Path, written: Any, above: str) -> None:
        """Have tomlkit write a value, and a note above it where there is room for one."""
        _put(document, path, written)
        there = _at(document, path)
        if above and isinstance(there, Item) and not _is_in_braces(document, path):
            there.trivia.indent = _BEGIN
        marked = tomlkit.dumps(document)
        self._text = _closed(re.sub(f"{_COMMENT_ABOVE}{_BEGIN}", lambda _: above, marked))

    def set_table(
        self, *path: str, entries: Mapping[str, object], note: Sequence[str] = ()
    ) -> None:
        """Write a table anew."""
        self.remove(*path)
        _put(self._expected, path, _as_read(entries))
        document = self._parsed()
        if _is_in_braces(document, path):
            self._write(document, path, _written(_as_read(entries)), "")
        else:
            self._add(document, f"[{'.'.join(map(_key, path))}]", path[0], entries, note)

    def append(self, name: str, *, entries: Mapping[str, object], note: Sequence[str] = ()) -> None:
        """Add a table to an array of tables."""
        listed = self._expected.setdefault(name, [])
        if not isinstance(listed, list):
            raise _refused()
        listed.append(_as_read(entries))
        document = self._parsed()
        there = document.get(name)
        if isinstance(there, Array):
            there.append(_written(_as_read(entries)))
            self._text = tomlkit.dumps(document)
        else:
            self._add(document, f"[[{_key(name)}]]", name, entries, note)

    def _add(
        self,
        document: Any,
        header: str,
        near: str,
        entries: Mapping[str, object],
        note: Sequence[str],
    ) -> None:
        """Put a table after the last that begins with the same name, or at the end."""
        lines = ["", *note, header]
        lines += [
            f"{_key(key)} = {_written(_as_read(v)).as_string()}" for key, v in entries.items()
        ]
        added = _BEGIN + "".join(f"{line}\n" for line in lines)
        last = _last(_pieces(_items_at(document, (near,))))
        if last is None:
            self._text = _closed(self._text + added)
        else:
            last.trivia.trail += added
            self._text = _closed(tomlkit.dumps(document))

    def _parsed(self) -> Any:
        try:
            return tomlkit.parse(self._text)
        except (TOMLKitError, RecursionError, ValueError):
            raise _refused() from None

    def text(self) -> str:
        """The text; a PolicyError where the change did not do what it was to do."""
        text = self._text.strip("\n") + "\n"
        try:
            done = tomllib.loads(text) == self._expected
        except tomllib.TOMLDecodeError:
            done = False
        if not done:
            raise _refused()
        return text


# -- places in a text ------------------------------------------------------------------------------


def _closed(marked: str) -> str:
    """A text without its marks, and no more than one blank line where each of them stood."""
    return re.sub(
        f"[\\n{_BEGIN}]*{_BEGIN}[\\n{_BEGIN}]*",
        lambda gap: "\n" * min(2, gap[0].count("\n")),
        marked,
    )


def _items_at(document: Any, path: Path) -> list[Item]:
    """What stands at a path: several parts where a table is written in several places."""
    parts = [document]
    for step in path:
        parts = [
            inner
            for part in parts
            for key, inner in (enumerate(part) if isinstance(part, AoT) else _body(part))
            if key == step
        ]
    return parts


def _body(table: object) -> list[tuple[str, Item]]:
    """The keys and the tables of a table, as they follow each other in the text."""
    container = table.value if isinstance(table, Table) else table
    body = container.body if isinstance(container, Container) else []
    return [(key.key, item) for key, item in body if key is not None]


def _pieces(parts: Iterable[Item]) -> Iterator[Item]:
    """The headers and the keys of tables and of all below them, or the keys themselves."""
    for part in parts:
        if isinstance(part, AoT):
            yield from _pieces(part)
        else:
            yield part
            yield from _pieces(item for _, item in _body(part))


def _own_pieces(document: Any, table: Path) -> Iterator[Item]:
    """The header of a table and its keys; none where they do not stand below a header."""
    for part in _items_at(document, table):
        if not (isinstance(part, Table) and part.is_super_table()):
            if isinstance(part, Table):
                yield part
            yield from (item for _, item in _body(part) if not isinstance(item, Table | AoT))


def _last(pieces: Iterable[Item]) -> Item | None:
    """The last of some parts that is written out: a table may have no header of its own."""
    last = None
    for piece in pieces:
        if not (isinstance(piece, Table) and piece.is_super_table()):
            last = piece
    return last


def _is_in_braces(document: object, path: Path) -> bool:
    """Whether what stands, or is to stand, at a path is inside a table or a list on one line."""
    return any(
        isinstance(_at(document, path[:depth]), InlineTable | Array) for depth in range(len(path))
    )


# -- what a text says, as plain values or as tomlkit has them --------------------------------------


def _at(content: object, path: Sequence[str | int]) -> object:
    for step in path:
        if isinstance(content, dict):
            content = content.get(step)
        elif isinstance(content, list) and isinstance(step, int) and 0 <= step < len(content):
            content = content[step]
        else:
            return None
    return content


def _put(content: Any, path: Path, value: object) -> None:
    """Give a key a value; a PolicyError where something else than a table is on the way."""
    *way, last = path
    try:
        for step in way:
            if isinstance(content, dict) and step not in content:
                content[step] = tomlkit.inline_table() if isinstance(content, Item) else {}
            content = content[step]
        content[last] = value
    except (TOMLKitError, LookupError, TypeError, ValueError):
        raise _refused() from None


def _drop(content: object, path: Path) -> Path | None:
    """Take out a key, and each table that nothing is left of; the path of all that went."""
    table = _at(content, path[:-1])
    if _at(content, path) is None:
        return None
    assert isinstance(table, dict | list)
    del table[path[-1]]  # type: ignore[arg-type]
    if not len(table) and len(path) > 1 and isinstance(path[-2], str):
        return _drop(content, path[:-1])
    return path


def _as_read(value: object) -> Any:
    """A value as a parser gives it."""
    return tomllib.loads(f"x = {toml_value(value)}")["x"]


def _written(value: object, a_line_each: bool = False) -> Any:
    """A value as tomlkit writes it, with tables in braces."""
    if isinstance(value, dict):
        table = tomlkit.inline_table()
        for key, part in value.items():
            table[key] = _written(part)
        return table
    if isinstance(value, list):
        several = tomlkit.array()
        for part in value:
            if a_line_each:
                several.add_line(_written(part), indent="  ")
            else:
                several.append(_written(part))
        if a_line_each:
            several.add_line(indent="")
        return several
    return tomlkit.item(value)


def _key(name: str | int) -> str:
    """A key as TOML has it: bare, or quoted."""
    text = str(name)
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else toml_value(text)
