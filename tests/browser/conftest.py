"""A real browser for pages: Debian's Chromium, headless, driven by Playwright, offline.

The one without windows is taken where it is: the same engine, for three quarters of the work.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import require

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PATIENCE = 60_000  # milliseconds; a loaded machine is slow, and nothing here measures time


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser a module; skipped where there is none, unless it is required.

    Not one a run: while Playwright drives it no other test of this process can run a loop of its
    own.
    """
    given = os.environ.get("SFUMATO_CHROMIUM")
    found = given or next((path for name in NAMES if (path := shutil.which(name))), None)
    hint = "install Debian's chromium-headless-shell, or set SFUMATO_CHROMIUM to a browser's path"
    require("chromium", found is not None and Path(found).exists(), hint)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        require("chromium", False, "pip install playwright")
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, headless=True, args=list(FLAGS))
        yield opened
        opened.close()


@dataclass
class Visit:
    """An open page and all that it complained about or asked for."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def ask(self, script: str, *more: Any) -> Any:
        return self.page.evaluate(script, *more)

    def drawn(self) -> list[str]:
        """Wait until every chart is drawn; the ids of those with something on them."""
        for _ in range(PATIENCE // 20):
            left = self.ask(
                """(left => {
                     const folded = left[0]?.closest('details');
                     if (folded) folded.open = true;
                     return left.length;
                   })(
                     [...document.querySelectorAll('.chart:not([data-drawn])')])"""
            )
            if not left:
                break
            self.page.wait_for_timeout(20)
        return list(
            self.ask(
                """[...document.querySelectorAll('.chart')].filter(place =>
                     place.querySelector('.scatterlayer path.point, .scatterlayer path.js-line, '
                                         + '.barlayer path, canvas')).map(place => place.id)"""
            )
        )


@pytest.fixture
def visit(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Visit]]:
    """Open a page's text as a file, offline, in either colour scheme."""
    contexts = []

    def open_page(text: str, *, dark: bool = False, width: int = 1280) -> Visit:
        path = tmp_path / f"page-{len(contexts)}.html"
        path.write_text(text, encoding="utf-8")
        context = browser.new_context(
            color_scheme="dark" if dark else "light",
            viewport={"width": width, "height": 900},
            offline=True,
        )
        contexts.append(context)
        page = context.new_page()
        seen = Visit(page)
        page.on(
            "console", lambda said: seen.errors.append(said.text) if said.type == "error" else None
        )
        page.on("pageerror", lambda error: seen.errors.append(str(error)))
        page.on("requestfailed", lambda asked: seen.errors.append(f"failed: {asked.url[:80]}"))
        page.on("request", lambda asked: seen.requests.append(asked.url))
        page.goto(path.as_uri(), timeout=PATIENCE)
        return seen

    yield open_page
    for context in contexts:
        context.close()
