"""Documents of tables and lists (JSON, TOML) with one entry changed or taken away."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

Place = tuple[Any, ...]


def places(document: Any, at: Place = ()) -> Iterator[Place]:
    """The path of every entry, those inside others too."""
    entries = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in entries:
        yield (*at, key)
        if isinstance(value, dict | list):
            yield from places(value, (*at, key))


def with_entry(document: Any, at: Place, value: Any) -> Any:
    """A copy with another value at a place."""
    changed, holder = _copy(document, at)
    holder[at[-1]] = value
    return changed


def without_entry(document: Any, at: Place) -> Any:
    """A copy without the entry at a place."""
    changed, holder = _copy(document, at)
    del holder[at[-1]]
    return changed


def _copy(document: Any, at: Place) -> tuple[Any, Any]:
    changed = deepcopy(document)
    holder = changed
    for key in at[:-1]:
        holder = holder[key]
    return changed, holder
