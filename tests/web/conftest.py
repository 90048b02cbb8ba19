"""A workbench in the test's own process, and a browser that was let in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from sfumato.web.bench import Bench
from sfumato.web.folder import Folder
from sfumato.web.guard import Door
from sfumato.web.project import FOLDER, Project
from sfumato.web.server import make_app
from sfumato.web.worker import Worker, WorkPlace
from tests.web.small_project import bench_of_project

PORT = 8123
HERE = f"http://127.0.0.1:{PORT}"


@dataclass
class Visitor:
    """A browser in which the workbench is open."""

    client: TestClient
    bench: Bench
    door: Door

    @property
    def csrf(self) -> str:
        """What forms of this session say."""
        (word,) = self.door._sessions.values()
        return word

    def get(self, path: str, **more: Any) -> Any:
        return self.client.get(path, follow_redirects=False, **more)

    def post(self, path: str, fields: Any = None, **more: Any) -> Any:
        """Send a form as a page of ours does: its first field is the session's word."""
        sent = {"csrf": self.csrf, **(fields or {})}
        return self.client.post(path, data=sent, follow_redirects=False, **more)

    def live(self, path: str, fields: Any = None) -> Any:
        """Ask as a live form does."""
        headers = {"X-Live": "yes", "X-CSRF": self.csrf}
        return self.client.post(path, data=fields or {}, headers=headers)

    @property
    def revision(self) -> str:
        return self.bench.project.state().revision


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A workbench whose folder is empty."""
    project = Project.open(tmp_path / FOLDER)
    place = WorkPlace(tmp_path, project.folder)
    made = Bench(Folder(tmp_path, project.folder), project, Worker(place), Worker(place))
    yield made
    made.close()


@pytest.fixture
def door() -> Door:
    return Door(PORT)


@pytest.fixture
def stranger(bench: Bench, door: Door) -> Iterator[TestClient]:
    """A browser that was not let in."""
    with TestClient(make_app(bench, door), base_url=HERE) as client:
        yield client


@pytest.fixture
def visitor(stranger: TestClient, bench: Bench, door: Door) -> Visitor:
    """A browser that opened the printed address."""
    assert stranger.get(door.address).status_code == 200
    return Visitor(stranger, bench, door)


@pytest.fixture
def open_bench(folder: Path) -> Iterator[Visitor]:
    """A browser in a workbench on the project of the module's `folder`, its workers here."""
    bench, door = bench_of_project(folder, Project.open(folder / FOLDER)), Door(PORT)
    with TestClient(make_app(bench, door), base_url=HERE) as client:
        assert client.get(door.address).status_code == 200
        yield Visitor(client, bench, door)
