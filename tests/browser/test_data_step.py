"""Step Data in a real browser: roles by click, trees by mouse and by keyboard, ranges by slider."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.schema.recipes import Intervals, Taxonomy
from sfumato.schema.roles import Schema
from sfumato.web.project import FOLDER, Project
from tests.browser.open_workbench import Open, opened_workbench
from tests.web.small_project import small_project, write_people

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def schema_of(workbench: Open) -> Schema:
    from sfumato.policy.model import Policy

    schema = Policy.load(workbench.bench.project.policy_file).schema
    assert schema is not None
    return schema


def test_from_a_file_to_roles(browser: Browser, tmp_path: Path) -> None:
    write_people(tmp_path / "people.csv", 200)
    with opened_workbench(browser, Project.open(tmp_path / FOLDER)) as workbench:
        page = workbench.page
        page.get_by_label("people.csv").check()
        page.get_by_role("button", name="Work on this file").click()
        page.get_by_role("link", name="Go on to the policy").wait_for()  # drafted by itself
        assert "age" in schema_of(workbench).quasi
        page.wait_for_load_state()  # scripts are read last: before, nobody hears a key
        page.locator("#role-0-keep").focus()
        page.keyboard.press("Space")
        workbench.until("#step", "Guessed: known to others")
        assert schema_of(workbench).keep == ("age",)
        assert page.evaluate("document.activeElement.id") == "role-0-keep"  # where it was
        many = page.locator("ol.questions li").count()
        page.get_by_role("button", name="That is my answer").first.click()
        page.wait_for_load_state()
        assert page.locator("ol.questions li").count() == many - 1
        for width in (390, 1400):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_trees_and_ranges(browser: Browser, tmp_path: Path) -> None:
    with opened_workbench(browser, small_project(tmp_path)) as workbench:
        page = workbench.page
        workbench.go("/data/column?name=disease")
        page.get_by_role("button", name="Add a level of groups").click()
        page.locator("li.group").first.wait_for()
        # By keyboard: choose, name, move.
        page.get_by_role("checkbox", name="HIV", exact=True).focus()
        page.keyboard.press("Space")
        page.locator("#picked", has_text="1").wait_for()
        page.locator("#new-name").fill("ill")
        page.locator("#new-name").press("Enter")
        page.locator('li.group[data-group="ill"]').wait_for()
        # By mouse.
        ill = page.locator('li.group[data-group="ill"]')
        ill.scroll_into_view_if_needed()
        page.locator('li.leaf[data-pick="0|flu"]').drag_to(ill.locator("summary"))
        ill.locator('li.leaf[data-pick="0|flu"]').wait_for()
        tree = schema_of(workbench).hierarchies["disease"]
        assert isinstance(tree, Taxonomy)
        assert tree.paths["flu"] == tree.paths["HIV"] == ("ill", "*")
        page.get_by_role("button", name="Undo").click()
        page.locator('li.group[data-group="flu"]').wait_for()
        page.get_by_role("checkbox", name="none", exact=True).check()
        page.locator("#new-name").fill("HIV")
        page.get_by_role("button", name="Move into the group").click()
        workbench.until("#hierarchy [role=alert]", "is a value")
        workbench.go("/data/column?name=age")
        page.locator("#finest").focus()
        page.keyboard.press("ArrowLeft")
        workbench.until("#ranges h4", "width 5")
        assert page.locator("#widths").input_value() == "5, 10, 20"
        page.get_by_role("button", name="Use these ranges").click()
        page.wait_for_load_state()
        assert schema_of(workbench).hierarchies["age"] == Intervals((5, 10, 20))
