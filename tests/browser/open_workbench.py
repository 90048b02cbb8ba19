"""A workbench in a real browser; tasks are done in the test's own process."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import uvicorn

from sfumato.web.bench import Bench
from sfumato.web.guard import Door
from sfumato.web.project import Project
from sfumato.web.server import make_app
from tests.browser.conftest import PATIENCE
from tests.web.small_project import bench_of_project

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@dataclass
class Open:
    """The workbench in a browser, and what the browser complained about."""

    page: Page
    home: str
    bench: Bench
    errors: list[str] = field(default_factory=list)

    def go(self, path: str) -> None:
        """Open a page; one that is just being shown anew is left to finish first."""
        from playwright.sync_api import Error

        try:
            self.page.goto(self.home + path)
        except Error as error:
            if "interrupted by another navigation" not in str(error):
                raise
            self.page.wait_for_load_state()
            self.page.goto(self.home + path)

    def text(self) -> str:
        return self.page.locator("#policy-text").input_value()

    def until(self, place: str, words: str) -> None:
        """Wait until a place of the page says something."""
        self.page.locator(place, has_text=words).wait_for(timeout=PATIENCE)


@contextmanager
def opened_workbench(browser: Browser, project: Project) -> Iterator[Open]:
    """The page of a project, which must complain about nothing."""
    root = project.folder.parent
    bench = bench_of_project(root, project)
    listening = socket.create_server(("127.0.0.1", 0))
    port: int = listening.getsockname()[1]
    door = Door(port)
    server = uvicorn.Server(uvicorn.Config(make_app(bench, door), log_level="critical"))
    running = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    running.start()
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    opened = Open(page, f"http://127.0.0.1:{port}", bench)
    page.on("console", lambda said: opened.errors.append(said.text) if said.type == "error" else 0)
    page.on("pageerror", lambda error: opened.errors.append(str(error)))
    while not server.started:
        time.sleep(0.02)
    page.goto(door.address)
    page.wait_for_url(re.compile("/(data|policy)$"))  # the door's page leads on by itself
    yield opened
    context.close()
    server.should_exit = True
    running.join(10)
    assert opened.errors == []
