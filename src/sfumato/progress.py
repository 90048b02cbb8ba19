"""What is being done, for whoever waits: on stderr, on a terminal only, after a second.

Long work has phases (reading, drafting, searching, judging, attacking, ...), each begun where its
code is; work that knows how many steps it takes counts them with a Ticker, whose bar takes the
place of the phase's line. Work that counts its steps can be given a time limit: it is stopped at
the step after which the time is over.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from types import TracebackType
from typing import Any, ClassVar, Literal, Self

_PATIENCE = 1.0  # seconds before anything appears
_BAR = 16  # columns of the bar, however long the label is
_BESIDE = 15  # columns of the percentage and the time that is left, with what is between them

Phase = Literal[
    "reading",
    "drafting a policy",
    "searching",
    "judging",
    "attacking",
    "looking for advice",
    "measuring combinations",
    "pricing",
    "reporting",
    "drawing the page",
    "writing",
]
Listener = Callable[[Phase], None]


@dataclass(frozen=True)
class Stand:
    """How far the work is: its phase, what it says of itself, the share of its steps done.

    The share is None where nobody knows how many steps there are.
    """

    phase: Phase | None = None
    label: str = ""
    share: float | None = None


Watcher = Callable[[Stand], None]


class _PhaseLine:
    """The line that says what is being done: that of the phase which was begun last."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._phases: list[Phase] = []
        self._listeners: list[Listener] = []
        self._watchers: list[Watcher] = []
        self._timer: threading.Timer | None = None
        self._status: Any = None
        self._compiling = 0  # functions, one inside another

    @property
    def _words(self) -> str:
        return f"{self._phases[-1]}{', compiling, once' if self._compiling else ''} ..."

    def compiling(self, more: int) -> None:
        with self._lock:
            self._compiling += more
            if self._status is not None and self._phases:
                self._status.update(self._words)

    def begin(self, phase: Phase) -> None:
        with self._lock:
            self._phases.append(phase)
            for listener in self._listeners:
                listener(phase)
            self.tell()
            self.resume()

    def end(self) -> None:
        with self._lock:
            self._phases.pop()
            self.tell()
            if self._phases:
                self.resume()
            else:
                self.pause()

    def pause(self) -> None:
        """Show nothing: there is nothing to show, or a bar has the place."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._status is not None:
                self._status.stop()
                self._status = None

    def resume(self) -> None:
        """Tell the phase, now if a line stands there already, else in a second."""
        with self._lock:
            if not self._phases or Ticker.showing or not sys.stderr.isatty():
                return
            if self._status is not None:
                self._status.update(self._words)
            elif self._timer is None:
                self._timer = threading.Timer(_PATIENCE, self._show)
                self._timer.daemon = True
                self._timer.start()

    def _show(self) -> None:
        from rich.console import Console
        from rich.status import Status

        with self._lock:
            if self._timer is None or self._status is not None:  # ended while we waited
                return
            self._timer = None
            self._status = Status(self._words, console=Console(stderr=True))
            self._status.start()

    @contextmanager
    def heard(self, listener: Listener) -> Iterator[None]:
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def tell(self, label: str = "", share: float | None = None) -> None:
        """Let whoever watches know how far the work is."""
        if self._watchers:
            stand = Stand(self._phases[-1] if self._phases else None, label, share)
            for watcher in self._watchers:
                watcher(stand)

    @contextmanager
    def watched(self, watcher: Watcher) -> Iterator[None]:
        self._watchers.append(watcher)
        try:
            yield
        finally:
            self._watchers.remove(watcher)


_line = _PhaseLine()


@contextmanager
def phase(name: Phase) -> Iterator[None]:
    """Say what is being done while it is."""
    _line.begin(name)
    try:
        yield
    finally:
        _line.end()


def compiling(more: int) -> None:
    """Code begins (1) or ends (-1) to be compiled, as it is once an installation."""
    _line.compiling(more)


class _CompilerClock:
    """Runs while code is compiled, or loaded that had been, in whatever thread."""

    def __init__(self) -> None:
        self._done, self._begun, self._depth = 0.0, 0.0, 0
        self._counting = threading.Lock()

    def turn(self, more: int) -> None:
        with self._counting:
            if self._depth == 0:
                self._begun = time.monotonic()
            self._depth += more
            if self._depth == 0:
                self._done += time.monotonic() - self._begun

    @property
    def seconds(self) -> float:
        with self._counting:
            return self._done + (time.monotonic() - self._begun if self._depth else 0.0)


_compiler_clock = _CompilerClock()


def compiler_works(more: int) -> None:
    """A thread begins (1) or ends (-1) to compile, or to load what was compiled."""
    _compiler_clock.turn(more)


class Compiling:
    """How long the compiler has worked since this was made. Asking loads no compiler."""

    def __init__(self) -> None:
        self._before = _compiler_clock.seconds

    @property
    def seconds(self) -> float:
        """Until now."""
        return _compiler_clock.seconds - self._before


def heard(listener: Listener) -> AbstractContextManager[None]:
    """Within, the listener is told of every phase that begins."""
    return _line.heard(listener)


def watched(watcher: Watcher) -> AbstractContextManager[None]:
    """Within, the watcher is told how far the work is: at every phase, and every counted step."""
    return _line.watched(watcher)


class OutOfTime(Exception):
    """The time that work was given is over; whoever gave it knows what to do."""


_seconds_left: ContextVar[Callable[[], float]] = ContextVar("seconds_left", default=lambda: inf)


@contextmanager
def time_limit(seconds_left: Callable[[], float]) -> Iterator[None]:
    """Within, work that counts its steps raises `OutOfTime` when no seconds are left."""
    before = _seconds_left.set(seconds_left)
    try:
        yield
    finally:
        _seconds_left.reset(before)


class Ticker:
    """Counts steps done; shows a bar once the work has taken a second and somebody watches.

    Work inside other work shows none of its own: the outermost bar is the one that matters.
    """

    _open: ClassVar[int] = 0
    showing: ClassVar[bool] = False
    _clock: ClassVar[TimeBar | None] = None  # the bar of the time that all work within shares

    def __init__(self, label: str, total: int) -> None:
        self._label, self._total, self._done = label, total, 0
        self._start = time.monotonic()
        self._watched = sys.stderr.isatty()
        self._outermost = True
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        self._outermost = Ticker._open == 0
        self._watched = self._watched and self._outermost
        Ticker._open += 1
        return self

    def add(self, steps: int = 1) -> None:
        self.reach(self._done + steps)

    def reach(self, done: int, label: str | None = None) -> None:
        """So many steps are done; `label` says how far that is in other words."""
        self._done, self._label = done, label or self._label
        if _seconds_left.get()() <= 0:
            raise OutOfTime
        if Ticker._clock is not None:
            Ticker._clock.pass_on(self._label)
        self._draw()

    def _draw(self) -> None:
        if self._outermost:
            _line.tell(self._label, min(self._done / self._total, 1.0) if self._total else None)
        if not self._watched or time.monotonic() - self._start < _PATIENCE:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                Progress,
                TaskProgressColumn,
                TextColumn,
                TimeRemainingColumn,
            )

            _line.pause()
            Ticker.showing = True
            self._bar = Progress(
                BarColumn(_BAR),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.description}", markup=False),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task("", total=self._total)
            self._bar.start()
        self._bar.update(self._task, completed=self._done, description=self._cropped())

    def _cropped(self) -> str:
        """As much of the label as there is room for beside the bar."""
        from rich.text import Text

        label = Text(self._label)
        label.truncate(max(self._bar.console.width - _BAR - _BESIDE, 1), overflow="ellipsis")
        return label.plain

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        Ticker._open -= 1
        if self._bar is not None:
            self._bar.stop()
            Ticker.showing = False
            _line.resume()


def tenths(seconds: float) -> int:
    """Seconds as steps of a bar, however many they are."""
    return round(10 * min(seconds, 1e9))


class TimeBar(Ticker):
    """A bar of seconds for work that is done in several ways within one time.

    It tells which way is tried, and what the work inside tells of itself.
    """

    def __init__(self, label: str, seconds: float) -> None:
        super().__init__(label, max(1, tenths(seconds)))
        self._way, self._known, self._before = label, "", Ticker._clock

    def __enter__(self) -> Self:
        Ticker._clock = self
        return super().__enter__()

    def tell(self, way: str, known: str) -> None:
        """Another way is tried; `known` says what was found before, if anything."""
        self._way, self._known = way, known
        self.pass_on("")

    def pass_on(self, inside: str) -> None:
        """The work inside got so far."""
        self._done = min(tenths(time.monotonic() - self._start), self._total)
        parts = filter(None, (f"{self._way}: {inside}" if inside else self._way, self._known))
        self._label = "; ".join(parts)
        self._draw()

    def __exit__(self, *error: Any) -> None:
        Ticker._clock = self._before
        super().__exit__(*error)
