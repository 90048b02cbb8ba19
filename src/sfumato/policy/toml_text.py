"""How values are spelt in TOML: names and texts of any kind, numbers, dates, lists, hierarchies."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import fields

from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.limits import Limits


def _is_control(character: str) -> bool:
    return character < " " or character == "\x7f"


def toml_value(value: object) -> str:
    """A value as it stands in a TOML file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(f"\\u{ord(c):04x}" if _is_control(c) else c for c in escaped) + '"'
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Hierarchy):
        given = {f.name: getattr(value, f.name) for f in fields(value)}  # type: ignore[arg-type]
        for told_by_file in ("source", "spellings"):
            given.pop(told_by_file, None)
        kept = {key: entry for key, entry in given.items() if entry not in (None, ())}
        return toml_value({"kind": value.kind, **kept})
    if isinstance(value, Limits):
        given = {f.name: getattr(value, f.name) for f in fields(value)}
        return toml_value({key: entry for key, entry in given.items() if entry is not None})
    if isinstance(value, Mapping):
        inner = ", ".join(
            f"{toml_value(str(key))} = {toml_value(entry)}" for key, entry in value.items()
        )
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(toml_value(entry) for entry in value)}]"
    return repr(value)
