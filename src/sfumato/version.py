"""Which Sfumato this is."""

from __future__ import annotations

from functools import cache


@cache
def own_version() -> str:
    """As it is installed; found once, since all that is installed is looked through for it."""
    from importlib.metadata import version  # most commands begin without it, and sooner

    return version("sfumato")
