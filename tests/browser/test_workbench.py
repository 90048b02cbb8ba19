"""The workbench in a real browser, as its owner uses it: from a file to a signed release.

The program is started as from a shell and driven by what a reader sees: labels and buttons. What
leaves it is judged from the shell, and made again by the command that the page shows. Every page of
the journey is looked at by axe-core, and by its width on a phone.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.csv as pa_csv
import pytest

from sfumato.datasets.census import census
from tests.browser.conftest import PATIENCE
from tests.messy_files import FILES
from tests.program import sfumato

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PHONE, DESK = 390, 1400
SERIOUS = ("serious", "critical")
PANELS = ("Realistic", "Skyline", "Composition", "Leakage", "Relative", "Linkage")


@dataclass
class Workbench:
    """A workbench that was opened in a browser, and what went wrong on its pages."""

    page: Page
    folder: Path
    axe: str
    errors: list[str] = field(default_factory=list)

    def press(self, name: str, *, exact: bool = True) -> None:
        self.page.get_by_role("button", name=name, exact=exact).first.click()

    def follow(self, name: str) -> None:
        self.page.get_by_role("link", name=name).first.click()

    def wait_for(self, words: str) -> None:
        self.page.get_by_text(words).first.wait_for(timeout=PATIENCE)

    @property
    def commands(self) -> list[list[str]]:
        """What the page says does the same from a shell."""
        shown = self.page.locator(".shell code").last.inner_text()
        return [shlex.split(line) for line in shown.splitlines()]

    def widest(self, width: int) -> list[str]:
        """What reaches beyond the page."""
        return list(
            self.page.evaluate(
                """width => [...document.querySelectorAll('main *, .shell *')]
                     .filter(one => one.getBoundingClientRect().right > width
                                    && !one.closest('.wide, pre'))
                     .slice(0, 5).map(one => one.outerHTML.slice(0, 120))""",
                width,
            )
        )

    def look(self, name: str) -> None:
        """Whoever cannot see, and whoever holds a phone, can use this page, too."""
        self.page.wait_for_function("!document.querySelector('[aria-busy=true]')")
        found = self.page.evaluate(
            f"() => {{ {self.axe}; return axe.run(document, {{resultTypes: ['violations']}}); }}"
        )
        told = [
            f"{one['id']}: {one['nodes'][0]['html'][:160]}"
            for one in found["violations"]
            if one["impact"] in SERIOUS
        ]
        assert not told, (name, told)
        for width in (PHONE, DESK):
            self.page.set_viewport_size({"width": width, "height": 900})
            for _ in range(50):  # charts follow in their own time
                wide = self.page.evaluate("document.documentElement.scrollWidth")
                if wide <= width:
                    break
                self.page.wait_for_timeout(50)
            assert wide <= width, (name, width, wide, self.widest(width))


@pytest.fixture
def workbench(browser: Browser, tmp_path: Path) -> Iterator[Callable[[Path], Workbench]]:
    """Start the program in a folder and come in by the address it prints."""
    started: list[subprocess.Popen[str]] = []
    contexts = []
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")

    def open_workbench(folder: Path) -> Workbench:
        process = subprocess.Popen(
            [sys.executable, "-m", "sfumato", "serve", "--no-browser"],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"SFUMATO_DEBUG": ""},
        )
        started.append(process)
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        address = next(found[0] for line in lines if (found := re.search(r"http://\S+", line)))
        context = browser.new_context(viewport={"width": DESK, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        opened = Workbench(page, folder, axe)
        page.on("pageerror", lambda error: opened.errors.append(str(error)))
        page.on(
            "console",
            lambda said: opened.errors.append(said.text) if said.type == "error" else None,
        )
        page.goto(address)
        page.wait_for_url("**/data")
        return opened

    yield open_workbench
    for context in contexts:
        context.close()
    for process in started:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def same_from_a_shell(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the commands that the page shows, as they stand; the folder they made."""
    monkeypatch.chdir(bench.folder)
    out = ""
    for command in bench.commands:
        assert command[0] == "sfumato"
        run = sfumato(*command[1:])
        assert run.returncode == 0, run.stdout + run.stderr
        if command[1] == "anonymize":
            out = command[command.index("--out") + 1]
    return bench.folder / out


def choose_file(bench: Workbench, name: str) -> None:
    bench.page.get_by_label(name).check()
    bench.press("Work on this file")
    bench.page.get_by_role("heading", name="Columns").wait_for()
    bench.page.get_by_role("button", name="Go on to the policy").or_(
        bench.page.get_by_role("link", name="Go on to the policy")
    ).first.wait_for()


def take_mondrian(bench: Workbench) -> None:
    """Of the ways to make a release the one that takes no time."""
    bench.page.goto(bench.page.url.split("/data")[0] + "/policy")
    bench.page.get_by_label("anonymizer", exact=True).select_option("mondrian")
    bench.press("Save what the form says")
    bench.page.wait_for_load_state()


def make_release(bench: Workbench, number: int, seed: int) -> None:
    bench.page.get_by_role("link", name="Release", exact=False).nth(0).wait_for()
    bench.page.goto(re.sub(r"(:\d+)/.*", r"\1/release", bench.page.url))
    bench.page.get_by_label("with the seed").fill(str(seed))
    bench.press("Make a release of the saved policy")
    bench.page.get_by_role("heading", name=f"Release {number}").first.wait_for()


def test_from_the_census_to_a_signed_release(
    workbench: Callable[[Path], Workbench], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "office"
    folder.mkdir()
    pa_csv.write_csv(census(400, seed=3), folder / "census.csv")
    bench = workbench(folder)
    page = bench.page
    bench.look("files")

    # Columns, roles and questions.
    choose_file(bench, "census.csv")
    bench.look("columns")
    while page.get_by_role("button", name="That is my answer").count():
        before = page.get_by_role("button", name="That is my answer").count()
        bench.press("That is my answer")
        page.wait_for_function(
            "n => [...document.querySelectorAll('button')]"
            ".filter(one => one.textContent.trim() === 'That is my answer').length < n",
            arg=before,
        )

    # A hierarchy is edited by its tree, by keyboard.
    page.goto(re.sub(r"(:\d+)/.*", r"\1/data/column/marital", page.url))
    bench.press("Add a level of groups")
    page.locator("table.levels").wait_for()
    for value in ("Divorced", "Widowed"):
        page.locator("#tree").get_by_label(value, exact=True).check()
    page.get_by_label("or a new name").fill("Was married")
    bench.press("Move into the group")
    page.locator("#tree summary", has_text="Was married").wait_for()
    bench.look("hierarchy")

    # The policy, by its form and by its text.
    take_mondrian(bench)
    page.get_by_label("k", exact=True).first.fill("4")
    bench.wait_for("required k ≥ 4")
    bench.press("Save what the form says")
    page.wait_for_load_state()
    assert "k = 4" in page.locator("textarea").first.input_value()
    bench.look("policy")

    # A run is cancelled, and nothing is left of it; then runs that end.
    text = page.locator("textarea").first
    told = text.input_value()
    text.fill(told.replace('kind = "mondrian"', 'kind = "deal"\nseconds = 60'))
    bench.press("Save the text")
    page.wait_for_load_state()
    page.goto(re.sub(r"(:\d+)/.*", r"\1/release", page.url))
    bench.press("Make a release of the saved policy")
    bench.press("Cancel")
    bench.wait_for("was cancelled")
    assert not list((folder / "sfumato-project").glob("tried/*"))
    page.goto(re.sub(r"(:\d+)/.*", r"\1/policy", page.url))
    page.locator("textarea").first.fill(told)
    bench.press("Save the text")
    page.wait_for_load_state()
    make_release(bench, 1, seed=7)
    bench.look("one release")
    page.goto(re.sub(r"(:\d+)/.*", r"\1/policy", page.url))
    page.get_by_label("k", exact=True).first.fill("8")
    bench.press("Save what the form says")
    page.wait_for_load_state()
    make_release(bench, 2, seed=8)

    # A point of the map is looked at and taken.
    page.goto(re.sub(r"(:\d+)/.*", r"\1/release", page.url))
    bench.look("map")
    bench.press("Take release 1")
    page.wait_for_load_state()

    # Every adversary answers, and says how to ask her from a shell.
    for name in PANELS:
        page.goto(re.sub(r"(:\d+)/.*", rf"\1/adversaries/{name.lower()}", page.url))
        if name == "Composition":
            page.get_by_label("release 2 of this project").check()
        if name in ("Relative", "Composition"):
            page.locator("main form button").first.click()
        page.locator("#answer .shell code").first.wait_for()
        assert all(command[0] == "sfumato" for command in bench.commands), name
        bench.look(name)

    # Decided, exported, and judged from the shell.
    page.goto(re.sub(r"(:\d+)/.*", r"\1/decide", page.url))
    bench.look("decide")
    page.get_by_label("Who decides").fill("The office")
    page.get_by_label("New folder below").fill("handed-out")
    bench.press("Sign and export")
    bench.wait_for("was exported to")
    again = same_from_a_shell(bench, monkeypatch)
    out = folder / "handed-out"
    assert files_below(out / "public") == files_below(again / "public")
    assert sfumato("audit", out, "--policy", out / "private" / "policy.toml").returncode == 0
    assert not bench.errors


def test_a_messy_file_goes_the_same_way(
    workbench: Callable[[Path], Workbench], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "clinic"
    folder.mkdir()
    FILES["entlassung.csv"](folder / "entlassung.csv")
    bench = workbench(folder)
    choose_file(bench, "entlassung.csv")
    bench.look("columns of a messy file")
    take_mondrian(bench)
    make_release(bench, 1, seed=5)
    bench.page.goto(re.sub(r"(:\d+)/.*", r"\1/decide", bench.page.url))
    bench.page.get_by_label("Who decides").fill("Die Klinik")
    bench.page.get_by_label("New folder below").fill("heraus")
    bench.press("Sign and export")
    bench.wait_for("was exported to")
    again = same_from_a_shell(bench, monkeypatch)
    assert files_below(folder / "heraus" / "public") == files_below(again / "public")
    assert sfumato("audit", "heraus", "--policy", "heraus/private/policy.toml").returncode == 0
    assert not bench.errors
