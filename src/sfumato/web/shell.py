"""The same from a shell: the command that does what a step of the workbench does.

Paths are relative to the folder the workbench was started in, where the commands run.

Every step shows the commands of its own.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from sfumato.web.folder import Folder


def shell_line(command: str, *words: object) -> str:
    """A command of ours as it is typed: each word quoted where a shell would take it apart."""
    return " ".join([f"sfumato {command}", *(quoted_word(str(word)) for word in words)])


def shell_note(text: str) -> str:
    """A line that a shell passes over, however the files are called that it speaks of."""
    return "# " + "".join(sign if sign.isprintable() else "?" for sign in text)


def quoted_word(text: str) -> str:
    """A word that a shell takes as it is; signs that a terminal would obey are spelt out."""
    if text.isprintable():
        return shlex.quote(text)
    plain = text.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + "".join(sign if sign.isprintable() else _spelt(sign) for sign in plain) + "'"


def _spelt(sign: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in sign.encode("utf-8", "surrogateescape"))


def path_word(folder: Folder, path: Path | str) -> str:
    """A path as a command names it from the started folder; a dash at its head is no option."""
    name = folder.name_of(path) if isinstance(path, Path) else path
    return f"./{name}" if name.startswith("-") else name


def reading_words(reading: Mapping[str, object], memory: str | None = None) -> list[str]:
    """The options that say how a file is read."""
    options = dict(reading) if memory is None else {**reading, "memory": memory}
    return list(_options(options))


def _options(options: Mapping[str, object]) -> Iterator[str]:
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            if value:
                yield flag
        elif isinstance(value, Mapping):
            for column, texts in value.items():
                for text in [texts] if isinstance(texts, str) else texts:
                    yield from (flag, str(text) if column == "*" else f"{column}={text}")
        elif isinstance(value, list | tuple):
            for text in value:
                yield from (flag, str(text))
        elif value is not None:
            yield from (flag, str(value))
