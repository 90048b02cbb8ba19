"""The steps Policy and Release in a real browser: sliders, form and text, the map, the keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.open_workbench import Open, opened_workbench
from tests.web.small_project import small_project

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def workbench(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    with opened_workbench(browser, small_project(tmp_path)) as opened:
        yield opened


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
