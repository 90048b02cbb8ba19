"""Workers: tasks in a process of their own, that may fail, be given up, or be killed."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfumato.errors import InputError
from sfumato.progress import Ticker, phase
from sfumato.web.desk import Desk
from sfumato.web.project import Project
from sfumato.web.worker import TaskCancelled, TaskFailed, Worker, WorkerDied, WorkPlace


def whoami(desk: Desk) -> int:
    return os.getpid()


def refuse(desk: Desk) -> None:
    raise InputError("the table\nis no table")


def stumble(desk: Desk) -> None:
    raise KeyError("Ada Lovelace, 36")


def sleep(desk: Desk, seconds: float, note: Path | None = None) -> str:
    if note is not None:
        note.write_text("begun")
    time.sleep(seconds)
    return "slept"


def count(desk: Desk, steps: int) -> str:
    with phase("searching"), Ticker("looking", steps) as ticker:
        for _ in range(steps):
            time.sleep(0.02)
            ticker.add()
    return "counted"


def hoard(desk: Desk) -> int:
    taken = b"x" * (300 << 20)
    time.sleep(5)
    return len(taken)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkPlace]:
    root = tmp_path_factory.mktemp("work")
    project = Project.open(root / "project")
    yield WorkPlace(root, project.folder)
    project.close()


@pytest.fixture(scope="module")
def worker(place: WorkPlace) -> Iterator[Worker]:
    made = Worker(place)
    yield made
    made.close()


def test_a_task_runs_elsewhere_and_the_process_stays(worker: Worker) -> None:
    async def twice() -> tuple[int, int]:
        return await worker.ask(whoami), await worker.ask(whoami)

    one, other = asyncio.run(twice())
    assert one == other == worker.process_id
    assert one != os.getpid()
    assert worker.progress is None


def test_a_worker_can_be_ready_before_it_is_asked(place: WorkPlace) -> None:
    early = Worker(place)
    try:
        early.get_ready()
        process = early.process_id
        assert process is not None
        early.get_ready()
        assert asyncio.run(early.ask(whoami)) == process
    finally:
        early.close()


def test_what_fails_says_why_in_one_line_and_quotes_nobody(worker: Worker) -> None:
    with pytest.raises(TaskFailed, match=r"^the table is no table$") as failed:
        asyncio.run(worker.ask(refuse))
    assert failed.value.kind == "InputError"
    with pytest.raises(TaskFailed, match="internal error") as stumbled:
        asyncio.run(worker.ask(stumble))
    assert "Ada" not in str(stumbled.value)
    assert asyncio.run(worker.ask(sleep, 0)) == "slept"


def test_a_task_given_up_before_it_began_is_never_begun(worker: Worker, tmp_path: Path) -> None:
    async def giving_up() -> None:
        first = asyncio.ensure_future(worker.ask(sleep, 0.3))
        second = asyncio.ensure_future(worker.ask(sleep, 0, note=tmp_path / "note"))
        third = asyncio.ensure_future(worker.ask(sleep, 0))
        await asyncio.sleep(0.05)
        second.cancel()
        assert await first == await third == "slept"

    asyncio.run(giving_up())
    assert not (tmp_path / "note").exists()


def test_a_task_given_up_while_it_runs_stops_where_it_counts(worker: Worker) -> None:
    async def giving_up() -> float:
        long = asyncio.ensure_future(worker.ask(count, 1_000))
        await asyncio.sleep(0.2)
        begun = time.monotonic()
        long.cancel()
        assert await worker.ask(sleep, 0) == "slept"
        return time.monotonic() - begun

    assert asyncio.run(giving_up()) < 10


def test_progress_is_told(worker: Worker) -> None:
    async def watching() -> list[float]:
        task = asyncio.ensure_future(worker.ask(count, 40))
        seen = []
        while not task.done():
            await asyncio.sleep(0.02)
            doing = worker.progress
            if doing is not None and doing.stand.share is not None:
                assert (doing.task, doing.stand.phase) == ("count", "searching")
                assert doing.stand.label == "looking"
                seen.append(doing.stand.share)
        return seen

    seen = asyncio.run(watching())
    assert seen == sorted(seen)
    assert len(set(seen)) > 2


def test_cancel_ends_the_process_and_the_next_task_has_a_new_one(worker: Worker) -> None:
    async def cancelling() -> tuple[int, int]:
        before = await worker.ask(whoami)
        long = asyncio.ensure_future(worker.ask(sleep, 60))
        waiting = asyncio.ensure_future(worker.ask(whoami))
        await asyncio.sleep(0.1)
        worker.cancel()
        with pytest.raises(TaskCancelled):
            await long
        return before, await waiting

    before, after = asyncio.run(cancelling())
    assert before != after
    with pytest.raises(ProcessLookupError):
        os.kill(before, 0)


def test_a_killed_worker_is_told_and_replaced(worker: Worker) -> None:
    async def killing() -> None:
        process = await worker.ask(whoami)
        long = asyncio.ensure_future(worker.ask(sleep, 60))
        await asyncio.sleep(0.1)
        os.kill(process, signal.SIGKILL)
        with pytest.raises(WorkerDied, match="ended from outside"):
            await long
        assert await worker.ask(whoami) != process

    asyncio.run(killing())


def test_a_worker_killed_while_idle_is_replaced(worker: Worker) -> None:
    async def killing() -> None:
        process = await worker.ask(whoami)
        os.kill(process, signal.SIGKILL)
        await asyncio.sleep(0.3)
        assert await worker.ask(whoami) != process

    asyncio.run(killing())


def test_a_worker_that_takes_too_much_memory_is_ended(place: WorkPlace) -> None:
    greedy = Worker(WorkPlace(place.folder, place.project, "64MB", beside=100 << 20))
    try:
        with pytest.raises(WorkerDied, match="more than its 64MB"):
            asyncio.run(greedy.ask(hoard))
    finally:
        greedy.close()


def test_a_closed_worker_leaves_no_process(place: WorkPlace) -> None:
    worker = Worker(place)

    async def closing() -> int:
        process = await worker.ask(whoami)
        long = asyncio.ensure_future(worker.ask(sleep, 60))
        await asyncio.sleep(0.05)
        worker.close()
        with pytest.raises(TaskCancelled):
            await long
        return process

    process = asyncio.run(closing())
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
