"""One progress bar for all long work: on stderr, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def progress(items: Iterable[Item], label: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items, showing how far we are when somebody is watching."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(
        items, description=label, total=total, console=Console(stderr=True), transient=True
    )
