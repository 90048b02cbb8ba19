"""The steps Adversaries and Decide in a real browser: dials, a chart, a signature, the keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from sfumato.web.adversaries import PANELS
from sfumato.web.project import FOLDER, Project
from tests.browser.open_workbench import Open, opened_workbench
from tests.web.small_release import HOSTILE, make_project

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def desktop(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    folder = tmp_path_factory.mktemp("desktop")
    make_project(folder)
    with opened_workbench(browser, Project.open(folder / FOLDER)) as opened:
        yield opened


def test_sliders_are_answered_as_they_are_moved(desktop: Open) -> None:
    page = desktop.page
    desktop.go("/adversaries/realistic?point=1")
    page.locator("[name=records]").fill("4")
    desktop.until("#answer", "10,000 outside records")
    assert page.locator("#told-records").inner_text() == "10,000"
    assert "records=4" in page.url  # it can be kept and reloaded
    page.locator("[name=endless]").focus()
    page.keyboard.press("Space")
    desktop.until("#answer", "class III")
    page.reload()
    desktop.until("#answer", "class III")
    page.locator(".chart[data-drawn]").first.wait_for()
    assert page.locator("#heard").get_attribute("role") == "status"


def test_dials_move_her_over_the_safe_region(desktop: Open) -> None:
    page = desktop.page
    desktop.go("/adversaries/skyline?point=1")
    page.locator("[name=value]").select_option(label=HOSTILE)
    desktop.until("#answer", f"somebody has {HOSTILE}")
    page.locator("[name=facts]").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    desktop.until("#answer", "knowing (3, 0, 0)")
    desktop.until("#answer", "outside what is safe")
    assert "--point 3,0,0" in page.locator("#answer .shell pre").inner_text()


def test_every_panel_fits_a_phone(desktop: Open) -> None:
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


def test_a_victim_is_asked_about_and_a_release_is_signed_by_keyboard(desktop: Open) -> None:
    page = desktop.page
    desktop.go("/adversaries/relative?point=1")
    page.locator("[name='victim age']").fill("34")
    page.keyboard.press("Enter")
    desktop.until("#answer", "The attacker's best guess")
    desktop.go("/decide?point=1")
    page.locator("[name=by]").fill("B. Owner")
    page.locator("#commands", has_text="--by").wait_for()
    page.locator("[name=folder]").fill("signed")
    page.keyboard.press("Enter")
    page.locator("text=was exported to").wait_for()
    assert (desktop.bench.folder.root / "signed" / "public" / "data.csv").is_file()
    assert (
        "B. Owner"
        in (desktop.bench.folder.root / "signed" / "private" / "decision.html").read_text()
    )
    desktop.go("/decide/report/1")
    page.locator(".chart[data-drawn]").first.wait_for()  # its own scripts run
