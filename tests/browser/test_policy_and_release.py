"""The steps Policy and Release in a real browser: sliders, form and text, the map, the keyboard."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvicorn

from sfumato.web.bench import Bench
from sfumato.web.folder import Folder
from sfumato.web.guard import Door
from sfumato.web.server import make_app
from tests.browser.conftest import PATIENCE
from tests.web.small_project import Here, small_project

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
        self.page.goto(self.home + path)

    def text(self) -> str:
        return self.page.locator("#policy-text").input_value()

    def until(self, place: str, words: str) -> None:
        """Wait until a place of the page says something."""
        self.page.locator(place, has_text=words).wait_for(timeout=PATIENCE)


@pytest.fixture
def workbench(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    project = small_project(tmp_path)
    here = Here(tmp_path, project)
    bench = Bench(Folder(tmp_path, project.folder), project, here, here)  # type: ignore[arg-type]
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
    yield opened
    context.close()
    server.should_exit = True
    running.join(10)
    assert opened.errors == []


def test_form_and_text_follow_each_other(workbench: Open) -> None:
    page = workbench.page
    workbench.go("/policy")
    assert "violated" in page.locator("#verdict-0").inner_text()
    page.locator("[data-sets=f-require-0-k]").focus()
    page.keyboard.press("ArrowLeft")  # a rung looser
    workbench.until("#verdict-0", "k ≥ 2")
    assert page.locator("#f-require-0-k").input_value() == "2"
    assert "k = 2  # people" in workbench.text()
    page.locator("#policy-text").fill(workbench.text().replace("k = 2", "k = 1"))
    workbench.until("#verdict-0", "holds")
    assert page.locator("#f-require-0-k").input_value() == "1"
    wrong = workbench.text().replace("k = 1", "k = ")
    page.locator("#policy-text").fill(wrong)
    workbench.until("#policy-message", "not valid TOML")
    assert workbench.text() == wrong
    assert page.locator("#f-require-0-k").input_value() == "1"  # the form waits
    page.locator("#policy-text").fill(wrong.replace("k = ", "k = 4"))
    workbench.until("#verdict-0", "k ≥ 4")
    page.locator("#f-anonymizer-kind").focus()
    page.locator("#f-anonymizer-kind").select_option("microaggregation")
    page.locator("[name='anonymizer.k']").wait_for()
    assert workbench.page.evaluate("document.activeElement.id") == "f-anonymizer-kind"
    assert 'kind = "microaggregation"' in workbench.text()
    page.get_by_role("button", name="Save what the form says").click()
    page.wait_for_load_state()
    assert 'kind = "microaggregation"' in (workbench.bench.project.state().policy or "")


def test_a_mark_of_the_map_leads_to_its_release_and_the_keyboard_takes_it(workbench: Open) -> None:
    page = workbench.page
    workbench.go("/release")
    page.locator("#seed").fill("7")
    page.get_by_role("button", name="Make a release").press("Enter")
    workbench.until(".errand", "done")
    workbench.go("/release")
    page.locator("#tried-map [data-clicked] path.point").first.click(force=True)
    page.wait_for_url(re.compile("/release/1$"))
    workbench.go("/release")
    page.get_by_role("button", name="Take release 1").press("Enter")
    page.wait_for_url(re.compile("/release/1$"))
    assert workbench.bench.project.decisions()["taken"] == 1
    page.set_viewport_size({"width": 390, "height": 800})
    for path in ("/policy", "/release", "/release/1"):
        workbench.go(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
