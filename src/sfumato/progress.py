"""One progress bar for all long work: on stderr, on a terminal only, after a second."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, ClassVar, Self

_PATIENCE = 1.0  # seconds before a bar appears


class Ticker:
    """Counts steps done; shows a bar once the work has taken a second and somebody watches.

    Work inside other work shows none of its own: the outermost bar is the one that matters.
    """

    _open: ClassVar[int] = 0

    def __init__(self, label: str, total: int) -> None:
        self._label, self._total, self._done = label, total, 0
        self._start = time.monotonic()
        self._watched = sys.stderr.isatty()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        self._watched = self._watched and Ticker._open == 0
        Ticker._open += 1
        return self

    def add(self, steps: int = 1) -> None:
        self._done += steps
        if not self._watched or time.monotonic() - self._start < _PATIENCE:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._label, total=self._total)
            self._bar.start()
        self._bar.update(self._task, completed=self._done)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        Ticker._open -= 1
        if self._bar is not None:
            self._bar.stop()
