"""A worker: a process of its own that does one task after the other on its desk.

A task is a function of a module, `def task(desk, ...) -> result`, and both its arguments and its
result are sent as pickles. The server waits without being held up; a task that its asker gave up
before it began is never begun, one that has begun is asked to stop where it counts its steps. A
worker that is killed, by the owner's Cancel, by its memory limit or by the system, takes its task
with it and nothing else: the next task starts a new process.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import multiprocessing
import os
import pickle
import queue
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar

from sfumato.errors import SfumatoError
from sfumato.progress import OutOfTime, Stand, time_limit, watched

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

    from sfumato.web.desk import Desk

Given = ParamSpec("Given")
Result = TypeVar("Result")
_TOLD_EVERY = 0.1  # seconds between two words about progress
_LOOKED_EVERY = 0.2  # seconds between two looks at how much memory is taken
_TOO_MUCH = 77  # how a process ends that took more memory than it may


class WorkError(Exception):
    """Why a task has no result, in one line."""


class TaskFailed(WorkError):
    """The task itself says why it cannot be done; `kind` is the name of the error's class."""

    def __init__(self, words: str, kind: str = "") -> None:
        super().__init__(words)
        self.kind = kind


class TaskCancelled(WorkError):
    """Somebody pressed Cancel."""


class WorkerDied(WorkError):
    """The process ended before the task did."""


@dataclass(frozen=True)
class WorkPlace:
    """What a worker's desk is made of: the started folder, the project, the memory it may take."""

    folder: Path
    project: Path
    memory: str | None = None
    beside: int = 1 << 30  # bytes beside the data: interpreter, libraries, compiled functions


@dataclass(frozen=True)
class Doing:
    """What a worker is doing, how far it is, and for how many seconds."""

    task: str
    stand: Stand
    seconds: float


@dataclass(eq=False)
class _Job:
    number: int
    task: Callable[..., Any]
    arguments: tuple[tuple[Any, ...], dict[str, Any]]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    begun: float = 0.0
    stand: Stand = field(default_factory=Stand)

    def end(self, result: object = None, error: Exception | None = None) -> None:
        """Tell whoever waits, if anybody does."""

        def settle() -> None:
            if not self.future.done():
                if error is None:
                    self.future.set_result(result)
                else:
                    self.future.set_exception(error)

        with contextlib.suppress(RuntimeError):  # whoever asked is gone with its loop
            self.loop.call_soon_threadsafe(settle)


class Worker:
    """Does tasks in a process of its own, one at a time, in the order they are asked."""

    def __init__(self, place: WorkPlace) -> None:
        self._place = place
        self._lock = threading.RLock()
        self._numbers = itertools.count(1)
        self._waiting: deque[_Job] = deque()
        self._running: _Job | None = None
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None
        self._closed = False

    async def ask(
        self,
        task: Callable[Concatenate[Desk, Given], Result],
        *arguments: Given.args,
        **named: Given.kwargs,
    ) -> Result:
        """The task's result, when its turn has come and it is done."""
        loop = asyncio.get_running_loop()
        job = _Job(next(self._numbers), task, (arguments, dict(named)), loop, loop.create_future())
        with self._lock:
            self._waiting.append(job)
            self._begin_next()
        try:
            result: Result = await job.future
        except asyncio.CancelledError:
            self._drop(job)
            raise
        return result

    def get_ready(self) -> None:
        """Start the process, and let it load what most tasks need, before anybody asks."""
        with self._lock:
            if self._connection is None and not self._closed:
                self._start(ready=True)

    @property
    def progress(self) -> Doing | None:
        """What it is doing; None while it waits for tasks."""
        with self._lock:
            job = self._running
            if job is None:
                return None
            return Doing(job.task.__name__, job.stand, time.monotonic() - job.begun)

    @property
    def process_id(self) -> int | None:
        """Of the process that is there, if one is."""
        with self._lock:
            return None if self._process is None else self._process.pid

    def cancel(self) -> None:
        """End what is being done at once, with its process; what waits is done by a new one."""
        with self._lock:
            job, self._running = self._running, None
            self._end_process()
            if job is not None:
                job.end(error=TaskCancelled("cancelled; nothing was written"))
            self._begin_next()

    def close(self) -> None:
        """End everything."""
        with self._lock:
            self._closed = True
            for job in (*filter(None, [self._running]), *self._waiting):
                job.end(error=TaskCancelled("the workbench was closed"))
            self._waiting.clear()
            self._running = None
            self._end_process()

    # -- within the lock ---------------------------------------------------------------------------

    def _begin_next(self) -> None:
        if self._running is not None or not self._waiting or self._closed:
            return
        job = self._waiting.popleft()
        try:
            words = pickle.dumps((job.number, job.task, *job.arguments))
            if self._connection is None:
                self._start()
            assert self._connection is not None
            job.begun = time.monotonic()
            self._running = job
            self._connection.send_bytes(words)
        except (BrokenPipeError, ConnectionError):
            self._died(self._connection)
        except Exception as error:
            self._running = None
            job.end(error=error)
            self._begin_next()

    def _start(self, *, ready: bool = False) -> None:
        spawn = multiprocessing.get_context("spawn")
        here, there = spawn.Pipe()
        self._process = spawn.Process(target=_work, args=(there, self._place, ready))
        self._process.start()
        there.close()  # so that the process alone holds it, and its end is seen here
        self._connection = here
        threading.Thread(target=self._listen, args=(here,), daemon=True).start()

    def _end_process(self) -> None:
        process, self._process = self._process, None
        connection, self._connection = self._connection, None
        if process is not None:
            process.kill()
            process.join()
            process.close()
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.close()

    def _drop(self, job: _Job) -> None:
        """Nobody waits for it any more: it is not begun, or asked to stop."""
        with self._lock:
            if job in self._waiting:
                self._waiting.remove(job)
            elif job is self._running and self._connection is not None:
                with contextlib.suppress(OSError):
                    self._connection.send_bytes(pickle.dumps(job.number))

    # -- what the process says ---------------------------------------------------------------------

    def _listen(self, connection: Connection) -> None:
        while True:
            try:
                message = connection.recv_bytes()
            except (EOFError, OSError):
                with self._lock:
                    self._died(connection)
                return
            try:
                kind, number, content = pickle.loads(message)
            except Exception as error:
                kind, number, content = "failed", None, (_unexpected(error), type(error).__name__)
            with self._lock:
                job = self._running
                if job is None or number not in (None, job.number):
                    continue
                if kind == "stand":
                    job.stand = content
                    continue
                self._running = None
                self._begin_next()
            if kind == "done":
                job.end(content)
            else:
                job.end(error=TaskFailed(*content))

    def _died(self, connection: Connection | None) -> None:
        if connection is not self._connection or connection is None:
            return  # ended by us
        process, job = self._process, self._running
        code = None
        if process is not None:
            process.join(5)
            code = process.exitcode
        self._running = None
        self._end_process()
        if job is not None:
            job.end(error=WorkerDied(_last_words(code, self._place.memory)))
        self._begin_next()


def _last_words(code: int | None, memory: str | None) -> str:
    if code == _TOO_MUCH:
        limit = f"more than its {memory}" if memory else "nearly all memory of this machine"
        return (
            f"the work took {limit} and was ended; start sfumato serve with a larger --memory, or "
            "work on a smaller table. Nothing was written"
        )
    return (
        "the process that did the work was ended from outside, perhaps for want of memory. Nothing "
        "was written; it can be tried again"
    )


# -- in the process --------------------------------------------------------------------------------


def _work(connection: Connection, place: WorkPlace, ready: bool) -> None:
    """Do tasks until nobody asks any more; `ready` to begin at once."""
    from sfumato.web.desk import Desk

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends us
    if not os.environ.get("SFUMATO_DEBUG"):
        _be_silent()
    threading.Thread(target=_guard_memory, args=(place,), daemon=True).start()
    asked: queue.SimpleQueue[tuple[int, Any, Any, Any]] = queue.SimpleQueue()
    dropped: set[int] = set()
    threading.Thread(target=_hear, args=(connection, asked, dropped), daemon=True).start()
    sending = threading.Lock()

    def say(kind: Literal["done", "failed", "stand"], number: int, content: object) -> None:
        words = pickle.dumps((kind, number, content))
        with sending, contextlib.suppress(OSError):
            connection.send_bytes(words)

    desk = Desk(place.folder, place.project, place.memory)
    if ready:
        import sfumato.policy.draft.draft
        import sfumato.policy.model
        import sfumato.table
        import sfumato.workflow.audit  # noqa: F401
    while True:
        number, task, arguments, named = asked.get()
        last = 0.0

        def tell(stand: Stand, number: int = number) -> None:
            nonlocal last
            now = time.monotonic()
            if stand.label == "" or now - last >= _TOLD_EVERY:
                last = now
                say("stand", number, stand)

        try:
            with watched(tell), time_limit(lambda number=number: 0 if number in dropped else inf):  # type: ignore[misc]
                say("done", number, task(desk, *arguments, **named))
        except SfumatoError as error:
            say("failed", number, (" ".join(str(error).split()), type(error).__name__))
        except MemoryError:
            words = "out of memory; start sfumato serve with a --memory limit, so that more spills"
            say("failed", number, (words, "MemoryError"))
        except OutOfTime:
            say("failed", number, ("given up: nobody waits for it", "OutOfTime"))
        except Exception as error:
            if os.environ.get("SFUMATO_DEBUG"):
                traceback.print_exception(error)
            say("failed", number, (_unexpected(error), type(error).__name__))
        dropped.discard(number)


def _unexpected(error: BaseException) -> str:
    """A mistake of ours in one line that quotes nobody's data."""
    return (
        f"could not be done: internal error ({type(error).__name__}); start sfumato serve with "
        "SFUMATO_DEBUG=1 for the traceback, which may quote data"
    )


def _hear(connection: Connection, asked: queue.SimpleQueue[Any], dropped: set[int]) -> None:
    """Take tasks as they come, also while one is done; the end of the server is our end."""
    while True:
        try:
            message = pickle.loads(connection.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)
        if isinstance(message, int):
            dropped.add(message)
        else:
            asked.put(message)


def _be_silent() -> None:
    """Libraries may print; the terminal is the server's, and a bar is for who watches one."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)


def _guard_memory(place: WorkPlace) -> None:
    """End this process where it takes more than it may, before the machine suffers."""
    from sfumato.engines.memory import in_bytes, machine_memory

    memory = place.memory
    limit = machine_memory() if memory is None else in_bytes(memory) + place.beside
    while _memory_taken() <= limit:
        time.sleep(_LOOKED_EVERY)
    os._exit(_TOO_MUCH)


def _memory_taken() -> int:
    """Bytes of memory that are this process's own."""
    try:
        _, resident, shared, *_ = Path("/proc/self/statm").read_text().split()
        return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        pass
    try:
        import resource
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
