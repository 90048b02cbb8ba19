"""Portable SQL in Spark's dialect: the quotes differ, and tables are temporary views of ours.

Identifiers arrive in double quotes, which Spark reads as text unless a session says otherwise; the
session is not ours to change. Text constants that any setting of a session could read differently
(backslashes, quotes, ${variables}) are written as their bytes. A table that we keep has a view of
its own name, so that it never meets a view of the user's: a name is a table's after FROM or JOIN,
and before a dot.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\w+|\s+|.""", re.DOTALL)
_PLAIN = re.compile(r"[^'\\$]*")


def translate(sql: str, tables: Mapping[str, str]) -> str:
    """A query for Spark; `tables` are the views by the names they have in it."""
    tokens = _TOKEN.findall(sql)
    written = []
    before = ("", "")  # the last two words or signs
    for place, token in enumerate(tokens):
        if token.isspace():
            written.append(token)
            continue
        text = token
        if token[0] == "'":
            text = literal(token[1:-1].replace("''", "'"))
        elif token[0] == '"' or token[0].isalpha() or token[0] == "_":
            name = token[1:-1].replace('""', '"') if token[0] == '"' else token
            if name in tables and (_opens(before) or tokens[place + 1 : place + 2] == ["."]):
                text = identifier(tables[name])
            elif token[0] == '"':
                text = identifier(name)
        written.append(text)
        before = (before[1], token.upper())
    return "".join(written)


def _opens(before: tuple[str, str]) -> bool:
    """Whether a relation comes next; IS DISTINCT FROM is no FROM."""
    return before[1] == "JOIN" or (before[1] == "FROM" and before[0] != "DISTINCT")


def identifier(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex()}' AS STRING)"
