"""The steps Adversaries and Decide in a real browser: dials, a chart, a signature, the keyboard."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvicorn

from sfumato.web.adversaries import PANELS
from sfumato.web.bench import Bench
from sfumato.web.folder import Folder
from sfumato.web.guard import Door
from sfumato.web.project import FOLDER, Project
from sfumato.web.server import make_app
from tests.browser.conftest import PATIENCE
from tests.web.small_release import HOSTILE, InProcess, make_project

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@dataclass
class Desktop:
    """The workbench in a browser, and what the browser complained about."""

    page: Page
    home: str
    folder: Path
    errors: list[str] = field(default_factory=list)

    def go(self, path: str) -> None:
        self.page.goto(self.home + path)

    def until(self, words: str) -> None:
        """Wait until the answer says something."""
        self.page.locator("#answer", has_text=words).wait_for(timeout=PATIENCE)


@pytest.fixture(scope="module")
def desktop(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desktop]:
    folder = tmp_path_factory.mktemp("desktop")
    make_project(folder)
    project = Project.open(folder / FOLDER)
    worker = InProcess(folder)
    bench = Bench(Folder(folder, project.folder), project, worker, worker)  # type: ignore[arg-type]
    listening = socket.create_server(("127.0.0.1", 0))
    port: int = listening.getsockname()[1]
    door = Door(port)
    server = uvicorn.Server(uvicorn.Config(make_app(bench, door), log_level="critical"))
    running = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    running.start()
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    opened = Desktop(page, f"http://127.0.0.1:{port}", folder)
    page.on("console", lambda said: opened.errors.append(said.text) if said.type == "error" else 0)
    page.on("pageerror", lambda error: opened.errors.append(str(error)))
    while not server.started:
        time.sleep(0.02)
    page.goto(door.address)
    yield opened
    context.close()
    server.should_exit = True
    running.join(10)
    assert opened.errors == []


def test_sliders_are_answered_as_they_are_moved(desktop: Desktop) -> None:
    page = desktop.page
    desktop.go("/adversaries/realistic?point=1")
    page.locator("[name=records]").fill("4")
    desktop.until("10,000 outside records")
    assert page.locator("#told-records").inner_text() == "10,000"
    assert "records=4" in page.url  # it can be kept and reloaded
    page.locator("[name=endless]").focus()
    page.keyboard.press("Space")
    desktop.until("class III")
    page.reload()
    desktop.until("class III")
    page.locator(".chart[data-drawn]").first.wait_for()
    assert page.locator("#heard").get_attribute("role") == "status"


def test_dials_move_her_over_the_safe_region(desktop: Desktop) -> None:
    page = desktop.page
    desktop.go("/adversaries/skyline?point=1")
    page.locator("[name=value]").select_option(label=HOSTILE)
    desktop.until(f"somebody has {HOSTILE}")
    page.locator("[name=facts]").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    desktop.until("knowing (3, 0, 0)")
    desktop.until("outside what is safe")
    assert "--point 3,0,0" in page.locator("#answer .shell pre").inner_text()


def test_every_panel_fits_a_phone(desktop: Desktop) -> None:
    page = desktop.page
    page.set_viewport_size({"width": 390, "height": 800})
    for path in (*(f"/adversaries/{name}" for name in PANELS), "/decide"):
        desktop.go(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
        unnamed = page.evaluate(
            "[...document.querySelectorAll('main input:not([type=hidden]), main select, "
            "main textarea')].filter(one => !one.labels?.length).length"
        )
        assert unnamed == 0, path
    page.set_viewport_size({"width": 1400, "height": 900})


def test_a_victim_is_asked_about_and_a_release_is_signed_by_keyboard(desktop: Desktop) -> None:
    page = desktop.page
    desktop.go("/adversaries/relative?point=1")
    page.locator("[name='victim age']").fill("34")
    page.keyboard.press("Enter")
    desktop.until("The attacker's best guess")
    desktop.go("/decide?point=1")
    page.locator("[name=by]").fill("B. Owner")
    page.locator("#commands", has_text="--by").wait_for()
    page.locator("[name=folder]").fill("signed")
    page.keyboard.press("Enter")
    page.locator("text=was exported to").wait_for()
    assert (desktop.folder / "signed" / "public" / "data.csv").is_file()
    assert "B. Owner" in (desktop.folder / "signed" / "private" / "decision.html").read_text()
    desktop.go("/decide/report/1")
    page.locator(".chart[data-drawn]").first.wait_for()  # its own scripts run
